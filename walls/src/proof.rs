//! The proof of a label: the result must move with the limit that makes the wall.

use model::run::Record;
use serde::{Deserialize, Serialize};

/// How the label is proven.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Proof {
    /// With the limit at 0.7, 1 and 1.4 the result moves in the same direction.
    Moves(Measure),
    /// Without the limit (a factor of 1000) the result is better by at least half.
    Lifts(Measure),
}

/// The figure that a limit moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Completed good responses per second.
    Rate,
    /// The inverse of the 90th percentile of latency.
    LatencyP90,
    /// The inverse of the 99th.
    LatencyP99,
}

/// Results of the runs that prove a label, by factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tested {
    /// The measured figure.
    pub measure: Measure,
    /// Factor of the limit and the result; more is better. Absent when a run had no result.
    pub results: Vec<(f64, Option<f64>)>,
    /// Whether the label holds.
    pub holds: bool,
}

/// Far more than any limit.
const LIFTED: f64 = 1000.0;

/// Least share of the limit's change that the result must follow, in logarithms.
const ELASTICITY_MIN: f64 = 0.4;

impl Proof {
    /// Factors to run at besides 1.
    pub fn factors(self) -> &'static [f64] {
        match self {
            Self::Moves(_) => &[0.7, 1.4],
            Self::Lifts(_) => &[LIFTED],
        }
    }

    /// The figure that moves.
    pub fn measure(self) -> Measure {
        let (Self::Moves(measure) | Self::Lifts(measure)) = self;
        measure
    }

    /// Decides. `at_one` is the result of the same command line at factor 1.
    pub fn decide(self, at_one: Option<f64>, others: &[(f64, Option<f64>)]) -> Tested {
        let mut results = others.to_vec();
        results.push((1.0, at_one));
        results.sort_by(|left, right| left.0.total_cmp(&right.0));
        let values: Vec<f64> = results.iter().filter_map(|(_, result)| *result).collect();
        let is_whole = values.len() == results.len();
        let holds = is_whole
            && match (self, values.as_slice()) {
                (Self::Moves(_), [low, base, high]) => {
                    // One of the three steps may be hidden by noise; the whole range may not.
                    let follows = (high / low).ln() / (1.4_f64 / 0.7).ln();
                    follows >= ELASTICITY_MIN && low < base && base < high
                }
                (Self::Lifts(_), [base, lifted]) => lifted / base >= 1.5,
                _ => false,
            };
        Tested { measure: self.measure(), results, holds }
    }
}

impl Measure {
    /// The result of the best point of a run. Absent when nothing was measured.
    pub fn of(self, record: &Record) -> Option<f64> {
        let inverse = |ns: Option<u64>| ns.filter(|ns| *ns > 0).map(|ns| 1e9 / ns as f64);
        let of_point = |point: &model::run::Point| match self {
            Self::Rate => Some(point.rate),
            Self::LatencyP90 => inverse(point.latency_ns.p90),
            Self::LatencyP99 => inverse(point.latency_ns.p99),
        };
        record.points.iter().filter_map(of_point).max_by(f64::total_cmp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_holds_when_the_result_follows_the_limit() {
        let moves = Proof::Moves(Measure::Rate);
        let decide = |low, base, high| {
            moves.decide(Some(base), &[(0.7, Some(low)), (1.4, Some(high))]).holds
        };
        assert!(decide(70.0, 100.0, 140.0));
        assert!(decide(84.0, 100.0, 118.0));
        assert!(!decide(100.0, 100.0, 100.0), "something else is the wall");
        assert!(!decide(140.0, 100.0, 70.0), "more of the limit must not be worse");
        assert!(!decide(70.0, 100.0, 72.0), "only half of it was the wall");
        assert!(!moves.decide(Some(1.0), &[(0.7, None), (1.4, Some(9.0))]).holds);
    }

    #[test]
    fn a_limit_that_can_only_be_lifted_has_to_matter() {
        let lifts = Proof::Lifts(Measure::LatencyP99);
        assert!(lifts.decide(Some(10.0), &[(LIFTED, Some(20.0))]).holds);
        assert!(!lifts.decide(Some(10.0), &[(LIFTED, Some(11.0))]).holds);
        assert!(!lifts.decide(None, &[(LIFTED, Some(11.0))]).holds);
    }
}
