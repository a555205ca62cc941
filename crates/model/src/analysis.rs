//! What all visits of an experiment show together, besides the contrasts of its cells.
//!
//! Names in this file are part of the schema `ceiling.experiment/1`. Adding a field is free.

use crate::conclusion::Conclusion;
use crate::figure::Figure;
use crate::units::{parse_duration_ns, show_ns};
use crate::verdict::GateId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Everything that follows from the visits together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// The hosts that the visits saw.
    pub hosts: Vec<HostSeen>,
    /// The measured visits in order, including those before the first block.
    pub visits: Vec<VisitSeen>,
    /// The baseline against itself, figure by figure; empty without a floor in the design.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub floors: Vec<Floor>,
    /// Effects of the factors and of two of them together; empty for fewer than two factors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// Whether the rate moved during the experiment.
    pub course: Course,
    /// Visits whose rate is far from that of their cell and block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outliers: Vec<Outlier>,
    /// Visits that the plan's rules left out of all figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<Excluded>,
}

/// A host, as the visits saw it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostSeen {
    /// `client` or `server`; the server's is absent when it was not watched.
    pub side: String,
    /// Its name.
    pub hostname: String,
    /// Release of its kernel.
    pub kernel: String,
    /// Model of its CPUs.
    pub cpu_model: String,
    /// Online CPUs.
    pub cpus: u64,
}

/// A measured visit: its figures, and what else happened on the hosts during it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VisitSeen {
    /// The cell.
    pub cell: String,
    /// Its block; absent without a design.
    pub block: Option<u32>,
    /// The figures that are valid: above zero, except a rate of zero that was measured.
    pub figures: BTreeMap<Figure, f64>,
    /// Lowest and highest value of those of which only bounds are known; the highest is `null` for
    /// a figure that is known from below.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bounds: BTreeMap<Figure, (f64, Option<f64>)>,
    /// Whether the rate is only a lower bound of what the server can do: the generator was the
    /// wall, or a search ended without a rate that misses. Absent means no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rate_is_at_least: bool,
    /// The load that the figures are of: requests in flight or devices in closed loop, requests or
    /// connections per second in open loop, subscribers in a fan-out. Absent for another tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<u64>,
    /// The figures of each of its levels; empty for a visit of one level, and for a search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<LevelSeen>,
    /// What may have disturbed it.
    pub conditions: Conditions,
    /// Its verdict as a word of the record: a wall such as `S1`, or `unknown`; absent when
    /// it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<String>,
}

/// A level of a visit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelSeen {
    /// Connections or devices in closed loop, requests or connections per second in open loop,
    /// subscribers of a fan-out.
    pub load: u64,
    /// The figures that are valid, as those of a visit.
    pub figures: BTreeMap<Figure, f64>,
    /// Lowest and highest value of those of which only bounds are known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bounds: BTreeMap<Figure, (f64, Option<f64>)>,
}

/// What may disturb a visit, at its best point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// Share of CPU time that a hypervisor took, on the host that lost more; `null` when it was not
    /// read.
    pub steal: Option<f64>,
    /// Share of the server's CPUs that other processes used; `null` when it was not read.
    pub neighbours: Option<f64>,
    /// Longest time that the generator was stalled, nanoseconds; `null` for another tool, which
    /// does not report it.
    pub stall_ns: Option<u64>,
    /// Failed gates.
    pub gates: Vec<GateId>,
}

/// The baseline against itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// The figure.
    pub figure: Figure,
    /// Pairs of visits.
    pub pairs: u64,
    /// Geometric mean of their ratios.
    pub ratio: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of that interval.
    pub high: f64,
    /// Distance from 1 of the farther end: 0.013 is up to 1.3 % without any change.
    pub share: f64,
    /// What the test for a difference says, although there is none.
    pub conclusion: Conclusion,
}

/// What differs between cells, with its levels in the order of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// A key of the plan such as `load.depth`, or `cell`.
    pub name: String,
    /// Its levels, as written in the names of cells.
    pub levels: Vec<String>,
    /// The level of each cell of the design, counted from 0.
    pub of_cells: Vec<usize>,
}

/// The effect of a factor, or of two together, within blocks and over all levels of the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The figure.
    pub figure: Figure,
    /// The level that is compared with the first of its factor; two for an interaction.
    pub levels: Vec<String>,
    /// The first levels of the same factors.
    pub against: Vec<String>,
    /// Interactions that a fraction cannot tell from this effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Blocks in which all its cells have a valid figure.
    pub blocks: u64,
    /// By what factor the figure changes; for an interaction, by what factor one effect changes at
    /// the other level. `null` for fewer than three blocks.
    pub ratio: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// What follows, in the same family as the contrasts of its figure.
    pub conclusion: Option<Conclusion>,
    /// Blocks that would probably decide it.
    pub more_blocks: Option<u64>,
}

/// Whether the rate moved during the experiment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// A trend over the visits, whatever the cell; `null` for too few.
    pub trend: Option<Trend>,
    /// Contrasts whose ratios in consecutive blocks are correlated, so that their intervals are too
    /// narrow.
    pub serial: Vec<Serial>,
    /// Contrasts that were tested for it.
    pub tested: u64,
}

/// A trend over the visits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// Change of the rate from the first visit to the last, by the median slope: -0.03 is 3 % less.
    pub change: f64,
    /// Chance of such an order without a trend (Mann and Kendall).
    pub chance: f64,
    /// Whether it counts as a trend.
    pub is_seen: bool,
}

/// The ratios of consecutive blocks are correlated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Serial {
    /// The cell that is compared with the baseline.
    pub cell: String,
    /// Correlation of each ratio with the next.
    pub correlation: f64,
    /// Chance of this correlation if there is none, by permutation.
    pub chance: f64,
    /// By what factor the interval should be wider.
    pub wider: f64,
}

/// A visit far from the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outlier {
    /// The cell.
    pub cell: String,
    /// Its block.
    pub block: u32,
    /// Its rate relative to that of its cell and block: -0.2 is 20 % less.
    pub change: f64,
    /// What the probes and gates saw in this visit, and hardly in the others; empty when they saw
    /// nothing.
    pub causes: Vec<String>,
}

/// A visit that a rule of the plan leaves out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Excluded {
    /// The cell.
    pub cell: String,
    /// Its block.
    pub block: u32,
    /// The rule, and what was measured.
    pub why: String,
}

/// A rule of the plan: which visits are left out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Exclusion {
    /// A hypervisor took more than this share of a host's CPU time.
    Steal(f64),
    /// Other processes used more than this share of the server's CPUs.
    Neighbours(f64),
    /// The generator was stalled for longer than this, nanoseconds.
    Stall(u64),
    /// This gate failed.
    Gate(GateId),
}

impl fmt::Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steal(share) => write!(f, "steal > {}%", share * 100.0),
            Self::Neighbours(share) => write!(f, "neighbours > {}%", share * 100.0),
            Self::Stall(ns) => write!(f, "stall > {}", typed(*ns)),
            Self::Gate(gate) => write!(f, "gate:{gate}"),
        }
    }
}

/// A time as a user types it.
fn typed(ns: u64) -> String {
    match ns {
        ns if ns.is_multiple_of(1_000_000) => format!("{}ms", ns / 1_000_000),
        ns => format!("{}us", ns / 1_000),
    }
}

impl From<Exclusion> for String {
    fn from(rule: Exclusion) -> Self {
        rule.to_string()
    }
}

impl TryFrom<String> for Exclusion {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl Exclusion {
    /// Reads `steal > 2%`, `neighbours > 10%`, `stall > 50ms` or `gate:release`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "'{text}' is not a rule that leaves visits out; rules are 'steal > 2%', \
                 'neighbours > 10%', 'stall > 50ms' and 'gate:NAME', where NAME is one of {}",
                GateId::ALL.map(GateId::name).join(", ")
            )
        };
        if let Some(name) = text.strip_prefix("gate:") {
            let gate = GateId::ALL.into_iter().find(|gate| gate.name() == name.trim());
            return gate.map(Self::Gate).ok_or_else(wrong);
        }
        let (what, bound) = text.split_once('>').ok_or_else(wrong)?;
        let bound = bound.trim();
        let share = || {
            let number = bound.strip_suffix('%')?.trim().parse::<f64>().ok()?;
            (0.0..100.0).contains(&number).then_some(number / 100.0)
        };
        match what.trim() {
            "steal" => share().map(Self::Steal).ok_or_else(wrong),
            "neighbours" => share().map(Self::Neighbours).ok_or_else(wrong),
            "stall" => parse_duration_ns(bound).map(Self::Stall).map_err(|_| wrong()),
            _ => Err(wrong()),
        }
    }

    /// Why a visit under these conditions is left out; nothing when it is kept. A condition that
    /// was not read leaves no visit out.
    pub fn hits(&self, of: &Conditions) -> Option<String> {
        let percent = |share: f64| format!("{self}: it was {:.1} %", share * 100.0);
        match self {
            Self::Steal(most) => of.steal.filter(|share| share > most).map(percent),
            Self::Neighbours(most) => of.neighbours.filter(|share| share > most).map(percent),
            Self::Stall(most) => of
                .stall_ns
                .filter(|stall_ns| stall_ns > most)
                .map(|stall_ns| format!("{self}: it was {}", show_ns(stall_ns as f64))),
            Self::Gate(gate) => of.gates.contains(gate).then(|| format!("{self} is broken")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_written_as_they_are_read() {
        for text in ["steal > 2%", "neighbours > 12.5%", "stall > 50ms", "gate:release"] {
            let rule = Exclusion::parse(text).unwrap();
            assert_eq!(Exclusion::parse(&rule.to_string()), Ok(rule), "{rule}");
        }
        assert_eq!(Exclusion::parse("steal>2 %"), Ok(Exclusion::Steal(0.02)));
        for text in ["steal", "steal > 2", "rate < 5%", "gate:wind", "steal > -1%", ""] {
            let said = Exclusion::parse(text).unwrap_err();
            assert!(said.contains("gate:NAME") && said.contains("release"), "{said}");
        }
    }

    #[test]
    fn what_was_not_read_leaves_nothing_out() {
        let steal = Exclusion::Steal(0.02);
        let of = |steal| Conditions { steal, ..Conditions::default() };
        assert_eq!(steal.hits(&of(None)), None);
        assert_eq!(steal.hits(&of(Some(0.02))), None);
        assert_eq!(steal.hits(&of(Some(0.031))).unwrap(), "steal > 2%: it was 3.1 %");
        let broken = Conditions { gates: vec![GateId::Release], ..Conditions::default() };
        assert!(Exclusion::Gate(GateId::Release).hits(&broken).is_some());
        assert!(Exclusion::Gate(GateId::Window).hits(&broken).is_none());
    }
}
