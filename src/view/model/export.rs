//! Fitted models as files of other programs: SimGrid, LogGOPSim, Open MPI, lists of hosts.

use std::io::{self, Write};

use crate::analysis::model::{
    export::{LogGops, Rules, SimGrid},
    hockney::Distances,
};

/// Text in an attribute of XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// SimGrid's platform: each host has a cable out and one in, each distance a latency; factors come by [`options`].
pub fn write_platform(grid: &SimGrid, distances: &Distances, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">")?;
    for newer in [false, true] {
        let version = if newer { "from 3.34 on" } else { "up to 3.33" };
        // Two hyphens may not stand in a comment.
        writeln!(out, "<!-- SimGrid {version}, each as an option cfg=...: {} -->", options(grid, newer).join(" "))?;
    }
    writeln!(out, "<platform version=\"4.1\">\n<zone id=\"cluster\" routing=\"Full\">")?;
    for host in &grid.hosts {
        writeln!(out, "<host id=\"{}\" speed=\"1Gf\"/>", escaped(&host.name))?;
    }
    let fatpipe = " sharing_policy=\"FATPIPE\"";
    let link = |id: &str, bandwidth: f64, latency: f64, policy: &str| {
        format!("<link id=\"{id}\" bandwidth=\"{bandwidth:.0}Bps\" latency=\"{latency:.4e}s\"{policy}/>")
    };
    for (number, host) in grid.hosts.iter().enumerate() {
        // What a host adds is added to a way once, by its own end.
        for (way, (bandwidth, latency)) in ["out", "in"].iter().zip(host.bandwidth.into_iter().zip(host.latency)) {
            writeln!(out, "{}", link(&format!("{way}_{number}"), bandwidth, latency, ""))?;
        }
    }
    for (class, name, latency) in &grid.classes {
        writeln!(out, "<!-- {name} -->\n{}", link(&format!("class_{class}"), 1e15, *latency, fatpipe))?;
    }
    writeln!(out, "{}", link("memory", grid.memory.0, grid.memory.1, fatpipe))?;
    for (from, source) in grid.hosts.iter().enumerate() {
        for (to, destination) in grid.hosts.iter().enumerate() {
            let ends = format!("src=\"{}\" dst=\"{}\"", escaped(&source.name), escaped(&destination.name));
            let class = distances.class_of_hosts(from, to);
            let known = grid.classes.iter().find(|own| own.0 == class).or(grid.classes.last()).map_or(1, |own| own.0);
            let links = match from == to {
                true => vec!["memory".to_owned()],
                false => vec![format!("out_{from}"), format!("class_{known}"), format!("in_{to}")],
            };
            let links: String = links.iter().map(|link| format!("<link_ctn id=\"{link}\"/>")).collect();
            writeln!(out, "<route {ends} symmetrical=\"NO\">{links}</route>")?;
        }
    }
    writeln!(out, "</zone>\n</platform>")
}

/// SimGrid's options, `NAME:VALUE`, for `--cfg=`. `newer`: names from 3.34 on; Debian's 3.32 has the others.
pub fn options(grid: &SimGrid, newer: bool) -> Vec<String> {
    // A factor holds for lengths above its boundary, and the first one from the shortest length on.
    let boundary = |number: usize, first: u64| if number == 0 { 0 } else { first.saturating_sub(1) };
    let factors = |factors: &[(u64, f64)]| {
        let factors = factors.iter().enumerate();
        let each = factors.map(|(number, (first, factor))| format!("{}:{factor:.6}", boundary(number, *first)));
        each.collect::<Vec<_>>().join(";")
    };
    let [latency, bandwidth] = if newer {
        ["network/latency-factor", "network/bandwidth-factor"]
    } else {
        ["smpi/lat-factor", "smpi/bw-factor"]
    };
    let mut options = vec![
        "network/crosstraffic:0".to_owned(),
        format!("{latency}:{}", factors(&grid.latency_factors)),
        format!("{bandwidth}:{}", factors(&grid.bandwidth_factors)),
    ];
    let overheads = |pieces: &[(u64, f64, f64)]| {
        let one =
            |(first, start, slope): &(u64, f64, f64)| format!("{}:{start:.4e}:{slope:.4e}", first.saturating_sub(1));
        pieces.iter().map(one).collect::<Vec<_>>().join(";")
    };
    for (names, pieces) in [(&["smpi/os", "smpi/ois"][..], &grid.overheads[0]), (&["smpi/or"], &grid.overheads[1])] {
        if pieces.iter().any(|piece| piece.1 > 0.0 || piece.2 > 0.0) {
            options.extend(names.iter().map(|name| format!("{name}:{}", overheads(pieces))));
        }
    }
    if let Some(length) = grid.rendezvous {
        options.push(format!("smpi/send-is-detached-thresh:{length}"));
    }
    options
}

/// LogGOPSim's command line. Its numbers are whole: the unit is a picosecond, so that G is not 0.
pub fn write_loggopsim(line: &LogGops, out: &mut dyn Write) -> io::Result<()> {
    let pico = |value: f64| (value * 1e12).round().max(0.0);
    let [l, o, g] = line.seconds.map(pico);
    let [rate, own] = line.per_byte.map(pico);
    let wait = line.rendezvous.unwrap_or(i32::MAX as u64);
    writeln!(out, "# times in picoseconds: LogGOPSim takes whole numbers; calc in schedules counts the same unit")?;
    writeln!(out, "LogGOPSim -L {l} -o {o} -g {g} -G {rate} -O {own} -S {wait} -f SCHEDULE.bin")
}

/// Open MPI's rules for `MPI_Reduce`, in the classic format of 4.x and 5.x.
pub fn write_openmpi(rules: &Rules, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# MPI_Reduce by the fastest algorithm that network_test --operations reductions measured (its own")?;
    writeln!(out, "# implementations of what Open MPI calls 2 chain, 5 binomial, 6 in-order binary). Use:")?;
    writeln!(out, "# --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename THIS_FILE")?;
    writeln!(out, "1            # collectives\n11           # reduce\n{:<12} # numbers of processes", rules.len())?;
    for (procs, lines) in rules {
        writeln!(out, "{procs:<12} # processes, and more up to the next number\n{:<12} # rules", lines.len())?;
        for rule in lines {
            let text = format!("{} {} {} 0", rule.from, rule.algorithm, rule.fanout);
            writeln!(out, "{text:<12} # from so many bytes: algorithm, chains, no segments")?;
        }
    }
    Ok(())
}
