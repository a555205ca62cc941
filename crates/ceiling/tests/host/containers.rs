//! A server in a container of this host, observed from outside: no container runtime, but the
//! namespaces and control group that a runtime would make.

use crate::harness::loading::{FAR_READINGS, Loading};
use crate::harness::probing::Probe;
use crate::harness::{Folder, Group, Namespace, ceiling, count, measure, program, turn};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const ID: &str = "3f9c0a6b1d2e4f508192a3b4c5d6e7f80123456789abcdef0123456789abcdef";

/// A server with its own process, mount, host name and network namespaces, in the group of a
/// container below a group with a limit.
struct Container {
    child: Child,
    url: String,
    pid: u32,
    /// Dropped in this order: the inner group first.
    _inner: Group,
    _pod: Group,
    network: Namespace,
}

impl Container {
    fn start(name: &str, net: u8) -> Self {
        let network = Namespace::new(name);
        let link = format!("ct{net}");
        let shell = format!(
            "ip link add {link} type veth peer name eth0 netns {0} && \
             ip addr add 10.97.{net}.1/24 dev {link} && ip link set {link} up && \
             ip -n {0} addr add 10.97.{net}.2/24 dev eth0 && ip -n {0} link set eth0 up",
            network.name
        );
        assert!(Command::new("sh").args(["-c", &shell]).status().unwrap().success());
        let pod = Group::new(&format!("{name}-pod"), None);
        pod.limit(0.5);
        let path = pod.path.join(format!("docker-{ID}.scope"));
        fs::create_dir(&path).unwrap();
        let inner = Group { path };
        let mut command = inner.command(Path::new("ip"));
        command.args(["netns", "exec", &network.name, "unshare", "--fork", "--pid"]);
        command.args(["--mount-proc", "--uts", "--kill-child=KILL", "sh", "-c"]);
        command.arg("hostname web-7 && exec \"$@\"").arg("sh").arg(program("target-sink"));
        command.args(["--addr", &format!("10.97.{net}.2"), "--port", "0", "--threads", "1"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let listening: Value = serde_json::from_str(&line).expect("a listening line");
        assert_eq!(listening["pid"], 1, "it is the first process of its namespace");
        let url = format!("http://{}/simple", listening["addr"].as_str().unwrap());
        let pid = child_of(child.id());
        Self { child, url, pid, _inner: inner, _pod: pod, network }
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The only child of a process.
fn child_of(pid: u32) -> u32 {
    let is_child = |pid_of: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid_of}/status")).unwrap_or_default();
        status.lines().any(|line| line == format!("PPid:\t{pid}"))
    };
    let all = fs::read_dir("/proc").unwrap().flatten();
    let mut pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.find(is_child).expect("a container has a process")
}

/// Checks what the record and the readings say about the server and its namespace.
fn is_seen_inside(server: &Value, container: &Container) {
    assert_eq!(server["pid"], container.pid, "{server:#}");
    assert_eq!(server["listeners"], 1, "{server:#}");
    let of = &server["container"];
    assert_eq!((&of["runtime"], &of["id"]), (&"docker".into(), &ID.into()), "{server:#}");
    assert_eq!(of["name"], "web-7", "{server:#}");
    let groups = server["quotas"].as_array().unwrap();
    assert!(groups[0]["group"].as_str().unwrap().ends_with(".scope"), "{groups:?}");
    assert_eq!(groups[1]["quota_us"], 50_000, "the limit of its pod: {groups:?}");
    let nics = server["network"]["host"]["nics"].to_string();
    assert!(nics.contains("\"eth0\""), "{nics}");
}

#[test]
fn a_container_is_found_by_its_address_and_read_inside() {
    let _turn = turn();
    let (container, folder) = (Container::start("found", 1), Folder::new("found"));
    container.network.sysctl("net.core.somaxconn", "77");
    let load = ceiling(&["load", &container.url, "-c", "4", "-t", "1"]);
    let loading = Loading::start(load, &folder.file("runs"), container.pid);
    sees_its_connections(&loading, "readings.ndjson");
    let record = loading.end().record();
    is_seen_inside(&record["target"]["server"], &container);
    let network = &record["target"]["server"]["network"];
    assert_eq!(network["host"]["sysctls"]["net.core.somaxconn"], "77");
    let run = fs::read_dir(folder.file("runs")).unwrap().flatten().next().unwrap().path();
    let readings = fs::read_to_string(run.join("readings.ndjson")).unwrap();
    for source in ["tcp", "interfaces", "listeners", "connections", "qdiscs", "sockets"] {
        let inside = format!("\"source\":\"inside\",\"values\":{{\"source\":\"{source}\"");
        assert!(readings.contains(&inside), "{source} was not read inside");
    }
}

/// Waits for two looks at connections of the container: the first may be before the window. How
/// often the probe looks depends on speed.
fn sees_its_connections(loading: &Loading, file: &str) {
    let mut looks = 0;
    loading.wait_for("two looks at its connections", file, |reading| {
        let data = &reading["data"];
        let inside = &data["values"];
        let is_look = data["source"] == "inside" && inside["source"] == "connections";
        looks +=
            u32::from(is_look && inside["values"].as_array().is_some_and(|all| !all.is_empty()));
        looks == 2
    });
}

#[test]
fn a_container_that_is_named_is_the_same() {
    let _turn = turn();
    let container = Container::start("named", 2);
    let load = ["load", &container.url, "-c", "4", "-n", "200", "-t", "1", "--server-pid"];
    let (_, record) = measure(&[&load[..], &[&container.pid.to_string()]].concat());
    is_seen_inside(&record["target"]["server"], &container);
}

#[test]
fn a_probe_on_the_host_reads_the_container_too() {
    let _turn = turn();
    let (container, folder) = (Container::start("far", 3), Folder::new("far"));
    let probe = Probe::start(&folder, &[]);
    let load = ["load", &container.url, "-c", "4", "-t", "1"];
    let load = ceiling(&[&load[..], &probe.flags()].concat());
    let loading = Loading::start(load, &folder.file("runs"), container.pid);
    sees_its_connections(&loading, FAR_READINGS);
    let record = loading.end().record();
    let far = &record["target"]["probe"];
    assert_eq!(count(far, "/server/pid"), u64::from(container.pid), "{far:#}");
    is_seen_inside(&far["server"], &container);
    assert!(!record["points"][0]["residence"].is_null(), "{:#}", record["points"][0]);
}

#[test]
fn without_the_right_to_enter_what_is_missing_is_said() {
    let _turn = turn();
    let container = Container::start("outside", 4);
    // The user nobody may not enter, and reads the counters that every process may read.
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    command.arg(env!("CARGO_BIN_EXE_ceiling"));
    command.args(["load", &container.url, "-c", "4", "-n", "200", "-t", "1", "--json"]);
    command.args(["--server-pid", &container.pid.to_string()]).env("CEILING_RUNS", "none");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let record: Value = serde_json::from_str(&text)
        .unwrap_or_else(|why| panic!("{why}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(count(&record, "/points/0/requests/completed"), 200);
    let server = &record["target"]["server"];
    assert!(!server["network"].is_null(), "it is known to be in another namespace: {server:#}");
    assert!(
        server["unreadable"].to_string().contains("network namespace of process"),
        "{server:#}"
    );
}
