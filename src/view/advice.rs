//! A plan as text that a scheduler's commands carry out, once somebody has read it.
//!
//! In: a [`Plan`]. Out: a script, or NHC's list. Every form keeps two promises: the reason that another tool has given a
//! host stays, and only what this tool has drained comes back. A new scheduler is a line in `Scheduler::PREAMBLES` and
//! its name.

use std::io::{self, Write};

use crate::{
    analysis::advice::{Breaker, LeftOut, Named, Plan},
    units::{counted, hostlist},
};

/// Begins every reason, so that this tool's are known.
pub const PREFIX: &str = "network_test:";

/// Who drains hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Slurm's scontrol.
    Slurm,
    /// A list for the check in scripts/packages/nhc.
    Nhc,
    /// Flux.
    Flux,
    /// PBS Professional and OpenPBS.
    Pbs,
    /// kubectl.
    Kubernetes,
}

impl Scheduler {
    /// The shell functions `drain HOST REASON` and `resume HOST`, which keep the promises.
    const PREAMBLES: [(Self, &str); 4] = [
        (Self::Slurm, include_str!("advice/slurm.sh")),
        (Self::Flux, include_str!("advice/flux.sh")),
        (Self::Pbs, include_str!("advice/pbs.sh")),
        (Self::Kubernetes, include_str!("advice/kubernetes.sh")),
    ];

    /// The command that reserves hosts for an hour, before their names, where there is one.
    fn reserve(self) -> Option<&'static str> {
        (self == Self::Slurm)
            .then_some("scontrol create reservation StartTime=now Duration=60 Users=root Flags=IGNORE_JOBS Nodes=")
    }
}

/// Writes the plan. `seconds`: since 1970, when the newest of the diagnosed runs was measured.
pub fn write(plan: &Plan, scheduler: Scheduler, seconds: u64, out: &mut dyn Write) -> io::Result<()> {
    match Scheduler::PREAMBLES.iter().find(|(of, _)| *of == scheduler) {
        Some((_, preamble)) => script(plan, (preamble, scheduler.reserve()), out),
        None => list(plan, seconds, out),
    }
}

fn script(plan: &Plan, (preamble, reserve): (&str, Option<&str>), out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "#!/bin/sh")?;
    writeln!(out, "# What network_analyze advises. Read it, then run it: nothing was done yet.")?;
    remarks(plan, reserve, out)?;
    writeln!(out, "prefix='{PREFIX}'\n{preamble}")?;
    for drain in &plan.drain {
        writeln!(out, "drain {} {}", quoted(&drain.host), quoted(&reason(&drain.why)))?;
    }
    for host in &plan.healthy {
        writeln!(out, "resume {}", quoted(host))?;
    }
    Ok(())
}

/// Of every host but those whose findings are left out: `HOST SECONDS ok` or `HOST SECONDS drain REASON`.
fn list(plan: &Plan, seconds: u64, out: &mut dyn Write) -> io::Result<()> {
    remarks(plan, None, out)?;
    for drain in &plan.drain {
        writeln!(out, "{} {seconds} drain {}", drain.host, reason(&drain.why))?;
    }
    for host in &plan.healthy {
        writeln!(out, "{host} {seconds} ok")?;
    }
    Ok(())
}

/// What the plan does not do, and why, as comments. `reserve`: the command that reserves hosts, before their names.
fn remarks(plan: &Plan, reserve: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
    if let Some(Breaker { hosts, of, at_most }) = plan.breaker {
        writeln!(
            out,
            "# Nothing is drained: {hosts} of {} would be, more than --at-most {}% allows. Look for a common cause.",
            counted(of, "host"),
            // As it was typed: a share such as 0.07 is not exact.
            (1000.0 * at_most).round() / 10.0
        )?;
    }
    for pair in &plan.reserve {
        writeln!(out, "# Reserve both for a closer look, drain neither: {}", described(pair))?;
        if let Some(command) = reserve {
            writeln!(out, "#   {command}{}", pair.hosts.join(","))?;
        }
    }
    for (finding, why) in &plan.left_out {
        let why = match why {
            LeftOut::Known => "known already",
            LeftOut::Unconfirmed => "not confirmed by a re-test or by every diagnosis; --unconfirmed takes it",
            LeftOut::Shared => "shared by several hosts: a switch or a cable, not a host",
        };
        writeln!(out, "# Left out ({why}): {}", described(finding))?;
    }
    Ok(())
}

fn described(finding: &Named) -> String {
    let hosts = match finding.kind.as_str() {
        "link" => finding.hosts.join(" and "),
        _ => hostlist::compress(&finding.hosts),
    };
    format!("{} {hosts}, {}", finding.kind, reason(finding).trim_start_matches(PREFIX).trim())
}

/// One line, as schedulers want it: what, how much, where it stands.
fn reason(finding: &Named) -> String {
    let direction = match finding.direction.as_str() {
        "both" => String::new(),
        direction => format!(" {direction}"),
    };
    let Named { symptom, ratio, id, run, .. } = finding;
    format!("{PREFIX}{direction} {symptom} x{ratio:.2} ({id} of {run})")
}

/// As one word of the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::advice::Drain;

    fn plan() -> Plan {
        let why = Named {
            run: "it's night".into(),
            id: "F1".into(),
            kind: "node".into(),
            hosts: vec!["n3".into()],
            direction: "receive".into(),
            symptom: "bandwidth".into(),
            ratio: 2.55,
            is_retested: true,
        };
        let link = Named { kind: "link".into(), hosts: vec!["n1".into(), "n2".into()], ..why.clone() };
        Plan {
            drain: vec![Drain { host: "n3".into(), why: why.clone() }],
            reserve: vec![link],
            left_out: vec![(why, LeftOut::Known)],
            healthy: vec!["n4".into()],
            breaker: None,
        }
    }

    fn text(scheduler: Scheduler) -> String {
        let mut text = Vec::new();
        write(&plan(), scheduler, 1_795_230_000, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_script_quotes_what_it_drains_and_says_what_it_does_not() {
        let script = text(Scheduler::Slurm);
        assert!(
            script.contains(r"drain 'n3' 'network_test: receive bandwidth x2.55 (F1 of it'\''s night)'"),
            "{script}"
        );
        assert!(script.contains("resume 'n4'\n"), "{script}");
        assert!(script.contains("# Reserve both for a closer look, drain neither: link n1 and n2"), "{script}");
        assert!(script.contains("IGNORE_JOBS Nodes=n1,n2\n"), "{script}");
        assert!(script.contains("# Left out (known already): node n3"), "{script}");
    }

    #[test]
    fn every_scheduler_but_nhc_has_both_functions() {
        for scheduler in [Scheduler::Slurm, Scheduler::Flux, Scheduler::Pbs, Scheduler::Kubernetes] {
            let script = text(scheduler);
            assert!(script.contains("\ndrain() {") && script.contains("\nresume() {"), "{scheduler:?}: {script}");
        }
    }

    #[test]
    fn a_list_has_a_line_for_every_host() {
        let list = text(Scheduler::Nhc);
        assert!(list.contains("\nn3 1795230000 drain network_test: receive bandwidth x2.55"), "{list}");
        assert!(list.ends_with("\nn4 1795230000 ok\n"), "{list}");
    }
}
