//! A wall that only a probe on the server's host can see.

use crate::harness::probing::{NAMED, Probe};
use crate::harness::{
    Finished, Folder, Group, Namespace, Server, count, must_be_root, program, run, turn, wall,
};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Two hosts as far as one kernel can imitate them: a namespace for each end, and a virtual cable.
struct TwoHosts {
    client: Namespace,
    server: Namespace,
}

impl TwoHosts {
    const SERVER: &str = "10.213.7.1";

    fn new(name: &str) -> Self {
        let client = Namespace::new(&format!("{name}-c"));
        let server = Namespace::new(&format!("{name}-s"));
        // Made inside, so that it never appears in the host's own namespace.
        ip(&[
            "-n",
            &client.name,
            "link",
            "add",
            "cable",
            "type",
            "veth",
            "peer",
            "name",
            "cable",
            "netns",
            &server.name,
        ]);
        for (namespace, address) in [(&client, "10.213.7.2/24"), (&server, "10.213.7.1/24")] {
            ip(&["-n", &namespace.name, "address", "add", address, "dev", "cable"]);
            ip(&["-n", &namespace.name, "link", "set", "cable", "up"]);
        }
        Self { client, server }
    }
}

impl TwoHosts {
    /// For nsenter, which keeps control groups visible; `ip netns exec` hides them.
    fn server_file(&self) -> String {
        format!("--net=/run/netns/{}", self.server.name)
    }
}

fn ip(arguments: &[&str]) {
    let status = Command::new("ip").args(arguments).status().expect("iproute2 is installed");
    assert!(status.success(), "ip {arguments:?}");
}

/// Whether the kernel lets a process have its own monotonic clock.
fn has_time_namespaces(test: &str) -> bool {
    let unshared = Command::new("unshare").args(["-T", "--monotonic", "5", "true"]).output();
    let has = unshared.is_ok_and(|output| output.status.success());
    if !has {
        println!("{test}: without an offset of the clock, it needs time namespaces");
    }
    has
}

/// A wall of the server that only its own host can see, with a clock there that is 5 s ahead.
#[test]
fn the_servers_wall_is_named_from_its_own_host() {
    let _turn = turn();
    must_be_root();
    let folder = Folder::new("probe-far");
    let hosts = TwoHosts::new("far");
    let group = Group::new("far", None);
    group.limit(0.2);
    let threads = ["--threads", "1", "--burn", "20us"];
    let mut command = group.command(Path::new("nsenter"));
    command.arg(hosts.server_file()).arg(program("target-sink"));
    let server = Server::start_as(command, &[&threads[..], &["--addr", TwoHosts::SERVER]].concat());

    let is_ahead = has_time_namespaces("the_servers_wall_is_named_from_its_own_host");
    let mut command = Command::new("nsenter");
    command.arg(hosts.server_file());
    if is_ahead {
        command.args(["unshare", "-T", "--monotonic", "5"]);
    }
    command.arg(NAMED);
    let listen = format!("{}:0", TwoHosts::SERVER);
    let probe = Probe::start_as(command, &folder, &["--listen", &listen]);

    let url = format!("http://{}:{}/", TwoHosts::SERVER, server.port);
    let runs = folder.file("runs");
    let mut command = hosts.client.command(Path::new(NAMED));
    command.args(["load", &url, "-c", "20", "-d", "4", "-t", "1", "--json", "--runs", &runs]);
    let said = Finished::of(command.args(probe.flags()).output().unwrap());
    let record = said.record();
    assert_seen_from_far(&record, &server, is_ahead);
    assert!(is_calm(&record), "{}", record["target"]["probe"]["clock"]);
    assert_eq!((wall(&record), &record["verdict"]["side"]), ("S3", &"server".into()));
    assert_kept(&record, &runs);
}

/// Facts, figures and the clock are those of the server's host.
fn assert_seen_from_far(record: &Value, server: &Server, is_ahead: bool) {
    let probe = &record["target"]["probe"];
    assert_eq!(count(probe, "/server/pid"), u64::from(server.pid));
    assert_eq!(record["target"]["server"], Value::Null, "it cannot be seen from here");
    assert_eq!((&probe["privilege"], &probe["lost"]), (&Value::from("root"), &Value::Null));
    let (offset, error) = (probe["clock"]["offset_ns"].as_i64().unwrap(), "/clock/error_ns");
    let ahead_ns = if is_ahead { 5_000_000_000 } else { 0 };
    let off_ns = offset.abs_diff(ahead_ns);
    assert!(off_ns <= count(probe, error), "{off_ns} ns off: {}", probe["clock"]);
}

/// Whether the clock offset was measured well and the server got its fifth of a CPU; on a shared
/// machine not every run is that calm.
fn is_calm(record: &Value) -> bool {
    let error_ns = count(&record["target"]["probe"], "/clock/error_ns");
    let server_cpus = record["points"][0]["cpu"]["server_cpus"].as_f64().unwrap();
    error_ns < 50_000_000 && (0.1..0.3).contains(&server_cpus)
}

/// The run directory keeps far readings with far times, and the run can be shown.
fn assert_kept(record: &Value, runs: &str) {
    let id = record["id"].as_str().unwrap();
    let kept = |file: &str| -> Vec<Value> {
        let text = fs::read_to_string(format!("{runs}/{id}/{file}")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let readings = kept("server-readings.ndjson");
    let sources: Vec<_> = readings.iter().map(|read| &read["data"]["source"]).collect();
    for source in ["cpus", "server_threads", "server_quota", "tcp", "listeners", "probe_cost"] {
        assert!(sources.iter().any(|seen| *seen == source), "{source}");
    }
    assert!(!sources.iter().any(|seen| *seen == "client_threads"), "the probe is not a generator");
    let offset = record["target"]["probe"]["clock"]["offset_ns"].as_i64().unwrap();
    let window_begin = record["points"][0]["window_ns"][0].as_i64().unwrap();
    let first = readings[0]["begin_ns"].as_i64().unwrap();
    assert!(first < window_begin + offset && first > offset, "nothing is converted");
    for near in kept("readings.ndjson") {
        let source = near["data"]["source"].as_str().unwrap();
        assert!(!["server_threads", "listeners"].contains(&source), "{near}");
    }
    let shown = run(&["show", id, "--runs", runs]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    fs::remove_file(format!("{runs}/{id}/server-readings.ndjson")).unwrap();
    assert_eq!(run(&["show", id, "--runs", runs]).code, 0, "a run whose far readings are lost");
}
