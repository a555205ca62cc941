//! T45: congestion control, tcp_congestion_control.
//!
//! Path: `/proc/sys/net/ipv4/tcp_congestion_control`, one of `tcp_available_congestion_control`.
//! Matters when: segments are lost or the path is long (N2). On a LAN with small bodies no window
//! is ever full.
//! Predicts: nothing without loss on a short path; else up to the next wall.
//! Risk: bbr without the queueing discipline fq paces with a timer for each socket, which costs
//! CPU. Namespaces other than the first accept only `tcp_allowed_congestion_control`; a former
//! default of the first one stays in that list.
//! Verify: `ss -ti` names it for new connections; the file reads back.
//! With: the queueing discipline fq (T22).
//! Source: Linux Documentation/networking/ip-sysctl.rst, net/ipv4/tcp_bbr.c.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{Format, Place};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T45",
    name: "tcp-congestion-control",
    about: "which algorithm paces senders",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::NewSockets,
    is_disruptive: false,
    relieves: WALLS,
    risk: "bbr without fq costs CPU by its own timers",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::N2, WallId::N3];

/// Share of segments sent again from which loss counts.
const LOSS: f64 = 0.001;
/// Round trip from which a path is long, microseconds.
const LONG_US: f64 = 5_000.0;

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    let path = "/proc/sys/net/ipv4/tcp_congestion_control".to_string();
    vec![Place::File { path, format: Format::Word }]
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let text = |file: &str| ask.host.text(&format!("/proc/sys/net/{file}")).unwrap_or_default();
    let lists = |file: &str, name: &str| text(file).split_whitespace().any(|it| it == name);
    let is_paced = text("core/default_qdisc").trim() == "fq";
    let is_open = |name: &str| {
        ask.host.is_initial_namespace || lists("ipv4/tcp_allowed_congestion_control", name)
    };
    match ask.wish.profile {
        Profile::Throughput | Profile::Latency if ask.now == "bbr" && !is_paced => {
            if !lists("ipv4/tcp_available_congestion_control", "cubic") {
                return Proposal::Refuse("this kernel has no cubic".to_string());
            }
            // Outside of the first namespace the kernel accepts only what that one allowed, and
            // what it does not accept could not be put back either.
            match ["cubic", ask.now].iter().find(|name| !is_open(name)) {
                Some(name) => Proposal::Refuse(format!("{name} cannot be set in this namespace")),
                None => Proposal::Set("cubic".to_string()),
            }
        }
        _ => Proposal::Leave("on a LAN no window is ever full".to_string()),
    }
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "segments sent again above 0.1 %, or a round trip above 5 ms (N2)";
    if let Some(nothing) = predict::elsewhere(signals, WALLS, reconsider) {
        return nothing;
    }
    let loss = predict::finite(signals.server.retransmit_share);
    let (Some(loss), Some(rtt_us)) = (loss, predict::finite(signals.rtt_us)) else {
        return predict::unknown("segments sent again, or the round trip", reconsider);
    };
    let noise = predict::noise(signals);
    let shown = format!("{:.2} % sent again, a round trip of {rtt_us:.0} us", loss * 100.0);
    if loss < LOSS && rtt_us < LONG_US {
        return Prediction::no_effect(noise, shown, reconsider);
    }
    predict::up_to_the_next_wall(signals, &shown, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};
    use model::tuning::Basis;

    #[test]
    fn loss_and_distance_decide() {
        let basis = |share, rtt_us| {
            let mut signals = Signals { rtt_us, ..Signals::default() };
            signals.server.retransmit_share = share;
            predict(&signals).basis
        };
        assert_eq!(basis(Some(0.0), Some(100.0)), Basis::NoEffect);
        assert_eq!(basis(Some(0.02), Some(100.0)), Basis::Bounded);
        assert_eq!(basis(None, Some(100.0)), Basis::Unknown);
    }

    #[test]
    fn only_what_the_kernel_has_is_proposed() {
        let propose_in = |available: &str, qdisc: &str, is_initial_namespace| {
            let made = MadeUp::new("t45", 2);
            made.write("/proc/sys/net/ipv4/tcp_congestion_control", "bbr");
            made.write("/proc/sys/net/ipv4/tcp_available_congestion_control", available);
            made.write("/proc/sys/net/core/default_qdisc", qdisc);
            made.write("/proc/sys/net/ipv4/tcp_allowed_congestion_control", "reno bbr");
            let host = Host { is_initial_namespace, ..made.host() };
            testing::proposals(&KNOB, &host, &Wish::default()).remove(0).1
        };
        let propose_on = |available: &str, qdisc: &str| propose_in(available, qdisc, true);
        let cubic = Proposal::Set("cubic".to_string());
        assert_eq!(propose_on("reno bbr cubic", "pfifo_fast"), cubic);
        assert!(matches!(propose_on("reno bbr", "pfifo_fast"), Proposal::Refuse(_)));
        assert!(matches!(propose_on("reno bbr cubic", "fq"), Proposal::Leave(_)));
        let inside = propose_in("reno bbr cubic", "pfifo_fast", false);
        assert!(matches!(inside, Proposal::Refuse(_)), "{inside:?}");
    }
}
