//! Closed forms of Kurnosov's algorithms of a reduction: exact ones, those that the paper prints, and the number of chains.
//!
//! Predictions come from [`super::logp`]; these forms test it, show how far off the printed ones are, and choose the number
//! of chains without a simulation for each. All are of the root, with o_s = o_r = o and gaps of sends and receives apart.

use super::{
    logp::{Costs, GapRule, Way, simulate, simulate_ways, slowest},
    schedule::reduction,
};
use crate::plan::operation::{Algorithm, Operation};

/// The LogP model with the costs of a block, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logp {
    /// o.
    pub overhead: f64,
    /// L.
    pub latency: f64,
    /// g.
    pub gap: f64,
    /// m gamma.
    pub reduce: f64,
    /// m lambda.
    pub copy: f64,
}

impl Logp {
    /// b = o + m gamma: a receive and its reduction.
    pub fn b(&self) -> f64 {
        self.overhead + self.reduce
    }

    /// M = max(b, g).
    pub fn busy(&self) -> f64 {
        self.b().max(self.gap)
    }

    /// a = 2 o + L + m gamma: one link of a chain.
    pub fn a(&self) -> f64 {
        2.0 * self.overhead + self.latency + self.reduce
    }

    /// o + L.
    fn way(&self) -> f64 {
        self.overhead + self.latency
    }

    /// The time of every process by simulation, `[process]`.
    pub fn simulated(&self, operation: Operation, procs: usize, rule: GapRule) -> Vec<f64> {
        let costs = Costs::logp(self.overhead, self.gap, self.reduce, self.copy);
        let actions: Vec<_> = (0..procs).map(|me| reduction(operation, procs, me)).collect();
        simulate(&actions, &costs, |_, _| self.latency, rule)
    }

    /// The root's time as the simulation has it, in one formula; NaN for what is none of Kurnosov's algorithms.
    pub fn exact(&self, operation: Operation, procs: usize) -> f64 {
        // To the root from where the tree leads.
        let moved = if procs < 2 { 0.0 } else { 2.0 * self.overhead + self.latency };
        let ordered = || Self { reduce: self.reduce + self.copy, ..*self }.subtree(procs);
        match operation.algorithm {
            Algorithm::ReduceBinomial => self.subtree(procs),
            Algorithm::ReduceOrderedFirst => ordered(),
            Algorithm::ReduceOrderedLast => moved + ordered(),
            Algorithm::ReduceBinaryLast => self.block(procs),
            Algorithm::ReduceBinaryFirst => moved + self.block(procs),
            Algorithm::ReduceChainsShortFirst | Algorithm::ReduceChainsLongFirst => self.chains(procs, operation),
            _ => f64::NAN,
        }
    }

    /// F: when a binomial subtree of so many processes is reduced.
    fn subtree(&self, procs: usize) -> f64 {
        if procs < 2 {
            return self.copy;
        }
        let interval = self.a().max(self.gap);
        let last = if procs.is_power_of_two() { 0.0 } else { self.busy() };
        self.copy + (floor_log2(procs) - 1.0) * interval + last + self.a()
    }

    /// B: when a block of the binary tree is reduced.
    fn block(&self, procs: usize) -> f64 {
        match procs {
            0 | 1 => 0.0,
            2 => self.copy.max(self.way()) + self.b(),
            _ => {
                let first = self.copy.max(self.block(procs - procs / 2 - 1) + self.way());
                (first + self.busy()).max(self.block(procs / 2) + self.way()) + self.b()
            }
        }
    }

    fn chains(&self, procs: usize, operation: Operation) -> f64 {
        let others = procs.saturating_sub(1);
        if others == 0 {
            return self.copy;
        }
        let count = operation.chains(procs);
        let (short, longer) = (others / count, others % count);
        // When the first chain of so many processes has sent its result.
        let there = |length: usize| (length as f64 - 1.0) * self.a() + self.way();
        let (busy, last) = (self.busy(), self.b());
        if operation.algorithm == Algorithm::ReduceChainsLongFirst || longer == 0 {
            return self.copy.max(there(others.div_ceil(count))) + (count as f64 - 1.0) * busy + last;
        }
        let shorts_done = self.copy.max(there(short)) + (count - longer) as f64 * busy;
        shorts_done.max(there(short + 1)) + (longer as f64 - 1.0) * busy + last
    }

    /// The root's time as the paper prints it, misprints included. Of chains it knows the longer ones first. `None` for
    /// what it has no formula for.
    pub fn printed(&self, operation: Operation, procs: usize) -> Option<f64> {
        let Self { overhead: o, latency: l, reduce, copy, .. } = *self;
        let (rounds, power) = (floor_log2(procs), procs.is_power_of_two());
        let step = o + l + self.busy();
        let ordered = 2.0 * copy + reduce + (rounds - 1.0) * (o + l + (o + reduce + copy).max(self.gap));
        let last = o + l + (o + reduce + copy).max(self.gap);
        let binary = self.way().max(copy) + rounds * (self.busy() + self.b()) + (rounds - 1.0) * (o + l);
        Some(match operation.algorithm {
            Algorithm::ReduceBinomial if power => copy + (rounds - 1.0) * step + 2.0 * o + l + reduce,
            Algorithm::ReduceBinomial => copy + rounds * step + o + reduce,
            Algorithm::ReduceOrderedFirst if power => ordered + 2.0 * o + l,
            Algorithm::ReduceOrderedFirst => ordered + last + o + l,
            Algorithm::ReduceOrderedLast if power => ordered + 4.0 * o + 2.0 * l,
            Algorithm::ReduceOrderedLast => ordered + last + 3.0 * o + 2.0 * l,
            Algorithm::ReduceBinaryLast => binary,
            Algorithm::ReduceBinaryFirst => binary + 2.0 * o + l,
            Algorithm::ReduceChainsLongFirst => {
                let count = operation.chains(procs);
                let links = (procs.saturating_sub(1) / count) as f64;
                links * self.a() + (count as f64 - 2.0) * self.busy() + 3.0 * o + l + 2.0 * reduce
            }
            _ => return None,
        })
    }

    /// k_opt: the number of chains with the smallest exact time, and that time. The smallest of equals.
    pub fn best_chains(&self, procs: usize, algorithm: Algorithm) -> (usize, f64) {
        let time = |count: usize| self.chains(procs, Operation { algorithm, parameter: count as u32 });
        let all = (1..procs.max(2)).map(|count| (count, time(count)));
        all.min_by(|left, right| left.1.total_cmp(&right.1)).unwrap_or((1, self.copy))
    }

    /// k_c: the number of chains that is best where it need not be whole, sqrt(a (P-1) / M), and its time by formula (1).
    pub fn continuous_chains(&self, procs: usize) -> (f64, f64) {
        let (a, busy, others) = (self.a(), self.busy(), procs.saturating_sub(1) as f64);
        ((a * others / busy).sqrt(), 2.0 * (a * busy * others).sqrt() + a - busy)
    }
}

/// The number of chains whose slowest process is the first to end, by simulation, where ways differ from pair to pair, and
/// its time: of 1..=`most` chains.
pub fn best_chains_by(
    procs: usize,
    most: usize,
    algorithm: Algorithm,
    costs: &Costs,
    way: impl Fn(usize, usize) -> Way,
) -> (usize, f64) {
    let time = |count: usize| {
        let operation = Operation { algorithm, parameter: count as u32 };
        let actions: Vec<_> = (0..procs).map(|me| reduction(operation, procs, me)).collect();
        slowest(&simulate_ways(&actions, costs, &way, GapRule::Separate))
    };
    let all = (1..=most.clamp(1, procs.saturating_sub(1).max(1))).map(|count| (count, time(count)));
    all.min_by(|left, right| left.1.total_cmp(&right.1)).unwrap_or((1, f64::NAN))
}

fn floor_log2(procs: usize) -> f64 {
    f64::from(procs.max(1).ilog2())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::operation::{Group, steps::root};

    use Algorithm::{
        ReduceBinaryLast, ReduceBinomial, ReduceChainsLongFirst as LongFirst, ReduceChainsShortFirst as ShortFirst,
        ReduceOrderedFirst, ReduceOrderedLast,
    };

    fn chains(count: u32, algorithm: Algorithm) -> Operation {
        Operation { algorithm, parameter: count }
    }

    const A: Logp = Logp { overhead: 2.0, latency: 6.0, gap: 4.0, reduce: 3.0, copy: 1.0 };
    const B: Logp = Logp { overhead: 1.0, latency: 6.0, gap: 9.0, reduce: 2.0, copy: 1.0 };
    const PROCS: [usize; 11] = [2, 3, 4, 5, 7, 8, 12, 16, 22, 48, 64];

    /// Number of chains that stands for k*, and one that is P-1 for every P.
    const STAR: u32 = 0;
    const FLAT: u32 = 1 << 30;

    #[test]
    fn the_simulation_gives_the_table_of_the_reference() {
        use GapRule::{Joint, Separate};
        let plain = Operation::plain;
        #[rustfmt::skip]
        let rows: [(&Logp, Operation, GapRule, [u32; 11]); 17] = [
            (&A, plain(ReduceBinomial), Separate, [14, 19, 27, 32, 32, 40, 45, 53, 58, 71, 79]),
            (&A, plain(ReduceBinomial), Joint, [14, 19, 27, 32, 32, 40, 45, 53, 58, 71, 79]),
            (&A, plain(ReduceOrderedFirst), Separate, [15, 21, 29, 35, 35, 43, 49, 57, 63, 77, 85]),
            (&A, plain(ReduceOrderedLast), Separate, [25, 31, 39, 45, 45, 53, 59, 67, 73, 87, 95]),
            (&A, plain(ReduceBinaryLast), Separate, [13, 18, 26, 31, 36, 39, 49, 54, 62, 85, 90]),
            (&A, chains(4, LongFirst), Separate, [13, 18, 23, 28, 41, 41, 54, 67, 93, 171, 223]),
            (&A, chains(4, ShortFirst), Separate, [13, 18, 23, 28, 31, 36, 49, 62, 80, 166, 218]),
            (&A, chains(STAR, LongFirst), Separate, [13, 18, 31, 31, 36, 49, 54, 67, 85, 121, 139]),
            (&A, chains(STAR, ShortFirst), Separate, [13, 18, 26, 31, 36, 39, 49, 62, 72, 111, 134]),
            (&A, chains(1, ShortFirst), Separate, [13, 26, 39, 52, 78, 91, 143, 195, 273, 611, 819]),
            (&A, chains(FLAT, ShortFirst), Separate, [13, 18, 23, 28, 38, 43, 63, 83, 113, 243, 323]),
            (&A, chains(FLAT, LongFirst), Separate, [13, 18, 23, 28, 38, 43, 63, 83, 113, 243, 323]),
            (&B, plain(ReduceBinomial), Separate, [11, 20, 21, 30, 30, 31, 40, 41, 50, 60, 61]),
            (&B, plain(ReduceBinomial), Joint, [11, 20, 27, 36, 36, 43, 52, 59, 68, 84, 91]),
            (&B, plain(ReduceOrderedFirst), Separate, [12, 21, 23, 32, 32, 34, 43, 45, 54, 65, 67]),
            (&B, plain(ReduceBinaryLast), Separate, [10, 19, 20, 29, 38, 38, 48, 57, 58, 86, 95]),
            (&B, chains(STAR, ShortFirst), Separate, [10, 19, 20, 29, 38, 38, 48, 58, 76, 114, 134]),
        ];
        for (logp, operation, rule, expected) in rows {
            let found = PROCS.map(|procs| slowest(&logp.simulated(operation, procs, rule)));
            assert_eq!(found, expected.map(f64::from), "{logp:?} {operation} {rule:?}");
        }
        let printed = PROCS.map(|procs| A.printed(plain(ReduceBinaryLast), procs).unwrap());
        assert_eq!(printed, [18.0, 18.0, 36.0, 36.0, 36.0, 54.0, 54.0, 72.0, 72.0, 90.0, 108.0]);
    }

    /// All of the group, with this number of chains.
    fn all(count: u32) -> impl Iterator<Item = Operation> {
        let reductions = Algorithm::all().filter(|algorithm| algorithm.group() == Group::Reductions);
        reductions.map(move |algorithm| Operation {
            algorithm,
            parameter: if algorithm.parameter().is_some() { count } else { 0 },
        })
    }

    fn at_root(logp: &Logp, operation: Operation, procs: usize, rule: GapRule) -> f64 {
        logp.simulated(operation, procs, rule)[root(operation.algorithm, procs)]
    }

    #[test]
    fn exact_forms_are_the_simulation() {
        let c = Logp { copy: 30.0, ..A };
        for logp in [&A, &B, &c] {
            for procs in 2..=33 {
                for operation in (1..procs as u32).flat_map(all) {
                    let simulated = at_root(logp, operation, procs, GapRule::Separate);
                    assert_eq!(simulated, logp.exact(operation, procs), "{logp:?} {operation} {procs}");
                }
            }
        }
    }

    #[test]
    fn printed_forms_are_exact_where_the_reference_says_so() {
        let printed = |operation, procs| A.printed(operation, procs).unwrap();
        for procs in 2usize..=64 {
            let simulated = |algorithm| at_root(&A, Operation::plain(algorithm), procs, GapRule::Joint);
            let plain = |algorithm| printed(Operation::plain(algorithm), procs);
            assert_eq!(plain(ReduceBinomial), simulated(ReduceBinomial), "{procs}");
            // One L too much where P is no power of two.
            let extra = if procs.is_power_of_two() { 0.0 } else { A.latency };
            for ordered in [ReduceOrderedFirst, ReduceOrderedLast] {
                assert_eq!(plain(ordered) - extra, simulated(ordered), "{procs}");
            }
            let (binary, exact) = (plain(ReduceBinaryLast), A.exact(Operation::plain(ReduceBinaryLast), procs));
            assert!(binary >= exact && ((procs + 1).is_power_of_two() == (binary == exact)), "{procs}");
            for count in 1..procs {
                let chains = chains(count as u32, LongFirst);
                // Without a longer chain the printed form has a link too much.
                let extra = if (procs - 1).is_multiple_of(count) { A.a() } else { 0.0 };
                assert_eq!(printed(chains, procs) - extra, A.exact(chains, procs), "{procs} {count}");
            }
        }
        assert_eq!(A.printed(chains(4, ShortFirst), 9), None);
    }

    #[test]
    fn the_load_is_uneven() {
        let times = A.simulated(Operation::plain(ReduceBinomial), 22, GapRule::Separate);
        let expected = |rank: usize| match rank {
            0 => 58.0,
            2 | 6 | 10 | 14 | 18 | 20 => 16.0,
            4 | 12 => 29.0,
            8 => 42.0,
            16 => 34.0,
            _ => 3.0,
        };
        assert!((0..22).all(|rank| times[rank] == expected(rank)), "{times:?}");
        assert_eq!((A.exact(chains(4, LongFirst), 11), A.exact(chains(4, ShortFirst), 11)), (54.0, 44.0));
    }

    #[test]
    fn the_number_of_chains_is_figure_7s() {
        // a = 3, b = 2.
        let logp = Logp { overhead: 0.0, latency: 1.0, gap: 0.0, reduce: 2.0, copy: 0.0 };
        #[rustfmt::skip]
        let table = [
            (48, 7, 33.0, (8, 32.0), 8.3964, 34.5857, 30.0, (7, 30.0)),
            (100, 10, 48.0, (11, 47.0), 12.1861, 49.7442, 46.0, (13, 45.0)),
            (200, 15, 70.0, (17, 68.0), 17.2772, 70.1086, 67.0, (17, 65.0)),
            (300, 18, 85.0, (20, 83.0), 21.1778, 85.7113, 82.0, (19, 81.0)),
            (400, 20, 98.0, (25, 96.0), 24.4643, 98.8570, 96.0, (24, 94.0)),
        ];
        for (procs, star, long, best_long, continuous, time, short, best_short) in table {
            assert_eq!(chains(STAR, ShortFirst).chains(procs), star);
            let exact = |algorithm| logp.exact(chains(STAR, algorithm), procs);
            assert_eq!((exact(LongFirst), exact(ShortFirst)), (long, short), "{procs}");
            assert_eq!(logp.best_chains(procs, LongFirst), best_long);
            assert_eq!(logp.best_chains(procs, ShortFirst), best_short);
            let (found, found_time) = logp.continuous_chains(procs);
            assert!((found - continuous).abs() < 1e-4 && (found_time - time).abs() < 1e-4, "{procs}");
        }
    }

    #[test]
    fn the_paper_s_number_of_chains_loses_what_the_reference_says() {
        // Of formula (1), by a/b.
        for (ratio, loss) in [(1.5, 1.02), (4.0, 1.25), (10.0, 1.74)] {
            let logp = Logp { overhead: 0.0, latency: ratio - 1.0, gap: 0.0, reduce: 1.0, copy: 0.0 };
            let formula = |k: f64| (1e8 / k + 1.0) * ratio + (k - 1.0);
            let (_, best) = logp.continuous_chains(100_000_001);
            assert!((formula(1e4) / best - loss).abs() < 0.006, "{ratio}: {}", formula(1e4) / best);
        }
    }

    #[test]
    fn the_best_number_of_chains_is_found_by_simulation_too() {
        let costs = Costs::logp(A.overhead, A.gap, A.reduce, A.copy);
        for procs in [2, 9, 48] {
            let found = best_chains_by(procs, procs, ShortFirst, &costs, |_, _| Way {
                latency: A.latency,
                receive: A.overhead,
            });
            assert_eq!(found, A.best_chains(procs, ShortFirst));
        }
    }
}
