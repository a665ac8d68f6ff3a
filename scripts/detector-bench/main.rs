//! How good is the detector? Draws clusters with planted faults, runs `network_analyze diagnose` on each, counts.
//!
//! In: a number of seeded cases for each family, and the program. Out: a table by family and by how many standard errors
//! a fault stands out: what was named, what was blamed on others, quiet healthy runs, directions, ranges of lengths.
//!
//! * [`families`] draws: machines whose times come from parts, samples one by one, routes, rounds in time ([`machine`],
//!   [`network`]), measured by the program's own driver;
//! * [`stand_out`] says how far a fault stands out, [`planted`] which words are right;
//! * [`factors`] is a family of its own: factors that multiply, with the scoring that it always had;
//! * [`simulated`] has SimGrid's platforms measured by the program itself: a source of truth that shares no model;
//! * [`healthy_draws`] counts findings in healthy machines only, in process, for `--confidence`.

mod factors;
mod families;
mod found;
mod healthy_draws;
mod machine;
mod network;
mod planted;
mod program;
mod score;
mod simulated;
mod stand_out;
mod table;

use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Parser, ValueEnum};
use factors::{case as factor_case, score::Tally};
use families::{FAMILIES, Family};
use program::Program;
use rayon::prelude::*;
use score::Score;
use table::Table;

/// Measure how well `network_analyze diagnose` names planted faults
#[derive(Parser)]
#[command(after_help = "Exit codes: 0 done, 1 worse than --require asks for, 3 a case could not be judged.")]
struct Args {
    /// The program
    #[arg(long, default_value = "target/release/network_analyze")]
    program: PathBuf,

    /// Number of cases of each family
    #[arg(long, default_value_t = 30)]
    cases: u64,

    /// First seed
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Only these families; `factors` for those in which factors multiply [default: all but `factors`]
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    family: Vec<String>,

    /// Of `factors`: only these cases
    #[arg(long)]
    only: Option<Class>,

    /// Say what was planted and what was missed or is wrong, case by case
    #[arg(long)]
    verbose: bool,

    /// Folder to keep the cases in that are not right [default: they are removed]
    #[arg(long)]
    keep: Option<PathBuf>,

    /// Threads
    #[arg(long, default_value_t = 2)]
    threads: usize,

    /// Limits such as recall=97,blamed=1,precision=97,quiet=98,direction=99,range=90,clean=92; of `factors`:
    /// recall, precision, quiet, direction
    #[arg(long, value_delimiter = ',', value_name = "NAME=PERCENT")]
    require: Vec<String>,

    /// Instead: this many simulated platforms of each kind (SimGrid), each measured by the program itself, isolated and
    /// disjoint; --family and --seed as ever
    #[arg(long, value_name = "N")]
    simgrid: Option<u64>,

    /// Instead: so many healthy machines for each tail rate, and how many of them have a finding
    #[arg(long, value_name = "N")]
    healthy: Option<u64>,

    /// With --healthy: rates of disturbed samples, from and to; five of them are drawn
    #[arg(long, default_value = "0.0015..0.02", value_name = "FROM..TO")]
    tail: String,

    /// With --healthy: probability with which a healthy run has no finding
    #[arg(long, default_value_t = 0.99)]
    confidence: f64,
}

/// How difficult cases of `factors` are.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Class {
    /// One switch or a few leaves, noise of 1 to 5 %.
    Plain,
    /// Trees of three levels, tori, dragonflies, noise to 10 %, missing cells, a single length.
    Hard,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Hard => "hard",
        }
    }
}

/// Prints the lines of one case together.
fn say(title: &str, context: &str, remarks: &[String], path: Option<&PathBuf>) -> io::Result<()> {
    let mut text = format!("{title}: {context}\n");
    remarks.iter().for_each(|remark| text += &format!("    {remark}\n"));
    path.iter().for_each(|path| text += &format!("    kept: {}\n", path.display()));
    write!(io::stdout(), "{text}")
}

fn judge(args: &Args, program: &Program, family: &Family, seed: u64) -> Result<Score> {
    let case = family.case(seed);
    let name = format!("{}{seed}", family.name);
    let prefix = program.write(&case.run, &name)?;
    let start = Instant::now();
    let said = found::Said::of(&program.diagnose(&prefix, &[])?);
    let seconds = start.elapsed().as_secs_f64();
    let (mut score, remarks) = score::score(&case.truth, &said);
    score.seconds = seconds;
    let is_kept = program.is_keeping && !remarks.is_empty();
    if !is_kept {
        program.remove(&name)?;
    }
    if args.verbose && !remarks.is_empty() {
        say(&format!("{} {seed}", family.name), &case.truth.context, &remarks, is_kept.then_some(&prefix))?;
    }
    Ok(score)
}

fn judge_factors(args: &Args, program: &Program, class: Class, seed: u64) -> Result<Tally> {
    let case = factor_case::draw(seed, class == Class::Hard);
    let name = format!("{}{seed}", class.name());
    let prefix = program.write(&case.run, &name)?;
    let document = program.diagnose(&prefix, &[])?;
    let (tally, remarks) = factors::score::score(&case, &document);
    let is_kept = program.is_keeping && !remarks.is_empty();
    if !is_kept {
        program.remove(&name)?;
    }
    if args.verbose && !remarks.is_empty() {
        say(&name, &case.to_string(), &remarks, is_kept.then_some(&prefix))?;
    }
    Ok(tally)
}

/// A limit by its name.
fn limit(args: &Args, name: &str) -> Result<Option<f64>> {
    let named = |text: &&String| text.split_once('=').is_some_and(|(own, _)| own == name);
    let Some(text) = args.require.iter().find(named) else { return Ok(None) };
    let value = text.split_once('=').map_or("", |(_, value)| value);
    Ok(Some(value.parse().with_context(|| format!("--require {text}: `{value}` is no percentage"))?))
}

/// Whether all limits are kept; says which are not.
fn is_reached(args: &Args, figures: &[(&str, f64)], title: &str) -> Result<bool> {
    let mut is_reached = true;
    for (name, figure) in figures {
        let Some(limit) = limit(args, name)? else { continue };
        let is_worse = if *name == "blamed" { *figure > limit } else { *figure < limit };
        if is_worse {
            writeln!(io::stdout(), "{title}: {name} is {figure:.1} %, required is {limit} %")?;
            is_reached = false;
        }
    }
    Ok(is_reached)
}

fn run_factors(args: &Args, program: &Program) -> Result<bool> {
    let mut is_good = true;
    for class in [Class::Plain, Class::Hard] {
        if args.only.is_some_and(|only| only != class) {
            continue;
        }
        let seeds: Vec<u64> = (args.seed..args.seed + args.cases).collect();
        let tallies: Result<Vec<Tally>> =
            seeds.par_iter().map(|seed| judge_factors(args, program, class, *seed)).collect();
        let tally = tallies?.into_iter().fold(Tally::default(), Tally::plus);
        writeln!(io::stdout(), "factors: {} {} cases, seeds from {}\n{tally}", args.cases, class.name(), args.seed)?;
        let [recall, precision, quiet, direction] = tally.shares();
        let figures = [("recall", recall), ("precision", precision), ("quiet", quiet), ("direction", direction)];
        is_good &= is_reached(args, &figures, class.name())?;
    }
    Ok(is_good)
}

fn run_families(args: &Args, program: &Program, families: &[&'static Family]) -> Result<bool> {
    let seeds = args.seed..args.seed + args.cases;
    let tasks: Vec<(usize, u64)> =
        (0..families.len()).flat_map(|family| seeds.clone().map(move |seed| (family, seed))).collect();
    let scores: Result<Vec<(usize, Score)>> = tasks
        .par_iter()
        .map(|&(family, seed)| {
            let score = judge(args, program, families[family], seed)
                .with_context(|| format!("{} {seed}", families[family].name))?;
            Ok((family, score))
        })
        .collect();
    let mut table = Table(families.iter().map(|family| (family.name, Score::default())).collect());
    for (family, score) in scores? {
        table.0[family].1 = std::mem::take(&mut table.0[family].1).plus(&score);
    }
    report(args, &format!("{} cases of each family, seeds from {}", args.cases, args.seed), &table)
}

/// Prints a table; whether it keeps all limits.
fn report(args: &Args, title: &str, table: &Table) -> Result<bool> {
    writeln!(io::stdout(), "{title}\n{table}\n")?;
    let all = table.aggregate();
    let figures = [
        ("recall", all.recall),
        ("blamed", all.blamed),
        ("precision", all.precision),
        ("quiet", all.quiet),
        ("direction", all.direction),
        ("range", all.range),
        ("clean", all.clean),
    ];
    is_reached(args, &figures, title)
}

fn run(args: &Args) -> Result<bool> {
    ensure!(args.cases > 0, "--cases 0: there is nothing to count");
    for text in &args.require {
        let name = text.split('=').next().unwrap_or_default();
        let known = ["recall", "blamed", "precision", "quiet", "direction", "range", "clean"];
        ensure!(known.contains(&name) && text.contains('='), "--require {text}: write for example recall=97");
    }
    rayon::ThreadPoolBuilder::new().num_threads(args.threads).build_global()?;
    if let Some(count) = args.healthy {
        return healthy_draws::run(count, args.seed, &args.tail, args.confidence, args.verbose);
    }
    let temporary = tempfile::tempdir()?;
    let folder = args.keep.as_deref().unwrap_or(temporary.path()).to_owned();
    std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let program = Program { path: args.program.clone(), folder, is_keeping: args.keep.is_some() };
    if let Some(count) = args.simgrid {
        let tables = simulated::run(args, &program, count)?;
        return tables.iter().try_fold(true, |is_good, (title, table)| Ok(is_good & report(args, title, table)?));
    }
    let is_asked = |name: &str| args.family.iter().any(|family| family == name);
    let mut families = Vec::new();
    for name in args.family.iter().filter(|name| *name != "factors") {
        let Some(family) = Family::of(name) else {
            let all: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
            bail!("--family {name}: there are {}, factors", all.join(", "));
        };
        families.push(family);
    }
    if args.family.is_empty() {
        families.extend(FAMILIES);
    }
    let mut is_good = families.is_empty() || run_families(args, &program, &families)?;
    if is_asked("factors") {
        is_good &= run_factors(args, &program)?;
    }
    Ok(is_good)
}

/// Whether somebody closed standard output.
fn is_closed(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref::<io::Error>().is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        // Whoever reads has seen enough.
        Err(error) if error.chain().any(is_closed) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("detector_bench: {:#}", anyhow!(error));
            ExitCode::from(3)
        }
    }
}
