//! Turns tests into a verdict: which wall, how sure, the evidence against it, and what to do next.
//!
//! Evidence is weighed in this order. Counted limits come first because they imitate everything
//! else; then the validity of the measurement; then which side is busy. Utilisation alone names no
//! wall: a queue, a counter or the shape of a ramp must agree with it. Nothing is "confirmed"
//! without a perturbation.

use crate::case::Case;
use crate::decide::{RampSays, decide, undecided};
use crate::next::look_at;
use crate::ramp::{self, Trend, last_visits};
use crate::sides::Sides;
use crate::walls::{COUNTED, Family, Seen};
use crate::{
    fleet, gates, inside_kernel, objective, perturb, ramp::ceiling, residence, sides, tail,
};
use model::facts::{ClockOffset, HostFacts};
use model::fault::Fault;
use model::kernel::KernelRecord;
use model::load::LoadModel;
use model::load::{Question, Trial};
use model::perturbation::Perturbation;
use model::run::{Outcome, Point, Target};
use model::step::Step;
use model::verdict::{Ceiling, CeilingKind, Confidence, IntervalKind, Named, Verdict};
use model::wall::WallId;
use observe::Observed;
use std::collections::BTreeSet;

/// The clock of a server in another network namespace of this host.
static OUR_CLOCK: ClockOffset = ClockOffset { offset_ns: 0, error_ns: 0, round_trips: 0 };

/// The facts of a run that do not belong to a point.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The load and the target that were requested.
    pub trial: &'a Trial,
    /// The generator's host.
    pub host: &'a HostFacts,
    /// The server under test.
    pub target: &'a Target,
    /// How the run ended.
    pub outcome: Outcome,
    /// Experiments made to confirm it.
    pub perturbations: &'a [Perturbation],
    /// What programs in the kernel saw.
    pub kernel: Option<&'a KernelRecord>,
}

impl<'a> Context<'a> {
    /// The hosts of both sides.
    pub(crate) fn sides(&self, observed: &'a Observed) -> Sides<'a> {
        let probe = self.target.probe.as_ref();
        let near = self.target.server.as_ref();
        let server = near.or_else(|| probe?.server.as_ref());
        let inside = near.and_then(|server| server.network.as_ref());
        let server_host = probe.map(|probe| &probe.host);
        let server_host = server_host.or_else(|| inside.map(|network| &network.host));
        let server_host = server_host.or_else(|| near.map(|_| self.host));
        let clock = probe.map(|probe| &probe.clock).or_else(|| inside.map(|_| &OUR_CLOCK));
        let (trial, host) = (self.trial, self.host);
        Sides { trial, host, server, server_host, clock, observed }
    }

    pub(crate) fn case(&self, point: &'a Point, observed: &'a Observed) -> Case<'a> {
        let Sides { trial, host, server, server_host, clock, observed } = self.sides(observed);
        Case { trial, host, server, server_host, clock, point, observed, ramp: &[] }
    }
}

/// Fills the figures of hosts, the gates, the verdict and the expectations of a point. Without
/// readings the figures of hosts stay as they are.
pub fn judge_point(context: Context<'_>, mut point: Point, observed: &Observed) -> Point {
    let hosts = sides::figures(&context.case(&point, observed));
    if !hosts.is_empty() {
        point.hosts = hosts;
    }
    point.gates = gates::check_all(&context.case(&point, observed));
    point.standing = gates::standings(&context.case(&point, observed));
    point.residence = residence::of(&context.case(&point, observed));
    point.tail = tail::of(&context.case(&point, observed));
    point.verdict = match &point.stopped {
        // What it did until then was not stopped by any wall, and afterwards there was no load.
        Some(stopped) => Verdict {
            name: format!("the target stopped responding {}", stopped.when(point.window_ns.0)),
            ..undecided()
        },
        None => fleet::apply(decide(&context.case(&point, observed), None), &point),
    };
    mention_loss(context, &mut point.verdict, &[observed]);
    let expect = context.trial.expect.as_ref();
    point.expectations = expect.map_or_else(Vec::new, |expect| objective::at_point(expect, &point));
    point
}

/// Share of its time in which the busiest worker of a point had work; nothing if the threads of the
/// generator were not read.
pub fn worker_load(context: Context<'_>, point: &Point, observed: &Observed) -> Option<f64> {
    context.case(point, observed).worker_load()
}

/// The verdict of a run from its judged points and the readings of their windows.
pub fn judge_run(context: Context<'_>, points: &[Point], observed: &[Observed]) -> Verdict {
    let verdict = judge_points(context, points, observed);
    let verdict = inside_kernel::apply(verdict, context, points, observed);
    let verdict = inside_kernel::propose(verdict, context, points, observed);
    let best = points.iter().max_by(|one, other| one.rate.total_cmp(&other.rate));
    let mut verdict = best.map_or(verdict.clone(), |best| fleet::apply(verdict, best));
    mention_loss(context, &mut verdict, &observed.iter().collect::<Vec<_>>());
    let is_counted = COUNTED.walls.iter().any(|listed| verdict.wall == Named::Wall(listed.wall));
    let stopped = points.iter().rev().find_map(|point| Some((point, point.stopped.as_ref()?)));
    let stopped = stopped.map(|(point, stopped)| stopped.sentence(point.window_ns.0));
    // A target that sends no response looks like a fault of the measurement.
    let faults: Vec<Fault> = points.iter().filter_map(Point::only_fault).collect();
    let fault = faults.first().filter(|_| faults.len() == points.len());
    let words = fault.map(|fault| match fault {
        Fault::NotHttp => "what the server sends is not HTTP/1.1".to_string(),
        fault => format!("the server {}", fault.words()),
    });
    let why = match context.outcome {
        Outcome::TargetLost if stopped.is_some() => stopped.as_deref(),
        _ if is_counted => None,
        Outcome::Complete | Outcome::TargetLost if words.is_some() => words.as_deref(),
        Outcome::TargetLost => Some("the target stopped answering"),
        Outcome::Complete if !points.is_empty() && points.iter().all(Point::is_silent) => {
            Some("no request got a response")
        }
        // Whatever limits failed responses says nothing about good ones.
        Outcome::Complete if !points.is_empty() && points.iter().all(Point::is_refused) => {
            Some("every response failed, so no wall is named")
        }
        Outcome::Complete | Outcome::Interrupted => None,
    };
    let Some(why) = why else { return perturb::apply(verdict, context.perturbations) };
    let look = Step::from("check the server: is it alive, and what does its log say");
    let curl = Step::from(look_at("-v", context.trial, points));
    let responds = fault.is_some() || points.iter().any(Point::is_refused);
    let next = if responds { vec![curl] } else { vec![look, curl] };
    Verdict { name: why.to_string(), next, ..undecided() }
}

/// Lists what is unknown because the probe on the server's host was lost.
fn mention_loss(context: Context<'_>, verdict: &mut Verdict, observed: &[&Observed]) {
    let Some(why) = context.target.probe.as_ref().and_then(|probe| probe.lost.as_ref()) else {
        return;
    };
    let sees_nothing = |one: &&&Observed| one.far.as_ref().is_some_and(|far| far.cpus.is_none());
    let blind = observed.iter().filter(sees_nothing).count();
    if blind == 0 {
        return;
    }
    verdict.against.push(format!(
        "the probe on the server's host was lost ({why}): in {blind} of {} windows it is not known \
         what that host did, so its walls can be neither named nor excluded",
        observed.len()
    ));
    let next = "start `ceiling probe serve` on the server's host again, and repeat";
    verdict.next.insert(0, next.into());
}

fn judge_points(context: Context<'_>, points: &[Point], observed: &[Observed]) -> Verdict {
    let last_visits = last_visits(points);
    let usable: Vec<usize> =
        last_visits.iter().copied().filter(|index| is_usable(&points[*index])).collect();
    let Some(&last) = usable.last().or(last_visits.last()) else { return undecided() };
    let by_load: Vec<&Point> = usable.iter().map(|index| &points[*index]).collect();
    let rated: Vec<&Point> = points.iter().filter(|point| gates::is_rate_known(point)).collect();
    let shape = match context.trial.question {
        Question::Load | Question::Find | Question::Fanout => Trend::TooFew,
        Question::Ramp | Question::Churn => ramp::shape(&rated),
    };
    let case =
        |index: usize| Case { ramp: &by_load, ..context.case(&points[index], &observed[index]) };
    let alone = |index: usize| decide(&context.case(&points[index], &observed[index]), None);
    let mut verdict = match &shape {
        Trend::TooFew => alone(last),
        Trend::Rising => decide(&case(last), Some(&shape_evidence(&rated, &shape))),
        Trend::Flat { plateau, .. } => {
            let visits: Vec<&Point> = plateau.iter().map(|at| rated[*at]).collect();
            let loads = visits.iter().map(|visit| visit.load_size()).collect::<BTreeSet<_>>();
            let is_on = |index: &usize| loads.contains(&points[*index].load_size());
            let decisive: Vec<usize> = usable.iter().copied().filter(is_on).collect();
            let evidence = shape_evidence(&rated, &shape);
            let decided: Vec<_> =
                decisive.iter().map(|index| decide(&case(*index), Some(&evidence))).collect();
            match decided.is_empty() {
                true => alone(last),
                false => {
                    let verdict = of_plateau(majority(&decided), &visits, context.trial);
                    let most = loads.last().copied().unwrap_or(0);
                    let beyond = usable.last().filter(|index| points[**index].load_size() > most);
                    let beyond = beyond.map(|index| decide(&case(*index), Some(&evidence)));
                    beyond.map_or(verdict.clone(), |beyond| of_decline(verdict, beyond))
                }
            }
        }
    };
    if !matches!(shape, Trend::Flat { .. })
        && let Some(one) = &verdict.ceiling
    {
        let is_same = |point: &&&Point| point.load_size() == points[last].load_size();
        let visits: Vec<&Point> = rated.iter().filter(is_same).copied().collect();
        if visits.len() > 1 {
            verdict.ceiling = ceiling(&visits, one.kind);
        }
    }
    if context.trial.question != Question::Find {
        verdict.ceiling = at_least_the_best(verdict.ceiling, &rated);
    }
    let unknown: Vec<_> = last_visits
        .iter()
        .filter(|index| !gates::is_rate_known(&points[**index]))
        .map(|index| points[*index].load_size().to_string())
        .collect();
    if !unknown.is_empty() && last_visits.len() > 1 {
        let (count, of, list) = (unknown.len(), last_visits.len(), unknown.join(", "));
        let what = format!("the rate of {count} of {of} levels is not known; left out: {list}");
        verdict.against.push(what);
    }
    verdict
}

/// A lower bound is never below a measured level.
fn at_least_the_best(claim: Option<Ceiling>, rated: &[&Point]) -> Option<Ceiling> {
    let bound = claim?;
    if bound.kind != CeilingKind::AtLeast {
        return Some(bound);
    }
    let of_load = |load: u64| {
        let visits = rated.iter().filter(|point| point.load_size() == load);
        ceiling(&visits.copied().collect::<Vec<_>>(), CeilingKind::AtLeast)
    };
    let loads: BTreeSet<u64> = rated.iter().map(|point| point.load_size()).collect();
    let all = loads.into_iter().filter_map(of_load);
    let best = all.max_by(|left, right| left.rate.total_cmp(&right.rate));
    Some(match best.filter(|best| best.rate > bound.rate) {
        Some(best) => Ceiling { knee_in_flight: bound.knee_in_flight, ..best },
        None => bound,
    })
}

/// The verdict of a plateau with the ceiling that its visits give, and what would make it certain.
fn of_plateau(mut verdict: Verdict, visits: &[&Point], trial: &Trial) -> Verdict {
    let Some(kind) = verdict.ceiling.as_ref().map(|one| one.kind) else { return verdict };
    verdict.ceiling = ceiling(visits, kind);
    let Some(ceiling) = &mut verdict.ceiling else { return verdict };
    let closed = visits.first().filter(|point| point.load.model == LoadModel::Closed);
    ceiling.knee_in_flight = closed.map(|point| point.load_size());
    // Devices are visited once at each level.
    if ceiling.interval != IntervalKind::Visits95 && trial.question == Question::Ramp {
        verdict.next.push(more_visits(trial, visits));
    }
    verdict
}

/// The verdict of a plateau after which the rate falls. If the plateau names no wall, what makes
/// each request cost more at the highest load (S7) is also what ends the growth.
fn of_decline(verdict: Verdict, beyond: Verdict) -> Verdict {
    let is_named = matches!(verdict.wall, Named::Wall(_));
    match beyond.wall == Named::Wall(WallId::S7) && !is_named {
        true => Verdict { ceiling: verdict.ceiling, ..beyond },
        false => verdict,
    }
}

/// The command that visits the loads of a plateau often enough for an interval.
fn more_visits(trial: &Trial, visits: &[&Point]) -> Step {
    let (first, last) = (&visits[0].load, &visits[visits.len() - 1].load);
    let mut words = vec!["ramp".to_string(), trial.url.clone()];
    let mut push = |option: &str, value: String| words.extend([option.to_string(), value]);
    match (first.rate, last.rate) {
        (Some(from), Some(to)) => {
            push("-R", format!("{from:.0}..{to:.0}"));
            push("-c", first.connections.to_string());
        }
        _ if first.connections == last.connections => push("-c", first.connections.to_string()),
        _ => push("-c", format!("{}..{}", first.connections, last.connections)),
    }
    if first.depth > 1 {
        push("-p", first.depth.to_string());
    }
    // An interval at 95 % needs three visits of the plateau.
    push("--visits", "3".to_string());
    Step::command(words)
}

fn is_usable(point: &Point) -> bool {
    gates::is_rate_known(point)
}

/// The verdict that most points of a plateau share. A point whose evidence does not decide does not
/// vote against what another one shows, unless that is only suspected. A wall shows best at the
/// highest load, so a tie goes to its verdict, and points that name no wall cannot outvote what it
/// names. The wall is only suspected when half of the points do not share it or one of them names
/// another wall.
fn majority(decided: &[Verdict]) -> Verdict {
    let is_named = |verdict: &Verdict| matches!(verdict.wall, Named::Wall(_));
    let last = decided.last().map(is_named).unwrap_or_default();
    let decides = |verdict: &Verdict| verdict.wall != Named::Unknown;
    let is_proof = |verdict: &Verdict| verdict.confidence != Confidence::Suspected;
    let any = decided.iter().any(|verdict| decides(verdict) && is_proof(verdict));
    let votes = |verdict: &Verdict| {
        let count = decided.iter().filter(|one| one.wall == verdict.wall).count();
        let is_mute = last && !is_named(verdict) || any && !decides(verdict);
        if is_mute { 0 } else { count }
    };
    let best = (0..decided.len()).max_by(|left, right| {
        let (one, other) = (&decided[*left], &decided[*right]);
        let by_votes = votes(one).cmp(&votes(other));
        by_votes.then(left.cmp(right))
    });
    let mut verdict = decided[best.unwrap_or(0)].clone();
    let (votes, of) = (votes(&verdict), decided.len());
    let mute = if any { decided.iter().filter(|one| !decides(one)).count() } else { 0 };
    if votes + mute < of {
        let others = of - votes - mute;
        let what = format!("{others} of {of} levels of the plateau show another wall or none");
        verdict.against.push(what);
    }
    if mute > 0 {
        let what = format!("the evidence of {mute} of {of} levels of the plateau does not decide");
        verdict.against.push(what);
    }
    let others = decided.iter().filter(|one| is_named(one) && one.wall != verdict.wall).count();
    if (2 * votes <= of || others > 0) && verdict.confidence == Confidence::Probable {
        verdict.confidence = Confidence::Suspected;
    }
    verdict
}

/// The shape of the ramp as evidence.
fn shape_evidence(points: &[&Point], shape: &Trend) -> RampSays {
    let is_wider = |last: usize, knee: usize| points[last].load_size() > points[knee].load_size();
    let (from, to) = match shape {
        Trend::Flat { knee, plateau } if is_wider(plateau[plateau.len() - 1], *knee) => {
            (points[*knee], points[plateau[plateau.len() - 1]])
        }
        Trend::Flat { knee, .. } => (points[*knee], points[points.len() - 1]),
        _ => {
            // The last points may be visits of one load.
            let to = points[points.len() - 1];
            let before = points.iter().rev().find(|point| point.load_size() < to.load_size());
            (before.copied().unwrap_or(points[points.len() - 2]), to)
        }
    };
    let rates = (from.headline_rate(), to.headline_rate());
    let change = match rates.0 > 0.0 {
        true => format!("{:+.1} %", (rates.1 / rates.0 - 1.0) * 100.0),
        false => format!("0/s to {}/s", model::units::show_count(rates.1)),
    };
    let value = format!("{change} from {} to {}", from.load_size(), to.load_phrase());
    let is_rising = *shape == Trend::Rising;
    let rule = match is_rising {
        true => "still rising: no wall yet",
        false => "flat or falling: a wall, on either side",
    };
    let field = "change of the rate with load";
    let seen =
        Seen::default().with(Family::RampShape, "client", ("ramp", ["rate"]), field, value, rule);
    RampSays { is_rising, seen }
}

#[cfg(test)]
mod tests;
