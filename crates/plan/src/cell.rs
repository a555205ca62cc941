//! A cell of a plan, resolved: one server under one load.

use crate::hosts::{Host, Place};
use crate::load::Load;
use crate::tune::Tune;
use model::load::ProbeChoice;
use model::starting::Limits;
use model::wall::WallId;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One measurement of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visit {
    /// Place of the cell in the plan.
    pub cell: usize,
    /// The block, from 1, and 0 of a visit that warms up; nothing without a design.
    pub block: Option<u32>,
}

/// One server under one load.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Tells it from the others.
    pub name: String,
    /// What is measured.
    pub server: Server,
    /// Where the server is; nothing for one that runs already and is on no host of the plan.
    pub host: Option<Host>,
    /// Disturbances of the generator.
    pub client: Client,
    /// The load.
    pub load: Load,
    /// Knobs that are turned while it is measured; without any the hosts stay as they are.
    pub tune: Vec<Tune>,
    /// Expected walls; empty when the plan expects nothing.
    pub walls: Vec<WallId>,
    /// The limits of links, in the syntax of `--link`.
    pub(crate) links: Vec<String>,
}

/// What is measured.
#[derive(Debug, Clone, PartialEq)]
pub enum Server {
    /// A target that is started for the cell, and ended after it.
    Started {
        /// Its name in the list of targets.
        target: String,
        /// Appended to its words; `{NAME}` stands for the address of a service.
        args: Vec<String>,
        /// CPUs it may use, as the kernel writes them; empty means all.
        cpus: String,
        /// Added to its environment.
        env: BTreeMap<String, String>,
        /// What must run beside it.
        services: Vec<String>,
        /// Limits of its control group.
        limits: Limits,
    },
    /// A server that runs already, for instance on another host.
    Running {
        /// HOST:PORT.
        addr: String,
    },
}

/// Disturbances of the generator, to show what a bad one reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Client {
    /// Priority, -20 to 19.
    pub nice: i32,
    /// CPUs that a busy neighbour each uses as well, as the kernel writes them.
    pub neighbours: String,
}

impl Cell {
    /// Whether the command line accepts the load of this cell.
    pub fn check(&self) -> Result<(), String> {
        let ours = ["probe", "probe-token-file", "probe-pin"];
        let given = ours.into_iter().find(|name| self.load.has(name));
        if let (Some(host), Some(name)) = (&self.host, given)
            && !host.is_here()
        {
            return Err(format!(
                "load.{name} is set by the host of the server, hosts.{}; leave it out",
                host.name
            ));
        }
        match &self.server {
            Server::Started { .. } => self.load.check(&self.more(Some(1), None)),
            Server::Running { .. } => self.load.check(&self.more(None, None)),
        }
    }

    /// The command line of its load, without what the executor adds. `pid` is the process of a
    /// server on this host, `probe` is the probe that watches the other host.
    pub fn words(&self, addr: &str, pid: Option<u32>, probe: Option<&ProbeChoice>) -> Vec<String> {
        self.load.words(addr, &self.more(pid, probe))
    }

    /// Words of the command line about its hosts.
    fn more(&self, pid: Option<u32>, probe: Option<&ProbeChoice>) -> Vec<String> {
        let links = if self.load.has("link") { &[][..] } else { &self.links };
        let mut words: Vec<String> = links.iter().map(|link| format!("--link={link}")).collect();
        match (&self.host, probe) {
            (_, Some(ProbeChoice { address, token_file, pin })) => words.extend([
                format!("--probe={address}"),
                format!("--probe-token-file={token_file}"),
                format!("--probe-pin={pin}"),
            ]),
            (Some(Host { place: Place::Far(probe), .. }), None) => {
                words.push(format!("--probe={}", probe.address));
            }
            (Some(Host { place: Place::Unknown, .. }), None) => {}
            (_, None) => words.extend(pid.map(|pid| format!("--server-pid={pid}"))),
        }
        words
    }
}
