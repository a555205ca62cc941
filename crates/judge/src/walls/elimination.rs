//! Names what is left when nothing is busy, nothing refuses and the server calls no other service:
//! how many requests the server holds at once decides.
//!
//! In: a point of the plateau of a ramp whose requests are inside the server, and whose tests are
//! silent. Out: A2, A1 or A4, with what else would look the same.
//! Never: a wall while the server has connections to others, sleeps in storage or computes.
//!
//! When a section that lets requests through one or a few at a time limits the rate, it is in use
//! all the time. A request holds one of its places for at most as long as the request takes alone.
//! The rate times the time of a request alone therefore gives the number of places (utilisation
//! law), and it is never less than one if something that a request holds limits. "Alone" means at a
//! level with fewer requests than places, or the first request of a level's warm-up, when the
//! server has nothing else to do.
//!
//! - Several places: a pool. Behind a lock or a limiter, requests would need a second place to wait
//!   in that is neither a CPU nor storage nor another service.
//! - One place: a lock.
//! - Clearly less than one, though all requests take about as long: nothing that a request holds
//!   limits the rate. Time itself does: a limiter makes requests wait for their turn.

use crate::case::{Case, percent};
use crate::next::what_it_waits_in;
use crate::walls::{Family, Seen};
use model::reading::Doing;
use model::run::Point;
use model::units::{NS_PER_S, show_count, show_ns};
use model::wall::WallId;
use observe::ThreadShare;

/// From here on there are several places.
const SEVERAL_MIN: f64 = 2.0;
/// This many is one place: a request takes longer than it holds the place.
const ONE: std::ops::Range<f64> = 0.7..2.0;
/// Less than this is not a place.
const NONE_MAX: f64 = 0.3;
/// Levels whose first requests must agree.
const LEVELS_MIN: usize = 3;
/// Standard deviation of the latency over its mean, below which requests take about as long as each
/// other. Two steps in sequence, each of exponential length, have 0.71.
const ALIKE_MAX: f64 = 0.5;
/// Share of the places that may compute or wait for storage.
pub(crate) const OTHERWISE_MAX: f64 = 0.3;
/// Share of the requests that may fail.
const FAILED_MAX: f64 = 0.01;
/// A level with less than this share of the places in flight leaves some of them free.
pub(crate) const FREE: f64 = 0.8;

/// How long a request takes alone.
struct Alone {
    ns: f64,
    /// How that is known.
    from: String,
    /// Whether it is that of the first requests of levels.
    is_first: bool,
}

/// The wall that is left, with the evidence for and against it; see the module.
pub(crate) fn wall(case: &Case<'_>, seen: &Seen) -> Option<(WallId, Seen)> {
    if case.is_open() || !case.point.is_of_requests() || fails(case) {
        return None;
    }
    // Requests may as well wait in a program that passes connections on.
    if case.server.is_some_and(|server| server.passed_on_by.is_some()) {
        return None;
    }
    let downstreams = case.far().downstreams.as_ref()?;
    if downstreams.iter().any(|one| one.connections > 0.0) {
        return None;
    }
    let alone = below_its_places(case).or_else(|| first_of_levels(case))?;
    let places = case.point.rate * alone.ns / NS_PER_S as f64;
    let (wall, rule, against, fix) = match places {
        _ if places >= SEVERAL_MIN => SEVERAL,
        _ if ONE.contains(&places) => SINGLE,
        _ if places < NONE_MAX && alone.is_first && is_alike(case) => PACED,
        _ => return None,
    };
    if is_otherwise(case, places.max(1.0))? {
        return None;
    }
    let (rate, alone_ns) = (show_count(case.point.rate), show_ns(alone.ns));
    let sentence = match wall {
        WallId::A2 => format!(
            "about {places:.0} places of a pool are always in use ({rate}/s, {alone_ns} each); \
             further requests wait for one"
        ),
        WallId::A1 => {
            format!("requests pass one section one after the other ({rate}/s, {alone_ns} each)")
        }
        _ => format!("requests are let through at a fixed pace: {rate}/s at every load"),
    };
    let value = format!("{} ({rate}/s x {alone_ns}, {})", count(places), alone.from);
    let seen = seen
        .clone()
        .with(Family::RampShape, "client", ("ramp", ["latency_ns"]), "places in use", value, rule)
        .next(what_it_waits_in(case));
    let mut seen = inside(case, seen);
    seen.sentence = Some(sentence);
    seen.fix = fix.map(|fix| fix.replace("{}", &format!("{places:.0}")));
    seen.against.push(against.to_string());
    Some((wall, seen))
}

type Named = (WallId, &'static str, &'static str, Option<&'static str>);

const SEVERAL: Named = (
    WallId::A2,
    "requests the server works on at once: the places of a pool",
    "by elimination: another service over a Unix socket (A3) looks the same, and so does a lock \
     (A1) or a limiter (A4) if each request also waits for something else",
    Some("give that pool more places (it has about {}), or shorten what a request waits for there"),
);

const SINGLE: Named = (
    WallId::A1,
    "one request at a time: a section that all requests pass",
    "by elimination: a pool with one place (A2) looks the same, and another service over one Unix \
     socket (A3)",
    None,
);

const PACED: Named = (
    WallId::A4,
    "under 0.3: no resource held by a request limits; requests are let through at a fixed pace",
    "by elimination: a server that does its work at fixed intervals looks the same",
    None,
);

fn count(places: f64) -> String {
    if places < 1.0 { format!("{places:.2}") } else { format!("{places:.1}") }
}

/// A level with fewer requests in flight than places.
fn below_its_places(case: &Case<'_>) -> Option<Alone> {
    let (places, light) = case.places()?;
    let is_free = light.load_size() as f64 <= FREE * places;
    let from = format!("the duration of a request at {} in flight", light.load_size());
    is_free.then(|| Alone { ns: light.service_ns.mean.unwrap_or(0) as f64, from, is_first: false })
}

/// The first requests of the levels. Some of them meet work that the level before left behind.
fn first_of_levels(case: &Case<'_>) -> Option<Alone> {
    let first = |point: &&&Point| point.unmeasured.fastest_ns;
    let mut all: Vec<u64> = case.ramp.iter().filter_map(|point| first(&point)).collect();
    all.sort_unstable();
    if all.len() < LEVELS_MIN {
        return None;
    }
    let ns = all[all.len() / 2] as f64;
    let from = format!("the duration of the first request of {} levels (median)", all.len());
    Some(Alone { ns, from, is_first: true })
}

/// Whether the requests of the lightest level take about as long as each other.
fn is_alike(case: &Case<'_>) -> bool {
    let lightest = case.ramp.iter().min_by_key(|point| point.load_size());
    let spread = lightest.and_then(|point| {
        let latency = &point.service_ns;
        Some(latency.stdev? as f64 / latency.mean.filter(|mean| *mean > 0)? as f64)
    });
    spread.is_some_and(|spread| spread < ALIKE_MAX)
}

fn fails(case: &Case<'_>) -> bool {
    let requests = &case.point.requests;
    requests.failed as f64 > FAILED_MAX * requests.sent.max(1) as f64
}

/// Whether the places are in use for something that the readings name: they compute, wait for
/// storage or for the reader of a pipe, or are stopped. Nothing if that was not read.
fn is_otherwise(case: &Case<'_>, places: f64) -> Option<bool> {
    let doing = case.far().doing.as_ref()?;
    let with_a_name = [Doing::Storage, Doing::PipeWrite, Doing::Send, Doing::Stopped];
    let asleep: f64 = with_a_name.map(|doing_it| doing.mean_threads(doing_it)).iter().sum();
    Some(asleep + at_cpus(case)? > OTHERWISE_MAX * places)
}

/// Threads of the server that run or wait for a CPU, mean over the window.
pub(crate) fn at_cpus(case: &Case<'_>) -> Option<f64> {
    let threads = case.far().server_threads.as_ref()?;
    Some(threads.iter().map(ThreadShare::wanted).sum())
}

/// Evidence: the requests are inside the server or unread in its sockets.
fn inside(case: &Case<'_>, seen: Seen) -> Seen {
    let Some(residence) = case.point.residence else { return seen };
    let there = residence.inside_server.unwrap_or(0.0) + residence.server_unread.unwrap_or(0.0);
    let share = there / case.point.in_flight.mean.unwrap_or(1.0).max(f64::MIN_POSITIVE);
    seen.with(
        Family::QueueLocation,
        "server",
        ("sock_diag", ["connections"]),
        "requests in flight that are inside the server or unread in its sockets",
        percent(share),
        "over 70 %, while it has CPU to spare and no connection to another service over TCP",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use observe::DownstreamUse;

    /// A server that is not busy and calls no other service, at 1000/s with eight in flight.
    fn idle() -> Fixture {
        let mut fixture = Fixture::good();
        fixture.worker(0.05, 0.0);
        fixture.doing(&[(1, 0.05, Doing::Events, None), (2, 0.0, Doing::Futex, None)]);
        fixture.observed.downstreams = Some(Vec::new());
        fixture
    }

    /// Over a ramp from two in flight, whose levels have these first requests.
    fn named(fixture: &Fixture, mean_ns: u64, stdev_ns: u64, first_ns: u64) -> Option<WallId> {
        let level = |connections, mean_ns| {
            let mut level = Fixture::point(connections, 1000.0);
            level.service_ns.mean = Some(mean_ns);
            level.service_ns.stdev = Some(stdev_ns);
            level.unmeasured.fastest_ns = Some(first_ns);
            level
        };
        let (two, four, eight) = (level(2, mean_ns), level(4, 4_000_000), level(8, 8_000_000));
        let ramp = [&two, &four, &eight];
        wall(&Case { ramp: &ramp, ..fixture.case() }, &Seen::default()).map(|(wall, _)| wall)
    }

    #[test]
    fn several_places_are_a_pool_one_is_a_lock_and_none_is_a_limiter() {
        let fixture = idle();
        assert_eq!(named(&fixture, 5_000_000, 100_000, 4_900_000), Some(WallId::A2));
        assert_eq!(named(&fixture, 2_000_000, 100_000, 1_000_000), Some(WallId::A1));
        assert_eq!(named(&fixture, 2_000_000, 100_000, 200_000), Some(WallId::A4));
        assert_eq!(named(&fixture, 2_000_000, 100_000, 2_000_000), Some(WallId::A2), "two");
        let more_than_held = named(&fixture, 1_900_000, 100_000, 1_900_000);
        assert_eq!(more_than_held, Some(WallId::A1), "one, and time in which it is not held");
    }

    #[test]
    fn what_is_neither_stays_unnamed() {
        let fixture = idle();
        assert_eq!(named(&fixture, 2_000_000, 100_000, 500_000), None, "half a place");
        assert_eq!(named(&fixture, 2_000_000, 1_500_000, 200_000), None, "many are short");
        let ramp = [&fixture.point];
        assert!(wall(&Case { ramp: &ramp, ..fixture.case() }, &Seen::default()).is_none());
    }

    #[test]
    fn whatever_else_may_hold_requests_keeps_it_from_a_name() {
        let mut fixture = idle();
        let pool = |fixture: &Fixture| named(fixture, 5_000_000, 100_000, 4_900_000);
        fixture.observed.downstreams = None;
        assert_eq!(pool(&fixture), None, "not read");
        let to = "10.0.0.9:5432".to_string();
        let one = DownstreamUse { to, connections: 4.0, ..DownstreamUse::default() };
        fixture.observed.downstreams = Some(vec![one]);
        assert_eq!(pool(&fixture), None, "another service");
        let mut fixture = idle();
        fixture.doing(&[1, 2, 3].map(|tid| (tid, 0.01, Doing::Storage, None)));
        assert_eq!(pool(&fixture), None, "storage");
        fixture.doing(&[1, 2, 3].map(|tid| (tid, 0.6, Doing::Running, None)));
        assert_eq!(pool(&fixture), None, "it computes");
        let mut fixture = idle();
        fixture.point.requests.failed = 100;
        assert_eq!(pool(&fixture), None, "it fails");
    }
}
