//! The probe on the server's host: what it brings, who is turned away, and what becomes of a run
//! when one end dies.

use crate::harness::{
    Folder, Group, Namespace, Said, Server, ceiling, count, is_root, program, run, shown, signal,
    turn, wall,
};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// How long a line may take that has to come.
const SAYS: Duration = Duration::from_secs(30);

const NAMED: &str = env!("CARGO_BIN_EXE_ceiling");

/// A probe that serves, with what it printed at the start.
struct Probe {
    child: Child,
    ready: String,
    /// What it says later.
    /// Lines it says.
    stderr: Receiver<String>,
}

impl Probe {
    /// Starts a prepared command as a probe with a token in this folder.
    fn start_as(mut command: Command, folder: &Folder, more: &[&str]) -> Self {
        command.args(["probe", "serve", "--token-file", &folder.file("token")]).args(more);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        if !ready.contains("ready on") {
            let mut said = String::new();
            lines.read_to_string(&mut said).unwrap();
            panic!("{ready}{said}");
        }
        let (tell, stderr) = mpsc::channel();
        thread::spawn(move || {
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|count| count > 0) {
                if tell.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        Self { child, ready, stderr }
    }

    /// On a free port of loopback.
    fn start(folder: &Folder, more: &[&str]) -> Self {
        let listen = ["--listen", "127.0.0.1:0"];
        Self::start_as(Command::new(NAMED), folder, &[&listen, more].concat())
    }

    /// The flags of the ready line, as a user copies them.
    fn flags(&self) -> Vec<&str> {
        let begin = self.ready.find("--probe ").expect("flags in the ready line");
        self.ready[begin..].split_whitespace().collect()
    }

    fn address(&self) -> &str {
        self.flags()[1]
    }

    /// The flags with one value replaced.
    fn flags_but<'a>(&'a self, flag: &str, value: &'a str) -> Vec<&'a str> {
        let mut flags = self.flags();
        let at = flags.iter().position(|word| *word == flag).unwrap();
        flags[at + 1] = value;
        flags
    }

    /// Waits until it says a line with this word.
    fn says(&mut self, word: &str) -> String {
        let mut said = String::new();
        let begin = Instant::now();
        while let Ok(line) = self.stderr.recv_timeout(SAYS.saturating_sub(begin.elapsed())) {
            if line.contains(word) {
                return line;
            }
            said += &line;
        }
        panic!("it did not say '{word}' but '{said}'");
    }

    fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server that counts, on loopback.
fn sink() -> Server {
    Server::start("target-sink", &["--threads", "1"])
}

/// A load of 200 requests with these flags about the probe.
fn brief(url: &str, flags: &[&str]) -> Said {
    run(&[&["load", url, "-c", "2", "-n", "200", "-t", "1", "--json"], flags].concat())
}

/// Asserts one line with all of the words, before any request was sent.
fn refused(said: &Said, code: i32, words: &[&str]) {
    assert_eq!(said.code, code, "{}", said.stderr);
    assert_eq!(said.stdout, "", "no load was made");
    assert_eq!(said.stderr.trim_end().lines().count(), 1, "{}", said.stderr);
    for word in words {
        assert!(said.stderr.contains(word), "'{word}' in {}", said.stderr);
    }
}

#[test]
fn wrong_words_about_a_probe_are_refused() {
    let _turn = turn();
    let folder = Folder::new("probe-usage");
    let token = folder.file("token");
    let pin = "a".repeat(64);
    let url = "http://127.0.0.1:1/";
    let load = |more: &[&str]| run(&[&["load", url], more].concat());
    refused(&load(&["--probe", "nowhere"]), 2, &["--probe", "nowhere", "HOST:PORT", "for example"]);
    let no_token = load(&["--probe", "127.0.0.1:1"]);
    refused(&no_token, 2, &["--probe-token-file", "CEILING_PROBE_TOKEN_FILE", "for example"]);
    let no_pin = load(&["--probe", "127.0.0.1:1", "--probe-token-file", &token]);
    refused(&no_pin, 2, &["--probe-pin", "CEILING_PROBE_PIN", "for example"]);
    let short = load(&["--probe", "127.0.0.1:1", "--probe-pin", "abc"]);
    refused(&short, 2, &["--probe-pin", "abc", "64 hexadecimal digits", "for example"]);
    let both = load(&["--probe", "127.0.0.1:1", "--server-pid", "1"]);
    refused(&both, 2, &["--probe", "--server-pid", "cannot be used together"]);
    let alone = load(&["--probe-pin", &pin]);
    refused(&alone, 2, &["--probe", "missing"]);

    let serve = |more: &[&str]| {
        run(&[&["probe", "serve", "--token-file", &token, "--listen", "127.0.0.1:0"], more]
            .concat())
    };
    let open = serve(&["--prometheus", "0.0.0.0:0"]);
    refused(&open, 2, &["--prometheus 0.0.0.0:0", "--prometheus-open", "for example"]);
    refused(&serve(&["--max-clients", "0"]), 2, &["--max-clients", "1 to 64", "for example"]);
    fs::write(&token, "short").unwrap();
    refused(&serve(&[]), 2, &["--token-file", "others may read it", "chmod 600"]);
}

#[test]
fn who_is_not_meant_is_turned_away_with_the_reason_and_before_load() {
    let _turn = turn();
    let folder = Folder::new("probe-refused");
    let (server, mut probe) = (sink(), Probe::start(&folder, &[]));
    let url = server.url("/");

    let other = folder.file("other");
    fs::write(&other, "0123456789abcdef0123456789abcdef").unwrap();
    let said = brief(&url, &probe.flags_but("--probe-token-file", &other));
    refused(&said, 2, &["the token is wrong", "--probe-token-file", probe.address()]);
    assert!(!probe.says("refused").contains("0123456789abcdef"), "secrets are not told");

    let said = brief(&url, &probe.flags_but("--probe-pin", &"ab".repeat(32)));
    refused(&said, 2, &["certificate", "is not the pinned one", "abab"]);
    probe.says("not a client of ours");

    let http = format!("127.0.0.1:{}", server.port);
    let said = brief(&url, &probe.flags_but("--probe", &http));
    refused(&said, 2, &["is not a probe", "TLS", &http]);

    let missing = folder.file("missing");
    let said = brief(&url, &probe.flags_but("--probe-token-file", &missing));
    refused(&said, 2, &["--probe-token-file", "missing", "No such file"]);

    let said = brief(&url, &probe.flags_but("--probe", "127.0.0.1:1"));
    refused(&said, 5, &["cannot connect to a probe at 127.0.0.1:1", "ceiling probe serve"]);

    let said = brief(&url, &probe.flags());
    assert_eq!(count(&said.record(), "/points/0/requests/completed"), 200, "{}", said.stderr);
    let stopped = server.stop();
    assert_eq!(stopped["requests_served"], 200, "nobody else sent anything: {stopped}");
}

#[test]
fn a_probe_that_says_nothing_is_given_up() {
    let _turn = turn();
    let folder = Folder::new("probe-silent");
    let (server, probe) = (sink(), Probe::start(&folder, &[]));
    probe.signal("STOP");
    let said = brief(&server.url("/"), &probe.flags());
    refused(&said, 5, &["does not answer", "within 5 s", probe.address()]);
}

#[test]
fn garbage_and_silence_keep_nobody_out() {
    let _turn = turn();
    let folder = Folder::new("probe-garbage");
    let (server, mut probe) = (sink(), Probe::start(&folder, &["--max-clients", "1"]));
    let connect = || TcpStream::connect(probe.address()).unwrap();
    // Twice as many as it takes who never say a thing, or only the begin of one.
    let mut silent: Vec<TcpStream> = (0..64).map(|_| connect()).collect();
    for stream in silent.iter_mut().step_by(2) {
        let _ = stream.write_all(&[22, 3, 1]);
    }
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 5000], &[0; 64]] {
        let mut stream = connect();
        stream.write_all(garbage).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut rest = Vec::new();
        // Closed or reset, and never kept waiting.
        if let Err(error) = stream.read_to_end(&mut rest) {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        }
    }
    let said = brief(&server.url("/"), &probe.flags());
    let record = said.record();
    assert_eq!(record["target"]["probe"]["lost"], Value::Null, "{}", said.stderr);
    assert_eq!(count(&record, "/target/probe/server/pid"), u64::from(server.pid));
    probe.says("not a client of ours");
    drop(silent);
}

/// A load that goes on, and how to end it.
struct Loading {
    child: Child,
}

impl Loading {
    fn start(mut command: Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { child }
    }

    fn end(self) -> Said {
        Said::of(self.child.wait_with_output().unwrap())
    }
}

#[test]
fn a_client_that_dies_leaves_its_place_to_the_next() {
    let _turn = turn();
    let folder = Folder::new("probe-client");
    let (server, mut probe) = (sink(), Probe::start(&folder, &["--max-clients", "1"]));
    let url = server.url("/");
    let load = ["load", &url, "-c", "2", "-d", "60", "-t", "1"];
    let mut first = Loading::start(ceiling(&[&load[..], &probe.flags()].concat()));
    probe.says("watches process");
    let said = brief(&url, &probe.flags());
    refused(&said, 5, &["has 1 clients already", "--max-clients 2"]);
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    probe.says("gone");
    let said = brief(&url, &probe.flags());
    assert_eq!(said.record()["target"]["probe"]["lost"], Value::Null, "{}", said.stderr);
}

/// Loads while something happens to the probe; gives the record.
fn lose(probe: &mut Probe, url: &str, seconds: &str, happens: impl FnOnce(&Probe)) -> Said {
    let load = ["load", url, "-c", "2", "-d", seconds, "-t", "1", "--json", "--warmup", "200ms"];
    let loading = Loading::start(ceiling(&[&load[..], &probe.flags()].concat()));
    probe.says("watches process");
    // Somewhere in the window.
    std::thread::sleep(Duration::from_millis(1200));
    happens(probe);
    loading.end()
}

/// The run went on to its end, and says what it can no longer know.
fn assert_goes_on(said: &Said, why: &str) {
    let record = said.record();
    assert_eq!(record["outcome"], "complete", "{}", said.stderr);
    let lost = record["target"]["probe"]["lost"].as_str().unwrap_or_default();
    assert!(lost.contains(why), "'{why}' in '{lost}'");
    let told = said.stderr.lines().filter(|line| line.contains("was lost")).count();
    assert_eq!(told, 1, "{}", said.stderr);
    let against = record["verdict"]["against"].to_string();
    assert!(against.contains("can be neither named nor excluded"), "{}", shown(&record));
    let point = &record["points"][0];
    assert!(count(point, "/requests/completed") > 100, "{point:#}");
    assert_eq!(point["cpu"]["server_cpus"], Value::Null, "not known, and not zero");
}

#[test]
fn a_run_goes_on_when_the_probe_is_killed_stopped_or_hangs() {
    let _turn = turn();
    let folder = Folder::new("probe-killed");
    let server = sink();
    let url = server.url("/");
    let mut probe = Probe::start(&folder, &[]);
    let said = lose(&mut probe, &url, "4", |probe| probe.signal("KILL"));
    assert_goes_on(&said, "clos");

    let mut probe = Probe::start(&folder, &[]);
    let said = lose(&mut probe, &url, "4", |probe| probe.signal("TERM"));
    assert_goes_on(&said, "it was stopped on its host");
    assert!(probe.child.wait().unwrap().success(), "SIGTERM is a clean end");

    let mut probe = Probe::start(&folder, &[]);
    let said = lose(&mut probe, &url, "9", |probe| probe.signal("STOP"));
    assert_goes_on(&said, "nothing was heard of it for 5 s");
    probe.signal("CONT");
}

/// Two hosts as far as a kernel can make them: a namespace for each end, and a cable.
struct TwoHosts {
    client: Namespace,
    server: Namespace,
}

impl TwoHosts {
    const SERVER: &str = "10.213.7.1";

    fn new(name: &str) -> Self {
        let client = Namespace::new(&format!("{name}-c"));
        let server = Namespace::new(&format!("{name}-s"));
        // Made inside, so that nothing of it is ever in the host's own namespace.
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
    /// For nsenter, which leaves control groups in sight; `ip netns exec` hides them.
    fn server_file(&self) -> String {
        format!("--net=/run/netns/{}", self.server.name)
    }
}

fn ip(arguments: &[&str]) {
    let status = Command::new("ip").args(arguments).status().expect("iproute2 is installed");
    assert!(status.success(), "ip {arguments:?}");
}

/// Whether a process can have a monotonic clock of its own here.
fn has_time_namespaces(test: &str) -> bool {
    let unshared = Command::new("unshare").args(["-T", "--monotonic", "5", "true"]).output();
    let has = unshared.is_ok_and(|output| output.status.success());
    if !has {
        println!("{test}: without an offset of the clock, it needs time namespaces");
    }
    has
}

/// A wall of the server's that only its own host can tell, with a clock that is 5 s ahead there.
#[test]
fn the_servers_wall_is_named_from_its_own_host() {
    let _turn = turn();
    if !is_root("the_servers_wall_is_named_from_its_own_host") {
        return;
    }
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
    let mut last = String::new();
    for _ in 0..5 {
        let mut command = hosts.client.command(Path::new(NAMED));
        command.args(["load", &url, "-c", "20", "-d", "4", "-t", "1", "--json", "--runs", &runs]);
        let said = Said::of(command.args(probe.flags()).output().unwrap());
        let record = said.record();
        assert_seen_from_far(&record, &server, is_ahead);
        if is_calm(&record) && wall(&record) == "S3" && record["verdict"]["side"] == "server" {
            assert_kept(&record, &runs);
            return;
        }
        last = shown(&record);
    }
    panic!("{last}");
}

/// Facts, figures and the clock are those of the server's host.
fn assert_seen_from_far(record: &Value, server: &Server, is_ahead: bool) {
    let probe = &record["target"]["probe"];
    assert_eq!(count(probe, "/server/pid"), u64::from(server.pid));
    assert_eq!(record["target"]["server"], Value::Null, "nothing of it is seen from here");
    assert_eq!((&probe["privilege"], &probe["lost"]), (&Value::from("root"), &Value::Null));
    let (offset, error) = (probe["clock"]["offset_ns"].as_i64().unwrap(), "/clock/error_ns");
    let ahead_ns = if is_ahead { 5_000_000_000 } else { 0 };
    let off_ns = offset.abs_diff(ahead_ns);
    assert!(off_ns <= count(probe, error), "{off_ns} ns off: {}", probe["clock"]);
}

/// Whether the clock was told well and the server got its fifth of a CPU: on a machine shared with
/// others not every run is.
fn is_calm(record: &Value) -> bool {
    let error_ns = count(&record["target"]["probe"], "/clock/error_ns");
    let server_cpus = record["points"][0]["cpu"]["server_cpus"].as_f64().unwrap();
    error_ns < 50_000_000 && (0.1..0.3).contains(&server_cpus)
}

/// The run directory keeps far readings with far times, and the run can be shown.
fn assert_kept(record: &Value, runs: &str) {
    let id = record["id"].as_str().unwrap();
    let text = fs::read_to_string(format!("{runs}/{id}/server-readings.ndjson")).unwrap();
    let readings: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sources: Vec<_> = readings.iter().map(|read| &read["data"]["source"]).collect();
    for source in ["cpus", "server_threads", "server_quota", "tcp", "listeners", "probe_cost"] {
        assert!(sources.iter().any(|seen| *seen == source), "{source}");
    }
    assert!(!sources.iter().any(|seen| *seen == "client_threads"), "the probe is no generator");
    let offset = record["target"]["probe"]["clock"]["offset_ns"].as_i64().unwrap();
    let window_begin = record["points"][0]["window_ns"][0].as_i64().unwrap();
    let first = readings[0]["begin_ns"].as_i64().unwrap();
    assert!(first < window_begin + offset && first > offset, "nothing is converted");
    let near = fs::read_to_string(format!("{runs}/{id}/readings.ndjson")).unwrap();
    assert!(!near.contains("server_threads") && !near.contains("\"listeners\""));
    let shown = run(&["show", id, "--runs", runs]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    fs::remove_file(format!("{runs}/{id}/server-readings.ndjson")).unwrap();
    assert_eq!(run(&["show", id, "--runs", runs]).code, 0, "a run of an older version");
}

#[test]
fn prometheus_reads_counters_and_nothing_else() {
    let _turn = turn();
    let folder = Folder::new("probe-metrics");
    let server = sink();
    let port = server.port.to_string();
    let more = ["--prometheus", "127.0.0.1:0", "--server-port", &port];
    let probe = Probe::start(&folder, &more);
    let begin = probe.ready.find("http://").expect("an address of the metrics") + 7;
    let address = probe.ready[begin..].split('/').next().unwrap();
    let ask = |request: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let begin = Instant::now();
    let mut answer = String::new();
    let is_whole = |answer: &str| {
        answer.contains("listener_backlog{") && answer.contains("# TYPE ceiling_netstat ")
    };
    while !is_whole(&answer) && begin.elapsed() < Duration::from_secs(20) {
        answer = ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    let (head, text) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}", text.len())), "{head}");
    for metric in ["cpu_seconds_total", "softnet_dropped_total", "netstat", "listener_backlog"] {
        assert!(text.contains(&format!("# TYPE ceiling_{metric} ")), "{metric} in {text}");
    }
    assert!(ask("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    assert!(ask("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
}
