//! T10: flow limit: one large flow is dropped first when a CPU's backlog fills.
//!
//! Path: `/proc/sys/net/core/flow_limit_cpu_bitmap`, a mask of CPUs, zero is off; and
//! `flow_limit_table_len`, a power of two that holds for CPUs switched on afterwards.
//! Matters when: one flow floods the backlog of a CPU and starves others (K5).
//! Predicts: nothing until packets are dropped at the backlog; then up to the next wall.
//! Risk: the large flow loses packets that would have had room.
//! Verify: the field of flow limits in /proc/net/softnet_stat.
//! With: only where RPS (T5) or virtual devices use the backlog (T25).
//! Source: Linux Documentation/networking/scaling.rst.

use crate::host::{Host, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{Format, Place};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T10",
    name: "flow-limit",
    about: "a large flow is dropped before small ones",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[WallId::K5],
    risk: "the large flow loses packets that would have had room",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    // The length first: it holds for CPUs that are switched on after it.
    let length = Place::file("/proc/sys/net/core/flow_limit_table_len", Format::Number);
    let cpus = Place::file("/proc/sys/net/core/flow_limit_cpu_bitmap", Format::Mask);
    vec![length, cpus]
}

fn propose(_: &Ask<'_>) -> Proposal {
    Proposal::Leave("a load of many alike connections has no large flow".to_string())
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "drops at the per-CPU backlog above 0, with one flow that makes most of them";
    let hits = signals.server.backlog_drops;
    let what = "packets dropped at the per-CPU backlog";
    predict::limit_at(signals, KNOB.relieves, hits, what, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Profile;
    use crate::testing::{self, MadeUp};

    #[test]
    fn no_profile_has_one_large_flow() {
        let made = MadeUp::two_cpus();
        made.write("/proc/sys/net/core/flow_limit_cpu_bitmap", "0");
        made.write("/proc/sys/net/core/flow_limit_table_len", "4096");
        for (_, profile) in Profile::ALL {
            let all = testing::asked(&KNOB, &made.host(), &testing::wish(*profile));
            assert_eq!(all.len(), 2);
            assert!(all.iter().all(|(_, proposal)| matches!(proposal, Proposal::Leave(_))));
        }
    }

    #[test]
    fn it_matters_when_the_backlog_drops() {
        let mut idle = testing::at(WallId::K5, 1.0, 0.5);
        idle.server.backlog_drops = Some(0);
        let mut limit = idle.clone();
        limit.server.backlog_drops = Some(12);
        testing::assert_predicts(&KNOB, &idle, &limit);
    }
}
