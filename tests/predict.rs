//! Models against the simulator, where the truth is known: what is fitted, what is predicted, and whether a simulation
//! of the exported fit measures the same as the one it was fitted to.

mod common;

use std::{fs, path::Path, process::Command};

use common::simgrid::{simulate, simulate_in};
use netmatrix::{
    analysis::model::{
        accuracy::Accuracy,
        hockney::{Distances, Hockney},
        loggp::LogGp,
        predict::{Model, Ways},
    },
    record::{Run, Statistic, operations::Operations},
    store,
};

const PAIRS: &str = "-n 3 --warmup 1 --schedule disjoint -f net \
                     --lengths 1,64,256,512,1K,2K,4K,8K,16K,32K,64K,128K,256K,512K,1M,2M";

/// On synchronised clocks: what processes differ in when they leave a barrier is longer than some of these operations.
/// So many lengths, because the library's protocol changes among them.
const AT_SCALE: &str = "--timing clock -n 1 --warmup 1 --inject-compute 1e-9 --lengths 8,512,1K,16K,24K,32K -f net \
                        --operations probes,reductions,bcast_naive,bcast_hypercube";

/// Each copy and each sum takes a nanosecond per byte: computation is free in the simulator.
const OPERATIONS: &str = "-n 3 --warmup 1 --procs 8 --lengths 8,1K,16K,64K --inject-compute 1e-9 -f net \
                          --operations probes,reduce_binomial,reduce_binary_last,reduce_chains_short_first";
const PER_BYTE: f64 = 1e-9;

/// SimGrid's factor of 2.01467 for the shortest messages, on two cables of 400 ns.
const SHORT: f64 = 2.01467 * 2.0 * 400e-9;
/// Its factor of 0.940694 for the longest, on cables of 100 Gbit/s.
const BANDWIDTH: f64 = 0.940694 * 12.5e9;

fn assert_near(what: &str, found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.05, "{what}: {found:e} is not {expected:e}");
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// |ln| of the ratios of all pairs at all lengths.
fn differences(one: &dyn Run, other: &dyn Run) -> Vec<f64> {
    let of = |length| {
        let [one, other] = [one, other].map(|run| run.matrix(Statistic::Median, length).unwrap());
        one.off_diagonal().zip(other.off_diagonal()).map(|(a, b)| (a / b).ln().abs()).collect::<Vec<_>>()
    };
    assert_eq!(one.lengths(), other.lengths());
    (0..one.lengths().len()).flat_map(of).collect()
}

fn times(run: &Operations) -> Vec<f64> {
    let lengths = run.lengths.len();
    let cells = (0..run.operations.len()).flat_map(|operation| (0..lengths).map(move |length| (operation, length)));
    cells.map(|(operation, length)| run.measured(operation, 0, length).summary.median).collect()
}

fn read(folder: &Path) -> (store::ResultSet, Operations) {
    let prefix = folder.join("net");
    (store::open(&prefix).unwrap(), store::read_operations(&store::operations_path(&prefix)).unwrap())
}

/// Operations of so many processes are predicted within a tenth, and in their order.
fn is_predicted(hosts: usize, procs: &str) {
    let cluster = format!("--hosts {hosts}");
    let arguments = format!("{AT_SCALE} --procs {procs}");
    let pairs = "--schedule disjoint -n 1 --warmup 0 --retest 0 --lengths 8,512,1K,16K,24K,32K -f net";
    let [pairs, operations] = [pairs, &arguments].map(|arguments| {
        let simulation = simulate(&cluster, arguments);
        assert_eq!(simulation.code, Some(0), "{simulation:?}");
        simulation.folder
    });
    let pairs = store::open(&pairs.path().join("net")).unwrap();
    let run = store::read_operations(&store::operations_path(&operations.path().join("net"))).unwrap();
    let mut model = Model::new(run.hosts.clone(), LogGp::all(&run).unwrap());
    model.ways = Some(Ways::of(&pairs).unwrap());
    let accuracy = Accuracy::of(&run, &model);
    assert_eq!(accuracy.errors.iter().filter(|errors| errors.operation != "all").count(), 11);
    for errors in &accuracy.errors {
        assert!(errors.median < 0.1, "{errors:?}");
    }
    let rows = || accuracy.rows.iter().filter(|row| row.operation.starts_with("reduce_"));
    for (one, other) in rows().flat_map(|one| rows().map(move |other| (one, other))) {
        let faster = one.measured.unwrap() < 0.9 * other.measured.unwrap();
        if faster && (one.procs, one.length) == (other.procs, other.length) {
            assert!(one.predicted < other.predicted, "{one:?} {other:?}");
        }
    }
}

#[test]
fn operations_of_8_and_64_processes_are_predicted_within_a_tenth_and_in_their_order() {
    is_predicted(64, "8,64");
}

#[test]
fn operations_of_128_processes_are_predicted_within_a_tenth_and_in_their_order() {
    is_predicted(128, "128");
}

#[test]
fn a_simulation_is_fitted_predicted_exported_and_simulated_again() {
    let cluster = "--hosts 8";
    let simulated = simulate(cluster, PAIRS);
    assert_eq!(simulated.code, Some(0), "{simulated:?}");
    let folder = simulated.folder.path();
    let of_operations = simulate(cluster, OPERATIONS);
    assert_eq!(of_operations.code, Some(0), "{of_operations:?}");
    fs::copy(of_operations.folder.path().join("net_operations.nc"), folder.join("net_operations.nc")).unwrap();
    let (pairs, operations) = read(folder);

    let hockney = Hockney::of(&pairs, &Distances::of(&pairs).unwrap(), |_| Ok(())).unwrap();
    let pieces = &hockney.classes[0].fit.pieces;
    assert_near("alpha", pieces[0].line.start.value, SHORT);
    assert_near("bandwidth", 1.0 / pieces[pieces.len() - 1].line.per_byte.value, BANDWIDTH);
    let fits = LogGp::all(&operations).unwrap();
    let parameters = fits[0].parameters;
    assert_near("gamma", parameters.add.value, PER_BYTE);
    assert_near("lambda", parameters.copy.value, PER_BYTE);
    assert_near("one way", fits[0].transit.at(8), SHORT);

    let accuracy = Accuracy::of(&operations, &Model::new(operations.hosts.clone(), fits));
    let reductions: Vec<_> = accuracy.errors.iter().filter(|errors| errors.operation.starts_with("reduce_")).collect();
    assert_eq!(reductions.len(), 4, "{reductions:?}");
    for errors in reductions {
        assert!(errors.median < 0.1, "{errors:?}");
    }
    let worst = accuracy.regrets.iter().map(|regret| regret.regret).fold(0.0, f64::max);
    assert!(!accuracy.regrets.is_empty() && worst < 0.1, "{:?}", accuracy.regrets);

    let again = folder.join("again");
    let exported = Command::new(env!("CARGO_BIN_EXE_network_analyze"))
        .args(["fit", folder.join("net").to_str().unwrap(), "--export", again.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(exported.status.success(), "{exported:?}");
    let options = fs::read_to_string(again.join("simgrid_3.32.cfg")).unwrap();
    let options: Vec<String> = options.lines().map(str::to_owned).collect();
    simulate_in(&again, 8, &options, PAIRS);
    simulate_in(&again, 8, &options, OPERATIONS);
    let (pairs_again, operations_again) = read(&again);
    let of_pairs = median(differences(&pairs, &pairs_again));
    let both = times(&operations).into_iter().zip(times(&operations_again));
    let of_operations = median(both.map(|(one, other)| (one / other).ln().abs()).collect());
    assert!(of_pairs < 0.05 && of_operations < 0.05, "pairs {of_pairs}, operations {of_operations}");
}
