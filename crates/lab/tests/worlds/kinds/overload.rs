//! Open loop above the capacity of the server.

use super::Kind;
use crate::laws::{self, PUNCTUAL};
use crate::stage::{Drawn, S, open, servers};
use engine::simulate::server::Service;
use model::load::Spacing;
use model::verdict::Named;
use model::wall::Side;

/// Ten to a hundred per cent too much, with room for the whole backlog or for little of it.
pub const ABOVE: Kind = Kind {
    name: "overload",
    seeds: 40,
    draw: |dice| {
        let (count, service) = (dice.count(1, 8), dice.scale(2e6, 20e6));
        let service = dice.one_of(&[Service::Fixed(service), Service::Exponential(service)]);
        let server = servers(count, service);
        let rate = server.capacity() * dice.scale(1.1, 2.0);
        let connections = dice.one_of(&[4 * count, 800]);
        let arrivals = dice.one_of(&[Spacing::Fixed, Spacing::Poisson]);
        let mut drawn = Drawn::new(dice.seed, server, open(connections, rate, arrivals));
        drawn.plan.server.cpu_share = dice.one_of(&[0.0, 0.02, 1.0]);
        drawn.lasting(4 * S)
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        let (point, verdict) = (seen.point(), &seen.run.record.verdict);
        let capacity = seen.drawn.plan.server.capacity();
        if point.rate > capacity * 1.08 {
            findings.wrong(format!("rate {:.1} above a capacity of {capacity:.1}", point.rate));
        }
        if verdict.wall == Named::None {
            findings.wrong("no wall, with a backlog that grows".to_string());
        }
        if matches!(verdict.side, Side::Client | Side::Measurement) {
            findings.wrong(format!("{} is named for a generator on time", verdict.wall.word()));
        }
    },
};
