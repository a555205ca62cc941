//! How experiments change a verdict: they confirm it, contradict it, or show that two walls limit
//! together.

use super::table::{self, wall_of};
use super::{ONE, ZERO, response};
use crate::walls::{CLIENT_CAN, LOAD, SERVER_CPU};
use model::perturbation::{Perturbation, Resource, Says};
use model::verdict::{CeilingKind, Confidence, Evidence, Named, Verdict};
use model::wall::{Side, WallId};

/// What experiments say about one wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The rate follows what limits at this wall, and does not follow a rival.
    Confirmed,
    /// The rate follows it in part, and this resource in part.
    CoLimited(Resource),
    /// No changeable resource limits at this wall, and the rate followed none of those that were
    /// changed.
    Supported,
    /// The rate does not follow what must limit, or follows what must not.
    Contradicted,
    /// The experiments do not decide.
    Silent,
}

/// What experiments say about a wall, or about there being none.
pub fn confirms(wall: Named, made: &[Perturbation]) -> Outcome {
    let Some(prediction) = table::of(wall) else { return Outcome::Silent };
    let is_own = |one: &&Perturbation| prediction.follows.contains(&one.resource);
    let own: Vec<Says> = made.iter().filter(is_own).map(response).collect();
    let rivals = || made.iter().filter(|one| !is_own(one)).map(|one| (one.resource, response(one)));
    let stays = |group: &[Resource]| {
        rivals()
            .any(|(resource, response)| group.contains(&resource) && response == Says::DoesNotLimit)
    };
    let sharer = rivals().find(|(_, response)| *response == Says::LimitsInPart);
    let rival_follows = rivals().any(|(_, response)| response == Says::Limits);
    if rival_follows || own.contains(&Says::DoesNotLimit) {
        return Outcome::Contradicted;
    }
    let all_stay = prediction.stays.iter().all(|group| stays(group));
    match sharer {
        Some((rival, _)) if own.contains(&Says::LimitsInPart) => Outcome::CoLimited(rival),
        None if own.contains(&Says::Limits) && all_stay => Outcome::Confirmed,
        None if prediction.follows.is_empty() && all_stay => Outcome::Supported,
        _ => Outcome::Silent,
    }
}

/// Adds the results of the experiments to the verdict.
pub fn apply(mut verdict: Verdict, made: &[Perturbation]) -> Verdict {
    if made.iter().all(|one| response(one) == Says::Open) {
        return verdict;
    }
    verdict.evidence.extend(made.iter().filter_map(evidence));
    let contradicted = |wall| confirms(wall, made) == Outcome::Contradicted;
    let named = verdict.wall;
    verdict.alternatives.retain(|one| one.wall == named || !contradicted(one.wall));
    match (verdict.wall, confirms(verdict.wall, made)) {
        (Named::Wall(_) | Named::None, Outcome::Confirmed) => confirmed(verdict),
        (Named::Wall(wall), Outcome::CoLimited(with)) => co_limited(verdict, wall, with),
        (Named::Wall(_), Outcome::Supported) => supported(verdict),
        (Named::Wall(wall), Outcome::Contradicted) => {
            let why = contradictions(Named::Wall(wall), made);
            let lost = format!("it looks like {} ({wall}), but {why}", wall.name());
            follow(refuted(verdict, lost), made)
        }
        (Named::None, Outcome::Contradicted) => {
            let why = contradictions(Named::None, made);
            follow(refuted(verdict, format!("more load seemed to be enough, but {why}")), made)
        }
        (Named::Unknown, _) => follow(verdict, made),
        _ => verdict,
    }
}

/// An experiment as evidence; none if its blocks do not decide.
fn evidence(made: &Perturbation) -> Option<Evidence> {
    let (value, low, high) = (made.elasticity?, made.low?, made.high?);
    let rule = match response(made) {
        Says::Limits => format!("{} to {}: the rate follows it, so it limits", ONE.0, ONE.1),
        Says::LimitsInPart => "in between: it limits together with something else".to_string(),
        Says::DoesNotLimit => format!("interval within {ZERO} of 0: it does not limit"),
        Says::Open => "neither near 1 nor near 0: does not decide".to_string(),
    };
    let host = match made.resource {
        Resource::ServerCpu | Resource::ServerCpus => "server",
        _ => "client",
    };
    Some(Evidence {
        host: host.to_string(),
        source: "experiment".to_string(),
        field: format!("elasticity of the rate in {}", made.resource.name()),
        value: format!("{value:.2} [{low:.2}, {high:.2}]"),
        rule,
        read: Vec::new(),
    })
}

/// The experiments that do not fit a wall, in words.
fn contradictions(wall: Named, made: &[Perturbation]) -> String {
    let follows = table::of(wall).map_or(&[][..], |prediction| prediction.follows);
    let found = made.iter().filter_map(|one| {
        let name = one.resource.name();
        match (follows.contains(&one.resource), response(one)) {
            (true, Says::DoesNotLimit) => Some(format!("the rate does not depend on {name}")),
            (false, Says::Limits) => Some(format!("the rate follows {name}")),
            _ => None,
        }
    });
    found.collect::<Vec<_>>().join(", and ")
}

/// Doubt that an experiment settles: if the rate follows one resource, no other resource limits it.
const ANSWERED: &str = "is not known to have had slack";

fn confirmed(mut verdict: Verdict) -> Verdict {
    verdict.against.retain(|what| !what.contains(ANSWERED));
    // The remaining evidence against it is about something else, and is unexplained.
    verdict.confidence = match verdict.against.is_empty() {
        true => Confidence::Confirmed,
        false => Confidence::Probable,
    };
    if verdict.confidence == Confidence::Confirmed {
        verdict.alternatives.retain(|one| one.wall == verdict.wall);
    }
    verdict.also.clear();
    if let Named::Wall(wall) = verdict.wall {
        (verdict.name, verdict.side) = (wall.name().to_string(), wall.side());
        set_kind(&mut verdict, wall.side());
    }
    verdict
}

fn supported(mut verdict: Verdict) -> Verdict {
    let is_clean = verdict.against.iter().all(|what| what.contains(ANSWERED));
    if verdict.confidence == Confidence::Suspected && is_clean {
        verdict.against.clear();
        verdict.confidence = Confidence::Probable;
    }
    verdict
}

fn co_limited(mut verdict: Verdict, wall: WallId, with: Resource) -> Verdict {
    let other = wall_of(with);
    if other != wall && !verdict.also.contains(&other) {
        verdict.also.push(other);
        let own = verdict.sentence.take().unwrap_or_else(|| wall.reason().to_string());
        verdict.sentence = Some(format!("{own}; {}", other.reason()));
    }
    verdict.name = format!("{} and {} together", wall.name(), other.name());
    verdict.confidence = Confidence::CoLimited;
    verdict.side = if wall.side() == other.side() { wall.side() } else { Side::Unknown };
    if let Some(ceiling) = &mut verdict.ceiling {
        ceiling.kind = CeilingKind::AtLeast;
    }
    verdict
}

/// The evidence named something that the experiments contradict: the verdict says which, and why.
fn refuted(mut verdict: Verdict, why: String) -> Verdict {
    verdict.alternatives.retain(|one| one.wall != verdict.wall);
    if let Some(ceiling) = &mut verdict.ceiling {
        ceiling.kind = CeilingKind::AtLeast;
    }
    verdict.also.clear();
    Verdict {
        wall: Named::Unknown,
        name: why,
        side: Side::Unknown,
        confidence: Confidence::Unknown,
        sentence: None,
        fix: None,
        ..verdict
    }
}

/// Nothing is named: if the rate follows exactly one thing, that names the wall.
fn follow(mut verdict: Verdict, made: &[Perturbation]) -> Verdict {
    let mut confirmed: Vec<Named> = verdict.alternatives.iter().map(|one| one.wall).collect();
    let limits = made.iter().filter(|one| response(one) == Says::Limits);
    confirmed.extend(limits.map(|one| match one.resource {
        Resource::InFlight | Resource::OfferedRate => Named::None,
        other => Named::Wall(wall_of(other)),
    }));
    confirmed.retain(|wall| *wall != Named::Unknown);
    let found = confirmed.into_iter().find(|wall| confirms(*wall, made) == Outcome::Confirmed);
    match found {
        Some(Named::Wall(wall)) => {
            verdict.against.insert(0, format!("before the experiments: {}", verdict.name));
            verdict.wall = Named::Wall(wall);
            verdict.name = wall.name().to_string();
            verdict.side = wall.side();
            (verdict.sentence, verdict.fix) = (Some(followed(wall, made)), None);
            // The experiment is one family of evidence; the evidence against stays in the record.
            verdict.confidence = Confidence::Probable;
            set_kind(&mut verdict, wall.side());
        }
        Some(Named::None) => {
            let is_rate = made.iter().any(|one| one.resource == Resource::OfferedRate);
            let load = if is_rate { Resource::OfferedRate } else { Resource::InFlight };
            verdict.wall = Named::None;
            verdict.name = format!("no wall was reached; the limit is {}", load.name());
            verdict.side = Side::None;
            verdict.confidence = Confidence::Probable;
        }
        Some(Named::Unknown) | None => narrow(&mut verdict, made),
    }
    verdict
}

/// What happens at a wall that only experiments show: which changes the rate followed.
fn followed(wall: WallId, made: &[Perturbation]) -> String {
    let limits = made.iter().filter(|one| response(one) == Says::Limits);
    let names: Vec<_> = limits.map(|one| one.resource.name()).collect();
    match names.is_empty() {
        true => wall.reason().to_string(),
        false => format!("{}: the rate followed {}", wall.reason(), names.join(" and ")),
    }
}

/// No wall is named; the verdict lists what was excluded and what was not tried.
fn narrow(verdict: &mut Verdict, made: &[Perturbation]) {
    let stays = |group: &[Resource]| {
        made.iter().any(|one| group.contains(&one.resource) && response(one) == Says::DoesNotLimit)
    };
    if !stays(LOAD) || !stays(CLIENT_CAN) {
        return;
    }
    let is_cpu_excluded = stays(SERVER_CPU);
    let what = "neither the load nor the generator limits: it is the server or the path";
    verdict.name = what.to_string();
    if is_cpu_excluded {
        verdict.name.push_str(", and not the server's CPU");
    } else if !made.iter().any(|one| SERVER_CPU.contains(&one.resource)) {
        let next =
            "let experiments also lower the server's CPU quota: --confirm --may-touch-server";
        verdict.next.insert(0, next.into());
    }
}

/// Whether a rate is the server's ceiling depends on the side of its wall.
fn set_kind(verdict: &mut Verdict, side: Side) {
    if let Some(ceiling) = &mut verdict.ceiling {
        ceiling.kind = match side {
            Side::Client | Side::Measurement => CeilingKind::AtLeast,
            _ => CeilingKind::Ceiling,
        };
    }
}
