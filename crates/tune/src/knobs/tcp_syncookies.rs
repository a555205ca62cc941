//! T32: SYN cookies, tcp_syncookies.
//!
//! Path: `/proc/sys/net/ipv4/tcp_syncookies`: 0 off, 1 when the queue is full, 2 always, for tests.
//! Matters when: SYNs are dropped with cookies off (K2). Legitimate load should not need them.
//! Predicts: nothing with cookies, nothing without drops; then up to the next wall.
//! Risk: connections made by a cookie lose TCP options when time stamps are off.
//! Verify: SyncookiesSent of /proc/net/netstat.
//! With: the length of the queue (T31), which matters only without cookies.
//! Source: Linux Documentation/networking/ip-sysctl.rst.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::Place;
use crate::predict::{self, Count};
use model::tuning::{Prediction, Scope, Side, Signals, TakesEffect};
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
        (_, "0") => Proposal::Leave("off: few connections fill no queue".to_string()),
        (_, "1") => Proposal::Leave("1 is right: cookies only when the queue is full".to_string()),
        (_, "2") => Proposal::Leave("a cookie for every SYN, for tests: 1 is right".to_string()),
        (_, now) => Proposal::Leave(format!("{now} is none of 0, 1 and 2")),
    }
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "TCPReqQFullDrop of the server's namespace above 0, with tcp_syncookies 0";
    if let Some(arithmetic) = with_cookies(&signals.server) {
        return Prediction::no_effect(predict::noise(signals), arithmetic, reconsider);
    }
    let count = Count {
        relieved: WALLS,
        hits: signals.server.syn_drops,
        what: "SYNs that found the SYN queue full",
        removes: "their second try after 1 s",
        reconsider,
    };
    predict::count(signals, &count)
}

/// What the count of a side with cookies means; nothing where they are off or that is not known.
pub fn with_cookies(side: &Side) -> Option<String> {
    let cookies = side.sysctls.get("net.ipv4.tcp_syncookies")?;
    match (cookies.as_str(), side.syn_drops) {
        ("1", Some(drops)) => {
            Some(format!("{drops} SYNs did not fit the queue, and got cookies instead"))
        }
        ("1", None) => Some("a SYN that does not fit the queue gets a cookie".to_string()),
        ("2", _) => Some("every SYN gets a cookie, whether it fits the queue or not".to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use model::tuning::Basis;

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

    #[test]
    fn each_value_is_named_for_what_it_is() {
        let told = |now| {
            let path = "/proc/sys/net/ipv4/tcp_syncookies";
            match &testing::by_profile(&KNOB, path, now)[2] {
                Proposal::Leave(why) => why.clone(),
                other => panic!("{now}: {other:?}"),
            }
        };
        assert!(told("0").starts_with("off") && told("1").starts_with("1 is right"));
        assert!(told("2").contains("for tests") && told("7").starts_with("7 is none"));
    }

    #[test]
    fn cookies_that_are_on_already_gain_nothing() {
        let mut signals = testing::at_wall(WallId::K2);
        signals.server.syn_drops = Some(9);
        let mut with = |cookies: &str| {
            signals.server.sysctls.insert("net.ipv4.tcp_syncookies".into(), cookies.into());
            let said = predict(&signals);
            (said.basis, said.arithmetic)
        };
        assert_eq!(with("0").0, Basis::Bounded);
        let (basis, told) = with("1");
        assert!(basis == Basis::NoEffect && told.starts_with("9 SYNs did not fit"), "{told}");
        let (basis, told) = with("2");
        assert!(basis == Basis::NoEffect && !told.contains('9'), "it counts every SYN: {told}");
    }
}
