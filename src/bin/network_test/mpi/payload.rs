//! What messages contain when payloads are checked.
//!
//! Every eight bytes are a hash of the seed, the two ranks, the length and the number of the exchange, mixed with the
//! place, so that a payload that comes twice, from elsewhere or from before is not taken for the right one.

use netmatrix::units::Rank;

/// Names one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Payload {
    pub(super) seed: u64,
    pub(super) from: Rank,
    pub(super) to: Rank,
    pub(super) length: usize,
    pub(super) exchange: u64,
}

/// One step of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Payload {
    fn words(self) -> impl Iterator<Item = [u8; 8]> {
        let parts = [self.from as u64, self.to as u64, self.length as u64, self.exchange];
        let key = parts.into_iter().fold(mix(self.seed), |key, part| mix(key ^ part));
        (0u64..).map(move |place| mix(key.wrapping_add(place)).to_le_bytes())
    }

    /// Writes the message.
    pub(super) fn fill(self, message: &mut [u8]) {
        for (bytes, word) in message.chunks_mut(8).zip(self.words()) {
            bytes.copy_from_slice(&word[..bytes.len()]);
        }
    }

    /// Whether this is the message.
    pub(super) fn is(self, message: &[u8]) -> bool {
        message.chunks(8).zip(self.words()).all(|(bytes, word)| *bytes == word[..bytes.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_damage_is_seen() {
        let payload = Payload { seed: 1, from: 2, to: 3, length: 21, exchange: 4 };
        let mut message = [0; 21];
        payload.fill(&mut message);
        assert!(payload.is(&message));
        for place in 0..message.len() {
            message[place] ^= 1;
            assert!(!payload.is(&message), "byte {place}");
            message[place] ^= 1;
        }
        for other in [
            Payload { seed: 2, ..payload },
            Payload { from: 3, to: 2, ..payload },
            Payload { exchange: 5, ..payload },
            Payload { length: 22, ..payload },
        ] {
            assert!(!other.is(&message), "{other:?}");
        }
        assert!(payload.is(&[]));
    }
}
