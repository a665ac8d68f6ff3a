use super::*;
use crate::{
    measure::{Ending, Event, Outcome, measure},
    plan::{Config, Schedule, Sweep},
    record::{Header, Matrix, MemoryRun, Provenance, Retest, Run, Statistic},
};

fn run(machine: &Machine, mode: Mode, change: impl FnOnce(&mut Config)) -> (MemoryRun, f64) {
    let mut config = Config {
        modes: vec![mode],
        iterations: 20,
        sweep: Sweep::list(&[Bytes(0), Bytes(1 << 20)]).unwrap(),
        ..Config::default()
    };
    change(&mut config);
    let plan = Plan::all(&config, &machine.hosts).unwrap().remove(0);
    let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
    let mut fabric = Synthetic::new(machine.clone());
    let outcome = measure(&plan, &mut fabric, Some(&mut run), 0, &StopRequest::default(), &mut |_| {}).unwrap();
    assert_eq!(outcome, Outcome { ending: Ending::Complete, damaged: 0 });
    (run, fabric.simulated_seconds())
}

fn medians(machine: &Machine, length_index: usize) -> Matrix {
    run(machine, Mode::OneToOne, |_| {}).0.matrix(Statistic::Median, length_index).unwrap()
}

/// Largest and smallest ratio of the cells for which `hit` holds, and of the others, to a healthy machine's.
fn ratios(faulty: &Machine, length_index: usize, hit: impl Fn(Rank, Rank) -> bool) -> [(f64, f64); 2] {
    let healthy = Machine { faults: Vec::new(), ..faulty.clone() };
    let (faulty, healthy) = (medians(faulty, length_index), medians(&healthy, length_index));
    let mut ranges = [(f64::INFINITY, 0.0f64); 2];
    for i in 0..faulty.ranks() {
        for j in (0..faulty.ranks()).filter(|j| *j != i) {
            let ratio = faulty[(i, j)] / healthy[(i, j)];
            let range = &mut ranges[usize::from(!hit(i, j))];
            *range = (range.0.min(ratio), range.1.max(ratio));
        }
    }
    ranges
}

#[test]
fn a_slow_sender_slows_its_row_and_nothing_else() {
    let fault = Fault::Host { host: 3, direction: Direction::Send, symptom: Symptom::Bandwidth(0.25) };
    let [hit, rest] = ratios(&Machine::leaf_spine(8, 2, 1).with(fault), 1, |i, _| i == 3);
    assert!(hit.0 > 3.0 && hit.1 < 4.5, "{hit:?}");
    assert!(rest.0 > 0.95 && rest.1 < 1.05, "{rest:?}");
}

#[test]
fn latency_in_one_direction_shows_in_both_with_an_announcement() {
    let fault = Fault::Host { host: 3, direction: Direction::Send, symptom: Symptom::Latency(10e-6) };
    let [hit, rest] = ratios(&Machine::leaf_spine(8, 2, 1).with(fault), 0, |i, j| i == 3 || j == 3);
    assert!(hit.0 > 3.0, "{hit:?}");
    assert!(rest.1 < 1.05, "{rest:?}");
}

#[test]
fn a_slow_pair_is_one_cell_or_two() {
    for (direction, cells) in [(Direction::Send, vec![(1, 5)]), (Direction::Both, vec![(1, 5), (5, 1)])] {
        let fault = Fault::Link { hosts: (1, 5), direction, symptom: Symptom::Bandwidth(0.5) };
        let [hit, rest] = ratios(&Machine::leaf_spine(8, 2, 1).with(fault), 1, |i, j| cells.contains(&(i, j)));
        assert!(hit.0 > 1.8 && rest.1 < 1.05, "{hit:?} {rest:?}");
    }
}

#[test]
fn a_slow_leaf_slows_what_crosses_its_uplink() {
    let fault = Fault::Leaf { leaf: 1, direction: Direction::Both, symptom: Symptom::Bandwidth(0.5) };
    let crosses = |i: usize, j: usize| (i / 4 == 1) != (j / 4 == 1);
    let [hit, rest] = ratios(&Machine::leaf_spine(12, 3, 1).with(fault), 1, crosses);
    assert!(hit.0 > 1.8 && rest.1 < 1.05, "{hit:?} {rest:?}");
}

#[test]
fn jitter_shows_in_the_deviation_and_not_in_the_median() {
    let fault = Fault::Host { host: 2, direction: Direction::Both, symptom: Symptom::Jitter(10.0) };
    let mut machine = Machine::leaf_spine(8, 1, 1);
    machine.noise.tail_probability = 0.0;
    let (jittery, _) = run(&machine.clone().with(fault), Mode::OneToOne, |config| config.iterations = 200);
    let deviation = jittery.matrix(Statistic::Deviation, 1).unwrap();
    assert!(deviation[(2, 5)] > 5.0 * deviation[(1, 5)]);
    let [hit, _] = ratios(&machine.with(fault), 1, |i, j| i == 2 || j == 2);
    assert!(hit.1 < 1.2, "{hit:?}");
}

#[test]
fn a_dead_host_leaves_missing_cells_with_a_reason() {
    let fault = Fault::Host { host: 1, direction: Direction::Both, symptom: Symptom::Dead };
    let (run, _) = run(&Machine::leaf_spine(4, 1, 1).with(fault), Mode::OneToOne, |_| {});
    let missing: Vec<_> = (0..16).filter(|cell| run.cells(0)[*cell].state == State::TimedOut).collect();
    assert_eq!(missing, [1, 4, 6, 7, 9, 13]);
    assert!(run.cells(0)[1].summary.median.is_nan());
}

#[test]
fn the_same_cells_come_out_in_any_order() {
    let machine = Machine::leaf_spine(16, 2, 1);
    let (isolated, long) = run(&machine, Mode::OneToOne, |_| {});
    let (disjoint, short) = run(&machine, Mode::OneToOne, |config| config.schedule = Schedule::Disjoint);
    assert_eq!(isolated.cells(0), disjoint.cells(0));
    assert!(short * 6.0 < long, "{short} {long}");
}

#[test]
fn sharing_an_uplink_costs_bandwidth() {
    let machine = Machine { uplink_hosts: 1.0, ..Machine::leaf_spine(16, 2, 1) };
    let (shared, _) = run(&machine, Mode::OneToOne, |config| config.schedule = Schedule::Disjoint);
    let (alone, _) = run(&machine, Mode::OneToOne, |_| {});
    let ratio = |i, j| {
        let median = |run: &MemoryRun| run.matrix(Statistic::Median, 1).unwrap()[(i, j)];
        median(&shared) / median(&alone)
    };
    assert!((0..8).any(|i| ratio(i, i + 8) > 2.0));
    assert!((0..7).all(|i| ratio(i, i + 1) < 1.05));
}

#[test]
fn every_mode_fills_its_matrix() {
    let machine = Machine::leaf_spine(4, 2, 2);
    for mode in Mode::all() {
        let (run, _) = run(&machine, mode, |config| config.noise.processes = 2);
        let median = run.matrix(Statistic::Median, 1).unwrap();
        assert!(median.off_diagonal().all(|value| value > 0.0), "{mode}");
        assert_eq!(median.off_diagonal().count(), 56, "{mode}");
        let empty = run.matrix(Statistic::Median, 0).unwrap().off_diagonal().count();
        assert_eq!(empty, if mode.empty_messages_travel() { 56 } else { 0 }, "{mode}");
        assert_eq!(median[(3, 3)] > 0.0, mode.is_collective(), "{mode}");
    }
}

#[test]
fn a_wish_to_stop_gives_up_the_length_at_hand() {
    let machine = Machine::leaf_spine(4, 1, 1);
    let config = Config { iterations: 2, ..Config::default() };
    let plan = Plan::all(&config, &machine.hosts).unwrap().remove(0);
    let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
    let request = StopRequest::default();
    let mut fabric = Synthetic::new(machine).stopping_on(request.clone());
    let mut stop_after_three = |event: crate::measure::Event<'_>| {
        if matches!(event, crate::measure::Event::LengthFinished { index: 2, .. }) {
            request.signal_flag().store(true, std::sync::atomic::Ordering::Relaxed);
        }
    };
    let outcome = measure(&plan, &mut fabric, Some(&mut run), 0, &request, &mut stop_after_three).unwrap();
    assert_eq!(outcome.ending, Ending::Stopped(Stop::Signal));
    assert_eq!(run.lengths(), &plan.lengths()[..3]);
    assert!(!run.is_complete());
}

#[test]
fn a_second_look_tells_a_fault_from_contention_and_from_a_disturbance() {
    let fault = Fault::Link { hosts: (2, 9), direction: Direction::Send, symptom: Symptom::Bandwidth(0.25) };
    let machine = Machine { uplink_hosts: 1.0, ..Machine::leaf_spine(12, 2, 1) }.with(fault);
    let (run, _) = run(&machine, Mode::OneToOne, |config| {
        config.schedule = Schedule::Disjoint;
        config.retest = 66;
    });
    let retests = run.retests(1).unwrap();
    let slow = retests.iter().find(|retest| (retest.source, retest.destination) == (2, 9)).unwrap();
    let crosses = |retest: &&Retest| (retest.source < 6) != (retest.destination < 6) && retest.source != 2;
    let usual = retests.iter().filter(crosses).max_by(|a, b| a.first.total_cmp(&b.first)).unwrap();
    assert!(slow.alone > 3.0 * usual.alone, "a fault stays when the pair is alone: {slow:?} {usual:?}");
    assert!(usual.first > 1.5 * usual.alone, "contention does not: {usual:?}");
    let mut pairs_of_host = [0; 12];
    retests.iter().for_each(|retest| pairs_of_host[retest.source] += 1);
    assert!(pairs_of_host.iter().all(|pairs| *pairs <= 2), "{pairs_of_host:?}");
}

/// With a hundredth of the time at best 128 pairs at once: a much slower host would make every round wait for it.
#[test]
fn disjoint_pairs_need_a_hundredth_of_the_time_and_show_the_same_faults() {
    let slow_host = Fault::Host { host: 77, direction: Direction::Receive, symptom: Symptom::Bandwidth(0.8) };
    let slow_link = Fault::Link { hosts: (3, 200), direction: Direction::Both, symptom: Symptom::Bandwidth(0.85) };
    let mut healthy = Machine::leaf_spine(256, 16, 1);
    healthy.noise.tail_probability = 0.0;
    let machine = healthy.clone().with(slow_host).with(slow_link);
    let long_messages = |config: &mut Config| {
        config.iterations = 5;
        config.sweep = Sweep::list(&[Bytes(1 << 20), Bytes(4 << 20)]).unwrap();
        config.retest = 0;
    };
    let (usual, _) = run(&healthy, Mode::OneToOne, long_messages);
    let (isolated, long) = run(&machine, Mode::OneToOne, long_messages);
    let (disjoint, short) = run(&machine, Mode::OneToOne, |config| {
        long_messages(config);
        config.schedule = Schedule::Disjoint;
    });
    assert!(long / short >= 100.0, "{}", long / short);
    let cells = (0..256).flat_map(|i| (0..256).map(move |j| (i, j))).filter(|(i, j)| i != j);
    for cell in cells {
        let planted = cell.1 == 77 || cell == (3, 200) || cell == (200, 3);
        for run in [&isolated, &disjoint] {
            let median = |run: &MemoryRun| run.cells(1)[cell.0 * 256 + cell.1].summary.median;
            let slow = median(run) / median(&usual) > 1.1;
            assert_eq!(slow, planted, "cell {cell:?}");
        }
    }
}

#[test]
fn an_isolated_run_of_4096_hosts_begins_at_once_and_stops_behind_the_part_at_hand() {
    let machine = Machine::leaf_spine(4096, 64, 1);
    let sweep = Sweep::list(&[Bytes(0)]).unwrap();
    let config = Config {
        schedule: Schedule::Isolated,
        sample_rounds: Some(8),
        iterations: 5,
        retest: 0,
        sweep,
        ..Config::default()
    };
    let plan = Plan { mode: Mode::OneToOne, config, hosts: machine.hosts.clone() };
    // A rank finds its own turns without a walk over those of all others.
    let all = Plan { config: Config { sample_rounds: None, ..plan.config.clone() }, ..plan.clone() };
    assert_eq!((all.rounds(0).len(), all.rounds(0).concerning(17).count()), (4096 * 4095 / 2, 4095));
    let request = StopRequest::default();
    let mut fabric = Synthetic::new(machine).stopping_on(request.clone());
    let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
    let mut parts = Vec::new();
    let mut note = |event: Event<'_>| {
        if let Event::Part { rounds, of, .. } = event {
            parts.push((rounds, of));
            request.signal_flag().store(true, std::sync::atomic::Ordering::Relaxed);
        }
    };
    let outcome = measure(&plan, &mut fabric, Some(&mut run), 0, &request, &mut note).unwrap();
    assert_eq!(outcome.ending, Ending::Stopped(Stop::Signal));
    // The signal came behind the first part; of the next one no round was carried out.
    assert_eq!(parts, [(1, 8 * 2048)]);
}

#[test]
fn a_machine_that_slows_down_is_noticed_at_the_end() {
    for (schedule, drift) in [(Schedule::Isolated, 1.5), (Schedule::Disjoint, 0.8), (Schedule::Disjoint, 1.0)] {
        let machine = Machine { drift, ..Machine::leaf_spine(8, 2, 1) };
        for mode in [Mode::OneToOne, Mode::Bcast, Mode::AllToAll] {
            let (run, _) = run(&machine, mode, |config| {
                config.schedule = schedule;
                config.sweep = Sweep::list(&[Bytes(1), Bytes(64), Bytes(4096)]).unwrap();
            });
            let found = run.drift().unwrap().unwrap();
            assert!((found / drift - 1.0).abs() < 0.04, "{schedule} {mode} {drift}: {found}");
        }
    }
    let single = run(&Machine::leaf_spine(4, 1, 1), Mode::OneToOne, |config| {
        config.sweep = Sweep::list(&[Bytes(0)]).unwrap();
    });
    assert_eq!(single.0.drift().unwrap(), None);
}
