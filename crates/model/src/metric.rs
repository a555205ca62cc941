//! What the figures of a source are: declared in the file that reads it, and kept with its
//! readings.
//!
//! A declaration is sent and stored like a reading. So a page, an exporter and a later version can
//! show a source without a table of their own, even one that they do not know.

mod samples;

pub use samples::Sample;

use crate::unit::Unit;
use serde::{Deserialize, Serialize};

/// How values of a figure are compared over time and added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Only grows; the increase counts.
    Counter,
    /// A counter of 32 bits in the kernel, where it wraps.
    Counter32,
    /// Mostly grows; the kernel does not tell which of the names are states.
    Untyped,
    /// A state that is added up over rows; its mean over time counts.
    Sum,
    /// A state that is not added up; its mean counts.
    Mean,
    /// A state whose largest value counts.
    Max,
}

impl Kind {
    /// Whether the first and the last reading of a window are enough.
    pub fn is_difference(self) -> bool {
        matches!(self, Self::Counter | Self::Counter32 | Self::Untyped)
    }

    /// What is shown for it, in one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Counter | Self::Counter32 | Self::Untyped => "growth",
            Self::Sum | Self::Mean => "mean",
            Self::Max => "most",
        }
    }
}

/// One figure of a source, or all whose names follow a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// Name of the field. Words in braces stand for any text, and are labels with that name:
    /// `{resource}.{kind}`. `#` is the number of rows itself.
    pub name: String,
    /// How it is compared and added up.
    pub kind: Kind,
    /// Its unit.
    pub unit: Unit,
    /// What it means, in one sentence.
    pub help: String,
}

impl Metric {
    /// Its name without labels and unit; empty when a label is all of it.
    pub fn stem(&self) -> String {
        let (mut stem, mut depth) = (String::new(), 0);
        for letter in self.name.chars() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                '#' => stem.push_str("count"),
                _ if depth == 0 && letter.is_ascii_alphanumeric() => stem.push(letter),
                _ if depth == 0 => stem.push('_'),
                _ => {}
            }
        }
        let suffixes: &[&str] = match self.unit {
            Unit::Bytes => &["bytes"],
            Unit::Khz => &["khz"],
            unit if unit.is_time() => &["ns", "us", "ms", "seconds"],
            _ => &[],
        };
        let stem = stem.trim_matches('_');
        let short = suffixes.iter().find_map(|suffix| stem.strip_suffix(suffix)).unwrap_or(stem);
        short.trim_matches('_').to_string()
    }

    /// The labels of a field that this metric describes, by name; nothing when it describes another
    /// field.
    fn labels_of(&self, field: &str) -> Option<Vec<(String, String)>> {
        if field == "#" || self.name == "#" {
            return (self.name == field).then(Vec::new);
        }
        let mut labels = Vec::new();
        let (mut pattern, mut rest) = (self.name.as_str(), field);
        while let Some((literal, (label, behind))) =
            pattern.split_once('{').and_then(|(head, tail)| Some((head, tail.split_once('}')?)))
        {
            rest = rest.strip_prefix(literal)?;
            let next = behind.split('{').next().unwrap_or_default();
            let end = match next {
                "" => rest.len(),
                _ if next.len() == behind.len() => rest.len().checked_sub(next.len())?,
                _ => rest.find(next)?,
            };
            labels.push((label.to_string(), rest.get(..end)?.to_string()));
            (pattern, rest) = (behind, &rest[end..]);
        }
        (pattern == rest).then_some(labels)
    }
}

/// How many rows a source has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rows {
    /// Few enough for a time series each.
    #[default]
    Few,
    /// Thousands that come and go.
    Many,
}

/// What a source reads, and the figures in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declaration {
    /// Its name: that of its readings, as [`Data::source`] returns it.
    pub name: String,
    /// What it reads.
    pub reads: String,
    /// Fields that tell rows apart and are shown with each figure.
    pub each: Vec<String>,
    /// Fields that tell rows apart and over which a page adds up.
    pub over: Vec<String>,
    /// Whether an exporter adds up over them as well, because rows come and go by the thousand.
    pub rows: Rows,
    /// What an exporter calls its figures, when not by its name.
    pub exposed_as: Option<String>,
    /// The figures. Where several describe a field, the first counts.
    pub metrics: Vec<Metric>,
}

impl Declaration {
    /// A source without figures yet.
    pub fn new(name: &str, reads: &str) -> Self {
        Self { name: name.to_string(), reads: reads.to_string(), ..Self::default() }
    }

    /// Names a field that tells rows apart.
    pub fn each(mut self, field: &str) -> Self {
        self.each.push(field.to_string());
        self
    }

    /// Names a field that tells apart rows that are added up.
    pub fn over(mut self, field: &str) -> Self {
        self.over.push(field.to_string());
        self
    }

    /// States that its rows come and go by the thousand.
    pub fn many(mut self) -> Self {
        self.rows = Rows::Many;
        self
    }

    /// Gives it another name at an exporter.
    pub fn exposed_as(mut self, name: &str) -> Self {
        self.exposed_as = Some(name.to_string());
        self
    }

    /// Adds a figure that only grows.
    pub fn counter(self, name: &str, unit: Unit, help: &str) -> Self {
        self.with(Kind::Counter, name, unit, help)
    }

    /// Adds a figure that only grows and wraps at 32 bits.
    pub fn counter32(self, name: &str, unit: Unit, help: &str) -> Self {
        self.with(Kind::Counter32, name, unit, help)
    }

    /// Adds figures for which the kernel does not tell whether they only grow.
    pub fn untyped(self, name: &str, unit: Unit, help: &str) -> Self {
        self.with(Kind::Untyped, name, unit, help)
    }

    /// Adds a state that adds up over rows.
    pub fn sum(self, name: &str, unit: Unit, help: &str) -> Self {
        self.with(Kind::Sum, name, unit, help)
    }

    /// Adds a state whose mean counts.
    pub fn mean(self, name: &str, unit: Unit, help: &str) -> Self {
        self.with(Kind::Mean, name, unit, help)
    }

    /// Adds a state whose largest value counts.
    pub fn max(self, name: &str, unit: Unit, help: &str) -> Self {
        self.with(Kind::Max, name, unit, help)
    }

    fn with(mut self, kind: Kind, name: &str, unit: Unit, help: &str) -> Self {
        let (name, help) = (name.to_string(), help.to_string());
        self.metrics.push(Metric { name, kind, unit, help });
        self
    }
}
