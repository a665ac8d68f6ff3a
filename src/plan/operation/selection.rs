//! Which operations are asked for, as typed.

use std::{collections::HashSet, str::FromStr};

use super::{Algorithm, Group, Operation, Parameter, ParseOperationError, ProbeKind, SQUARE_ROOT};
use crate::units::{did_you_mean, nearest};

/// Words for everything, and for all probes.
const ALL: &str = "all";
const PROBES: &str = "probes";

/// Words of a list of operations: operations, groups, probes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection(Vec<Word>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    All,
    Probes,
    Group(Group),
    Algorithm(Algorithm),
    Operation(Operation),
    Probe(ProbeKind),
}

/// A list of operations that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's text says it")]
pub enum SelectionError {
    #[error(transparent)]
    Operation(#[from] ParseOperationError),
    #[error(
        "unknown operation `{0}`{meant}; write all, a group ({groups}, {PROBES}), operations ({list}) or probes ({probes})",
        meant = did_you_mean(nearest(_0, words(), &super::SYNONYMS)),
        groups = Group::ALL.map(Group::name).join(", "),
        list = Algorithm::all().map(Algorithm::name).collect::<Vec<_>>().join(", "),
        probes = ProbeKind::ALL.map(ProbeKind::name).join(", "),
    )]
    Unknown(String),
}

fn words() -> impl Iterator<Item = &'static str> {
    let groups = Group::ALL.into_iter().map(Group::name);
    groups.chain(Algorithm::all().map(Algorithm::name)).chain(ProbeKind::ALL.map(ProbeKind::name)).chain([ALL, PROBES])
}

impl FromStr for Selection {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split(',').map(|word| Self::word(word.trim())).collect::<Result<_, _>>().map(Self)
    }
}

impl Selection {
    fn word(word: &str) -> Result<Word, SelectionError> {
        if word.contains(':') {
            return Ok(Word::Operation(word.parse()?));
        }
        let group = || Group::ALL.into_iter().find(|group| group.name() == word).map(Word::Group);
        let algorithm = || Algorithm::all().find(|algorithm| algorithm.name() == word).map(Word::Algorithm);
        let probe = || word.parse().ok().map(Word::Probe);
        let all = || (word == ALL).then_some(Word::All).or((word == PROBES).then_some(Word::Probes));
        let found = all().or_else(group).or_else(algorithm).or_else(probe);
        found.ok_or_else(|| SelectionError::Unknown(word.to_owned()))
    }

    /// Whether an operation was asked for by its own name, not by that of a group.
    pub(super) fn names(&self, operation: Operation) -> bool {
        self.0.contains(&Word::Algorithm(operation.algorithm)) || self.0.contains(&Word::Operation(operation))
    }

    fn has(&self, algorithm: Algorithm) -> bool {
        self.0.iter().any(|word| match word {
            Word::All => true,
            Word::Group(group) => *group == algorithm.group(),
            Word::Algorithm(found) => *found == algorithm,
            _ => false,
        })
    }

    pub(super) fn operations(&self, chains: &Chains, iterations: &[u32], largest: usize) -> Vec<Operation> {
        let mut operations: Vec<Operation> = Vec::new();
        for algorithm in Algorithm::all() {
            let parameters = match algorithm.parameter() {
                _ if !self.has(algorithm) => Vec::new(),
                None => vec![0],
                Some(Parameter::Distance) => vec![1],
                Some(Parameter::Chains) => chains.numbers(largest),
                Some(Parameter::Iterations) => iterations.to_vec(),
            };
            let typed = self.0.iter().filter_map(|word| match word {
                Word::Operation(operation) if operation.algorithm == algorithm => Some(*operation),
                _ => None,
            });
            operations.extend(parameters.into_iter().map(|parameter| Operation { algorithm, parameter }).chain(typed));
        }
        let mut seen = HashSet::new();
        operations.retain(|operation| seen.insert(*operation));
        operations
    }

    pub(super) fn probes(&self) -> Vec<ProbeKind> {
        let is_meant = |kind: &ProbeKind| {
            self.0.iter().any(|word| matches!(word, Word::All | Word::Probes) || *word == Word::Probe(*kind))
        };
        ProbeKind::ALL.into_iter().filter(is_meant).collect()
    }
}

/// Numbers of chains: those of a list, or all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chains {
    /// These; [`SQUARE_ROOT`] stands for ceil(sqrt(P - 1)).
    Some(Vec<u32>),
    /// From 1 to P - 1, of the largest P, at most [`MOST_CHAINS`]; and ceil(sqrt(P - 1)).
    All,
}

/// Most chains of a sweep over all: beyond, the curve is flat.
pub const MOST_CHAINS: usize = 64;

impl Chains {
    fn numbers(&self, largest: usize) -> Vec<u32> {
        match self {
            Self::Some(list) => list.clone(),
            Self::All => {
                let most = largest.saturating_sub(1).clamp(1, MOST_CHAINS) as u32;
                (1..=most).chain([SQUARE_ROOT]).collect()
            }
        }
    }
}

impl Default for Chains {
    /// Open MPI's default, and what Kurnosov's paper recommends.
    fn default() -> Self {
        Self::Some(vec![4, SQUARE_ROOT])
    }
}

impl FromStr for Chains {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == ALL {
            return Ok(Self::All);
        }
        let number = |word: &str| match word.trim() {
            "sqrt" => Some(SQUARE_ROOT),
            word => word.parse().ok().filter(|number| *number > 0),
        };
        let numbers: Option<Vec<u32>> = text.split(',').map(number).collect();
        numbers
            .map(Self::Some)
            .ok_or_else(|| format!("`{text}` is no list of numbers of chains: write 1,4,sqrt or all"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_meant_is_named() {
        let unknown = |list: &str| list.parse::<Selection>().unwrap_err().to_string();
        assert!(unknown("allreduce,bcst").contains("`bcst`; did you mean `bcast`?"), "{}", unknown("bcst"));
        assert!(unknown("xyz").contains("primitives") && unknown("xyz").contains("linear_reduce"));
        assert!(unknown("shift:q=x").contains("parameter"));
        assert_eq!("1,sqrt".parse(), Ok(Chains::Some(vec![1, SQUARE_ROOT])));
        assert!("0".parse::<Chains>().is_err() && "x".parse::<Chains>().is_err());
    }
}
