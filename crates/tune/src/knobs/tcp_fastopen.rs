//! T40: data with the first packet, TCP fast open.
//!
//! Path: `/proc/sys/net/ipv4/tcp_fastopen`, bits: 1 client, 2 server; and TCP_FASTOPEN of the
//! listener.
//! Matters when: short connections over a path of more than 5 ms. Rare on a LAN.
//! Predicts: at most one round trip of the time of each new connection.
//! Risk: the first data may arrive twice; some boxes on the path drop such SYNs.
//! Verify: TCPFastOpenPassive of /proc/net/netstat grows.
//! With: connections that stay (T38), which make it needless.
//! Source: RFC 7413, Linux Documentation/networking/ip-sysctl.rst.

use crate::host::Host;
use crate::knob::{Act, Knob};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T40",
    name: "tcp-fastopen",
    about: "data in the SYN of a connection",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::NewListen,
    is_disruptive: false,
    relieves: WALLS,
    risk: "first data may arrive twice; paths that drop such SYNs",
    act: Act::Advice { now, advice: ADVICE },
    predict,
};

const WALLS: &[WallId] = &[WallId::N1, WallId::A8];

const ADVICE: &str = "Only for short connections over a long path; both programs must ask for \
     it.";

/// Round trip from which it is worth the trouble, microseconds.
const LONG_US: f64 = 5_000.0;

fn now(host: &Host) -> Option<String> {
    Some(host.text("/proc/sys/net/ipv4/tcp_fastopen")?.trim().to_string())
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "new connections with a round trip above 5 ms";
    let rates = predict::finite(signals.connection_rate).zip(predict::finite(signals.rate));
    let churn =
        rates.filter(|(_, rate)| *rate > 0.0).map(|(opened, rate)| (opened / rate).min(1.0));
    let rtt_us = predict::finite(signals.rtt_us);
    let (Some(churn), Some(rtt_us)) = (churn, rtt_us) else {
        return predict::unknown("round trip, or connections per request", reconsider);
    };
    if churn < 0.01 || rtt_us < LONG_US {
        let arithmetic = format!(
            "{:.1} % of requests open a connection, a round trip takes {rtt_us:.0} us",
            churn * 100.0
        );
        return Prediction::no_effect(predict::noise(signals), arithmetic, reconsider);
    }
    let saved_us = rtt_us * churn.min(1.0);
    let all_us = signals.p50_ns.map_or(saved_us, |ns| ns as f64 / 1e3) + saved_us;
    let share = Some(saved_us / all_us);
    predict::waiting(signals, WALLS, share, "is a round trip that it saves", reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use model::tuning::Basis;

    #[test]
    fn it_saves_a_round_trip_of_short_connections() {
        let run = |rtt_us| Signals {
            rate: Some(1e3),
            connection_rate: Some(1e3),
            p50_ns: Some(30_000_000),
            rtt_us,
            ..Signals::default()
        };
        let response = predict(&run(Some(10_000.0)));
        assert!((response.high.unwrap() - 1.0 / 3.0).abs() < 1e-6, "{response:?}");
        assert_eq!(predict(&run(Some(100.0))).basis, Basis::NoEffect);
        assert_eq!(predict(&run(None)).basis, Basis::Unknown);
        let files = [("/proc/sys/net/ipv4/tcp_fastopen", "1")];
        assert_eq!(testing::now(&KNOB, &files).unwrap(), "1");
    }
}
