//! Whether the hosts have the memory that a launch needs.
//!
//! In: plans, and what the kernel says is free. Out: a complaint. Nothing is allocated.

use std::{fs, path::Path};

use netmatrix::{
    plan::{Estimate, Plan},
    units::{Bytes, Rank, counted},
};

/// Memory that this host can give to new work, as the kernel estimates it, or less where the job has a limit of its
/// own; `None` where it says nothing.
pub fn available() -> Option<Bytes> {
    let host = fs::read_to_string("/proc/meminfo").ok().and_then(|text| in_meminfo(&text));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let job = in_groups(Path::new("/sys/fs/cgroup"), &groups);
    [host, job].into_iter().flatten().min()
}

/// `MemAvailable` of /proc/meminfo.
fn in_meminfo(text: &str) -> Option<Bytes> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kib.saturating_mul(1024)))
}

/// What is left of the limit of this process's control group, or of one that it is in (cgroup v2): batch systems limit
/// jobs so. `groups` is /proc/self/cgroup.
fn in_groups(root: &Path, groups: &str) -> Option<Bytes> {
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let number = |path: &Path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let left = |folder: &Path| {
        // `max` is no number: no limit.
        let limit = number(&folder.join("memory.max"))?;
        Some(Bytes(limit.saturating_sub(number(&folder.join("memory.current"))?)))
    };
    let group = root.join(group);
    group.ancestors().take_while(|folder| folder.starts_with(root)).filter_map(left).min()
}

/// Why the host of rank `me` cannot carry its ranks, if it cannot. Modes are measured one after the other, and give
/// back what they had.
pub fn lacking(plans: &[Plan], me: Rank, available: Option<Bytes>) -> Option<String> {
    let available = available?;
    let (plan, memory) =
        plans.iter().map(|plan| (plan, Estimate::of(plan).memory)).max_by_key(|(_, memory)| *memory)?;
    let here = plan.hosts.ranks_of(plan.hosts.host_of(me)).len() as u64;
    let needed = Bytes(memory.0.saturating_mul(here));
    (needed > available).then(|| {
        format!(
            "{}: {} needs {} ({} of {} each), of which {} are free: use shorter messages, fewer samples or fewer \
             ranks per host",
            plan.hosts.name_of(me),
            plan.mode,
            needed.approximate(),
            counted(here as usize, "rank"),
            memory.approximate(),
            available.approximate(),
        )
    })
}

#[cfg(test)]
mod tests {
    use netmatrix::{
        plan::{Config, Mode, Sweep},
        units::Hosts,
    };

    use super::*;

    #[test]
    fn the_kernels_number_is_found() {
        let text = "MemTotal:       16384 kB\nMemFree:  17 kB\nMemAvailable:   1024 kB\n";
        assert_eq!(in_meminfo(text), Some(Bytes(1 << 20)));
        assert_eq!(in_meminfo("MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn the_tightest_limit_of_a_job_counts() {
        let root = tempfile::tempdir().unwrap();
        let step = root.path().join("slurm/job_7/step_0");
        fs::create_dir_all(&step).unwrap();
        let write = |path: &str, text: &str| fs::write(root.path().join(path), text).unwrap();
        write("slurm/job_7/step_0/memory.max", "max\n");
        write("slurm/job_7/step_0/memory.current", "10\n");
        write("slurm/job_7/memory.max", "1000\n");
        write("slurm/job_7/memory.current", "300\n");
        assert_eq!(in_groups(root.path(), "0::/slurm/job_7/step_0\n"), Some(Bytes(700)));
        assert_eq!(in_groups(root.path(), "0::/elsewhere\n"), None);
    }

    #[test]
    fn a_host_is_asked_for_all_its_ranks_and_the_hungriest_mode() {
        let config = Config {
            modes: vec![Mode::OneToOne, Mode::AllToAll],
            sweep: Sweep::list(&[Bytes(1 << 20)]).unwrap(),
            ..Config::default()
        };
        let plans = Plan::all(&config, &Hosts::new(["a", "a", "a", "b"])).unwrap();
        // 5 messages of 1 MiB each: 15 MiB on a, 5 MiB on b, and a little more.
        let room = Some(Bytes(10 << 20));
        let text = lacking(&plans, 1, room).unwrap();
        assert!(
            text.starts_with("a: all_to_all needs 15") && text.contains("3 ranks") && text.contains("10.0 MiB"),
            "{text}"
        );
        assert_eq!(lacking(&plans, 3, room), None);
        assert_eq!(lacking(&plans, 1, None), None, "where the kernel says nothing the run is tried");
    }
}
