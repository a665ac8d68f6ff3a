//! Debian packages and rpms as scripts/packages/make.py makes them of the programs of this build, unpacked, read and used;
//! and that Spack's repository is where Spack looks.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const TEST: &str = env!("CARGO_BIN_EXE_network_test");

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What a command prints that has to succeed.
#[track_caller]
fn done(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output();
    let output =
        output.unwrap_or_else(|error| panic!("{:?}: {error}; scripts/test.sh installs it", command.get_program()));
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// What rpm says of a package, one per line.
fn rpm(package: &Path, option: &str) -> BTreeSet<String> {
    done(Command::new("rpm").args(["-qp", option]).arg(package)).lines().map(str::to_owned).collect()
}

#[test]
fn packages_hold_programs_that_start_and_pages_that_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    let programs = Path::new(TEST).parent().unwrap();
    let output = folder.path().join("made");
    let mut make = Command::new("python3");
    make.arg(project().join("scripts/packages/make.py")).args(["deb", "rpm", "--programs"]).arg(programs);
    done(make.arg("--output").arg(&output).env("CARGO_TARGET_DIR", folder.path().join("target")));
    let (mut packages, mut rpms): (Vec<_>, Vec<_>) =
        files(&output).into_iter().partition(|package| package.extension().is_some_and(|end| end == "deb"));
    packages.sort();
    rpms.sort();
    let root = folder.path().join("root");
    let mut summaries = Vec::new();
    for (package, needs) in packages.iter().zip(["libc6", "network-analyze"]) {
        let description = done(Command::new("dpkg-deb").arg("--field").arg(package).arg("Description"));
        summaries.extend(description.lines().next().map(str::to_owned));
        let depends = done(Command::new("dpkg-deb").arg("--field").arg(package).arg("Depends"));
        assert!(depends.contains(needs) && depends.contains("libnetcdf"), "{package:?}: {depends}");
        done(Command::new("dpkg-deb").arg("--extract").arg(package).arg(&root));
    }
    assert_eq!(packages.len(), 2, "{packages:?}");
    assert!(summaries[0].starts_with("Names ") && summaries[1].starts_with("Measures "), "{summaries:?}");
    for (program, option) in [("network_analyze", "--version"), ("network_test", "-V")] {
        let version = done(Command::new(root.join("usr/bin").join(program)).arg(option));
        assert!(version.starts_with(&format!("{program} {}", env!("CARGO_PKG_VERSION"))), "{version}");
    }
    let installed = files(&root);
    let pages: Vec<_> = installed.iter().filter(|file| file.extension().is_some_and(|end| end == "gz")).collect();
    for name in ["network_test.1", "network_analyze.1", "network_analyze-diagnose.1", "network_test-files.5"] {
        assert!(pages.iter().any(|page| page.ends_with(format!("{name}.gz"))), "{name}: {pages:?}");
    }
    for page in pages {
        let complaints = done(Command::new("mandoc").args(["-T", "lint", "-W", "error"]).arg(page));
        assert_eq!(complaints, "", "{page:?}");
    }
    for file in [
        "share/bash-completion/completions/network_test",
        "share/zsh/vendor-completions/_network_analyze",
        "share/fish/vendor_completions.d/network_test.fish",
        "share/network_test/slurm/sweep.sbatch",
        "share/network_test/prometheus/alerts.yml",
        "share/doc/network-analyze/copyright",
    ] {
        assert!(root.join("usr").join(file).is_file(), "{file} is not among {installed:?}");
    }
    // The same files as the Debian packages, but for two places: where zsh looks, and where licences are.
    let as_rpm = |file: &PathBuf| {
        let path = format!("/{}", file.strip_prefix(&root).unwrap().display());
        let path = path.replace("/zsh/vendor-completions/", "/zsh/site-functions/");
        match path.strip_prefix("/usr/share/doc/").and_then(|path| path.strip_suffix("/copyright")) {
            Some(package) => format!("/usr/share/licenses/{package}/LICENSE"),
            None => path,
        }
    };
    let [analyze, test] = &rpms[..] else { panic!("{rpms:?}") };
    let (of_analyze, of_test) = (rpm(analyze, "--list"), rpm(test, "--list"));
    assert!(of_analyze.contains("/usr/bin/network_analyze") && of_test.contains("/usr/bin/network_test"));
    assert_eq!(&of_analyze | &of_test, installed.iter().map(as_rpm).collect());
    assert!(of_analyze.is_disjoint(&of_test), "a file of two packages: {of_analyze:?} {of_test:?}");
    let needs = |package: &Path, what: &str| rpm(package, "--requires").iter().any(|need| need.starts_with(what));
    for (package, mpi) in [(analyze, false), (test, true)] {
        assert!(needs(package, "libnetcdf.so"), "{package:?}");
        assert_eq!((needs(package, "libmpi"), needs(package, "network-analyze")), (mpi, mpi), "{package:?}");
    }
}

/// Spack refuses a repository of version 2 that is not `spack_repo/NAMESPACE`, and a package whose folder is not a name of
/// Python.
#[test]
fn spack_can_add_the_repository() {
    let repository = project().join("scripts/packages/spack_repo/network_test");
    let about = fs::read_to_string(repository.join("repo.yaml")).unwrap();
    let value = |key: &str| about.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(": "));
    assert_eq!((value("namespace"), value("api")), (Some("network_test"), Some("v2.0")), "{about}");
    let recipe = fs::read_to_string(repository.join("packages/network_test/package.py")).unwrap();
    assert!(recipe.contains("\nclass NetworkTest("), "{recipe}");
    let manual = fs::read_to_string(project().join("scripts/README.md")).unwrap();
    for text in [manual, recipe] {
        assert!(text.contains("spack repo add scripts/packages/spack_repo/network_test"), "{text}");
    }
}

#[test]
fn recipes_ask_for_the_tarball_of_this_version() {
    let tarball = concat!("network_test-", env!("CARGO_PKG_VERSION"), ".tar.gz");
    for recipe in ["network_test.def", "spack_repo/network_test/packages/network_test/package.py"] {
        let text = fs::read_to_string(project().join("scripts/packages").join(recipe)).unwrap();
        assert!(text.contains(tarball), "{recipe}: {text}");
    }
}
