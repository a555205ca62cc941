//! Drivers inside TLS and behind a proxy, against real servers: what is sent arrives whole, and
//! each bad end has its class and cause. The servers are rustls on blocking sockets.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests may wait")]

use engine::job::Job;
use engine::{Crew, clock};
use model::curve::Curve;
use model::dist::Dist;
use model::histogram::Histogram;
use model::load::{Arrival, DriverKind, HttpVersion, Level, Life, Request, Spacing};
use model::route::Route;
use model::tick::{Connections, Counters, ErrorClass};
use model::tls::{Resumption, TlsTally, TlsVersion};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use wire::http1::Http1;
use wire::http2::{Asked, Peer, Said, Scheme, respond, say};
use wire::session::{Ending, Reply, Session as _};
use wire::tape::Tape;
use wire::tls::{Recipe, Settings};

fn drivers() -> Vec<DriverKind> {
    let mut drivers = vec![DriverKind::Epoll];
    if engine::driver::uring::check().is_ok() {
        drivers.push(DriverKind::Uring);
    }
    drivers
}

type Talk = fn(TcpStream);

/// Calls `talk` with each connection, on its own thread.
fn listen(talk: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let talk = Arc::new(talk);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let talk = Arc::clone(&talk);
            thread::spawn(move || talk(stream));
        }
    });
    address
}

fn certificate() -> (Arc<ServerConfig>, Arc<Recipe>) {
    let made = rcgen::generate_simple_self_signed(["test".to_string()]).unwrap();
    let key = made.signing_key.serialize_der().try_into().unwrap();
    let server = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let recipe = Recipe::new(&Settings {
        server_name: "test",
        alpn: &[Http1::ALPN],
        roots: Some(vec![made.cert.der().to_vec()]),
        identity: None,
        versions: (TlsVersion::V12, TlsVersion::V13),
        resumption: Resumption::On,
    });
    (Arc::new(server), Arc::new(recipe.unwrap()))
}

fn secured(
    config: &Arc<ServerConfig>,
    stream: TcpStream,
) -> StreamOwned<ServerConnection, TcpStream> {
    StreamOwned::new(ServerConnection::new(Arc::clone(config)).unwrap(), stream)
}

/// Reads requests with bodies of `body` times the letter `x`, and answers each with its length.
fn respond_all(stream: &mut (impl Read + Write), body: usize) {
    let (mut input, mut piece) = (Vec::new(), [0; 32 * 1024]);
    while let Ok(length @ 1..) = stream.read(&mut piece) {
        input.extend_from_slice(&piece[..length]);
        while let Some(head) = input.windows(4).position(|four| four == b"\r\n\r\n") {
            if input.len() < head + 4 + body {
                break;
            }
            let whole = input[head + 4..head + 4 + body].iter().all(|byte| *byte == b'x');
            let (status, text) = if whole { ("200 OK", "good") } else { ("400 Bad", "evil") };
            let response = format!("HTTP/1.1 {status}\r\nContent-Length: 4\r\n\r\n{text}");
            if stream.write_all(response.as_bytes()).is_err() {
                return;
            }
            input.drain(..head + 4 + body);
        }
    }
}

/// The result of a load.
#[derive(Default)]
struct Came {
    counters: Counters,
    connections: Connections,
    tls: TlsTally,
    connect: Histogram,
    handshake: Histogram,
}

struct Load {
    driver: DriverKind,
    address: SocketAddr,
    connections: u32,
    depth: u32,
    body: usize,
    requests: u64,
    arrival: Arrival,
    recipe: Option<Arc<Recipe>>,
    tunnel: Option<Arc<[u8]>>,
    http: HttpVersion,
}

impl Load {
    fn new(driver: DriverKind, address: SocketAddr) -> Self {
        let (connections, depth, body, requests) = (3, 1, 0, 60);
        let (recipe, tunnel) = (None, None);
        let (arrival, http) = (Arrival::Closed, HttpVersion::One);
        Self { driver, address, connections, depth, body, requests, arrival, recipe, tunnel, http }
    }

    fn run(self) -> Came {
        let request = Request {
            method: if self.body > 0 { "POST" } else { "GET" }.to_string(),
            path: "/".to_string(),
            host: "test".to_string(),
            headers: vec![],
            body: vec![b'x'; self.body],
            target: 0,
            ..Request::default()
        };
        let tape = match self.http {
            HttpVersion::One => Tape::new(&[request], self.depth),
            HttpVersion::Two => Tape::http2(&[request], Scheme::Https),
        };
        let job = Job {
            driver: self.driver,
            http: self.http,
            routes: vec![Route::to(self.address)],
            connections_max: self.connections,
            depth_max: self.depth,
            timeout_ns: 20_000_000_000,
            connect_timeout_ns: 20_000_000_000,
            tls: self.recipe,
            tunnel: self.tunnel,
            ..Job::for_tests(tape.unwrap())
        };
        let mut crew = Crew::start(&job).unwrap();
        let (connections, depth) = (self.connections, self.depth);
        let arrival = self.arrival;
        let life = Life::default();
        let level = Level { connections, spare: 0, depth, arrival, life };
        crew.order_connect(1, &level);
        let begin_ns = clock::now_ns() + 300_000_000;
        let end_ns = if self.requests > 0 { u64::MAX } else { begin_ns + 300_000_000 };
        let budget = (self.requests > 0).then_some(self.requests);
        crew.order_measure(begin_ns, end_ns, budget, 10_000_000_000);
        let (mut came, mut is_over, begin) = (Came::default(), false, Instant::now());
        while !is_over {
            assert!(begin.elapsed() < Duration::from_secs(60), "{:?} hangs", self.driver);
            thread::sleep(Duration::from_millis(10));
            crew.drain(|tick| {
                came.counters += &tick.measured;
                came.connections = tick.connections;
                came.tls += &tick.tls;
                came.connect.merge(&tick.histograms[Dist::Connect]);
                came.handshake.merge(&tick.histograms[Dist::Handshake]);
                is_over |= tick.last;
            });
        }
        came
    }
}

#[test]
fn requests_and_responses_of_any_size_arrive_whole() {
    let (config, recipe) = certificate();
    for (body, depth) in [(0, 1), (0, 16), (100, 3), (1_000_000, 2)] {
        let config = Arc::clone(&config);
        let address = listen(move |stream| respond_all(&mut secured(&config, stream), body));
        for driver in drivers() {
            let recipe = Some(Arc::clone(&recipe));
            let came = Load { body, depth, recipe, ..Load::new(driver, address) }.run();
            let counters = came.counters;
            let what = format!("{driver:?}, body {body}, depth {depth}: {counters:?}");
            assert_eq!((counters.sent, counters.completed), (60, 60), "{what}");
            assert_eq!(counters.status, [60, 0, 0, 0], "{what}");
            assert_eq!((came.tls.handshakes, came.tls.failures), (3, [0; 15]), "{what}");
            assert_eq!((came.connect.count(), came.handshake.count()), (3, 3), "{what}");
        }
    }
}

#[test]
fn an_open_loop_runs_over_tls() {
    let (config, recipe) = certificate();
    let address = listen(move |stream| respond_all(&mut secured(&config, stream), 0));
    for driver in drivers() {
        let (curve, arrivals) = (Curve::constant(400.0), Spacing::Fixed);
        let arrival = Arrival::Open { curve, arrivals };
        let recipe = Some(Arc::clone(&recipe));
        let came = Load { arrival, recipe, requests: 120, ..Load::new(driver, address) }.run();
        assert_eq!(came.counters.status[0], 120, "{driver:?}: {:?}", came.counters);
        assert_eq!(came.tls.handshakes, 3, "{driver:?}");
    }
}

#[test]
fn connecting_and_the_handshake_are_told_apart() {
    const PAUSE: Duration = Duration::from_secs(1);
    let (config, recipe) = certificate();
    let address = listen(move |stream| {
        thread::sleep(PAUSE);
        respond_all(&mut secured(&config, stream), 0);
    });
    for driver in drivers() {
        let recipe = Some(Arc::clone(&recipe));
        let came = Load { recipe, requests: 6, ..Load::new(driver, address) }.run();
        let least_ns = |histogram: &Histogram| histogram.summary(0).min.unwrap();
        let pause_ns = PAUSE.as_nanos() as u64;
        assert!(least_ns(&came.handshake) >= pause_ns, "{driver:?}: {:?}", came.handshake.count());
        assert!(least_ns(&came.connect) < pause_ns / 2, "{driver:?}: {}", least_ns(&came.connect));
    }
}

#[test]
fn the_server_is_told_that_a_connection_ends() {
    let (config, recipe) = certificate();
    let (ends_in, ends_out) = mpsc::channel();
    let address = listen(move |stream| {
        let mut stream = secured(&config, stream);
        respond_all(&mut stream, 0);
        // After close_notify this is the end, without it an error.
        let _ = ends_in.send(stream.read(&mut [0; 1]).map_err(|error| error.kind()));
    });
    for driver in drivers() {
        let recipe = Some(Arc::clone(&recipe));
        Load { recipe, requests: 30, ..Load::new(driver, address) }.run();
        for _ in 0..3 {
            let end = ends_out.recv_timeout(Duration::from_secs(20)).unwrap();
            assert_eq!(end, Ok(0), "{driver:?}");
        }
    }
}

/// Answers the first request, breaks a rule, and returns the code with which it is left, and how
/// the connection ends.
fn break_a_rule(stream: &mut (impl Read + Write)) -> (Option<u32>, Result<usize, ErrorKind>) {
    let (mut peer, mut input, mut left) = (Peer::default(), [0; 4096], None);
    let mut words = Vec::new();
    say(&Said::Settings { streams: None, window: None }, &mut words);
    let reply =
        Reply { status: 200, reason: "", fields: &[], ending: Ending::Length, body: b"hello" };
    loop {
        let written = stream.write_all(&std::mem::take(&mut words));
        written.and_then(|()| stream.flush()).unwrap_or_default();
        let length = match stream.read(&mut input) {
            Ok(length @ 1..) => length,
            end => return (left, end.map_err(|error| error.kind())),
        };
        peer.take(&input[..length], |asked| match asked {
            Asked::Head { stream, .. } => {
                respond(stream, &reply, &mut words);
                // A PING of a stream.
                words.extend_from_slice(b"\x00\x00\x08\x06\x00\x00\x00\x00\x0112345678");
            }
            Asked::Goaway { code } => left = Some(code),
            _ => {}
        });
    }
}

#[test]
fn a_server_that_breaks_a_rule_is_told_so_in_plain_text_and_inside_tls() {
    let (config, recipe) = certificate();
    for driver in drivers() {
        for is_plain in [true, false] {
            let (ends_in, ends_out) = mpsc::channel();
            let config = Arc::clone(&config);
            let address = listen(move |mut stream| {
                let end = match is_plain {
                    true => break_a_rule(&mut stream),
                    false => break_a_rule(&mut secured(&config, stream)),
                };
                let _ = ends_in.send(end);
            });
            let recipe = (!is_plain).then(|| Arc::clone(&recipe));
            let (http, connections) = (HttpVersion::Two, 1);
            let load = Load { recipe, http, connections, ..Load::new(driver, address) };
            let came = Load { requests: 3, ..load }.run();
            assert_eq!(came.counters.completed, 3, "{driver:?}");
            for _ in 0..3 {
                let end = ends_out.recv_timeout(Duration::from_secs(20)).unwrap();
                assert_eq!(end, (Some(1), Ok(0)), "{driver:?}, plain: {is_plain}");
            }
        }
    }
}

/// What follows the body of a response without a length.
#[derive(Clone, Copy)]
enum Last {
    CloseNotify,
    Nothing,
}

fn respond_until_close(config: &Arc<ServerConfig>, stream: TcpStream, last: Last) {
    let mut stream = secured(config, stream);
    if let Ok(1..) = stream.read(&mut [0; 4096]) {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nas long as it takes");
        let _ = stream.flush();
        if matches!(last, Last::CloseNotify) {
            stream.conn.send_close_notify();
            let _ = stream.conn.write_tls(&mut stream.sock);
        }
        let _ = stream.sock.shutdown(std::net::Shutdown::Write);
        let _ = stream.sock.read_to_end(&mut Vec::new());
    }
}

#[test]
fn an_end_inside_tls_is_an_end_and_one_outside_cuts_off() {
    let (config, recipe) = certificate();
    for last in [Last::CloseNotify, Last::Nothing] {
        let config = Arc::clone(&config);
        let address = listen(move |stream| respond_until_close(&config, stream, last));
        for driver in drivers() {
            let recipe = Some(Arc::clone(&recipe));
            let came = Load { recipe, requests: 12, ..Load::new(driver, address) }.run();
            let (completed, closed) =
                (came.counters.completed, came.counters.errors.get(ErrorClass::Closed));
            match last {
                Last::CloseNotify => assert_eq!((completed, closed), (12, 0), "{driver:?}"),
                Last::Nothing => assert_eq!((completed, closed), (0, 12), "{driver:?}"),
            }
        }
    }
}

#[test]
fn connections_that_come_back_resume() {
    let (config, recipe) = certificate();
    let address = listen(move |stream| respond_until_close(&config, stream, Last::CloseNotify));
    for driver in drivers() {
        let recipe = Some(Arc::clone(&recipe));
        let came = Load { recipe, requests: 90, ..Load::new(driver, address) }.run();
        let TlsTally { handshakes, resumed, .. } = came.tls;
        assert!(handshakes >= 90, "one for each request: {handshakes}");
        assert!((3..=9).contains(&(handshakes - resumed)), "{driver:?}: {resumed} of {handshakes}");
    }
}

#[test]
fn what_is_not_tls_fails_with_its_class_and_cause() {
    let (_, recipe) = certificate();
    let talks: [(&str, Talk); 2] = [
        ("not-tls", |mut stream| {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            let _ = stream.read_to_end(&mut Vec::new());
        }),
        ("closed", |mut stream| {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        }),
    ];
    for (cause, talk) in talks {
        let address = listen(talk);
        for driver in drivers() {
            let recipe = Some(Arc::clone(&recipe));
            let came = Load { recipe, requests: 0, ..Load::new(driver, address) }.run();
            let attempts = came.counters.errors.get(ErrorClass::Tls);
            assert!(attempts >= 3, "{driver:?}: {:?}", came.counters);
            assert_eq!(came.tls.causes().get(cause), Some(&attempts), "{driver:?}");
            assert_eq!((came.connections.opened, came.connections.failed), (0, 3), "{driver:?}");
            assert_eq!(came.counters.sent, 0);
        }
    }
}

/// A proxy that connects every request to `target`, responding in small pieces, or refuses.
fn proxy(target: Option<SocketAddr>) -> SocketAddr {
    listen(move |mut stream| {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if stream.read(&mut byte).unwrap_or(0) == 0 {
                return;
            }
            head.extend_from_slice(&byte);
        }
        assert!(head.starts_with(b"CONNECT test:1 HTTP/1.1\r\nHost: test:1\r\n"));
        let Some(target) = target else {
            let _ = stream.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
            return;
        };
        for piece in b"HTTP/1.1 200 Connection established\r\n\r\n".chunks(15) {
            let _ = stream.write_all(piece);
            thread::sleep(Duration::from_millis(1));
        }
        let there = TcpStream::connect(target).unwrap();
        let (mut near, mut far) = (stream.try_clone().unwrap(), there.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut near, &mut far));
        let (mut near, mut far) = (stream, there);
        let _ = std::io::copy(&mut far, &mut near);
        let _ = near.shutdown(std::net::Shutdown::Both);
    })
}

fn ask() -> Option<Arc<[u8]>> {
    Some(wire::tunnel::request("test:1", None).into())
}

#[test]
fn a_tunnel_carries_plain_text_and_tls() {
    let (config, recipe) = certificate();
    let plain = proxy(Some(listen(|mut stream| respond_all(&mut stream, 100))));
    let inside = listen(move |stream| respond_all(&mut secured(&config, stream), 100));
    let inside = proxy(Some(inside));
    for driver in drivers() {
        for (address, recipe) in [(plain, None), (inside, Some(Arc::clone(&recipe)))] {
            let load = Load { body: 100, depth: 4, tunnel: ask(), ..Load::new(driver, address) };
            let handshakes = if recipe.is_some() { 3 } else { 0 };
            let came = Load { recipe, ..load }.run();
            assert_eq!(came.counters.status, [60, 0, 0, 0], "{driver:?}: {:?}", came.counters);
            assert_eq!((came.tls.handshakes, came.tls.refused), (handshakes, 0), "{driver:?}");
            assert_eq!(came.connections.opened, 3);
        }
    }
}

#[test]
fn a_refused_tunnel_is_a_failed_attempt_with_its_status() {
    let address = proxy(None);
    for driver in drivers() {
        let load = Load { requests: 0, tunnel: ask(), ..Load::new(driver, address) };
        let came = load.run();
        let attempts = came.counters.errors.get(ErrorClass::Connect);
        assert!(attempts >= 3, "{driver:?}: {:?}", came.counters);
        assert_eq!((came.tls.refused, came.tls.refused_status), (attempts, 403), "{driver:?}");
    }
}
