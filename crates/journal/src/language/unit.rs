//! Units of figures.

use serde::Serialize;

/// The unit of a figure. Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A number, such as a ratio.
    Number,
    /// A count.
    Count,
    /// A share, 0 to 1.
    Share,
    /// A rate, per second.
    PerSecond,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Powers of seconds and bytes without a name, as in products.
    Other {
        /// Power of seconds.
        seconds: i32,
        /// Power of bytes.
        bytes: i32,
    },
}

impl Unit {
    /// Powers of seconds and of bytes.
    fn powers(self) -> (i32, i32) {
        match self {
            Self::Number | Self::Count | Self::Share => (0, 0),
            Self::PerSecond => (-1, 0),
            Self::Seconds => (1, 0),
            Self::Bytes => (0, 1),
            Self::BytesPerSecond => (-1, 1),
            Self::Other { seconds, bytes } => (seconds, bytes),
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
        match self {
            Self::Number => "a number",
            Self::Count => "a count",
            Self::Share => "a share",
            Self::PerSecond => "a rate",
            Self::Seconds => "a time",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes per second",
            Self::Other { .. } => "a product",
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
