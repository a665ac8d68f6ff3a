//! Brings rows of a matrix to the root, a few at a time, so that the root never holds a whole one; and the worst pairs
//! to everybody.

use std::ops::Range;

use mpi::{
    topology::SimpleCommunicator,
    traits::{Communicator, Destination, Root, Source},
};
use netmatrix::{
    measure::{Cells, Suspect, worst_of},
    record::{Cell, State},
    stats::Summary,
    units::Hosts,
};

use super::ROOT;

/// Numbers in which a cell travels.
const WIDTH: usize = 9;

fn pack(cell: &Cell, numbers: &mut Vec<f64>) {
    let Summary { min, average, median, max, deviation } = cell.summary;
    let state = f64::from(cell.state.id());
    let (samples, damaged) = (f64::from(cell.samples), f64::from(cell.damaged));
    let clock_bound = cell.clock_bound.unwrap_or(f64::NAN);
    numbers.extend_from_slice(&[min, average, median, max, deviation, samples, state, damaged, clock_bound]);
}

fn unpack(numbers: &[f64]) -> Cell {
    let summary =
        Summary { min: numbers[0], average: numbers[1], median: numbers[2], max: numbers[3], deviation: numbers[4] };
    let state = State::from_id(numbers[6] as i8).expect("a rank of the same program packed this");
    let clock_bound = (!numbers[8].is_nan()).then_some(numbers[8]);
    Cell { summary, samples: numbers[5] as u32, state, damaged: numbers[7] as u32, clock_bound }
}

/// The given lines of all ranks' cells: `block` becomes `[row][destination]` at the root, or `[line][source]` where most
/// pairs are left out; empty elsewhere. Collective.
pub(super) fn rows(world: &SimpleCommunicator, cells: &Cells, rows: Range<usize>, block: &mut Vec<Cell>) {
    block.clear();
    if cells.is_sampled() {
        of_partners(world, cells, rows, block);
    } else if cells.owns_rows() {
        whole_rows(world, cells, rows, block)
    } else {
        from_columns(world, cells, rows, block)
    }
}

/// Every rank has a cell of every line, and says whose row it belongs to.
fn of_partners(world: &SimpleCommunicator, cells: &Cells, lines: Range<usize>, block: &mut Vec<Cell>) {
    const NUMBERS: usize = WIDTH + 1;
    let ranks = cells.ranks();
    let piece = NUMBERS * lines.len();
    let mut own = Vec::with_capacity(piece);
    for line in lines.clone() {
        let (source, cell) = cells.in_line(line);
        own.push(source.map_or(f64::NAN, |source| source as f64));
        pack(cell, &mut own);
    }
    let root = world.process_at_rank(ROOT as i32);
    if world.rank() as usize != ROOT {
        root.gather_into(&own[..]);
        return;
    }
    let mut all = vec![0.0_f64; piece * ranks];
    root.gather_into_root(&own[..], &mut all[..]);
    block.resize(lines.len() * ranks, Cell::missing(State::NotScheduled));
    for (place, numbers) in all.chunks_exact(NUMBERS).enumerate().filter(|(_, numbers)| !numbers[0].is_nan()) {
        block[place % lines.len() * ranks + numbers[0] as usize] = unpack(&numbers[1..]);
    }
}

/// Every row has an owner, who sends it as it is.
fn whole_rows(world: &SimpleCommunicator, cells: &Cells, rows: Range<usize>, block: &mut Vec<Cell>) {
    let ranks = cells.ranks();
    let me = world.rank() as usize;
    let mut numbers = Vec::new();
    for row in rows {
        if me == row {
            numbers.clear();
            cells.all().iter().for_each(|cell| pack(cell, &mut numbers));
            if me != ROOT {
                world.process_at_rank(ROOT as i32).send(&numbers[..]);
            }
        } else if me == ROOT {
            numbers.resize(WIDTH * ranks, 0.0);
            world.process_at_rank(row as i32).receive_into(&mut numbers[..]);
        }
        if me == ROOT {
            block.extend(numbers.chunks_exact(WIDTH).map(unpack));
        }
    }
}

/// Every rank has a piece of every row: its column.
fn from_columns(world: &SimpleCommunicator, cells: &Cells, rows: Range<usize>, block: &mut Vec<Cell>) {
    let ranks = cells.ranks();
    let piece = WIDTH * rows.len();
    let mut own = Vec::with_capacity(piece);
    cells.all()[rows.clone()].iter().for_each(|cell| pack(cell, &mut own));
    let root = world.process_at_rank(ROOT as i32);
    if world.rank() as usize != ROOT {
        root.gather_into(&own[..]);
        return;
    }
    let mut all = vec![0.0; piece * ranks];
    root.gather_into_root(&own[..], &mut all[..]);
    for row in 0..rows.len() {
        block.extend((0..ranks).map(|destination| unpack(&all[destination * piece + row * WIDTH..][..WIDTH])));
    }
}

/// Bytes of all ranks, one rank after the other, at the root. Collective. How many they are goes ahead of them: to ask MPI
/// takes a matched probe, which the simulator has not got.
pub(super) fn bytes(world: &SimpleCommunicator, own: &[u8], each: &mut dyn FnMut(&[u8])) {
    if world.rank() as usize != ROOT {
        let root = world.process_at_rank(ROOT as i32);
        root.send(&(own.len() as u64));
        root.send(own);
        return;
    }
    each(own);
    let mut theirs = Vec::new();
    for rank in (0..world.size()).filter(|rank| *rank as usize != ROOT) {
        let process = world.process_at_rank(rank);
        let mut length = 0u64;
        process.receive_into(&mut length);
        theirs.resize(length as usize, 0);
        process.receive_into(&mut theirs[..]);
        each(&theirs);
    }
}

/// The root's bytes, on all ranks. Collective.
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
pub(super) fn worst(world: &SimpleCommunicator, hosts: &Hosts, mut own: Vec<Suspect>, most: usize) -> Vec<Suspect> {
    let (me, ranks) = (world.rank() as usize, world.size() as usize);
    let mut numbers = vec![f64::NAN; 3 * most];
    let mut distance = 1;
    while distance < ranks {
        if me % (2 * distance) == distance {
            pack_suspects(&own, &mut numbers);
            world.process_at_rank((me - distance) as i32).send(&numbers[..]);
            break;
        }
        if me + distance < ranks {
            world.process_at_rank((me + distance) as i32).receive_into(&mut numbers[..]);
            own.extend(suspects_in(&numbers));
            own = worst_of(own, most, hosts);
        }
        distance *= 2;
    }
    if me == ROOT {
        pack_suspects(&own, &mut numbers);
    }
    world.process_at_rank(ROOT as i32).broadcast_into(&mut numbers[..]);
    suspects_in(&numbers).collect()
}

/// Lists travel at their full length, NaN in the place of suspects that are not there: whoever receives one need not
/// ask first how long it is.
fn pack_suspects(suspects: &[Suspect], numbers: &mut [f64]) {
    numbers.fill(f64::NAN);
    for (place, suspect) in numbers.chunks_exact_mut(3).zip(suspects) {
        place.copy_from_slice(&[suspect.source as f64, suspect.destination as f64, suspect.weight]);
    }
}

fn suspects_in(numbers: &[f64]) -> impl Iterator<Item = Suspect> {
    numbers.chunks_exact(3).filter(|numbers| !numbers[0].is_nan()).map(|numbers| Suspect {
        source: numbers[0] as usize,
        destination: numbers[1] as usize,
        weight: numbers[2],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_survives_its_numbers() {
        let mut numbers = Vec::new();
        let cell = Cell::measured(Summary::of(&mut [1.0, 2.0, 4.0]), 3, State::Damaged);
        let cell = Cell { damaged: 2, clock_bound: Some(1e-6), ..cell };
        pack(&cell, &mut numbers);
        assert_eq!((numbers.len(), unpack(&numbers)), (WIDTH, cell));
    }

    #[test]
    fn suspects_survive_their_numbers_and_empty_places() {
        let suspects = [
            Suspect { source: 3, destination: 1, weight: 1.5 },
            Suspect { source: 0, destination: 2, weight: f64::INFINITY },
        ];
        let mut numbers = [0.0; 9];
        pack_suspects(&suspects, &mut numbers);
        assert_eq!(suspects_in(&numbers).collect::<Vec<_>>(), suspects);
    }
}
