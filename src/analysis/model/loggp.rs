//! LogGP: L, o_s, o_r, g, G, and the time to copy and to combine a byte, from probes between some pairs of ranks.
//!
//! In: the probes of a run of operations. Out: [`LogGp`] per distance, each number over the message length, in pieces.
//! Method: Hoefler, Mehlan, Mietke, Rehm, "LogP performance assessment of fast network interconnects" (Netgauge):
//! PRTT(n, d, s) is a round trip of n messages of s bytes, d seconds apart, answered once by an empty one.
//!
//! ```text
//! t(s)        = PRTT(1,0,s) - PRTT(1,0,s0)/2         one way; s0 is the shortest length
//! o_s, o_r    = what MPI_Send and MPI_Recv keep their ranks busy
//! L           = t - o_s - o_r, of short messages
//! g + (s-1)G  = (PRTT(n,0,s) - PRTT(1,0,s)) / (n-1)
//! o by delay  = (PRTT(n,d,s) - PRTT(1,0,s)) / (n-1) - d
//! ```

use serde::Serialize;

use super::{
    line::{Curve, Estimate},
    logp::Costs,
};
use crate::{
    record::operations::{Operations, Probe, ProbeKind},
    stats::median,
};

/// The numbers of pairs at one distance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogGp {
    /// `inside a host` or `between hosts`.
    pub name: &'static str,
    /// Pairs that were probed.
    pub pairs: usize,
    /// t(s): one way, everything in it.
    pub transit: Curve,
    /// o_s(s).
    pub send: Curve,
    /// o_s(s) of a send that is completed later, where it was measured.
    pub isend: Option<Curve>,
    /// o_r(s).
    pub receive: Curve,
    /// g + (s-1) G.
    pub gap: Curve,
    /// s lambda; `None` where copies took no time.
    pub copy: Option<Curve>,
    /// s gamma; `None` where additions took no time.
    pub add: Option<Curve>,
    /// The usual numbers.
    pub parameters: Parameters,
}

/// The usual numbers: L, o and g of the shortest messages, G, lambda and gamma of the longest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Parameters {
    /// L, seconds.
    pub latency: Estimate,
    /// o_s, seconds.
    pub send: Estimate,
    /// o_r, seconds.
    pub receive: Estimate,
    /// g, seconds.
    pub gap: Estimate,
    /// G, seconds per byte.
    pub gap_per_byte: Estimate,
    /// lambda, seconds per byte.
    pub copy: Estimate,
    /// gamma, seconds per byte.
    pub add: Estimate,
    /// o by delayed trains, seconds; `None` where they were not measured.
    pub delayed: Option<f64>,
}

/// Less than this share of a way in the network: the overheads are waiting.
const WAITING: f64 = 0.1;

/// A call that takes more than this share of one way waits for the other side.
const HELD: f64 = 0.5;

/// A train whose receives take more than this share of its interval is as slow as they are.
const RECEIVE_BOUND: f64 = 0.9;

/// What a fit of LogGP lacks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the run has no {0}: `network_test --operations probes` measures it, at two lengths or more")]
pub struct Missing(pub String);

/// `[length]` medians over probes, of what `value` makes of a probe and the number of a length.
fn curve<'a>(
    run: &Operations,
    probes: impl Iterator<Item = &'a Probe> + Clone,
    value: impl Fn(&Probe, usize) -> f64,
) -> Vec<(u64, f64)> {
    let at = |length: usize| median(&mut probes.clone().map(|probe| value(probe, length)).collect::<Vec<_>>());
    run.lengths.iter().enumerate().map(|(number, length)| (length.0, at(number))).collect()
}

fn seconds(probe: &Probe, length: usize) -> f64 {
    probe.measured.get(length).map_or(f64::NAN, |measured| measured.summary.median)
}

impl LogGp {
    /// Of all pairs that were probed, the near ones first.
    pub fn all(run: &Operations) -> Result<Vec<Self>, Missing> {
        let mut found = Vec::new();
        for (inside, name) in [(true, "inside a host"), (false, "between hosts")] {
            let is_so =
                |probe: &Probe| (run.hosts.host_of(probe.source) == run.hosts.host_of(probe.destination)) == inside;
            if run.probes.iter().any(|probe| !probe.kind.is_local() && is_so(probe)) {
                found.push(Self::of(run, name, is_so)?);
            }
        }
        if found.is_empty() { Err(Missing("round trips (PRTT) and overheads".to_owned())) } else { Ok(found) }
    }

    fn of(run: &Operations, name: &'static str, is_so: impl Fn(&Probe) -> bool + Copy) -> Result<Self, Missing> {
        let of = |kind: ProbeKind| run.probes.iter().filter(move |p| p.kind == kind && (kind.is_local() || is_so(p)));
        let plain = |kind: ProbeKind| curve(run, of(kind), seconds);
        let fitted = |points: &[(u64, f64)], what: &str| Curve::fit(points).ok_or_else(|| Missing(what.to_owned()));
        let single = plain(ProbeKind::Prtt1);
        let empty = single.iter().map(|point| point.1).find(|time| time.is_finite()).unwrap_or(f64::NAN) / 2.0;
        let transit: Vec<_> = single.iter().map(|(length, time)| (*length, time - empty)).collect();
        let transit = fitted(&transit, "round trip of single messages (prtt_1)")?;
        // Per message of a train behind the first one; both are of the same pair.
        let behind = |kind: ProbeKind| {
            curve(run, of(kind), |train, length| {
                let same = |p: &&Probe| (p.source, p.destination) == (train.source, train.destination);
                let one = of(ProbeKind::Prtt1).find(same).map_or(f64::NAN, |one| seconds(one, length));
                let more = f64::from(train.messages.max(2) - 1);
                (seconds(train, length) - one) / more - train.delays.get(length).copied().unwrap_or(0.0)
            })
        };
        let gap = fitted(&behind(ProbeKind::PrttTrain), "round trip of trains (prtt_train)")?;
        let delayed = behind(ProbeKind::PrttDelayed).into_iter().map(|point| point.1).find(|time| time.is_finite());
        let send = fitted(&plain(ProbeKind::Send), "time of MPI_Send alone (send)")?;
        let receive = fitted(&plain(ProbeKind::Recv), "time of MPI_Recv alone (recv)")?;
        // Where time passes in communication only, as in simulations, local work takes none.
        let [copy, add, isend] =
            [ProbeKind::Copy, ProbeKind::Add, ProbeKind::Isend].map(|kind| Curve::fit(&plain(kind)));
        let pairs = of(ProbeKind::Prtt1).count();
        let mut fit =
            Self { name, pairs, transit, send, isend, receive, gap, copy, add, parameters: Parameters::NOTHING };
        fit.parameters = Parameters { delayed, ..fit.usual() };
        Ok(fit)
    }

    /// From the usual numbers alone.
    pub fn from_parameters(parameters: Parameters) -> Self {
        let Parameters { latency, send, receive, gap, gap_per_byte, copy, add, .. } = parameters;
        let [l, o_s, o_r, g, rate] = [latency, send, receive, gap, gap_per_byte].map(|estimate| estimate.value);
        let local = |per_byte: Estimate| (per_byte.value > 0.0).then(|| Curve::single(0.0, per_byte.value));
        Self {
            name: "given",
            pairs: 0,
            transit: Curve::single(o_s + l + o_r - rate, rate),
            send: Curve::single(o_s, 0.0),
            isend: None,
            receive: Curve::single(o_r, 0.0),
            gap: Curve::single(g - rate, rate),
            copy: local(copy),
            add: local(add),
            parameters,
        }
    }

    fn usual(&self) -> Parameters {
        let first = |curve: &Curve| curve.fit.pieces[0].line;
        let slope = |fit: &Option<Curve>| {
            let last = fit.as_ref().and_then(|curve| curve.fit.pieces.last()).map(|piece| piece.line.per_byte);
            // What does not grow with the length takes no time per byte.
            last.filter(|slope| slope.value > 0.0).unwrap_or(Estimate::exact(0.0))
        };
        let (transit, send, receive, gap) =
            (first(&self.transit), first(&self.send), first(&self.receive), first(&self.gap));
        let rate = slope(&Some(self.gap.clone()));
        let half = |estimate: Estimate| (estimate.high - estimate.low) / 2.0;
        let latency = transit.start.value + transit.per_byte.value - send.start.value - receive.start.value;
        let error =
            [transit.start, send.start, receive.start].map(|part| half(part).powi(2)).iter().sum::<f64>().sqrt();
        let at_one = Estimate {
            value: gap.start.value + gap.per_byte.value,
            low: gap.start.low + gap.per_byte.value,
            high: gap.start.high + gap.per_byte.value,
        };
        Parameters {
            latency: Estimate { value: latency, low: latency - error, high: latency + error },
            send: send.start,
            receive: receive.start,
            gap: at_one,
            gap_per_byte: rate,
            copy: slope(&self.copy),
            add: slope(&self.add),
            delayed: None,
        }
    }

    /// Costs of messages of a length, and L + (s-1) G between two processes at the class's distance. What overheads leave
    /// nothing of for the network is taken off the send: it waits for the receiver.
    pub fn costs(&self, length: u64) -> (Costs, f64) {
        self.costs_within(length, self.transit.at(length))
    }

    /// Whether a send of so many bytes lasts until its receive has ended: the library sends them when both are there.
    pub fn is_held(&self, length: u64) -> bool {
        Self::holds(self.send.at(length), self.transit.at(length))
    }

    /// Whether a call of so many seconds, where one way takes `transit`, waits for the other side.
    pub fn holds(call: f64, transit: f64) -> bool {
        call > HELD * transit
    }

    /// As [`LogGp::costs`], where one way takes `transit` seconds.
    pub fn costs_within(&self, length: u64, transit: f64) -> (Costs, f64) {
        let receive = self.receive.at(length).min(transit);
        let send = self.send.at(length).min(transit - receive);
        let local = |fit: &Option<Curve>| fit.as_ref().map_or(0.0, |fit| fit.at(length));
        let (copy, reduce) = (local(&self.copy), local(&self.add));
        let gap = self.gap.at(length);
        // A train to one receiver is as slow as its receives: what lies between sends to several is shorter.
        let bound = self.receive.at(length) > RECEIVE_BOUND * gap;
        let send_gap = if bound { gap.min(self.on_the_wire(length)) } else { gap };
        let held = self.is_held(length);
        // Sends that end before their message has left: several are on the cable at once.
        let shared = !held && send < send_gap;
        (Costs { send, receive, send_gap, gap, copy, reduce, held, shared }, transit - receive - send)
    }

    /// Costs where receives are posted before and sends are completed later, so that messages are under way together. What
    /// leaves nothing for the network is then no overhead but waiting, and messages follow each other at s G.
    pub fn costs_together(&self, length: u64, transit: f64) -> (Costs, f64) {
        let (costs, latency) = self.costs_within(length, transit);
        let costs = Costs { held: false, shared: false, ..costs };
        if !Self::is_waiting(latency, transit) {
            return (costs, latency);
        }
        let send = self.isend.as_ref().map_or(0.0, |isend| isend.at(length)).min(transit);
        let gap = self.on_the_wire(length);
        (Costs { send, receive: 0.0, send_gap: gap, gap, ..costs }, transit - send)
    }

    /// s G with the G of messages of this length: libraries send short and long ones differently.
    fn on_the_wire(&self, length: u64) -> f64 {
        self.transit.fit.piece(length).line.per_byte.value.max(0.0) * length as f64
    }

    /// Whether overheads leave nothing for the network: they wait for the message to travel.
    pub fn is_waiting(latency: f64, transit: f64) -> bool {
        latency <= WAITING * transit
    }

    /// Whether a length is within twice what was probed.
    pub fn reaches(&self, length: u64) -> bool {
        [&self.transit, &self.send, &self.receive, &self.gap].iter().all(|curve| curve.fit.reaches(length))
    }
}

impl Parameters {
    const NOTHING: Self = {
        let nothing = Estimate { value: f64::NAN, low: f64::NAN, high: f64::NAN };
        Self {
            latency: nothing,
            send: nothing,
            receive: nothing,
            gap: nothing,
            gap_per_byte: nothing,
            copy: nothing,
            add: nothing,
            delayed: None,
        }
    };

    /// All, with the letters of the model, and whether they are per byte.
    pub fn entries(&self) -> [(&'static str, Estimate, bool); 7] {
        [
            ("L", self.latency, false),
            ("o_s", self.send, false),
            ("o_r", self.receive, false),
            ("g", self.gap, false),
            ("G", self.gap_per_byte, true),
            ("lambda", self.copy, true),
            ("gamma", self.add, true),
        ]
    }
}

impl std::str::FromStr for Parameters {
    type Err = String;

    /// Reads `L=1.2us,o=0.3us,g=0.5us,G=8e-11,lambda=5e-11,gamma=1e-10`: times with units, per byte in seconds. `o` stands
    /// for both overheads; lambda and gamma are 0 where they are not given.
    fn from_str(text: &str) -> Result<Self, String> {
        let example = "write, for example, L=1.2us,o=0.3us,g=0.5us,G=8e-11,lambda=5e-11,gamma=1e-10";
        let mut found = Self { copy: Estimate::exact(0.0), add: Estimate::exact(0.0), ..Self::NOTHING };
        for part in text.split(',') {
            let wrong = || format!("`{part}` is no parameter of LogGP: {example}");
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let value = value.parse::<crate::units::Seconds>().map_err(|error| error.to_string())?.0;
            if value < 0.0 {
                return Err(format!("`{part}`: no parameter is below 0"));
            }
            let value = Estimate::exact(value);
            match name.trim() {
                "L" => found.latency = value,
                "o" => (found.send, found.receive) = (value, value),
                "o_s" => found.send = value,
                "o_r" => found.receive = value,
                "g" => found.gap = value,
                "G" => found.gap_per_byte = value,
                "lambda" => found.copy = value,
                "gamma" => found.add = value,
                _ => return Err(wrong()),
            }
        }
        match found.entries().iter().find(|(_, estimate, _)| estimate.value.is_nan()) {
            Some((name, ..)) => Err(format!("{name} is missing: {example}")),
            None => Ok(found),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        record::Provenance,
        record::operations::Measured,
        stats::Summary,
        units::{Bytes, Hosts},
    };

    pub(in super::super) fn measured(seconds: f64) -> Measured {
        Measured { summary: Summary::of(&mut [seconds]), samples: 1, damaged: 0, skew: 0.0 }
    }

    pub(in super::super) const TRUE: [f64; 8] = [2e-6, 3e-7, 4e-7, 6e-7, 1e-10, 5e-11, 2e-10, 5e-12];

    /// Probes between two hosts with known L, o_s, o_r, g, G, lambda, gamma, and o per byte.
    pub(in super::super) fn run() -> Operations {
        let [l, o_s, o_r, g, rate, lambda, gamma, o_byte] = TRUE;
        let lengths: Vec<Bytes> = (0..22).map(|power| Bytes(1 << power)).collect();
        let mut run = Operations::new(
            Hosts::new(["a", "b", "c"]),
            Vec::new(),
            vec![vec![0, 1, 2]],
            lengths.clone(),
            BTreeMap::new(),
            Provenance::default(),
        );
        let own = |o: f64, s: f64| o + o_byte * s;
        let way = |s: f64| own(o_s, s) + l + (s - 1.0) * rate + own(o_r, s);
        let gap = |s: f64| g + (s - 1.0) * rate;
        for (source, destination) in [(0, 1), (1, 2)] {
            for kind in ProbeKind::ALL {
                let n = if matches!(kind, ProbeKind::PrttTrain | ProbeKind::PrttDelayed) { 9 } else { 1 };
                let more = f64::from(n - 1);
                let delay = |s: f64| if kind == ProbeKind::PrttDelayed { way(s) + way(1.0) } else { 0.0 };
                let seconds = |s: f64| match kind {
                    ProbeKind::Send | ProbeKind::Isend => own(o_s, s),
                    ProbeKind::Recv => own(o_r, s),
                    ProbeKind::Prtt1 => way(s) + way(1.0),
                    ProbeKind::PrttTrain => way(s) + way(1.0) + more * gap(s),
                    ProbeKind::PrttDelayed => way(s) + way(1.0) + more * (delay(s) + own(o_s, s)),
                    ProbeKind::Copy => lambda * s,
                    ProbeKind::Add => gamma * s,
                };
                let each = lengths.iter().map(|length| length.0 as f64);
                run.probes.push(Probe {
                    kind,
                    source,
                    destination: if kind.is_local() { source } else { destination },
                    messages: n,
                    delays: each.clone().map(delay).collect(),
                    measured: each.map(|s| measured(seconds(s))).collect(),
                });
            }
        }
        run
    }

    #[test]
    fn known_parameters_come_back() {
        let fits = LogGp::all(&run()).unwrap();
        assert_eq!((fits.len(), fits[0].name, fits[0].pairs), (1, "between hosts", 2));
        for ((name, found, _), expected) in fits[0].parameters.entries().into_iter().zip(TRUE) {
            assert!((found.value / expected - 1.0).abs() < 0.01, "{name}: {} is not {expected}", found.value);
            assert!(found.low <= found.value && found.value <= found.high, "{name}: {found:?}");
        }
        let delayed = fits[0].parameters.delayed.unwrap();
        assert!((delayed / TRUE[1] - 1.0).abs() < 0.01, "{delayed}");
        let (costs, latency) = fits[0].costs(65_536);
        let way = costs.send + latency + costs.receive;
        assert!((way / fits[0].transit.at(65_536) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_missing_is_named() {
        let mut run = run();
        run.probes.retain(|probe| probe.kind != ProbeKind::Recv);
        let error = LogGp::all(&run).unwrap_err().to_string();
        assert!(error.contains("MPI_Recv") && error.contains("--operations"), "{error}");
        run.probes.clear();
        assert!(LogGp::all(&run).unwrap_err().to_string().contains("PRTT"));
    }

    #[test]
    fn a_send_that_waits_for_its_receiver_leaves_nothing_for_the_network() {
        let mut fit = LogGp::all(&run()).unwrap().remove(0);
        fit.send = Curve::single(0.0, 1.0);
        let (costs, latency) = fit.costs(1 << 20);
        let transit = fit.transit.at(1 << 20);
        assert!(latency == 0.0 && (costs.send + costs.receive - transit).abs() < 1e-12, "{costs:?}");
        let (together, latency) = fit.costs_together(1 << 20, transit);
        assert!(together.receive == 0.0 && (latency + together.send - transit).abs() < 1e-12, "{together:?}");
    }

    #[test]
    fn parameters_are_read_as_they_are_typed() {
        let found: Parameters = "L=6us,o=2us,g=4us,G=1e-10,gamma=3e-9".parse().unwrap();
        assert_eq!(found.entries().map(|entry| entry.1.value), [6e-6, 2e-6, 2e-6, 4e-6, 1e-10, 0.0, 3e-9]);
        let (costs, latency) = LogGp::from_parameters(found).costs(1);
        assert!((latency - 6e-6).abs() < 1e-18 && (costs.gap - 4e-6).abs() < 1e-18);
        for (text, part) in [("L=6us", "o_s is missing"), ("x=1", "`x=1`"), ("L", "`L`"), ("L=-1us", "below 0")] {
            let error = text.parse::<Parameters>().unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
