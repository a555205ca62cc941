//! T49: the table of connection tracking.
//!
//! Path: `/proc/sys/net/netfilter/nf_conntrack_max`, entries, and
//! `/sys/module/nf_conntrack/parameters/hashsize`, buckets; both only in the initial namespace.
//! Matters when: the table is full (K10). Tracking itself costs CPU on every packet, which no size
//! of the table removes.
//! Predicts: nothing while there is room; connections plus new ones per second x 120 s are needed.
//! Risk: memory, about 300 bytes per entry.
//! Verify: nf_conntrack_count below the maximum, no `table full` in the kernel's log.
//! With: rules without tracking (notrack) remove the cost; ceiling does not change a firewall.
//! Source: Linux Documentation/networking/nf_conntrack-sysctl.rst.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::Place;
use crate::predict::{self, Usage};
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T49",
    name: "conntrack-table",
    about: "size of the connection tracking table",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "memory, about 300 bytes per entry",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::K10];

/// How long a closed connection stays in the table, seconds.
const HELD_S: f64 = 120.0;

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    let most = Place::number("/proc/sys/net/netfilter/nf_conntrack_max");
    let hash = Place::number("/sys/module/nf_conntrack/parameters/hashsize");
    vec![most, hash]
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let wanted = if ask.index == 0 { 1_048_576 } else { 262_144 };
    match ask.wish.profile {
        Profile::Throughput | Profile::Churn if !ask.host.is_initial_namespace => Proposal::Refuse(
            "it can be written only in the initial network namespace of the host".to_string(),
        ),
        Profile::Throughput | Profile::Churn => Proposal::at_least(ask.now, wanted),
        Profile::Seeds | Profile::Latency => {
            Proposal::Leave("few connections need few entries".to_string())
        }
    }
}

fn predict(signals: &Signals) -> Prediction {
    let room = Usage {
        relieved: WALLS,
        used: signals.server.conntrack_use,
        what: "of the connection tracking table",
        held: signals.connection_rate.map(|rate| (rate, HELD_S)),
        reconsider: "nf_conntrack_count above 95 % of nf_conntrack_max (K10)",
    };
    predict::room(signals, &room)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};

    #[test]
    fn it_follows_what_was_measured() {
        testing::follows_share(&KNOB, |signals, share| signals.server.conntrack_use = share);
    }

    #[test]
    fn the_table_is_of_the_first_namespace() {
        let made = MadeUp::new("t49", 2);
        made.write("/proc/sys/net/netfilter/nf_conntrack_max", "65536");
        let host = Host { is_initial_namespace: false, ..made.host() };
        let found = testing::proposals(&KNOB, &host, &Wish::default());
        assert!(matches!(found[0].1, Proposal::Refuse(_)), "{found:?}");
    }

    #[test]
    fn what_each_profile_sets() {
        let found = testing::sets(&KNOB, "/proc/sys/net/netfilter/nf_conntrack_max", "262144");
        assert_eq!(found, [None, Some("1048576".to_string()), None, Some("1048576".to_string())]);
    }

    #[test]
    fn buckets_follow() {
        let found = testing::sets(&KNOB, "/sys/module/nf_conntrack/parameters/hashsize", "16384");
        assert_eq!(found, [None, Some("262144".to_string()), None, Some("262144".to_string())]);
    }
}
