//! A server that refuses what is above its limit, fast.

use super::Kind;
use super::constant::not_ours;
use crate::laws::{self, PUNCTUAL};
use crate::stage::{Drawn, S, open, servers};
use engine::simulate::server::Service;
use model::load::Spacing;

/// At once, with 503 or 429, a few of them or most.
pub const AT_ONCE: Kind = Kind {
    name: "shedding",
    seeds: 30,
    draw: |dice| {
        let (count, service) = (dice.count(1, 6), dice.scale(1e6, 10e6));
        let mut server = servers(count, Service::Exponential(service));
        server.refuses = Some((dice.count(count, 4 * count), dice.one_of(&[503, 429])));
        server.cpu_share = dice.one_of(&[0.05, 0.9]);
        let rate = server.capacity() * dice.scale(0.6, 2.5);
        Drawn::new(dice.seed, server, open(200, rate, Spacing::Poisson)).lasting(3 * S)
    },
    check: |seen, findings| {
        let truth = laws::hold(findings, seen, 0, PUNCTUAL);
        let capacity = seen.drawn.plan.server.capacity();
        if seen.point().rate > capacity * 1.15 {
            findings.wrong(format!("goodput {:.1} of {capacity:.1}", seen.point().rate));
        }
        if truth.fates.bad > 0 && seen.point().requests.failed == 0 {
            findings.wrong("failures are not told".to_string());
        }
        not_ours(seen, findings);
    },
};
