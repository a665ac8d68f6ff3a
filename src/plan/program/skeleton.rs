//! Skeletons of known programs: Roda's fast Fourier transform and sorting by regular sampling.
//!
//! Source: Roda, Rodriguez, Morales, Almeida, "Predicting the execution time of message passing models" (the BSPWB and
//! MPM paper). They hold the work and the messages of every step, not the computation itself.

use std::{fmt, str::FromStr};

use super::{MOST_MESSAGES, Message, Program, Step};
use crate::units::{Bytes, shown};

/// A known program, before the number of processes is known. Reads and prints `fft:N=524288,D=2.39e-7`; what is left out
/// has its usual value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Skeleton {
    /// Fast Fourier transform of `points` on 2^d processes: seconds to divide (`d`) and to transform (`f`) per point, to
    /// combine (`r`) per point.
    Fft {
        /// N.
        points: u64,
        /// D, F, R in seconds; usually those of the paper's Origin (table 3).
        constants: [f64; 3],
    },
    /// Parallel sorting by regular sampling of `items`: constants B, C, D, E, F, H, I, J in seconds. The paper does not
    /// print them; usually each is 1e-7.
    Psrs {
        /// N.
        items: u64,
        /// B, C, D, E, F, H, I, J in seconds.
        constants: [f64; 8],
    },
}

const FFT: [&str; 3] = ["D", "F", "R"];
const PSRS: [&str; 8] = ["B", "C", "D", "E", "F", "H", "I", "J"];

/// A text or a number of processes of which no program comes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkeletonError {
    /// Not the name of a skeleton.
    #[error("there is no skeleton `{0}`; there are fft and psrs")]
    Name(String),
    /// A part of the text.
    #[error("`{part}` is not understood in `{name}:...`: write {form}")]
    Part {
        /// The skeleton.
        name: &'static str,
        /// What stands there.
        part: String,
        /// What could.
        form: String,
    },
    /// The number of processes does not fit.
    #[error("{0}")]
    Processes(String),
}

impl Skeleton {
    /// The transform with the paper's constants of an Origin.
    pub fn fft(points: u64) -> Self {
        Self::Fft { points, constants: [2.39e-7, 5.52e-7, 2.84e-7] }
    }

    /// Sorting with all constants 1e-7.
    pub fn psrs(items: u64) -> Self {
        Self::Psrs { items, constants: [1e-7; 8] }
    }

    /// Name, names of the constants.
    fn names(&self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Fft { .. } => ("fft", &FFT),
            Self::Psrs { .. } => ("psrs", &PSRS),
        }
    }

    fn parts(&mut self) -> (&mut u64, &mut [f64]) {
        match self {
            Self::Fft { points, constants } => (points, constants),
            Self::Psrs { items, constants } => (items, constants),
        }
    }

    /// The program on so many processes.
    pub fn program(&self, processes: usize) -> Result<Program, SkeletonError> {
        let most = (MOST_MESSAGES as f64 / 8.0).sqrt() as usize;
        if !(1..=most).contains(&processes) {
            return Err(SkeletonError::Processes(format!(
                "a skeleton runs on 1 to {most} processes, not on {processes}"
            )));
        }
        let steps = match *self {
            Self::Fft { points, constants } => fft(points, constants, processes)?,
            Self::Psrs { items, constants } => psrs(items, constants, processes),
        };
        Ok(Program { processes, packet: Bytes(4), steps })
    }
}

impl fmt::Display for Skeleton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, letters) = self.names();
        let mut own = *self;
        let (size, constants) = own.parts();
        write!(f, "{name}:N={size}")?;
        letters.iter().zip(constants).try_for_each(|(letter, value)| write!(f, ",{letter}={value:e}"))
    }
}

impl FromStr for Skeleton {
    type Err = SkeletonError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut skeleton = match name {
            "fft" => Self::fft(524_288),
            "psrs" => Self::psrs(1 << 20),
            other => return Err(SkeletonError::Name(shown(other).into_owned())),
        };
        let (name, letters) = skeleton.names();
        let wrong = |part: &str| SkeletonError::Part {
            name,
            part: shown(part).into_owned(),
            form: format!("N=NUMBER and seconds for {}, such as {name}:N=4096,{}=1e-7", letters.join(", "), letters[0]),
        };
        for part in rest.split(',').filter(|part| !part.is_empty()) {
            let (letter, value) = part.split_once('=').ok_or_else(|| wrong(part))?;
            let (size, constants) = skeleton.parts();
            if letter == "N" {
                *size = value.parse().ok().filter(|size| (1..=1 << 40).contains(size)).ok_or_else(|| wrong(part))?;
            } else {
                let place = letters.iter().position(|known| *known == letter).ok_or_else(|| wrong(part))?;
                let seconds = value.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0);
                constants[place] = seconds.ok_or_else(|| wrong(part))?;
            }
        }
        Ok(skeleton)
    }
}

/// x log2 x.
fn x_log_x(x: f64) -> f64 {
    if x > 0.0 { x * x.log2() } else { 0.0 }
}

/// A binary tree of d steps in which active processes hand half of the result to the left, and a last one without
/// messages. Step 1 divides and transforms; step s from 2 on combines what step s-1 has brought.
fn fft(points: u64, [divide, transform, combine]: [f64; 3], processes: usize) -> Result<Vec<Step>, SkeletonError> {
    if !processes.is_power_of_two() || !points.is_multiple_of(processes as u64) {
        let need = "fft runs on a power of two of processes, and N is a multiple of it";
        return Err(SkeletonError::Processes(format!("{need}: N = {points} on {processes} is not possible")));
    }
    let depth = processes.trailing_zeros() as usize;
    let share = points as f64 / processes as f64;
    let mut steps = Vec::new();
    for number in 0..=depth {
        let mut step = Step::new(format!("{} of {}", number + 1, depth + 1), processes);
        for rank in (0..processes).step_by(1 << number) {
            step.work[rank] = match number {
                0 => divide * share + transform * x_log_x(share),
                _ => combine * share * (1u64 << (number - 1)) as f64,
            };
            if number < depth && rank >> number & 1 == 1 {
                let packets = points / processes as u64 * (1 << number);
                step.messages.push(Message { source: rank, destination: rank ^ 1 << number, packets });
            }
        }
        steps.push(step);
    }
    Ok(steps)
}

/// Scatter, samples to one, pivots to all, sizes all to all, segments all to all, sizes to one, results to one.
fn psrs(items: u64, constants: [f64; 8], processes: usize) -> Vec<Step> {
    let [b, c, d, e, f, h, i, j] = constants;
    let (p, n) = (processes as f64, items as f64);
    let (others, share) = (p - 1.0, n / p);
    let count = processes as u64;
    let message = |source, destination, packets| Message { source, destination, packets };
    let one_to_all = |packets| (1..processes).map(|rank| message(0, rank, packets)).collect::<Vec<_>>();
    let all_to_one = |packets| (1..processes).map(|rank| message(rank, 0, packets)).collect::<Vec<_>>();
    let all_to_all = |packets| {
        let ranks = 0..processes;
        let pairs = ranks.clone().flat_map(|i| ranks.clone().map(move |j| (i, j))).filter(|(i, j)| i != j);
        pairs.map(|(i, j)| message(i, j, packets)).collect::<Vec<_>>()
    };
    let every = |seconds: f64| vec![seconds; processes];
    let first = |seconds: f64| (0..processes).map(|rank| if rank == 0 { seconds } else { 0.0 }).collect();
    let steps: [(&str, Vec<f64>, Vec<_>); 7] = [
        ("scatter", every(0.0), one_to_all(items / count)),
        ("samples to one", every(b * x_log_x(share) + c * p), all_to_one(count)),
        ("pivots to all", first(d * p * p + e * others), one_to_all(count - 1)),
        ("sizes to all", every(f * others * share.max(1.0).log2()), all_to_all(1)),
        ("segments to all", every(h * others), all_to_all(items / count / count)),
        ("sizes to one", every(i * share), all_to_one(1)),
        ("results to one", first(j * others), all_to_one(items / count)),
    ];
    let steps = steps.into_iter().map(|(name, work, mut messages)| {
        messages.retain(|message| message.packets > 0);
        Step { name: name.to_owned(), work, messages }
    });
    steps.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_lead_back_to_the_skeleton() {
        for text in ["fft", "psrs", "fft:N=4096,R=1e-6", "psrs:J=0,N=64"] {
            let skeleton: Skeleton = text.parse().unwrap();
            assert_eq!(skeleton.to_string().parse(), Ok(skeleton), "{skeleton}");
        }
        let error = |text: &str| text.parse::<Skeleton>().unwrap_err().to_string();
        assert!(error("ftt").contains("there are fft and psrs"), "{}", error("ftt"));
        assert!(error("fft:Q=1").contains("seconds for D, F, R"), "{}", error("fft:Q=1"));
        assert!(error("fft:N=-1").contains("`N=-1`") && error("fft:D=nan").contains("`D=nan`"));
    }

    #[test]
    fn halves_of_the_transform_travel_to_the_left() {
        let program = Skeleton::fft(64).program(4).unwrap();
        let messages = |step: usize| {
            let messages = program.steps[step].messages.iter();
            messages.map(|message| (message.source, message.destination, message.packets)).collect::<Vec<_>>()
        };
        assert_eq!(messages(0), [(1, 0, 16), (3, 2, 16)]);
        assert_eq!(messages(1), [(2, 0, 32)]);
        assert_eq!((messages(2), program.steps.len()), (vec![], 3));
        assert_eq!(program.steps[1].work.iter().filter(|work| **work > 0.0).count(), 2);
        assert_eq!(program.steps[2].work, [2.84e-7 * 32.0, 0.0, 0.0, 0.0]);
        assert_eq!(Skeleton::fft(64).program(1).unwrap().steps.len(), 1);
        for (points, processes) in [(64, 6), (2, 4), (64, 0), (64, 1 << 20)] {
            assert!(Skeleton::fft(points).program(processes).is_err(), "{points} on {processes}");
        }
    }

    #[test]
    fn sorting_has_the_papers_number_of_packets() {
        // h of the seven steps: (P-1)(2N/P + 2N/P^2 + 2P + 2).
        let program = Skeleton::psrs(1 << 20).program(8).unwrap();
        let most = |step: &Step| {
            let (received, sent) = step.packets();
            received.iter().zip(&sent).map(|(received, sent)| received + sent).max().unwrap()
        };
        assert_eq!(program.steps.iter().map(most).sum::<u64>(), 2_064_510);
        assert_eq!(
            Skeleton::psrs(9).program(1).unwrap().steps.iter().map(|step| step.messages.len()).sum::<usize>(),
            0
        );
    }
}
