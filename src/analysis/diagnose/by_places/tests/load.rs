//! What is slow while others communicate is said once.

use super::*;

#[test]
fn a_way_that_re_tests_refute_and_that_is_slow_under_load_is_one_remark() {
    let run = measured((32, Schedule::Disjoint), |_, _, _| 0.0, |_, _| 1.0);
    let folded = Folded::of_logarithms(&LENGTHS, vec![square(32, |_, _| 0.0); LENGTHS.len()]);
    let asked = Asked { mode: Mode::OneToOne, confidence: 0.99, least: Least::OF_TIMES };
    let verdict = places::judge_with(&folded, places::Distances::flat(32), asked, &[]);
    let way = |leaf: usize| {
        let place = Place::of(Kind::Group, (8 * leaf..8 * leaf + 8).collect(), Direction::Both);
        Suspect { effects: vec![0.0, 0.0, 0.0, 0.3, 0.3], ..Suspect::at(place, 0.3, -20.0, (3, 4)) }
    };
    let mut met = vec![finding(Mode::OneToOne, &folded, &way(0)), finding(Mode::OneToOne, &folded, &way(1))];
    under_load(&run, &[false; 32], (&folded, &verdict), &[way(1)], &mut met).unwrap();
    let said: Vec<&str> = met.iter().map(|found| &*found.hosts[0]).collect();
    assert_eq!(said, ["node0", "node10"]);
}
