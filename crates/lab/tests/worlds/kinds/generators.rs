//! Generators that are late, frozen, slow or short of CPU, with a server that could do more.
//!
//! Their effect on a figure is not the server's: the figure is marked or still right, and the
//! server is not blamed.

use super::Kind;
use crate::laws::{self, Allowed, Findings, Of};
use crate::stage::{Drawn, MS, S, Seen, US, closed, open, servers};
use engine::simulate::server::{Halts, Service};
use model::load::Spacing;
use model::wall::Side;

/// Its sleeps end late: always a little, or sometimes by milliseconds.
pub const LATE: Kind = Kind {
    name: "late-generator",
    seeds: 40,
    draw: |dice| {
        let mut server = servers(8, Service::Exponential(dice.scale(0.5e6, 10e6)));
        server.cpu_share = 0.3;
        let rate = server.capacity() * dice.scale(0.05, 0.3);
        let level = open(400, rate, Spacing::Fixed);
        let mut drawn = Drawn::new(dice.seed, server, level).lasting(3 * S);
        let generator = &mut drawn.plan.generator;
        generator.late_ns = (0.0, dice.scale(5e3, 300e3));
        generator.very_late = dice.one_of(&[(0.0, 0.0), (0.001, 3e6), (0.02, 3e6)]);
        drawn
    },
    check: |seen, findings| blameless(seen, findings, 20 * MS),
};

/// It stalls for tens of milliseconds, repeatedly.
pub const FROZEN: Kind = Kind {
    name: "frozen-generator",
    seeds: 40,
    draw: |dice| {
        let mut server = servers(8, Service::Exponential(dice.scale(0.5e6, 10e6)));
        server.cpu_share = 0.3;
        let rate = server.capacity() * dice.scale(0.05, 0.3);
        let level = dice.one_of(&[closed(8), open(2000, rate, Spacing::Fixed)]);
        let mut drawn = Drawn::new(dice.seed, server, level).lasting(3 * S);
        let for_ns = dice.scale(20e6, 300e6) as u64;
        let every_ns = for_ns * u64::from(dice.count(3, 10));
        drawn.plan.generator.frozen = Halts { first_ns: S, for_ns, every_ns, late_ns: 0 };
        drawn
    },
    check: |seen, findings| blameless(seen, findings, 320 * MS),
};

/// Each response costs it so much that it cannot do more.
pub const SLOW: Kind = Kind {
    name: "slow-generator",
    seeds: 25,
    draw: |dice| {
        let mut server = servers(16, Service::Exponential(dice.scale(100e3, 500e3)));
        server.cpu_share = 0.2;
        let mut drawn = Drawn::new(dice.seed, server, closed(64)).lasting(2 * S);
        drawn.plan.generator.event_ns = dice.scale(80e3, 300e3) as u64;
        drawn.plan.generator.send_ns = 20 * US;
        drawn
    },
    check: |seen, findings| {
        blameless(seen, findings, 30 * MS);
        is_named(seen, findings);
    },
};

/// It may use a tenth to a half of a CPU and needs more.
pub const STARVED: Kind = Kind {
    name: "starved-generator",
    seeds: 25,
    draw: |dice| {
        let mut server = servers(16, Service::Exponential(dice.scale(100e3, 1000e3)));
        server.cpu_share = 0.2;
        let level = dice.one_of(&[closed(32), open(2000, 4000.0, Spacing::Fixed)]);
        let mut drawn = Drawn::new(dice.seed, server, level).lasting(3 * S);
        drawn.plan.generator.event_ns = 40 * US;
        drawn.plan.generator.send_ns = 20 * US;
        drawn.plan.generator.quota_ns = Some(dice.scale(5e6, 12e6) as u64);
        drawn
    },
    check: |seen, findings| {
        blameless(seen, findings, 120 * MS);
        is_named(seen, findings);
    },
};

/// A generator that limits the rate is the wall.
fn is_named(seen: &Seen, findings: &mut Findings) {
    let verdict = &seen.run.record.verdict;
    if verdict.side != Side::Client {
        let wall = verdict.wall.word();
        findings.wrong(format!("{wall} is named where the generator is the wall"));
    }
}

/// The laws that hold for any fault of the generator.
fn blameless(seen: &Seen, findings: &mut Findings, edge_ns: u64) {
    // A figure that is within a twentieth or 50 us is called sound.
    let allowed = Allowed { edge_ns, time: (0.055, 60 * US), of: Of::Send };
    laws::hold(findings, seen, 0, allowed);
    let verdict = &seen.run.record.verdict;
    if verdict.side == Side::Server {
        let wall = verdict.wall.word();
        findings.wrong(format!("{wall} of the server is named for a generator's fault"));
    }
}
