//! The latest counters as text for Prometheus, over plain HTTP, without a token.
//!
//! So the address should be one that only this host reaches. The text is that of the exposition
//! format 0.0.4.

mod http;
mod text;
mod totals;

use crate::listening::{Named, accept, find};
use model::facts::ServerFacts;
use model::host_header::{HOST_NAME, Hosts};
use model::reading::Reading;
use probe::{Config, Ends, KnownProcess, Sampler, monotonic_ns};
use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use totals::Totals;

/// How often counters are read, nanoseconds: as often as Prometheus scrapes at most.
const PERIOD_NS: u64 = 1_000_000_000;
/// Values older than this are left out, if they are also older than twice the time between the last
/// two reads of their source: it is gone.
const OLD_NS: u64 = 5_000_000_000;
/// The longest time between two reads that counts. It grows with the cost of a read, as on a host
/// with many CPUs or threads.
const SLOWEST_NS: u64 = 60_000_000_000;
/// How often the exporter looks for the server.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// How often the stop flag is checked, and readings are taken.
const TURN: Duration = Duration::from_millis(100);

/// The latest reading of each source, by its name and whether it is of the server's own network
/// namespace.
#[derive(Default)]
struct Latest(BTreeMap<(String, bool), Last>);

/// The latest reading of a source.
struct Last {
    reading: Reading,
    /// Time since the reading before, nanoseconds; 0 when there was none.
    since_ns: u64,
}

impl Latest {
    fn keep(&mut self, reading: Reading) {
        let (data, is_inside) = reading.data.opened();
        let key = (data.source().to_string(), is_inside);
        let before = self.0.get(&key).map(|last| last.reading.begin_ns);
        let since_ns = before.map_or(0, |before_ns| reading.begin_ns.saturating_sub(before_ns));
        self.0.insert(key, Last { reading, since_ns });
    }

    /// That of a source, unless the source is gone.
    fn of(&self, source: &str, is_inside: bool, now_ns: u64) -> Option<&Reading> {
        let last = self.0.get(&(source.to_string(), is_inside))?;
        let old_ns = last.since_ns.min(SLOWEST_NS).saturating_mul(2).max(OLD_NS);
        (last.reading.end_ns.saturating_add(old_ns) > now_ns).then_some(&last.reading)
    }
}

/// Serves Prometheus.
#[derive(Debug)]
pub struct Exporter {
    listener: TcpListener,
    named: Option<Named>,
    port: Option<u16>,
}

impl Exporter {
    /// On a listening socket, about this host and the server when it is known.
    pub fn new(listener: TcpListener, named: Option<Named>, port: Option<u16>) -> Self {
        Self { listener, named, port }
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
        let name = fs::read_to_string(HOST_NAME).unwrap_or_default();
        let hosts = Hosts::of(self.address(), &name);
        let (clock_tick_ns, declared) = (probe::clock_tick_ns(), probe::source::declared());
        let (mut latest, mut totals) = (Latest::default(), Totals::default());
        while !stop.load(Ordering::Relaxed) {
            if looked.is_none_or(|looked| looked.elapsed() > LOOK_AGAIN) {
                looked = Some(Instant::now());
                // Finding a server reads every process, so not while the server runs.
                if sampler.is_none() || !watched.as_ref().is_some_and(KnownProcess::runs) {
                    let found = self.server().and_then(KnownProcess::of);
                    // A server that is started again is another process.
                    if sampler.is_none() || found != watched {
                        (watched, latest) = (found, Latest::default());
                        sampler = Some(self.sampler(watched.as_ref().map(KnownProcess::pid)));
                    }
                }
            }
            let read = sampler.iter().flat_map(Sampler::take);
            read.for_each(|reading| latest.keep(reading));
            if let Ok(Some((socket, _))) = accept(&self.listener, TURN) {
                let (now_ns, totals) = (monotonic_ns(), &mut totals);
                let text = || text::text(&declared, &latest, now_ns, clock_tick_ns, totals);
                // A client that closed early is not an error of ours.
                let _ = http::respond(&socket, &hosts, text);
            }
        }
    }
}

impl Exporter {
    fn server(&self) -> Option<u32> {
        match &self.named {
            Some(named) => named.pid().ok(),
            None => find(None, self.port?).ok(),
        }
    }

    fn sampler(&self, server_pid: Option<u32>) -> Sampler {
        let facts = server_pid.and_then(|pid| probe::server_facts(pid, self.port, "metrics").ok());
        Sampler::start(Config {
            period_ns: PERIOD_NS,
            // No verdict is made of these readings, so no window needs them.
            window_ns: u64::MAX,
            server_pid,
            port: self.port,
            inner_port: facts.as_ref().and_then(ServerFacts::inner_port),
            ends: Ends::Server,
            ..Config::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::reading::Data;

    #[test]
    fn a_source_that_is_read_seldom_stays_and_one_that_is_gone_does_not() {
        const SECOND: u64 = 1_000_000_000;
        let mut latest = Latest::default();
        let mut read = |at_s: u64| {
            let data = Data::values("softirqs", [("NET_RX".to_string(), 1u64)]);
            latest.keep(Reading { begin_ns: at_s * SECOND, end_ns: at_s * SECOND, data });
            let is_gone = |now_s: &u64| latest.of("softirqs", false, now_s * SECOND).is_none();
            (at_s..).find(is_gone).map(|until_s| until_s - at_s)
        };
        assert_eq!(read(1), Some(5));
        assert_eq!(read(2), Some(5));
        // A read costs 10 ms of CPU time, so there is one each 8 s.
        assert_eq!((read(10), read(18)), (Some(16), Some(16)));
        assert_eq!(read(600), Some(120), "it was gone meanwhile");
        assert_eq!(read(601), Some(5));
    }
}
