//! What `scripts/lib/install.sh` takes for installed is what builds look for.

use std::{fs, path::Path, process::Command};

/// Whether `holds_libclang` finds the library among files of these names; without `llvm-config`, which knows other
/// folders.
fn finds_libclang(files: &[&str]) -> bool {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|file| fs::write(folder.path().join(file), "").unwrap());
    let script = "set -euo pipefail; project=$PWD; source scripts/lib/common.sh; source scripts/lib/install.sh
                  has() { return 1; }
                  if holds_libclang \"$1\"; then echo found; else echo missing; fi";
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output =
        Command::new("bash").args(["-c", script, "bash"]).arg(folder.path()).current_dir(root).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    match String::from_utf8(output.stdout).unwrap().trim() {
        "found" => true,
        "missing" => false,
        other => panic!("{other}"),
    }
}

#[test]
fn libclang_is_not_taken_for_there_because_its_cplusplus_sister_is() {
    // bindgen loads `libclang.so`; many packages bring `libclang-cpp.so`, which it refuses.
    assert!(!finds_libclang(&["libclang-cpp.so.14", "libclang-cpp.so"]));
    assert!(!finds_libclang(&[]));
    for name in ["libclang.so", "libclang.so.1", "libclang-14.so.1", "libclang-19.so"] {
        assert!(finds_libclang(&[name, "libclang-cpp.so.14"]), "{name}");
    }
}
