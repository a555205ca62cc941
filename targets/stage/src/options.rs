//! The command line. Every flag is defined once, here.

use crate::limiter::Overflow;
use crate::quantity::{rate, time};
use clap::{Parser, value_parser};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

const ABOUT: &str = "A server whose wall is chosen on the command line: pools, locks, limiters, \
backlogs, buffers and work per request, on plain threads that can be watched in /proc.";

const AFTER: &str = r#"WHAT A REQUEST GOES THROUGH, IN THIS ORDER
  --limit, --lock, --sleep, --spin, --spin-lock, --downstream, --fsync, the response. Every path
  gets the same response, 200 with --body bytes; only --lock-path differs. A path /events/NAME is a
  stream of events as fast as the socket accepts them, numbered for each connection; it occupies
  its thread, so use it with --thread-per-connection.

LINES ON STANDARD OUTPUT
  {"event":"listening",...} when connections are accepted, {"event":"stopped",...} after SIGTERM
  or SIGINT.

EXAMPLES
  target-stage --workers 8 --sleep 20ms             a pool with a capacity of 400/s
  target-stage --workers 16 --lock 2ms              a lock that admits 500/s
  target-stage --thread-per-connection --sleep 50ms a rate that grows with the connections
  target-stage --listeners 1 --spin 100us           one thread with a capacity of 10000/s

Exit codes: 0 stopped by a signal, 1 could not run, 2 wrong command line."#;

/// The options as given.
#[derive(Debug, Parser)]
#[command(name = "target-stage", version, about = ABOUT, after_help = AFTER, max_term_width = 100)]
pub struct Options {
    /// IP address to listen on
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    addr: IpAddr,

    /// Port to listen on; 0 picks a free one, which the first line of output names
    #[arg(long, value_name = "PORT", default_value_t = 8084)]
    port: u16,

    /// N threads, each with its own listening socket on the shared port and the connections of that
    /// socket
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = value_parser!(u16).range(1..=64), help_heading = "Threads")]
    listeners: u16,

    /// K workers that take readable connections from one queue; until then a request stays unread
    /// in its socket
    #[arg(long, value_name = "K", value_parser = value_parser!(u16).range(1..=1024),
          help_heading = "Threads")]
    workers: Option<u16>,

    /// One thread for each connection, without a limit
    #[arg(long, conflicts_with = "workers", help_heading = "Threads")]
    thread_per_connection: bool,

    /// Sleep in each request
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = time,
          help_heading = "Work")]
    sleep: Duration,

    /// Only requests of the N-th connection sleep: connections without a request do not count
    #[arg(long, value_name = "N", requires = "sleep", value_parser = value_parser!(u64).range(1..),
          help_heading = "Work")]
    sleep_connection: Option<u64>,

    /// Hold the one lock of the process in each request, sleeping inside
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = time,
          help_heading = "Work")]
    lock: Duration,

    /// Only requests of this path take the lock
    #[arg(long, value_name = "PATH", requires = "lock", help_heading = "Work")]
    lock_path: Option<String>,

    /// CPU time to burn in each request
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = time,
          help_heading = "Work")]
    spin: Duration,

    /// CPU time to burn in each request while holding a spin lock
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = time,
          help_heading = "Work")]
    spin_lock: Duration,

    /// Call this server in each request, over one kept connection for each thread
    #[arg(long, value_name = "IP:PORT", help_heading = "Work")]
    downstream: Option<SocketAddr>,

    /// Append to a file in each request and wait until it is on disk
    #[arg(long, value_name = "FILE", help_heading = "Work")]
    fsync: Option<PathBuf>,

    /// Rate of admitted requests, shared by all connections
    #[arg(long, value_name = "N/s", value_parser = rate, help_heading = "Limits")]
    limit: Option<f64>,

    /// How requests above the limit are treated
    #[arg(long, value_enum, default_value = "reject", requires = "limit", help_heading = "Limits")]
    limit_mode: Overflow,

    /// Close each connection after N responses; the last one says so
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..),
          help_heading = "Limits")]
    requests_per_connection: Option<u64>,

    /// Length of each accept queue; the kernel caps it at net.core.somaxconn
    #[arg(long, value_name = "N", default_value_t = 4096,
          value_parser = value_parser!(u16).range(1..), help_heading = "Limits")]
    backlog: u16,

    /// Sleep before each accept
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = time,
          help_heading = "Limits")]
    accept_delay: Duration,

    /// Send buffer of each connection, in place of the kernel's own tuning
    #[arg(long, value_name = "BYTES", value_parser = value_parser!(u32).range(1..1 << 30),
          help_heading = "Responses")]
    sndbuf: Option<u32>,

    /// Bytes in each body
    #[arg(long, value_name = "BYTES", default_value_t = 16,
          value_parser = value_parser!(u32).range(0..=64 << 20), help_heading = "Responses")]
    body: u32,

    /// Send N chunks of one byte instead, which cost the client much more than the server
    #[arg(long, value_name = "N", conflicts_with = "body",
          value_parser = value_parser!(u32).range(1..=1 << 20), help_heading = "Responses")]
    chunks: Option<u32>,

    /// Leave out every event of a stream whose number N divides
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(2..),
          help_heading = "Responses")]
    leave_out: Option<u64>,

    /// Write head and body separately and without TCP_NODELAY, so that the body waits for the
    /// acknowledgement of the head
    #[arg(long, help_heading = "Responses")]
    nagle: bool,
}

/// Who serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crew {
    /// A thread for each listening socket.
    Loops,
    /// This many workers behind one queue.
    Pool(usize),
    /// A thread for each connection.
    Threads,
}

/// How connections are accepted.
#[derive(Debug, Clone)]
pub struct Door {
    /// Where; port 0 is any.
    pub address: SocketAddr,
    /// Sockets that share the port.
    pub listeners: usize,
    /// Length of each accept queue.
    pub backlog: i32,
    /// Sleep before each accept.
    pub accept_delay: Duration,
    /// Send buffer of each connection.
    pub sndbuf_bytes: Option<usize>,
    /// How a response is written.
    pub writing: Writing,
}

/// How a response is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writing {
    /// Whole and at once.
    Whole,
    /// The head, then the body, with Nagle's algorithm.
    Nagle,
}

/// The form of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// This many bytes.
    Whole(usize),
    /// This many chunks of one byte.
    Chunks(usize),
}

/// What a request goes through.
#[derive(Debug, Clone)]
pub struct Work {
    /// See the flags of the same name.
    pub sleep: Duration,
    /// The only connection that sleeps, from 1; without it all do.
    pub sleep_connection: Option<u64>,
    /// Time in the one lock.
    pub lock: Duration,
    /// The only path that takes it; without it all do.
    pub lock_path: Option<String>,
    /// CPU time.
    pub spin: Duration,
    /// CPU time inside the spinning lock.
    pub spin_lock: Duration,
    /// A server to ask.
    pub downstream: Option<SocketAddr>,
    /// A file to append to.
    pub fsync: Option<PathBuf>,
    /// Requests per second, and how requests above that are treated.
    pub limit: Option<(f64, Overflow)>,
    /// Responses of a connection.
    pub requests_per_connection: u64,
    /// Events whose numbers are multiples of this are left out.
    pub leave_out: Option<u64>,
    /// The form of each body.
    pub body: Body,
}

/// What to do.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How connections are accepted.
    pub door: Door,
    /// Who serves.
    pub crew: Crew,
    /// What a request goes through.
    pub work: Work,
}

impl Options {
    /// What to do.
    pub fn plan(self) -> Plan {
        let crew = match (self.workers, self.thread_per_connection) {
            (Some(workers), _) => Crew::Pool(workers.into()),
            (None, true) => Crew::Threads,
            (None, false) => Crew::Loops,
        };
        Plan {
            door: Door {
                address: SocketAddr::new(self.addr, self.port),
                listeners: self.listeners.into(),
                backlog: self.backlog.into(),
                accept_delay: self.accept_delay,
                sndbuf_bytes: self.sndbuf.map(|bytes| bytes as usize),
                writing: if self.nagle { Writing::Nagle } else { Writing::Whole },
            },
            crew,
            work: Work {
                sleep: self.sleep,
                sleep_connection: self.sleep_connection,
                lock: self.lock,
                lock_path: self.lock_path,
                spin: self.spin,
                spin_lock: self.spin_lock,
                downstream: self.downstream,
                fsync: self.fsync,
                limit: self.limit.map(|rate| (rate, self.limit_mode)),
                requests_per_connection: self.requests_per_connection.unwrap_or(u64::MAX),
                leave_out: self.leave_out,
                body: match self.chunks {
                    Some(chunks) => Body::Chunks(chunks as usize),
                    None => Body::Whole(self.body as usize),
                },
            },
        }
    }
}
