//! How far the samples of every pair scatter, read together with its times.
//!
//! In: medians and deviations, each read once. Out: the times and the scatter, each as [`Folded`]: whether a host
//! scatters more than others is seen from some of its partners, so many hosts are judged in parts, panels. Who scatters
//! too much is `places::jitter`'s.

use super::{
    folded::{Folded, Part, all, read_lengths},
    places::Least,
};
use crate::{
    analysis::ticks::Unticked,
    record::{BoxError, Run, Statistic},
};

/// Fewest hosts of a panel, where there are as many.
const HOSTS: usize = 128;

/// Deviation of the samples of a steady pair, as a share of its median: what moves its time by no more than healthy hosts
/// differ is no fault, however much less the samples of others scatter. So these are alike.
const STEADY: f64 = Least::OF_TIMES.alike;

/// Times and scatter, without the ranks for which `is_left_out`; no panels where the run has no deviations. Scatter:
/// the deviation in units of the median, at least what a steady pair may have; its level is in seconds at the usual
/// times.
pub(super) fn read_with_times(run: &dyn Run, is_left_out: &[bool]) -> Result<(Folded, Vec<Folded>), BoxError> {
    if !run.statistics().contains(&Statistic::Deviation) {
        return Ok((Folded::read(run, Statistic::Median, is_left_out)?, Vec::new()));
    }
    let run = &Unticked::of(run)?;
    let hosts = &run.header().hosts;
    let names_of = |panel: &Vec<usize>| panel.iter().map(|host| hosts.names()[*host].clone()).collect();
    let (everybody, panels) = (all(hosts), panels(hosts.count()));
    let mut folded = Folded { apart: run.apart(), ..Folded::of_ranks(hosts, is_left_out) };
    let mut scatter: Vec<Folded> = panels.iter().map(|panel| Folded::empty(names_of(panel))).collect();
    let part = |[times, deviations]: [&[f64]; 2]| {
        let share = |pair: usize| match times[pair] {
            time if time > 0.0 => (deviations[pair] / time).max(STEADY),
            _ => 0.0,
        };
        let of_panel = |panel: &Vec<usize>| Part::of(share, hosts, panel, is_left_out);
        let scatter: Vec<Part> = panels.iter().map(of_panel).collect();
        (Part::of(|pair| times[pair], hosts, &everybody, is_left_out), scatter)
    };
    read_lengths(run, [Statistic::Median, Statistic::Deviation], part, |length, (times, parts)| {
        for (scatter, part) in scatter.iter_mut().zip(parts) {
            scatter.push(length, Part { level: part.level * times.level, ..part });
        }
        folded.push(length, times);
    })?;
    Ok((folded, scatter))
}

/// The hosts of every panel: each so many-th one, so that neighbours, which are often alike, are in different panels.
fn panels(hosts: usize) -> Vec<Vec<usize>> {
    let count = (hosts / HOSTS).max(1);
    (0..count).map(|first| (first..hosts).step_by(count).collect()).collect()
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::{
        super::{Diagnosis, Options, Symptom, diagnose},
        *,
    };
    use crate::{
        analysis::{drawn::generator, square::Square},
        plan::{Config, Plan},
        record::{Cell, Header, MemoryRun, Provenance, State},
        stats::Summary,
        units::{Bytes, Hosts},
    };

    /// A run of one length, of ranks on these hosts; `of(source, destination)`: median and deviation, seconds.
    fn run(names: &[String], statistics: &[Statistic], mut of: impl FnMut(usize, usize) -> (f64, f64)) -> MemoryRun {
        let plan = Plan::all(&Config::default(), &Hosts::new(names)).unwrap().remove(0);
        let mut run = MemoryRun::with_statistics(Header::of(&plan, Provenance::default()), statistics.to_vec());
        let mut cell = |source: usize, destination: usize| {
            let (median, deviation) = of(source, destination);
            let summary = Summary { deviation, ..Summary::of(&mut [median]) };
            if source == destination { Cell::zero() } else { Cell::measured(summary, 9, State::Measured) }
        };
        let pairs = (0..names.len()).flat_map(|source| (0..names.len()).map(move |destination| (source, destination)));
        let cells = pairs.map(|(source, destination)| cell(source, destination)).collect();
        run.push(Bytes(8), cells);
        run
    }

    const BOTH: [Statistic; 2] = [Statistic::Median, Statistic::Deviation];

    fn are_all(square: &Square, expected: f64) -> bool {
        let known: Vec<f32> = square.values().iter().copied().filter(|value| !value.is_nan()).collect();
        known.len() == 6 && known.iter().all(|value| (f64::from(*value) - expected).abs() < 1e-5)
    }

    #[test]
    fn scatter_is_in_units_of_the_time() {
        // Two ranks on each of three hosts; from host a it takes longer.
        let names = ["a", "b", "c", "a", "b", "c"].map(str::to_owned);
        let seconds = |from: usize| if from.is_multiple_of(3) { 7.0 } else { 1.0 };
        let read = |run: &MemoryRun| read_with_times(run, &[false; 6]).unwrap();
        let (times, panels) = read(&run(&names, &BOTH, |from, _| (seconds(from), 0.1 * seconds(from))));
        let [folded] = &panels[..] else { panic!("{} panels", panels.len()) };
        assert_eq!((&folded.names, times.hosts()), (&times.names, 3));
        assert!((folded.level[0] - 0.1).abs() < 1e-6 && (times.level[0] - 1.0).abs() < 1e-6);
        // A tenth of the time everywhere: nobody scatters more.
        assert!(are_all(&folded.times[0], 0.0));
        assert!((times.from_to(0, 0, 1) - times.from_to(0, 1, 0) - 7f64.ln()).abs() < 1e-5);
        // What is steady enough is alike.
        let (_, panels) = read(&run(&names, &BOTH, |from, to| (seconds(from), 0.001 * (1 + to) as f64)));
        assert!(are_all(&panels[0].times[0], 0.0));
        let (times, panels) = read(&run(&names, &BOTH[..1], |from, _| (seconds(from), 0.1)));
        assert!(panels.is_empty() && times.hosts() == 3);
    }

    #[test]
    fn every_host_is_in_one_panel() {
        for hosts in [4, 128, 255, 256, 300, 1024] {
            let panels = panels(hosts);
            assert!(panels.iter().all(|panel| panel.len() >= HOSTS.min(hosts) && panel.len() < 2 * HOSTS));
            let mut all = panels.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..hosts));
        }
    }

    #[test]
    fn of_many_hosts_those_that_scatter_are_found_and_nobody_else() {
        let names: Vec<String> = (0..300).map(|host| format!("node{host:03}")).collect();
        let mut rng = generator(1);
        let mut draw = |from: usize, to: usize| {
            let way = if from / 10 == to / 10 { 1.0 } else { 1.5 };
            // Samples of ways between leaves scatter more, and a host that does sends so.
            let far = if from / 10 == to / 10 { 0.05 } else { 0.08 };
            let scatter = if from == 77 || from == 120 { 4.0 } else { 1.0 } * far * rng.random_range(0.7..1.4);
            let time = way * rng.random_range(0.98..1.02);
            (1e-6 * time, 1e-6 * time * scatter)
        };
        let run = run(&names, &BOTH, &mut draw);
        let groups = Some((0..300).map(|host| host / 10).collect());
        let Diagnosis { findings, .. } = diagnose(&[&run], &Options { confidence: 0.99, groups }).unwrap();
        let mut found: Vec<_> =
            findings.iter().map(|found| (found.hosts.concat(), found.symptom, found.direction.name())).collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        let expected = ["node077", "node120"].map(|name| (name.to_owned(), Symptom::Jitter, "send"));
        assert_eq!(found, expected);
        assert!(findings.iter().all(|found| found.cells.of == 149 && found.cells.slow > 134));
        assert!(findings.iter().all(|found| (found.ratio - 4.0).abs() < 0.2), "{findings:?}");
    }

    #[test]
    fn samples_that_scatter_on_a_slow_way_are_no_hosts() {
        let names: Vec<String> = (0..24).map(|host| format!("node{host:02}")).collect();
        let mut rng = generator(2);
        let mut draw = |from: usize, to: usize| {
            let crosses = from / 8 != 1 && to / 8 == 1;
            let time = if crosses { 3e-6 } else { 1e-6 } * rng.random_range(0.99..1.01);
            // Of the others a host scatters.
            let share = if crosses || from == 20 { 0.3 } else { 0.05 } * rng.random_range(0.7..1.4);
            (time, time * share)
        };
        let run = run(&names, &BOTH, &mut draw);
        let groups = Some((0..24).map(|host| host / 8).collect());
        let Diagnosis { findings, .. } = diagnose(&[&run], &Options { confidence: 0.99, groups }).unwrap();
        let found: Vec<_> = findings.iter().map(|found| (found.hosts.len(), &*found.hosts[0], found.symptom)).collect();
        assert_eq!(found, [(8, "node08", Symptom::Latency), (1, "node20", Symptom::Jitter)]);
    }
}
