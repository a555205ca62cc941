//! T56: memory that follows its threads between nodes, numa_balancing.
//!
//! Path: `/proc/sys/kernel/numa_balancing`, 0 or 1; placement by numactl(8) is the server's own.
//! Matters when: the host has several nodes, and memory or the network device is on another one
//! (S8).
//! Predicts: nothing on one node; unknown without counters of remote memory.
//! Risk: memory stays remote for servers that are not pinned.
//! Verify: `numastat -p PID`, numa_pages_migrated of /proc/vmstat.
//! With: placement of the server (T12) and of interrupts (T1).
//! Source: Linux Documentation/admin-guide/sysctl/kernel.rst.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::Place;
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T56",
    name: "numa-balancing",
    about: "moving memory between nodes",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "memory stays far from servers that are not pinned",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::S8];

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    vec![Place::number("/proc/sys/kernel/numa_balancing")]
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let nodes = ask.host.text("/sys/devices/system/node/online").unwrap_or_default();
    let has_one = matches!(nodes.trim(), "" | "0");
    match (ask.wish.profile, ask.now) {
        _ if has_one => Proposal::Leave("the host has one node".to_string()),
        (_, "0") => Proposal::Leave("it is off".to_string()),
        (Profile::Throughput | Profile::Latency, _) if ask.wish.split.is_some() => {
            Proposal::Set("0".to_string())
        }
        _ => Proposal::Leave("it helps servers that are not pinned".to_string()),
    }
}

fn predict(signals: &Signals) -> Prediction {
    predict::only_at(
        signals,
        WALLS,
        "memory stays where its threads are",
        "remote memory above 10 % in `numastat -p PID` (S8)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpus::CpuSet;
    use crate::host::Split;
    use crate::testing::{self, MadeUp};

    #[test]
    fn the_verdict_decides() {
        testing::follows_wall(&KNOB, WallId::S8);
    }

    #[test]
    fn only_pinned_servers_on_several_nodes_do_without() {
        let made = MadeUp::new("t56", 4);
        made.write("/proc/sys/kernel/numa_balancing", "1");
        let cpus = |list| CpuSet::parse_list(list).unwrap();
        let split = Split { network: cpus("0-1"), server: cpus("2-3") };
        let wish = Wish { split: Some(split), ..Wish::default() };
        let proposal = || testing::proposals(&KNOB, &made.host(), &wish).remove(0).1;
        assert!(matches!(proposal(), Proposal::Leave(_)));
        made.write("/sys/devices/system/node/online", "0-1");
        assert_eq!(proposal(), Proposal::Set("0".to_string()));
    }
}
