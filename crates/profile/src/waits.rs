//! Waits by site, and their share of the time of requests.
//!
//! A block profile holds every wait that ended in its time, also those of background loops and of
//! the profiler itself. Only a wait below a frame that serves a request made a request
//! longer, so only it is a part of residence. `n` seconds blocked of a window of `w` seconds with
//! `c` requests in flight are the share `s = n / (w * c)`; in closed loop the rate is `c` over
//! residence, so without the wait it is at most `1 / (1 - s)` times as high.

use crate::samples::{Samples, Spot};
use model::order::OrderBy as _;
use model::profile::{Wait, Waiter};
use std::collections::BTreeMap;

/// Sites kept in a record.
const SITES_MAX: usize = 200;

/// Functions that serve a request of a connection, by the start of their names.
const SERVING: [&str; 6] = [
    "net/http.(*conn).serve",
    "net/http.(*http2serverConn).runHandler",
    "net/http/internal/http2.(*serverConn).runHandler",
    "golang.org/x/net/http2.(*serverConn).runHandler",
    "github.com/valyala/fasthttp.(*Server).serveConn",
    "google.golang.org/grpc.(*Server).handleStream",
];
/// The name of every handler of net/http and its middleware.
const HANDLER: &str = ".ServeHTTP";
/// Packages whose handlers report on the process; their waits are not the server's.
const PROFILER: [&str; 2] = ["net/http/pprof.", "runtime/pprof."];
/// Packages that wait on behalf of their caller.
const RUNTIME: [&str; 7] = [
    "runtime.",
    "runtime/",
    "internal/runtime",
    "sync.",
    "sync/",
    "internal/sync.",
    "internal/poll.",
];

/// The waiter, the function and line of the site, the call, and the frame that identifies the
/// waiter.
type Key<'a> = (Waiter, &'a str, i64, &'a str, Option<&'a str>);

/// Every site, the longest wait of requests first. `held_s` is window times requests in flight.
pub(crate) fn of(samples: &Samples, held_s: Option<f64>) -> Vec<Wait> {
    let mut sites: BTreeMap<Key<'_>, (i64, i64)> = BTreeMap::new();
    for stack in &samples.stacks {
        let places: Vec<&Spot> = samples.places(stack).collect();
        let (call, (function, line)) = site(&places);
        let (waiter, known_by) = waiter(&places);
        let sum = sites.entry((waiter, function, line, call, known_by)).or_default();
        *sum = (sum.0.saturating_add(stack.count), sum.1.saturating_add(stack.value));
    }
    let mut sites: Vec<_> = sites.into_iter().collect();
    sites.order_by(|(one, one_sum), (other, other_sum)| {
        one.0.cmp(&other.0).then(other_sum.1.cmp(&one_sum.1))
    });
    sites.truncate(SITES_MAX);
    let wait = |(key, (count, blocked_ns)): (Key<'_>, (i64, i64))| {
        let (waiter, function, line, call, known_by) = key;
        let blocked_s = blocked_ns as f64 / 1e9;
        let held_s = held_s.filter(|_| waiter == Waiter::Request);
        let share = held_s.map(|held_s| blocked_s / held_s);
        Wait {
            site: if line > 0 { format!("{function}:{line}") } else { function.to_string() },
            call: call.to_string(),
            waiter,
            known_by: known_by.map(str::to_string),
            count,
            blocked_s,
            share,
            gain_max: share.and_then(gain_max),
        }
    };
    sites.into_iter().map(wait).collect()
}

/// The most by which the rate can rise when this share of residence goes away.
fn gain_max(share: f64) -> Option<f64> {
    (0.0..1.0).contains(&share).then(|| share / (1.0 - share))
}

/// The call that waited, and function and line of the place that called it. For a wait inside the
/// runtime, both are in the runtime.
fn site<'a>(places: &[&'a Spot]) -> (&'a str, (&'a str, i64)) {
    let is_runtime =
        |spot: &&Spot| RUNTIME.iter().any(|package| spot.function.starts_with(package));
    let at = places.iter().position(|spot| !is_runtime(spot));
    let call = match at {
        Some(at) => places.get(at.saturating_sub(1)),
        None => places.first(),
    };
    let call = call.map_or("[unknown]", |spot| &*spot.function);
    let site = at.and_then(|at| places.get(at));
    let site = site.map(|spot| (&*spot.function, spot.line.max(0)));
    (call, site.unwrap_or(("inside the runtime", 0)))
}

fn waiter<'a>(places: &[&'a Spot]) -> (Waiter, Option<&'a str>) {
    let found = |test: &dyn Fn(&str) -> bool| {
        places.iter().map(|spot| &*spot.function).find(|name| test(name))
    };
    if found(&|name| PROFILER.iter().any(|package| name.starts_with(package))).is_some() {
        return (Waiter::Profiler, None);
    }
    let serving =
        |name: &str| SERVING.iter().any(|known| name.starts_with(known)) || name.ends_with(HANDLER);
    match found(&serving) {
        Some(name) => (Waiter::Request, Some(name)),
        None => (Waiter::Other, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Sum;

    fn waits(stacks: &[(&[(&str, i64)], f64)], held_s: Option<f64>) -> Vec<Wait> {
        let mut sum = Sum::default();
        for (places, blocked_s) in stacks {
            let spot = |(name, line): &(&str, i64)| Spot { function: (*name).into(), line: *line };
            let places: Vec<_> = places.iter().map(spot).collect();
            sum.add(places.iter(), (1, (blocked_s * 1e9) as i64)).unwrap();
        }
        of(&sum.finish(), held_s)
    }

    const LOCK: &[(&str, i64)] = &[
        ("sync.(*Mutex).lockSlow", 1),
        ("sync.(*Mutex).Lock", 2),
        ("example.org/rng.(*Locked).Int63", 12),
        ("main.read", 40),
        ("net/http.HandlerFunc.ServeHTTP", 1),
        ("net/http.(*conn).serve", 2),
    ];

    #[test]
    fn the_wait_of_the_journal_is_worth_one_percent() {
        let idle: &[_] = &[("runtime.selectgo", 1), ("main.flusher", 9), ("runtime.goexit", 1)];
        let own = &[("runtime.selectgo", 1), ("net/http/pprof.sleep", 5), ("x.ServeHTTP", 1)];
        let found = waits(&[(idle, 60.0), (LOCK, 403.9), (own, 60.0)], Some(60.0 * 500.0));
        let [lock, idle, own] = &found[..] else { panic!("{found:?}") };
        assert_eq!(lock.site, "example.org/rng.(*Locked).Int63:12");
        assert_eq!(lock.call, "sync.(*Mutex).Lock");
        assert_eq!(lock.known_by.as_deref(), Some("net/http.HandlerFunc.ServeHTTP"));
        assert!((lock.share.unwrap() - 0.013_463).abs() < 1e-6, "{lock:?}");
        assert!((lock.gain_max.unwrap() - 0.013_647).abs() < 1e-6, "{lock:?}");
        assert_eq!((idle.waiter, idle.share), (Waiter::Other, None));
        assert_eq!((own.waiter, own.share), (Waiter::Profiler, None));
    }

    #[test]
    fn a_share_that_is_not_known_has_no_bound() {
        assert_eq!(waits(&[(LOCK, 1.0)], None)[0].gain_max, None);
        let more_than_all = &waits(&[(LOCK, 9.0)], Some(3.0))[0];
        assert_eq!((more_than_all.share, more_than_all.gain_max), (Some(3.0), None));
    }

    #[test]
    fn waits_inside_the_runtime_have_a_site_too() {
        let found = waits(&[(&[("runtime.unlock", 1), ("runtime.mstart", 2)], 1.0)], Some(1.0));
        assert_eq!((found[0].call.as_str(), found[0].waiter), ("runtime.unlock", Waiter::Other));
        assert_eq!(found[0].site, "inside the runtime");
    }

    #[test]
    fn idle_workers_of_fasthttp_serve_nobody() {
        let pool = "github.com/valyala/fasthttp.(*workerPool).workerFunc";
        let served = "github.com/valyala/fasthttp.(*Server).serveConn-fm";
        let idle: &[_] = &[("runtime.chanrecv2", 1), (pool, 20)];
        let handled: &[_] = &[("sync.(*Mutex).Lock", 1), ("main.f", 3), (served, 1), (pool, 20)];
        let found = waits(&[(idle, 2.0), (handled, 1.0)], Some(10.0));
        assert_eq!((found[0].waiter, found[0].share), (Waiter::Request, Some(0.1)));
        assert_eq!(found[1].waiter, Waiter::Other);
    }
}
