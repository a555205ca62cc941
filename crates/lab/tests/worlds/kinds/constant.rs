//! A server that takes the same time for every response.

use super::{Kind, not_ours};
use crate::laws::{self, Findings, PUNCTUAL};
use crate::stage::{Drawn, S, Seen, closed, servers};
use engine::simulate::server::Service;
use model::load::{Stop, Warmup};

/// Closed loop, from far below to far above its capacity.
pub const CLOSED: Kind = Kind {
    name: "constant-closed",
    seeds: 30,
    draw: |dice| {
        let (count, service) = (dice.count(1, 4), dice.scale(0.2e6, 20e6));
        let connections = dice.count(1, 4 * count);
        Drawn::new(dice.seed, servers(count, Service::Fixed(service)), closed(connections))
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        true_capacity(seen, findings);
        not_ours(seen, findings);
    },
};

/// Far slower than usual: 200 ms to 3 s, by time or by count.
pub const SLOW: Kind = Kind {
    name: "constant-slow",
    seeds: 20,
    draw: |dice| {
        let service = dice.scale(200e6, 3000e6);
        let connections = dice.count(5, 40);
        let server = servers(connections, Service::Fixed(service));
        let mut drawn = Drawn::new(dice.seed, server, closed(connections)).lasting(6 * S);
        if dice.count(0, 2) == 0 {
            drawn.trial.stop = Stop::AfterRequests(u64::from(connections) * 2);
            drawn.trial.warmup = Warmup::ForNs(0);
        }
        drawn.plan.server.cpu_share = 0.01;
        drawn
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        let requests = &seen.point().requests;
        if requests.failed + requests.unanswered > 0 {
            findings.wrong(format!("a slow server failed: {requests:?}"));
        }
        not_ours(seen, findings);
    },
};

/// With as many connections as servers or more, the rate is the capacity of the servers.
fn true_capacity(seen: &Seen, findings: &mut Findings) {
    let (server, point) = (&seen.drawn.plan.server, seen.point());
    let Service::Fixed(service_ns) = server.service else { return };
    let connections = f64::from(point.load.connections);
    let alone = connections * 1e9 / (service_ns + 2.0 * server.path_ns as f64);
    let bound = server.capacity().min(alone);
    // There is a turn of the worker between a response and the next request, and an edge at each
    // end.
    let edges = 2.0 * connections / point.load.duration_s;
    let turn = (30_000.0 / service_ns).min(0.1);
    if point.rate > bound + edges || point.rate < bound * (1.0 - turn) - edges {
        findings.wrong(format!("rate {:.1} where {bound:.1} is possible", point.rate));
    }
}
