//! Texts that came from outside: what may be shown of them as it is, and what a name of a host may be.

use std::{borrow::Cow, fmt::Write};

/// Most bytes of a host's name: what MPI_Get_processor_name gives at most (MPI_MAX_PROCESSOR_NAME) in Open MPI and
/// MPICH.
const MOST_NAME: usize = 256;

/// Whether a character does something else than stand there: it controls a terminal, turns the direction of a text
/// round, or cannot be seen.
pub fn is_hidden(char: char) -> bool {
    let is_invisible = matches!(
        char,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    );
    char.is_control() || is_invisible
}

/// A text in one line in which everything can be seen: what [`is_hidden`] is written as Rust and JavaScript write it,
/// `\n`, `\u{1b}`.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        match char {
            char if !is_hidden(char) => shown.push(char),
            '\n' | '\r' | '\t' => shown.extend(char.escape_default()),
            char => {
                // Writing to a string does not fail.
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(char));
            }
        }
    }
    Cow::Owned(shown)
}

/// What spreadsheets take a text for a formula by, here or in Japan.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// A text as a cell of a table that somebody may open in a spreadsheet: one that would be run there as a formula gets an
/// apostrophe, which spreadsheets take for "this is text". So does one that begins with an apostrophe: whoever takes the
/// first one away has the text again.
pub fn harmless(text: &str) -> Cow<'_, str> {
    if text.starts_with('\'') || text.starts_with(FORMULA) { format!("'{text}").into() } else { text.into() }
}

/// Checks the name of a host. The error says what is wrong with it, and can be shown.
pub fn check_host_name(name: &str) -> Result<(), String> {
    let what = match name {
        "" => "is empty",
        name if name.contains(is_hidden) => "contains control characters or invisible ones",
        // Whoever reads a table of names takes spaces around them away.
        name if name.trim() != name => "begins or ends with a space",
        name if name.len() > MOST_NAME => "is longer than 256 bytes",
        _ => return Ok(()),
    };
    let begin: String = name.chars().take(40).collect();
    Err(format!("the host name `{}` {what}", shown(&begin)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_shown() {
        assert_eq!(shown("n1 größe \\ \""), "n1 größe \\ \"");
        assert_eq!(shown("a\x1b[31mb\n\u{9b}\u{202e}\u{200b}\t"), "a\\u{1b}[31mb\\n\\u{9b}\\u{202e}\\u{200b}\\t");
    }

    #[test]
    fn a_formula_becomes_a_text_that_can_be_undone() {
        for text in ["=HYPERLINK(\"http://x\")", "+cmd", "-1", "@x", "'x", "''", "\u{ff1d}1"] {
            assert_eq!(harmless(text).strip_prefix('\''), Some(text));
        }
        for text in ["node-1", "n=1", "1", "", "[x]"] {
            assert_eq!(harmless(text), text);
        }
    }

    #[test]
    fn names_of_hosts_can_be_shown() {
        for name in ["node001", "node-1.example.org", "knöten", "a b", "a,b", "[1-3]"] {
            assert_eq!(check_host_name(name), Ok(()));
        }
        for name in ["", " ", "a ", "\u{a0}a", "a\x1b[31m", "a\nb", "a\u{202e}b", "a\u{200b}", &"x".repeat(257)] {
            let error = check_host_name(name).unwrap_err();
            assert!(!error.contains(is_hidden), "{error}");
        }
    }
}
