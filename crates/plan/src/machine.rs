//! What must be known about the host that makes the load, before anything is decided.
//!
//! Plans read no file and ask no kernel. The program that carries them out implements these
//! queries.

use crate::calls::SchemaFrom;
use crate::way_syntax::Sources;
use model::load::{DriverKind, Level};
use model::route::Address;
use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

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

    /// Whether a program can be run, or why not.
    fn program(&self, name: &str) -> Result<(), String>;

    /// A schema, as a set of descriptors; nothing where no file and no server is asked for it.
    fn schema(&self, _from: &SchemaFrom<'_>) -> Result<Option<Vec<u8>>, String> {
        Ok(None)
    }
}

/// Address of every name on a host that is not queried (RFC 5737).
const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// How a file is read.
pub(crate) type Read<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// A host that is not queried: it has every CPU, every name has one address, and every variable
/// a value. It notes which files it is asked for.
pub(crate) struct Unasked<'a> {
    read: Read<'a>,
    asked: RefCell<Vec<String>>,
    /// A host that does say what it has. No resolver is asked for it.
    host: Option<&'a dyn Machine>,
}

impl<'a> Unasked<'a> {
    /// One that has files.
    pub fn reading(read: Read<'a>) -> Self {
        Self { read, asked: RefCell::default(), host: None }
    }

    /// The same with what this host has.
    pub fn on(self, host: &'a dyn Machine) -> Self {
        Self { host: Some(host), ..self }
    }

    /// The files that it was asked for, in order.
    pub fn asked(&self) -> Vec<String> {
        self.asked.borrow().clone()
    }
}

impl Default for Unasked<'_> {
    /// One without files.
    fn default() -> Self {
        Self::reading(&|path| Err(format!("{path} is not read")))
    }
}

impl Machine for Unasked<'_> {
    fn cpus(&self) -> Vec<usize> {
        self.host.map_or_else(|| (0..1024).collect(), Machine::cpus)
    }

    fn parallelism(&self) -> usize {
        self.host.map_or_else(|| self.cpus().len(), Machine::parallelism)
    }

    fn driver(&self) -> (DriverKind, String) {
        self.host.map_or_else(|| (DriverKind::Epoll, String::new()), Machine::driver)
    }

    fn uring(&self) -> Result<(), String> {
        self.host.map_or(Ok(()), Machine::uring)
    }

    fn ktls(&self) -> Result<(), String> {
        self.host.map_or(Ok(()), Machine::ktls)
    }

    fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
        Ok(vec![SocketAddr::new(host.parse().unwrap_or(ELSEWHERE), port)])
    }

    fn sources(
        &self,
        asked: &Sources,
        levels: &[Level],
        addresses: &[Address],
    ) -> Result<Vec<IpAddr>, String> {
        let is_known = |address: &Address| address.tcp().is_none_or(|to| to.ip() != ELSEWHERE);
        match self.host {
            Some(host) if addresses.iter().all(is_known) => host.sources(asked, levels, addresses),
            _ => Ok(Vec::new()),
        }
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        self.asked.borrow_mut().push(path.to_string());
        (self.read)(path)
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.host.map_or_else(|| Some("unread".to_string()), |host| host.variable(name))
    }

    fn seed(&self) -> u64 {
        1
    }

    fn program(&self, name: &str) -> Result<(), String> {
        self.host.map_or(Ok(()), |host| host.program(name))
    }
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

    fn program(&self, _name: &str) -> Result<(), String> {
        Ok(())
    }
}
