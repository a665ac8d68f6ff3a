//! Values to the small whole numbers that a report keeps of them, and how exact those are.
//!
//! In: values of one statistic. Out: [`Code`]s on a logarithmic grid, so that every value is kept within the same share
//! of itself, and [`Residuals`]: what is left of a code when what its length and its pair are typically like is taken
//! off. Residuals are small, and small numbers compress. The page's script does the same backwards.

/// A value on the grid: [`MISSING`], [`ZERO`], or how many steps it lies above [`LOWEST`], from 2 on.
pub type Code = u16;

/// There is no value.
pub const MISSING: Code = 0;

/// Zero, or less.
pub const ZERO: Code = 1;

/// The first code of a value.
const FIRST: Code = 2;

/// The value of the first code. Nothing that a clock can tell is less; in samples even less so.
pub const LOWEST: f64 = 1e-12;

/// Pairs further from what is typical of a length are taken to be so far.
const MOST_DISTANCE: i32 = 30_000;

/// The last code; the one after it is left to the script, for cells that are to be drawn as missing.
const LAST: Code = Code::MAX - 1;

/// How far a kept value may lie from the original, as shares of it: fine to coarse.
pub const ERRORS: [f64; 14] =
    [0.0005, 0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.2];

/// A logarithmic grid of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Distance of neighbours: the natural logarithm of their ratio.
    pub step: f64,
}

impl Grid {
    /// On which no value moves by more than `error`, a share of it.
    pub fn within(error: f64) -> Self {
        Self { step: 2.0 * error.ln_1p() }
    }

    /// The nearest code of a value. NaN and infinite values are missing.
    pub fn code(self, value: f64) -> Code {
        if !value.is_finite() {
            return MISSING;
        }
        if value <= 0.0 {
            return ZERO;
        }
        let steps = ((value / LOWEST).ln() / self.step).round();
        FIRST + steps.clamp(0.0, f64::from(LAST - FIRST)) as Code
    }

    /// What a code stands for; the inverse of [`Grid::code`] but for the error of the grid.
    #[cfg(test)]
    pub fn value(self, code: Code) -> f64 {
        match code {
            MISSING => f64::NAN,
            ZERO => 0.0,
            _ => LOWEST * (f64::from(code - FIRST) * self.step).exp(),
        }
    }
}

/// What is left of the codes of a matrix, `[source][destination]`, in a byte each where that is enough.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Residuals {
    bytes: Vec<u8>,
    long: Vec<u8>,
}

/// Bytes that are no residual: zero, missing, and "the code itself is in the second part".
const BYTE_ZERO: u8 = 253;
const BYTE_MISSING: u8 = 254;
const BYTE_LONG: u8 = 255;

impl Residuals {
    /// Appends a code of which `expected` was to be expected.
    pub fn push(&mut self, code: Code, expected: i32) {
        let residual = i32::from(code) - expected;
        // Signs alternate (0, -1, 1, -2, ...), so that what is near to 0 on either side is small.
        let folded = ((residual << 1) ^ (residual >> 31)) as u32;
        self.bytes.push(match code {
            MISSING => BYTE_MISSING,
            ZERO => BYTE_ZERO,
            _ if folded < u32::from(BYTE_ZERO) => folded as u8,
            _ => {
                self.long.extend(code.to_le_bytes());
                BYTE_LONG
            }
        });
    }

    /// The bytes of all cells, and behind them the codes, little-endian, of those whose byte says so.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut bytes = self.bytes;
        bytes.extend(self.long);
        bytes
    }

    /// Bits per cell that a code of single bytes needs at least (Shannon's entropy).
    pub fn entropy(&self) -> f64 {
        let mut counts = [0u32; 256];
        self.bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        let all = self.bytes.len().max(1) as f64;
        let bits = |count: u32| -f64::from(count) / all * (f64::from(count) / all).log2();
        let short: f64 = counts.into_iter().filter(|count| *count > 0).map(bits).sum();
        short + 8.0 * self.long.len() as f64 / all
    }
}

/// What the codes of some lengths tell about all: the typical code of each length, and by how much each pair is
/// typically above or below it.
#[derive(Clone, Debug, PartialEq)]
pub struct Typical {
    /// `[length]`, of those that were looked at.
    pub of_length: Vec<Code>,
    /// `[cell]`.
    pub of_cell: Vec<i16>,
}

impl Typical {
    /// Of `codes`, `[length][cell]`.
    pub fn of(codes: &[Vec<Code>]) -> Self {
        let of_length: Vec<Code> = codes.iter().map(|codes| middle(codes)).collect();
        let cells = codes.first().map_or(0, Vec::len);
        let mut distances = Vec::with_capacity(codes.len());
        let of_cell = (0..cells).map(|cell| {
            distances.clear();
            let values = codes.iter().zip(&of_length).filter(|(codes, _)| codes[cell] >= FIRST);
            distances.extend(values.map(|(codes, middle)| i32::from(codes[cell]) - i32::from(*middle)));
            let half = distances.len() / 2;
            match distances.is_empty() {
                true => 0,
                false => (*distances.select_nth_unstable(half).1).clamp(-MOST_DISTANCE, MOST_DISTANCE) as i16,
            }
        });
        Self { of_cell: of_cell.collect(), of_length }
    }
}

/// The middle code of those that stand for a value; [`FIRST`] if there is none.
pub fn middle(codes: &[Code]) -> Code {
    let mut values: Vec<Code> = codes.iter().copied().filter(|code| *code >= FIRST).collect();
    let half = values.len() / 2;
    if values.is_empty() { FIRST } else { *values.select_nth_unstable(half).1 }
}

/// Smallest and largest code of a positive value off the diagonal of a matrix; `None` where there is none. A
/// logarithmic scale can do nothing with zero, and a linear one begins there anyway.
pub fn span(codes: &[Code], ranks: usize) -> Option<(Code, Code)> {
    let off_diagonal = codes.iter().enumerate().filter(|(cell, _)| cell / ranks != cell % ranks);
    off_diagonal.map(|(_, code)| *code).filter(|code| *code >= FIRST).fold(None, |span, code| {
        let (low, high) = span.unwrap_or((code, code));
        Some((code.min(low), code.max(high)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_moves_by_more_than_the_error() {
        for error in ERRORS {
            let grid = Grid::within(error);
            for k in 0..4000 {
                let value = 1e-9 * (f64::from(k) * 0.007).exp();
                let kept = grid.value(grid.code(value));
                assert!((kept - value).abs() <= error * value * 1.000_001, "{value} became {kept} at {error}");
            }
        }
    }

    #[test]
    fn what_is_no_number_is_missing_and_zero_stays_zero() {
        let grid = Grid::within(0.01);
        assert_eq!([f64::NAN, f64::INFINITY, 0.0, -1.0].map(|value| grid.code(value)), [MISSING, MISSING, ZERO, ZERO]);
        assert_eq!([1e-300, 1e300].map(|value| grid.code(value)), [FIRST, LAST]);
        assert!(grid.value(MISSING).is_nan() && grid.value(ZERO) == 0.0);
    }

    #[test]
    fn residuals_are_small_near_to_what_was_expected() {
        let mut residuals = Residuals::default();
        for (code, expected) in [(100, 100), (99, 100), (101, 100), (MISSING, 100), (ZERO, 5), (1000, 100), (226, 100)]
        {
            residuals.push(code, expected);
        }
        assert_eq!(residuals.into_bytes(), [0, 1, 2, 254, 253, 255, 252, 0xe8, 0x03]);
    }

    #[test]
    fn entropy_is_what_a_code_needs() {
        let mut residuals = Residuals::default();
        (0..64).for_each(|k| residuals.push(100 + k % 4, 100));
        assert!((residuals.entropy() - 2.0).abs() < 1e-9);
        assert_eq!(Residuals::default().entropy(), 0.0);
    }

    #[test]
    fn what_is_typical_leaves_missing_cells_out() {
        let typical = Typical::of(&[vec![10, 12, MISSING], vec![20, 22, MISSING], vec![30, MISSING, ZERO]]);
        assert_eq!(typical.of_length, [12, 22, 30]);
        assert_eq!(typical.of_cell, [-2, 0, 0]);
        assert_eq!(span(&[9, 3, ZERO, MISSING], 2), Some((3, 3)));
        assert_eq!(span(&[9], 1), None);
    }
}
