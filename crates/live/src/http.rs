//! A small HTTP server for pages and events: GET only, one request per connection, on low-priority
//! threads. It never reads the state of the generator, and nothing waits for it.

mod request;
mod respond;
mod stream;

use crate::feed::Feed;
use model::host_header::{HOST_NAME, Hosts};
use request::{Refused, Request};
pub use respond::Served;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Most connections at once; more are refused.
const CONNECTIONS_MAX: usize = 64;
/// How long a response may take, unless it is a stream of events.
const RESPONSE_LIMIT: Duration = Duration::from_secs(10);
/// How often a wait for the last readers checks whether they are gone.
const LOOK: Duration = Duration::from_millis(20);

/// The resource at a path.
#[derive(Debug)]
pub enum Answer {
    /// Bytes.
    Bytes(Served),
    /// The events of a run.
    Events(Arc<Feed>),
    /// Another path.
    Moved(String),
    /// Nothing.
    Missing,
}

/// The resources of a server. A path starts with a slash, and has no query and no `..`.
pub trait Pages: Send + Sync {
    /// The resource at a path.
    fn at(&self, path: &str) -> Answer;
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    listener: TcpListener,
    is_over: Arc<AtomicBool>,
    open: Arc<AtomicUsize>,
}

/// The state that all connections share.
struct Shared {
    pages: Arc<dyn Pages>,
    hosts: Hosts,
    taken_cpus: Vec<usize>,
}

impl Server {
    /// Starts to listen. Its threads avoid the CPUs in `taken_cpus` if there are others.
    pub fn start(
        address: SocketAddr,
        pages: Arc<dyn Pages>,
        taken_cpus: &[usize],
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let (is_over, open) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let taken_cpus = taken_cpus.to_vec();
        let name = fs::read_to_string(HOST_NAME).unwrap_or_default();
        let hosts = Hosts::of(address, &name);
        let shared = Arc::new(Shared { pages, hosts, taken_cpus });
        let accepting = listener.try_clone()?;
        let server =
            Self { address, listener, is_over: Arc::clone(&is_over), open: Arc::clone(&open) };
        let body = move || accept(&accepting, &shared, &is_over, &open);
        thread::Builder::new().name("live accept".to_string()).spawn(body)?;
        Ok(server)
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until there has been no connection for `quiet`, at most for `limit`.
    pub fn linger(&self, quiet: Duration, limit: Duration) {
        let begin = Instant::now();
        let mut busy = begin;
        while busy.elapsed() < quiet && begin.elapsed() < limit {
            if self.open.load(Ordering::Relaxed) > 0 || self.is_awaited() {
                busy = Instant::now();
            }
            thread::sleep(LOOK);
        }
    }

    /// Whether a connection waits to be accepted. On a busy host the thread that accepts, which has
    /// a low priority, may be late.
    fn is_awaited(&self) -> bool {
        let ready = poll(
            &mut [PollFd::new(&self.listener, PollFlags::IN)],
            Some(&Timespec { tv_sec: 0, tv_nsec: 0 }),
        );
        ready.is_ok_and(|ready| ready > 0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // A connection wakes the thread that accepts.
        let here = match self.address.ip() {
            ip if !ip.is_unspecified() => ip,
            ip if ip.is_ipv4() => Ipv4Addr::LOCALHOST.into(),
            _ => Ipv6Addr::LOCALHOST.into(),
        };
        let _ = TcpStream::connect_timeout(&(here, self.address.port()).into(), LOOK);
    }
}

fn accept(
    listener: &TcpListener,
    shared: &Arc<Shared>,
    is_over: &AtomicBool,
    open: &Arc<AtomicUsize>,
) {
    host::background::stand_back(&shared.taken_cpus);
    for stream in listener.incoming() {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else {
            // For example too many open files: wait before the next attempt.
            thread::sleep(LOOK);
            continue;
        };
        if open.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
            respond::refuse(stream, &Refused::Busy);
            continue;
        }
        let counted = Counted::new(Arc::clone(open));
        let shared = Arc::clone(shared);
        let body = move || {
            host::background::stand_back(&shared.taken_cpus);
            serve(stream, &shared);
            drop(counted);
        };
        // If no thread can be started, the connection is closed, and the browser retries.
        let _ = thread::Builder::new().name("live watcher".to_string()).spawn(body);
    }
}

/// One open connection.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(open: Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self(open)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) {
    let request = match Request::read(&mut stream) {
        Ok(request) => request,
        Err(refused) => return respond::refuse(stream, &refused),
    };
    if !shared.hosts.are(&request.host) {
        return respond::refuse(stream, &Refused::Host);
    }
    match shared.pages.at(&request.path) {
        Answer::Bytes(served) => respond::bytes(stream, &served, RESPONSE_LIMIT),
        Answer::Events(feed) => stream::events(stream, &feed, request.last_event.as_deref()),
        Answer::Moved(to) => respond::moved(stream, &to),
        Answer::Missing => respond::refuse(stream, &Refused::Missing),
    }
}
