//! The types of NetCDF classic files: how many bytes a value takes, and what it is as a number of ours.

/// Type of a variable or an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum Kind {
    Byte,
    Char,
    Short,
    Int,
    Float,
    Double,
    UByte,
    UShort,
    UInt,
    Int64,
    UInt64,
}

/// Times beyond this many seconds, and numbers of samples beyond it, are none: 136 years, and what 32 bits can count.
/// What the library fills places with that were never written (9.97e36) is beyond it as well.
pub(in crate::store) const MOST: f64 = u32::MAX as f64;

/// A stored number as a value of ours: NaN, which is "missing", unless it is one that was measured.
pub(in crate::store) fn sound(value: f64) -> f64 {
    if value.abs() <= MOST { value } else { f64::NAN }
}

impl Kind {
    /// The type with a number of the format.
    pub(super) fn of(number: u64) -> Option<Self> {
        use Kind::*;
        let all = [Byte, Char, Short, Int, Float, Double, UByte, UShort, UInt, Int64, UInt64];
        all.get(usize::try_from(number.checked_sub(1)?).ok()?).copied()
    }

    /// The number of the type in the format.
    pub(super) fn number(self) -> u32 {
        self as u32 + 1
    }

    /// Bytes of a value.
    pub(in crate::store) fn size(self) -> usize {
        match self {
            Self::Byte | Self::Char | Self::UByte => 1,
            Self::Short | Self::UShort => 2,
            Self::Int | Self::Float | Self::UInt => 4,
            Self::Double | Self::Int64 | Self::UInt64 => 8,
        }
    }

    /// The value of [`Kind::size`] bytes in the order of the format, most significant first.
    pub(in crate::store) fn real(self, bytes: &[u8]) -> f64 {
        let bits = bits(bytes);
        match self {
            Self::Float => f32::from_bits(bits as u32).into(),
            Self::Double => f64::from_bits(bits),
            Self::UInt64 => bits as f64,
            _ => self.signed(bits) as f64,
        }
    }

    /// As [`Kind::real`], for what has to be a whole number; `None` where it is none, or beyond 63 bits.
    pub(in crate::store) fn integer(self, bytes: &[u8]) -> Option<i64> {
        match self {
            Self::Float | Self::Double => {
                let value = self.real(bytes);
                // Beyond, not every whole number is a double.
                const EXACT: f64 = (1_u64 << 53) as f64;
                (value.fract() == 0.0 && value.abs() <= EXACT).then_some(value as i64)
            }
            Self::UInt64 => bits(bytes).try_into().ok(),
            _ => Some(self.signed(bits(bytes))),
        }
    }

    /// The value of the bits of an integer.
    fn signed(self, bits: u64) -> i64 {
        match self {
            Self::Byte => i64::from(bits as u8 as i8),
            Self::Short => i64::from(bits as u16 as i16),
            Self::Int => i64::from(bits as u32 as i32),
            _ => bits as i64,
        }
    }
}

fn bits(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// What an attribute says.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::store) enum Value {
    /// A text, without the NULs that some programs put behind it.
    Text(String),
    /// Whole numbers.
    Integers(Vec<i64>),
    /// Numbers of other types, or beyond 63 bits.
    Other,
}

impl Value {
    /// From the bytes of an attribute.
    pub(super) fn of(kind: Kind, bytes: &[u8]) -> Self {
        if kind == Kind::Char {
            return Self::Text(String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned());
        }
        let integers: Option<Vec<_>> = bytes.chunks_exact(kind.size()).map(|bytes| kind.integer(bytes)).collect();
        integers.map_or(Self::Other, Self::Integers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_read_as_it_was_written() {
        for (kind, bytes, value) in [
            (Kind::Byte, &[0xff][..], -1.0),
            (Kind::UByte, &[0xff], 255.0),
            (Kind::Short, &[0xff, 0xfe], -2.0),
            (Kind::UShort, &[0xff, 0xfe], 65534.0),
            (Kind::Int, &(-3_i32).to_be_bytes(), -3.0),
            (Kind::UInt, &u32::MAX.to_be_bytes(), 4294967295.0),
            (Kind::Int64, &(-4_i64).to_be_bytes(), -4.0),
            (Kind::UInt64, &5_u64.to_be_bytes(), 5.0),
            (Kind::Float, &1.5_f32.to_be_bytes(), 1.5),
            (Kind::Double, &2.0_f64.to_be_bytes(), 2.0),
        ] {
            assert_eq!(bytes.len(), kind.size());
            assert_eq!(kind.real(bytes), value);
            assert_eq!(kind.integer(bytes), (value.fract() == 0.0).then_some(value as i64));
        }
        assert_eq!(Kind::UInt64.integer(&u64::MAX.to_be_bytes()), None);
        assert_eq!(Kind::Double.integer(&f64::INFINITY.to_be_bytes()), None);
        assert_eq!((Kind::of(0), Kind::of(11), Kind::of(12)), (None, Some(Kind::UInt64), None));
    }

    #[test]
    fn what_cannot_have_been_measured_is_missing() {
        for value in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 9.969_209_968_386_869e36, 1e258, -1e10] {
            assert!(sound(value).is_nan(), "{value}");
        }
        for value in [0.0, -1e-9, 3600.0, f64::from(u32::MAX)] {
            assert_eq!(sound(value), value);
        }
    }
}
