//! Ticks are the same after encoding and decoding, and other bytes are refused.

use super::*;
use crate::ticks::TickSum;
use model::histogram::Histogram;
use model::random::Random;
use model::tick::{Connections, TargetTally, Tick};
use proptest::prelude::*;

/// A tick with a value in every field, from a seed.
pub fn filled(seed: u64, largest: u64) -> Tick {
    let mut random = Random::new(seed, 3);
    let begin_ns = random.between(0, 1 << 50);
    let mut tick = Tick {
        load: random.between(1, 9) as u32,
        phase: PHASES[random.between(0, 3) as usize],
        begin_ns,
        end_ns: begin_ns + random.between(0, 1 << 30),
        last: random.between(0, 1) == 1,
        fate_ns: random.between(0, 1 << 50),
        warmup_fastest_ns: (random.between(0, 1) == 1).then(|| random.between(0, 1 << 40)),
        ..Tick::default()
    };
    let mut plain = SparseTick::empty(0, tick.phase, (0, 0));
    plain.counts.each_number(&mut |number| *number = random.between(0, largest));
    plain.counts.accounting.in_flight_ns = u128::from(random.draw());
    plain.counts.tls.refused_status = random.between(0, 999) as u16;
    tick.connections = plain.counts.connections;
    plain.add_counts_to(&mut tick);
    for code in [200, 204, 404, 599, 999] {
        tick.codes.add(code, random.between(0, largest));
        tick.error_codes.add(code, random.between(0, 2));
    }
    let fill = |histogram: &mut Histogram, random: &mut Random| {
        for _ in 0..random.between(0, 60) {
            let bits = random.between(1, 42);
            let value_ns = random.between(0, 1 << bits);
            histogram.record_n(value_ns, random.between(1, 1_000));
        }
    };
    tick.histograms.iter_mut().for_each(|histogram| fill(histogram, &mut random));
    for _ in 0..random.between(0, 3) {
        let mut tally = TargetTally::default();
        fill(&mut tally.latency, &mut random);
        tally.counters.sent = random.between(1, largest);
        tick.targets.push(tally);
    }
    tick.opened_on = (0..random.between(0, 4)).map(|_| random.between(0, largest)).collect();
    for _ in 0..random.between(0, 3) {
        let mut caught =
            Caught::new((503, Some(Check::ALL[1]), None), random.between(0, 1 << 50), 12_345);
        caught.asked = Some(random.between(0, 1 << 32) as u32);
        caught.append(b"HTTP/1.1 503 Sorry\r\n\r\n");
        tick.caught.push(caught);
    }
    for stream in 0..random.between(0, 5) as u32 {
        tick.subscriptions.push(Subscription {
            stream,
            is_accepted: random.between(0, 1) == 1,
            before: (random.between(0, 1) == 1).then(|| random.between(0, 1 << 60)),
            received: random.between(0, largest),
            highest: (random.between(0, 1) == 1).then(|| random.between(0, 1 << 60)),
            late: random.between(0, largest),
            later: random.between(0, largest),
            later_first: random.between(0, 1 << 60),
        });
    }
    tick
}

/// All comparable parts of a tick.
fn shown(tick: &SparseTick) -> String {
    let caught: Vec<_> =
        tick.caught.iter().map(|one| (one.status, one.at_ns, one.asked, one.bytes())).collect();
    let SparseTick { load, phase, begin_ns, end_ns, last, fate_ns, .. } = tick;
    format!(
        "{:?}",
        (
            (tick.crew, load, phase, begin_ns, end_ns, last, fate_ns, &tick.counts),
            (&tick.codes, &tick.error_codes, caught, tick.warmup_fastest_ns),
            (&tick.histograms, &tick.opened_on, &tick.targets, &tick.subscriptions),
        )
    )
}

#[test]
fn an_empty_tick_takes_few_bytes() {
    let bytes = encode(&SparseTick::empty(1, Phase::Measure, (5_000_000_000, 5_100_000_000)));
    assert!(bytes.len() < 240, "{}", bytes.len());
}

#[test]
fn numbers_that_no_tick_has_are_refused() {
    let mut tick = SparseTick::empty(1, Phase::Measure, (5, 6));
    tick.counts.measured.sent = COUNT_MAX + 1;
    assert_eq!(decode(&encode(&tick)).unwrap_err(), Malformed::Range("a count"));
    let tick = SparseTick::empty(1, Phase::Measure, (INSTANT_MAX_NS + 1, INSTANT_MAX_NS + 1));
    assert_eq!(decode(&encode(&tick)).unwrap_err(), Malformed::Range("the start"));
    let tick = SparseTick::empty(1, Phase::Measure, (5, 6 + LENGTH_MAX_NS));
    assert_eq!(decode(&encode(&tick)).unwrap_err(), Malformed::Range("the length"));
    assert!(decode(&vec![0; TICK_BYTES_MAX + 1]).is_err());
}

#[test]
fn what_is_too_large_for_one_message_goes_in_parts_that_add_up() {
    let mut tick = filled(5, 1_000);
    tick.last = true;
    let mut random = Random::new(1, 1);
    tick.subscriptions = (0..100_000)
        .map(|_| Subscription { received: random.between(0, 1 << 40), ..Subscription::default() })
        .collect();
    for histogram in tick.histograms.iter_mut() {
        (0..BUCKET_LAST).for_each(|bucket| histogram.record_n(values_of(bucket).0, 40_000));
    }
    let whole = SparseTick::of(ThreadKind::Requesting, &tick);
    let parts = parts(whole.clone());
    assert!(parts.len() > 4);
    let mut sum = TickSum::default();
    for (place, bytes) in parts.iter().enumerate() {
        assert!(bytes.len() <= TICK_BYTES_MAX);
        let part = decode(bytes).unwrap();
        assert_eq!(part.last, place + 1 == parts.len());
        sum.add(&part);
    }
    let added = sum.tick(whole.load, whole.phase, tick.connections);
    assert_eq!(added.measured, tick.measured);
    assert_eq!(added.histograms[Dist::Latency].buckets(), tick.histograms[Dist::Latency].buckets());
    let received = |tick: &Tick| tick.subscriptions.iter().map(|one| one.received).sum::<u64>();
    assert_eq!((added.subscriptions.len(), received(added)), (100_000, received(&tick)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_tick_means_the_same_when_it_arrives(seed: u64) {
        for crew in [ThreadKind::Requesting, ThreadKind::Listening] {
            let tick = filled(seed, 1 << 40);
            let sparse = SparseTick::of(crew, &tick);
            let bytes = encode(&sparse);
            let came = decode(&bytes).unwrap();
            prop_assert_eq!(shown(&came), shown(&sparse));
            prop_assert_eq!(encode(&came), bytes);
        }
    }

    #[test]
    fn adding_up_ticks_that_came_is_adding_up_ticks(
        seeds in prop::collection::vec(any::<u64>(), 1..4),
    ) {
        let mut sum = TickSum::default();
        let mut expected = Tick::default();
        for seed in &seeds {
            let tick = filled(*seed, 1 << 40);
            sum.add(&decode(&encode(&SparseTick::of(ThreadKind::Requesting, &tick))).unwrap());
            expected.measured += &tick.measured;
            expected.unmeasured += &tick.unmeasured;
            expected.accounting += &tick.accounting;
            expected.codes.merge(&tick.codes);
            expected.histograms.merge(&tick.histograms);
        }
        let added = sum.tick(1, Phase::Measure, Connections::default());
        prop_assert_eq!(added.measured, expected.measured);
        prop_assert_eq!(added.unmeasured, expected.unmeasured);
        prop_assert_eq!(added.accounting, expected.accounting);
        prop_assert_eq!(&added.codes, &expected.codes);
        for (left, right) in added.histograms.iter().zip(expected.histograms.iter()) {
            prop_assert_eq!(left.buckets(), right.buckets());
            prop_assert_eq!(left.sum_ns(), right.sum_ns());
        }
    }

    #[test]
    fn other_bytes_are_refused_or_mean_one_thing(
        seed in 0u64..8, place: prop::sample::Index, byte: u8, cut: prop::sample::Index,
    ) {
        let mut bytes = encode(&SparseTick::of(ThreadKind::Requesting, &filled(seed, 1 << 20)));
        let place = place.index(bytes.len());
        bytes[place] = byte;
        if let Ok(tick) = decode(&bytes) {
            prop_assert_eq!(encode(&tick), bytes.clone());
        }
        let cut = cut.index(bytes.len());
        prop_assert!(decode(&bytes[..cut]).is_err());
    }
}
