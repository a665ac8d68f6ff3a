//! `advise`: what to do about findings, as a plan that somebody reads and runs. It carries out nothing.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use anyhow::Context;
use netmatrix::{
    analysis::advice::{Known, Named, Policy, plan},
    exit,
    view::advice::{self, Scheduler},
};
use serde::Deserialize;

use super::{
    failure::{Failure, Outcome},
    input::since_1970,
    output,
};

/// Write a plan of which hosts to drain, for a scheduler or a health check; nothing is carried out
#[derive(clap::Args)]
#[command(
    after_help = "A finding counts if its re-test has confirmed it, or if every one of several diagnoses names it.\n\
    A finding about a link drains nobody. The plan keeps the reasons that other tools have given."
)]
pub struct Advise {
    /// What `diagnose --json` wrote, for one run or for several
    #[arg(required = true, value_name = "DIAGNOSIS")]
    diagnoses: Vec<PathBuf>,

    /// Whose commands to write
    #[arg(long = "for", value_enum, default_value_t = For::Slurm)]
    scheduler: For,

    /// Largest share of the hosts that may be drained; beyond it the plan is empty and says why
    #[arg(long, default_value = "5%", value_parser = share, value_name = "SHARE")]
    at_most: f64,

    /// Take findings that nothing has confirmed as well
    #[arg(long)]
    unconfirmed: bool,

    /// Known findings, which drain nobody and bring nobody back, one in a line: a host, or two hosts of a link, then a
    /// symptom if only that is known; # begins a comment
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum For {
    /// scontrol
    Slurm,
    /// The list that scripts/packages/nhc/network_test.nhc reads
    Nhc,
    /// flux resource
    Flux,
    /// pbsnodes
    Pbs,
    /// kubectl
    Kubernetes,
}

impl From<For> for Scheduler {
    fn from(scheduler: For) -> Self {
        match scheduler {
            For::Slurm => Self::Slurm,
            For::Nhc => Self::Nhc,
            For::Flux => Self::Flux,
            For::Pbs => Self::Pbs,
            For::Kubernetes => Self::Kubernetes,
        }
    }
}

/// What is needed of the document `network_test.diagnosis/1`.
#[derive(Deserialize)]
struct Document {
    schema: String,
    verdict: String,
    /// Null where times could not be judged, though exchanges may have failed.
    run: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    groups: Vec<Vec<String>>,
    findings: Vec<Finding>,
    #[serde(default)]
    judged: Vec<JudgedRun>,
}

#[derive(Deserialize)]
struct JudgedRun {
    #[serde(default)]
    created: Option<String>,
}

#[derive(Deserialize)]
struct Finding {
    id: String,
    kind: String,
    hosts: Vec<String>,
    direction: String,
    symptom: String,
    ratio: Option<f64>,
    #[serde(default)]
    retest: Option<String>,
}

impl Advise {
    /// Prints the plan.
    pub fn run(self) -> Outcome {
        let (mut hosts, mut judged) = (BTreeSet::new(), BTreeSet::new());
        let mut found = Vec::new();
        let mut newest = 0;
        for path in &self.diagnoses {
            let document = read(path)?;
            if document.verdict == "invalid" {
                output::note(&format!("`{}` could not be judged: it drains nobody", path.display()));
                continue;
            }
            let created = document.judged.iter().filter_map(|run| since_1970(run.created.as_deref()?));
            let created = created.map(|since| since.as_secs()).max();
            let run = name_of(path, created);
            hosts.extend(document.groups.iter().flatten().cloned());
            if document.run.is_some() {
                judged.extend(document.groups.into_iter().flatten());
            }
            found.push(document.findings.into_iter().map(|finding| named(finding, &run)).collect::<Vec<_>>());
            newest = newest.max(created.unwrap_or_else(|| modified(path)));
        }
        let policy = Policy {
            at_most: self.at_most,
            unconfirmed: self.unconfirmed,
            known: self.known.as_deref().map(|path| known(path, &hosts)).transpose()?.unwrap_or_default(),
        };
        let mut plan = plan(&found, &hosts, &policy);
        plan.healthy.retain(|host| judged.contains(host));
        output::print(|out| advice::write(&plan, self.scheduler.into(), newest, out))?;
        Ok(exit::SUCCESS)
    }
}

fn read(path: &Path) -> Result<Document, Failure> {
    let name = || format!("`{}`", path.display());
    let hint = "give what `network_analyze diagnose --json FILE` wrote";
    let text = fs::read(path).with_context(|| format!("cannot read {}: {hint}", name())).map_err(Failure::Files)?;
    let document: Document =
        serde_json::from_slice(&text).map_err(|_| Failure::files(format!("{} is no diagnosis: {hint}", name())))?;
    if document.schema != "network_test.diagnosis/1" {
        return Err(Failure::files(format!("{} is a document of another kind: {hint}", name())));
    }
    // They become words of a script.
    let hosts = document.groups.iter().flatten().chain(document.findings.iter().flat_map(|finding| &finding.hosts));
    if hosts.into_iter().any(|host| host.is_empty() || host.contains(|c: char| c.is_whitespace() || c.is_control())) {
        return Err(Failure::files(format!("{} names a host that no host can be called", name())));
    }
    Ok(document)
}

fn named(finding: Finding, run: &str) -> Named {
    let printable = |text: &str| text.chars().filter(|c| !c.is_control()).collect::<String>();
    Named {
        run: printable(run),
        id: printable(&finding.id),
        kind: finding.kind,
        hosts: finding.hosts,
        direction: printable(&finding.direction),
        symptom: printable(&finding.symptom),
        ratio: finding.ratio.unwrap_or(f64::INFINITY),
        is_retested: finding.retest.as_deref() == Some("confirmed"),
    }
}

/// What a diagnosis is called: its file, which may have the same name every night, and when it was measured.
fn name_of(path: &Path, created: Option<u64>) -> String {
    let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let name = name.trim_end_matches(".diagnosis");
    match created {
        Some(created) => {
            let time = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(created));
            format!("{name}, {time}")
        }
        None => name.to_owned(),
    }
}

/// Seconds since 1970 when a file was written.
fn modified(path: &Path) -> u64 {
    let time = fs::metadata(path).and_then(|data| data.modified()).ok();
    time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map_or(0, |age| age.as_secs())
}

/// `5%` as 0.05.
fn share(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is no share: write 5%");
    let percent: f64 = text.strip_suffix('%').ok_or_else(wrong)?.trim().parse().map_err(|_| wrong())?;
    (0.0..=100.0).contains(&percent).then_some(percent / 100.0).ok_or_else(wrong)
}

/// `hosts`: all that the diagnoses are about. Of a line with a word that is neither a host nor a symptom, the hosts are known
/// whatever they have: what was meant must not be drained.
fn known(path: &Path, hosts: &BTreeSet<String>) -> Result<Vec<Known>, Failure> {
    const SYMPTOMS: [&str; 8] = ["latency", "bandwidth", "jitter", "duplex", "noise", "silent", "lossy", "damaged"];
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read `{}`", path.display()))
        .map_err(Failure::Files)?;
    let mut known = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut words: Vec<String> =
            line.split('#').next().unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        let symptom = words.pop_if(|last| SYMPTOMS.contains(&last.as_str()));
        if let [first, others @ ..] = &words[..]
            && let Some(strange) = others.iter().find(|word| !hosts.contains(*word))
        {
            output::note(&format!(
                "`{}`, line {}: `{strange}` is neither a host of these diagnoses nor a symptom ({}); all findings about \
                 `{first}` are taken as known",
                path.display(),
                number + 1,
                SYMPTOMS.join(", ")
            ));
            known.push((BTreeSet::from([first.clone()]), None));
        }
        if !words.is_empty() {
            known.push((words.into_iter().collect(), symptom));
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_needs_its_sign() {
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("12.5 %"), Ok(0.125));
        for wrong in ["5", "0.05", "101%", "-1%", "%", "nan%"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
