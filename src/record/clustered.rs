//! A run of which one statistic was reduced to sets of pairs over ranges of lengths.

use std::{fmt, ops::Range, str::FromStr};

use super::{BoxError, Header, Run, Statistic};
use crate::units::{Bytes, Rank, Seconds};

/// The item of [`Header::plan`] by which a run tells that its values were decoded from an archive, and within which
/// [`Tolerance`]: errors of a second reduction would add up.
pub const DECODED_TOLERANCE: &str = "decoded_tolerance";

/// How far a decoded value may lie from the original.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// As a share of the original value: 0.1 is 10 %.
    Relative(f64),
    /// In the unit of the statistic: seconds, or a number of samples.
    Absolute(f64),
}

impl Tolerance {
    /// Whether `decoded` may stand for `original`. Only a missing value stands for a missing one.
    pub fn accepts(self, original: f64, decoded: f64) -> bool {
        if original == decoded || (original.is_nan() && decoded.is_nan()) {
            return true;
        }
        match self {
            Self::Relative(share) => (decoded - original).abs() <= share * original.abs() && original.is_finite(),
            Self::Absolute(limit) => (decoded - original).abs() <= limit && original.is_finite(),
        }
    }

    /// The share or the limit, without its meaning.
    pub fn size(self) -> f64 {
        match self {
            Self::Relative(size) | Self::Absolute(size) => size,
        }
    }

    /// Whether it can be held: neither negative nor NaN nor infinite.
    pub fn is_valid(self) -> bool {
        self.size() >= 0.0 && self.size().is_finite()
    }

    /// For people: `10 %` or `1.00 us`.
    pub fn describe(self) -> String {
        match self {
            // Six decimals of a percentage and no more, without the zeros behind.
            Self::Relative(share) => format!("{} %", (share * 1e8).round() / 1e6),
            Self::Absolute(limit) => Seconds(limit).to_string(),
        }
    }
}

/// Exact: `10%` or `1e-6s`. What is printed can be typed on a command line again.
impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relative(share) => {
                // The shortest percentage that gives the same number when it is read back.
                let near = [(share * 1e8).round() / 1e6, share * 100.0];
                let near = near.into_iter().flat_map(|percent| [percent, percent.next_up(), percent.next_down()]);
                match near.into_iter().find(|percent| percent / 100.0 == *share) {
                    Some(percent) => write!(f, "{percent}%"),
                    None => write!(f, "{}%", share * 100.0),
                }
            }
            Self::Absolute(limit) => write!(f, "{limit:e}s"),
        }
    }
}

/// A text that is no tolerance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no tolerance: write a share of the value (5%) or a time (200ns, 1.5us, 2e-6s)")]
pub struct ParseToleranceError(String);

impl FromStr for Tolerance {
    type Err = ParseToleranceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const UNITS: [(&str, f64, bool); 5] =
            [("%", 1e-2, false), ("ns", 1e-9, true), ("us", 1e-6, true), ("ms", 1e-3, true), ("s", 1.0, true)];
        let error = || ParseToleranceError(text.to_owned());
        let (number, factor, absolute) = UNITS
            .into_iter()
            .find_map(|(unit, factor, absolute)| Some((text.strip_suffix(unit)?, factor, absolute)))
            // Nothing is nothing in every unit; any other number could be meant in several.
            .or_else(|| (text.trim() == "0").then_some((text, 1.0, false)))
            .ok_or_else(error)?;
        let number: f64 = number.trim_end().parse().map_err(|_| error())?;
        // Dividing keeps `10%` the number that 0.1 is.
        let size = if factor == 1e-2 { number / 100.0 } else { number * factor };
        let tolerance = if absolute { Self::Absolute(size) } else { Self::Relative(size) };
        tolerance.is_valid().then_some(tolerance).ok_or_else(error)
    }
}

/// A cell that its set does not stand for; kept exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exception {
    /// Number of the length within the part.
    pub length: u32,
    /// `source * ranks + destination`.
    pub cell: u32,
    /// The original value; NaN is "missing".
    pub value: f64,
}

/// In [`Part::sets`]: the pair is in no set. Its cells are missing but for exceptions.
pub const NO_SET: u32 = u32::MAX;

/// A range of lengths and the sets of pairs that behave alike in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Numbers of the lengths.
    pub lengths: Range<usize>,
    /// Number of the set of every pair or [`NO_SET`], `[source][destination]`. Larger sets have smaller numbers.
    pub sets: Vec<u32>,
    /// What the sets' cells decode to, `[set][length]`.
    pub values: Vec<f64>,
    /// Cells that decode to something else, by length and then by cell.
    pub exceptions: Vec<Exception>,
}

impl Part {
    /// Number of sets.
    pub fn set_count(&self) -> usize {
        self.values.len() / self.lengths.len().max(1)
    }

    /// What a set decodes to, by length.
    pub fn curve(&self, set: usize) -> &[f64] {
        &self.values[set * self.lengths.len()..][..self.lengths.len()]
    }

    /// The exceptions at the length with number `length` within the part.
    pub fn exceptions_at(&self, length: usize) -> &[Exception] {
        let start = self.exceptions.partition_point(|exception| (exception.length as usize) < length);
        let count = self.exceptions[start..].partition_point(|exception| exception.length as usize == length);
        &self.exceptions[start..start + count]
    }
}

/// What holds for all parts of an archive.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// Of the run that was reduced.
    pub header: Header,
    /// The statistic that was kept.
    pub statistic: Statistic,
    /// The lengths that were finished, ascending.
    pub lengths: Vec<Bytes>,
    /// No cell decodes further from the original than this.
    pub tolerance: Tolerance,
    /// Where the tolerance comes from, in words.
    pub reason: String,
    /// The ranks in an order that brings those together that behave alike.
    pub order: Vec<Rank>,
}

/// Accepts the parts of an archive while a run is reduced, in ascending order.
pub trait PartSink {
    /// Takes the next part.
    fn write_part(&mut self, part: Part) -> Result<(), BoxError>;
}

/// A reduced run in memory: any value is found in a few operations, and as a [`Run`] it has its one statistic.
#[derive(Clone, Debug, PartialEq)]
pub struct Clustered {
    about: About,
    parts: Vec<Part>,
    /// For every length the part it is in.
    part_of_length: Vec<usize>,
    /// For every length its first exception in its part, and the one behind its last.
    exceptions_of_length: Vec<Range<usize>>,
}

impl Clustered {
    /// Without parts yet.
    pub fn new(about: About) -> Self {
        Self { about, parts: Vec::new(), part_of_length: Vec::new(), exceptions_of_length: Vec::new() }
    }

    /// What holds for all parts.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Sets the order of ranks: it is known only when all parts are.
    pub fn set_order(&mut self, order: Vec<Rank>) {
        self.about.order = order;
    }

    /// The ranges of lengths, ascending.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// A single value, decoded: the range by length, the set by pair, the value by set; an exception overrides it.
    pub fn value(&self, length_index: usize, source: Rank, destination: Rank) -> f64 {
        let part = &self.parts[self.part_of_length[length_index]];
        let cell = source * self.about.header.hosts.ranks() + destination;
        let exceptions = &part.exceptions[self.exceptions_of_length[length_index].clone()];
        if let Ok(place) = exceptions.binary_search_by_key(&(cell as u32), |exception| exception.cell) {
            return exceptions[place].value;
        }
        match part.sets[cell] {
            NO_SET => f64::NAN,
            set => part.values[set as usize * part.lengths.len() + length_index - part.lengths.start],
        }
    }

    /// The header of the run that the archive decodes to: it says that it was decoded, and how exactly.
    pub fn decoded_header(&self) -> Header {
        let mut header = self.about.header.clone();
        header.plan.insert(DECODED_TOLERANCE.to_owned(), self.about.tolerance.to_string());
        header
    }
}

impl PartSink for Clustered {
    fn write_part(&mut self, part: Part) -> Result<(), BoxError> {
        let mut start = 0;
        for length in 0..part.lengths.len() {
            let count = part.exceptions[start..].partition_point(|exception| exception.length as usize == length);
            self.part_of_length.push(self.parts.len());
            self.exceptions_of_length.push(start..start + count);
            start += count;
        }
        self.parts.push(part);
        Ok(())
    }
}

impl Run for Clustered {
    fn header(&self) -> &Header {
        &self.about.header
    }

    fn lengths(&self) -> &[Bytes] {
        &self.about.lengths
    }

    fn statistics(&self) -> &[Statistic] {
        std::slice::from_ref(&self.about.statistic)
    }

    fn read_rows(
        &self,
        statistic: Statistic,
        length_index: usize,
        rows: Range<usize>,
        values: &mut [f64],
    ) -> Result<(), BoxError> {
        if statistic != self.about.statistic {
            return Err(format!("the archive holds {} alone, not {statistic}", self.about.statistic).into());
        }
        let ranks = self.ranks();
        let part = &self.parts[self.part_of_length[length_index]];
        let (first, count) = (length_index - part.lengths.start, part.lengths.len());
        let cells = rows.start * ranks..rows.end * ranks;
        for (value, &set) in values.iter_mut().zip(&part.sets[cells.clone()]) {
            *value = if set == NO_SET { f64::NAN } else { part.values[set as usize * count + first] };
        }
        for exception in &part.exceptions[self.exceptions_of_length[length_index].clone()] {
            if cells.contains(&(exception.cell as usize)) {
                values[exception.cell as usize - cells.start] = exception.value;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerance_that_is_printed_can_be_typed_again() {
        for text in ["10%", "1%", "0.05%", "200ns", "1.5us", "2e-6s", "0", "12.34567891234%", "33.3333333333333%"] {
            let tolerance: Tolerance = text.parse().unwrap();
            assert_eq!(tolerance.to_string().parse(), Ok(tolerance), "{text}");
        }
        assert_eq!("10%".parse(), Ok(Tolerance::Relative(0.1)));
        assert_eq!("1.5 us".parse(), Ok(Tolerance::Absolute(1.5e-6)));
        for text in ["", "-1%", "much", "inf", "nan%", "5 x", "5", "0.05", "1e-6"] {
            assert!(text.parse::<Tolerance>().unwrap_err().to_string().contains(&format!("`{text}`")));
        }
    }

    #[test]
    fn only_missing_stands_for_missing_and_infinite_for_infinite() {
        let tolerance = Tolerance::Relative(1e9);
        assert!(tolerance.accepts(f64::NAN, f64::NAN) && tolerance.accepts(f64::INFINITY, f64::INFINITY));
        assert!(!tolerance.accepts(f64::NAN, 1.0) && !tolerance.accepts(1.0, f64::NAN));
        assert!(!tolerance.accepts(f64::INFINITY, 1.0) && !tolerance.accepts(1.0, f64::INFINITY));
        assert!(!tolerance.accepts(0.0, 1e-300), "a share of nothing is nothing");
        assert!(Tolerance::Relative(0.1).accepts(-10.0, -11.0) && !Tolerance::Relative(0.1).accepts(-10.0, -11.1));
    }
}
