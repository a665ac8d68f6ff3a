//! Groups of hosts as a graph in Graphviz's language.
//!
//! Every group is a cluster with its hosts and a box that is drawn around them; edges join the boxes. Every node has
//! its place: groups on a circle, hosts on a grid in their group's box, so that the picture is as good for hundreds of
//! hosts as for ten, and Graphviz has nothing to search for.
//! [`Topology::read`](crate::analysis::topology::Topology::read) takes the clusters for groups.

use std::{
    collections::HashSet,
    f64::consts::{PI, TAU},
    io::{self, Write},
};

use super::{Structure, name_of};
use crate::{
    analysis::topology::{
        contradiction::Contradiction,
        inferred::{Between, Found},
    },
    stats::Summary,
    units::{Rate, Seconds, counted, hostlist},
    view::names::without_domain,
};

/// Groups up to which every edge says what it takes; of more, those that take what is usual say nothing.
const ALL_LABELLED: usize = 4;

/// Groups up to which edges that take what is usual are drawn.
const ALL_DRAWN: usize = 16;

/// Share of a time by which it is still the usual one.
const USUAL: f64 = 0.05;

/// Points.
const HOST_HEIGHT: f64 = 18.0;
const GAP: f64 = 6.0;
const CHARACTER: f64 = 6.2;
const TITLE_HEIGHT: f64 = 44.0;
const TITLE_WIDTH: f64 = 150.0;
/// Room for the text of an edge.
const BETWEEN_GROUPS: f64 = 110.0;

/// Where things are, in points.
struct Places {
    host_width: f64,
    /// Width and height of every group's box.
    sizes: Vec<(f64, f64)>,
    /// Their centres.
    centres: Vec<(f64, f64)>,
    columns: Vec<usize>,
    /// Of the hosts that are in no group.
    bottom: f64,
}

impl Places {
    fn of(counts: &[usize], longest_name: usize) -> Self {
        let host_width = CHARACTER * longest_name.max(4) as f64 + 12.0;
        let (step_x, step_y) = (host_width + GAP, HOST_HEIGHT + GAP);
        let columns = |count: &usize| ((1.6 * *count as f64 * step_y / step_x).sqrt().ceil() as usize).max(1);
        let columns: Vec<usize> = counts.iter().map(columns).collect();
        let size = |(count, columns): (&usize, &usize)| {
            let (wide, high) = ((*columns).min(*count) as f64 * step_x, count.div_ceil(*columns) as f64 * step_y);
            ((wide + GAP).max(TITLE_WIDTH), high + GAP + TITLE_HEIGHT)
        };
        let sizes: Vec<(f64, f64)> = counts.iter().zip(&columns).map(size).collect();
        let widest = sizes.iter().fold(0.0, |most: f64, (w, _)| most.max(*w));
        let highest = sizes.iter().fold(0.0, |most: f64, (_, h)| most.max(*h));
        let (radius, first) = match counts.len() {
            0 | 1 => (0.0, 0.0),
            // Side by side.
            2 => ((widest + BETWEEN_GROUPS) / 2.0, PI),
            count => {
                let chord = widest.hypot(highest) + if count > ALL_DRAWN { GAP } else { BETWEEN_GROUPS };
                (chord / (2.0 * (PI / count as f64).sin()), if count == 4 { 0.75 * PI } else { PI / 2.0 })
            }
        };
        let angle = |group: usize| first - TAU * group as f64 / counts.len() as f64;
        let centre = |group: usize| (radius * angle(group).cos(), radius * angle(group).sin());
        let centres: Vec<(f64, f64)> = (0..counts.len()).map(centre).collect();
        let lowest = centres.iter().fold(0.0, |least: f64, (_, y)| least.min(*y));
        Self { host_width, centres, sizes, columns, bottom: lowest - highest / 2.0 - 2.0 * step_y }
    }

    /// Of the member at this place of a group.
    fn host(&self, group: usize, member: usize) -> (f64, f64) {
        let ((x, y), (wide, high), columns) = (self.centres[group], self.sizes[group], self.columns[group]);
        let (row, column) = ((member / columns) as f64, (member % columns) as f64);
        let left = x - wide / 2.0 + GAP + self.host_width / 2.0;
        let top = y + high / 2.0 - TITLE_HEIGHT - HOST_HEIGHT / 2.0;
        (left + column * (self.host_width + GAP), top - row * (HOST_HEIGHT + GAP))
    }

    /// Of one that is in no group.
    fn unplaced(&self, number: usize, count: usize) -> (f64, f64) {
        ((number as f64 - (count - 1) as f64 / 2.0) * (self.host_width + GAP), self.bottom)
    }

    /// Length of the part of an edge that is outside of both boxes.
    fn visible(&self, a: usize, b: usize) -> f64 {
        let ((ax, ay), (bx, by)) = (self.centres[a], self.centres[b]);
        let (x, y) = ((bx - ax).abs(), (by - ay).abs());
        let length = x.hypot(y);
        let inside = |(wide, high): (f64, f64)| (wide / 2.0 * length / x).min(high / 2.0 * length / y);
        (length - inside(self.sizes[a]) - inside(self.sizes[b])).max(0.0)
    }
}

/// A text as a name or a value.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

fn at((x, y): (f64, f64)) -> String {
    format!("pos=\"{x:.1},{y:.1}!\"")
}

impl Structure<'_> {
    /// For Graphviz, and for `--topology`.
    pub fn write_dot(&self, out: &mut dyn Write) -> io::Result<()> {
        let groups = &self.inferred.groups;
        let brief = without_domain(&self.header.hosts);
        let longest = brief.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let counts: Vec<usize> = groups.iter().map(|group| group.hosts.len()).collect();
        let places = Places::of(&counts, longest);
        let usual = self.usual();
        writeln!(out, "// Written by network_analyze topology; draw it with: dot -Tsvg FILE -o FILE.svg")?;
        writeln!(out, "graph topology {{")?;
        writeln!(
            out,
            "  layout=neato; inputscale=72; splines=line; outputorder=edgesfirst; labelloc=t; fontname=Helvetica;"
        )?;
        writeln!(out, "  label={};", quoted(&self.legend(usual.as_ref())))?;
        writeln!(
            out,
            "  node [shape=box, fixedsize=true, fontname=Helvetica, fontsize=10, style=filled, fillcolor=white];"
        )?;
        writeln!(out, "  edge [color=gray40, fontname=Helvetica, fontsize=9, labelangle=0];")?;
        let moved = self.moved();
        let host = |host: usize, place: (f64, f64), style: &str| {
            let (name, width) = (&self.header.hosts.names()[host], places.host_width / 72.0);
            let label = if brief[host] == *name { String::new() } else { format!("label={}, ", quoted(&brief[host])) };
            let fill = if moved.contains(&host) { ", fillcolor=orange" } else { "" };
            format!(
                "{} [{label}{}, width={width:.2}, height={:.2}{fill}{style}];",
                quoted(name),
                at(place),
                HOST_HEIGHT / 72.0
            )
        };
        for (number, Found { hosts, inside }) in groups.iter().enumerate() {
            let (wide, high) = places.sizes[number];
            let name = quoted(&name_of(number));
            let (count, typical) = (counted(hosts.len(), "host"), self.typical(inside, ", "));
            let title = if hosts.len() > 1 { format!("{count}\n{typical} inside") } else { count };
            writeln!(out, "  subgraph cluster_{} {{", number + 1)?;
            // The box is the group's outline: the cluster's own would be a second one.
            writeln!(out, "    label={name}; peripheries=0; fontcolor=transparent;")?;
            writeln!(
                out,
                "    {name} [label={}, labelloc=t, {}, width={:.2}, height={:.2}, style=\"filled,rounded\", fillcolor=gray95];",
                quoted(&format!("\n{}: {title}", name_of(number))),
                at(places.centres[number]),
                wide / 72.0,
                high / 72.0
            )?;
            let mut hosts = hosts.clone();
            hosts.sort_by_cached_key(|host| hostlist::sort_key(&brief[*host]));
            for (member, number_of_host) in hosts.iter().enumerate() {
                writeln!(out, "    {}", host(*number_of_host, places.host(number, member), ""))?;
            }
            writeln!(out, "  }}")?;
        }
        let unplaced = &self.inferred.unplaced;
        for (number, alone) in unplaced.iter().enumerate() {
            let place = places.unplaced(number, unplaced.len());
            writeln!(out, "  {}", host(*alone, place, ", style=\"filled,dashed\""))?;
        }
        for pair in &self.inferred.between {
            self.edge(pair, &places, usual.as_ref(), out)?;
        }
        writeln!(out, "}}")
    }

    fn edge(&self, pair: &Between, places: &Places, usual: Option<&[f64; 2]>, out: &mut dyn Write) -> io::Result<()> {
        let count = self.inferred.groups.len();
        let [a, b] = pair.groups;
        let is_usual = usual.is_some_and(|usual| is_near(&pair.seconds, usual));
        if is_usual && count > ALL_DRAWN {
            return Ok(());
        }
        let text = self.typical(&pair.seconds, "\n");
        let looks = if is_usual && count > ALL_LABELLED {
            "color=gray85".to_owned()
        } else {
            // Diagonals meet in the middle: what they say stands nearer to one end.
            let share = if b - a == 1 || b - a + 1 == count { 0.5 } else { 0.32 };
            let lines = text.replace('\n', "<BR/>");
            let table =
                format!("<TABLE BORDER=\"0\" CELLPADDING=\"1\" BGCOLOR=\"white\"><TR><TD>{lines}</TD></TR></TABLE>");
            format!("taillabel=<{table}>, labeldistance={:.2}", share * places.visible(a, b) / 10.0)
        };
        let (a, b, tooltip) = (quoted(&name_of(a)), quoted(&name_of(b)), quoted(&self.typical(&pair.seconds, ", ")));
        writeln!(out, "  {a} -- {b} [{looks}, tooltip={tooltip}];")
    }

    /// Latency and bandwidth, or what is known of them.
    fn typical(&self, seconds: &[f64; 2], separator: &str) -> String {
        let latency = Seconds(seconds[0]).to_string();
        let rate: Option<Rate> = self.rate(seconds).filter(|rate| rate.0.is_finite());
        rate.map_or(latency.clone(), |rate| format!("{latency}{separator}{rate}"))
    }

    /// What most pairs of groups take, where there are so many that this need not be said at each.
    fn usual(&self) -> Option<[f64; 2]> {
        let of = |end: usize| {
            let mut times: Vec<f64> = self.inferred.between.iter().map(|pair| pair.seconds[end]).collect();
            times.retain(|time| !time.is_nan());
            Summary::of(&mut times).median
        };
        (self.inferred.groups.len() > ALL_LABELLED).then(|| [of(0), of(1)])
    }

    /// Hosts that are elsewhere than a file says.
    fn moved(&self) -> HashSet<usize> {
        let contradictions = self.written.iter().flat_map(|written| written.contradictions);
        let hosts = contradictions.filter_map(|contradiction| match contradiction {
            Contradiction::Elsewhere { hosts, .. } => Some(hosts),
            _ => None,
        });
        hosts.flatten().copied().collect()
    }

    fn legend(&self, usual: Option<&[f64; 2]>) -> String {
        let [shortest, longest] = self.inferred.lengths;
        let rate = if longest.0 > 0 { format!(", bandwidth at {}", longest.counted()) } else { String::new() };
        let mut text = format!("{}\ntypical time at {}{rate}", self.title(), shortest.counted());
        if let Some(usual) = usual {
            text += &format!("\nbetween groups, unless written: {}", self.typical(usual, ", "));
        }
        if !self.inferred.unplaced.is_empty() {
            text += "\ndashed: fits in no group";
        }
        if !self.moved().is_empty() {
            text += "\norange: elsewhere than the file says";
        }
        text
    }
}

fn is_near(a: &[f64; 2], b: &[f64; 2]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a / b - 1.0).abs() <= USUAL || (a.is_nan() && b.is_nan()))
}
