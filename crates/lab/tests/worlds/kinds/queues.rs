//! Queues whose mean and percentiles are known from theory, in open loop with Poisson arrivals.
//!
//! M/M/1 and M/M/c: Erlang C. M/D/1: Pollaczek and Khinchine. M/G/1 with processor sharing: the
//! mean depends on the mean of service alone (Kleinrock, Queueing Systems II, 4.4).

use super::{Dice, Kind, not_ours};
use crate::laws::{self, Findings, PUNCTUAL};
use crate::stage::{Drawn, S, Seen, open};
use engine::simulate::server::{Discipline, Server, Service};
use model::load::Spacing;

/// One server with exponential service.
pub const MM1: Kind = Kind {
    name: "queue-mm1",
    seeds: 25,
    draw: |dice| {
        let service = Service::Exponential(dice.scale(0.3e6, 1e6));
        let load = dice.scale(0.2, 0.8);
        queue(dice, Discipline::Shared, (1, service), load)
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        not_ours(seen, findings);
        let (mean_ns, load, _) = known(seen);
        // Time in the system is exponential with this mean.
        let sojourn_ns = mean_ns / (1.0 - load);
        mean_is(seen, findings, sojourn_ns);
        percentile_is(seen, findings, sojourn_ns * 2f64.ln());
    },
};

/// Several servers with exponential service behind one queue.
pub const MMC: Kind = Kind {
    name: "queue-mmc",
    seeds: 20,
    draw: |dice| {
        let service = Service::Exponential(dice.scale(0.5e6, 3e6));
        let (load, count) = (dice.scale(0.2, 0.8), dice.count(2, 6));
        queue(dice, Discipline::Shared, (count, service), load)
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        not_ours(seen, findings);
        let (mean_ns, load, count) = known(seen);
        let wait_ns = erlang_c(count, load) * mean_ns / (f64::from(count) * (1.0 - load));
        mean_is(seen, findings, mean_ns + wait_ns);
    },
};

/// One server whose service is always the same.
pub const MD1: Kind = Kind {
    name: "queue-md1",
    seeds: 20,
    draw: |dice| {
        let service = Service::Fixed(dice.scale(0.3e6, 1e6));
        let load = dice.scale(0.2, 0.8);
        queue(dice, Discipline::Shared, (1, service), load)
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        not_ours(seen, findings);
        let (mean_ns, load, _) = known(seen);
        mean_is(seen, findings, mean_ns * (1.0 + load / (2.0 * (1.0 - load))));
    },
};

/// One server that works on all at once, with any distribution of service.
pub const SHARING: Kind = Kind {
    name: "queue-sharing",
    seeds: 25,
    draw: |dice| {
        let mean = dice.scale(0.3e6, 1e6);
        let service = dice.one_of(&[
            Service::Fixed(mean),
            Service::Exponential(mean),
            Service::Bimodal(mean / 2.0, mean * 5.5, 0.1),
        ]);
        let load = dice.scale(0.2, 0.7);
        queue(dice, Discipline::Sharing, (1, service), load)
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        not_ours(seen, findings);
        let (mean_ns, load, _) = known(seen);
        mean_is(seen, findings, mean_ns / (1.0 - load));
    },
};

fn queue(
    dice: &mut Dice,
    discipline: Discipline,
    (count, service): (u32, Service),
    load: f64,
) -> Drawn {
    let server = Server::new(count, discipline, service);
    let rate = load * server.capacity();
    // Room for any queue, so that none is in the generator.
    Drawn::new(dice.seed, server, open(400, rate, Spacing::Poisson)).lasting(4 * S)
}

/// Mean of service, load of each server, servers.
fn known(seen: &Seen) -> (f64, f64, u32) {
    let server = &seen.drawn.plan.server;
    let rate = seen.point().load.rate.unwrap_or(0.0);
    (server.service.mean_ns(), rate / server.capacity(), server.servers)
}

/// The probability that a request waits.
fn erlang_c(count: u32, load: f64) -> f64 {
    let offered = load * f64::from(count);
    let mut blocked = 1.0;
    for servers in 1..=count {
        blocked = offered * blocked / (f64::from(servers) + offered * blocked);
    }
    blocked / (1.0 - load * (1.0 - blocked))
}

/// The mean of a window scatters around that of theory, and more so the fuller the server is: by
/// about the relaxation time of the queue over the window (Whitt, Management Science 35, 1989).
fn scatter(seen: &Seen) -> f64 {
    let (mean_ns, load, count) = known(seen);
    let relaxation_ns = mean_ns / f64::from(count) / (1.0 - load).powi(2);
    let window_ns = seen.point().load.duration_s * 1e9;
    5.0 * (4.0 * relaxation_ns / window_ns).sqrt() + 0.05
}

fn mean_is(seen: &Seen, findings: &mut Findings, theory_ns: f64) {
    let path_ns = 2.0 * seen.drawn.plan.server.path_ns as f64;
    let Some(mean_ns) = seen.point().latency_ns.mean else {
        return findings.wrong("no mean".to_string());
    };
    let apart = (mean_ns as f64 / (theory_ns + path_ns) - 1.0).abs();
    if apart > scatter(seen) {
        findings.wrong(format!("mean {mean_ns} ns where theory has {theory_ns:.0} ns"));
    }
}

fn percentile_is(seen: &Seen, findings: &mut Findings, theory_ns: f64) {
    let path_ns = 2.0 * seen.drawn.plan.server.path_ns as f64;
    let Some(p50_ns) = seen.point().latency_ns.p50 else {
        return findings.wrong("no p50".to_string());
    };
    let apart = (p50_ns as f64 / (theory_ns + path_ns) - 1.0).abs();
    if apart > scatter(seen) {
        findings.wrong(format!("p50 {p50_ns} ns where theory has {theory_ns:.0} ns"));
    }
}
