//! What `--confidence` means: the share of healthy machines that have a finding.
//!
//! In: a number of machines, rates of disturbed samples. Out: a line for each rate. The library judges in process: no
//! file is written.

use std::io::{self, Write as _};

use anyhow::{Context, Result, anyhow};
use netmatrix::{
    analysis::diagnose::{Options, diagnose},
    record::Run,
};
use rayon::prelude::*;

use crate::families::Family;

/// How many rates are looked at between the two ends, all magnitudes alike.
const RATES: usize = 5;
/// In percent: how many healthy machines may have a finding.
const MOST: f64 = 1.5;

fn rates(text: &str) -> Result<Vec<f64>> {
    let ends: Vec<f64> = text.split("..").map(str::parse).collect::<Result<_, _>>().context("--tail")?;
    let (from, to) = match ends[..] {
        [only] => return Ok(vec![only]),
        [from, to] if from > 0.0 && to >= from => (from, to),
        _ => return Err(anyhow!("--tail {text}: write for example 0.0015..0.02")),
    };
    let step = (to / from).powf(1.0 / (RATES - 1) as f64);
    Ok((0..RATES).map(|number| from * step.powi(number as i32)).collect())
}

/// What is found on a healthy machine, in words.
fn findings(family: &Family, seed: u64, rate: f64, confidence: f64) -> Result<Vec<String>> {
    let mut bed = family.bed(seed);
    bed.noise.probability = rate;
    let case = bed.case();
    let runs: [&dyn Run; 1] = [&case.run];
    let diagnosis =
        diagnose(&runs, &Options { confidence, ..Options::default() }).map_err(|error| anyhow!("{error}"))?;
    let words = |finding| format!("{} ({})", netmatrix::view::diagnosis::sentence(finding), case.truth.context);
    Ok(diagnosis.findings.iter().map(words).collect())
}

/// Prints the table; whether all shares are small enough.
pub fn run(count: u64, seed: u64, tail: &str, confidence: f64, is_verbose: bool) -> Result<bool> {
    let family = Family::of("plain").expect("there is a family of plain machines");
    let mut out = io::stdout();
    writeln!(out, "{count} healthy machines for each rate, seeds from {seed}, confidence {confidence}")?;
    writeln!(out, "disturbed samples   with a finding")?;
    let mut is_good = true;
    for rate in rates(tail)? {
        let found: Result<Vec<Vec<String>>> =
            (seed..seed + count).into_par_iter().map(|seed| findings(family, seed, rate, confidence)).collect();
        let found = found?;
        let noisy = found.iter().filter(|findings| !findings.is_empty()).count();
        let percent = 100.0 * noisy as f64 / count as f64;
        is_good &= percent <= MOST;
        writeln!(out, "{:>15.2} %   {percent:6.2} %  {noisy} of {count}", 100.0 * rate)?;
        if is_verbose {
            found.iter().flatten().try_for_each(|words| writeln!(out, "    {words}"))?;
        }
    }
    Ok(is_good)
}
