//! Operations: what P processes do together, besides the exchanges of pairs.
//!
//! In: names as typed. Out: an [`Operation`], an algorithm with its parameter, and what is known of it before anything
//! runs: from how many processes on it makes sense, and what its length counts. The algorithms are those of four
//! papers: primitives after Barnat's lecture on collective communication, reductions after Kurnosov, patterns of an
//! h-relation after Roda and others, reduction in blocks and access to arrays after Kulagin and others.

mod plan;
mod probe;
mod programs;
mod selection;
pub mod steps;

use std::{fmt, str::FromStr};

use crate::units::{ParseNameError, by_name};

pub use plan::{FEWEST_SAMPLES, MOST_LENGTH, OperationConfig, OperationError, OperationPlan, default_procs, members};
pub use probe::ProbeKind;
pub use programs::{NamedProgram, ProgramSource};
pub use selection::{Chains, MOST_CHAINS, Selection, SelectionError};

/// What is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the table has a line for each")]
pub enum Algorithm {
    Bcast,
    Reduce,
    Allgather,
    ReduceScatter,
    Alltoall,
    Allreduce,
    Scan,
    Scatter,
    Gather,
    Barrier,
    Shift,
    AlltoallPairwise,
    BcastNaive,
    BcastHypercube,
    ReduceBinomial,
    ReduceOrderedFirst,
    ReduceOrderedLast,
    ReduceBinaryLast,
    ReduceBinaryFirst,
    ReduceChainsShortFirst,
    ReduceChainsLongFirst,
    Exchange,
    PingPong,
    OneToAll,
    OneToAllBroadcast,
    AllToOne,
    AllToAll,
    BlockReduceCentral,
    BlockReduceDissemination,
    LinearReduce,
    AccessWhole,
    AccessElement,
    AccessPreload,
}

/// Algorithms that are asked for by one word, and share their default lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Collective calls of the MPI library, and textbook algorithms for some of them.
    Primitives,
    /// Algorithms of a reduction, over blocking sends and receives.
    Reductions,
    /// Six patterns in which the busiest process sends and receives as many bytes.
    Relations,
    /// Reduction of a distributed array to one number, by one-sided reads.
    Blocks,
    /// Reads of an array that is on another host.
    Accesses,
}

impl Group {
    /// All groups.
    pub const ALL: [Self; 5] = [Self::Primitives, Self::Reductions, Self::Relations, Self::Blocks, Self::Accesses];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Primitives => "primitives",
            Self::Reductions => "reductions",
            Self::Relations => "relations",
            Self::Blocks => "blocks",
            Self::Accesses => "accesses",
        }
    }
}

/// What the length n of an operation counts. Always bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// One block: of a broadcast, a reduction or a shift the whole message, of a gathering or scattering what one
    /// process has, of an all-to-all what one process has for another one, of a reduce-scatter what one is left with.
    Block,
    /// Nothing: there is one length, 0.
    Nothing,
    /// What the busiest process of an h-relation sends and receives, added up.
    Relation,
    /// The whole array, all processes' parts together, in doubles.
    Array,
}

impl Counts {
    /// In words, as files have it.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Block => "bytes of a block",
            Self::Nothing => "0",
            Self::Relation => "bytes that the busiest process sends and receives",
            Self::Array => "bytes of the array",
        }
    }
}

struct Line(Algorithm, &'static str, Group, u32, Counts, Option<Parameter>, &'static str);

/// The parameter that some algorithms have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// Number of chains; [`SQUARE_ROOT`]: ceil(sqrt(P - 1)).
    Chains,
    /// How many processes further data are shifted.
    Distance,
    /// Iterations of a loop that reads the array, over all hosts.
    Iterations,
}

impl Parameter {
    /// Name in names of operations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chains => "k",
            Self::Distance => "q",
            Self::Iterations => "iterations",
        }
    }
}

/// Number of chains that stands for ceil(sqrt(P - 1)).
pub const SQUARE_ROOT: u32 = 0;

/// How [`SQUARE_ROOT`] is written.
const SQUARE_ROOT_NAME: &str = "sqrt";

use Algorithm as A;
use Counts::{Array, Block, Nothing, Relation};
use Group::{Accesses, Blocks, Primitives, Reductions, Relations};
use Parameter::{Distance, Iterations};

#[rustfmt::skip]
const TABLE: [Line; 33] = [
    Line(A::Bcast, "bcast", Primitives, 2, Block, None, "MPI_Bcast from process 0"),
    Line(A::Reduce, "reduce", Primitives, 2, Block, None, "MPI_Reduce to process 0, sum of doubles"),
    Line(A::Allgather, "allgather", Primitives, 2, Block, None, "MPI_Allgather"),
    Line(A::ReduceScatter, "reduce_scatter", Primitives, 2, Block, None, "MPI_Reduce_scatter_block, sum of doubles"),
    Line(A::Alltoall, "alltoall", Primitives, 2, Block, None, "MPI_Alltoall"),
    Line(A::Allreduce, "allreduce", Primitives, 2, Block, None, "MPI_Allreduce, sum of doubles"),
    Line(A::Scan, "scan", Primitives, 2, Block, None, "MPI_Scan, sum of doubles"),
    Line(A::Scatter, "scatter", Primitives, 2, Block, None, "MPI_Scatter from process 0"),
    Line(A::Gather, "gather", Primitives, 2, Block, None, "MPI_Gather to process 0"),
    Line(A::Barrier, "barrier", Primitives, 2, Nothing, None, "MPI_Barrier"),
    Line(A::Shift, "shift", Primitives, 2, Block, Some(Distance), "circular shift: process i sends to i + q"),
    Line(A::AlltoallPairwise, "alltoall_pairwise", Primitives, 2, Block, None, "all-to-all in rounds, with process i xor round"),
    Line(A::BcastNaive, "bcast_naive", Primitives, 2, Block, None, "broadcast, process 0 sends to one after the other"),
    Line(A::BcastHypercube, "bcast_hypercube", Primitives, 2, Block, None, "broadcast along the dimensions of a hypercube"),
    Line(A::ReduceBinomial, "reduce_binomial", Reductions, 2, Block, None, "binomial tree, root 0"),
    Line(A::ReduceOrderedFirst, "reduce_ordered_first", Reductions, 2, Block, None, "binomial tree for non-commutative operations, root 0"),
    Line(A::ReduceOrderedLast, "reduce_ordered_last", Reductions, 2, Block, None, "binomial tree for non-commutative operations, root P-1"),
    Line(A::ReduceBinaryLast, "reduce_binary_last", Reductions, 2, Block, None, "balanced binary tree in rank order, root P-1"),
    Line(A::ReduceBinaryFirst, "reduce_binary_first", Reductions, 2, Block, None, "balanced binary tree in rank order, root 0"),
    Line(A::ReduceChainsShortFirst, "reduce_chains_short_first", Reductions, 2, Block, Some(Parameter::Chains), "k chains, the root takes the short ones first"),
    Line(A::ReduceChainsLongFirst, "reduce_chains_long_first", Reductions, 2, Block, Some(Parameter::Chains), "k chains, the root takes the long ones first"),
    Line(A::Exchange, "exchange", Relations, 2, Relation, None, "P/2 pairs at once, both send h/2, then receive"),
    Line(A::PingPong, "ping_pong", Relations, 2, Relation, None, "P/2 pairs at once, one sends h, one way"),
    Line(A::OneToAll, "one_to_all", Relations, 4, Relation, None, "one process sends another h/(P-1) to each"),
    Line(A::OneToAllBroadcast, "one_to_all_broadcast", Relations, 4, Relation, None, "MPI_Bcast of h/(P-1) from process 0"),
    Line(A::AllToOne, "all_to_one", Relations, 4, Relation, None, "one process receives h/(P-1) from each"),
    Line(A::AllToAll, "all_to_all", Relations, 4, Relation, None, "each process sends h/(2(P-1)) to each"),
    Line(A::BlockReduceCentral, "block_reduce_central", Blocks, 2, Array, None, "reduction to one number in a tree of hosts, which are counted centrally before each level"),
    Line(A::BlockReduceDissemination, "block_reduce_dissemination", Blocks, 2, Array, None, "reduction to one number in a tree of hosts, dissemination barrier before each level"),
    Line(A::LinearReduce, "linear_reduce", Blocks, 2, Array, None, "reduction to one number, the first host fetches from one host after the other"),
    Line(A::AccessWhole, "access_whole", Accesses, 2, Array, Some(Iterations), "loop over an array of another host: fetches the whole array each time"),
    Line(A::AccessElement, "access_element", Accesses, 2, Array, Some(Iterations), "loop over an array of another host: fetches the element each time"),
    Line(A::AccessPreload, "access_preload", Accesses, 2, Array, Some(Iterations), "loop over an array of another host: fetches the whole array once, then reads it locally"),
];

impl Algorithm {
    /// All algorithms, in the order in which `--operations all` measures them.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|line| line.0)
    }

    fn line(self) -> &'static Line {
        TABLE.iter().find(|line| line.0 == self).expect("the table has a line for every algorithm")
    }

    /// Name on the command line, in files and in reports.
    pub fn name(self) -> &'static str {
        self.line().1
    }

    /// Which group it is of.
    pub fn group(self) -> Group {
        self.line().2
    }

    /// The fewest processes for which it is measured.
    pub fn fewest(self) -> usize {
        self.line().3 as usize
    }

    /// What its length counts.
    pub fn counts(self) -> Counts {
        self.line().4
    }

    /// The parameter that it has.
    pub fn parameter(self) -> Option<Parameter> {
        self.line().5
    }

    /// What it does, in words.
    pub fn meaning(self) -> &'static str {
        self.line().6
    }

    /// Whether P processes can carry it out: pairs need an even number.
    pub fn suits(self, procs: usize) -> bool {
        procs >= self.fewest() && (procs.is_multiple_of(2) || !matches!(self, Self::Exchange | Self::PingPong))
    }
}

/// An algorithm and its parameter: what is measured, fitted and predicted under one name.
///
/// Written `bcast`, `shift:q=1`, `reduce_chains_short_first:k=4` or `...:k=sqrt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Operation {
    /// What is carried out.
    pub algorithm: Algorithm,
    /// The value of [`Algorithm::parameter`]; 0 where it has none.
    pub parameter: u32,
}

impl Operation {
    /// Of an algorithm that has no parameter, or with the parameter 0.
    pub fn plain(algorithm: Algorithm) -> Self {
        Self { algorithm, parameter: 0 }
    }

    /// Number of chains with P processes: at least one, at most P - 1.
    pub fn chains(self, procs: usize) -> usize {
        let others = procs.saturating_sub(1).max(1);
        let chains = match self.parameter {
            SQUARE_ROOT => others.isqrt() + usize::from(others.isqrt().pow(2) < others),
            chains => chains as usize,
        };
        chains.clamp(1, others)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.algorithm.name();
        match (self.algorithm.parameter(), self.parameter) {
            (None, _) => f.pad(name),
            (Some(Parameter::Chains), SQUARE_ROOT) => {
                f.pad(&format!("{name}:{}={SQUARE_ROOT_NAME}", Parameter::Chains.name()))
            }
            (Some(parameter), value) => f.pad(&format!("{name}:{}={value}", parameter.name())),
        }
    }
}

/// A name that is no operation's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's text says it")]
pub enum ParseOperationError {
    #[error(transparent)]
    Unknown(#[from] ParseNameError),
    #[error(
        "`{0}` has a parameter that cannot be read: write, for example, `reduce_chains_short_first:k=4` or `shift:q=1`"
    )]
    Parameter(String),
}

/// What else they are called.
const SYNONYMS: [(&str, &str); 5] = [
    ("broadcast", "bcast"),
    ("reduce_chains", "reduce_chains_short_first"),
    ("pipeline", "reduce_chains_short_first"),
    ("block_reduce", "block_reduce_dissemination"),
    ("preload", "access_preload"),
];

impl FromStr for Operation {
    type Err = ParseOperationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let algorithm = by_name("operation", name, Algorithm::all(), Algorithm::name, &SYNONYMS)?;
        let wrong = || ParseOperationError::Parameter(text.to_owned());
        let parameter = match (algorithm.parameter(), rest) {
            (None, None) => 0,
            (Some(parameter), Some(rest)) => {
                let value = rest.strip_prefix(parameter.name()).and_then(|rest| rest.strip_prefix('='));
                match value.ok_or_else(wrong)? {
                    SQUARE_ROOT_NAME if parameter == Parameter::Chains => SQUARE_ROOT,
                    value => value.parse().ok().filter(|value| *value > 0).ok_or_else(wrong)?,
                }
            }
            _ => return Err(wrong()),
        };
        Ok(Self { algorithm, parameter })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_the_operation() {
        for algorithm in Algorithm::all() {
            for parameter in if algorithm.parameter().is_some() { 1..4 } else { 0..1 } {
                let operation = Operation { algorithm, parameter };
                assert_eq!(operation.to_string().parse(), Ok(operation));
            }
        }
        let root = Operation::plain(Algorithm::ReduceChainsLongFirst);
        assert_eq!(root.to_string(), "reduce_chains_long_first:k=sqrt");
        assert_eq!(root.to_string().parse(), Ok(root));
    }

    #[test]
    fn the_smallest_number_of_chains_that_is_allowed() {
        let chains = |k, procs| Operation { algorithm: Algorithm::ReduceChainsShortFirst, parameter: k }.chains(procs);
        // Figure 7 of Kurnosov's paper.
        assert_eq!([48, 100, 200, 300, 400].map(|procs| chains(SQUARE_ROOT, procs)), [7, 10, 15, 18, 20]);
        assert_eq!((chains(4, 3), chains(4, 48), chains(1, 1)), (2, 4, 1));
    }

    #[test]
    fn what_is_meant_is_named() {
        let error = |text: &str| text.parse::<Operation>().unwrap_err().to_string();
        assert!(error("allredce").contains("did you mean `allreduce`?"), "{}", error("allredce"));
        assert!(error("xyz").contains("linear_reduce"));
        for text in ["shift", "shift:k=1", "shift:q=0", "shift:q=x", "bcast:k=1", "shift:q=sqrt"] {
            assert!(error(text).contains("parameter"), "{text}: {}", error(text));
        }
    }
}
