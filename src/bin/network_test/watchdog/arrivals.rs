//! When messages of an exchange of many have arrived: written by the thread that measures, and read by its watchdog,
//! which so knows whose message has not come.
//!
//! A slot is stored with one plain instruction, as into any vector: measuring costs nothing more.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use netmatrix::units::Rank;

/// Sources that a line of the stuck file names at most: who waits for many more has no need to name them all.
const MOST: usize = 64;

#[derive(Debug)]
struct Slots {
    /// Seconds as bits, `[source]`.
    seconds: Vec<AtomicU64>,
    /// The sources of the exchange under way are those from `first` up to below `end`.
    first: AtomicUsize,
    end: AtomicUsize,
}

/// One slot per source.
#[derive(Clone, Debug)]
pub struct Arrivals(Arc<Slots>);

impl Arrivals {
    /// Of so many sources, none of which has arrived.
    pub fn new(sources: usize) -> Self {
        let seconds = (0..sources).map(|_| AtomicU64::new(f64::NAN.to_bits())).collect();
        Self(Arc::new(Slots { seconds, first: AtomicUsize::new(0), end: AtomicUsize::new(0) }))
    }

    /// The message of a source has arrived after so many seconds.
    #[inline]
    pub fn set(&self, source: Rank, seconds: f64) {
        self.0.seconds[source].store(seconds.to_bits(), Relaxed);
    }

    /// When it arrived.
    pub fn get(&self, source: Rank) -> f64 {
        f64::from_bits(self.0.seconds[source].load(Relaxed))
    }

    /// An exchange with these sources comes next.
    pub fn clear(&self, sources: std::ops::Range<Rank>) {
        sources.for_each(|source| self.set(source, f64::NAN));
    }

    /// The exchange with these sources begins.
    pub fn begin(&self, sources: std::ops::Range<Rank>) {
        self.0.first.store(sources.start, Relaxed);
        self.0.end.store(sources.end, Relaxed);
    }

    /// It is over: nothing is awaited.
    pub fn end(&self) {
        self.0.end.store(0, Relaxed);
    }

    /// Whose messages the exchange under way still needs.
    pub fn missing(&self) -> Vec<Rank> {
        let (first, end) = (self.0.first.load(Relaxed), self.0.end.load(Relaxed).min(self.0.seconds.len()));
        (first..end).filter(|source| self.get(*source).is_nan()).take(MOST).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_not_come_is_missing_while_it_is_awaited() {
        let arrivals = Arrivals::new(4);
        assert!(arrivals.missing().is_empty());
        arrivals.clear(0..4);
        arrivals.begin(0..4);
        arrivals.set(1, 2e-6);
        assert_eq!((arrivals.missing(), arrivals.get(1)), (vec![0, 2, 3], 2e-6));
        arrivals.end();
        assert!(arrivals.missing().is_empty());
        arrivals.clear(2..3);
        arrivals.begin(2..3);
        assert_eq!(arrivals.missing(), [2]);
        let many = Arrivals::new(1000);
        many.begin(0..1000);
        assert_eq!(many.missing().len(), MOST);
    }
}
