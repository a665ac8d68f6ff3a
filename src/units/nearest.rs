//! Names as typed: which of the known ones it is, and which was meant if it is none.

/// How alike two names have to be, by Jaro and Winkler's measure: the least at which a name with one letter wrong in five
/// is found.
const ALIKE: f64 = 0.8;

/// The name that `typed` was meant to be: one of `names`, or what it is another word for, `(word, name)`; else the most
/// similar one.
pub fn nearest<'a>(
    typed: &str,
    names: impl IntoIterator<Item = &'a str>,
    synonyms: &[(&str, &'a str)],
) -> Option<&'a str> {
    let typed = typed.to_lowercase().replace(['-', ' '], "_");
    if let Some((_, name)) = synonyms.iter().find(|(word, _)| *word == typed) {
        return Some(name);
    }
    let likeness = |name: &&str| strsim::jaro_winkler(&typed, name);
    let best = names.into_iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    best.filter(|name| likeness(name) >= ALIKE)
}

/// A name that none of the expected ones is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown {what} `{text}`{meant}; it is one of {list}",
    meant = did_you_mean(nearest(.text, .names.iter().copied(), .synonyms)),
    list = .names.join(", ")
)]
pub struct ParseNameError {
    what: &'static str,
    text: String,
    names: Vec<&'static str>,
    synonyms: &'static [(&'static str, &'static str)],
}

/// The one of `all` whose name is `text`. The error calls them `what`, and knows `synonyms`, `(word, name)`.
pub fn by_name<T: Copy>(
    what: &'static str,
    text: &str,
    all: impl IntoIterator<Item = T>,
    name: impl Fn(T) -> &'static str,
    synonyms: &'static [(&'static str, &'static str)],
) -> Result<T, ParseNameError> {
    let mut names = Vec::new();
    for one in all {
        if name(one) == text {
            return Ok(one);
        }
        names.push(name(one));
    }
    Err(ParseNameError { what, text: text.to_owned(), names, synonyms })
}

/// `; did you mean NAME?` or nothing, for the end of a message.
pub fn did_you_mean(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_other_words_are_understood_and_nonsense_is_not() {
        let names = ["average", "median", "deviation"];
        let synonyms = [("mean", "average")];
        let meant = |typed| nearest(typed, names, &synonyms);
        assert_eq!(meant("mean"), Some("average"), "it is more like median");
        assert_eq!(meant("Medain"), Some("median"));
        assert_eq!(meant("med"), Some("median"));
        assert_eq!(meant("xyz"), None);
        assert_eq!(did_you_mean(meant("avrage")), "; did you mean `average`?");
        assert_eq!(did_you_mean(None), "");
    }
}
