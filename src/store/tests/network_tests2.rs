//! Files of network_tests2, real and made.

use std::fs;

use super::*;
use crate::{
    plan::{Config, Plan, Sweep},
    store,
};

/// Makes a file in the classic layout: the value at `(first axis, second axis)` of record `n` is
/// `100 n + 10 first + second`, and -1 at `(0, 2)`.
pub(super) fn classic(path: &Path, mode: Mode, statistic: i32, ranks: usize, records: usize, dimensions: &[&str; 3]) {
    let mut file = netcdf::create_with(path, netcdf::Options::_64BIT_OFFSET).unwrap();
    file.add_dimension("x", ranks).unwrap();
    file.add_dimension("y", ranks).unwrap();
    file.add_unlimited_dimension("n").unwrap();
    file.add_dimension("strings", 101).unwrap();
    let scalars = [
        ("proc_num", ranks as i32),
        ("test_type", mode.id()),
        ("data_type", statistic),
        ("begin_mes_length", 100),
        ("end_mes_length", 400),
        ("step_length", 100),
        ("noise_mes_length", 5),
        ("num_noise_mes", 6),
        ("num_noise_proc", 7),
        ("num_repeates", 50),
    ];
    for (name, _) in scalars {
        file.add_variable::<i32>(name, &[]).unwrap();
    }
    file.add_variable::<f64>("data", dimensions).unwrap();
    file.enddef().unwrap();
    for (name, value) in scalars {
        file.variable_mut(name).unwrap().put_value(value, ()).unwrap();
    }
    for record in 0..records {
        let value = |place: usize| (100 * record + 10 * (place / ranks) + place % ranks) as f64;
        let mut values: Vec<_> = (0..ranks * ranks).map(value).collect();
        values[2] = -1.0;
        file.variable_mut("data").unwrap().put_values(&values, (record..record + 1, .., ..)).unwrap();
    }
    file.close().unwrap();
}

const AXES: [&str; 3] = ["n", "x", "y"];

#[test]
fn rows_are_sources_whatever_network_tests2_put_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run_average.nc");
    for mode in Mode::all() {
        classic(&path, mode, 1, 3, 2, &AXES);
        let set = store::open(&path).unwrap();
        let matrix = set.matrix(Statistic::Average, 1).unwrap();
        // The rank that took the time comes first there: who receives, puts, gets, or begins the round trip.
        let source_first = matches!(mode, Mode::Put | Mode::Get | Mode::SendRecvAndRecvSend);
        let (value, missing) = if source_first { (112.0, (0, 2)) } else { (121.0, (2, 0)) };
        let halved = if mode == Mode::SendRecvAndRecvSend { 2.0 } else { 1.0 };
        assert_eq!(matrix[(1, 2)], halved * value, "{mode}");
        assert!(matrix[missing].is_nan(), "{mode}: -1 is no time");
        let mut part = [0.0; 6];
        set.read_rows(Statistic::Average, 1, 1..3, &mut part).unwrap();
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&part), bits(&matrix.values()[3..]));
    }
}

/// The average of its round trip is halved there, the other statistics are not.
#[test]
fn the_average_of_a_round_trip_is_that_of_the_whole_trip() {
    let folder = tempfile::tempdir().unwrap();
    for (name, number, statistic, factor) in [
        ("average", 1, Statistic::Average, 2.0),
        ("median", 2, Statistic::Median, 1.0),
        ("min", 4, Statistic::Min, 1.0),
    ] {
        let path = folder.path().join(format!("{name}/run_{name}.nc"));
        fs::create_dir(path.parent().unwrap()).unwrap();
        classic(&path, Mode::SendRecvAndRecvSend, number, 3, 2, &AXES);
        let matrix = store::open(&path).unwrap().matrix(statistic, 1).unwrap();
        assert_eq!((matrix[(1, 2)], matrix[(2, 0)]), (factor * 112.0, factor * 120.0), "{name}");
        assert!(matrix[(0, 2)].is_nan());
    }
}

/// Its axes would be exchanged and its lengths taken for begin, begin + step and so on.
#[test]
fn a_file_of_ours_that_has_lost_its_format_is_no_file_of_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run_median.nc");
    classic(&path, Mode::OneToOne, 2, 3, 2, &AXES);
    let mut file = netcdf::append(&path).unwrap();
    file.redef().unwrap();
    file.add_attribute("orientation", "row x: source, column y: destination, timed at the destination").unwrap();
    file.close().unwrap();
    let error = store::open(&path).unwrap_err().to_string();
    assert!(error.contains("`format` is lost") && error.contains("run_median.nc"), "{error}");
}

#[test]
fn the_classic_header_is_understood() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lomonosov.nc");
    classic(&path, Mode::NoiseBlocking, 2, 3, 2, &AXES);
    let set = store::open(&path).unwrap();
    let header = set.header();
    assert_eq!((header.mode, header.iterations), (Mode::NoiseBlocking, 50));
    assert_eq!(header.noise, Noise { length: Bytes(5), messages: 6, processes: 7 });
    assert_eq!(set.lengths(), [Bytes(100), Bytes(200)]);
    assert_eq!(header.planned, [Bytes(100), Bytes(200), Bytes(300)], "its end is exclusive");
    assert!(!set.is_complete() && !set.is_ours());
    assert_eq!(set.statistics(), [Statistic::Median]);
    assert!(set.notices().iter().any(|notice| notice.contains("announced by network_tests2")));
    assert!(set.notices().iter().any(|notice| notice.contains("hosts are not known")));
    fs::write(folder.path().join("lomonosov_hosts.txt"), "a\nb\na\n").unwrap();
    assert_eq!(store::open(&path).unwrap().header().hosts, Hosts::new(["a", "b", "a"]));
}

#[test]
fn an_end_that_promises_too_little_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run_median.nc");
    classic(&path, Mode::Put, 2, 3, 5, &AXES);
    let set = store::open(&path).unwrap();
    assert_eq!(set.lengths().last(), Some(&Bytes(500)));
    assert!(set.is_complete());
}

fn laptop(file: &str) -> store::ResultSet {
    store::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/laptop4").join(file)).unwrap()
}

#[test]
fn the_newer_layout_is_understood() {
    let set = laptop("network");
    assert_eq!((set.header().mode, set.header().iterations, set.ranks()), (Mode::OneToOne, 200, 4));
    assert_eq!(set.lengths(), (1..10).map(|k| Bytes(100 * k)).collect::<Vec<_>>());
    assert!(set.is_complete());
    assert_eq!(set.notices(), [""; 0]);
    assert_eq!(set.header().hosts.count(), 1);
    assert!(!set.statistics().contains(&Statistic::Max));
    let amount = set.matrix(Statistic::MeasurementsAmount, 0).unwrap();
    // ncdump shows 160, 160, 0, 100 as the third row: what rank 2 received from the others.
    assert_eq!(amount.column(2).collect::<Vec<_>>(), [160.0, 160.0, 0.0, 100.0]);
}

#[test]
fn single_delays_give_the_statistics_that_network_tests2_computed_from_them() {
    let (delays, files) = (laptop("network_all.nc"), laptop("network_min.nc"));
    assert_eq!(delays.lengths(), files.lengths());
    assert!(delays.statistics().contains(&Statistic::Max));
    for statistic in [Statistic::Min, Statistic::Average, Statistic::Deviation] {
        for index in 0..9 {
            let (ours, theirs) = (delays.matrix(statistic, index).unwrap(), files.matrix(statistic, index).unwrap());
            // Their files have no delays on the diagonal, where the single ones are sometimes measured.
            for (ours, theirs) in ours.off_diagonal().zip(theirs.off_diagonal()) {
                assert!((ours - theirs).abs() < 1e-15, "{statistic} {ours} {theirs}");
            }
        }
    }
    let (ours, theirs) = [&delays, &files].map(|set| set.matrix(Statistic::MeasurementsAmount, 5).unwrap()).into();
    assert_eq!(ours.off_diagonal().collect::<Vec<_>>(), theirs.off_diagonal().collect::<Vec<_>>());
}

#[test]
fn a_run_of_network_tests2_becomes_one_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    let theirs = laptop("network");
    store::write_run(&theirs, &prefix, false).unwrap();
    let ours = store::open(&prefix).unwrap();
    assert!(ours.is_ours() && ours.is_complete());
    assert_eq!(ours.notices(), [""; 0], "nobody misses the largest");
    assert_eq!(everything(&ours), everything(&theirs));
}

/// What its programs ask of a file, in their order (clustbench/network-tests2: `Data_NetCDF` of network_viewer_qt_v2,
/// `TopologyViewer`, and `data_netcdf` of the clustering): eight scalars, which they read without conversion into a C int,
/// and two more that are numbers; the first variable with three dimensions, whatever its name, for the viewer, and `data`
/// for the clustering; its dimensions are lengths, rows and columns, as many rows as columns, and the lengths are called
/// `n`. A message length is found by begin and step, and a run counts as finished if begin and as many steps are the end.
/// A list of hosts is a text with a name per line. Of an archive there is no reader: its clustering only writes one.
#[test]
fn network_tests2s_programs_find_what_they_read() {
    use netcdf::types::{FloatType, IntType, NcVariableType};

    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    let config = Config { sweep: Sweep::linear(Bytes(100), Bytes(500), Bytes(100)).unwrap(), ..Config::default() };
    let plan = Plan { mode: Mode::Noise, config, hosts: Hosts::new(["a", "b", "b"]) };
    let run = run(Header::of(&plan, Provenance::default()), 4);
    store::write_run(&run, &prefix, false).unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("run_hosts.txt")).unwrap(), "a\nb\nb\n");
    for (name, data_type, statistic) in
        [("average", 1, Statistic::Average), ("median", 2, Statistic::Median), ("min", 4, Statistic::Min)]
    {
        let path = folder.path().join(format!("run_{name}.nc"));
        assert_eq!(&fs::read(&path).unwrap()[..4], b"CDF\x02", "libraries older than 2016 know no CDF-5");
        let file = netcdf::open(&path).unwrap();
        let number = |name: &str| -> i32 {
            let variable = file.variable(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(
                (variable.vartype(), variable.dimensions().len()),
                (NcVariableType::Int(IntType::I32), 0),
                "{name}"
            );
            variable.get_value(()).unwrap()
        };
        assert_eq!(["test_type", "data_type"].map(number), [5, data_type]);
        let [ranks, begin, end, step] = ["proc_num", "begin_mes_length", "end_mes_length", "step_length"].map(number);
        assert_eq!([ranks, begin, end, step], [3, 100, 500, 100]);
        let noise = ["noise_mes_length", "num_noise_mes", "num_noise_proc", "num_repeates"].map(number);
        assert_eq!(noise, [0, 1, 0, 100], "the defaults of both programs");
        let data = file.variables().find(|variable| variable.dimensions().len() == 3).unwrap();
        assert_eq!((data.name(), data.vartype()), ("data".to_owned(), NcVariableType::Float(FloatType::F64)));
        let dimensions: Vec<_> =
            data.dimensions().iter().map(|dimension| (dimension.name(), dimension.len())).collect();
        assert_eq!(dimensions, [("n", 4), ("x", 3), ("y", 3)].map(|(name, len)| (name.to_owned(), len)));
        assert_eq!(begin + 4 * step, end, "finished");
        let at = ((300 - begin) / step) as usize;
        let values: Vec<f64> = data.get_values((at..at + 1, .., ..)).unwrap();
        assert_eq!(values, run.matrix(statistic, 2).unwrap().values());
    }
}
