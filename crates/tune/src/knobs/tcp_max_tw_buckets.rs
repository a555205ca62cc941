//! T37: caps on sockets in TIME_WAIT and on orphans.
//!
//! Path: `/proc/sys/net/ipv4/tcp_max_tw_buckets`, of the namespace, and `tcp_max_orphans`, of the
//! host.
//! Matters when: a cap was reached (K13): TCPTimeWaitOverflow or TCPAbortOnMemory grew.
//! Predicts: nothing until a cap is reached; closed connections per second x 60 s are needed.
//! Risk: at worst 64 kB of memory per orphan that cannot be swapped.
//! Verify: TCPTimeWaitOverflow of /proc/net/netstat no longer grows.
//! With: tcp_mem (T47).
//! Source: Linux Documentation/networking/ip-sysctl.rst.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::Place;
use crate::predict::{self, Count};
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T37",
    name: "tcp-max-tw-buckets",
    about: "most sockets in TIME_WAIT, and most orphans",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "memory of sockets that no process owns",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::K13];

/// How long a closed connection is kept.
const TIME_WAIT_S: f64 = 60.0;

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    let file = |name: &str| Place::number(format!("/proc/sys/net/ipv4/{name}"));
    vec![file("tcp_max_tw_buckets"), file("tcp_max_orphans")]
}

fn propose(ask: &Ask<'_>) -> Proposal {
    match ask.wish.profile {
        Profile::Churn => Proposal::at_least(ask.now, 262_144),
        Profile::Seeds | Profile::Throughput | Profile::Latency => {
            Proposal::Leave("connections that stay reach no cap on closed ones".to_string())
        }
    }
}

fn predict(signals: &Signals) -> Prediction {
    let needed = predict::needed(signals.connection_rate, TIME_WAIT_S);
    let needed = needed.map(|needed| format!(" ({needed:.0} are needed at this rate x 60 s)"));
    let count = Count {
        relieved: WALLS,
        hits: signals.server.time_wait_overflows,
        what: &format!("times a cap was reached{}", needed.unwrap_or_default()),
        removes: "connections that end without TIME_WAIT",
        reconsider: "TCPTimeWaitOverflow of the server's namespace above 0",
    };
    predict::count(signals, &count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn it_matters_only_when_packets_or_connections_were_refused() {
        testing::follows_count(&KNOB, |signals, hits| signals.server.time_wait_overflows = hits);
    }

    #[test]
    fn what_each_profile_sets() {
        let found = testing::sets(&KNOB, "/proc/sys/net/ipv4/tcp_max_tw_buckets", "131072");
        assert_eq!(found, [None, None, None, Some("262144".to_string())]);
    }

    #[test]
    fn a_higher_cap_stays() {
        let found = testing::sets(&KNOB, "/proc/sys/net/ipv4/tcp_max_orphans", "524288");
        assert_eq!(found, [None, None, None, None]);
    }
}
