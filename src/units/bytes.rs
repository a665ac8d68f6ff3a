//! Message lengths in bytes.

use std::{fmt, str::FromStr};

use parse_size::Config;

/// A number of bytes. Reads `65536`, `64K`, `64KiB`, `1M`; a unit is always a power of 1024.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A text that is not a number of bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a number of bytes: write 65536, 64K or 1M; units are powers of 1024")]
pub struct ParseBytesError {
    text: String,
}

impl FromStr for Bytes {
    type Err = ParseBytesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Config::new().with_binary().parse_size(text).map(Self).map_err(|_| ParseBytesError { text: text.to_owned() })
    }
}

/// Exact: 65536 is `64K`, 65537 is `65537`. What is printed can be typed on a command line again.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 4] = [(1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
        let exact = UNITS.iter().find(|(size, _)| self.0 >= *size && self.0.is_multiple_of(*size));
        match exact {
            Some((size, unit)) => f.pad(&format!("{}{unit}", self.0 / size)),
            None => f.pad(&self.0.to_string()),
        }
    }
}

impl Bytes {
    /// In a sentence: `1 byte`, `4K bytes`.
    pub fn counted(self) -> String {
        format!("{self} byte{}", if self.0 == 1 { "" } else { "s" })
    }

    /// For people: at most four significant digits, `1.5 MiB`. Loses precision; use `Display` for anything read back.
    pub fn approximate(self) -> String {
        const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
        let mut value = self.0 as f64;
        let mut unit = 0;
        while value >= 1024.0 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        if unit == 0 { format!("{} B", self.0) } else { format!("{value:.1} {}", UNITS[unit]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_is_no_plural() {
        assert_eq!([1, 2, 4096].map(|length| Bytes(length).counted()), ["1 byte", "2 bytes", "4K bytes"]);
    }

    #[test]
    fn reads_what_people_type() {
        for (text, bytes) in [
            ("0", 0),
            ("100", 100),
            ("64K", 65_536),
            ("64k", 65_536),
            ("64KiB", 65_536),
            ("1M", 1 << 20),
            ("2G", 2 << 30),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn names_the_text_that_is_no_number() {
        for text in ["", "-1", "ten", "64X", "1e400"] {
            let error = text.parse::<Bytes>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
    }

    #[test]
    fn prints_exactly_and_approximately() {
        assert_eq!(Bytes(65_536).to_string(), "64K");
        assert_eq!(Bytes(65_537).to_string(), "65537");
        assert_eq!(Bytes(0).to_string(), "0");
        assert_eq!(Bytes(1_572_864).approximate(), "1.5 MiB");
        assert_eq!(Bytes(12).approximate(), "12 B");
        assert_eq!(format!("{:>6}", Bytes(1024)), "    1K");
    }
}
