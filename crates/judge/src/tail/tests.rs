//! Labelled draws: each cause is found where it made the requests slow, and none where nothing did.

use super::*;
use crate::fixture::Fixture;
use model::curve::{Curve, Leg};
use model::random::Random;
use model::run::{Fates, TargetResult};

const MS: u64 = NS_PER_MS;
/// Window of most draws.
const WINDOW_MS: u64 = 10_000;

/// A point whose slow requests were due at these instants, milliseconds, and took so long.
fn fixture(slow: &[(u64, u64)], window_ms: u64) -> Fixture {
    let mut fixture = Fixture::good();
    let each = slow.iter().enumerate().map(|(nth, (begin_ms, took_ms))| SlowRequest {
        planned_ns: begin_ms * MS,
        took_ns: took_ms * MS,
        connection: nth as u64 % 8,
        before: 100,
        ..SlowRequest::default()
    });
    let each: Vec<SlowRequest> = each.collect();
    let requests = each.len() as u64;
    let point = &mut fixture.point;
    point.window_ns = (7_000 * MS, (7_000 + window_ms) * MS);
    point.connections.requests_each.max = Some(requests * 100 / 8);
    point.connections.served = 8;
    let of = requests * 100;
    point.slowest = Some(Slowest { of, requests, at_least_ns: 20 * MS, each });
    let everything = OF_SERVER.into_iter().chain([TailCause::Resent]);
    fixture.observed.lost = everything.map(|cause| (cause, Vec::new())).collect();
    fixture
}

/// Readings every so many milliseconds, in each of which a part of these events was lost: from,
/// for how long.
fn readings(every_ms: u64, events: &[(u64, u64)], window_ms: u64) -> Vec<Span> {
    let span = |nth: u64| {
        let (begin_ms, end_ms) = (nth * every_ms, (nth + 1) * every_ms);
        let inside = |(from_ms, for_ms): &(u64, u64)| {
            (from_ms + for_ms).min(end_ms).saturating_sub((*from_ms).max(begin_ms))
        };
        let lost_ms: u64 = events.iter().map(inside).sum();
        let at = |ms: u64| (7_000 + ms) * MS;
        Span { begin_ns: at(begin_ms), end_ns: at(end_ms), lost_ns: lost_ms * MS }
    };
    (0..window_ms / every_ms).map(span).filter(|span| span.lost_ns > 0).collect()
}

/// Events at random instants, from 60 to 120 ms long and at least 250 ms apart.
fn events(random: &mut Random, often_ms: u64, window_ms: u64) -> Vec<(u64, u64)> {
    let mut at_ms = random.between(0, often_ms);
    let mut events = Vec::new();
    while at_ms + 200 < window_ms {
        let for_ms = random.between(60, 120);
        events.push((at_ms, for_ms));
        at_ms += for_ms + 250 + random.between(0, often_ms);
    }
    events
}

/// Requests that wait for these events to end, some for each.
fn waiting(random: &mut Random, events: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut slow = Vec::new();
    for (at_ms, for_ms) in events {
        for _ in 0..random.between(3, 9) {
            let after_ms = random.between(0, for_ms / 3);
            slow.push((at_ms + after_ms, for_ms - after_ms + random.between(0, 5)));
        }
    }
    slow.sort_unstable();
    slow
}

/// Slow requests at any instants, some close together.
fn anywhere(random: &mut Random) -> Vec<(u64, u64)> {
    let mut slow = Vec::new();
    while slow.len() < 60 {
        let at_ms = random.between(0, WINDOW_MS - 200);
        for _ in 0..random.between(1, 8) {
            slow.push((at_ms + random.between(0, 30), random.between(30, 120)));
        }
    }
    slow.sort_unstable();
    slow
}

fn named(fixture: &Fixture) -> Vec<TailCause> {
    let tail = of(&fixture.case()).unwrap();
    assert_eq!(tail.unknown, None);
    tail.causes.iter().map(|share| share.cause).collect()
}

/// How often a source is read.
fn every_ms(cause: TailCause) -> u64 {
    match cause {
        TailCause::Throttled | TailCause::Resent => 200,
        TailCause::Memory => 500,
        TailCause::Storage => 1000,
        _ => 100,
    }
}

#[test]
fn each_cause_is_found_where_requests_waited_for_it() {
    for cause in OF_SERVER.into_iter().chain([TailCause::Resent]) {
        let (mut right, mut others) = (0, 0);
        for seed in 0..8 {
            let mut random = Random::new(seed, cause as u64);
            // A source that is read less often tells of rarer events, in a longer window.
            let slowly = every_ms(cause) / 100;
            let window_ms = WINDOW_MS * slowly.min(4);
            let events = events(&mut random, 300 * slowly, window_ms);
            let mut fixture = fixture(&waiting(&mut random, &events), window_ms);
            fixture.observed.lost.insert(cause, readings(every_ms(cause), &events, window_ms));
            match named(&fixture)[..] {
                [found] if found == cause => right += 1,
                [] => {}
                _ => others += 1,
            }
        }
        assert!(right >= 7 && others == 0, "{cause:?}: {right} of 8, {others} others");
    }
}

/// The server resends so often that it could have done so for any request; the generator only for
/// these.
#[test]
fn what_one_side_resent_is_not_hidden_by_what_the_other_did() {
    let mut random = Random::new(5, 5);
    let events = events(&mut random, 900, 2 * WINDOW_MS);
    let mut fixture = fixture(&waiting(&mut random, &events), 2 * WINDOW_MS);
    fixture.apart();
    let often: Vec<_> = (0..2 * WINDOW_MS / 200).map(|nth| (nth * 200 + 100, 10)).collect();
    for (own, resent) in [(&events, &often), (&often, &events)] {
        fixture.observed.lost.insert(TailCause::Resent, readings(200, own, 2 * WINDOW_MS));
        fixture.far().lost.insert(TailCause::Resent, readings(200, resent, 2 * WINDOW_MS));
        assert_eq!(named(&fixture), [TailCause::Resent]);
    }
}

#[test]
fn nothing_is_named_where_slow_requests_come_at_other_times() {
    for seed in 0..40 {
        let mut random = Random::new(seed, 77);
        let mut fixture = fixture(&anywhere(&mut random), WINDOW_MS);
        for cause in OF_SERVER.into_iter().chain([TailCause::Resent]) {
            let events = events(&mut random, 200 + 100 * (seed % 9), WINDOW_MS);
            fixture.observed.lost.insert(cause, readings(every_ms(cause), &events, WINDOW_MS));
        }
        assert_eq!(named(&fixture), [], "seed {seed}");
    }
}

#[test]
fn what_is_always_there_is_not_named() {
    let mut random = Random::new(1, 2);
    let events = events(&mut random, 300, WINDOW_MS);
    let mut fixture = fixture(&waiting(&mut random, &events), WINDOW_MS);
    fixture.observed.lost.insert(TailCause::RunQueue, readings(100, &[(0, WINDOW_MS)], WINDOW_MS));
    assert_eq!(named(&fixture), []);
    let tail = of(&fixture.case()).unwrap();
    assert_eq!(tail.unexplained, Some(1.0));
}

#[test]
fn two_causes_share_the_requests_and_the_rest_is_unexplained() {
    let mut random = Random::new(5, 2);
    let all = events(&mut random, 100, WINDOW_MS);
    let third = |nth: usize| all.iter().copied().skip(nth).step_by(3).collect::<Vec<_>>();
    let mut fixture = fixture(&waiting(&mut random, &all), WINDOW_MS);
    fixture.observed.lost.insert(TailCause::Throttled, readings(100, &third(0), WINDOW_MS));
    fixture.observed.lost.insert(TailCause::Stolen, readings(100, &third(1), WINDOW_MS));
    let tail = of(&fixture.case()).unwrap();
    let mut causes: Vec<_> = tail.causes.iter().map(|share| share.cause).collect();
    causes.sort();
    assert_eq!(causes, [TailCause::Throttled, TailCause::Stolen]);
    let shares: f64 = tail.causes.iter().map(|share| share.share).sum();
    let unexplained = tail.unexplained.unwrap();
    assert!((shares + unexplained - 1.0).abs() < 1e-9 && (0.1..0.6).contains(&unexplained));
    let throttled = tail.causes.iter().find(|share| share.cause == TailCause::Throttled).unwrap();
    assert_eq!(throttled.wall.as_deref(), Some("S3"));
    assert_eq!(throttled.events as usize, throttled.times_ns.len());
}

#[test]
fn time_that_the_generator_lost_is_not_the_servers() {
    let mut random = Random::new(5, 2);
    let events = events(&mut random, 300, WINDOW_MS);
    let mut fixture = fixture(&waiting(&mut random, &events), WINDOW_MS);
    fixture.observed.lost.insert(TailCause::Stolen, readings(100, &events, WINDOW_MS));
    let own = |fixture: &mut Fixture, share: f64| {
        for slow in &mut fixture.point.slowest.as_mut().unwrap().each {
            slow.own_ns = (slow.took_ns as f64 * share) as u64;
        }
    };
    own(&mut fixture, 0.9);
    assert_eq!(named(&fixture), [TailCause::Generator]);
    own(&mut fixture, 0.2);
    assert_eq!(named(&fixture), [TailCause::Stolen]);
}

/// A third of the slowest hundredth met a pause of the generator, but almost as many other requests
/// were as slow: the percentile would be where it is.
#[test]
fn pauses_that_leave_the_percentile_where_it_is_are_no_cause() {
    let all = |faster_ms: u64| {
        let slow: Vec<(u64, u64)> = (0..60)
            .flat_map(|nth| {
                let at_ms = nth * 150;
                std::iter::once((at_ms, 40)).chain((1..5).map(move |n| (at_ms + n, faster_ms)))
            })
            .collect();
        let mut fixture = fixture(&slow, WINDOW_MS);
        let slowest = fixture.point.slowest.as_mut().unwrap();
        slowest.of = slowest.requests * 20;
        slowest.at_least_ns = faster_ms * MS;
        for slow in slowest.each.iter_mut().step_by(15) {
            slow.own_ns = 35 * MS;
        }
        fixture
    };
    assert_eq!(named(&all(39)), []);
    assert_eq!(named(&all(10)), [TailCause::Generator]);
    // Also where a third of the slowest twentieth met one.
    let mut many = all(39);
    for slow in many.point.slowest.as_mut().unwrap().each.iter_mut().step_by(3) {
        slow.own_ns = 35 * MS;
    }
    assert_eq!(named(&many), []);
}

/// Where only the slowest are kept, the known percentiles say what would take their place.
#[test]
fn of_very_many_requests_the_percentiles_say_what_pauses_moved() {
    let mut fixture = fixture(&(0..60).map(|nth| (nth * 150, 40)).collect::<Vec<_>>(), WINDOW_MS);
    let slowest = fixture.point.slowest.as_mut().unwrap();
    (slowest.of, slowest.at_least_ns) = (slowest.requests * 1000, 40 * MS);
    slowest.each.iter_mut().step_by(3).for_each(|slow| slow.own_ns = 35 * MS);
    fixture.point.latency_good_ns.as_mut().unwrap().p99 = Some(39 * MS);
    assert_eq!(named(&fixture), []);
    fixture.point.latency_good_ns.as_mut().unwrap().p99 = Some(20 * MS);
    assert_eq!(named(&fixture), [TailCause::Generator]);
    // Of the slowest hundredth a third more lies beyond p99: p95 is known.
    let slowest = fixture.point.slowest.as_mut().unwrap();
    slowest.of = slowest.requests * 100;
    let latency = fixture.point.latency_good_ns.as_mut().unwrap();
    (latency.p99, latency.p95) = (Some(40 * MS), Some(20 * MS));
    assert_eq!(named(&fixture), [TailCause::Generator]);
    fixture.point.latency_good_ns.as_mut().unwrap().p95 = Some(39 * MS);
    assert_eq!(named(&fixture), []);
}

#[test]
fn one_target_one_connection_and_new_connections_are_told_by_counts() {
    let mut random = Random::new(9, 2);
    let slow = anywhere(&mut random);
    let with = |change: &dyn Fn(usize, &mut SlowRequest)| {
        let mut fixture = fixture(&slow, WINDOW_MS);
        let target = |completed| TargetResult {
            requests: Fates { completed, ..Fates::default() },
            ..TargetResult::default()
        };
        fixture.point.targets = vec![target(900), target(100)];
        let each = &mut fixture.point.slowest.as_mut().unwrap().each;
        each.iter_mut().enumerate().for_each(|(nth, slow)| change(nth, slow));
        named(&fixture)
    };
    assert_eq!(with(&|nth, slow| slow.target = u32::from(nth % 10 == 0)), []);
    assert_eq!(with(&|nth, slow| slow.target = u32::from(nth % 3 > 0)), [TailCause::Target]);
    assert_eq!(with(&|nth, slow| slow.connection = nth as u64 % 8), []);
    let of_one =
        |nth: usize, slow: &mut SlowRequest| slow.connection = nth as u64 % 8 * (nth as u64 % 2);
    assert_eq!(with(&of_one), [TailCause::Connection]);
    let first = |nth: usize, slow: &mut SlowRequest| slow.before = nth as u64 % 2;
    assert_eq!(with(&first), [TailCause::NewConnection]);
}

#[test]
fn too_few_requests_have_no_verdict_and_what_was_not_read_is_said() {
    let mut random = Random::new(9, 2);
    let mut fixture = fixture(&anywhere(&mut random), WINDOW_MS);
    fixture.point.slowest.as_mut().unwrap().of = 999;
    let tail = of(&fixture.case()).unwrap();
    assert!(tail.unknown.is_some() && tail.unexplained.is_none() && tail.causes.is_empty());
    fixture.point.slowest.as_mut().unwrap().of = 6000;
    fixture.unwatched();
    fixture.observed.lost.remove(&TailCause::Throttled);
    let tail = of(&fixture.case()).unwrap();
    let [unread] = &tail.unreadable[..] else { panic!("{:?}", tail.unreadable) };
    assert_eq!(unread.causes, [TailCause::Throttled]);
    assert!(unread.why.contains("not watched"), "{}", unread.why);
    fixture.point.slowest = None;
    assert_eq!(of(&fixture.case()), None);
}

#[test]
fn what_may_be_chance_is_told_as_such() {
    let mut random = Random::new(3, 2);
    let events = &events(&mut random, 700, WINDOW_MS)[..3];
    let mut fixture = fixture(&waiting(&mut random, events), WINDOW_MS);
    fixture.observed.lost.insert(TailCause::Throttled, readings(200, events, WINDOW_MS));
    let tail = of(&fixture.case()).unwrap();
    assert_eq!((tail.causes.len(), tail.unexplained), (0, Some(1.0)));
    assert_eq!(
        tail.unsure.map(|share| (share.cause, share.events)),
        Some((TailCause::Throttled, 3))
    );
}

/// In open loop most of the slowest hundredth met the longest pause: the twentieth met them all.
#[test]
fn pauses_of_different_lengths_are_told_by_more_requests() {
    let mut random = Random::new(4, 2);
    let events: Vec<(u64, u64)> =
        events(&mut random, 500, WINDOW_MS).iter().map(|(at_ms, _)| (*at_ms, 80)).collect();
    let long = (events[3].0, 200);
    let events: Vec<(u64, u64)> =
        events.into_iter().map(|one| if one.0 == long.0 { long } else { one }).collect();
    let mut slow: Vec<(u64, u64)> =
        (0..20).map(|nth| (long.0 + nth, 200 - nth)).chain(waiting(&mut random, &events)).collect();
    slow.sort_unstable();
    let mut fixture = fixture(&slow, WINDOW_MS);
    fixture.observed.lost.insert(TailCause::Throttled, readings(200, &events, WINDOW_MS));
    let slowest = fixture.point.slowest.as_mut().unwrap();
    slowest.of = slowest.requests * 20 + 19;
    let tail = of(&fixture.case()).unwrap();
    assert_eq!(named(&fixture), [TailCause::Throttled]);
    assert!((tail.quantile.unwrap() - 0.95).abs() < 0.005, "{:?}", tail.quantile);
}

#[test]
fn the_slowest_thousandth_may_have_another_cause() {
    let window_ms = 4 * WINDOW_MS;
    for seed in 0..3 {
        let mut random = Random::new(seed, 5);
        let (mut short, mut long) = (events(&mut random, 100, window_ms), Vec::new());
        for nth in (0..short.len()).rev().filter(|nth| nth % 7 == 3) {
            long.push((short.remove(nth).0, 240));
        }
        let mut slow = waiting(&mut random, &short);
        // Three for each long one: about a tenth, too few for a fifth of all.
        let three = |(at_ms, for_ms): &(u64, u64)| [0, 9, 17].map(|ms| (at_ms + ms, for_ms - ms));
        slow.extend(long.iter().flat_map(three));
        slow.sort_unstable();
        let mut fixture = fixture(&slow, window_ms);
        fixture.observed.lost.insert(TailCause::Throttled, readings(100, &short, window_ms));
        fixture.observed.lost.insert(TailCause::Paused, readings(100, &long, window_ms));
        let tail = of(&fixture.case()).unwrap();
        assert_eq!(tail.causes[0].cause, TailCause::Throttled, "seed {seed}");
        let beyond = tail.beyond.expect("it has another cause");
        assert_eq!(beyond.causes[0].cause, TailCause::Paused, "seed {seed}");
        assert!((beyond.quantile - 0.999).abs() < 1e-4 && beyond.at_least_ns > 100 * MS);
        // Where both are throttled, it says nothing new.
        let both: Vec<_> = short.iter().chain(&long).copied().collect();
        fixture.observed.lost.insert(TailCause::Throttled, readings(100, &both, window_ms));
        fixture.observed.lost.insert(TailCause::Paused, Vec::new());
        assert_eq!(of(&fixture.case()).unwrap().beyond, None, "seed {seed}");
    }
}

#[test]
fn faster_requests_are_not_beyond() {
    let mut random = Random::new(7, 5);
    let all = events(&mut random, 600, 4 * WINDOW_MS);
    let half = |nth: usize| all.iter().copied().skip(nth).step_by(2).collect::<Vec<_>>();
    let (long, short) = (half(0), half(1));
    let long: Vec<_> = long.iter().map(|(at_ms, _)| (*at_ms, 180)).collect();
    let mut slow = waiting(&mut random, &short);
    let three = |(at_ms, for_ms): &(u64, u64)| [0, 9, 17].map(|ms| (at_ms + ms, for_ms - ms));
    slow.extend(long.iter().flat_map(three));
    slow.sort_unstable();
    let mut fixture = fixture(&slow, 4 * WINDOW_MS);
    for (cause, events) in [(TailCause::Paused, &long), (TailCause::Stolen, &short)] {
        fixture.observed.lost.insert(cause, readings(100, events, 4 * WINDOW_MS));
    }
    let slowest = fixture.point.slowest.as_mut().unwrap();
    slowest.of = slowest.requests * 20;
    let tail = of(&fixture.case()).unwrap();
    assert_eq!((tail.causes[0].cause, tail.beyond), (TailCause::Paused, None));
}

#[test]
fn what_explains_a_fifth_of_the_remainder_is_named() {
    let mut random = Random::new(6, 5);
    let all = events(&mut random, 100, 2 * WINDOW_MS);
    let is_second = |nth: usize| nth % 8 == 3;
    let of_which = |second: bool| {
        let some = all.iter().enumerate().filter(move |(nth, _)| is_second(*nth) == second);
        some.map(|(_, event)| *event).collect::<Vec<_>>()
    };
    let mut fixture = fixture(&waiting(&mut random, &all), 2 * WINDOW_MS);
    for (cause, second) in [(TailCause::Throttled, false), (TailCause::Stolen, true)] {
        let read = readings(100, &of_which(second), 2 * WINDOW_MS);
        fixture.observed.lost.insert(cause, read);
    }
    let tail = of(&fixture.case()).unwrap();
    let causes: Vec<_> = tail.causes.iter().map(|share| (share.cause, share.share)).collect();
    let [(TailCause::Throttled, main), (TailCause::Stolen, rest)] = causes[..] else {
        panic!("{causes:?}")
    };
    assert!(main > 0.7 && (0.05..0.2).contains(&rest), "{causes:?}");
}

#[test]
fn bursts_of_the_planned_rate_are_a_cause() {
    let mut random = Random::new(8, 5);
    let bursts = events(&mut random, 300, WINDOW_MS);
    let (mut legs, mut at_ms) = (Vec::new(), 0);
    for (from_ms, for_ms) in &bursts {
        for (ms, rate) in [(from_ms - at_ms, 100.0), (for_ms / 2, 2000.0)] {
            legs.push(Leg { duration_ns: ms * MS, from: rate, to: rate });
        }
        at_ms = from_ms + for_ms / 2;
    }
    legs.push(Leg { duration_ns: MS, from: 100.0, to: 100.0 });
    let mut fixture = fixture(&waiting(&mut random, &bursts), WINDOW_MS);
    fixture.point.load.curve = Some(Curve::of_legs(legs));
    fixture.point.per_100ms = vec![60; WINDOW_MS as usize / 100];
    assert_eq!(named(&fixture), [TailCause::Arrivals]);
    fixture.point.per_100ms[7] = 210;
    assert_eq!(named(&fixture), [], "the server did as many");
}

/// One cause is true. What else its host loses, at other instants, is not named for the remainder
/// or for the slowest of them.
#[test]
fn beside_a_cause_nothing_false_is_named() {
    for seed in 0..12 {
        let mut random = Random::new(seed, 78);
        let window_ms = WINDOW_MS;
        let pauses = events(&mut random, 200, window_ms);
        let mut slow = waiting(&mut random, &pauses);
        slow.extend(anywhere(&mut random));
        slow.sort_unstable();
        let mut fixture = fixture(&slow, window_ms);
        for cause in OF_SERVER.into_iter().chain([TailCause::Resent]) {
            let events = events(&mut random, 200 + 100 * (seed % 9), window_ms);
            fixture.observed.lost.insert(cause, readings(every_ms(cause), &events, window_ms));
        }
        fixture.observed.lost.insert(TailCause::Paused, readings(100, &pauses, window_ms));
        let tail = of(&fixture.case()).unwrap();
        let named: Vec<_> = tail.named().map(|share| share.cause).collect();
        assert!(named.iter().all(|cause| *cause == TailCause::Paused), "seed {seed}: {named:?}");
        assert!(!named.is_empty(), "seed {seed}");
    }
}
