//! The steps of a request before its response.

use crate::http::Framing;
use crate::http::response_length;
use crate::limiter::Limiter;
use crate::options::{Body, Work};
use rustix::time::{ClockId, clock_gettime};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What all threads share.
#[derive(Debug)]
pub struct Service {
    work: Work,
    limiter: Option<Limiter>,
    lock: Mutex<()>,
    spin_lock: AtomicBool,
    journal: Option<File>,
    framing: Framing,
    body: Vec<u8>,
    served: AtomicU64,
    connections: AtomicU64,
}

/// What one thread keeps between requests: its connection to the downstream server.
#[derive(Debug, Default)]
pub struct Hands {
    downstream: Option<TcpStream>,
}

/// A request, as far as its work depends on it.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Path and query.
    pub path: &'a str,
    /// Number of its connection, from 1, in the order of their first requests.
    pub connection: u64,
}

impl Service {
    /// Opens what the work needs.
    pub fn new(work: Work) -> io::Result<Self> {
        let open = |path| OpenOptions::new().append(true).create(true).open(path);
        Ok(Self {
            limiter: work.limit.map(|(rate, overflow)| Limiter::new(rate, overflow)),
            lock: Mutex::new(()),
            spin_lock: AtomicBool::new(false),
            journal: work.fsync.as_ref().map(open).transpose()?,
            framing: match work.body {
                Body::Whole(_) => Framing::Length,
                Body::Chunks(_) => Framing::Chunked,
            },
            body: match work.body {
                Body::Whole(bytes) => vec![b'.'; bytes],
                Body::Chunks(count) => {
                    [b"1\r\n.\r\n".repeat(count), b"0\r\n\r\n".to_vec()].concat()
                }
            },
            served: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            work,
        })
    }

    /// Responses so far.
    pub fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    /// The number of a connection that has its first request.
    pub fn number_connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Events whose numbers are multiples of this are left out of streams.
    pub fn leave_out(&self) -> Option<u64> {
        self.work.leave_out
    }

    /// Responses after which a connection is closed.
    pub fn requests_per_connection(&self) -> u64 {
        self.work.requests_per_connection
    }

    /// Does the work of one request. Returns status, framing and body.
    pub fn respond(&self, asked: Asked<'_>, hands: &mut Hands) -> (&'static str, Framing, &[u8]) {
        self.served.fetch_add(1, Ordering::Relaxed);
        if let Some(limiter) = &self.limiter {
            match limiter.admit(Instant::now()) {
                None => return ("429 Too Many Requests", Framing::Length, b"slow down"),
                Some(wait) if wait.is_zero() => {}
                Some(wait) => thread::sleep(wait),
            }
        }
        match self.work(asked, hands) {
            Ok(()) => ("200 OK", self.framing, &self.body),
            Err(_) => ("502 Bad Gateway", Framing::Length, b"downstream or disk failed"),
        }
    }

    fn work(&self, asked: Asked<'_>, hands: &mut Hands) -> io::Result<()> {
        let work = &self.work;
        let takes_lock = work.lock_path.as_deref().is_none_or(|only| only == asked.path);
        if !work.lock.is_zero() && takes_lock {
            let _held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            thread::sleep(work.lock);
        }
        let sleeps = work.sleep_connection.is_none_or(|only| only == asked.connection);
        if !work.sleep.is_zero() && sleeps {
            thread::sleep(work.sleep);
        }
        spin(work.spin);
        if !work.spin_lock.is_zero() {
            while self.spin_lock.swap(true, Ordering::Acquire) {
                std::hint::spin_loop();
            }
            spin(work.spin_lock);
            self.spin_lock.store(false, Ordering::Release);
        }
        if work.downstream.is_some() {
            self.ask_downstream(hands)?;
        }
        if let Some(mut journal) = self.journal.as_ref() {
            journal.write_all(b"one request\n")?;
            journal.sync_data()?;
        }
        Ok(())
    }

    fn ask_downstream(&self, hands: &mut Hands) -> io::Result<()> {
        let Some(address) = self.work.downstream else { return Ok(()) };
        // The connection is kept only when the exchange was complete.
        let mut stream = match hands.downstream.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                stream
            }
        };
        stream.write_all(b"GET /downstream HTTP/1.1\r\nHost: downstream\r\n\r\n")?;
        let mut received = Vec::new();
        let mut piece = [0; 4096];
        while response_length(&received).is_none_or(|length| received.len() < length) {
            let count = stream.read(&mut piece)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            received.extend_from_slice(&piece[..count]);
        }
        hands.downstream = Some(stream);
        Ok(())
    }
}

/// Burns CPU time of this thread: time off the CPU does not count.
fn spin(cpu_time: Duration) {
    if cpu_time.is_zero() {
        return;
    }
    let end_ns = thread_cpu_ns() + cpu_time.as_nanos() as i64;
    while thread_cpu_ns() < end_ns {
        std::hint::spin_loop();
    }
}

fn thread_cpu_ns() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
