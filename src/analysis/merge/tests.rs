//! Runs of the synthetic machine, cut apart and joined again.

use proptest::prelude::*;

use super::*;
use crate::{
    measure::{
        StopRequest, measure,
        synthetic::{Machine, Synthetic},
    },
    plan::{Config, Mode, Plan, Schedule, Sweep},
    record::{MERGED, MIXED, MemoryRun, Provenance, Sink},
};

/// A run of ranks on hosts of these names, whose values tell the hosts of their pair and the places on them.
fn run_on(names: &[&str], change: impl FnOnce(&mut Config)) -> MemoryRun {
    let sweep = Sweep::list(&[0, 64, 4096].map(Bytes)).unwrap();
    let mut config = Config { iterations: 4, sweep, ..Config::default() };
    change(&mut config);
    let plan = Plan { mode: config.modes[0], config, hosts: Hosts::new(names.iter().copied()) };
    let provenance = Provenance { created: format!("on {}", names.join("+")), ..Provenance::default() };
    let mut run = MemoryRun::new(Header::of(&plan, provenance));
    for index in 0..plan.lengths().len() {
        let label = |rank: Rank| (plan.hosts.name_of(rank), plan.hosts.place_of(rank));
        let cells = (0..plan.ranks().pow(2)).map(|k| (k / plan.ranks(), k % plan.ranks()));
        let cells = cells.map(|(i, j)| if i == j { Cell::zero() } else { cell_of(index, label(i), label(j)) });
        run.push(plan.lengths()[index], cells.collect());
    }
    run
}

/// The cell of a pair, the same in every run.
fn cell_of(index: usize, from: (&str, usize), to: (&str, usize)) -> Cell {
    let number = |(name, place): (&str, usize)| (name.bytes().map(f64::from).sum::<f64>() + 0.25 * place as f64) * 1e-6;
    let base = number(from) + 3.0 * number(to) + index as f64;
    Cell::measured(Summary::of(&mut [base, base * 1.5, base, base * 1.25]), 4, State::Measured)
}

fn merged<'a>(parts: &[(&'a str, &'a MemoryRun)]) -> Result<Merged<'a>, MergeError> {
    let parts: Vec<_> = parts.iter().map(|(name, run)| Part { name, run: *run }).collect();
    Merged::new(&parts, "merge", "now")
}

fn cells(run: &dyn Run, index: usize) -> Vec<Cell> {
    let mut cells = Vec::new();
    run.read_cells(index, 0..run.ranks(), &mut cells).unwrap();
    cells
}

#[test]
fn cells_are_joined_by_the_names_of_their_hosts() {
    let (a, b) = (run_on(&["n2", "n1"], |_| {}), run_on(&["n3", "n2"], |_| {}));
    let both = merged(&[("a", &a), ("b", &b)]).unwrap();
    assert_eq!(both.header().hosts.names(), ["n2", "n1", "n3"], "in the order in which they appear");
    let found = cells(&both, 1);
    assert_eq!(found[1], cell_of(1, ("n2", 0), ("n1", 0)));
    assert_eq!(found[2 * 3], cell_of(1, ("n3", 0), ("n2", 0)));
    assert_eq!(found[3 + 2].state, State::NotScheduled, "no run has n1 and n3");
    assert!(is_nothing(&found[3 + 2]) && found[4] == Cell::zero());
}

fn is_nothing(cell: &Cell) -> bool {
    weigh::is_missing(cell) && cell.samples == 0
}

#[test]
fn ranks_of_a_host_are_joined_by_their_places() {
    let (a, b) = (run_on(&["x", "y", "x"], |_| {}), run_on(&["z", "y", "y", "y"], |_| {}));
    let both = merged(&[("a", &a), ("b", &b)]).unwrap();
    let hosts = &both.header().hosts;
    assert_eq!(hosts.name_of_every_rank().collect::<Vec<_>>(), ["x", "x", "y", "y", "y", "z"]);
    let found = cells(&both, 0);
    assert_eq!(found[6 + 2], cell_of(0, ("x", 1), ("y", 0)));
    assert_eq!(found[3 * 6 + 5], cell_of(0, ("y", 1), ("z", 0)));
    assert!(is_nothing(&found[6 + 3]), "x and the second rank of y never met");
    assert_eq!(both.header().item("hosts"), Some("x,x,y,y,y,z"));
}

/// The same run of which only the statistics of times are known.
fn without_counts(run: &MemoryRun) -> MemoryRun {
    let mut times = MemoryRun::with_statistics(run.header().clone(), Statistic::OF_TIMES.to_vec());
    (0..run.lengths().len()).for_each(|index| times.push(run.lengths()[index], run.cells(index).to_vec()));
    times
}

#[test]
fn samples_of_a_pair_that_several_runs_measured_add_up() {
    let a = run_on(&["x", "y"], |_| {});
    let b = run_on(&["y", "x", "z"], |config| config.iterations = 12);
    let both = merged(&[("a", &a), ("b", &b)]).unwrap();
    assert!(both.statistics().contains(&Statistic::MeasurementsAmount));
    assert_eq!(both.header().iterations, 16);
    let cell = cells(&both, 0)[1];
    assert_eq!(cell.samples, 8, "both runs know the number of every cell, whatever was asked for");
    assert_eq!(cell.summary.average, cell_of(0, ("x", 0), ("y", 0)).summary.average);
    let b = without_counts(&b);
    let counted = merged(&[("a", &a), ("b", &b)]).unwrap();
    let samples: Vec<_> = cells(&counted, 0)[..3].iter().map(|cell| cell.samples).collect();
    assert_eq!(samples, [0, 16, 12], "else it is what was asked for, but for the diagonal, which is no measurement");
}

#[test]
fn a_cell_that_failed_in_one_run_is_that_of_the_other() {
    let (a, b) = (run_on(&["x", "y"], |_| {}), run_on(&["y", "x", "z"], |_| {}));
    let mut part = MemoryRun::new(a.header().clone());
    let mut lost = a.cells(0).to_vec();
    lost[1] = Cell::missing(State::Failed);
    part.push(a.lengths()[0], lost);
    assert_eq!(cells(&merged(&[("part", &part), ("b", &b)]).unwrap(), 0)[1], cell_of(0, ("x", 0), ("y", 0)));
}

#[test]
fn a_number_of_samples_is_kept_where_cells_may_differ_in_it() {
    let times = |names: &[&str], iterations| without_counts(&run_on(names, |config| config.iterations = iterations));
    let keeps = |a: &MemoryRun, b: &MemoryRun| {
        merged(&[("a", a), ("b", b)]).unwrap().statistics().contains(&Statistic::MeasurementsAmount)
    };
    let ab = times(&["a", "b"], 4);
    assert!(!keeps(&ab, &times(&["c", "d"], 4)), "all cells have the same number");
    assert!(!keeps(&ab, &times(&["b", "c"], 4)), "no pair is in both");
    assert!(keeps(&ab, &times(&["c", "b", "a"], 4)));
    assert!(keeps(&ab, &times(&["c", "d"], 5)));
    assert_eq!(merged(&[("a", &ab), ("b", &times(&["b", "c"], 4))]).unwrap().header().iterations, 4);
}

#[test]
fn what_must_agree_is_refused_by_name() {
    let base = run_on(&["a", "b", "c"], |_| {});
    let error = |change: fn(&mut Config)| {
        let other = run_on(&["c", "d", "e"], change);
        merged(&[("first", &base), ("second", &other)]).err().unwrap().to_string()
    };
    assert_eq!(
        error(|config| config.modes = vec![Mode::Put]),
        "`second` cannot be merged with `first`: its mode is `put`, not `one_to_one`"
    );
    assert!(
        error(|config| config.timing = crate::plan::Timing::Receive).contains("timing is `receive`, not `transfer`")
    );
    let longer = error(|config| config.sweep = Sweep::list(&[0, 64, 4096, 8192].map(Bytes)).unwrap());
    assert!(longer.contains("sweep (number of lengths) is `4`, not `3`"), "{longer}");
    let other = error(|config| config.sweep = Sweep::list(&[0, 65, 4096].map(Bytes)).unwrap());
    assert!(other.contains("sweep (length number 2) is `65`, not `64`"), "{other}");
    let noisy = |messages: u32| {
        run_on(&["a", "b", "c"], |config| {
            config.modes = vec![Mode::Noise];
            config.noise.processes = 1;
            config.noise.messages = messages;
        })
    };
    let noise = merged(&[("first", &noisy(1)), ("second", &noisy(2))]).err().unwrap().to_string();
    assert!(noise.contains("noise is `1 rank, 2 messages of 0 bytes`, not `1 rank, 1 message of"), "{noise}");
    assert_eq!(merged(&[]).err(), Some(MergeError::Nothing));
}

#[test]
fn a_run_and_its_copy_are_refused() {
    let (run, other) = (run_on(&["a", "b"], |_| {}), run_on(&["c", "b"], |_| {}));
    let error = merged(&[("one", &other), ("two", &run), ("three", &run.clone())]).err().unwrap();
    assert_eq!(error, MergeError::SameRun { name: "three".to_owned(), first: "two".to_owned() });
}

#[test]
fn items_that_agree_are_kept_and_others_are_mixed() {
    let a = run_on(&["a", "b", "c"], |config| {
        config.warmup = 7;
        config.retest = 1;
    });
    let b = run_on(&["c", "d", "e"], |config| {
        config.warmup = 7;
        config.schedule = Schedule::Disjoint;
        config.retest = 2;
        config.noise.processes = 3;
    });
    let both = merged(&[("a", &a), ("b", &b)]).unwrap();
    let header = both.header();
    let item = |name| header.item(name).unwrap();
    assert_eq!((item("warmup"), item("schedule"), item("noise_processes"), item("retest")), ("7", MIXED, MIXED, "3"));
    assert_eq!(header.noise.processes, 0, "the mode has no noise");
    assert_eq!(item(MERGED), "on a+b+c on c+d+e");
    assert_eq!((header.provenance.command.as_str(), header.provenance.created.as_str()), ("merge", "now"));
    let c = run_on(&["x", "y"], |_| {});
    assert_eq!(
        Merged::new(&[Part { name: "ab", run: &both }, Part { name: "c", run: &c }], "", "")
            .unwrap()
            .header()
            .item(MERGED),
        Some("on a+b+c on c+d+e on x+y")
    );
}

#[test]
fn texts_about_where_parts_come_from_are_listed_once() {
    let with = |names: &[&str], job: &str| {
        let run = run_on(names, |_| {});
        let mut header = run.header().clone();
        header.provenance.slurm_job_id = job.to_owned();
        header.provenance.mpi_library = "Some MPI".to_owned();
        let mut copy = MemoryRun::new(header);
        copy.push(run.lengths()[0], run.cells(0).to_vec());
        copy
    };
    let runs = [with(&["a", "b"], "12"), with(&["c", "d"], "13"), with(&["e", "f"], "")];
    let all = merged(&[("a", &runs[0]), ("b", &runs[1]), ("c", &runs[2])]).unwrap();
    let Provenance { mpi_library, slurm_job_id, .. } = &all.header().provenance;
    assert_eq!((mpi_library.as_str(), slurm_job_id.as_str()), ("Some MPI", "12; 13"));
}

#[test]
fn unfinished_runs_are_merged_as_far_as_all_of_them_are() {
    let (a, whole) = (run_on(&["a", "b"], |_| {}), run_on(&["b", "c"], |_| {}));
    let mut part = MemoryRun::new(whole.header().clone());
    let none = merged(&[("a", &a), ("part", &part)]).err();
    assert_eq!(none, Some(MergeError::NothingFinished { name: "part".to_owned() }));
    (0..2).for_each(|index| part.push(whole.lengths()[index], whole.cells(index).to_vec()));
    let both = merged(&[("a", &a), ("part", &part)]).unwrap();
    assert_eq!((both.lengths(), both.is_complete()), (&a.lengths()[..2], false));
    assert_eq!(both.notices(), ["merged up to 64 bytes (2 of 3 message lengths): `part` has no more"]);
}

#[test]
fn statistics_that_a_run_lacks_are_left_out_and_said() {
    let run = run_on(&["a", "b"], |_| {});
    let with = |statistics: &[Statistic]| {
        let mut part = MemoryRun::with_statistics(run_on(&["b", "a"], |_| {}).header().clone(), statistics.to_vec());
        (0..3).for_each(|index| part.push(run.lengths()[index], run.cells(index).to_vec()));
        part
    };
    let part = with(&[Statistic::Median, Statistic::Deviation]);
    let both = merged(&[("a", &run), ("b", &part)]).unwrap();
    assert_eq!(both.statistics(), [Statistic::Median, Statistic::MeasurementsAmount]);
    let notices = both.notices().join("\n");
    assert!(notices.contains("the max is left out: `b` has none"), "{notices}");
    assert!(notices.contains("the deviation is left out: it cannot be joined without the average"), "{notices}");
    let none = with(&[Statistic::MeasurementsAmount]);
    assert_eq!(merged(&[("a", &run), ("b", &none)]).err(), Some(MergeError::NoStatistics));
}

#[test]
fn retests_find_their_ranks_again() {
    let disjoint = |names: &[&str]| {
        run_on(names, |config| {
            config.schedule = Schedule::Disjoint;
            config.retest = 1;
        })
    };
    let (mut a, mut b) = (disjoint(&["x", "y"]), disjoint(&["z", "y", "x"]));
    let retest = |source, destination, first, alone| Retest { source, destination, first, second: f64::NAN, alone };
    a.write_retests(1, &[retest(0, 1, 2.0, f64::NAN), retest(1, 0, 7.0, 7.0)]).unwrap();
    b.write_retests(1, &[retest(2, 1, 4.0, 3.0), retest(1, 2, 7.0, 7.0)]).unwrap();
    let both = merged(&[("a", &a), ("b", &b)]).unwrap();
    let found = both.retests(1).unwrap();
    let values: Vec<_> =
        found.iter().map(|retest| (retest.source, retest.destination, retest.first, retest.alone)).collect();
    assert_eq!(values, [(0, 1, 3.0, 3.0), (1, 0, 7.0, 7.0)]);
    assert!(found.iter().all(|retest| retest.second.is_nan()));
    assert!(both.retests(0).unwrap().is_empty());
    assert_eq!(both.header().item("retest"), Some("2"));
}

/// A run of a synthetic machine with `hosts` hosts of `ranks` ranks.
fn synthetic(hosts: usize, ranks: usize, mode: Mode) -> MemoryRun {
    let machine = Machine::leaf_spine(hosts, 2, ranks);
    let sweep = Sweep::list(&[0, 4096].map(Bytes)).unwrap();
    let config = Config { iterations: 3, sweep, modes: vec![mode], ..Config::default() };
    let plan = Plan::all(&config, &machine.hosts).unwrap().remove(0);
    let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
    measure(&plan, &mut Synthetic::new(machine), Some(&mut run), 0, &StopRequest::default(), &mut |_| {}).unwrap();
    run
}

/// What a run over some of its ranks, in this order, would have been.
fn part_of(whole: &MemoryRun, ranks: &[Rank]) -> MemoryRun {
    let hosts = Hosts::new(ranks.iter().map(|rank| whole.header().hosts.name_of(*rank)));
    let mut part = MemoryRun::new(Header { hosts, ..whole.header().clone() });
    for (index, length) in whole.lengths().iter().enumerate() {
        let cell = |i: &Rank, j: &Rank| whole.cells(index)[i * whole.ranks() + j];
        part.push(*length, ranks.iter().flat_map(|i| ranks.iter().map(move |j| cell(i, j))).collect());
    }
    part
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn parts_over_some_hosts_give_the_cells_back(
        per_host in 1usize..3,
        mode in prop::sample::select(vec![Mode::OneToOne, Mode::AllToAll]),
        parts in prop::collection::vec(prop::sample::subsequence((0..6usize).collect::<Vec<_>>(), 1..6).prop_shuffle(), 1..4),
        rows in 1usize..5,
    ) {
        let whole = synthetic(6, per_host, mode);
        let hosts = &whole.header().hosts;
        let ranks_of = |part: &Vec<usize>| part.iter().flat_map(|host| hosts.ranks_of(*host).to_vec()).collect::<Vec<_>>();
        let runs: Vec<_> = parts.iter().map(|part| part_of(&whole, &ranks_of(part))).collect();
        let named: Vec<_> = runs.iter().map(|run| Part { name: "part", run }).collect();
        let merged = Merged::new(&named, "", "").unwrap();
        let old = |rank: Rank| {
            let all = &merged.header().hosts;
            let host = hosts.names().iter().position(|name| name == all.name_of(rank)).unwrap();
            hosts.ranks_of(host)[all.place_of(rank)]
        };
        for index in 0..2 {
            for first in (0..merged.ranks()).step_by(rows) {
                let mut found = Vec::new();
                merged.read_cells(index, first..(first + rows).min(merged.ranks()), &mut found).unwrap();
                for (k, cell) in found.iter().enumerate() {
                    let (i, j) = (old(first + k / merged.ranks()), old(k % merged.ranks()));
                    let (source, destination) = (hosts.host_of(i), hosts.host_of(j));
                    let covering = parts.iter().filter(|part| part.contains(&source) && part.contains(&destination));
                    let expected = whole.cells(index)[i * whole.ranks() + j];
                    let times = covering.count() as u32;
                    prop_assert_eq!(cell.samples, times * expected.samples, "{} times ({}, {})", times, i, j);
                    match times {
                        0 => prop_assert!(is_nothing(cell) && cell.state == State::NotScheduled),
                        _ => {
                            prop_assert_eq!(cell.summary.average, expected.summary.average);
                            prop_assert_eq!(cell.summary.median, expected.summary.median);
                            prop_assert_eq!((cell.summary.min, cell.summary.max), (expected.summary.min, expected.summary.max));
                            let (deviation, other) = (cell.summary.deviation, expected.summary.deviation);
                            prop_assert!((deviation - other).abs() <= 1e-12 * other);
                            prop_assert_eq!(cell.state, expected.state);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn runs_that_left_most_pairs_out_are_merged_into_one_that_does() {
    let machine = Machine::leaf_spine(24, 4, 1);
    let sampled = |seed| {
        let sweep = Sweep::list(&[Bytes(64)]).unwrap();
        let config = Config { schedule: Schedule::Disjoint, sample_rounds: Some(3), seed, sweep, ..Config::default() };
        let plan = Plan { mode: Mode::OneToOne, config, hosts: machine.hosts.clone() };
        let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
        let mut fabric = Synthetic::new(machine.clone());
        measure(&plan, &mut fabric, Some(&mut run), 0, &StopRequest::default(), &mut |_| {}).unwrap();
        run
    };
    let (a, b) = (sampled(1), sampled(2));
    let both = merged(&[("a", &a), ("b", &b)]).unwrap();
    let partners = both.partners().expect("most pairs are still left out");
    assert!((4..=6).contains(&partners.lines()), "{}", partners.lines());
    let found = cells(&both, 0);
    for (source, destination) in (0..24).flat_map(|i| (0..24).map(move |j| (i, j))).filter(|(i, j)| i != j) {
        let is_measured = found[24 * source + destination].state != State::NotScheduled;
        assert_eq!(partners.line_of(source, destination).is_some(), is_measured);
    }
    let whole = run_on(&["n1", "n2"], |config| config.schedule = Schedule::Disjoint);
    assert!(merged(&[("whole", &whole)]).unwrap().partners().is_none());
}
