//! What a host and a server process say about themselves while load runs.
//!
//! What this room is for: reading the counters that tell which wall was hit, on either host.
//! In: `/proc`, `/sys`, cgroups and sock_diag. Out: facts once, and raw counters with the time
//! window of every read.
//! Never: a rate, a percentile, an opinion; a change to the machine.

pub mod scan;

mod clock;
mod ethtool;
mod kept;
mod netlink;
mod root;

pub mod source;

mod queue;
mod sampler;

mod cgroup_path;
mod process;
mod tree;

pub mod accounting;
mod find;
mod host;
mod nic;
mod ports;
mod server;
mod sysctl;

#[doc(hidden)]
pub mod fuzzing;

#[cfg(test)]
mod never_panics;
#[cfg(test)]
mod testing;

pub use find::{FindError, find_server, find_unix_server};
pub use host::host_facts;
pub use ports::{TakenPort, listening_ports, taken_ports};
pub use root::Root;
pub use sampler::{Config, Sampler};
pub use server::{ServerError, server_facts};
pub use sysctl::values as sysctls;
