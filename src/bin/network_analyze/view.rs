//! `view`: a matrix as a picture in the terminal; one row, one column or one pair as a table.

use std::{path::PathBuf, str::FromStr};

use netmatrix::{
    analysis::blocks::{self, Blocks},
    exit,
    record::{Run, State, Statistic},
    units::{Bytes, Hosts, Rank, Seconds, counted, whole},
    view::{Scale, ScaleKind, Table, amount, bars::Bars, cells::Cells, heatmap},
};

use super::{
    failure::{Failure, Outcome},
    input::Input,
    output::{self, Format},
    terminal::{self, ColorChoice},
};

/// Draw a heat map of a matrix; or list one row, one column, or one pair over all lengths
#[derive(clap::Args)]
pub struct View {
    /// Prefix of a result set, any file of it, or a .txt or .csv file
    run: PathBuf,

    /// Message length, such as 64K; the nearest measured one is shown [default: the longest]
    #[arg(long, short, value_name = "LENGTH")]
    length: Option<Bytes>,

    /// Statistic to show
    #[arg(long, short, default_value_t = Statistic::Median)]
    statistic: Statistic,

    /// Only what this source sends: a rank, a host, or host:0 for the first of a host's ranks
    #[arg(long, value_name = "RANK|HOST")]
    row: Option<String>,

    /// Only what this destination receives; with --row: this pair at all lengths
    #[arg(long, value_name = "RANK|HOST")]
    column: Option<String>,

    /// Which value stands for a block of cells when the matrix is larger than the terminal
    #[arg(long, value_enum, default_value_t = Aggregate::Max)]
    aggregate: Aggregate,

    /// How values are spread over the colours [default: log, for numbers of samples linear]
    #[arg(long, value_enum)]
    scale: Option<Spread>,

    /// Values of the first and the last colour, such as 1us:20us [default: smallest and largest value]
    #[arg(long, value_name = "LOW:HIGH")]
    range: Option<ValueRange>,

    /// Form of the result; json has every cell that is meant, and no picture
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// When to use colours
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto)]
    color: ColorChoice,

    /// Columns to draw on [default: as wide as the terminal]
    #[arg(long, value_name = "COLUMNS", value_parser = whole::<usize>(0..=u64::MAX))]
    width: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Aggregate {
    /// The slowest pair stays visible
    Max,
    /// What the block is like as a whole
    Median,
    /// The fastest pair
    Min,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Spread {
    /// Equal differences, equal steps
    Linear,
    /// Equal ratios, equal steps
    Log,
}

/// The ends of the colours, in seconds or in samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueRange {
    pub low: f64,
    pub high: f64,
}

impl FromStr for ValueRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (low, high) = text.split_once(':').ok_or_else(|| format!("`{text}` is not LOW:HIGH, such as 1us:20us"))?;
        let read = |text: &str| text.parse::<Seconds>().map(|value| value.0).map_err(|error| error.to_string());
        let (low, high) = (read(low)?, read(high)?);
        if low < high {
            Ok(Self { low, high })
        } else {
            Err(format!("`{text}`: the first value must be below the second"))
        }
    }
}

impl View {
    /// Prints the picture or the table.
    pub fn run(self) -> Outcome {
        let input = Input::open(&self.run)?;
        input.require(self.statistic)?;
        let hosts = &input.run.header().hosts;
        let rank = |name: &Option<String>| name.as_deref().map(|name| find_rank(hosts, name)).transpose();
        let ends = (rank(&self.row)?, rank(&self.column)?);
        if self.format == Format::Json {
            self.print_cells(&input, ends)?;
            return Ok(exit::SUCCESS);
        }
        match ends {
            (None, None) => self.draw_matrix(&input)?,
            (Some(source), Some(destination)) => self.list_pair(&input, source, destination)?,
            (Some(source), None) => self.list_cells(&input, source, true)?,
            (None, Some(destination)) => self.list_cells(&input, destination, false)?,
        }
        Ok(exit::SUCCESS)
    }

    /// All cells that a picture or a table would show, as JSON.
    fn print_cells(&self, input: &Input, (source, destination): (Option<Rank>, Option<Rank>)) -> Result<(), Failure> {
        let run = &*input.run;
        let is_pair = source.is_some() && destination.is_some();
        let (lengths, statistics) = if is_pair {
            ((0..run.lengths().len()).collect(), listed(run))
        } else {
            (vec![input.length_index(self.length)?], vec![self.statistic])
        };
        let ranks = |one: Option<Rank>| one.map_or_else(|| (0..run.ranks()).collect(), |rank| vec![rank]);
        let (sources, destinations) = (ranks(source), ranks(destination));
        let mut row = vec![f64::NAN; run.ranks()];
        let mut values = |statistic, length: usize, source: Rank| {
            run.read_rows(statistic, length, source..source + 1, &mut row).map_err(Failure::files)?;
            Ok(destinations.iter().map(|rank| row[*rank]).collect())
        };
        let mut of_statistic = |statistic| {
            let of_length = |length: &usize| sources.iter().map(|rank| values(statistic, *length, *rank)).collect();
            Ok((statistic, lengths.iter().map(of_length).collect::<Result<_, Failure>>()?))
        };
        let statistics = statistics.into_iter().map(&mut of_statistic).collect::<Result<_, Failure>>()?;
        note(DAMAGED, run, &lengths, &sources, &destinations)?;
        let lengths = lengths.iter().map(|length| run.lengths()[*length]).collect();
        output::print_json(&Cells { header: run.header(), lengths, sources, destinations, statistics }.document())
    }

    fn draw_matrix(&self, input: &Input) -> Result<(), Failure> {
        let run = &*input.run;
        let hosts = &run.header().hosts;
        let index = input.length_index(self.length)?;
        let (width, height) = match (self.width, terminal::size()) {
            (Some(width), _) => (width, None),
            (None, size) => size,
        };
        let layout = heatmap::Layout::fit(hosts, self.color.colours(), width, height);
        let aggregate = match self.aggregate {
            Aggregate::Max => blocks::Aggregate::Max,
            Aggregate::Median => blocks::Aggregate::Median,
            Aggregate::Min => blocks::Aggregate::Min,
        };
        let blocks = Blocks::of(run, self.statistic, index, layout.most(), aggregate).map_err(Failure::files)?;
        let map = heatmap::Heatmap {
            title: &format!("{} at {}", self.subject(run), run.lengths()[index].counted()),
            statistic: self.statistic,
            hosts,
            blocks: &blocks,
            aggregate,
            scale: self.scale(&blocks),
        };
        let all: Vec<Rank> = (0..run.ranks()).collect();
        note(DAMAGED, run, &[index], &all, &all)?;
        output::print_picture(|out| map.write(&layout, out))
    }

    /// `median of one_to_one`.
    fn subject(&self, run: &dyn Run) -> String {
        format!("{} of {}", self.statistic, run.header().mode)
    }

    fn scale(&self, blocks: &Blocks) -> Scale {
        let kind = match self.scale {
            Some(Spread::Linear) => ScaleKind::Linear,
            None if self.statistic == Statistic::MeasurementsAmount => ScaleKind::Linear,
            Some(Spread::Log) | None => ScaleKind::Log,
        };
        match self.range {
            Some(ValueRange { low, high }) => Scale::between(low, high, kind),
            None => Scale::around(blocks.span().unwrap_or((0.0, 0.0)), kind),
        }
    }

    /// All cells of a row (`is_source`) or of a column at one length.
    fn list_cells(&self, input: &Input, rank: Rank, is_source: bool) -> Result<(), Failure> {
        let run = &*input.run;
        let hosts = &run.header().hosts;
        let index = input.length_index(self.length)?;
        let ranks = run.ranks();
        let values: Vec<f64> = if is_source {
            let mut row = vec![f64::NAN; ranks];
            run.read_rows(self.statistic, index, rank..rank + 1, &mut row).map_err(Failure::files)?;
            row
        } else {
            run.matrix(self.statistic, index).map_err(Failure::files)?.column(rank).collect()
        };
        let (way, other) = if is_source { ("from", "destination") } else { ("to", "source") };
        let mut bars = Bars::new(Table::new(["rank", other, self.statistic.name()]).left(1).left(3));
        for (other, value) in values.into_iter().enumerate().filter(|(other, _)| *other != rank) {
            bars.push([other.to_string(), hosts.label_of(other), amount(self.statistic, value)], value);
        }
        let all: Vec<Rank> = (0..ranks).collect();
        let (sources, destinations) = if is_source { (&[rank][..], &all[..]) } else { (&all[..], &[rank][..]) };
        note(DAMAGED, run, &[index], sources, destinations)?;
        let (subject, length, label) = (self.subject(run), run.lengths()[index].counted(), hosts.label_of(rank));
        output::print_picture(|out| {
            writeln!(out, "{subject} at {length} {way} {label} (rank {rank})\n")?;
            bars.write(self.color.colours(), out)
        })
    }

    /// One pair at all lengths, with all statistics.
    fn list_pair(&self, input: &Input, source: Rank, destination: Rank) -> Result<(), Failure> {
        let run = &*input.run;
        let hosts = &run.header().hosts;
        let statistics = listed(run);
        let headings = ["length"].into_iter().chain(statistics.iter().map(|statistic| statistic.name()));
        let mut bars = Bars::new(Table::new(headings).left(statistics.len() + 1));
        let mut row = vec![f64::NAN; run.ranks()];
        for (index, length) in run.lengths().iter().enumerate() {
            let mut texts = vec![length.to_string()];
            let mut shown = f64::NAN;
            for &statistic in &statistics {
                run.read_rows(statistic, index, source..source + 1, &mut row).map_err(Failure::files)?;
                texts.push(amount(statistic, row[destination]));
                if statistic == self.statistic {
                    shown = row[destination];
                }
            }
            bars.push(texts, shown);
        }
        let lengths: Vec<_> = (0..run.lengths().len()).collect();
        note(DAMAGED, run, &lengths, &[source], &[destination])?;
        let (from, to) = (hosts.label_of(source), hosts.label_of(destination));
        output::print_picture(|out| {
            writeln!(out, "{} from {from} to {to}; the bars show the {}\n", run.header().mode, self.statistic)?;
            bars.write(self.color.colours(), out)
        })
    }
}

/// The statistics of a run in the order in which they are shown.
fn listed(run: &dyn Run) -> Vec<Statistic> {
    Statistic::listed().filter(|statistic| run.statistics().contains(statistic)).collect()
}

/// What times do not show: words, and the states of the cells that are meant.
pub const DAMAGED: (&str, &[State]) = ("payloads arrived damaged", &[State::Damaged]);

/// Says on standard error in how many of these cells something went wrong.
pub fn note(
    (what, states): (&str, &[State]),
    run: &dyn Run,
    lengths: &[usize],
    sources: &[Rank],
    destinations: &[Rank],
) -> Result<(), Failure> {
    let mut row = vec![State::Measured; run.ranks()];
    let mut count = 0;
    for (length, source) in lengths.iter().flat_map(|length| sources.iter().map(move |source| (*length, *source))) {
        run.read_states(length, source..source + 1, &mut row).map_err(Failure::files)?;
        count += destinations.iter().filter(|rank| states.contains(&row[**rank])).count();
    }
    if count > 0 {
        let cells = counted(count, "cell");
        output::note(&format!("{what} in {cells} of what is shown; `info` counts them by length"));
    }
    Ok(())
}

/// The rank that a name or a number means. Names win, so that hosts may be called by numbers.
pub fn find_rank(hosts: &Hosts, name: &str) -> Result<Rank, Failure> {
    let ranks = hosts.ranks();
    if let Some(rank) = (0..ranks).find(|&rank| hosts.label_of(rank) == name) {
        return Ok(rank);
    }
    if let Some(host) = hosts.names().iter().position(|host| host == name) {
        let count = hosts.ranks_of(host).len();
        return Err(Failure::usage(format!("`{name}` has {count} ranks: write {name}:0 to {name}:{}", count - 1)));
    }
    match name.parse::<Rank>() {
        Ok(rank) if rank < ranks => Ok(rank),
        Ok(_) => Err(Failure::usage(format!("there is no rank {name}: ranks are 0 to {}", ranks - 1))),
        Err(_) => {
            let list = netmatrix::units::hostlist::compress(hosts.names());
            Err(Failure::usage(format!("no rank runs on a host `{name}`: the hosts are {list}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_found_by_number_label_and_host() {
        let hosts = Hosts::new(["a", "b", "b", "7"]);
        assert_eq!(find_rank(&hosts, "a").unwrap(), 0);
        assert_eq!(find_rank(&hosts, "b:1").unwrap(), 2);
        assert_eq!(find_rank(&hosts, "2").unwrap(), 2);
        assert_eq!(find_rank(&hosts, "7").unwrap(), 3);
        for (name, advice) in [("b", "b:0 to b:1"), ("9", "0 to 3"), ("c", "a,b,7")] {
            let failure = find_rank(&hosts, name).unwrap_err();
            assert!(format!("{failure:?}").contains(advice), "{failure:?}");
        }
    }

    #[test]
    fn ranges_are_times_in_order() {
        assert_eq!("1:2.5".parse(), Ok(ValueRange { low: 1.0, high: 2.5 }));
        assert!("1us:20us".parse::<ValueRange>().is_ok_and(|range| range.low < 2e-6 && range.high > 19e-6));
        for text in ["1us", "5us:1us", "1us:1us", "a:b", ":"] {
            assert!(text.parse::<ValueRange>().is_err(), "{text}");
        }
    }
}
