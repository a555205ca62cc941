//! Searches for the highest rate that holds an objective, where that rate is known.

use super::Kind;
use crate::laws::Findings;
use crate::stage::{Drawn, MS, S, Seen, open, servers};
use engine::simulate::server::Service;
use model::load::{Question, Spacing, Warmup};
use model::random::Random;
use model::search::{Answer, SearchConfig};
use model::verdict::Confidence;

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
        found(seen, findings, band(seen.drawn.plan.seed, server.service.mean_ns(), bound_ns), 0.05);
    },
};

/// Refuses requests above its limit: even without a bound on errors the result is its capacity.
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
        // A request that arrives when all servers are in use is refused: equal gaps fill them all.
        found(seen, findings, (capacity, capacity), 0.05);
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
        errors_added_percent: None,
        confidence: 0.95,
    });
    drawn
}

/// A trial of some seconds sees only a sample of a queue's percentile, so the limit is a band: from
/// the rate at which nineteen in twenty trials hold to the rate at which three in ten do. Found by
/// very many trials of the queue alone (Lindley's recursion).
fn band(seed: u64, mean_ns: f64, bound_ns: f64) -> (f64, f64) {
    let mut random = Random::new(seed, 99);
    let holds = 1e9 / mean_ns - 100f64.ln() / (bound_ns / 1e9);
    let (mut all, mut few) = (0.0, f64::INFINITY);
    for step in 0..16 {
        let rate = holds * (0.55 + 0.05 * f64::from(step));
        let met = (0..40).filter(|_| trial_holds(&mut random, mean_ns, bound_ns, rate)).count();
        if met >= 38 {
            all = rate;
        }
        if met <= 12 {
            few = few.min(rate);
        }
    }
    (all, few)
}

/// Whether p99 of three seconds of the queue is under the bound, after it has run for a while.
fn trial_holds(random: &mut Random, mean_ns: f64, bound_ns: f64, rate: f64) -> bool {
    let mut draw = |mean: f64| -mean * (1.0 - random.uniform()).ln();
    let (warm, count) = ((rate * 0.3) as usize, (rate * 3.0) as usize);
    let (mut wait_ns, mut sojourns) = (0.0f64, Vec::with_capacity(count));
    for number in 0..warm + count {
        let service_ns = draw(mean_ns);
        if number >= warm {
            sojourns.push(wait_ns + service_ns);
        }
        wait_ns = (wait_ns + service_ns - draw(1e9 / rate)).max(0.0);
    }
    sojourns.sort_by(f64::total_cmp);
    sojourns.get(count * 99 / 100).is_none_or(|p99_ns| *p99_ns < bound_ns)
}

/// The interval of the result overlaps the true one, within a share of it.
fn found(seen: &Seen, findings: &mut Findings, (all, few): (f64, f64), share: f64) {
    let answer = seen.run.record.search.as_ref().and_then(|search| search.answer.as_ref());
    let Some(Answer { rate, misses_at, confidence, notes, .. }) = answer else {
        return findings.wrong("no result".to_string());
    };
    // A rate below the found one may turn out to miss; then there is no result, and a note gives
    // the reason.
    if rate.is_none() && (*confidence != Confidence::Unknown || notes.is_empty()) {
        findings.wrong(format!("no rate, {confidence:?} and {notes:?}"));
    }
    let (rate, misses_at) = (rate.unwrap_or(0.0), misses_at.unwrap_or(f64::INFINITY));
    if few < rate * (1.0 - share) || all > misses_at * (1.0 + share) {
        findings.wrong(format!("result {rate:.1}..{misses_at:.1} for a true {all:.1}..{few:.1}"));
    }
}
