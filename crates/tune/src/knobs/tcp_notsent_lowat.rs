//! T42: unsent bytes a socket may hold, tcp_notsent_lowat.
//!
//! Path: `/proc/sys/net/ipv4/tcp_notsent_lowat`, bytes; 4294967295 is no bound.
//! Matters when: large streams, or several in one connection as with HTTP/2, where an urgent
//! response waits behind written bytes.
//! Predicts: nothing for the rate; less waiting behind large bodies.
//! Risk: more wake-ups of the writer.
//! Verify: notsent of `ss -ti` stays below it.
//! With: buffers (T41).
//! Source: Linux Documentation/networking/ip-sysctl.rst, tcp(7).

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::Place;
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T42",
    name: "tcp-notsent-lowat",
    about: "bytes written and not yet sent",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "more wake-ups of the writer",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::K12, WallId::A7];

/// Unsent bytes that keep a link busy for a while.
const LARGE: f64 = 131_072.0;

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    vec![Place::number("/proc/sys/net/ipv4/tcp_notsent_lowat")]
}

fn propose(ask: &Ask<'_>) -> Proposal {
    match (ask.wish.profile, ask.now.parse::<u64>()) {
        (Profile::Latency, Ok(now)) if now > 131_072 => Proposal::Set("131072".to_string()),
        (Profile::Latency, _) => Proposal::Leave(format!("{} is low enough", ask.now)),
        (Profile::Seeds | Profile::Throughput | Profile::Churn, _) => {
            Proposal::Leave("it costs wake-ups and raises no rate".to_string())
        }
    }
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "responses above 128 kB, or streams that share a connection";
    match predict::finite(signals.bytes_per_response) {
        None => predict::unknown("bytes per response", reconsider),
        Some(bytes) if bytes < LARGE => {
            let arithmetic = format!("a response of {bytes:.0} bytes never waits unsent");
            Prediction::no_effect(predict::noise(signals), arithmetic, reconsider)
        }
        Some(bytes) => {
            let noise = predict::noise(signals);
            let arithmetic = format!(
                "a response of {bytes:.0} bytes: it bounds what waits unsent, not the rate"
            );
            Prediction::bounded(-noise, Some(noise), arithmetic, reconsider)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use model::tuning::Basis;

    #[test]
    fn only_large_bodies_feel_it() {
        let basis = |bytes_per_response| {
            predict(&Signals { bytes_per_response, ..Signals::default() }).basis
        };
        assert_eq!(basis(Some(200.0)), Basis::NoEffect);
        assert_eq!(basis(Some(4e6)), Basis::Bounded);
        assert_eq!(basis(None), Basis::Unknown);
    }

    #[test]
    fn what_each_profile_sets() {
        let found = testing::sets(&KNOB, "/proc/sys/net/ipv4/tcp_notsent_lowat", "4294967295");
        assert_eq!(found, [None, None, Some("131072".to_string()), None]);
    }
}
