//! What each flag does, from outside. Times are only bounded from below, because only sleeps are
//! guaranteed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A server that is killed with its test.
struct Server {
    child: Child,
    output: BufReader<ChildStdout>,
    address: String,
}

impl Server {
    fn start(flags: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_target-stage"));
        command.args(["--port", "0"]).args(flags.split_whitespace()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(line.contains("\"event\":\"listening\""), "{line}");
        let address = line.split("\"addr\":\"").nth(1).unwrap().split('"').next().unwrap();
        Self { child, output, address: address.to_owned() }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// One request on a new connection.
    fn get(&self, path: &str) -> String {
        let mut stream = self.connect();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    /// Sends this many requests at once; returns how long all of them took.
    fn at_once(&self, count: usize, path: &str) -> Duration {
        let begin = Instant::now();
        thread::scope(|scope| {
            for _ in 0..count {
                scope.spawn(|| assert!(self.get(path).starts_with("HTTP/1.1 200 OK\r\n")));
            }
        });
        begin.elapsed()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_pool_serves_as_many_at_once_as_it_has_workers() {
    let server = Server::start("--workers 2 --sleep 50ms");
    assert!(server.at_once(8, "/") >= Duration::from_millis(200), "four rounds of two");
}

#[test]
fn a_lock_lets_one_through_and_only_of_its_path() {
    let server = Server::start("--thread-per-connection --lock 50ms --lock-path /slow");
    assert!(server.at_once(5, "/slow") >= Duration::from_millis(250));
    let held = Server::start("--workers 4 --lock 30s --lock-path /slow");
    let mut slow = held.connect();
    slow.write_all(b"GET /slow HTTP/1.1\r\n\r\n").unwrap();
    assert!(held.get("/fast").contains("200 OK"), "it does not wait for the lock");
}

#[test]
fn one_connection_of_those_that_ask_sleeps() {
    let server = Server::start("--workers 4 --sleep 50ms --sleep-connection 2");
    server.get("/");
    assert!(server.at_once(1, "/") >= Duration::from_millis(50), "the second sleeps");
    let server = Server::start("--workers 4 --sleep 30s --sleep-connection 3");
    let _silent = server.connect();
    for _ in 0..2 {
        assert!(server.get("/").contains("200 OK"), "neither of these does");
    }
}

#[test]
fn a_limiter_refuses_or_delays() {
    let server = Server::start("--workers 4 --limit 1/s");
    let responses: Vec<String> = (0..8).map(|_| server.get("/")).collect();
    assert!(
        responses.iter().any(|response| response.starts_with("HTTP/1.1 429 ")),
        "{responses:?}"
    );
    let server = Server::start("--thread-per-connection --limit 20/s --limit-mode delay");
    assert!(server.at_once(8, "/") >= Duration::from_millis(300), "one may have been saved");
}

#[test]
fn work_burns_cpu_time() {
    let server = Server::start("--listeners 1 --spin 20ms");
    assert!(server.at_once(5, "/") >= Duration::from_millis(100));
    let server = Server::start("--workers 4 --spin-lock 20ms");
    assert!(server.at_once(5, "/") >= Duration::from_millis(100), "one at a time");
}

#[test]
fn a_downstream_server_is_asked_for_each_request() {
    let downstream = Server::start("--workers 1 --sleep 40ms");
    let server = Server::start(&format!("--workers 8 --downstream {}", downstream.address));
    assert!(server.at_once(5, "/") >= Duration::from_millis(200));
    drop(downstream);
    assert!(server.get("/").starts_with("HTTP/1.1 502 "));
}

#[test]
fn connections_are_kept_up_to_the_cap() {
    let server = Server::start("--workers 2 --requests-per-connection 3");
    let mut stream = server.connect();
    // Sent together, to check that responses come one by one, and no more than three.
    stream.write_all("GET / HTTP/1.1\r\n\r\n".repeat(5).as_bytes()).unwrap();
    let mut responses = Vec::new();
    // Unread requests turn the close into a reset, which may arrive before the end of the
    // responses.
    let _ = stream.read_to_end(&mut responses);
    let responses = String::from_utf8(responses).unwrap();
    assert!(responses.matches("200 OK").count() <= 3, "{responses}");
    let mut stream = server.connect();
    stream.write_all("GET / HTTP/1.1\r\n\r\n".repeat(3).as_bytes()).unwrap();
    let mut responses = String::new();
    stream.read_to_string(&mut responses).unwrap();
    assert_eq!(responses.matches("200 OK").count(), 3);
    assert_eq!(responses.matches("Connection: close").count(), 1);
}

#[test]
fn bodies_are_bytes_or_chunks_and_nagle_changes_nothing_of_them() {
    let body = |flags: &str| {
        let response = Server::start(flags).get("/");
        response.split_once("\r\n\r\n").unwrap().1.to_owned()
    };
    assert_eq!(body("--body 5"), ".....");
    assert_eq!(body("--body 5 --nagle"), ".....");
    assert_eq!(body("--body 70000 --sndbuf 4096").len(), 70_000);
    assert_eq!(body("--chunks 2"), "1\r\n.\r\n1\r\n.\r\n0\r\n\r\n");
}

#[test]
fn listeners_share_the_port_and_say_who_answered() {
    let server = Server::start("--listeners 2");
    let mut seen = Vec::new();
    for _ in 0..200 {
        let response = server.get("/");
        let thread = response.lines().find_map(|line| line.strip_prefix("Server: ")).unwrap();
        seen.push(thread.to_owned());
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen, ["loop-0", "loop-1"]);
}

#[test]
fn each_accept_waits() {
    for crew in ["--listeners 1", "--workers 4", "--thread-per-connection"] {
        let server = Server::start(&format!("{crew} --accept-delay 30ms"));
        assert!(server.at_once(5, "/") >= Duration::from_millis(150), "{crew}");
    }
}

#[test]
fn requests_that_are_none_are_refused() {
    let server = Server::start("--workers 1");
    let mut stream = server.connect();
    stream.write_all(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 400 "), "{response}");
}

#[test]
fn it_writes_before_it_responses() {
    let path = std::env::temp_dir().join(format!("target-stage-{}.log", std::process::id()));
    let server = Server::start(&format!("--workers 2 --fsync {}", path.display()));
    (0..3).for_each(|_| drop(server.get("/")));
    let lines = std::fs::read_to_string(&path).unwrap().lines().count();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(lines, 3);
}

#[test]
fn a_signal_ends_it_with_a_count() {
    let mut server = Server::start("--workers 2");
    (0..3).for_each(|_| drop(server.get("/")));
    let pid = server.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let mut line = String::new();
    server.output.read_line(&mut line).unwrap();
    assert!(line.contains("\"event\":\"stopped\"") && line.contains(":3}"), "{line}");
    assert!(server.child.wait().unwrap().success());
}
