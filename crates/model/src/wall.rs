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
    ($($id:ident $name:literal),* $(,)?) => {
        impl WallId {
            $(#[doc = $name] pub const $id: WallId = WallId(stringify!($id));)*
            /// Every wall, in the order of the sides.
            pub const ALL: &'static [(WallId, &'static str)] = &[$((WallId::$id, $name)),*];
        }
    };
}

walls! {
    M1 "invalid measurement", M2 "offered load is the limit", M3 "not stationary",
    M4 "responses are not what was asked for",
    C1 "client CPUs", C2 "one client thread", C3 "client concurrency", C4 "client late",
    C5 "client link bandwidth", C6 "client packet rate", C7 "client ports",
    C8 "client file descriptors", C9 "client reads slowly", C10 "client receive softirq",
    N1 "round trip", N2 "loss or congestion window", N3 "single-flow cap",
    N4 "provider allowance", N5 "between the hosts",
    K1 "accept queue", K2 "SYN queue", K3 "server file descriptors",
    K4 "receive softirq on one CPU", K5 "per-CPU backlog", K6 "softirq budget", K7 "NIC ring",
    K8 "server link bandwidth", K9 "server packet rate", K10 "connection tracking table",
    K11 "socket memory", K12 "socket buffer", K13 "TIME_WAIT or orphan cap",
    K14 "uneven listeners or queues",
    S1 "server CPUs", S2 "one server thread", S3 "server CPU quota", S4 "server CPU affinity",
    S5 "CPU taken by the hypervisor", S6 "a neighbour on the server's CPUs",
    S7 "kernel or user spin", S8 "memory bandwidth, cache or NUMA",
    S9 "CPU frequency or idle states",
    A1 "a lock in the application", A2 "a pool of workers that wait", A3 "a downstream service",
    A4 "a limiter in the application", A5 "pauses of the whole application", A6 "storage",
    A7 "protocol stall", A8 "connection churn", A9 "memory reclaim", A10 "logging or tracing",
}

impl WallId {
    /// The id as written.
    pub fn id(self) -> &'static str {
        self.0
    }

    /// What the wall is, as a noun phrase.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(wall, _)| *wall == self).map_or("", |(_, name)| name)
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
        assert_eq!(WallId::ALL.len(), 52);
        for (wall, name) in WallId::ALL {
            assert_eq!(WallId::parse(wall.id()), Some(*wall));
            assert_eq!(wall.name(), *name);
        }
        assert_eq!(WallId::parse("Z9"), None);
        assert_eq!(WallId::S3.side(), Side::Server);
        assert_eq!(WallId::M1.side(), Side::Measurement);
    }
}
