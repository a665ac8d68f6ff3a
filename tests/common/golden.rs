//! Golden files: a text that a program printed is compared with the one that was looked at and accepted.
//!
//! A difference is told line by line. `UPDATE_GOLDEN=1 cargo test` accepts the new texts; look at them before they are
//! committed.

use std::{env, fs, path::PathBuf};

/// Lines around the first difference that are shown.
const CONTEXT: usize = 2;

/// Compares `actual` with the file of this name in `tests/golden`. Panics with the difference.
#[track_caller]
pub fn check(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        fs::write(&path, actual).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!("cannot read {}: {error} (UPDATE_GOLDEN=1 cargo test accepts the text):\n{actual}", path.display())
    });
    if let Some(difference) = difference(&expected, actual) {
        panic!("{} differs (UPDATE_GOLDEN=1 cargo test accepts the new text):\n{difference}", path.display());
    }
}

/// The first lines that differ, with those around them; `None` if the texts are equal.
fn difference(expected: &str, actual: &str) -> Option<String> {
    if expected == actual {
        return None;
    }
    let [expected, actual] = [expected, actual].map(|text| text.split('\n').collect::<Vec<_>>());
    let first = (0..).find(|&line| expected.get(line) != actual.get(line))?;
    let mut text = format!("first difference in line {}\n", first + 1);
    for line in first.saturating_sub(CONTEXT)..=first + CONTEXT {
        match (expected.get(line), actual.get(line)) {
            (Some(old), Some(new)) if old == new => text += &format!("   {old:?}\n"),
            (old, new) => {
                text.extend(old.map(|old| format!(" - {old:?}\n")));
                text.extend(new.map(|new| format!(" + {new:?}\n")));
            }
        }
    }
    Some(text)
}

#[test]
fn a_difference_is_told_with_its_line() {
    assert_eq!(difference("a\nb\n", "a\nb\n"), None);
    let told = difference("a\nb\nc\n", "a\nB \nc\n").unwrap();
    assert_eq!(told, "first difference in line 2\n   \"a\"\n - \"b\"\n + \"B \"\n   \"c\"\n   \"\"\n");
    assert!(difference("a\n", "a").unwrap().contains(" - \"\""));
    assert!(difference("a", "a\nb").unwrap().contains(" + \"b\""));
}

#[test]
#[should_panic(expected = "cannot read")]
fn a_golden_file_that_is_not_there_is_told() {
    // Under UPDATE_GOLDEN=1 the file would be made.
    assert!(env::var_os("UPDATE_GOLDEN").is_none(), "cannot read: not tried");
    check("no-such-file.txt", "text");
}
