//! Each pattern in synthetic data, and none in ordinary data.

use super::*;
use crate::fixture::Fixture;
use model::random::Random;
use model::run::TurnoverInfo;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Exponential latencies with this mean.
fn exponential(random: &mut Random, mean_ms: f64) -> u64 {
    (-(1.0 - random.uniform()).ln() * mean_ms * 1e6) as u64 + 1
}

/// Exponential latencies, a share of which is later by `ms`.
fn delayed(mean_ms: f64, late: &[(f64, f64)]) -> Histogram {
    let (mut random, mut latency) = (Random::new(7, 7), Histogram::new());
    for _ in 0..20_000 {
        let mut value_ns = exponential(&mut random, mean_ms);
        let mut drawn = random.uniform();
        for (share, ms) in late {
            if drawn < *share {
                value_ns += (ms * 1e6) as u64;
                break;
            }
            drawn -= share;
        }
        latency.record_n(value_ns, 1);
    }
    latency
}

fn ids(found: &[Fingerprint]) -> Vec<&str> {
    found.iter().map(|one| one.id.as_str()).collect()
}

fn of_latency(latency: &Histogram) -> Vec<Fingerprint> {
    of_point(&Fixture::point(8, 1000.0), latency)
}

#[test]
fn kernels_times_are_recognised() {
    for (late, id) in [
        (vec![(0.02, 40.0)], "delayed_ack"),
        (vec![(0.002, 201.0)], "minimum_rto"),
        (vec![(0.05, 99.0), (0.03, 199.0), (0.01, 299.0)], "cfs_period"),
    ] {
        let found = of_latency(&delayed(1.0, &late));
        assert_eq!(ids(&found), [id], "{found:?}");
        assert!(!found[0].beware.is_empty() && !found[0].means.is_empty());
    }
    let found = of_latency(&delayed(1.0, &[(0.02, 40.0)]));
    assert!(
        found[0].measured.contains("(1.98 %)") && found[0].measured.contains("39.0ms"),
        "{found:?}"
    );
}

#[test]
fn connects_that_waited_for_a_second_syn_are_recognised() {
    let mut point = Fixture::point(8, 1000.0);
    point.turnover = Some(TurnoverInfo {
        syn_retries: BTreeMap::from([("1 s".to_string(), 40), ("3 s".to_string(), 2)]),
        ..TurnoverInfo::default()
    });
    let none = Histogram::new();
    let found = of_point(&point, &none);
    assert_eq!(ids(&found), ["syn_retry"]);
    assert_eq!(found[0].measured, "connects: 40 at 1 s, 2 at 3 s");
    point.turnover = None;
    point.connections.connect_ns.p99 = Some(1_030 * MS);
    assert_eq!(ids(&of_point(&point, &none)), ["syn_retry"]);
    point.connections.connect_ns.p99 = Some(1_500 * MS);
    assert_eq!(ids(&of_point(&point, &none)), [""; 0]);
}

#[test]
fn a_step_down_is_recognised_and_a_warm_up_is_not() {
    let mut point = Fixture::point(8, 1000.0);
    let series = |first: u64, then: u64| {
        (0..100u64).map(|at| if at < 30 { first } else { then } + at * 7 % 5).collect::<Vec<u64>>()
    };
    point.per_100ms = series(2000, 1000);
    let found = of_point(&point, &Histogram::new());
    assert_eq!(ids(&found), ["burst"]);
    assert!(found[0].measured.contains("from 3.0 s on"), "{found:?}");
    point.load.curve = Some(model::curve::Curve::constant(2000.0));
    assert_eq!(ids(&of_point(&point, &Histogram::new())), [""; 0], "the plan says so");
    point.load.curve = None;
    point.per_100ms = series(1000, 2000);
    assert_eq!(ids(&of_point(&point, &Histogram::new())), [""; 0]);
}

fn points(levels: &[(u32, f64)]) -> Vec<Point> {
    levels.iter().map(|(connections, rate)| Fixture::point(*connections, *rate)).collect()
}

fn over(levels: &[(u32, f64)]) -> Vec<Fingerprint> {
    fingerprints_of(&points(levels))
}

fn fingerprints_of(points: &[Point]) -> Vec<Fingerprint> {
    let trial = Trial { question: Question::Ramp, ..Fixture::good().trial };
    of_ramp(&trial, points)
}

#[test]
fn ramps_tell_what_they_do() {
    let rising = over(&[(8, 1000.0), (16, 1990.0), (32, 3950.0), (64, 7800.0)]);
    assert_eq!(ids(&rising), ["latency_constant"]);
    let uneven = over(&[(8, 1000.0), (16, 1400.0), (32, 1340.0), (64, 1395.0)]);
    assert_eq!(ids(&uneven), ["latency_follows_load"]);
    let mut even = points(&[(8, 1000.0), (16, 1400.0), (32, 1402.0), (64, 1398.0)]);
    assert_eq!(ids(&fingerprints_of(&even)), ["latency_follows_load"], "tenths that scatter");
    even.iter_mut().for_each(|point| point.per_100ms = vec![point.rate as u64 / 10; 50]);
    assert_eq!(ids(&fingerprints_of(&even)), ["latency_follows_load", "flat"]);
    let falling = over(&[(8, 1000.0), (16, 1400.0), (32, 1100.0), (64, 700.0)]);
    assert_eq!(ids(&falling), ["retrograde"]);
    let bent = over(&[(8, 1000.0), (16, 1700.0), (32, 2400.0), (64, 2900.0)]);
    assert_eq!(ids(&bent), [""; 0], "no wall yet, and no straight line");
    assert_eq!(ids(&over(&[(8, 1000.0), (16, 2000.0)])), [""; 0]);
}

#[test]
fn a_run_that_is_no_ramp_has_none_of_its_patterns() {
    let points = [8, 16, 32].map(|connections| Fixture::point(connections, 1000.0));
    assert_eq!(of_ramp(&Fixture::good().trial, &points), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Exponential latencies with any mean, and a second mode at a time that no kernel produces.
    #[test]
    fn ordinary_latencies_show_nothing(
        mean_ms in 0.05f64..400.0,
        share in 0.0f64..0.3,
        place in prop::sample::select(vec![5.0, 17.0, 29.0, 60.0, 75.0, 135.0, 160.0, 330.0]),
    ) {
        let found = of_latency(&delayed(mean_ms, &[(share, place)]));
        // A second mode may itself spread over one of the kernel's times when the mean is long.
        prop_assert!(found.is_empty(), "{:?}", found);
    }
}
