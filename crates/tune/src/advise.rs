//! Ranks every knob by what a run says about it. Pure: signals in, advice out.

use crate::knob::{Act, Knob};
use crate::knobs::GENERATOR;
use crate::knobs::REGISTRY;
use crate::knobs::find;
use crate::predict;
use model::advice::{Advice, By, Candidate, SCHEMA};
use model::order::OrderBy as _;
use model::step::Step;
use model::tuning::{Basis, Prediction, Scope, Side, Signals};
use model::verdict::Named;
use model::wall::{Side as At, WallId};
use std::cmp::Ordering;

/// The load of a run as commands, so that a user can repeat it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCommands {
    /// The name of the run, as commands take it.
    pub run: String,
    /// The command of the run.
    pub command: Step,
    /// The command of the run, for a longer time.
    pub longer: Step,
    /// The command of the run with a confirmation of the wall.
    pub confirmed: Step,
    /// The command of the run with a probe on the server's host, `HOST:9200`.
    pub probed: Step,
}

/// Ranks every knob of the registry.
pub fn advise(signals: &Signals, asked: &RunCommands) -> Advice {
    advise_on(REGISTRY, signals, asked)
}

fn advise_on(knobs: &[&Knob], signals: &Signals, asked: &RunCommands) -> Advice {
    let mut advice = Advice {
        schema: SCHEMA.to_string(),
        run: signals.run.clone(),
        signals: signals.clone(),
        worth: Vec::new(),
        unknown: Vec::new(),
        not_now: Vec::new(),
        nothing_because: no_ground(signals),
    };
    for knob in knobs {
        let candidate = candidate(knob, signals, asked);
        match candidate.prediction.basis {
            Basis::Unknown => advice.unknown.push(candidate),
            Basis::Bounded if stands_out(&candidate.prediction, signals) => {
                advice.worth.push(candidate);
            }
            Basis::Bounded | Basis::NoEffect => advice.not_now.push(candidate),
        }
    }
    let wall = match signals.wall {
        Some(Named::Wall(wall)) => Some(wall),
        _ => None,
    };
    advice.worth.order_by(|left, right| {
        let first = |one: &Candidate| !(signals.client_is_wall && one.knob == GENERATOR.id);
        let is_other = |one: &Candidate| !wall.is_some_and(|wall| relieves(knobs, one, wall));
        let key = |one: &Candidate| (first(one), is_other(one));
        // Among equals, knobs that relieve the wall come first.
        let rank = |one: &Candidate| one.prediction.high.unwrap_or(f64::INFINITY);
        match first(left).cmp(&first(right)) {
            Ordering::Equal => rank(right).total_cmp(&rank(left)).then(key(left).cmp(&key(right))),
            other => other,
        }
    });
    for candidate in &mut advice.worth {
        candidate.next = Some(test_of(candidate, asked));
    }
    advice
}

fn relieves(knobs: &[&Knob], candidate: &Candidate, wall: WallId) -> bool {
    knobs.iter().any(|knob| knob.id == candidate.knob && knob.relieves.contains(&wall))
}

/// Whether the best case is above the noise.
fn stands_out(prediction: &Prediction, signals: &Signals) -> bool {
    prediction.high.is_none_or(|high| high > predict::noise(signals) + f64::EPSILON)
}

/// What a knob would do to the rate of a run: its own figures, and what limited the run. Advice and
/// plans have the same.
pub fn prediction(knob: &Knob, signals: &Signals) -> Prediction {
    let predicted = beside_the_point(knob, signals, (knob.predict)(signals));
    let predicted = too_wide(knob, signals, behind_the_generator(knob, signals, predicted));
    without_ground(signals, predicted)
}

/// More than this gain, and a loss beyond the noise: such an interval says nothing.
const DOUBLED: f64 = 1.0;

/// A knob that may as well halve as double the rate is no proposal, unless it is the remedy for the
/// wall that was named: then that wall is the reason to try it.
fn too_wide(knob: &Knob, signals: &Signals, predicted: Prediction) -> Prediction {
    let is_remedy =
        matches!(signals.wall, Some(Named::Wall(wall)) if knob.relieves.contains(&wall));
    let (Some(low), Some(high)) = (predicted.low, predicted.high) else { return predicted };
    if is_remedy || low >= -predict::noise(signals) || high <= DOUBLED {
        return predicted;
    }
    let why = format!(
        "from {:+.0} % to {:+.0} % says nothing, and it is no remedy for a wall that was named; {}",
        100.0 * low,
        100.0 * high,
        predicted.arithmetic
    );
    Prediction::unknown(why, &predicted.reconsider)
}

/// Share of the server's CPUs from which other processes disturb a prediction.
const BUSY: f64 = 0.2;

/// Why nothing can be proposed from a run: its wall is not known, or other work than the server's
/// had the server's CPUs.
pub fn no_ground(signals: &Signals) -> Option<String> {
    if matches!(signals.wall, None | Some(Named::Unknown)) && !signals.is_inside {
        return Some("the wall of the run is not known".to_string());
    }
    let share = signals.neighbours.filter(|share| *share >= BUSY)?;
    Some(format!("other processes used {:.0} % of the server's CPUs", 100.0 * share))
}

/// What may help where there is no ground for a prediction is not known; what cannot help stays so.
fn without_ground(signals: &Signals, predicted: Prediction) -> Prediction {
    let may_help = predicted.basis == Basis::Bounded && stands_out(&predicted, signals);
    match no_ground(signals).filter(|_| may_help) {
        Some(why) => {
            Prediction::unknown(format!("{why}; {}", predicted.arithmetic), &predicted.reconsider)
        }
        None => predicted,
    }
}

fn candidate(knob: &Knob, signals: &Signals, asked: &RunCommands) -> Candidate {
    let prediction = prediction(knob, signals);
    let next = match prediction.basis {
        Basis::Unknown => Some(settle(signals, asked)),
        Basis::NoEffect | Basis::Bounded => None,
    };
    Candidate {
        knob: knob.id.to_string(),
        name: knob.name.to_string(),
        about: knob.about.to_string(),
        by: match knob.act {
            Act::Settable { .. } => By::Ceiling,
            Act::Advice { .. } => By::People,
        },
        scope: knob.scope,
        takes_effect: knob.takes_effect,
        is_disruptive: knob.is_disruptive,
        risk: knob.risk.to_string(),
        prediction,
        next,
    }
}

/// A knob that acts on something that the run did not use, or that did not limit it, changes
/// nothing, whatever its own figures say.
fn beside_the_point(knob: &Knob, signals: &Signals, predicted: Prediction) -> Prediction {
    let relieves = |wall: &WallId| match signals.wall {
        Some(Named::Wall(named)) => *wall == named,
        Some(Named::None) => matches!(*wall, WallId::C3 | WallId::N1),
        _ => false,
    };
    let is_loopback = signals.server.link.as_deref() == Some("lo");
    let why = match signals.wall {
        _ if knob.scope == Scope::Device && is_loopback => {
            "the load went over loopback, and this knob acts on a network device"
        }
        _ if knob.relieves.iter().any(relieves) => return predicted,
        _ if signals.is_inside => {
            "the limit is inside the application, where no host setting reaches"
        }
        Some(Named::None) => "no wall was reached: the rate was the load that was offered",
        _ => return predicted,
    };
    if predicted.basis == Basis::NoEffect {
        return predicted;
    }
    Prediction::no_effect(predict::noise(signals), why.to_string(), &predicted.reconsider)
}

/// While the generator is the wall, a knob that acts only on the server cannot change the rate,
/// whatever the server's counters say.
fn behind_the_generator(knob: &Knob, signals: &Signals, predicted: Prediction) -> Prediction {
    let is_of_client = knob.relieves.iter().any(|wall| wall.side() == At::Client);
    if !signals.client_is_wall || is_of_client || predicted.basis != Basis::Bounded {
        return predicted;
    }
    let wall = signals.wall.map_or("", |wall| wall.word());
    let words = format!("the generator was the wall ({wall}); behind it: {}", predicted.arithmetic);
    Prediction::no_effect(predict::noise(signals), words, "a run whose wall is the server's")
}

/// Knobs that the default profile leaves alone, and the one that sets them.
const OTHER_PROFILES: &[(&str, &str)] = &[
    ("T20", "latency"),
    ("T22", "latency"),
    ("T31", "seeds"),
    ("T35", "churn"),
    ("T37", "churn"),
    ("T42", "latency"),
    ("T44", "latency"),
    ("T46", "latency"),
    ("T52", "latency"),
    ("T55", "latency"),
    ("T57", "latency"),
];

/// The command that shows what would be set for a knob, by the profile that sets it.
pub fn by_hand(knob: &str) -> String {
    let is_it = |id: &str| find(knob).is_some_and(|found| found.id == id);
    let other = OTHER_PROFILES.iter().find(|(id, _)| is_it(id));
    let profile = other.map_or(String::new(), |(_, name)| format!(" --profile {name}"));
    format!("ceiling tune plan --only {knob}{profile}")
}

/// The command that tests a candidate.
fn test_of(candidate: &Candidate, asked: &RunCommands) -> Step {
    let name = &candidate.name;
    match candidate.by {
        _ if candidate.is_disruptive => {
            format!("{} (it can cut connections)", by_hand(name)).into()
        }
        By::Ceiling => {
            let plan = format!("{name}.toml");
            Step::command(["advise", &asked.run, "--knob", name, "--plan", &plan])
        }
        By::People => format!("change it, then: {}", asked.command.text()).into(),
    }
}

/// The command that would measure the missing figures.
fn settle(signals: &Signals, asked: &RunCommands) -> Step {
    if signals.client.cpus.is_none() && signals.server.cpus.is_none() {
        // Our own host is always read, so its readings exist, but not in this record.
        let how = "give the directory of the run, because a lone record has no readings; or";
        return format!("{how} measure again: {}", asked.command.text()).into();
    }
    if signals.server == Side::default() || signals.server.cpus.is_none() {
        let how = "ceiling probe serve --listen HOST:9200 on the server's host, then";
        return format!("{how} {}", asked.probed.text()).into();
    }
    if matches!(signals.wall, None | Some(Named::Unknown)) {
        return asked.confirmed.clone();
    }
    if no_ground(signals).is_some() {
        let how = "stop the other work (ceiling doctor), then measure again:";
        return format!("{how} {}", asked.command.text()).into();
    }
    asked.longer.clone()
}

#[cfg(test)]
mod tests;
