//! What a page says about its runs: the detector's findings, or what files tell of them.
//!
//! In: opened runs, in the order of the command line. Out: [`Verdicts`]: documents of the form
//! `network_test.diagnosis/1`, and which of them is about which run. Runs of the same hosts have one document together,
//! as `diagnose` judges them.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use anyhow::anyhow;
use netmatrix::{analysis::topology::Group, view::diagnosis::SCHEMA};
use serde_json::Value;

use super::Opened;
use crate::{
    diagnose::{CONFIDENCE, document, judge},
    failure::Failure,
    input::{Input, read_text},
};

/// What is wrong with some runs.
pub struct Verdicts {
    /// As `diagnose --format json` says it.
    pub documents: Vec<Value>,
    /// Number of the document about every run, `[run]`; `None` where nothing was judged.
    pub of_run: Vec<Option<usize>>,
}

impl Verdicts {
    /// Nothing was judged.
    pub fn none() -> Self {
        Self { documents: Vec::new(), of_run: Vec::new() }
    }

    /// What the detector finds. Runs without a median are not judged.
    pub fn found(runs: &[Opened]) -> Result<Self, Failure> {
        let (mut documents, mut of_run) = (Vec::new(), vec![None; runs.len()]);
        for (first, opened) in runs.iter().enumerate() {
            let hosts = opened.run().header().hosts.names();
            let is_left = |of_run: &[Option<usize>], run: usize| of_run[run].is_none() && runs[run].has_median();
            if !is_left(&of_run, first) {
                continue;
            }
            let has_same_hosts = |run: &usize| runs[*run].run().header().hosts.names() == hosts;
            let together: Vec<usize> =
                (first..runs.len()).filter(|run| is_left(&of_run, *run)).filter(has_same_hosts).collect();
            let inputs: Vec<&Input> = together.iter().map(|run| &runs[*run].input).collect();
            let diagnosis = judge(&inputs, CONFIDENCE, opened.group_of_host())?;
            together.iter().for_each(|run| of_run[*run] = Some(documents.len()));
            documents.push(serde_json::to_value(document(&diagnosis, &inputs)).map_err(Failure::internal)?);
        }
        Ok(Self { documents, of_run })
    }

    /// What files say. Each is about the first run that those before it leave, and the further ones that it was judged
    /// with; one that says that nothing can be judged names no runs, and is about all that are left.
    pub fn told(files: &[PathBuf], runs: &[Opened]) -> Result<Self, Failure> {
        let (given, count) = (files.len(), runs.len());
        if given > count {
            return Err(Failure::usage(format!("--diagnosis is given {given} times, and there are {count} runs")));
        }
        let (mut documents, mut of_run) = (Vec::new(), vec![None; count]);
        for path in files {
            let document = read(path)?;
            let Some(first) = of_run.iter().position(Option::is_none) else {
                let name = path.display();
                return Err(Failure::usage(format!(
                    "--diagnosis {name}: the files before it are about all {count} runs"
                )));
            };
            if !is_about(&document["run"], &runs[first]) {
                return Err(Failure::files(misplaced(path, &document["run"], &runs[first])));
            }
            of_run[first] = Some(documents.len());
            if document["run"].is_null() && document["verdict"] == "invalid" {
                of_run.iter_mut().filter(|run| run.is_none()).for_each(|run| *run = Some(documents.len()));
            }
            for judged in document["further_runs"].as_array().into_iter().flatten() {
                let own = (0..count).find(|run| of_run[*run].is_none() && is_about(judged, &runs[*run]));
                own.into_iter().for_each(|run| of_run[run] = Some(documents.len()));
            }
            documents.push(document);
        }
        Ok(Self { documents, of_run })
    }

    /// The groups by which a run was judged, `[level][group]`; empty where its hosts are not divided.
    pub fn groups(&self, run: usize, opened: &Opened) -> Vec<Vec<Group>> {
        let Some(document) = self.of_run.get(run).copied().flatten().map(|number| &self.documents[number]) else {
            return Vec::new();
        };
        let names = opened.run().header().hosts.names().iter();
        let hosts: HashMap<&str, usize> = names.enumerate().map(|(host, name)| (name.as_str(), host)).collect();
        let members = |group: &Value| -> Vec<usize> {
            let names = group.as_array().into_iter().flatten().filter_map(Value::as_str);
            let mut members: Vec<usize> = names.filter_map(|name| hosts.get(name).copied()).collect();
            members.sort_unstable();
            members
        };
        let groups = document["groups"].as_array().into_iter().flatten().map(members);
        let groups: Vec<Vec<usize>> = groups.filter(|hosts| !hosts.is_empty()).collect();
        if groups.len() < 2 || groups.iter().all(|hosts| hosts.len() == 1) {
            return Vec::new();
        }
        let named = groups.into_iter().enumerate().map(|(number, hosts)| {
            let name = match hosts[..] {
                [only] => opened.run().header().hosts.names()[only].clone(),
                _ => format!("group {}", number + 1),
            };
            Group { name, hosts }
        });
        vec![named.collect()]
    }
}

fn read(path: &Path) -> Result<Value, Failure> {
    let name = path.display();
    let text = read_text(path)?;
    let document: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::Files(anyhow!("`{name}` is no JSON document: {error}")))?;
    if document["schema"] != SCHEMA || !document["findings"].is_array() {
        let what = "is no diagnosis: write it with `network_analyze diagnose --format json`";
        return Err(Failure::files(format!("`{name}` {what}")));
    }
    Ok(document)
}

/// Whether what a document says of a run that it judged fits to this run.
fn is_about(judged: &Value, opened: &Opened) -> bool {
    let fits = |told: &Value, own: Value| told.is_null() || *told == own;
    let run = opened.run();
    fits(&judged["mode"], run.header().mode.name().into()) && fits(&judged["ranks"], run.ranks().into())
}

fn misplaced(path: &Path, judged: &Value, opened: &Opened) -> String {
    let own = format!("{} with {} ranks", opened.run().header().mode, opened.run().ranks());
    let other = format!("{} with {} ranks", judged["mode"].as_str().unwrap_or("a run"), judged["ranks"]);
    format!("`{}` is about {other}, `{}` is {own}", path.display(), opened.name)
}
