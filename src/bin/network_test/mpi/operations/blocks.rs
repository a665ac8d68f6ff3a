//! Kulagin's reduction of a distributed array to one number: every process reduces its part, one process of each host
//! combines those of its host in order, and the hosts' numbers are combined by one-sided reads, in a tree or by the
//! first host from one host after the other. Before each level of the tree the hosts that still have a number wait for
//! each other, before the linear reduction all hosts do: by a dissemination barrier, or counted by the first host.
//!
//! Where all processes are on one host each of them counts as a host.

use netmatrix::plan::{
    Circle,
    operation::{Algorithm, steps},
};

use super::{
    super::{
        buffer::touched,
        ffi::{MpiError, Tag, Window},
    },
    Carried, Stage, summand,
};

const PART: Tag = 46;
const COUNT: Tag = 47;
const GO_ON: Tag = 48;
const SIGNAL: Tag = 49;

/// A reduction of an array of one length.
pub(super) struct Blocks {
    algorithm: Algorithm,
    /// What this process has of the array.
    part: Vec<f64>,
    /// `[level][pair]` of hosts.
    levels: Vec<Vec<(usize, usize)>>,
    /// The host's number, where others can read it.
    window: Window,
    result: f64,
    expected: f64,
}

impl Blocks {
    /// The array has `length` bytes. Collective.
    pub(super) fn new(algorithm: Algorithm, stage: &Stage<'_>, length: usize) -> Result<Self, super::NewError> {
        let elements = length / size_of::<f64>();
        // As even as can be, in the order of the processes.
        let begin = |process: usize| process * elements / stage.procs;
        let mut part = touched(begin(stage.me + 1) - begin(stage.me), 0.0)?;
        part.iter_mut().enumerate().for_each(|(place, value)| *value = summand(stage.me, place));
        let of_process = |process: usize| (0..begin(process + 1) - begin(process)).map(move |k| summand(process, k));
        let expected = (0..stage.procs).flat_map(of_process).sum();
        let window = stage.window(size_of::<f64>())?;
        let levels = steps::levels(stage.places.len());
        Ok(Self { algorithm, part, levels, window, result: f64::NAN, expected })
    }

    /// Reads the number of a host.
    fn fetch(&self, stage: &Stage<'_>, place: usize) -> Result<f64, MpiError> {
        let mut bytes = [0; size_of::<f64>()];
        self.window.get_at(&mut bytes, stage.places[place][0], 0)?;
        Ok(f64::from_ne_bytes(bytes))
    }

    /// Hosts 0, `step`, 2 `step`, ... wait for each other. The first process of a host stands for it.
    fn wait_for_all(&self, stage: &Stage<'_>, place: usize, step: usize) -> Result<(), MpiError> {
        if !place.is_multiple_of(step) {
            return Ok(());
        }
        let leader = |number: usize| stage.places[number * step][0];
        let (place, places) = (place / step, stage.places.len().div_ceil(step));
        if self.algorithm == Algorithm::BlockReduceCentral {
            if place > 0 {
                stage.wire.send(&[], leader(0), COUNT)?;
                return stage.wire.receive(&mut [], leader(0), GO_ON);
            }
            (1..places).try_for_each(|other| stage.wire.receive(&mut [], leader(other), COUNT))?;
            return (1..places).try_for_each(|other| stage.wire.send(&[], leader(other), GO_ON));
        }
        let mut distance = 1;
        while distance < places {
            let (to, from) = ((place + distance) % places, (place + places - distance) % places);
            stage.wire.shift(&[], leader(to), &mut [], leader(from), SIGNAL)?;
            distance *= 2;
        }
        Ok(())
    }
}

impl Carried for Blocks {
    fn before(&mut self, stage: &Stage<'_>) -> Result<(), MpiError> {
        self.result = f64::NAN;
        // Somebody may still be fetching what is here.
        stage.tree().meet(&Circle::default())?;
        self.window.expose(&f64::NAN.to_ne_bytes())
    }

    fn carry_out(&mut self, stage: &Stage<'_>) -> Result<(), MpiError> {
        let mut own: f64 = self.part.iter().sum();
        stage.compute(size_of_val(&self.part[..]));
        let (place, ranks) = stage.place();
        if stage.me != ranks[0] {
            return stage.wire.send_doubles(&[own], ranks[0], PART);
        }
        for other in &ranks[1..] {
            let mut received = [0.0];
            stage.wire.receive_doubles(&mut received, *other, PART)?;
            own += received[0];
        }
        self.window.expose(&own.to_ne_bytes())?;
        self.wait_for_all(stage, place, 1)?;
        if self.algorithm == Algorithm::LinearReduce {
            if place == 0 {
                for other in 1..stage.places.len() {
                    own += self.fetch(stage, other)?;
                }
            }
        } else {
            for (number, level) in self.levels.iter().enumerate() {
                if number > 0 {
                    self.wait_for_all(stage, place, 1 << number)?;
                }
                if let Some((_, second)) = level.iter().find(|(first, _)| *first == place) {
                    own += self.fetch(stage, *second)?;
                    // Nobody fetches behind the last level.
                    if number + 1 < self.levels.len() {
                        self.window.expose(&own.to_ne_bytes())?;
                    }
                }
            }
        }
        self.result = own;
        Ok(())
    }

    fn is_right(&mut self, stage: &Stage<'_>) -> bool {
        stage.me != 0 || self.result == self.expected
    }

    fn close(self: Box<Self>) -> Result<(), MpiError> {
        self.window.close()
    }
}
