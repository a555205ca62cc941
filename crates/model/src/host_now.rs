//! What the hosts of a run did in the last second, for the live view.
//!
//! In: figures and rates of each host. Out: one value, for the terminal, the page and programs.
//! Never: a zero where nothing was read.

use crate::figure::{Figure, OfHost, Whose};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many states of a CPU are shown: all but idle.
pub const STATES_SHOWN: usize = 6;

/// A CPU: its number, and percent of its time by state, in the order of
/// [`CpuShares::STATES`](crate::reading::CpuShares::STATES).
pub type CpuNow = (u32, [u8; STATES_SHOWN]);

/// A device and queue that interrupted, and how often per second.
pub type InterruptsNow = (String, f64);

/// A host in the last second. What was not read is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HostNow {
    /// The sides that are on it: both where generator and server share it.
    pub sides: Vec<Whose>,
    /// Its figures, in the units of the record.
    pub figures: BTreeMap<Figure, f64>,
    /// Its CPUs.
    pub cpus: Option<Vec<CpuNow>>,
    /// Its interfaces, the busiest first.
    pub links: Option<Vec<LinkNow>>,
    /// Its devices' interrupts by queue, the busiest first.
    pub interrupts: Option<Vec<InterruptsNow>>,
}

/// An interface of a host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkNow {
    /// Its name.
    pub name: String,
    /// Bytes per second that it received.
    pub received: f64,
    /// Bytes per second that it sent.
    pub sent: f64,
    /// Shares of its speed that were used to receive and to send; absent where that is not known.
    pub shares: Option<[f64; 2]>,
}

impl OfHost {
    /// The figures of a host that are shown while a run goes on.
    pub const SHOWN_MEANWHILE: [Self; 7] = [
        Self::Busy,
        Self::Interrupts,
        Self::SoftirqDrops,
        Self::AcceptQueue,
        Self::SynDrops,
        Self::ListenDrops,
        Self::Established,
    ];
}

impl HostNow {
    /// The side whose figures it has: the server's, which are more, where both are on it.
    pub fn whose(&self) -> Whose {
        self.sides.last().copied().unwrap_or(Whose::Client)
    }

    /// Each figure that is shown, with its value if it was read.
    pub fn shown(&self) -> impl Iterator<Item = (Figure, Option<f64>)> {
        let whose = self.whose();
        let of_side = OfHost::SHOWN_MEANWHILE.into_iter().filter(move |of| of.is_of(whose));
        of_side.map(move |of| {
            let figure = Figure::Host(of, whose);
            (figure, self.figures.get(&figure).copied())
        })
    }

    /// Share of the time of all CPUs in which they were not idle.
    pub fn busy(&self) -> Option<f64> {
        self.figures.get(&Figure::Host(OfHost::Busy, self.whose())).copied()
    }
}
