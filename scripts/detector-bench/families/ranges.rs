//! Hosts that are slow in a range of lengths: a wrong MTU, another eager limit, half the width of a slot, a card on the
//! far socket.

use rand::{RngExt, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;

use super::{
    bed::{Bed, Needs},
    hosts::{node, plant_card},
};
use crate::{
    machine::fault::{Fault, Harm, Window},
    planted::{BOTH, Planted, SEND, Sign},
};

/// More packets for a message that does not fit into one, each with its own cost, until the card is the limit again.
pub fn mtu(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs::default());
    let host = bed.take();
    let first = *[1500u64, 4096, 9000].choose(&mut bed.rng).unwrap();
    let is_long = bed.rng.random_bool(0.5);
    let last = if is_long { u64::MAX } else { 1 << 17 };
    let harm = if is_long { Harm::Slow(bed.magnitude(1.1, 4.0)) } else { Harm::Extra(bed.magnitude(0.2e-6, 10e-6)) };
    let scope = bed.ends(&[host], true, true);
    let words = format!("MTU of {} from {first}, to {last}: {harm:?}", bed.name(host));
    let fault = bed.plant(Fault { scope, harm, window: Window { lengths: first..last, ..Window::default() } });
    let answers = vec![node(&bed, host, BOTH)];
    bed.planted.push(Planted::new(words, Sign::Slow("any"), vec![fault], answers));
    bed
}

/// Messages between this host's eager limit and that of the others wait for their receiver.
pub fn eager(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs::default());
    let host = bed.take();
    let last = bed.parts.eager + 1;
    let first = *[64u64, 256, 1024, 2048].choose(&mut bed.rng).unwrap();
    // Another round trip.
    let seconds = 4.0 * bed.parts.core[0] + 2.0 * bed.parts.hop * bed.rng.random_range(1.0..5.0);
    let scope = bed.ends(&[host], true, false);
    let window = Window { lengths: first..last, ..Window::default() };
    let fault = bed.plant(Fault { scope, harm: Harm::Extra(seconds), window });
    let words = format!("eager limit of {} is {first}, usual {}: +{:.2} us", bed.name(host), last - 1, 1e6 * seconds);
    let answers = vec![node(&bed, host, SEND)];
    bed.planted.push(Planted::new(words, Sign::Slow("any"), vec![fault], answers));
    bed
}

pub fn pcie(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs::default());
    // Half the width of a slot that had room to spare, or none.
    let (host, factor) = (bed.take(), bed.rng.random_range(1.2..2.0));
    plant_card(&mut bed, host, factor, (true, true));
    bed
}

/// Every message crosses the link between the sockets: later, and no faster than that.
pub fn socket(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs::default());
    let host = bed.take();
    let (seconds, factor) = (bed.magnitude(0.1e-6, 0.6e-6), bed.rng.random_range(1.02..1.5));
    let scope = bed.ends(&[host], true, true);
    let late = bed.plant(Fault::always(scope.clone(), Harm::Latency(seconds)));
    let slow = bed.plant(Fault::always(scope, Harm::Slow(factor)));
    let words = format!("card of {} on the far socket: +{:.2} us, x{factor:.2}", bed.name(host), 1e6 * seconds);
    let answers = vec![node(&bed, host, BOTH)];
    bed.planted.push(Planted::new(words, Sign::Slow("any"), vec![late, slow], answers));
    bed
}
