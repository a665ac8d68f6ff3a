//! `plot`: one picture for a ticket or a paper, as PNG or SVG.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use clap::builder::UnknownArgumentValueParser;
use netmatrix::{
    analysis::{
        blocks::{self, Block, Blocks},
        distribution::histogram,
    },
    exit,
    record::{Run, State, Statistic},
    units::{Bytes, Rank, whole},
    view::{
        Scale, ScaleKind, brief_labels,
        plot::{self, Colouring, Form, Scene, chart, raster::Raster},
    },
};

use super::{
    failure::{Failure, Outcome},
    input::Input,
    output,
    view::{self, Spread, ValueRange, find_rank},
};

/// Draw a picture for a ticket: a matrix, one row or column over all lengths, one pair, or a histogram
#[derive(clap::Args)]
pub struct Plot {
    /// Prefix of a result set, any file of it, an archive, or a .txt or .csv file
    run: PathBuf,

    /// Picture to write; its name ends in .png or .svg
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    /// Message length, such as 64K, of a matrix or a histogram; the nearest measured one is drawn [default: the
    /// longest]
    #[arg(long, short, value_name = "LENGTH")]
    length: Option<Bytes>,

    /// Statistic to draw
    #[arg(long, short, default_value_t = Statistic::Median)]
    statistic: Statistic,

    /// What this source sends, at all lengths: a rank, a host, or host:0 for the first of a host's ranks
    #[arg(long, value_name = "RANK|HOST", conflicts_with = "histogram")]
    row: Option<String>,

    /// What this destination receives, at all lengths; with --row: this pair as a curve
    #[arg(long, value_name = "RANK|HOST", conflicts_with = "histogram")]
    column: Option<String>,

    /// How the values of the matrix are distributed
    #[arg(long)]
    histogram: bool,

    /// How values are spread over the colours [default: log, for numbers of samples linear]
    #[arg(long, value_enum)]
    scale: Option<Spread>,

    /// Values of the first and the last colour, such as 1us:20us [default: smallest and largest value]
    #[arg(long, value_name = "LOW:HIGH")]
    range: Option<ValueRange>,

    /// Colours
    #[arg(long, value_enum, default_value_t = Palette::Perceptual)]
    palette: Palette,

    // What `view` calls whether it colours anything: no other flag is as near to what is meant here.
    #[arg(long = "color", hide = true, value_parser = UnknownArgumentValueParser::suggest_arg("--palette"))]
    _color: Option<String>,

    /// Width of the picture in pixels
    #[arg(long, default_value_t = 900, value_parser = whole::<u32>(300..=10_000))]
    width: u32,

    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Palette {
    /// Viridis, readable for people who do not see all colours: bright is slow
    Perceptual,
    /// As in network_tests2: black is slow
    Grey,
}

/// Bins of a histogram.
const BINS: usize = 80;

impl Plot {
    /// Draws and writes the picture.
    pub fn run(self) -> Outcome {
        let form = form_of(&self.output)?;
        let file = output::begin(&self.output, self.force, &[&self.run])?;
        let input = Input::open(&self.run)?;
        input.require(self.statistic)?;
        let hosts = &input.run.header().hosts;
        let rank = |name: &Option<String>| name.as_deref().map(|name| find_rank(hosts, name)).transpose();
        let (row, column) = (rank(&self.row)?, rank(&self.column)?);
        let scene = match (row, column) {
            (None, None) if self.histogram => self.histogram(&input)?,
            (None, None) => self.matrix(&input)?,
            (Some(source), Some(destination)) => self.pair(&input, source, destination)?,
            (Some(source), None) => self.line(&input, source, true)?,
            (None, Some(destination)) => self.line(&input, destination, false)?,
        };
        let bytes = scene.encode(form).map_err(Failure::internal)?;
        output::finish(file, |out| Ok(out.write_all(&bytes)?))?;
        let ranks = |one: Option<Rank>| one.map_or_else(|| (0..input.run.ranks()).collect(), |rank| vec![rank]);
        let lengths = match (row, column) {
            (None, None) => vec![input.length_index(self.length)?],
            _ => (0..input.run.lengths().len()).collect(),
        };
        // A picture that goes into a ticket says nothing of why a cell is missing.
        const FAILED: (&str, &[State]) = ("exchanges failed or timed out", &[State::Failed, State::TimedOut]);
        for what in [FAILED, view::DAMAGED] {
            view::note(what, &*input.run, &lengths, &ranks(row), &ranks(column))?;
        }
        Ok(exit::SUCCESS)
    }

    fn title(&self, run: &dyn Run, rest: &str) -> String {
        format!("{} of {}{rest}", self.statistic, run.header().mode)
    }

    fn colouring(&self) -> Colouring {
        match self.palette {
            Palette::Perceptual => Colouring::Perceptual,
            Palette::Grey => Colouring::Grey,
        }
    }

    /// Around values; NaN takes no part, and neither does zero where the scale is logarithmic.
    fn scale(&self, values: impl Iterator<Item = f64>) -> Scale {
        let kind = match self.scale {
            Some(Spread::Linear) => ScaleKind::Linear,
            None if self.statistic == Statistic::MeasurementsAmount => ScaleKind::Linear,
            Some(Spread::Log) | None => ScaleKind::Log,
        };
        if let Some(ValueRange { low, high }) = self.range {
            return Scale::between(low, high, kind);
        }
        let counts = |value: &f64| !value.is_nan() && (kind == ScaleKind::Linear || *value > 0.0);
        let span = values.filter(counts).fold(None, |span: Option<(f64, f64)>, value| {
            let (low, high) = span.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        });
        Scale::around(span.unwrap_or((0.0, 0.0)), kind)
    }

    fn matrix(&self, input: &Input) -> Result<Scene, Failure> {
        let run = &*input.run;
        let index = input.length_index(self.length)?;
        let most = (self.width as usize - 150) / 2;
        let aggregate = blocks::Aggregate::Max;
        let blocks = Blocks::of(run, self.statistic, index, most, aggregate).map_err(Failure::files)?;
        let of_ranks = brief_labels(&run.header().hosts);
        let labels: Vec<_> = blocks.groups.iter().map(|group| of_ranks[group.start].clone()).collect();
        let merged = blocks.group_size();
        let note = if merged > 1 { format!("; the slowest of {merged} x {merged} ranks") } else { String::new() };
        let raster = Raster {
            title: self.title(run, &format!(" at {}", run.lengths()[index].counted())),
            axes: &format!("row = source, column = destination{note}"),
            statistic: self.statistic,
            rows: labels.clone(),
            columns: labels,
            cells: &blocks.blocks,
            damaged: &blocks.damaged,
            scale: self.scale(values_of(&blocks.blocks)),
            colouring: self.colouring(),
        };
        // As high as the cells of that width are, so that they are squares.
        Ok(raster.scene(self.width, self.width + 80))
    }

    /// One row or column, lengths downwards.
    fn line(&self, input: &Input, rank: Rank, is_source: bool) -> Result<Scene, Failure> {
        let run = &*input.run;
        let hosts = &run.header().hosts;
        input.length_index(None)?;
        let read = |length| self.cells(run, length, rank, is_source);
        let (cells, damaged) = (0..run.lengths().len()).map(read).collect::<Result<(Vec<_>, Vec<_>), _>>()?;
        let (way, other) = if is_source { ("from", "destination") } else { ("to", "source") };
        let raster = Raster {
            title: self.title(run, &format!(" {way} {}", hosts.label_of(rank))),
            axes: &format!("row = message length in bytes, column = {other}"),
            statistic: self.statistic,
            rows: run.lengths().iter().map(Bytes::to_string).collect(),
            columns: brief_labels(hosts),
            cells: &cells,
            damaged: &damaged,
            scale: self.scale(values_of(&cells)),
            colouring: self.colouring(),
        };
        Ok(raster.scene(self.width, self.width * 7 / 10))
    }

    /// The cells of a row or a column at one length, and whether payloads arrived damaged.
    fn cells(
        &self,
        run: &dyn Run,
        length: usize,
        rank: Rank,
        is_source: bool,
    ) -> Result<(Vec<Block>, Vec<bool>), Failure> {
        let ranks = run.ranks();
        let (mut values, mut states) = (vec![f64::NAN; ranks], vec![State::Measured; ranks]);
        let mut cell = |source: Rank, place: usize| -> Result<(Block, bool), Failure> {
            let rows = source..source + 1;
            // A row is read once, for a column one of every source.
            if !is_source || place == 0 {
                run.read_rows(self.statistic, length, rows.clone(), &mut values).map_err(Failure::files)?;
                run.read_states(length, rows, &mut states).map_err(Failure::files)?;
            }
            let at = if is_source { place } else { rank };
            let block = match (values[at], states[at]) {
                _ if place == rank => Block::Empty,
                (value, State::NotScheduled) if value.is_nan() => Block::Empty,
                (value, _) if value.is_nan() => Block::Missing,
                (value, _) => Block::Value(value),
            };
            Ok((block, states[at] == State::Damaged))
        };
        (0..ranks).map(|place| cell(if is_source { rank } else { place }, place)).collect()
    }

    fn pair(&self, input: &Input, source: Rank, destination: Rank) -> Result<Scene, Failure> {
        let run = &*input.run;
        let hosts = &run.header().hosts;
        input.length_index(None)?;
        let values = curve(run, self.statistic, source, destination)?;
        let has = |statistic| run.statistics().contains(&statistic);
        let is_time = !matches!(self.statistic, Statistic::Deviation | Statistic::MeasurementsAmount);
        let band = (is_time && has(Statistic::Min) && has(Statistic::Max))
            .then(|| {
                Ok::<_, Failure>([
                    curve(run, Statistic::Min, source, destination)?,
                    curve(run, Statistic::Max, source, destination)?,
                ])
            })
            .transpose()?;
        let pair = chart::Pair {
            title: format!("{} from {} to {}", run.header().mode, hosts.label_of(source), hosts.label_of(destination)),
            band_name: if band.is_some() { "min to max" } else { "" },
            statistic: self.statistic,
            lengths: run.lengths(),
            values: &values,
            band: band.as_ref().map(|[low, high]| (&low[..], &high[..])),
            scale: self.scale(values.iter().chain(band.iter().flatten().flatten()).copied()),
        };
        Ok(pair.scene(self.width, self.width * 6 / 10))
    }

    fn histogram(&self, input: &Input) -> Result<Scene, Failure> {
        let run = &*input.run;
        let index = input.length_index(self.length)?;
        let matrix = run.matrix(self.statistic, index).map_err(Failure::files)?;
        let scale = self.scale(matrix.off_diagonal());
        let counts = histogram(matrix.off_diagonal(), BINS, |value| scale.place(value));
        let histogram = chart::Histogram {
            title: self.title(run, &format!(" at {}", run.lengths()[index].counted())),
            statistic: self.statistic,
            counts: &counts,
            scale,
            colouring: self.colouring(),
        };
        Ok(histogram.scene(self.width, self.width * 6 / 10))
    }
}

/// One pair at every length.
fn curve(run: &dyn Run, statistic: Statistic, source: Rank, destination: Rank) -> Result<Vec<f64>, Failure> {
    let mut row = vec![f64::NAN; run.ranks()];
    let value = |length| {
        run.read_rows(statistic, length, source..source + 1, &mut row).map_err(Failure::files)?;
        Ok(row[destination])
    };
    (0..run.lengths().len()).map(value).collect()
}

fn values_of(cells: &[Vec<Block>]) -> impl Iterator<Item = f64> {
    cells.iter().flatten().filter_map(|block| match block {
        Block::Value(value) => Some(*value),
        Block::Missing | Block::Empty => None,
    })
}

/// What the name of the file asks for.
pub fn form_of(path: &Path) -> Result<plot::Form, Failure> {
    match path.extension().and_then(OsStr::to_str) {
        Some("png") => Ok(Form::Png),
        Some("svg") => Ok(Form::Svg),
        _ => Err(Failure::usage(format!("`{}`: the name of a picture ends in .png or .svg", path.display()))),
    }
}
