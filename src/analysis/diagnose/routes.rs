//! Slow pairs that are too many to be faults of single cables: routes, or a cable that some of the routes share.
//!
//! In: a [`Judgement`]. Out: a sentence that stands for all of them. Nobody reads a hundred findings, and which of the
//! pairs are slow by a fault cannot be told from the times of one run.

use super::{
    Kind,
    judgement::{Judgement, Suspicion},
};
use crate::plan::Mode;

/// Slow pairs that are always told one by one.
const FEW: usize = 8;

/// The same as a share of the number of hosts.
const FEW_PER_HOST: f64 = 0.125;

/// Takes slow pairs from the suspicions if they are too many, and says what they have in common. `names`: `[host]`.
pub(super) fn set_aside(mode: Mode, judgement: &mut Judgement, names: &[String]) -> Option<String> {
    let is_link = |suspicion: &&Suspicion| suspicion.kind == Kind::Link;
    let links: Vec<Suspicion> = judgement.suspicions.iter().filter(is_link).cloned().collect();
    if links.len() <= FEW.max((FEW_PER_HOST * names.len() as f64) as usize) {
        return None;
    }
    judgement.suspicions.retain(|suspicion| suspicion.kind != Kind::Link);
    let mut count = vec![0; names.len()];
    links.iter().flat_map(|link| &link.hosts).for_each(|host| count[*host] += 1);
    let host = (0..names.len()).max_by_key(|host| count[*host])?;
    let slowest = links.iter().max_by(|a, b| a.effect.total_cmp(&b.effect))?;
    let [from, to] = [0, 1].map(|end| &names[slowest.hosts[end]]);
    Some(format!(
        "{mode}: {} pairs of hosts are slower than their hosts explain, {} of them are of {}; the slowest is {from} and {to}, \
         {:.2} times: so many are a matter of routes rather than of single cables; compare with an earlier run",
        links.len(),
        count[host],
        names[host],
        slowest.effect.exp()
    ))
}
