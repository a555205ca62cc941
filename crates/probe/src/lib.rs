//! What a host and a server process report about themselves while load runs.
//!
//! What this room is for: reading the counters that tell which wall was hit, on either host.
//! In: `/proc`, `/sys`, cgroups and sock_diag. Out: facts once, and raw counters with the time
//! window of every read.
//! Never: a rate, a percentile, an opinion; a change to the machine.

use ::host::{
    cgroup as cgroup_path, clock, container, ethtool, interrupts, kernel_file, limits, link,
    namespace, netlink, nic, process, scan, sysctl, tree,
};

pub mod source;

pub mod queue;
mod sampler;

pub mod accounting;
pub mod ask;
mod calls;
mod facts;
mod find;
mod net_tcp;
mod network;
mod ports;
mod privilege;
mod published;
mod server;
mod socket;
mod translated;
mod unix_diag;

pub mod cost;
#[doc(hidden)]
pub mod fake_host;
#[doc(hidden)]
pub mod fuzzing;

#[cfg(test)]
mod never_panics;
#[cfg(test)]
mod testing;

pub use clock::{monotonic_ns, wall_ns};
pub use facts::{clock_tick_ns, host_facts};
pub use find::{FindError, find_server, find_unix_server, listened_by, passed_on_by};
pub use ports::{TakenPort, listening_ports, taken_ports};
pub use privilege::privilege;
pub use sampler::{Config, Sampler};
pub use server::{KnownProcess, ServerError, server_facts};
pub use source::Ends;
