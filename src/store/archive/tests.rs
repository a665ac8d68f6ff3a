use std::{fs, io::Read, path::PathBuf};

use super::{super::schema, layout::*, *};
use crate::{
    plan::{Config, Plan, Sweep},
    record::{About, Clustered, Exception, Header, NO_SET, Part, PartSink, Provenance, Run, Statistic, Tolerance},
    units::{Bytes, Hosts},
};

fn about(hosts: Hosts, planned: usize, finished: usize) -> About {
    let lengths: Vec<Bytes> = (0..planned as u64).map(|k| Bytes(k * k)).collect();
    let config = Config { sweep: Sweep::list(&lengths).unwrap(), ..Config::default() };
    let plan = Plan { mode: config.modes[0], config, hosts };
    let provenance = Provenance { command: "network_test -n \"5\"\n".into(), ..Provenance::default() };
    About {
        header: Header::of(&plan, provenance),
        statistic: Statistic::Median,
        lengths: lengths[..finished].to_vec(),
        tolerance: Tolerance::Relative(0.05),
        reason: "asked for".to_owned(),
        order: vec![2, 0, 1],
    }
}

/// Three ranks, five lengths in two ranges; the second has no set and no exception.
fn parts() -> [Part; 2] {
    let exception = |length, cell, value| Exception { length, cell, value };
    [
        Part {
            lengths: 0..3,
            sets: vec![1, 0, 0, 0, 1, 0, NO_SET, 0, 1],
            values: vec![1.0, 2.0, 3.0, 0.0, 0.0, 0.0],
            exceptions: vec![exception(0, 1, 9.0), exception(0, 6, 0.5), exception(2, 1, f64::NAN)],
        },
        Part { lengths: 3..5, sets: vec![NO_SET; 9], values: Vec::new(), exceptions: Vec::new() },
    ]
}

fn written(about: About, parts: impl IntoIterator<Item = Part>) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.cluster.nc");
    let order = about.order.clone();
    let mut writer = ArchiveWriter::new(about).unwrap();
    parts.into_iter().for_each(|part| writer.write_part(part).unwrap());
    writer.finish(&order, &mut fs::File::create(&path).unwrap()).unwrap();
    (folder, path)
}

fn error(path: &std::path::Path) -> String {
    open_archive(path).unwrap_err().to_string()
}

#[test]
fn what_is_written_is_read_back() {
    let about = about(Hosts::new(["node1", "node2", "node2"]), 7, 5);
    let (_folder, path) = written(about.clone(), parts());
    assert!(is_archive(&path));
    let archive = open_archive(&path).unwrap();
    assert_eq!(archive.about(), &about);
    assert!(!archive.is_complete());
    assert_eq!(format!("{:?}", archive.parts()), format!("{:?}", parts()));
    assert_eq!(archive.value(1, 0, 1), 2.0);
    assert_eq!(archive.value(0, 0, 1), 9.0);
    assert_eq!(archive.value(0, 2, 0), 0.5);
    assert!(archive.value(2, 0, 1).is_nan() && archive.value(1, 2, 0).is_nan() && archive.value(4, 1, 1).is_nan());
}

#[test]
fn names_of_hosts_survive_in_any_form() {
    let many: Vec<String> = (0..500).map(|rank| format!("{}-{}", rank * 7919 % 1000, "x".repeat(rank % 9))).collect();
    let long = vec!["h".repeat(200), "a,b".to_owned(), "[1-3]".to_owned()];
    for names in [many, long] {
        let ranks = names.len();
        let mut about = about(Hosts::new(names), 1, 1);
        about.order = (0..ranks).collect();
        let part = Part { lengths: 0..1, sets: vec![0; ranks * ranks], values: vec![1.0], exceptions: Vec::new() };
        let (_folder, path) = written(about.clone(), [part]);
        assert_eq!(open_archive(&path).unwrap().about(), &about);
    }
}

#[test]
fn the_file_has_network_tests2s_variables() {
    let (_folder, path) = written(about(Hosts::new(["a", "b", "c"]), 5, 5), parts());
    let file = netcdf::open(&path).unwrap();
    let scalars = [schema::PROC_NUM, schema::TEST_TYPE, schema::DATA_TYPE, schema::REPEATS];
    let ranges = [schema::BEGIN_END_STEP, schema::NOISE].concat();
    for scalar in scalars.iter().chain(&ranges) {
        assert!(file.variable(scalar).unwrap().dimensions().is_empty(), "{scalar}");
    }
    // The three steps, as a program in another language takes them: the range, the set of a pair, the value.
    let bytes = |name: &str| {
        let bytes: Vec<u8> = file.variable(name).unwrap().get_values(..).unwrap();
        let mut inflated = Vec::new();
        flate2::read::ZlibDecoder::new(&bytes[..]).read_to_end(&mut inflated).unwrap();
        inflated
    };
    let lengths: Vec<i64> = file.variable("length").unwrap().get_values(..).unwrap();
    assert_eq!(lengths, [0, 9]);
    let (sets, widths): (Vec<u32>, Vec<u8>) = (
        file.variable(SETS).unwrap().get_values(..).unwrap(),
        file.variable(INFO_WIDTH).unwrap().get_values(..).unwrap(),
    );
    assert_eq!((sets, widths), (vec![2, 0], vec![1, 1]));
    let (info, data) = (bytes(INFO), bytes("data"));
    // The pair (0, 2) at the second length; all first bytes of the six values stand before all second ones.
    let place = usize::from(info[2]) * 3 + 1;
    let value: [u8; 8] = std::array::from_fn(|byte| data[byte * 6 + place]);
    assert_eq!(f64::from_le_bytes(value), 2.0);
    assert_eq!(info[6], 255, "in no set");
    let described =
        |variable: netcdf::Variable| variable.attribute("long_name").is_some() && variable.attribute("units").is_some();
    assert!(file.variables().filter(|variable| variable.name() != "host").all(described));
}

#[test]
fn the_same_archive_is_the_same_file() {
    let about = about(Hosts::new(["a", "b", "c"]), 5, 5);
    let (_a, first) = written(about.clone(), parts());
    let (_b, second) = written(about, parts());
    assert_eq!(fs::read(first).unwrap(), fs::read(second).unwrap());
}

#[test]
fn a_truncated_archive_says_so() {
    let (_folder, path) = written(about(Hosts::new(["a", "b", "c"]), 5, 5), parts());
    let whole = fs::read(&path).unwrap();
    for size in [whole.len() - 8, whole.len() / 2, 600, 5] {
        fs::write(&path, &whole[..size]).unwrap();
        let error = error(&path);
        assert!(error.contains("run.cluster.nc"), "{size}: {error}");
        assert!(["cut off", "ends in the middle"].iter().any(|what| error.contains(what)), "{size}: {error}");
    }
    for content in [&b""[..], b"CDF\x01", b"length,source", b"\x89HDF\r\n"] {
        fs::write(&path, content).unwrap();
        assert!(!is_archive(&path));
    }
}

#[test]
fn a_foreign_or_contradictory_archive_says_what_is_wrong() {
    let (_folder, path) = written(about(Hosts::new(["a", "b", "c"]), 5, 5), parts());
    let whole = fs::read(&path).unwrap();
    let spoil = |what: &str, change: &dyn Fn(&mut netcdf::FileMut)| {
        fs::write(&path, &whole).unwrap();
        let mut file = netcdf::append(&path).unwrap();
        change(&mut file);
        file.close().unwrap();
        let error = error(&path);
        assert!(error.contains("run.cluster.nc") && error.contains(what), "{what}: {error}");
    };
    let with = |name: &'static str, value: &'static str| {
        move |file: &mut netcdf::FileMut| {
            file.redef().unwrap();
            file.add_attribute(name, value).unwrap();
        }
    };
    spoil("newer", &with("format", "network_test.archive/3"));
    spoil("no archive", &with("format", "other"));
    spoil("no tolerance", &with("tolerance", "lax"));
    spoil("`run`", &with("run", "{"));
    spoil("names 2 hosts", &with("hosts", "a,b"));
    spoil("more than 3 hosts", &with("hosts", "a[1-1000000]"));
    spoil("invisible", &with("hosts", "a,b,c\u{202e}"));
    let number = |name: &'static str, place: usize, value: i64| {
        move |file: &mut netcdf::FileMut| file.variable_mut(name).unwrap().put_value(value, [place]).unwrap()
    };
    spoil("`proc_num`", &|file| file.variable_mut("proc_num").unwrap().put_value(4_i32, ()).unwrap());
    spoil("ascending lengths", &number("length", 1, 7));
    spoil("cannot be inflated", &number("sets", 0, 1));
    spoil("width of their numbers", &number("sets", 0, 300));
    spoil("cannot be inflated", &number("sets", 0, 200));
    spoil("more exceptions", &number("exceptions", 0, 10));
    spoil("`order`", &number("order", 0, 0));
    spoil("cannot be inflated", &number("info", 0, 0));
}

#[test]
fn a_small_archive_cannot_ask_for_much_memory() {
    let ranks = 10_000;
    let mut about = about(Hosts::new((0..ranks).map(|rank| format!("node{rank:04}"))), 1, 1);
    about.order = (0..ranks).collect();
    let part = Part { lengths: 0..1, sets: vec![0; ranks * ranks], values: vec![1.0], exceptions: Vec::new() };
    let (_folder, path) = written(about, [part]);
    assert!(fs::metadata(&path).unwrap().len() < 150_000);
    assert!(error(&path).contains("bytes announce more than"), "{}", error(&path));
}

#[test]
fn an_archive_reads_as_a_run_of_one_statistic() {
    let (_folder, path) = written(about(Hosts::new(["a", "b", "c"]), 5, 5), parts());
    let archive: Clustered = open_archive(&path).unwrap();
    assert_eq!(archive.statistics(), [Statistic::Median]);
    assert_eq!(archive.matrix(Statistic::Median, 0).unwrap().row(0), [0.0, 9.0, 1.0]);
    assert!(archive.matrix(Statistic::Min, 0).unwrap_err().to_string().contains("median alone"));
}
