//! Sets and exceptions that say exactly what a draft says, in few words.
//!
//! In: a [`Part`] as drafted. Out: a part that decodes to the same values, bit by bit, and depends on nothing but them:
//! that is why the archive of an archive's expansion is the same archive. Pairs whose values are all equal are a group;
//! the largest groups become sets; a small group joins the set that it equals at most lengths and keeps exceptions at
//! the others, as long as that is allowed and cheaper than a set of its own.

use std::collections::HashMap;

use crate::record::{Exception, NO_SET, Part};

/// What an exception takes in a file, a value of a set, and the mention of a pair in a set that is scattered.
const EXCEPTION_BYTES: usize = 10;
const VALUE_BYTES: usize = 8;
const PAIR_BYTES: usize = 3;

/// What is allowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// At so many lengths of a range a pair may leave its set; `None`: a quarter of them.
    pub(super) max_exceptions: Option<usize>,
    /// Fewer pairs are no set.
    pub(super) min_cluster: usize,
}

/// The same values in few words.
pub(super) fn encode(draft: &Part, limits: Limits) -> Part {
    let groups = Groups::of(draft);
    let mut sets = Sets::new(draft.lengths.len(), limits);
    let mut order: Vec<usize> = (0..groups.all.len()).collect();
    order.sort_by_key(|group| (std::cmp::Reverse(groups.all[*group].size), groups.all[*group].first));
    let mut places = vec![Place { set: NO_SET, exceptions: Vec::new() }; groups.all.len()];
    let mut curve = Vec::new();
    for group in order {
        groups.curve(draft, group, &mut curve);
        places[group] = sets.place(&curve, groups.all[group].size);
    }
    let mut exceptions = vec![Vec::new(); draft.lengths.len()];
    let mut numbers = vec![NO_SET; draft.sets.len()];
    groups.for_each_cell(draft, |cell, group| {
        let place = &places[group];
        numbers[cell] = place.set;
        for (length, value) in &place.exceptions {
            exceptions[*length as usize].push(Exception { length: *length, cell: cell as u32, value: *value });
        }
    });
    Part {
        lengths: draft.lengths.clone(),
        sets: numbers,
        values: sets.values,
        exceptions: exceptions.into_iter().flatten().collect(),
    }
}

/// Equal values have equal keys: one NaN, one zero.
fn key(value: f64) -> u64 {
    if value.is_nan() {
        u64::MAX
    } else if value == 0.0 {
        0
    } else {
        value.to_bits()
    }
}

/// Part of a curve's hash: the hashes of its values can be added in any order and taken away again.
fn mixed(length: usize, value: f64) -> u64 {
    let mut hash = key(value).wrapping_add((length as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

struct Group {
    size: usize,
    first: usize,
    /// A drafted set that the group's pairs are in, and the exceptions of one of them, a range of `Groups::by_cell`.
    drafted: u32,
    exceptions: std::ops::Range<usize>,
}

/// Pairs by equal curves.
struct Groups {
    all: Vec<Group>,
    /// Exceptions by cell and then by length.
    by_cell: Vec<Exception>,
    /// For each drafted set (and, last, for pairs of none) the group of its pairs that have no exception.
    of_set: Vec<usize>,
    /// For each cell with exceptions, ascending: its group.
    of_excepted: Vec<usize>,
}

impl Groups {
    fn of(draft: &Part) -> Self {
        let mut by_cell = draft.exceptions.clone();
        by_cell.sort_by_key(|exception| exception.cell);
        let sets = draft.set_count();
        let mut groups = Self { all: Vec::new(), by_cell, of_set: vec![usize::MAX; sets + 1], of_excepted: Vec::new() };
        let hashes: Vec<u64> = (0..=sets)
            .map(|set| {
                let value = |length| drafted_value(draft, set, length);
                (0..draft.lengths.len()).fold(0u64, |hash, length| hash.wrapping_add(mixed(length, value(length))))
            })
            .collect();
        let mut known: HashMap<u64, usize> = HashMap::new();
        let mut next = 0;
        for (cell, &set) in draft.sets.iter().enumerate() {
            let set = (set as usize).min(sets);
            let start = next;
            let mut hash = hashes[set];
            while next < groups.by_cell.len() && groups.by_cell[next].cell as usize == cell {
                let Exception { length, value, .. } = groups.by_cell[next];
                let length = length as usize;
                hash = hash
                    .wrapping_sub(mixed(length, drafted_value(draft, set, length)))
                    .wrapping_add(mixed(length, value));
                next += 1;
            }
            if start == next && groups.of_set[set] != usize::MAX {
                groups.all[groups.of_set[set]].size += 1;
                continue;
            }
            let all = &mut groups.all;
            let group = *known.entry(hash).or_insert_with(|| {
                all.push(Group { size: 0, first: cell, drafted: set as u32, exceptions: start..next });
                all.len() - 1
            });
            all[group].size += 1;
            if start == next {
                groups.of_set[set] = group;
            } else {
                groups.of_excepted.push(group);
            }
        }
        groups
    }

    /// What the pairs of a group decode to, by length.
    fn curve(&self, draft: &Part, group: usize, curve: &mut Vec<f64>) {
        let Group { drafted, exceptions, .. } = &self.all[group];
        curve.clear();
        curve.extend((0..draft.lengths.len()).map(|length| drafted_value(draft, *drafted as usize, length)));
        for exception in &self.by_cell[exceptions.clone()] {
            curve[exception.length as usize] = exception.value;
        }
    }

    /// Calls `visit(cell, group)` for every cell, ascending.
    fn for_each_cell(&self, draft: &Part, mut visit: impl FnMut(usize, usize)) {
        let sets = self.of_set.len() - 1;
        let (mut next, mut excepted) = (0, self.of_excepted.iter());
        for (cell, &set) in draft.sets.iter().enumerate() {
            let start = next;
            while next < self.by_cell.len() && self.by_cell[next].cell as usize == cell {
                next += 1;
            }
            let group =
                if next > start { excepted.next().copied() } else { Some(self.of_set[(set as usize).min(sets)]) };
            visit(cell, group.expect("every cell with exceptions was given a group"));
        }
    }
}

/// Value of a drafted set; the number behind the last stands for "no set".
fn drafted_value(draft: &Part, set: usize, length: usize) -> f64 {
    draft.values.get(set * draft.lengths.len() + length).copied().unwrap_or(f64::NAN)
}

/// Where a group goes.
#[derive(Clone)]
struct Place {
    set: u32,
    /// Length and value wherever the group differs from its set.
    exceptions: Vec<(u32, f64)>,
}

/// The sets so far.
struct Sets {
    lengths: usize,
    limits: Limits,
    /// `[set][length]`.
    values: Vec<f64>,
    /// For each length the first set that has a value.
    by_value: Vec<HashMap<u64, u32>>,
    /// Lengths at which the group in hand equals a set, `[set]`, and the sets for which that is not 0.
    votes: Vec<u32>,
    voted: Vec<u32>,
}

impl Sets {
    fn new(lengths: usize, limits: Limits) -> Self {
        let by_value = vec![HashMap::new(); lengths];
        Self { lengths, limits, values: Vec::new(), by_value, votes: Vec::new(), voted: Vec::new() }
    }

    /// Finds the place of a group of `size` pairs with these values.
    fn place(&mut self, curve: &[f64], size: usize) -> Place {
        let alone = exceptions_from(curve, &vec![f64::NAN; self.lengths]);
        if alone.is_empty() {
            return Place { set: NO_SET, exceptions: alone };
        }
        let like = self.most_alike(curve).map(|set| {
            let values = &self.values[set as usize * self.lengths..][..self.lengths];
            Place { set, exceptions: exceptions_from(curve, values) }
        });
        let own_set = VALUE_BYTES * self.lengths + PAIR_BYTES * size;
        let cost = |exceptions: &[(u32, f64)]| EXCEPTION_BYTES * size * exceptions.len();
        let allowed = self.limits.max_exceptions.unwrap_or(self.lengths.div_ceil(4));
        if let Some(place) = &like
            && place.exceptions.len() <= allowed
            && cost(&place.exceptions) <= own_set
        {
            return place.clone();
        }
        if size >= self.limits.min_cluster && own_set < cost(&alone) {
            return self.add(curve);
        }
        match like {
            Some(place) if place.exceptions.len() <= allowed && place.exceptions.len() < alone.len() => place,
            _ => Place { set: NO_SET, exceptions: alone },
        }
    }

    /// The set that has the most values of the curve, the earliest of several.
    fn most_alike(&mut self, curve: &[f64]) -> Option<u32> {
        for (value, sets) in curve.iter().zip(&self.by_value) {
            if let Some(set) = sets.get(&key(*value)) {
                if self.votes[*set as usize] == 0 {
                    self.voted.push(*set);
                }
                self.votes[*set as usize] += 1;
            }
        }
        let best = self.voted.iter().copied().max_by_key(|set| (self.votes[*set as usize], std::cmp::Reverse(*set)));
        self.voted.drain(..).for_each(|set| self.votes[set as usize] = 0);
        best
    }

    fn add(&mut self, curve: &[f64]) -> Place {
        let set = self.votes.len() as u32;
        self.votes.push(0);
        self.values.extend_from_slice(curve);
        for (value, sets) in curve.iter().zip(&mut self.by_value) {
            sets.entry(key(*value)).or_insert(set);
        }
        Place { set, exceptions: Vec::new() }
    }
}

/// Length and value wherever `curve` differs from `values`.
fn exceptions_from(curve: &[f64], values: &[f64]) -> Vec<(u32, f64)> {
    let differ = |(_, (a, b)): &(usize, (&f64, &f64))| key(**a) != key(**b);
    curve.iter().zip(values).enumerate().filter(differ).map(|(length, (a, _))| (length as u32, *a)).collect()
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;
