//! How often verdicts are right: judges every kept run again, in four ways, and compares two
//! baselines.

use crate::baseline;
use crate::label::Label;
use crate::options::{Hosts, Noise};
use crate::ordinary;
use crate::rejudge::{Experiments, Sight, best, judged};
use crate::scenario::{Scenario, Truth};
use model::figure::Figure;
use model::run::{Record, Run};
use model::tail::{Tail, TailCause, TailShare};
use model::verdict::{Named, Verdict};
use model::wall::WallId;

/// Whether a verdict is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It is the truth.
    Correct,
    /// It is not.
    Wrong,
    /// It names no wall: unknown, or a measurement that is not valid.
    Unknown,
}

/// The judge of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judge {
    /// The judge of ceiling, with these readings, on the run without its perturbations.
    Plain(Sight),
    /// The judge of ceiling, with perturbations.
    Perturbed(Sight),
    /// Highest utilisation wins.
    Highest,
    /// A checklist of thresholds.
    Checklist,
}

impl Judge {
    /// All, in the order of the table.
    pub const ALL: [Self; 6] = [
        Self::Plain(Sight::Both),
        Self::Plain(Sight::ClientOnly),
        Self::Perturbed(Sight::Both),
        Self::Perturbed(Sight::ClientOnly),
        Self::Highest,
        Self::Checklist,
    ];

    /// Heading of its column.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain(Sight::Both) => "both sides",
            Self::Plain(Sight::ClientOnly) => "client only",
            Self::Perturbed(Sight::Both) => "both, perturbed",
            Self::Perturbed(Sight::ClientOnly) => "client, perturbed",
            Self::Highest => "B1",
            Self::Checklist => "B2",
        }
    }
}

/// One draw with all verdicts on it.
#[derive(Debug)]
pub struct Scored {
    /// Its scenario.
    pub scenario: &'static Scenario,
    /// Seed of the draw.
    pub seed: u64,
    /// Its number.
    pub draw: u32,
    /// What it ran on.
    pub hosts: Hosts,
    /// Where the server ran, if the scenario draws that: a name of [`ordinary::PLACES`].
    pub place: Option<&'static str>,
    /// What else ran on its CPUs.
    pub noise: Noise,
    /// Whether the label was tested and does not hold.
    pub standing: Standing,
    /// Word and mark by judge, in the order of [`Judge::ALL`]; absent without a record, or if the
    /// run has no such data.
    pub marks: Vec<Option<(String, Mark)>>,
    /// What the judge of ceiling rests on, with the readings of both sides: lines of evidence, and
    /// of what speaks against it.
    pub grounds: Vec<String>,
}

/// Whether a label holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The limit moved the result.
    Holds,
    /// It did not.
    Void,
    /// Not tested.
    Untested,
    /// There is no run to judge.
    NoRun,
}

/// The marks of one drawn scenario.
pub fn score(scenario: &'static Scenario, label: &Label, run: Option<&Run>) -> Scored {
    let standing = match (&label.tested, run) {
        (_, None) => Standing::NoRun,
        (None, _) => Standing::Untested,
        (Some(tested), _) if tested.holds => Standing::Holds,
        (Some(_), _) => Standing::Void,
    };
    let marks = match run {
        None => vec![None; Judge::ALL.len()],
        Some(run) => Judge::ALL.iter().map(|judge| mark_of(*judge, scenario, run)).collect(),
    };
    let place = label.parameters.get("placement").map(|place| *place as usize);
    let place = place.and_then(|place| ordinary::PLACES.get(place)).copied();
    let Label { seed, draw, hosts, noise, .. } = *label;
    let grounds = run.map_or_else(Vec::new, |run| grounds(scenario.truth, run));
    Scored { scenario, seed, draw, hosts, place, noise, standing, marks, grounds }
}

fn grounds(truth: Truth, run: &Run) -> Vec<String> {
    let record = judged(run, Sight::Both, Experiments::Hidden);
    if let Truth::Tail(_) = truth {
        return best(&record).and_then(|point| point.tail.as_ref()).map_or_else(Vec::new, of_tail);
    }
    let verdict = record.verdict;
    let evidence = verdict.evidence.iter().map(|one| format!("+ {}: {}", one.field, one.value));
    let against = verdict.against.iter().map(|what| format!("- {what}"));
    [verdict.name.clone()].into_iter().chain(evidence).chain(against).collect()
}

/// Each cause of a tail with its share and its probability, and what may be one.
fn of_tail(tail: &Tail) -> Vec<String> {
    let line = |sign: &str, one: &TailShare| {
        let p = one.p.map_or_else(String::new, |p| format!(", p {p:.3}"));
        let share = 100.0 * one.share;
        format!("{sign} {}: {share:.0} %, {} times{p}", one.cause.key(), one.events)
    };
    let named = tail.named().map(|one| line("+", one));
    let unsure = tail.unsure.iter().map(|one| line("?", one));
    named.chain(unsure).chain(tail.unknown.iter().cloned()).collect()
}

fn mark_of(judge: Judge, scenario: &Scenario, run: &Run) -> Option<(String, Mark)> {
    if let Truth::Tail(causes) = scenario.truth {
        let Judge::Plain(sight) = judge else { return None };
        let record = judged(run, sight, Experiments::Hidden);
        let point = best(&record)?;
        let is_late = !point.standing.of(Figure::P99).is_sound();
        return Some(mark_tail(causes, is_late, point.tail.as_ref()));
    }
    let verdict = match judge {
        Judge::Plain(sight) => judged(run, sight, Experiments::Hidden).verdict,
        Judge::Perturbed(_) if run.record.perturbations.is_empty() => return None,
        Judge::Perturbed(sight) => judged(run, sight, Experiments::Shown).verdict,
        Judge::Highest => return Some(of_one(scenario.truth, baseline::highest(run))),
        Judge::Checklist => return Some(of_one(scenario.truth, baseline::checklist(run))),
    };
    let mut word = verdict.wall.word().to_owned();
    for also in &verdict.also {
        word = format!("{word}+{also}");
    }
    Some((word, mark(scenario.truth, &verdict)))
}

fn of_one(truth: Truth, named: Named) -> (String, Mark) {
    (named.word().to_owned(), mark_walls(truth, named, &[]))
}

/// The causes that are named for the slowest requests, and whether they are the truth: the first is
/// the cause, and no other may be named that is none. Where nothing was built, the generator is the
/// cause if it was late by another account: its sends alone move the percentile (gate `release`).
fn mark_tail(truth: &[TailCause], is_late: bool, tail: Option<&Tail>) -> (String, Mark) {
    let Some(tail) = tail.filter(|tail| tail.unknown.is_none()) else {
        return ("unknown".to_owned(), Mark::Unknown);
    };
    let named: Vec<TailCause> = tail.named().map(|share| share.cause).collect();
    let words: Vec<&str> = named.iter().map(|cause| cause.key()).collect();
    let mark = match (named.first(), truth.first()) {
        (None, None) => Mark::Correct,
        (Some(TailCause::Generator), None) if is_late && named.len() == 1 => Mark::Correct,
        (None, Some(_)) => Mark::Unknown,
        (first, cause) if first == cause && named.iter().all(|one| truth.contains(one)) => {
            Mark::Correct
        }
        _ => Mark::Wrong,
    };
    (if words.is_empty() { "none".to_owned() } else { words.join("+") }, mark)
}

/// What a record says of the scenario: its wall, or its causes of slow requests.
pub fn verdict_words(truth: Truth, record: &Record) -> String {
    match truth {
        Truth::Tail(causes) => {
            mark_tail(causes, false, best(record).and_then(|point| point.tail.as_ref())).0
        }
        _ => {
            let verdict = &record.verdict;
            format!("{} ({})", verdict.wall.word(), verdict.confidence.word())
        }
    }
}

/// Other processes on the CPUs of server and generator: they limit together with what they delay.
const NEIGHBOURS: [WallId; 2] = [WallId::S6, WallId::C11];

/// Compares a verdict with the truth.
fn mark(truth: Truth, verdict: &Verdict) -> Mark {
    mark_walls(truth, verdict.wall, &verdict.also)
}

fn mark_walls(truth: Truth, named: Named, also: &[WallId]) -> Mark {
    let accepted = truth.walls();
    let is_right = match (truth, named) {
        (_, Named::Unknown) => return Mark::Unknown,
        // A refused measurement names no wall.
        (_, Named::Wall(WallId::M1)) if !accepted.contains(&WallId::M1) => return Mark::Unknown,
        (Truth::NoWall, Named::None) => true,
        (_, Named::None) | (Truth::Tail(_), _) => false,
        (Truth::Both(one, other), Named::Wall(wall)) => {
            (wall == one && also.contains(&other)) || (wall == other && also.contains(&one))
        }
        // Beside a neighbour, what would limit without it is named first.
        (_, Named::Wall(wall)) => {
            let beside = also.iter().filter(|also| NEIGHBOURS.contains(also));
            beside.chain([&wall]).any(|wall| accepted.contains(wall))
        }
    };
    if is_right { Mark::Correct } else { Mark::Wrong }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUOTA: Truth = Truth::Wall(&[WallId::S3]);
    const BOTH: Truth = Truth::Both(WallId::C1, WallId::S3);

    #[test]
    fn a_verdict_is_right_wrong_or_says_nothing() {
        let of = |truth, wall| mark_walls(truth, Named::Wall(wall), &[]);
        assert_eq!(of(QUOTA, WallId::S3), Mark::Correct);
        assert_eq!(of(QUOTA, WallId::C1), Mark::Wrong);
        assert_eq!(of(QUOTA, WallId::M1), Mark::Unknown, "refused");
        assert_eq!(of(Truth::Wall(&[WallId::M1]), WallId::M1), Mark::Correct);
        assert_eq!(mark_walls(QUOTA, Named::Unknown, &[]), Mark::Unknown);
        assert_eq!(mark_walls(QUOTA, Named::None, &[]), Mark::Wrong);
        assert_eq!(mark_walls(Truth::NoWall, Named::None, &[]), Mark::Correct);
        assert_eq!(of(Truth::NoWall, WallId::M2), Mark::Correct);
        assert_eq!(of(Truth::NoWall, WallId::S1), Mark::Wrong);
    }

    #[test]
    fn a_tail_is_right_when_the_cause_comes_first_and_nothing_false_is_named() {
        let share = |cause| TailShare {
            cause,
            wall: None,
            number: None,
            share: 0.7,
            expected: None,
            events: 3,
            p: None,
            times_ns: Vec::new(),
        };
        let of = |truth: &[TailCause], named: &[TailCause]| {
            let causes = named.iter().copied().map(share).collect();
            mark_tail(truth, false, Some(&Tail { causes, ..Tail::default() }))
        };
        let (quota, waits) = (TailCause::Throttled, TailCause::RunQueue);
        assert_eq!(
            of(&[quota, waits], &[quota, waits]),
            ("throttled+run_queue".into(), Mark::Correct)
        );
        assert_eq!(of(&[quota, waits], &[waits, quota]).1, Mark::Wrong);
        assert_eq!(of(&[quota], &[quota, waits]).1, Mark::Wrong);
        assert_eq!(of(&[quota], &[]).1, Mark::Unknown);
        assert_eq!(of(&[], &[]), ("none".into(), Mark::Correct));
        assert_eq!(of(&[], &[quota]).1, Mark::Wrong);
        let unknown = Tail { unknown: Some("too few".into()), ..Tail::default() };
        assert_eq!(mark_tail(&[], false, Some(&unknown)).1, Mark::Unknown);
        let late = Tail { causes: vec![share(TailCause::Generator)], ..Tail::default() };
        let marks = [true, false].map(|is_late| mark_tail(&[], is_late, Some(&late)).1);
        assert_eq!(marks, [Mark::Correct, Mark::Wrong], "right only where its sends were late");
    }

    #[test]
    fn of_two_walls_one_is_not_enough() {
        let of = |wall, also: &[WallId]| mark_walls(BOTH, Named::Wall(wall), also);
        assert_eq!(of(WallId::C1, &[WallId::S3]), Mark::Correct);
        assert_eq!(of(WallId::S3, &[WallId::C1]), Mark::Correct);
        assert_eq!(of(WallId::S3, &[]), Mark::Wrong);
        assert_eq!(of(WallId::S3, &[WallId::S1]), Mark::Wrong);
        let beside = |truth| mark_walls(truth, Named::Wall(WallId::S1), &[WallId::S6]);
        assert_eq!(beside(Truth::Wall(&[WallId::S6])), Mark::Correct);
        assert_eq!(beside(Truth::Wall(&[WallId::S1])), Mark::Correct);
        assert_eq!(beside(Truth::Wall(&[WallId::S2])), Mark::Wrong);
    }
}
