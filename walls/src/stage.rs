//! The stage: up to four hosts on one machine, each on its own CPU, with nothing left behind.
//!
//! Hosts are network namespaces joined by veth pairs; CPU time is shared out by control groups.
//! Everything is named after the process that made it, is removed on drop, and what a process left
//! that was killed is removed when the next one begins. Files of processes that are killed with
//! us: every program of the stage is in one of its groups, so that it can be found.

mod delay;
mod disk;
mod groups;
mod guard;
mod network;
mod scratch;

use crate::setup::{Allowance, Host, Receive, Setup};
use anyhow::{Context, Result, bail};
use groups::Groups;
use guard::{Guard, Parameter};
use network::Network;
use scratch::Scratch;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use delay::run as carry;
pub use network::{address, server_seen_from, unused_address};

/// What the names of all things of a stage begin with.
const PREFIX: &str = "ceiling-walls-";

/// See the module.
pub struct Stage {
    // In the order in which they are taken down: programs, then what they used.
    groups: Groups,
    network: Network,
    _guards: Vec<Guard>,
    scratch: Scratch,
}

/// Where and how a program runs.
#[derive(Debug, Clone, Copy)]
pub struct Seat<'a> {
    /// Its host.
    pub host: Host,
    /// Name of its separate group.
    pub name: &'a str,
    /// CPUs it may run on.
    pub cpus: &'a str,
    /// CPU time it may have.
    pub allowance: Allowance,
    /// Descriptors it may open.
    pub files: Option<u64>,
    /// What it shares with its host.
    pub place: Place,
}

/// What a program shares with its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// All but the network and mounts of the host it is on.
    Host,
    /// Neither its processes nor its name: a container. The program is then the only child of the
    /// process that is started.
    Container,
}

/// The program in a container.
pub fn contained(container: u32) -> Option<u32> {
    let children = format!("/proc/{container}/task/{container}/children");
    std::fs::read_to_string(children).ok()?.split_whitespace().next()?.parse().ok()
}

impl Stage {
    /// Builds it.
    pub fn build(setup: &Setup) -> Result<Self> {
        let groups = Groups::create()?;
        let network = Network::create(setup)?;
        let mut guards = Vec::new();
        if let Some(packets) = setup.backlog_packets {
            guards.push(Guard::set(Parameter::Backlog, packets)?);
        }
        if let Some(connections) = setup.tracked {
            guards.push(Guard::set(Parameter::Tracked, connections)?);
        }
        Ok(Self { groups, network, _guards: guards, scratch: Scratch })
    }

    /// The command that runs a program on the stage. The program is the process that is started,
    /// not a child of it.
    pub fn command(&self, seat: Seat<'_>, program: &Path, words: &[String]) -> Result<Command> {
        let groups = self.groups.add(seat.name, seat.allowance)?;
        let enter = |group: &PathBuf| format!("echo $$ > {}/cgroup.procs && ", group.display());
        let enter: String = groups.iter().map(enter).collect();
        let namespace = self.network.namespace(seat.host);
        let cpus = seat.cpus;
        let files = match seat.files {
            Some(files) => format!("prlimit --nofile={files}:{files} "),
            None => String::new(),
        };
        let enclose = match seat.place {
            Place::Host => "",
            Place::Container => "unshare --fork --pid --mount-proc --uts --kill-child=KILL ",
        };
        let script = format!(
            "{enter}exec ip netns exec {namespace} sh -c '{} && exec \"$@\"' \
             sh {enclose}taskset -c {cpus} {files}\"$@\"",
            self.groups.mount_script(),
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh"]).arg(program).args(words).stdin(Stdio::null());
        Ok(command)
    }

    /// A folder for the files of a program, which goes with the stage.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        self.scratch.folder(name)
    }

    /// Sets a kernel parameter of a host's network.
    pub fn sysctl(&self, host: Host, name: &str, value: &str) -> Result<()> {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        let namespace = self.network.namespace(host);
        shell(&format!("ip netns exec {namespace} sh -c 'echo \"{value}\" > {path}'"))
    }
}

/// Removes what stages of dead processes left.
pub fn sweep() {
    guard::sweep();
    groups::sweep();
    network::sweep();
    scratch::sweep();
}

/// The process that made the thing of this name, when it is dead.
fn is_stale(name: &str) -> bool {
    let tag = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
    let maker: Option<u32> = tag.and_then(|tag| tag.parse().ok());
    maker.is_some_and(|maker| !Path::new(&format!("/proc/{maker}")).exists())
}

/// Runs lines of shell, out of reach of Ctrl-C: half a host is harder to remove than a whole one.
fn shell(script: &str) -> Result<()> {
    let mut command = Command::new("sh");
    let output = command.args(["-e", "-c", script]).process_group(0).output();
    let output = output.context("sh cannot be started")?;
    if !output.status.success() {
        bail!("`{script}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

/// The CPU that works for a host.
pub fn cpu_of(host: Host) -> u32 {
    match host {
        Host::Client => 1,
        Host::Server | Host::Downstream | Host::Stranger => 0,
    }
}

/// Whether links have a separate kernel thread for received packets.
fn is_threaded(setup: &Setup) -> bool {
    setup.receive == Receive::Threaded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_dead_process_left_is_stale() {
        let own = std::process::id();
        assert!(!is_stale(&format!("{PREFIX}{own}-c")));
        // Process ids end at 2^22.
        assert!(is_stale(&format!("{PREFIX}4194305-c")) && is_stale(&format!("{PREFIX}4194305")));
        assert!(!is_stale("other-4194305-c") && !is_stale(&format!("{PREFIX}x-c")));
    }
}
