//! Servers of HTTP/2 that allow few streams, give small windows, leave connections, or do none of
//! that.

use super::{Dice, Kind, not_ours};
use crate::laws::{self, Findings, PUNCTUAL};
use crate::stage::{Drawn, MS, S, Seen, closed, open, servers};
use engine::simulate::server::{Server, Service, StreamPlan};
use model::load::{HttpChoice, Level, Question, Spacing};

/// Nothing that a load notices.
const FREE: StreamPlan = StreamPlan { limit: 0, window: 1 << 20, leaves_after: 0 };

/// A load of HTTP/2 on a server that works on many requests at once with little CPU time.
fn drawn(dice: &mut Dice, plan: StreamPlan, server: Server, level: Level) -> Drawn {
    let streams = Some(plan);
    let server = Server { streams, cpu_share: 0.02, ..server };
    let mut drawn = Drawn::new(dice.seed, server, level);
    drawn.trial.manner.http = HttpChoice::Two;
    drawn
}

/// Whether the run names this wall, or any of the streams where none is meant.
fn names(seen: &Seen, meant: Option<&str>, findings: &mut Findings) {
    let named = seen.run.record.verdict.wall.word();
    let is_right = match meant {
        Some(meant) => named == meant,
        None => !["A11", "A12", "A13", "A14"].contains(&named),
    };
    if !is_right {
        let verdict = &seen.run.record.verdict;
        let point = seen.run.record.points.last();
        let streams = point.map(|point| (&point.connections.streams, &point.in_flight));
        findings.wrong(format!("named {named} ({}), meant {meant:?}: {streams:?}", verdict.name));
    }
}

/// It allows 8 or 10 streams, or fewer, of what the load has per connection.
pub const LIMITED: Kind = Kind {
    name: "stream-limit",
    seeds: 50,
    draw: |dice| {
        let service_ns = dice.scale(3e6, 20e6);
        let service = dice.one_of(&[Service::Fixed(service_ns), Service::Exponential(service_ns)]);
        let (limit, connections) = (dice.one_of(&[3, 8, 10]), dice.count(1, 4));
        let carried = f64::from(limit * connections) * 1e9 / service_ns;
        let rate = carried * dice.scale(1.5, 3.0);
        let level = dice.one_of(&[closed(connections), open(connections, rate, Spacing::Poisson)]);
        let depth = limit * dice.count(2, 6);
        let plan = StreamPlan { limit, ..FREE };
        drawn(dice, plan, servers(64, service), Level { depth, ..level })
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        not_ours(seen, findings);
        names(seen, Some("A11"), findings);
        let (plan, point) = (&seen.drawn.plan.server, seen.point());
        let limit = plan.streams.map_or(0, |streams| streams.limit);
        let streams = f64::from(limit * point.load.connections);
        let carried = streams * 1e9 / (plan.service.mean_ns() + 2.0 * plan.path_ns as f64);
        if (point.rate / carried - 1.0).abs() > 0.1 {
            findings.wrong(format!("{} /s, and the streams carry {carried}", point.rate));
        }
    },
};

/// It allows what the load needs: no limit, as many as the load has, or fewer at a rate of which
/// they carry the double.
pub const PLENTY: Kind = Kind {
    name: "streams",
    seeds: 60,
    draw: |dice| {
        let service_ns = dice.scale(1e6, 10e6);
        let service = dice.one_of(&[Service::Fixed(service_ns), Service::Exponential(service_ns)]);
        let (depth, connections) = (dice.count(2, 20), dice.count(1, 4));
        let limit = dice.one_of(&[0, depth, 100]);
        let of_load = closed(connections);
        let rate = f64::from(depth * connections) * 0.5e9 / service_ns;
        let planned = open(connections, rate, Spacing::Poisson);
        let level = dice.one_of(&[(limit, of_load), (limit, planned.clone()), (depth, planned)]);
        let plan = StreamPlan { limit: level.0, ..FREE };
        let depth = if level.0 == depth { dice.one_of(&[depth, depth * 4]) } else { depth };
        let depth = if level.1.plans_requests() { depth } else { depth.min(limit.max(depth)) };
        drawn(dice, plan, servers(64, service), Level { depth, ..level.1 })
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        not_ours(seen, findings);
        let streams = seen.drawn.plan.server.streams.map_or(0, |streams| streams.limit);
        let point = seen.point();
        let is_limited = streams > 0 && streams < point.load.depth && point.is_closed_loop();
        names(seen, is_limited.then_some("A11"), findings);
    },
};

/// It works on a few requests at once, and allows a few streams more: requests wait inside. One
/// level or a ramp.
pub const POOL: Kind = Kind {
    name: "stream-pool",
    seeds: 15,
    draw: |dice| {
        let service_ns = dice.scale(3e6, 20e6);
        let service = dice.one_of(&[Service::Fixed(service_ns), Service::Exponential(service_ns)]);
        let workers = dice.count(2, 4);
        let limit = workers * dice.count(3, 5);
        let level = |connections| Level { depth: 4 * limit, ..closed(connections) };
        let plan = StreamPlan { limit, ..FREE };
        let mut drawn = drawn(dice, plan, servers(workers, service), level(1));
        if dice.one_of(&[true, false]) {
            drawn.trial.levels = [1, 2, 4].map(level).to_vec();
            drawn.trial.question = Question::Ramp;
        }
        drawn
    },
    check: |seen, findings| {
        names(seen, None, findings);
    },
};

/// It leaves each connection after a few requests, far away; or after many, near.
pub const RENEWED: Kind = Kind {
    name: "renewal",
    seeds: 40,
    draw: |dice| {
        let service = Service::Exponential(dice.scale(0.5e6, 2e6));
        let is_far = dice.one_of(&[true, false]);
        let leaves_after = if is_far { dice.count(8, 40) } else { dice.count(500, 2000) };
        let plan = StreamPlan { leaves_after, ..FREE };
        let level = Level { depth: 8, ..closed(4) };
        let mut drawn = drawn(dice, plan, servers(64, service), level).lasting(2 * S);
        if is_far {
            drawn.plan.server.path_ns = dice.scale(3e6, 10e6) as u64;
        }
        drawn
    },
    check: |seen, findings| {
        let is_far = seen.drawn.plan.server.path_ns > MS;
        names(seen, is_far.then_some("A13"), findings);
        let point = seen.point();
        let after = seen.drawn.plan.server.streams.map(|streams| u64::from(streams.leaves_after));
        let streams = point.connections.streams.clone().unwrap_or_default();
        if (streams.left_after_min, streams.left_after_max) != (after, after) {
            findings.wrong(format!("left after {after:?}: {streams:?}"));
        }
        let refused = point.errors.get("refused").copied().unwrap_or(0);
        if point.requests.failed != refused {
            findings.wrong(format!("something else than refused: {:?}", point.errors));
        }
    },
};

/// Bodies are larger than its windows, far away; or smaller.
pub const WINDOWED: Kind = Kind {
    name: "stream-window",
    seeds: 35,
    draw: |dice| {
        let service = Service::Exponential(dice.scale(0.2e6, 1e6));
        let is_small = dice.one_of(&[true, false]);
        let body = dice.count(8_000, 60_000);
        let window = if is_small { body / dice.count(4, 10) } else { body + 1 };
        let plan = StreamPlan { window, ..FREE };
        let mut drawn = drawn(dice, plan, servers(64, service), closed(4));
        drawn.plan.server.path_ns = dice.scale(1e6, 8e6) as u64;
        let request = &mut drawn.trial.requests[0];
        (request.method, request.body) = ("POST".to_string(), vec![b'b'; body as usize]);
        drawn
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        not_ours(seen, findings);
        let plan = &seen.drawn.plan.server.streams.unwrap_or(FREE);
        let is_small = (plan.window as usize) < seen.drawn.trial.requests[0].body.len();
        names(seen, is_small.then_some("A12"), findings);
    },
};
