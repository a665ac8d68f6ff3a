//! The sweep: which message lengths are measured.

use std::{fmt, str::FromStr};

use crate::units::{Bytes, ParseBytesError};

/// Longest message: MPI counts elements, here bytes, with a C int.
pub const MAX_LENGTH: Bytes = Bytes(i32::MAX as u64);

/// Most lengths in a sweep. A sweep beyond it is a typing error, not a plan: a single exchange of each takes days.
pub const MAX_LENGTHS: usize = 1_000_000;

/// Ascending message lengths without repetition, and how they were asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    lengths: Vec<Bytes>,
    form: Form,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    Linear { begin: Bytes, end: Bytes, step: Bytes },
    List,
    Geometric { begin: Bytes, end: Bytes, factor: f64 },
}

/// A sweep that cannot be measured.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's text says it")]
pub enum SweepError {
    #[error("empty sweep: begin {begin} is not below end {end} (the end is exclusive)")]
    Empty { begin: Bytes, end: Bytes },
    #[error("step 0 leads nowhere: give a step of at least 1 byte, or the lengths themselves with --lengths")]
    ZeroStep,
    #[error("message length {0} is beyond what MPI can count (at most {max} bytes)", max = MAX_LENGTH.0)]
    TooLong(Bytes),
    #[error("{count} message lengths are more than the {MAX_LENGTHS} that a sweep may have: use a larger step")]
    TooMany { count: u64 },
    #[error("message length {0} is listed twice")]
    Repeated(Bytes),
    #[error("the list of message lengths is empty")]
    EmptyList,
    #[error("a geometric sweep cannot begin at 0 bytes: 0 times anything is 0; use --lengths 0,1,2,4,...")]
    GeometricFromZero,
    #[error("a geometric sweep needs a factor above 1, not `{0}`")]
    Factor(String),
    #[error("`{0}` is not a geometric sweep: write BEGIN:END:FACTOR, for example 1:4M:2")]
    GeometricForm(String),
    #[error("`{0}` is not a linear sweep: it has the form BEGIN:END:STEP, for example 0:10000:100")]
    LinearForm(String),
    #[error("`{0}` is not a sweep: it has the form `linear 0:10000:100`, `geometric 1:4M:2` or `list 0,64,4K`")]
    Unknown(String),
    #[error("the geometric sweep ends at {end}, below its begin {begin}")]
    GeometricEmpty { begin: Bytes, end: Bytes },
    #[error(transparent)]
    Bytes(#[from] ParseBytesError),
}

fn check_length(length: Bytes) -> Result<(), SweepError> {
    if length > MAX_LENGTH { Err(SweepError::TooLong(length)) } else { Ok(()) }
}

impl Sweep {
    /// `begin`, `begin + step`, ... up to but not including `end`.
    pub fn linear(begin: Bytes, end: Bytes, step: Bytes) -> Result<Self, SweepError> {
        if begin >= end {
            return Err(SweepError::Empty { begin, end });
        }
        if step.0 == 0 {
            return Err(SweepError::ZeroStep);
        }
        let count = (end.0 - begin.0).div_ceil(step.0);
        check_length(Bytes(begin.0 + (count - 1) * step.0))?;
        if count > MAX_LENGTHS as u64 {
            return Err(SweepError::TooMany { count });
        }
        let lengths = (0..count).map(|k| Bytes(begin.0 + k * step.0)).collect();
        Ok(Self { lengths, form: Form::Linear { begin, end, step } })
    }

    /// Exactly these lengths, in any order.
    pub fn list(lengths: &[Bytes]) -> Result<Self, SweepError> {
        let mut lengths = lengths.to_vec();
        lengths.sort_unstable();
        let longest = *lengths.last().ok_or(SweepError::EmptyList)?;
        check_length(longest)?;
        if let Some(twice) = lengths.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(SweepError::Repeated(twice[0]));
        }
        if lengths.len() > MAX_LENGTHS {
            return Err(SweepError::TooMany { count: lengths.len() as u64 });
        }
        Ok(Self { lengths, form: Form::List })
    }

    /// `begin`, `begin * factor`, ... up to and including `end`, rounded to bytes; a length that rounds to the one
    /// before it is left out.
    pub fn geometric(begin: Bytes, end: Bytes, factor: f64) -> Result<Self, SweepError> {
        if begin.0 == 0 {
            return Err(SweepError::GeometricFromZero);
        }
        if !(factor.is_finite() && factor > 1.0) {
            return Err(SweepError::Factor(factor.to_string()));
        }
        if begin > end {
            return Err(SweepError::GeometricEmpty { begin, end });
        }
        check_length(end)?;
        let mut lengths = vec![begin];
        let mut exact = begin.0 as f64;
        loop {
            exact *= factor;
            let length = Bytes(exact.round() as u64);
            if length > end {
                break;
            }
            if lengths.last() != Some(&length) {
                lengths.push(length);
            }
            if lengths.len() > MAX_LENGTHS {
                return Err(SweepError::TooMany { count: lengths.len() as u64 });
            }
        }
        Ok(Self { lengths, form: Form::Geometric { begin, end, factor } })
    }

    /// Reads `1:4M:2`: begin, end, factor.
    pub fn parse_geometric(text: &str) -> Result<Self, SweepError> {
        let parts: Vec<_> = text.split(':').collect();
        let [begin, end, factor] = parts[..] else {
            return Err(SweepError::GeometricForm(text.to_owned()));
        };
        let factor = factor.parse().map_err(|_| SweepError::Factor(factor.to_owned()))?;
        Self::geometric(begin.parse()?, end.parse()?, factor)
    }

    /// Reads `0,64,4K,1M`.
    pub fn parse_list(text: &str) -> Result<Self, SweepError> {
        let lengths: Result<Vec<Bytes>, _> = text.split(',').map(|length| Bytes::from_str(length.trim())).collect();
        Self::list(&lengths?)
    }

    /// The lengths, ascending.
    pub fn lengths(&self) -> &[Bytes] {
        &self.lengths
    }

    /// The longest length: what buffers must hold.
    pub fn longest(&self) -> Bytes {
        *self.lengths.last().expect("a sweep has at least one length")
    }

    /// network_tests2's begin, end (exclusive) and step, which can say no more than a linear sweep: for any other
    /// sweep the step is 0 and the end is one past the longest length.
    pub fn begin_end_step(&self) -> (Bytes, Bytes, Bytes) {
        match self.form {
            Form::Linear { begin, end, step } => (begin, end, step),
            Form::List | Form::Geometric { .. } => (self.lengths[0], Bytes(self.longest().0 + 1), Bytes(0)),
        }
    }
}

/// The form in which it was asked for, in bytes: `linear 0:10000:100`, `list 0,64,4096`, `geometric 1:4194304:2`.
impl fmt::Display for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.form {
            Form::Linear { begin, end, step } => write!(f, "linear {}:{}:{}", begin.0, end.0, step.0),
            Form::Geometric { begin, end, factor } => write!(f, "geometric {}:{}:{factor}", begin.0, end.0),
            Form::List => {
                let lengths: Vec<_> = self.lengths.iter().map(|length| length.0.to_string()).collect();
                write!(f, "list {}", lengths.join(","))
            }
        }
    }
}

/// Reads what `Display` wrote.
impl FromStr for Sweep {
    type Err = SweepError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(' ') {
            Some(("list", list)) => Self::parse_list(list),
            Some(("geometric", geometric)) => Self::parse_geometric(geometric),
            Some(("linear", linear)) => match linear.split(':').collect::<Vec<_>>()[..] {
                [begin, end, step] => Self::linear(begin.parse()?, end.parse()?, step.parse()?),
                _ => Err(SweepError::LinearForm(linear.to_owned())),
            },
            _ => Err(SweepError::Unknown(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(lengths: &[u64]) -> Vec<Bytes> {
        lengths.iter().copied().map(Bytes).collect()
    }

    #[test]
    fn the_end_of_a_linear_sweep_is_exclusive() {
        assert_eq!(Sweep::linear(Bytes(0), Bytes(300), Bytes(100)).unwrap().lengths(), bytes(&[0, 100, 200]));
        assert_eq!(Sweep::linear(Bytes(0), Bytes(301), Bytes(100)).unwrap().lengths(), bytes(&[0, 100, 200, 300]));
    }

    #[test]
    fn the_end_of_a_geometric_sweep_is_inclusive() {
        assert_eq!(Sweep::parse_geometric("1:8:2").unwrap().lengths(), bytes(&[1, 2, 4, 8]));
        assert_eq!(Sweep::parse_geometric("1:1K:4").unwrap().longest(), Bytes(1024));
        assert_eq!(Sweep::parse_geometric("1:4:1.3").unwrap().lengths(), bytes(&[1, 2, 3, 4]));
    }

    #[test]
    fn a_list_may_come_in_any_order() {
        assert_eq!(Sweep::parse_list("4K, 0,64").unwrap().lengths(), bytes(&[0, 64, 4096]));
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        let linear = |b, e, s| Sweep::linear(Bytes(b), Bytes(e), Bytes(s)).unwrap_err();
        assert_eq!(linear(100, 100, 1), SweepError::Empty { begin: Bytes(100), end: Bytes(100) });
        assert_eq!(linear(0, 100, 0), SweepError::ZeroStep);
        assert_eq!(linear(0, 1 << 40, 1 << 39), SweepError::TooLong(Bytes(1 << 39)));
        assert_eq!(linear(0, 2_000_000, 1), SweepError::TooMany { count: 2_000_000 });
        assert_eq!(linear(u64::MAX - 1, u64::MAX, 1), SweepError::TooLong(Bytes(u64::MAX - 1)));
        assert_eq!(Sweep::list(&[]).unwrap_err(), SweepError::EmptyList);
        assert_eq!(Sweep::parse_list("1,2,1").unwrap_err(), SweepError::Repeated(Bytes(1)));
        assert!(matches!(Sweep::parse_list("1,,2").unwrap_err(), SweepError::Bytes(_)));
        assert_eq!(Sweep::parse_geometric("0:8:2").unwrap_err(), SweepError::GeometricFromZero);
        for factor in ["1", "0.5", "NaN", "inf", "x"] {
            let error = Sweep::parse_geometric(&format!("1:8:{factor}")).unwrap_err();
            assert_eq!(error, SweepError::Factor(factor.to_owned()));
        }
        assert!(matches!(Sweep::parse_geometric("1:8").unwrap_err(), SweepError::GeometricForm(_)));
        assert!(matches!(Sweep::parse_geometric("9:8:2").unwrap_err(), SweepError::GeometricEmpty { .. }));
    }

    #[test]
    fn a_damaged_text_is_called_by_its_form() {
        let damaged = |text: &str| text.parse::<Sweep>().unwrap_err();
        assert_eq!(damaged("linear 0:10"), SweepError::LinearForm("0:10".to_owned()));
        assert_eq!(damaged("geometric 1:8"), SweepError::GeometricForm("1:8".to_owned()));
        assert_eq!(damaged("0,64"), SweepError::Unknown("0,64".to_owned()));
    }

    proptest! {
        #[test]
        fn a_sweep_is_ascending_and_survives_its_text(
            begin in 0u64..5_000, span in 1u64..10_000, step in 1u64..500, factor in 1.1f64..9.0,
        ) {
            let linear = Sweep::linear(Bytes(begin), Bytes(begin + span), Bytes(step)).unwrap();
            let geometric = Sweep::geometric(Bytes(begin + 1), Bytes(begin + span), factor).unwrap_or(linear.clone());
            for sweep in [linear, geometric] {
                prop_assert!(sweep.lengths().windows(2).all(|pair| pair[0] < pair[1]));
                prop_assert_eq!(&sweep.to_string().parse::<Sweep>().unwrap(), &sweep);
            }
        }
    }
}
