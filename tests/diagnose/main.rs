//! `diagnose`: what it names of planted faults, what it refuses to judge, how seldom it makes something up, and what it
//! prints, by the real program.

mod bed;
mod faults;
#[path = "../common/golden.rs"]
mod golden;
mod healthy;
#[path = "../common/lomonosov.rs"]
#[allow(dead_code, reason = "sizes of files are for the tests of clusters")]
mod lomonosov;
#[path = "../common/drawn.rs"]
#[allow(dead_code, reason = "other tests plant other changes")]
mod machine;
mod modes;
mod program;
mod retests;
mod text;
mod unfit;
