//! T31: the length of SYN queues, tcp_max_syn_backlog.
//!
//! Path: `/proc/sys/net/ipv4/tcp_max_syn_backlog`, a number.
//! Matters when: SYNs were dropped (K2) and tcp_syncookies is 0. With cookies a full queue refuses
//! no client.
//! Predicts: nothing with cookies, nothing without drops; then up to the next wall.
//! Risk: memory for half-open connections under a flood.
//! Verify: TCPReqQFullDrop of /proc/net/netstat no longer grows.
//! With: tcp_syncookies (T32); somaxconn (T29) also caps it. Without cookies it already refuses
//! unknown peers at 3/4 of the value.
//! Source: Linux Documentation/networking/ip-sysctl.rst, net/ipv4/tcp_input.c, tcp_conn_request.

use super::tcp_syncookies::with_cookies;
use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::Place;
use crate::predict::{self, Count};
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T31",
    name: "tcp-max-syn-backlog",
    about: "half-open connections per listener",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "memory under a flood of SYNs",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::K2];

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    vec![Place::number("/proc/sys/net/ipv4/tcp_max_syn_backlog")]
}

fn propose(ask: &Ask<'_>) -> Proposal {
    match ask.wish.profile {
        Profile::Seeds => Proposal::at_least(ask.now, 65_535),
        Profile::Throughput | Profile::Latency | Profile::Churn => {
            Proposal::Leave("with SYN cookies on, a full queue refuses no client".to_string())
        }
    }
}

fn predict(signals: &Signals) -> Prediction {
    let side = &signals.server;
    let reconsider = "TCPReqQFullDrop of the server's namespace above 0, with tcp_syncookies 0";
    if let Some(arithmetic) = with_cookies(side) {
        return Prediction::no_effect(predict::noise(signals), arithmetic, reconsider);
    }
    let count = Count {
        relieved: WALLS,
        hits: side.syn_drops,
        what: "SYNs dropped because the SYN queue was full",
        removes: "their second try after 1 s",
        reconsider,
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
    fn with_cookies_the_queue_refuses_no_client() {
        let mut signals = Signals::default();
        signals.server.syn_drops = Some(9);
        signals.server.sysctls.insert("net.ipv4.tcp_syncookies".into(), "1".into());
        assert_eq!(predict(&signals).basis, model::tuning::Basis::NoEffect);
    }

    #[test]
    fn what_each_profile_sets() {
        let found = testing::sets(&KNOB, "/proc/sys/net/ipv4/tcp_max_syn_backlog", "2048");
        assert_eq!(found, [Some("65535".to_string()), None, None, None]);
    }
}
