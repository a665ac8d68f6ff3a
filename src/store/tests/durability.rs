//! What stays readable when a writer ends early, and how it goes on.

use std::{
    fs::{self, File},
    path::PathBuf,
    process::Command,
};

use super::*;
use crate::{
    record::Sink,
    store::{self, paths},
};

fn rows(index: usize, ranks: usize, rows: std::ops::Range<usize>) -> Vec<Cell> {
    (rows.start * ranks..rows.end * ranks).map(|place| cell(index, place)).collect()
}

fn copy_set(from: &Path, to: &Path) {
    for (from, to) in paths::set_files(from).zip(paths::set_files(to)) {
        if from.exists() {
            fs::copy(from, to).unwrap();
        }
    }
}

fn bytes_of_set(prefix: &Path) -> Vec<Option<Vec<u8>>> {
    paths::set_files(prefix).map(|file| fs::read(file).ok()).collect()
}

#[test]
fn a_copy_made_at_any_moment_opens_and_holds_the_finished_lengths() {
    let folder = tempfile::tempdir().unwrap();
    let (prefix, copy) = (folder.path().join("run"), folder.path().join("copy"));
    let header = header(5, &[0, 10, 1 << 20]);
    let expected = run(header.clone(), 3);
    let mut writer = store::create(&prefix, &header, false, true).unwrap();
    let check = |finished: usize| {
        copy_set(&prefix, &copy);
        let set = store::open(&copy).unwrap();
        assert_eq!(set.lengths(), &header.planned[..finished]);
        for index in 0..finished {
            for &statistic in set.statistics() {
                assert_eq!(set.matrix(statistic, index).unwrap(), expected.matrix(statistic, index).unwrap());
            }
        }
        assert_eq!(set.is_complete(), finished == 3);
        assert_eq!(set.notices().iter().any(|notice| notice.contains("unfinished")), finished < 3);
        let plain = netcdf::open(paths::file_of(&copy, Statistic::Median)).unwrap();
        assert_eq!(plain.dimension_len("n"), Some(finished), "any other reader sees the same");
    };
    for index in 0..3 {
        check(index);
        writer.write_rows(index, 0, &rows(index, 5, 0..2)).unwrap();
        check(index);
        writer.write_rows(index, 2, &rows(index, 5, 2..5)).unwrap();
        check(index);
        writer.finish_length(index).unwrap();
    }
    check(3);
    writer.close().unwrap();
    check(3);
}

#[test]
fn a_writer_that_is_dropped_leaves_the_finished_lengths_alone() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    let mut writer = store::create(&prefix, &header(3, &[0, 64]), false, false).unwrap();
    writer.write_rows(0, 0, &rows(0, 3, 0..3)).unwrap();
    writer.finish_length(0).unwrap();
    writer.write_rows(1, 0, &rows(1, 3, 0..3)).unwrap();
    drop(writer);
    assert_eq!(store::open(&prefix).unwrap().lengths(), [Bytes(0)]);
}

#[test]
fn rows_out_of_turn_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = store::create(&folder.path().join("run"), &header(3, &[0, 64]), false, false).unwrap();
    for (index, first, count) in [(1, 0, 3), (0, 1, 3), (0, 0, 4), (0, 0, 12)] {
        let error = writer.write_rows(index, first, &rows(0, 1, 0..count)).unwrap_err().to_string();
        assert!(error.contains("out of turn"), "{error}");
    }
    assert!(writer.finish_length(0).is_err(), "no row has come");
}

#[test]
fn a_resumed_run_ends_in_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, prefix) = (folder.path().join("whole"), folder.path().join("run"));
    let header = header(3, &[0, 64, 4096]);
    let write = |writer: &mut store::SetWriter, lengths: std::ops::Range<usize>| {
        for index in lengths {
            writer.write_rows(index, 0, &rows(index, 3, 0..3)).unwrap();
            writer.finish_length(index).unwrap();
        }
        writer.close().unwrap();
    };
    write(&mut store::create(&whole, &header, false, true).unwrap(), 0..3);
    for finished in 0..=3 {
        let _ = store::create(&prefix, &header, true, true).map(|mut writer| write(&mut writer, 0..finished));
        // As after a kill between two files: one of them is a length ahead of the others.
        if finished < 3 {
            fs::copy(paths::file_of(&whole, Statistic::Max), paths::file_of(&prefix, Statistic::Max)).unwrap();
        }
        fs::remove_file(paths::extended(&prefix, paths::HOSTS)).unwrap();
        let (mut writer, first) = store::resume(&prefix, &header).unwrap();
        assert_eq!(first, finished);
        assert_eq!(store::open(&prefix).unwrap().lengths().len(), finished);
        write(&mut writer, first..3);
        assert_eq!(bytes_of_set(&prefix), bytes_of_set(&whole), "{finished} lengths were finished");
    }
}

#[test]
fn another_run_is_not_resumed_and_the_difference_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    let stored = header(3, &[0, 64]);
    store::create(&prefix, &stored, false, false).unwrap();
    let before = bytes_of_set(&prefix);
    let with = |name: &str, value: &str| {
        let mut header = stored.clone();
        header.plan.insert(name.to_owned(), value.to_owned());
        header
    };
    let others = [
        (with("seed", "2"), "seed is `1`, not `2`"),
        (with("schedule", "disjoint"), "schedule is `not recorded`, not `disjoint`"),
        (Header { mode: Mode::Put, ..stored.clone() }, "mode is `one_to_one`, not `put`"),
        (Header { hosts: Hosts::new(["node0", "node1", "spare"]), ..stored.clone() }, "host of rank 2 is `node0`"),
        (Header { planned: vec![Bytes(0), Bytes(65)], ..stored.clone() }, "length number 1 is `64`, not `65`"),
        (Header { iterations: 8, ..stored.clone() }, "samples per cell is `7`, not `8`"),
    ];
    for (other, expected) in others {
        let error = store::resume(&prefix, &other).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("run_median.nc"), "{error}");
    }
    assert_eq!(bytes_of_set(&prefix), before);
    let provenance = Provenance { command: "network_test -n 7 --resume".to_owned(), ..Provenance::default() };
    assert!(store::resume(&prefix, &Header { provenance, ..stored }).is_ok(), "it may come from elsewhere");
}

#[test]
fn a_set_of_which_a_file_is_missing_or_empty_is_not_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    let header = header(3, &[0]);
    store::create(&prefix, &header, false, false).unwrap();
    let max = paths::file_of(&prefix, Statistic::Max);
    File::create(&max).unwrap();
    let error = store::resume(&prefix, &header).unwrap_err().to_string();
    assert!(error.contains("run_max.nc") && error.contains("is empty"), "{error}");
    fs::remove_file(&max).unwrap();
    let error = store::resume(&prefix, &header).unwrap_err().to_string();
    assert!(error.contains("run_max.nc") && error.contains("is missing"), "{error}");
}

#[test]
fn force_replaces_the_whole_set() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    small_set(&prefix);
    let new = run(header(2, &[9]), 1);
    assert!(store::create(&prefix, new.header(), false, false).is_err());
    store::create(&prefix, new.header(), true, false).unwrap();
    let set = store::open(&prefix).unwrap();
    assert_eq!(set.header(), new.header());
    assert!(!set.statistics().contains(&Statistic::MeasurementsAmount), "the old file is gone");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 6, "nothing else is left");
}

#[test]
fn a_set_that_cannot_be_made_leaves_nothing_and_the_old_set_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (prefix, fresh) = (folder.path().join("run"), folder.path().join("fresh"));
    small_set(&prefix);
    let before = bytes_of_set(&prefix);
    // A folder where a file has to go: an obstacle even for root.
    fs::create_dir(folder.path().join("run_deviation.nc.new")).unwrap();
    let error = store::create(&prefix, &header(2, &[9]), true, false).unwrap_err().to_string();
    assert!(error.contains("run_deviation.nc.new"), "{error}");
    assert_eq!(bytes_of_set(&prefix), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 8);
    let bad = Header { hosts: Hosts::new(["line\nbreak"]), ..header(1, &[9]) };
    let error = store::create(&fresh, &bad, false, false).unwrap_err().to_string();
    assert!(error.contains("line\\nbreak") && error.contains("control"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 8);
}

/// A disk of a few pages, where the tests may mount one.
struct TinyDisk(PathBuf);

impl TinyDisk {
    fn new(folder: &Path, size: &str) -> Option<Self> {
        let path = folder.join("disk");
        fs::create_dir(&path).unwrap();
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(&path).output();
        mount.is_ok_and(|output| output.status.success()).then_some(Self(path))
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_named_and_costs_one_length() {
    let folder = tempfile::tempdir().unwrap();
    let disk = TinyDisk::new(folder.path(), "400k").expect("root can mount a tiny disk");
    let prefix = disk.0.join("run");
    let lengths: Vec<_> = (0..100).collect();
    let header = header(32, &lengths);
    let mut writer = store::create(&prefix, &header, false, false).unwrap();
    let mut finished = 0;
    let error = loop {
        let written = writer.write_rows(finished, 0, &rows(finished, 32, 0..32));
        match written.and_then(|()| writer.finish_length(finished)) {
            Ok(()) => finished += 1,
            Err(error) => break error.to_string(),
        }
    };
    drop(writer);
    assert!(error.contains("No space left") && error.contains("/disk/run_"), "{error}");
    let set = store::open(&prefix).unwrap();
    assert!(finished >= 2 && set.lengths().len() >= finished, "{finished} lengths were finished");
    let last = set.matrix(Statistic::Max, finished - 1).unwrap();
    assert_eq!(last.values()[17], cell(finished - 1, 17).summary.max);
    drop(set);

    let other = disk.0.join("other");
    let error = store::create(&other, &header, false, false).unwrap_err().to_string();
    assert!(error.contains("No space left") && error.contains("other_"), "{error}");
    assert!(paths::set_files(&other).all(|file| !file.exists()));
    let before = bytes_of_set(&prefix);
    store::create(&prefix, &header, true, false).unwrap_err();
    assert_eq!(bytes_of_set(&prefix), before, "the old set is not lost");
}
