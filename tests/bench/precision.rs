//! What adaptive stopping costs and what it keeps: samples per cell, and how often the median is as close to the true
//! one as promised, on a synthetic machine whose true times are known. A fixed number of samples stands next to it.

use netmatrix::{
    measure::{
        StopRequest, measure,
        synthetic::{Machine, NoiseModel, Synthetic},
    },
    plan::{Config, Mode, Plan, Precision, Sweep, Timing},
    record::{Header, MemoryRun, Provenance, State},
    units::Bytes,
};

/// Cells per line of the table: off the diagonal of 40 x 40.
const HOSTS: usize = 40;
const LENGTH: Bytes = Bytes(4096);

fn main() {
    println!("noise                     rule        samples per cell (median, most)   within   cells that ran out");
    let quiet = NoiseModel {
        sigma: 0.02,
        tail_probability: 0.02,
        tail_factor: 20.0,
        disturbed_cells: 0.0,
        disturbance_factor: 3.0,
    };
    for (name, noise) in [("2 %, tail 2 %", quiet), ("10 %, tail 2 %", NoiseModel { sigma: 0.1, ..quiet })] {
        for percent in [5.0, 2.0, 1.0] {
            row(name, noise, Some(percent), 20_000, percent);
        }
        for percent in [5.0, 2.0, 1.0] {
            row(name, noise, None, 100, percent);
        }
    }
}

/// One line: with adaptive stopping at a precision, or with a fixed number of samples, judged by `judged` percent.
fn row(name: &str, noise: NoiseModel, percent: Option<f64>, iterations: u32, judged: f64) {
    let machine = Machine { noise, ..Machine::leaf_spine(HOSTS, 2, 1) };
    let precision = percent.map(|percent| Precision { percent });
    let config = Config {
        sweep: Sweep::list(&[LENGTH]).expect("one length is a sweep"),
        // On synchronised clocks a sample is the message's way and nothing else: the truth is the model's time.
        timing: Timing::Clock,
        iterations,
        precision,
        ..Config::default()
    };
    let plan = Plan { mode: Mode::OneToOne, config, hosts: machine.hosts.clone() };
    let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
    let mut fabric = Synthetic::new(machine.clone());
    measure(&plan, &mut fabric, Some(&mut run), 0, &StopRequest::default(), &mut |_| {})
        .expect("nothing can fail here");
    let cells: Vec<_> = (0..HOSTS * HOSTS).filter(|cell| cell / HOSTS != cell % HOSTS).collect();
    let truth = |cell: &usize| machine.seconds(cell / HOSTS, cell % HOSTS, LENGTH, 1.0);
    let cell = |cell: &usize| &run.cells(0)[*cell];
    let within = |at: &&usize| (cell(at).summary.median / truth(at) - 1.0).abs() <= judged / 100.0;
    let mut samples: Vec<_> = cells.iter().map(|at| cell(at).samples).collect();
    samples.sort_unstable();
    println!(
        "{name:<25} {:<11} {:>10} {:>21} {:>8.1} % of {:<3} {}",
        percent.map_or(format!("-n {iterations}"), |percent| format!("{percent} %")),
        samples[samples.len() / 2],
        samples[samples.len() - 1],
        100.0 * cells.iter().filter(within).count() as f64 / cells.len() as f64,
        format!("{judged} %"),
        cells.iter().filter(|at| cell(at).state == State::Imprecise).count(),
    );
}
