//! C4: the generator does not send its requests when they are due, or stands still while responses
//! wait for it.
//!
//! Signals: generator delay of each request (sent minus due, without the wait for a free slot), how
//! long responses may have waited unread in the generator, time the workers waited for a CPU.
//! Rule: the generator delay moves a figure that the run is about. The median or p99 differs by
//! over 5 % and 50 us from the bound on what a punctual generator would have seen. With an
//! objective, one of its percentiles differs as much, and the objective holds for only one of the
//! two values: a search whose objective holds for both was not limited by the generator. In closed
//! loop the next request also waits for the generator, so there the mean must differ, because the
//! same number in flight at a lower latency gives a higher rate (Little's law). A generator without
//! CPU time (C1, C2) is full, and that wall is named instead.
//! In open loop at least half as many requests must be that late as exceed the figure: the bound is
//! for the worst case, and beside a stall of the target a handful of them seems to move it. Without
//! an objective about times over 1 % of the planned requests must be unsent: where all were sent
//! and the rate is the asked one, the delay limits nothing, and the figure has two bounds.
//! Mimics: a neighbour on the generator's CPUs, a throttled group (the verdict also names them if
//! it has evidence of them).
//! Confirm: a lower rate, more threads or a second host makes the generator delay collapse.
//! Source: G. Tene, How NOT to Measure Latency; Nighthawk's and fortio's counters of late sends.
//! Name: client late
//! Reason: the generator sent requests late
//! Fix: give the generator CPUs of its own (--cpus, -t) or a second host

use super::{Family, Seen, Test, client_neighbours};
use crate::case::{Case, percent};
use crate::gates::release::{self, Moved};
use figures::Value;
use model::figure::Figure;
use model::histogram::Summary;
use model::objective::Term;
use model::punctual::is_moved;
use model::units::{show_count, show_ns};

/// Whether the generator can be late: something is planned, or its stalls were counted.
fn is_about_time(case: &Case<'_>) -> bool {
    case.is_open() || case.point.unseen_ns.is_some()
}

/// The figure that the generator delay moved, if so many requests were late.
fn moved_by_delay(case: &Case<'_>) -> Option<Moved> {
    let moved = moved_asked(case).filter(|_| is_about_time(case));
    moved.filter(|moved| !case.is_open() || is_late_enough(case, *moved))
}

/// The figure that the generator delay moved, where that limited what was asked for.
fn limiting(case: &Case<'_>) -> Option<Moved> {
    moved_by_delay(case).filter(|_| limits(case))
}

/// Whether the generator was so late that it limited what was asked for.
pub(crate) fn limited(case: &Case<'_>) -> bool {
    case.point.latency_ns.count > 0 && limiting(case).is_some()
}

pub fn test(case: &Case<'_>) -> Test {
    if !is_about_time(case) {
        return Test::NotSeen;
    }
    if case.point.latency_ns.count == 0 {
        return Test::Untested;
    }
    let is_of_others = client_neighbours::is_seen(case);
    let Some(moved) = limiting(case).filter(|_| !is_of_others) else { return Test::NotSeen };
    let (low, high) = (show_ns(moved.low_ns as f64), show_ns(moved.known_ns as f64));
    let by = show_ns((moved.known_ns - moved.low_ns) as f64);
    let mut seen = Seen::default().with(
        Family::QueueLocation,
        "client",
        ("engine", ["latency_ns"]),
        &format!("{} with and without the generator delay", moved.figure.name()),
        format!("{low} to {high}: moved by up to {by}"),
        "over 5 % and 50 us apart",
    );
    seen = seen.saying(format!(
        "the generator was late: without its own delay {} would be {low}, and not {high}",
        moved.figure.name()
    ));
    if let Some(hottest) = case.hottest_worker() {
        let (run, waited) = (percent(hottest.run), percent(hottest.wanted() - hottest.run));
        seen = seen.with(
            Family::ThreadStates,
            "client",
            ("schedstat", ["client_threads"]),
            &format!("{} ran {run} of the time, and waited for a CPU", hottest.name),
            waited,
            "any wait for a CPU delays requests",
        );
    }
    let next = "give the generator dedicated CPUs (--cpus, -t) or a second host".to_string();
    let Some(rate) = case.point.load.rate else {
        return Test::Seen(could_be(case, seen, moved).fixed_by(next));
    };
    let lower = show_count(rate / 2.0);
    Test::Seen(seen.fixed_by(format!("{next}, or lower the rate (-R {lower})")))
}

/// Whether the delay of the generator limited what was asked for: in open loop, an objective about
/// times is undecided for it, or planned requests were not sent. Where all were sent, it only
/// leaves two bounds of a figure.
fn limits(case: &Case<'_>) -> bool {
    let requests = &case.point.requests;
    let planned = requests.planned.unwrap_or(requests.sent).max(1) as f64;
    let unsent = requests.unsent + requests.unaccounted;
    !case.is_open() || latency_terms(case).next().is_some() || unsent as f64 > UNSENT_MAX * planned
}

/// Share of the planned requests that may be missing from a rate that is still the asked one.
const UNSENT_MAX: f64 = 0.01;

/// The terms of the objective that bound a latency.
fn latency_terms<'a>(case: &Case<'a>) -> impl Iterator<Item = &'a Term> {
    let terms = case.trial.expect.as_ref().map(|expect| expect.terms()).unwrap_or_default();
    terms.iter().filter(|term| term.figure.is_latency())
}

/// Whether enough requests were late to be what moved a figure: half as many as exceed it. The
/// bound of the gate is for the worst case. Where a target stalls, nothing lies between fast
/// responses and requests that still wait, so that a handful of late requests seem to move a rank
/// there by much.
fn is_late_enough(case: &Case<'_>, moved: Moved) -> bool {
    let point = case.point;
    let (Some(late), Some((above, share))) = (&point.generator_delay_ns, half_above(moved.figure))
    else {
        return true;
    };
    let matters = |late_ns: u64| is_moved(moved.known_ns.saturating_sub(late_ns), moved.known_ns);
    let is_late = late.of(above).or(late.max).is_some_and(matters);
    let unseen = point.unseen_ns.as_ref().filter(|unseen| unseen.max.is_some_and(matters));
    let unseen = unseen.map_or(0, |unseen| unseen.count) as f64;
    let Summary { count, censored, .. } = point.latency_ns;
    is_late || unseen >= share * (count + censored).max(1) as f64
}

/// The percentile that about half as many requests exceed, and their share.
fn half_above(figure: Figure) -> Option<(Figure, f64)> {
    Some(match figure {
        Figure::P50 => (Figure::P75, 0.25),
        Figure::P75 => (Figure::P90, 0.125),
        Figure::P90 => (Figure::P95, 0.05),
        Figure::P95 => (Figure::P99, 0.025),
        Figure::P99 => (Figure::P99_9, 0.005),
        Figure::P99_9 => (Figure::P99_99, 0.0005),
        _ => return None,
    })
}

/// The most that a punctual generator with as many requests in flight would have reached.
fn could_be(case: &Case<'_>, seen: Seen, moved: Moved) -> Seen {
    if moved.figure != Figure::MEAN {
        return seen;
    }
    let rate = case.point.rate;
    let highest = rate * moved.known_ns as f64 / moved.low_ns.max(1) as f64;
    seen.with(
        Family::RampShape,
        "client",
        ("engine", ["latency_ns"]),
        "rate, and the most without the generator delay",
        format!("{}/s; {}/s", show_count(rate), show_count(highest)),
        "rate x mean latency = requests in flight",
    )
}

/// The figure that the generator delay moved.
fn moved_asked(case: &Case<'_>) -> Option<Moved> {
    let is_asked = latency_terms(case).next().is_some();
    let term = latency_terms(case).find_map(|term| {
        let is_open = |moved: &Moved| {
            let value = Value::between(moved.low_ns as f64, moved.known_ns as f64);
            value.holds(term.relation, term.bound).is_none()
        };
        release::moved(case.point).find(|moved| moved.figure == term.figure && is_open(moved))
    });
    let mean = || release::moved(case.point).find(|moved| moved.figure == Figure::MEAN);
    match (case.is_open(), is_asked) {
        (true, true) => term,
        (true, false) => release::moved_asked(case),
        (false, _) => term.or_else(mean),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::evidence_tests::Signs;
    use crate::walls::{CLIENT, Test};
    use model::histogram::Summary;
    use model::load::LoadModel;
    use model::run::Point;
    use model::wall::WallId;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            let point = &mut scene.fixture.point;
            point.load.model = LoadModel::Open;
            point.latency_punctual_ns = Some(Summary { p50: Some(0), ..Summary::default() });
            not_all_sent(point);
        },
        without: &[
            ("requests that were not sent", |scene| scene.fixture.point.requests.unsent = 0),
            ("late requests", |scene| {
                let point = &mut scene.fixture.point;
                point.latency_punctual_ns = Some(point.latency_ns.clone());
            }),
            ("a plan", |scene| scene.fixture.point.load.model = LoadModel::Closed),
        ],
    };

    /// Of ten planned requests one was not sent.
    fn not_all_sent(point: &mut Point) {
        point.requests.unsent = point.requests.sent / 9;
        point.requests.planned = Some(point.requests.sent + point.requests.unsent);
    }

    #[test]
    fn a_late_generator_is_seen_and_a_punctual_one_is_not() {
        let mut fixture = Fixture::good();
        fixture.check_gates();
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "closed loop");
        fixture.point.load.model = LoadModel::Open;
        not_all_sent(&mut fixture.point);
        let p50_ns = fixture.point.latency_ns.p50.unwrap();
        for (late_ns, is_seen) in [(p50_ns / 100, false), (p50_ns / 2, true)] {
            let low = Summary { p50: Some(p50_ns - late_ns), ..fixture.point.latency_ns.clone() };
            fixture.point.latency_punctual_ns = Some(low);
            fixture.check_gates();
            let test = super::test(&fixture.case());
            assert_eq!(matches!(test, Test::Seen(_)), is_seen, "{late_ns}");
        }
        fixture.point.requests.unsent = 0;
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "all were sent: p50 has bounds");
    }

    #[test]
    fn a_handful_of_late_requests_beside_a_stall_of_the_target_is_no_late_generator() {
        let mut fixture = Fixture::good();
        fixture.point.load.model = LoadModel::Open;
        not_all_sent(&mut fixture.point);
        let p50_ns = fixture.point.latency_ns.p50.unwrap();
        let low = Summary { p50: Some(p50_ns / 2), ..fixture.point.latency_ns.clone() };
        fixture.point.latency_punctual_ns = Some(low);
        let late = |p75_ns| Summary { p75: Some(p75_ns), max: Some(p50_ns), ..Summary::default() };
        for (p75_ns, is_seen) in [(1_000, false), (p50_ns / 2, true)] {
            fixture.point.generator_delay_ns = Some(late(p75_ns));
            let test = super::test(&fixture.case());
            assert_eq!(matches!(test, Test::Seen(_)), is_seen, "{p75_ns}");
        }
        fixture.point.generator_delay_ns = Some(late(1_000));
        let all = fixture.point.latency_ns.count;
        let unseen = Summary { count: all / 2, max: Some(p50_ns), ..Summary::default() };
        fixture.point.unseen_ns = Some(unseen);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "half were stamped late");
    }

    #[test]
    fn an_objective_that_is_met_either_way_was_not_limited_by_its_delay() {
        let mut fixture = Fixture::good();
        let p50_ns = fixture.point.latency_ns.p50.unwrap();
        fixture.point.load.model = LoadModel::Open;
        not_all_sent(&mut fixture.point);
        let low = Summary { p50: Some(p50_ns / 2), ..fixture.point.latency_ns.clone() };
        fixture.point.latency_punctual_ns = Some(low);
        for (bound_ns, is_seen) in [(p50_ns * 2, false), (p50_ns * 3 / 4, true), (1000, false)] {
            fixture.trial.expect = Some(format!("p50<{bound_ns}ns,errors<1%").parse().unwrap());
            let test = super::test(&fixture.case());
            assert_eq!(matches!(test, Test::Seen(_)), is_seen, "{bound_ns}");
        }
        fixture.trial.expect = Some("errors<1%".parse().unwrap());
        assert!(
            matches!(super::test(&fixture.case()), Test::Seen(_)),
            "the objective bounds no \
            latency"
        );
    }

    /// A closed loop of a generator that stood still now and then.
    fn halting(low: impl Fn(&mut Summary)) -> Fixture {
        let mut fixture = Fixture::good();
        let point = &mut fixture.point;
        point.unseen_ns = Some(Summary { max: Some(20_000_000), ..Summary::default() });
        let mut punctual = point.latency_ns.clone();
        low(&mut punctual);
        point.latency_punctual_ns = Some(punctual);
        fixture
    }

    #[test]
    fn in_closed_loop_the_mean_says_what_the_rate_could_be() {
        let halved = |value: &mut Option<u64>| *value = value.map(|known_ns| known_ns / 2);
        let tail = halting(|low| halved(&mut low.p99));
        assert_eq!(super::test(&tail.case()), Test::NotSeen, "the rate hardly moves");
        let mut fixture = halting(|low| halved(&mut low.mean));
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        let rates = &seen.findings.last().unwrap().evidence.value;
        let shown = |rate| format!("{}/s", model::units::show_count(rate));
        let rate = fixture.point.rate;
        assert_eq!(*rates, format!("{}; {}", shown(rate), shown(rate * 2.0)));
        assert!(!seen.fix.as_ref().unwrap().contains("-R"), "there is no rate to lower: {seen:?}");
        fixture.trial.threads = 1;
        fixture.worker(0.98, 0.01);
        let first = CLIENT.first_seen(&fixture.case()).map(|(wall, _)| wall);
        assert_eq!(first, Some(WallId::C2), "the generator is full");
    }
}
