//! Cost of finding out whom one rank meets: all rounds of one length among 20,000 ranks.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use netmatrix::{
    plan::{Config, Mode, Plan, Schedule},
    units::Hosts,
};

const RANKS: usize = 20_000;

fn schedule(criterion: &mut Criterion) {
    for (name, schedule, ranks_per_host) in [
        ("isolated", Schedule::Isolated, 1),
        ("disjoint, 1 rank per host", Schedule::Disjoint, 1),
        ("disjoint, 4 ranks per host", Schedule::Disjoint, 4),
    ] {
        let hosts = Hosts::new((0..RANKS).map(|rank| format!("n{}", rank / ranks_per_host)));
        let config = Config { schedule, ..Config::default() };
        let plan = Plan { mode: Mode::OneToOne, config, hosts };
        criterion.bench_function(&format!("all rounds of one of {RANKS} ranks, {name}"), |bencher| {
            bencher.iter(|| {
                let rounds = plan.rounds(black_box(7));
                let met = rounds.concerning(1234).filter_map(|round| round.pair_of(1234)).count();
                assert_eq!(met, RANKS - 1);
            });
        });
    }
}

criterion_group!(benches, schedule);
criterion_main!(benches);
