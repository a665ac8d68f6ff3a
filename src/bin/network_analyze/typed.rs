//! Values that several subcommands take, as they are typed.

/// `0.99` or `99%` as a probability that a verdict can be asked for.
pub fn confidence(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let typed = match text.strip_suffix('%') {
        // Not divided: 99.9 / 100 is not 0.999 to a computer.
        Some(percent) => format!("{}e-2", percent.trim_end()).parse::<f64>(),
        None => text.parse(),
    };
    match typed {
        Ok(confidence) if (0.5..1.0).contains(&confidence) => Ok(confidence),
        _ => Err("give a probability from 0.5 to below 1, such as 0.99 or 99%".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_is_a_probability() {
        for (text, value) in [("0.999", 0.999), ("99%", 0.99), ("99.9 %", 0.999), (" 0.5 ", 0.5)] {
            assert_eq!(confidence(text), Ok(value));
        }
        for text in ["1", "0.2", "99", "100%", "0.99%", "high", "NaN", "%", ""] {
            assert!(confidence(text).is_err(), "{text}");
        }
    }
}
