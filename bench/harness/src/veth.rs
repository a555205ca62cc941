//! Two hosts on one machine: two network namespaces, joined by a veth pair.
//!
//! By default the sender's CPU processes the packets that a host receives over veth, so the client
//! would pay for the server. Threaded NAPI gives each side its own kernel thread, which is pinned
//! to that side's CPU. GRO must be on, because veth only then has a NAPI instance, and TSO off,
//! because packets of a sender with TSO bypass NAPI (`veth_skb_is_eligible_for_gro` in
//! drivers/net/veth.c). Congestion control is Reno, the only one that a new namespace can always
//! set: the default of a machine may be BBR, whose pacing timers would be another wall.

use super::machine;
use super::words::{Words, in_namespace, pinned, words};
use anyhow::{Context, Result, bail};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// Required programs, and their packages.
pub const NEEDED: [(&str, &str); 2] = [("ip", "iproute2"), ("ethtool", "ethtool")];

const PREFIX: &str = "ceiling-bench-";
const CLIENT_IP: &str = "10.213.77.1";
const SERVER_IP: &str = "10.213.77.2";

/// One of the two hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Host {
    namespace: String,
    /// At most 15 characters, so that the kernel does not cut the name of the NAPI thread.
    nic: String,
    ip: &'static str,
    cpu: u32,
}

/// See the module. Dropping it removes both namespaces, and with them the pair.
pub struct Namespaces {
    client: Host,
    server: Host,
    napi: Vec<u32>,
}

impl Namespaces {
    /// Makes both, joined by a pair with this many queues. Receiving is not pinned.
    pub fn joined(client_cpu: u32, server_cpu: u32, queues: u32) -> Result<Self> {
        sweep();
        let [client, server] = hosts(std::process::id(), client_cpu, server_cpu);
        // From here on they are removed, however far the commands get.
        let namespaces = Self { client, server, napi: Vec::new() };
        for line in joining_lines(&namespaces.client, &namespaces.server, queues) {
            run(&line)?;
        }
        Ok(namespaces)
    }

    /// Makes both; each side works on its own CPU, receiving included.
    pub fn set_up(client_cpu: u32, server_cpu: u32) -> Result<Self> {
        let mut namespaces = Self::joined(client_cpu, server_cpu, 1)?;
        for line in [&namespaces.client, &namespaces.server].into_iter().flat_map(napi_lines) {
            run(&line)?;
        }
        for host in [&namespaces.client, &namespaces.server] {
            let threads = machine::processes_named(&napi_name(host));
            if threads.is_empty() {
                bail!("the kernel made no NAPI thread for {}", host.nic);
            }
            for thread in &threads {
                run(&pin_line(*thread, host.cpu))?;
            }
            namespaces.napi.extend(threads);
        }
        Ok(namespaces)
    }

    /// The program in the client's namespace, on its CPU.
    pub fn on_client(&self, program: Words) -> Words {
        in_namespace(&self.client.namespace, pinned(self.client.cpu, program))
    }

    /// The program in the server's namespace, on its CPU.
    pub fn on_server(&self, program: Words) -> Words {
        in_namespace(&self.server.namespace, pinned(self.server.cpu, program))
    }

    /// The program in the server's namespace, on any CPU.
    pub fn in_server_namespace(&self, program: Words) -> Words {
        in_namespace(&self.server.namespace, program)
    }

    /// Runs a short command on the server's host.
    pub fn configure_server(&self, line: Words) -> Result<()> {
        run(&self.in_server_namespace(line))
    }

    /// The interface of the server.
    pub fn server_nic(&self) -> &str {
        &self.server.nic
    }

    /// The address of the server.
    pub fn server_ip(&self) -> &'static str {
        self.server.ip
    }

    /// CPU time of both NAPI threads so far.
    pub fn napi_cpu_time(&self) -> Duration {
        self.napi.iter().map(|thread| machine::cpu_time(*thread)).sum()
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for host in [&self.client, &self.server] {
            // A namespace that was not made yet cannot be removed.
            let _ = run(&removal_line(&host.namespace));
        }
    }
}

fn hosts(tag: u32, client_cpu: u32, server_cpu: u32) -> [Host; 2] {
    let host = |side: char, ip, cpu| Host {
        namespace: format!("{PREFIX}{tag}-{side}"),
        nic: format!("b{side}{tag}"),
        ip,
        cpu,
    };
    [host('c', CLIENT_IP, client_cpu), host('s', SERVER_IP, server_cpu)]
}

fn napi_name(host: &Host) -> String {
    format!("napi/{}-", host.nic)
}

fn text(line: String) -> Words {
    words(&line.split_whitespace().collect::<Vec<_>>())
}

/// The commands that make both hosts and join them, in order.
fn joining_lines(client: &Host, server: &Host, queues: u32) -> Vec<Words> {
    let queues = format!("numtxqueues {queues} numrxqueues {queues}");
    let mut lines = vec![
        text(format!("ip netns add {}", client.namespace)),
        text(format!("ip netns add {}", server.namespace)),
        text(format!(
            "ip link add {} netns {} {queues} type veth peer name {} netns {} {queues}",
            client.nic, client.namespace, server.nic, server.namespace
        )),
    ];
    for host in [client, server] {
        let Host { namespace, nic, ip, .. } = host;
        lines.push(text(format!("ip -n {namespace} addr add {ip}/30 dev {nic}")));
        lines.push(text(format!("ip -n {namespace} link set lo up")));
        lines.push(text(format!("ip -n {namespace} link set {nic} up")));
    }
    lines
}

/// The commands that give a host a NAPI thread, and Reno congestion control.
fn napi_lines(host: &Host) -> [Words; 3] {
    let Host { namespace, nic, .. } = host;
    let echo = |script: String| in_namespace(namespace, words(&["sh", "-c", &script]));
    [
        in_namespace(namespace, text(format!("ethtool -K {nic} gro on tso off"))),
        echo(format!("echo 1 > /sys/class/net/{nic}/threaded")),
        echo("echo reno > /proc/sys/net/ipv4/tcp_congestion_control".into()),
    ]
}

fn pin_line(thread: u32, cpu: u32) -> Words {
    words(&["taskset", "-p", "-c", &cpu.to_string(), &thread.to_string()])
}

fn removal_line(namespace: &str) -> Words {
    words(&["ip", "netns", "delete", namespace])
}

/// Removes namespaces of a killed harness.
fn sweep() {
    let Ok(output) = Command::new("ip").args(["netns", "list"]).output() else { return };
    for namespace in stale(&String::from_utf8_lossy(&output.stdout), is_alive) {
        let _ = run(&removal_line(&namespace));
    }
}

fn is_alive(process: u32) -> bool {
    std::path::Path::new(&format!("/proc/{process}")).exists()
}

/// Names in the output of `ip netns list` that belong to no living harness.
fn stale(listing: &str, is_alive: impl Fn(u32) -> bool) -> Vec<String> {
    let names = listing.lines().filter_map(|line| line.split_whitespace().next());
    let is_stale = |name: &&str| {
        let tag = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        tag.and_then(|tag| tag.parse().ok()).is_some_and(|process| !is_alive(process))
    };
    names.filter(is_stale).map(str::to_owned).collect()
}

/// Runs a short command, shielded from Ctrl-C: a half-made host is harder to remove.
fn run(line: &[String]) -> Result<()> {
    let mut command = Command::new(&line[0]);
    let output = command.args(&line[1..]).process_group(0).output();
    let output = output.with_context(|| format!("{} cannot be started", line[0]))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` failed: {}", line.join(" "), reason.trim());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_hosts_are_made_joined_and_given_threads() {
        let [client, server] = hosts(77, 1, 0);
        let lines = joining_lines(&client, &server, 1).into_iter().chain(napi_lines(&client));
        let lines: Vec<String> = lines.map(|line| line.join(" ")).collect();
        let expected = "\
ip netns add ceiling-bench-77-c
ip netns add ceiling-bench-77-s
ip link add bc77 netns ceiling-bench-77-c numtxqueues 1 numrxqueues 1 type veth \
peer name bs77 netns ceiling-bench-77-s numtxqueues 1 numrxqueues 1
ip -n ceiling-bench-77-c addr add 10.213.77.1/30 dev bc77
ip -n ceiling-bench-77-c link set lo up
ip -n ceiling-bench-77-c link set bc77 up
ip -n ceiling-bench-77-s addr add 10.213.77.2/30 dev bs77
ip -n ceiling-bench-77-s link set lo up
ip -n ceiling-bench-77-s link set bs77 up
ip netns exec ceiling-bench-77-c ethtool -K bc77 gro on tso off
ip netns exec ceiling-bench-77-c sh -c echo 1 > /sys/class/net/bc77/threaded
ip netns exec ceiling-bench-77-c sh -c echo reno > /proc/sys/net/ipv4/tcp_congestion_control";
        assert_eq!(lines.join("\n"), expected);
    }

    #[test]
    fn names_fit_the_longest_process_id() {
        let [client, server] = hosts(4_194_304, 1, 0);
        assert_ne!(client.nic, server.nic);
        // Names of interfaces have at most 15 characters, and the kernel cuts names of threads to
        // the same length.
        assert!(client.nic.len() <= 15 && napi_name(&client).len() <= 15);
    }

    #[test]
    fn programs_run_on_the_cpu_of_their_side() {
        let [client, server] = hosts(77, 1, 0);
        let namespaces = Namespaces { client, server, napi: Vec::new() };
        let line = namespaces.on_server(words(&["sink"])).join(" ");
        assert_eq!(line, "ip netns exec ceiling-bench-77-s taskset -c 0 sink");
        let line = namespaces.on_client(words(&["wrk"])).join(" ");
        assert_eq!(line, "ip netns exec ceiling-bench-77-c taskset -c 1 wrk");
        assert_eq!(pin_line(9, 1).join(" "), "taskset -p -c 1 9");
        // Nothing with that name exists, and dropping must not fail.
    }

    #[test]
    fn only_what_a_dead_harness_left_is_swept() {
        let listing =
            "ceiling-bench-5-c (id: 1)\nceiling-bench-5-s\nceiling-bench-6-c\nother-5-c\n";
        let stale = stale(listing, |process| process == 6);
        assert_eq!(stale, ["ceiling-bench-5-c", "ceiling-bench-5-s"]);
    }
}
