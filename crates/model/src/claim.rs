//! What a run or a point may claim.
//!
//! In: standings, verdict, result of a search. Out: one word from which exit code, headline, marks
//! and exports are all derived, so that they cannot contradict each other.

use crate::figure::Figure;
use crate::load::Question;
use crate::objective::ObjectiveStanding;
use crate::run::{Point, Record};
use crate::search::{Ended, SearchTrial, Trust};
use crate::standing::Standing;
use crate::tool::ToolRun;
use crate::verdict::{Named, Verdict};
use crate::wall::{Side, WallId};
use std::fmt;

/// What a run may claim of its main figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// It is known, with or without bounds.
    Known,
    /// The generator was the wall: the server does at least this.
    OfGenerator,
    /// It is not known, and why.
    NotKnown(Unknown),
}

/// A figure that is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// What is not known.
    pub what: &'static str,
    /// Why; empty when there is no more to say.
    pub why: String,
}

impl Unknown {
    fn rate(why: String) -> Claim {
        Claim::NotKnown(Self { what: "the rate is not known", why })
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)?;
        if self.why.is_empty() { Ok(()) } else { write!(f, ": {}", self.why) }
    }
}

impl Claim {
    /// Whether the figure may be used.
    pub fn is_known(&self) -> bool {
        *self == Self::Known
    }
}

impl Verdict {
    /// Whether the generator is the limit, so that the rate is not that of the server. A generator
    /// that is only late still drives the requested rate; figures that its delay changes have
    /// bounds.
    pub fn is_of_generator(&self) -> bool {
        self.side == Side::Client && self.wall != Named::Wall(WallId::C4)
    }
}

impl Point {
    /// What the rate of this point may be used for.
    pub fn claim(&self) -> Claim {
        match self.standing.of(Figure::Rate) {
            Standing::NotKnown { why } => Unknown::rate(why.to_string()),
            _ if self.verdict.is_of_generator() => Claim::OfGenerator,
            _ => Claim::Known,
        }
    }
}

impl ToolRun {
    /// What the rate may be used for.
    pub fn claim(&self, verdict: &Verdict) -> Claim {
        let name = self.generator.name();
        if let Some(why) = self.rate_refuted() {
            return Unknown::rate(format!("what {name} reports cannot be true: {why}"));
        }
        if self.rate.is_none() {
            return Unknown::rate(format!("{name} does not tell good responses from others"));
        }
        if verdict.is_of_generator() { Claim::OfGenerator } else { Claim::Known }
    }
}

impl Record {
    /// What may be claimed about the main figure of the command: the result of a search, the
    /// ceiling of a ramp, else the rate.
    pub fn claim(&self) -> Claim {
        let search = self.search.as_ref();
        if let Some((search, answer)) = search.and_then(|one| Some((one, one.answer.as_ref()?))) {
            let is_miss = |trial: &SearchTrial| {
                trial.standing == ObjectiveStanding::Missed && trial.trust == Trust::Sound
            };
            let has_missed = answer.misses_at.is_some() || search.trials.iter().any(is_miss);
            return match (answer.ended, answer.rate) {
                (Ended::ClientLimited, _) => Claim::OfGenerator,
                (Ended::BudgetSpent, None) if has_missed => Claim::Known,
                (Ended::Undecidable | Ended::BudgetSpent, None) => {
                    let what = "no trial decided whether a rate holds";
                    Claim::NotKnown(Unknown { what, why: String::new() })
                }
                _ => Claim::Known,
            };
        }
        if let Some(tool) = &self.tool {
            return tool.claim(&self.verdict);
        }
        let unknown = |point: &Point| match point.claim() {
            Claim::NotKnown(why) => Some(why),
            _ => None,
        };
        let whys: Vec<Unknown> = self.points.iter().filter_map(unknown).collect();
        if let Some(why) = whys.first().filter(|_| whys.len() == self.points.len()) {
            return Claim::NotKnown(why.clone());
        }
        if self.verdict.is_of_generator() {
            return Claim::OfGenerator;
        }
        let of_ceiling = |point: &Point| point.standing.of(Figure::Ceiling).reason_unknown();
        let last = self.points.last().filter(|_| self.trial.question == Question::Ramp);
        match last.and_then(of_ceiling) {
            Some(why) => {
                Claim::NotKnown(Unknown { what: "the ceiling is not known", why: why.to_string() })
            }
            None => Claim::Known,
        }
    }

    /// Whether every check of the last visit of each level holds.
    pub fn holds_all_gates(&self) -> bool {
        let is_last = |index: &usize| {
            let next = self.points.get(index + 1);
            next.is_none_or(|next| next.attempt <= self.points[*index].attempt)
        };
        let holds =
            |index: usize| self.points[index].gates.iter().all(|gate| gate.ok != Some(false));
        let of_tool = self.tool.iter().flat_map(|tool| &tool.gates);
        (0..self.points.len()).filter(is_last).all(holds)
            && of_tool.into_iter().all(|gate| gate.ok != Some(false))
    }
}
