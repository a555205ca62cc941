//! T14: the listener chosen by the receiving CPU: BPF of SO_REUSEPORT, SO_INCOMING_CPU.
//!
//! Path: the server: SO_ATTACH_REUSEPORT_CBPF or SO_INCOMING_CPU on its listeners.
//! Matters when: the server's CPUs limit, a request costs few microseconds, one worker is pinned
//! per CPU with one queue per CPU.
//! Predicts: at most 38 %, what somebody else published for a server of 5 microseconds per request;
//! a larger one measured nothing.
//! Risk: workers in another order than CPUs send everything to the wrong place.
//! Verify: connections accepted on the CPU of their worker, above 95 %.
//! With: pinned workers (T12), interrupts (T1), XPS (T8); makes RFS (T6) needless.
//! Source: socket(7), SO_INCOMING_CPU; a published account of 1.2 million requests per second.

use crate::host::Host;
use crate::knob::{Act, Knob};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T14",
    name: "listener-by-cpu",
    about: "connections served where their packets arrive",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: WALLS,
    risk: "a wrong order of workers sends all to the wrong CPU",
    act: Act::Advice { now, advice: ADVICE },
    predict,
};

const WALLS: &[WallId] = &[WallId::S1, WallId::S2, WallId::K4, WallId::S8];

const ADVICE: &str = "After pinning one worker and one queue per CPU, choose the listener by \
     the CPU that received.";

fn now(_: &Host) -> Option<String> {
    None
}

/// Gain that somebody else published, with pinning and XPS together.
const PUBLISHED: f64 = 0.38;
/// Where the published server stood, microseconds of CPU per request; costlier ones gain less.
const PUBLISHED_US: f64 = 6.63;

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "CPUs of the server above 95 % with a few microseconds per request";
    let share = predict::share_of_gain(PUBLISHED);
    let us = predict::finite(signals.server.us_per_request).filter(|us| *us > PUBLISHED_US);
    let share = us.map_or(share, |us| share * PUBLISHED_US / us);
    let what = "work away from the receiving CPU, at most as published by somebody else";
    predict::work(signals, WALLS, Some(share), what, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use model::tuning::Basis;

    #[test]
    fn only_a_cpu_that_limits_is_relieved() {
        let at = |wall| predict(&testing::at_wall(wall)).basis;
        assert_eq!(at(WallId::C1), Basis::NoEffect);
        assert_eq!(at(WallId::S1), Basis::Bounded);
        assert_eq!(predict(&Signals::default()).basis, Basis::Unknown);
    }

    #[test]
    fn requests_that_cost_more_gain_less() {
        let run = |us_per_request| {
            let mut signals = testing::at_wall(WallId::S1);
            signals.server.us_per_request = us_per_request;
            predict(&signals).high.unwrap()
        };
        assert!((run(Some(5.0)) - 0.38).abs() < 1e-9);
        assert!(run(Some(100.0)) <= 0.03);
    }
}
