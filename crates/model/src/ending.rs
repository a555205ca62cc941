//! How a run ended, in one word from which the exit code and every CI report are derived.

use crate::claim::Claim;
use crate::objective::ObjectiveStanding;
use crate::run::{Outcome, Point, Record};
use crate::verdict::Named;
use crate::visit::best_point;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The figure is known, and what was expected holds.
    Good,
    /// An expectation was missed, or it is not known whether it holds.
    Unmet,
    /// Nothing was expected, and no good response came.
    NothingGood,
    /// The requested figure is not known, or the generator was the wall.
    NotValid,
    /// The target did not respond, or stopped responding.
    Unreachable,
    /// Stopped by the user.
    Interrupted,
    /// A search ended without a result.
    NoAnswer,
}

/// Which failed gates make a measurement invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Those that strike the requested figure.
    OfFigure,
    /// Every one.
    EveryGate,
}

impl Record {
    /// How the run ended. The measurement is invalid only when the main figure of the command is
    /// not known or is that of the generator; with [`Strictness::EveryGate`] also when any gate of
    /// a level is broken, or of the trial that shows the result of a search.
    pub fn ending(&self, strictness: Strictness) -> Ending {
        let is_strict = strictness == Strictness::EveryGate;
        match self.outcome {
            Outcome::Interrupted => return Ending::Interrupted,
            Outcome::TargetLost => return Ending::Unreachable,
            Outcome::Complete if self.was_silent() => return Ending::Unreachable,
            Outcome::Complete => {}
        }
        // A search needs trials that miss, and those break gates.
        if let Some(search) = &self.search {
            let rate = search.answer.as_ref().map(|answer| answer.rate);
            return match (rate, self.claim()) {
                (None, _) => Ending::NoAnswer,
                (_, Claim::OfGenerator | Claim::NotKnown(_)) => Ending::NotValid,
                (Some(Some(_)), _) if is_strict && !self.holds_gates_of_answer() => {
                    Ending::NotValid
                }
                (Some(Some(_)), Claim::Known) => Ending::Good,
                (Some(None), Claim::Known) => Ending::Unmet,
            };
        }
        match ObjectiveStanding::of(&self.expectations) {
            _ if is_strict && !self.holds_all_gates() => Ending::NotValid,
            // That no good response came is known without a rate.
            _ if self.expectations.is_empty() && self.is_fruitless() => Ending::NothingGood,
            _ if !self.claim().is_known() => Ending::NotValid,
            ObjectiveStanding::Met => Ending::Good,
            ObjectiveStanding::Missed | ObjectiveStanding::Undecided => Ending::Unmet,
        }
    }

    /// Whether no good response came at any level.
    pub fn is_fruitless(&self) -> bool {
        match &self.tool {
            Some(tool) => tool.rate == Some(0.0),
            None => !self.points.is_empty() && self.points.iter().all(Point::is_fruitless),
        }
    }

    fn holds_gates_of_answer(&self) -> bool {
        let trial = best_point(self).map(|(_, point)| point);
        trial.is_some_and(|point| point.gates.iter().all(|gate| gate.ok != Some(false)))
    }

    /// Whether no response came at all, good or bad, and no limit explains it.
    fn was_silent(&self) -> bool {
        if let Some(tool) = &self.tool {
            return tool.is_silent();
        }
        self.verdict.wall == Named::Unknown
            && !self.points.is_empty()
            && self.points.iter().all(Point::is_silent)
    }
}
