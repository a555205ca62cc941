//! T54: two threads per core, SMT.
//!
//! Path: `/sys/devices/system/cpu/smt/control`: on, off; other words where it cannot be changed.
//! Matters when: siblings contend for one core (S7, S8). It changes the number of CPUs, so figures
//! with and without are not of one host.
//! Predicts: at a wall of contention anything between half of the rate and up to the next wall.
//! Risk: half of the CPUs go; masks, interrupts and worker counts no longer fit.
//! Verify: `smt/active`, and CPUs online.
//! With: every mask of CPUs (T1, T5, T8, T12).
//! Source: Linux Documentation/ABI/testing/sysfs-devices-system-cpu.

use crate::host::{Host, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{Format, Place};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T54",
    name: "smt",
    about: "two CPUs on one core",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "half of the CPUs go, and masks and workers no longer fit",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::S7, WallId::S8];

/// What is lost when the siblings did not contend.
const LOSS: f64 = 0.5;

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    let path = "/sys/devices/system/cpu/smt/control".to_string();
    vec![Place::File { path, format: Format::Word }]
}

fn propose(_: &Ask<'_>) -> Proposal {
    Proposal::Leave(
        "another number of CPUs is another host; figures cannot be compared".to_string(),
    )
}

fn predict(signals: &Signals) -> Prediction {
    let response = predict::only_at(
        signals,
        WALLS,
        "less contention, and half of the CPUs",
        "contention or spin in a profile (S7, S8)",
    );
    Prediction { low: response.low.map(|low| low.min(-LOSS)), ..response }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn the_verdict_decides() {
        testing::follows_wall(&KNOB, WallId::S8);
    }

    #[test]
    fn what_each_profile_sets() {
        let found = testing::sets(&KNOB, "/sys/devices/system/cpu/smt/control", "on");
        assert_eq!(found, [None, None, None, None]);
    }
}
