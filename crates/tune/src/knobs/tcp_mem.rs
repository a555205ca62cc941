//! T47: memory of all TCP sockets, tcp_mem.
//!
//! Path: `/proc/sys/net/ipv4/tcp_mem`, three numbers of pages, not bytes; of the whole host.
//! Matters when: TCP is in memory pressure (K11): TCPMemoryPressures grew.
//! Predicts: nothing away from it; then up to the next wall.
//! Risk: the host runs out of memory.
//! Verify: `mem` of the TCP line of /proc/net/sockstat against the three numbers.
//! With: buffers (T41), which fill it.
//! Source: Linux Documentation/networking/ip-sysctl.rst.

use crate::host::{Host, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{Format, Place};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T47",
    name: "tcp-mem",
    about: "memory of all TCP sockets",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "the host runs out of memory",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::K11];

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    let path = "/proc/sys/net/ipv4/tcp_mem".to_string();
    vec![Place::File { path, format: Format::Numbers }]
}

fn propose(_: &Ask<'_>) -> Proposal {
    Proposal::Leave("the kernel chose it by the memory there is".to_string())
}

fn predict(signals: &Signals) -> Prediction {
    predict::only_at(signals, WALLS, "more memory for sockets", "TCPMemoryPressures above 0 (K11)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn the_verdict_decides() {
        testing::follows_wall(&KNOB, WallId::K11);
    }

    #[test]
    fn what_each_profile_sets() {
        let found = testing::sets(&KNOB, "/proc/sys/net/ipv4/tcp_mem", "10 20 30");
        assert_eq!(found, [None, None, None, None]);
    }
}
