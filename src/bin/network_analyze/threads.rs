//! The threads that compute: as many as the machine has processors, or as a login node's limits allow.

use std::thread::{self, Builder, JoinHandle};

use anyhow::anyhow;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::failure::{Failure, Outcome};

/// Bytes of the stack of each, as a program's first thread has them.
const STACK: usize = 8 << 20;

/// Does `work` on threads that are started before it takes memory; on fewer where so many cannot be had, for which rayon by
/// itself would end the program.
///
/// All have ended when it returns. The libraries behind NetCDF keep memory for every thread that calls them, which is freed
/// when the thread ends; it must not be while the program, on its way out, has these libraries tidy up.
pub fn on_all(work: impl FnOnce() -> Outcome + Send) -> Outcome {
    let mut number = thread::available_parallelism().map_or(1, usize::from);
    loop {
        let mut started = Vec::new();
        match pool(number, &mut started) {
            Ok(pool) => {
                let outcome = pool.install(work);
                drop(pool);
                end(started);
                return outcome;
            }
            Err(_) if number > 1 => {
                end(started);
                number /= 2;
            }
            Err(error) => {
                let error = anyhow!("no thread can be started: {error}; raise the limits (ulimit -u, ulimit -v)");
                return Err(Failure::Internal(error));
            }
        }
    }
}

/// A pool of `number` threads, and these.
fn pool(number: usize, started: &mut Vec<JoinHandle<()>>) -> Result<ThreadPool, ThreadPoolBuildError> {
    let start = |work: rayon::ThreadBuilder| {
        started.push(Builder::new().stack_size(STACK).spawn(|| work.run())?);
        Ok(())
    };
    ThreadPoolBuilder::new().num_threads(number).spawn_handler(start).build()
}

/// Waits until all of a pool that is dropped have freed what is their own, which a scope would not wait for.
fn end(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        // A panic has ended the program where it arose.
        let _ = thread.join();
    }
}
