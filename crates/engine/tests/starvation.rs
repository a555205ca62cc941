//! Many connections answered at once, by far more bytes than the receive buffers hold: every
//! response is read, on every driver with real sockets.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests may wait")]

use engine::Crew;
use engine::job::{Job, Order};
use model::load::{Arrival, DriverKind, Level, Life, Manner, Request};
use model::route::Route;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};
use wire::tape::Tape;

const CONNECTIONS: u32 = 700;
const ROUNDS: u64 = 3;
/// More than one receive buffer holds.
const BODY_BYTES: usize = 20_000;
/// The worker polls this rarely, so that responses pile up in between.
const PAUSE_NS: u64 = 30_000_000;

/// Waits for the requests of all connections, then answers all of them, round after round.
fn serve_in_rounds() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut streams: Vec<TcpStream> =
            listener.incoming().flatten().take(CONNECTIONS as usize).collect();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY_BYTES}\r\n\r\n");
        let response = [head.as_bytes(), &[b'x'; BODY_BYTES]].concat();
        let mut input = [0; 4096];
        loop {
            for stream in &mut streams {
                let Ok(1..) = stream.read(&mut input) else { return };
            }
            for stream in &mut streams {
                if stream.write_all(&response).is_err() {
                    return;
                }
            }
        }
    });
    address
}

fn assert_all_answered(driver: DriverKind) {
    let request = Request {
        method: "GET".to_string(),
        path: "/".to_string(),
        host: "test".to_string(),
        ..Request::default()
    };
    let job = Job {
        driver,
        routes: vec![Route::to(serve_in_rounds())],
        connections_max: CONNECTIONS,
        timeout_ns: 20_000_000_000,
        connect_timeout_ns: 20_000_000_000,
        manner: Manner { coalesce_ns: PAUSE_NS, ..Manner::default() },
        ..Job::for_tests(Tape::new(&[request], 1).unwrap())
    };
    let mut crew = Crew::start(&job).unwrap();
    let (arrival, life) = (Arrival::Closed, Life::default());
    let (connections, spare) = (CONNECTIONS, 0);
    crew.order_connect(1, &Level { connections, spare, depth: 1, arrival, life });
    crew.order(&Order::Warm);
    let wanted = ROUNDS * u64::from(CONNECTIONS);
    let (begin, mut completed, mut errors) = (Instant::now(), 0, 0);
    while completed < wanted && begin.elapsed() < Duration::from_secs(30) {
        thread::sleep(Duration::from_millis(5));
        crew.drain(|tick| {
            completed += tick.unmeasured.completed;
            let seen = &tick.unmeasured.errors;
            errors += seen.requests() + seen.attempts() + tick.measured.errors.attempts();
        });
    }
    assert!(completed >= wanted, "{driver:?}: {completed} of {wanted} responses");
    assert_eq!(errors, 0, "{driver:?}");
}

#[test]
fn epoll_takes_every_response() {
    assert_all_answered(DriverKind::Epoll);
}

#[test]
fn uring_takes_every_response() {
    if let Err(reason) = engine::driver::uring::check() {
        println!("skipped: {reason}");
        return;
    }
    assert_all_answered(DriverKind::Uring);
}
