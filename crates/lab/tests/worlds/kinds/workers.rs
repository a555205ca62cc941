//! Several workers on one server: one account for all of them.

use super::{Kind, not_ours};
use crate::laws::{self, PUNCTUAL};
use crate::stage::{Drawn, closed, open, servers};
use engine::simulate::server::Service;
use model::load::Spacing;

/// Closed loop.
pub const CLOSED: Kind = Kind {
    name: "workers-closed",
    seeds: 20,
    draw: |dice| {
        let server = servers(dice.count(2, 6), Service::Exponential(dice.scale(0.5e6, 5e6)));
        let mut drawn = Drawn::new(dice.seed, server, closed(dice.count(5, 40)));
        drawn.trial.threads = dice.count(2, 4);
        drawn.trial.cpus = (0..drawn.trial.threads as usize).collect();
        drawn
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        not_ours(seen, findings);
    },
};

/// Open loop: one schedule over all of them.
pub const OPEN: Kind = Kind {
    name: "workers-open",
    seeds: 20,
    draw: |dice| {
        let server = servers(dice.count(2, 6), Service::Exponential(dice.scale(0.5e6, 5e6)));
        let rate = server.capacity() * dice.scale(0.2, 0.7);
        let spacing = dice.one_of(&[Spacing::Fixed, Spacing::Poisson, Spacing::Uniform]);
        let mut drawn = Drawn::new(dice.seed, server, open(300, rate, spacing));
        drawn.trial.threads = dice.count(2, 4);
        drawn.trial.cpus = (0..drawn.trial.threads as usize).collect();
        drawn
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        not_ours(seen, findings);
    },
};
