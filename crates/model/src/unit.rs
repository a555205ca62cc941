//! Units of figures.

use crate::units::{show_bytes, show_count, show_ns};
use serde::{Deserialize, Serialize};

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A number, such as a ratio.
    Number,
    /// Things.
    Count,
    /// A share, 0 to 1.
    Share,
    /// Percent, 0 to 100.
    Percent,
    /// Per second.
    PerSecond,
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    Seconds,
    /// Minutes.
    Minutes,
    /// Clock ticks, whose length is a fact of the host.
    Ticks,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Thousands of cycles per second.
    Khz,
    /// CPUs' worth of time.
    Cpus,
    /// A ratio, shown as the change from 1: 1.03 is +3 %.
    Change,
    /// A percentile q, plotted at `1 / (1 - q)` so that each nine is one step of a log axis.
    Nines,
    /// Powers of seconds and bytes without a name, as in products.
    Other {
        /// Power of seconds.
        seconds: i32,
        /// Power of bytes.
        bytes: i32,
    },
}

impl Unit {
    /// Nanoseconds in one, for units of time whose length is fixed.
    pub fn ns(self) -> Option<u64> {
        match self {
            Self::Ns => Some(1),
            Self::Us => Some(1_000),
            Self::Ms => Some(1_000_000),
            Self::Seconds => Some(1_000_000_000),
            Self::Minutes => Some(60_000_000_000),
            _ => None,
        }
    }

    /// As the record writes it.
    pub fn word(self) -> String {
        let word = serde_json::to_value(self).unwrap_or_default();
        word.as_str().unwrap_or("other").to_string()
    }

    /// Whether it is one of time.
    pub fn is_time(self) -> bool {
        self.ns_of_host(1).is_some()
    }

    /// Nanoseconds in one, for units of time on a host with this clock tick.
    pub fn ns_of_host(self, clock_tick_ns: u64) -> Option<u64> {
        if self == Self::Ticks { Some(clock_tick_ns) } else { self.ns() }
    }

    /// A value with its unit, as people read it.
    pub fn show(self, value: f64) -> String {
        match (self, self.ns()) {
            (_, Some(ns)) => show_ns(value * ns as f64),
            (Self::Bytes, _) => show_bytes(value),
            (Self::BytesPerSecond, _) => format!("{}/s", show_bytes(value)),
            (Self::Khz, _) => format!("{}Hz", show_count(value * 1e3)),
            (Self::PerSecond, _) => format!("{}/s", show_count(value)),
            (Self::Percent, _) if value.fract() == 0.0 => format!("{}%", value + 0.0),
            (Self::Percent, _) => format!("{value:.3}%"),
            _ if value >= 1000.0 || value.fract() == 0.0 => show_count(value),
            _ => format!("{value:.2}"),
        }
    }

    /// How many of the unit of calculations ([`Self::base`]) one of it is, as a power of ten.
    fn scale(self) -> (i32, Self) {
        match self {
            Self::Percent => (-2, Self::Share),
            Self::Ns => (-9, Self::Seconds),
            Self::Us => (-6, Self::Seconds),
            Self::Ms => (-3, Self::Seconds),
            Self::Khz => (3, Self::PerSecond),
            Self::Change => (0, Self::Number),
            other => (0, other),
        }
    }

    /// A value in the unit of calculations: seconds, shares, bytes and their products. It is
    /// divided, not multiplied, so that it is rounded like a literal.
    pub fn to_base(self, value: f64) -> f64 {
        let (power, _) = self.scale();
        if power < 0 { value / 10f64.powi(-power) } else { value * 10f64.powi(power) }
    }

    /// The unit of calculations.
    pub fn base(self) -> Self {
        self.scale().1
    }

    /// Powers of seconds and of bytes.
    fn powers(self) -> (i32, i32) {
        match self.base() {
            Self::PerSecond => (-1, 0),
            Self::Seconds => (1, 0),
            Self::Bytes => (0, 1),
            Self::BytesPerSecond => (-1, 1),
            Self::Other { seconds, bytes } => (seconds, bytes),
            _ => (0, 0),
        }
    }

    fn of(powers: (i32, i32)) -> Self {
        match powers {
            (0, 0) => Self::Number,
            (-1, 0) => Self::PerSecond,
            (1, 0) => Self::Seconds,
            (0, 1) => Self::Bytes,
            (-1, 1) => Self::BytesPerSecond,
            (seconds, bytes) => Self::Other { seconds, bytes },
        }
    }

    /// The unit of a product.
    pub fn times(self, other: Self) -> Self {
        let (one, two) = (self.powers(), other.powers());
        match (one, two) {
            // 2 * a rate is a rate, and 2 * a share is a share.
            (_, (0, 0)) if other == Self::Number => self,
            ((0, 0), _) if self == Self::Number => other,
            _ => Self::of((one.0 + two.0, one.1 + two.1)),
        }
    }

    /// The unit of a quotient.
    pub fn over(self, other: Self) -> Self {
        let (one, two) = (self.powers(), other.powers());
        match other {
            Self::Number => self,
            _ => Self::of((one.0 - two.0, one.1 - two.1)),
        }
    }

    /// Whether figures of both can be compared and added.
    pub fn fits(self, other: Self) -> bool {
        self.powers() == other.powers()
    }

    /// In words, for errors.
    pub fn name(self) -> &'static str {
        match self.base() {
            Self::Count => "a count",
            Self::Share => "a share",
            Self::PerSecond => "a rate",
            Self::Seconds => "a time",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes per second",
            Self::Other { .. } => "a product",
            _ => "a number",
        }
    }
}

/// Units as written after a number, with their factor.
const WRITTEN: [(&str, f64, Unit); 20] = [
    ("", 1.0, Unit::Number),
    ("k", 1e3, Unit::Number),
    ("M", 1e6, Unit::Number),
    ("G", 1e9, Unit::Number),
    ("x", 1.0, Unit::Number),
    ("%", 0.01, Unit::Share),
    ("/s", 1.0, Unit::PerSecond),
    ("k/s", 1e3, Unit::PerSecond),
    ("M/s", 1e6, Unit::PerSecond),
    ("ns", 1e-9, Unit::Seconds),
    ("us", 1e-6, Unit::Seconds),
    ("ms", 1e-3, Unit::Seconds),
    ("s", 1.0, Unit::Seconds),
    ("B", 1.0, Unit::Bytes),
    ("kB", 1e3, Unit::Bytes),
    ("MB", 1e6, Unit::Bytes),
    ("GB", 1e9, Unit::Bytes),
    ("B/s", 1.0, Unit::BytesPerSecond),
    ("kB/s", 1e3, Unit::BytesPerSecond),
    ("MB/s", 1e6, Unit::BytesPerSecond),
];

/// The factor and the unit of a word after a number.
pub fn written(word: &str) -> Option<(f64, Unit)> {
    WRITTEN.iter().find(|(name, ..)| *name == word).map(|(_, factor, unit)| (*factor, *unit))
}

/// All of those words, for errors.
pub fn words() -> String {
    let words = WRITTEN.iter().map(|(name, ..)| *name).filter(|name| !name.is_empty());
    words.collect::<Vec<_>>().join(", ")
}
