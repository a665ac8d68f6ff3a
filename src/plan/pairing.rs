//! Who meets whom: the circle method.
//!
//! Of `n` participants everybody meets everybody else exactly once in `n - 1` rounds (`n` where `n` is odd: somebody
//! sits out each time) of disjoint pairs. All answers take constant time and no table.
//!
//! With `m` = `n`, made even, and labels `0..m`: in round `r` of `0..m-1` label `m-1` meets `r`, and every other label
//! `i` meets `(2r - i) mod (m-1)`, so that the pairs lie at equal distances on both sides of `r` on a circle.

/// The circle method over `n` participants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pairing {
    n: usize,
    /// Labels on the circle: the even number of labels less one.
    circle: usize,
}

impl Pairing {
    pub(super) fn new(n: usize) -> Self {
        Self { n, circle: if n == 0 { 0 } else { (n + n % 2) - 1 } }
    }

    /// Number of rounds; 0 below two participants.
    pub(super) fn rounds(self) -> usize {
        if self.n < 2 { 0 } else { self.circle }
    }

    /// Number of pairs in every round.
    pub(super) fn pairs_per_round(self) -> usize {
        self.n / 2
    }

    /// Whom `label` meets in `round`, and which of the round's pairs that is; `None` where it sits out.
    pub(super) fn meets(self, round: usize, label: usize) -> Option<(usize, usize)> {
        let c = self.circle;
        let odd = self.n % 2 == 1;
        // Pair 0 is the one with the label off the circle. Where n is odd there is nobody off the circle.
        if label == c || label == round {
            let other = if label == c { round } else { c };
            return if odd { None } else { Some((other, 0)) };
        }
        let other = (2 * round + c - label) % c;
        let distance = (label + c - round) % c;
        let pair = distance.min(c - distance);
        Some((other, if odd { pair - 1 } else { pair }))
    }

    /// The round in which two labels meet, the inverse of [`Pairing::meets`].
    pub(super) fn round_of(self, a: usize, b: usize) -> usize {
        let c = self.circle;
        match (a == c, b == c) {
            (true, _) => b,
            (_, true) => a,
            // Half of the sum on a circle of an odd number of labels.
            _ => (a + b) * c.div_ceil(2) % c,
        }
    }

    /// The `pair`-th pair of `round`, the inverse of [`Pairing::meets`].
    pub(super) fn pair(self, round: usize, pair: usize) -> (usize, usize) {
        let c = self.circle;
        let distance = if self.n % 2 == 1 { pair + 1 } else { pair };
        if distance == 0 { (round, c) } else { ((round + distance) % c, (round + c - distance) % c) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_meets_everybody_once() {
        for n in 0..=131 {
            let pairing = Pairing::new(n);
            let mut met = vec![false; n * n];
            for round in 0..pairing.rounds() {
                let mut busy = vec![false; n];
                for pair in 0..pairing.pairs_per_round() {
                    let (a, b) = pairing.pair(round, pair);
                    assert_eq!(pairing.meets(round, a), Some((b, pair)), "n {n} round {round}");
                    assert_eq!([pairing.round_of(a, b), pairing.round_of(b, a)], [round; 2], "n {n}");
                    assert_eq!(pairing.meets(round, b), Some((a, pair)), "n {n} round {round}");
                    for (x, y) in [(a, b), (b, a)] {
                        assert!(!std::mem::replace(&mut busy[x], true), "{x} twice in round {round} of n {n}");
                        assert!(!std::mem::replace(&mut met[x * n + y], true), "{x} met {y} twice, n {n}");
                    }
                }
                let idle: Vec<_> = (0..n).filter(|&label| pairing.meets(round, label).is_none()).collect();
                assert_eq!(idle.len(), n % 2);
                assert!(idle.iter().all(|&label| !busy[label]));
            }
            assert_eq!(met.iter().filter(|met| **met).count(), n * n.saturating_sub(1));
        }
    }
}
