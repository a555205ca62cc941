//! Validity checks: each compares independent accounts of a measurement and strikes the figures
//! that become doubtful when the accounts disagree.
//!
//! One file per gate, all of the same shape, listed in [`GATES`]. A failed gate says nothing about
//! figures that it does not list. Where arithmetic allows it, a struck figure keeps a bound. The
//! wall of a gate becomes the verdict of its point only if the requested figure is not known and no
//! other cause is known.

mod agents;
pub(crate) mod bytes;
mod checks;
mod connections;
mod conservation;
pub(crate) mod cpu_states;
mod delivery;
mod early;
mod littles_law;
mod percentiles;
pub(crate) mod release;
mod resolution;
mod samples;
mod start;
mod steadiness;
mod subscribers;
mod tuning;
mod window;

use crate::case::Case;
use model::figure::Figure;
use model::load::Stop;
use model::run::Point;
use model::standing::{Standing, Standings};
use model::verdict::{Gate, GateId};
use model::wall::WallId;

/// A gate as listed.
pub struct Listed {
    /// Its name.
    pub id: GateId,
    /// The wall that it names when no other cause is known.
    pub breaks: WallId,
    /// The figures that it strikes.
    pub strikes: &'static [Figure],
    /// The check.
    pub check: fn(&Case<'_>) -> Checked,
    /// What it leaves of a figure that it strikes.
    pub leaves: Leaves,
}

/// What a failed gate leaves of the figures that it strikes.
#[derive(Clone, Copy)]
pub enum Leaves {
    /// Nothing.
    Nothing,
    /// A bound, calculated by a function and described by a sentence for the reference.
    Bound(fn(&Case<'_>, Figure) -> Option<Standing>, &'static str),
}

/// What a check found.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// Whether it holds; nothing when it could not be checked.
    pub ok: Option<bool>,
    /// The figure compared.
    pub measured: Option<f64>,
    /// What it was compared with.
    pub bound: String,
    /// One sentence.
    pub why: String,
}

impl Checked {
    /// A share, 0 to 1, that may be this large.
    pub fn share(share: f64, share_max: f64, bound: &str, why: String) -> Self {
        let (ok, measured) = (Some(share <= share_max), Some(share * 100.0));
        Self { ok, measured, bound: bound.to_string(), why }
    }

    /// There is nothing to compare.
    pub fn unchecked(bound: &str, why: &str) -> Self {
        Self { ok: None, measured: None, bound: bound.to_string(), why: why.to_string() }
    }
}

/// The figures made from counts and time stamps of requests.
const OF_REQUESTS: &[Figure] = &[
    Figure::Rate,
    Figure::Errors,
    Figure::MEAN,
    Figure::P50,
    Figure::P75,
    Figure::P90,
    Figure::P95,
    Figure::P99,
    Figure::P99_9,
    Figure::P99_99,
    Figure::MAX,
    Figure::Bytes,
    Figure::ClientCpu,
    Figure::ServerCpu,
    Figure::Ceiling,
];

const fn gate(
    id: GateId,
    breaks: WallId,
    check: fn(&Case<'_>) -> Checked,
    strikes: &'static [Figure],
    leaves: Leaves,
) -> Listed {
    Listed { id, breaks, strikes, check, leaves }
}

/// Every gate, in the order of the record.
pub const GATES: &[Listed] = &[
    gate(GateId::Conservation, WallId::M1, conservation::check, OF_REQUESTS, Leaves::Nothing),
    gate(GateId::LittlesLaw, WallId::M1, littles_law::check, OF_REQUESTS, Leaves::Nothing),
    gate(GateId::Bytes, WallId::M1, bytes::check, OF_REQUESTS, Leaves::Nothing),
    gate(GateId::Samples, WallId::M1, samples::check, OF_REQUESTS, Leaves::Nothing),
    gate(GateId::Percentiles, WallId::M1, percentiles::check, &[], Leaves::Nothing),
    gate(
        GateId::Resolution,
        WallId::M1,
        resolution::check,
        &Figure::LATENCIES,
        Leaves::Bound(resolution::leaves, "from the figure minus two longest turns to the figure"),
    ),
    gate(
        GateId::Release,
        WallId::C4,
        release::check,
        &Figure::LATENCIES,
        Leaves::Bound(
            release::leaves,
            "from the latency of a punctual generator to the latency from the plan; sound where \
             the two agree within 5 % or 50 us",
        ),
    ),
    gate(
        GateId::Window,
        WallId::M1,
        window::check,
        &[Figure::Rate, Figure::Ceiling],
        Leaves::Bound(window::leaves, "the rate without and with requests in flight at an edge"),
    ),
    gate(
        GateId::CpuStates,
        WallId::M1,
        cpu_states::check,
        &[Figure::ClientHost, Figure::ServerHost],
        Leaves::Bound(cpu_states::leaves, "nothing of the host whose states do not add up"),
    ),
    gate(
        GateId::Connections,
        WallId::M1,
        connections::check,
        &[Figure::Load],
        Leaves::Bound(connections::leaves, "the connections that were served"),
    ),
    gate(GateId::Checks, WallId::M4, checks::check, &[], Leaves::Nothing),
    gate(
        GateId::Steadiness,
        WallId::M3,
        steadiness::check,
        &[Figure::Ceiling],
        Leaves::Bound(steadiness::leaves, "the lowest and the highest half-second rate"),
    ),
    gate(
        GateId::Tuning,
        WallId::M3,
        tuning::check,
        &[Figure::Ceiling, Figure::Wall],
        Leaves::Nothing,
    ),
    gate(
        GateId::Subscribers,
        WallId::M4,
        subscribers::check,
        &[Figure::Load],
        Leaves::Bound(subscribers::leaves, "the streams that were accepted and stayed"),
    ),
    // If this gate fails, the generator's own walls judge the generator.
    gate(
        GateId::Delivery,
        WallId::C2,
        delivery::check,
        &[Figure::Rate, Figure::Delivery],
        Leaves::Bound(delivery::leaves, "what arrived, as a lower bound"),
    ),
    gate(
        GateId::Agents,
        WallId::M1,
        agents::check,
        &[
            Figure::Rate,
            Figure::MEAN,
            Figure::P50,
            Figure::P75,
            Figure::P90,
            Figure::P95,
            Figure::P99,
            Figure::P99_9,
            Figure::P99_99,
            Figure::MAX,
            Figure::Ceiling,
        ],
        Leaves::Bound(
            agents::leaves,
            "from the rate of the agents whose account holds to the rate with all requests that \
             were due; percentiles as if the unknown requests were the fastest, and the slowest; \
             all of it sound if agents were only late",
        ),
    ),
    gate(
        GateId::Start,
        WallId::M1,
        start::check,
        &[Figure::Rate, Figure::Ceiling],
        Leaves::Bound(start::leaves, "the rate without and with both edges of the window"),
    ),
    gate(
        GateId::Early,
        WallId::M4,
        early::check,
        &[
            Figure::Rate,
            Figure::MEAN,
            Figure::P50,
            Figure::P75,
            Figure::P90,
            Figure::P95,
            Figure::P99,
            Figure::P99_9,
            Figure::P99_99,
            Figure::MAX,
            Figure::ServerCpu,
            Figure::Ceiling,
        ],
        Leaves::Bound(
            early::leaves,
            "the rate without and with such responses; nothing of the \
             rest",
        ),
    ),
];

/// Gates of points with subscribers; others do not have them.
const OF_EVENTS: [GateId; 2] = [GateId::Subscribers, GateId::Delivery];
/// Gates of points of a fleet; others do not have them.
const OF_AGENTS: [GateId; 2] = [GateId::Agents, GateId::Start];

/// Runs every gate on a point.
pub fn check_all(case: &Case<'_>) -> Vec<Gate> {
    let gate = |listed: &Listed| {
        let Checked { ok, measured, bound, why } = (listed.check)(case);
        Gate { id: listed.id, ok, measured, bound, why }
    };
    // A gate that does not apply to a point differs from one that could not be checked.
    let is_asked = |listed: &&Listed| match listed.id {
        // Where nothing was changed, nothing can drift.
        GateId::Tuning => tuning::is_asked(case),
        // Each user who is due has one of their own, and an account.
        GateId::Connections => !case.point.plans_users(),
        GateId::Release => case.is_open() || case.point.starts().is_some(),
        GateId::Checks => case.trial.targets.iter().any(|target| !target.checks.is_empty()),
        GateId::Early => case.point.requests.early > 0,
        GateId::Window => matches!(case.trial.stop, Stop::AfterNs(_)),
        GateId::Steadiness => case.point.load.curve.is_none(),
        id if OF_AGENTS.contains(&id) => !case.point.agents.is_empty(),
        id => case.point.events().is_some() || !OF_EVENTS.contains(&id),
    };
    GATES.iter().filter(is_asked).map(gate).collect()
}

/// The standing of every figure of a point whose gates were checked.
pub fn standings(case: &Case<'_>) -> Standings {
    let mut standings = Standings::default();
    for listed in GATES {
        let gate = case.point.gates.iter().find(|gate| gate.id == listed.id);
        let Some(gate) = gate.filter(|gate| gate.ok == Some(false)) else { continue };
        for figure in listed.strikes {
            let left = match listed.leaves {
                Leaves::Nothing => None,
                Leaves::Bound(leaves, _) => leaves(case, *figure),
            };
            let nothing = || Standing::NotKnown { why: format!("{}: {}", listed.id, gate.why) };
            standings.add(*figure, left.unwrap_or_else(nothing));
        }
    }
    let rates = [crate::few::rate(case.point), stopped_rate(case.point)];
    rates.into_iter().flatten().for_each(|standing| standings.add(Figure::Rate, standing));
    for figure in Figure::LATENCIES {
        if let Some(absent) = percentiles::absent(case.point, figure) {
            standings.add(figure, absent);
        }
    }
    standings
}

/// Where the target stopped responding in the window, its rate until then was higher than the rate
/// of the whole window.
fn stopped_rate(point: &Point) -> Option<Standing> {
    let stopped = point.stopped.as_ref()?;
    let after_s = stopped.after_s(point.window_ns.0);
    let rate = point.rate;
    let until = (after_s > 0.0).then(|| (rate * point.load.duration_s / after_s).max(rate));
    let by = format!("the target stopped responding {}", stopped.when(point.window_ns.0));
    Some(Standing::Bounded { low: rate, high: Some(until.unwrap_or(rate)), by })
}

/// Whether a point has a rate that may be used.
pub fn is_rate_known(point: &Point) -> bool {
    !point.standing.of(Figure::Rate).is_not_known()
}

/// The failed gates of a point that strike a figure.
pub fn striking(point: &Point, figure: Figure) -> impl Iterator<Item = &Gate> {
    let strikes = move |gate: &&Gate| {
        let mut listed = GATES.iter().filter(|listed| listed.id == gate.id);
        gate.ok == Some(false) && listed.any(|listed| listed.strikes.contains(&figure))
    };
    point.gates.iter().filter(strikes)
}

/// Whether a gate of a point is broken.
pub fn is_broken(point: &Point, id: GateId) -> bool {
    point.gates.iter().any(|gate| gate.id == id && gate.ok == Some(false))
}
