//! A4: a limiter in the application refuses requests, or makes them wait for their turn.
//!
//! Signals: share of responses with status 4xx or 503, how evenly the good responses arrive,
//! threads that sleep for a time, and over a ramp the duration of a request at light load.
//! Rule: over 5 % of the responses are refusals, but not all, and most refusals say 429, too many
//! requests, or say in a header that no request is left (RateLimit, X-RateLimit-Remaining: 0):
//! whatever is busy with refusing, the limiter limits the good ones. Or refusals ask to come back
//! later (Retry-After, x-envoy-overloaded), the server has CPU to spare, and good responses arrive
//! twice as evenly as by chance or in bursts that vary twice as much. Or over a ramp: at a load of
//! at most half, where as many were refused, the rate of good responses was the same within 5 %,
//! and the server used at most 75 % of the CPU time that it uses now; a CPU that limits good
//! responses is as full there. Or as many are refused while the good responses arrive at least
//! twice as evenly as if chance chose which request is refused (in a mix of targets, only if no
//! target is refused twice as often as all together: a wrong path comes as evenly as the mix does).
//! Beside a server without CPU to spare, that counts only if good requests are in flight for less
//! than half of the time (their rate times their latency, by Little's law): a server that refuses
//! because it is full has accepted requests in work. Or, over a ramp, both sides have CPU to spare,
//! the rate no longer follows the load, threads that sleep for a time hold at least 70 % of the
//! requests that the server has read, requests at light load take less than half of that, no limit
//! of the host is seen, and no thread waits for storage all the time (A6). Or by elimination, over
//! a ramp: the server calls no other service and holds the requests, and neither computes nor waits
//! for storage; the first requests of the levels take less than 30 % of the time between two
//! responses under load, so nothing that a request holds limits; and the requests of the lightest
//! level take about as long as each other (standard deviation under half the mean), so the first
//! ones were not the short ones of a mix.
//! Mimics: M4 (a server that fails: chance chooses), A2 (workers sleep as long at any load), S1 and
//! S2 (a full server that sheds load refuses too: with a status other than 429 both remain), S3 and
//! K8 (limits of the host), C3 (the rate follows the load).
//! Confirm: body size, CPUs and connections do not move the rate of good responses, but another key
//! (address, header, account) does.
//! Source: RFC 6585 section 4 (429), RFC 9110 section 15.6.4 (503); Turner, New directions in
//! communications (1986), the leaky bucket.
//! Name: a limiter in the application
//! Reason: the server lets no more than a set rate or number through
//! Fix: look for a limit in the settings of the server, a proxy or a library

use super::waiting::{Waiting, asleep_at_light_load};
use super::worker_pool::EXPLAINED_MIN;
use super::{Family, Seen, Test, storage};
use crate::case::{Case, percent};
use crate::stats;
use model::call;
use model::reading::Doing;
use model::run::Point;
use model::sample::ResponseSample;
use model::units::show_count;
use std::collections::BTreeMap;

/// Share of responses refused: fewer are errors, and if all are refused there is nothing to limit.
/// How near the share comes to all depends on how fast the server refuses, so any good response
/// counts.
const REFUSED: std::ops::Range<f64> = 0.05..1.0;
/// A target that is refused this many times as often as all together is the cause.
const CONCENTRATED: f64 = 2.0;
/// Variance of the good responses over the variance that chance would cause.
const UNEVEN_MAX: f64 = 0.5;
/// Mean number of good requests in flight below which a server that refuses is not full of them.
const GOOD_IN_FLIGHT_MAX: f64 = 0.5;
/// Good responses per tenth of a second, on average, that are enough to show how even they are.
const GOOD_MIN: f64 = 5.0;
/// Share of the responses from which refusals are most of the work.
const MOST: f64 = 0.5;
/// Share of the requests inside the server that sleepers must hold.
const HELD_MIN: f64 = 0.70;

pub fn test(case: &Case<'_>) -> Test {
    let said = announced(case).filter(|_| says_so(case)).or_else(|| same_at_less_load(case));
    if let Some(seen) = said {
        return Test::Seen(with_steps(seen));
    }
    let (Some(client_slack), Some(server_slack)) =
        (case.client_has_slack(), case.server_has_slack())
    else {
        return counted(case).map_or(Test::Untested, Test::Seen);
    };
    if !server_slack {
        return counted(case).map_or(Test::NotSeen, Test::Seen);
    }
    if refusal(case, asks_to_wait)
        && is_no_chance(case)
        && let Some(seen) = announced(case)
    {
        return Test::Seen(with_steps(seen));
    }
    // A generator at its limit changes how many requests are refused, not how many are good.
    let delaying = || held(case, &Waiting::of(case).ok()?).map(with_steps);
    let seen = refusing(case).map(with_steps).or_else(|| delaying().filter(|_| client_slack));
    seen.map_or(Test::NotSeen, Test::Seen)
}

/// The evidence that can be seen whatever is busy.
fn counted(case: &Case<'_>) -> Option<Seen> {
    let latency_ns = case.point.latency_good_ns.as_ref()?.mean? as f64;
    let seen = refusing(case).filter(|_| counts(case))?.with(
        Family::QueueLocation,
        "client",
        ("engine", ["latency_ns"]),
        "good requests in flight (rate x mean latency)",
        format!("{:.2}", latency_ns / 1e9 * case.point.rate),
        "under 0.5: while the server refuses, it mostly holds no good request",
    );
    Some(with_steps(seen))
}

fn with_steps(seen: Seen) -> Seen {
    seen.next("repeat with another key (address, header, account): does the rate change?")
}

/// Evidence: how many responses refuse, and by which status where most have one.
fn seen_refusals(case: &Case<'_>, share: f64) -> Seen {
    let field = match says_so(case) {
        true => {
            "responses with status 4xx or 503, by which the server says that it counts requests"
        }
        false => "responses with status 4xx or 503",
    };
    let sentence = format!(
        "the server refuses {} of the requests, and lets {}/s through",
        percent(share),
        show_count(case.point.rate)
    );
    Seen::default().saying(sentence).with(
        Family::HardCounter,
        "client",
        ("engine", ["status"]),
        field,
        format!("{}, {}", refused(case), percent(share)),
        "over 5 %",
    )
}

/// Share of the responses that are refusals, if there are many of them but not only refusals.
fn refused_share(case: &Case<'_>) -> Option<f64> {
    let responses: u64 = case.point.status.values().sum();
    let share = refused(case) as f64 / responses.max(1) as f64;
    REFUSED.contains(&share).then_some(share)
}

/// Share of the responses that are refusals, if they may be what limits the good ones: refusals are
/// most of the work, or something counts the good responses.
pub(crate) fn refused_beside(case: &Case<'_>) -> Option<f64> {
    let share = refused_share(case)?;
    let is_even = unevenness(case, share).is_some_and(|uneven| uneven <= UNEVEN_MAX);
    (share >= MOST || is_even).then_some(share)
}

/// Whether it limits however late the generator is: the server says so, or something counts the
/// good responses.
pub(super) fn is_announced(case: &Case<'_>, _: &Seen) -> bool {
    says_so(case) || counts(case) || same_at_less_load(case).is_some()
}

/// Whether the server itself gives the reason for refusing: most refusals have status 429, or say
/// in a header that no request is left.
fn says_so(case: &Case<'_>) -> bool {
    let codes = case.point.status_codes.iter();
    let too_many = codes.filter(|(code, _)| call::http_of(code) == Some(429));
    let too_many: u64 = too_many.map(|(_, count)| *count).sum();
    refused_share(case).is_some() && 2 * too_many > refused(case) || refusal(case, has_none_left)
}

/// Whether a refusal says so in its head.
fn refusal(case: &Case<'_>, says: fn(&ResponseSample) -> bool) -> bool {
    let is_refusal = |sample: &&ResponseSample| matches!(sample.status, 429 | 503);
    let mut refusals = case.point.samples.iter().filter(is_refusal);
    refused_share(case).is_some() && refusals.any(says)
}

/// Whether no request is left of a number that is counted. Services that count do so in every
/// response, so the header alone says nothing. Source: draft-ietf-httpapi-ratelimit-headers and its
/// forerunners; Envoy's `x-envoy-ratelimited` is in refusals only.
fn has_none_left(sample: &ResponseSample) -> bool {
    let remaining = ["ratelimit-remaining", "x-ratelimit-remaining", "x-rate-limit-remaining"];
    let is_zero = |value: &str| value.trim() == "0";
    let is_spent = |part: &str| {
        part.split_once('=')
            .is_some_and(|(key, value)| matches!(key.trim(), "remaining" | "r") && is_zero(value))
    };
    remaining.iter().any(|name| sample.header(name).is_some_and(is_zero))
        || sample.header("ratelimit").is_some_and(|value| value.split([',', ';']).any(is_spent))
        || sample.header("x-envoy-ratelimited").is_some()
}

/// Whether it asks to come back later, as a server that is full does too: RFC 9110 section 10.2.3,
/// and Envoy's own.
fn asks_to_wait(sample: &ResponseSample) -> bool {
    ["retry-after", "x-envoy-overloaded"].iter().any(|name| sample.header(name).is_some())
}

/// Whether chance alone did not choose which requests are refused: good responses arrive at least
/// twice as evenly as that would be, or in bursts, as from a limiter that lets so many through in
/// each period.
fn is_no_chance(case: &Case<'_>) -> bool {
    let uneven = refused_share(case).and_then(|share| unevenness(case, share));
    uneven.is_some_and(|uneven| uneven <= UNEVEN_MAX || uneven >= 1.0 / UNEVEN_MAX)
}

/// The rate of good responses was the same at half the load, where the server refused as well and
/// used less CPU time: neither more CPU nor more load raises it.
fn same_at_less_load(case: &Case<'_>) -> Option<Seen> {
    let (share, cpus) = (refused_share(case)?, case.point.cpu.server_cpus?);
    let is_it = |light: &&&Point| {
        let of_light = Case { point: light, ..*case };
        let is_same = (light.rate / case.point.rate - 1.0).abs() <= SAME;
        let is_idler = light.cpu.server_cpus.is_some_and(|used| used <= LESS_CPU * cpus);
        light.load_size() * 2 <= case.point.load_size()
            && refused_share(&of_light).is_some()
            && is_same
            && is_idler
    };
    let light = case.ramp.iter().find(is_it)?;
    let seen = seen_refusals(case, share).with(
        Family::RampShape,
        "client",
        ("ramp", ["rate"]),
        &format!("good responses at {} in flight, and here", light.load_size()),
        format!("{}/s; {}/s", show_count(light.rate), show_count(case.point.rate)),
        "the same within 5 %, at most 75 % of the CPU time there: something counts them",
    );
    Some(seen)
}

/// Rates of good responses that differ by no more than this are the same.
const SAME: f64 = 0.05;
/// CPU time of a server that is not full, over that at twice the load.
const LESS_CPU: f64 = 0.75;

/// Whether something counts the good responses: they arrive evenly, which a late generator does not
/// cause, and most of the time the server that refuses the others holds no good request.
fn counts(case: &Case<'_>) -> bool {
    let latency_ns = case.point.latency_good_ns.as_ref().and_then(|good| good.mean);
    let in_flight = latency_ns.map(|mean_ns| mean_ns as f64 / 1e9 * case.point.rate);
    in_flight.is_some_and(|good| good < GOOD_IN_FLIGHT_MAX) && refusing(case).is_some()
}

/// The evidence of a limiter that says so itself.
fn announced(case: &Case<'_>) -> Option<Seen> {
    let share = refused_share(case)?;
    let seen = seen_refusals(case, share);
    let uneven = unevenness(case, share).filter(|uneven| *uneven <= UNEVEN_MAX);
    Some(uneven.map_or(seen.clone(), |uneven| with_evenness(case, seen, uneven)))
}

/// Variance of the good responses per tenth of a second over the variance left by chance that
/// refuses this share of a steady stream. Nothing if there are too few good responses.
fn unevenness(case: &Case<'_>, share: f64) -> Option<f64> {
    let tenths = &case.point.per_100ms;
    let whole = &tenths[..tenths.len().saturating_sub(1)];
    let counts: Vec<f64> = whole.iter().map(|count| *count as f64).collect();
    let (mean, variance) = (stats::mean(&counts)?, stats::variance(&counts)?);
    let by_chance = mean * share;
    (mean >= GOOD_MIN).then(|| variance / by_chance.max(f64::MIN_POSITIVE))
}

fn with_evenness(case: &Case<'_>, seen: Seen, uneven: f64) -> Seen {
    seen.with(
        Family::RampShape,
        "client",
        ("engine", ["rate"]),
        &format!(
            "variance of good responses per tenth of a second over chance, at {}/s",
            show_count(case.point.rate)
        ),
        format!("{uneven:.2}"),
        "under 0.5: something counts them",
    )
}

fn refusing(case: &Case<'_>) -> Option<Seen> {
    let share = refused_share(case)?;
    let uneven = unevenness(case, share)?;
    let is_one_target = case.point.targets.iter().any(|target| {
        let (refused, all) = refusals(&target.status);
        refused as f64 > CONCENTRATED * share * all as f64
    });
    if uneven > UNEVEN_MAX || is_one_target {
        return None;
    }
    Some(with_evenness(case, seen_refusals(case, share), uneven))
}

/// Responses that refuse. A server that says 500, 502 or 504 has failed; it has not refused.
fn refused(case: &Case<'_>) -> u64 {
    let (all, _) = refusals(&case.point.status);
    let codes = case.point.error_codes.iter();
    let is_of_server = |code: u16| (500..600).contains(&code) && code != 503;
    let failed = codes.filter(|(code, _)| call::http_of(code).is_some_and(is_of_server));
    let failed: u64 = failed.map(|(_, count)| *count).sum();
    all.saturating_sub(case.point.called_good()).saturating_sub(failed)
}

/// Responses with status 4xx or 5xx, and all responses.
fn refusals(status: &BTreeMap<String, u64>) -> (u64, u64) {
    let class = |name: &str| status.get(name).copied().unwrap_or(0);
    (class("4xx") + class("5xx"), status.values().sum())
}

/// The requests that a limiter puts to sleep, whatever else is busy.
pub(super) fn held(case: &Case<'_>, waiting: &Waiting) -> Option<Seen> {
    let asleep = waiting.threads(Doing::Timer);
    let held = asleep / (waiting.in_flight - waiting.unread).max(0.5);
    let explained = asleep_at_light_load(case, asleep)?;
    let is_flat = case.still_grows() == Some(false);
    if storage::is_always_used(waiting) {
        return None;
    }
    if !is_flat || asleep < 0.5 || held < HELD_MIN || explained >= EXPLAINED_MIN {
        return None;
    }
    let seen = waiting
        .seen(
            ("syscall", ["server_threads_now"]),
            "threads in a timed sleep on average",
            asleep,
            "over 70 % of the requests the server has read",
        )
        .with(
            Family::RampShape,
            "client",
            ("ramp", ["latency_ns"]),
            "request duration at light load, as part of that sleep",
            percent(explained),
            "under 50 %: requests sleep only when there are many",
        );
    let seen = seen.saying(format!(
        "the server puts requests to sleep when there are many: {asleep:.1} of {:.1} in flight, \
         at {}/s",
        waiting.in_flight,
        show_count(case.point.rate)
    ));
    Some(seen)
}

#[cfg(test)]
pub(super) mod tests {
    use crate::case::Case;
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use model::histogram::Summary;
    use model::reading::Doing;
    use model::run::TargetResult;
    use model::sample::ResponseSample;

    pub const SIGNS: Signs = Signs {
        shown: |scene| scene.fixture.refuse(0.3),
        without: &[
            ("refusals", |scene| {
                scene.fixture.point.status.insert("4xx".to_string(), 0);
            }),
            ("even responses", |scene| {
                for (at, tenth) in scene.fixture.point.per_100ms.iter_mut().enumerate() {
                    *tenth = *tenth + at as u64 % 2 * 30 - 15;
                }
            }),
            ("a watched server", |scene| scene.fixture.unwatched()),
        ],
    };

    /// A tenth of the responses refused, good ones at an even rate.
    fn refusing() -> Fixture {
        let mut fixture = Fixture::good();
        fixture.refuse(0.3);
        fixture
    }

    #[test]
    fn good_responses_among_refusals_are_seen() {
        let mut fixture = refusing();
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.families(), 2);
        for (at, tenth) in fixture.point.per_100ms.iter_mut().enumerate() {
            *tenth = *tenth + (at as u64 * 7919) % 31 - 15;
        }
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "M4: chance refuses");
        for failure in ["500", "INTERNAL"] {
            let mut fixture = refusing();
            let failed = fixture.point.requests.failed;
            fixture.point.status_codes = [(failure.to_string(), failed)].into();
            fixture.point.error_codes = fixture.point.status_codes.clone();
            assert_eq!(super::test(&fixture.case()), Test::NotSeen, "every third fails: {failure}");
        }
        let mut fixture = refusing();
        fixture.refuse(0.01);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "a few errors");
        fixture.refuse(1.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "M4: a wrong path");
        let mut fixture = refusing();
        fixture.server_thread(0.97, 0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "a hot server");
    }

    #[test]
    fn good_responses_that_something_counts_are_seen_beside_a_busy_server() {
        let mut fixture = refusing();
        fixture.refuse(0.8);
        fixture.server_thread(0.97, 0.0);
        fixture.worker(0.99, 0.0);
        let good = |mean_ns| Some(Summary { mean: Some(mean_ns), ..Summary::default() });
        fixture.point.latency_good_ns = good(1_000_000);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.findings[2].evidence.value, "0.20");
        fixture.point.latency_good_ns = good(10_000_000);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "it may be full of two requests");
        fixture.point.latency_good_ns = good(1_000_000);
        for tenth in fixture.point.per_100ms.iter_mut().step_by(2) {
            *tenth = 0;
        }
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "M4: not even");
    }

    #[test]
    fn a_server_that_is_busy_refusing_too_many_requests_has_a_limiter() {
        let mut fixture = refusing();
        fixture.server_thread(0.97, 0.0);
        fixture.worker(0.99, 0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "it may shed load");
        let refused = fixture.point.requests.failed;
        for refusal in ["RESOURCE_EXHAUSTED", "429"] {
            fixture.point.status_codes = [(refusal.to_string(), refused)].into();
            fixture.point.error_codes = [(refusal.to_string(), refused)].into();
            assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "{refusal}");
        }
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.families(), 2);
        fixture.point.per_100ms[3] = 0;
        fixture.point.per_100ms[4] *= 9;
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.families(), 1, "it counts per second, or per minute");
        fixture.refuse(0.998);
        let refused = fixture.point.requests.failed;
        fixture.point.status_codes = [("429".to_string(), refused)].into();
        fixture.point.error_codes = fixture.point.status_codes.clone();
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "it refuses fast");
    }

    /// A sample of a response with this status and header.
    fn sample(status: u16, header: &str) -> ResponseSample {
        serde_json::from_value(serde_json::json!({
            "status": status, "head": [format!("HTTP/1.1 {status}"), header], "bytes": 60,
        }))
        .unwrap()
    }

    #[test]
    fn a_header_that_counts_requests_names_the_limiter() {
        let uneven = |fixture: &mut Fixture| {
            for tenth in fixture.point.per_100ms.iter_mut().step_by(10) {
                *tenth *= 9;
            }
        };
        let mut fixture = refusing();
        uneven(&mut fixture);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "it refills once a second");
        for (header, is_seen, is_beside_a_full_server) in [
            ("X-RateLimit-Remaining: 0", true, true),
            ("X-RateLimit-Remaining: 7", false, false),
            ("X-RateLimit-Limit: 500", false, false),
            ("RateLimit: limit=500, remaining=0, reset=1", true, true),
            ("RateLimit: \"default\";r=0;t=1", true, true),
            ("RateLimit: limit=500, remaining=20", false, false),
            ("x-envoy-ratelimited: true", true, true),
            ("Retry-After: 1", true, false),
            ("x-envoy-overloaded: true", true, false),
            ("Server: nginx", false, false),
        ] {
            fixture.point.samples = vec![sample(503, header)];
            let seen = |fixture: &Fixture| matches!(super::test(&fixture.case()), Test::Seen(_));
            assert_eq!(seen(&fixture), is_seen, "{header}");
            fixture.server_thread(0.97, 0.0);
            assert_eq!(seen(&fixture), is_beside_a_full_server, "{header}, a full server");
            fixture.server_thread(0.3, 0.0);
        }
        fixture.point.samples = vec![sample(503, "Retry-After: 1")];
        fixture.point.per_100ms = refusing().point.per_100ms;
        for (at, tenth) in fixture.point.per_100ms.iter_mut().enumerate() {
            *tenth = *tenth + (at as u64 * 7919) % 19 - 9;
        }
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "chance refuses: a part is down");
    }

    #[test]
    fn as_many_good_responses_from_half_the_load_and_less_cpu_are_counted() {
        let mut fixture = refusing();
        fixture.refuse(0.8);
        fixture.server_thread(0.97, 0.0);
        fixture.point.cpu.server_cpus = Some(0.97);
        let mut light = fixture.point.clone();
        light.load.connections /= 2;
        let test = |light: &model::run::Point| {
            let ramp = [light, &fixture.point];
            super::test(&Case { ramp: &ramp, ..fixture.case() })
        };
        assert_eq!(test(&light), Test::NotSeen, "as full at half the load");
        light.cpu.server_cpus = Some(0.5);
        assert!(matches!(test(&light), Test::Seen(_)));
        light.rate *= 1.2;
        assert_eq!(test(&light), Test::NotSeen, "refusing costs it good responses");
    }

    #[test]
    fn a_wrong_path_in_a_mix_is_no_limiter() {
        let mut fixture = refusing();
        let target = |good: u64, refused: u64| {
            let status = [("2xx".to_string(), good), ("4xx".to_string(), refused)];
            TargetResult { status: status.into(), ..TargetResult::default() }
        };
        fixture.point.targets = vec![target(700, 0), target(0, 300)];
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "M4");
        fixture.point.targets = vec![target(490, 210), target(210, 90)];
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "all take as long");
    }

    #[test]
    fn sleep_that_comes_with_load_is_seen_over_a_ramp() {
        let mut fixture = Fixture::good();
        fixture.worker(0.05, 0.0);
        let sleepers: Vec<_> = (1..=8).map(|tid| (tid, 0.01, Doing::Timer, None)).collect();
        fixture.doing(&sleepers);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "one load: C3");
        let test = |light_ns, light_rate| {
            let mut light = Fixture::point(4, light_rate);
            light.service_ns.mean = Some(light_ns);
            let ramp = [&light, &fixture.point];
            super::test(&Case { ramp: &ramp, ..fixture.case() })
        };
        assert!(matches!(test(1_000_000, 990.0), Test::Seen(_)));
        assert_eq!(test(7_900_000, 990.0), Test::NotSeen, "A2: a request alone sleeps as long");
        assert_eq!(test(1_000_000, 500.0), Test::NotSeen, "C3: the rate follows the load");
    }

    #[test]
    fn an_unwatched_server_leaves_it_untested() {
        let mut fixture = refusing();
        fixture.unwatched();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
