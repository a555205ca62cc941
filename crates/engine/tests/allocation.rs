//! After warm-up the data plane does not allocate while it measures, on any live driver.

use engine::job::{Job, Order};
use engine::{Crew, clock};
use model::check::Checks;
use model::curve::Curve;
use model::load::{Arrival, DriverKind, Level, Life, Request, Spacing};
use model::route::Route;
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use wire::tape::Tape;

/// Counts every allocation of the process.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on unchanged to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of this very method.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nDate: now\r\nContent-Length: 2\r\n\r\nhi";

/// Answers every request on every connection, and does not allocate while it does.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer_all(stream));
        }
    });
    address
}

fn answer_all(mut stream: TcpStream) {
    let mut input = [0; 4096];
    let answers = ANSWER.repeat(64);
    while let Ok(length @ 1..) = stream.read(&mut input) {
        let requests = input[..length].windows(4).filter(|four| *four == b"\r\n\r\n").count();
        if stream.write_all(&answers[..requests * ANSWER.len()]).is_err() {
            return;
        }
    }
}

/// One request, and a mix of two whose answers are held against every kind of check.
fn tapes(depth: u32) -> [Tape; 2] {
    let request = |path: &str, target: u32| Request {
        method: "GET".to_string(),
        path: path.to_string(),
        host: "test".to_string(),
        target,
        ..Request::default()
    };
    let mix = [request("/", 0), request("/other", 1), request("/", 0)];
    let all = Checks {
        status: "2xx".parse().ok(),
        length: "2..16".parse().ok(),
        body: "hi".parse().ok(),
        sha256: "00".repeat(32).parse().ok(),
    };
    let checks = [Checks { sha256: None, ..all.clone() }, all];
    let plain = Tape::new(&[request("/", 0)], depth).unwrap();
    [plain, Tape::new(&mix, depth).unwrap().with_checks(&checks)]
}

fn assert_no_allocation(driver: DriverKind, address: SocketAddr, level: &Level, tape: Tape) {
    let depth = level.depth;
    let job = Job {
        driver,
        routes: vec![Route::to(address)],
        tape: Arc::new(tape),
        threads: 1,
        cpus: vec![],
        connections_max: level.connections_max,
        depth_max: depth,
        timeout_ns: 5_000_000_000,
        connect_timeout_ns: 5_000_000_000,
        coalesce_ns: 0,
        seed: 1,
    };
    let mut crew = Crew::start(&job).unwrap();
    crew.order_connect(1, level);
    crew.order(|_| Order::Warm);
    let listen = |crew: &mut Crew, rounds: u32| {
        let mut completed = 0;
        for _ in 0..rounds {
            thread::sleep(Duration::from_millis(20));
            crew.drain(|tick| completed += tick.measured.completed);
        }
        completed
    };
    listen(&mut crew, 10);
    let begin_ns = clock::now_ns();
    crew.order_measure(begin_ns, begin_ns + 60_000_000_000, None, 0);
    listen(&mut crew, 15);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let completed = listen(&mut crew, 25);
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
    assert!(completed > 100, "{driver:?}, {level:?}: load must run: {completed}");
    assert_eq!(allocations, 0, "{driver:?}, {level:?}, {completed} requests");
}

/// One test, because the count is of the whole process.
#[test]
fn no_driver_allocates_after_warm_up() {
    let address = serve();
    let (curve, arrivals) = (Curve::constant(3_000.0), Spacing::Poisson);
    for (depth, arrival) in
        [(1, Arrival::Closed), (16, Arrival::Closed), (2, Arrival::Open { curve, arrivals })]
    {
        let level =
            Level { connections: 8, connections_max: 8, depth, arrival, life: Life::default() };
        let mut drivers = vec![DriverKind::Null, DriverKind::Epoll];
        drivers.extend(engine::driver::uring::check().is_ok().then_some(DriverKind::Uring));
        for driver in drivers {
            for tape in tapes(depth) {
                assert_no_allocation(driver, address, &level, tape);
            }
        }
    }
}
