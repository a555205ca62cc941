//! T60: memory management of the runtime: collector, allocator, workers.
//!
//! Path: settings of the server, for example GOGC, GOMEMLIMIT, its allocator, its number of
//! workers.
//! Matters when: the collector takes CPU at a CPU wall, or its pauses stop the whole application
//! (A5).
//! Predicts: with m microseconds of collection of c per request, at most c / (c - m) - 1; unknown
//! without a profile.
//! Risk: memory.
//! Verify: the share of the collector in a profile, before and after.
//! With: limits of the control group (T58), by which runtimes count CPUs.
//! Source: the documentation of the runtime.

use crate::host::Host;
use crate::knob::{Act, Knob};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T60",
    name: "runtime",
    about: "collector and allocator of the server",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: WALLS,
    risk: "memory",
    act: Act::Advice { now, advice: ADVICE },
    predict,
};

const WALLS: &[WallId] = &[WallId::A5, WallId::S1, WallId::S2];

const ADVICE: &str = "Take a profile of the server; where the collector is above a tenth, give \
     it more memory.";

fn now(_: &Host) -> Option<String> {
    None
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "a collector above 10 % of a profile at a CPU wall, or pauses (A5)";
    predict::work(signals, WALLS, None, "collection of memory", reconsider)
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
