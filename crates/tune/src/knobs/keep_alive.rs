//! T38: connections that stay, keep-alive on both sides.
//!
//! Path: settings of client and server: keep-alive, its timeout, requests per connection.
//! Matters when: a new connection per request or few requests (A8): the handshake costs round
//! trips, CPU on both sides, and ports.
//! Predicts: nothing when connections stay; otherwise up to the next wall, usually the largest
//! effect of this group.
//! Risk: another workload when real clients do not keep their connections.
//! Verify: connections per second fall while requests per second do not.
//! With: ports (T34, T35) and accept queues (T29, T30), which it makes needless.
//! Source: RFC 9112 section 9.3.

use crate::host::Host;
use crate::knob::{Act, Knob};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T38",
    name: "keep-alive",
    about: "requests per connection",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: WALLS,
    risk: "another workload when real clients close",
    act: Act::Advice { now, advice: ADVICE },
    predict,
};

const WALLS: &[WallId] = &[WallId::A8];

const ADVICE: &str = "Keep connections on both sides: more requests per connection, a longer \
     idle timeout.";

fn now(_: &Host) -> Option<String> {
    None
}

/// Share of requests with a connection of their own from which handshakes are worth a word.
const CHURN: f64 = 0.01;

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "new connections above 1 % of the requests (A8)";
    let rates = predict::finite(signals.connection_rate).zip(predict::finite(signals.rate));
    let Some((opened, rate)) = rates.filter(|(_, rate)| *rate > 0.0) else {
        return predict::unknown("connections per request", reconsider);
    };
    let shown = format!("{opened:.0} new connections for {rate:.0} requests per second");
    if opened < rate * CHURN {
        return Prediction::no_effect(predict::noise(signals), shown, reconsider);
    }
    // Handshakes cost the generator too, so this can help whichever side is the wall.
    let arithmetic = format!("{shown}: without them up to the next wall");
    Prediction::bounded(-predict::noise(signals), None, arithmetic, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::tuning::Basis;

    #[test]
    fn it_matters_where_connections_come_and_go() {
        let basis = |opened| {
            let signals =
                Signals { rate: Some(1e4), connection_rate: opened, ..Signals::default() };
            predict(&signals).basis
        };
        assert_eq!(basis(Some(0.0)), Basis::NoEffect);
        assert_eq!(basis(Some(1e4)), Basis::Bounded);
        assert_eq!(basis(None), Basis::Unknown);
    }
}
