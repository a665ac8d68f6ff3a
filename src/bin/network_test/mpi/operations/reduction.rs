//! Kurnosov's reductions: own implementations over blocking sends and receives, all of which follow the steps that
//! [`steps::reduce`] lists.
//!
//! The operands are whole numbers in doubles, of which sums are exact in any order. Before the samples of a cell the
//! same steps are carried out once with an operation that does not commute, the composition of maps x -> a x + b modulo
//! a prime, for algorithms that keep the order of the processes.

use std::mem;

use netmatrix::plan::operation::{
    Operation,
    steps::{self, Combine, ReduceStep},
};

use super::{
    super::{
        buffer::touched,
        ffi::{MpiError, Tag},
    },
    Carried, Stage, sum, summand,
};

const TAG: Tag = 44;

/// A modulus whose products are exact in doubles.
const PRIME: f64 = 65_521.0;

/// A reduction of vectors of one length.
pub(super) struct Reduction {
    steps: Vec<ReduceStep>,
    root: usize,
    own: Vec<f64>,
    result: Vec<f64>,
    received: Vec<f64>,
    keeps_order: bool,
    /// Whether the operation that does not commute has come out right; `None`: not yet tried.
    order_is_right: Option<bool>,
}

/// What reduces: `left * right` into `left` or into `right`.
#[derive(Clone, Copy)]
enum Into {
    Left,
    Right,
}

/// An operation on vectors, `left`, `right` and where the result goes.
type Reduce = fn(&mut [f64], &mut [f64], Into);

fn add(left: &mut [f64], right: &mut [f64], into: Into) {
    match into {
        Into::Left => left.iter_mut().zip(right).for_each(|(left, right)| *left += *right),
        Into::Right => left.iter_mut().zip(right).for_each(|(left, right)| *right += *left),
    }
}

/// Of pairs (a, b): first right, then left: x -> a (a' x + b') + b.
fn compose(left: &mut [f64], right: &mut [f64], into: Into) {
    for (left, right) in left.as_chunks_mut::<2>().0.iter_mut().zip(right.as_chunks_mut::<2>().0) {
        let composed = composition([left[0], left[1]], [right[0], right[1]]);
        match into {
            Into::Left => left.copy_from_slice(&composed),
            Into::Right => right.copy_from_slice(&composed),
        }
    }
}

fn composition(left: [f64; 2], right: [f64; 2]) -> [f64; 2] {
    [left[0] * right[0] % PRIME, (left[0] * right[1] + left[1]) % PRIME]
}

/// The map of a process.
fn map_of(process: usize) -> [f64; 2] {
    [(2 + process % 1000) as f64, (7 + 3 * process % 1000) as f64]
}

impl Reduction {
    /// The error is the number of bytes that are not there.
    pub(super) fn new(operation: Operation, stage: &Stage<'_>, length: usize) -> Result<Self, u64> {
        let elements = length / size_of::<f64>();
        let mut own = touched(elements, 0.0)?;
        own.iter_mut().enumerate().for_each(|(place, value)| *value = summand(stage.me, place));
        Ok(Self {
            steps: steps::reduce(operation, stage.procs, stage.me),
            root: steps::root(operation.algorithm, stage.procs),
            own,
            result: touched(elements, 0.0)?,
            received: touched(elements, 0.0)?,
            keeps_order: steps::keeps_order(operation.algorithm),
            order_is_right: None,
        })
    }

    /// Carries out the steps once with an operation that does not commute. Collective.
    fn check_order(&self, stage: &Stage<'_>) -> Result<bool, MpiError> {
        let (mut result, mut received) = (vec![f64::NAN; 2], vec![f64::NAN; 2]);
        follow(&self.steps, stage, &mut map_of(stage.me), &mut result, &mut received, compose)?;
        let expected = (1..stage.procs).map(map_of).fold(map_of(0), composition);
        Ok(stage.me != self.root || result == expected)
    }
}

/// One process's part of a reduction.
fn follow(
    steps: &[ReduceStep],
    stage: &Stage<'_>,
    own: &mut [f64],
    result: &mut Vec<f64>,
    received: &mut Vec<f64>,
    reduce: Reduce,
) -> Result<(), MpiError> {
    let bytes = size_of_val(own);
    for step in steps {
        match *step {
            ReduceStep::SendOwn { to } => stage.wire.send_doubles(own, to, TAG)?,
            ReduceStep::Send { to } => stage.wire.send_doubles(result, to, TAG)?,
            ReduceStep::Copy => {
                result.copy_from_slice(own);
                stage.compute(bytes);
            }
            ReduceStep::Receive { from, combine } => {
                stage.wire.receive_doubles(received, from, TAG)?;
                match combine {
                    Combine::Right => reduce(result, received, Into::Left),
                    Combine::Left => reduce(received, result, Into::Right),
                    Combine::RightCopied => {
                        reduce(result, received, Into::Right);
                        stage.compute(bytes);
                        result.copy_from_slice(received);
                    }
                    Combine::WithOwn => {
                        // What is sent on is the block that has come.
                        reduce(received, own, Into::Left);
                        mem::swap(result, received);
                    }
                    Combine::Replace => mem::swap(result, received),
                }
                if combine != Combine::Replace {
                    stage.compute(bytes);
                }
            }
        }
    }
    Ok(())
}

impl Carried for Reduction {
    fn before(&mut self, stage: &Stage<'_>) -> Result<(), MpiError> {
        if self.keeps_order && self.order_is_right.is_none() {
            self.order_is_right = Some(self.check_order(stage)?);
        }
        self.result.fill(f64::NAN);
        Ok(())
    }

    fn carry_out(&mut self, stage: &Stage<'_>) -> Result<(), MpiError> {
        follow(&self.steps, stage, &mut self.own, &mut self.result, &mut self.received, add)
    }

    fn is_right(&mut self, stage: &Stage<'_>) -> bool {
        let is_sum = || self.result.iter().enumerate().all(|(place, value)| *value == sum(stage.procs, place));
        self.order_is_right != Some(false) && (stage.me != self.root || is_sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_composition_does_not_commute_and_is_associative() {
        let [a, b, c] = [map_of(1), map_of(2), map_of(3)];
        assert_ne!(composition(a, b), composition(b, a));
        assert_eq!(composition(composition(a, b), c), composition(a, composition(b, c)));
        let (mut left, mut right) = (a, b);
        compose(&mut left, &mut right, Into::Right);
        assert_eq!((left, right), (a, composition(a, b)));
    }
}
