//! What is said of the places that were found: size, range of lengths, cells that agree.
//!
//! In: [`Suspect`]s and the times in which they were found. Out: [`Verdict`].

use rayon::prelude::*;

use super::{
    Least,
    distance::Distances,
    fit::{Fit, centre, most_error_of_median},
    leaves::ALL,
    place::{Suspect, slow_around, slow_range},
    view::{is_long, leave_out, medians},
};
use crate::{
    analysis::{
        diagnose::{
            Direction, Kind,
            folded::{Folded, OfPairs},
        },
        square::Square,
    },
    stats::median,
};

/// What was found.
pub struct Verdict {
    /// By probability.
    pub suspects: Vec<Suspect>,
    /// Who is near whom.
    pub distances: Distances,
    /// The hosts of a slower kind, and how many times as long these take, where there are kinds.
    pub kinds: Option<(Vec<usize>, f64)>,
    /// Scatter of a pair about what its hosts and classes explain, the median over lengths.
    pub noise: f64,
    pub(super) fits: Vec<Fit>,
}

impl Verdict {
    /// Reads sizes off every length by itself: what crosses no place says what is usual.
    pub(super) fn of(folded: &Folded, mut suspects: Vec<Suspect>, distances: Distances, least: Least) -> Self {
        let side = folded.hosts();
        let tables: Vec<Vec<bool>> = suspects.par_iter().map(|suspect| suspect.place.crossing(side)).collect();
        let mut crossed = vec![0u16; side * side];
        tables.iter().for_each(|own| crossed.iter_mut().zip(own).for_each(|(sum, own)| *sum += u16::from(*own)));
        let is_any: Vec<bool> = crossed.iter().map(|count| *count > 0).collect();
        let lengths: Vec<(Square, Fit)> = (0..folded.lengths.len())
            .into_par_iter()
            .map(|length| {
                let values = medians(folded, &[vec![length]]);
                let mut rest = values.clone();
                leave_out(&mut rest, &is_any);
                (values, Fit::of(&rest, &distances))
            })
            .collect();
        for (suspect, own) in suspects.iter_mut().zip(&tables) {
            let cells: Vec<usize> = (0..side * side).filter(|cell| own[*cell]).collect();
            let alone: Vec<usize> = cells.iter().copied().filter(|cell| crossed[*cell] == 1).collect();
            let cells = if alone.is_empty() { cells } else { alone };
            // Where no leaves are known, what hosts seem to add depends on how many near ones they have met: a way is compared
            // with all pairs.
            let is_of_unknown = distances.leaves() == 1 && suspect.place.kind == Kind::Group;
            let excess = |length: usize, cell: usize| {
                let (values, fit) = &lengths[length];
                let (from, to) = (cell / side, cell % side);
                let usual = match is_of_unknown {
                    true => fit.level(distances.class(from, to)),
                    false => fit.usual(from, to, &distances),
                };
                values.at(from, to) - usual
            };
            // What its pairs take inside of its leaf is no less than what is a host's own: others meet on the way out.
            let is_near = |cell: &usize| distances.leaf[cell / side] == distances.leaf[cell % side];
            let near: Vec<usize> = match suspect.place.kind == Kind::Node && distances.leaves() > 1 {
                true => (0..side * side).filter(|cell| own[*cell] && is_near(cell)).collect(),
                false => Vec::new(),
            };
            let at = |length: usize| {
                let noise = lengths[length].1.noise;
                let all = centre(&mut cells.iter().map(|cell| excess(length, *cell)).collect(), noise);
                let mut near: Vec<f64> = near.iter().map(|cell| excess(length, *cell)).collect();
                near.retain(|value| !value.is_nan());
                let (known, near) = (near.len(), median(&mut near));
                if near + most_error_of_median(noise, known) < all / 2.0 { near } else { all }
            };
            suspect.effects = (0..lengths.len()).map(at).collect();
            if let Some((first, last)) = suspect.refuted {
                suspect.effects[first..=last].fill(f64::NAN);
            }
            let most = suspect.effects.iter().copied().fold(0.0, f64::max);
            let mut effects = suspect.effects.clone();
            // The largest effect of a single pair may be a moment's: it counts as no more than what the lengths share in which
            // the link was found, and what is slow apart from these is none of it.
            let range = if suspect.place.kind == Kind::Link {
                effects.iter_mut().filter(|own| **own > suspect.effect).for_each(|own| *own = suspect.effect);
                slow_around(&effects, suspect.range)
            } else {
                None
            };
            match range.or_else(|| slow_range(&effects)) {
                Some((first, last)) if most > 0.0 => {
                    suspect.range = (first, last);
                    suspect.effect = median(&mut suspect.effects[first..=last].to_vec());
                }
                // Besides what others explain it is not slow at all.
                _ => suspect.effect = most,
            }
            let (first, last) = suspect.range;
            let of_cell = |cell: usize| {
                let known = (first..=last).map(|length| excess(length, cell)).filter(|value| !value.is_nan());
                median(&mut known.collect::<Vec<_>>())
            };
            suspect.excesses = cells.iter().map(|cell| of_cell(*cell)).filter(|value| !value.is_nan()).collect();
            suspect.cells = suspect.agreement(suspect.effect / 2.0);
        }
        // What explains nothing any more besides all others is dropped.
        suspects.retain(|own| own.effect >= least.of_place(&own.place, is_long(folded, own.range.1)));
        let ways = suspects.clone();
        suspects.retain(|own| !ways.iter().any(|way| is_end_of(own, way)));
        suspects.sort_by(|a, b| a.log.total_cmp(&b.log).then(b.effect.total_cmp(&a.effect)));
        let noise = median(&mut lengths.iter().map(|(_, fit)| fit.noise).collect::<Vec<_>>());
        let fits = lengths.into_iter().map(|(_, fit)| fit).collect();
        Self { suspects, distances, kinds: None, noise, fits }
    }

    /// With more suspects.
    pub fn with(mut self, folded: &Folded, more: Vec<Suspect>, least: Least) -> Self {
        if more.is_empty() {
            return self;
        }
        let mut suspects = std::mem::take(&mut self.suspects);
        suspects.extend(more);
        self.anew(folded, suspects, least)
    }

    /// The same of other suspects.
    fn anew(self, folded: &Folded, suspects: Vec<Suspect>, least: Least) -> Self {
        Self { kinds: self.kinds, ..Self::of(folded, suspects, self.distances, least) }
    }

    /// With ways that are one put together: what is slow out of several leaves and not between them is the way that these
    /// share. So are hosts that are fast with each other, and one of a leaf that is not known that is as slow as a way and has
    /// met none of its hosts ([`super::common`]). `again`: of pairs that were measured only again ([`Folded::again`]);
    /// they serve for nothing else, as they were chosen for being slow.
    pub fn joined(mut self, (folded, again): (&Folded, &[OfPairs]), least: Least) -> Self {
        while let Some(suspects) = self.with_fewer_ways(folded, again, least) {
            self = self.anew(folded, suspects, least);
        }
        self
    }

    /// The suspects so, if there are fewer.
    fn with_fewer_ways(&self, folded: &Folded, again: &[OfPairs], least: Least) -> Option<Vec<Suspect>> {
        let time = |length: usize, i: usize, j: usize| {
            let again = || again.get(length).and_then(|pairs| pairs.get(&(i, j))).copied();
            Some(folded.from_to(length, i, j)).filter(|time| !time.is_nan()).or_else(again).unwrap_or(f64::NAN)
        };
        let are_leaves_known = self.distances.leaves() > 1;
        // A host that has met none of its leaf is a leaf by itself.
        let is_leaf_known = |suspect: &Suspect| {
            let leaf = self.distances.leaf[suspect.place.hosts[0]];
            are_leaves_known && self.distances.members(leaf).len() > 1
        };
        // Two leaves that are as slow and smaller than another one may be parts of one, as that takes fewer faults.
        let most = self.distances.members(0).len();
        let may_be_parts = |a: &Suspect, b: &Suspect| {
            let are_ways = a.place.kind == Kind::Group && b.place.kind == Kind::Group;
            are_ways && a.place.hosts.len() + b.place.hosts.len() <= most && (a.effect - b.effect).abs() < least.way
        };
        let is_way = |suspect: &Suspect| match suspect.place.kind {
            Kind::Group => true,
            Kind::Node => suspect.place.toward.is_empty(),
            _ => false,
        };
        let is_shared = |a: &Suspect, b: &Suspect| {
            let (first, last) = (a.range.0.max(b.range.0), a.range.1.min(b.range.1));
            // One may be a part of the other.
            let is_between = |(i, j): &(usize, usize)| !a.place.hosts.contains(j) || !b.place.hosts.contains(i);
            let all = || a.place.hosts.iter().flat_map(|i| b.place.hosts.iter().map(move |j| (*i, *j)));
            let pairs = || all().filter(is_between).flat_map(|(i, j)| [(i, j), (j, i)]);
            let beyond = |length: usize| pairs().map(move |(i, j)| time(length, i, j) - self.usual(length, i, j));
            let mut between: Vec<f64> = (first..=last).flat_map(beyond).filter(|value| !value.is_nan()).collect();
            let (count, between) = (between.len(), median(&mut between));
            let half = a.effect.min(b.effect) / 2.0;
            let are_alike = first <= last && (a.effect - b.effect).abs() < a.effect.max(b.effect) / 2.0;
            let may_be = count == 0 && are_alike && (!(is_leaf_known(a) && is_leaf_known(b)) || may_be_parts(a, b));
            let is_one = match a.place.kind {
                // A host of the way that is slower, or at other lengths, is so by itself.
                Kind::Group => between < half && (b.place.kind == Kind::Group || are_alike) || may_be,
                _ => between + most_error_of_median(self.noise, count) < half,
            };
            a.place.direction == b.place.direction && is_one
        };
        let (mut ways, others): (Vec<Suspect>, Vec<Suspect>) = self.suspects.iter().cloned().partition(is_way);
        let before = ways.len();
        // Where no leaves are known, a way most of whose hosts have another one, of which more is known, is a rest of that.
        let all = ways.clone();
        ways.retain(|own| are_leaves_known || !all.iter().any(|other| is_rest(own, other)));
        ways.sort_by_key(|suspect| suspect.place.kind != Kind::Group);
        let two = |ways: &[Suspect]| {
            let mut pairs = (0..ways.len()).flat_map(|a| (a + 1..ways.len()).map(move |b| (a, b)));
            pairs.find(|(a, b)| is_shared(&ways[*a], &ways[*b]))
        };
        while let Some((a, b)) = two(&ways) {
            let part = ways.remove(b);
            let way = &mut ways[a].place;
            way.kind = Kind::Group;
            way.hosts.extend(part.place.hosts);
            way.hosts.sort_unstable();
            way.hosts.dedup();
        }
        (ways.len() < before).then(|| ways.into_iter().chain(others).collect())
    }

    /// The time that a pair would take if the place were as good as its peers, `ln(time / level)`.
    pub fn usual(&self, length: usize, source: usize, destination: usize) -> f64 {
        self.fits[length].usual(source, destination, &self.distances)
    }

    /// What the hosts of a pair add to that, whatever their distance.
    pub fn added(&self, length: usize, source: usize, destination: usize) -> f64 {
        self.fits[length].send[source] + self.fits[length].receive[destination]
    }

    /// Scatter of a pair where the fewest messages meet: at the length where it is least.
    pub fn least_noise(&self) -> f64 {
        self.fits.iter().map(|fit| fit.noise).fold(f64::INFINITY, f64::min)
    }

    /// How much longer a message takes between two leaves than inside the slower one, `ln(ratio)`; `None` where there
    /// are not two leaves of several hosts.
    pub fn between_two(&self, length: usize) -> Option<f64> {
        let base = |i: usize, j: usize| self.fits[length].base[self.distances.class(i, j)];
        let [one, other] = [0, 1].map(|leaf| self.distances.members(leaf));
        let are_two = self.distances.leaves() == 2 && one.len().min(other.len()) > 1;
        are_two.then(|| base(one[0], other[0]) - base(one[0], one[1]).max(base(other[0], other[1])))
    }
}

/// Whether a way is one of most hosts of another one, and of fewer pairs.
fn is_rest(way: &Suspect, other: &Suspect) -> bool {
    let are_ways = [way, other].iter().all(|own| own.place.kind == Kind::Group);
    let shared = way.place.hosts.iter().filter(|host| other.place.hosts.contains(host)).count();
    are_ways && way.cells.of < other.cells.of && shared as f64 > ALL * way.place.hosts.len() as f64
}

/// Whether some routes out of a leaf that are slow lead to hosts of one other leaf alone, which is as slow inward: the cable
/// is that one's, and leaves choose among its cables each in a way of its own.
fn is_end_of(own: &Suspect, way: &Suspect) -> bool {
    let is_inward = matches!(way.place.kind, Kind::Group | Kind::Routes) && way.place.direction != Direction::Send;
    let is_outward = own.place.kind == Kind::Routes && own.place.direction == Direction::Send;
    let are_alike = (own.effect - way.effect).abs() < own.effect.max(way.effect) / 2.0;
    is_inward && is_outward && are_alike && own.place.toward.iter().all(|host| way.place.hosts.contains(host))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Place, distance::Shape},
        *,
    };
    use crate::analysis::{
        diagnose::Agreement,
        drawn::{generator, normal, square},
    };

    #[test]
    fn routes_that_lead_to_hosts_of_a_slow_way_alone_are_that_way() {
        let suspect = |hosts: std::ops::Range<usize>, toward: &[usize], direction| {
            let place = Place { toward: toward.to_vec(), ..Place::of(Kind::Routes, hosts.collect(), direction) };
            Suspect::at(place, 1.1, -20.0, (0, 0))
        };
        let slow = |i: usize, j: usize| i / 4 != j / 4 && (j < 2 || i / 4 == 3 && j == 20);
        let folded = Folded::of_logarithms(&[8], vec![square(24, |i, j| if slow(i, j) { 1.1 } else { 0.0 })]);
        let named = |toward: &[usize]| {
            let suspects = vec![suspect(0..4, &[0, 1], Direction::Receive), suspect(12..16, toward, Direction::Send)];
            Verdict::of(&folded, suspects, Distances::flat(24), Least::OF_TIMES).suspects.len()
        };
        assert_eq!([named(&[0, 1]), named(&[0, 1, 20])], [1, 2]);
    }

    #[test]
    fn a_moment_at_another_length_is_none_of_the_lengths_at_which_a_link_is_slow() {
        let at = |more: f64| square(8, move |i, j| if (i.min(j), i.max(j)) == (1, 5) { more } else { 0.0 });
        let more = [0.5, 0.0, 0.0, 0.0, 0.3, 0.5];
        let folded = Folded::of_logarithms(&[1, 2, 4, 8, 16, 32], more.map(at).to_vec());
        let link = Suspect::at(Place::of(Kind::Link, vec![1, 5], Direction::Both), 0.5, -20.0, (5, 5));
        let verdict = Verdict::of(&folded, vec![link], Distances::flat(8), Least::OF_TIMES);
        let [link] = &verdict.suspects[..] else { panic!("{} are slow", verdict.suspects.len()) };
        assert!(link.range == (4, 5) && (link.effect - 0.4).abs() < 0.01, "{:?} {}", link.range, link.effect);
    }

    #[test]
    fn a_host_is_not_slow_at_lengths_at_which_its_pairs_are_slow_out_of_its_leaf_alone() {
        let is_late = |i: usize, j: usize| i < 3 || j < 3;
        let late = square(24, |i, j| if is_late(i, j) { 0.4 } else { 0.0 });
        let out = |inside: f64| {
            square(24, move |i, j| match (i / 4 == 0, j / 4 == 0) {
                (true, true) if is_late(i, j) => inside,
                (false, false) | (true, true) => 0.0,
                _ => 0.7,
            })
        };
        // Inside of the leaf as slow as at the first length, a little, and not at all.
        let folded = Folded::of_logarithms(&[8, 16, 32, 64], vec![late, out(0.4), out(0.1), out(0.0)]);
        let host = |host: usize| Suspect::at(Place::of(Kind::Node, vec![host], Direction::Both), 0.4, -20.0, (0, 3));
        let distances = Distances::of_leaves((0..24).map(|host| host / 4).collect());
        let verdict = Verdict::of(&folded, (0..3).map(host).collect(), distances, Least::OF_TIMES);
        let effects: Vec<f64> = verdict.suspects.iter().flat_map(|own| own.effects.clone()).collect();
        let expected = [0.4, 0.7, 0.1, 0.0].repeat(3);
        assert!(effects.len() == 12 && effects.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{effects:?}");
        assert!(verdict.suspects.iter().all(|own| own.range == (0, 1)));
    }

    #[test]
    fn some_pairs_of_a_host_are_slow_from_as_much_on_as_a_way_is() {
        let named = |more: f64| {
            let values = square(12, |i, j| if i.min(j) == 0 && i.max(j) < 5 { more } else { 0.0 });
            let folded = Folded::of_logarithms(&[8], vec![values]);
            let place = Place { toward: vec![1, 2, 3, 4], ..Place::of(Kind::Node, vec![0], Direction::Both) };
            let suspects = vec![Suspect::at(place, 0.06, -20.0, (0, 0))];
            Verdict::of(&folded, suspects, Distances::flat(12), Least::OF_TIMES).suspects.len()
        };
        assert_eq!([named(0.06), named(0.03)], [1, 0]);
    }

    #[test]
    fn a_host_that_has_met_none_of_a_way_and_is_as_slow_is_of_it() {
        let mut rng = generator(4);
        let have_met = |i: usize, j: usize| matches!(i.abs_diff(j).min(36 - i.abs_diff(j)), 3 | 8 | 13 | 17);
        let receive = |to: usize| match to {
            0 | 3 | 6 => 0.7,
            1 => 0.6,
            2 => 0.2,
            _ => 0.0,
        };
        let way = [0, 3, 6];
        let values = square(36, |i, j| match have_met(i, j) {
            true if way.contains(&i) && way.contains(&j) => 0.01 * normal(&mut rng),
            true => receive(j) + 0.01 * normal(&mut rng),
            false => f64::NAN,
        });
        let folded = Folded::of_logarithms(&[8], vec![values]);
        let place = |kind: Kind, hosts: &[usize]| Place::of(kind, hosts.to_vec(), Direction::Receive);
        let suspect = |kind, hosts| Suspect::at(place(kind, hosts), 0.0, -20.0, (0, 0));
        let joined = |distances: Distances| {
            let suspects = vec![suspect(Kind::Node, &[1]), suspect(Kind::Node, &[2]), suspect(Kind::Group, &way)];
            let joined =
                Verdict::of(&folded, suspects, distances, Least::OF_TIMES).joined((&folded, &[]), Least::OF_TIMES);
            joined.suspects.into_iter().map(|suspect| suspect.place.hosts).collect::<Vec<_>>()
        };
        let leaves = |of_one: usize| {
            let leaf = |host: usize| match host {
                0 | 3 | 6 => 1,
                1 => of_one,
                _ => 0,
            };
            Distances::of((0..36).map(leaf).collect(), Shape::Tree)
        };
        // Where no leaves are known, or its own is not, as it is a leaf by itself; else it is of another one.
        for distances in [Distances::flat(36), leaves(2)] {
            assert_eq!(joined(distances), [vec![0, 1, 3, 6], vec![2]]);
        }
        let apart = joined(leaves(0));
        assert!(apart.contains(&vec![0, 3, 6]) && apart.contains(&vec![1]), "{apart:?}");
    }

    #[test]
    fn a_way_of_hosts_of_another_one_is_a_rest_of_that_where_no_leaves_are_known() {
        let named = |sends: &[usize], leaf: Vec<usize>| {
            let is_slow = |i: usize, j: usize| j < 4 && i > 3 || sends.contains(&i) && !sends.contains(&j);
            let values = square(12, |i, j| if is_slow(i, j) { 0.5 } else { 0.0 });
            let folded = Folded::of_logarithms(&[8], vec![values]);
            let way = |hosts: &[usize], direction| {
                Suspect::at(Place::of(Kind::Group, hosts.to_vec(), direction), 0.5, -20.0, (0, 0))
            };
            let suspects = vec![way(&[0, 1, 2, 3], Direction::Receive), way(sends, Direction::Send)];
            let verdict = Verdict::of(&folded, suspects, Distances::of(leaf, Shape::Tree), Least::OF_TIMES);
            verdict.joined((&folded, &[]), Least::OF_TIMES).suspects.len()
        };
        assert_eq!([named(&[0, 1, 2], vec![0; 12]), named(&[0, 1, 4], vec![0; 12])], [1, 2]);
        assert_eq!(named(&[0, 1, 2], (0..12).map(|host| host / 4).collect()), 2);
    }

    #[test]
    fn a_host_of_a_way_that_is_slower_by_itself_is_none_of_it() {
        // Hosts 0 to 3 receive slowly from others; host 0 takes longer with all, at the other length too.
        let named = |more: f64| {
            let at = |is_way: bool| {
                square(16, |i, j| {
                    let way = if is_way && i > 3 && j < 4 { 0.4 } else { 0.0 };
                    if j == 0 && i > 3 { f64::max(more, way) } else { way }
                })
            };
            let folded = Folded::of_logarithms(&[8, 16], vec![at(false), at(true)]);
            let place = |kind, hosts: &[usize]| Place::of(kind, hosts.to_vec(), Direction::Receive);
            let host = Suspect::at(place(Kind::Node, &[0]), more, -20.0, (0, 1));
            let way = Suspect::at(place(Kind::Group, &[1, 2, 3]), 0.4, -20.0, (1, 1));
            let verdict = Verdict::of(&folded, vec![host, way], Distances::flat(16), Least::OF_TIMES);
            verdict.joined((&folded, &[]), Least::OF_TIMES).suspects.len()
        };
        assert_eq!([named(0.41), named(1.5)], [1, 2]);
    }

    #[test]
    fn near_pairs_of_a_way_say_nothing_of_its_size_where_no_leaves_are_known() {
        let at = |slow: f64| {
            square(16, |i, j| match (i / 4 == j / 4, i < 4) {
                (true, _) => -0.7,
                (false, true) => slow,
                (false, false) => 0.0,
            })
        };
        let folded = Folded::of_logarithms(&[8, 16], vec![at(0.0), at(0.4)]);
        let way = Suspect::at(Place::of(Kind::Group, (0..4).collect(), Direction::Send), 0.4, -20.0, (1, 1));
        let verdict = Verdict::of(&folded, vec![way], Distances::flat(16), Least::OF_TIMES);
        let [way] = &verdict.suspects[..] else { panic!("{}", verdict.suspects.len()) };
        assert!(way.effects[0].abs() < 1e-6 && (way.effects[1] - 0.4).abs() < 1e-6, "{:?}", way.effects);
        assert_eq!((way.range, way.cells), ((1, 1), Agreement { slow: 48, of: 48 }));
    }

    #[test]
    fn leaves_that_have_not_met_and_are_as_slow_are_parts_of_one_if_that_is_no_larger_than_others() {
        // A leaf of six; two of three, which take `more` from all others.
        let named = |more: [f64; 2], of: usize| {
            let leaf = |host: usize| if host < 6 { 0 } else { 1 + (host - 6) / of };
            let part = |host: usize| leaf(host).wrapping_sub(1);
            let values = square(18, |i, j| match (part(i), part(j)) {
                (0, 1) | (1, 0) => f64::NAN,
                (from, to) if from != to && to < 2 => more[to],
                _ => 0.0,
            });
            let folded = Folded::of_logarithms(&[8], vec![values]);
            let way = |part: usize| {
                let hosts = (6 + part * of..6 + (part + 1) * of).collect();
                Suspect::at(Place::of(Kind::Group, hosts, Direction::Receive), more[part], -20.0, (0, 0))
            };
            let distances = Distances::of((0..18).map(leaf).collect(), Shape::Tree);
            let verdict = Verdict::of(&folded, vec![way(0), way(1)], distances, Least::OF_TIMES);
            verdict.joined((&folded, &[]), Least::OF_TIMES).suspects.len()
        };
        assert_eq!([named([0.5, 0.52], 3), named([0.5, 0.6], 3), named([0.5, 0.52], 4)], [1, 2, 2]);
    }
}
