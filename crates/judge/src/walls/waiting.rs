//! Where the requests in flight are when nothing is busy: shared by A1 to A4, A6 and A10.
//!
//! They are unread in the server's sockets, held by one of its threads, at another service, or on
//! the way. A wall of the application is named only if its share of them adds up: idle threads of a
//! pool sleep in the same calls as those that hold up the load.

use super::elimination::{FREE, OTHERWISE_MAX, at_cpus};
use super::{Family, Origin, Seen, Test};
use crate::case::{Case, percent};
use crate::waits::{self, UNREAD_MIN, Waits};
use model::reading::Doing;
use model::run::Point;
use model::units::NS_PER_MS;
use observe::DownstreamUse;
use std::collections::{BTreeMap, BTreeSet};

/// Share of requests in flight that must wait unread to be called a queue.
pub(super) const QUEUE_MIN: f64 = 0.10;
/// Share of requests in flight that are on a CPU of either side, above which CPU time matters.
const COMPUTING_MAX: f64 = 0.30;
/// Range of threads and requests accounted for, over requests in flight, that counts as adding up:
/// samples and counts are not taken at the same instant.
pub(super) const ADDS_UP: std::ops::RangeInclusive<f64> = 0.75..=1.30;

/// Requests in flight by place, means over the window.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Waiting {
    /// All of them.
    pub in_flight: f64,
    /// Unread in the server's sockets.
    pub unread: f64,
    /// Between the hosts, as long as connecting takes.
    pub travelling: f64,
    /// The response is written, and still in the server's sockets.
    pub unsent: f64,
    /// Threads of the server that hold requests, by what they do.
    pub threads: BTreeMap<Doing, f64>,
    /// Threads that sleep on one futex that several of them use.
    pub on_one_futex: f64,
    /// Threads that sleep on a futex with a time-out that is about as long as a request, or
    /// shorter: runtimes put a thread to sleep for a time this way.
    pub for_a_time: f64,
    /// Connections of the server that wait for other services; absent if they were not read.
    pub downstream: Option<f64>,
}

/// Turns within which a connection that serves the load receives something.
const HEARD_WITHIN: f64 = 2.0;
/// Two jiffies of the longest kind: the resolution of when something was received.
const RESOLUTION_MS: f64 = 20.0;
/// A thread that sleeps for a time does so for at most this many times the duration of a request.
const REQUEST_MAX: f64 = 1.5;

/// From this share of all requests in flight on, a place holds most of them.
pub(super) const MOST: f64 = 0.5;

/// Whether connections serve the requests of the load, judged by when the waiting ones received
/// something; yes if that was not read.
pub(super) fn serves(case: &Case<'_>, one: &DownstreamUse) -> bool {
    let light = case.lightest().unwrap_or(case.point);
    let request_ms = light.service_ns.mean.unwrap_or(0) as f64 / NS_PER_MS as f64;
    let every_ms = one.connections * 1e3 / case.point.rate.max(f64::MIN_POSITIVE);
    let turn_ms = request_ms.max(every_ms);
    one.heard_ms.is_none_or(|heard| heard <= HEARD_WITHIN * turn_ms + RESOLUTION_MS)
}

impl Waiting {
    /// Counts them. If that is impossible because something was not read or a side is not known to
    /// have slack, or pointless because a side is busy or nothing waits, returns the outcome of the
    /// test.
    pub(super) fn of(case: &Case<'_>) -> Result<Self, Box<Test>> {
        let slack = case.client_has_slack().zip(case.server_has_slack());
        let (Some((client_slack, server_slack)), Some(waiting)) = (slack, Self::count(case)) else {
            return Err(Box::new(Test::Untested));
        };
        let threads = case.far().server_threads.iter().flatten();
        let computing = threads.map(|thread| thread.run).sum::<f64>() + case.client_computing();
        let is_computing = computing > COMPUTING_MAX * waiting.in_flight;
        if !client_slack || !server_slack || is_computing || waits::of(case) == Waits::No {
            return Err(Box::new(Test::NotSeen));
        }
        Ok(waiting)
    }

    /// Counts them, whatever is busy; nothing if something was not read.
    pub(super) fn count(case: &Case<'_>) -> Option<Self> {
        let in_flight = case.point.in_flight.mean.filter(|mean| *mean > 0.0)?;
        let (doing, threads) = (case.far().doing.as_ref()?, case.far().server_threads.as_ref()?);
        let serving = threads.iter().filter(|thread| case.serves(thread));
        let serving: BTreeSet<u32> = serving.map(|thread| thread.tid).collect();
        let mut by_doing = BTreeMap::new();
        for tid in &serving {
            for (state, samples) in doing.by_thread.get(tid).into_iter().flatten() {
                let mean = *samples as f64 * doing.threads_per_sample();
                *by_doing.entry(*state).or_default() += mean;
            }
        }
        let requests = case.requests_carried_max();
        let connect = &case.point.connections.connect_ns;
        let connect_ns = connect.p50.or(connect.mean).unwrap_or(0) as f64;
        let service_ns = |point: &Point| point.service_ns.mean.unwrap_or(0).max(1) as f64;
        let mean_ns = service_ns(case.point);
        let longest_ns = REQUEST_MAX * case.lightest().map_or(mean_ns, service_ns);
        let for_a_time = |tid: &u32| doing.timed(*tid, longest_ns as u64);
        let for_a_time: u64 = serving.iter().map(for_a_time).sum();
        let census = case.census().unwrap_or_default();
        let unsent_share = census.server_unsent as f64 / census.server.max(1) as f64;
        let downstreams = case.far().downstreams.as_ref();
        Some(Self {
            in_flight,
            unread: (case.unread_share()? * requests).min(in_flight),
            travelling: (connect_ns / mean_ns).min(1.0) * in_flight,
            unsent: (unsent_share * requests).min(in_flight),
            on_one_futex: doing.mean_on_one_futex(|tid| serving.contains(&tid)),
            for_a_time: for_a_time as f64 * doing.threads_per_sample(),
            threads: by_doing,
            downstream: downstreams.map(|all| {
                let serving = all.iter().filter(|one| serves(case, one));
                serving.map(|one| one.waiting).sum()
            }),
        })
    }

    /// Threads in this state.
    pub(super) fn threads(&self, doing: Doing) -> f64 {
        self.threads.get(&doing).copied().unwrap_or(0.0)
    }

    /// Threads that wait for events or for connections.
    pub(super) fn idle(&self) -> f64 {
        self.threads(Doing::Events) + self.threads(Doing::Accept)
    }

    /// Threads that have work or hold it up.
    pub(super) fn occupied(&self) -> f64 {
        self.threads.values().sum::<f64>() - self.idle()
    }

    /// Share of the requests in flight that wait unread.
    pub(super) fn unread_share(&self) -> f64 {
        self.unread / self.in_flight
    }

    /// Whether the unread requests and `held` requests in threads are all there are.
    pub(super) fn adds_up(&self, held: f64) -> bool {
        ADDS_UP.contains(&((self.unread + held) / self.in_flight))
    }

    /// Evidence: where the requests are, and what holds those that are not unread.
    pub(super) fn seen<'a>(
        &self,
        source: impl Into<Origin<'a>>,
        holders: &str,
        held: f64,
        rule: &str,
    ) -> Seen {
        let in_flight = self.in_flight;
        Seen::default()
            .with(
                Family::ThreadStates,
                "server",
                source,
                &format!("{holders}, of {in_flight:.1} requests in flight"),
                format!("{held:.1}"),
                rule,
            )
            .with(
                Family::QueueLocation,
                "server",
                ("sock_diag", ["connections"]),
                "requests in flight that wait unread, and together with the other figures",
                format!("{:.1}; {}", self.unread, percent((self.unread + held) / in_flight)),
                "adds up to all of them",
            )
    }
}

impl Waiting {
    /// The places of the server, if these threads are as many: all places are taken, wherever the
    /// other requests wait; a server may have read them all. A level with free places must tell how
    /// many there are.
    pub(super) fn all_places(&self, case: &Case<'_>, held: f64) -> Option<f64> {
        let (places, light) = case.places().filter(|_| case.still_grows() == Some(false))?;
        let is_free = light.load_size() as f64 <= FREE * places;
        let is_queue = self.in_flight >= (1.0 + QUEUE_MIN) * places;
        let is_idle = at_cpus(case)? <= OTHERWISE_MAX * places;
        (is_free && is_queue && is_idle && ADDS_UP.contains(&(held / places))).then_some(places)
    }

    /// The evidence of threads that are all places.
    pub(super) fn with_places(&self, holders: &str, held: f64, places: f64) -> Seen {
        let in_flight = self.in_flight;
        Seen::default()
            .with(
                Family::ThreadStates,
                "server",
                ("syscall", ["server_threads_now"]),
                &format!("{holders} on average, of {in_flight:.1} requests in flight"),
                format!("{held:.1}"),
                "75 to 130 % of the requests that the server works on at once",
            )
            .with(
                Family::RampShape,
                "client",
                ("ramp", ["latency_ns"]),
                "requests the server works on at once (rate x duration at light load)",
                format!("{places:.1}"),
                "as many places",
            )
    }
}

/// How the mean number of sleeping threads compares with what the rate would keep asleep if each
/// request slept as long as at the lightest load of the ramp. Nothing without such a level.
pub(super) fn asleep_at_light_load(case: &Case<'_>, asleep: f64) -> Option<f64> {
    let light_ns = case.lightest()?.service_ns.mean? as f64;
    Some(light_ns / 1e9 * case.point.rate / asleep.max(f64::MIN_POSITIVE))
}

/// Adds the share of sampled server sockets with requests the application has not read.
pub(crate) fn with_unread(case: &Case<'_>, seen: Seen) -> Seen {
    let Some(unread) = case.unread_share().filter(|unread| *unread >= UNREAD_MIN) else {
        return seen;
    };
    seen.with(
        Family::QueueLocation,
        "server",
        ("sock_diag", ["connections"]),
        "sampled connections with requests the server has not read",
        percent(unread),
        "over 10 %",
    )
}
