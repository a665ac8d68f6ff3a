//! Texts in NetCDF variables of characters.
//!
//! The netcdf crate reads and writes any type that describes itself as one of NetCDF's, but brings none for characters.

use netcdf::{
    VariableMut,
    types::{NcTypeDescriptor, NcVariableType},
};

/// One character of a text, a byte of its UTF-8 form.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Char(u8);

// SAFETY: NetCDF's characters are single bytes, of which every value is allowed, as here.
#[expect(unsafe_code, reason = "the way that the netcdf crate documents for variables of characters")]
unsafe impl NcTypeDescriptor for Char {
    fn type_descriptor() -> NcVariableType {
        NcVariableType::Char
    }
}

/// The first `width` bytes of `text` or fewer, cut between characters.
pub(super) fn cut(text: &str, width: usize) -> &str {
    let end = (0..=width.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

/// Writes one text per row of a variable `[text][width]`, cut to the width, filled up with zeros.
pub(super) fn write<'a>(
    variable: &mut VariableMut<'_>,
    width: usize,
    texts: impl Iterator<Item = &'a str>,
) -> netcdf::Result<()> {
    let mut chars = Vec::new();
    for text in texts {
        let end = chars.len() + width;
        chars.extend(cut(text, width).bytes().map(Char));
        chars.resize(end, Char(0));
    }
    variable.put_values(&chars, ..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("knoten", 101), "knoten");
        assert_eq!(cut("knöten", 3), "kn");
        assert_eq!(cut("knöten", 4), "knö");
    }
}
