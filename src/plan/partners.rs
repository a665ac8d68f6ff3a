//! Whom every rank meets in a run that leaves most pairs out.
//!
//! In: the drawn rounds of a schedule, or numbers from a file. Out: a table `[line][rank]` of partners, which says what
//! the lines of such a run's matrices stand for. It measures nothing and says nothing of order.

use crate::units::Rank;

/// A rank that meets nobody in a line.
const NO_RANK: u32 = u32::MAX;

/// The partner of every rank in every drawn round: as many lines as `--sample-rounds` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partners {
    ranks: usize,
    /// `[line][rank]`.
    partner: Vec<u32>,
}

impl Partners {
    /// Of `lines` lines, of which `partner(line, rank)` tells who meets whom.
    pub fn new(ranks: usize, lines: usize, partner: impl Fn(usize, Rank) -> Option<Rank>) -> Self {
        let all = (0..lines).flat_map(|line| (0..ranks).map(move |rank| (line, rank)));
        let number = |(line, rank)| partner(line, rank).map_or(NO_RANK, |other| other as u32);
        Self { ranks, partner: all.map(number).collect() }
    }

    /// From the numbers of a file, `[line][rank]`, negative for nobody; `None` where one of them is no other rank, or
    /// they are no whole lines.
    pub fn from_numbers(ranks: usize, numbers: &[i32]) -> Option<Self> {
        let number = |(place, &number): (usize, &i32)| match usize::try_from(number) {
            Err(_) => Some(NO_RANK),
            Ok(other) => (other < ranks && other != place % ranks).then_some(other as u32),
        };
        let partner: Option<Vec<_>> = numbers.iter().enumerate().map(number).collect();
        numbers.len().is_multiple_of(ranks.max(1)).then_some(Self { ranks, partner: partner? })
    }

    /// From the partners of every rank, `[rank]`, in any order: the k-th is in line k. `None` where a rank has most others,
    /// so that nothing is saved by naming them.
    pub fn of_lists(lists: &[Vec<Rank>]) -> Option<Self> {
        let lines = lists.iter().map(Vec::len).max().unwrap_or(0);
        let few = lines > 0 && 2 * lines < lists.len();
        few.then(|| Self::new(lists.len(), lines, |line, rank| lists[rank].get(line).copied()))
    }

    /// The partners of every rank, `[rank]`.
    pub fn lists(&self) -> Vec<Vec<Rank>> {
        (0..self.ranks).map(|rank| (0..self.lines()).filter_map(|line| self.partner(line, rank)).collect()).collect()
    }

    /// The inverse of [`Partners::from_numbers`].
    pub fn numbers(&self) -> Vec<i32> {
        self.partner.iter().map(|&partner| i32::try_from(partner).unwrap_or(-1)).collect()
    }

    /// Number of ranks: cells of a line.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Number of lines.
    pub fn lines(&self) -> usize {
        self.partner.len() / self.ranks.max(1)
    }

    /// Whom `rank` meets in a line.
    pub fn partner(&self, line: usize, rank: Rank) -> Option<Rank> {
        Some(self.partner[line * self.ranks + rank]).filter(|other| *other != NO_RANK).map(|other| other as Rank)
    }

    /// The line in which two ranks meet.
    pub fn line_of(&self, source: Rank, destination: Rank) -> Option<usize> {
        (0..self.lines()).find(|line| self.partner(*line, source) == Some(destination))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_survives_its_numbers() {
        let partners =
            Partners::new(3, 2, |line, rank| [[Some(1), Some(0), None], [None, Some(2), Some(1)]][line][rank]);
        assert_eq!(partners.numbers(), [1, 0, -1, -1, 2, 1]);
        assert_eq!(Partners::from_numbers(3, &partners.numbers()), Some(partners.clone()));
        assert_eq!((partners.lines(), partners.line_of(2, 1), partners.line_of(2, 0)), (2, Some(1), None));
    }

    #[test]
    fn lists_of_partners_are_a_table_where_they_are_few() {
        let lists = vec![vec![3, 1], vec![0], vec![], vec![0], vec![]];
        let partners = Partners::of_lists(&lists).unwrap();
        assert_eq!((partners.lines(), partners.lists()), (2, lists.clone()));
        assert_eq!(Partners::of_lists(&lists[..4]), None, "half of all are no few");
        assert_eq!(Partners::of_lists(&[vec![], vec![], vec![]]), None);
    }

    #[test]
    fn numbers_that_name_no_other_rank_are_refused() {
        for numbers in [&[1, 0, 3][..], &[0, 2, 1], &[1, 0]] {
            assert_eq!(Partners::from_numbers(3, numbers), None, "{numbers:?}");
        }
    }
}
