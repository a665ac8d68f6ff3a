//! Networks: which cables a message crosses.
//!
//! In: a shape and its numbers. Out: a [`Network`]: routes as numbers of one-way cables. A *port* is a place where a
//! card of a host is plugged in; ports are numbered by their place in the machine, so that neighbours have neighbouring
//! numbers. Nothing in here knows about time.

mod dragonfly;
mod torus;
mod tree;

pub use dragonfly::Dragonfly;
pub use torus::Torus;
pub use tree::Tree;

/// A number of a port.
pub type Port = usize;
/// A number of a one-way cable between two switches. The cable of a host is not among them: it counts as its card.
pub type Cable = usize;

/// A one-way way through switches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// In order.
    pub cables: Vec<Cable>,
    /// Switches.
    pub switches: usize,
}

/// Who joins whom, and over which cables.
#[derive(Clone, Debug)]
pub enum Network {
    /// One switch, leaves under spines, or leaves in pods under cores.
    Tree(Tree),
    /// A torus of any number of dimensions.
    Torus(Torus),
    /// Groups of routers.
    Dragonfly(Dragonfly),
}

impl Network {
    /// Number of one-way cables between switches.
    pub fn cables(&self) -> usize {
        match self {
            Self::Tree(tree) => tree.cables(),
            Self::Torus(torus) => torus.cables(),
            Self::Dragonfly(dragonfly) => dragonfly.cables(),
        }
    }

    /// How many routes a message can take where routing is adaptive.
    pub fn choices(&self) -> usize {
        match self {
            Self::Tree(tree) => tree.choices(),
            Self::Torus(_) | Self::Dragonfly(_) => 1,
        }
    }

    /// The static route; with a `choice` below [`Network::choices`] the one that adaptive routing takes.
    pub fn route(&self, from: Port, to: Port, choice: Option<usize>) -> Route {
        match self {
            Self::Tree(tree) => tree.route(from, to, choice),
            Self::Torus(torus) => torus.route(from, to),
            Self::Dragonfly(dragonfly) => dragonfly.route(from, to),
        }
    }

    /// The tree, if it is one.
    pub fn tree(&self) -> Option<&Tree> {
        if let Self::Tree(tree) = self { Some(tree) } else { None }
    }
}
