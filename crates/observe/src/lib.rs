//! What the readings of one window say: deltas and shares, without a judgement.
//!
//! What this room is for: deriving rates from counters, once, for verdicts and for pages.
//! In: raw readings and the windows of points. Out: what each host did in them.
//! Never: an opinion on a figure, IO, a clock; a zero where nothing was read.
//!
//! Cumulative counters are differenced between the first and the last reading of each source that
//! lie wholly inside the window, over the time between those two reads.

mod capacity;
mod cpus;
mod ends;
mod figures;
mod hosts;
mod inside;
mod lost;
mod network;
mod now;
mod observed;
mod server;
mod threads;
mod timeline;
mod tracked;
mod window;

pub use capacity::{Capacity, LimitSource, capacities};
pub use cpus::{CpuShare, QuotaShare, STATES, Shares, mean_shares};
pub use figures::{Figure, figures};
pub use hosts::{Carrier, SideHost};
pub use lost::{Losses, PAUSES, Span};
pub use network::{ConntrackUse, InterruptUse, LinkUse, QdiscUse, SoftnetUse};
pub use observed::{Observed, QueuePeak, TuningSeen};
pub use server::{DoingShares, DownstreamUse, SocketCensus, SocketsOf};
pub use threads::{Process, ThreadShare};
pub use timeline::{Clocked, Line, Place, ThreadKey, Timeline};
pub use window::{Raw, Window, reach_end};
