//! T35: new connections on ports in TIME_WAIT, tcp_tw_reuse.
//!
//! Path: `/proc/sys/net/ipv4/tcp_tw_reuse`: 0 off, 1 on, 2 for loopback only; `tcp_tw_reuse_delay`
//! in milliseconds where the kernel has it. On the host that connects.
//! Matters when: the generator runs out of ports (C7) and closes its connections first. It does
//! nothing for connections that a server accepts.
//! Predicts: nothing while ports are free; then up to one range of ports per second.
//! Risk: needs time stamps on both sides, or old segments may be taken for new ones.
//! Verify: TWRecycled of /proc/net/netstat grows.
//! With: ip_local_port_range (T34), tcp_timestamps.
//! Source: Linux Documentation/networking/ip-sysctl.rst, net/ipv4/tcp_ipv4.c, tcp_twsk_unique.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Effect, Knob, Proposal, Sign};
use crate::place::Place;
use crate::predict::{self, Usage};
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T35",
    name: "tcp-tw-reuse",
    about: "outgoing connections from ports in TIME_WAIT",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "old segments may be taken for new ones without time stamps",
    act: Act::Settable { places, propose, sign: Some(SIGN) },
    predict,
};

const WALLS: &[WallId] = &[WallId::C7];

/// How long a closed connection keeps its port.
const TIME_WAIT_S: f64 = 60.0;

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    let file = |name: &str| Place::number(format!("/proc/sys/net/ipv4/{name}"));
    vec![file("tcp_tw_reuse"), file("tcp_tw_reuse_delay")]
}

fn propose(ask: &Ask<'_>) -> Proposal {
    match (ask.wish.profile, ask.index, ask.now) {
        (_, 1.., _) => Proposal::Leave("the delay keeps old segments apart".to_string()),
        (Profile::Seeds | Profile::Churn, _, "1") => Proposal::Leave("it is on".to_string()),
        (Profile::Seeds | Profile::Churn, ..) => Proposal::Set("1".to_string()),
        (Profile::Throughput | Profile::Latency, ..) => {
            Proposal::Leave("connections that stay leave no TIME_WAIT".to_string())
        }
    }
}

/// Ports reused in the namespace.
const SIGN: Sign = Sign { what: "TWRecycled", read: recycled, judge };

fn recycled(host: &Host, _: &Place) -> Option<String> {
    let text = host.text("/proc/net/netstat")?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt: "));
    let (names, values) = (lines.next()?, lines.next()?);
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    Some(pairs.find(|(name, _)| *name == "TWRecycled")?.1.to_string())
}

fn judge(before: &str, now: &str, wanted: &str) -> Effect {
    match before.parse::<u64>().ok().zip(now.parse::<u64>().ok()) {
        _ if wanted != "1" => Effect::NotYet("off; TWRecycled stays as it is".to_string()),
        Some((before, now)) if now > before => {
            Effect::Seen(format!("{} ports were reused", now - before))
        }
        _ => Effect::NotYet("TWRecycled will grow when ports run out".to_string()),
    }
}

fn predict(signals: &Signals) -> Prediction {
    let room = Usage {
        relieved: WALLS,
        used: signals.client.ports_use,
        what: "of the generator's range of ports",
        held: signals.connection_rate.map(|rate| (rate, TIME_WAIT_S)),
        reconsider: "ports of the generator above 95 % of the range (C7)",
    };
    predict::room(signals, &room)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};

    #[test]
    fn it_matters_only_when_ports_run_out() {
        testing::follows_share(&KNOB, |signals, share| signals.client.ports_use = share);
    }

    #[test]
    fn ports_taken_again_are_the_sign() {
        let made = MadeUp::new("t35", 2);
        made.write("/proc/net/netstat", "TcpExt: TW TWRecycled TWKilled\nTcpExt: 9 4 1\nIpExt: A");
        let place = Place::number("/proc/sys/net/ipv4/tcp_tw_reuse");
        assert_eq!(recycled(&made.host(), &place), Some("4".to_string()));
        assert!(matches!(judge("4", "6", "1"), Effect::Seen(_)));
        assert!(matches!(judge("4", "4", "1"), Effect::NotYet(_)));
    }

    #[test]
    fn what_each_profile_sets() {
        let found = testing::sets(&KNOB, "/proc/sys/net/ipv4/tcp_tw_reuse", "2");
        assert_eq!(found, [Some("1".to_string()), None, None, Some("1".to_string())]);
    }

    #[test]
    fn the_delay_stays() {
        let found = testing::sets(&KNOB, "/proc/sys/net/ipv4/tcp_tw_reuse_delay", "1000");
        assert_eq!(found, [None, None, None, None]);
    }
}
