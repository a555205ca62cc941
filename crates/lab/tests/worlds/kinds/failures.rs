//! Servers that fail: at once, late, with a reset, without a response. Failures are results.

use super::{Kind, not_ours};
use crate::laws::{self, PUNCTUAL};
use crate::stage::{Drawn, MS, S, Seen, closed, open, servers};
use engine::simulate::server::Service;
use model::load::LoadModel;
use model::load::Spacing;

/// Refuses requests above its limit at once, with 503 or 429: a few of them or most.
pub const SHEDDING: Kind = Kind {
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
            findings.wrong("failures are not reported".to_string());
        }
        not_ours(seen, findings);
    },
};

/// Responds to a share of requests with 500, 401 or 404 after the whole service time.
pub const STATUS: Kind = Kind {
    name: "bad-status",
    seeds: 25,
    draw: |dice| {
        let server = {
            let mut server = servers(4, Service::Exponential(dice.scale(1e6, 10e6)));
            server.fails = (dice.scale(0.001, 1.0), dice.one_of(&[500, 401, 404]));
            server
        };
        let rate = server.capacity() * 0.6;
        let level = dice.one_of(&[closed(6), open(100, rate, Spacing::Fixed)]);
        Drawn::new(dice.seed, server, level)
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        not_ours(seen, findings);
    },
};

/// Admits this many requests per second and refuses the others with 429.
pub const LIMITED: Kind = Kind {
    name: "rate-limit",
    seeds: 20,
    draw: |dice| {
        let mut server = servers(8, Service::Exponential(dice.scale(0.5e6, 2e6)));
        let rate = dice.scale(100.0, 1000.0);
        server.limits = Some((rate, 429));
        server.cpu_share = 0.5;
        let asked = rate * dice.scale(0.5, 3.0);
        let level = dice.one_of(&[closed(6), open(100, asked, Spacing::Fixed)]);
        Drawn::new(dice.seed, server, level)
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        // In closed loop, requests that are refused at once keep the generator as busy as it can
        // be.
        if seen.point().load.model == LoadModel::Open {
            not_ours(seen, findings);
        }
        let (rate, _) = seen.drawn.plan.server.limits.unwrap_or_default();
        if seen.point().rate > rate * 1.1 {
            findings.wrong(format!("{:.1} of {rate:.1} that are let through", seen.point().rate));
        }
    },
};

/// A gateway that turns slow responses into 504, late.
pub const LATE: Kind = Kind {
    name: "gives-up-late",
    seeds: 20,
    draw: |dice| {
        let share = dice.scale(0.005, 0.2);
        let mut server = servers(60, Service::Bimodal(5e6, 3e9, share));
        server.gives_up_ns = Some((dice.scale(0.2, 1.0) * S as f64) as u64);
        server.cpu_share = 0.001;
        let level = dice.one_of(&[closed(20), open(60, 60.0, Spacing::Fixed)]);
        Drawn::new(dice.seed, server, level).lasting(5 * S)
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        not_ours(seen, findings);
    },
};

/// Requests that get no response before the timeout.
pub const SILENT: Kind = Kind {
    name: "silent",
    seeds: 15,
    draw: |dice| {
        let share = dice.scale(0.002, 0.05);
        let mut server = servers(400, Service::Bimodal(5e6, 3600e9, share));
        server.cpu_share = 0.0;
        let level = dice.one_of(&[closed(20), open(100, 200.0, Spacing::Fixed)]);
        let mut drawn = Drawn::new(dice.seed, server, level).lasting(3 * S);
        drawn.trial.timeout_ns = dice.one_of(&[500 * MS, S]);
        drawn.trial.drain_ns = drawn.trial.timeout_ns;
        drawn
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        not_ours(seen, findings);
    },
};

/// Resets a share of connections in place of a response.
pub const RESETS: Kind = Kind {
    name: "resets",
    seeds: 20,
    draw: |dice| {
        let mut server = servers(4, Service::Exponential(dice.scale(1e6, 10e6)));
        server.resets = dice.scale(0.001, 0.1);
        let rate = server.capacity() * 0.5;
        let level = dice.one_of(&[closed(6), open(100, rate, Spacing::Fixed)]);
        Drawn::new(dice.seed, server, level)
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        not_ours(seen, findings);
    },
};

/// Dies in the warm-up, in the window or at some other time.
pub const DYING: Kind = Kind {
    name: "dying",
    seeds: 20,
    draw: |dice| {
        let mut server = servers(4, Service::Exponential(2e6));
        server.dies_ns = Some(S + (dice.scale(0.1, 2.2) * S as f64) as u64);
        let level = dice.one_of(&[closed(8), open(50, 800.0, Spacing::Fixed)]);
        Drawn::new(dice.seed, server, level)
    },
    check: |seen, findings| {
        if seen.run.record.points.is_empty() {
            return;
        }
        laws::hold(findings, seen, 0, PUNCTUAL);
        let said = seen.run.record.outcome != model::run::Outcome::Complete;
        let requests = &seen.point().requests;
        if !said && is_dead_in_window(seen) && requests.failed + requests.unanswered == 0 {
            findings.wrong("a server that died is not reported".to_string());
        }
    },
};

fn is_dead_in_window(seen: &Seen) -> bool {
    let (begin_ns, end_ns) = seen.point().window_ns;
    let dies_ns = seen.drawn.plan.server.dies_ns.unwrap_or(u64::MAX);
    (begin_ns..end_ns - 50 * MS).contains(&dies_ns)
}
