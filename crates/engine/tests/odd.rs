//! Servers that send what no request asked for, or respond before they have read the request, on
//! every driver with real sockets: each has its count and its name, at any depth.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests may wait")]

use engine::Crew;
use engine::job::{Job, Order};
use model::fault::{Fault, Faults};
use model::load::{Arrival, DriverKind, Level, Life, Request};
use model::route::Route;
use model::sample::Caught;
use model::tick::{Connections, Counters, ErrorClass};
use std::fmt;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use wire::tape::Tape;

const CONNECTIONS: u32 = 4;
/// Body of an upload, bytes: more than the kernel's buffers of both ends take together.
const UPLOAD_BYTES: usize = 24 * 1024 * 1024;

/// Serves each connection in a thread of its own.
fn serve(respond: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let respond = respond.clone();
            thread::spawn(move || respond(stream));
        }
    });
    address
}

/// Reads to the end of a head; what came behind it, or `None` at the end of the connection.
fn read_head(stream: &mut TcpStream, seen: &mut Vec<u8>) -> Option<()> {
    let mut input = [0; 4096];
    loop {
        if let Some(end) = seen.windows(4).position(|four| four == b"\r\n\r\n") {
            seen.drain(..end + 4);
            return Some(());
        }
        match stream.read(&mut input) {
            Ok(length @ 1..) => seen.extend_from_slice(&input[..length]),
            _ => return None,
        }
    }
}

/// A server that responds to each head with the same bytes.
fn canned(response: String) -> SocketAddr {
    serve(move |mut stream: TcpStream| {
        let mut seen = Vec::new();
        while read_head(&mut stream, &mut seen).is_some() {
            if stream.write_all(response.as_bytes()).is_err() {
                return;
            }
        }
    })
}

/// What became of the requests and connections of a run.
#[derive(Default)]
struct Came {
    counters: Counters,
    connections: Connections,
    faults: Faults,
    caught: Vec<Caught>,
}

impl fmt::Debug for Came {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, {:?}, {:?}", self.counters, self.connections, self.faults)
    }
}

impl Came {
    /// The first sample of a fault.
    fn sample(&self, fault: Fault) -> (&Caught, String) {
        let first = self.caught.iter().find(|caught| caught.fault == Some(fault)).unwrap();
        (first, String::from_utf8_lossy(first.bytes()).into_owned())
    }
}

/// Sends `budget` requests.
fn run(driver: DriverKind, depth: u32, to: SocketAddr, request: Request, budget: u64) -> Came {
    let request = Request { path: "/".to_string(), host: "test".to_string(), ..request };
    let job = Job {
        driver,
        routes: vec![Route::to(to)],
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
        budget: Some(budget),
        drain_ns: 20_000_000_000,
        skip_until_ns: 0,
    });
    let begin = Instant::now();
    let (mut came, mut is_over) = (Came::default(), false);
    while !is_over && begin.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(5));
        crew.drain(|tick| {
            came.counters += &tick.measured;
            came.faults += &tick.faults;
            came.caught.extend_from_slice(&tick.caught);
            came.connections = tick.connections;
            is_over |= tick.last;
        });
    }
    assert!(is_over, "{driver:?}, depth {depth}: {came:?}");
    let Counters { completed, failed, .. } = came.counters;
    assert_eq!(completed + failed, budget, "{driver:?}, depth {depth}");
    came
}

fn method(method: &str) -> Request {
    Request { method: method.to_string(), ..Request::default() }
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

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[test]
fn an_empty_line_after_a_response_changes_nothing_at_any_depth() {
    for driver in drivers() {
        for depth in [1, 2] {
            let came = run(driver, depth, canned(format!("{OK}\r\n")), method("GET"), 400);
            let what = format!("{driver:?}, depth {depth}: {came:?}");
            assert_eq!((came.counters.completed, came.counters.failed), (400, 0), "{what}");
            assert_eq!((came.connections.reopened, came.connections.unsolicited), (0, 0), "{what}");
        }
    }
}

/// Bytes that come while nothing or the next request is in flight (depth 1), or in the place of the
/// next response (a pipeline), have one name.
#[test]
fn bytes_that_no_request_asked_for_have_the_same_name_at_any_depth() {
    let head = "Content-Length: 5\r\n\r\n";
    let cases = [
        ("GET", format!("{OK}oops"), Fault::LongBody, "oops"),
        ("GET", format!("{OK}Ha"), Fault::LongBody, "Ha"),
        ("GET", format!("{OK}{OK}"), Fault::ExtraResponse, "HTTP/1.1 200 OK"),
        ("GET", format!("HTTP/1.1 204 No Content\r\n{head}hello"), Fault::NoContentBody, "hello"),
        ("GET", format!("HTTP/1.1 304 Same\r\n{head}hello"), Fault::NoContentBody, "hello"),
        ("HEAD", format!("HTTP/1.1 200 OK\r\n{head}hello"), Fault::HeadBody, "hello"),
        ("GET", format!("HTTP/1.1 103 Hints\r\n{head}hello\n{OK}"), Fault::InterimBody, "hello"),
    ];
    for driver in drivers() {
        for depth in [1, 16] {
            for (name, response, fault, line) in &cases {
                let came = run(driver, depth, canned(response.clone()), method(name), 128);
                let what = format!("{driver:?}, depth {depth}, {fault:?}: {came:?}");
                let unsolicited = came.connections.unsolicited;
                assert!(unsolicited > 0, "{what}");
                assert_eq!(came.faults.get(*fault), unsolicited, "{what}");
                assert_eq!(came.faults.counted().len(), 1, "{what}");
                assert_eq!(came.counters.errors.get(ErrorClass::Parse), 0, "{what}");
                let lost = came.counters.errors.get(ErrorClass::Unsolicited);
                assert_eq!(lost, came.counters.failed, "{what}");
                let (_, shown) = came.sample(*fault);
                assert!(shown.starts_with(line), "{what}: {shown}");
            }
        }
    }
}

#[test]
fn each_fault_of_a_response_is_told_apart_with_its_line() {
    let cases = [
        ("SSH-2.0-OpenSSH\r\n", Fault::NotHttp, "SSH-2.0-OpenSSH"),
        ("HTTP/1.1 2x0 OK\r\n\r\n", Fault::BadStatus, "HTTP/1.1 2x0 OK"),
        ("HTTP/1.1 200 OK\r\nA: b\r\nX Y\r\n\r\n", Fault::BadHeader, "X Y"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: b\r\nContent-Length: 3\r\n\r\n",
            Fault::BadLength,
            "Content-Length: 2\r\nContent-Length: 3",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nz\r\n",
            Fault::BadChunk,
            "z",
        ),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", Fault::Switched, ""),
    ];
    let fields = format!("A: {}\r\n", "v".repeat(4_000)).repeat(20);
    let long = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 2\r\n\r\nok");
    let cases = cases.into_iter().chain([(long.as_str(), Fault::HeadTooLong, "")]);
    for (response, fault, line) in cases {
        let came = run(DriverKind::Epoll, 1, canned(response.to_string()), method("GET"), 8);
        assert_eq!(came.faults.get(fault), 8, "{fault:?}: {came:?}");
        assert_eq!(came.counters.errors.get(ErrorClass::Parse), 8, "{fault:?}");
        let (_, shown) = came.sample(fault);
        assert_eq!(shown, line, "{fault:?}");
    }
}

#[test]
fn a_response_that_is_cut_off_says_how_much_had_come() {
    let address = serve(|mut stream: TcpStream| {
        let _ = read_head(&mut stream, &mut Vec::new());
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\nhello, world\n");
    });
    for driver in drivers() {
        let came = run(driver, 1, address, method("GET"), 8);
        assert_eq!(came.faults.get(Fault::Truncated), 8, "{came:?}");
        let (first, _) = came.sample(Fault::Truncated);
        let seen = (first.status, first.total_bytes, first.body_bytes);
        assert_eq!(seen, (200, 13, Some(15)), "{driver:?}");
    }
}

/// When a server of uploads responds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// From the head alone; then it closes the connection.
    Nothing,
    /// From the head alone; then it reads the body.
    Later,
    /// After the body.
    First,
}

/// A server of uploads, and how many bytes of bodies it has read.
fn uploads(status: &'static str, reads: Reads) -> (SocketAddr, Arc<AtomicU64>) {
    let read = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&read);
    let address = serve(move |mut stream: TcpStream| {
        let (mut seen, mut input) = (Vec::new(), vec![0; 256 * 1024]);
        let response = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok");
        while read_head(&mut stream, &mut seen).is_some() {
            if reads != Reads::First && stream.write_all(response.as_bytes()).is_err() {
                return;
            }
            counter.fetch_add(seen.len() as u64, Ordering::Relaxed);
            let mut left = UPLOAD_BYTES - std::mem::take(&mut seen).len();
            while left > 0 && reads != Reads::Nothing {
                let most = left.min(input.len());
                let Ok(length @ 1..) = stream.read(&mut input[..most]) else { return };
                counter.fetch_add(length as u64, Ordering::Relaxed);
                left -= length;
            }
            let answers_now = reads == Reads::First;
            if reads == Reads::Nothing
                || answers_now && stream.write_all(response.as_bytes()).is_err()
            {
                return;
            }
        }
    });
    (address, read)
}

#[test]
fn responses_that_come_before_their_request_is_out_are_counted_and_so_is_what_was_never_sent() {
    const UPLOADS: u64 = 8;
    let good = "200 OK";
    let cases = [
        (good, Reads::Nothing, (8, 0), (8, 8)),
        ("302 Found", Reads::Nothing, (8, 0), (8, 8)),
        ("413 Content Too Large", Reads::Nothing, (0, 8), (8, 0)),
        (good, Reads::Later, (8, 0), (8, 0)),
        ("407 Proxy Authentication Required", Reads::Later, (0, 8), (8, 0)),
        (good, Reads::First, (8, 0), (0, 0)),
    ];
    for driver in drivers() {
        for (status, reads, fates, odd) in cases {
            let (address, read) = uploads(status, reads);
            let request = Request { body: vec![b'x'; UPLOAD_BYTES], ..method("POST") };
            let came = run(driver, 1, address, request, UPLOADS);
            let Counters { completed, failed, early, cut_good, bytes_sent, .. } = came.counters;
            let what = format!("{driver:?}, {status}, {reads:?}: {:?}", came.counters);
            assert_eq!((completed, failed), fates, "{what}");
            // Where the server reads on, the kernel may take the rest of some before their response
            // is seen.
            let fewest = if reads == Reads::Later { 1 } else { odd.0 };
            assert!((fewest..=odd.0).contains(&early), "{what}");
            assert_eq!(cut_good, odd.1, "{what}");
            let (taken, read) = (came.counters.bytes_taken(), read.load(Ordering::Relaxed));
            match reads {
                Reads::Nothing => assert!(read <= taken && taken < bytes_sent, "{what}"),
                Reads::Later | Reads::First => {
                    assert!(taken == bytes_sent && taken >= read, "{what}, read {read}");
                }
            }
        }
    }
}
