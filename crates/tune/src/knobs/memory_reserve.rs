//! T57: memory that is kept free, swappiness and min_free_kbytes.
//!
//! Path: `/proc/sys/vm/swappiness`, and `/proc/sys/vm/min_free_kbytes` in kB.
//! Matters when: tasks wait for memory (A9, K11), or bursts of packets find none.
//! Predicts: at most the share of the time in which tasks waited for memory.
//! Risk: memory that no process may use; the page cache shrinks.
//! Verify: `some` of /proc/pressure/memory falls; allocation failures stop.
//! With: tcp_mem (T47).
//! Source: Linux Documentation/admin-guide/sysctl/vm.rst.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::Place;
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T57",
    name: "memory-reserve",
    about: "swapping, and memory kept free for bursts",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "memory that stays unused, a smaller page cache",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::A9, WallId::K11, WallId::A6];

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    vec![Place::number("/proc/sys/vm/swappiness"), Place::number("/proc/sys/vm/min_free_kbytes")]
}

fn propose(ask: &Ask<'_>) -> Proposal {
    match (ask.wish.profile, ask.index, ask.now.parse::<u64>()) {
        (Profile::Latency, 0, Ok(now)) if now > 10 => Proposal::Set("10".to_string()),
        (_, 0, _) => Proposal::Leave("nothing is swapped while memory is free".to_string()),
        _ => Proposal::Leave("the kernel chose it by the size of memory".to_string()),
    }
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "pressure of memory above 1 % of the time (A9)";
    let share = signals.server.memory_pressure;
    predict::waiting(signals, WALLS, share, "tasks waited for memory", reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn it_follows_what_was_measured() {
        testing::follows_share(&KNOB, |signals, share| signals.server.memory_pressure = share);
    }

    #[test]
    fn what_each_profile_sets() {
        let found = testing::sets(&KNOB, "/proc/sys/vm/swappiness", "60");
        assert_eq!(found, [None, None, Some("10".to_string()), None]);
    }

    #[test]
    fn the_reserve_stays() {
        let found = testing::sets(&KNOB, "/proc/sys/vm/min_free_kbytes", "67584");
        assert_eq!(found, [None, None, None, None]);
    }
}
