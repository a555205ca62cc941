//! Servers that send more than they announced, on every driver with real sockets: empty lines
//! change nothing, other bytes are counted.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests may wait")]

use engine::Crew;
use engine::job::{Job, Order};
use model::load::{Arrival, DriverKind, Level, Life, Request};
use model::route::Route;
use model::tick::{Connections, Counters, ErrorClass, Loop};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};
use wire::tape::Tape;

/// Requests of a run.
const BUDGET: u64 = 400;
const CONNECTIONS: u32 = 4;

/// Answers each request with a body of two announced bytes, followed by `more`.
fn serve(more: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || respond(stream, more));
        }
    });
    address
}

fn respond(mut stream: TcpStream, more: &str) {
    let response = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok{more}");
    let (mut seen, mut input) = (Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = stream.read(&mut input) {
        seen.extend_from_slice(&input[..length]);
        while let Some(end) = seen.windows(4).position(|four| four == b"\r\n\r\n") {
            seen.drain(..end + 4);
            if stream.write_all(response.as_bytes()).is_err() {
                return;
            }
        }
    }
}

/// Sends [`BUDGET`] requests; returns what became of them and of the connections.
fn run(driver: DriverKind, depth: u32, more: &'static str) -> (Counters, Connections, Loop) {
    let request = Request {
        method: "GET".to_string(),
        path: "/".to_string(),
        host: "test".to_string(),
        ..Request::default()
    };
    let job = Job {
        driver,
        routes: vec![Route::to(serve(more))],
        connections_max: CONNECTIONS,
        depth_max: depth,
        timeout_ns: 20_000_000_000,
        connect_timeout_ns: 20_000_000_000,
        ..Job::for_tests(Tape::new(&[request], depth).unwrap())
    };
    let mut crew = Crew::start(&job).unwrap();
    let (arrival, life) = (Arrival::Closed, Life::default());
    let (connections, spare) = (CONNECTIONS, 0);
    crew.order_connect(1, &Level { connections, spare, depth, arrival, life });
    crew.order(&Order::Measure {
        begin_ns: engine::clock::now_ns(),
        end_ns: u64::MAX,
        budget: Some(BUDGET),
        drain_ns: 20_000_000_000,
        skip_until_ns: 0,
    });
    let begin = Instant::now();
    let (mut counters, mut loops) = (Counters::default(), Loop::default());
    let (mut connections, mut is_over) = (Connections::default(), false);
    while !is_over && begin.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(5));
        crew.drain(|tick| {
            counters += &tick.measured;
            loops += &tick.accounting;
            connections = tick.connections;
            is_over |= tick.last;
        });
    }
    assert!(is_over, "{driver:?}, depth {depth}: {counters:?}");
    assert_eq!(counters.completed + counters.failed, BUDGET, "{driver:?}, depth {depth}");
    (counters, connections, loops)
}

fn drivers() -> Vec<DriverKind> {
    match engine::driver::uring::check() {
        Ok(()) => vec![DriverKind::Epoll, DriverKind::Uring],
        Err(reason) => {
            println!("without io_uring: {reason}");
            vec![DriverKind::Epoll]
        }
    }
}

#[test]
fn an_empty_line_after_a_response_changes_nothing_at_any_depth() {
    for driver in drivers() {
        for depth in [1, 2] {
            let (counters, connections, _) = run(driver, depth, "\r\n");
            let what = format!("{driver:?}, depth {depth}: {connections:?}");
            assert_eq!((counters.completed, counters.failed), (BUDGET, 0), "{what}");
            assert_eq!((connections.reopened, connections.unsolicited), (0, 0), "{what}");
        }
    }
}

#[test]
fn other_bytes_after_a_response_are_counted_at_any_depth() {
    for driver in drivers() {
        // With one request at a time nothing is in flight when the bytes arrive.
        let (counters, connections, loops) = run(driver, 1, "oops");
        let what = format!("{driver:?}: {connections:?}, {counters:?}");
        let seen = connections.unsolicited + counters.errors.get(ErrorClass::Parse);
        assert!(connections.unsolicited > 0 && seen >= BUDGET - u64::from(CONNECTIONS), "{what}");
        assert!(loops.stray_bytes >= 4 * connections.unsolicited, "{what}");
        // With several requests the bytes are where the next response should be.
        let (counters, connections, _) = run(driver, 2, "oops");
        let seen = connections.unsolicited + counters.errors.requests();
        assert!(seen >= BUDGET / 4, "{driver:?}: {connections:?}, {counters:?}");
    }
}
