//! BSPWB and MPM: how long a program of supersteps takes.
//!
//! `h` of a process in a step is what it receives and sends, in packets; a step's communication costs g h + L. BSPWB lets
//! all processes wait for the slowest after each step; MPM only for those they exchange with. Source: Roda, Rodriguez,
//! Morales, Almeida, "Predicting the execution time of message passing models". L counts only where h is above 0.

use crate::plan::program::{Program, Step};

/// g and L of both models.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relation {
    /// g: seconds per packet.
    pub per_packet: f64,
    /// L: seconds per step; fits may give a negative one.
    pub per_step: f64,
}

impl Relation {
    /// g h + L, or 0 where nothing is sent; clamped at 0 if so asked.
    fn seconds(self, packets: u64, clamp: bool) -> f64 {
        if packets == 0 {
            return 0.0;
        }
        let seconds = self.per_packet * packets as f64 + self.per_step;
        if clamp { seconds.max(0.0) } else { seconds }
    }

    /// Whether a step of the program would take less than no time, and is clamped at 0.
    pub fn clamps(self, program: &Program) -> bool {
        let steps = program.steps.iter().flat_map(relations);
        steps.filter(|packets| *packets > 0).any(|packets| self.seconds(packets, false) < 0.0)
    }
}

/// What both models say of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// BSPWB: everybody waits for everybody.
    pub bspwb: f64,
    /// MPM: everybody waits for those that send to it.
    pub mpm: f64,
}

/// h, `[process]`.
fn relations(step: &Step) -> Vec<u64> {
    let (received, sent) = step.packets();
    received.iter().zip(&sent).map(|(received, sent)| received + sent).collect()
}

/// Both models' times in seconds. `clamp`: no communication takes less than no time; else the papers' arithmetic.
pub fn times(program: &Program, relation: Relation, clamp: bool) -> Times {
    let mut everybody = 0.0;
    let mut own = vec![0.0; program.processes];
    for step in &program.steps {
        let packets = relations(step);
        let most = packets.iter().copied().max().unwrap_or(0);
        everybody += step.work.iter().copied().fold(0.0, f64::max) + relation.seconds(most, clamp);
        let worked: Vec<f64> = own.iter().zip(&step.work).map(|(before, work)| before + work).collect();
        let mut waited = worked.clone();
        let mut heaviest = packets.clone();
        for message in &step.messages {
            let (from, to) = (message.source, message.destination);
            waited[to] = waited[to].max(worked[from]);
            heaviest[to] = heaviest[to].max(packets[from]);
        }
        for (rank, time) in own.iter_mut().enumerate() {
            *time = waited[rank] + relation.seconds(heaviest[rank], clamp);
        }
    }
    Times { bspwb: everybody, mpm: own.into_iter().fold(0.0, f64::max) }
}

/// Machines of the paper: name; L in seconds and g in seconds per word (tables 1 and 2).
pub const MACHINES: [(&str, Relation); 6] = [
    ("Origin PVM", Relation { per_step: -1.53e-5, per_packet: 4.88e-8 }),
    ("SP2 PVM", Relation { per_step: 8.08e-5, per_packet: 1.38e-7 }),
    ("UTP LAN", Relation { per_step: 3.82e-3, per_packet: 6.04e-6 }),
    ("coaxial LAN", Relation { per_step: 1.26e-2, per_packet: 1.01e-5 }),
    ("T3E MPI", Relation { per_step: -2.11e-5, per_packet: 2.92e-8 }),
    ("Origin MPI", Relation { per_step: -1.75e-3, per_packet: 5.53e-8 }),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::program::Skeleton;

    fn machine(name: &str) -> Relation {
        MACHINES.iter().find(|machine| machine.0 == name).unwrap().1
    }

    fn about(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 0.6 * 10f64.powi(-6).max(1e-6 * expected), "{found} is not {expected}");
    }

    /// Figure 1: g h + L = 2 in both steps.
    fn figure_1(first: &str, second: &str) -> Times {
        let text =
            format!("processes 4\nstep\nwork 0,1 4s\nwork 2,3 2s\n{first}\nstep\nwork 0,1 2s\nwork 2,3 4s\n{second}\n");
        times(&Program::parse("f", &text).unwrap(), Relation { per_packet: 0.5, per_step: 1.0 }, true)
    }

    #[test]
    fn figure_1_takes_12_seconds_or_10() {
        let (inside, across) = ("message 0 <-> 1 1\nmessage 2 <-> 3 1", "message 0 <-> 2 1\nmessage 1 <-> 3 1");
        assert_eq!(figure_1(inside, across), Times { bspwb: 12.0, mpm: 10.0 });
        assert_eq!(figure_1(across, inside), Times { bspwb: 12.0, mpm: 12.0 });
    }

    #[test]
    fn the_transform_takes_what_the_tables_say() {
        for (name, constants, expected) in [
            ("Origin PVM", [2.39e-7, 5.52e-7, 2.84e-7], [5.624037, 2.754541, 1.392138, 0.747104]),
            ("SP2 PVM", [5.86e-7, 4.81e-7, 8.69e-7], [5.098701, 2.687319, 1.544714, 1.004975]),
            ("UTP LAN", [2.65e-6, 6.04e-7, 1.44e-6], [7.406092, 5.509368, 4.642084, 4.249935]),
            ("coaxial LAN", [2.65e-6, 6.04e-7, 1.44e-6], [7.406092, 6.582453, 6.256101, 6.138808]),
        ] {
            for (depth, expected) in expected.into_iter().enumerate() {
                let program = Skeleton::Fft { points: 524_288, constants }.program(1 << depth).unwrap();
                let found = times(&program, machine(name), false);
                about(found.bspwb, expected);
                about(found.mpm, expected);
            }
        }
    }

    #[test]
    fn sorting_takes_the_sum_of_its_steps() {
        let program = Skeleton::psrs(1 << 20).program(8).unwrap();
        let relation = Relation { per_packet: 2.92e-8, per_step: 1e-5 };
        let expected = [0.026801117, 0.249635952, 0.249654483, 0.249676792, 0.256385271, 0.269502675, 0.296304492];
        for (number, expected) in expected.into_iter().enumerate() {
            let part = Program { steps: program.steps[..=number].to_vec(), ..program.clone() };
            let found = times(&part, relation, false);
            assert!((found.bspwb - expected).abs() < 1e-9 && (found.mpm - expected).abs() < 1e-9, "{found:?}");
        }
        let free = Skeleton::Psrs { items: 1 << 20, constants: [0.0; 8] }.program(8).unwrap();
        for (name, expected) in [("T3E MPI", 0.060135992), ("Origin MPI", 0.101917403)] {
            assert!((times(&free, machine(name), false).mpm - expected).abs() < 1e-8, "{name}");
        }
        // L of the Origin is below 0, and some of the steps are short.
        assert!(machine("Origin MPI").clamps(&free) && !machine("UTP LAN").clamps(&free));
        assert!(times(&free, machine("Origin MPI"), true).mpm > 0.101917403);
    }
}
