//! Debian packages as scripts/packages/deb.py makes them of the programs of this build, unpacked and used; and that what
//! Cargo.toml says of files for other packagers is there, and Spack's repository where Spack looks.

use std::{
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

#[test]
fn debian_packages_hold_programs_that_start_and_pages_that_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    let programs = Path::new(TEST).parent().unwrap();
    let output = folder.path().join("debian");
    let mut make = Command::new("python3");
    make.arg(project().join("scripts/packages/deb.py")).arg("--programs").arg(programs).arg("--output").arg(&output);
    done(make.env("CARGO_TARGET_DIR", folder.path().join("target")));
    let mut packages = files(&output);
    packages.sort();
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

#[test]
fn every_file_that_rpms_shall_hold_is_there_or_made() {
    let text = fs::read_to_string(project().join("Cargo.toml")).unwrap();
    let sources: Vec<&str> =
        text.lines().filter_map(|line| line.trim().strip_prefix("{ source = \"")?.split('"').next()).collect();
    assert!(sources.len() >= 15, "{sources:?}");
    for source in sources.iter().filter(|source| !source.starts_with("target/")) {
        let (folder, name) = source.rsplit_once('/').unwrap_or(("", source));
        let end = name.trim_start_matches('*');
        let is_there = |file: PathBuf| file.to_string_lossy().ends_with(end);
        let found = project().join(folder).read_dir().unwrap().any(|entry| is_there(entry.unwrap().path()));
        assert!(found, "{source}");
    }
    // The same files as the Debian packages, but for the folder in which zsh looks.
    let debs = text.lines().filter_map(|line| line.trim().strip_prefix("[\"")?.split('"').next());
    assert_eq!(debs.collect::<Vec<_>>(), sources);
}
