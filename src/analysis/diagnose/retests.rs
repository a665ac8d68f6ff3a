//! What pairs that were measured again say about a suspicion: methods of three numbers.
//!
//! In: the re-tests of a run and a suspicion. Out: a [`RetestVerdict`]. The first value is the one in the matrix; if
//! the pair is as slow alone, its path is at fault; if it is slow among others only, they are in each other's way; if
//! neither, it was an accident.

use super::{
    findings::RetestVerdict,
    folded::Folded,
    judgement::{Judgement, Suspicion},
};
use crate::{
    record::{BoxError, Run},
    stats::median_of,
};

/// What the re-tests of the suspicion's pairs say; `None` where there are none.
pub(super) fn verdict(
    run: &dyn Run,
    folded: &Folded,
    judgement: &Judgement,
    suspicion: &Suspicion,
) -> Result<Option<RetestVerdict>, BoxError> {
    let hosts = &run.header().hosts;
    let (mut second, mut alone) = (Vec::new(), Vec::new());
    for length in suspicion.range.0..=suspicion.range.1 {
        for retest in run.retests(length)? {
            let (from, to) = (hosts.host_of(retest.source), hosts.host_of(retest.destination));
            if from == to || !judgement.is_meant(suspicion, from, to) {
                continue;
            }
            let usual = folded.level[length] * judgement.usual_without(suspicion, length, from, to).exp();
            second.push((retest.second / usual).ln());
            alone.push((retest.alone / usual).ln());
        }
    }
    let mut scratch = Vec::new();
    let half = suspicion.effect / 2.0;
    let (second, alone) = (median_of(second.into_iter(), &mut scratch), median_of(alone.into_iter(), &mut scratch));
    Ok(match (alone.is_nan(), alone > half, second > half) {
        (true, ..) => None,
        (_, true, _) => Some(RetestVerdict::Confirmed),
        (_, false, true) => Some(RetestVerdict::Contention),
        (_, false, false) => Some(RetestVerdict::Transient),
    })
}
