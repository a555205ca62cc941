//! T30: the backlog that the application asks for in listen().
//!
//! Path: the second argument of listen(2): 128, 511 or 1024 by default in common runtimes.
//! Matters when: handshakes overflow the accept queue (K1) and the listener has less than
//! somaxconn.
//! Predicts: nothing until the queue overflows; then what rate times the stall of the acceptor
//! needs, up to the next wall.
//! Risk: longer queues hide a slow acceptor behind latency.
//! Verify: Send-Q of the LISTEN socket, `ss -ltn`, after a restart.
//! With: somaxconn (T29): the smaller one rules.
//! Source: listen(2), ss(8).

use crate::host::Host;
use crate::knob::{Act, Knob};
use crate::predict::{self, Count};
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T30",
    name: "listen-backlog",
    about: "accept queue that the application asks for",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: WALLS,
    risk: "a longer queue hides a slow acceptor behind latency",
    act: Act::Advice { now, advice: ADVICE },
    predict,
};

const WALLS: &[WallId] = &[WallId::K1];

const ADVICE: &str = "Listen with a backlog of rate x the longest stall of the acceptor, at \
     least somaxconn, and start the server again.";

fn now(_: &Host) -> Option<String> {
    None
}

fn predict(signals: &Signals) -> Prediction {
    let side = &signals.server;
    let held = side.backlog.map_or("its limit".to_string(), |limit| format!("{limit}"));
    let count = Count {
        relieved: WALLS,
        hits: side.accept_overflows,
        what: &format!("handshakes refused with the accept queue at {held}"),
        removes: "their second try a second later",
        reconsider: "ListenOverflows of the server's namespace above 0, Send-Q below somaxconn",
    };
    predict::count(signals, &count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn it_matters_only_when_packets_or_connections_were_refused() {
        testing::follows_count(&KNOB, |signals, hits| signals.server.accept_overflows = hits);
    }
}
