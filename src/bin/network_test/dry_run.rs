//! What `--dry-run` says: what the plans of a launch will take, on the network that is assumed.
//!
//! In: plans. Out: text. Whether results exist already, and whether a run could write any, is looked up; nothing is left
//! behind, and nothing is sent.

use std::time::Duration;

use indicatif::HumanDuration;
use netmatrix::{
    plan::{Estimate, Network, Plan},
    store::{self, StoreError},
    units::{Rate, Seconds, hostlist},
};

/// What the plans will take.
pub fn report(plans: &[Plan], network: &Network) -> String {
    let Some(first) = plans.first() else { return String::new() };
    let lengths = first.lengths();
    let mut text = format!(
        "hosts     {} ({})\nranks     {}\nlengths   {} ({})\n",
        first.hosts.count(),
        hostlist::compress(first.hosts.names()),
        first.hosts.ranks(),
        lengths.len(),
        first.config.sweep,
    );
    plans.iter().for_each(|plan| text += &of_plan(plan, network));
    let all: f64 = plans.iter().map(|plan| network.seconds(plan)).sum();
    text += &format!(
        "\ntime      {} in all, assuming {} for an empty message and {} for long ones\n          \
         (--assume-latency, --assume-bandwidth); a run corrects this by its own progress\n",
        about(all),
        Seconds(network.latency),
        Rate(network.bandwidth),
    );
    text
}

fn of_plan(plan: &Plan, network: &Network) -> String {
    let estimate = Estimate::of(plan);
    format!(
        "\n{} ({}) -> {}_*.nc{}\n  rounds     {} per length\n  pairs      {} per length\n  exchanges  {}\n  \
         on disk    {}\n  memory     {} per rank, {} per host\n  time       {}, assumed\n",
        plan.mode,
        plan.schedule(),
        plan.prefix().display(),
        existing(plan),
        estimate.rounds,
        estimate.pairs,
        estimate.exchanges,
        estimate.disk.approximate(),
        estimate.memory.approximate(),
        estimate.memory_of_host.approximate(),
        about(network.seconds(plan)),
    )
}

/// What becomes of results that are there already, and whether the run would be refused because of where they are to be.
fn existing(plan: &Plan) -> String {
    let exists = match (store::exists(&plan.prefix()), plan.config.resume, plan.config.force) {
        (false, _, _) => return refusal(store::check(&plan.prefix(), true)),
        (true, true, _) => "the run would go on behind its finished lengths (--resume)",
        (true, _, true) => "the results would be replaced (--force)",
        (true, false, false) => "the run would be refused: give --resume, --force or another -f",
    };
    format!("\n  exists     {exists}")
}

/// As a line: why a run would be refused, if it would.
pub fn refusal(checked: Result<(), StoreError>) -> String {
    checked.err().map_or_else(String::new, |error| format!("\n  refused    here, the run would be: {error}"))
}

/// A time that is only roughly known.
fn about(seconds: f64) -> String {
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if seconds >= 1.0 => format!("about {}", HumanDuration(time)),
        Ok(_) => "less than a second".to_owned(),
        Err(_) => "longer than can be counted".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use netmatrix::{plan::Config, units::Hosts};

    use super::*;

    #[test]
    fn it_says_that_a_run_could_write_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let report = |prefix: &str| {
            let config = Config { prefix: folder.path().join(prefix), ..Config::default() };
            report(&Plan::all(&config, &Hosts::new(["a", "b"])).unwrap(), &Network::default())
        };
        assert!(!report("run").contains("refused"));
        let text = report("nowhere/run");
        assert!(
            text.contains("\n  refused ") && text.contains("nowhere` of the result files does not exist"),
            "{text}"
        );
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "nothing is left behind");
    }

    #[test]
    fn it_says_what_becomes_of_existing_results() {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("run");
        let report = |resume, force| {
            let config = Config { prefix: prefix.clone(), resume, force, ..Config::default() };
            report(&Plan::all(&config, &Hosts::new(["a", "b"])).unwrap(), &Network::default())
        };
        assert!(!report(false, false).contains("exists"));
        std::fs::write(folder.path().join("run_median.nc"), "").unwrap();
        for (resume, force, word) in [(false, false, "refused"), (true, false, "go on"), (false, true, "replaced")] {
            assert!(report(resume, force).contains(word), "{word}");
        }
    }
}
