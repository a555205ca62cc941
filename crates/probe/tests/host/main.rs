//! The probe against control groups and devices that only root can make: `make test-host`.

#![allow(unsafe_code, reason = "a network namespace of its own")]

#[path = "../guards/mod.rs"]
mod guards;
#[path = "../../../ceiling/tests/harness/spare.rs"]
mod spare;

use guards::{Guard, config, wait_for_reading};
use model::reading::Data;
use probe::{Config, Sampler, server_facts};
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
