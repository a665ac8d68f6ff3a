//! The command line, as typed.

use clap::CommandFactory;
use netmatrix::plan::operation::ProgramSource;

use super::*;

fn parse(arguments: &str) -> Args {
    Args::try_parse_from(arguments.split_whitespace()).unwrap()
}

fn refusal(arguments: &str) -> String {
    match Args::try_parse_from(arguments.split_whitespace()) {
        Ok(args) => args.config().unwrap_err().to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_flags_are_consistent() {
    Args::command().debug_assert();
}

#[test]
fn an_empty_command_line_is_the_default_configuration() {
    assert_eq!(parse("network_test").config().unwrap(), Config::default());
}

#[test]
fn every_flag_arrives() {
    let config = parse(
        "network_test -t put,get -f out/x --lengths 1,64K -n 70 --warmup 2 --warmup-time 5ms -l 1K -m 3 -p 4 --noise-pattern ring --timing clock \
         --precision 2.5 --schedule disjoint --sample-rounds 5 --retest 6 --statistics first,p90 --verify --seed 9 --time-limit 1h \
         --timeout 5s --force",
    )
    .config()
    .unwrap();
    let expected = Config {
        modes: vec![Mode::Put, Mode::Get],
        prefix: "out/x".into(),
        sweep: Sweep::list(&[Bytes(1), Bytes(65_536)]).unwrap(),
        iterations: 70,
        precision: Some(Precision { percent: 2.5 }),
        warmup: 2,
        warmup_time: Duration::from_millis(5),
        noise: Noise { length: Bytes(1024), messages: 3, processes: 4 },
        noise_pattern: NoisePattern::Ring,
        timing: Timing::Clock,
        schedule: Schedule::Disjoint,
        sample_rounds: Some(5),
        retest: 6,
        optional: vec![Optional::P90, Optional::First],
        seed: 9,
        verify: true,
        time_limit: Some(Duration::from_secs(3600)),
        timeout: Duration::from_secs(5),
        force: true,
        resume: false,
    };
    assert_eq!(config, expected);
    assert!(parse("network_test --resume").config().unwrap().resume);
}

#[test]
fn the_flags_of_operations_arrive() {
    assert_eq!(parse("network_test").operations().unwrap(), None);
    let typed = parse(
        "network_test --operations bcast,probes --procs 2,8 --procs-per-host 4 --chains 1,sqrt --accesses 8,32 \
         --cell-time 5ms --program fft:N=64 --lengths 8,64",
    );
    let expected = OperationConfig {
        selection: "bcast,probes".parse().unwrap(),
        procs: vec![2, 8],
        procs_per_host: Some(4),
        chains: "1,sqrt".parse().unwrap(),
        iterations: vec![8, 32],
        cell_time: Duration::from_millis(5),
        lengths: Some(vec![Bytes(8), Bytes(64)]),
        programs: vec![ProgramSource::Skeleton("fft:N=64".parse().unwrap())],
        compute: 0.0,
    };
    assert_eq!(typed.operations().unwrap(), Some(expected));
    let usual = parse("network_test --operations all").operations().unwrap().unwrap();
    assert_eq!(usual, OperationConfig { selection: "all".parse().unwrap(), ..OperationConfig::default() });
    for (arguments, named) in [
        ("--chains 3", "--chains"),
        ("--accesses 3", "--accesses"),
        ("--cell-time 1s", "--cell-time"),
        ("--program x.steps", "`x.steps`"),
        ("--procs 2", "--procs"),
    ] {
        let error = parse(&format!("network_test {arguments}")).operations().unwrap_err().to_string();
        assert!(error.contains(named), "{arguments}: {error}");
    }
}

#[test]
fn network_tests2s_spellings_still_work() {
    let old = "network_test --num_iterations 5 --length_noise_message 1 --num_noise_message 2 --procs_noise 3";
    let new = "network_test --num-iterations 5 --length-noise-message 1 --num-noise-message 2 --procs-noise 3";
    assert_eq!(parse(old).config().unwrap(), parse(new).config().unwrap());
}

#[test]
fn a_file_of_a_set_stands_for_its_prefix() {
    assert_eq!(parse("network_test -f out/x_median.nc").config().unwrap().prefix, PathBuf::from("out/x"));
    assert_eq!(parse("network_test -f out/x.nc").config().unwrap().prefix, PathBuf::from("out/x.nc"));
}

#[test]
fn all_means_all_modes() {
    assert_eq!(parse("network_test -t all").config().unwrap().modes.len(), 9);
}

#[test]
fn what_is_wrong_is_named() {
    for (arguments, named) in [
        ("network_test -t one_to_two", "`one_to_two`"),
        ("network_test -n -5", "-5"),
        ("network_test -n 99999999999", "99999999999"),
        ("network_test -n 0", "0 iterations"),
        ("network_test -b 10 -e 10", "begin 10"),
        ("network_test -s 0", "step 0"),
        ("network_test -e 4G -s 1G", "message length 3G"),
        ("network_test --lengths 1,1", "listed twice"),
        ("network_test -b 1 --lengths 1", "--lengths"),
        ("network_test --geometric 1:8", "BEGIN:END:FACTOR"),
        ("network_test --dry-run --ranks 8 --hosts 9", "--hosts 9"),
        ("network_test --time-limit 5", "`5` is not a time"),
        ("network_test --time-limit 1:2:x", "`1:2:x` is not a time"),
        ("network_test --dry-run --ranks 8 --assume-latency 5", "such as 5us"),
        ("network_test --precision 0", "precision of 0 %"),
        ("network_test --resume --force", "--resume"),
        ("network_test --precision 2 -n 5", "-n 5"),
        ("network_test --timeout 0s", "--timeout 0"),
        ("network_test --noise-pattern star", "`star`"),
        ("network_test --statistics p50", "`p50`"),
        ("network_test -t bcast --lengths 0", "bcast of 0 bytes"),
    ] {
        let refusal = refusal(arguments);
        assert!(refusal.contains(named), "{arguments}: {refusal}");
    }
}

#[test]
fn what_is_wrong_is_said_in_words_of_people() {
    // Hidden ones are for tests of this program.
    for argument in Args::command().get_arguments().filter(|argument| !argument.is_hide_set()) {
        let Some(long) = argument.get_long().filter(|_| argument.get_action().takes_values()) else { continue };
        let refusal = Args::command().try_get_matches_from(["network_test", &format!("--{long}=?")]);
        let text = refusal.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(!text.contains("digit") && !text.contains("literal") && !text.contains("parse"), "{text}");
    }
}

#[test]
fn times_are_read_as_people_and_as_slurm_write_them() {
    for (text, seconds) in [("90m", 5400), ("2h30m", 9000), ("01:00:05", 3605), ("1-00:00:00", 86_400)] {
        assert_eq!(parse_time(text), Ok(Duration::from_secs(seconds)), "{text}");
    }
    assert!(parse_time("99999999999999999-00:00:00").is_err());
}
