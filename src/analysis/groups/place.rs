//! Puts hosts into groups that are known from other hosts.
//!
//! In: what every host takes to some hosts, whose groups are known, in few bands of message lengths ([`Toward`]). Out:
//! the group of every host, and the hosts that fit into none.

use rayon::prelude::*;

use super::{
    blocks::{Blocks, add_misfit},
    infer::LIMIT,
};
use crate::analysis::square::Square;

/// One band: the values of all hosts toward those whose groups are known.
pub struct Toward {
    /// Of the known hosts among each other.
    pub known: Square,
    /// Of all hosts, `[host * known + known host]`; missing ones are NaN.
    pub rows: Vec<f32>,
    /// Standard deviation of the noise of a value.
    pub noise: f64,
}

/// The group that the row of every host fits best, and whether it fits it as well as noise lets rows of the group;
/// `[host]`. `label`: the groups of the known hosts.
pub fn place(bands: &[Toward], label: &[usize]) -> Vec<(usize, bool)> {
    let known = label.len();
    let all: Vec<Blocks> = bands.iter().map(|band| Blocks::of(&band.known, band.noise, label)).collect();
    let count = all[0].count;
    let degrees = (count.saturating_sub(1) * bands.len()).max(1) as f64;
    let most = degrees + LIMIT * (2.0 * degrees).sqrt();
    let of_host = |host: usize| {
        let mut cost = vec![0.0; count];
        for (band, blocks) in bands.iter().zip(&all) {
            add_misfit(&band.rows[host * known..][..known], blocks, label, None, &mut cost);
        }
        let best = (0..count).min_by(|a, b| cost[*a].total_cmp(&cost[*b])).unwrap_or(0);
        (best, cost[best] <= most)
    };
    (0..bands[0].rows.len() / known).into_par_iter().map(of_host).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::drawn::{generator, normal};

    #[test]
    fn hosts_go_where_their_rows_fit_and_strangers_are_told() {
        let mut rng = generator(7);
        let group = |host: usize| host % 5;
        let slow = |host: usize| if host == 9 { 0.7 } else { 0.0 };
        // Host 33 is near nobody, and hosts of group 4 are not among the known ones.
        let value = |i: usize, j: usize| match group(i) == group(j) && i != 33 {
            true => slow(i) + slow(j),
            false => 0.3 + slow(i) + slow(j),
        };
        let known: Vec<usize> = (0..60).filter(|host| group(*host) < 4).collect();
        let label: Vec<usize> = known.iter().map(|host| group(*host)).collect();
        let mut toward = || {
            let mut noisy = |i: usize, j: usize| if i == j { f64::NAN } else { value(i, j) + 0.03 * normal(&mut rng) };
            let mut square = Square::missing(known.len());
            for (row, i) in known.iter().enumerate() {
                known.iter().enumerate().for_each(|(column, j)| square.set(row, column, noisy(*i, *j)));
            }
            let cells = (0..100).flat_map(|i| known.iter().map(move |j| (i, *j)));
            let rows = cells.map(|(i, j)| noisy(i, j) as f32).collect();
            Toward { known: square, rows, noise: 0.03 }
        };
        let placed = place(&[toward(), toward()], &label);
        for (host, (found, fits)) in placed.into_iter().enumerate() {
            assert_eq!(fits, group(host) < 4 && host != 33, "host {host}");
            assert!(!fits || found == group(host), "host {host}: {found}");
        }
    }
}
