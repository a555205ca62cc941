//! Predictions of the knobs that share a file, and that no profile sets them.

use crate::host::Profile;
use crate::knob::{Act, Knob, Proposal};
use crate::knobs::find;
use crate::testing::{self, MadeUp, at, at_wall, one_full_cpu, seeds};
use model::tuning::{Basis, Prediction, Side, Signals};
use model::wall::WallId;

fn knob(id: &str) -> &'static Knob {
    find(id).unwrap_or_else(|| panic!("{id} is no knob"))
}

fn predicted(id: &str, signals: &Signals) -> Prediction {
    (knob(id).predict)(signals)
}

/// A run of which one side was measured so far.
fn server(wall: Option<WallId>, measured: Side) -> Signals {
    Signals { server: measured, ..wall.map_or_else(Signals::default, at_wall) }
}

/// A run with this many connections and requests per second.
fn churn(wall: Option<WallId>, connection_rate: Option<f64>, rate: f64) -> Signals {
    let wall = wall.map_or_else(Signals::default, at_wall);
    Signals { rate: Some(rate), connection_rate, ..wall }
}

fn bytes(wall: WallId, bytes_per_response: Option<f64>) -> Signals {
    Signals { bytes_per_response, ..at_wall(wall) }
}

fn round_trip(rtt_us: Option<f64>) -> Signals {
    Signals { p50_ns: Some(30_000_000), rtt_us, ..churn(None, Some(1e3), 1e3) }
}

fn hottest(busy: f64, hottest_thread: Option<f64>) -> Signals {
    let cpus = at(WallId::S2, busy, 0.0).server.cpus;
    server(Some(WallId::S2), Side { cpus, hottest_thread, ..Side::default() })
}

fn link(link_use: f64) -> Signals {
    let cpus = at(WallId::K8, 0.2, 0.1).server.cpus;
    server(Some(WallId::K8), Side { cpus, link_use: Some(link_use), ..Side::default() })
}

/// A knob, runs, and what it predicts for each.
fn cases() -> Vec<(&'static str, Vec<(Signals, Basis)>)> {
    use Basis::{Bounded, NoEffect, Unknown};
    let drops = |count| Side { backlog_drops: Some(count), ..Side::default() };
    let drops = |count| server(Some(WallId::K5), drops(count));
    vec![
        ("T10", vec![(drops(0), NoEffect), (drops(12), Bounded)]),
        ("T11", vec![(at(WallId::K4, 0.3, 0.1), NoEffect), (one_full_cpu(1), Bounded)]),
        ("T13", vec![(hottest(0.5, Some(1.0)), Bounded), (hottest(0.5, Some(0.4)), NoEffect)]),
        ("T13", vec![(hottest(0.5, None), Unknown)]),
        ("T15", vec![(churn(Some(WallId::S1), Some(3.0), 1e5), NoEffect)]),
        ("T23", vec![(link(0.56), NoEffect), (link(0.93), Bounded)]),
        ("T28", vec![(at(WallId::K4, 0.3, 0.1), NoEffect), (one_full_cpu(1), Bounded)]),
        ("T28", vec![(seeds(), NoEffect)]),
        ("T38", vec![(churn(None, Some(0.0), 1e4), NoEffect), (churn(None, None, 1e4), Unknown)]),
        ("T38", vec![(churn(None, Some(1e4), 1e4), Bounded)]),
        ("T40", vec![(round_trip(Some(100.0)), NoEffect), (round_trip(None), Unknown)]),
        ("T43", vec![(bytes(WallId::N3, Some(200.0)), NoEffect)]),
        ("T43", vec![(bytes(WallId::N3, Some(4e6)), Bounded), (bytes(WallId::N3, None), Unknown)]),
        ("T63", vec![(bytes(WallId::K8, None), Unknown)]),
    ]
}

#[test]
fn a_prediction_follows_what_was_measured() {
    for (id, runs) in cases() {
        for (signals, basis) in runs {
            let found = predicted(id, &signals);
            assert_eq!(found.basis, basis, "{id}: {found:?}");
        }
    }
    for id in ["T10", "T11", "T13", "T15", "T23", "T28", "T38", "T40", "T43", "T63"] {
        assert_eq!(predicted(id, &Signals::default()).basis, Basis::Unknown, "{id}");
    }
    testing::follows_count(knob("T27"), |signals, hits| signals.server.time_squeezes = hits);
    testing::follows_count(knob("T30"), |signals, hits| signals.server.accept_overflows = hits);
    testing::follows_share(knob("T59"), |signals, share| signals.server.waiting_share = share);
    for (id, wall) in [("T47", "K11"), ("T54", "S8"), ("T61", "C1"), ("T62", "K9")] {
        testing::follows_wall(knob(id), WallId::parse(wall).unwrap());
    }
}

#[test]
fn only_a_cpu_that_limits_is_relieved() {
    for (id, at_the_cpu) in [
        ("T14", Basis::Bounded),
        ("T15", Basis::Unknown),
        ("T48", Basis::Unknown),
        ("T50", Basis::Bounded),
        ("T53", Basis::Bounded),
        ("T60", Basis::Unknown),
        ("T64", Basis::Unknown),
    ] {
        let basis = |signals: &Signals| predicted(id, signals).basis;
        assert_eq!(basis(&at_wall(WallId::C1)), Basis::NoEffect, "{id}");
        assert_eq!(basis(&at_wall(WallId::S1)), at_the_cpu, "{id}");
        assert_eq!(basis(&Signals::default()), Basis::Unknown, "{id}");
    }
}

#[test]
fn an_upper_bound_is_what_the_arithmetic_gives() {
    let us = |us| Side { us_per_request: Some(us), ..Side::default() };
    for (id, signals, high) in [
        ("T13", hottest(0.5, Some(1.0)), 1.0),
        ("T14", server(Some(WallId::S1), us(5.0)), 0.38),
        ("T14", server(Some(WallId::S1), us(100.0)), 0.03),
        ("T40", round_trip(Some(10_000.0)), 1.0 / 3.0),
        ("T61", seeds(), 49.0),
        ("T63", bytes(WallId::K8, Some(100_000.0)), 2.99),
        ("T63", bytes(WallId::C1, Some(100_000.0)), 0.03),
    ] {
        let found = predicted(id, &signals);
        assert!((found.high.unwrap() - high).abs() < 0.01, "{id}: {found:?}");
    }
    assert_eq!(predicted("T63", &bytes(WallId::C1, Some(1e5))).low, Some(-0.5));
}

#[test]
fn what_frees_nothing_is_predicted_to_do_nothing() {
    let churning = churn(None, Some(100.0), 1e3);
    let found = predicted("T36", &churning);
    assert_eq!(found.basis, Basis::NoEffect);
    assert!(found.arithmetic.contains("6000 sockets"), "{}", found.arithmetic);
    for accept_overflows in [None, Some(0), Some(9)] {
        let signals = server(None, Side { accept_overflows, ..Side::default() });
        assert_eq!(predicted("T33", &signals).basis, Basis::NoEffect);
    }
}

#[test]
fn an_advice_says_what_there_is() {
    let faults = "/sys/devices/system/cpu/vulnerabilities";
    let (one, two) = (format!("{faults}/meltdown"), format!("{faults}/mds"));
    let mitigated = [(one.as_str(), "Mitigation: PTI"), (two.as_str(), "Not affected")];
    let isolated = [("/proc/cmdline", "quiet isolcpus=2-3 nohz_full=2-3")];
    let packets = [("/proc/net/packet", "sk RefCnt Type\n0 3 3 0003 2 1 0 0 99")];
    let rows: [(_, &[(&str, &str)], _); 7] = [
        ("T36", &[("/proc/sys/net/ipv4/tcp_fin_timeout", "15")], Some("15 s")),
        ("T40", &[("/proc/sys/net/ipv4/tcp_fastopen", "1")], Some("1")),
        ("T50", &packets, Some("1 packet sockets")),
        ("T53", &mitigated, Some("1 of 2 faults mitigated")),
        ("T53", &[], None),
        ("T59", &isolated, Some("isolcpus=2-3 nohz_full=2-3")),
        ("T59", &[("/proc/cmdline", "quiet")], Some("none")),
    ];
    for (id, files, now) in rows {
        assert_eq!(testing::now(knob(id), files).as_deref(), now, "{id}");
    }
}

#[test]
fn no_profile_sets_what_is_left_alone() {
    let made = MadeUp::two_cpus();
    for (id, places, files) in [
        ("T10", 2, &["net/core/flow_limit_cpu_bitmap", "net/core/flow_limit_table_len"][..]),
        ("T11", 1, &["/sys/class/net/eth0/threaded"]),
        ("T23", 1, &["/sys/class/net/eth0/queues/tx-0/byte_queue_limits/limit_max"]),
        ("T27", 1, &["net/core/dev_weight"]),
        ("T28", 1, &["net/core/netdev_tstamp_prequeue"]),
        ("T33", 1, &["net/ipv4/tcp_abort_on_overflow"]),
        ("T43", 1, &["net/ipv4/tcp_limit_output_bytes"]),
        ("T47", 1, &["net/ipv4/tcp_mem"]),
        ("T54", 1, &["/sys/devices/system/cpu/smt/control"]),
    ] {
        for file in files {
            let below = if file.starts_with('/') { "" } else { "/proc/sys/" };
            made.write(&format!("{below}{file}"), "1");
        }
        assert!(matches!(knob(id).act, Act::Settable { .. }), "{id}");
        for profile in Profile::ALL {
            let found = testing::asked(knob(id), &made.host(), &testing::wish(profile));
            assert_eq!(found.len(), places, "{id}");
            assert!(found.iter().all(|(_, to)| matches!(to, Proposal::Leave(_))), "{id}");
        }
    }
}
