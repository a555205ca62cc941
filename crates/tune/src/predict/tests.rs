//! The arithmetic with made-up figures, and the predictions of every knob for any signals.

use super::*;
use crate::knobs::REGISTRY;
use crate::testing::{at_wall, seeds};
use model::tuning::{Basis, Side};
use proptest::prelude::*;

fn accepts(hits: Option<u64>) -> Count<'static> {
    Count {
        relieved: &[WallId::K1],
        hits,
        what: "handshakes refused",
        removes: "their second try after 1 s",
        reconsider: "ListenOverflows above 0",
    }
}

#[test]
fn a_limit_counts_only_when_it_is_hit() {
    let free = Signals { noise: Some(0.02), ..Signals::default() };
    let zero = count(&free, &accepts(Some(0)));
    assert_eq!((zero.basis, zero.low, zero.high), (Basis::NoEffect, Some(-0.02), Some(0.02)));
    let hit = count(&at_wall(WallId::K1), &accepts(Some(7)));
    assert_eq!((hit.basis, hit.high), (Basis::Bounded, None), "only the next wall bounds it");
    let elsewhere = count(&at_wall(WallId::S1), &accepts(Some(7)));
    assert_eq!((elsewhere.basis, elsewhere.high), (Basis::Bounded, Some(NOISE)));
    assert!(elsewhere.arithmetic.contains("7 handshakes refused"), "{}", elsewhere.arithmetic);
    assert!(elsewhere.arithmetic.contains("their second try"), "{}", elsewhere.arithmetic);
}

#[test]
fn where_the_wall_is_comes_before_the_zero() {
    let zero = count(&at_wall(WallId::C1), &accepts(Some(0)));
    let start = "the generator was the wall (C1, client CPUs)";
    assert!(zero.arithmetic.starts_with(start), "{}", zero.arithmetic);
    assert!(zero.arithmetic.contains("0 handshakes refused"), "{}", zero.arithmetic);
    let drops = |wall| limit_at(&at_wall(wall), &[WallId::K7], Some(3), "drops", "drops above 0");
    assert_eq!(drops(WallId::C1).high, Some(NOISE), "the generator is the wall");
    for elsewhere in [WallId::S1, WallId::A8, WallId::N1] {
        assert_eq!(drops(elsewhere).high, Some(NOISE), "{elsewhere}: {:?}", drops(elsewhere));
    }
    assert_eq!(drops(WallId::K7).high, None, "only the next wall bounds it");
}

#[test]
fn what_was_not_measured_is_unknown_and_says_which_run_would_tell() {
    let prediction = count(&Signals::default(), &accepts(None));
    assert_eq!((prediction.basis, prediction.low, prediction.high), (Basis::Unknown, None, None));
    for word in ["ceiling load URL --server-pid PID", "--probe", "ListenOverflows"] {
        assert!(prediction.reconsider.contains(word), "{word}: {}", prediction.reconsider);
    }
    assert!(prediction.arithmetic.contains("handshakes refused"));
}

#[test]
fn room_is_calculated_by_littles_law() {
    assert_eq!(needed(Some(500.0), 60.0), Some(30_000.0));
    assert_eq!(needed(Some(f64::INFINITY), 60.0), None);
    let ports = |used, wall: Option<WallId>| {
        let signals = Signals { wall: wall.map(Named::Wall), ..Signals::default() };
        let of = Usage {
            relieved: &[WallId::C7],
            used,
            what: "of the range of ports",
            held: Some((500.0, 60.0)),
            reconsider: "use above 95 %",
        };
        room(&signals, &of)
    };
    let half = ports(Some(0.5), None);
    assert_eq!(half.basis, Basis::NoEffect);
    assert!(half.arithmetic.contains("500/s x 60 s = 30000"), "{}", half.arithmetic);
    assert_eq!(ports(Some(0.99), Some(WallId::C7)).high, None);
    assert_eq!(ports(Some(0.99), Some(WallId::S1)).high, Some(NOISE));
    assert_eq!(ports(None, None).basis, Basis::Unknown);
}

#[test]
fn connections_that_stay_need_room_too() {
    let told = |connections, rate| {
        let mut signals = Signals { connections, connection_rate: rate, ..Signals::default() };
        (signals.server.conntrack_use, signals.client.ports_use) = (Some(0.5), Some(0.5));
        ["T34", "T49"].map(|id| {
            let knob = REGISTRY.iter().find(|knob| knob.id == id).unwrap();
            (knob.predict)(&signals).arithmetic
        })
    };
    let [ports, entries] = told(Some(512), Some(0.0));
    assert!(ports.contains("512 open + 0/s x 60 s = 512 are needed"), "{ports}");
    assert!(entries.contains("512 open + 0/s x 120 s = 512 are needed"), "{entries}");
    for told in told(Some(512), None).into_iter().chain(told(None, Some(0.0))) {
        assert!(!told.contains("are needed"), "nothing is known of what is needed: {told}");
    }
}

#[test]
fn removed_work_pays_by_its_share_of_the_cpu_that_limits() {
    // Softirq takes 8 % and the knob halves it: 4.2 %.
    let gain = work(&at_wall(WallId::S1), &[WallId::S1], Some(0.04), "softirq", "a profile");
    assert!((gain.high.unwrap() - 0.0417).abs() < 0.0005, "{}", gain.arithmetic);
    let quota = work(&at_wall(WallId::S3), &[WallId::S1], Some(0.04), "softirq", "a profile");
    assert_eq!(quota.basis, Basis::Bounded, "a quota is CPU time too");
    let idle = work(&seeds(), &[WallId::S1], Some(0.04), "softirq", "a profile");
    assert_eq!(idle.basis, Basis::NoEffect);
    let mut no_wall = Signals { wall: Some(Named::Unknown), ..seeds() };
    no_wall.client_is_wall = false;
    let idle = work(&no_wall, &[WallId::S1], Some(0.04), "softirq", "a profile");
    assert!(idle.arithmetic.contains("the fullest is 2 % busy"), "{}", idle.arithmetic);
    let unseen = work(&at_wall(WallId::S1), &[WallId::S1], None, "softirq", "a profile");
    assert_eq!(unseen.basis, Basis::Unknown);
    assert!((share_of_gain(0.28) - 0.21875).abs() < 1e-9);
}

#[test]
fn work_spreads_up_to_the_mean() {
    let cpu = |cpu, busy, softirq| CpuSignal { cpu, busy, softirq };
    let mut signals = at_wall(WallId::K4);
    signals.server.cpus = Some(vec![cpu(0, 1.0, 0.9), cpu(1, 0.25, 0.0)]);
    let gain = spread_of_softirq(&signals, "softirq");
    assert!(gain.arithmetic.contains("1.00 / 0.62 - 1 = 0.60"), "{}", gain.arithmetic);
    // Threads may cost a quarter, softirq does not.
    let high = 2.0 / (0.9 + 0.35 / 4.0) - 1.0;
    assert!((gain.high.unwrap() - high).abs() < 1e-9, "{}", gain.arithmetic);
    signals.server.cpus = Some(vec![cpu(0, 0.5, 0.4), cpu(1, 0.25, 0.0)]);
    assert_eq!(spread_of_softirq(&signals, "softirq").basis, Basis::NoEffect);
    signals.server.cpus = None;
    assert_eq!(spread_of_softirq(&signals, "softirq").basis, Basis::Unknown);
}

/// bench/README.md, Steering: CPU 1 full of softirq, CPU 0 with generator and server.
#[test]
fn what_rps_was_measured_to_gain_is_within_what_is_predicted() {
    let cpu = |cpu, busy, softirq| CpuSignal { cpu, busy, softirq };
    let mut signals = at_wall(WallId::K4);
    signals.server.cpus = Some(vec![cpu(0, 0.37, 0.087), cpu(1, 1.0, 1.0)]);
    let gain = spread_of_softirq(&signals, "softirq");
    let (even, measured) = (0.46, 0.675);
    assert!(gain.arithmetic.contains("- 1 = 0.46"), "{}", gain.arithmetic);
    assert!(gain.high.unwrap() > measured, "{}", gain.arithmetic);
    assert!(gain.high.unwrap() < 2.0 * even, "{}", gain.arithmetic);
}

/// One full CPU of many shows that there is room, not how much a generator can send.
#[test]
fn one_full_cpu_of_many_is_worth_what_the_next_wall_allows() {
    let cpus = |cpu| match cpu {
        0 => CpuSignal { cpu, busy: 1.0, softirq: 0.9 },
        _ => CpuSignal { cpu, busy: 0.1, softirq: 0.0 },
    };
    let mut signals = at_wall(WallId::K4);
    signals.server.cpus = Some((0..128).map(cpus).collect());
    let of = |signals: &Signals| {
        let said = spread_of_softirq(signals, "softirq");
        assert!(said.arithmetic.contains("1.00 / 0.11 - 1 = 8.34"), "{}", said.arithmetic);
        (said.high.unwrap(), said.arithmetic)
    };
    let unknown = of(&signals).0;
    assert!(unknown < 31.0, "{unknown}: before, it was 141");
    signals.client.hottest_thread = Some(0.8);
    let (high, arithmetic) = of(&signals);
    assert!((high - 4.0).abs() < 1e-9 && arithmetic.contains("80.0 % busy"), "{arithmetic}");
    signals.server.link_use = Some(0.5);
    let (high, arithmetic) = of(&signals);
    assert!((high - 1.0).abs() < 1e-9 && arithmetic.contains("50.0 % full"), "{arithmetic}");
    signals.server.link_use = Some(1.0);
    assert_eq!(of(&signals).0, noise(&signals), "a full link leaves nothing to gain");
}

#[test]
fn a_limit_that_is_hit_is_worth_what_the_next_wall_allows() {
    let mut signals = at_wall(WallId::K1);
    signals.client.link_use = Some(0.8);
    let hit = count(&signals, &accepts(Some(7)));
    assert!((hit.high.unwrap() - 0.25).abs() < 1e-9, "{}", hit.arithmetic);
    assert!(hit.arithmetic.contains("the link is 80.0 % full"), "{}", hit.arithmetic);
    signals.client.link_use = Some(0.0);
    assert_eq!(count(&signals, &accepts(Some(7))).high, None, "an idle link bounds nothing");
}

#[test]
fn removed_waiting_pays_by_its_share_of_the_time() {
    let of = |share| waiting(&at_wall(WallId::K12), &[WallId::K12], share, "waited", "the share");
    assert!((of(Some(0.5)).high.unwrap() - 1.0).abs() < 1e-9);
    assert_eq!(of(Some(0.0)).basis, Basis::NoEffect);
    assert_eq!(of(None).basis, Basis::Unknown);
    assert!(of(Some(1.0)).high.unwrap().is_finite());
}

#[test]
fn who_waits_for_a_cpu_that_has_time_gains_nothing() {
    let cpu = |busy| CpuSignal { cpu: 0, busy, softirq: 0.0 };
    let mut signals = Signals { wall: Some(Named::Unknown), ..Signals::default() };
    signals.server.cpus = Some(vec![cpu(0.15), cpu(0.03)]);
    signals.server.waiting_share = Some(0.35);
    for id in ["T12", "T59"] {
        let knob = REGISTRY.iter().find(|knob| knob.id == id).unwrap();
        let said = (knob.predict)(&signals);
        assert_eq!(said.basis, Basis::NoEffect, "{id}: {said:?}");
        assert!(said.arithmetic.contains("15 % busy"), "{id}: {said:?}");
    }
}

#[test]
fn packets_gather_where_their_readers_run() {
    let cpu = |cpu, busy, softirq| CpuSignal { cpu, busy, softirq };
    let mut signals = at_wall(WallId::S1);
    signals.rate = Some(10_000.0);
    signals.server.cpus = Some(vec![cpu(0, 1.0, 0.8), cpu(1, 1.0, 0.8)]);
    signals.server.process_cpus = Some(vec![0, 1]);
    signals.server.us_per_request = Some(20.0);
    // One thread does all of the 0.2 CPUs: both CPUs' packets would go to its one.
    signals.server.hottest_thread = Some(0.2);
    let one = gathered_at_readers(&signals, "softirq");
    assert!((one.low.unwrap() + 0.5).abs() < 1e-9, "{}", one.arithmetic);
    // Two threads, each on its own CPU: requests do not gather.
    signals.server.hottest_thread = Some(0.1);
    let two = gathered_at_readers(&signals, "softirq");
    assert_eq!(two.low, Some(-noise(&signals)), "{}", two.arithmetic);
    // Those two, kept on one CPU.
    signals.server.process_cpus = Some(vec![0]);
    assert_eq!(gathered_at_readers(&signals, "softirq").low, one.low);
}

#[test]
fn moving_packets_has_a_price_where_cpus_are_full() {
    let cpu = |cpu| CpuSignal { cpu, busy: 1.0, softirq: 0.1 };
    let mut signals = at_wall(WallId::S1);
    signals.server.cpus = Some(vec![cpu(0), cpu(1)]);
    signals.server.rx_queues = Some(1);
    let full = steered(&signals, "softirq");
    assert_eq!((full.basis, full.low), (Basis::Bounded, Some(-PRICE_OF_MOVING)));
    assert!(full.high.unwrap() <= noise(&signals), "{full:?}");
}

#[test]
fn fewer_bytes_pay_on_a_full_link_only() {
    let full = fewer_bytes(&at_wall(WallId::K8), 4.0, 0.5, "link use");
    assert_eq!((full.low, full.high), (Some(-0.5), Some(3.0)));
    let idle = fewer_bytes(&at_wall(WallId::C1), 4.0, 0.5, "link use");
    assert_eq!((idle.low, idle.high), (Some(-0.5), Some(NOISE)));
    assert_eq!(fewer_bytes(&Signals::default(), 4.0, 0.5, "use").basis, Basis::Unknown);
}

/// Knobs that are often turned and cannot matter when the generator is the wall on a LAN with
/// connections that stay, with a counter that each prediction names.
const FOR_NOTHING: &[(&str, &str)] = &[
    ("T1", "softirq"),
    ("T2", "affinities"),
    ("T5", "softirq"),
    ("T6", "softirq"),
    ("T17", "drops"),
    ("T25", "softnet_stat"),
    ("T26", "time_squeeze"),
    ("T29", "ListenOverflows"),
    ("T31", "TCPReqQFullDrop"),
    ("T34", "ports"),
    ("T35", "ports"),
    ("T36", "FIN_WAIT_2"),
    ("T41", "rwnd_limited"),
];

#[test]
fn in_the_regime_of_the_journal_no_change_of_the_server_is_worth_trying() {
    for (id, counter) in FOR_NOTHING {
        let knob = REGISTRY.iter().find(|knob| knob.id == *id).unwrap();
        let prediction = (knob.predict)(&seeds());
        assert_eq!(prediction.basis, Basis::NoEffect, "{id}: {prediction:?}");
        assert!(prediction.high.unwrap() <= 0.03, "{id}: {prediction:?}");
        assert!(prediction.reconsider.contains(counter), "{id}: {}", prediction.reconsider);
    }
}

#[test]
fn the_generator_is_what_is_worth_trying_there() {
    let worth: Vec<_> = REGISTRY
        .iter()
        .filter(|knob| (knob.predict)(&seeds()).high.is_none_or(|high| high > 0.03))
        .filter(|knob| (knob.predict)(&seeds()).basis != Basis::Unknown)
        .map(|knob| knob.id)
        .collect();
    assert_eq!(worth, ["T61"]);
}

fn share() -> impl Strategy<Value = Option<f64>> {
    let odd = prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(-1.0), Just(1e300)];
    proptest::option::of(prop_oneof![
        4 => 0.0..1.2f64,
        1 => Just(0.0),
        1 => Just(1.0),
        1 => odd,
        1 => 0.0..1e9f64,
    ])
}

fn hits() -> impl Strategy<Value = Option<u64>> {
    proptest::option::of(prop_oneof![2 => Just(0u64), 2 => 1..1000u64, 1 => any::<u64>()])
}

fn side() -> impl Strategy<Value = Side> {
    let cpu = (0..300u32, share(), share()).prop_map(|(cpu, busy, softirq)| CpuSignal {
        cpu,
        busy: busy.unwrap_or(0.5),
        softirq: softirq.unwrap_or(0.1),
    });
    let cpus = proptest::option::of(proptest::collection::vec(cpu, 0..5));
    let shares = proptest::collection::vec(share(), 14);
    let counts = proptest::collection::vec(hits(), 9);
    (cpus, shares, counts, proptest::option::of(0..64u32)).prop_map(|(cpus, s, n, queues)| Side {
        cpus,
        us_per_request: s[0],
        hottest_thread: s[1],
        waiting_share: s[2],
        throttled_share: s[3],
        rx_queues: queues,
        tx_queues: queues,
        link_use: s[4],
        interrupts_per_s: s[5],
        accept_queue_peak: s[6],
        retransmit_share: s[7],
        ports_use: s[8],
        files_use: s[9],
        conntrack_use: s[10],
        receive_window_limited: s[11],
        send_buffer_limited: s[12],
        memory_pressure: s[13],
        clock_ratio: s[0],
        backlog_drops: n[0],
        time_squeezes: n[1],
        device_drops: n[2],
        qdisc_drops: n[3],
        accept_overflows: n[4],
        backlog: n[5],
        syn_drops: n[6],
        time_wait: n[7],
        time_wait_overflows: n[8],
        ..Side::default()
    })
}

prop_compose! {
    fn signals()(
        wall in proptest::option::of(0..WallId::ALL.len() + 2),
        client_is_wall in any::<bool>(),
        figures in proptest::collection::vec(share(), 6),
        counts in proptest::collection::vec(hits(), 2),
        server in side(),
        client in side(),
    ) -> Signals {
        let named = |index: usize| match WallId::ALL.get(index) {
            Some((wall, _)) => Named::Wall(*wall),
            None if index == WallId::ALL.len() => Named::None,
            None => Named::Unknown,
        };
        Signals {
            wall: wall.map(named),
            client_is_wall,
            rate: figures[0],
            noise: figures[1],
            connection_rate: figures[2],
            bytes_per_response: figures[3],
            bytes_per_request: figures[4],
            rtt_us: figures[5],
            connections: counts[0],
            p50_ns: counts[1],
            server,
            client,
            ..Signals::default()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]
    #[test]
    fn every_knob_predicts_numbers_from_any_signals(signals in signals()) {
        for knob in REGISTRY {
            let prediction = (knob.predict)(&signals);
            let (low, high) = (prediction.low.unwrap_or(0.0), prediction.high.unwrap_or(f64::MAX));
            prop_assert!(low.is_finite() && high.is_finite(), "{}: {prediction:?}", knob.id);
            prop_assert!(low <= high, "{}: {prediction:?}", knob.id);
            prop_assert!(low >= -1.0, "no more than all is lost: {}: {prediction:?}", knob.id);
            let is_none = prediction.basis == Basis::NoEffect;
            // A knob that cannot help may still have a price.
            let is_noise = prediction.high == Some(noise(&signals)) && low <= -noise(&signals);
            prop_assert!(!is_none || is_noise, "{}: {prediction:?}", knob.id);
            let is_full = finite(signals.server.link_use).is_some_and(|share| share >= 1.0);
            let spreads = ["T1", "T9", "T11", "T28"].contains(&knob.id);
            let gains = prediction.high.is_some_and(|high| high > noise(&signals));
            prop_assert!(!(is_full && spreads && gains), "{}: {prediction:?}", knob.id);
            prop_assert!(!prediction.arithmetic.is_empty(), "{}: {prediction:?}", knob.id);
            prop_assert!(!prediction.reconsider.is_empty(), "{}: {prediction:?}", knob.id);
            let is_odd = |word: &&str| prediction.arithmetic.contains(word);
            let odd = ["NaN", "inf/", " inf "].iter().any(is_odd);
            prop_assert!(!odd, "{}: {prediction:?}", knob.id);
            let is_known = prediction.basis != Basis::Unknown;
            prop_assert_eq!(prediction.low.is_some(), is_known, "{}: {:?}", knob.id, prediction);
        }
    }
}
