//! A host as its kernel shows it: files of `/proc` and `/sys`, netlink, drivers, processes, groups.
//!
//! What this room is for: every way to ask a Linux host something, and to write to it, once.
//! In: names and numbers, and a [`model::root::Root`] that stands for `/`. Out: what the kernel
//! says, or systemd, as values, and its errors.
//! Never: a journal, an opinion about a value, a change that no caller named.
//!
//! Parsers are our own where a crate would be wrong or slow here. `procfs` turns each line of
//! `/proc/PID/stat` into fifty fields and a string, and opens the file again each time; the probe
//! reads thousands of threads ten times a second, into one buffer, from files that stay open.
//! `rtnetlink` needs an async runtime for three messages. Sockets, clocks, affinity and limits are
//! those of `rustix`; the one call without a safe wrapper is SIOCETHTOOL, in [`ethtool`].

pub mod background;
pub mod clock;
pub mod cpus;
pub mod kernel_file;
pub mod scan;

pub mod addresses;
pub mod ethtool;
pub mod link;
pub mod netlink;
pub mod nic;
pub mod qdisc;

pub mod cgroup;
pub mod child;
pub mod container;
pub mod group;
pub mod limits;
pub mod process;
pub mod program;
pub mod threads;
pub mod tree;

pub mod interrupts;
pub mod namespace;
pub mod sysctl;
pub mod systemd;

#[doc(hidden)]
pub mod testing;

pub use cpus::CpuSet;
pub use model::root::Root;
pub use tree::Tree;
