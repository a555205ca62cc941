//! Compares two experiments, for example of two days: what differs between them, and each cell by
//! its visits.

use crate::experiment::Conclusion;
use crate::figure::Figure;
use crate::objective::Relation;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Schema of [`Across`].
pub const ACROSS_SCHEMA: &str = "ceiling.compare-experiments/1";

/// Two experiments, A and B. Every ratio is B over A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Across {
    /// [`ACROSS_SCHEMA`].
    pub schema: String,
    /// Id of A.
    pub a: String,
    /// Id of B.
    pub b: String,
    /// What speaks against a comparison; empty when nothing does.
    pub warnings: Vec<String>,
    /// What differs: hosts, kernels, versions, servers, loads, knobs, design.
    pub settings: Vec<Difference>,
    /// A change from -x to +x counts as the same; x is from A's design.
    pub same_within: f64,
    /// Each figure of each cell that is in both.
    pub cells: Vec<AcrossCell>,
    /// Cells of A alone.
    pub only_a: Vec<String>,
    /// Cells of B alone.
    pub only_b: Vec<String>,
    /// The outcome of each `--fail-if`, cell by cell.
    pub bounds: Vec<Decided>,
}

/// One setting that differs; absent where that run does not have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Path in the record.
    pub setting: String,
    /// In A.
    pub a: Option<String>,
    /// In B.
    pub b: Option<String>,
}

/// A figure of one cell, in both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AcrossCell {
    /// The cell.
    pub cell: String,
    /// The figure.
    pub figure: Figure,
    /// Visits with a valid figure, in A and in B.
    pub visits: (u64, u64),
    /// Geometric means, in A and in B; 0 where the figure of a visit is zero.
    pub means: (f64, f64),
    /// B over A; `null` for fewer than three visits on a side, and where the figure of a visit is
    /// zero.
    pub ratio: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// The conclusion, at a risk of 5 % for all cells of the figure.
    pub conclusion: Option<Conclusion>,
    /// Further visits on each side that would probably decide it.
    pub more_visits: Option<u64>,
}

/// The outcome of a bound in one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    /// The bound, as typed.
    pub bound: String,
    /// The bounded figure.
    pub figure: Figure,
    /// The cell.
    pub cell: String,
    /// Whether it holds.
    pub outcome: Outcome,
    /// Further visits on each side that would probably decide it; only for an undecided one.
    pub more_visits: Option<u64>,
    /// B over A with the lower and the upper end of its 95 % interval; absent where there is no
    /// ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<(f64, f64, f64)>,
}

/// Whether a bound holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The whole interval is beyond the bound.
    Failed,
    /// The whole interval is inside.
    Holds,
    /// Neither, or there are too few visits.
    Undecided,
}

/// `--fail-if`: a change that is a regression, such as `rate<-3%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The bounded figure.
    pub figure: Figure,
    /// Whether a change below or above it fails.
    pub fails: Relation,
    /// The change: -0.03 is -3 %.
    pub change: f64,
}

/// Why a text is not a bound.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a bound on a change: a figure of a visit ({keys}), then < or >, then a change in \
     percent; for example --fail-if 'rate<-3%' --fail-if 'busy.server>10%'",
    keys = Figure::keys(Figure::of_visits())
)]
pub struct BoundError(String);

impl FromStr for Bound {
    type Err = BoundError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let at = text.find(['<', '>'])?;
            let (name, rest) = text.split_at(at);
            let fails = if rest.starts_with('<') { Relation::Below } else { Relation::Above };
            let is_of_visit = |figure: &Figure| Figure::of_visits().any(|one| one == *figure);
            let figure = Figure::parse(name.trim()).filter(is_of_visit)?;
            let percent = rest[1..].trim().strip_suffix('%')?.trim().parse::<f64>().ok()?;
            let is_change = percent.is_finite() && percent > -100.0;
            is_change.then_some(Self { figure, fails, change: percent / 100.0 })
        };
        read().ok_or_else(|| BoundError(text.to_string()))
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = self.fails.sign();
        let percent = (self.change * 1e6).round() / 1e4;
        write!(f, "{}{sign}{percent:+}%", self.figure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_written_as_they_are_read() {
        let of_hosts = ["busy.server>+10%", "link.sent.client<-5%", "connect.p90>+20%"];
        let others = ["rate<-3%", "p99>+10%", "cpu.client>+0.5%", "cpu.server<-20%", "p50>+0%"];
        for text in others.into_iter().chain(of_hosts) {
            let bound: Bound = text.parse().unwrap();
            assert_eq!(bound.to_string(), text);
        }
        let loose: Bound = " rate < -3 %".parse().unwrap();
        assert_eq!((loose.change, loose.fails), (-0.03, Relation::Below));
        for text in ["rate", "rate<3", "rate<-100%", "speed<-3%", "busy<-3%", "rate=-3%", "", "<%"]
        {
            let said = text.parse::<Bound>().unwrap_err().to_string();
            assert!(said.contains("'rate<-3%'"), "{said}");
        }
    }
}
