//! A matrix as a picture in the terminal.
//!
//! In: [`Blocks`] that fit a [`Layout`], and what their values mean. Out: lines of text: a title, the columns' ranks
//! (read downwards), one line per row or per two rows, a legend with units.

use std::{
    io::{self, Write},
    ops::Range,
};

use super::{
    Colours, Scale, ScaleKind, amount,
    colour::{self, Line, Rgb},
    names::shortened,
};
use crate::{
    analysis::blocks::{Aggregate, Block, Blocks, Extreme},
    record::{State, Statistic},
    units::{Hosts, Rank, hostlist},
};

/// Longest name in front of a row; a longer one is cut.
const LONGEST_NAME: usize = 24;

/// Fewest blocks per side: a narrower terminal gets lines that are too long.
const FEWEST: usize = 8;

/// Lines above and below the picture.
const OTHER_LINES: usize = 12;

/// Samples of the colours in the legend.
const SAMPLES: usize = 24;

/// Stands for pairs of which payloads arrived damaged, whatever their times.
const DAMAGED: &str = "!";

const WHITE: Rgb = Rgb(255, 255, 255);

/// How a cell is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellForm {
    /// Two columns wide, one line high: nearly a square.
    Wide,
    /// One column wide, half a line high: nearly a square, but needs colours.
    Half,
    /// One column wide, one line high.
    Narrow,
}

/// How a matrix is laid out on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    colours: Colours,
    form: CellForm,
    name_width: usize,
    most: usize,
}

impl Layout {
    /// For the ranks of `hosts` on `width` columns; cells become smaller, too, where they would not fit `height` lines.
    pub fn fit(hosts: &Hosts, colours: Colours, width: usize, height: Option<usize>) -> Self {
        let ranks = hosts.ranks();
        let longest = (0..ranks).map(|rank| hosts.label_of(rank).chars().count()).max().unwrap_or(0);
        let room = |name_width: usize| width.saturating_sub(margin(ranks, name_width));
        let name_width = longest.min(LONGEST_NAME);
        let is_low = colours == Colours::None || height.is_none_or(|height| ranks + OTHER_LINES <= height);
        if is_low && 2 * ranks <= room(name_width) {
            return Self { colours, form: CellForm::Wide, name_width, most: ranks };
        }
        let form = if colours == Colours::None { CellForm::Narrow } else { CellForm::Half };
        // Lines for several ranks are named by a list: node[001-002].
        let is_single = form == CellForm::Narrow && ranks <= room(name_width);
        let name_width = if is_single { name_width } else { (longest + 6).min(LONGEST_NAME) };
        Self { colours, form, name_width, most: room(name_width).max(FEWEST) }
    }

    /// The most blocks per side that fit.
    pub fn most(&self) -> usize {
        self.most
    }
}

/// Columns in front of the first cell.
fn margin(ranks: usize, name_width: usize) -> usize {
    digits(ranks) + 1 + name_width + 1
}

/// Digits of the highest rank.
fn digits(ranks: usize) -> usize {
    ranks.saturating_sub(1).to_string().len()
}

/// A finished picture, but for its drawing.
#[derive(Clone, Copy, Debug)]
pub struct Heatmap<'a> {
    /// What is shown, in one line.
    pub title: &'a str,
    /// What the values are.
    pub statistic: Statistic,
    /// Who the ranks are.
    pub hosts: &'a Hosts,
    /// The values.
    pub blocks: &'a Blocks,
    /// How a block became a value.
    pub aggregate: Aggregate,
    /// What the colours mean.
    pub scale: Scale,
}

impl Heatmap<'_> {
    /// Draws it.
    pub fn write(&self, layout: &Layout, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}\nrow = source, column = destination, by rank\n", self.title)?;
        self.write_columns(layout, out)?;
        let at_once = if layout.form == CellForm::Half { 2 } else { 1 };
        for first in (0..self.blocks.groups.len()).step_by(at_once) {
            self.write_rows(layout, first, out)?;
        }
        writeln!(out)?;
        self.write_legend(layout, out)
    }

    /// First rank of every column, digits below each other.
    fn write_columns(&self, layout: &Layout, out: &mut dyn Write) -> io::Result<()> {
        let digits = digits(self.hosts.ranks());
        let margin = margin(self.hosts.ranks(), layout.name_width);
        for digit in 0..digits {
            let mut line = " ".repeat(margin);
            for group in &self.blocks.groups {
                if layout.form == CellForm::Wide {
                    line.push(' ');
                }
                let rank = format!("{:>digits$}", group.start);
                line.push(char::from(rank.as_bytes()[digit]));
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    /// One line: the row of blocks with number `first`, and the one after it where lines hold two.
    fn write_rows(&self, layout: &Layout, first: usize, out: &mut dyn Write) -> io::Result<()> {
        let upper = &self.blocks.blocks[first];
        let lower = self.blocks.blocks.get(first + 1).filter(|_| layout.form == CellForm::Half);
        let last = first + usize::from(lower.is_some());
        let ranks = self.blocks.groups[first].start..self.blocks.groups[last].end;
        let mut line = Line::new(layout.colours);
        let digits = digits(self.hosts.ranks());
        let name = name(self.hosts, &ranks, layout.name_width);
        line.plain(&format!("{:>digits$} {name:<width$} ", ranks.start, width = layout.name_width));
        for (column, &block) in upper.iter().enumerate() {
            if (first..=last).any(|row| self.blocks.damaged[row][column]) {
                let columns = if layout.form == CellForm::Wide { 2 } else { 1 };
                line.paint(&DAMAGED.repeat(columns), Some(WHITE), Some(colour::MISSING));
                continue;
            }
            match layout.form {
                CellForm::Half => self.paint_two(&mut line, block, lower.map(|lower| lower[column])),
                CellForm::Wide => self.paint_one(&mut line, layout, block, 2),
                CellForm::Narrow => self.paint_one(&mut line, layout, block, 1),
            }
        }
        line.write(out)
    }

    fn paint_one(&self, line: &mut Line, layout: &Layout, block: Block, columns: usize) {
        let (symbol, ink, ground) = match block {
            Block::Value(value) if layout.colours == Colours::None => {
                (colour::ink_of_place(self.scale.place(value)), None, None)
            }
            Block::Value(_) | Block::Empty => (' ', None, Some(self.ground(block))),
            Block::Missing => (missing_symbol(layout), Some(WHITE), Some(self.ground(block))),
        };
        line.paint(&symbol.to_string().repeat(columns), ink, ground);
    }

    fn paint_two(&self, line: &mut Line, upper: Block, lower: Option<Block>) {
        match (upper, lower) {
            (Block::Missing, Some(Block::Missing)) => line.paint("×", Some(WHITE), Some(colour::MISSING)),
            _ if lower == Some(upper) => line.paint(" ", None, Some(self.ground(upper))),
            _ => line.paint("▀", Some(self.ground(upper)), lower.map(|block| self.ground(block))),
        }
    }

    fn ground(&self, block: Block) -> Rgb {
        match block {
            Block::Value(value) => colour::of_place(self.scale.place(value)),
            Block::Missing => colour::MISSING,
            Block::Empty => colour::NEUTRAL,
        }
    }

    fn write_legend(&self, layout: &Layout, out: &mut dyn Write) -> io::Result<()> {
        self.write_scale(layout, out)?;
        let pairs = self.hosts.ranks() * self.hosts.ranks().saturating_sub(1);
        let (left_out, failed): (Vec<_>, Vec<_>) =
            self.blocks.missing.iter().partition(|(state, _)| *state == State::NotScheduled);
        if !failed.is_empty() {
            let mut line = Line::new(layout.colours);
            let symbol = missing_symbol(layout).to_string().repeat(2);
            line.paint(&symbol, Some(WHITE), Some(colour::MISSING));
            let reasons: Vec<_> = failed.iter().map(|(state, count)| format!("{} {count}", state.name())).collect();
            let count: usize = failed.iter().map(|(_, count)| count).sum();
            line.plain(&format!(" missing: {count} of {pairs} pairs ({})", reasons.join(", ")));
            line.write(out)?;
        }
        if self.blocks.damaged_pairs > 0 {
            let mut line = Line::new(layout.colours);
            line.paint(&DAMAGED.repeat(2), Some(WHITE), Some(colour::MISSING));
            line.plain(&format!(" payloads arrived damaged: {} of {pairs} pairs", self.blocks.damaged_pairs));
            line.write(out)?;
        }
        let mut line = Line::new(layout.colours);
        line.paint("  ", None, Some(colour::NEUTRAL));
        line.plain(if layout.colours == Colours::None { " blank: the diagonal" } else { " the diagonal" });
        for (_, count) in left_out {
            line.plain(&format!(", and {count} of {pairs} pairs that the schedule leaves out"));
        }
        line.write(out)?;
        let size = self.blocks.group_size();
        if size > 1 {
            let aggregate = match self.aggregate {
                Aggregate::Max => "max (a missing pair counts as slowest)",
                Aggregate::Median => "median",
                Aggregate::Min => "min",
            };
            writeln!(out, "each cell: {aggregate} of a block of {size} x {size} ranks")?;
        }
        if let Some((low, high)) = self.blocks.extremes {
            writeln!(out, "highest: {}\nlowest:  {}", self.pair(high), self.pair(low))?;
        }
        Ok(())
    }

    fn write_scale(&self, layout: &Layout, out: &mut dyn Write) -> io::Result<()> {
        let Scale { low, high, kind } = self.scale;
        let mut line = Line::new(layout.colours);
        line.plain(&format!("{} ", amount(self.statistic, low)));
        for place in (0..SAMPLES).map(|k| k as f64 / (SAMPLES - 1) as f64) {
            match layout.colours {
                Colours::None => line.plain(&colour::ink_of_place(place).to_string()),
                _ => line.paint(" ", None, Some(colour::of_place(place))),
            }
        }
        let kind = match kind {
            ScaleKind::Linear => "linear",
            ScaleKind::Log => "logarithmic",
        };
        line.plain(&format!(" {} ({kind} scale)", amount(self.statistic, high)));
        line.write(out)
    }

    fn pair(&self, Extreme { value, source, destination }: Extreme) -> String {
        let [source, destination] = [source, destination].map(|rank| self.hosts.label_of(rank));
        format!("{} from {source} to {destination}", amount(self.statistic, value))
    }
}

fn missing_symbol(layout: &Layout) -> char {
    if layout.colours == Colours::None { '?' } else { '×' }
}

/// Name of a line for these ranks, at most `width` long: of the rank, of all hosts, or of the first and no more.
fn name(hosts: &Hosts, ranks: &Range<Rank>, width: usize) -> String {
    if ranks.len() == 1 {
        return shortened(hosts.label_of(ranks.start), width);
    }
    let mut names: Vec<&str> = ranks.clone().map(|rank| hosts.name_of(rank)).collect();
    names.dedup();
    let all = hostlist::compress(&names);
    if all.chars().count() <= width { all } else { shortened(format!("{}..", names[0]), width) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(count: usize) -> Hosts {
        Hosts::new((0..count).map(|host| format!("node{host:03}")))
    }

    #[test]
    fn cells_are_as_large_as_fits() {
        let layout = |ranks, colours, width, height| Layout::fit(&hosts(ranks), colours, width, height);
        assert_eq!(layout(8, Colours::True, 80, None).form, CellForm::Wide);
        assert_eq!(layout(8, Colours::None, 80, Some(10)).form, CellForm::Wide);
        assert_eq!(layout(64, Colours::True, 200, Some(50)).form, CellForm::Half);
        let narrow = layout(64, Colours::None, 80, None);
        assert_eq!((narrow.form, narrow.name_width), (CellForm::Narrow, "node000".len()));
        let large = layout(500, Colours::True, 80, None);
        assert_eq!((large.form, large.most()), (CellForm::Half, 80 - 3 - 1 - 13 - 1));
        assert_eq!(layout(500, Colours::True, 5, None).most(), FEWEST);
    }

    #[test]
    fn lines_are_named_as_well_as_fits() {
        let hosts = hosts(20);
        assert_eq!(name(&hosts, &(3..4), 10), "node003");
        assert_eq!(name(&hosts, &(3..6), 13), "node[003-005]");
        assert_eq!(name(&hosts, &(3..6), 9), "node003..");
        assert_eq!(name(&hosts, &(3..4), 4), "~003");
        assert_eq!(name(&Hosts::new(["a", "a", "b"]), &(0..2), 9), "a");
        assert_eq!(name(&Hosts::new(["a", "a", "b"]), &(1..2), 9), "a:1");
    }
}
