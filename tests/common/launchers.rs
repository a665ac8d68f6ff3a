//! What is known about MPI libraries and launchers: `scripts/lib/launchers.ini`, which shell scripts read as well.
//!
//! In: that file, at compile time. Out: its sections and their values. What a key means is said there.

use std::{
    path::Path,
    process::{Command, Stdio},
    sync::LazyLock,
};

/// The file.
const TEXT: &str = include_str!("../../scripts/lib/launchers.ini");

/// All sections, in the order of the file.
static SECTIONS: LazyLock<Vec<Section>> = LazyLock::new(|| parse(TEXT));

/// What a section is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An MPI library.
    Library,
    /// A program that starts ranks.
    Launcher,
}

/// A section of the file.
#[derive(Debug)]
pub struct Section {
    /// What it is about.
    pub kind: Kind,
    /// Name within its kind.
    pub name: &'static str,
    values: Vec<(&'static str, &'static str)>,
}

impl Section {
    /// All sections of a kind.
    pub fn all(kind: Kind) -> impl Iterator<Item = &'static Self> {
        SECTIONS.iter().filter(move |section| section.kind == kind)
    }

    /// The section of this name.
    ///
    /// # Panics
    /// If there is none.
    pub fn named(kind: Kind, name: &str) -> &'static Self {
        Self::all(kind).find(|section| section.name == name).unwrap_or_else(|| panic!("no {kind:?} is called {name}"))
    }

    /// All keys with their values, in the order of the file.
    pub fn values(&self) -> &[(&'static str, &'static str)] {
        &self.values
    }

    /// The value of a key as it is written.
    ///
    /// # Panics
    /// If the section has no such key.
    pub fn value(&self, key: &str) -> &'static str {
        let found = self.values.iter().find(|(name, _)| *name == key);
        found.unwrap_or_else(|| panic!("[{:?} {}] has no {key}", self.kind, self.name)).1
    }

    /// The words of a value.
    pub fn words(&self, key: &str) -> impl Iterator<Item = &'static str> {
        self.value(key).split_whitespace()
    }

    /// The MPI library behind what `ldd` has printed.
    pub fn library_in(ldd: &str) -> Option<&'static Self> {
        let linked: Vec<&str> = ldd.lines().filter_map(|line| line.split_whitespace().next()).collect();
        Self::all(Kind::Library).find(|library| library.words("names").any(|name| linked.contains(&name)))
    }

    /// The launcher on PATH that starts ranks of this library, with its command. `None` if there is none, and never a
    /// launcher that cannot be told by its version.
    pub fn launcher(&self) -> Option<(&'static Self, &'static str)> {
        let launchers = Self::all(Kind::Launcher).filter(|launcher| launcher.words("starts").any(|it| it == self.name));
        let mut commands = launchers.flat_map(|launcher| launcher.words("commands").map(move |name| (launcher, name)));
        commands.find(|(launcher, command)| launcher.is_told_by(&version_of(Path::new(command))))
    }

    /// True if this is what a launcher says of itself.
    pub fn is_told_by(&self, version: &str) -> bool {
        let marks = self.value("version").split('|').map(str::trim);
        marks.filter(|mark| !mark.is_empty()).any(|mark| version.contains(mark))
    }
}

/// What `command --version` prints; nothing if it cannot be started.
fn version_of(command: &Path) -> String {
    let output = Command::new(command).arg("--version").stdin(Stdio::null()).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

fn parse(text: &'static str) -> Vec<Section> {
    let mut sections = vec![];
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        read(line, &mut sections).unwrap_or_else(|| panic!("launchers.ini: cannot read `{line}`"));
    }
    sections
}

/// Adds a line to the sections.
fn read(line: &'static str, sections: &mut Vec<Section>) -> Option<()> {
    let Some(title) = line.strip_prefix('[') else {
        let (key, value) = line.split_once('=')?;
        sections.last_mut()?.values.push((key.trim(), value.trim()));
        return Some(());
    };
    let (kind, name) = title.strip_suffix(']')?.split_once(' ')?;
    let kind = match kind {
        "library" => Kind::Library,
        "launcher" => Kind::Launcher,
        _ => return None,
    };
    sections.push(Section { kind, name, values: vec![] });
    Some(())
}
