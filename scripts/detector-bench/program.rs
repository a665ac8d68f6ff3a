//! Runs `network_analyze diagnose` on a run.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, anyhow};
use netmatrix::{record::Run, store};
use serde_json::Value;

/// Where runs are written, and what is made of them.
pub struct Program {
    pub path: PathBuf,
    pub folder: PathBuf,
    /// Leave the files of cases that are not right.
    pub is_keeping: bool,
}

impl Program {
    /// What the program says about a set of files.
    pub fn diagnose(&self, prefix: &Path, arguments: &[&str]) -> Result<Value> {
        diagnose(&self.path, prefix, arguments)
    }

    /// Writes a run.
    pub fn write(&self, run: &dyn Run, name: &str) -> Result<PathBuf> {
        let prefix = self.folder.join(name);
        store::write_run(run, &prefix, true).map_err(|error| anyhow!("{}: {error}", prefix.display()))?;
        Ok(prefix)
    }

    /// Removes the files of a run.
    pub fn remove(&self, name: &str) -> Result<()> {
        for entry in std::fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path.file_name().unwrap_or_default().to_string_lossy().starts_with(&format!("{name}_")) {
                std::fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

fn diagnose(program: &Path, prefix: &Path, arguments: &[&str]) -> Result<Value> {
    let output = Command::new(program)
        .arg("diagnose")
        .arg(prefix)
        .args(["--format", "json"])
        .args(arguments)
        // Cases are judged side by side already.
        .env("RAYON_NUM_THREADS", "1")
        .output();
    let output =
        output.with_context(|| format!("{} cannot be run: build it first, or give --program", program.display()))?;
    // Healthy, findings, cannot be judged: all of them with a document.
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{}: {}", prefix.display(), String::from_utf8_lossy(&output.stderr).trim()))
}
