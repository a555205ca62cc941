//! T29: the cap on accept queues, somaxconn.
//!
//! Path: `/proc/sys/net/core/somaxconn`, a number; 4096 since Linux 5.4, 128 before.
//! Matters when: handshakes overflow an accept queue in bursts (K1) and the application asked for
//! more than this cap. An acceptor that is too slow fills any queue.
//! Predicts: nothing until the queue overflows; then what rate times the stall of the acceptor
//! needs, up to the next wall.
//! Risk: longer queues hide a slow acceptor behind latency.
//! Verify: the limit of the listener (Send-Q of a LISTEN socket) after the next `listen()`.
//! With: the application's own backlog (T30): the smaller one rules.
//! Source: Linux Documentation/networking/ip-sysctl.rst, listen(2).

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{Format, Place};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T29",
    name: "somaxconn",
    about: "cap on accept queues",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::NewListen,
    is_disruptive: false,
    relieves: &[WallId::K1],
    risk: "a longer queue hides a slow acceptor behind latency",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    let path = "/proc/sys/net/core/somaxconn".to_string();
    vec![Place::File { path, format: Format::Number }]
}

fn propose(ask: &Ask<'_>) -> Proposal {
    match ask.wish.profile {
        Profile::Churn | Profile::Throughput => Proposal::at_least(ask.now, 16_384),
        Profile::Seeds | Profile::Latency => {
            Proposal::Leave("a queue that does not overflow needs no more room".to_string())
        }
    }
}

fn predict(signals: &Signals) -> Prediction {
    let side = &signals.server;
    let held =
        side.backlog.map_or("its limit".to_string(), |limit| format!("its limit of {limit}"));
    predict::limit(
        signals,
        side.accept_overflows,
        &format!("handshakes refused because an accept queue was at {held}"),
        "ListenOverflows of the server's namespace above 0",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_matters_only_when_the_queue_overflows() {
        let mut signals = Signals { rate: Some(1e5), ..Signals::default() };
        signals.server.accept_overflows = Some(0);
        assert_eq!(predict(&signals).basis, model::tuning::Basis::NoEffect);
        signals.server.accept_overflows = Some(7);
        assert_eq!(predict(&signals).high, None, "only the next wall bounds it");
        signals.server.accept_overflows = None;
        assert_eq!(predict(&signals).basis, model::tuning::Basis::Unknown);
    }
}
