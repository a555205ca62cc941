//! Servers that hang: requests and connections are taken, and nothing comes back. And servers that
//! only look like it for a while.

use super::Kind;
use crate::laws::{self, Findings, PUNCTUAL};
use crate::stage::{Drawn, MS, S, Seen, closed, open, servers};
use engine::simulate::server::{Halts, Service};
use model::load::{Question, Spacing};
use model::run::Outcome;

/// Longer than any level.
const FOR_GOOD_NS: u64 = 3600 * S;

fn hangs(first_ns: u64) -> Halts {
    Halts { first_ns, for_ns: FOR_GOOD_NS, every_ns: 0, late_ns: 0 }
}

/// Hangs at some time of a window, in closed and in open loop, with a short and a long time-out.
pub const HUNG: Kind = Kind {
    name: "hung",
    seeds: 40,
    draw: |dice| {
        let mut server = servers(4, Service::Exponential(dice.scale(0.5e6, 5e6)));
        // The window begins within half a second of the start and lasts for four.
        server.halts = hangs(S + (dice.scale(0.6, 3.6) * S as f64) as u64);
        let rate = server.capacity() * 0.4;
        let level = dice.one_of(&[
            closed(1),
            closed(8),
            open(50, rate, Spacing::Fixed),
            open(4, 100.0, Spacing::Poisson),
        ]);
        let mut drawn = Drawn::new(dice.seed, server, level).lasting(4 * S);
        drawn.trial.timeout_ns = dice.one_of(&[S, 10 * S]);
        drawn.trial.drain_ns = drawn.trial.timeout_ns + 300 * MS;
        drawn
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        is_found(seen, findings);
    },
};

/// Hangs between or in the levels of a ramp.
pub const HUNG_RAMP: Kind = Kind {
    name: "hung-ramp",
    seeds: 20,
    draw: |dice| {
        let mut server = servers(4, Service::Exponential(dice.scale(0.5e6, 5e6)));
        server.halts = hangs(S + (dice.scale(1.9, 6.5) * S as f64) as u64);
        let mut drawn = Drawn::new(dice.seed, server, closed(2)).lasting(S);
        drawn.trial.levels = [2, 4, 8, 16, 32, 64].map(closed).to_vec();
        drawn.trial.question = Question::Ramp;
        drawn.trial.timeout_ns = dice.one_of(&[S, 3 * S, 10 * S]);
        drawn.trial.drain_ns = drawn.trial.timeout_ns + 300 * MS;
        drawn
    },
    check: |seen, findings| {
        is_found(seen, findings);
        if seen.run.record.points.len() == seen.drawn.trial.levels.len() {
            findings.wrong("levels were visited after it".to_string());
        }
    },
};

/// Hangs while a number of requests is sent, which no clock ends.
pub const HUNG_BUDGET: Kind = Kind {
    name: "hung-budget",
    seeds: 10,
    draw: |dice| {
        let mut server = servers(4, Service::Fixed(2e6));
        server.halts = hangs(S + (dice.scale(0.6, 3.0) * S as f64) as u64);
        let mut drawn = Drawn::new(dice.seed, server, closed(dice.count(1, 8)));
        drawn.trial.stop = model::load::Stop::AfterRequests(1_000_000);
        drawn.trial.timeout_ns = S;
        drawn.trial.drain_ns = S + 300 * MS;
        drawn
    },
    check: is_found,
};

/// Stands still once for a while, for less than a time-out or for longer, and goes on.
pub const PAUSED: Kind = Kind {
    name: "paused",
    seeds: 30,
    draw: |dice| {
        let mut server = servers(4, Service::Exponential(dice.scale(0.5e6, 5e6)));
        let first_ns = S + (dice.scale(0.6, 2.5) * S as f64) as u64;
        let for_ns = (dice.scale(0.3, 1.2) * S as f64) as u64;
        server.halts = Halts { first_ns, for_ns, every_ns: 0, late_ns: 0 };
        let level =
            dice.one_of(&[closed(1), closed(8), open(50, 200.0, Spacing::Fixed), closed(40)]);
        let mut drawn = Drawn::new(dice.seed, server, level).lasting(4 * S);
        drawn.trial.timeout_ns = dice.one_of(&[S, 10 * S]);
        drawn.trial.drain_ns = drawn.trial.timeout_ns + 300 * MS;
        drawn
    },
    check: goes_on,
};

/// Takes about as long as the time-out: many requests fail, and long silences are usual. It has
/// room for every request, also for those whose client has given up: else it would be busy with
/// these alone, and no response would come in time any more.
pub const NEAR_TIMEOUT: Kind = Kind {
    name: "near-timeout",
    seeds: 40,
    draw: |dice| {
        let mut server = servers(64, Service::Exponential(dice.scale(0.2e9, 1.5e9)));
        server.cpu_share = 0.0;
        let level = dice.one_of(&[closed(1), closed(2), closed(8), open(8, 2.0, Spacing::Poisson)]);
        let mut drawn = Drawn::new(dice.seed, server, level).lasting(8 * S);
        drawn.trial.timeout_ns = S;
        drawn.trial.drain_ns = S + 300 * MS;
        drawn
    },
    check: goes_on,
};

/// The run says that the target stopped, when it did, and blames nothing else.
fn is_found(seen: &Seen, findings: &mut Findings) {
    let record = &seen.run.record;
    if record.outcome != Outcome::TargetLost {
        return findings.wrong(format!("a hung server is {:?}", record.outcome));
    }
    let Some(stopped) = record.points.last().and_then(|point| point.stopped.as_ref()) else {
        return findings.wrong("no point says that it stopped".to_string());
    };
    let hung_ns = seen.drawn.plan.server.halts.first_ns;
    // To a tick, and what was under way.
    if !(hung_ns.saturating_sub(150 * MS)..hung_ns + 300 * MS).contains(&stopped.at_ns)
        && record.points.len() == 1
    {
        findings.wrong(format!("it hung at {hung_ns} and stopped at {}", stopped.at_ns));
    }
    let words = record.points.iter().map(|point| &point.verdict).chain([&record.verdict]);
    let blamed: Vec<_> = words.map(|verdict| verdict.wall.word()).collect();
    if blamed.iter().any(|word| ["C4", "M1", "M3", "A8"].contains(word)) {
        findings.wrong(format!("blamed: {blamed:?}"));
    }
}

/// The run is whole: the server only took its time.
fn goes_on(seen: &Seen, findings: &mut Findings) {
    laws::hold(findings, seen, 0, PUNCTUAL);
    if seen.run.record.outcome != Outcome::Complete {
        let stopped = &seen.point().stopped;
        findings.wrong(format!("a slow server is {:?}: {stopped:?}", seen.run.record.outcome));
    }
    if seen.run.record.verdict.wall.word() == "C4" {
        findings.wrong("a generator is late that waits for responses".to_string());
    }
}
