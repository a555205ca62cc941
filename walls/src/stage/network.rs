//! Namespaces and the links between them.
//!
//! By default the sender's CPU processes the packets that a host receives over veth, so the client
//! would pay for the server. Threaded NAPI gives each end a kernel thread, pinned to the CPU of its
//! host; veth has it only with GRO, and only for packets of a sender without TSO. Congestion
//! control is CUBIC where a new namespace may have it, else Reno: the default of a machine may be
//! BBR, whose pacing timers would be another wall.

use super::{PREFIX, cpu_of, is_stale, is_threaded, shell};
use crate::running::Running;
use crate::setup::{Actor, Host, Receive, Setup, Shape};
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

/// An unused hardware address.
const UNUSED_HARDWARE: &str = "02:00:00:00:00:99";

/// See the module. Dropping it removes the namespaces, and with them all links.
pub struct Network {
    hosts: Vec<Host>,
    /// Forwards the packets of a link with a delay.
    _carrier: Option<Running>,
}

/// A veth pair: between the server and another host.
struct Link {
    number: u8,
    other: Host,
}

impl Link {
    /// The link of a host; the server's own is the one to the client.
    fn of(host: Host) -> Self {
        match host {
            Host::Client | Host::Server => Self { number: 77, other: Host::Client },
            Host::Downstream => Self { number: 78, other: Host::Downstream },
            Host::Stranger => Self { number: 79, other: Host::Stranger },
        }
    }

    fn address(&self, host: Host) -> String {
        let last = if host == Host::Server { 2 } else { 1 };
        format!("10.214.{}.{last}", self.number)
    }

    /// At most 15 characters, so that the kernel does not cut the name of the NAPI thread.
    fn nic(&self, host: Host) -> String {
        let end = if host == Host::Server { 's' } else { 'o' };
        format!("w{end}{}", u32::from(self.number - 77) + 10 * std::process::id())
    }

    fn ends(&self) -> [Host; 2] {
        [self.other, Host::Server]
    }
}

/// Address of a host, as its neighbour sees it: for the server, as the client sees it.
pub fn address(host: Host) -> String {
    Link::of(host).address(host)
}

/// Address of the server as this host sees it.
pub fn server_seen_from(host: Host) -> String {
    Link::of(host).address(Host::Server)
}

/// An unused address of the link between client and server.
pub fn unused_address() -> String {
    format!("10.214.{}.200", Link::of(Host::Client).number)
}

impl Network {
    /// Makes what the setup needs.
    pub fn create(setup: &Setup) -> Result<Self> {
        let mut hosts = vec![Host::Client, Host::Server];
        if setup.downstream.is_some() {
            hosts.push(Host::Downstream);
        }
        let is_stranger =
            |actor: &Actor| matches!(actor, Actor::Knocker { from: Host::Stranger, .. });
        if setup.actors.iter().any(is_stranger) {
            hosts.push(Host::Stranger);
        }
        if setup.receive == Receive::Interrupts {
            bail!("a pair of virtual devices has no interrupts");
        }
        // From here on they are removed, however far the commands get.
        let carrier =
            setup.one_way.map(|one_way| start_carrier(one_way, setup.lost)).transpose()?;
        let network = Self { hosts, _carrier: carrier };
        shell(&network.script(setup))?;
        if is_threaded(setup) {
            network.pin_threads(setup)?;
        }
        Ok(network)
    }

    /// Name of a host's namespace.
    pub fn namespace(&self, host: Host) -> String {
        let tag = match host {
            Host::Client => 'c',
            Host::Server => 's',
            Host::Downstream => 'd',
            Host::Stranger => 'x',
        };
        format!("{PREFIX}{}-{tag}", std::process::id())
    }

    fn links(&self) -> impl Iterator<Item = Link> {
        self.hosts.iter().filter(|host| **host != Host::Server).map(|host| Link::of(*host))
    }

    /// The commands that make everything, in order.
    fn script(&self, setup: &Setup) -> String {
        let mut lines = Vec::new();
        for host in &self.hosts {
            let namespace = self.namespace(*host);
            lines.push(format!("ip netns add {namespace}"));
            lines.push(format!("ip -n {namespace} link set lo up"));
            lines.push(in_namespace(&namespace, &congestion_control()));
        }
        for link in self.links() {
            lines.extend(match (setup.one_way, link.other) {
                (Some(_), Host::Client) => self.slow_lines(&link),
                _ => self.link_lines(&link, setup),
            });
        }
        if setup.tracked.is_some() {
            // A rule that matches on the state makes the kernel track connections.
            lines.push(in_namespace(
                &self.namespace(Host::Server),
                "nft add table ip track && nft add chain ip track first { type filter hook \
                 prerouting priority 0 \\; } && nft add rule ip track first ct state new counter",
            ));
        }
        for (host, name, value) in &setup.sysctls {
            let path = format!("/proc/sys/{}", name.replace('.', "/"));
            let write = format!("echo {value} > {path}");
            lines.push(in_namespace(&self.namespace(*host), &write));
        }
        if setup.one_way.is_none() {
            let (client, link) = (self.namespace(Host::Client), Link::of(Host::Client));
            lines.push(deaf(&client, &unused_address(), &link.nic(Host::Client)));
        }
        if setup.stranger_is_deaf {
            let link = Link::of(Host::Stranger);
            let address = link.address(Host::Stranger);
            lines.push(deaf(&self.namespace(Host::Server), &address, &link.nic(Host::Server)));
        }
        for shape in &setup.shapes {
            lines.extend(self.shape_lines(shape));
        }
        lines.join("\n")
    }

    fn link_lines(&self, link: &Link, setup: &Setup) -> Vec<String> {
        let queues = "numtxqueues 1 numrxqueues 1";
        let [one, other] =
            link.ends().map(|host| format!("{} netns {}", link.nic(host), self.namespace(host)));
        let mut lines =
            vec![format!("ip link add {one} {queues} type veth peer name {other} {queues}")];
        for host in link.ends() {
            let (namespace, nic, ip) = (self.namespace(host), link.nic(host), link.address(host));
            lines.push(format!("ip -n {namespace} addr add {ip}/24 dev {nic}"));
            lines.push(format!("ip -n {namespace} link set {nic} up"));
            let gro = if is_threaded(setup) { "on" } else { "off" };
            let features = format!("ethtool -K {nic} gro {gro} tso off gso off");
            lines.push(in_namespace(&namespace, &features));
            let (file, value) = match setup.receive {
                Receive::Threaded | Receive::Interrupts => ("threaded".to_owned(), 1),
                Receive::Backlog => ("queues/rx-0/rps_cpus".to_owned(), 1 << cpu_of(host)),
            };
            let write = format!("echo {value} > /sys/class/net/{nic}/{file}");
            lines.push(in_namespace(&namespace, &write));
        }
        lines
    }

    /// The ends of a link with a delay already exist, and are only moved.
    fn slow_lines(&self, link: &Link) -> Vec<String> {
        let lines = |host: Host| {
            let (namespace, nic, ip) = (self.namespace(host), link.nic(host), link.address(host));
            [
                format!("ip link set {nic} netns {namespace}"),
                format!("ip -n {namespace} addr add {ip}/24 dev {nic}"),
                // A send buffer counts whole GSO packets, so every small buffer would act the same.
                format!("ip -n {namespace} link set {nic} up gso_max_segs 1"),
            ]
        };
        link.ends().into_iter().flat_map(lines).collect()
    }

    fn shape_lines(&self, shape: &Shape) -> Vec<String> {
        match shape {
            Shape::Sent(host, discipline) => {
                let (namespace, nic) = (self.namespace(*host), Link::of(*host).nic(*host));
                vec![format!("tc -n {namespace} qdisc add dev {nic} root {discipline}")]
            }
            Shape::Filtered(host, count) => {
                let (namespace, nic) = (self.namespace(*host), Link::of(*host).nic(*host));
                let filter = format!(
                    "filter add dev {nic} parent ffff: protocol ip prio 1 u32 match ip src \
                     192.0.2.1 flowid :1"
                );
                vec![
                    format!("tc -n {namespace} qdisc add dev {nic} ingress"),
                    format!("seq {count} | sed \"s/.*/{filter}/\" | tc -n {namespace} -batch -"),
                ]
            }
            Shape::Received(host, discipline) => {
                let (namespace, nic) = (self.namespace(*host), Link::of(*host).nic(*host));
                let tc = format!("tc -n {namespace}");
                vec![
                    format!("ip -n {namespace} link add ifb0 type ifb"),
                    format!("ip -n {namespace} link set ifb0 up"),
                    format!("{tc} qdisc add dev {nic} ingress"),
                    format!(
                        "{tc} filter add dev {nic} parent ffff: protocol ip u32 match u32 0 0 \
                         action mirred egress redirect dev ifb0"
                    ),
                    format!("{tc} qdisc add dev ifb0 root {discipline}"),
                ]
            }
        }
    }

    fn pin_threads(&self, setup: &Setup) -> Result<()> {
        let is_slow = setup.one_way.is_some();
        let mut script = String::new();
        for link in self.links() {
            if is_slow && link.other == Host::Client {
                continue;
            }
            for host in link.ends() {
                let name = format!("napi/{}-", link.nic(host));
                let threads = processes_named(&name);
                if threads.is_empty() {
                    bail!("the kernel made no NAPI thread for {}", link.nic(host));
                }
                for thread in threads {
                    // Like the soft interrupts it replaces, it must not wait for programs.
                    script += &format!("taskset -p -c {} {thread}\n", cpu_of(host));
                    script += &format!("chrt -f -p 1 {thread}\n");
                }
            }
        }
        shell(&script)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for host in &self.hosts {
            // A namespace that was not made yet cannot be removed.
            let _ = shell(&format!("ip netns delete {}", self.namespace(*host)));
        }
    }
}

fn start_carrier(one_way: Duration, lost: f64) -> Result<Running> {
    let link = Link::of(Host::Client);
    let program = std::env::current_exe().context("no path of this program")?;
    let mut command = Command::new(program);
    command.arg("carry").args(link.ends().map(|host| link.nic(host)));
    command.arg(one_way.as_micros().to_string()).arg(format!("--lost={lost}"));
    command.stdout(Stdio::piped());
    let mut carrier = Running(command.spawn()?);
    let output = carrier.0.stdout.as_mut().context("the link has no output")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    if line.trim() != "ready" {
        bail!("the link with a delay did not start");
    }
    Ok(carrier)
}

fn in_namespace(namespace: &str, line: &str) -> String {
    format!("ip netns exec {namespace} sh -c '{line}'")
}

/// Loses responses to an address: the link sends them to an unused hardware address.
fn deaf(namespace: &str, address: &str, nic: &str) -> String {
    format!(
        "ip -n {namespace} neigh replace {address} lladdr {UNUSED_HARDWARE} nud permanent dev {nic}"
    )
}

fn congestion_control() -> String {
    let path = "/proc/sys/net/ipv4/tcp_congestion_control";
    format!("echo cubic > {path} 2> /dev/null || echo reno > {path}")
}

/// Processes whose name starts with this; names of kernel threads are cut at 15 characters.
fn processes_named(begin: &str) -> Vec<u32> {
    let begin = &begin[..begin.len().min(15)];
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_named = |process: &u32| {
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        name.starts_with(begin)
    };
    let process = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    entries.filter_map(process).filter(is_named).collect()
}

/// Removes namespaces of dead processes.
pub fn sweep() {
    let Ok(output) = Command::new("ip").args(["netns", "list"]).output() else { return };
    let listing = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = listing.lines().filter_map(|line| line.split_whitespace().next());
    for namespace in names.filter(|name| is_stale(name)) {
        let _ = shell(&format!("ip netns delete {namespace}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::{Door, Setup};

    #[test]
    fn names_fit_the_longest_process_id() {
        let link = Link { number: 79, other: Host::Stranger };
        // Names of interfaces have at most 15 characters, and the kernel cuts names of threads to
        // the same length.
        assert!(format!("napi/{}-", link.nic(Host::Server)).len() <= 16);
    }

    #[test]
    fn only_the_hosts_that_are_needed_are_made() {
        let mut setup = Setup::new("", "load {url}");
        let network = |hosts: &[Host]| Network { hosts: hosts.to_vec(), _carrier: None };
        let both = network(&[Host::Client, Host::Server]).script(&setup);
        assert_eq!(both.matches("netns add").count(), 2);
        assert_eq!(both.matches("type veth").count(), 1);
        setup.shapes = vec![Shape::Sent(Host::Server, "tbf rate 1mbit".to_owned())];
        setup.actors =
            vec![Actor::Knocker { from: Host::Stranger, rate: 1.0, burst: 1, to: Door::Server }];
        let hosts = [Host::Client, Host::Server, Host::Stranger];
        let script = network(&hosts).script(&setup);
        assert_eq!(script.matches("type veth").count(), 2);
        assert!(script.ends_with("root tbf rate 1mbit"), "{script}");
    }
}
