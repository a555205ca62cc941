//! T61: more of the generator: threads, processes, hosts.
//!
//! Path: `--threads` of ceiling, further hosts of its own.
//! Matters when: the generator is the wall (C1 to C10). Always the first to look at: until it is
//! not, no change of the server shows.
//! Predicts: up to the next wall: by the CPUs of the server at most 1 / busy - 1.
//! Risk: on one host it takes CPUs from the server.
//! Verify: the generator's CPUs below 80 %, its lateness gone.
//! With: everything else.
//! Source: docs/method.md.

use crate::host::Host;
use crate::knob::{Act, Knob};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T61",
    name: "generator",
    about: "what the load comes from",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: WALLS,
    risk: "on one host it takes CPUs from the server",
    act: Act::Advice { now, advice: ADVICE },
    predict,
};

const WALLS: &[WallId] = &[
    WallId::C1,
    WallId::C2,
    WallId::C3,
    WallId::C4,
    WallId::C5,
    WallId::C6,
    WallId::C9,
    WallId::C10,
];

const ADVICE: &str = "Give the generator more threads, CPUs or a host of its own, and measure \
     again before turning anything else.";

fn now(_: &Host) -> Option<String> {
    None
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "a verdict with the generator as wall (C1 to C10)";
    let is_wall =
        matches!(signals.wall, Some(model::verdict::Named::Wall(wall)) if WALLS.contains(&wall));
    if !is_wall && !signals.client_is_wall {
        return predict::only_at(signals, WALLS, "more load", reconsider);
    }
    let noise = predict::noise(signals);
    let busy = predict::mean_busy(signals).filter(|busy| *busy > 1e-4);
    let most = busy.map(|busy| (1.0 / busy - 1.0).max(noise));
    let shown = busy.zip(most).map(|(busy, most)| {
        format!("its server's CPUs are {:.1} % busy: 1 / {busy:.3} - 1 = {most:.1}", busy * 100.0)
    });
    let shown = shown.unwrap_or("the server's CPUs were not measured".to_string());
    let arithmetic = format!("the generator was the wall; {shown}, and the next wall before it");
    Prediction::bounded(-noise, most, arithmetic, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn the_verdict_decides() {
        testing::follows_wall(&KNOB, WallId::C1);
    }

    #[test]
    fn it_can_raise_the_rate_as_far_as_the_server_idles() {
        let response = predict(&testing::seeds());
        assert!((response.high.unwrap() - 49.0).abs() < 1e-6, "{response:?}");
    }
}
