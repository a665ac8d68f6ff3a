//! The threads that compute: as many as the machine has processors, or as a login node's limits allow.

use std::thread;

use anyhow::anyhow;
use rayon::ThreadPoolBuilder;

use super::failure::{Failure, Outcome};

/// Bytes of the stack of each, as a program's first thread has them.
const STACK: usize = 8 << 20;

/// Does `work` on threads that are started before it takes memory; on fewer where so many cannot be had, for which rayon by
/// itself would end the program.
pub fn on_all(work: impl FnOnce() -> Outcome + Send) -> Outcome {
    let mut threads = thread::available_parallelism().map_or(1, usize::from);
    loop {
        match ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build() {
            Ok(pool) => return pool.install(work),
            Err(_) if threads > 1 => threads /= 2,
            Err(error) => {
                let error = anyhow!("no thread can be started: {error}; raise the limits (ulimit -u, ulimit -v)");
                return Err(Failure::Internal(error));
            }
        }
    }
}
