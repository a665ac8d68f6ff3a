//! Files that are not what they should be: every one is named, with what is wrong.

use std::fs;

use super::*;
use crate::store::{self, paths};

/// The error of opening `path`, which has to name `file`.
fn error(path: &Path, file: &Path) -> String {
    let error = store::open(path).unwrap_err().to_string();
    assert!(error.contains(&format!("`{}`", file.display())), "{error}");
    error
}

/// A set in a new folder, its prefix, and the path of its median.
fn set() -> (tempfile::TempDir, std::path::PathBuf, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    small_set(&prefix);
    let median = paths::file_of(&prefix, Statistic::Median);
    (folder, prefix, median)
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_refused_or_has_its_whole_lengths() {
    let (_folder, prefix, median) = set();
    let whole = fs::read(&median).unwrap();
    let mut found = [0; 2];
    for end in (0..whole.len()).step_by(61).chain([whole.len() - 1]) {
        fs::write(&median, &whole[..end]).unwrap();
        if let Ok(set) = store::open(&prefix) {
            assert!(set.notices()[0].contains("is cut off"), "{:?}", set.notices());
            assert_ne!(set.matrix(Statistic::Median, 0).is_ok(), set.lengths().is_empty());
            found[set.lengths().len()] += 1;
            continue;
        }
        let error = error(&prefix, &median);
        let reasons = ["cut off", "is empty", "ends in the middle of its header", "is not a NetCDF file"];
        assert!(reasons.iter().any(|reason| error.contains(reason)), "{end} of {} bytes: {error}", whole.len());
    }
    assert!(found[0] > 0 && found[1] > 0, "{found:?}");
}

#[test]
fn a_run_goes_on_behind_the_last_length_that_is_whole() {
    let (_folder, prefix, median) = set();
    let header = store::open(&prefix).unwrap().header().clone();
    let whole = fs::read(&median).unwrap();
    fs::write(&median, &whole[..whole.len() - 9]).unwrap();
    let first = store::resume(&prefix, &header).unwrap().1;
    assert_eq!(first, 1);
    assert_eq!(store::open(&prefix).unwrap().lengths(), [Bytes(0)]);
}

#[test]
fn damaged_headers_are_no_panic() {
    let (_folder, prefix, median) = set();
    let whole = fs::read(&median).unwrap();
    let lengths = store::open(&prefix).unwrap().lengths().len();
    let header_end = 2800.min(whole.len());
    let turned = (0..header_end).step_by(7).map(|place| {
        let mut damaged = whole.clone();
        damaged[place] ^= 0xff;
        damaged
    });
    // The number of records, which the format lets be "as many as there are".
    let counted = [[0xff; 4], [0x7f, 0xff, 0xff, 0xff]].map(|count| {
        let mut damaged = whole.clone();
        damaged[4..8].copy_from_slice(&count);
        damaged
    });
    let mut answers = [0; 2];
    for damaged in turned.chain(counted) {
        fs::write(&median, damaged).unwrap();
        // Some damage is in texts and goes unnoticed. No more can be read than there is.
        let read = store::open(&prefix);
        answers[usize::from(read.is_ok())] += 1;
        if let Ok(set) = read {
            assert!(set.lengths().len() <= lengths, "{:?}", set.lengths());
            let _ = set.matrix(Statistic::Median, 0);
        }
    }
    assert!(answers.iter().all(|count| *count > 20), "{answers:?} refused and read");
}

#[test]
fn what_is_not_netcdf_is_refused() {
    let (_folder, prefix, median) = set();
    fs::write(&median, "# format: network_test.text/1\n").unwrap();
    assert!(error(&median, &median).contains("not a NetCDF file") && error(&prefix, &median).contains("convert"));
    let other = prefix.with_extension("txt");
    fs::write(&other, "x").unwrap();
    assert!(error(&other, &other).contains("not a NetCDF file"));
}

#[test]
fn netcdf_of_other_programs_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weather.nc");
    for options in [netcdf::Options::_64BIT_OFFSET, netcdf::Options::_64BIT_DATA] {
        let mut file = netcdf::create_with(&path, options).unwrap();
        file.add_dimension("x", 3).unwrap();
        file.add_variable::<f64>("temperature", &["x"]).unwrap();
        file.close().unwrap();
        let error = error(&path, &path);
        assert!(error.contains("no result of network_test") && error.contains("`test_type`"), "{error}");
    }
    let mut file = netcdf::append(&path).unwrap();
    file.redef().unwrap();
    file.add_attribute("format", "weather/2").unwrap();
    file.close().unwrap();
    assert!(error(&path, &path).contains("`weather/2`"));
}

#[test]
fn hdf5_is_refused_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run_median.nc");
    netcdf::create_with(&path, netcdf::Options::NETCDF4).unwrap().close().unwrap();
    assert!(error(&path, &path).contains("nccopy -k cdf5"));
}

/// The median of [`set`] with some bytes in place of others, from `place` on.
fn spoilt(bytes: &[u8], place: impl Fn(&[u8]) -> usize) -> String {
    let (_folder, prefix, median) = set();
    let mut whole = fs::read(&median).unwrap();
    let place = place(&whole);
    whole[place..place + bytes.len()].copy_from_slice(bytes);
    fs::write(&median, whole).unwrap();
    error(&prefix, &median)
}

#[test]
fn no_number_in_a_header_takes_memory() {
    // A number of records that is none: as many as there are bytes for, and no more.
    let (_folder, prefix, median) = set();
    let mut whole = fs::read(&median).unwrap();
    whole[4..8].fill(0xff);
    fs::write(&median, &whole).unwrap();
    assert_eq!(store::open(&prefix).unwrap().lengths(), [Bytes(0), Bytes(64)]);
    let after = |name: &'static [u8], more: usize| {
        move |whole: &[u8]| whole.windows(name.len()).position(|window| window == name).unwrap() + name.len() + more
    };
    // More records; more rows; a longer attribute.
    let (_folder, prefix, median) = set();
    let mut whole = fs::read(&median).unwrap();
    whole[4] = 0x7f;
    fs::write(&median, &whole).unwrap();
    assert_eq!(store::open(&prefix).unwrap().lengths(), [Bytes(0), Bytes(64)]);
    let rows = spoilt(&[0x7f, 0xff, 0xff, 0xff], after(b"\0\0\0\x01x\0\0\0", 0));
    assert!(rows.contains("cut off") || rows.contains("ranks"), "{rows}");
    assert!(spoilt(&[0x7f, 0xff, 0xff, 0xff], after(b"\0\0\0\x06format\0\0", 4)).contains("ends in the middle"));
}

#[test]
fn a_name_of_any_length_is_an_error_and_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    small_set(&prefix);
    let median = paths::file_of(&prefix, Statistic::Median);
    let mut file = netcdf::append(&median).unwrap();
    file.redef().unwrap();
    file.add_attribute("plan_items", "x".repeat(300)).unwrap();
    file.close().unwrap();
    assert!(error(&prefix, &median).contains("lacks the attribute"));
}

#[test]
fn what_is_not_finite_is_missing() {
    let (_folder, prefix, median) = set();
    let mut file = netcdf::append(&median).unwrap();
    for (place, value) in [f64::INFINITY, f64::NEG_INFINITY, 1e258].into_iter().enumerate() {
        file.variable_mut("data").unwrap().put_value(value, [1, 0, place]).unwrap();
    }
    file.close().unwrap();
    let set = store::open(&prefix).unwrap();
    assert!(set.matrix(Statistic::Median, 1).unwrap().row(0).iter().all(|value| value.is_nan()));
    assert!(set.matrix(Statistic::Median, 1).unwrap().row(1).iter().all(|value| value.is_finite()));
}

#[test]
fn hosts_that_could_control_a_terminal_are_refused() {
    let (_folder, prefix, median) = set();
    let mut bytes = fs::read(&median).unwrap();
    let place = bytes.windows(6).position(|window| window == b"node0\0").unwrap();
    bytes[place + 1] = 0x1b;
    fs::write(&median, bytes).unwrap();
    let error = error(&prefix, &median);
    assert!(error.contains("n\\u{1b}de0") && !error.contains('\x1b'), "{error}");
}

#[test]
fn a_pipe_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run_median.nc");
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    assert!(error(&path, &path).contains("a pipe or a device"));
    let zero = folder.path().join("zero_median.nc");
    std::os::unix::fs::symlink("/dev/zero", &zero).unwrap();
    assert!(error(&zero, &zero).contains("a pipe or a device"));
}

#[test]
fn other_dimensions_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.nc");
    for (dimensions, expected) in [(["n", "y", "x"], "`data(n, y, x)`"), (["n", "x", "x"], "`data(n, x, x)`")] {
        network_tests2::classic(&path, Mode::Put, 2, 3, 1, &dimensions);
        assert!(error(&path, &path).contains(expected));
    }
}

#[test]
fn newer_formats_are_refused_with_advice() {
    let (_folder, prefix, median) = set();
    let mut bytes = fs::read(&median).unwrap();
    let place = bytes.windows(21).position(|window| window == b"network_test.matrix/1").unwrap();
    bytes[place + 20] = b'3';
    fs::write(&median, bytes).unwrap();
    let error = error(&prefix, &median);
    assert!(error.contains("newer than this program") && error.contains("network_test.matrix/3"), "{error}");
}

#[test]
fn nothing_and_folders_are_no_results() {
    let (folder, ..) = set();
    let missing = folder.path().join("other");
    assert!(error(&missing, &missing).contains("no results"));
    assert!(error(folder.path(), folder.path()).contains("folder"));
}

#[test]
fn a_missing_file_is_noted_and_named_when_it_is_read() {
    let (_folder, prefix, _) = set();
    let max = paths::file_of(&prefix, Statistic::Max);
    fs::remove_file(&max).unwrap();
    let set = store::open(&max).unwrap();
    let named = |text: &str| text.contains(&*max.to_string_lossy()) && text.contains("missing");
    assert!(set.notices().iter().any(|notice| named(notice)), "{:?}", set.notices());
    assert!(!set.statistics().contains(&Statistic::Max));
    assert!(named(&set.matrix(Statistic::Max, 0).unwrap_err().to_string()));
    assert!(set.matrix(Statistic::Min, 0).is_ok());
}

#[test]
fn a_shorter_file_makes_the_set_unfinished() {
    let (folder, prefix, median) = set();
    let shorter = folder.path().join("shorter");
    store::write_run(&run(header(3, &[0, 64]), 1), &shorter, false).unwrap();
    fs::copy(paths::file_of(&shorter, Statistic::Median), &median).unwrap();
    let set = store::open(&prefix).unwrap();
    assert_eq!(set.lengths(), [Bytes(0)]);
    assert!(!set.is_complete());
    assert!(set.notices().iter().any(|notice| notice.contains("unfinished: 1 message lengths of 2")));
    assert!(set.notices().iter().any(|notice| notice.contains("run_min.nc") && notice.contains("has 2")));
    assert!(set.matrix(Statistic::Min, 1).is_err(), "a length that not all files share is not given");
    assert!(set.matrix(Statistic::Min, 0).is_ok());
}

#[test]
fn files_of_different_runs_are_no_set() {
    let (folder, prefix, median) = set();
    let min = paths::file_of(&prefix, Statistic::Min);
    fs::copy(&min, &median).unwrap();
    assert!(error(&prefix, &median).contains("holds the min"));
    let other = folder.path().join("other");
    let mut header = header(3, &[0, 64]);
    header.plan.insert("seed".to_owned(), "99".to_owned());
    store::write_run(&run(header, 2), &other, false).unwrap();
    fs::copy(paths::file_of(&other, Statistic::Median), &median).unwrap();
    let error = store::open(&prefix).unwrap_err().to_string();
    assert!(error.contains("its seed is"), "{error}");
}

#[test]
fn parts_that_are_not_there_are_refused() {
    let (_folder, prefix, _) = set();
    let set = store::open(&prefix).unwrap();
    for (length, rows, cells) in [(2, 0..1, 3), (0, 2..4, 6), (0, 0..1, 2)] {
        assert!(set.read_rows(Statistic::Min, length, rows.clone(), &mut vec![0.0; cells]).is_err());
        assert!(set.read_states(length, rows, &mut vec![State::Failed; cells]).is_err());
    }
}
