//! T15: one wake-up per connection: EPOLLEXCLUSIVE, an accept mutex.
//!
//! Path: the server: EPOLLEXCLUSIVE when it adds its listener to epoll.
//! Matters when: workers share one listener and more than two wake for each connection that comes.
//! Predicts: nothing while connections stay; then what a profile says of wake-ups.
//! Risk: connections pile up at the worker that wakes first.
//! Verify: context switches per accepted connection.
//! With: a listener per worker (T13), which makes it needless.
//! Source: epoll_ctl(2), EPOLLEXCLUSIVE.

use crate::host::Host;
use crate::knob::{Act, Knob};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T15",
    name: "exclusive-wakeups",
    about: "threads woken per new connection",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: WALLS,
    risk: "connections pile up at the worker that wakes first",
    act: Act::Advice { now, advice: ADVICE },
    predict,
};

const WALLS: &[WallId] = &[WallId::S1, WallId::S2, WallId::A1, WallId::A8];

const ADVICE: &str = "With a shared listener add it with EPOLLEXCLUSIVE.";

fn now(_: &Host) -> Option<String> {
    None
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "new connections above 1 % of the requests, and wake-ups in a profile";
    let rates = predict::finite(signals.connection_rate).zip(predict::finite(signals.rate));
    match rates {
        Some((opened, rate)) if opened < rate * 0.01 => {
            let arithmetic = format!("{opened:.0} connections for {rate:.0} requests per second");
            Prediction::no_effect(predict::noise(signals), arithmetic, reconsider)
        }
        _ => predict::work(signals, WALLS, None, "threads woken in vain", reconsider),
    }
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
        assert_eq!(at(WallId::S1), Basis::Unknown);
        assert_eq!(predict(&Signals::default()).basis, Basis::Unknown);
    }

    #[test]
    fn connections_that_stay_wake_nobody() {
        let mut signals = Signals { rate: Some(1e5), ..testing::at_wall(WallId::S1) };
        signals.connection_rate = Some(3.0);
        assert_eq!(predict(&signals).basis, Basis::NoEffect);
    }
}
