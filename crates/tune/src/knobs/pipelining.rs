//! T62: several requests under way on one connection: pipelining, streams.
//!
//! Path: settings of the generator and the client.
//! Matters when: never to compare: it is another workload. It moves the packet rate (K9, C6) and
//! the round trip (N1), not the bandwidth.
//! Predicts: up to the next wall where packets or round trips limit; nothing elsewhere.
//! Risk: a figure that no real client reaches.
//! Verify: packets per request fall.
//! With: HTTP/2 needs it.
//! Source: RFC 9112 section 9.3.2, RFC 9113.

use crate::host::Host;
use crate::knob::{Act, Knob};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T62",
    name: "pipelining",
    about: "requests under way per connection",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: WALLS,
    risk: "a figure of another workload",
    act: Act::Advice { now, advice: ADVICE },
    predict,
};

const WALLS: &[WallId] = &[WallId::K9, WallId::C6, WallId::N1, WallId::C3];

const ADVICE: &str = "Only where real clients do it; report it as an experiment of its own.";

fn now(_: &Host) -> Option<String> {
    None
}

fn predict(signals: &Signals) -> Prediction {
    predict::only_at(
        signals,
        WALLS,
        "fewer packets and round trips per request, for another workload",
        "the packet rate or the round trip as wall (K9, C6, N1)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn the_verdict_decides() {
        testing::follows_wall(&KNOB, WallId::K9);
    }
}
