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
use crate::walls::{COUNTED, Family, Seen};
use crate::{fleet, gates, inside_kernel, objective, perturb, ramp::ceiling, residence, tail};
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
    pub(crate) fn case(&self, point: &'a Point, observed: &'a Observed) -> Case<'a> {
        let probe = self.target.probe.as_ref();
        let near = self.target.server.as_ref();
        let server = near.or_else(|| probe?.server.as_ref());
        let inside = near.and_then(|server| server.network.as_ref());
        let server_host = probe.map(|probe| &probe.host);
        let server_host = server_host.or_else(|| inside.map(|network| &network.host));
        let server_host = server_host.or_else(|| near.map(|_| self.host));
        let clock = probe.map(|probe| &probe.clock).or_else(|| inside.map(|_| &OUR_CLOCK));
        let (trial, host) = (self.trial, self.host);
        Case { trial, host, server, server_host, clock, point, observed, ramp: &[] }
    }
}

/// Fills the gates, the verdict and the expectations of a point.
pub fn judge_point(context: Context<'_>, mut point: Point, observed: &Observed) -> Point {
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
            let rates: Vec<_> = decisive.iter().map(|index| &points[*index]).collect();
            match decided.is_empty() {
                true => alone(last),
                false => {
                    let verdict = of_plateau(majority(&decided, &rates), &visits, context.trial);
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
/// vote against what another one shows, unless that is only suspected. A tie goes to the verdict of
/// the highest rate, or, among points that name no wall, of the highest load. A wall shows best at
/// the highest load, so points that name no wall cannot outvote what that point names. The wall is
/// only suspected when half of the points do not share it or one of them names another wall.
fn majority(decided: &[Verdict], points: &[&Point]) -> Verdict {
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
        by_votes.then_with(|| match one.wall == other.wall && !is_named(one) {
            true => left.cmp(right),
            false => points[*left].headline_rate().total_cmp(&points[*right].headline_rate()),
        })
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
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use model::figure::Figure;
    use model::histogram::Summary;
    use model::run::Residence;
    use model::standing::Standing;
    use model::wall::Side;
    use std::collections::BTreeMap;

    fn verdict(fixture: &mut Fixture) -> Verdict {
        fixture.check_gates();
        decide(&fixture.case(), None)
    }

    #[test]
    fn slack_everywhere_is_no_wall() {
        let verdict = verdict(&mut Fixture::good());
        assert_eq!((verdict.wall, verdict.side), (Named::None, Side::None));
        assert_eq!(verdict.ceiling.unwrap().kind, CeilingKind::AtLeast);
        assert!(verdict.next[0].text().contains("ceiling ramp"), "{:?}", verdict.next);
    }

    #[test]
    fn a_generator_near_its_limit_does_not_take_a_servers_wall_away() {
        let mut fixture = Fixture::good();
        fixture.server_threads(&[(7, 0.97), (8, 0.15)]);
        fixture.unread_at_server(0.5);
        assert_eq!(verdict(&mut fixture).wall, Named::Wall(WallId::K14));
        fixture.worker(0.92, 0.0);
        let near = verdict(&mut fixture);
        assert_eq!((near.wall, near.confidence), (Named::Wall(WallId::K14), Confidence::CoLimited));
        fixture.worker(0.98, 0.0);
        let at_limit = verdict(&mut fixture);
        assert_ne!(at_limit.wall, Named::Wall(WallId::K14), "the generator may have caused it");
    }

    #[test]
    fn a_late_generator_hides_what_is_known_by_its_timing_but_no_count() {
        let late = |fixture: &mut Fixture| {
            fixture.point.load.model = LoadModel::Open;
            fixture.point.latency_punctual_ns =
                Some(Summary { p50: Some(0), ..Summary::default() });
            verdict(fixture)
        };
        let mut fixture = Fixture::good();
        fixture.refuse(0.3);
        assert_eq!(verdict(&mut fixture).wall, Named::Wall(WallId::A4));
        assert_ne!(late(&mut fixture).wall, Named::Wall(WallId::A4));
        let mut fixture = Fixture::good();
        fixture.error("fds", 5);
        assert_eq!(late(&mut fixture).wall, Named::Wall(WallId::C8));
        let mut fixture = Fixture::good();
        fixture.point.service_ns.max = Some(60_000_000);
        fixture.observed.runtime = Some([("safepoint_pause_seconds".to_string(), 0.5)].into());
        assert_eq!(late(&mut fixture).wall, Named::Wall(WallId::A5), "its runtime reports it");
    }

    #[test]
    fn utilisation_alone_names_nothing() {
        let mut fixture = Fixture::good();
        fixture.server_thread(0.99, 0.0);
        let alone = verdict(&mut fixture);
        assert_eq!((alone.wall, alone.confidence), (Named::Unknown, Confidence::Unknown));
        assert!(alone.against[0].contains("S2"), "{:?}", alone.against);
        fixture.unread_at_server(0.5);
        let with_queue = verdict(&mut fixture);
        assert_eq!(with_queue.wall, Named::Wall(WallId::S2));
        assert_eq!(with_queue.confidence, Confidence::Probable);
    }

    #[test]
    fn a_rival_without_slack_lowers_confidence() {
        let mut fixture = Fixture::good();
        fixture.server_thread(0.99, 0.0);
        fixture.unread_at_server(0.5);
        fixture.worker(0.85, 0.0);
        let without_slack = verdict(&mut fixture);
        assert_eq!(without_slack.wall, Named::Wall(WallId::S2));
        assert_eq!(without_slack.confidence, Confidence::Suspected);
        assert!(without_slack.against.iter().any(|what| what.contains("generator")));
        fixture.worker(0.93, 0.0);
        let near_limit = verdict(&mut fixture);
        assert_eq!(near_limit.confidence, Confidence::CoLimited);
        assert_eq!(near_limit.also, [WallId::C2]);
    }

    #[test]
    fn neighbours_on_the_servers_cpus_are_named_after_what_would_limit_without_them() {
        let mut fixture = Fixture::good();
        fixture.cpu(0, 0.99);
        fixture.cpu(1, 0.99);
        fixture.server_threads(&[(7, 0.95), (8, 0.9)]);
        fixture.unread_at_server(0.5);
        assert_eq!(verdict(&mut fixture).wall, Named::Wall(WallId::S1), "the server alone");
        fixture.server_thread(0.6, 0.9);
        let beside = |verdict: Verdict| (verdict.wall, verdict.also, verdict.confidence);
        let both = |own| (Named::Wall(own), vec![WallId::S6], Confidence::CoLimited);
        assert_eq!(beside(verdict(&mut fixture)), both(WallId::S1), "it waits for its turn");
        fixture.worker(0.05, 0.0);
        fixture.server_threads(&[(7, 0.75), (8, 0.75)]);
        for thread in fixture.observed.server_threads.iter_mut().flatten() {
            thread.wait = 0.2;
        }
        assert_eq!(beside(verdict(&mut fixture)), both(WallId::S1), "it would use all of them");
        for thread in fixture.observed.server_threads.iter_mut().flatten() {
            (thread.run, thread.wait) = (0.6, 0.05);
        }
        let crowded = verdict(&mut fixture);
        assert_eq!(crowded.wall, Named::Unknown);
        assert!(crowded.against[0].contains("other processes"), "{:?}", crowded.against);
    }

    #[test]
    fn both_sides_hot_are_co_limited_and_at_least() {
        let mut fixture = Fixture::good();
        fixture.server_thread(0.99, 0.0);
        fixture.unread_at_server(0.5);
        fixture.worker(0.99, 0.0);
        let verdict = verdict(&mut fixture);
        assert_eq!(verdict.confidence, Confidence::CoLimited);
        assert_eq!((verdict.wall, verdict.also), (Named::Wall(WallId::S2), vec![WallId::C2]));
        assert_eq!(verdict.ceiling.unwrap().kind, CeilingKind::AtLeast);
    }

    #[test]
    fn neighbours_of_both_sides_come_after_what_would_limit_without_them() {
        let mut fixture = Fixture::good();
        fixture.trial.cpus = vec![1];
        fixture.trial.threads = 1;
        fixture.server.as_mut().unwrap().cpus_allowed = vec![0];
        fixture.cpu(1, 0.99);
        fixture.worker(0.50, 0.48);
        let alone = verdict(&mut fixture);
        assert_eq!((alone.wall, alone.also), (Named::Wall(WallId::C1), vec![WallId::C11]));
        fixture.cpu(0, 0.99);
        fixture.server_thread(0.50, 0.49);
        fixture.unread_at_server(0.5);
        let both = verdict(&mut fixture);
        assert_eq!(both.also, [WallId::C1, WallId::C11, WallId::S6], "{}", both.name);
        fixture.server_thread(0.30, 0.40);
        let client = verdict(&mut fixture);
        assert_eq!(client.wall, Named::Wall(WallId::C1), "others fill the server's CPU");
    }

    #[test]
    fn a_hot_generator_is_the_wall() {
        let mut fixture = Fixture::good();
        fixture.worker(0.99, 0.0);
        let verdict = verdict(&mut fixture);
        assert_eq!((verdict.wall, verdict.side), (Named::Wall(WallId::C2), Side::Client));
    }

    #[test]
    fn a_counted_limit_explains_lost_connections_but_not_a_broken_account() {
        let mut fixture = Fixture::good();
        fixture.error("ports", 5);
        fixture.point.connections.served -= 1;
        assert_eq!(verdict(&mut fixture).wall, Named::Wall(WallId::C7));
        fixture.point.rate *= 10.0;
        let broken = verdict(&mut fixture);
        assert_eq!((broken.wall, broken.ceiling), (Named::Wall(WallId::M1), None));
    }

    #[test]
    fn an_unwatched_server_is_unknown_with_a_next_step() {
        let mut fixture = Fixture::good();
        fixture.server = None;
        fixture.observed.server_threads = None;
        let verdict = verdict(&mut fixture);
        assert_eq!(verdict.wall, Named::Unknown);
        assert!(verdict.next[0].text().contains("--server-pid"), "{:?}", verdict.next);
        assert!(verdict.not_tested.contains(&WallId::S1));
        assert!(verdict.not_tested.contains(&WallId::A1), "no version tests it yet");
    }

    /// A ramp of points with the same readings, judged as a run.
    fn ramp(fixture: &Fixture, levels: &[(u32, f64)]) -> Verdict {
        let point = |(connections, rate): &(u32, f64)| Fixture::point(*connections, *rate);
        ramp_of(fixture, levels.iter().map(point).collect())
    }

    /// The same for visits.
    fn ramp_of(fixture: &Fixture, visits: Vec<Point>) -> Verdict {
        let trial = Trial { question: Question::Ramp, ..fixture.trial.clone() };
        let target = Target { server: fixture.server.clone(), ..Target::default() };
        let context = Context {
            trial: &trial,
            host: &fixture.host,
            target: &target,
            outcome: Outcome::Complete,
            perturbations: &[],
            kernel: None,
        };
        let judged = |visit: Point| judge_point(context, visit, &fixture.observed);
        let points: Vec<_> = visits.into_iter().map(judged).collect();
        judge_run(context, &points, &vec![fixture.observed.clone(); points.len()])
    }

    const FLAT: [(u32, f64); 4] = [(50, 1000.0), (100, 1950.0), (200, 2000.0), (400, 1980.0)];

    #[test]
    fn a_rate_that_falls_is_looked_at_where_it_has_fallen() {
        let mut fixture = Fixture::good();
        fixture.cpu(0, 0.99);
        fixture.cpu(1, 0.99);
        fixture.server_threads(&[(7, 0.95), (8, 0.93)]);
        let at_cost = |costs: [f64; 5]| {
            let rates = [500.0, 1000.0, 2000.0, 1400.0, 900.0];
            let level = |(at, (rate, cost))| {
                let mut point = Fixture::point(1u32 << at, rate);
                point.cpu.server_us_per_request = Some(cost);
                point
            };
            ramp_of(&fixture, rates.into_iter().zip(costs).enumerate().map(level).collect())
        };
        let spins = at_cost([500.0, 500.0, 500.0, 1300.0, 2000.0]);
        assert_eq!(spins.wall, Named::Wall(WallId::S7), "{spins:?}");
        assert_eq!(spins.ceiling.unwrap().rate, 2000.0);
        assert_ne!(at_cost([500.0; 5]).wall, Named::Wall(WallId::S7));
    }

    #[test]
    fn a_flat_ramp_is_the_second_witness_of_a_busy_server() {
        let mut fixture = Fixture::good();
        fixture.server_thread(0.99, 0.0);
        let verdict = ramp(&fixture, &FLAT);
        assert_eq!(verdict.wall, Named::Wall(WallId::S2), "{verdict:?}");
        assert_eq!(verdict.confidence, Confidence::Probable);
        let ceiling = verdict.ceiling.unwrap();
        assert_eq!(ceiling.kind, CeilingKind::Ceiling);
        assert!((ceiling.rate - 1976.7).abs() < 0.1, "mean of the plateau: {ceiling:?}");
        assert_eq!(ceiling.knee_in_flight, Some(100));
    }

    #[test]
    fn the_ceiling_of_a_ramp_is_over_every_visit_of_its_plateau() {
        let mut fixture = Fixture::good();
        fixture.server_thread(0.99, 0.0);
        let levels = [(50, 1000.0), (100, 1950.0), (200, 1700.0), (200, 2000.0), (400, 1980.0)];
        let mut visits: Vec<Point> =
            levels.iter().map(|(connections, rate)| Fixture::point(*connections, *rate)).collect();
        // The first visit of 200 was not steady, so it was repeated.
        let half = visits[2].per_100ms.len() / 2;
        visits[2].per_100ms[..half].iter_mut().for_each(|count| *count /= 2);
        visits[3].attempt = 2;
        let verdict = ramp_of(&fixture, visits);
        assert_eq!(verdict.wall, Named::Wall(WallId::S2), "{verdict:?}");
        let ceiling = verdict.ceiling.unwrap();
        assert_eq!((ceiling.interval, ceiling.visits), (IntervalKind::Visits95, 4));
        assert_eq!(ceiling.rate, (1950.0 + 1700.0 + 2000.0 + 1980.0) / 4.0);
        assert!(
            !verdict.next.iter().any(|next| next.text().contains("--visits")),
            "{:?}",
            verdict.next
        );
    }

    #[test]
    fn a_plateau_of_two_visits_says_what_would_make_it_an_interval() {
        let verdict = ramp(&Fixture::good(), &[(50, 1000.0), (100, 1990.0), (200, 2000.0)]);
        let ceiling = verdict.ceiling.unwrap();
        assert_eq!((ceiling.low, ceiling.high), (Some(1990.0), Some(2000.0)));
        assert_eq!((ceiling.interval, ceiling.visits), (IntervalKind::MinMax, 2));
        let next = verdict.next.last().unwrap();
        let next = next.text();
        assert!(next.starts_with("ceiling ramp http://127.0.0.1:8083/read -c 100..200 --visits 3"));
    }

    #[test]
    fn visits_of_the_level_that_still_grows_are_its_interval() {
        let mut visits = [(100, 1000.0), (200, 2000.0), (400, 3900.0), (400, 4100.0)]
            .map(|(connections, rate)| Fixture::point(connections, rate));
        visits[3].attempt = 2;
        let verdict = ramp_of(&Fixture::good(), visits.to_vec());
        let mut values = verdict.evidence.iter().map(|one| one.value.as_str());
        assert!(values.any(|value| value == "+105.0 % from 200 to 400 in flight"));
        let ceiling = verdict.ceiling.unwrap();
        assert_eq!((ceiling.kind, ceiling.rate), (CeilingKind::AtLeast, 4000.0));
        assert_eq!((ceiling.interval, ceiling.visits), (IntervalKind::MinMax, 2));
    }

    #[test]
    fn a_lower_bound_is_not_below_a_level_that_was_measured() {
        let levels = [(50, 1000.0), (100, 2000.0), (200, 4100.0), (400, 4000.0)];
        let mut fixture = Fixture::good();
        fixture.worker(0.85, 0.0);
        let ceiling = ramp(&fixture, &levels).ceiling.unwrap();
        assert_eq!((ceiling.kind, ceiling.rate), (CeilingKind::AtLeast, 4100.0));
        let few = ramp(&Fixture::good(), &[(50, 1000.0), (100, 900.0)]).ceiling.unwrap();
        assert_eq!((few.kind, few.rate), (CeilingKind::AtLeast, 1000.0));
    }

    /// A ramp at a server that keeps requests inside, with a round trip of 50 us, until it levels
    /// off at 1000/s.
    fn waits_inside(change: impl Fn(&mut Fixture)) -> Verdict {
        let mut fixture = Fixture::good();
        fixture.round_trip(50);
        change(&mut fixture);
        ramp(&fixture, &[(1, 250.0), (2, 500.0), (4, 990.0), (8, 1000.0), (16, 1005.0)])
    }

    #[test]
    fn a_flat_ramp_of_an_idle_server_leaves_what_requests_can_wait_for() {
        let verdict = waits_inside(|_| ());
        assert_eq!((verdict.wall, verdict.side), (Named::Unknown, Side::Server), "{verdict:?}");
        let left: Vec<Named> = verdict.alternatives.iter().map(|one| one.wall).collect();
        let walls = [WallId::A2, WallId::A1, WallId::A4, WallId::A3];
        assert_eq!(left, walls.map(Named::Wall), "no wall is not possible");
        assert!(verdict.name.contains("a pool (A2)"), "{}", verdict.name);
        assert!(
            verdict.next.iter().any(|next| next.text().contains("--profile auto")),
            "{verdict:?}"
        );
        let ceiling = verdict.ceiling.unwrap();
        assert_eq!((ceiling.kind, ceiling.knee_in_flight), (CeilingKind::Ceiling, Some(4)));
    }

    #[test]
    fn tests_that_are_all_silent_do_not_speak_against_what_is_left() {
        let verdict = waits_inside(|fixture| {
            fixture.worker(0.05, 0.0);
            fixture.doing(&[(1, 0.05, model::reading::Doing::Events, None)]);
            fixture.observed.downstreams = Some(Vec::new());
        });
        assert_eq!(verdict.wall, Named::Wall(WallId::A2), "{verdict:?}");
        assert_eq!(verdict.confidence, Confidence::Suspected);
    }

    #[test]
    fn threads_that_take_turns_are_not_one_thread() {
        let verdict = waits_inside(|fixture| {
            fixture.server_threads(&[(7, 0.3), (7, 0.35), (7, 0.35)]);
        });
        assert_eq!(verdict.wall, Named::Unknown);
        let left: Vec<Named> = verdict.alternatives.iter().map(|one| one.wall).collect();
        assert_eq!(left, [Named::Wall(WallId::A1), Named::Wall(WallId::S2)], "{verdict:?}");
    }

    #[test]
    fn a_busy_thread_is_no_wall_while_the_rate_follows_the_load() {
        let mut fixture = Fixture::good();
        fixture.server_thread(0.99, 0.0);
        fixture.unread_at_server(0.5);
        let verdict = ramp(&fixture, &[(50, 1000.0), (100, 2000.0), (200, 3900.0)]);
        assert_eq!(verdict.wall, Named::Unknown);
        assert!(verdict.against[0].contains("S2") && !verdict.next.is_empty(), "{verdict:?}");
    }

    #[test]
    fn what_fails_at_a_load_that_is_kept_up_with_waits_for_nothing() {
        let mut fixture = Fixture::good();
        let asleep = |tid| (tid, 0.01, model::reading::Doing::Futex, Some(7));
        let holder = (1, 0.01, model::reading::Doing::Timer, None);
        fixture.doing(&[holder, asleep(2), asleep(3), asleep(4)]);
        fixture.unread_at_server(0.5);
        fixture.worker(0.05, 0.0);
        assert_eq!(verdict(&mut fixture).wall, Named::Wall(WallId::A1), "they wait");
        fixture.point.load.model = LoadModel::Open;
        fixture.point.offered_rate = Some(1000.0);
        fixture.point.rate = 900.0;
        fixture.point.cpu.responses = Some(5000);
        let verdict = decide(&fixture.case(), None);
        assert_eq!(verdict.wall, Named::Unknown, "{verdict:?}");
        assert!(verdict.against[0].contains("nothing waits"), "{verdict:?}");
        assert!(verdict.next[0].text().contains("curl -i"), "{verdict:?}");
    }

    #[test]
    fn an_accept_queue_that_a_full_thread_lets_overflow_is_not_the_wall() {
        let mut fixture = Fixture::good();
        fixture.tcp("TcpExt.ListenOverflows", 7);
        fixture.slow_connects();
        assert_eq!(verdict(&mut fixture).wall, Named::Wall(WallId::K1));
        fixture.server_thread(0.99, 0.0);
        let full = verdict(&mut fixture);
        assert_eq!(full.wall, Named::Wall(WallId::S2), "{full:?}");
        assert!(full.evidence.iter().any(|one| one.field.contains("ListenOverflows")));
    }

    #[test]
    fn a_busy_server_that_refuses_may_have_a_limiter() {
        let mut fixture = Fixture::good();
        fixture.refuse(0.8);
        fixture.server_thread(0.99, 0.0);
        fixture.unread_at_server(0.5);
        let shed = verdict(&mut fixture);
        assert_eq!(shed.wall, Named::Unknown, "{shed:?}");
        let left: Vec<Named> = shed.alternatives.iter().map(|one| one.wall).collect();
        assert_eq!(left, [Named::Wall(WallId::A4), Named::Wall(WallId::S2)]);
        let refused = fixture.point.requests.failed;
        fixture.point.status_codes = [("429".to_string(), refused)].into();
        fixture.point.error_codes = [("429".to_string(), refused)].into();
        fixture.throttle_server(0, 0.9, 0.5);
        let told = verdict(&mut fixture);
        assert_eq!(told.wall, Named::Wall(WallId::A4), "the server says so itself: {told:?}");
    }

    #[test]
    fn a_rising_ramp_is_a_lower_bound() {
        let verdict = ramp(&Fixture::good(), &[(50, 1000.0), (100, 2000.0), (200, 3900.0)]);
        assert_eq!(verdict.wall, Named::None);
        let ceiling = verdict.ceiling.unwrap();
        assert_eq!((ceiling.kind, ceiling.rate), (CeilingKind::AtLeast, 3900.0));
    }

    /// More load still brings more, whatever shows at the last level.
    #[test]
    fn a_wall_that_shows_on_a_rising_ramp_is_no_ceiling() {
        let mut fixture = Fixture::good();
        fixture.throttle_server(0, 0.9, 0.5);
        for (levels, kind) in [
            (&[(50, 1000.0), (100, 2000.0), (200, 3900.0)][..], CeilingKind::AtLeast),
            (&FLAT, CeilingKind::Ceiling),
        ] {
            let verdict = ramp(&fixture, levels);
            assert_eq!(verdict.wall, Named::Wall(WallId::S3), "{verdict:?}");
            assert_eq!(verdict.ceiling.unwrap().kind, kind);
        }
    }

    #[test]
    fn from_the_generator_alone_a_flat_ramp_is_only_beyond_it() {
        let mut fixture = Fixture::good();
        fixture.server = None;
        fixture.observed.server_threads = None;
        let verdict = ramp(&fixture, &FLAT);
        assert_eq!((verdict.wall, verdict.side), (Named::Unknown, Side::Unknown));
        assert!(verdict.name.contains("beyond the generator"), "{verdict:?}");
        fixture.worker(0.9, 0.0);
        let without_slack = ramp(&fixture, &FLAT);
        assert!(!without_slack.name.contains("beyond"), "{without_slack:?}");
    }

    #[test]
    fn a_flat_ramp_with_slack_everywhere_is_unknown() {
        let verdict = ramp(&Fixture::good(), &FLAT);
        assert_eq!(verdict.wall, Named::Unknown, "{verdict:?}");
        assert!(verdict.against[0].contains("requests wait for something"), "{verdict:?}");
    }

    #[test]
    fn stamps_that_are_late_because_the_generator_is_full_are_its_wall() {
        let mut fixture = Fixture::good();
        fixture.trial.cpus = vec![1];
        fixture.trial.threads = 1;
        fixture.cpu(1, 0.99);
        fixture.worker(0.97, 0.02);
        fixture.point.client_loop.turn_mean_ns =
            fixture.point.latency_ns.p50.map(|p50_ns| p50_ns as f64 * 0.6);
        let full = verdict(&mut fixture);
        assert_eq!((full.wall, full.side), (Named::Wall(WallId::C1), Side::Client));
        fixture.worker(0.50, 0.02);
        fixture.cpu(1, 0.60);
        let late = verdict(&mut fixture);
        assert_eq!(
            (late.wall, late.side),
            (Named::None, Side::None),
            "late stamps change no count"
        );
        assert!(matches!(fixture.point.standing.of(Figure::P50), Standing::Bounded { .. }));
    }

    fn judged_as(fixture: &Fixture, outcome: Outcome) -> Verdict {
        let trial = fixture.trial.clone();
        let target = Target::default();
        let context = Context {
            trial: &trial,
            host: &fixture.host,
            target: &target,
            outcome,
            perturbations: &[],
            kernel: None,
        };
        let point = judge_point(context, fixture.point.clone(), &fixture.observed);
        judge_run(context, &[point], std::slice::from_ref(&fixture.observed))
    }

    #[test]
    fn a_target_that_went_away_is_no_fault_of_the_measurement() {
        let mut fixture = Fixture::good();
        fixture.point.requests.failed = fixture.point.requests.sent;
        let verdict = judged_as(&fixture, Outcome::TargetLost);
        assert_eq!((verdict.wall, verdict.side), (Named::Unknown, Side::Unknown));
        assert!(verdict.name.contains("stopped answering"));
        assert!(verdict.next[0].text().contains("check the server"));
    }

    #[test]
    fn no_response_at_all_is_said_as_such() {
        let mut fixture = Fixture::good();
        fixture.point.requests.completed = 0;
        fixture.point.status.clear();
        fixture.point.unmeasured.completed = 0;
        let verdict = judged_as(&fixture, Outcome::Complete);
        assert_eq!(
            (verdict.wall, verdict.name.as_str()),
            (Named::Unknown, "no request got a response")
        );
        assert!(verdict.next[1].text().starts_with("curl -v http"), "{:?}", verdict.next);
    }

    #[test]
    fn one_level_inside_the_server_does_not_tell_what_limits() {
        let mut fixture = Fixture::good();
        let verdict = decide(&fixture.case(), None);
        assert_eq!(verdict.wall, Named::None, "{verdict:?}");
        let inside_server = fixture.point.in_flight.mean.map(|mean| 0.9 * mean);
        fixture.point.residence = Some(Residence { inside_server, ..Residence::default() });
        let verdict = decide(&fixture.case(), None);
        assert_eq!((verdict.wall, verdict.side), (Named::Unknown, Side::Unknown));
        let next = verdict.next[0].text();
        assert!(next.contains("ceiling ramp") && next.contains("-c '1.."), "{next}");
    }

    #[test]
    fn no_wall_is_looked_for_where_every_response_failed() {
        let mut fixture = Fixture::good();
        fixture.point.requests.failed = fixture.point.requests.completed;
        fixture.point.requests.completed = 0;
        fixture.point.rate = 0.0;
        fixture.point.status = BTreeMap::from([("4xx".to_string(), 10)]);
        let verdict = judged_as(&fixture, Outcome::Complete);
        assert_eq!((verdict.wall, verdict.side), (Named::Unknown, Side::Unknown));
        assert!(verdict.name.contains("every response failed"), "{}", verdict.name);
        assert!(verdict.next[0].text().starts_with("curl -v http"), "{:?}", verdict.next);
    }

    #[test]
    fn the_highest_load_is_not_outvoted_by_points_that_name_nothing() {
        let points: Vec<Point> = FLAT.iter().map(|(c, rate)| Fixture::point(*c, *rate)).collect();
        let points: Vec<&Point> = points.iter().collect();
        let (wall, confidence) = (Named::Wall(WallId::A1), Confidence::Suspected);
        let named = Verdict { wall, confidence, ..undecided() };
        let nothing = undecided();
        let last = [nothing.clone(), nothing.clone(), nothing.clone(), named.clone()];
        assert_eq!(majority(&last, &points).wall, named.wall);
        let mut first = [named, nothing.clone(), nothing.clone(), nothing];
        assert_eq!(majority(&first, &points).wall, Named::Unknown);
        first[0].confidence = Confidence::Probable;
        let proven = majority(&first, &points);
        assert_eq!((proven.wall, proven.confidence), (wall, Confidence::Suspected));
        assert!(proven.against[0].contains("of 3 of 4 levels"), "{:?}", proven.against);
        let confidence = Confidence::Probable;
        first[3] = Verdict { wall: Named::None, confidence, ..undecided() };
        let against = majority(&first, &points).against;
        assert_eq!(against[0], "1 of 4 levels of the plateau show another wall or none");
    }

    #[test]
    fn a_full_pool_comes_before_the_neighbour_that_delays_it() {
        use model::reading::Doing;
        let mut fixture = Fixture::good();
        fixture.cpu(0, 0.99);
        fixture.cpu(1, 0.99);
        fixture.unread_at_server(0.6);
        let asleep = |tid| (tid, 0.05, Doing::Timer, None);
        let runs = |tid| (tid, 0.45, Doing::Running, None);
        fixture.doing(&[asleep(1), asleep(2), runs(3), runs(4)]);
        for thread in fixture.observed.server_threads.iter_mut().flatten() {
            thread.wait = thread.run;
        }
        let pool = verdict(&mut fixture);
        assert_eq!(pool.wall, Named::Wall(WallId::A2), "{}", pool.name);
        let beside = pool.against.iter().any(|what| what.starts_with("other processes used"));
        assert!(beside, "{:?}", pool.against);
        fixture.unread_at_server(0.0);
        let also = verdict(&mut fixture).also;
        assert_eq!(also, [WallId::S6], "nothing waits for it");
    }

    #[test]
    fn a_pool_stays_the_wall_of_a_generator_that_others_make_late() {
        use model::reading::Doing;
        let mut fixture = Fixture::good();
        fixture.trial.cpus = vec![1];
        fixture.unread_at_server(0.6);
        let asleep = |tid| (tid, 0.05, Doing::Timer, None);
        fixture.doing(&[asleep(1), asleep(2), asleep(3), asleep(4)]);
        fixture.cpu(1, 0.99);
        fixture.worker(0.10, 0.10);
        let point = &mut fixture.point;
        point.unseen_ns = Some(Summary { max: Some(20_000_000), ..Summary::default() });
        let mean = point.latency_ns.mean.map(|mean_ns| mean_ns / 2);
        point.latency_punctual_ns = Some(Summary { mean, ..point.latency_ns.clone() });
        let pool = verdict(&mut fixture);
        assert_eq!(pool.wall, Named::Wall(WallId::A2), "{}", pool.name);
        assert!(pool.against[0].contains("but A2 stays"), "{:?}", pool.against);
        fixture.unread_at_server(0.0);
        let late = verdict(&mut fixture);
        assert_eq!(late.wall, Named::Wall(WallId::C11), "nothing waits: {late:?}");
        fixture.cpu(1, 0.20);
        assert_eq!(verdict(&mut fixture).wall, Named::Wall(WallId::C4), "nobody else");
    }

    #[test]
    fn a_rate_that_grows_far_less_than_the_load_is_no_ramp_without_a_wall() {
        let grown = |rates: [f64; 4]| {
            let loads = [1, 4, 16, 64];
            let points: Vec<Point> =
                loads.iter().zip(rates).map(|(c, rate)| Fixture::point(*c, rate)).collect();
            let points: Vec<&Point> = points.iter().collect();
            let mut fixture = Fixture::good();
            fixture.point = points[3].clone();
            let case = crate::case::Case { ramp: &points, ..fixture.case() };
            let seen = shape_evidence(&points, &Trend::Rising);
            decide(&case, Some(&seen))
        };
        let follows = grown([100.0, 400.0, 1500.0, 5000.0]);
        assert_eq!(follows.wall, Named::None);
        let late = grown([100.0, 110.0, 120.0, 300.0]);
        assert_eq!(late.wall, Named::None, "the last step follows the load");
        let waits = grown([100.0, 200.0, 250.0, 300.0]);
        assert_ne!(waits.wall, Named::None, "{}", waits.name);
        assert_eq!(waits.ceiling.unwrap().kind, CeilingKind::AtLeast);
        let values = waits.evidence.iter().map(|one| one.value.as_str());
        assert!(values.into_iter().any(|value| value == "x64.0; x3.0; x21.3"));
    }

    #[test]
    fn a_run_without_points_is_unknown() {
        let verdict = ramp(&Fixture::good(), &[]);
        assert_eq!((verdict.wall, verdict.ceiling), (Named::Unknown, None));
    }

    #[test]
    fn a_lost_probe_is_reported_with_the_unknown_windows() {
        let fixture = Fixture::good();
        let probe = model::facts::FarHost {
            address: "10.0.0.2:9200".to_string(),
            host: fixture.host.clone(),
            server: None,
            privilege: model::facts::Privilege::Root,
            clock: model::facts::ClockOffset::default(),
            lost: Some("it closed the connection".to_string()),
        };
        let target = Target { probe: Some(probe), ..Target::default() };
        let context = Context {
            trial: &fixture.trial,
            host: &fixture.host,
            target: &target,
            outcome: Outcome::Complete,
            perturbations: &[],
            kernel: None,
        };
        let seen = |far| Observed { far: Some(Box::new(far)), ..Observed::default() };
        let watched = seen(Observed { cpus: Some(Vec::new()), ..Observed::default() });
        let blind = seen(Observed::default());
        let judged = |observed: &Observed| {
            judge_point(context, fixture.point.clone(), observed).verdict.against.join("\n")
        };
        assert!(judged(&blind).contains("in 1 of 1 windows"), "{}", judged(&blind));
        assert!(!judged(&watched).contains("was lost"), "{}", judged(&watched));
        let points = [&watched, &blind];
        let points = points.map(|one| judge_point(context, fixture.point.clone(), one));
        let verdict = judge_run(context, &points, &[watched, blind]);
        let told: Vec<_> =
            verdict.against.iter().filter(|what| what.contains("closed the connection")).collect();
        assert_eq!(told.len(), 1, "{:?}", verdict.against);
        assert!(told[0].contains("in 1 of 2 windows"), "{}", told[0]);
        assert!(verdict.next[0].text().contains("ceiling probe serve"), "{:?}", verdict.next);
    }
}
