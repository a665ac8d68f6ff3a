use proptest::prelude::*;

use super::*;

const LIMITS: Limits = Limits { max_exceptions: None, min_cluster: 1 };

fn decode(part: &Part) -> Vec<u64> {
    let mut values: Vec<u64> = (0..part.lengths.len())
        .flat_map(|length| part.sets.iter().map(move |set| (length, *set)))
        .map(|(length, set)| key(if set == NO_SET { f64::NAN } else { part.curve(set as usize)[length] }))
        .collect();
    for Exception { length, cell, value } in &part.exceptions {
        values[*length as usize * part.sets.len() + *cell as usize] = key(*value);
    }
    values
}

fn part(sets: &[u32], values: &[f64], lengths: usize, exceptions: &[(u32, u32, f64)]) -> Part {
    let exceptions = exceptions.iter().map(|&(length, cell, value)| Exception { length, cell, value }).collect();
    Part { lengths: 0..lengths, sets: sets.to_vec(), values: values.to_vec(), exceptions }
}

#[test]
fn an_odd_pair_that_is_odd_all_along_becomes_a_set() {
    let exceptions: Vec<_> = (0..8).map(|length| (length, 3, 9.0 + f64::from(length))).collect();
    let encoded = encode(&part(&[0; 9], &[1.0; 8], 8, &exceptions), LIMITS);
    assert_eq!(encoded.sets, [0, 0, 0, 1, 0, 0, 0, 0, 0]);
    assert_eq!(encoded.curve(1)[7], 16.0);
    assert!(encoded.exceptions.is_empty());
}

#[test]
fn a_pair_that_is_odd_once_keeps_its_set_and_an_exception() {
    let draft = part(&[0; 9], &[1.0; 8], 8, &[(2, 3, 9.0)]);
    assert_eq!(encode(&draft, LIMITS), draft);
    let none_allowed = encode(&draft, Limits { max_exceptions: Some(0), ..LIMITS });
    assert_eq!(none_allowed.sets[3], 1);
    let pairs_only = encode(&draft, Limits { max_exceptions: Some(0), min_cluster: 2 });
    assert_eq!((pairs_only.sets[3], pairs_only.exceptions.len()), (NO_SET, 8));
}

#[test]
fn equal_sets_are_one_and_missing_pairs_are_in_none() {
    let encoded = encode(&part(&[0, 1, 1, NO_SET, 2, 2, 2, 2, 2], &[5.0, 5.0, f64::NAN], 1, &[]), LIMITS);
    assert_eq!(encoded.sets, [0, 0, 0, NO_SET, NO_SET, NO_SET, NO_SET, NO_SET, NO_SET]);
    assert_eq!(encoded.values, [5.0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn values_stay_and_the_way_they_were_drafted_does_not_matter(
        cells in proptest::collection::vec(proptest::collection::vec(0u8..4, 5), 16),
        drafted in proptest::collection::vec(0u32..3, 16),
        max_exceptions in proptest::option::of(0usize..6),
        min_cluster in 1usize..4,
    ) {
        let limits = Limits { max_exceptions, min_cluster };
        let value = |cell: usize, length: usize| match cells[cell][length] {
            3 => f64::NAN,
            other => f64::from(other),
        };
        // Every cell an exception from a set of which no cell has a value; or each cell from a set of its own.
        let all: Vec<_> = (0..5).flat_map(|l| (0..16).map(move |c| (l as u32, c as u32, value(c, l)))).collect();
        let by_exceptions = part(&drafted, &[77.0; 15], 5, &all);
        let own: Vec<u32> = (0..16).collect();
        let values: Vec<f64> = (0..16).flat_map(|c| (0..5).map(move |l| value(c, l))).collect();
        let by_sets = part(&own, &values, 5, &[]);
        let (a, b) = (encode(&by_exceptions, limits), encode(&by_sets, limits));
        prop_assert_eq!(decode(&a), decode(&by_sets));
        prop_assert_eq!(&a.sets, &b.sets);
        prop_assert_eq!(a.exceptions.len(), b.exceptions.len());
        prop_assert_eq!(decode(&encode(&a, limits)), decode(&a));
        prop_assert_eq!(&encode(&a, limits).sets, &a.sets);
    }
}
