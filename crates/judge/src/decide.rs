//! Turns the tests of one point into its verdict.
//!
//! The rules run first, in the order of the evidence: counted limits, the measurement itself, busy
//! CPUs on either side, the application, the path. Then come the odds: a wall is not named when
//! another wall causes the same signals about as often.

use crate::case::{Case, SLACK, percent};
use crate::gates;
use crate::next::{look_at, ramp_command, what_would_tell};
use crate::odds::{self, Speaking};
use crate::ramp::ceiling;
use crate::remaining::{self, Remaining};
use crate::waits::{self, Waits};
use crate::walls::relations::{self, Relation, relates};
use crate::walls::{
    self, ACCOUNTS, APPLICATION, CLIENT, COUNTED, Family, Listed, MEASUREMENT, OFFERED, PATH,
    SERVER, Seen, Test, elimination,
};
use model::load::Question;
use model::objective::ObjectiveStanding;
use model::run::Residence;
use model::step::Step;
use model::units::show_fixed;
use model::verdict::{Alternative, Ceiling, CeilingKind, Confidence, GateId, Named, Verdict};
use model::wall::{Side, WallId};
use observe::ThreadShare;
use std::slice;

/// Gates that do not touch a counter: a generator that is late, or stamps late, changes no count.
const OF_TIME: [GateId; 2] = [GateId::Release, GateId::Resolution];

/// Gates that qualify the claim of a ceiling: the wall is still named.
const OF_CLAIM: [GateId; 2] = [GateId::Steadiness, GateId::Tuning];

/// Share of the server's CPUs used by other processes, above which a CPU wall of the server looks
/// the same as one that they cause.
const CROWDED: f64 = 0.15;

/// A wall is named when it is at least this many times as probable as the next one.
const ODDS_MIN: f64 = 3.0;

/// The verdict of a point. `ramp` is what the ramp around it shows, if there is one.
pub(crate) fn decide(case: &Case<'_>, ramp: Option<&RampSays>) -> Verdict {
    let verdict = hidden(case, weighed(case, last_resort(case, by_rules(case, ramp))));
    // More load still raised the rate, so what was reached is not the most there is.
    match (ramp, verdict.ceiling.clone()) {
        (Some(RampSays { is_rising: true, .. }), Some(ceiling)) => {
            Verdict { ceiling: Some(Ceiling { kind: CeilingKind::AtLeast, ..ceiling }), ..verdict }
        }
        _ => verdict,
    }
}

fn by_rules(case: &Case<'_>, ramp: Option<&RampSays>) -> Verdict {
    let counted = COUNTED.walls.iter().find_map(|listed| match listed.ask(case) {
        Test::Seen(seen) if !is_doubted(case, listed, &seen) => Some((listed.wall, seen)),
        _ => None,
    });
    if let Some((wall, seen)) = counted {
        if let Some(other) = relations::beside(case, wall) {
            return both(case, other, (wall, seen));
        }
        return named(case, wall, add_ramp(seen, ramp, wall));
    }
    // A generator that is frozen, late or throttled breaks accounts: the cause is named, not the
    // symptom.
    let client = CLIENT.first_seen(case);
    if let Some((WallId::C11, seen)) = &client
        && is_only_late(case)
        && let Some(verdict) = beyond_late(case, seen, ramp)
    {
        return verdict;
    }
    if let (None, Some((wall, seen))) = (&client, ACCOUNTS.first_seen(case)) {
        return invalid(case, wall, seen);
    }
    // Where every planned request was sent and answered, full CPUs limited nothing.
    let is_met = OFFERED.first_seen(case).is_some();
    let client = client.filter(|(wall, _)| !is_met || !is_met_beside(case, *wall));
    // CPUs that only others fill are no limit of a server beside a generator at its own.
    let is_of_others = |wall| is_crowded(case, wall) && walls::beside_neighbours(case).is_none();
    let server = server_side(case, ramp);
    let server = server.filter(|(wall, _)| !is_met || !is_met_beside(case, *wall));
    let server = server.filter(|(wall, _)| client.is_none() || !is_of_others(*wall));
    let is_at_limit = client.is_some();
    let client = client.or_else(|| walls::client_near_limit(case).filter(|_| server.is_some()));
    match (client, server) {
        (Some((client, mut seen)), Some((server, _)))
            if is_at_limit && relates(case, server, Relation::CausedBy, client) =>
        {
            seen.against.push(format!(
                "the server also shows {} ({server}), which a generator at its limit can cause",
                server.name()
            ));
            named(case, client, add_ramp(seen, ramp, client))
        }
        (Some(client), Some(server)) => both_sides(case, client, server),
        (Some((WallId::C11, seen)), None) if walls::is_generator_full(case) => {
            both(case, (WallId::C11, seen), walls::generator_alone(case))
        }
        (Some((wall, seen)), None) => named(case, wall, add_ramp(seen, ramp, wall)),
        (None, Some((wall, seen))) => busy(case, wall, seen, ramp),
        (None, None) => match waiting(case) {
            Some((wall, seen)) => named(case, wall, add_ramp(seen, ramp, wall)),
            None => no_heat(case, ramp),
        },
    }
}

/// Whether the asked rate may be met beside this wall: it is about CPU time, and server and
/// generator may lack some of it without losing a request. A generator whose delay leaves an
/// objective undecided limited what was asked for.
fn is_met_beside(case: &Case<'_>, wall: WallId) -> bool {
    match wall {
        WallId::C1 | WallId::C2 | WallId::C11 => !walls::is_generator_late(case),
        WallId::S1 | WallId::S2 | WallId::S4 | WallId::S6 | WallId::S7 => true,
        _ => false,
    }
}

/// Both sides at their limits. Beside neighbours it is what would limit without them, and they are
/// added.
fn both_sides(case: &Case<'_>, client: (WallId, Seen), server: (WallId, Seen)) -> Verdict {
    let mut others: Vec<(WallId, Seen)> = Vec::new();
    let mut own = |side: (WallId, Seen), neighbours, alone: fn(&Case<'_>) -> (WallId, Seen)| {
        if side.0 != neighbours {
            return side;
        }
        others.push(side);
        alone(case)
    };
    let client = own(client, WallId::C11, walls::generator_alone);
    let server = own(server, WallId::S6, without_others);
    let mut verdict = both(case, client, server);
    for (wall, seen) in others {
        verdict.also.push(wall);
        verdict.evidence.extend(seen.findings.into_iter().map(|finding| finding.evidence));
    }
    verdict
}

/// What the server's CPUs and memory show.
fn server_side(case: &Case<'_>, ramp: Option<&RampSays>) -> Option<(WallId, Seen)> {
    let (wall, seen) = SERVER.first_seen(case)?;
    let seen = add_queue(add_ramp(seen, ramp, wall), case);
    Some((wall, add_explained(seen, case)))
}

/// The wall of the server or the path, where other processes make the generator late and no more:
/// that lengthens what a request takes, and leaves the wall what it is.
fn beyond_late(case: &Case<'_>, late: &Seen, ramp: Option<&RampSays>) -> Option<Verdict> {
    let (wall, verdict) = match server_side(case, ramp) {
        Some((wall, seen)) => (wall, busy(case, wall, seen, ramp)),
        None => {
            let (wall, seen) = waiting(case)?;
            (wall, named(case, wall, add_ramp(seen, ramp, wall)))
        }
    };
    let is_named = matches!(verdict.wall, Named::Wall(_));
    let evidence = late.findings.iter().map(|one| &one.evidence);
    let shown: Vec<_> = evidence.map(|one| format!("{} {}", one.field, one.value)).collect();
    let what = format!("{}: an idle host would raise the rate, but {wall} stays", shown.join(", "));
    let against = std::iter::once(what).chain(verdict.against).collect();
    is_named.then_some(Verdict { against, ..verdict })
}

/// The server's CPUs or memory look like a wall, and the generator does not.
fn busy(case: &Case<'_>, wall: WallId, seen: Seen, ramp: Option<&RampSays>) -> Verdict {
    let waits = waits::of(case);
    if let Some(left) = remaining::refusing(case, wall, seen.clone()) {
        return one_of(case, left);
    }
    let may_be = |other: WallId| relates(case, wall, Relation::MayBe, other);
    let memory = remaining::short_of_memory(case, wall, &seen);
    if let Some(left) = memory.filter(|left| left.walls.iter().any(|one| may_be(*one))) {
        return one_of(case, left);
    }
    let at_most = walls::at_most_requests(case).filter(|(holder, _)| may_be(*holder));
    if let Some((holder, mut held)) = at_most {
        if wall == WallId::S6 {
            held.against.push(beside_others(case));
        }
        return match for_a_cpu(case) <= FEW {
            true => named(case, holder, add_ramp(held, ramp, holder)),
            false => one_of(case, remaining::waiting_or_busy(case, (holder, held), (wall, seen))),
        };
    }
    match wall {
        _ if waits == Waits::No && case.is_open() => no_heat(case, ramp),
        WallId::S6 => both(case, (wall, seen), without_others(case)),
        _ if is_crowded(case, wall) => crowded(case, wall, seen),
        _ if waits != Waits::No && seen.is_more_than_utilisation() => named(case, wall, seen),
        _ => only_busy(case, wall, seen),
    }
}

/// What other processes on its CPUs add to a wall that holds the requests: they lengthen what a
/// request takes by the time for which threads wait for a CPU.
fn beside_others(case: &Case<'_>) -> String {
    let threads = case.far().server_threads.iter().flatten();
    let waiting: f64 = threads.map(|thread| thread.wait).sum();
    format!(
        "other processes used {} of the server's CPUs, and {waiting:.1} of its threads waited for \
         one on average: an idle host would raise the rate, but this wall stays",
        percent(case.neighbours().unwrap_or(0.0))
    )
}

/// Threads of the server that wait for a CPU, per request in flight.
fn for_a_cpu(case: &Case<'_>) -> f64 {
    let threads = case.far().server_threads.iter().flatten();
    let waiting: f64 = threads.map(|thread| thread.wait).sum();
    waiting / case.point.in_flight.mean.unwrap_or(0.0).max(1.0)
}

/// Up to this share of the requests, waiting threads are not a queue.
const FEW: f64 = 0.15;

/// What requests wait for when no CPU is short. If nothing waits there is no such wall, except
/// where a counter shows what makes each request slow.
fn waiting(case: &Case<'_>) -> Option<(WallId, Seen)> {
    let found = APPLICATION.first_seen(case).or_else(|| PATH.first_seen(case));
    let is_counted =
        |seen: &Seen| seen.findings.iter().any(|one| one.family == Family::HardCounter);
    found.filter(|(_, seen)| match waits::of(case) {
        Waits::Yes | Waits::NotKnown => true,
        Waits::No => !case.is_open() && is_counted(seen),
    })
}

/// What a wall explains is evidence of it: a server that lacks CPU time accepts late, so its accept
/// queue overflows.
fn add_explained(mut seen: Seen, case: &Case<'_>) -> Seen {
    seen.findings.extend(relations::explained(case).findings);
    seen
}

/// Whether failed gates invalidate the evidence of a counted limit.
fn is_doubted(case: &Case<'_>, listed: &Listed, seen: &Seen) -> bool {
    let breaks_time = || OF_TIME.iter().any(|id| gates::is_broken(case.point, *id));
    !gates::is_rate_known(case.point) || listed.is_of_time(case, seen) && breaks_time()
}

/// Without a known cause, the verdict names the fault in the responses or the window. The figures
/// stand; only their use as a ceiling is in doubt.
fn last_resort(case: &Case<'_>, verdict: Verdict) -> Verdict {
    if matches!(verdict.wall, Named::Wall(_)) {
        return verdict;
    }
    let Some((wall, seen)) = MEASUREMENT.first_seen(case) else { return verdict };
    if wall == WallId::M3 && case.server.is_some() && by_others(case).is_some() {
        // Others that come and go change the rate; that it changed is no news then.
        return Verdict { next: verdict.next, ..unknown(case, seen) };
    }
    Verdict {
        wall: Named::Wall(wall),
        name: wall.name().to_string(),
        side: Side::Measurement,
        confidence: Confidence::Suspected,
        evidence: seen.findings.into_iter().map(|finding| finding.evidence).collect(),
        sentence: seen.sentence,
        fix: seen.fix,
        next: seen.next.into_iter().chain(verdict.next).collect(),
        ..verdict
    }
}

/// What the ramp around a point shows.
pub(crate) struct RampSays {
    /// Whether the rate still grows at the highest load.
    pub(crate) is_rising: bool,
    /// The same as evidence.
    pub(crate) seen: Seen,
}

/// Adds the alternatives that the evidence leaves open, and withdraws the name when one of them is
/// nearly as probable.
fn weighed(case: &Case<'_>, mut verdict: Verdict) -> Verdict {
    if verdict.side == Side::Measurement {
        return verdict;
    }
    if !verdict.alternatives.is_empty() {
        return verdict;
    }
    let mut speaking = Speaking::of(case);
    if case.still_grows() == Some(false) {
        // A rate that no longer follows the load is not limited by it, even if that test fires.
        speaking.leave_out(Named::None);
    }
    let is_shared = verdict.confidence == Confidence::CoLimited;
    if is_shared {
        // Two walls limit together; the odds are of one alone.
        return verdict;
    }
    if verdict.side != Side::Client && is_only_late(case) {
        // What makes the generator late is said beside the wall.
        for wall in [WallId::C11, WallId::C4] {
            speaking.leave_out(Named::Wall(wall));
        }
    }
    if is_delayed_by_others(case, verdict.wall) {
        // What full CPUs show is then the others', and the verdict says so.
        let full = SERVER.walls.iter().map(|listed| listed.wall);
        let full = full.filter(|wall| relations::may_be_neighbours(case, *wall));
        full.chain([WallId::S6]).for_each(|wall| speaking.leave_out(Named::Wall(wall)));
    }
    verdict.alternatives = odds::alternatives(&speaking);
    let Named::Wall(wall) = verdict.wall else { return verdict };
    let is_it = |one: &&Alternative| one.wall == verdict.wall;
    let own = verdict.alternatives.iter().find(is_it).map_or(0.0, |one| one.share);
    let rival = verdict.alternatives.iter().find(|one| one.wall != verdict.wall).cloned();
    match rival {
        Some(rival) if own < ODDS_MIN * rival.share => doubted(wall, rival, verdict),
        _ => verdict,
    }
}

/// Whether other processes make the generator late, and no more.
fn is_only_late(case: &Case<'_>) -> bool {
    let first = CLIENT.first_seen(case).map(|(wall, _)| wall);
    first == Some(WallId::C11) && !walls::is_generator_full(case)
}

/// Whether requests wait at this wall, or a limit of its own was counted, and other processes on
/// the server's CPUs lengthen that.
fn is_delayed_by_others(case: &Case<'_>, wall: Named) -> bool {
    let Named::Wall(wall) = wall else { return false };
    let is_crowded = SERVER.first_seen(case).is_some_and(|(first, _)| first == WallId::S6);
    let is_counted = COUNTED.walls.iter().any(|listed| listed.wall == wall);
    is_crowded && (is_counted || relates(case, WallId::S6, Relation::MayBe, wall))
}

/// Two walls show the same signals: neither is named.
fn doubted(wall: WallId, rival: Alternative, mut verdict: Verdict) -> Verdict {
    let (own, shown) = (verdict.side, verdict.name.clone());
    let (other, name) = match rival.wall {
        Named::Wall(rival) => (rival.side(), format!("{} ({rival})", rival.name())),
        _ => (Side::None, "no wall".to_string()),
    };
    let mut runs = [Named::Wall(wall), rival.wall].into_iter();
    let what = match runs.all(odds::was_counted) {
        true => format!("in runs whose wall is known, {name} showed these signals about as often"),
        false => format!("{name} is expected to show these signals about as often"),
    };
    verdict.against.insert(0, what);
    Verdict {
        wall: Named::Unknown,
        name: format!("{shown} ({wall}) or {name}"),
        side: if other == own { other } else { Side::Unknown },
        confidence: Confidence::Unknown,
        ceiling: verdict.ceiling.map(|one| Ceiling { kind: CeilingKind::AtLeast, ..one }),
        sentence: None,
        ..verdict
    }
}

/// A flat ramp supports any wall but does not tell its side; a rising ramp contradicts the wall.
fn add_ramp(mut seen: Seen, ramp: Option<&RampSays>, wall: WallId) -> Seen {
    let Some(RampSays { is_rising, seen: of_ramp }) = ramp else { return seen };
    for finding in &of_ramp.findings {
        if *is_rising {
            seen.against.push(format!("{}: {} is not reached yet", finding.evidence.value, wall));
        } else {
            seen.findings.push(finding.clone());
        }
    }
    seen
}

/// In open loop, requests queue in the generator while responses are slower than the plan. That
/// does not tell which wall it is, only that there is one beyond a generator that is on time.
fn add_queue(mut seen: Seen, case: &Case<'_>) -> Seen {
    if let Some(share) = case.queued_share().filter(|_| case.has_queue()) {
        seen = seen.with(
            Family::QueueLocation,
            "client",
            "engine",
            "planned requests that found every connection in use",
            percent(share),
            "over 5 % while the generator is on time: responses are slower than the plan",
        );
    }
    seen
}

/// Whether the other side is known to have had slack.
fn rival_is_contradicted(case: &Case<'_>, side: Side) -> bool {
    let slack = match side {
        Side::Client => case.server_has_slack(),
        _ => case.client_has_slack(),
    };
    slack == Some(true)
}

/// What weakens the claim that this point's rate is a ceiling.
fn reservations(case: &Case<'_>) -> Vec<String> {
    let gates = case.point.gates.iter().filter(|gate| gate.ok == Some(false));
    let of_claim = gates.filter(|gate| OF_CLAIM.contains(&gate.id));
    of_claim.map(|gate| format!("gate {}: {}", gate.id, gate.why)).collect()
}

fn named(case: &Case<'_>, wall: WallId, mut seen: Seen) -> Verdict {
    seen.against.extend(reservations(case));
    let (side, name) = (seen.side(wall), seen.name(wall));
    let sure = rival_is_contradicted(case, side);
    if !sure {
        let rival = if side == Side::Client { "server" } else { "generator" };
        seen.against.push(format!("the {rival} is not known to have had slack"));
    }
    let confidence = if sure && seen.families() >= 2 && seen.against.is_empty() {
        Confidence::Probable
    } else {
        Confidence::Suspected
    };
    let kind = match side {
        Side::Client => CeilingKind::AtLeast,
        _ => CeilingKind::Ceiling,
    };
    Verdict {
        wall: Named::Wall(wall),
        name: name.to_string(),
        side,
        confidence,
        ceiling: ceiling(&[case.point], kind),
        ..empty(case, seen)
    }
}

/// Two walls that limit together, the one to name first last.
fn both(case: &Case<'_>, other: (WallId, Seen), first: (WallId, Seen)) -> Verdict {
    let (mut seen, more) = (first.1, other.1);
    let own = |seen: &Seen, wall: WallId| {
        seen.sentence.clone().unwrap_or_else(|| wall.reason().to_string())
    };
    seen.sentence = Some(format!("{}; {}", own(&seen, first.0), own(&more, other.0)));
    seen.findings.extend(more.findings);
    seen.against.extend(more.against);
    seen.next.splice(0..0, more.next);
    Verdict {
        wall: Named::Wall(first.0),
        name: format!("{} and {} together", first.0.name(), other.0.name()),
        side: if other.0.side() == first.0.side() { first.0.side() } else { Side::Unknown },
        confidence: Confidence::CoLimited,
        also: vec![other.0],
        ceiling: ceiling(&[case.point], CeilingKind::AtLeast),
        ..empty(case, seen)
    }
}

fn invalid(case: &Case<'_>, wall: WallId, seen: Seen) -> Verdict {
    Verdict {
        wall: Named::Wall(wall),
        name: wall.name().to_string(),
        side: Side::Measurement,
        // A broken account needs no second witness.
        confidence: Confidence::Probable,
        ..empty(case, seen)
    }
}

/// Whether other processes use so much of the server's CPUs that they may be what makes them busy
/// (S6), when the test of S6 could not decide.
fn is_crowded(case: &Case<'_>, wall: WallId) -> bool {
    relations::may_be_neighbours(case, wall)
        && case.neighbours().is_some_and(|share| share > CROWDED)
}

/// What would limit a server without the others on its CPUs, which it always wants: those CPUs.
fn without_others(case: &Case<'_>) -> (WallId, Seen) {
    let own = SERVER.walls.iter().filter(|one| one.wall != WallId::S6);
    let mut seen = own.filter_map(|listed| match listed.ask(case) {
        Test::Seen(seen) => Some((listed.wall, seen)),
        Test::NotSeen | Test::Untested => None,
    });
    seen.next().unwrap_or_else(|| (walls::busiest(case), Seen::default()))
}

/// Other processes use the server's CPUs: beside its own threads if those want all of the time,
/// else they may be the wall.
fn crowded(case: &Case<'_>, wall: WallId, mut seen: Seen) -> Verdict {
    if let Some(others) = walls::beside_neighbours(case) {
        return both(case, (WallId::S6, others), (wall, seen));
    }
    let share = percent(case.neighbours().unwrap_or(0.0));
    seen.against.push(format!(
        "it looks like {} ({wall}), but other processes used {share} of the server's CPUs",
        wall.name()
    ));
    seen.next = vec!["stop or move other processes on the server's CPUs (top), and repeat".into()];
    unknown(case, seen)
}

/// The server's CPU is busy and nothing else agrees: that is a hint, not a wall.
fn only_busy(case: &Case<'_>, wall: WallId, mut seen: Seen) -> Verdict {
    seen.against.push(format!("only utilisation points to {} ({wall})", wall.name()));
    seen.next = vec![ramp_command(case)];
    unknown(case, seen)
}

fn no_heat(case: &Case<'_>, ramp: Option<&RampSays>) -> Verdict {
    let queue = case.queue_of_ramp();
    let is_flat = ramp.is_some_and(|ramp| !ramp.is_rising || queue.is_some());
    let offered = OFFERED.first_seen(case).map(|(_, seen)| seen);
    match (offered, ramp) {
        (offered, Some(ramp)) if ramp.is_rising && queue.is_none() => {
            let mut seen = ramp.seen.clone();
            if let Some(offered) = offered {
                seen.findings.extend(offered.findings);
                seen.next.extend(offered.next);
            } else {
                seen.next.push(ramp_command(case));
            }
            none(case, seen)
        }
        (Some(seen), None) => one_level(case, none(case, seen)),
        (offered, _) => {
            if waits::of(case) != Waits::No
                && let Some(left) = remaining::in_turns(case)
            {
                return one_of(case, left);
            }
            let of_ramp = match (ramp, queue) {
                (Some(RampSays { is_rising: true, .. }), Some(growth)) => with_queue(growth),
                (ramp, _) => ramp.map_or_else(Seen::default, |ramp| ramp.seen.clone()),
            };
            if waits::of(case) == Waits::No && case.is_open() {
                return only_failures(case, of_ramp);
            }
            let mut seen = add_queue(of_ramp, case);
            let has_time = case.server_has_slack() == Some(true);
            if let Some(left) = remaining::refusing(case, walls::busiest(case), seen.clone())
                && !has_time
            {
                return one_of(case, left);
            }
            if is_flat && waits_at_server(case) {
                if let Some((wall, seen)) = elimination::wall(case, &seen) {
                    return named(case, wall, seen);
                }
                return unnamed_ceiling(case, one_of(case, remaining::inside(case, seen)));
            }
            if is_flat && offered.is_some() {
                let what = "neither side is busy, so requests wait for something (a pool, a lock, \
                            a limiter, a downstream service)";
                seen.against.push(what.to_string());
            }
            seen.next.extend(what_would_tell(case));
            let verdict = unknown(case, seen);
            if !is_flat {
                return untold(case, verdict);
            }
            let is_beyond = case.server.is_none() && case.client_has_slack() == Some(true);
            let name = if is_beyond { BEYOND.to_string() } else { verdict.name.clone() };
            unnamed_ceiling(case, Verdict { name, ..verdict })
        }
    }
}

/// A rate that still grows, but by much less than the load.
fn with_queue([load, rate, duration]: [f64; 3]) -> Seen {
    Seen::default().with(
        Family::RampShape,
        "client",
        ("ramp", ["rate"]),
        "growth of the load, of the rate and of the duration of a request",
        format!("x{load:.1}; x{rate:.1}; x{duration:.1}"),
        "the rate grew by less than the square root of the load: added requests wait",
    )
}

/// Every planned request got a response, but too many responses were bad. Nothing waits, and one
/// level cannot tell whether the load causes the failures.
fn only_failures(case: &Case<'_>, mut seen: Seen) -> Verdict {
    let requests = &case.point.requests;
    let failed = requests.failed as f64 / requests.sent.max(1) as f64;
    seen.against.push(format!(
        "every planned request got a response, so nothing waits; {} of them failed",
        percent(failed)
    ));
    let look = look_at("-i", case.trial, slice::from_ref(case.point));
    seen.next.push(format!("look at a failed response: {look}").into());
    seen.next.push(ramp_command(case));
    unknown(case, seen)
}

/// Something limits, and it is one of several walls.
fn one_of(case: &Case<'_>, left: Remaining) -> Verdict {
    let (name, side, alternatives) = (left.name.clone(), left.side(), left.alternatives());
    Verdict { name, side, alternatives, ..unknown(case, left.seen) }
}

/// All that can be said about a flat ramp when only the generator was watched.
const BEYOND: &str = "the wall is beyond the generator: on the path or at the server, which was \
                      not watched";

/// One level of a closed loop cannot tell a limit of requests in flight from a smaller number of
/// places inside the server: both are full.
fn one_level(case: &Case<'_>, verdict: Verdict) -> Verdict {
    let inside = case.point.residence.and_then(|residence| residence.inside_server);
    let of = case.point.in_flight.mean.filter(|_| case.point.is_closed_loop());
    match (inside, of) {
        (Some(inside), Some(of)) if inside > INSIDE * of => {
            let most = u64::from(case.point.load.connections) * 2;
            let ramp = Step::command(["ramp", &case.trial.url, "-c", &format!("1..{most}*2")]);
            let next = std::iter::once(ramp).chain(verdict.next).collect();
            Verdict {
                wall: Named::Unknown,
                name: ONE_LEVEL.to_string(),
                side: Side::Unknown,
                confidence: Confidence::Unknown,
                next,
                ..verdict
            }
        }
        _ => verdict,
    }
}

/// All that can be said when the requests of one level were inside the server.
const ONE_LEVEL: &str = "the requests were inside the server at this load; more levels would show \
                         whether it holds more of them at once";

/// Names a level of closed loop at a watched server that shows no queue and nothing else.
fn untold(case: &Case<'_>, verdict: Verdict) -> Verdict {
    let is_one = case.ramp.is_empty() && case.point.is_closed_loop();
    let is_watched = case.server.is_some() && case.point.events().is_none();
    match is_one && is_watched && waits::of(case) == Waits::NotKnown {
        true => Verdict { name: UNTOLD.to_string(), ..verdict },
        false => verdict,
    }
}

/// All that can be said about a level without a visible queue.
const UNTOLD: &str = "no limit is seen at this load; more levels would show one";

/// The requests count as inside the server when more than this share of those in flight is there.
const INSIDE: f64 = 0.7;

/// Whether most requests were at the server while both sides had CPU to spare.
fn waits_at_server(case: &Case<'_>) -> bool {
    let at_server = |residence: Residence| {
        Some(residence.inside_server? + residence.server_unread.unwrap_or(0.0))
    };
    let there = case.point.residence.and_then(at_server);
    let share = there.zip(case.point.in_flight.mean).map(|(there, all)| there / all);
    case.client_has_slack() == Some(true)
        && case.server_has_slack() == Some(true)
        && share.is_some_and(|share| share > INSIDE)
}

fn none(case: &Case<'_>, mut seen: Seen) -> Verdict {
    let full = SERVER.first_seen(case).filter(|(wall, _)| is_met_beside(case, *wall));
    if let Some(sentence) = full.and_then(|(_, full)| full.sentence) {
        seen.against.push(format!("{sentence}: little more load fits"));
    }
    let is_search = case.trial.question == Question::Find;
    let standing = ObjectiveStanding::of(&case.point.expectations);
    if is_search && standing == ObjectiveStanding::Undecided {
        let name = "no trial decided whether the objective holds".to_string();
        return Verdict { name, ..unknown(case, seen) };
    }
    let limit = match is_search {
        true => "the objective".to_string(),
        false => case.point.limit_phrase(),
    };
    Verdict {
        wall: Named::None,
        name: format!("no wall was reached; the limit is {limit}"),
        side: Side::None,
        confidence: Confidence::Probable,
        ceiling: ceiling(&[case.point], CeilingKind::AtLeast),
        ..empty(case, seen)
    }
}

fn unknown(case: &Case<'_>, mut seen: Seen) -> Verdict {
    seen.next.extend(longer_levels(case));
    let ceiling = ceiling(&[case.point], CeilingKind::AtLeast);
    // What a wall would say is not said of one that is not named.
    Verdict { ceiling, sentence: None, ..empty(case, seen) }
}

/// A verdict that is not decided, because of what others took of the CPUs if that hides it.
fn hidden(case: &Case<'_>, verdict: Verdict) -> Verdict {
    let is_open = verdict.wall == Named::Unknown && verdict.name == UNDECIDED;
    // A server that is not watched may be one of the others, and watching it comes first.
    let may_tell = is_open && case.server.is_some() && waits::of(case) != Waits::No;
    let others = by_others(case).filter(|_| may_tell);
    let Some(name) = others else { return verdict };
    let again = "repeat while nothing else uses these CPUs (top shows what does), or on another \
                 host: that would tell";
    let next = std::iter::once(again.into()).chain(verdict.next).collect();
    Verdict { name, next, ..verdict }
}

/// The fewest readings of the server's connections that show where requests wait: their mean is
/// within a factor of two of what it is from then on, if requests come independently.
const READS_MIN: u64 = 4;

/// A longer level, where the probe read the server's connections too rarely to tell.
fn longer_levels(case: &Case<'_>) -> Option<Step> {
    let reads = case.census().filter(|_| case.server.is_some())?.reads;
    let window_s = case.window_s();
    let longer_s = (window_s * READS_MIN as f64 / reads.max(1) as f64).ceil();
    (reads < READS_MIN).then(|| {
        let times = if reads == 1 { "once" } else { "too few times" };
        format!("the server's connections were read {times} in {window_s:.0} s: -d {longer_s:.0}s")
            .into()
    })
}

/// What other processes took of the CPUs of the host that lost most to them, where its threads
/// waited for them: `other processes used 1.2 of the 2 CPUs of the server`.
fn by_others(case: &Case<'_>) -> Option<String> {
    let is_delayed = |threads: Vec<&ThreadShare>| {
        let wanted: f64 = threads.iter().map(|thread| thread.wanted()).sum();
        threads.iter().map(|thread| thread.wait).sum::<f64>() > (1.0 - SLACK) * wanted
    };
    let of_server = case.far().server_threads.iter().flatten().collect();
    let server = case.neighbours().zip(case.server_cpus()).filter(|_| is_delayed(of_server));
    let server = server.map(|(share, cpus)| (share, cpus.len(), "server"));
    let client = case.client_neighbours().zip(case.workers());
    let client = client.filter(|(_, workers)| is_delayed(workers.clone()));
    let client = client.map(|(share, _)| (share, case.client_cpus().len(), "generator"));
    let hosts = [server, client].into_iter().flatten();
    let (share, cpus, of) = hosts
        .filter(|one| one.0 > CROWDED)
        .reduce(|one, other| if other.0 > one.0 { other } else { one })?;
    let used = show_fixed(share * cpus as f64, 1);
    let what = match cpus {
        1 => format!("the CPU of the {of}"),
        _ => format!("the {cpus} CPUs of the {of}"),
    };
    Some(format!("other processes used {used} of {what}, and that hides what limits"))
}

/// No wall is named over a flat ramp. If the generator had slack, the rate is still a ceiling.
fn unnamed_ceiling(case: &Case<'_>, verdict: Verdict) -> Verdict {
    if case.client_has_slack() != Some(true) {
        return verdict;
    }
    Verdict { ceiling: ceiling(&[case.point], CeilingKind::Ceiling), ..verdict }
}

/// An undecided verdict with the given evidence.
fn empty(case: &Case<'_>, seen: Seen) -> Verdict {
    Verdict {
        evidence: seen.findings.into_iter().map(|finding| finding.evidence).collect(),
        against: seen.against,
        sentence: seen.sentence,
        fix: seen.fix,
        next: seen.next,
        not_tested: walls::not_tested(case),
        ..undecided()
    }
}

/// All that can be said where neither a wall nor a reason is known.
const UNDECIDED: &str = "the evidence does not decide";

/// An undecided verdict without evidence.
pub fn undecided() -> Verdict {
    Verdict {
        wall: Named::Unknown,
        name: UNDECIDED.to_string(),
        side: Side::Unknown,
        confidence: Confidence::Unknown,
        also: Vec::new(),
        alternatives: Vec::new(),
        ceiling: None,
        evidence: Vec::new(),
        against: Vec::new(),
        not_tested: Vec::new(),
        sentence: None,
        fix: None,
        next: Vec::new(),
    }
}
