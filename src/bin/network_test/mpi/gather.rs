//! Brings rows of a matrix to the root, a few at a time, so that the root never holds a whole one; and the worst pairs
//! to everybody.

use std::ops::Range;

use mpi::{
    topology::SimpleCommunicator,
    traits::{Communicator, Root},
};
use netmatrix::{
    measure::{Cells, Suspect, worst_of},
    record::{Cell, Extra, Phase, State},
    stats::Summary,
    units::{Hosts, Rank},
};

use super::{
    ROOT,
    ffi::{MpiError, Tag},
    tree::Tree,
};

/// From the owner of a row, or of bytes, to the root.
const OWN: Tag = 43;
/// How many bytes there are.
const LENGTH: Tag = 44;
/// Lists of suspects.
const SUSPECTS: Tag = 45;

/// Bytes in which a cell travels: twelve numbers.
const WIDTH: usize = 12 * NUMBER;
const NUMBER: usize = size_of::<f64>();

fn pack(cell: &Cell, bytes: &mut Vec<u8>) {
    let Summary { min, average, median, max, deviation } = cell.summary;
    let state = f64::from(cell.state.id());
    let (samples, damaged) = (f64::from(cell.samples), f64::from(cell.damaged));
    let clock_bound = cell.clock_bound.unwrap_or(f64::NAN);
    let numbers = [min, average, median, max, deviation, samples, state, damaged, clock_bound];
    let extra = cell.extra.numbers();
    numbers.iter().chain(&extra).for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
}

fn number(bytes: &[u8], place: usize) -> f64 {
    let mut number = [0; NUMBER];
    number.copy_from_slice(&bytes[NUMBER * place..NUMBER * (place + 1)]);
    f64::from_le_bytes(number)
}

fn unpack(bytes: &[u8]) -> Cell {
    let [min, average, median, max, deviation, samples, state, damaged, clock_bound, p90, p99, first] =
        std::array::from_fn(|place| number(bytes, place));
    let summary = Summary { min, average, median, max, deviation };
    let state = State::from_id(state as i8).expect("a rank of the same program packed this");
    let clock_bound = (!clock_bound.is_nan()).then_some(clock_bound);
    let extra = Extra { p90, p99, first };
    Cell { summary, samples: samples as u32, state, damaged: damaged as u32, clock_bound, extra }
}

/// The given lines of all ranks' cells: `block` becomes `[row][destination]` at the root, or `[line][source]` where most
/// pairs are left out; empty elsewhere. Collective.
pub(super) fn rows(tree: Tree<'_>, cells: &Cells, rows: Range<usize>, block: &mut Vec<Cell>) -> Result<(), MpiError> {
    block.clear();
    if cells.is_sampled() {
        of_partners(tree, cells, rows, block)
    } else if cells.owns_rows() {
        whole_rows(tree, cells, rows, block)
    } else {
        from_columns(tree, cells, rows, block)
    }
}

/// Every rank has a cell of every line, and says whose row it belongs to.
fn of_partners(tree: Tree<'_>, cells: &Cells, lines: Range<usize>, block: &mut Vec<Cell>) -> Result<(), MpiError> {
    const WITH_SOURCE: usize = NUMBER + WIDTH;
    let ranks = cells.ranks();
    let mut own = Vec::with_capacity(WITH_SOURCE * lines.len());
    for line in lines.clone() {
        let (source, cell) = cells.in_line(line);
        own.extend(source.map_or(f64::NAN, |source| source as f64).to_le_bytes());
        pack(cell, &mut own);
    }
    let all = tree.gather(&own)?;
    if tree.me == ROOT {
        block.resize(lines.len() * ranks, Cell::missing(State::NotScheduled));
    }
    let (all, _) = all.as_chunks::<WITH_SOURCE>();
    for (place, bytes) in all.iter().enumerate().filter(|(_, bytes)| !number(*bytes, 0).is_nan()) {
        block[place % lines.len() * ranks + number(bytes, 0) as usize] = unpack(&bytes[NUMBER..]);
    }
    Ok(())
}

/// Every row has an owner, who sends it as it is.
fn whole_rows(tree: Tree<'_>, cells: &Cells, rows: Range<usize>, block: &mut Vec<Cell>) -> Result<(), MpiError> {
    let mut bytes = Vec::new();
    for row in rows {
        if tree.me == row {
            bytes.clear();
            cells.all().iter().for_each(|cell| pack(cell, &mut bytes));
        }
        to_root(tree, row, &mut bytes, WIDTH * cells.ranks())?;
        if tree.me == ROOT {
            block.extend(bytes.as_chunks::<WIDTH>().0.iter().map(|cell| unpack(cell)));
        }
    }
    Ok(())
}

/// One rank's bytes, of which the root knows the number.
fn to_root(tree: Tree<'_>, owner: Rank, bytes: &mut Vec<u8>, length: usize) -> Result<(), MpiError> {
    if owner == ROOT {
        return Ok(());
    }
    if tree.me == owner {
        tree.wire.watch.queue(Phase::Gathering, None);
        tree.wire.send(bytes, ROOT, OWN)?;
    } else if tree.me == ROOT {
        bytes.resize(length, 0);
        tree.wire.watch.queue(Phase::Gathering, Some(owner));
        tree.wire.receive(bytes, owner, OWN)?;
    }
    tree.wire.watch.rest();
    Ok(())
}

/// Every rank has a piece of every row: its column.
fn from_columns(tree: Tree<'_>, cells: &Cells, rows: Range<usize>, block: &mut Vec<Cell>) -> Result<(), MpiError> {
    let ranks = cells.ranks();
    let piece = WIDTH * rows.len();
    let mut own = Vec::with_capacity(piece);
    cells.all()[rows.clone()].iter().for_each(|cell| pack(cell, &mut own));
    let all = tree.gather(&own)?;
    if tree.me == ROOT {
        for row in 0..rows.len() {
            block.extend((0..ranks).map(|destination| unpack(&all[destination * piece + row * WIDTH..][..WIDTH])));
        }
    }
    Ok(())
}

/// Bytes of all ranks, one rank after the other, at the root. Collective. How many they are goes ahead of them.
pub(super) fn bytes(tree: Tree<'_>, own: &[u8], each: &mut dyn FnMut(&[u8])) -> Result<(), MpiError> {
    let mut bytes = own.to_vec();
    if tree.me != ROOT {
        tree.wire.watch.queue(Phase::Gathering, None);
        tree.wire.send(&(own.len() as u64).to_le_bytes(), ROOT, LENGTH)?;
        return to_root(tree, tree.me, &mut bytes, own.len());
    }
    each(own);
    for rank in (0..tree.ranks).filter(|rank| *rank != ROOT) {
        let mut length = [0; 8];
        tree.wire.watch.queue(Phase::Gathering, Some(rank));
        tree.wire.receive(&mut length, rank, LENGTH)?;
        to_root(tree, rank, &mut bytes, u64::from_le_bytes(length) as usize)?;
        each(&bytes);
    }
    Ok(())
}

/// The root's bytes, on all ranks, before there is a [`Tree`]. Collective.
pub fn spread(world: &SimpleCommunicator, bytes: &mut Vec<u8>) {
    let root = world.process_at_rank(ROOT as i32);
    let mut length = bytes.len() as u64;
    root.broadcast_into(&mut length);
    bytes.resize(length as usize, 0);
    if length > 0 {
        root.broadcast_into(&mut bytes[..]);
    }
}

/// The worst of all ranks' suspects, on all of them: lists are merged up a binary tree, so that nobody holds more than
/// two of them. Collective.
pub(super) fn worst(
    tree: Tree<'_>,
    hosts: &Hosts,
    mut own: Vec<Suspect>,
    most: usize,
) -> Result<Vec<Suspect>, MpiError> {
    let Tree { wire, me, ranks } = tree;
    let mut bytes = vec![0; SUSPECT * most];
    let mut distance = 1;
    while distance < ranks {
        if me % (2 * distance) == distance {
            pack_suspects(&own, &mut bytes);
            wire.watch.queue(Phase::Agreement, None);
            wire.send(&bytes, me - distance, SUSPECTS)?;
            break;
        }
        if me + distance < ranks {
            wire.watch.queue(Phase::Agreement, Some(me + distance));
            wire.receive(&mut bytes, me + distance, SUSPECTS)?;
            own.extend(suspects_in(&bytes));
            own = worst_of(own, most, hosts);
        }
        distance *= 2;
    }
    if me == ROOT {
        pack_suspects(&own, &mut bytes);
    }
    tree.down(Phase::Agreement, &mut bytes)?;
    Ok(suspects_in(&bytes).collect())
}

/// Bytes in which a suspect travels.
const SUSPECT: usize = 4 * NUMBER;

/// Lists travel at their full length, NaN in the place of suspects that are not there: whoever receives one need not
/// ask first how long it is.
fn pack_suspects(suspects: &[Suspect], bytes: &mut [u8]) {
    let (places, _) = bytes.as_chunks_mut::<SUSPECT>();
    for (number, place) in places.iter_mut().enumerate() {
        let numbers = suspects.get(number).map_or([f64::NAN; 4], |suspect| {
            [suspect.source as f64, suspect.destination as f64, suspect.weight, suspect.lasting]
        });
        let (places, _) = place.as_chunks_mut();
        places.iter_mut().zip(numbers).for_each(|(to, number)| *to = number.to_le_bytes());
    }
}

fn suspects_in(bytes: &[u8]) -> impl Iterator<Item = Suspect> {
    bytes.as_chunks::<SUSPECT>().0.iter().filter(|bytes| !number(*bytes, 0).is_nan()).map(|bytes| Suspect {
        source: number(bytes, 0) as usize,
        destination: number(bytes, 1) as usize,
        weight: number(bytes, 2),
        lasting: number(bytes, 3),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_survives_its_numbers() {
        let mut bytes = Vec::new();
        let cell = Cell::measured(Summary::of(&mut [1.0, 2.0, 4.0]), 3, State::Damaged);
        let extra = Extra { first: 4.0, ..Extra::NONE };
        let cell = Cell { damaged: 2, clock_bound: Some(1e-6), extra, ..cell };
        pack(&cell, &mut bytes);
        assert_eq!((bytes.len(), unpack(&bytes)), (WIDTH, cell));
    }

    #[test]
    fn suspects_survive_their_numbers_and_empty_places() {
        let suspects = [
            Suspect { source: 3, destination: 1, weight: 1.5, lasting: 1.25 },
            Suspect { source: 0, destination: 2, weight: f64::INFINITY, lasting: 0.0 },
        ];
        let mut bytes = [0; 3 * SUSPECT];
        pack_suspects(&suspects, &mut bytes);
        assert_eq!(suspects_in(&bytes).collect::<Vec<_>>(), suspects);
    }
}
