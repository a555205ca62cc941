//! The walls: everything that can limit a load test, by the ids used in evidence and docs.
//!
//! The letter is the side: M measurement, C client, N path, K server kernel, S server CPU,
//! A server application. The list is closed; a version of ceiling says which of them it can name
//! and lists the others as not tested.

use serde::{Deserialize, Serialize};
use std::fmt;

crate::named! {
    /// On which side of the wire a wall is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Side {
        /// The number is not a rate of completed work.
        Measurement = "measurement",
        /// The generator or its host.
        Client = "client",
        /// Between the hosts.
        Path = "path",
        /// The server, its kernel or its application.
        Server = "server",
        /// No wall was reached.
        None = "none",
        /// Evidence does not decide.
        Unknown = "unknown",
    }
    /// The word of the record.
    fn word, parse;
}

/// A wall by id, for example `S3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallId(&'static str);

macro_rules! walls {
    ($($id:ident $name:literal: $reason:literal => $fix:literal),* $(,)?) => {
        impl $crate::wall::WallId {
            $(#[doc = $name] pub const $id: Self = Self(stringify!($id));)*
            /// Every wall, in the order of the sides.
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self::$id, $name)),*];

            /// What happens at the wall and what moves it, in the order of [`WallId::ALL`].
            pub(super) const PLAIN: &'static [(&'static str, &'static str)] =
                &[$(($reason, $fix)),*];
        }
    };
}

mod list;

impl WallId {
    /// The id as written.
    pub fn id(self) -> &'static str {
        self.0
    }

    /// What the wall is, as a noun phrase.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(wall, _)| *wall == self).map_or("", |(_, name)| name)
    }

    /// What happens at the wall, in plain words.
    pub fn reason(self) -> &'static str {
        self.plain().0
    }

    /// What moves the wall, in plain words.
    pub fn fix(self) -> &'static str {
        self.plain().1
    }

    fn plain(self) -> (&'static str, &'static str) {
        let at = Self::ALL.iter().position(|(wall, _)| *wall == self);
        at.map_or(("", ""), |at| Self::PLAIN[at])
    }

    /// Its side.
    pub fn side(self) -> Side {
        match self.0.as_bytes()[0] {
            b'M' => Side::Measurement,
            b'C' => Side::Client,
            b'N' => Side::Path,
            _ => Side::Server,
        }
    }

    /// The wall with this id.
    pub fn parse(id: &str) -> Option<Self> {
        Self::ALL.iter().map(|(wall, _)| *wall).find(|wall| wall.0 == id)
    }
}

impl fmt::Display for WallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl Serialize for WallId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for WallId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = String::deserialize(deserializer)?;
        Self::parse(&id).ok_or_else(|| serde::de::Error::custom(format!("unknown wall '{id}'")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wall_is_found_by_its_id() {
        for (wall, name) in WallId::ALL {
            assert_eq!(WallId::parse(wall.id()), Some(*wall));
            assert_eq!(wall.name(), *name);
            assert!(!wall.reason().is_empty() && !wall.fix().is_empty(), "{wall}");
            assert!(!wall.reason().ends_with('.') && !wall.fix().ends_with('.'), "{wall}");
        }
        assert!(WallId::A7.fix().starts_with("set TCP_NODELAY in the server"));
        assert_eq!(WallId::parse("Z9"), None);
        assert_eq!(WallId::S3.side(), Side::Server);
        assert_eq!(WallId::M1.side(), Side::Measurement);
    }
}
