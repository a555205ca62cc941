//! Ramps over servers whose speed varies from visit to visit.

use super::{Kind, not_ours};
use crate::laws::{self, PUNCTUAL};
use crate::stage::{Drawn, MS, S, Seen, closed, servers};
use engine::simulate::server::Service;
use model::load::Question;
use model::verdict::CeilingKind;

/// From one connection to far above its capacity; its speed is drawn again for each visit.
pub const NOISY: Kind = Kind {
    name: "noisy-ramp",
    seeds: 60,
    draw: |dice| {
        let mut server = servers(dice.count(1, 3), Service::Exponential(dice.scale(1e6, 4e6)));
        server.noise = dice.scale(0.005, 0.05);
        let mut drawn = Drawn::new(dice.seed, server, closed(1)).lasting(S);
        drawn.trial.levels = [1, 2, 4, 8, 16, 32, 64].map(closed).to_vec();
        drawn.trial.question = Question::Ramp;
        drawn.trial.repeats_max = 2;
        drawn
    },
    check: |seen, findings| {
        for index in 0..seen.run.record.points.len() {
            laws::hold(findings, seen, index, PUNCTUAL);
        }
        not_ours(seen, findings);
        cpus_are_full(seen, findings);
        covers(seen, findings);
    },
};

/// All of its service time is CPU time, and it has no other CPU.
fn cpus_are_full(seen: &Seen, findings: &mut laws::Findings) {
    let wall = seen.run.record.verdict.wall.word();
    if !["S1", "S2", "S4"].contains(&wall) {
        findings.wrong(format!("{wall} is named where the server's CPUs are full"));
    }
}

/// The interval of the ceiling, against the capacity that visits scatter around.
fn covers(seen: &Seen, findings: &mut laws::Findings) {
    let Some(ceiling) = &seen.run.record.verdict.ceiling else { return };
    let (Some(low), Some(high)) = (ceiling.low, ceiling.high) else { return };
    if ceiling.kind == CeilingKind::Ceiling {
        findings.interval("the ceiling", (low, high), seen.drawn.plan.server.capacity());
    }
}

/// Only the load changes: the ceiling is the servers' capacity.
pub const QUIET: Kind = Kind {
    name: "quiet-ramp",
    seeds: 15,
    draw: |dice| {
        let server = servers(dice.count(1, 3), Service::Fixed(dice.scale(1e6, 6e6)));
        let mut drawn = Drawn::new(dice.seed, server, closed(1)).lasting(800 * MS);
        drawn.trial.levels = [1, 2, 4, 8, 16, 32].map(closed).to_vec();
        drawn.trial.question = Question::Ramp;
        drawn.trial.repeats_max = 2;
        drawn
    },
    check: |seen, findings| {
        for index in 0..seen.run.record.points.len() {
            laws::hold(findings, seen, index, PUNCTUAL);
        }
        not_ours(seen, findings);
        cpus_are_full(seen, findings);
        let capacity = seen.drawn.plan.server.capacity();
        match &seen.run.record.verdict.ceiling {
            Some(ceiling) if (ceiling.rate / capacity - 1.0).abs() < 0.06 => {}
            ceiling => {
                let rate = ceiling.as_ref().map(|ceiling| ceiling.rate);
                findings.wrong(format!("a ceiling of {rate:?} where {capacity:.1} is true"));
            }
        }
    },
};
