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
fn a_file_that_is_cut_off_anywhere_is_refused() {
    let (_folder, prefix, median) = set();
    let whole = fs::read(&median).unwrap();
    for end in (0..whole.len()).step_by(61).chain([whole.len() - 1]) {
        fs::write(&median, &whole[..end]).unwrap();
        let error = error(&prefix, &median);
        let reasons = ["cut off", "is empty", "ends in the middle of its header", "is not a NetCDF file"];
        assert!(reasons.iter().any(|reason| error.contains(reason)), "{end} of {} bytes: {error}", whole.len());
    }
}

#[test]
fn damaged_headers_are_no_panic() {
    let (_folder, prefix, median) = set();
    let whole = fs::read(&median).unwrap();
    let header_end = 2800.min(whole.len());
    for place in (0..header_end).step_by(7) {
        let mut damaged = whole.clone();
        damaged[place] ^= 0xff;
        fs::write(&median, damaged).unwrap();
        // Some damage is in texts and goes unnoticed; what counts is an answer.
        if let Ok(set) = store::open(&prefix) {
            let _ = set.matrix(Statistic::Median, 0);
        }
    }
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
    for options in [netcdf::Options::_64BIT_OFFSET, netcdf::Options::NETCDF4] {
        let mut file = netcdf::create_with(&path, options).unwrap();
        file.add_dimension("x", 3).unwrap();
        file.add_variable::<f64>("temperature", &["x"]).unwrap();
        file.close().unwrap();
        let error = error(&path, &path);
        assert!(error.contains("no result of network_test") && error.contains("`test_type`"), "{error}");
    }
    let mut file = netcdf::append(&path).unwrap();
    file.add_attribute("format", "weather/2").unwrap();
    file.close().unwrap();
    assert!(error(&path, &path).contains("`weather/2`"));
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
    bytes[place + 20] = b'2';
    fs::write(&median, bytes).unwrap();
    let error = error(&prefix, &median);
    assert!(error.contains("newer than this program") && error.contains("network_test.matrix/2"), "{error}");
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
