//! T63: fewer bytes per response: compression, smaller bodies.
//!
//! Path: settings of the server, bodies of the application.
//! Matters when: a link is full (K8, C5).
//! Predicts: at most the ratio of the bytes, less 1; a price in CPU on both hosts.
//! Risk: a generator that must decompress can lose half of its rate.
//! Verify: bytes per response and link use fall.
//! With: bodies compressed once and kept cost the server nothing.
//! Source: RFC 9110 section 8.4.

use crate::host::Host;
use crate::knob::{Act, Knob};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T63",
    name: "compression",
    about: "bytes per response",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: WALLS,
    risk: "CPU on both hosts; a weak client can halve the rate",
    act: Act::Advice { now, advice: ADVICE },
    predict,
};

const WALLS: &[WallId] = &[WallId::K8, WallId::C5];

const ADVICE: &str = "On a full link send bodies compressed beforehand; elsewhere leave it.";

fn now(_: &Host) -> Option<String> {
    None
}

/// How much text shrinks, at best as a rule.
const RATIO: f64 = 4.0;
/// Bytes of a response that no compression touches: its head.
const HEAD: f64 = 120.0;
/// What a client that must decompress can lose.
const PRICE: f64 = 0.5;

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "a link above 95 % of its speed (K8, C5)";
    let Some(bytes) = predict::finite(signals.bytes_per_response) else {
        return predict::unknown("bytes per response", reconsider);
    };
    let body = (bytes - HEAD).max(0.0);
    let ratio = bytes.max(1.0) / (bytes.max(1.0) - body + body / RATIO);
    predict::fewer_bytes(signals, ratio.max(1.0), PRICE, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use model::tuning::Basis;

    #[test]
    fn it_pays_on_a_full_link() {
        let at = |wall, bytes_per_response| {
            predict(&Signals { bytes_per_response, ..testing::at_wall(wall) })
        };
        let full = at(WallId::K8, Some(100_000.0)).high.unwrap();
        assert!((2.9..3.0).contains(&full), "{full}");
        let idle = at(WallId::C1, Some(100_000.0));
        assert!(idle.high.unwrap() < 0.05 && idle.low == Some(-0.5), "{idle:?}");
        assert_eq!(at(WallId::K8, None).basis, Basis::Unknown);
    }
}
