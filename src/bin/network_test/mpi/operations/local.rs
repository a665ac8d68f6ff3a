//! What one rank does alone: copies a block, or adds one to another. For lambda and gamma, the seconds per byte of
//! both.

use std::hint::black_box;

use netmatrix::{plan::operation::ProbeKind, record::operations::Measured, stats::Summary};

use super::super::{buffer::touched, clock::wait_until};

/// Seconds that a sample lasts at least, if the clock moves at all: short blocks are copied several times for it.
const SAMPLE: f64 = 2e-5;

/// Most times that a block is copied for a sample.
const MOST_REPEATS: usize = 4096;

/// Samples of one length.
pub(super) struct Limits {
    /// Number of samples, at most.
    pub(super) samples: usize,
    /// Seconds that they take at most, once there are a few.
    pub(super) time: f64,
    /// Seconds per byte that are added, for tests.
    pub(super) compute: f64,
}

/// Measures blocks of `length` bytes; `None` where the kind has no such blocks. The error is the number of bytes that
/// are not there.
pub(super) fn measure(kind: ProbeKind, length: usize, limits: &Limits) -> Result<Option<Measured>, u64> {
    if length == 0 || (kind == ProbeKind::Add && !length.is_multiple_of(size_of::<f64>())) {
        return Ok(None);
    }
    Ok(Some(match kind {
        ProbeKind::Add => {
            let elements = length / size_of::<f64>();
            let (from, mut into) = (touched(elements, 1.0)?, touched(elements, 2.0)?);
            sampled(length, limits, || {
                black_box(&mut into).iter_mut().zip(black_box(&from)).for_each(|(into, from)| *into += *from);
            })
        }
        _ => {
            let (from, mut into) = (touched(length, 1u8)?, touched(length, 2u8)?);
            sampled(length, limits, || black_box(&mut into[..]).copy_from_slice(black_box(&from)))
        }
    }))
}

fn sampled(length: usize, limits: &Limits, mut work: impl FnMut()) -> Measured {
    let mut once = || {
        let begin = mpi::time();
        work();
        if limits.compute > 0.0 {
            wait_until(begin + length as f64 * limits.compute);
        }
    };
    let mut timed = |repeats: usize| {
        let begin = mpi::time();
        (0..repeats).for_each(|_| once());
        mpi::time() - begin
    };
    // The first one may meet memory that is not in a cache.
    timed(1);
    let one = timed(1);
    let repeats = if one > 0.0 { ((SAMPLE / one).ceil() as usize).clamp(1, MOST_REPEATS) } else { 1 };
    let begin = mpi::time();
    let mut times = Vec::with_capacity(limits.samples);
    while times.len() < limits.samples
        && (times.len() < netmatrix::plan::operation::FEWEST_SAMPLES || mpi::time() - begin < limits.time)
    {
        times.push(timed(repeats) / repeats as f64);
    }
    let samples = times.len() as u32;
    Measured { summary: Summary::of(&mut times), samples, ..Measured::NOTHING }
}
