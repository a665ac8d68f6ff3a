//! Exit codes of both programs. Scripts rely on them: a code never changes its meaning.

/// Done; for `diagnose` and `compare`: nothing found.
pub const SUCCESS: u8 = 0;

/// `diagnose` and `compare` have findings; `network_test --verify` met damaged payloads.
pub const FINDINGS: u8 = 1;

/// The command line is wrong.
pub const USAGE: u8 = 2;

/// A file cannot be read, written or resumed, or is not what it should be.
pub const FILES: u8 = 3;

/// A fault of the program or of the machine under it.
pub const INTERNAL: u8 = 4;

/// `diagnose` and `compare`: what was measured cannot be judged or compared.
pub const UNJUDGED: u8 = 5;

/// Stopped early: finished lengths are safe, `--resume` continues (the sysexits.h code for "try again later").
pub const RESUMABLE: u8 = 75;
