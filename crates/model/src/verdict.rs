//! What the numbers mean: gates, wall, evidence.

use crate::step::Step;
use crate::wall::{Side, WallId};
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! gates {
    ($($id:ident $name:literal),* $(,)?) => {
        /// A validity check.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum GateId {
            $(#[doc = $name] #[serde(rename = $name)] $id,)*
        }

        impl GateId {
            /// All of them.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$id),*];

            /// The name in records and tables.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$id => $name,)*
                }
            }
        }
    };
}

mod gates;
pub use gates::GateId;

impl fmt::Display for GateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One validity check of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// Which one, for example `littles_law`.
    pub id: GateId,
    /// Whether it holds; `null` when it could not be checked.
    pub ok: Option<bool>,
    /// The figure that was compared; `null` when there is none.
    pub measured: Option<f64>,
    /// What the figure was compared with, in words.
    pub bound: String,
    /// One sentence: what was found, or why it could not be checked.
    pub why: String,
}

crate::named! {
    /// How sure a verdict is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Confidence {
        /// A perturbation moved the result as the wall predicts, and a rival's did not.
        Confirmed = "confirmed",
        /// Two families of evidence agree and rivals on the other side are contradicted.
        Probable = "probable",
        /// One family of evidence, or two with a contradiction that is listed.
        Suspected = "suspected",
        /// Two walls limit together.
        CoLimited = "co-limited",
        /// Evidence does not decide.
        Unknown = "unknown",
    }
    /// The word in every rendering.
    fn word, parse;
}

/// The wall of a verdict, or why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    /// This one.
    Wall(WallId),
    /// No wall was reached: the ceiling is at least what was measured.
    None,
    /// There is a limit and the evidence does not show which.
    Unknown,
}

impl Named {
    /// The word of the record: an id, `none` or `unknown`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Wall(wall) => wall.id(),
            Self::None => "none",
            Self::Unknown => "unknown",
        }
    }

    /// What a word of the record means.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "none" => Some(Self::None),
            "unknown" => Some(Self::Unknown),
            id => WallId::parse(id).map(Self::Wall),
        }
    }
}

impl Serialize for Named {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        Self::parse(&word).ok_or_else(|| serde::de::Error::custom(format!("unknown wall '{word}'")))
    }
}

/// One observation a verdict rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// `client`, `server`, or `both` when they share a host and the source is host-wide.
    pub host: String,
    /// Where it was read, for example `cgroup cpu.stat`.
    pub source: String,
    /// Which figure; [`Evidence::FINDING`] for a sentence of a gate.
    pub field: String,
    /// Its value with unit, as shown.
    pub value: String,
    /// The rule it satisfies.
    pub rule: String,
    /// What it was calculated from: names of sources, as readings have them (`listeners`), or of
    /// figures of a point (`latency_ns`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
}

impl Evidence {
    /// The field of what a gate found: its value is a sentence and needs no name.
    pub const FINDING: &str = "the finding";
}

/// Whether a rate is the maximum or only the highest that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CeilingKind {
    /// A wall was reached at this rate.
    Ceiling,
    /// No wall was reached; the ceiling is at least this.
    AtLeast,
}

/// What the interval of a ceiling means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum IntervalKind {
    /// An interval of the mean rate over visits, at 95 %, by Student's t over three visits or more:
    /// the mean of another set of visits is expected in it.
    #[serde(rename = "visits-95")]
    Visits95,
    /// From the lowest visit to the highest: too few for more.
    #[serde(rename = "min-max")]
    MinMax,
    /// An interval of the mean inside one window, by batch means. It says nothing about another
    /// visit.
    #[default]
    #[serde(rename = "within-run")]
    WithinRun,
}

/// The rate that more load does not raise, with its interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Completed good responses per second: the mean over the visits.
    pub rate: f64,
    /// What the rate is.
    pub kind: CeilingKind,
    /// Lower end of the interval; `null` with too few samples.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// What the interval is.
    pub interval: IntervalKind,
    /// Number of visits in the mean.
    pub visits: u64,
    /// Change of the rate from the least to the greatest load of the plateau, as a share of the
    /// rate, when it exceeds the scatter of visits. Then the mean is not the rate of any one load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<f64>,
    /// Fewest requests in flight that reach the rate; more only add latency. Absent without a
    /// ramp that became flat.
    pub knee_in_flight: Option<u64>,
}

impl Ceiling {
    /// A rate without an interval.
    pub fn at(rate: f64, kind: CeilingKind) -> Self {
        Self {
            rate,
            kind,
            low: None,
            high: None,
            interval: IntervalKind::default(),
            visits: 0,
            drift: None,
            knee_in_flight: None,
        }
    }
}

/// A wall that the evidence leaves possible.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// The wall, `none` when there may be none.
    pub wall: Named,
    /// Its share of the weight of all of them, 0 to 1, from how often each test fires when a wall
    /// is known to be there. It orders walls; it is not a calibrated probability.
    pub share: f64,
}

/// What limited the rate, how sure that is, and what would show more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The wall.
    pub wall: Named,
    /// The wall's name, or a sentence instead.
    pub name: String,
    /// On which side it is.
    pub side: Side,
    /// How sure.
    pub confidence: Confidence,
    /// Other walls that limit as well, when co-limited.
    pub also: Vec<WallId>,
    /// The rate; `null` when the measurement is not valid.
    pub ceiling: Option<Ceiling>,
    /// What the evidence leaves possible, most probable first, the named wall included.
    pub alternatives: Vec<Alternative>,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// What speaks against it.
    pub against: Vec<String>,
    /// Walls this version cannot test, or could not test in this run.
    pub not_tested: Vec<WallId>,
    /// What happens at the named wall: the thing and its number, as a sentence without its stop.
    /// Absent where no wall is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentence: Option<String>,
    /// What moves the wall, where the evidence says more than the wall's own words: a number, a
    /// name. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// Commands or actions that would decide open questions, best first.
    pub next: Vec<Step>,
}

impl Verdict {
    /// What happens at the named wall, in plain words.
    pub fn reason(&self) -> Option<&'static str> {
        match self.wall {
            Named::Wall(wall) => Some(wall.reason()),
            Named::None | Named::Unknown => None,
        }
    }

    /// What moves the named wall, and the walls that limit with it, in plain words.
    pub fn fix(&self) -> Option<String> {
        let Named::Wall(wall) = self.wall else { return None };
        let own = self.fix.as_deref().unwrap_or(wall.fix());
        let also: String = self.also.iter().map(|wall| format!("; {}", wall.fix())).collect();
        Some(format!("{own}{also}"))
    }
}
