//! What is slow only while others communicate.
//!
//! In: a run among whose pairs several are measured at the same time, and its places. Out: a [`Verdict`] in which what
//! re-tests refute hides nothing ([`without_refuted`]), and what is worth a remark ([`under_load`]).

use super::{
    Finding, RetestVerdict,
    retests::{is_shared, tested},
};
use crate::{
    analysis::diagnose::{
        Kind,
        folded::Folded,
        places::{self, Asked, Suspect, Verdict},
    },
    record::{BoxError, Run},
};

/// Judges a run once more where places of it are as fast as their peers once they are measured again alone: others were on
/// the way. What crosses such hosts and cables at these lengths is left out, such ways are not looked for at these lengths.
/// Returns them too.
pub(super) fn without_refuted(
    run: &dyn Run,
    is_left_out: &[bool],
    folded: &mut Folded,
    verdict: Verdict,
    asked: Asked,
) -> Result<(Verdict, Vec<Finding>), BoxError> {
    let found = tested(run, is_left_out, (folded, &verdict), (&verdict.suspects, &[]))?;
    let is_refuted = |finding: &Finding| {
        finding.retest == Some(RetestVerdict::Contention) && (is_shared(finding.kind) || finding.kind == Kind::Node)
    };
    let (refuted, found): (Vec<&Suspect>, Vec<Finding>) =
        verdict.suspects.iter().zip(found).filter(|(_, finding)| is_refuted(finding)).unzip();
    if refuted.is_empty() {
        return Ok((verdict, found));
    }
    let (own, ways): (Vec<&Suspect>, Vec<&Suspect>) =
        refuted.into_iter().partition(|suspect| matches!(suspect.place.kind, Kind::Node | Kind::Cable));
    let all = folded.hosts();
    for Suspect { place, range, .. } in own {
        let is_crossing = place.crossing(all);
        for length in range.0..=range.1 {
            let cells = (0..all * all).filter(|cell| is_crossing[*cell]);
            cells.for_each(|cell| folded.leave_out(length, (cell / all, cell % all)));
        }
    }
    let known: Vec<Suspect> = ways.into_iter().cloned().collect();
    let mut again = places::judge_with(folded, verdict.distances, asked, &known);
    again.kinds = verdict.kinds;
    Ok((again, found))
}

/// Adds the leaves that are slow under load to what `met` others, instead of single pairs that were slow for it.
pub(super) fn under_load(
    run: &dyn Run,
    is_left_out: &[bool],
    (times, verdict): (&Folded, &Verdict),
    loaded: &[Suspect],
    met: &mut Vec<Finding>,
) -> Result<(), BoxError> {
    let loaded = tested(run, is_left_out, (times, verdict), (loaded, &[]))?;
    let crosses = |link: &Finding, way: &Finding| {
        link.kind == Kind::Link && link.hosts.iter().filter(|host| way.hosts.contains(host)).count() == 1
    };
    let is_said = |found: &Finding, way: &Finding| found.kind == way.kind && found.hosts == way.hosts;
    met.retain(|found| !loaded.iter().any(|way| crosses(found, way) || is_said(found, way)));
    // Pairs that were measured again are not those that were slow under load: what they take alone counts.
    let of_load = loaded.into_iter().filter(|way| way.retest != Some(RetestVerdict::Confirmed));
    met.extend(of_load.map(|way| Finding { retest: way.retest.map(|_| RetestVerdict::Contention), ..way }));
    Ok(())
}
