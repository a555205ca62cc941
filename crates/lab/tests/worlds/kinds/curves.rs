//! Open loop whose rate rises, falls and steps.

use super::{Kind, not_ours};
use crate::laws::{self, PUNCTUAL};
use crate::stage::{Drawn, S, open, servers};
use engine::simulate::server::Service;
use model::curve::{Curve, Leg};
use model::load::{Arrival, Spacing};

/// Every request is due where the curve places it, from an idle server to a full one and back.
pub const SHAPES: Kind = Kind {
    name: "curve",
    seeds: 20,
    draw: |dice| {
        let server = servers(4, Service::Exponential(dice.scale(2e6, 8e6)));
        let capacity = server.capacity();
        let mut leg = |duration_ns| Leg {
            duration_ns,
            from: capacity * dice.scale(0.01, 1.2),
            to: capacity * dice.scale(0.01, 1.2),
        };
        let curve = Curve::of_legs(vec![leg(S), leg(S), leg(2 * S)]);
        let arrivals = dice.one_of(&[Spacing::Fixed, Spacing::Poisson]);
        let mut drawn = Drawn::new(dice.seed, server, open(1000, capacity, arrivals));
        drawn.trial.levels[0].arrival = Arrival::Open { curve, arrivals };
        drawn.lasting(4 * S)
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        not_ours(seen, findings);
    },
};
