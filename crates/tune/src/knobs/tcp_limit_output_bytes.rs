//! T43: bytes of one socket below the queueing discipline, tcp_limit_output_bytes.
//!
//! Path: `/proc/sys/net/ipv4/tcp_limit_output_bytes`, bytes.
//! Matters when: one fat flow does not fill a link because the device completes transmissions late.
//! Rare.
//! Predicts: nothing for small bodies and many connections.
//! Risk: longer queues below the scheduler of packets: latency.
//! Verify: throughput of a single flow.
//! With: queueing disciplines (T22), byte queue limits (T23).
//! Source: Linux Documentation/networking/ip-sysctl.rst, net/ipv4/tcp_output.c,
//! tcp_small_queue_check.

use crate::host::{Host, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::Place;
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T43",
    name: "tcp-limit-output-bytes",
    about: "bytes of one socket in queues of the device",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "longer queues in the device",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::N3];

/// Bytes of which several responses fit the smallest limit that kernels came with.
const LARGE: f64 = 65_536.0;

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    vec![Place::number("/proc/sys/net/ipv4/tcp_limit_output_bytes")]
}

fn propose(_: &Ask<'_>) -> Proposal {
    Proposal::Leave("it pays for one fat flow only".to_string())
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "one flow alone with responses above 64 kB (N3)";
    match predict::finite(signals.bytes_per_response) {
        None => predict::unknown("bytes per response", reconsider),
        Some(bytes) if bytes < LARGE => {
            let arithmetic = format!("a response of {bytes:.0} bytes is far below the limit");
            Prediction::no_effect(predict::noise(signals), arithmetic, reconsider)
        }
        Some(bytes) => {
            let noise = predict::noise(signals);
            let arithmetic =
                format!("a response of {bytes:.0} bytes: only one flow alone feels it");
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
        let found = testing::sets(&KNOB, "/proc/sys/net/ipv4/tcp_limit_output_bytes", "4194304");
        assert_eq!(found, [None, None, None, None]);
    }
}
