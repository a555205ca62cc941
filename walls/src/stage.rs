//! The stage: up to four hosts on one machine, each on its own CPU, with nothing left behind; or
//! two machines.
//!
//! Hosts are network namespaces joined by veth pairs; control groups divide CPU time. Everything is
//! named after the process that made it and is removed on drop; the next process removes what a
//! killed one left. Every program of the stage is in one of its groups, so that it can be found and
//! killed.

mod delay;
mod disk;
mod groups;
mod guard;
mod machines;
mod network;
mod scratch;

use crate::options::Hosts;
use crate::setup::{Allowance, Host, Receive, Setup};
use anyhow::{Context, Result, bail};
use groups::Groups;
use guard::{Guard, Parameter};
use machines::Machines;
use network::Network;
use scratch::Scratch;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use delay::run as carry;
pub use machines::relay;
pub use network::{server_seen_from, unused_address};

/// The prefix of the names of everything on a stage.
const PREFIX: &str = "ceiling-walls-";

/// See the module.
pub struct Stage {
    ground: Ground,
    scratch: Scratch,
}

/// The kind of hosts of a stage.
enum Ground {
    Namespaces(Namespaces),
    Machines(Machines),
}

/// Hosts on one machine.
struct Namespaces {
    // In the order in which they are removed: programs, then what they used.
    groups: Groups,
    network: Network,
    _guards: Vec<Guard>,
}

/// Where and how a program runs.
#[derive(Debug, Clone, Copy)]
pub struct Seat<'a> {
    /// Its host.
    pub host: Host,
    /// Name of its group.
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
    /// Everything but the network and mounts of its host.
    Host,
    /// Neither its processes nor its name: a container. The program is then the only child of the
    /// started process.
    Container,
}

/// The program in a container.
pub fn contained(container: u32) -> Option<u32> {
    let children = format!("/proc/{container}/task/{container}/children");
    std::fs::read_to_string(children).ok()?.split_whitespace().next()?.parse().ok()
}

impl Seat<'_> {
    /// The seat as options of `walls seat`.
    fn words(&self) -> Vec<String> {
        let Allowance { quota, parent_quota, weight, .. } = self.allowance;
        let options = [
            ("--cpus", Some(self.cpus.to_owned())),
            ("--quota", quota.map(|cpus| cpus.to_string())),
            ("--parent-quota", parent_quota.map(|cpus| cpus.to_string())),
            ("--weight", weight.map(|weight| weight.to_string())),
            ("--files", self.files.map(|files| files.to_string())),
        ];
        let words = |(name, value): (&str, Option<String>)| Some([name.to_owned(), value?]);
        options.into_iter().filter_map(words).flatten().collect()
    }
}

/// Enters the groups of a program of the stage with this tag, for good.
pub fn enter(tag: &str, name: &str, allowance: Allowance) -> Result<()> {
    let groups = Groups::create(tag)?;
    let entered = groups.add(name, allowance);
    // `clear` ends them.
    std::mem::forget(groups);
    for group in entered? {
        let path = group.join("cgroup.procs");
        std::fs::write(&path, std::process::id().to_string())
            .with_context(|| format!("cannot enter {}", group.display()))?;
    }
    Ok(())
}

/// Ends the programs of the stage with this tag, and removes their groups.
pub fn clear(tag: &str) {
    groups::clear(tag);
}

impl Namespaces {
    fn build(setup: &Setup) -> Result<Self> {
        let groups = Groups::create(&std::process::id().to_string())?;
        let network = Network::create(setup)?;
        let mut guards = Vec::new();
        if let Some(packets) = setup.backlog_packets {
            guards.push(Guard::set(Parameter::Backlog, packets)?);
        }
        if let Some(connections) = setup.tracked {
            guards.push(Guard::set(Parameter::Tracked, connections)?);
        }
        Ok(Self { groups, network, _guards: guards })
    }

    fn command(&self, seat: Seat<'_>, program: &Path, words: &[String]) -> Result<Command> {
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
        command.args(["-c", &script, "sh"]).arg(program).args(words);
        Ok(command)
    }
}

impl Stage {
    /// Builds it.
    pub fn build(setup: &Setup, hosts: Hosts) -> Result<Self> {
        let ground = match hosts {
            Hosts::Namespaces => Ground::Namespaces(Namespaces::build(setup)?),
            Hosts::Machines => Ground::Machines(Machines::build(setup)?),
        };
        Ok(Self { ground, scratch: Scratch })
    }

    /// The command that runs a program on the stage. The started process is the program itself, not
    /// its parent; on another machine, it relays the output of the program.
    pub fn command(&self, seat: Seat<'_>, program: &Path, words: &[String]) -> Result<Command> {
        let mut command = match &self.ground {
            Ground::Namespaces(namespaces) => namespaces.command(seat, program, words)?,
            Ground::Machines(_) => Machines::command(seat, program, words)?,
        };
        command.stdin(Stdio::null());
        Ok(command)
    }

    /// Address of a host, as its neighbour sees it: for the server, as the client sees it.
    pub fn address(&self, host: Host) -> String {
        match &self.ground {
            Ground::Namespaces(_) => network::address(host),
            Ground::Machines(_) => Machines::address(host),
        }
    }

    /// CPUs of the probe: those of the server's host.
    pub fn cpus_of_probe(&self) -> &'static str {
        match &self.ground {
            Ground::Namespaces(_) => "0",
            Ground::Machines(_) => machines::ALL_CPUS,
        }
    }

    /// A folder for the files of a program, which is removed with the stage.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.scratch.folder(name)?;
        if let Ground::Machines(_) = &self.ground {
            Machines::make_folder(&folder)?;
        }
        Ok(folder)
    }

    /// Fetches a file that a program of the server's host wrote to a folder of the stage.
    pub fn bring(&self, file: &Path) -> Result<()> {
        match &self.ground {
            Ground::Namespaces(_) => Ok(()),
            Ground::Machines(_) => Machines::bring(file),
        }
    }

    /// Sets a kernel parameter of a host's network.
    pub fn sysctl(&self, host: Host, name: &str, value: &str) -> Result<()> {
        let Ground::Namespaces(Namespaces { network, .. }) = &self.ground else {
            bail!("two machines do not support kernel parameters");
        };
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        let namespace = network.namespace(host);
        shell(&format!("ip netns exec {namespace} sh -c 'echo \"{value}\" > {path}'"))
    }
}

/// Removes the stages of dead processes.
pub fn sweep() {
    guard::sweep();
    groups::sweep();
    network::sweep();
    scratch::sweep();
}

/// Whether the process that made the thing with this name is dead.
fn is_stale(name: &str) -> bool {
    let tag = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
    let maker: Option<u32> = tag.and_then(|tag| tag.parse().ok());
    maker.is_some_and(|maker| !Path::new(&format!("/proc/{maker}")).exists())
}

/// Runs shell lines, shielded from Ctrl-C: a half-made host is harder to remove.
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
