//! Lists of hosts in the notation of Slurm: `node[001-016,020],login1`.
//!
//! [`compress`] and [`expand`] keep the order of the hosts. Several numbers in a name are several dimensions, the
//! leftmost of which turns slowest: `r[1-2]n[1-2]` is `r1n1,r1n2,r2n1,r2n2`. A range is as wide as its first number:
//! `[9-10]` is 9, 10 and `[09-10]` is 09, 10.

use std::fmt;

/// Most hosts that a list may expand to: a larger one is a typing error that would fill the memory.
pub const MAX_HOSTS: usize = 1 << 20;

/// Longest run of digits that counts as a number; a longer one is part of the name.
const MAX_DIGITS: usize = 18;

/// A text that is no list of hosts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's text says it")]
pub enum HostListError {
    #[error("`{text}` is not a list of hosts: {what} (write node[001-016,020],login1)")]
    Malformed { text: String, what: &'static str },
    #[error("`{text}` is not a list of hosts: the range `{range}` runs backwards")]
    Backwards { text: String, range: String },
    #[error("`{text}` is not a list of hosts: `{range}` is no number and no range of numbers of one width")]
    Range { text: String, range: String },
    #[error("`{text}` stands for more than {most} hosts")]
    TooMany { text: String, most: usize },
}

/// Numbers in a row, written with at least `width` digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    first: u64,
    last: u64,
    width: usize,
}

/// One or more names with the same text around their numbers.
#[derive(Clone, Debug, PartialEq)]
struct Group {
    /// The text before each number, and the text behind the last: one more than `numbers`.
    texts: Vec<String>,
    /// The values of each number, `[place]`.
    numbers: Vec<Vec<Range>>,
}

/// The shortest list that this simple way finds. Hosts keep their order; names must not contain `,`, `[` or `]`.
pub fn compress<S: AsRef<str>>(hosts: &[S]) -> String {
    let mut groups: Vec<Group> = hosts.iter().map(|host| Group::of(host.as_ref())).collect();
    let places = groups.iter().map(|group| group.numbers.len()).max().unwrap_or(0);
    for place in (0..places).rev() {
        let mut merged: Vec<Group> = Vec::new();
        for group in groups {
            match merged.last_mut() {
                Some(last) if last.can_take(&group, place) => last.take(&group, place),
                _ => merged.push(group),
            }
        }
        groups = merged;
    }
    groups.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Brings names into the order of their numbers: `n2` before `n10`, `r1n10` before `r2n1`.
pub fn sort<S: AsRef<str>>(names: &mut [S]) {
    names.sort_by_cached_key(|name| sort_key(name.as_ref()));
}

/// What [`sort`] goes by: a name whose numbers all have as many digits; `n1` before `n01`.
pub fn sort_key(name: &str) -> (String, usize) {
    let even = name.split_inclusive(|c: char| !c.is_ascii_digit()).map(|part| {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, behind) = part.split_at(digits);
        if number.is_empty() { behind.to_owned() } else { format!("{number:0>MAX_DIGITS$}{behind}") }
    });
    (even.collect(), name.len())
}

impl Group {
    /// A single name.
    fn of(name: &str) -> Self {
        let mut group = Self { texts: vec![String::new()], numbers: Vec::new() };
        let mut rest = name;
        while !rest.is_empty() {
            let is_digit = rest.starts_with(|c: char| c.is_ascii_digit());
            let end = rest.find(|c: char| c.is_ascii_digit() != is_digit).unwrap_or(rest.len());
            let (part, behind) = rest.split_at(end);
            match part.parse() {
                Ok(number) if is_digit && part.len() <= MAX_DIGITS => {
                    group.numbers.push(vec![Range { first: number, last: number, width: part.len() }]);
                    group.texts.push(String::new());
                }
                _ => *group.texts.last_mut().expect("there is always a text") += part,
            }
            rest = behind;
        }
        group
    }

    /// Whether appending `other` along the number at `place` gives the hosts of `self` followed by those of `other`.
    fn can_take(&self, other: &Self, place: usize) -> bool {
        let is_single = |number: &Vec<Range>| matches!(number[..], [range] if range.first == range.last);
        place < self.numbers.len()
            && self.texts == other.texts
            && self.numbers[..place] == other.numbers[..place]
            && self.numbers[..place].iter().all(is_single)
            && self.numbers[place + 1..] == other.numbers[place + 1..]
    }

    fn take(&mut self, other: &Self, place: usize) {
        for &next in &other.numbers[place] {
            match self.numbers[place].last_mut() {
                Some(range) if range.continues_with(next) => range.last = next.last,
                _ => self.numbers[place].push(next),
            }
        }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.texts[0])?;
        for (number, behind) in self.numbers.iter().zip(&self.texts[1..]) {
            let ranges: Vec<_> = number.iter().map(ToString::to_string).collect();
            match number[..] {
                [range] if range.first == range.last => write!(f, "{range}{behind}")?,
                _ => write!(f, "[{}]{behind}", ranges.join(","))?,
            }
        }
        Ok(())
    }
}

/// Number of digits of a number without padding.
fn digits(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

impl Range {
    /// Whether `next` begins where this range ends, and its numbers would be written with the same digits in it.
    fn continues_with(self, next: Self) -> bool {
        next.first == self.last + 1 && next.width == self.width.max(digits(next.first))
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, last, width } = *self;
        if first == last { write!(f, "{first:0width$}") } else { write!(f, "{first:0width$}-{last:0width$}") }
    }
}

/// The hosts of a list in its order. The empty text is the empty list.
pub fn expand(text: &str) -> Result<Vec<String>, HostListError> {
    expand_up_to(text, MAX_HOSTS)
}

/// As [`expand`], of a list of which no more than `most` hosts are wanted.
pub fn expand_up_to(text: &str, most: usize) -> Result<Vec<String>, HostListError> {
    let most = most.min(MAX_HOSTS);
    let malformed = |what| HostListError::Malformed { text: text.to_owned(), what };
    let mut hosts = Vec::new();
    if text.trim().is_empty() {
        return Ok(hosts);
    }
    for item in items(text).ok_or_else(|| malformed("a bracket is not closed, or closed without being open"))? {
        if item.trim().is_empty() {
            return Err(malformed("a name between two commas is empty"));
        }
        let mut names = vec![String::new()];
        let mut rest = item.trim();
        while let Some((before, behind)) = rest.split_once('[') {
            let (inside, behind) = behind.split_once(']').expect("the brackets were checked");
            let numbers = numbers(text, inside, most / names.len().max(1))?;
            let with_all = |name: String| numbers.iter().map(move |number| format!("{name}{before}{number}"));
            names = names.into_iter().flat_map(with_all).collect();
            rest = behind;
        }
        names.iter_mut().for_each(|name| name.push_str(rest));
        hosts.append(&mut names);
        if hosts.len() > most {
            return Err(HostListError::TooMany { text: text.to_owned(), most });
        }
    }
    Ok(hosts)
}

/// The parts between commas outside brackets; `None` where the brackets are not in order.
fn items(text: &str) -> Option<Vec<&str>> {
    let mut items = Vec::new();
    let (mut begin, mut is_open) = (0, false);
    for (place, c) in text.char_indices() {
        match c {
            '[' if is_open => return None,
            ']' if !is_open => return None,
            '[' | ']' => is_open = !is_open,
            ',' if !is_open => {
                items.push(&text[begin..place]);
                begin = place + 1;
            }
            _ => {}
        }
    }
    items.push(&text[begin..]);
    (!is_open).then_some(items)
}

/// What stands between brackets, number by number, with the digits that they are written with.
fn numbers(text: &str, inside: &str, most: usize) -> Result<Vec<String>, HostListError> {
    let mut numbers = Vec::new();
    for range in inside.split(',') {
        let wrong = || HostListError::Range { text: text.to_owned(), range: range.to_owned() };
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let is_number =
            |part: &str| !part.is_empty() && part.len() <= MAX_DIGITS && part.bytes().all(|b| b.is_ascii_digit());
        if !is_number(low) || !is_number(high) {
            return Err(wrong());
        }
        let (Ok(first), Ok(last)) = (low.parse::<u64>(), high.parse::<u64>()) else {
            return Err(wrong());
        };
        let width = low.len();
        if first > last {
            return Err(HostListError::Backwards { text: text.to_owned(), range: range.to_owned() });
        }
        if high.len() != width.max(digits(last)) {
            return Err(wrong());
        }
        if last - first >= (most - numbers.len().min(most)) as u64 {
            return Err(HostListError::TooMany { text: text.to_owned(), most });
        }
        numbers.extend((first..=last).map(|number| format!("{number:0width$}")));
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Compresses to exactly `text`, and back.
    fn both_ways(hosts: &[&str], text: &str) {
        assert_eq!(compress(hosts), text);
        assert_eq!(expand(text).unwrap(), hosts);
    }

    #[test]
    fn hosts_in_a_row_become_ranges() {
        both_ways(&["node001", "node002", "node003", "node020"], "node[001-003,020]");
        both_ways(&["node7"], "node7");
        both_ways(&["login", "node1", "node2"], "login,node[1-2]");
        both_ways(&[], "");
    }

    #[test]
    fn the_order_is_kept() {
        both_ways(&["n3", "n1", "n2", "m1", "n4"], "n[3,1-2],m1,n4");
    }

    #[test]
    fn names_are_in_the_order_of_their_numbers() {
        let in_order = ["login", "n1", "n01", "n2", "n2-ib0", "n2-ib1", "n10", "r1n2", "r1n10", "r2n1"];
        let mut names = in_order;
        names.sort_unstable();
        assert_ne!(names, in_order);
        sort(&mut names);
        assert_eq!(names, in_order);
    }

    #[test]
    fn zeros_before_numbers_are_kept() {
        both_ways(&["n9", "n10"], "n[9-10]");
        both_ways(&["n09", "n10"], "n[09-10]");
        both_ways(&["n099", "n100", "n101"], "n[099-101]");
        both_ways(&["n9", "n010"], "n[9,010]");
        both_ways(&["n1", "n01"], "n[1,01]");
        both_ways(&["n99", "n100", "n0101"], "n[99-100,0101]");
    }

    #[test]
    fn texts_behind_the_number_stay() {
        both_ways(&["node01-ib0", "node02-ib0"], "node[01-02]-ib0");
        both_ways(&["node01-ib0", "node01-ib1"], "node01-ib[0-1]");
        both_ways(&["10.0.0.1", "10.0.0.2"], "10.0.0.[1-2]");
    }

    #[test]
    fn several_numbers_are_several_dimensions() {
        both_ways(&["r1n1", "r1n2", "r2n1", "r2n2"], "r[1-2]n[1-2]");
        both_ways(&["r1n1", "r2n1", "r1n2", "r2n2"], "r[1-2]n1,r[1-2]n2");
        both_ways(&["r1n1", "r1n2", "r2n1"], "r1n[1-2],r2n1");
    }

    #[test]
    fn numbers_too_long_to_count_are_names() {
        both_ways(&["n99999999999999999999", "n100000000000000000000"], "n99999999999999999999,n100000000000000000000");
    }

    #[test]
    fn malformed_lists_are_refused_by_name() {
        for text in [
            "node[1-2",
            "node1]",
            "node[[1]]",
            "node[]",
            "node[1-]",
            "node[-2]",
            "node[a-b]",
            "node[1,,2]",
            "node[1-2-3]",
            "a,,b",
            "a,",
            "node[5-1]",
            "node[1-010]",
            "node[1-99999999]",
            "n[1-9999]m[1-9999]",
            "n[1-9999999999999999999999]",
        ] {
            let error = expand(text).expect_err(text).to_string();
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
    }

    #[test]
    fn slurms_spaces_and_repetitions_are_harmless() {
        assert_eq!(expand(" a1, a2 ").unwrap(), ["a1", "a2"]);
        assert_eq!(compress(&["a1", "a1"]), "a[1,1]");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn expanding_undoes_compressing(
            hosts in proptest::collection::vec("(node|r|)([0-3]{0,3}|9[89]|100)(-ib|s|n|)[0-9]{0,2}(x|)", 0..40),
        ) {
            let hosts: Vec<_> = hosts.into_iter().filter(|host| !host.is_empty()).collect();
            prop_assert_eq!(expand(&compress(&hosts)).unwrap(), hosts);
        }

        #[test]
        fn a_row_of_hosts_is_one_range(first in 0u64..2_000, count in 2usize..300, width in 1usize..6) {
            let hosts: Vec<_> = (first..).take(count).map(|k| format!("node{k:0width$}-ib0")).collect();
            let text = compress(&hosts);
            prop_assert_eq!(text.matches(',').count(), 0, "{}", text);
            prop_assert_eq!(expand(&text).unwrap(), hosts);
        }

        #[test]
        fn no_text_leads_to_a_panic(text in "[a-c0-9,\\[\\] -]{0,24}") {
            let _ = expand(&text);
        }
    }
}
