//! What a run of operations measures, decided before anything runs: which operations, on which processes, at which
//! lengths.
//!
//! In: what was typed and the hosts of the ranks. Out: an [`OperationPlan`], the same on every rank.

use std::time::Duration;

use super::{Algorithm, Chains, Counts, Group, NamedProgram, Operation, ProbeKind, ProgramSource, Selection};
use crate::{
    plan::{Config, program::SkeletonError},
    units::{Bytes, Hosts, Rank, Seconds, counted},
};

/// What was typed about operations.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationConfig {
    /// Which operations and probes.
    pub selection: Selection,
    /// Numbers of processes; empty: see [`default_procs`].
    pub procs: Vec<usize>,
    /// Numbers of chains.
    pub chains: Chains,
    /// Iterations of the loops that read an array.
    pub iterations: Vec<u32>,
    /// Processes per host; without it as few as can be, on all hosts.
    pub procs_per_host: Option<usize>,
    /// How long the samples of a cell last at most, once there are [`FEWEST_SAMPLES`].
    pub cell_time: Duration,
    /// Lengths for all operations; without them each group has its own.
    pub lengths: Option<Vec<Bytes>>,
    /// Programs.
    pub programs: Vec<ProgramSource>,
    /// Seconds per byte by which each copy and each sum is made longer: for tests.
    pub compute: f64,
}

/// Samples that every cell has, if as many are asked for.
pub const FEWEST_SAMPLES: usize = 5;

impl Default for OperationConfig {
    fn default() -> Self {
        Self {
            selection: Selection::default(),
            procs: Vec::new(),
            chains: Chains::default(),
            iterations: vec![16],
            procs_per_host: None,
            cell_time: Duration::from_millis(20),
            lengths: None,
            programs: Vec::new(),
            compute: 0.0,
        }
    }
}

/// Operations that cannot be measured.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's text says it")]
pub enum OperationError {
    #[error("--procs {asked}: the run has {}; ask for at most as many, or start more", counted(*ranks, "rank"))]
    TooMany { asked: usize, ranks: usize },
    #[error("operations need at least 2 ranks; start the program with mpirun -n 2 or more, or with srun")]
    TooFewRanks,
    #[error("--procs {0}: an operation needs at least 2 processes")]
    TooFew(usize),
    #[error(
        "--procs {asked} with --procs-per-host {per_host}: the hosts have room for {room} of them so; ask for fewer, or \
         for more per host"
    )]
    NoRoom { asked: usize, per_host: usize, room: usize },
    #[error("--procs-per-host 0 leaves no process: give 1 or more")]
    NoneOnHost,
    #[error("{operation} cannot be carried out on any of the asked numbers of processes ({procs}): it needs {needed}")]
    NoProcs { operation: Operation, procs: String, needed: String },
    #[error("{operation} has no length in the sweep: it needs {needed}")]
    NoLength { operation: Operation, needed: &'static str },
    #[error(
        "program `{name}` has {}, but the run has {}: start at least as many",
        counted(*processes, "process"),
        counted(*ranks, "rank")
    )]
    Program { name: String, processes: usize, ranks: usize },
    #[error("--program: {0}")]
    Skeleton(SkeletonError),
    #[error("program `{name}` has a message of more than {MOST_LENGTH} bytes: split it")]
    ProgramTooLong { name: String },
    #[error("a length of {0} is more than an operation takes: at most {MOST_LENGTH}")]
    TooLong(Bytes),
}

/// Longest length of an operation: MPI counts with a C int, and a process may have P blocks.
pub const MOST_LENGTH: Bytes = Bytes(1 << 28);

/// Most bytes that a process has for one operation: longer ones are left out.
const MOST_MEMORY: u64 = 1 << 30;

/// Powers of two up to the number of ranks, from 4 on one value between (6, 12, 24, ...), and the number of ranks:
/// powers of two or not is one of Kurnosov's cases.
pub fn default_procs(ranks: usize) -> Vec<usize> {
    let powers = (1..).map(|exponent| 1_usize << exponent).take_while(|power| *power <= ranks);
    let between = powers.clone().filter(|power| *power >= 4).map(|power| power + power / 2);
    let mut procs: Vec<usize> = powers.chain(between).chain([ranks]).filter(|procs| *procs <= ranks).collect();
    procs.sort_unstable();
    procs.dedup();
    procs
}

/// A run of operations.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationPlan {
    /// What the pair modes' flags say: samples, precision, warm-up, files.
    pub config: Config,
    /// What was typed.
    pub typed: OperationConfig,
    /// All ranks.
    pub hosts: Hosts,
    /// What is measured, in this order.
    pub operations: Vec<Operation>,
    /// Probes, in this order.
    pub probes: Vec<ProbeKind>,
    /// `[procs][process]`: its rank. Ascending numbers of processes; processes of a host are neighbours.
    pub members: Vec<Vec<Rank>>,
    /// All lengths of all operations and probes, ascending.
    pub lengths: Vec<Bytes>,
    /// Programs, in this order.
    pub programs: Vec<NamedProgram>,
}

impl OperationPlan {
    /// Decides what is measured on these hosts.
    pub fn new(config: &Config, typed: &OperationConfig, hosts: &Hosts) -> Result<Self, OperationError> {
        let ranks = hosts.ranks();
        let mut procs = if typed.procs.is_empty() { default_procs(ranks) } else { typed.procs.clone() };
        procs.sort_unstable();
        procs.dedup();
        if ranks < 2 {
            return Err(OperationError::TooFewRanks);
        }
        if let Some(asked) = procs.iter().copied().find(|procs| *procs < 2) {
            return Err(OperationError::TooFew(asked));
        }
        if let Some(asked) = procs.iter().copied().find(|procs| *procs > ranks) {
            return Err(OperationError::TooMany { asked, ranks });
        }
        let mut programs = Vec::new();
        for source in &typed.programs {
            programs.extend(source.programs(&procs)?);
        }
        if let Some(NamedProgram { name, program, .. }) = programs.iter().find(|named| named.program.processes > ranks)
        {
            return Err(OperationError::Program { name: name.clone(), processes: program.processes, ranks });
        }
        let bytes = |NamedProgram { name, program, .. }: &NamedProgram| {
            let messages = program.steps.iter().flat_map(|step| &step.messages);
            let longest = messages.map(|message| message.packets).max().unwrap_or(0);
            (longest.saturating_mul(program.packet.0) > MOST_LENGTH.0).then(|| name.clone())
        };
        if let Some(name) = programs.iter().find_map(bytes) {
            return Err(OperationError::ProgramTooLong { name });
        }
        if typed.procs_per_host == Some(0) {
            return Err(OperationError::NoneOnHost);
        }
        if let (true, Some(per_host)) = (typed.procs.is_empty(), typed.procs_per_host) {
            let room = room(hosts, per_host);
            procs.retain(|procs| *procs <= room);
        }
        let members: Result<Vec<_>, _> =
            procs.iter().map(|procs| members(hosts, *procs, typed.procs_per_host)).collect();
        let largest = procs.last().copied().unwrap_or(0);
        let mut plan = Self {
            config: config.clone(),
            typed: typed.clone(),
            hosts: hosts.clone(),
            operations: typed.selection.operations(&typed.chains, &typed.iterations, largest),
            probes: typed.selection.probes(),
            members: members?,
            lengths: Vec::new(),
            programs,
        };
        plan.check_operations(&procs)?;
        let mut lengths: Vec<Bytes> = plan
            .operations
            .iter()
            .flat_map(|operation| procs.iter().flat_map(|procs| plan.lengths_of(*operation, *procs)))
            .collect();
        if !plan.probes.is_empty() {
            lengths.extend(plan.lengths_of_probes());
        }
        lengths.sort_unstable();
        lengths.dedup();
        if let Some(length) = typed.lengths.iter().flatten().find(|length| **length > MOST_LENGTH) {
            return Err(OperationError::TooLong(*length));
        }
        plan.lengths = lengths;
        Ok(plan)
    }

    /// Every operation that was named has something to measure; of a group or of all, what has not is left out.
    fn check_operations(&mut self, procs: &[usize]) -> Result<(), OperationError> {
        let selection = &self.typed.selection;
        for &operation in self.operations.iter().filter(|operation| selection.names(**operation)) {
            let algorithm = operation.algorithm;
            if !procs.iter().any(|procs| algorithm.suits(*procs)) {
                let procs = procs.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
                let even = if algorithm.suits(algorithm.fewest() + 1) { "" } else { ", an even number" };
                let needed = format!("at least {}{even}", algorithm.fewest());
                return Err(OperationError::NoProcs { operation, procs, needed });
            }
            if procs.iter().all(|procs| self.lengths_of(operation, *procs).is_empty()) {
                let needed = match algorithm.counts() {
                    Counts::Relation => "a word of 4 bytes for each message",
                    _ => "multiples of 8 bytes (doubles), or anything above 0 where nothing is added up",
                };
                return Err(OperationError::NoLength { operation, needed });
            }
        }
        let left = self.operations.iter().copied();
        let left = left.filter(|operation| procs.iter().any(|procs| !self.lengths_of(*operation, *procs).is_empty()));
        self.operations = left.collect();
        Ok(())
    }

    /// The lengths of an operation on P processes, ascending; none where P processes cannot carry it out.
    pub fn lengths_of(&self, operation: Operation, procs: usize) -> Vec<Bytes> {
        let algorithm = operation.algorithm;
        if !algorithm.suits(procs) {
            return Vec::new();
        }
        if algorithm.counts() == Counts::Nothing {
            return vec![Bytes(0)];
        }
        let lengths = self.typed.lengths.clone().unwrap_or_else(|| default_lengths(algorithm.group()));
        let fits = |length: &Bytes| {
            let words = match algorithm {
                Algorithm::AllToAll => 2 * (procs - 1),
                Algorithm::Exchange => 2,
                Algorithm::OneToAll | Algorithm::OneToAllBroadcast | Algorithm::AllToOne => procs - 1,
                _ => 1,
            } as u64;
            let of_doubles = matches!(algorithm.group(), Group::Reductions | Group::Blocks | Group::Accesses)
                || matches!(
                    algorithm,
                    Algorithm::Reduce | Algorithm::Allreduce | Algorithm::Scan | Algorithm::ReduceScatter
                );
            let whole = match algorithm.counts() {
                Counts::Relation => length.0 >= 4 * words,
                _ => length.0 > 0 && (!of_doubles || length.0.is_multiple_of(8)),
            };
            whole && length.0.saturating_mul(self.blocks(algorithm, procs)) <= MOST_MEMORY
        };
        lengths.into_iter().filter(fits).collect()
    }

    /// How many times its length a process has in memory, at most.
    fn blocks(&self, algorithm: Algorithm, procs: usize) -> u64 {
        match algorithm {
            Algorithm::Alltoall | Algorithm::AlltoallPairwise => 2 * procs as u64,
            Algorithm::Allgather | Algorithm::ReduceScatter | Algorithm::Scatter | Algorithm::Gather => {
                procs as u64 + 1
            }
            _ => 3,
        }
    }

    /// Bytes that a process has for the most demanding operation.
    pub fn memory(&self) -> Bytes {
        let of = |operation: &Operation, procs: usize| {
            let longest = self.lengths_of(*operation, procs).last().map_or(0, |length| length.0);
            longest.saturating_mul(self.blocks(operation.algorithm, procs))
        };
        let all = self.operations.iter().flat_map(|operation| self.members.iter().map(|m| of(operation, m.len())));
        let probes = self.lengths_of_probes().last().map_or(0, |length| 3 * length.0);
        Bytes(all.max().unwrap_or(0).max(if self.probes.is_empty() { 0 } else { probes }))
    }

    /// The lengths of probes, ascending.
    pub fn lengths_of_probes(&self) -> Vec<Bytes> {
        let lengths = self.typed.lengths.clone().unwrap_or_else(|| default_lengths(Group::Primitives));
        lengths.into_iter().filter(|length| length.0 > 0).collect()
    }

    /// Source and destination of every probe: on one host, and between hosts, each where there are two ranks for it.
    pub fn probe_pairs(&self) -> Vec<(Rank, Rank)> {
        let near = (1..self.hosts.ranks()).find(|rank| self.hosts.host_of(*rank) == self.hosts.host_of(0));
        let far = (1..self.hosts.ranks()).find(|rank| self.hosts.host_of(*rank) != self.hosts.host_of(0));
        [near, far].into_iter().flatten().map(|other| (0, other)).collect()
    }

    /// `[program][process]`: the ranks of the processes of programs, as of operations on as many.
    pub fn program_members(&self) -> Vec<Vec<Rank>> {
        let programs = self.programs.iter().map(|named| named.program.processes);
        let spread = |procs: usize| members(&self.hosts, procs, self.typed.procs_per_host);
        programs.map(|procs| spread(procs).or_else(|_| members(&self.hosts, procs, None)).unwrap_or_default()).collect()
    }

    /// How many cells there are, probes and programs not counted.
    pub fn cells(&self) -> usize {
        let of = |operation: &Operation| -> usize {
            self.members.iter().map(|members| self.lengths_of(*operation, members.len()).len()).sum()
        };
        self.operations.iter().map(of).sum()
    }

    /// What the plan consists of, item by item, as text, as [`crate::plan::Plan::items`] for pairs.
    pub fn items(&self) -> Vec<(&'static str, String)> {
        let (config, typed) = (&self.config, &self.typed);
        let list = |items: Vec<String>| items.join(",");
        let programs = self.programs.iter().map(|NamedProgram { name, text, program }| {
            format!("{name}:{:08x}:{}", crc32fast::hash(text.as_bytes()), program.processes)
        });
        vec![
            ("operations_version", "1".to_owned()),
            ("operations", list(self.operations.iter().map(Operation::to_string).collect())),
            ("probes", list(self.probes.iter().map(|kind| kind.name().to_owned()).collect())),
            ("programs", list(programs.collect())),
            ("procs", list(self.members.iter().map(|members| members.len().to_string()).collect())),
            ("procs_per_host", typed.procs_per_host.map_or_else(|| "fewest".to_owned(), |number| number.to_string())),
            ("lengths", list(self.lengths.iter().map(|length| length.0.to_string()).collect())),
            ("iterations", config.iterations.to_string()),
            ("precision", config.precision.map_or_else(|| "none".to_owned(), |p| p.to_string())),
            ("warmup", config.warmup.to_string()),
            ("warmup_time", Seconds(config.warmup_time.as_secs_f64()).to_string()),
            ("cell_time", Seconds(typed.cell_time.as_secs_f64()).to_string()),
            ("timing", if self.on_clocks() { "clock" } else { "barrier" }.to_owned()),
            ("injected_compute", typed.compute.to_string()),
            ("ranks", self.hosts.ranks().to_string()),
            ("rank_hosts", format!("{:08x}", crc32fast::hash(list(self.hosts.names().to_vec()).as_bytes()))),
        ]
    }

    /// Whether an operation begins at a common time on synchronised clocks, not when each process leaves a barrier.
    pub fn on_clocks(&self) -> bool {
        self.config.timing == crate::plan::Timing::Clock
    }

    /// Checksum over [`OperationPlan::items`], for comparing plans of different ranks.
    pub fn digest(&self) -> u32 {
        let text: String = self.items().iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        crc32fast::hash(text.as_bytes())
    }
}

/// Lengths of a group where none are asked for: those of its paper, or few over all protocols.
fn default_lengths(group: Group) -> Vec<Bytes> {
    let words = |words: u64| Bytes(4 * words);
    match group {
        Group::Primitives | Group::Reductions => [8, 64, 512, 1 << 12, 1 << 15, 1 << 18].map(Bytes).to_vec(),
        // Divisible among up to 24 processes; the paper's sweep goes on to i = 10.
        Group::Relations => (0..=10).step_by(2).map(|i| words(4830 << i)).collect(),
        Group::Blocks | Group::Accesses => [4000, 12_000, 20_000].map(|elements| Bytes(8 * elements)).to_vec(),
    }
}

fn room(hosts: &Hosts, per_host: usize) -> usize {
    (0..hosts.count()).map(|host| hosts.ranks_of(host).len().min(per_host)).sum()
}

/// The ranks of P processes, host by host: so many per host, on as few hosts as that takes; without a number evenly on
/// all hosts.
pub fn members(hosts: &Hosts, procs: usize, per_host: Option<usize>) -> Result<Vec<Rank>, OperationError> {
    if let Some(per_host) = per_host {
        let room = room(hosts, per_host);
        if procs > room {
            return Err(OperationError::NoRoom { asked: procs, per_host, room });
        }
        let ranks = (0..hosts.count()).flat_map(|host| hosts.ranks_of(host).iter().take(per_host));
        return Ok(ranks.take(procs).copied().collect());
    }
    let mut taken = vec![0; hosts.count()];
    let mut left = procs.min(hosts.ranks());
    while left > 0 {
        for (host, taken) in taken.iter_mut().enumerate() {
            if left > 0 && *taken < hosts.ranks_of(host).len() {
                *taken += 1;
                left -= 1;
            }
        }
    }
    Ok(taken.iter().enumerate().flat_map(|(host, taken)| &hosts.ranks_of(host)[..*taken]).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(ranks: usize, per_host: usize) -> Hosts {
        Hosts::new((0..ranks).map(|rank| format!("node{}", rank / per_host)))
    }

    fn plan(list: &str, typed: OperationConfig, hosts: &Hosts) -> Result<OperationPlan, OperationError> {
        let typed = OperationConfig { selection: list.parse().unwrap(), ..typed };
        OperationPlan::new(&Config::default(), &typed, hosts)
    }

    #[test]
    fn numbers_of_processes_are_powers_of_two_and_others() {
        assert_eq!(default_procs(4), [2, 4]);
        assert_eq!(default_procs(24), [2, 4, 6, 8, 12, 16, 24]);
        assert_eq!(default_procs(7), [2, 4, 6, 7]);
        assert_eq!(default_procs(1), [1]);
    }

    #[test]
    fn processes_are_spread_over_hosts() {
        let hosts = hosts(12, 4);
        assert_eq!(members(&hosts, 4, None), Ok(vec![0, 1, 4, 8]));
        assert_eq!(members(&hosts, 6, Some(2)), Ok(vec![0, 1, 4, 5, 8, 9]));
        assert_eq!(members(&hosts, 5, Some(4)), Ok(vec![0, 1, 2, 3, 4]));
        assert_eq!(members(&hosts, 12, None), Ok((0..12).collect()));
        let no_room = members(&hosts, 7, Some(2)).unwrap_err();
        assert_eq!(no_room, OperationError::NoRoom { asked: 7, per_host: 2, room: 6 });
        let scattered = Hosts::new(["a", "b", "a", "b"]);
        assert_eq!(members(&scattered, 3, None), Ok(vec![0, 2, 1]));
    }

    #[test]
    fn all_is_every_operation_and_probe() {
        let plan = plan("all", OperationConfig::default(), &hosts(8, 4)).unwrap();
        assert!(Algorithm::all().all(|algorithm| plan.operations.iter().any(|op| op.algorithm == algorithm)));
        assert_eq!(plan.probes.len(), ProbeKind::ALL.len());
        assert_eq!(plan.probe_pairs(), [(0, 1), (0, 4)]);
        assert!(plan.lengths.is_sorted() && plan.lengths.contains(&Bytes(4 * 4830)));
        assert!(plan.cells() > 500 && plan.memory().0 > 1 << 20);
        let few = self::plan("all", OperationConfig::default(), &hosts(3, 1)).unwrap();
        assert!(!few.operations.iter().any(|operation| operation.algorithm == Algorithm::AllToAll), "P is below 4");
    }

    #[test]
    fn lists_are_understood_and_chains_swept() {
        let typed = OperationConfig { chains: "all".parse().unwrap(), ..OperationConfig::default() };
        let plan = plan("reduce_chains_short_first,shift:q=3,send", typed, &hosts(6, 6)).unwrap();
        let names: Vec<String> = plan.operations.iter().map(Operation::to_string).collect();
        let chains = ["1", "2", "3", "4", "5", "sqrt"].map(|k| format!("reduce_chains_short_first:k={k}"));
        assert_eq!(names, [&["shift:q=3".to_owned()][..], &chains].concat());
        assert_eq!(plan.probes, [ProbeKind::Send]);
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        let error = |list: &str, procs: &[usize], lengths: Option<Vec<u64>>| {
            let lengths = lengths.map(|lengths| lengths.into_iter().map(Bytes).collect());
            let typed = OperationConfig { procs: procs.to_vec(), lengths, ..OperationConfig::default() };
            plan(list, typed, &hosts(4, 2)).unwrap_err().to_string()
        };
        assert!(error("all", &[8], None).contains("the run has 4 ranks"));
        assert!(error("all", &[1], None).contains("at least 2"));
        assert!(error("all_to_all", &[2, 3], None).contains("at least 4"));
        assert!(error("exchange", &[3], None).contains("even"));
        assert!(error("reduce", &[], Some(vec![12])).contains("multiples of 8"));
        assert!(error("bcast", &[], Some(vec![8, 1 << 29])).contains("more than an operation takes"));
    }
}
