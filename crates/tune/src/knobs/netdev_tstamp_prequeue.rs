//! T28: where packets get their time stamp, netdev_tstamp_prequeue.
//!
//! Path: `/proc/sys/net/core/netdev_tstamp_prequeue`, 1 before RPS, 0 after it, on the CPU steered
//! to.
//! Matters when: RPS is on, time stamps are asked for, and the CPU of the interrupts is full (K4).
//! Rare.
//! Predicts: less than RPS itself: at most the spread of softirq over the CPUs.
//! Risk: time stamps include the wait for the other CPU.
//! Verify: the softirq share of the CPU that takes the interrupts falls.
//! With: RPS (T5); without it nothing changes.
//! Source: Linux Documentation/admin-guide/sysctl/net.rst.

use crate::host::{Host, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::Place;
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T28",
    name: "netdev-tstamp-prequeue",
    about: "time stamps before or after steering",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "time stamps include the wait for another CPU",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::K4];

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    vec![Place::number("/proc/sys/net/core/netdev_tstamp_prequeue")]
}

fn propose(_: &Ask<'_>) -> Proposal {
    Proposal::Leave("it falsifies time stamps and pays only beside RPS".to_string())
}

fn predict(signals: &Signals) -> Prediction {
    predict::spread_of_softirq(
        signals,
        "one CPU of the server over 95 % busy, over half of it softirq, with RPS on (K4)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn it_needs_a_cpu_full_of_softirq() {
        assert_eq!(predict(&testing::seeds()).basis, model::tuning::Basis::NoEffect);
        assert_eq!(predict(&Signals::default()).basis, model::tuning::Basis::Unknown);
        let idle = testing::at(WallId::K4, 0.3, 0.1);
        testing::assert_predicts(&KNOB, &idle, &testing::one_full_cpu(1));
    }

    #[test]
    fn what_each_profile_sets() {
        let found = testing::sets(&KNOB, "/proc/sys/net/core/netdev_tstamp_prequeue", "1");
        assert_eq!(found, [None, None, None, None]);
    }
}
