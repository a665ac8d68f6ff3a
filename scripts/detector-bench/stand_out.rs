//! By how many standard errors a fault stands out.
//!
//! In: what is known about a measured machine. Out: the difference that a fault makes to the mean of the cells that
//! cross its place, over the standard error of that mean, both in logarithms of medians. The error has two parts: whole
//! hosts differ (this counts for a host at whose cells the fault is all there is to see, and averages out over several
//! such hosts), and cells differ (averages out over pairs: what lengths share counts once). Both are taken from the drawn
//! run itself, compared with the noiseless machine. Lost exchanges stand out by the root of twice their logarithmic
//! likelihood ratio against the rate elsewhere, scatter by a rank sum.

use std::collections::HashMap;

use netmatrix::{
    record::{MemoryRun, Run},
    stats::median,
    units::Hosts,
};

use crate::{
    machine::{cluster::Known, fault::Fault},
    planted::{Planted, Sign},
};

/// A standard deviation over the mean absolute deviation of a normal distribution: the root of pi / 2.
const MEAN_DEVIATION: f64 = 1.2533;
/// From so many standard errors on a length belongs to what can be seen of a fault's range.
const SEEN: f64 = 2.0;

/// Fills in how far everything that was planted stands out, and where.
pub fn judge(planted: &mut [Planted], faults: &[Fault], known: &Known, run: &MemoryRun) {
    let mut scatters = HashMap::new();
    for planted in planted {
        match planted.sign {
            Sign::Slow(_) => slow(planted, known, &run.header().hosts, &mut scatters),
            Sign::Jitter => planted.sigma = jitter(planted, faults, run),
            Sign::Lost | Sign::Damaged => {
                let (hit, of) = planted.faults.iter().fold((0, 0), |sum, fault| {
                    let losses = known.losses[*fault];
                    (sum.0 + losses.0, sum.1 + losses.1)
                });
                planted.sigma = lost(hit as f64, of as f64, known);
            }
        }
    }
}

/// Of hits among crossing cells, where elsewhere at most one of all cells was hit.
fn lost(hit: f64, of: f64, known: &Known) -> f64 {
    if hit == 0.0 {
        return 0.0;
    }
    let all: usize = known.residuals.iter().map(Vec::len).sum();
    let expected = of / (all as f64 + of).max(1.0);
    (2.0 * (hit * (hit / expected).ln() - (hit - expected)).max(0.0)).sqrt()
}

/// How healthy hosts and cells differ at some lengths.
#[derive(Clone)]
struct Scatter {
    host: f64,
    cell: f64,
    /// Cells that every host takes part in.
    cells: Vec<usize>,
    tick: f64,
}

fn scatter(known: &Known, hosts: &Hosts, lengths: &[usize]) -> Scatter {
    let ranks = hosts.ranks();
    let (mut sum, mut count) = (vec![0.0f64; ranks * ranks], vec![0u32; ranks * ranks]);
    for &length in lengths {
        let cells = &known.residuals[length];
        let centre = median(&mut cells.iter().map(|at| f64::from(at.value)).collect::<Vec<_>>());
        for at in cells {
            let cell = at.from as usize * ranks + at.to as usize;
            sum[cell] += f64::from(at.value) - centre;
            count[cell] += 1;
        }
    }
    let measured: Vec<(usize, usize, f64)> = (0..ranks * ranks)
        .filter(|cell| count[*cell] > 0)
        .map(|cell| {
            let (a, b) = (hosts.host_of(cell / ranks), hosts.host_of(cell % ranks));
            (a, b, sum[cell] / f64::from(count[cell]))
        })
        .collect();
    let (mut cells, mut means) = (vec![0usize; hosts.count()], vec![0.0; hosts.count()]);
    for &(a, b, value) in &measured {
        for host in [a, b] {
            cells[host] += 1;
            means[host] += value;
        }
    }
    means.iter_mut().zip(&cells).for_each(|(mean, count)| *mean /= (*count).max(1) as f64);
    let rest: Vec<f64> = measured.iter().map(|(a, b, value)| value - means[*a] - means[*b]).collect();
    let (cell, of_hosts) = (deviation(&rest), deviation(&means));
    let each = measured.len() as f64 * 2.0 / hosts.count().max(1) as f64;
    let host = (of_hosts * of_hosts - cell * cell / each.max(1.0)).max(0.0).sqrt();
    // Of what lies anywhere between two ticks.
    let tick = known.tick / 12.0f64.sqrt();
    let usual: f64 = lengths.iter().map(|length| known.seconds[*length]).sum::<f64>() / lengths.len().max(1) as f64;
    Scatter { host, cell, cells, tick: tick / usual }
}

/// Standard deviation, from the mean distance from the median: single cells that are far out count as much as they are
/// far, and not squared.
fn deviation(values: &[f64]) -> f64 {
    let centre = median(&mut values.to_vec());
    MEAN_DEVIATION * values.iter().map(|value| (value - centre).abs()).sum::<f64>() / values.len().max(1) as f64
}

fn slow(planted: &mut Planted, known: &Known, hosts: &Hosts, cache: &mut HashMap<Vec<usize>, Scatter>) {
    let lengths = known.residuals.len();
    let mut effects: Vec<HashMap<(u32, u32), f64>> = vec![HashMap::new(); lengths];
    for &fault in &planted.faults {
        for (length, cells) in known.effects[fault].iter().enumerate() {
            for at in cells {
                *effects[length].entry((at.from, at.to)).or_default() += f64::from(at.value);
            }
        }
    }
    let means: Vec<f64> = effects.iter().map(|cells| cells.values().sum::<f64>() / cells.len().max(1) as f64).collect();
    let most = means.iter().copied().fold(0.0, f64::max);
    if most <= 1e-9 {
        return;
    }
    let mut over_error = |chosen: &[usize]| {
        let scatter = cache.entry(chosen.to_vec()).or_insert_with(|| scatter(known, hosts, chosen));
        let cells = effects[chosen[0]].keys();
        let mean = chosen.iter().map(|length| means[*length]).sum::<f64>() / chosen.len() as f64;
        mean / error(cells.copied(), effects[chosen[0]].len(), hosts, scatter)
    };
    let main: Vec<usize> = (0..lengths).filter(|length| means[*length] >= 0.5 * most).collect();
    planted.sigma = over_error(&main);
    let seen: Vec<usize> =
        (0..lengths).filter(|length| means[*length] > 0.0 && over_error(&[*length]) >= SEEN).collect();
    if let (Some(&first), Some(&last), [first_main, .., last_main] | [first_main @ last_main]) =
        (seen.first(), seen.last(), &main[..])
    {
        let both = |a: usize, b: usize| (a.min(b), a.max(b));
        planted.range = Some([both(first, *first_main), both(last, *last_main)]);
    }
}

/// Standard error of the mean of these cells. Where a host has as many cells again that do not cross the place, what
/// it differs by is known from those, and takes no part.
fn error(cells: impl Iterator<Item = (u32, u32)>, count: usize, hosts: &Hosts, scatter: &Scatter) -> f64 {
    let mut of_host: HashMap<usize, f64> = HashMap::new();
    let mut of_pair: HashMap<(u32, u32), f64> = HashMap::new();
    for (from, to) in cells {
        for rank in [from, to] {
            *of_host.entry(hosts.host_of(rank as usize)).or_default() += 1.0;
        }
        *of_pair.entry((from.min(to), from.max(to))).or_default() += 1.0;
    }
    let count = count as f64;
    let own = |(host, cells): (&usize, &f64)| {
        if 2.0 * cells > scatter.cells[*host] as f64 { (cells / count).powi(2) } else { 0.0 }
    };
    let by_hosts = scatter.host.powi(2) * of_host.iter().map(own).sum::<f64>();
    let by_cells = scatter.cell.powi(2) * of_pair.values().map(|cells| (cells / count).powi(2)).sum::<f64>();
    (by_hosts + by_cells + scatter.tick.powi(2)).sqrt().max(1e-9)
}

/// Rank sum of the deviations over the medians of the cells that cross the place, among all between hosts; lengths and
/// cells are independent here.
fn jitter(planted: &Planted, faults: &[Fault], run: &MemoryRun) -> f64 {
    let hosts = &run.header().hosts;
    let ranks = hosts.ranks();
    let (mut sum, mut variance) = (0.0, 0.0);
    for length in 0..run.lengths().len() {
        let mut cells: Vec<(f64, bool)> = Vec::new();
        for (number, cell) in run.cells(length).iter().enumerate() {
            let (from, to) = (number / ranks, number % ranks);
            if hosts.host_of(from) != hosts.host_of(to) && !cell.summary.median.is_nan() {
                let crosses = planted.faults.iter().any(|fault| faults[*fault].scope.covers(hosts, from, to, &[]) > 0);
                cells.push((cell.summary.deviation / cell.summary.median, crosses));
            }
        }
        cells.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (n, m) = (cells.len() as f64, cells.iter().filter(|cell| cell.1).count() as f64);
        let own: f64 = cells.iter().enumerate().filter(|(_, cell)| cell.1).map(|(place, _)| place as f64 + 1.0).sum();
        sum += own - m * (n + 1.0) / 2.0;
        variance += m * (n - m) * (n + 1.0) / 12.0;
    }
    if variance > 0.0 { sum / variance.sqrt() } else { 0.0 }
}
