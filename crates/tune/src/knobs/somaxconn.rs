//! T29: the cap on accept queues, somaxconn.
//!
//! Path: `/proc/sys/net/core/somaxconn`, a number; 4096 since Linux 5.4, 128 before.
//! Matters when: handshakes overflow an accept queue in bursts (K1) and the application asked for
//! more than this cap. An acceptor that is too slow fills any queue.
//! Predicts: nothing until the queue overflows; then what rate times the stall of the acceptor
//! needs, up to the next wall.
//! Risk: longer queues hide a slow acceptor behind latency.
//! Verify: the limit of the listener (Send-Q of a LISTEN socket in `ss -ltn`) after the next
//! `listen()`; /proc/net/tcp does not show it.
//! With: the application's own backlog (T30): the smaller one applies.
//! Source: Linux Documentation/networking/ip-sysctl.rst, listen(2).

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::Place;
use crate::predict::{self, Count};
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T29",
    name: "somaxconn",
    about: "cap on accept queues",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::NewListen,
    is_disruptive: false,
    relieves: WALLS,
    risk: "a longer queue hides a slow acceptor behind latency",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::K1];

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    vec![Place::number("/proc/sys/net/core/somaxconn")]
}

fn propose(ask: &Ask<'_>) -> Proposal {
    match ask.wish.profile {
        Profile::Seeds => Proposal::at_least(ask.now, 65_535),
        Profile::Churn | Profile::Throughput => Proposal::at_least(ask.now, 16_384),
        Profile::Latency => {
            Proposal::Leave("a queue that does not overflow needs no more room".to_string())
        }
    }
}

fn predict(signals: &Signals) -> Prediction {
    let side = &signals.server;
    let cap = side.sysctls.get("net.core.somaxconn").and_then(|cap| cap.parse::<u64>().ok());
    if let (Some(asked), Some(cap)) = (side.backlog, cap)
        && asked < cap
    {
        let words = format!("the application asked for a queue of {asked}, below the cap of {cap}");
        let reconsider = "a larger backlog in the application (T30)";
        return Prediction::no_effect(predict::noise(signals), words, reconsider);
    }
    let held = side.backlog.map_or("its limit".to_string(), |limit| limit.to_string());
    let count = Count {
        relieved: WALLS,
        hits: side.accept_overflows,
        what: &format!("handshakes refused with an accept queue at {held}"),
        removes: "their second try a second later",
        reconsider: "ListenOverflows of the server's namespace above 0",
    };
    predict::count(signals, &count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn it_matters_only_when_the_queue_overflows() {
        testing::follows_count(&KNOB, |signals, hits| signals.server.accept_overflows = hits);
    }

    #[test]
    fn below_the_cap_it_is_the_applications_own_queue_that_overflows() {
        let mut signals = testing::at_wall(WallId::K1);
        signals.server.accept_overflows = Some(900);
        signals.server.sysctls.insert("net.core.somaxconn".to_string(), "4096".to_string());
        let says = |backlog: u64, signals: &mut Signals| {
            signals.server.backlog = Some(backlog);
            predict(signals).arithmetic
        };
        assert!(says(511, &mut signals).contains("asked for a queue of 511"));
        assert!(says(4096, &mut signals).contains("900 handshakes refused"));
    }

    #[test]
    fn what_each_profile_sets() {
        let found = testing::sets(&KNOB, "/proc/sys/net/core/somaxconn", "4096");
        let wanted = |number: &str| Some(number.to_string());
        assert_eq!(found, [wanted("65535"), wanted("16384"), None, wanted("16384")]);
    }
}
