//! T44: slow start after a pause, tcp_slow_start_after_idle.
//!
//! Path: `/proc/sys/net/ipv4/tcp_slow_start_after_idle`, 0 or 1.
//! Matters when: connections that stay pause longer than a retransmission timeout, and bodies
//! exceed the initial window. Never under constant load.
//! Predicts: at most the round trips that the window needs to grow again, as a share of the median
//! time.
//! Risk: bursts into a path that changed meanwhile.
//! Verify: cwnd of `ss -ti` after a pause.
//! With: congestion control (T45).
//! Source: Linux Documentation/networking/ip-sysctl.rst, RFC 2861.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::Place;
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T44",
    name: "tcp-slow-start-after-idle",
    about: "congestion window after a pause",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "bursts into a path that changed meanwhile",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::N1, WallId::N2];

/// Ten segments, bytes: what goes out before the first acknowledgement.
const INITIAL_WINDOW: f64 = 14_480.0;
/// Smallest retransmission timeout of Linux, seconds.
const PAUSE_S: f64 = 0.2;

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    vec![Place::number("/proc/sys/net/ipv4/tcp_slow_start_after_idle")]
}

fn propose(ask: &Ask<'_>) -> Proposal {
    match (ask.wish.profile, ask.now) {
        (Profile::Latency, "0") => Proposal::Leave("it is off".to_string()),
        (Profile::Latency, _) => Proposal::Set("0".to_string()),
        (Profile::Seeds | Profile::Throughput | Profile::Churn, _) => {
            Proposal::Leave("under constant load no connection pauses".to_string())
        }
    }
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "bodies above 14 kB on connections that pause for more than 200 ms";
    let bytes = predict::finite(signals.bytes_per_response);
    let nothing = |why: String| Prediction::no_effect(predict::noise(signals), why, reconsider);
    let Some(bytes) = bytes else { return predict::unknown("bytes per response", reconsider) };
    if bytes <= INITIAL_WINDOW {
        return nothing(format!("{bytes:.0} bytes fit the initial window of {INITIAL_WINDOW}"));
    }
    let rate = predict::finite(signals.rate).filter(|rate| *rate > 0.0);
    let figures = (rate, signals.connections, signals.p50_ns, predict::finite(signals.rtt_us));
    let (Some(rate), Some(connections), Some(p50_ns), Some(rtt_us)) = figures else {
        return predict::unknown("rate, connections, median and round trip", reconsider);
    };
    let p50_us = p50_ns as f64 / 1e3;
    let pause_s = connections as f64 / rate - p50_us / 1e6;
    if pause_s < PAUSE_S {
        return nothing(format!("a connection pauses {:.3} s, less than 0.2 s", pause_s.max(0.0)));
    }
    let share = (bytes / INITIAL_WINDOW).log2().ceil() * rtt_us / p50_us.max(1.0);
    let what = "is growing the window again";
    predict::waiting(signals, WALLS, Some(share), what, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use model::tuning::Basis;

    #[test]
    fn it_matters_after_pauses_of_large_bodies() {
        let run = |connections| Signals {
            rate: Some(1e3),
            connections,
            p50_ns: Some(40_000_000),
            rtt_us: Some(5_000.0),
            bytes_per_response: Some(50_000.0),
            ..Signals::default()
        };
        let response = predict(&run(Some(1_000)));
        assert!((response.high.unwrap() - 1.0 / 3.0).abs() < 1e-6, "{response:?}");
        assert_eq!(predict(&run(Some(10))).basis, Basis::NoEffect);
        assert_eq!(predict(&run(None)).basis, Basis::Unknown);
        assert_eq!(predict(&testing::seeds()).basis, Basis::NoEffect);
    }

    #[test]
    fn what_each_profile_sets() {
        let found = testing::sets(&KNOB, "/proc/sys/net/ipv4/tcp_slow_start_after_idle", "1");
        assert_eq!(found, [None, None, Some("0".to_string()), None]);
    }
}
