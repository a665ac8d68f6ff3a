//! The regions of a clustered run: as text for people, as JSON for programs.

use std::io::{self, Write};

use serde::Serialize;

use super::amount;
use crate::{
    analysis::cluster::regions::{Busy, RangeRegions, Rectangle, Region},
    record::About,
    units::{Bytes, Hosts, Rank, counted, hostlist},
};

/// Regions and rectangles that people are shown, unless they ask for all.
const MOST_REGIONS: usize = 24;
const MOST_RECTANGLES: usize = 4;

/// Fewer rectangles than this are always shown.
const SCATTERED: usize = 8;

/// Characters of a list of hosts, at most, before the rest is only counted.
const MOST_CHARACTERS: usize = 70;

/// What is said about the regions of a run.
#[derive(Clone, Copy, Debug)]
pub struct Regions<'a> {
    /// What holds for all of them.
    pub about: &'a About,
    /// Range by range.
    pub ranges: &'a [RangeRegions],
    /// Show every region and rectangle, however many there are.
    pub all: bool,
}

impl Regions<'_> {
    /// For people.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let About { header, statistic, tolerance, reason, .. } = self.about;
        let hosts = &header.hosts;
        writeln!(
            out,
            "{statistic} of {}, {} on {}, {}",
            header.mode,
            counted(hosts.ranks(), "rank"),
            counted(hosts.count(), "host"),
            counted(self.about.lengths.len(), "length")
        )?;
        writeln!(out, "bound      {}: no value is further from what was measured", tolerance.describe())?;
        writeln!(out, "because    {reason}")?;
        if !self.is_own_order() {
            let names: Vec<String> = self.about.order.iter().map(|rank| hosts.label_of(*rank)).collect();
            writeln!(out, "order      {}", self.cut(hostlist::compress(&names)))?;
        }
        for (number, range) in self.ranges.iter().enumerate() {
            writeln!(out)?;
            self.write_range(number, range, out)?;
        }
        Ok(())
    }

    fn is_own_order(&self) -> bool {
        self.about.order.iter().copied().eq(0..self.about.order.len())
    }

    fn write_range(&self, number: usize, range: &RangeRegions, out: &mut dyn Write) -> io::Result<()> {
        let pairs: usize = range.regions.iter().map(|region| region.pairs).sum();
        writeln!(
            out,
            "range {} of {}: {} ({}), {} of {}, {} kept exactly",
            number + 1,
            self.ranges.len(),
            span(&range.lengths),
            counted(range.lengths.len(), "length"),
            counted(range.regions.len(), "set"),
            counted(pairs, "pair"),
            counted(range.exceptions, "cell")
        )?;
        if range.missing_pairs > 0 {
            writeln!(out, "  {} missing", pairs_are(range.missing_pairs))?;
        }
        if range.lonely_pairs > 0 {
            let lonely = pairs_are(range.lonely_pairs);
            writeln!(out, "  {lonely} in no set: all values of such pairs are kept exactly")?;
        }
        let most = if self.all { usize::MAX } else { MOST_REGIONS };
        for (number, region) in range.regions.iter().take(most).enumerate() {
            self.write_region(number, region, out)?;
        }
        if range.regions.len() > most {
            let rest: usize = range.regions[most..].iter().map(|region| region.pairs).sum();
            let sets = counted(range.regions.len() - most, "more set");
            writeln!(out, "  and {sets} of {}; --all shows them", counted(rest, "pair"))?;
        }
        Ok(())
    }

    fn write_region(&self, number: usize, region: &Region, out: &mut dyn Write) -> io::Result<()> {
        let mut text =
            format!("  set {}: {}, {}", number + 1, counted(region.pairs, "pair"), self.levels(&region.levels));
        if let Some(spread) = region.spread {
            text += &format!(", spread {:.1} %", 100.0 * spread);
        }
        if region.exceptions > 0 {
            text += &format!(", {}", counted(region.exceptions, "exception"));
        }
        if !region.changes.is_empty() {
            let changes: Vec<String> = region.changes.iter().map(|change| change.0.to_string()).collect();
            let unit = if changes == ["1"] { "byte" } else { "bytes" };
            text += &format!(", changes at {} {unit}", changes.join(", "));
        }
        writeln!(out, "{text}")?;
        if self.is_scattered(region) {
            return writeln!(out, "    scattered; {}", self.busiest(region));
        }
        let (own, across): (Vec<&Rectangle>, Vec<&Rectangle>) =
            region.rectangles.iter().partition(|rectangle| rectangle.sources == rectangle.destinations);
        if let Some(line) = self.own_line(&own) {
            writeln!(out, "    {line}")?;
        }
        if across.len() > 2 && across.iter().all(|rectangle| self.is_with_all_others(rectangle)) {
            let groups: Vec<String> = across.iter().map(|rectangle| self.names(&rectangle.sources)).collect();
            return writeln!(
                out,
                "    each of {} groups with all others: {}",
                groups.len(),
                self.cut(groups.join(" | "))
            );
        }
        let most = if self.all { usize::MAX } else { MOST_RECTANGLES };
        for rectangle in across.iter().take(most) {
            writeln!(out, "    {} -> {}", self.names(&rectangle.sources), self.names(&rectangle.destinations))?;
        }
        if across.len() > most {
            let rest: usize = across[most..].iter().map(|r| r.sources.len() * r.destinations.len()).sum();
            let rectangles = counted(across.len() - most, "smaller rectangle");
            writeln!(out, "    and {rectangles}, {}", counted(rest, "pair"))?;
        }
        Ok(())
    }

    /// Whether rectangles would say nothing: there are many, and most are smaller than a row of the matrix.
    fn is_scattered(&self, region: &Region) -> bool {
        let Region { pairs, rectangles, .. } = region;
        let regular = rectangles.iter().all(|rectangle| rectangle.sources == rectangle.destinations);
        let small = *pairs < rectangles.len() * self.about.order.len();
        !self.all && rectangles.len() > SCATTERED && !regular && small
    }

    /// `most at rank17 (sends 70, receives 3), ...`.
    fn busiest(&self, region: &Region) -> String {
        let hosts = &self.about.header.hosts;
        let end = |end: &Busy| format!("{} (sends {}, receives {})", hosts.label_of(end.rank), end.sends, end.receives);
        format!("most at {}", region.busiest.iter().map(end).collect::<Vec<_>>().join(", "))
    }

    fn is_with_all_others(&self, rectangle: &Rectangle) -> bool {
        let Rectangle { sources, destinations } = rectangle;
        sources.len() + destinations.len() == self.about.order.len()
            && sources.iter().all(|rank| !destinations.contains(rank))
    }

    /// `1.20 us to 4.70 us`: the level at the first and at the last length.
    fn levels(&self, levels: &[f64]) -> String {
        let text = |level: &f64| amount(self.about.statistic, *level);
        match levels {
            [] => String::new(),
            [only] => text(only),
            [first, .., last] if text(first) == text(last) => text(first),
            [first, .., last] => format!("{} to {}", text(first), text(last)),
        }
    }

    /// Rectangles with themselves: what happens inside of hosts or groups.
    fn own_line(&self, own: &[&Rectangle]) -> Option<String> {
        let names: Vec<String> = own.iter().map(|rectangle| self.names(&rectangle.sources)).collect();
        let single = own.iter().all(|rectangle| rectangle.sources.len() == 1);
        match own {
            [] => None,
            [only] if only.sources.len() == self.about.order.len() => Some("every rank with every rank".to_owned()),
            [only] => Some(format!("{} among themselves", self.names(&only.sources))),
            _ if single => {
                let ranks: Vec<Rank> = own.iter().flat_map(|rectangle| &rectangle.sources).copied().collect();
                Some(format!("each with itself: {}", self.names(&ranks)))
            }
            _ => Some(format!("each of {} groups among itself: {}", own.len(), self.cut(names.join(" | ")))),
        }
    }

    fn names(&self, ranks: &[Rank]) -> String {
        if ranks.len() == self.about.order.len() {
            return "all".to_owned();
        }
        self.cut(names(&self.about.header.hosts, ranks))
    }

    /// At most so much of a list as a line has room for.
    fn cut(&self, list: String) -> String {
        if self.all || list.len() <= MOST_CHARACTERS {
            return list;
        }
        let end = list[..MOST_CHARACTERS].rfind([',', ' ']).unwrap_or(0);
        format!("{}, ...", list[..end].trim_end_matches([',', ' ', '|']))
    }

    /// For programs: the document that `--format json` prints. Times are in seconds; null is "not known".
    pub fn document(&self) -> impl Serialize {
        let About { header, statistic, tolerance, reason, lengths, order } = self.about;
        Document {
            schema: "network_test.regions/1",
            mode: header.mode.name(),
            statistic: statistic.name(),
            unit: statistic.unit(),
            tolerance: tolerance.size(),
            tolerance_is_relative: matches!(tolerance, crate::record::Tolerance::Relative(_)),
            tolerance_reason: reason.clone(),
            ranks: order.len(),
            order: order.clone(),
            lengths: lengths.iter().map(|length| length.0).collect(),
            ranges: self.ranges.iter().map(|range| RangeDocument::of(range, &header.hosts)).collect(),
        }
    }
}

/// Names of hosts where all their ranks are meant, else of the single ranks.
fn names(hosts: &Hosts, ranks: &[Rank]) -> String {
    let mut counts = vec![0; hosts.count()];
    ranks.iter().for_each(|rank| counts[hosts.host_of(*rank)] += 1);
    let whole = |host: usize| counts[host] == hosts.ranks_of(host).len();
    let mut list: Vec<String> = Vec::new();
    for &rank in ranks {
        let host = hosts.host_of(rank);
        match whole(host) {
            true if hosts.place_of(rank) == 0 => list.push(hosts.names()[host].clone()),
            true => {}
            false => list.push(hosts.label_of(rank)),
        }
    }
    hostlist::compress(&list)
}

/// `1 pair is`, `2 pairs are`.
fn pairs_are(count: usize) -> String {
    format!("{} {}", counted(count, "pair"), if count == 1 { "is" } else { "are" })
}

fn span(lengths: &[Bytes]) -> String {
    match lengths {
        [] => "no length".to_owned(),
        [only] => counted(only.0 as usize, "byte"),
        [first, .., last] => format!("{} to {} bytes", first.0, last.0),
    }
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    mode: &'static str,
    statistic: &'static str,
    unit: &'static str,
    tolerance: f64,
    tolerance_is_relative: bool,
    tolerance_reason: String,
    ranks: usize,
    order: Vec<Rank>,
    /// Bytes.
    lengths: Vec<u64>,
    ranges: Vec<RangeDocument>,
}

#[derive(Serialize)]
struct RangeDocument {
    /// First and last, bytes.
    lengths: [u64; 2],
    exceptions: usize,
    lonely_pairs: usize,
    missing_pairs: usize,
    regions: Vec<RegionDocument>,
}

#[derive(Serialize)]
struct RegionDocument {
    pairs: usize,
    /// By length.
    levels: Vec<f64>,
    /// As a share of the level.
    spread: Option<f64>,
    exceptions: usize,
    /// Bytes.
    changes: Vec<u64>,
    rectangles: Vec<RectangleDocument>,
}

#[derive(Serialize)]
struct RectangleDocument {
    sources: String,
    destinations: String,
    source_ranks: Vec<Rank>,
    destination_ranks: Vec<Rank>,
}

impl RangeDocument {
    fn of(range: &RangeRegions, hosts: &Hosts) -> Self {
        let ends = [range.lengths.first(), range.lengths.last()].map(|length| length.map_or(0, |length| length.0));
        Self {
            lengths: ends,
            exceptions: range.exceptions,
            lonely_pairs: range.lonely_pairs,
            missing_pairs: range.missing_pairs,
            regions: range.regions.iter().map(|region| RegionDocument::of(region, hosts)).collect(),
        }
    }
}

impl RegionDocument {
    fn of(region: &Region, hosts: &Hosts) -> Self {
        let rectangle = |rectangle: &Rectangle| RectangleDocument {
            sources: names(hosts, &rectangle.sources),
            destinations: names(hosts, &rectangle.destinations),
            source_ranks: rectangle.sources.clone(),
            destination_ranks: rectangle.destinations.clone(),
        };
        Self {
            pairs: region.pairs,
            levels: region.levels.clone(),
            spread: region.spread,
            exceptions: region.exceptions,
            changes: region.changes.iter().map(|change| change.0).collect(),
            rectangles: region.rectangles.iter().map(rectangle).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{Config, Plan},
        record::{Header, Provenance, Statistic, Tolerance},
    };

    fn about(names: &[&str]) -> About {
        let config = Config::default();
        let hosts = Hosts::new(names.iter().copied());
        let plan = Plan { mode: config.modes[0], config, hosts };
        About {
            header: Header::of(&plan, Provenance::default()),
            statistic: Statistic::Median,
            lengths: vec![Bytes(0), Bytes(100)],
            tolerance: Tolerance::Relative(0.05),
            reason: "asked for".to_owned(),
            order: (0..names.len()).collect(),
        }
    }

    fn region(rectangles: &[(&[Rank], &[Rank])]) -> Region {
        let rectangle = |(a, b): &(&[Rank], &[Rank])| Rectangle { sources: a.to_vec(), destinations: b.to_vec() };
        Region {
            pairs: rectangles.iter().map(|(a, b)| a.len() * b.len()).sum(),
            levels: vec![1e-6, 2e-6],
            spread: None,
            exceptions: 0,
            changes: Vec::new(),
            rectangles: rectangles.iter().map(rectangle).collect(),
            busiest: vec![Busy { rank: 1, sends: 3, receives: 2 }],
        }
    }

    fn text(about: &About, regions: Vec<Region>, all: bool) -> String {
        let range = RangeRegions {
            lengths: about.lengths.clone(),
            exceptions: regions.iter().map(|region| region.exceptions).sum(),
            regions,
            lonely_pairs: 1,
            missing_pairs: 2,
        };
        let mut text = Vec::new();
        Regions { about, ranges: &[range], all }.write(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn hosts_are_named_whole_and_ranks_where_only_some_are_meant() {
        let about = about(&["n1", "n1", "n2", "n2", "n3"]);
        let hosts = &about.header.hosts;
        assert_eq!(names(hosts, &[0, 1, 2, 3]), "n[1-2]");
        assert_eq!(names(hosts, &[0, 1, 3, 4]), "n1,n2:1,n3");
        let list = text(&about, vec![region(&[(&[0, 1], &[2, 3])]), region(&[(&[4], &[0, 1, 2, 3, 4])])], false);
        assert!(list.contains("    n1 -> n2\n") && list.contains("    n3 -> all\n"), "{list}");
        assert!(list.contains("1.00 us to 2.00 us") && list.contains("bound      5 %"), "{list}");
        assert!(list.contains("2 pairs are missing") && list.contains("  1 pair is in no set"), "{list}");
    }

    #[test]
    fn regular_patterns_are_one_line() {
        let about = about(&["n1", "n2", "n3", "n4", "n5", "n6"]);
        let groups: [&[Rank]; 3] = [&[0, 1], &[2, 3], &[4, 5]];
        let others: [&[Rank]; 3] = [&[2, 3, 4, 5], &[0, 1, 4, 5], &[0, 1, 2, 3]];
        let within = region(&groups.map(|group| (group, group)));
        let across = region(&[(groups[0], others[0]), (groups[1], others[1]), (groups[2], others[2])]);
        let itself = region(&[(&[0], &[0]), (&[1], &[1])]);
        let list = text(&about, vec![within, across, itself], false);
        assert!(list.contains("each of 3 groups among itself: n[1-2] | n[3-4] | n[5-6]\n"), "{list}");
        assert!(list.contains("each of 3 groups with all others: n[1-2] | n[3-4] | n[5-6]\n"), "{list}");
        assert!(list.contains("each with itself: n[1-2]\n"), "{list}");
    }

    #[test]
    fn many_small_rectangles_are_summed_up_unless_all_are_asked_for() {
        let about = about(&["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10", "n11"]);
        let single: Vec<[Rank; 1]> = (0..11).map(|rank| [rank]).collect();
        let pairs: Vec<(&[Rank], &[Rank])> = (0..10).map(|k| (&single[k][..], &single[k + 1][..])).collect();
        let list = text(&about, vec![region(&pairs)], false);
        assert!(list.contains("scattered; most at n2 (sends 3, receives 2)\n"), "{list}");
        assert!(text(&about, vec![region(&pairs)], true).contains("n10 -> n11\n"));
    }

    #[test]
    fn json_has_every_rank_and_numbers_as_they_are() {
        let about = about(&["n1", "n1"]);
        let range = RangeRegions {
            lengths: about.lengths.clone(),
            regions: vec![region(&[(&[0], &[1])])],
            lonely_pairs: 0,
            missing_pairs: 0,
            exceptions: 0,
        };
        let document =
            serde_json::to_value(Regions { about: &about, ranges: &[range], all: false }.document()).unwrap();
        assert_eq!(document["schema"], "network_test.regions/1");
        assert_eq!(document["tolerance"], 0.05);
        let region = &document["ranges"][0]["regions"][0];
        assert_eq!(region["levels"][1], 2e-6);
        assert_eq!(region["rectangles"][0]["sources"], "n1:0");
        assert_eq!(region["rectangles"][0]["destination_ranks"][0], 1);
        assert!(region["spread"].is_null());
    }
}
