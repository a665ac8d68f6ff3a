//! Runs that left most pairs out: what is stored, what it takes, and that readers see a matrix all the same.

use std::path::PathBuf;

use netcdf::AttributeValue;

use super::*;
use crate::{
    measure::{
        Outcome, StopRequest, measure,
        synthetic::{Direction, Fault, Machine, Symptom, Synthetic},
    },
    plan::{Config, Estimate, Plan, Schedule, Sweep},
    record::Sink,
    store,
};

fn plan(mode: Mode, schedule: Schedule, machine: &Machine, lines: usize) -> Plan {
    let config = Config {
        schedule,
        sample_rounds: Some(lines),
        sweep: Sweep::list(&[Bytes(0), Bytes(4096), Bytes(65536)]).unwrap(),
        iterations: 5,
        ..Config::default()
    };
    Plan { mode, config, hosts: machine.hosts.clone() }
}

/// What a synthetic machine makes of a plan from a length on, and the sink that it went into.
fn fill(plan: &Plan, machine: &Machine, sink: &mut dyn Sink, first: usize) {
    let mut fabric = Synthetic::new(machine.clone());
    let outcome = measure(plan, &mut fabric, Some(sink), first, &StopRequest::default(), &mut |_| {}).unwrap();
    assert!(matches!(outcome, Outcome { damaged: 0, .. }));
}

fn machine() -> Machine {
    let dead = Fault::Link { hosts: (3, 4), direction: Direction::Both, symptom: Symptom::Dead };
    Machine::leaf_spine(12, 4, 2).with(dead)
}

#[test]
fn a_sampled_set_reads_as_the_matrix_that_it_stands_for() {
    let machine = machine();
    for (mode, schedule) in [
        (Mode::OneToOne, Schedule::Disjoint),
        (Mode::Get, Schedule::Disjoint),
        (Mode::AsyncOneToOne, Schedule::Isolated),
    ] {
        let plan = plan(mode, schedule, &machine, 5);
        let header = Header::of(&plan, Provenance::default());
        let mut run = MemoryRun::new(header.clone());
        fill(&plan, &machine, &mut run, 0);
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("run");
        let partners = plan.partners().unwrap();
        fill(&plan, &machine, &mut store::create_sampled(&prefix, &header, &partners, false, true).unwrap(), 0);
        let set = store::open(&prefix).unwrap();
        assert_eq!(set.partners(), Some(&partners));
        assert_eq!(everything(&set), everything(&run), "{mode}");
        let mut states = vec![State::Failed; 24 * 24];
        set.read_states(1, 0..24, &mut states).unwrap();
        let count = |state| states.iter().filter(|found| **found == state).count();
        assert_eq!(count(State::NotScheduled), 24 * (24 - 1 - 5), "{mode}");

        let copy = folder.path().join("copy");
        store::write_run(&set, &copy, false).unwrap();
        assert_eq!(everything(&store::open(&copy).unwrap()), everything(&run), "{mode}");
        let size = |prefix: &PathBuf| std::fs::metadata(format!("{}_median.nc", prefix.display())).unwrap().len();
        assert_eq!(size(&copy), size(&prefix), "a copy is as small");
        let mut text = Vec::new();
        store::csv::write(&set, &mut text).unwrap();
        let again = store::csv::read(&text[..], Path::new("run.csv")).unwrap();
        let back = folder.path().join("back");
        store::write_run(&again, &back, false).unwrap();
        let back_again = store::open(&back).unwrap();
        let bits = |run: &dyn Run| {
            run.matrix(Statistic::Median, 1).unwrap().values().iter().map(|value| value.to_bits()).collect::<Vec<_>>()
        };
        assert!(bits(&back_again) == bits(&run), "{mode}");
        assert_eq!(size(&back), size(&prefix), "what comes back from a text is as small");
    }
}

#[test]
fn a_sampled_run_is_resumed_and_ends_as_one_that_was_not_interrupted() {
    let machine = machine();
    let plan = plan(Mode::OneToOne, Schedule::Disjoint, &machine, 5);
    let (header, partners) = (Header::of(&plan, Provenance::default()), plan.partners().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let [whole, parts] = ["whole", "parts"].map(|name| folder.path().join(name));
    fill(&plan, &machine, &mut store::create_sampled(&whole, &header, &partners, false, false).unwrap(), 0);
    let first =
        Plan { config: Config { sweep: Sweep::list(&[Bytes(0)]).unwrap(), ..plan.config.clone() }, ..plan.clone() };
    let mut writer = store::create_sampled(&parts, &header, &partners, false, false).unwrap();
    fill(&first, &machine, &mut writer, 0);
    drop(writer);
    let (mut writer, next) = store::resume(&parts, &header).unwrap();
    assert_eq!(next, 1);
    fill(&plan, &machine, &mut writer, next);
    // Beginning and end are compared only in a run that has measured both.
    store::resume(&whole, &header).unwrap().0.write_drift(f64::NAN).unwrap();
    for statistic in Statistic::OF_TIMES {
        let bytes = |prefix: &PathBuf| std::fs::read(format!("{}_{}.nc", prefix.display(), statistic.name())).unwrap();
        assert!(bytes(&whole) == bytes(&parts), "{statistic}");
    }
}

#[test]
fn eight_partners_of_twenty_thousand_hosts_take_less_than_20_mb_a_length() {
    let hosts = Hosts::new((0..20_000).map(|host| format!("node{host:05}")));
    let config = Config {
        schedule: Schedule::Disjoint,
        sample_rounds: Some(8),
        sweep: Sweep::list(&[Bytes(0)]).unwrap(),
        ..Config::default()
    };
    let plan = Plan { mode: Mode::OneToOne, config, hosts };
    let promised = Estimate::of(&plan).disk.0;
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    let header = Header::of(&plan, Provenance::default());
    let mut writer = store::create_sampled(&prefix, &header, &plan.partners().unwrap(), false, false).unwrap();
    for line in 0..8 {
        writer.write_rows(0, line, &vec![cell(0, line); 20_000]).unwrap();
    }
    writer.finish_length(0).unwrap();
    let files = std::fs::read_dir(folder.path()).unwrap();
    let size: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(size < 20_000_000, "{size} bytes");
    assert!(promised.abs_diff(size) < size / 20, "{promised} bytes promised, {size} written");
}

#[test]
fn what_the_cells_are_is_in_the_file() {
    let machine = machine();
    let plan = plan(Mode::OneToOne, Schedule::Disjoint, &machine, 5);
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    let (header, partners) = (Header::of(&plan, Provenance::default()), plan.partners().unwrap());
    fill(&plan, &machine, &mut store::create_sampled(&prefix, &header, &partners, false, false).unwrap(), 0);
    // As a script of a person does it that has only the file.
    let file = netcdf::open(folder.path().join("run_median.nc")).unwrap();
    let (data, partner) = (file.variable("data").unwrap(), file.variable("partner").unwrap());
    for (variable, dimensions) in [(&data, ["n", "k", "x"].as_slice()), (&partner, &["k", "x"])] {
        let found: Vec<_> = variable.dimensions().iter().map(netcdf::Dimension::name).collect();
        assert_eq!(found, dimensions);
        let text = variable.attribute_value("description").unwrap().unwrap();
        assert!(matches!(text, AttributeValue::Str(text) if text.contains("partner[k][x]")));
    }
    let matrix = store::open(&prefix).unwrap().matrix(Statistic::Median, 2).unwrap();
    for (k, x) in (0..5).flat_map(|k| (0..24).map(move |x| (k, x))) {
        let other: i32 = partner.get_value([k, x]).unwrap();
        let value: f64 = data.get_value([2, k, x]).unwrap();
        assert_eq!(matrix[(x, other as usize)].to_bits(), value.to_bits());
    }
}

#[test]
fn a_table_of_partners_that_makes_no_sense_is_refused() {
    let machine = machine();
    let plan = plan(Mode::OneToOne, Schedule::Disjoint, &machine, 5);
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    let (header, partners) = (Header::of(&plan, Provenance::default()), plan.partners().unwrap());
    store::create_sampled(&prefix, &header, &partners, false, false).unwrap();
    let mut file = netcdf::append(folder.path().join("run_median.nc")).unwrap();
    file.variable_mut("partner").unwrap().put_value(24, [1, 1]).unwrap();
    file.close().unwrap();
    let error = store::open(&folder.path().join("run_median.nc")).unwrap_err().to_string();
    assert!(error.contains("`partner`"), "{error}");
    file = netcdf::append(folder.path().join("run_median.nc")).unwrap();
    file.variable_mut("partner").unwrap().put_value(-1, [1, 1]).unwrap();
    file.close().unwrap();
    let error = store::open(&prefix).unwrap_err().to_string();
    assert!(error.contains("other pairs"), "{error}");
}
