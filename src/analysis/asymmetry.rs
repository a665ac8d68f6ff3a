//! What a run on synchronised clocks says of asymmetry: paths that are slower one way.
//!
//! In: a matrix of one-way times whose clocks are off by unknown amounts. Out: those amounts, fitted robustly over all
//! pairs, and what is left of each pair, with its error.
//!
//! If the clock of rank `j` is behind that of rank `i`, all of `D_ij` are too short by as much as `D_ji` are too long,
//! so `(D_ij - D_ji) / 2 = clock_j - clock_i + asymmetry_ij`. With N ranks there are N - 1 unknown clocks and N (N - 1)
//! / 2 pairs: the clocks are known better the more pairs there are, whatever bound each synchronisation had. They
//! minimise Huber's loss, which begins with medians. What has the form `clock_j - clock_i` is taken for clocks, unless
//! it is more than a clock can be off by, or stays while clocks are synchronised anew ([`Clocks::limit`]): at one
//! length a host that is late to everybody cannot be distinguished from a clock that is behind.

use crate::{
    record::Matrix,
    stats::{median, scatter_about_zero},
    units::Rank,
};

/// Clocks of one length, as its times tell them.
#[derive(Clone, Debug, PartialEq)]
pub struct Clocks {
    /// By how much messages to a rank seem late, and those from it early, in seconds, `[rank]`; their median is 0.
    pub offsets: Vec<f64>,
    /// Robust standard deviation of the asymmetry of pairs, in seconds.
    pub scatter: f64,
    /// Number of pairs of every rank that were measured both ways, `[rank]`.
    pairs: Vec<usize>,
}

/// Share of the efficiency of the mean that Huber's estimator has on normal data with this limit, in standard
/// deviations, is 95 % (Huber and Ronchetti, "Robust Statistics", 2009, 4.5).
const HUBER: f64 = 1.345;

/// Sweeps over all ranks, at most: where all pairs were measured a few are enough, on sparse ones an offset has to pass
/// from rank to rank.
const SWEEPS: usize = 200;

impl Clocks {
    /// Of the times of all pairs at one length, in seconds.
    pub fn of(times: &Matrix) -> Self {
        let ranks = times.ranks();
        let halves = |rank: Rank| {
            let half = move |other: Rank| (other, (times[(other, rank)] - times[(rank, other)]) / 2.0);
            (0..ranks).filter(move |other| *other != rank).map(half).filter(|(_, half)| half.is_finite())
        };
        let pairs: Vec<usize> = (0..ranks).map(|rank| halves(rank).count()).collect();
        let mut offsets = vec![0.0; ranks];
        let mut values = Vec::with_capacity(ranks);
        sweep(&mut offsets, |offsets, rank| {
            values.clear();
            values.extend(halves(rank).map(|(other, half)| half + offsets[other]));
            median(&mut values)
        });
        let mut rests: Vec<f64> = (0..ranks)
            .flat_map(|rank| {
                halves(rank).filter(move |(other, _)| *other < rank).map(move |(other, half)| (rank, other, half))
            })
            .map(|(rank, other, half)| half + offsets[other] - offsets[rank])
            .collect();
        let scatter = scatter_about_zero(&mut rests);
        if scatter > 0.0 {
            sweep(&mut offsets, |offsets, rank| {
                let (mut sum, mut weights) = (0.0, 0.0);
                for (other, half) in halves(rank) {
                    let value = half + offsets[other];
                    let weight = (HUBER * scatter / (value - offsets[rank]).abs()).min(1.0);
                    sum += weight * value;
                    weights += weight;
                }
                sum / weights
            });
        }
        let centre = median(&mut offsets.clone());
        offsets.iter_mut().for_each(|offset| *offset -= centre);
        Self { offsets, scatter, pairs }
    }

    /// Leaves to the paths what is no clock's. `clocks` are those of all lengths; `bounds` says how far off they may
    /// be, `[length][rank]` in seconds (NaN: nobody knows).
    ///
    /// Clocks are synchronised anew at every length, paths stay. So an offset that stands out from those of the other
    /// ranks is taken for a path if it is beyond its bound at any length, or stands out the same way at half of the
    /// lengths or more.
    pub fn limit(clocks: &mut [Self], bounds: &[Vec<f64>]) {
        let limits: Vec<f64> = clocks.iter().map(Self::usual).collect();
        let ranks = clocks.first().map_or(0, |clocks| clocks.offsets.len());
        for (rank, sign) in (0..ranks).flat_map(|rank| [(rank, 1.0), (rank, -1.0)]) {
            let offset = |place: usize| sign * clocks[place].offsets[rank];
            let stands_out: Vec<usize> = (0..limits.len()).filter(|place| offset(*place) > limits[*place]).collect();
            let is_beyond = stands_out.iter().any(|place| offset(*place) > bounds[*place][rank]);
            let stays = stands_out.len() > 1 && 2 * stands_out.len() >= limits.len();
            if is_beyond || stays {
                stands_out.into_iter().for_each(|place| clocks[place].offsets[rank] = 0.0);
            }
        }
    }

    /// What no clock's offset exceeds by chance, in seconds: five times the scatter of all ranks' offsets, which of
    /// normal ones one in two million does.
    fn usual(&self) -> f64 {
        let ranks = self.offsets.len().max(1) as f64;
        5.0 * scatter_about_zero(&mut self.offsets.clone()).max(self.scatter / ranks.sqrt())
    }

    /// How much too long the times from `source` to `destination` are, in seconds.
    pub fn between(&self, source: Rank, destination: Rank) -> f64 {
        self.offsets[destination] - self.offsets[source]
    }

    /// By how much a pair is slower from `source` to `destination` than both ways on average, in seconds, with its
    /// standard error; NaN where it was not measured both ways.
    pub fn asymmetry(&self, times: &Matrix, source: Rank, destination: Rank) -> (f64, f64) {
        let half = (times[(source, destination)] - times[(destination, source)]) / 2.0;
        let of_clock = |rank: Rank| 1.0 / (self.pairs[rank].max(1) as f64);
        let error = self.scatter * (1.0 + of_clock(source) + of_clock(destination)).sqrt();
        (half - self.between(source, destination), error)
    }
}

/// Sets every rank's offset to what the others' say of it, again and again, until that moves none by more than a
/// thousandth of what it moved them at first.
fn sweep(offsets: &mut [f64], mut told: impl FnMut(&[f64], Rank) -> f64) {
    let mut first = None;
    for _ in 0..SWEEPS {
        let mut moved = 0.0f64;
        for rank in 0..offsets.len() {
            let offset = told(offsets, rank);
            if offset.is_finite() {
                moved = moved.max((offset - offsets[rank]).abs());
                offsets[rank] = offset;
            }
        }
        let first = *first.get_or_insert(moved);
        if moved <= 1e-3 * first {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Ranks whose clocks are apart by up to 5 us, paths of 2 us that scatter by 40 ns and one that is 3 us late one
    /// way.
    fn times(ranks: usize, measured: impl Fn(Rank, Rank) -> bool) -> (Matrix, Vec<f64>) {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let clocks: Vec<f64> = (0..ranks).map(|_| rng.random_range(-5e-6..5e-6)).collect();
        let mut times = Matrix::missing(ranks);
        for (i, j) in (0..ranks).flat_map(|i| (0..ranks).map(move |j| (i, j))) {
            if i != j && measured(i.min(j), i.max(j)) {
                let late = if (i, j) == (3, 8) { 3e-6 } else { 0.0 };
                times[(i, j)] = 2e-6 + rng.random_range(-70e-9..70e-9) + late + clocks[j] - clocks[i];
            }
        }
        (times, clocks)
    }

    #[test]
    fn clocks_are_known_better_than_one_pair_and_the_late_path_stands_out() {
        let (times, clocks) = times(32, |_, _| true);
        let fit = Clocks::of(&times);
        for (i, j) in (0..32).flat_map(|i| (0..32).map(move |j| (i, j))).filter(|(i, j)| i != j) {
            let truth = clocks[j] - clocks[i];
            assert!((fit.between(i, j) - truth).abs() < 30e-9, "{i} {j}");
            let (asymmetry, error) = fit.asymmetry(&times, i, j);
            let expected = if (i, j) == (3, 8) {
                1.5e-6
            } else if (i, j) == (8, 3) {
                -1.5e-6
            } else {
                0.0
            };
            assert!((asymmetry - expected).abs() < 5.0 * error, "{i} {j}: {asymmetry} {error}");
        }
        let (_, error) = fit.asymmetry(&times, 0, 1);
        assert!((15e-9..60e-9).contains(&error), "{error}");
    }

    #[test]
    fn what_is_beyond_the_bound_or_stays_is_a_path() {
        let apart = |last: f64| {
            let offsets = [0.5e-6, -0.5e-6, 0.3e-6, -0.4e-6, 0.1e-6, last];
            Clocks { offsets: offsets.to_vec(), scatter: 0.1e-6, pairs: vec![5; 6] }
        };
        let last = |offsets: [f64; 4]| {
            let mut clocks = offsets.map(apart);
            Clocks::limit(&mut clocks, &vec![vec![6e-6; 6]; 4]);
            assert!(clocks.iter().all(|clocks| clocks.offsets[..5] == apart(0.0).offsets[..5]));
            clocks.map(|clocks| clocks.offsets[5])
        };
        // Once off by more than others, as a clock may be.
        assert_eq!(last([0.2e-6, 4e-6, 0.1e-6, -0.3e-6]), [0.2e-6, 4e-6, 0.1e-6, -0.3e-6]);
        // A receiver at half its bandwidth.
        assert_eq!(last([0.2e-6, -0.1e-6, 0.4e-6, 80e-6]), [0.2e-6, -0.1e-6, 0.4e-6, 0.0]);
        // Late at most lengths.
        assert_eq!(last([4e-6, 4.2e-6, 3.9e-6, 0.3e-6]), [0.0, 0.0, 0.0, 0.3e-6]);
    }

    #[test]
    fn clocks_are_found_from_some_of_the_pairs_and_a_lonely_rank_has_none() {
        // Every rank but the last meets its next five.
        let (times, clocks) = times(24, |i, j| j < 23 && (j - i <= 5 || 23 - (j - i) <= 5));
        let fit = Clocks::of(&times);
        for rank in 1..23 {
            assert!((fit.between(0, rank) - (clocks[rank] - clocks[0])).abs() < 150e-9, "{rank}");
        }
        assert!(fit.offsets.iter().all(|offset| offset.is_finite()));
        assert!(fit.asymmetry(&times, 0, 23).0.is_nan());
    }
}
