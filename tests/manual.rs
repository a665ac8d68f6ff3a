//! Manual pages, completions and JSON schemas, as packages install them.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

const PROGRAM: &str = env!("CARGO_BIN_EXE_network_analyze");

fn generated(what: &str) -> (tempfile::TempDir, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(PROGRAM).args(["generate", what]).arg(folder.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut names: Vec<_> =
        folder.path().read_dir().unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    (folder, names)
}

/// What a checker complains about.
fn complaints(checker: &[&str], file: &Path) -> String {
    let output = Command::new(checker[0]).args(&checker[1..]).arg(file).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}; scripts/test.sh installs it", checker[0]));
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn every_subcommand_of_the_help_has_a_page_without_errors() {
    let (folder, names) = generated("man");
    let help = Command::new(PROGRAM).arg("--help").output().unwrap().stdout;
    let help = String::from_utf8(help).unwrap();
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let is_first_line = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let commands = commands.filter(is_first_line).filter_map(|line| line.split_whitespace().next());
    let commands: Vec<_> = commands.filter(|name| *name != "help").collect();
    assert!(commands.starts_with(&["diagnose", "report", "compare"]), "{commands:?}");
    for command in commands {
        assert!(names.contains(&format!("network_analyze-{command}.1")), "{command} is not among {names:?}");
    }
    for name in names {
        let page = folder.path().join(&name);
        assert_eq!(complaints(&["mandoc", "-T", "lint", "-W", "error"], &page), "", "{name}");
        assert!(fs::read_to_string(page).unwrap().contains(".SH NAME"), "{name}");
    }
}

#[test]
fn completions_are_valid_and_know_the_subcommands() {
    let (folder, names) = generated("completions");
    assert_eq!(names, ["network_analyze.bash", "network_analyze.fish", "network_analyze.zsh"]);
    assert_eq!(complaints(&["bash", "-n"], &folder.path().join("network_analyze.bash")), "");
    for name in names {
        let text = fs::read_to_string(folder.path().join(&name)).unwrap();
        assert!(text.contains("diagnose") && text.contains("topology"), "{name}");
    }
}

/// Every document that the sources can print has a schema. `analyst` validates documents against them.
#[test]
fn every_document_has_a_schema() {
    let (folder, names) = generated("schemas");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/view");
    let printed = documents(&sources);
    assert!(printed.len() >= 8, "{printed:?}");
    // The payload of a page is read by that page alone.
    for document in printed.iter().filter(|document| *document != "report/1") {
        let name = format!("{}.json", document.replace('/', "-"));
        assert!(names.contains(&name), "{name} is not among {names:?}");
        let schema: serde_json::Value = serde_json::from_slice(&fs::read(folder.path().join(&name)).unwrap()).unwrap();
        assert_eq!(schema["$id"], format!("network_test.{document}"));
        assert_eq!(schema["properties"]["schema"]["const"], format!("network_test.{document}"));
    }
}

/// Names of documents, such as `info/1`, in the sources of a folder.
fn documents(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(documents(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let names = text.split("\"network_test.").skip(1).filter_map(|rest| rest.split('"').next());
            found.extend(names.filter(|name| name.contains('/')).map(str::to_owned));
        }
    }
    found
}
