//! A5: the whole application stops now and then: a collector, a freezer, a stop signal.
//!
//! Signals: threads of the server found stopped, its CPU time between reads, pauses that its
//! runtime reports, responses in each tenth of a second, the slow end of the latency.
//! Rule: threads were found stopped in 2 to 90 % of the samples; or the runtime paused for over 2 %
//! of the window; or the states of threads could not be read, and at least four times, at regular
//! distances, the responses of a tenth of a second and the server's CPU time fell under 60 % of
//! their medians (a server that waits for something regular shows the same dips). In addition, the
//! slowest responses take five times the median; the generator was neither throttled nor near its
//! limit, and never stood still for a quarter of that; and the server was not throttled. Beside a
//! server without CPU to spare, only stops of at least a tenth of the time count: shorter ones cost
//! the server less than its CPU does. A thread that is always stopped does not serve.
//! Mimics: S3 (a throttled group also stops, every 100 ms; looked at first), a generator that
//! pauses, S6, M3 (irregular dips).
//! Confirm: a second client sees the pauses at the same instants; a smaller heap or another
//! collector moves them.
//! Source: Linux admin-guide/cgroup-v1/freezer-subsystem.rst; Go runtime/debug
//! (GCStats.PauseTotal); OpenJDK perfMemory.hpp (sun.rt.safepointTime).
//! Name: pauses of the whole application
//! Reason: the whole server stops now and then
//! Fix: find what stops it: the collector's log, a debugger, a freezer, SIGSTOP

use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use crate::stats;
use model::reading::Doing;
use model::units::show_ns;
use observe::{DoingShares, QuotaShare};
use std::collections::BTreeMap;

/// How runtimes name the time for which they stop the application: Go and Java.
use observe::PAUSES;
/// Share of samples, or of the window, in which the application must be stopped.
const STOPPED: std::ops::RangeInclusive<f64> = 0.02..=0.90;
/// Share of the time from which stops matter even if the server is busy.
const LARGE: f64 = 0.10;
/// A dip is a fall below this share of the median.
const DIP: f64 = 0.60;
/// The fewest dips that can be called regular.
const DIPS_MIN: usize = 4;
/// The most by which the distances between regular dips may vary.
const DISTANCE_VARIATION_MAX: f64 = 0.35;
/// The slowest responses over the median.
const TAIL_MIN: f64 = 5.0;
/// If the generator stood still for more than this share of the slowest responses, the pauses may
/// be its own.
const OWN_MAX: f64 = 0.25;
/// Share of periods throttled above which a group's throttling may be the pauses.
const THROTTLED_MAX: f64 = 0.05;

/// Stops that the runtime or its threads report do not depend on the generator.
pub(super) fn is_reported(_: &Case<'_>, seen: &Seen) -> bool {
    let of_server = [Family::HardCounter, Family::ThreadStates];
    seen.findings.iter().any(|finding| of_server.contains(&finding.family))
}

pub fn test(case: &Case<'_>) -> Test {
    let far = case.far();
    let is_read = far.doing.is_some() || far.runtime.is_some() || far.server_cpus_series.len() > 1;
    if case.server.is_none() || !is_read {
        return Test::Untested;
    }
    let is_throttled = |quotas: &Option<Vec<QuotaShare>>| {
        quotas.iter().flatten().any(|quota| quota.throttled_periods > THROTTLED_MAX)
    };
    if case.client_has_slack() != Some(true)
        || is_throttled(&case.observed.client_quotas)
        || is_throttled(&far.server_quotas)
    {
        return Test::NotSeen;
    }
    let service = &case.point.service_ns;
    let (Some(median_ns), Some(slow_ns)) = (service.p50, service.max.or(service.p99)) else {
        return Test::Untested;
    };
    let stalled_ns = case.longest_stall_ns();
    if stalled_ns as f64 > OWN_MAX * slow_ns as f64 {
        return Test::NotSeen;
    }
    let seen = paused(case, Seen::default());
    if seen.findings.is_empty() || (slow_ns as f64) < TAIL_MIN * median_ns as f64 {
        return Test::NotSeen;
    }
    let seen = seen.with(
        Family::RampShape,
        "client",
        ("engine", ["latency_ns"]),
        "slowest responses, and the median",
        format!("{}, {}", show_ns(slow_ns as f64), show_ns(median_ns as f64)),
        "five times the median: some requests waited for a pause to end",
    );
    let seen = seen.saying(format!(
        "the server stands still now and then: the slowest responses take {}, the median {}",
        show_ns(slow_ns as f64),
        show_ns(median_ns as f64)
    ));
    Test::Seen(seen.next("a smaller heap or another collector: the pauses should move"))
}

/// The evidence of pauses on the server's side.
fn paused(case: &Case<'_>, mut seen: Seen) -> Seen {
    let far = case.far();
    let least = if case.server_has_slack() == Some(true) { 0.0 } else { LARGE };
    let matters = |share: f64| STOPPED.contains(&share) && share >= least;
    let stopped = far.doing.as_ref().map_or(0.0, stopped_share);
    if matters(stopped) {
        let (family, field) = (Family::ThreadStates, "samples of its threads found stopped");
        seen = seen.with(
            family,
            "server",
            ("syscall", ["server_threads_now"]),
            field,
            percent(stopped),
            "2 to 90 %",
        );
    }
    let is_pause = |name: &str| PAUSES.iter().any(|begin| name.starts_with(begin));
    let pauses = far.runtime.iter().flatten().find(|(name, _)| is_pause(name));
    if let Some((name, paused_s)) = pauses {
        let share = paused_s / case.window_s();
        if matters(share) {
            let (family, value) = (Family::HardCounter, percent(share));
            seen = seen.with(
                family,
                "server",
                ("runtime", ["server_runtime"]),
                name,
                value,
                "over 2 % of the window",
            );
        }
    }
    let tenths: Vec<f64> = case.point.per_100ms.iter().map(|count| *count as f64).collect();
    let whole = &tenths[..tenths.len().saturating_sub(1)];
    let (responses, cpus) = (dips(whole), dips(&far.server_cpus_series));
    let dipped = responses.len() as f64 / whole.len().max(1) as f64;
    let is_unread = far.doing.is_none();
    if is_unread && is_regular(&responses) && is_regular(&cpus) && dipped >= least {
        let what = "what its threads waited in was not read: something that they wait for \
                    regularly, such as a slow reader of a log, looks the same";
        seen.against.push(what.to_string());
        let every = (whole.len() as f64 / responses.len() as f64) / 10.0;
        seen = seen.with(
            Family::QueueLocation,
            "both",
            ("engine, schedstat", ["per_100ms", "server_threads"]),
            "dips of the responses, and of the server's CPU time",
            format!("{}, {}, one every {every:.1} s", responses.len(), cpus.len()),
            "regular, under 60 % of the median",
        );
    }
    seen
}

/// Share of samples found stopped, over threads that were not stopped all the time.
fn stopped_share(doing: &DoingShares) -> f64 {
    let of_thread = |samples: &BTreeMap<Doing, u64>| {
        let stopped = samples.get(&Doing::Stopped).copied().unwrap_or(0);
        (stopped, samples.values().sum::<u64>())
    };
    let threads = doing.by_thread.values().map(of_thread).filter(|(stopped, all)| stopped < all);
    let (stopped, all) = threads.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    stopped as f64 / (all as f64).max(1.0)
}

/// Where a series falls below 60 % of its median; for a longer dip, its first place.
fn dips(series: &[f64]) -> Vec<usize> {
    let mut sorted = series.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    let is_dip = |at: usize| series[at] < DIP * median;
    (0..series.len()).filter(|at| is_dip(*at) && (*at == 0 || !is_dip(*at - 1))).collect()
}

fn is_regular(dips: &[usize]) -> bool {
    let distances: Vec<f64> = dips.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let variation = stats::variation(&distances);
    dips.len() >= DIPS_MIN && variation.is_some_and(|share| share <= DISTANCE_VARIATION_MAX)
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::{Signs, UNSEEN};
    use model::histogram::Summary;
    use model::reading::Doing;
    use std::collections::BTreeMap;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.stopped(0.1);
            scene.fixture.point.service_ns.max = Some(60_000_000);
        },
        without: &[
            ("stops", |scene| scene.fixture.stopped(0.0)),
            ("slow responses", |scene| scene.fixture.point.service_ns.max = Some(9_000_000)),
            UNSEEN,
        ],
    };

    /// Slow responses, and nothing that explains them.
    fn jerky() -> Fixture {
        let mut fixture = Fixture::good();
        fixture.point.service_ns.max = Some(60_000_000);
        fixture.doing(&[(1, 0.1, Doing::Events, None)]);
        fixture
    }

    fn dip_every(series_of: usize, every: usize) -> Vec<f64> {
        (0..series_of).map(|at| if at % every == 3 { 0.1 } else { 1.0 }).collect()
    }

    #[test]
    fn threads_found_stopped_are_seen() {
        let mut fixture = jerky();
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
        fixture.stopped(0.1);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.families(), 2);
        fixture.server_thread(0.97, 0.0);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "a tenth of its time");
        fixture.stopped(0.05);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "S2 costs more");
        fixture.stopped(0.1);
        fixture.server_thread(0.3, 0.01);
        fixture.throttle_server(0, 0.2, 0.1);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "S3 may cause that");
        fixture.throttle_server(0, 0.0, 0.0);
        fixture.point.service_ns.max = Some(9_000_000);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "no request waited");
    }

    #[test]
    fn regular_dips_of_responses_and_of_the_servers_time_are_seen_together() {
        let mut fixture = jerky();
        let doing = fixture.observed.doing.take();
        let dip = |count: &u64, share: f64| (*count as f64 * share) as u64;
        let responses = fixture.point.per_100ms.clone();
        fixture.observed.server_cpus_series = dip_every(50, 10);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "the responses did not dip");
        fixture.point.per_100ms =
            responses.iter().zip(dip_every(50, 10)).map(|(count, one)| dip(count, one)).collect();
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.against.len(), 1);
        fixture.observed.doing = doing;
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "A10: no thread was stopped");
        fixture.observed.doing = None;
        fixture.observed.server_cpus_series = vec![1.0; 50];
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "the server ran on");
        fixture.observed.server_cpus_series = dip_every(50, 10);
        for at in [1, 2, 31, 35, 40] {
            fixture.point.per_100ms[at] = 0;
        }
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "M3: irregular");
    }

    #[test]
    fn pauses_that_the_runtime_tells_of_are_seen() {
        let mut fixture = jerky();
        let paused = |paused_s| Some(BTreeMap::from([("gc_pause_seconds".to_string(), paused_s)]));
        fixture.observed.runtime = paused(0.5);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.observed.runtime = paused(0.01);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
        fixture.observed.runtime = paused(0.5);
        fixture.worker(0.9, 0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "the generator may pause");
    }

    #[test]
    fn pauses_of_the_generator_are_not_the_servers() {
        let mut fixture = jerky();
        fixture.stopped(0.1);
        let longest = |ns| Some(Summary { count: 9, max: Some(ns), ..Summary::default() });
        fixture.point.unseen_ns = longest(5_000_000);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "far shorter");
        fixture.point.unseen_ns = longest(50_000_000);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
        (fixture.point.unseen_ns, fixture.point.generator_delay_ns) = (None, longest(50_000_000));
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "its sends show the same");
    }

    #[test]
    fn an_unwatched_server_leaves_it_untested() {
        let mut fixture = jerky();
        fixture.unwatched();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
