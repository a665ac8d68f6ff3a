//! The table of launchers is complete, tells real launchers apart, and is the only place that knows them.

mod common;

use std::{fs, path::Path, process::Command};

use common::launchers::{Kind, Section};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

/// What a reader wants of a launcher, with the key that answers it.
const NEEDS: [(&str, &str); 7] = [
    ("command", "commands"),
    ("as root", "root"),
    ("more ranks than cores", "crowd"),
    ("... dealt out to hosts in turn", "spread"),
    ("binding that suits them", "bind"),
    ("number of ranks", "ranks"),
    ("hosts `a,b`", "hosts"),
];

/// What a reader wants of a library.
const SETTINGS: [(&str, &str); 3] =
    [("TCP over `eth0` only", "tcp"), ("waiting ranks yield", "yield"), ("`srun` needs", "srun")];

/// Versions that launchers have printed, beginning with their first line.
const VERSIONS: [(&str, &str); 4] = [
    ("openmpi4", "mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n"),
    ("openmpi4", "mpirun (Open MPI) 4.1.6\n\nReport bugs to http://www.open-mpi.org/community/help/\n"),
    ("openmpi5", "mpirun (Open MPI) 5.0.11\n\nReport bugs to https://www.open-mpi.org/community/help/\n"),
    ("hydra", "HYDRA build details:\n    Version:                                 4.0.2\n"),
];

#[test]
fn the_mpi_library_is_told_by_its_name() {
    let of = |library: &str| {
        let ldd = format!("\tlibc.so.6 => /lib/libc.so.6\n\t{library} => /x\n");
        Section::library_in(&ldd).map(|library| library.name)
    };
    assert_eq!(of("libmpi.so.40"), Some("openmpi"));
    assert_eq!(of("libmpich.so.12"), Some("mpich"));
    assert_eq!(of("libmpi.so.12"), Some("mpich"));
    assert_eq!(of("libnetcdf.so.19"), None);
}

#[test]
fn a_launcher_is_told_by_its_version() {
    for (name, version) in VERSIONS {
        let told = Section::all(Kind::Launcher).filter(|launcher| launcher.is_told_by(version));
        assert_eq!(told.map(|launcher| launcher.name).collect::<Vec<_>>(), [name], "{version}");
    }
    assert!(Section::all(Kind::Launcher).all(|launcher| !launcher.is_told_by("GNU coreutils 9.1")));
}

#[test]
fn every_section_has_every_key() {
    for kind in [Kind::Library, Kind::Launcher] {
        let keys = |section: &Section| section.values().iter().map(|(key, _)| *key).collect::<Vec<_>>();
        let first = keys(Section::all(kind).next().unwrap());
        assert!(first.len() >= 4, "{first:?}");
        assert!(Section::all(kind).all(|section| keys(section) == first), "{kind:?}: not the keys {first:?}");
    }
    for launcher in Section::all(Kind::Launcher) {
        assert!(launcher.words("starts").all(|library| Section::named(Kind::Library, library).name == library));
    }
}

#[test]
fn scripts_read_what_tests_read() {
    let script = "set -euo pipefail; source scripts/lib/common.sh; source scripts/lib/launch.sh
        for kind in library launcher; do
            for name in $(launchers_of $kind); do
                while read -r key; do
                    words=()
                    agent={agent} interface={interface} launcher_words words \"$kind $name\" \"$key\"
                    echo $kind $name $key \"${words[@]}\"
                done < <(awk -v s=\"[$kind $name]\" '/^\\[/ { i = ($0 == s) } i && $2 == \"=\" { print $1 }' \"$launchers\")
            done
        done";
    let output = Command::new("bash").current_dir(FOLDER).args(["-c", script]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut expected = String::new();
    for (kind, title) in [(Kind::Library, "library"), (Kind::Launcher, "launcher")] {
        for section in Section::all(kind) {
            for (key, _) in section.values() {
                let words = [title, section.name, key].into_iter().chain(section.words(key));
                expected += &format!("{}\n", words.collect::<Vec<_>>().join(" "));
            }
        }
    }
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

#[test]
fn the_readme_says_what_the_table_says() {
    let readme = fs::read_to_string(Path::new(FOLDER).join("slurm/README.md")).unwrap();
    let table = documentation();
    assert!(readme.contains(&table), "slurm/README.md has to contain these tables:\n\n{table}");
}

/// The tables of slurm/README.md.
fn documentation() -> String {
    let launchers = table(Kind::Launcher, &NEEDS);
    let libraries = table(Kind::Library, &SETTINGS);
    format!("{launchers}\n{libraries}")
}

/// A section per column, a need per row.
fn table(kind: Kind, needs: &[(&str, &str)]) -> String {
    let sections: Vec<&Section> = Section::all(kind).collect();
    let mut text = row("", sections.iter().map(|section| section.value("title").to_owned()));
    text += &format!("|{}\n", "---|".repeat(sections.len() + 1));
    for (need, key) in needs {
        let cell = |section: &&Section| {
            let words: Vec<&str> = section.words(key).collect();
            match words.join(if *key == "commands" { "`, `" } else { " " }).replace("{interface}", "eth0") {
                empty if empty.is_empty() => empty,
                words => format!("`{words}`"),
            }
        };
        text += &row(need, sections.iter().map(cell));
    }
    text
}

fn row(need: &str, cells: impl Iterator<Item = String>) -> String {
    let cells = [need.to_owned()].into_iter().chain(cells);
    let cells = cells.map(|cell| if cell.is_empty() { " |".to_owned() } else { format!(" {cell} |") });
    format!("|{}\n", cells.collect::<String>())
}

#[test]
fn nobody_else_knows_launchers() {
    let mut files = vec![];
    for folder in ["scripts", "tests"] {
        collect(&Path::new(FOLDER).join(folder), &mut files);
    }
    assert!(files.len() > 10);
    // Put together, so that this file does not hold them itself.
    let signs = [["allow-run-", "as-root"], ["OVER", "SUBSCRIBE"], ["-launcher", " fork"], ["OMPI_MCA", "_"]];
    for file in files.iter().filter(|file| !file.ends_with("scripts/lib/launchers.ini")) {
        let text = fs::read_to_string(file).unwrap_or_default();
        for sign in signs.map(|parts| parts.concat()) {
            assert!(!text.contains(&sign), "{} knows of {sign}, which belongs into launchers.ini", file.display());
        }
    }
}

fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), files);
        } else {
            files.push(entry.path());
        }
    }
}
