//! HTTP/2 over sockets: what the command counts is what a server counts that leaves connections and
//! allows few streams; what does not go with HTTP/2 is said in one line.

use crate::harness::certificates::Certificates;
use crate::harness::{Server, count, measure, run, turn};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use wire::http2::{Asked, Peer, Said, respond, say};
use wire::session::{Ending, Reply};

/// Streams that the server allows at once.
const STREAMS: u32 = 5;

const REPLY: Reply<'_> = Reply {
    status: 200,
    reason: "",
    fields: &[("server", "test")],
    ending: Ending::Length,
    body: b"hello",
};

/// What a server counted.
#[derive(Default)]
pub struct Seen {
    connections: AtomicU64,
    pub requests: AtomicU64,
    body_bytes: AtomicU64,
}

/// A server that answers whole requests, and leaves each connection after so many.
pub fn serve(requests_each: u64) -> (SocketAddr, Arc<Seen>) {
    serve_with(requests_each, REPLY)
}

fn serve_with(requests_each: u64, reply: Reply<'static>) -> (SocketAddr, Arc<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, seen) = (listener.local_addr().unwrap(), Arc::new(Seen::default()));
    let counts = Arc::clone(&seen);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = Arc::clone(&counts);
            thread::spawn(move || answer(stream, &seen, (requests_each, &reply)));
        }
    });
    (address, seen)
}

fn answer(mut stream: TcpStream, seen: &Seen, (requests_each, reply): (u64, &Reply<'_>)) {
    let (mut peer, mut input, mut words) = (Peer::default(), [0; 16 * 1024], Vec::new());
    let (mut answered, mut last) = (0, None);
    seen.connections.fetch_add(1, Ordering::Relaxed);
    say(&Said::Settings { streams: Some(STREAMS), window: Some(1000) }, &mut words);
    while stream.write_all(&std::mem::take(&mut words)).is_ok() {
        let Ok(length @ 1..) = stream.read(&mut input) else { return };
        peer.take(&input[..length], |asked| {
            let whole = match asked {
                Asked::Settings { .. } => {
                    say(&Said::Acknowledged, &mut words);
                    None
                }
                Asked::Head { stream, ends: true, .. } => Some(stream),
                Asked::Body { stream, bytes, ends, .. } => {
                    seen.body_bytes.fetch_add(u64::from(bytes), Ordering::Relaxed);
                    for stream in [0, stream] {
                        say(&Said::Window { stream, more: bytes }, &mut words);
                    }
                    ends.then_some(stream)
                }
                _ => None,
            };
            let Some(stream) = whole.filter(|stream| last.is_none_or(|last| *stream <= last))
            else {
                return;
            };
            seen.requests.fetch_add(1, Ordering::Relaxed);
            answered += 1;
            respond(stream, reply, &mut words);
            if answered == requests_each {
                say(&Said::Goaway { last: stream, code: 0 }, &mut words);
                last = Some(stream);
            }
        });
    }
}

fn drivers() -> Vec<&'static str> {
    let has_uring = engine::driver::uring::check().is_ok();
    if has_uring { vec!["uring", "epoll"] } else { vec!["epoll"] }
}

/// Runs a load with `--json`. A short load may break a gate; the caller does not care.
fn load(arguments: &[&str]) -> Value {
    let said = run(&[&["load"], arguments, &["-t", "1", "--warmup", "0", "--json"]].concat());
    assert!(said.code == 0 || said.code == 4, "{}: {}", said.code, said.stderr);
    said.record()
}

#[test]
fn streams_are_counted_as_the_server_counts_them() {
    let body = "b".repeat(2_500);
    for driver in drivers() {
        for (option, more) in
            [(&["--http", "2"][..], &[][..]), (&["--http2-prior-knowledge"], &["-b", &body])]
        {
            let _turn = turn();
            let (address, seen) = serve(u64::MAX);
            let url = format!("http://{address}/path");
            let sizes = ["-n", "3000", "-c", "3", "-p", "16", "--driver", driver];
            let record = load(&[&[url.as_str()], option, &sizes, more].concat());
            let point = &record["points"][0];
            assert_eq!(count(point, "/requests/completed"), 3000, "{driver}");
            assert_eq!(count(point, "/status/2xx"), 3000, "{driver}");
            assert_eq!(count(point, "/connections/reopened"), 0, "{driver}");
            let streams = &point["connections"]["streams"];
            assert_eq!((count(streams, "/limit_min"), count(streams, "/limit_max")), (5, 5));
            assert_eq!(count(streams, "/settings_ns/count"), 3, "{streams}");
            let held = if more.is_empty() { 0 } else { 3000 };
            assert_eq!(count(streams, "/held_requests"), held, "{streams}");
            let notices = record["notices"].to_string();
            assert!(notices.contains("fewer streams at once than -p 16"), "{notices}");
            assert_eq!(seen.requests.load(Ordering::Relaxed), 3000, "{driver}");
            let body_bytes = if more.is_empty() { 0 } else { 3000 * 2_500 };
            assert_eq!(seen.body_bytes.load(Ordering::Relaxed), body_bytes, "{driver}");
            // One before them tried the address, and one whether it speaks HTTP/2.
            assert_eq!(seen.connections.load(Ordering::Relaxed), 3 + 2, "{driver}");
        }
    }
}

/// Requests behind the last one that the server takes are refused, and nothing else is lost.
#[test]
fn a_server_that_leaves_connections_is_asked_on_the_next_ones() {
    for driver in drivers() {
        let _turn = turn();
        let (address, seen) = serve(100);
        let url = format!("http://{address}/path");
        let sizes = ["-n", "3000", "-c", "3", "-p", "4", "--http", "2", "--driver", driver];
        let record = load(&[&[url.as_str()], &sizes[..]].concat());
        let point = &record["points"][0];
        let [completed, failed, refused, reopened] =
            ["/requests/completed", "/requests/failed", "/errors/refused", "/connections/reopened"]
                .map(|path| count(point, path));
        assert_eq!((completed + failed, failed), (3000, refused), "{driver}: {point}");
        assert_eq!(seen.requests.load(Ordering::Relaxed), completed, "{driver}");
        assert!(reopened >= completed / 100 - 3, "{driver}: {reopened} of {completed}");
        let streams = &point["connections"]["streams"];
        let left = count(streams, "/left/NO_ERROR");
        assert!((reopened..=reopened + 3).contains(&left), "{driver}: {left} {reopened}");
        for most in ["/left_after_min", "/left_after_max"] {
            assert_eq!(count(streams, most), 100, "{driver}: {streams}");
        }
        let notices = record["notices"].to_string();
        assert!(notices.contains("(GOAWAY: NO_ERROR"), "{notices}");
    }
}

/// The text of a response that failed is that of HTTP/1.1, but for its first line.
#[test]
fn a_failed_response_is_kept_as_text() {
    let _turn = turn();
    let fields = &[("retry-after", "5"), ("x-why", "full")];
    let (address, _) = serve_with(u64::MAX, Reply { status: 503, fields, body: b"busy", ..REPLY });
    let url = format!("http://{address}/path");
    let sizes = ["-n", "200", "-c", "2", "-p", "4", "--http", "2"];
    for more in [&[][..], &["--sample-failures"]] {
        let words = [&["load", &url, "-t", "1", "--warmup", "0", "--json"], &sizes[..], more];
        let record = run(&words.concat()).record();
        let samples = record["points"][0]["samples"].as_array().unwrap();
        assert_eq!(samples.len(), 1, "{samples:?}");
        let head = ["HTTP/2 503", "retry-after: 5", "x-why: full", "content-length: 4"];
        assert_eq!(samples[0]["head"], serde_json::json!(head));
        let body = if more.is_empty() { Value::Null } else { "busy".into() };
        assert_eq!(samples[0]["body"], body, "{samples:?}");
    }
}

/// Devices open connections and streams as the server counts them, and each has its whole number of
/// streams. The times to connect and to the settings are apart.
#[test]
fn connections_that_come_and_go_have_their_streams() {
    for driver in drivers() {
        let _turn = turn();
        let (address, seen) = serve(u64::MAX);
        let url = format!("http://{address}/path");
        let churn = ["churn", &url, "--http", "2", "-c", "10", "--hold", "0", "-d", "1"];
        let more = ["--requests-per-conn", "7", "-p", "4", "--driver", driver];
        let (_, record) = measure(&[&churn[..], &more, &["--ramp-up", "100ms"]].concat());
        let point = &record["points"][0];
        let of = |name: &str| count(&point["turnover"], name);
        let came = of("/open_before") + of("/established");
        assert_eq!(came, of("/closed_by_us") + of("/open_after"), "{driver}: {point}");
        assert_eq!((of("/failed"), of("/closed_by_peer")), (0, 0), "{driver}: {point}");
        let requests = &point["requests"];
        let [sent, completed, failed] =
            ["/sent", "/completed", "/failed"].map(|name| count(requests, name));
        assert!(completed > 0 && failed == 0 && sent >= completed, "{driver}: {requests}");
        let used = record["target"]["addresses_used"].as_array().unwrap();
        let opened: u64 = used.iter().map(|address| count(address, "/connections")).sum();
        // One before them tried the address, and one whether it speaks HTTP/2.
        assert_eq!(seen.connections.load(Ordering::Relaxed), opened + 2, "{driver}");
        let asked = seen.requests.load(Ordering::Relaxed);
        // The end of the level cuts the last ones short.
        assert!(asked <= 7 * opened && asked >= 7 * (opened - 10), "{driver}: {asked} {opened}");
        let connections = &point["connections"];
        let times = ["/connect_ns/count", "/streams/settings_ns/count"];
        assert_eq!(times.map(|name| count(connections, name)), [opened; 2], "{driver}");
    }
}

/// The budget is sent exactly, however short the connections are.
#[test]
fn a_connection_ends_after_its_streams() {
    for driver in drivers() {
        let _turn = turn();
        let (address, seen) = serve(u64::MAX);
        let url = format!("http://{address}/path");
        let sizes = ["-n", "1000", "-c", "4", "-p", "3", "--http", "2", "--driver", driver];
        let record = load(&[&[url.as_str()], &sizes[..], &["--requests-per-conn", "10"]].concat());
        assert_eq!(count(&record["points"][0], "/requests/completed"), 1000, "{driver}");
        let connections = seen.connections.load(Ordering::Relaxed) - 2;
        assert!((100..=108).contains(&connections), "{driver}: {connections}");
        assert_eq!(seen.requests.load(Ordering::Relaxed), 1000, "{driver}");
    }
}

/// Its bodies are larger than the windows that HTTP/2 begins with.
#[test]
fn without_a_server_bodies_are_taken_whole() {
    let _turn = turn();
    let body = "x".repeat(50_000);
    let sizes = ["--driver", "null", "--http", "2", "-b", &body, "-n", "2000", "-c", "2"];
    let record = load(&[&["http://null/"], &sizes[..]].concat());
    let point = &record["points"][0];
    assert_eq!(point["status_codes"], serde_json::json!({ "200": 2000 }), "{point}");
    assert_eq!(count(&point["connections"]["streams"], "/held_requests"), 0, "{point}");
}

/// Another implementation sends no more than our window allows, and goes on when it opens.
#[test]
fn replies_longer_than_the_window_arrive_and_are_counted() {
    let item = format!("{{\"name\": \"{}\"}}", "x".repeat(20_000));
    for driver in drivers() {
        let _turn = turn();
        let server = Server::start("target-grpc", &[]);
        let url = server.url("/shop.Catalog/Echo").replace("http://", "grpc://");
        let sizes = ["-n", "300", "-c", "2", "-p", "8", "--driver", driver];
        for (window, long) in [("1k", 300), ("64k", 0)] {
            let more = ["-b", &item, "--window", window];
            let record = load(&[&[url.as_str()], &more[..], &sizes].concat());
            let point = &record["points"][0];
            assert_eq!(point["status_codes"], serde_json::json!({ "OK": 300 }), "{driver}");
            let streams = &point["connections"]["streams"];
            assert_eq!(count(streams, "/long_responses"), long, "{driver} {window}");
            let notices = record["notices"].to_string();
            assert_eq!(notices.contains("longer than --window"), long > 0, "{notices}");
        }
    }
}

/// A server that says one thing to each connection after the first request, again and again.
fn hostile(said: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let said = said.clone();
            thread::spawn(move || attack(stream, &said));
        }
    });
    address
}

fn attack(mut stream: TcpStream, said: &[u8]) {
    let (mut peer, mut input, mut words) = (Peer::default(), [0; 16 * 1024], Vec::new());
    say(&Said::Settings { streams: None, window: Some(0) }, &mut words);
    let mut is_asked = false;
    while !is_asked && stream.write_all(&std::mem::take(&mut words)).is_ok() {
        let Ok(length @ 1..) = stream.read(&mut input) else { return };
        peer.take(&input[..length], |asked| is_asked |= matches!(asked, Asked::Head { .. }));
    }
    // It goes on until the generator has closed the connection.
    while !said.is_empty() && stream.write_all(said).is_ok() {}
    while stream.read(&mut input).is_ok_and(|length| length > 0) {}
}

/// Each ends its connections, with a class and a reason, and not the run; and takes no more memory
/// than a response does.
#[test]
fn a_server_that_floods_is_left() {
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        let length = (payload.len() as u32).to_be_bytes();
        [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
    };
    let bomb = [&[0x88, 0x40, 1, b'x', 0x7f, 0xa1, 0x1e][..], &[b'y'; 4_000], &[0xbe; 12_000]];
    let (begun, page) = (frame(1, 0, 1, b"\x88"), frame(1, 4, 1, b"\x88"));
    type Hostile<'a> = (&'a str, Vec<u8>, &'a [&'a str], &'a str, &'a str);
    let cases: [Hostile<'_>; 9] = [
        ("nothing", Vec::new(), &[], "timeout", ""),
        ("no window", Vec::new(), &["-b", "body"], "timeout", ""),
        ("pings", frame(6, 0, 0, &[0; 8]).repeat(4_000), &[], "parse", "bad-frame"),
        ("settings", frame(4, 0, 0, &[]).repeat(4_000), &[], "parse", "bad-frame"),
        (
            "pieces",
            [begun, frame(9, 0, 1, b"").repeat(8_000)].concat(),
            &[],
            "parse",
            "head-too-long",
        ),
        ("a bomb", frame(1, 5, 1, &bomb.concat()), &[], "parse", "head-too-long"),
        ("a large frame", frame(0, 0, 1, &[0; 16_385]), &[], "parse", "bad-frame"),
        (
            "more than our window",
            [page, frame(0, 0, 1, &[0; 1_001])].concat(),
            &["--window", "1k"],
            "parse",
            "bad-frame",
        ),
        ("a text", b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), &[], "parse", "bad-frame"),
    ];
    for (what, said, more, class, reason) in cases {
        let _turn = turn();
        let url = format!("http://{}/", hostile(said));
        let patience = if class == "timeout" { "300ms" } else { "20s" };
        let sizes = ["-n", "4", "-c", "1", "-T", patience, "--http", "2"];
        let said = run(
            &[&["load", &url, "-t", "1", "--warmup", "0", "--json"], &sizes[..], more].concat()
        );
        let point = &said.record()["points"][0];
        let of_class = count(point, &format!("/errors/{class}"));
        assert_eq!((of_class, count(point, "/requests/failed")), (4, 4), "{what}: {point}");
        let found = point["samples"].to_string();
        assert!(found.contains(reason), "{what}: {found}");
    }
}

/// Inside TLS there are three times: TCP, the handshake, and the settings.
#[test]
fn connections_of_calls_that_come_and_go_count_tls_apart() {
    let _turn = turn();
    let certificates = Certificates::new("http2-churn");
    let (server, ca) =
        (certificates.server_of("target-grpc", "server", &[]), certificates.file("ca.pem"));
    let url = format!("grpcs://127.0.0.1:{}/shop.Catalog/Read", server.port);
    let churn = ["churn", &url, "--cacert", &ca, "-c", "5", "--hold", "50ms", "-d", "1"];
    let (_, record) = measure(&[&churn[..], &["--ramp-up", "100ms"]].concat());
    let point = &record["points"][0];
    let connections = &point["connections"];
    let count_of = |name: &str| count(connections, name);
    let opened = count_of("/connect_ns/count");
    assert!(opened > 5, "{connections}");
    assert_eq!(count_of("/streams/settings_ns/count"), opened, "{connections}");
    assert!(count_of("/handshake_ns/count") >= opened, "{connections}");
    assert!(count(point, "/status_codes/OK") > 0, "{point}");
}

/// h2load deals its requests out to its clients, so each of these connections has as many.
#[test]
fn the_front_of_h2load_and_h2load_in_a_plan_count_what_h2load_counts() {
    let _turn = turn();
    let words = ["-n", "300", "-c", "2", "-m", "4"];
    let counted = |text: &str| -> Vec<String> {
        let begins = ["Application protocol:", "requests:", "status codes:"];
        let lines = text.lines().filter(|line| begins.iter().any(|begin| line.starts_with(begin)));
        lines.map(str::to_string).collect()
    };
    let (address, _) = serve(u64::MAX);
    let url = format!("http://{address}/path");
    let real = Command::new("h2load").args(words).arg(&url).output();
    let real = real.unwrap_or_else(|error| panic!("h2load: {error}: run make test-programs"));
    let ours = run(&[&["h2load"], &words[..], &[&url]].concat());
    let real = counted(&String::from_utf8_lossy(&real.stdout));
    assert!(real[0].ends_with("h2c") && real[1].contains(" 300 succeeded,"), "{real:?}");
    assert_eq!(counted(&ours.stdout), real, "{}", ours.stderr);

    let (address, seen) = serve(u64::MAX);
    let folder = std::env::temp_dir().join(format!("ceiling-http2-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let plan = folder.join("plan.toml").display().to_string();
    let text = format!(
        "schema = \"ceiling.plan/1\"\nquestion = \"How much?\"\nserver.addr = \"{address}\"\n\
         [load]\ntool = \"h2load\"\nhttp2-prior-knowledge = true\nrequests = 300\nconnections = 2\n\
         depth = 4\nthreads = 1\n"
    );
    fs::write(&plan, text).unwrap();
    let runs = folder.join("runs").display().to_string();
    let said = run(&["run", &plan, "--trust", "--runs", &runs, "--json", "-q"]);
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert!(seen.requests.load(Ordering::Relaxed) >= 300, "{}", said.stdout);
}

/// The generator's own code, with the most streams that are kept at once in a usual load.
#[test]
fn without_a_server_every_stream_is_answered() {
    let _turn = turn();
    for depth in ["1", "100"] {
        let sizes = ["-n", "5000", "-c", "3", "-p", depth, "--driver", "null", "--http", "2"];
        let record = load(&[&["http://127.0.0.1:1/path"], &sizes[..]].concat());
        let point = &record["points"][0];
        assert_eq!(count(point, "/requests/completed"), 5000, "{depth}: {point}");
        assert_eq!(count(point, "/status/2xx"), 5000, "{depth}");
    }
}

/// Without TLS a server is not asked what it speaks, so what HTTP/2 cannot do yet is possible.
#[test]
fn auto_is_http1_without_tls() {
    let _turn = turn();
    let record = load(&["http://127.0.0.1:1/", "--http", "auto", "--driver", "null", "-n", "10"]);
    assert_eq!(count(&record["points"][0], "/requests/completed"), 10);
}

#[test]
fn a_server_without_http2_is_named_before_any_load() {
    let _turn = turn();
    let server = Server::start("target-nethttp", &[]);
    let said = run(&["load", &server.url("/simple"), "--http", "2", "-n", "10"]);
    assert_eq!(said.code, 5, "{}", said.stderr);
    assert_eq!(said.stderr.trim_end().lines().count(), 1, "{}", said.stderr);
    for words in ["does not speak HTTP/2", "--http 1"] {
        assert!(said.stderr.contains(words), "{words}: {}", said.stderr);
    }
}
