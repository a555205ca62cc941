//! T33: what a full accept queue responses, tcp_abort_on_overflow.
//!
//! Path: `/proc/sys/net/ipv4/tcp_abort_on_overflow`, 0 or 1.
//! Matters when: never for the rate. It turns a silent second of waiting into a visible error: a
//! diagnosis.
//! Predicts: nothing; with overflows errors instead of late responses.
//! Risk: clients see resets in a burst that they would have survived.
//! Verify: resets at the client while ListenOverflows grows.
//! With: somaxconn (T29) and the backlog (T30), which are the remedy.
//! Source: Linux Documentation/networking/ip-sysctl.rst.

use crate::host::{Host, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::Place;
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T33",
    name: "tcp-abort-on-overflow",
    about: "reset instead of silence when an accept queue is full",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "clients see resets in bursts that they would have survived",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::K1];

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    vec![Place::number("/proc/sys/net/ipv4/tcp_abort_on_overflow")]
}

fn propose(_: &Ask<'_>) -> Proposal {
    Proposal::Leave("only for diagnosis: it makes room for nobody".to_string())
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "nothing raises the rate by it; ListenOverflows above 0 would show as resets";
    let arithmetic = match signals.server.accept_overflows {
        Some(hits) => format!("{hits} handshakes refused: a reset makes room for none of them"),
        None => "a reset makes room for no handshake, refused or not".to_string(),
    };
    Prediction::no_effect(predict::noise(signals), arithmetic, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn it_never_raises_the_rate() {
        let mut signals = Signals::default();
        for hits in [None, Some(0), Some(9)] {
            signals.server.accept_overflows = hits;
            assert_eq!(predict(&signals).basis, model::tuning::Basis::NoEffect);
        }
    }

    #[test]
    fn what_each_profile_sets() {
        let found = testing::sets(&KNOB, "/proc/sys/net/ipv4/tcp_abort_on_overflow", "0");
        assert_eq!(found, [None, None, None, None]);
    }
}
