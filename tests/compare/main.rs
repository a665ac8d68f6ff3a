//! `compare`: how well it names planted changes, how seldom it makes them up, and the real program.

#[path = "../common/golden.rs"]
mod golden;
#[path = "../common/drawn.rs"]
mod machine;
mod program;
mod quality;
