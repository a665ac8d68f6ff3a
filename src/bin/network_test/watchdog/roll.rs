//! The roll: one place per rank in the lock's file, in which its watchdog shows that it is alive and whether it moves.
//!
//! In: this rank's beats. Out: what has become of all the others ([`Seen`]). It needs a folder that all hosts share;
//! the ranks make sure of that before they believe in it. A place is eight bytes and has one writer. The file is opened
//! for each look and closed behind it, because that is when network file systems ask their server.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::PathBuf,
    time::Duration,
};

use netmatrix::{store::LOCK_HEADER, units::Rank};

/// Bytes of a place: four for beats, four for moves.
const PLACE: usize = 8;

/// Where the alarm stands, as long as a place.
const ALARM: u64 = LOCK_HEADER as u64;

/// Where the places begin.
const PLACES: u64 = ALARM + PLACE as u64;

/// The file, and this rank's place in it.
#[derive(Clone, Debug)]
pub struct Roll {
    path: PathBuf,
    me: Rank,
    ranks: usize,
}

/// One look at the roll.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Whether a rank has found that the job is stuck.
    pub alarm: bool,
    /// Beats and moves, `[rank]`.
    pub places: Vec<(u32, u32)>,
}

impl Roll {
    /// In the file at `path`.
    pub fn new(path: PathBuf, me: Rank, ranks: usize) -> Self {
        Self { path, me, ranks }
    }

    /// Makes room for all ranks, and marks the file with a number by which others know it.
    pub fn begin(&self, mark: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(&self.path)?;
        file.set_len(PLACES + (PLACE * (self.ranks + 1)) as u64)?;
        file.write_all_at(&mark.to_le_bytes(), PLACES + (PLACE * self.ranks) as u64)?;
        file.sync_all()
    }

    /// Whether this host sees the file that was marked so.
    pub fn is_marked(&self, mark: u64) -> bool {
        let mut found = [0; PLACE];
        let place = PLACES + (PLACE * self.ranks) as u64;
        let read = File::open(&self.path).and_then(|file| file.read_exact_at(&mut found, place));
        read.is_ok() && found == mark.to_le_bytes()
    }

    /// Shows that this rank is alive.
    pub fn beat(&self, beats: u32, moves: u32) -> io::Result<()> {
        let mut place = [0; PLACE];
        place[..4].copy_from_slice(&beats.to_le_bytes());
        place[4..].copy_from_slice(&moves.to_le_bytes());
        OpenOptions::new().write(true).open(&self.path)?.write_all_at(&place, PLACES + (PLACE * self.me) as u64)
    }

    /// Lets everybody know that the job is stuck.
    pub fn raise_alarm(&self) -> io::Result<()> {
        OpenOptions::new().write(true).open(&self.path)?.write_all_at(&1u64.to_le_bytes(), ALARM)
    }

    /// What all have shown.
    pub fn look(&self) -> io::Result<Look> {
        let mut bytes = vec![0; PLACE * (self.ranks + 1)];
        File::open(&self.path)?.read_exact_at(&mut bytes, ALARM)?;
        let number = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let (alarm, places) = bytes.split_at(PLACE);
        let (places, _) = places.as_chunks::<PLACE>();
        let places = places.iter().map(|place| (number(&place[..4]), number(&place[4..]))).collect();
        Ok(Look { alarm: number(&alarm[..4]) != 0, places })
    }
}

/// What many looks have shown.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    last: Look,
    /// For how long a rank has shown nothing, `[rank]`.
    still: Vec<Duration>,
    /// For how long nobody has moved.
    quiet: Duration,
}

impl Seen {
    /// Takes in a look, `since` behind the one before.
    pub fn take(&mut self, look: Look, since: Duration) {
        self.still.resize(look.places.len(), Duration::ZERO);
        self.last.places.resize(look.places.len(), (0, 0));
        let mut moved = false;
        for ((still, before), now) in self.still.iter_mut().zip(&self.last.places).zip(&look.places) {
            *still = if now.0 == before.0 { *still + since } else { Duration::ZERO };
            moved |= now.1 != before.1;
        }
        self.quiet = if moved { Duration::ZERO } else { self.quiet + since };
        self.last = look;
    }

    /// Whether a rank has found that the job is stuck.
    pub fn is_alarmed(&self) -> bool {
        self.last.alarm
    }

    /// For how long nobody has moved.
    pub fn quiet(&self) -> Duration {
        self.quiet
    }

    /// The ranks that have shown something once and nothing for at least `time`.
    pub fn silent(&self, time: Duration) -> Vec<Rank> {
        let ranks = self.last.places.iter().zip(&self.still).enumerate();
        ranks.filter(|(_, (place, still))| place.0 > 0 && **still >= time).map(|(rank, _)| rank).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn beats_arrive_in_their_places() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.lock");
        std::fs::write(&path, [b' '; LOCK_HEADER]).unwrap();
        let rolls: Vec<_> = (0..3).map(|me| Roll::new(path.clone(), me, 3)).collect();
        assert!(!rolls[1].is_marked(5));
        rolls[0].begin(5).unwrap();
        assert!(rolls[1].is_marked(5) && !rolls[1].is_marked(6));
        rolls[1].beat(1, 70).unwrap();
        rolls[2].beat(3, 0).unwrap();
        assert_eq!(rolls[0].look().unwrap(), Look { alarm: false, places: vec![(0, 0), (1, 70), (3, 0)] });
        rolls[2].raise_alarm().unwrap();
        assert!(rolls[0].look().unwrap().alarm);
        assert_eq!(std::fs::read(&path).unwrap()[..LOCK_HEADER], [b' '; LOCK_HEADER]);
        assert!(Roll::new(folder.path().join("no"), 0, 3).look().is_err());
    }

    #[test]
    fn a_rank_is_silent_when_it_has_shown_something_once() {
        let look = |places: &[(u32, u32)]| Look { alarm: false, places: places.to_vec() };
        let mut seen = Seen::default();
        seen.take(look(&[(1, 1), (1, 1), (0, 0)]), SECOND);
        assert_eq!(seen.quiet(), Duration::ZERO);
        seen.take(look(&[(2, 1), (1, 1), (0, 0)]), SECOND);
        seen.take(look(&[(3, 1), (1, 1), (0, 0)]), SECOND);
        // Rank 2 may be unable to write at all.
        assert_eq!((seen.silent(2 * SECOND), seen.quiet()), (vec![1], 2 * SECOND));
        seen.take(look(&[(4, 2), (2, 1), (0, 0)]), SECOND);
        assert_eq!((seen.silent(SECOND), seen.quiet()), (vec![], Duration::ZERO));
    }
}
