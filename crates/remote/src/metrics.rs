//! The latest counters as text for Prometheus, over plain HTTP, without a token.
//!
//! So the address should be one that only this host reaches. The text is that of the exposition
//! format 0.0.4.

mod http;
mod text;

use crate::listening::{accept, find};
use model::facts::ServerFacts;
use model::reading::Reading;
use probe::{Config, Ends, KnownProcess, Sampler, monotonic_ns};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often counters are read, nanoseconds: as often as Prometheus scrapes at most.
const PERIOD_NS: u64 = 1_000_000_000;
/// Values older than this are left out: their source is gone.
const OLD_NS: u64 = 5_000_000_000;
/// How often the exporter looks for the server.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// How often the stop flag is checked, and readings are taken.
const TURN: Duration = Duration::from_millis(100);

/// The latest reading of each source, by its name and whether it is of the server's own network
/// namespace.
type Latest = BTreeMap<(String, bool), Reading>;

/// Serves Prometheus.
#[derive(Debug)]
pub struct Exporter {
    listener: TcpListener,
    server_pid: Option<u32>,
    port: Option<u16>,
}

impl Exporter {
    /// On a listening socket, about this host and the server when it is known.
    pub fn new(listener: TcpListener, server_pid: Option<u32>, port: Option<u16>) -> Self {
        Self { listener, server_pid, port }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        let unknown = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        self.listener.local_addr().unwrap_or(unknown)
    }

    /// Reads and serves until `stop` is set. One scrape at a time: each has a deadline.
    pub fn run(&self, stop: &AtomicBool) {
        let mut sampler: Option<Sampler> = None;
        let mut watched: Option<KnownProcess> = None;
        let mut looked: Option<Instant> = None;
        let (clock_tick_ns, declared) = (probe::clock_tick_ns(), probe::source::declared());
        let mut latest = Latest::new();
        while !stop.load(Ordering::Relaxed) {
            if looked.is_none_or(|looked| looked.elapsed() > LOOK_AGAIN) {
                looked = Some(Instant::now());
                // Finding a server reads every process, so not while the server runs.
                if sampler.is_none() || !watched.as_ref().is_some_and(KnownProcess::runs) {
                    let found = self.server().and_then(KnownProcess::of);
                    // A server that is started again is another process.
                    if sampler.is_none() || found != watched {
                        watched = found;
                        sampler = Some(self.sampler(watched.as_ref().map(KnownProcess::pid)));
                    }
                }
            }
            let read = sampler.iter().flat_map(Sampler::take);
            read.for_each(|reading| keep(&mut latest, reading));
            if let Ok(Some((socket, _))) = accept(&self.listener, TURN) {
                let now_ns = monotonic_ns();
                latest.retain(|_, reading| reading.end_ns + OLD_NS > now_ns);
                // A client that closed early is not an error of ours.
                let _ = http::respond(&socket, || text::text(&declared, &latest, clock_tick_ns));
            }
        }
    }
}

impl Exporter {
    fn server(&self) -> Option<u32> {
        self.server_pid.or_else(|| find(None, self.port?).ok())
    }

    fn sampler(&self, server_pid: Option<u32>) -> Sampler {
        let facts = server_pid.and_then(|pid| probe::server_facts(pid, self.port, "metrics").ok());
        Sampler::start(Config {
            period_ns: PERIOD_NS,
            server_pid,
            port: self.port,
            inner_port: facts.as_ref().and_then(ServerFacts::inner_port),
            ends: Ends::Server,
            ..Config::default()
        })
    }
}

fn keep(latest: &mut Latest, reading: Reading) {
    let (data, is_inside) = reading.data.opened();
    latest.insert((data.source().to_string(), is_inside), reading);
}
