//! Who may import whom: fails when a module uses something that its place in the pipeline forbids.
//!
//! ```text
//! units <- plan <- record <- {measure, store, analysis};   stats <- {record, measure, analysis};   analysis <- view
//! ```
//!
//! `layers/rules.rs` is the table of what each layer may use and applies it; `layers/scan.rs` reads sources. Code that
//! is compiled for tests only may use any module and any crate, but is held to the rule on unsafe code.

#[path = "layers/rules.rs"]
mod rules;
#[path = "layers/scan.rs"]
mod scan;

use std::{
    fs,
    path::{Path, PathBuf},
};

use rules::violations;

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files = vec![];
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Path below src/ and content of every source file.
fn sources() -> Vec<(String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = rust_files(&src).into_iter();
    files
        .map(|path| (path.strip_prefix(&src).unwrap().display().to_string(), fs::read_to_string(&path).unwrap()))
        .collect()
}

#[test]
fn every_module_uses_only_what_it_may() {
    let violations: Vec<String> = sources().iter().flat_map(|(file, text)| violations(file, text)).collect();
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

#[test]
fn the_scanner_sees_the_imports_that_there_are() {
    let sources = sources();
    let uses = |layer: &str, target: [&str; 2]| {
        let files = sources.iter().filter(|(file, _)| file.starts_with(layer));
        files
            .flat_map(|(file, text)| scan::mentions(file, text).unwrap())
            .any(|mention| mention.path.starts_with(&target.map(str::to_owned)))
    };
    for (layer, target) in [
        ("plan/", ["netmatrix", "units"]),
        ("record/", ["netmatrix", "plan"]),
        ("measure/", ["netmatrix", "record"]),
        ("stats", ["statrs", "statistics"]),
    ] {
        assert!(uses(layer, target), "{layer} is known to use {target:?}");
    }
    assert!(!uses("units/", ["netmatrix", "plan"]));
}

/// Asserts that `source`, as `file`, breaks a rule in whose report `word` occurs.
#[track_caller]
fn bad(file: &str, source: &str, word: &str) {
    let found = violations(file, source);
    assert!(found.iter().any(|violation| violation.contains(word)), "{file}: `{source}` was let through: {found:?}");
}

#[track_caller]
fn good(file: &str, source: &str) {
    assert_eq!(violations(file, source), Vec::<String>::new(), "{file}: `{source}`");
}

#[test]
fn an_import_against_the_arrow_is_found_however_it_is_written() {
    bad("plan/sweep.rs", "use crate::record::Cell;", "netmatrix::record::Cell");
    bad("plan/sweep.rs", "use super::super::record::Cell;", "netmatrix::record::Cell");
    bad("plan/mod.rs", "use super::record::Cell;", "netmatrix::record::Cell");
    bad("plan/mod.rs", "use crate::{units::Bytes, record::{self, Cell}};", "netmatrix::record");
    bad("plan/mod.rs", "pub(crate) use crate::record as other;", "netmatrix::record");
    bad("plan/mod.rs", "fn f() -> u8 { crate::record::f() }", "netmatrix::record::f");
    bad("plan/mod.rs", "fn f() { let _ = format!(\"{}\", crate::record::f(1)); }", "netmatrix::record::f");
    bad("plan/mod.rs", "mod inner { fn f(x: &super::super::record::Cell) {} }", "netmatrix::record::Cell");
    bad("plan/mod.rs", "mod inner { use super::super::*; }", "whole");
    bad("plan/mod.rs", "use super::*;", "whole");
    bad("plan/mod.rs", "use crate as everything;", "whole");
    bad("plan/mod.rs", "use crate::{self as everything};", "whole");
    bad("measure/driver.rs", "use netmatrix::store::Writer;", "netmatrix::store");
    bad("record/cell.rs", "use crate::stats;", "netmatrix::stats");
    bad("record/cell.rs", "use crate::stats::*;", "netmatrix::stats");
    bad("view/info.rs", "#[derive(crate::store::X)] struct A;", "netmatrix::store");
    bad("bin/network_test/main.rs", "use netmatrix::{exit, view::Table};", "netmatrix::view");
    bad("bin/network_test/mpi/put.rs", "fn f() { netmatrix::analysis::f() }", "netmatrix::analysis");
    bad("bin/network_analyze/info.rs", "use netmatrix::measure::Fabric;", "netmatrix::measure");
    bad("bin/network_analyze/info.rs", "use ::netmatrix::measure::Fabric;", "netmatrix::measure");
    bad("store/mod.rs", "use crate::exit;", "netmatrix::exit");
    bad("lib.rs", "pub use store::Writer; use crate::store::Writer;", "netmatrix::store");
    bad("novelty/mod.rs", "", "no rule");
}

#[test]
fn what_has_an_owner_is_found_elsewhere() {
    bad("analysis/mod.rs", "use netcdf::File;", "netcdf::File");
    bad("bin/network_analyze/convert.rs", "fn f() { ::netcdf::open(\"x\"); }", "netcdf::open");
    bad("measure/driver.rs", "use mpi::topology::Communicator;", "mpi::topology");
    bad("measure/driver.rs", "extern crate indicatif;", "indicatif");
    bad("bin/network_analyze/main.rs", "use indicatif::ProgressBar;", "indicatif");
    bad("plan/config.rs", "#[derive(clap::Parser)] struct A;", "clap::Parser");
    bad("view/mod.rs", "fn f() { println!(); }", "println!");
    bad("store/mod.rs", "fn f() { std::eprintln!(); }", "eprintln!");
    bad("measure/mod.rs", "fn f() { if true { dbg!(1); } }", "dbg!");
    bad("view/mod.rs", "use std::io; fn f() { io::stdout(); }", "std::io::stdout");
    bad("analysis/mod.rs", "use std::{fs::{self, File}, io};", "std::fs");
    bad("analysis/mod.rs", "use std::*;", "std");
    bad("view/mod.rs", "use std as core_library; fn f() { core_library::fs::read(\"x\"); }", "std::fs::read");
    bad("analysis/mod.rs", "fn f(path: &Path) -> bool { path.exists() }", ".exists(");
    bad("plan/mod.rs", "use std::time::{Duration, Instant};", "std::time::Instant");
    bad("plan/mod.rs", "use std::time; fn f() { time::SystemTime::now(); }", "std::time::SystemTime");
    bad("store/mod.rs", "fn f() { std::env::var(\"HOME\"); }", "std::env::var");
    bad("measure/mod.rs", "fn f() { std::process::exit(1) }", "std::process::exit");
}

#[test]
fn unsafe_code_is_found_elsewhere_and_in_tests_too() {
    bad("stats/mod.rs", "fn f() { unsafe { g() } }", "unsafe");
    bad("stats/mod.rs", "#[cfg(test)] mod tests { fn f() { unsafe { g() } } }", "unsafe");
    bad("stats/mod.rs", "#![allow(unsafe_code)]", "unsafe");
    bad("store/chars.rs", "unsafe impl Send for Char {}", "unsafe");
    bad("store/chars.rs", "unsafe impl NcTypeDescriptor for Char { fn f() { unsafe { g() } } }", "unsafe");
    bad("bin/network_test/mpi/put.rs", "fn f() { unsafe { g() } }", "unsafe");
    good("store/chars.rs", "#[expect(unsafe_code)] unsafe impl netcdf::types::NcTypeDescriptor for Char {}");
    good("bin/network_test/mpi/ffi.rs", "#![allow(unsafe_code)] fn f() { unsafe { g() } }");
}

#[test]
fn what_is_allowed_passes() {
    good("plan/sweep.rs", "use super::{Mode, config::X}; use crate::units::Bytes; pub(crate) fn f() { self::g(); }");
    good("record/cell.rs", "use crate::stats::Summary; pub(super) struct A; // use crate::store;");
    good(
        "record/cell.rs",
        "/// Uses [`crate::store`] and println!().\nstruct A { text: &'static str } const B: &str = \"crate::store\";",
    );
    good(
        "measure/driver.rs",
        "use std::time::Instant; use crate::{plan, record, stats}; fn f() { plan::g(record::h()) }",
    );
    good(
        "store/writer.rs",
        "use std::fs::File; use netcdf::FileMut; fn f() { File::open(\"x\"); std::process::id(); }",
    );
    good("view/mod.rs", "use std::io::{self, Write}; fn f(out: &mut impl io::Write) { writeln!(out, \"\"); }");
    good("bin/network_test/main.rs", "mod mpi; use ::mpi::traits::Root; use self::mpi::hosts; fn f() { eprintln!(); }");
    good("bin/network_analyze/simulate.rs", "use netmatrix::measure::Fabric;");
    good(
        "analysis/blocks.rs",
        "#[cfg(test)] mod tests { use crate::measure::synthetic::Machine; fn f() { println!(); } }",
    );
    good("measure/synthetic/tests.rs", "use crate::store::Writer;");
    good("measure/synthetic/mod.rs", "#[cfg(test)] mod tests; struct A;");
}

#[test]
fn only_code_that_is_compiled_for_tests_alone_counts_as_such() {
    bad("analysis/blocks.rs", "mod tests { use crate::measure::Fabric; }", "netmatrix::measure");
    bad("analysis/blocks.rs", "#[cfg(test)] use std::fmt; use crate::measure::Fabric;", "netmatrix::measure");
    bad("analysis/blocks.rs", "#[cfg(test)] fn f() {} use crate::measure::Fabric;", "netmatrix::measure");
    bad("analysis/blocks.rs", "#[cfg(not(test))] mod real { use crate::measure::Fabric; }", "netmatrix::measure");
    bad("analysis/blocks.rs", "struct A { #[cfg(test)] a: u8, b: crate::measure::X }", "netmatrix::measure");
    bad("measure/synthetic/mod.rs", "mod tests;", "cfg(test)");
    bad("plan/mod.rs", "fn f( {", "cannot be read");
}
