//! Which experiments show the most for their cost: the named wall's own resource and one rival.

use super::table;
use crate::case::{Case, Whose};
use crate::gates;
use crate::ramp::last_visits;
use crate::verdict::Context;
use crate::walls::Predicts;
use model::curve::Curve;
use model::facts::ClockOffset;
use model::load::{Arrival, Level};
use model::perturbation::{Confirm, Resource, Touch};
use model::route::Address;
use model::run::Point;
use model::verdict::{Named, Verdict};
use observe::{Observed, ThreadShare};

/// Share of a CPU resource that is left while it is changed.
const CUT: f64 = 0.8;
/// How much the load grows.
const GROWTH: f64 = 1.25;
/// A load of at least this many knees is halved instead: it is far beyond what fills the wall.
const FAR_BEYOND: u64 = 4;

/// One experiment to make.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// The resource that is made smaller or larger.
    pub resource: Resource,
    /// How.
    pub change: BlockChange,
    /// In words, with figures.
    pub what: String,
    /// Capacity while changed over its base; none if only the blocks will show it.
    pub factor: Option<f64>,
}

/// The change in the changed blocks.
#[derive(Debug, Clone, PartialEq)]
pub enum BlockChange {
    /// Another load.
    Load(Level),
    /// Another number of worker threads.
    Threads(u32),
    /// This share of each of these CPUs is burnt while the workers run.
    Burn {
        /// Share, 0 to 1.
        share: f64,
        /// CPUs.
        cpus: Vec<u32>,
    },
    /// Another path on the same server.
    Route(String),
    /// The server may use this many CPUs' worth of time.
    ServerQuota {
        /// CPUs' worth of time.
        cpus: f64,
    },
    /// The server's threads run on these CPUs only.
    ServerMask {
        /// CPUs.
        cpus: Vec<u32>,
    },
}

/// The facts from which experiments are planned.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// The load at which they are made.
    pub level: Level,
    /// Fewest requests in flight that reach the rate, from a ramp.
    pub knee_in_flight: Option<u64>,
    /// Worker threads.
    pub threads: u32,
    /// CPUs that the workers have to themselves: none if the server may run there too.
    pub burnable_cpus: Vec<u32>,
    /// The most worker threads that can each have their own CPU.
    pub threads_max: u32,
    /// CPUs' worth of time the server can use at most; none if it is not watched.
    pub server_capacity: Option<f64>,
    /// CPUs the server may run on; empty if it is not watched.
    pub server_cpus: Vec<u32>,
}

impl Facts {
    /// From the point at which experiments are made.
    pub fn of(
        context: Context<'_>,
        (level, point): (&Level, &Point),
        observed: &Observed,
        verdict: &Verdict,
    ) -> Self {
        let case = context.case(point, observed);
        let by_probe = context.target.probe.as_ref().and_then(|far| far.server.as_ref());
        let is_watched = context.target.server.as_ref().or(by_probe).is_some();
        let clients = case.client_cpus();
        let ceiling = verdict.ceiling.as_ref();
        Self {
            level: level.clone(),
            knee_in_flight: ceiling.and_then(|ceiling| ceiling.knee_in_flight),
            threads: point.load.threads,
            threads_max: clients.len() as u32,
            burnable_cpus: if may_meet(&case) { Vec::new() } else { clients },
            server_capacity: is_watched.then(|| server_capacity(&case)).flatten(),
            server_cpus: case.server_cpus().filter(|_| is_watched).unwrap_or_default(),
        }
    }
}

/// Whether the server may run on a CPU of the workers: burning there would slow both. Clocks that
/// differ by more than the error are those of two machines, whose CPUs have the same numbers.
fn may_meet(case: &Case<'_>) -> bool {
    let is_local = case.trial.addresses.iter().any(Address::is_loopback);
    let is_off = |clock: &ClockOffset| clock.offset_ns.unsigned_abs() > clock.error_ns;
    match case.server_cpus() {
        Some(_) if case.clock.is_some_and(is_off) => false,
        Some(cpus) => case.client_cpus().iter().any(|cpu| cpus.contains(cpu)),
        None => is_local || case.trial.addresses.is_empty(),
    }
}

/// The most CPU that the server can use under this load: the least of its quotas, of what it used
/// plus the idle time of its CPUs, and of what it would use if its busiest thread never rested.
fn server_capacity(case: &Case<'_>) -> Option<f64> {
    let used = case.far().server_cpus()?;
    let cpus = case.cpus(Whose::Server, &case.server_cpus()?)?;
    let idle: f64 = cpus.iter().map(|cpu| 1.0 - cpu.busy()).sum();
    let hottest = case.hottest_server_thread().map_or(0.0, |thread: &ThreadShare| thread.run);
    let quotas = case.far().server_quotas.iter().flatten();
    let mut limits: Vec<f64> = quotas.filter_map(|quota| quota.allowed_cpus).collect();
    limits.push(used + idle.max(0.0));
    if hottest > 0.0 {
        limits.push(used / hottest);
    }
    limits.into_iter().reduce(f64::min).filter(|cpus| *cpus > 0.0)
}

/// The visit that experiments start from: of the last visits of all levels, the one with the
/// highest rate, sound ones first.
pub fn base_point(points: &[Point]) -> Option<usize> {
    let rank = |index: &usize| {
        let point = &points[*index];
        (gates::is_rate_known(point), point.rate)
    };
    last_visits(points).into_iter().max_by(|left, right| {
        let (left, right) = (rank(left), rank(right));
        left.0.cmp(&right.0).then(left.1.total_cmp(&right.1))
    })
}

/// The experiments that may be made, in order: first what the rate must follow at the named wall,
/// then what it must not follow. Empty if no experiment would show more.
pub fn plan(verdict: &Verdict, facts: &Facts, confirm: &Confirm) -> Vec<Experiment> {
    let predictions: Vec<Predicts> = suspects(verdict).into_iter().filter_map(table::of).collect();
    let follows = predictions.iter().map(|prediction| prediction.follows);
    let stays = predictions.iter().flat_map(|prediction| prediction.stays.iter().copied());
    let mut planned: Vec<Experiment> = Vec::new();
    for group in follows.chain(stays) {
        let is_planned = |resource| planned.iter().any(|one| one.resource == resource);
        if group.iter().any(|resource| is_planned(*resource)) {
            continue;
        }
        let designed = group.iter().find_map(|resource| design(*resource, facts, confirm));
        planned.extend(designed);
    }
    planned
}

/// What the verdict leaves open: the wall it names, or the first two alternatives.
fn suspects(verdict: &Verdict) -> Vec<Named> {
    match verdict.wall {
        Named::Wall(wall) => {
            [wall].iter().chain(&verdict.also).map(|wall| Named::Wall(*wall)).collect()
        }
        Named::None => vec![Named::None],
        Named::Unknown => {
            let open = verdict.alternatives.iter().map(|one| one.wall).take(2);
            open.chain([Named::Unknown]).collect()
        }
    }
}

fn design(resource: Resource, facts: &Facts, confirm: &Confirm) -> Option<Experiment> {
    let (change, what, factor) = match resource {
        Resource::InFlight => in_flight(facts)?,
        Resource::OfferedRate => offered_rate(facts)?,
        Resource::ClientLoops => client_loops(facts)?,
        Resource::ClientCpu => client_cpu(facts)?,
        Resource::ResponseBytes => {
            let route = confirm.route.clone()?;
            (BlockChange::Route(route.clone()), format!("responses of {route}"), None)
        }
        Resource::ServerCpu if confirm.touch == Touch::Server => server_cpu(facts)?,
        Resource::ServerCpus if confirm.touch == Touch::Server => server_cpus(facts)?,
        Resource::ServerCpu | Resource::ServerCpus => return None,
    };
    Some(Experiment { resource, change, what, factor })
}

type Design = (BlockChange, String, Option<f64>);

fn in_flight(facts: &Facts) -> Option<Design> {
    let level = &facts.level;
    if level.arrival != Arrival::Closed {
        return None;
    }
    let (now, depth) = (level.connections, level.depth);
    let load = u64::from(now) * u64::from(depth);
    let is_far = facts.knee_in_flight.is_some_and(|knee| load >= knee * FAR_BEYOND);
    let then =
        if is_far { now / 2 } else { ((f64::from(now) * GROWTH).round() as u32).max(now + 1) };
    let changed = Level { connections: then, spare: 0, ..level.clone() };
    let in_flight = |connections: u32| u64::from(connections) * u64::from(depth);
    let what = format!("{} instead of {} requests in flight", in_flight(then), in_flight(now));
    Some((BlockChange::Load(changed), what, Some(f64::from(then) / f64::from(now))))
}

fn offered_rate(facts: &Facts) -> Option<Design> {
    let Arrival::Open { curve, arrivals } = &facts.level.arrival else { return None };
    let (now, arrivals) = (curve.constant_rate()?, *arrivals);
    let arrival = Arrival::Open { curve: Curve::constant(now * GROWTH), arrivals };
    let what = format!("{:.0} instead of {now:.0} requests per second asked for", now * GROWTH);
    Some((BlockChange::Load(Level { arrival, ..facts.level.clone() }), what, Some(GROWTH)))
}

fn client_loops(facts: &Facts) -> Option<Design> {
    let (now, connections) = (facts.threads, facts.level.connections);
    let then = if now * 2 <= facts.threads_max.min(connections) { now * 2 } else { now / 2 };
    if then == 0 {
        return None;
    }
    let what = format!("{then} instead of {now} worker threads");
    Some((BlockChange::Threads(then), what, Some(f64::from(then) / f64::from(now))))
}

fn client_cpu(facts: &Facts) -> Option<Design> {
    let cpus = facts.burnable_cpus.clone();
    if cpus.is_empty() {
        return None;
    }
    let share = 1.0 - CUT;
    let what = format!("{:.0} % of the generator's CPU time burnt", share * 100.0);
    // The share that was really burnt is measured.
    Some((BlockChange::Burn { share, cpus }, what, None))
}

fn server_cpu(facts: &Facts) -> Option<Design> {
    let capacity = facts.server_capacity?;
    let cpus = capacity * CUT;
    let percent = CUT * 100.0;
    let what =
        format!("a server CPU quota of {percent:.0} %: {cpus:.2} instead of {capacity:.2} CPUs");
    Some((BlockChange::ServerQuota { cpus }, what, Some(CUT)))
}

fn server_cpus(facts: &Facts) -> Option<Design> {
    let now = facts.server_cpus.len();
    let (_, rest) = facts.server_cpus.split_last().filter(|(_, rest)| !rest.is_empty())?;
    let what = format!("{} instead of {now} CPUs for the server", rest.len());
    let factor = rest.len() as f64 / now as f64;
    Some((BlockChange::ServerMask { cpus: rest.to_vec() }, what, Some(factor)))
}
