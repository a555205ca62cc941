//! T46: small writes held back, tcp_autocorking.
//!
//! Path: `/proc/sys/net/ipv4/tcp_autocorking`, 0 or 1; TCP_NODELAY and TCP_QUICKACK are the
//! programs' own.
//! Matters when: responses come in several writes and stall for a delayed acknowledgement (A7), or
//! in more segments than their bytes need.
//! Predicts: nothing unless the run has such a stall (A7), which a median of less than 40 ms cannot
//! hold.
//! Risk: more and smaller segments.
//! Verify: TCPAutoCorking of /proc/net/netstat no longer grows; the stall of 40 ms is gone.
//! With: TCP_NODELAY of server and generator, which removes the other half of such stalls.
//! Source: Linux Documentation/networking/ip-sysctl.rst, net/ipv4/tcp.c, tcp_should_autocork.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::Place;
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::verdict::Named;
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T46",
    name: "tcp-autocorking",
    about: "small writes held back while others are in flight",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "more and smaller segments",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::A7];

/// Shortest delay of a delayed acknowledgement.
const STALL_NS: f64 = 40e6;

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    vec![Place::number("/proc/sys/net/ipv4/tcp_autocorking")]
}

fn propose(ask: &Ask<'_>) -> Proposal {
    match (ask.wish.profile, ask.now) {
        (Profile::Latency, "0") => Proposal::Leave("it is off".to_string()),
        (Profile::Latency, _) => Proposal::Set("0".to_string()),
        (Profile::Seeds | Profile::Throughput | Profile::Churn, _) => Proposal::Leave(
            "it saves segments, and one write per response is never held".to_string(),
        ),
    }
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "a median of 40 ms and more with idle CPUs (A7)";
    let Some(p50_ns) = signals.p50_ns else {
        return predict::only_at(signals, WALLS, "the stall goes", reconsider);
    };
    let p50_ns = p50_ns as f64;
    if p50_ns < STALL_NS {
        let arithmetic = format!("a median of {:.3} ms holds no stall of 40 ms", p50_ns / 1e6);
        return Prediction::no_effect(predict::noise(signals), arithmetic, reconsider);
    }
    if signals.wall != Some(Named::Wall(WallId::A7)) {
        // A server that takes as long by itself has the same median.
        return predict::only_at(signals, WALLS, "the stall goes", reconsider);
    }
    let what = "is a delayed acknowledgement";
    predict::waiting(signals, WALLS, Some(STALL_NS / p50_ns), what, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use model::tuning::Basis;

    #[test]
    fn the_median_must_have_room_for_a_stall() {
        let wall = Some(Named::Wall(WallId::A7));
        let basis = |wall, p50_ns| predict(&Signals { wall, p50_ns, ..Signals::default() }).basis;
        assert_eq!(basis(wall, Some(300_000)), Basis::NoEffect);
        assert_eq!(basis(wall, Some(41_000_000)), Basis::Bounded);
        assert_eq!(basis(None, Some(41_000_000)), Basis::Unknown, "the server may take as long");
        assert_eq!(basis(Some(Named::None), Some(41_000_000)), Basis::NoEffect);
        assert_eq!(basis(None, None), Basis::Unknown);
    }

    #[test]
    fn what_each_profile_sets() {
        let found = testing::sets(&KNOB, "/proc/sys/net/ipv4/tcp_autocorking", "1");
        assert_eq!(found, [None, None, Some("0".to_string()), None]);
    }
}
