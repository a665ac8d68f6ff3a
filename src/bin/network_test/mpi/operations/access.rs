//! Kulagin's loops over an array that is on another host: every iteration fetches the whole array, or the element
//! (scalar replacement), or all iterations read a copy that was fetched once (ArrayPreload).
//!
//! Iterations 0, 1, ... run on hosts 0, 1, ..., 0, 1, ..., iteration i reads element i modulo the array's length. One
//! host does all of its iterations before the next one begins, so that no two fetches are in each other's way. The
//! array is on host 0, whose iterations read it directly. Where all processes are on one host each of them counts as a
//! host.

use netmatrix::plan::operation::Algorithm;

use super::{
    super::{
        buffer::Buffer,
        ffi::{MpiError, Tag, Window},
    },
    Carried, Stage, summand,
};

const TURN: Tag = 50;

/// Bytes of an element.
const ELEMENT: usize = size_of::<f64>();

/// Loops over an array of one length.
pub(super) struct Access {
    algorithm: Algorithm,
    iterations: usize,
    elements: usize,
    window: Window,
    copy: Buffer,
    total: f64,
}

impl Access {
    /// The array has `length` bytes. Collective.
    pub(super) fn new(
        algorithm: Algorithm,
        iterations: usize,
        stage: &Stage<'_>,
        length: usize,
    ) -> Result<Self, super::NewError> {
        let mut window = stage.window(if stage.me == stage.places[0][0] { length } else { 0 })?;
        let elements = length / ELEMENT;
        let mut copy = Buffer::touched(length, 0)?;
        if stage.me == stage.places[0][0] {
            let elements = copy.as_chunks_mut().0.iter_mut().enumerate();
            elements.for_each(|(place, bytes)| *bytes = summand(0, place).to_ne_bytes());
            window.expose(&copy)?;
        }
        Ok(Self { algorithm, iterations, elements, window, copy, total: f64::NAN })
    }

    /// The elements that a host reads.
    fn numbers(&self, stage: &Stage<'_>, place: usize) -> impl Iterator<Item = usize> + use<> {
        let elements = self.elements;
        (place..self.iterations).step_by(stage.places.len()).map(move |iteration| iteration % elements)
    }

    fn element(&self, number: usize) -> f64 {
        let mut bytes = [0; ELEMENT];
        bytes.copy_from_slice(&self.copy[number * ELEMENT..][..ELEMENT]);
        f64::from_ne_bytes(bytes)
    }
}

impl Carried for Access {
    fn before(&mut self, stage: &Stage<'_>) -> Result<(), MpiError> {
        self.total = f64::NAN;
        if stage.me != stage.places[0][0] {
            self.copy.fill(0xff);
        }
        Ok(())
    }

    fn carry_out(&mut self, stage: &Stage<'_>) -> Result<(), MpiError> {
        let (place, ranks) = stage.place();
        let owner = stage.places[0][0];
        if stage.me != ranks[0] {
            return Ok(());
        }
        if place > 0 {
            stage.wire.receive(&mut [], stage.places[place - 1][0], TURN)?;
        }
        let mut total = 0.0;
        let mut is_there = place == 0;
        for number in self.numbers(stage, place) {
            match self.algorithm {
                _ if is_there => {}
                Algorithm::AccessElement => {
                    self.window.get_at(&mut self.copy[number * ELEMENT..][..ELEMENT], owner, number * ELEMENT)?;
                }
                _ => {
                    self.window.get_at(&mut self.copy, owner, 0)?;
                    is_there = self.algorithm == Algorithm::AccessPreload;
                }
            }
            total += self.element(number);
        }
        self.total = total;
        if place + 1 < stage.places.len() {
            stage.wire.send(&[], stage.places[place + 1][0], TURN)?;
        }
        Ok(())
    }

    fn is_right(&mut self, stage: &Stage<'_>) -> bool {
        let (place, ranks) = stage.place();
        stage.me != ranks[0] || self.total == self.numbers(stage, place).map(|number| summand(0, number)).sum::<f64>()
    }

    fn close(self: Box<Self>) -> Result<(), MpiError> {
        self.window.close()
    }
}
