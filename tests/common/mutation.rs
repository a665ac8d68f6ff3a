//! Spoils files, the same way for the same seed.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Changes some bytes. Texts that a terminal obeys come in often, and numbers that are too large.
pub fn mutate(bytes: &[u8], rng: &mut ChaCha8Rng) -> Vec<u8> {
    const TOKENS: [&[u8]; 14] = [
        b"\x1b[31m",
        b"\x07",
        "\u{202e}".as_bytes(),
        "\u{9b}".as_bytes(),
        b"\r\n",
        b"\0",
        b"inf",
        b"NaN",
        b"-1",
        b"1e308",
        b"[1-65536]",
        b"99999999999999999999",
        b"\xff\xfe",
        b"\"",
    ];
    const NUMBERS: [u32; 8] = [0, 1, 0x7fff_ffff, 0xffff_ffff, 0x8000_0000, 0x10_0000, 0x7ff0_0000, 12];
    let mut bytes = bytes.to_vec();
    for _ in 0..rng.random_range(1..4) {
        let place = rng.random_range(0..=bytes.len());
        let behind = (place + rng.random_range(1..64)).min(bytes.len());
        match rng.random_range(0..7) {
            0 if place < bytes.len() => bytes[place] = rng.random(),
            1 if place < bytes.len() => bytes[place] ^= 1 << rng.random_range(0..8),
            2 if place + 4 <= bytes.len() => {
                let place = place / 4 * 4;
                bytes[place..place + 4].copy_from_slice(&NUMBERS[rng.random_range(0..NUMBERS.len())].to_be_bytes());
            }
            3 => drop(bytes.splice(place..place, TOKENS[rng.random_range(0..TOKENS.len())].iter().copied())),
            4 => drop(bytes.drain(place..behind)),
            5 => {
                let copied = bytes[place..behind].to_vec();
                let to = rng.random_range(0..=bytes.len());
                drop(bytes.splice(to..to, copied));
            }
            6 if rng.random_range(0..4) == 0 => bytes.truncate(place),
            _ => {}
        }
    }
    bytes
}
