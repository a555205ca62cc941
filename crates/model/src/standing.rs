//! How far a figure holds.
//!
//! In: what the checks of a point found. Out: for each figure that a person reads, whether it is
//! sound, only bounded, or not known. Never: one word for a whole run. A check of the CPU states of
//! a host says nothing about a rate.

use crate::figure::Figure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// How far one figure holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Standing {
    /// It is what it says.
    Sound,
    /// The true value lies between two bounds.
    Bounded {
        /// Lower bound, in the unit of the figure: nanoseconds or per second.
        low: f64,
        /// Upper bound; `null` when the figure is only known from below.
        high: Option<f64>,
        /// What made it so, in one sentence.
        by: String,
    },
    /// Nothing is known.
    NotKnown {
        /// Why, in one sentence.
        why: String,
    },
}

impl Standing {
    /// Whether the figure is what it says.
    pub fn is_sound(&self) -> bool {
        *self == Self::Sound
    }

    /// Whether nothing is known of it.
    pub fn is_not_known(&self) -> bool {
        matches!(self, Self::NotKnown { .. })
    }

    /// The reason why it is not sound.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Sound => None,
            Self::Bounded { by, .. } => Some(by),
            Self::NotKnown { why } => Some(why),
        }
    }

    /// Why nothing is known, if so.
    pub fn reason_unknown(&self) -> Option<String> {
        match self {
            Self::NotKnown { why } => Some(why.clone()),
            Self::Sound | Self::Bounded { .. } => None,
        }
    }

    /// The result of two checks: what is not known stays so, and bounds of different
    /// causes add up to the wider interval, because both causes may have acted.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::NotKnown { why }, _) | (_, Self::NotKnown { why }) => Self::NotKnown { why },
            (Self::Sound, other) => other,
            (one, Self::Sound) => one,
            (
                Self::Bounded { low, high, by },
                Self::Bounded { low: other_low, high: other_high, by: other_by },
            ) => Self::Bounded {
                low: low.min(other_low),
                high: high.zip(other_high).map(|(one, other)| one.max(other)),
                by: format!("{by}; {other_by}"),
            },
        }
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sound => "sound",
            Self::Bounded { .. } => "bounded",
            Self::NotKnown { .. } => "not known",
        })
    }
}

/// The standing of every figure that is not sound. A figure that is absent is sound.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Standings(BTreeMap<Figure, Standing>);

impl Standings {
    /// The standing of a figure.
    pub fn of(&self, figure: Figure) -> &Standing {
        let standing = self.0.get(&figure.stands_with()).unwrap_or(&Standing::Sound);
        match figure {
            // Bounds of the rate of calls are none of that of their messages.
            Figure::Messages if !standing.is_not_known() => &Standing::Sound,
            _ => standing,
        }
    }

    /// Adds the result of one check for a figure.
    pub fn add(&mut self, figure: Figure, standing: Standing) {
        if standing.is_sound() {
            return;
        }
        let before = self.0.remove(&figure).unwrap_or(Standing::Sound);
        self.0.insert(figure, before.and(standing));
    }

    /// Figures that are not sound, in the order of the record.
    pub fn struck(&self) -> impl Iterator<Item = (Figure, &Standing)> {
        self.0.iter().map(|(figure, standing)| (*figure, standing))
    }

    /// Whether every figure is sound.
    pub fn is_sound(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounded(low: f64, high: Option<f64>) -> Standing {
        Standing::Bounded { low, high, by: "a test".to_string() }
    }

    #[test]
    fn what_is_not_known_stays_so_and_bounds_widen() {
        let unknown = || Standing::NotKnown { why: "lost".to_string() };
        assert!(bounded(1.0, Some(2.0)).and(unknown()).is_not_known());
        assert_eq!(Standing::Sound.and(bounded(1.0, None)), bounded(1.0, None));
        let both = bounded(1.0, Some(2.0)).and(bounded(1.5, Some(3.0)));
        assert!(matches!(both, Standing::Bounded { low: 1.0, high: Some(3.0), .. }), "{both:?}");
        let open = bounded(1.0, Some(2.0)).and(bounded(1.5, None));
        assert!(matches!(open, Standing::Bounded { low: 1.0, high: None, .. }), "{open:?}");
    }

    #[test]
    fn a_record_without_standings_is_sound_and_one_with_them_is_read_back() {
        let mut standings = Standings::default();
        standings.add(Figure::Rate, Standing::Sound);
        assert!(standings.is_sound());
        standings.add(Figure::P99, bounded(1.0, Some(2.0)));
        let text = serde_json::to_string(&standings).unwrap();
        assert!(text.starts_with(r#"{"p99":{"is":"bounded","low":1.0"#), "{text}");
        assert_eq!(serde_json::from_str::<Standings>(&text).unwrap(), standings);
        assert_eq!(standings.of(Figure::P50), &Standing::Sound);
    }

    #[test]
    fn messages_are_not_known_where_their_calls_are_not() {
        let mut standings = Standings::default();
        standings.add(Figure::Rate, bounded(1.0, Some(2.0)));
        assert!(standings.of(Figure::Messages).is_sound());
        standings.add(Figure::Rate, Standing::NotKnown { why: "lost".to_string() });
        assert!(standings.of(Figure::Messages).is_not_known());
    }
}
