//! What a command line asks for that does not apply to what it measures: nothing is taken and silently ignored.

use super::{Config, Mode, Optional, Schedule, Timing};

impl Config {
    /// One sentence for each flag that has no effect, or not the one that its name promises.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let defaults = Self::default();
        let list = |modes: Vec<Mode>| modes.into_iter().map(Mode::name).collect::<Vec<_>>().join(", ");
        let mut for_modes = |asked: bool, hit: &dyn Fn(Mode) -> bool, note: &dyn Fn(String) -> String| {
            let modes: Vec<Mode> = self.modes.iter().copied().filter(|mode| hit(*mode)).collect();
            if asked && !modes.is_empty() {
                notes.push(note(list(modes)));
            }
        };
        for_modes(self.schedule == Schedule::Disjoint, &|mode| mode.is_collective(), &|modes| {
            format!("--schedule disjoint does not apply to {modes}: all ranks take part in each exchange")
        });
        for_modes(self.schedule == Schedule::Disjoint, &|mode| mode.has_noise(), &|modes| {
            format!("--schedule disjoint does not apply to {modes}: under noise one pair at a time is measured")
        });
        for_modes(self.sample_rounds.is_some(), &|mode| mode.is_collective(), &|modes| {
            format!("--sample-rounds does not apply to {modes}: all ranks take part in each exchange")
        });
        let timed_otherwise = |mode: Mode| match mode {
            Mode::Bcast => self.timing != Timing::Clock,
            mode => !mode.is_one_way(),
        };
        for_modes(self.timing != defaults.timing, &timed_otherwise, &|modes| {
            format!(
                "--timing {} does not apply to {modes}: one rank's clock takes the whole time there",
                self.timing.name()
            )
        });
        for_modes(
            !self.sweep.lengths().iter().all(|length| length.0 > 0),
            &|mode| !mode.empty_messages_travel(),
            &|modes| format!("0 bytes are not measured in {modes}: nothing would be sent"),
        );
        let again = |mode: Mode| self.retest > 0 && !mode.has_noise() && !mode.is_collective();
        for_modes(self.optional.contains(&Optional::Samples), &|mode| !again(mode), &|modes| {
            format!("--statistics samples does not apply to {modes}: no pair is measured again there")
        });
        let silent = self.noise.processes == 0;
        for_modes(silent, &|mode| mode.has_noise(), &|modes| {
            let same = if modes.contains(',') { "async_one_to_one and one_to_one" } else { "the mode without noise" };
            format!("no rank makes noise in {modes} (-p 0): this is {same} once more; give -p 2 or more")
        });
        let noise_asked = self.noise != defaults.noise || self.noise_pattern != defaults.noise_pattern;
        if noise_asked && !self.modes.iter().any(|mode| mode.has_noise()) {
            notes.push("-l, -m, -p and --noise-pattern do not apply: no mode with noise is measured".to_owned());
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{Noise, NoisePattern, Sweep},
        units::Bytes,
    };

    fn notes(change: impl FnOnce(&mut Config)) -> Vec<String> {
        let mut config = Config { sweep: Sweep::list(&[Bytes(1)]).unwrap(), ..Config::default() };
        change(&mut config);
        config.notes()
    }

    #[test]
    fn nothing_is_taken_and_ignored() {
        let noise = Noise { processes: 3, ..Config::default().noise };
        assert_eq!(notes(|_| ()), Vec::<String>::new());
        for (found, expected) in [
            (
                notes(|config| (config.modes, config.schedule) = (vec![Mode::Bcast], Schedule::Disjoint)),
                "--schedule disjoint does not apply to bcast",
            ),
            (
                notes(|config| (config.modes, config.timing) = (vec![Mode::Put], Timing::Clock)),
                "--timing clock does not apply to put",
            ),
            (notes(|config| config.noise = noise), "-p and --noise-pattern do not apply"),
            (notes(|config| config.noise_pattern = NoisePattern::Ring), "--noise-pattern do not apply"),
            (notes(|config| config.modes = vec![Mode::Noise]), "no rank makes noise in noise (-p 0)"),
            (
                notes(|config| {
                    config.modes = vec![Mode::Get];
                    config.sweep = Sweep::list(&[Bytes(0), Bytes(1)]).unwrap();
                }),
                "0 bytes are not measured in get",
            ),
            (
                notes(|config| (config.modes, config.sample_rounds) = (vec![Mode::AllToAll], Some(2))),
                "--sample-rounds does not apply to all_to_all",
            ),
            (
                notes(|config| (config.retest, config.optional) = (0, vec![Optional::Samples])),
                "--statistics samples does not apply to one_to_one",
            ),
        ] {
            assert!(found.len() == 1 && found[0].contains(expected), "{found:?}");
        }
        let all = notes(|config| config.modes = Mode::all().collect());
        assert!(all.len() == 1 && all[0].contains("noise, noise_blocking"), "{all:?}");
    }
}
