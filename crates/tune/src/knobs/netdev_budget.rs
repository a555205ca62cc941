//! T26: how long one round of softirq may last, netdev_budget and netdev_budget_usecs.
//!
//! Path: `/proc/sys/net/core/netdev_budget`, packets, and `netdev_budget_usecs`, microseconds; of
//! the whole host.
//! Matters when: rounds ended with work left (K6) and the ring dropped packets meanwhile. Without
//! drops the next round takes the rest.
//! Predicts: nothing while the ring drops nothing; then up to the next wall. It rarely moves the
//! rate.
//! Risk: threads on that CPU wait longer.
//! Verify: the third column of /proc/net/softnet_stat, time_squeeze, grows more slowly.
//! With: both limits apply, whichever is reached first, so both are raised. The default of the time
//! depends on HZ.
//! Source: Linux Documentation/admin-guide/sysctl/net.rst, net/core/dev.c, net_rx_action.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::Place;
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T26",
    name: "netdev-budget",
    about: "packets and time of one round of softirq",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "threads on a CPU full of packets wait longer",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::K6, WallId::K7];

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    let file = |name: &str| Place::number(format!("/proc/sys/net/core/{name}"));
    vec![file("netdev_budget"), file("netdev_budget_usecs")]
}

fn propose(ask: &Ask<'_>) -> Proposal {
    match (ask.wish.profile, ask.index) {
        (Profile::Throughput, 0) => Proposal::at_least(ask.now, 600),
        (Profile::Throughput, _) => Proposal::at_least(ask.now, 16_000),
        (Profile::Seeds | Profile::Latency | Profile::Churn, _) => {
            Proposal::Leave("a longer round keeps threads from the CPU".to_string())
        }
    }
}

fn predict(signals: &Signals) -> Prediction {
    predict::cut_rounds(signals, WALLS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn it_matters_only_when_packets_or_connections_were_refused() {
        testing::follows_count(&KNOB, |signals, hits| signals.server.time_squeezes = hits);
    }

    #[test]
    fn rounds_that_end_early_and_drop_nothing_are_no_reason() {
        let mut signals = Signals::default();
        (signals.server.time_squeezes, signals.server.device_drops) = (Some(900), Some(0));
        assert_eq!(predict(&signals).basis, model::tuning::Basis::NoEffect);
    }

    #[test]
    fn how_many_packets_each_profile_sets() {
        let found = testing::sets(&KNOB, "/proc/sys/net/core/netdev_budget", "300");
        assert_eq!(found, [None, Some("600".to_string()), None, None]);
    }

    #[test]
    fn how_much_time_each_profile_sets() {
        let found = testing::sets(&KNOB, "/proc/sys/net/core/netdev_budget_usecs", "8000");
        assert_eq!(found, [None, Some("16000".to_string()), None, None]);
    }
}
