//! Servers with habits: they close, halt, start slowly, send in pieces, send too much.

use super::{Kind, not_ours};
use crate::laws::{self, PUNCTUAL};
use crate::stage::{Drawn, MS, S, closed, open, servers};
use engine::simulate::server::{Discipline, Halts, Server, Service};
use model::load::{Spacing, Warmup};

/// Closes each connection after one response, or after some.
pub const CLOSING: Kind = Kind {
    name: "closing",
    seeds: 25,
    draw: |dice| {
        let mut server = servers(4, Service::Exponential(dice.scale(0.5e6, 5e6)));
        server.closes_after = dice.one_of(&[1, 2, 7, 100]);
        let rate = server.capacity() * 0.4;
        let level = dice.one_of(&[closed(6), open(100, rate, Spacing::Poisson)]);
        Drawn::new(dice.seed, server, level)
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        if seen.point().requests.failed > 0 {
            findings.wrong("an announced close is a failure".to_string());
        }
        not_ours(seen, findings);
    },
};

/// Stands still for 100 ms of each second, or once for two seconds.
pub const HALTING: Kind = Kind {
    name: "halting",
    seeds: 25,
    draw: |dice| {
        let mut server = servers(4, Service::Fixed(dice.scale(1e6, 5e6)));
        let each_second = Halts { first_ns: 0, for_ns: 100 * MS, every_ns: S, late_ns: 0 };
        let once = Halts { first_ns: 3 * S, for_ns: 2 * S, every_ns: 0, late_ns: 0 };
        server.halts = dice.one_of(&[each_second, once]);
        let rate = server.capacity() * 0.5;
        let level = dice.one_of(&[closed(8), open(3000, rate, Spacing::Fixed)]);
        Drawn::new(dice.seed, server, level).lasting(5 * S)
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        not_ours(seen, findings);
    },
};

/// Works at a part of its speed for its first two seconds.
pub const SLOW_START: Kind = Kind {
    name: "slow-start",
    seeds: 15,
    draw: |dice| {
        let mut server = servers(2, Service::Fixed(dice.scale(1e6, 5e6)));
        server.slow_start = Some((2 * S, dice.scale(0.1, 0.5)));
        let mut drawn = Drawn::new(dice.seed, server, closed(8)).lasting(4 * S);
        drawn.trial.warmup = dice.one_of(&[Warmup::ForNs(0), Warmup::SettleWithinNs(3 * S)]);
        drawn
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        not_ours(seen, findings);
    },
};

/// Most responses are fast and a few are very slow.
pub const HEAVY: Kind = Kind {
    name: "heavy-tail",
    seeds: 25,
    draw: |dice| {
        let least = dice.scale(0.3e6, 2e6);
        let service = dice.one_of(&[
            Service::Pareto(least, 1.3),
            Service::Pareto(least, 2.0),
            Service::Bimodal(least, least * 50.0, 0.02),
        ]);
        let discipline = dice.one_of(&[Discipline::Shared, Discipline::Own, Discipline::Sharing]);
        let mut server = Server::new(8, discipline, service);
        server.cpu_share = 0.1;
        let rate = server.capacity() * 0.4;
        let level = dice.one_of(&[closed(12), open(400, rate, Spacing::Poisson)]);
        Drawn::new(dice.seed, server, level).lasting(3 * S)
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        not_ours(seen, findings);
    },
};

/// A pool of connections to something slow: the CPU is idle.
pub const POOL: Kind = Kind {
    name: "pool",
    seeds: 15,
    draw: |dice| {
        let mut server = servers(dice.count(2, 10), Service::Exponential(dice.scale(5e6, 30e6)));
        server.cpu_share = 0.01;
        Drawn::new(dice.seed, server, closed(40)).lasting(4 * S)
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        not_ours(seen, findings);
    },
};

/// Each response comes in pieces with pauses between them.
pub const PIECES: Kind = Kind {
    name: "slow-bytes",
    seeds: 15,
    draw: |dice| {
        let mut server = servers(4, Service::Exponential(2e6));
        server.pieces = (dice.count(2, 30), dice.scale(50e3, 2e6) as u64);
        let level = dice.one_of(&[closed(8), open(400, 500.0, Spacing::Poisson)]);
        Drawn::new(dice.seed, server, level)
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        not_ours(seen, findings);
    },
};

/// An empty line after each response, as old servers send it.
pub const STRAYS: Kind = Kind {
    name: "stray-bytes",
    seeds: 15,
    draw: |dice| {
        let mut server = servers(4, Service::Exponential(dice.scale(1e6, 4e6)));
        server.stray_bytes = true;
        let level = dice.one_of(&[closed(8), open(100, 500.0, Spacing::Fixed)]);
        Drawn::new(dice.seed, server, level)
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        if seen.point().connections.reopened > 0 {
            findings.wrong("an empty line costs a connection".to_string());
        }
        not_ours(seen, findings);
    },
};
