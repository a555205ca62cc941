//! T64: less writing: log level, access logs.
//!
//! Path: settings of the server.
//! Matters when: lines per request cost CPU at a CPU wall, or a lock or a disk behind them limits
//! (A10).
//! Predicts: with m microseconds of writing of c per request, at most c / (c - m) - 1; unknown
//! without a profile.
//! Risk: less is known when something breaks.
//! Verify: lines per second, the share of writing in a profile.
//! With: storage (A6).
//! Source: the documentation of the server.

use crate::host::Host;
use crate::knob::{Act, Knob};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T64",
    name: "logging",
    about: "lines written per request",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: WALLS,
    risk: "less is known when something breaks",
    act: Act::Advice { now, advice: ADVICE },
    predict,
};

const WALLS: &[WallId] = &[WallId::A10, WallId::S1, WallId::S2];

const ADVICE: &str = "Run once with access logs off; where that moves the rate, write in \
     batches or sample.";

fn now(_: &Host) -> Option<String> {
    None
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "writing above 10 % of a profile at a CPU wall (A10)";
    predict::work(signals, WALLS, None, "writing of logs", reconsider)
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
        assert_eq!(at(WallId::S1), Basis::Unknown);
        assert_eq!(predict(&Signals::default()).basis, Basis::Unknown);
    }
}
