//! T25: the length of the per-CPU backlog, netdev_max_backlog.
//!
//! Path: `/proc/sys/net/core/netdev_max_backlog`, packets; of the whole host.
//! Matters when: packets were dropped at the backlog (K5), which only RPS, loopback and veth use; a
//! card with NAPI and no RPS never does.
//! Predicts: nothing while the second column of softnet_stat stands still; then up to the next
//! wall.
//! Risk: packets that wait longer instead of being dropped: latency.
//! Verify: the second column of /proc/net/softnet_stat no longer grows.
//! With: RPS (T5), which fills it; the budget (T26), which empties it.
//! Source: Linux Documentation/admin-guide/sysctl/net.rst, net/core/dev.c.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::Place;
use crate::predict::{self, Count};
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T25",
    name: "netdev-max-backlog",
    about: "packets that may wait per CPU for their turn",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "packets wait longer instead of being dropped",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::K5];

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    vec![Place::number("/proc/sys/net/core/netdev_max_backlog")]
}

fn propose(ask: &Ask<'_>) -> Proposal {
    match ask.wish.profile {
        Profile::Seeds => Proposal::at_least(ask.now, 65_535),
        Profile::Throughput => Proposal::at_least(ask.now, 16_384),
        Profile::Latency | Profile::Churn => {
            Proposal::Leave("a longer backlog makes packets wait longer".to_string())
        }
    }
}

fn predict(signals: &Signals) -> Prediction {
    let count = Count {
        relieved: WALLS,
        hits: signals.server.backlog_drops,
        what: "packets dropped at the per-CPU backlog",
        removes: "their retransmissions",
        reconsider: "the second column of /proc/net/softnet_stat on the server above 0",
    };
    predict::count(signals, &count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn it_matters_only_when_packets_or_connections_were_refused() {
        testing::follows_count(&KNOB, |signals, hits| signals.server.backlog_drops = hits);
    }

    #[test]
    fn what_each_profile_sets() {
        let found = testing::sets(&KNOB, "/proc/sys/net/core/netdev_max_backlog", "1000");
        assert_eq!(found, [Some("65535".to_string()), Some("16384".to_string()), None, None]);
    }
}
