//! What the time of a message is made of, without noise.
//!
//! ```text
//! core of the sender + core of the receiver + hops + rendezvous beyond the sender's eager limit
//!     + bytes * max(card of the sender, card of the receiver, slowest cable on the route)
//! ```

use netmatrix::units::{Hosts, Rank};

use super::fault::{Fault, Harm, Scope};
use crate::network::{Cable, Network, Port, Route};

/// A machine.
#[derive(Clone, Debug)]
pub struct Parts {
    pub hosts: Hosts,
    pub network: Network,
    /// Whether every message takes any of the routes, rather than the one in the tables.
    pub is_adaptive: bool,
    /// Place of every host in the network.
    pub place: Vec<usize>,
    /// Cards of every host; local rank t has card t modulo so many.
    pub rails: usize,
    /// Seconds that a rank's core takes for a message.
    pub core: Vec<f64>,
    /// Seconds per byte of the cards, `[host * rails + rail]`.
    pub card: Vec<f64>,
    /// Seconds of a switch.
    pub hop: f64,
    /// Seconds per byte of a cable between switches.
    pub cable: f64,
    /// Bytes from which on (exclusive) a host's messages wait for their receiver.
    pub eager: u64,
    /// Inside a host: seconds, and seconds per byte.
    pub memory: (f64, f64),
    /// How healthy hosts, cards, cables and pairs differ.
    pub variation: Variation,
    /// Slower the longer the run goes on: share of the latency at its end.
    pub drift: f64,
    /// Busy minutes: from and to, as shares of the run's time, and how many times as long cables and switches take.
    pub busy: Vec<(f64, f64, f64)>,
}

/// Differences between healthy parts of one kind; they stay as they are for the whole run.
#[derive(Clone, Debug)]
pub struct Variation {
    /// Seconds more of a host's core, `[host]`.
    pub core: Vec<f64>,
    /// Factor of a card, `[host * rails + rail]`.
    pub card: Vec<f64>,
    /// Seconds more of a cable, `[cable]`.
    pub cable: Vec<f64>,
    /// Seconds more of a pair of hosts, `[host][host]` in a row.
    pub pair: Vec<f32>,
}

/// How many messages cross every cable at the same time.
pub type Load = Vec<u32>;

/// A message whose time is asked for.
pub struct Message<'a> {
    pub from: Rank,
    pub to: Rank,
    pub length: u64,
    pub moment: f64,
    /// One, or one for each way that adaptive routing may take.
    pub routes: &'a [Route],
    pub load: Option<&'a Load>,
}

/// What is taken into account.
pub struct View<'a> {
    pub faults: &'a [Fault],
    /// The number of a fault that is left out.
    pub without: Option<usize>,
    /// Whether healthy parts differ, drift and are busy.
    pub is_varied: bool,
}

impl View<'_> {
    fn faults(&self) -> impl Iterator<Item = &Fault> {
        let left_out = self.without;
        self.faults.iter().enumerate().filter(move |(number, _)| Some(*number) != left_out).map(|(_, fault)| fault)
    }
}

impl Parts {
    /// The card that a rank uses.
    pub fn rail_of(&self, rank: Rank) -> usize {
        self.hosts.place_of(rank) % self.rails
    }

    pub fn port_of(&self, rank: Rank) -> Port {
        self.place[self.hosts.host_of(rank)] * self.rails + self.rail_of(rank)
    }

    /// The routes from one rank to another: a single one where they are static.
    pub fn routes(&self, from: Rank, to: Rank) -> Vec<Route> {
        let (from, to) = (self.port_of(from), self.port_of(to));
        let choices = self.network.choices();
        if self.is_adaptive && choices > 1 {
            (0..choices).map(|choice| self.network.route(from, to, Some(choice))).collect()
        } else {
            vec![self.network.route(from, to, None)]
        }
    }

    fn busy_at(&self, moment: f64) -> f64 {
        self.busy.iter().filter(|(from, to, _)| (*from..*to).contains(&moment)).map(|busy| busy.2).product()
    }

    /// Seconds of an empty message.
    pub fn latency(&self, message: &Message<'_>, view: &View<'_>) -> f64 {
        let &Message { from, to, moment, .. } = message;
        let (a, b) = (self.hosts.host_of(from), self.hosts.host_of(to));
        if a == b {
            return self.memory.0;
        }
        let route = &message.routes[0];
        let mut seconds = self.core[from] + self.core[to] + self.hop * route.switches as f64;
        if view.is_varied {
            let variation = &self.variation;
            seconds += variation.core[a] + variation.core[b];
            seconds += f64::from(variation.pair[a * self.hosts.count() + b]);
            seconds += route.cables.iter().map(|cable| variation.cable[*cable]).sum::<f64>();
            seconds += (self.busy_at(moment) - 1.0) * self.hop * route.switches as f64;
            seconds *= 1.0 + self.drift * moment;
        }
        for fault in view.faults() {
            if let Harm::Latency(more) = fault.harm {
                let ends = fault.scope.covers(&self.hosts, from, to, &route.cables);
                if ends > 0 && fault.is_on(&self.hosts, from, to, message.length, moment) {
                    seconds += more * ends as f64;
                }
            }
        }
        seconds
    }

    /// Seconds that the payload takes, by route. `round_trip`: what an empty exchange takes.
    pub fn transfers(&self, message: &Message<'_>, round_trip: f64, view: &View<'_>, transfers: &mut Vec<f64>) {
        transfers.clear();
        let &Message { from, to, length, .. } = message;
        if length == 0 {
            transfers.push(0.0);
            return;
        }
        if self.hosts.host_of(from) == self.hosts.host_of(to) {
            transfers.push(length as f64 * self.memory.1);
            return;
        }
        let mut once = if length > self.eager { round_trip } else { 0.0 };
        for fault in self.met(message, view) {
            if let Harm::Extra(more) = fault.harm {
                once += more * fault.scope.covers(&self.hosts, from, to, &message.routes[0].cables) as f64;
            }
        }
        for route in message.routes {
            transfers.push(once + length as f64 * self.slowest(message, route, round_trip, view));
        }
    }

    /// The faults that a message meets.
    fn met<'a>(&'a self, message: &'a Message<'_>, view: &'a View<'_>) -> impl Iterator<Item = &'a Fault> {
        let &Message { from, to, length, moment, .. } = message;
        view.faults().filter(move |fault| fault.is_on(&self.hosts, from, to, length, moment))
    }

    /// Seconds per byte of the slowest part of a route.
    fn slowest(&self, message: &Message<'_>, route: &Route, round_trip: f64, view: &View<'_>) -> f64 {
        let &Message { from, to, length, .. } = message;
        let busy = if view.is_varied { self.busy_at(message.moment) } else { 1.0 };
        let end = |rank: Rank, is_out: bool| {
            let card = self.hosts.host_of(rank) * self.rails + self.rail_of(rank);
            let mut seconds = self.card[card] * if view.is_varied { self.variation.card[card] } else { 1.0 };
            for fault in self.met(message, view) {
                if let (Harm::Slow(factor), Scope::Ends { ranks, out, into }) = (&fault.harm, &fault.scope)
                    && ranks[rank]
                    && if is_out { *out } else { *into }
                {
                    seconds *= factor;
                }
            }
            seconds
        };
        let cards = end(from, true).max(end(to, false));
        // A cable that is hardly used is hardly shared.
        let used = length as f64 * cards / (length as f64 * cards + round_trip);
        let cable = |cable: Cable| {
            let others = message.load.map_or(0, |load| load[cable].saturating_sub(1));
            let mut seconds = self.cable * (1.0 + used * f64::from(others)) * busy;
            for fault in self.met(message, view) {
                match (&fault.harm, &fault.scope) {
                    (Harm::Slow(factor), Scope::Cables(bad)) if bad[cable] => seconds *= factor,
                    (Harm::Fewer { leaf, left }, Scope::Cables(bad)) if bad[cable] => {
                        seconds = seconds.max(self.cable * used * self.share_of(*leaf, *left, cable, message.load));
                    }
                    _ => {}
                }
            }
            seconds
        };
        let mut slowest = route.cables.iter().map(|number| cable(*number)).fold(cards, f64::max);
        for fault in self.met(message, view) {
            if let (Harm::Slow(factor), Scope::Pair { .. } | Scope::Across(_)) = (&fault.harm, &fault.scope)
                && fault.scope.covers(&self.hosts, from, to, &[]) > 0
            {
                slowest = slowest.max(cards * factor);
            }
        }
        slowest
    }

    /// How many messages share each of the cables that a leaf has left, in the direction of `cable`.
    fn share_of(&self, leaf: usize, left: f64, cable: Cable, load: Option<&Load>) -> f64 {
        let (Some(tree), Some(load)) = (self.network.tree(), load) else { return 1.0 };
        let same_way = tree.uplink_of_leaf(leaf).filter(|other| other % 2 == cable % 2);
        same_way.map(|other| f64::from(load[other])).sum::<f64>() / left
    }
}
