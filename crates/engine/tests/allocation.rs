//! After warm-up the data plane does not allocate while it measures, on any live driver, nor do
//! users of a flow. With TLS only rustls does: a buffer or two for each record, and nothing else.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests may wait")]
#![allow(unsafe_code, reason = "an allocator that counts")]

use engine::job::{Job, Order};
use engine::{Crew, Role, clock};
use model::call::Replies;
use model::check::Checks;
use model::curve::Curve;
use model::field::{Field, FieldValue};
use model::flow::{
    Assert, Capture, Escape, Filter, Flow, Found, Key, Piece, Query, Source, Step, Test, Text,
    Variable,
};
use model::load::{Arrival, DriverKind, HttpVersion, Level, Life, Request, Spacing};
use model::route::Route;
use model::tls::{Resumption, TlsVersion};
use rcgen::CertifiedKey;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use wire::http1::Http1;
use wire::http2::{Asked, Ends, Form, Peer, Said, Scheme, respond, say};
use wire::program::Program;
use wire::session::{Ending, Reply, Session as _};
use wire::tape::Tape;
use wire::tls::{Recipe, Settings};

/// Counts every allocation of the process except those of servers.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Whether this thread belongs to a server.
    static IS_EXEMPT: Cell<bool> = const { Cell::new(false) };
}

fn count() {
    if !IS_EXEMPT.get() {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call is passed on unchanged to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of this very method.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Users of a flow at a time.
const USERS: u32 = 8;
/// A message of a call, with its prefix.
const MESSAGE: &[u8] = &[0, 0, 0, 0, 2, 8, 1];
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nDate: now\r\nContent-Length: 2\r\n\r\nhi";
/// To a user of a flow.
const TOKEN: &[u8] = b"HTTP/1.1 200 OK\r\nSet-Cookie: sid=abcdef; Path=/\r\nX-Trace: t-17\r\n\
    Content-Length: 31\r\n\r\n{\"token\": [\"a\", \"b \\u00e9\", 7]}";

/// Serves every connection in a thread of its own, whose memory does not count.
fn listen(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        IS_EXEMPT.set(true);
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            thread::spawn(move || {
                IS_EXEMPT.set(true);
                serve(stream);
            });
        }
    });
    address
}

/// Answers every request on every connection.
fn serve(tls: Option<Arc<ServerConfig>>) -> SocketAddr {
    listen(move |stream| match tls.clone() {
        None => respond_all(stream, RESPONSE),
        Some(config) => {
            let session = ServerConnection::new(config).unwrap();
            respond_all(StreamOwned::new(session, stream), RESPONSE);
        }
    })
}

/// Answers users in threads that are all there before, since each has a connection of its own.
fn serve_users() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    for _ in 0..4 * USERS {
        let listener = listener.try_clone().unwrap();
        thread::spawn(move || {
            IS_EXEMPT.set(true);
            for stream in listener.incoming().flatten() {
                respond_all(stream, TOKEN);
            }
        });
    }
    listener.local_addr().unwrap()
}

fn respond_all(mut stream: impl Read + Write, response: &[u8]) {
    let mut input = [0; 4096];
    let responses = response.repeat(64);
    while let Ok(length @ 1..) = stream.read(&mut input) {
        let requests = input[..length].windows(4).filter(|four| *four == b"\r\n\r\n").count();
        if stream.write_all(&responses[..requests * response.len()]).is_err() {
            return;
        }
    }
}

/// Answers every request of HTTP/2 on every connection.
fn serve_streams() -> SocketAddr {
    listen(|mut stream| {
        let (mut peer, mut input, mut words) = (Peer::default(), [0; 4096], Vec::new());
        let mut is_open = BTreeSet::new();
        let fields = &[("date", "now")];
        let (reason, ending) = ("", Ending::Length);
        let reply = Reply { status: 200, reason, fields, ending, body: b"hi" };
        say(&Said::Settings { streams: None, window: None }, &mut words);
        while stream.write_all(&std::mem::take(&mut words)).is_ok() {
            let Ok(length @ 1..) = stream.read(&mut input) else { return };
            peer.take(&input[..length], |asked| match asked {
                Asked::Head { stream, ends: true, .. } => {
                    respond(stream, &reply, &mut words);
                    say(&Said::Ping, &mut words);
                }
                Asked::Body { stream, bytes, ends, .. } => {
                    say(&Said::Window { stream: 0, more: bytes }, &mut words);
                    say_message(stream, is_open.insert(stream), &mut words);
                    if ends {
                        end_call(stream, &mut words);
                        is_open.remove(&stream);
                    }
                }
                _ => {}
            });
        }
    })
}

/// Replies to a message of a call.
fn say_message(stream: u32, is_first: bool, words: &mut Vec<u8>) {
    let fields = &[("content-type", "application/grpc")];
    let (ends, form, padding) = (Ends::No, Form::Whole, None);
    if is_first {
        say(&Said::Head { stream, status: Some(200), fields, ends, form }, words);
    }
    say(&Said::Body { stream, body: MESSAGE, ends, padding }, words);
}

/// Every third call fails.
fn end_call(stream: u32, words: &mut Vec<u8>) {
    let form = Form::Whole;
    let fields = &[("grpc-status", if (stream / 2).is_multiple_of(3) { "8" } else { "0" })];
    say(&Said::Head { stream, status: None, fields, ends: Ends::Yes, form }, words);
}

fn call() -> Request {
    Request {
        method: "POST".to_string(),
        headers: vec![("content-type".to_string(), "application/grpc".to_string())],
        body: MESSAGE.repeat(3),
        ..request("/shop.Catalog/Read", 0)
    }
}

/// Sends events to every connection without end.
fn serve_events() -> SocketAddr {
    listen(|mut stream| {
        let mut input = [0; 4096];
        let _ = stream.read(&mut input);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        for seq in 1u64.. {
            let event = format!("data: {{\"seq\":{seq},\"at_ns\":1}}\n\n");
            if stream.write_all(event.as_bytes()).is_err() {
                return;
            }
        }
    })
}

fn request(path: &str, target: u32) -> Request {
    Request {
        method: "GET".to_string(),
        path: path.to_string(),
        host: "test".to_string(),
        target,
        ..Request::default()
    }
}

/// One request, and a mix of two whose responses go through every kind of check.
fn tapes(depth: u32) -> [Tape; 2] {
    let mix = [request("/", 0), request("/other", 1), request("/", 0)];
    let all = Checks {
        status: "2xx".parse().ok(),
        length: "2..16".parse().ok(),
        body: "hi".parse().ok(),
        sha256: "00".repeat(32).parse().ok(),
        ..Checks::default()
    };
    let checks = [Checks { sha256: None, ..all.clone() }, all];
    let plain = Tape::new(&[request("/", 0)], depth).unwrap();
    [plain, Tape::new(&mix, depth).unwrap().with_checks(&checks)]
}

/// A check of the fields of a reply that [`serve_streams`] sends.
fn of_fields() -> Checks {
    let field = Field { path: vec![1], value: FieldValue::Varint(1), is_default: false };
    Checks { fields: vec![field], ..Checks::default() }
}

/// Runs load; returns how many requests completed and how often memory was allocated.
fn measure(
    driver: DriverKind,
    address: SocketAddr,
    level: &Level,
    (tape, http): (Tape, HttpVersion),
    tls: Option<Arc<Recipe>>,
) -> (u64, u64) {
    let depth = level.depth;
    let job = Job {
        http,
        driver,
        routes: vec![Route::to(address)],
        connections_max: level.connections_max(),
        depth_max: depth,
        timeout_ns: 5_000_000_000,
        connect_timeout_ns: 5_000_000_000,
        tls,
        ..Job::for_tests(tape)
    };
    let mut crew = Crew::start(&job).unwrap();
    run(&mut crew, driver, level)
}

/// Receives events; returns how many arrived and how often memory was allocated.
fn measure_events(driver: DriverKind, address: SocketAddr) -> (u64, u64) {
    let level = Level {
        connections: 4,
        spare: 0,
        depth: 1,
        arrival: Arrival::Closed,
        life: Life::default(),
    };
    let [tape, _] = tapes(1);
    let job = Job {
        driver,
        routes: vec![Route::to(address)],
        connections_max: 4,
        timeout_ns: 5_000_000_000,
        connect_timeout_ns: 5_000_000_000,
        ..Job::for_tests(tape)
    };
    let mut crew = Crew::start_as(&job, Role::Listening { stamps_ns: Some(1 << 60) }).unwrap();
    run(&mut crew, driver, &level)
}

fn text(pieces: &[(&str, Source)]) -> Text {
    let hole = |(before, source): &(&str, Source)| {
        [Piece::Plain((*before).into()), Piece::Hole(*source, Escape::Url)]
    };
    Text(pieces.iter().flat_map(hole).collect())
}

/// Values out of JSON, a header, a cookie and a text; conditions; cookies; random and own numbers.
fn flow() -> Flow {
    let found = |query| Found { query, filters: Vec::new() };
    let capture = |variable, query| Capture { variable, from: found(query), line: 1 };
    let number = Found { query: 1, filters: vec![Filter::Regex("t-([0-9]+)".into())] };
    let name = |text: &str| Key::Name(text.into());
    let exists = |query| Assert {
        of: found(query),
        is_not: false,
        test: Test::Exists,
        text: String::new(),
        line: 1,
    };
    let first = Step {
        queries: vec![
            Query::Json(vec![name("token"), Key::Nth(1)]),
            Query::Header("X-Trace".into()),
            Query::Cookie("sid".into()),
        ],
        captures: vec![
            capture(0, 0),
            Capture { variable: 1, from: number, line: 1 },
            capture(2, 2),
        ],
        ..Step::new("GET", text(&[("/a?u=", Source::User), ("&id=", Source::Uuid)]))
    };
    let second = Step {
        body: text(&[("{\"token\": \"", Source::Variable(0))]),
        headers: vec![("X-Trace".into(), text(&[("", Source::Variable(1))]))],
        queries: vec![Query::Json(vec![name("token"), Key::All]), Query::Bytes],
        asserts: vec![exists(0), exists(1)],
        sets: vec![(3, text(&[("n", Source::Seq)]))],
        repeat: 3,
        delay_ns: 50_000,
        ..Step::new("POST", text(&[("/b?s=", Source::Variable(2)), ("&n=", Source::Variable(3))]))
    };
    let variable = |name: &str| Variable { name: name.into(), is_secret: false };
    Flow {
        name: "all".into(),
        steps: vec![first, second],
        variables: ["token", "trace", "sid", "n"].map(variable).into(),
        base: "http://test".into(),
    }
}

/// Runs users; returns how many of their requests completed and how often memory was allocated.
fn measure_users(driver: DriverKind, address: SocketAddr) -> (u64, u64) {
    let program = Arc::new(Program::new(flow(), "2026-11-30T00:00:00Z".into()).unwrap());
    let job = Job {
        driver,
        routes: vec![Route::to(address)],
        connections_max: USERS,
        timeout_ns: 5_000_000_000,
        connect_timeout_ns: 5_000_000_000,
        program: Some(Arc::clone(&program)),
        ..Job::for_tests(program.tape().unwrap())
    };
    let level = Level {
        connections: USERS,
        spare: 0,
        depth: 1,
        arrival: Arrival::Closed,
        life: Life::default(),
    };
    let mut crew = Crew::start(&job).unwrap();
    run(&mut crew, driver, &level)
}

/// Longer than a period, however slow the machine.
const WINDOW_NS: u64 = 60_000_000_000;

/// Completed requests or events of a period, and the allocations in it.
fn run(crew: &mut Crew, driver: DriverKind, level: &Level) -> (u64, u64) {
    crew.order_connect(1, level);
    crew.order(&Order::Warm);
    let listen = |crew: &mut Crew, rounds: u32| {
        let mut completed = 0;
        for _ in 0..rounds {
            thread::sleep(Duration::from_millis(20));
            crew.drain(|tick| {
                completed += tick.measured.completed;
                assert_eq!(tick.users.failed.iter().sum::<u64>(), 0, "{:?}", tick.users);
            });
        }
        completed
    };
    listen(crew, 10);
    let begin_ns = clock::now_ns();
    crew.order_measure(begin_ns, begin_ns + WINDOW_NS, None, 0);
    listen(crew, 15);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let mut completed = listen(crew, 25);
    // Other load on the machine may leave none for this one for a while.
    while completed <= 100 {
        assert!(clock::now_ns() < begin_ns + WINDOW_NS, "{driver:?}, {level:?}: {completed}");
        completed += listen(crew, 5);
    }
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
    (completed, allocations)
}

fn assert_no_allocation(
    driver: DriverKind,
    address: SocketAddr,
    level: &Level,
    tape: (Tape, HttpVersion),
) {
    let what = (tape.1, tape.0.expect(0));
    let (completed, allocations) = measure(driver, address, level, tape, None);
    assert_eq!(allocations, 0, "{driver:?}, {what:?}, {level:?}, {completed} requests");
}

/// rustls allocates for each record that it writes and for each that it reads.
fn assert_few_allocations(driver: DriverKind, address: SocketAddr, recipe: &Arc<Recipe>) {
    let level = Level {
        connections: 8,
        spare: 0,
        depth: 1,
        arrival: Arrival::Closed,
        life: Life::default(),
    };
    let [plain, _] = tapes(level.depth);
    let (completed, allocations) =
        measure(driver, address, &level, (plain, HttpVersion::One), Some(Arc::clone(recipe)));
    let each = allocations as f64 / completed as f64;
    println!("{driver:?} with TLS: {each:.3} per request of {completed}");
    assert!(each < 3.5, "{driver:?} with TLS: {each} per request of {completed}");
}

fn tls() -> (Arc<ServerConfig>, Arc<Recipe>) {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["test".to_string()]).unwrap();
    let key = signing_key.serialize_der().try_into().unwrap();
    let server = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let recipe = Recipe::new(&Settings {
        server_name: "test",
        alpn: &[Http1::ALPN],
        roots: Some(vec![cert.der().to_vec()]),
        identity: None,
        versions: (TlsVersion::V12, TlsVersion::V13),
        resumption: Resumption::On,
    });
    (Arc::new(server), Arc::new(recipe.unwrap()))
}

/// One test, because the count covers the whole process.
#[test]
fn no_driver_allocates_after_warm_up() {
    let address = serve(None);
    let (server, recipe) = tls();
    let secured = serve(Some(server));
    let of_streams = serve_streams();
    let (curve, arrivals) = (Curve::constant(3_000.0), Spacing::Poisson);
    for (depth, arrival) in
        [(1, Arrival::Closed), (16, Arrival::Closed), (2, Arrival::Open { curve, arrivals })]
    {
        let level = Level { connections: 8, spare: 0, depth, arrival, life: Life::default() };
        let mut drivers = vec![DriverKind::Null, DriverKind::Epoll];
        drivers.extend(engine::driver::uring::check().is_ok().then_some(DriverKind::Uring));
        for driver in drivers {
            for tape in tapes(depth) {
                assert_no_allocation(driver, address, &level, (tape, HttpVersion::One));
            }
            if driver != DriverKind::Null {
                let tape = Tape::http2(&[request("/", 0)], Scheme::Http).unwrap();
                let both = (tape, HttpVersion::Two);
                assert_no_allocation(driver, of_streams, &level, both);
                for (replies, checks) in [
                    (Replies::One, Checks::default()),
                    (Replies::One, of_fields()),
                    (Replies::Stream, of_fields()),
                    (Replies::Each, of_fields()),
                ] {
                    let call = Request { replies, ..call() };
                    let tape = Tape::http2(&[call], Scheme::Http).unwrap();
                    let tape = tape.with_checks(&[checks]);
                    assert_no_allocation(driver, of_streams, &level, (tape, HttpVersion::Two));
                }
            }
        }
    }
    let streams = serve_events();
    let of_users = serve_users();
    let mut drivers = vec![DriverKind::Epoll];
    drivers.extend(engine::driver::uring::check().is_ok().then_some(DriverKind::Uring));
    for driver in drivers {
        assert_few_allocations(driver, secured, &recipe);
        let (events, allocations) = measure_events(driver, streams);
        assert_eq!(allocations, 0, "{driver:?}, {events} events");
        let (requests, allocations) = measure_users(driver, of_users);
        assert_eq!(allocations, 0, "{driver:?}, {requests} requests of users");
    }
}
