//! T32: SYN cookies, tcp_syncookies.
//!
//! Path: `/proc/sys/net/ipv4/tcp_syncookies`: 0 off, 1 when the queue is full, 2 always, for tests.
//! Matters when: SYNs are dropped with cookies off (K2). Legitimate load should not need them.
//! Predicts: nothing without drops; then up to the next wall.
//! Risk: connections made by a cookie lose TCP options when time stamps are off.
//! Verify: SyncookiesSent of /proc/net/netstat.
//! With: the length of the queue (T31), which matters only without cookies.
//! Source: Linux Documentation/networking/ip-sysctl.rst.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::Place;
use crate::predict::{self, Count};
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T32",
    name: "tcp-syncookies",
    about: "responses to SYNs that find no room",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "connections by cookie can lose TCP options",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::K2];

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    vec![Place::number("/proc/sys/net/ipv4/tcp_syncookies")]
}

fn propose(ask: &Ask<'_>) -> Proposal {
    match (ask.wish.profile, ask.now) {
        (Profile::Churn | Profile::Throughput, "0") => Proposal::Set("1".to_string()),
        _ => Proposal::Leave("1 is right: cookies only when the queue is full".to_string()),
    }
}

fn predict(signals: &Signals) -> Prediction {
    let count = Count {
        relieved: WALLS,
        hits: signals.server.syn_drops,
        what: "SYNs that found the SYN queue full",
        removes: "their second try after 1 s",
        reconsider: "TCPReqQFullDrop of the server's namespace above 0",
    };
    predict::count(signals, &count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn it_matters_only_when_packets_or_connections_were_refused() {
        testing::follows_count(&KNOB, |signals, hits| signals.server.syn_drops = hits);
    }

    #[test]
    fn what_each_profile_sets() {
        let found = testing::sets(&KNOB, "/proc/sys/net/ipv4/tcp_syncookies", "0");
        assert_eq!(found, [None, Some("1".to_string()), None, Some("1".to_string())]);
    }

    #[test]
    fn cookies_that_are_on_stay() {
        let found = testing::sets(&KNOB, "/proc/sys/net/ipv4/tcp_syncookies", "2");
        assert_eq!(found, [None, None, None, None]);
    }
}
