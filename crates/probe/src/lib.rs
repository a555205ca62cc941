//! What a host and a server process say about themselves while load runs.
//!
//! What this room is for: reading the counters that tell which wall was hit, on either host.
//! In: `/proc`, `/sys`, cgroups and sock_diag. Out: facts once, and raw counters with the time
//! window of every read.
//! Never: a rate, a percentile, an opinion; a change to the machine.

#![allow(unsafe_code, reason = "system calls that only telemetry needs")]

pub mod scan;

mod clock;
mod ethtool;
mod kept;
mod netlink;

pub mod source;

pub mod queue;
mod sampler;

mod cgroup_path;
mod process;
mod tree;

pub mod accounting;
pub mod ask;
mod find;
mod host;
mod nic;
mod ports;
mod privilege;
mod server;
mod sysctl;

pub mod cost;
#[doc(hidden)]
pub mod fuzzing;
#[doc(hidden)]
pub mod made_up;

#[cfg(test)]
mod never_panics;
#[cfg(test)]
mod testing;

pub use cgroup_path::{Group as CpuGroup, cpu_groups};
pub use clock::monotonic_ns;
pub use find::{FindError, find_server, find_unix_server, listened_by};
pub use host::{clock_tick_ns, host_facts};
pub use model::root::Root;
pub use ports::{TakenPort, listening_ports, taken_ports};
pub use privilege::privilege;
pub use process::{
    Stat as ProcessStat, ids, stat as process_stat, stat_if_there as process_stat_if_there,
};
pub use sampler::{Config, Sampler};
pub use server::{ServerError, server_facts};
pub use source::Ends;
pub use sysctl::values as sysctls;
pub use tree::Tree;
