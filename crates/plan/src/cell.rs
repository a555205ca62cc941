//! A cell of a plan, resolved: one server under one load.

use crate::hosts::{Host, Place};
use crate::load::Load;
use crate::tune::Tune;
use model::load::ProbeChoice;
use model::secret;
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
    /// What is done to the generator.
    pub client: Client,
    /// What is asked of ceiling.
    pub load: Load,
    /// Knobs that are turned while it is measured; none leave the hosts as they are.
    pub tune: Vec<Tune>,
    /// Walls that would be as expected; empty when nothing is.
    pub walls: Vec<WallId>,
    /// What links let through, as `--link` takes it.
    pub(crate) links: Vec<String>,
}

/// What is measured.
#[derive(Debug, Clone, PartialEq)]
pub enum Server {
    /// A target that is started for the cell, and ended after it.
    Started {
        /// Its name in the list of targets.
        target: String,
        /// Appended to its words; `{NAME}` stands for where a service is.
        args: Vec<String>,
        /// CPUs it may use, as the kernel writes them; empty means all.
        cpus: String,
        /// Added to its environment.
        env: BTreeMap<String, String>,
        /// What must run beside it.
        services: Vec<String>,
        /// What its control group lets it use.
        limits: Limits,
    },
    /// A server that runs already, for instance on another host.
    Running {
        /// HOST:PORT.
        addr: String,
    },
}

/// What is done to the generator, to show what a bad one says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Client {
    /// Priority, -20 to 19.
    pub nice: i32,
    /// CPUs that a busy neighbour each uses as well, as the kernel writes them.
    pub neighbours: String,
}

impl Server {
    /// How it comes to run, and where, in words.
    pub(crate) fn shown(&self) -> (String, String) {
        match self {
            Self::Started { target, args, cpus, services, limits, .. } => {
                let mut server = format!("start {target} {}", secret::words(args).join(" "));
                if !cpus.is_empty() {
                    server += &format!(" on CPUs {cpus}");
                }
                if !services.is_empty() {
                    server += &format!(" beside {}", services.join(", "));
                }
                if let Some(cpu) = limits.cpu {
                    server += &format!(", limited to the time of {cpu} CPUs");
                }
                if let Some(bytes) = limits.memory_bytes {
                    server += &format!(", limited to {bytes} bytes");
                }
                (server, "{addr}".to_string())
            }
            Self::Running { addr } => (format!("external server at {addr}"), addr.clone()),
        }
    }
}

impl Cell {
    /// Whether the command line takes what is asked of this cell's server.
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

    /// The words that ask for its load, without what the executor adds. `pid` is the process of a
    /// server on this host, `probe` how the other host is watched.
    pub fn words(&self, addr: &str, pid: Option<u32>, probe: Option<&ProbeChoice>) -> Vec<String> {
        self.load.words(addr, &self.more(pid, probe))
    }

    /// Words about its hosts.
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
