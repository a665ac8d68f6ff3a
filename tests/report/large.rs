//! A run that is too large to be kept: its values are made when they are read.

use std::{ops::Range, sync::LazyLock};

use netmatrix::{
    plan::{Config, Mode, Noise},
    record::{BoxError, Header, Provenance, Run, Statistic},
    units::{Bytes, Hosts},
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Hosts with a rank each on leaf switches of 32 hosts. Medians scatter by 2 %, deviations by 7 %, as those of a
/// hundred samples do, and the largest of each far more; one host receives slowly.
pub struct Large {
    header: Header,
}

/// The host that receives slowly.
pub const SLOW: usize = 300;

impl Large {
    pub fn new(ranks: usize, lengths: u64) -> Self {
        let lengths: Vec<Bytes> = (0..lengths).map(|k| Bytes(k * 2048)).collect();
        let header = Header {
            mode: Mode::OneToOne,
            hosts: Hosts::new((0..ranks).map(|rank| format!("node{:04}", rank + 1))),
            begin_end_step: (Bytes(0), Bytes(lengths.len() as u64 * 2048), Bytes(2048)),
            planned: lengths,
            iterations: 100,
            noise: Noise { messages: 0, ..Config::default().noise },
            plan: Default::default(),
            provenance: Provenance::default(),
        };
        Self { header }
    }

    /// Seconds without scatter.
    pub fn typical(source: usize, destination: usize, length: Bytes) -> f64 {
        let is_near = source / 32 == destination / 32;
        let (latency, bandwidth) = if is_near { (1.2e-6, 12e9) } else { (1.8e-6, 11e9) };
        latency + length.0 as f64 / if destination == SLOW { 3e9 } else { bandwidth }
    }

    pub fn value(&self, statistic: Statistic, length: usize, source: usize, destination: usize) -> f64 {
        if source == destination {
            return 0.0;
        }
        let typical = Self::typical(source, destination, self.header.planned[length]);
        let number = (length as u64) << 40 | (source as u64) << 20 | destination as u64;
        match statistic {
            Statistic::Deviation => 0.03 * typical * (0.07 * normal(number ^ 1 << 60)).exp(),
            Statistic::Median => typical * (0.02 * normal(number)).exp(),
            Statistic::Min => 0.95 * typical * (0.01 * normal(number ^ 2 << 60)).exp(),
            Statistic::Average => 1.02 * typical * (0.03 * normal(number ^ 3 << 60)).exp(),
            _ => 2.0 * typical * (0.6 * normal(number ^ 4 << 60)).exp(),
        }
    }
}

impl Run for Large {
    fn header(&self) -> &Header {
        &self.header
    }

    fn lengths(&self) -> &[Bytes] {
        &self.header.planned
    }

    fn statistics(&self) -> &[Statistic] {
        &Statistic::OF_TIMES
    }

    fn read_rows(
        &self,
        statistic: Statistic,
        length: usize,
        rows: Range<usize>,
        values: &mut [f64],
    ) -> Result<(), BoxError> {
        let ranks = self.ranks();
        for (row, part) in rows.zip(values.chunks_mut(ranks)) {
            for (column, value) in part.iter_mut().enumerate() {
                *value = self.value(statistic, length, row, column);
            }
        }
        Ok(())
    }
}

/// A normal deviate, always the same for a number: one of many that are drawn once, as there are very many numbers.
fn normal(number: u64) -> f64 {
    static DRAWN: LazyLock<Vec<f64>> = LazyLock::new(|| {
        let rng = ChaCha8Rng::seed_from_u64(1);
        StandardNormal.sample_iter(rng).take(1 << 16).collect()
    });
    // The mixing of splitmix64.
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    DRAWN[(z >> 48) as usize]
}
