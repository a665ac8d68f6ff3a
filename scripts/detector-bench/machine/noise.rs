//! Samples, one by one: a narrow body, rare additive disturbances, a clock that ticks.

use netmatrix::{
    plan::Config,
    record::{Cell, State},
    stats::{Summary, median},
};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Geometric, StandardNormal};

/// How a healthy machine's samples scatter.
#[derive(Clone, Debug)]
pub struct Noise {
    /// Standard deviation of an empty exchange, as a share of its time.
    pub latency: f64,
    /// Standard deviation of what the payload takes, as a share of it.
    pub transfer: f64,
    /// Share of the samples that are disturbed.
    pub probability: f64,
    /// Seconds that a disturbance takes: between these, all magnitudes alike.
    pub size: (f64, f64),
    /// Seconds between two ticks of the clock; 0: it does not tick.
    pub tick: f64,
}

/// What an exchange would take without noise, in seconds.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// An empty exchange there and back.
    pub round_trip: f64,
    /// The payload, by the route that a sample takes; one of them where routes are static.
    pub transfers: Vec<f64>,
    /// What a fault makes of the scatter: see [`super::fault::Harm::Scatter`].
    pub factor: f64,
    pub probability: f64,
}

/// Takes all samples of a cell as `--timing transfer` does, and reduces them as the program does.
pub fn cell(noise: &Noise, exchange: &Exchange, config: &Config, samples: &mut Vec<f64>, rng: &mut ChaCha8Rng) -> Cell {
    let zeros = config.baseline_exchanges() as usize;
    take(noise, exchange, &[0.0], zeros, samples, rng);
    let half = median(samples) / 2.0;
    take(noise, exchange, &exchange.transfers, config.iterations as usize, samples, rng);
    samples.iter_mut().for_each(|sample| *sample -= half.min(*sample / 2.0));
    let count = samples.len() as u32;
    Cell::measured(Summary::of(samples), count, State::Measured)
}

fn take(
    noise: &Noise,
    exchange: &Exchange,
    transfers: &[f64],
    count: usize,
    samples: &mut Vec<f64>,
    rng: &mut ChaCha8Rng,
) {
    samples.clear();
    let latency = noise.latency * exchange.round_trip;
    for _ in 0..count {
        let transfer =
            if transfers.len() == 1 { transfers[0] } else { transfers[rng.random_range(0..transfers.len())] };
        let payload = noise.transfer * transfer;
        let scatter: f64 = StandardNormal.sample(rng);
        let scatter = scatter * (latency * latency + payload * payload).sqrt() * exchange.factor;
        // Nothing arrives before it was sent: the body is narrow, this is for the far end of a bell.
        samples.push((exchange.round_trip + transfer + scatter).max(0.5 * exchange.round_trip));
    }
    let probability = 1.0 - (1.0 - noise.probability) * (1.0 - exchange.probability);
    if probability > 0.0 {
        let gap = Geometric::new(probability).expect("a probability");
        let (low, high) = (noise.size.0.ln(), noise.size.1.ln());
        let mut next = gap.sample(rng);
        while next < count as u64 {
            samples[next as usize] += rng.random_range(low..high).exp();
            next += 1 + gap.sample(rng);
        }
    }
    if noise.tick > 0.0 {
        for sample in samples {
            *sample = (*sample / noise.tick + rng.random_range(0.0..1.0)).floor() * noise.tick;
        }
    }
}
