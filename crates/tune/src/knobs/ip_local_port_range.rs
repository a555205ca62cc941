//! T34: ports for outgoing connections, ip_local_port_range.
//!
//! Path: `/proc/sys/net/ipv4/ip_local_port_range`, first and last port; on the host that connects.
//! Matters when: the generator runs out of ports to one address (C7): connections per second x 60 s
//! of TIME_WAIT exceed the range. On a server only for its own outgoing connections.
//! Predicts: nothing while ports are free; then up to the next wall.
//! Risk: ports of services that start later may be taken.
//! Verify: both numbers read back; the kernel silently takes a single number for the first one.
//! With: the first must not be below ip_unprivileged_port_start; ends of different parity, because
//! the kernel gives odd and even ports to bind and connect; ip_local_reserved_ports; tcp_tw_reuse
//! (T35); more source addresses.
//! Source: Linux Documentation/networking/ip-sysctl.rst, net/ipv4/sysctl_net_ipv4.c.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{Format, Place};
use crate::predict::{self, Usage};
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T34",
    name: "ip-local-port-range",
    about: "ports for outgoing connections",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::NewSockets,
    is_disruptive: false,
    relieves: WALLS,
    risk: "ports of services that start later may be taken",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::C7];

/// How long a closed connection keeps its port.
const TIME_WAIT_S: f64 = 60.0;
/// Well-known services listen below it.
const FIRST: u32 = 10_240;
const LAST: u32 = 65_535;

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    let path = "/proc/sys/net/ipv4/ip_local_port_range".to_string();
    vec![Place::File { path, format: Format::Numbers }]
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let first = match ask.wish.profile {
        Profile::Seeds => 1024,
        Profile::Throughput | Profile::Churn => FIRST,
        Profile::Latency => {
            return Proposal::Leave("connections that stay need few ports".to_string());
        }
    };
    let unprivileged = ask.host.text("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    let unprivileged = unprivileged.and_then(|text| text.trim().parse().ok()).unwrap_or(1024);
    let number = |word: &str| word.parse::<u32>().ok();
    let now = ask.now.split_once(' ');
    let now = now.and_then(|(first, last)| Some((number(first)?, number(last)?)));
    let (low, high) = now.unwrap_or((LAST, 0));
    // No port that is in the range already is given up.
    let first = even(first.min(low).max(unprivileged), unprivileged);
    match now {
        _ if first >= LAST => Proposal::Refuse("no unprivileged ports are left".to_string()),
        Some(_) if low <= first && high >= LAST => {
            Proposal::Leave(format!("{low} to {high} is wide enough"))
        }
        _ => Proposal::Set(format!("{first} {LAST}")),
    }
}

/// An even first port for an odd last one: one lower, unless that is privileged.
fn even(first: u32, unprivileged: u32) -> u32 {
    let lower = first - first % 2;
    if lower >= unprivileged { lower } else { lower + 2 }
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
        let mut signals = Signals { connection_rate: Some(500.0), ..Signals::default() };
        signals.client.ports_use = Some(1.0);
        assert!(predict(&signals).arithmetic.contains("500/s x 60 s = 30000"));
    }

    #[test]
    fn privileged_ports_stay_out() {
        let made = MadeUp::new("t34", 2);
        made.write("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999");
        made.write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "20001");
        let found = testing::proposals(&KNOB, &made.host(), &Wish::default());
        assert_eq!(found[0].1, Proposal::Set("20002 65535".to_string()));
    }

    #[test]
    fn what_each_profile_sets() {
        let found = testing::sets(&KNOB, "/proc/sys/net/ipv4/ip_local_port_range", "32768 60999");
        assert_eq!(
            found,
            [
                Some("1024 65535".to_string()),
                Some("10240 65535".to_string()),
                None,
                Some("10240 65535".to_string())
            ]
        );
    }

    #[test]
    fn a_range_only_ever_grows() {
        let path = "/proc/sys/net/ipv4/ip_local_port_range";
        let set = |now| testing::sets(&KNOB, path, now)[1].clone();
        assert_eq!(set("1024 65000").as_deref(), Some("1024 65535"));
        assert_eq!(set("1025 65000").as_deref(), Some("1024 65535"));
        assert_eq!(set("15000 65535").as_deref(), Some("10240 65535"));
        assert_eq!(set("2000 65535"), None);
    }

    #[test]
    fn a_wide_range_stays() {
        let found = testing::sets(&KNOB, "/proc/sys/net/ipv4/ip_local_port_range", "1024 65535");
        assert_eq!(found, [None, None, None, None]);
    }
}
