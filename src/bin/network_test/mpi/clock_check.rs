//! `--check-clocks`: how far off the ranks' common time is, right after they have agreed on it and some seconds later.

use std::{
    fmt::Write,
    thread,
    time::{Duration, Instant},
};

use mpi::traits::Communicator;
use netmatrix::{
    measure::{Fabric, FabricError},
    stats::{median, quantile},
    units::{Rank, Seconds},
};

use super::{
    MpiFabric, ROOT,
    clock::{Clock, attend},
    ffi::MpiError,
};

/// Seconds after the synchronisation at which the clocks are looked at.
const AFTER: [u64; 3] = [0, 5, 10];

impl MpiFabric<'_> {
    /// Synchronises the clocks, measures each against the root's at the given times, and says what was found: a table
    /// on the root, an empty text elsewhere. Collective.
    pub fn check_clocks(&mut self) -> Result<String, FabricError> {
        let ranks = self.world.size() as usize;
        let mut clock = Clock::default();
        clock.first_synchronise(&self.wire, self.me, ranks).map_err(|error| self.fatal(error))?;
        let start = Instant::now();
        let mut report = String::from("after   largest error  median error   largest bound  within bound\n");
        for after in AFTER {
            // The others wait until the root looks at them.
            if self.me == ROOT {
                thread::sleep(Duration::from_secs(after).saturating_sub(start.elapsed()));
            }
            let own = self.look(&clock, ranks).map_err(|error| self.fatal(error))?;
            // Error, bound, and what the look itself may be off by.
            let all = self.all_gather(&own)?;
            let (all, _) = all.as_chunks::<3>();
            let of = |place: usize| all.iter().skip(1).map(|numbers| numbers[place]).collect::<Vec<_>>();
            let within = all.iter().skip(1).filter(|of| of[0] <= of[1] + of[2]).count();
            let line = format!(
                "{after:>3} s {:>16} {:>13} {:>15} {:>6} of {}\n",
                Seconds(quantile(&mut of(0), 1.0)).to_string(),
                Seconds(median(&mut of(0))).to_string(),
                Seconds(quantile(&mut of(1), 1.0)).to_string(),
                within,
                ranks - 1,
            );
            report.write_str(&line).expect("a String takes everything");
        }
        Ok(if self.me == ROOT { report } else { String::new() })
    }

    /// This rank's error, its bound, and the bound of the look, in seconds: the root looks at one rank after the other.
    fn look(&self, clock: &Clock, ranks: usize) -> Result<[f64; 3], MpiError> {
        if self.me == ROOT {
            (1..ranks).try_for_each(|rank: Rank| clock.teach(&self.wire, rank))?;
            return Ok([0.0; 3]);
        }
        let (look, _) = attend(&self.wire, ROOT)?;
        Ok([(clock.global(look.at) - (look.at - look.offset)).abs(), clock.bound_at(look.at), look.bound])
    }
}
