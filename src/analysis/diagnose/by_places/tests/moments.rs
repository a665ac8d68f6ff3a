//! What re-tests say that were made at a busy moment.

use super::{again::measured_again, *};

#[test]
fn a_moment_at_which_all_pairs_take_longer_confirms_no_link() {
    let link = |from: usize, to: usize| if (from.min(to), from.max(to)) == (0, 9) { 2.0 } else { 1.0 };
    let again = |alone: f64| {
        let run = measured((24, Schedule::Isolated), |_, _, _| 0.0, link);
        let others = [(1, 12), (3, 10), (11, 2), (4, 19), (20, 6), (5, 15)].map(|pair| (pair, alone));
        measured_again(run, (&[(0, 9), (9, 0)], 1.0, 1.0), &others)
    };
    assert_eq!(found(&again(1.0)), ["link n00,n09 both bandwidth"]);
    let busy = again(2.0);
    assert!(busy.findings.is_empty() && busy.remarks.is_empty(), "{:?} {:?}", found(&busy), busy.remarks);
}

#[test]
fn a_moment_at_one_length_hides_no_link_that_is_slow_at_all() {
    let late = |length: u64, from: usize, to: usize| match (from, to) {
        (3, 12) if length == 64 => 6e-6,
        (3, 12) => 1e-6,
        _ => 0.0,
    };
    let way = |from: usize, to: usize| if (from, to) == (3, 12) { 2.0 } else { 1.0 };
    let mut run = measured((24, Schedule::Isolated), late, way);
    for (index, length) in LENGTHS.into_iter().enumerate() {
        let first = run.matrix(Statistic::Median, index).unwrap()[(3, 12)];
        let again = if length == 64 { first - 5e-6 } else { first };
        run.write_retests(index, &[Retest { source: 3, destination: 12, first, second: again, alone: again }]).unwrap();
    }
    let diagnosis = judged(&run);
    assert_eq!(found(&diagnosis), ["link n03,n12 send bandwidth"]);
    assert_eq!(diagnosis.findings[0].lengths, (Bytes(0), Bytes(1 << 20)));
    assert_eq!(diagnosis.findings[0].retest, Some(RetestVerdict::Confirmed));
}

#[test]
fn short_messages_that_are_slower_alone_than_among_others_were_measured_again_at_a_busy_moment() {
    // Three pairs of hosts.
    let is_slow = |from: usize, to: usize| [(1, 9), (4, 20), (13, 22)].contains(&(from.min(to), from.max(to)));
    let late = |length: u64, from: usize, to: usize| if length < 1 << 18 && is_slow(from, to) { 1e-6 } else { 0.0 };
    let judge = |more: f64| {
        let mut run = measured((24, Schedule::Disjoint), late, |_, _| 1.0);
        for length in 0..3 {
            let times = run.matrix(Statistic::Median, length).unwrap();
            let again = |(source, destination): (usize, usize)| {
                let first = times[(source, destination)];
                Retest { source, destination, first, second: first, alone: first * more }
            };
            let pairs = (0..24 * 24).map(|pair| (pair / 24, pair % 24)).filter(|(from, to)| is_slow(*from, *to));
            run.write_retests(length, &pairs.map(again).collect::<Vec<_>>()).unwrap();
        }
        judged(&run)
    };
    let bad = judge(1.0);
    let links = bad.findings.iter().filter(|found| found.kind == Kind::Link).count();
    assert_eq!((links, bad.findings.len()), (3, 3), "{:?}", found(&bad));
    // What the moment takes hides what the pairs do: they are to be measured again.
    let busy = judge(2.5);
    assert_eq!(found(&busy), Vec::<String>::new());
    assert!(matches!(&busy.remarks[..], [Remark::Again(links)] if links.len() == 3), "{:?}", busy.remarks);
}

#[test]
fn a_short_message_that_is_as_slow_as_all_that_are_measured_again_with_it_confirms_no_link() {
    // One round of the short messages is slow, and so is one of its pairs in longer ones.
    let in_round = |from: usize, to: usize| from.abs_diff(to) == 12;
    let late = |length: u64, from: usize, to: usize| match length {
        64 if in_round(from, to) => 0.4e-6,
        4096 if in_round(from, to) && from.min(to) == 4 => 0.4e-6,
        _ => 0.0,
    };
    let judge = |others: usize| {
        let mut run = measured((24, Schedule::Disjoint), late, |_, _| 1.0);
        let times = run.matrix(Statistic::Median, 1).unwrap();
        let again = |(source, destination): (usize, usize)| {
            let first = times[(source, destination)];
            Retest { source, destination, first, second: first, alone: first }
        };
        let pairs = (4..5 + others).flat_map(|host| [(host, host + 12), (host + 12, host)]);
        run.write_retests(1, &pairs.map(again).collect::<Vec<_>>()).unwrap();
        found(&judged(&run))
    };
    assert_eq!([0, 6].map(judge), [vec!["link n04,n16 both latency".to_owned()], Vec::new()]);
}
