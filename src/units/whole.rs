//! Whole numbers as they are typed.

use std::ops::RangeInclusive;

/// A reader of whole numbers within a range, for command lines: what is wrong is said in words of people, not of a
/// programming language.
pub fn whole<T: TryFrom<u64>>(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.trim().parse().ok().filter(|number| range.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| match (*range.start(), *range.end()) {
            (least, u64::MAX) => format!("give a whole number from {least} on"),
            (least, most) => format!("give a whole number from {least} to {most}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_told_what_is() {
        let read = whole::<u32>(1..=u64::MAX);
        assert_eq!((read("7"), read(" 12 ")), (Ok(7), Ok(12)));
        for text in ["0", "-1", "1.5", "x", "", "99999999999", "99999999999999999999999"] {
            assert_eq!(read(text), Err("give a whole number from 1 on".to_owned()), "{text}");
        }
        assert_eq!(whole::<u32>(300..=900)("299"), Err("give a whole number from 300 to 900".to_owned()));
    }
}
