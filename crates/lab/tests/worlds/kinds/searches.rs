//! Searches for the highest rate that holds an objective, where that rate is known.

use super::Kind;
use crate::laws::Findings;
use crate::stage::{Drawn, MS, S, Seen, open, servers};
use engine::simulate::server::Service;
use model::load::{Question, Spacing, Warmup};
use model::search::{Answer, SearchConfig};

/// The 99th percentile of M/M/1 is `4.605 / (capacity - rate)`.
pub const MM1: Kind = Kind {
    name: "find-mm1",
    seeds: 20,
    draw: |dice| {
        let service = dice.scale(1e6, 3e6);
        let mut drawn =
            find(dice.seed, servers(1, Service::Exponential(service)), Spacing::Poisson);
        // The rate that holds is 40 to 80 % of what the server can do.
        let load = dice.scale(0.4, 0.8);
        let bound_ns = 100f64.ln() * service / (1.0 - load);
        drawn.trial.expect = format!("p99<{:.0}us", bound_ns / 1e3).parse().ok();
        drawn
    },
    check: |seen, findings| {
        let server = &seen.drawn.plan.server;
        let bound_ns = seen.drawn.trial.expect.as_ref().map_or(0.0, |one| one.terms()[0].bound);
        let holds = server.capacity() - 100f64.ln() / (bound_ns / 1e9);
        // A trial of some seconds sees a percentile of a queue that is not all of it.
        found(seen, findings, holds, 0.12);
    },
};

/// Refuses what is above its limit: without a bound on errors too, the answer is what it can do.
pub const SHEDDING: Kind = Kind {
    name: "find-shedding",
    seeds: 15,
    draw: |dice| {
        let count = dice.count(2, 6);
        let mut server = servers(count, Service::Fixed(dice.scale(2e6, 8e6)));
        server.refuses = Some((count, 503));
        server.cpu_share = 0.05;
        let mut drawn = find(dice.seed, server, Spacing::Fixed);
        drawn.trial.expect = "p99<500ms,errors<1%".parse().ok();
        drawn
    },
    check: |seen, findings| {
        let capacity = seen.drawn.plan.server.capacity();
        // A request that comes when all servers are in use is refused: even gaps fill them all.
        found(seen, findings, capacity, 0.05);
    },
};

fn find(seed: u64, server: engine::simulate::server::Server, arrivals: Spacing) -> Drawn {
    let capacity = server.capacity();
    let mut drawn = Drawn::new(seed, server, open(300, capacity / 8.0, arrivals));
    let trial = &mut drawn.trial;
    trial.question = Question::Find;
    trial.warmup = Warmup::ForNs(300 * MS);
    trial.timeout_ns = 2 * S;
    trial.drain_ns = 2 * S;
    trial.search = Some(SearchConfig {
        lowest: capacity / 8.0,
        highest: capacity * 4.0,
        precision: 0.05,
        budget_ns: 90 * S,
        trial_ns: 3 * S,
        answers_min: 1000,
        confidence: 0.95,
    });
    drawn
}

/// The interval of the answer holds the true rate, give or take a share of it.
fn found(seen: &Seen, findings: &mut Findings, truth: f64, share: f64) {
    let answer = seen.run.record.search.as_ref().and_then(|search| search.answer.as_ref());
    let Some(Answer { rate: Some(rate), misses_at, .. }) = answer else {
        return findings.wrong("no answer".to_string());
    };
    let misses_at = misses_at.unwrap_or(f64::INFINITY);
    if truth < rate * (1.0 - share) || truth > misses_at * (1.0 + share) {
        findings.wrong(format!("answer {rate:.1}..{misses_at:.1} for a true {truth:.1}"));
    }
}
