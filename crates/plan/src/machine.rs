//! What must be known about the host that makes the load, before anything is decided.
//!
//! Plans read no file and ask no kernel. The program that carries them out implements these
//! queries.

use crate::way_syntax::Sources;
use model::load::{DriverKind, Level};
use model::route::Address;
use std::net::{IpAddr, SocketAddr};

/// The generator's host.
pub trait Machine {
    /// The CPUs that this process may use, in order; never empty.
    fn cpus(&self) -> Vec<usize>;

    /// Threads that run at once, with quotas counted.
    fn parallelism(&self) -> usize;

    /// The best driver here, and why that one.
    fn driver(&self) -> (DriverKind, String);

    /// Whether this kernel offers io_uring, or why not.
    fn uring(&self) -> Result<(), String>;

    /// Whether this kernel could encrypt, or why not.
    fn ktls(&self) -> Result<(), String>;

    /// The addresses of a host from the resolver, or why there are none.
    fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, String>;

    /// The addresses to connect from for the ports that levels need at once, or why there are none.
    fn sources(
        &self,
        asked: &Sources,
        levels: &[Level],
        addresses: &[Address],
    ) -> Result<Vec<IpAddr>, String>;

    /// A whole file, or why not.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;

    /// A variable of the environment that is not empty.
    fn variable(&self, name: &str) -> Option<String>;

    /// A seed when none is given.
    fn seed(&self) -> u64;
}

/// A host for tests: one CPU, no resolver, no files.
#[cfg(test)]
pub(crate) struct Nowhere;

#[cfg(test)]
impl Machine for Nowhere {
    fn cpus(&self) -> Vec<usize> {
        vec![0]
    }

    fn parallelism(&self) -> usize {
        1
    }

    fn driver(&self) -> (DriverKind, String) {
        (DriverKind::Epoll, "it is a test".to_string())
    }

    fn uring(&self) -> Result<(), String> {
        Err("it is a test".to_string())
    }

    fn ktls(&self) -> Result<(), String> {
        Err("it is a test".to_string())
    }

    fn resolve(&self, _host: &str, _port: u16) -> Result<Vec<SocketAddr>, String> {
        Err("there is no resolver".to_string())
    }

    fn sources(
        &self,
        _asked: &Sources,
        _levels: &[Level],
        _addresses: &[Address],
    ) -> Result<Vec<IpAddr>, String> {
        Ok(Vec::new())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        Err(format!("cannot read {path}: it is a test"))
    }

    fn variable(&self, _name: &str) -> Option<String> {
        None
    }

    fn seed(&self) -> u64 {
        1
    }
}
