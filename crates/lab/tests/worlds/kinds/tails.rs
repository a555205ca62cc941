//! Servers whose slowest requests have a cause that their host tells, or one that it does not tell.
//!
//! What is named explains what it claims; a host that loses time at other instants explains
//! nothing.

use super::{Kind, not_ours};
use crate::laws::{self, Findings, PUNCTUAL};
use crate::stage::{Drawn, MS, S, Seen, closed, open, servers};
use engine::simulate::server::{Halts, Service};
use model::load::Spacing;
use model::tail::TailCause;

/// A server that stops for 60 to 150 ms now and then.
fn stopping(dice: &mut super::Dice) -> Drawn {
    let mut server = servers(4, Service::Fixed(dice.scale(1e6, 4e6)));
    let for_ns = dice.scale(60e6, 150e6) as u64;
    server.halts = Halts { first_ns: 0, for_ns, every_ns: S, late_ns: S - for_ns - 250 * MS };
    let rate = server.capacity() * dice.scale(0.3, 0.5);
    let level = dice.one_of(&[closed(8), open(3000, rate, Spacing::Fixed)]);
    Drawn::new(dice.seed, server, level).lasting(15 * S)
}

fn causes(seen: &Seen) -> Option<Vec<TailCause>> {
    let tail = seen.point().tail.as_ref().filter(|tail| tail.unknown.is_none())?;
    Some(tail.causes.iter().map(|share| share.cause).collect())
}

/// Its control group is throttled whenever it stops.
pub const THROTTLED: Kind = Kind {
    name: "tail-throttled",
    seeds: 25,
    draw: |dice| {
        let mut drawn = stopping(dice);
        drawn.plan.host.throttled = Some(drawn.plan.server.halts);
        drawn
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        match causes(seen).as_deref() {
            Some([TailCause::Throttled]) => explains(seen, findings),
            other => findings.wrong(format!("{other:?} is named for throttled periods")),
        }
    },
};

/// What it explains is right: nearly all slow requests met a stop.
fn explains(seen: &Seen, findings: &mut Findings) {
    let (slowest, tail) = (seen.point().slowest.as_ref(), seen.point().tail.as_ref());
    let (Some(slowest), Some(tail)) = (slowest, tail) else { return };
    let halts = seen.drawn.plan.server.halts;
    let begin_ns = seen.point().window_ns.0;
    let meets = |planned_ns: u64, took_ns: u64| {
        let mut instants = (0..=took_ns / MS).map(|ms| begin_ns + planned_ns + ms * MS);
        instants.any(|at_ns| halts.end_of(at_ns).is_some())
    };
    let at_least_ns = tail.at_least_ns.unwrap_or(0);
    let meant: Vec<_> = slowest.each.iter().filter(|one| one.took_ns >= at_least_ns).collect();
    let met = meant.iter().filter(|one| meets(one.planned_ns, one.took_ns)).count();
    let truth = met as f64 / meant.len() as f64;
    let explained = tail.causes[0].share;
    if explained > truth + 0.02 || explained < truth - 0.2 {
        findings.wrong(format!("{explained} is explained, and {truth} of them met a stop"));
    }
}

/// Its control group is throttled at other instants, or no more than told.
pub const OTHERWISE: Kind = Kind {
    name: "tail-otherwise",
    seeds: 40,
    draw: |dice| {
        let mut drawn = stopping(dice);
        let halts = drawn.plan.server.halts;
        let (every_ns, late_ns) = (dice.scale(0.4e9, 1.5e9) as u64, dice.scale(10e6, 100e6) as u64);
        let other = Halts { first_ns: dice.scale(1e6, 1e9) as u64, every_ns, late_ns, ..halts };
        drawn.plan.host.throttled = dice.one_of(&[None, Some(other)]);
        drawn
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        not_ours(seen, findings);
        if causes(seen) != Some(Vec::new()) {
            findings.wrong(format!("{:?} is named for nothing that was read", causes(seen)));
        }
    },
};

/// Its generator is frozen for 20 to 100 ms now and then: the slow requests are the generator's.
pub const OURS: Kind = Kind {
    name: "tail-of-the-generator",
    seeds: 25,
    draw: |dice| {
        let mut drawn = stopping(dice);
        drawn.plan.generator.frozen = std::mem::take(&mut drawn.plan.server.halts);
        drawn
    },
    check: |seen, findings| {
        if causes(seen).as_deref() != Some(&[TailCause::Generator]) {
            findings.wrong(format!("{:?} is named for a frozen generator", causes(seen)));
        }
    },
};
