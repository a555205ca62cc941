//! T41: the largest buffers of sockets, tcp_rmem, tcp_wmem, rmem_max and wmem_max.
//!
//! Path: `/proc/sys/net/ipv4/tcp_rmem` and `tcp_wmem`, least, first and largest bytes;
//! `/proc/sys/net/core/rmem_max` and `wmem_max`, which cap only what programs ask for and can be
//! written only in the initial namespace.
//! Matters when: senders wait for a window or for buffer (K12): bodies above 64 kB, or bandwidth
//! times round trip above 128 kB.
//! Predicts: at most the share of the time that senders waited. Nothing for small bodies on a LAN.
//! Risk: memory times connections.
//! Verify: rwnd_limited and sndbuf_limited of `ss -ti` fall.
//! With: tcp_mem (T47), tcp_moderate_rcvbuf; a program that sets SO_RCVBUF turns off the kernel's
//! tuning.
//! Source: Linux Documentation/networking/ip-sysctl.rst, tcp(7).

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{Format, Place};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T41",
    name: "tcp-buffers",
    about: "largest socket buffers",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::NewSockets,
    is_disruptive: false,
    relieves: WALLS,
    risk: "memory times connections",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::K12];

/// Largest buffer for fat flows, bytes.
const LARGEST: u64 = 16 << 20;
/// Bodies up to this size fit the first buffers, bytes.
const SMALL: f64 = 65_536.0;

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    let three = |name: &str| Place::File {
        path: format!("/proc/sys/net/ipv4/{name}"),
        format: Format::Numbers,
    };
    let one = |name: &str| Place::number(format!("/proc/sys/net/core/{name}"));
    vec![three("tcp_rmem"), three("tcp_wmem"), one("rmem_max"), one("wmem_max")]
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let is_cap = ask.index >= 2;
    match ask.wish.profile {
        Profile::Throughput if !is_cap => larger(ask.now),
        Profile::Throughput if !ask.host.is_initial_namespace => Proposal::Refuse(
            "it can be written only in the initial network namespace of the host".to_string(),
        ),
        Profile::Throughput => Proposal::at_least(ask.now, LARGEST),
        Profile::Seeds | Profile::Latency | Profile::Churn => {
            Proposal::Leave("small bodies fit the present buffers".to_string())
        }
    }
}

/// Proposes the three numbers with a larger last one.
fn larger(now: &str) -> Proposal {
    let numbers: Vec<&str> = now.split(' ').collect();
    match numbers[..] {
        [least, first, last] => match Proposal::at_least(last, LARGEST) {
            Proposal::Set(last) => Proposal::Set(format!("{least} {first} {last}")),
            other => other,
        },
        _ => Proposal::Refuse("there are not three numbers".to_string()),
    }
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "rwnd_limited or sndbuf_limited above 1 % of the time (K12)";
    let side = &signals.server;
    let shares = [side.receive_window_limited, side.send_buffer_limited];
    let share = shares.into_iter().filter_map(predict::finite).max_by(f64::total_cmp);
    let bytes = [signals.bytes_per_response, signals.bytes_per_request];
    let largest = bytes.into_iter().filter_map(predict::finite).max_by(f64::total_cmp);
    match (share, largest) {
        (None, Some(bytes)) if bytes < SMALL => {
            let arithmetic = format!("a body of {bytes:.0} bytes fits the first buffer");
            Prediction::no_effect(predict::noise(signals), arithmetic, reconsider)
        }
        _ => predict::waiting(signals, WALLS, share, "senders waited for a window", reconsider),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};

    #[test]
    fn it_follows_what_was_measured() {
        testing::follows_share(&KNOB, |signals, share| signals.server.send_buffer_limited = share);
    }

    #[test]
    fn small_bodies_fit_whatever_was_measured() {
        let signals = Signals { bytes_per_response: Some(4500.0), ..Signals::default() };
        assert_eq!(predict(&signals).basis, model::tuning::Basis::NoEffect);
    }

    #[test]
    fn caps_are_of_the_first_namespace() {
        let made = MadeUp::new("t41", 2);
        made.write("/proc/sys/net/core/rmem_max", "212992");
        let host = Host { is_initial_namespace: false, ..made.host() };
        let found = testing::proposals(&KNOB, &host, &Wish::default());
        assert!(matches!(found[0].1, Proposal::Refuse(_)), "{found:?}");
        let found = testing::proposals(&KNOB, &made.host(), &Wish::default());
        assert_eq!(found[0].1, Proposal::Set("16777216".to_string()));
    }

    #[test]
    fn what_each_profile_sets() {
        let found = testing::sets(&KNOB, "/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456");
        assert_eq!(found, [None, Some("4096 131072 16777216".to_string()), None, None]);
    }
}
