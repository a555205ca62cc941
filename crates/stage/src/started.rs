//! A server that was started for a cell: on this host by us, or on another one by its probe.

use crate::process::Process;
use model::secret;
use model::starting::TargetExit;
use remote::FarServer;

/// A running server. It ends when dropped.
#[derive(Debug)]
pub enum Started {
    /// On this host.
    Here(Process),
    /// On the host of a probe.
    Far(FarServer),
}

impl Started {
    /// Its name in the list.
    pub fn name(&self) -> &str {
        match self {
            Self::Here(process) => process.name(),
            Self::Far(server) => server.name(),
        }
    }

    /// The command it was started with, without secrets.
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Here(process) => secret::words(process.words()),
            Self::Far(server) => server.words().to_vec(),
        }
    }

    /// HOST:PORT at which we reach it.
    pub fn addr(&self) -> &str {
        match self {
            Self::Here(process) => process.addr(),
            Self::Far(server) => server.addr(),
        }
    }

    /// Its process ID, on its host.
    pub fn pid(&self) -> u32 {
        match self {
            Self::Here(process) => process.pid(),
            Self::Far(server) => server.pid(),
        }
    }

    /// Whether it is still running, or how it ended.
    pub fn alive(&mut self) -> Result<(), String> {
        match self {
            Self::Here(process) => process.alive(),
            Self::Far(server) => server.alive(),
        }
    }

    /// Ends it in order.
    pub fn end(self) -> TargetExit {
        match self {
            Self::Here(process) => process.end(),
            Self::Far(server) => server.end(),
        }
    }
}
