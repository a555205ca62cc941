//! The probe on the server's host: its readings, the clients that it refuses, and runs in which one
//! end dies.

use crate::harness::probing::Probe;
use crate::harness::{Finished, Folder, Server, ceiling, count, run, shown, turn};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A sink on loopback.
fn sink() -> Server {
    Server::start("target-sink", &["--threads", "1"])
}

/// A load of 200 requests with these flags about the probe.
fn brief(url: &str, flags: &[&str]) -> Finished {
    run(&[&["load", url, "-c", "2", "-n", "200", "-t", "1", "--json"], flags].concat())
}

/// Asserts an error of one line that has all the words, before any request was sent.
fn refused(said: &Finished, code: i32, words: &[&str]) {
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
    fs::set_permissions(&token, fs::Permissions::from_mode(0o644)).unwrap();
    refused(&serve(&[]), 2, &["--token-file", "other users can read it", "chmod 600"]);
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
    refused(&said, 2, &["wrong token", "--probe-token-file", probe.address()]);
    assert!(!probe.says("refused").contains("0123456789abcdef"), "secrets are not told");

    let said = brief(&url, &probe.flags_but("--probe-pin", &"ab".repeat(32)));
    refused(&said, 2, &["certificate", "does not match the pin", "abab"]);
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
    refused(&said, 5, &["does not respond", "within 15 s", probe.address()]);
}

#[test]
fn garbage_and_silence_keep_nobody_out() {
    let _turn = turn();
    let folder = Folder::new("probe-garbage");
    let (server, mut probe) = (sink(), Probe::start(&folder, &["--max-clients", "1"]));
    let connect = || TcpStream::connect(probe.address()).unwrap();
    // Twice as many clients as it takes that send nothing, or only the start of a message.
    let mut silent: Vec<TcpStream> = (0..64).map(|_| connect()).collect();
    for stream in silent.iter_mut().step_by(2) {
        let _ = stream.write_all(&[22, 3, 1]);
    }
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 5000], &[0; 64]] {
        let mut stream = connect();
        stream.write_all(garbage).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut rest = Vec::new();
        // The probe closes or resets the connection, and never leaves it waiting.
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

/// A running load, which can be ended.
struct Loading {
    child: Child,
}

impl Loading {
    fn start(mut command: Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { child }
    }

    fn end(self) -> Finished {
        Finished::of(self.child.wait_with_output().unwrap())
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
    refused(&said, 5, &["serves 1 clients already", "--max-clients 2"]);
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    probe.says("gone");
    let said = brief(&url, &probe.flags());
    assert_eq!(said.record()["target"]["probe"]["lost"], Value::Null, "{}", said.stderr);
}

/// Runs a load while something happens to the probe; returns its output.
fn lose(probe: &mut Probe, url: &str, seconds: &str, happens: impl FnOnce(&Probe)) -> Finished {
    let load = ["load", url, "-c", "2", "-d", seconds, "-t", "1", "--json", "--warmup", "200ms"];
    let loading = Loading::start(ceiling(&[&load[..], &probe.flags()].concat()));
    probe.says("watches process");
    // Somewhere in the window.
    std::thread::sleep(Duration::from_millis(1200));
    happens(probe);
    loading.end()
}

/// The run went on to its end, and says what it could no longer measure.
fn assert_goes_on(said: &Finished, why: &str) {
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
    let server = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:1ms"]);
    let url = server.url("/");
    let mut probe = Probe::start(&folder, &[]);
    let said = lose(&mut probe, &url, "8", |probe| probe.signal("KILL"));
    assert_goes_on(&said, "clos");

    let mut probe = Probe::start(&folder, &[]);
    let said = lose(&mut probe, &url, "8", |probe| probe.signal("TERM"));
    assert_goes_on(&said, "it was stopped on its host");
    assert!(probe.child.wait().unwrap().success(), "SIGTERM is a clean end");

    let mut probe = Probe::start(&folder, &[]);
    let said = lose(&mut probe, &url, "9", |probe| probe.signal("STOP"));
    assert_goes_on(&said, "it sent nothing for 15 s");
    probe.signal("CONT");
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
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    };
    let begin = Instant::now();
    let mut response = String::new();
    let is_whole = |response: &str| {
        response.contains("listener_backlog{") && response.contains("# TYPE ceiling_netstat ")
    };
    while !is_whole(&response) && begin.elapsed() < Duration::from_secs(20) {
        response = ask("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    let (head, text) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}", text.len())), "{head}");
    for metric in ["cpu_seconds_total", "softnet_dropped_total", "netstat", "listener_backlog"] {
        assert!(text.contains(&format!("# TYPE ceiling_{metric} ")), "{metric} in {text}");
    }
    assert!(ask("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    assert!(ask("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
}
