//! Any run survives store and reload.

use proptest::prelude::*;

use super::*;
use crate::{
    plan::{Config, Plan, Sweep},
    record::{Extra, Moments, Retest, Sink},
    store,
    units::check_host_name,
};

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![8 => 1e-9f64..10.0, 1 => Just(f64::NAN), 1 => Just(0.0), 1 => -4e9f64..4e9]
}

fn any_cell() -> impl Strategy<Value = Cell> {
    let states: Vec<_> = State::all().collect();
    let times = [(); 8].map(|()| value());
    (times, any::<u32>(), prop::sample::select(states)).prop_map(
        |([min, average, median, max, deviation, p90, p99, first], samples, state)| Cell {
            summary: Summary { min, average, median, max, deviation },
            samples,
            state,
            damaged: 0,
            clock_bound: None,
            extra: Extra { p90, p99, first },
        },
    )
}

fn any_header() -> impl Strategy<Value = Header> {
    let modes: Vec<_> = Mode::all().collect();
    let lengths = prop_oneof![
        4 => prop::collection::btree_set(0u64..100_000, 1..6),
        1 => prop::collection::btree_set(0u64..1 << 62, 1..6),
    ];
    let any_name = "\\PC{1,60}".prop_filter("a name that a host may have", |name| check_host_name(name).is_ok());
    let hosts = prop::collection::vec(prop_oneof!["[a-z]{1,9}[0-9]{1,3}".boxed(), any_name.boxed()], 1..5);
    let items = prop::collection::btree_map("[a-z]{3}_x[a-z0-9_]{0,9}", "[^\0]{0,40}", 0..5);
    let optional = prop::option::of(prop_oneof!["p90", "p90 p99 first", "first"]);
    let plan =
        (items, prop::option::of(prop_oneof!["[0-9]", "mixed"]), optional).prop_map(|(mut plan, retest, optional)| {
            plan.extend(retest.map(|number| ("retest".to_owned(), number)));
            plan.extend(optional.map(|names| ("optional_statistics".to_owned(), names)));
            plan
        });
    let numbers = (any::<u32>(), any::<u32>(), any::<u32>(), any::<[u32; 3]>());
    (prop::sample::select(modes), hosts, lengths, plan, numbers, prop::collection::vec("[^\0]{0,30}", 7)).prop_map(
        |(mode, hosts, lengths, plan, (iterations, messages, processes, sweep), texts)| Header {
            mode,
            hosts: Hosts::new(hosts),
            planned: lengths.into_iter().map(Bytes).collect(),
            begin_end_step: (Bytes(sweep[0].into()), Bytes(sweep[1].into()), Bytes(sweep[2].into())),
            iterations,
            noise: Noise { length: Bytes(sweep[0].into()), messages, processes: processes as usize },
            plan,
            provenance: Provenance {
                command: texts[0].clone(),
                program_version: texts[1].clone(),
                mpi_library: texts[2].clone(),
                created: texts[3].clone(),
                slurm_job_id: texts[4].clone(),
                slurm_job_nodelist: texts[5].clone(),
                clock_step: texts[6].clone(),
            },
        },
    )
}

fn any_retests(header: &Header) -> impl Strategy<Value = Vec<Retest>> + use<> {
    let ranks = header.hosts.ranks();
    let retest = (0..ranks, 0..ranks, [value(), value(), value()]);
    let retest = retest.prop_map(|(source, destination, [first, second, alone])| Retest {
        source,
        destination,
        first,
        second,
        alone,
    });
    prop::collection::vec(retest, 0..=store::retests::places(header))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn retests_survive_store_and_reload(run in any_run().prop_flat_map(with_retests)) {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("run");
        store::write_run(&run, &prefix, false).unwrap();
        prop_assert_eq!(everything(&store::open(&prefix).unwrap()), everything(&run));
        let places = store::retests::places(run.header());
        let median = netcdf::open(folder.path().join("run_median.nc")).unwrap();
        prop_assert_eq!(median.dimension_len("retests"), (places > 0).then_some(places));
        prop_assert_eq!(folder.path().join("run_retest.csv").exists(), places > 0);
    }
}

/// The run, with retests at every length as far as there are places for them.
fn with_retests(run: MemoryRun) -> impl Strategy<Value = MemoryRun> {
    let retests: Vec<_> = run.lengths().iter().map(|_| any_retests(run.header())).collect();
    retests.prop_map(move |retests| {
        let mut run = run.clone();
        for (index, retests) in retests.iter().enumerate() {
            run.write_retests(index, retests).unwrap();
        }
        run
    })
}

/// Runs of up to four ranks, finished or not, without retests, which text does not have.
pub(super) fn any_run() -> impl Strategy<Value = MemoryRun> {
    any_header().prop_flat_map(|header| {
        let cells = header.hosts.ranks().pow(2);
        let lengths = 0..=header.planned.len();
        lengths.prop_flat_map(move |count| {
            let header = header.clone();
            prop::collection::vec(prop::collection::vec(any_cell(), cells), count).prop_map(move |matrices| {
                let mut run = MemoryRun::new(header.clone());
                for (length, cells) in header.planned.iter().zip(matrices) {
                    run.push(*length, cells);
                }
                run
            })
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_run_survives_store_and_reload(run in any_run()) {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("run");
        store::write_run(&run, &prefix, false).unwrap();
        let set = store::open(&prefix).unwrap();
        prop_assert_eq!(everything(&set), everything(&run));
        prop_assert_eq!(set.is_complete(), run.is_complete());
        prop_assert_eq!(set.notices().is_empty(), run.is_complete(), "{:?}", set.notices());
    }
}

#[test]
fn the_header_of_a_plan_survives() {
    let lengths = Sweep::parse_geometric("1:2147483647:3").unwrap();
    let config = Config { sweep: lengths, ..Config::default() };
    let plan = Plan::all(&config, &Hosts::new(["a", "b", "a"])).unwrap().remove(0);
    let header = Header::of(&plan, Provenance::default());
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    store::create(&prefix, &header, false, false).unwrap();
    assert_eq!(store::open(&prefix).unwrap().header(), &header);
}

#[test]
fn optional_statistics_times_and_drift_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    let mut header = header(2, &[9]);
    header.plan.insert("optional_statistics".to_owned(), "p99 first".to_owned());
    let mut writer = store::create(&prefix, &header, false, false).unwrap();
    let extra = Extra { p99: 2.0, first: 3.0, ..Extra::NONE };
    writer.write_rows(0, 0, &[Cell { extra, ..cell(0, 0) }; 4]).unwrap();
    let moments = Moments { begin: 1.7e9, end: 1.7e9 + 2.5 };
    writer.write_moments(0, moments).unwrap();
    writer.finish_length(0).unwrap();
    assert_eq!(store::open(&prefix).unwrap().drift().unwrap(), None);
    writer.write_drift(1.25).unwrap();
    let set = store::open(&prefix).unwrap();
    assert_eq!((set.moments(0).unwrap(), set.drift().unwrap()), (Some(moments), Some(1.25)));
    assert_eq!(set.statistics()[5..], [Statistic::P99, Statistic::First]);
    assert_eq!(set.matrix(Statistic::First, 0).unwrap().values(), [3.0; 4]);
    let mut cells = Vec::new();
    set.read_cells(0, 0..1, &mut cells).unwrap();
    assert_eq!(cells[0].extra, extra);
    drop(set);
    assert_eq!(store::resume(&prefix, &header).unwrap().1, 1);
    assert!(!folder.path().join("run_p90.nc").exists());
}

#[test]
fn rows_can_be_read_in_parts_and_from_any_file_of_the_set() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    let run = small_set(&prefix);
    let whole = run.matrix(Statistic::Max, 1).unwrap();
    for suffix in ["", "_min.nc", "_hosts.txt", "_measurements_amount.nc"] {
        let set = store::open(&folder.path().join(format!("run{suffix}"))).unwrap();
        let mut rows = [0.0; 6];
        set.read_rows(Statistic::Max, 1, 1..3, &mut rows).unwrap();
        assert_eq!(rows, whole.values()[3..]);
        set.read_rows(Statistic::Max, 1, 2..2, &mut []).unwrap();
    }
}

#[test]
fn long_host_names_are_kept_whole_though_the_schema_cuts_them() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    let names = ["é".repeat(90), "n".repeat(101), "n".repeat(102)];
    let header = Header { hosts: Hosts::new(names.clone()), ..header(3, &[0]) };
    store::create(&prefix, &header, false, false).unwrap();
    assert_eq!(store::open(&prefix).unwrap().header().hosts, header.hosts);
    let hosts = std::fs::read_to_string(folder.path().join("run_hosts.txt")).unwrap();
    assert_eq!(hosts.lines().collect::<Vec<_>>(), names);
}
