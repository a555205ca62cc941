//! The day of an entry.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A day. It is written as `2026-11-23`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date(jiff::civil::Date);

impl Date {
    /// Today, UTC.
    pub fn today() -> Self {
        Self(jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date())
    }

    /// Reads `2026-11-23`.
    pub fn parse(text: &str) -> Option<Self> {
        let is_whole = text.len() == "2026-11-23".len();
        text.parse().ok().filter(|_| is_whole).map(Self)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_string())
    }
}

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string())
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = toml::Value::deserialize(deserializer)?;
        let text = match &written {
            toml::Value::Datetime(day) => day.to_string(),
            other => other.to_string(),
        };
        let wrong = || format!("{text} is not a day; for example date = 2026-11-23");
        Self::parse(&text).ok_or_else(|| D::Error::custom(wrong()))
    }
}
