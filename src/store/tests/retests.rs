//! Pairs that were measured again: what the variables and the table hold, and how both go on.

use std::{fs, ops::Range};

use super::*;
use crate::{
    record::{Retest, Sink},
    store::{self, StoreError, paths},
};

/// Three ranks, of which one pair per length is measured again: there is room for both directions.
fn header_with_retests(lengths: &[u64]) -> Header {
    let mut header = header(3, lengths);
    header.plan.insert("retest".to_owned(), "1".to_owned());
    header
}

fn retest(source: usize, destination: usize, first: f64) -> Retest {
    Retest { source, destination, first, second: 2.5e-6, alone: f64::NAN }
}

/// Writes whole lengths: two retests at the length with number 0, one at all others but the last of three.
fn write(writer: &mut store::SetWriter, lengths: Range<usize>) {
    for index in lengths {
        let retests = [retest(2, 0, 1e-6 * index as f64), retest(0, 2, 3e-6)];
        let cells: Vec<_> = (0..9).map(|place| cell(index, place)).collect();
        writer.write_rows(index, 0, &cells).unwrap();
        writer.write_retests(index, &retests[..2usize.saturating_sub(index)]).unwrap();
        writer.finish_length(index).unwrap();
    }
    writer.close().unwrap();
}

fn table(prefix: &Path) -> String {
    fs::read_to_string(paths::extended(prefix, paths::RETESTS)).unwrap()
}

const WHOLE: &str = "length,source,destination,source_host,destination_host,first,second,alone\n\
    0,2,0,node0,node0,0,2.5e-6,NaN\n\
    0,0,2,node0,node0,3e-6,2.5e-6,NaN\n\
    64,2,0,node0,node0,1e-6,2.5e-6,NaN\n";

#[test]
fn variables_and_table_say_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    write(&mut store::create(&prefix, &header_with_retests(&[0, 64, 4096]), false, false).unwrap(), 0..3);
    assert_eq!(table(&prefix), WHOLE);
    let median = netcdf::open(paths::file_of(&prefix, Statistic::Median)).unwrap();
    let sources: Vec<i32> = median.variable("retest_source").unwrap().get_values(..).unwrap();
    assert_eq!(sources, [2, 0, 2, -1, -1, -1], "as any other reader sees them");
    let seconds: Vec<f64> = median.variable("retest_second").unwrap().get_values(..).unwrap();
    assert!(seconds[..3].iter().all(|value| *value == 2.5e-6) && seconds[3..].iter().all(|value| value.is_nan()));
    let units = median.variable("retest_first").unwrap().attribute_value("units").unwrap().unwrap();
    assert_eq!(String::try_from(units).unwrap(), "s");
    let set = store::open(&prefix).unwrap();
    assert_eq!(set.retests(1).unwrap().len(), 1);
    assert!(set.retests(2).unwrap().is_empty());
    assert!(set.retests(3).is_err(), "there is no such length");
    assert_eq!(store::open(&paths::extended(&prefix, paths::RETESTS)).unwrap().header(), set.header());
}

/// The header of runs that keep up to three samples of a retest.
fn header_with_samples(lengths: &[u64]) -> Header {
    let mut header = header_with_retests(lengths);
    header.plan.insert("retest_samples".to_owned(), "3".to_owned());
    header
}

#[test]
fn samples_of_retests_survive_store_reload_and_copy() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    let mut writer = store::create(&prefix, &header_with_samples(&[0, 64]), false, false).unwrap();
    let kept = [vec![vec![3e-6, 1e-6, 2e-6], vec![]], vec![vec![5e-6, 4e-6]]];
    for (index, kept) in kept.iter().enumerate() {
        writer.write_rows(index, 0, &(0..9).map(|place| cell(index, place)).collect::<Vec<_>>()).unwrap();
        let retests = [retest(2, 0, 1e-6), retest(0, 2, 3e-6)];
        writer.write_retests(index, &retests[..kept.len()]).unwrap();
        writer.write_retest_samples(index, kept).unwrap();
        writer.finish_length(index).unwrap();
    }
    writer.close().unwrap();
    let set = store::open(&prefix).unwrap();
    let copy = folder.path().join("copy");
    store::write_run(&set, &copy, false).unwrap();
    for prefix in [&prefix, &copy] {
        let set = store::open(prefix).unwrap();
        assert_eq!([0, 1].map(|index| set.retest_samples(index).unwrap()), kept, "in the order in which they came");
        assert!(set.retest_samples(2).is_err(), "there is no such length");
        let median = netcdf::open(paths::file_of(prefix, Statistic::Median)).unwrap();
        let variable = median.variable("retest_samples").unwrap();
        let dimensions: Vec<_> = variable.dimensions().iter().map(netcdf::Dimension::name).collect();
        assert_eq!(dimensions, ["n", "retests", "samples"], "as any other reader sees them");
        let values: Vec<f64> = variable.get_values(..).unwrap();
        assert_eq!(values.iter().filter(|value| value.is_nan()).count(), 12 - 5);
        for (name, part) in [("units", "s"), ("long_name", "everybody else silent"), ("description", "retest_alone")] {
            let text = String::try_from(variable.attribute_value(name).unwrap().unwrap()).unwrap();
            assert!(text.contains(part), "{name}: {text}");
        }
    }
}

#[test]
fn samples_of_retests_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    let mut writer = store::create(&prefix, &header_with_samples(&[0]), false, false).unwrap();
    writer.write_retests(0, &[retest(0, 1, 1.0)]).unwrap();
    for samples in [vec![vec![1.0; 4]], vec![vec![1.0]; 2]] {
        let error = writer.write_retest_samples(0, &samples).unwrap_err().to_string();
        assert!(error.contains("than there are places"), "{error}");
    }
    let without = folder.path().join("without");
    let mut writer = store::create(&without, &header_with_retests(&[0]), false, false).unwrap();
    writer.write_retests(0, &[retest(0, 1, 1.0)]).unwrap();
    assert!(writer.write_retest_samples(0, &[vec![1.0]]).is_err());
    let median = netcdf::open(paths::file_of(&without, Statistic::Median)).unwrap();
    assert!(median.variable("retest_samples").is_none() && median.dimension("samples").is_none());
}

#[test]
fn a_run_without_retests_has_neither_variables_nor_a_table() {
    let folder = tempfile::tempdir().unwrap();
    for (name, item) in [("none", None), ("zero", Some("0")), ("merged", Some("mixed"))] {
        let prefix = folder.path().join(name);
        let mut header = header(3, &[0]);
        header.plan.extend(item.map(|item| ("retest".to_owned(), item.to_owned())));
        let mut writer = store::create(&prefix, &header, false, false).unwrap();
        writer.write_retests(0, &[]).unwrap();
        let error = writer.write_retests(0, &[retest(0, 1, 1.0)]).unwrap_err().to_string();
        assert!(error.contains("1 retests") && error.contains("places for 0"), "{error}");
        write(&mut writer, 0..0);
        let median = netcdf::open(paths::file_of(&prefix, Statistic::Median)).unwrap();
        assert!(median.variable("retest_source").is_none() && median.dimension("retests").is_none());
        assert!(!paths::extended(&prefix, paths::RETESTS).exists());
    }
}

#[test]
fn a_resumed_run_has_the_retests_of_its_finished_lengths_once() {
    let folder = tempfile::tempdir().unwrap();
    let header = header_with_retests(&[0, 64, 4096]);
    for finished in 0..=3 {
        let prefix = folder.path().join(format!("run{finished}"));
        write(&mut store::create(&prefix, &header, false, false).unwrap(), 0..finished);
        // What a kill or a full disk may leave, and what somebody may have tidied away.
        let path = paths::extended(&prefix, paths::RETESTS);
        match finished {
            0 => fs::remove_file(&path).unwrap(),
            1 => fs::write(&path, format!("{WHOLE}64,0,")).unwrap(),
            _ => {}
        }
        let (mut writer, first) = store::resume(&prefix, &header).unwrap();
        assert_eq!(first, finished);
        write(&mut writer, first..3);
        assert_eq!(table(&prefix), WHOLE, "{finished} lengths were finished");
        let set = store::open(&prefix).unwrap();
        assert!(set.is_complete() && set.notices().is_empty());
        assert_eq!((0..3).map(|index| set.retests(index).unwrap().len()).collect::<Vec<_>>(), [2, 1, 0]);
    }
    assert!(fs::read_dir(folder.path()).unwrap().all(|file| !file.unwrap().path().to_string_lossy().ends_with(".new")));
}

#[test]
fn retests_of_a_length_that_was_not_finished_do_not_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    let header = header_with_retests(&[0]);
    let mut writer = store::create(&prefix, &header, false, false).unwrap();
    writer.write_retests(0, &[retest(1, 2, 5.0)]).unwrap();
    drop(writer);
    let (mut writer, _) = store::resume(&prefix, &header).unwrap();
    writer.write_rows(0, 0, &(0..9).map(|place| cell(0, place)).collect::<Vec<_>>()).unwrap();
    writer.finish_length(0).unwrap();
    assert!(store::open(&prefix).unwrap().retests(0).unwrap().is_empty());
    assert_eq!(table(&prefix).lines().count(), 1);
}

#[test]
fn retests_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    let mut writer = store::create(&prefix, &header_with_retests(&[0, 64]), false, false).unwrap();
    for (index, retests) in
        [(1, vec![retest(0, 1, 1.0)]), (0, vec![retest(0, 1, 1.0); 3]), (0, vec![retest(0, 3, 1.0)])]
    {
        let error = writer.write_retests(index, &retests).unwrap_err().to_string();
        assert!(error.contains("retests came for length"), "{error}");
    }
    writer.write_retests(0, &[retest(0, 1, 1.0); 2]).unwrap();
    assert!(writer.write_retests(0, &[retest(0, 1, 1.0)]).is_err(), "both places are taken");
}

#[test]
fn a_table_belongs_to_its_set_but_does_not_make_it_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    let header = header_with_retests(&[0]);
    write(&mut store::create(&prefix, &header, false, false).unwrap(), 0..1);
    let path = paths::extended(&prefix, paths::RETESTS);
    fs::remove_file(&path).unwrap();
    assert!(store::open(&prefix).unwrap().notices().is_empty());
    fs::write(&path, "kept").unwrap();
    for file in paths::set_files(&prefix).filter(|file| *file != path) {
        let _ = fs::remove_file(file);
    }
    assert!(matches!(store::check(&prefix, false), Err(StoreError::Exists { path: found }) if found == path));
    store::create(&prefix, &super::header(3, &[0]), true, false).unwrap();
    assert!(!path.exists(), "the table of the replaced run is gone");
    store::create(&prefix, &header, true, false).unwrap();
    assert_eq!(table(&prefix).lines().count(), 1);
}

#[test]
fn a_rank_that_is_not_there_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    write(&mut store::create(&prefix, &header_with_retests(&[0]), false, false).unwrap(), 0..1);
    let median = paths::file_of(&prefix, Statistic::Median);
    let mut file = netcdf::append(&median).unwrap();
    file.variable_mut("retest_destination").unwrap().put_values(&[7_i32, 1], (0..1, ..)).unwrap();
    file.close().unwrap();
    let error = store::open(&prefix).unwrap().retests(0).unwrap_err().to_string();
    assert!(error.contains("run_median.nc") && error.contains("rank 7"), "{error}");
}
