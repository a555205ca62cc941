//! T50: audits, seccomp, tracing and packet sockets of others.
//!
//! Path: `auditctl -s`, seccomp of the container, tracing programs, `/proc/net/packet`.
//! Matters when: the server's CPUs limit and system calls or packets pass through somebody's
//! filter.
//! Predicts: at most what somebody else published for a server of a few microseconds per request:
//! 11 % for audits and seccomp, 6 % for one packet socket; 18 % together.
//! Risk: less security, and a service that stops.
//! Verify: `auditctl -s` has no rules, /proc/net/packet no lines, profiles no filters.
//! With: connection tracking (T49).
//! Source: packet(7), seccomp(2), a published account of 1.2 million requests per second.

use crate::host::Host;
use crate::knob::{Act, Knob};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T50",
    name: "watchers",
    about: "programs that look at every system call or packet",
    scope: Scope::Host,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: WALLS,
    risk: "security, and services that stop",
    act: Act::Advice { now, advice: ADVICE },
    predict,
};

const WALLS: &[WallId] = &[WallId::S1, WallId::S2, WallId::K4];

const ADVICE: &str = "Find who listens to every packet (`ss -0 -p`) and which filters system \
     calls pass; stop those that nobody needs.";

/// Gains that somebody else published for audits with seccomp, and for a packet socket.
const PUBLISHED: f64 = 1.11 * 1.06 - 1.0;

fn now(host: &Host) -> Option<String> {
    let sockets = host.text("/proc/net/packet")?.lines().skip(1).count();
    Some(format!("{sockets} packet sockets"))
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "a CPU of the server above 95 %, and filters or packet sockets in its profile";
    let share = Some(predict::share_of_gain(PUBLISHED));
    let what = "audits, seccomp and packet sockets, at most as published by somebody else";
    predict::work(signals, WALLS, share, what, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use model::tuning::Basis;

    #[test]
    fn only_a_cpu_that_limits_is_relieved() {
        let at = |wall| predict(&testing::at_wall(wall)).basis;
        assert_eq!(at(WallId::C1), Basis::NoEffect);
        assert_eq!(at(WallId::S1), Basis::Bounded);
        assert_eq!(predict(&Signals::default()).basis, Basis::Unknown);
    }

    #[test]
    fn packet_sockets_are_counted() {
        let files = [("/proc/net/packet", "sk RefCnt Type\n0 3 3 0003 2 1 0 0 99")];
        assert_eq!(testing::now(&KNOB, &files).unwrap(), "1 packet sockets");
    }
}
