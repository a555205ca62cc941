//! The probe against control groups and devices that only root can make: `make test-host`.

#![allow(unsafe_code, reason = "a network namespace of its own")]

#[path = "../guards/mod.rs"]
mod guards;
#[path = "../../../ceiling/tests/harness/spare.rs"]
mod spare;

use guards::{Guard, config, wait_for, wait_for_reading};
use model::reading::{Data, Reading};
use probe::{Config, FindError, Sampler, find_server, server_facts};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A CPU group of version 1 or 2 that is removed when the test is over.
struct CpuGroup {
    folder: PathBuf,
    version: u8,
}

impl CpuGroup {
    /// A fifth of one CPU.
    fn new() -> Self {
        let first = Path::new("/sys/fs/cgroup/cpu");
        let version = if first.join("cpu.cfs_quota_us").exists() { 1 } else { 2 };
        let root = if version == 1 { first } else { Path::new("/sys/fs/cgroup") };
        let folder = root.join(format!("ceiling-probe-test-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a CPU group needs root");
        let group = Self { folder, version };
        if version == 1 {
            group.write("cpu.cfs_period_us", "100000");
            group.write("cpu.cfs_quota_us", "20000");
        } else {
            group.write("cpu.max", "20000 100000");
        }
        group
    }

    fn write(&self, file: &str, value: &str) {
        std::fs::write(self.folder.join(file), value).unwrap_or_else(|why| panic!("{file}: {why}"));
    }
}

impl Drop for CpuGroup {
    fn drop(&mut self) {
        // A process that was just killed leaves its group a moment later.
        let deadline = Instant::now() + Duration::from_secs(10);
        while std::fs::remove_dir(&self.folder).is_err() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_quota_of_the_server_is_seen_throttling() {
    let group = CpuGroup::new();
    // Declared after the group, so that it ends before the group is removed.
    let server = Guard::sh("while :; do :; done", Stdio::null());
    group.write("cgroup.procs", &server.id().to_string());

    let sampler = Sampler::start(Config { server_pid: Some(server.id()), ..config() });
    let throttled = |data: &Data| match data {
        Data::ServerQuota(chain) if chain.first()?.throttled_periods >= 2 => Some(chain.clone()),
        _ => None,
    };
    let (chain, _) = wait_for_reading(&sampler, "two throttled periods", throttled);
    assert_eq!((chain[0].quota_us, chain[0].period_us), (Some(20_000), Some(100_000)));
    assert!(chain[0].throttled_ns > 0 && chain[0].periods >= chain[0].throttled_periods);
    assert!(chain[0].group.contains("ceiling-probe-test"));
    assert_eq!(chain.last().map(|root| root.quota_us), Some(None), "the root has no limit");

    let facts = server_facts(server.id(), Some(1), "test").unwrap();
    assert_eq!((facts.quotas[0].quota_us, facts.quotas[0].version), (Some(20_000), group.version));
}

/// Runs `test` in a network namespace of its own, which ends with its thread.
fn in_namespace(test: impl FnOnce() + Send) {
    let run = || {
        // SAFETY: unshare takes no pointers, and moves this thread only.
        let unshared = unsafe { libc::unshare(libc::CLONE_NEWNET) };
        assert_eq!(unshared, 0, "a namespace needs root: {}", std::io::Error::last_os_error());
        test();
    };
    std::thread::scope(|scope| scope.spawn(run).join().expect("the test in the namespace"));
}

/// Runs a line of a shell, in the network namespace of the calling thread.
fn shell(line: &str) -> bool {
    Command::new("sh").args(["-c", line]).status().expect("run sh").success()
}

#[test]
fn packets_that_a_queueing_discipline_drops_are_counted() {
    in_namespace(|| {
        let link = "ip link add v0 type veth peer name v1 && ip addr add 10.9.9.1/24 dev v0 && \
                    ip link set v0 up && ip link set v1 up && \
                    ip neigh add 10.9.9.2 lladdr 02:00:00:00:00:01 dev v0";
        let bucket = "tc qdisc add dev v0 root handle 10: tbf rate 8kbit burst 2kb limit 3kb";
        assert!(shell(link) && shell(bucket), "no veth or no tbf here");
        let socket = std::net::UdpSocket::bind("10.9.9.1:0").unwrap();
        for _ in 0..40 {
            // Refused when the queue is full, which is the point.
            let _ = socket.send_to(&[0; 400], "10.9.9.2:9");
        }
        let sampler = Sampler::start(config());
        let dropping = |data: &Data| match data {
            Data::Qdiscs(qdiscs) => qdiscs.iter().find(|qdisc| qdisc.drops >= 20).cloned(),
            _ => None,
        };
        let (qdisc, _) = wait_for_reading(&sampler, "drops", dropping);
        assert_eq!((qdisc.interface.as_str(), qdisc.kind.as_str()), ("v0", "tbf"));
        assert!(qdisc.handle == 0x10 << 16 && qdisc.overlimits > 0, "{qdisc:?}");
    });
}

/// A server in a network namespace of its own, which holds its listening socket and sleeps.
struct Contained {
    server: Guard,
    address: SocketAddr,
}

impl Contained {
    /// At an address of a device of the namespace.
    fn at(address: &str) -> Self {
        let ip = address.split(':').next().expect("an address with a port");
        let mut made = None;
        in_namespace(|| {
            let links = format!(
                "ip link set lo up && ip link add v0 type veth peer name v1 && \
                 ip addr add {ip}/24 dev v0 && ip link set v0 up && ip link set v1 up"
            );
            assert!(shell(&links), "no veth here");
            let listener = TcpListener::bind(address).expect("the address is ours");
            let address = listener.local_addr().expect("it is bound");
            let server = Guard::sh("exec sleep 600", OwnedFd::from(listener));
            made = Some(Self { server, address });
        });
        made.expect("it was made")
    }

    /// Connections that no process accepts, made in its namespace.
    fn connect(&self, count: usize) -> Vec<TcpStream> {
        let connect = || (0..count).map(|_| TcpStream::connect(self.address).unwrap()).collect();
        host::namespace::inside(self.server.id(), connect).expect("root may enter")
    }
}

#[test]
fn a_server_in_another_namespace_is_found_by_its_address() {
    let contained = Contained::at("10.9.8.1:0");
    let pid = contained.server.id();
    assert_eq!(find_server(contained.address), Ok(pid));
    let facts = server_facts(pid, Some(contained.address.port()), "test").unwrap();
    let network = facts.network.as_ref().expect("a namespace of its own");
    assert_eq!((network.port, facts.listeners), (Some(contained.address.port()), 1), "{facts:?}");
    assert_eq!(facts.processes[0].listeners, Some(1));
    assert!(network.addresses.contains(&contained.address.ip()), "{:?}", network.addresses);
    let mut nics: Vec<&str> = network.host.nics.iter().map(|nic| nic.name.as_str()).collect();
    // Devices that modules make in every namespace do not matter.
    nics.retain(|name| ["lo", "v0", "v1"].contains(name));
    assert_eq!(nics, ["lo", "v0", "v1"]);
    assert!(network.host.sysctls.contains_key("net.core.somaxconn"));
    let ours = probe::host_facts().nics;
    assert!(!ours.iter().any(|nic| nic.name == "v0"), "our own namespace is as it was");
}

#[test]
fn loopback_of_another_namespace_is_not_ours() {
    let contained = Contained::at("10.9.6.1:0");
    let loopback = SocketAddr::from(([127, 0, 0, 1], contained.address.port()));
    assert_eq!(find_server(loopback), Err(FindError::NobodyListens(loopback)));
}

#[test]
fn an_address_that_two_namespaces_have_is_not_guessed() {
    let first = Contained::at("10.9.5.1:0");
    let second = Contained::at(&format!("10.9.5.1:{}", first.address.port()));
    let found = find_server(first.address);
    let Err(FindError::SeveralNamespaces { mut pids, .. }) = found else { panic!("{found:?}") };
    pids.sort_unstable();
    let mut expected = [first.server.id(), second.server.id()];
    expected.sort_unstable();
    assert_eq!(pids, expected);
}

#[test]
fn a_port_that_docker_publishes_leads_to_the_container() {
    let contained = Contained::at("10.9.4.1:0");
    let (ip, port) = (contained.address.ip(), contained.address.port());
    let folder = std::env::temp_dir().join(format!("probe-published-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // Of a process of this name only its command line is read, whatever it does.
    let proxy = folder.join("docker-proxy");
    std::fs::copy(std::fs::canonicalize("/bin/sh").unwrap(), &proxy).unwrap();
    let line = format!(
        "exec {} -c 'sleep 600; :' -proto tcp -host-ip 0.0.0.0 -host-port 9 -container-ip {ip} \
         -container-port {port}",
        proxy.display()
    );
    let _proxy = Guard::sh(&line, Stdio::null());
    let asked: SocketAddr = "127.0.0.1:9".parse().unwrap();
    wait_for("the proxy to start", || {
        (find_server(asked) == Ok(contained.server.id())).then_some(())
    });
    let facts = server_facts(contained.server.id(), Some(9), "test").unwrap();
    assert_eq!(facts.inner_port(), Some(port), "another one inside");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_address_that_the_kernel_translates_leads_to_the_container() {
    let contained = Contained::at("10.9.3.1:0");
    let (pid, address) = (contained.server.id(), contained.address);
    in_namespace(|| {
        let link = format!(
            "ip link set lo up && ip link add d0 type veth peer name d1 netns {pid} && \
             ip addr add 10.9.2.2/24 dev d0 && ip link set d0 up && \
             nsenter -t {pid} -n ip addr add 10.9.2.1/24 dev d1 && \
             nsenter -t {pid} -n ip link set d1 up && ip route add {} via 10.9.2.1",
            address.ip()
        );
        let rules = format!(
            "nft add table ip t && \
             nft add chain ip t out '{{ type nat hook output priority -100; }}' && \
             nft add rule ip t out tcp dport 9 dnat to {address}"
        );
        assert!(shell(&link) && shell(&rules), "no veth or no nft here");
        let published: SocketAddr = "10.9.2.2:9".parse().unwrap();
        // The product waits 0.3 s for a server on this host, which a busy host may exceed.
        let found = wait_for("the server behind the rule", || find_server(published).ok());
        assert_eq!(found, pid);
        let untranslated: SocketAddr = "10.9.2.2:10".parse().unwrap();
        let nobody = Err(FindError::NobodyListens(untranslated));
        assert_eq!(find_server(untranslated), nobody);
    });
}

/// What a reading contains about the server's own namespace.
fn inside(data: &Data) -> Option<&Data> {
    match data.opened() {
        (data, true) => Some(data),
        _ => None,
    }
}

#[test]
fn what_is_in_the_servers_namespace_is_read_there_and_said_to_be() {
    let contained = Contained::at("10.9.7.1:0");
    let waiting = contained.connect(3);
    let port = contained.address.port();
    let sampler = Sampler::start(Config {
        server_pid: Some(contained.server.id()),
        port: Some(port),
        inner_port: Some(port),
        ..config()
    });
    let queue = |data: &Data| match inside(data)? {
        Data::Listeners(all) => all.first().filter(|listener| listener.queued == 3).copied(),
        _ => None,
    };
    let (listener, mut readings) = wait_for_reading(&sampler, "a queue of three", queue);
    assert!(listener.backlog > 3 && listener.cookie != 0, "{listener:?}");
    readings.extend(sampler.stop());
    let any = |is: &dyn Fn(&Data) -> bool| readings.iter().any(|reading| is(&reading.data));
    let has_device = |data: &Data| match data {
        Data::Interfaces(links) => links.iter().any(|link| link.name == "v0"),
        _ => false,
    };
    assert!(any(&|data| inside(data).is_some_and(has_device)));
    assert!(!any(&has_device), "the generator's namespace has no such device");
    let is_connection = |data: &Data| match inside(data) {
        Some(Data::Connections(all)) => all.iter().any(|one| one.server_side),
        _ => false,
    };
    assert!(any(&is_connection));
    assert!(!any(&|data| matches!(data, Data::Listeners(_))), "nothing listens for it here");
    assert!(any(&|data| matches!(data, Data::ServerThreads(_))));
    let cost = |reading: &Reading| matches!(inside(&reading.data), Some(Data::ProbeCost(_)));
    assert!(readings.iter().any(cost), "what it costs is reported too");
    let is_unreadable =
        |reading: &&Reading| matches!(inside(&reading.data), Some(Data::Unreadable(_)));
    let unreadable: Vec<_> = readings.iter().filter(is_unreadable).collect();
    assert!(unreadable.is_empty(), "{unreadable:?}");
    drop(waiting);
}
