//! What several test targets share. Each target compiles its own copy and uses a part of it.

#![allow(dead_code, reason = "every test target uses another part")]

pub mod launcher;
pub mod launchers;
pub mod mutation;
pub mod readme;
pub mod simgrid;
pub mod slurm;
