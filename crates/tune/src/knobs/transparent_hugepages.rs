//! T55: transparent huge pages.
//!
//! Path: `/sys/kernel/mm/transparent_hugepage/enabled`: always, madvise, never.
//! Matters when: misses of the TLB cost cycles (S8), or compaction stalls show as latency (A9).
//! Predicts: nothing away from these walls.
//! Risk: memory use, and stalls while pages are collected.
//! Verify: `AnonHugePages` of /proc/PID/smaps_rollup after a restart; thp_fault_alloc and
//! compact_stall of /proc/vmstat.
//! With: programs with an allocator that asks by madvise(2). Mappings that exist keep their pages.
//! Source: Linux Documentation/admin-guide/mm/transhuge.rst.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{Format, Place};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T55",
    name: "transparent-hugepages",
    about: "when memory comes in huge pages",
    scope: Scope::Host,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: WALLS,
    risk: "memory use, and stalls of compaction",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::S8, WallId::A9];

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    let path = "/sys/kernel/mm/transparent_hugepage/enabled".to_string();
    vec![Place::File { path, format: Format::Choice }]
}

fn propose(ask: &Ask<'_>) -> Proposal {
    match (ask.wish.profile, ask.now) {
        (Profile::Latency, "always") => Proposal::Set("madvise".to_string()),
        (Profile::Latency, _) => Proposal::Leave(format!("{} causes no stalls", ask.now)),
        (Profile::Seeds | Profile::Throughput | Profile::Churn, _) => {
            Proposal::Leave("it takes counters of the CPU to know whether it helps".to_string())
        }
    }
}

fn predict(signals: &Signals) -> Prediction {
    predict::only_at(
        signals,
        WALLS,
        "fewer misses or stalls",
        "misses of the TLB above 1 % of cycles (S8), compact_stall above 0 (A9)",
    )
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
        let found = testing::sets(
            &KNOB,
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "[always] madvise never",
        );
        assert_eq!(found, [None, None, Some("madvise".to_string()), None]);
    }
}
