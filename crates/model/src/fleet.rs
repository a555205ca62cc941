//! Many generators, one load: how it is dealt out among them, and how each ended.
//!
//! In: hosts with workers and weights. Out: [`Share`], which part of a load one host carries, and
//! [`FleetRecord`], the account of every agent of a run. Never: how orders travel.

use crate::facts::ClockOffset;
use crate::verdict::{Confidence, GateId, Named};
use crate::wall::{Side, WallId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most workers of one load.
const WORKERS_MAX: u64 = 1 << 16;
/// Largest weight of a worker.
const WEIGHT_MAX: u32 = 1 << 10;
/// Most places of one round in which numbers are dealt out.
const PLACES_MAX: u64 = 1 << 20;

/// The workers of one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Worker threads, at least 1.
    pub workers: u32,
    /// Numbers that each worker takes in a round, at least 1.
    pub weight: u32,
}

/// The parts with the smallest equivalent weights.
pub fn lowest_terms(parts: &[Part]) -> Vec<Part> {
    let common = parts.iter().fold(0, |common, part| greatest_divisor(common, part.weight));
    parts.iter().map(|part| Part { weight: part.weight / common.max(1), ..*part }).collect()
}

fn greatest_divisor(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { greatest_divisor(other, one % other) }
}

/// Which part of a whole load the workers of one host carry.
///
/// Requests, connections and budgets have numbers from 0, which are dealt out to all workers of all
/// hosts in rounds. How they are dealt follows from the parts alone, so every host can compute it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ShareKeys", into = "ShareKeys")]
pub struct Share {
    parts: Vec<Part>,
    mine: usize,
}

/// A share as it is stored.
#[derive(Serialize, Deserialize)]
struct ShareKeys {
    parts: Vec<Part>,
    mine: usize,
}

/// Why parts do not make shares of a load.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// There are no parts, or none for this host.
    #[error("host {mine} of {parts} has no part")]
    NoPart {
        /// The index of the host.
        mine: usize,
        /// Number of parts.
        parts: usize,
    },
    /// A host without workers, or workers without weight or with too much.
    #[error("a part needs a worker, and a weight from 1 to {WEIGHT_MAX}")]
    Empty,
    /// More than can be dealt out.
    #[error("{workers} workers with {places} places; at most {WORKERS_MAX} and {PLACES_MAX}")]
    TooMany {
        /// Workers of all parts.
        workers: u64,
        /// Sum of their weights.
        places: u64,
    },
}

impl Share {
    /// The whole load on one host with this many workers, at least 1.
    pub fn alone(workers: u32) -> Self {
        Self { parts: vec![Part { workers, weight: 1 }], mine: 0 }
    }

    /// The share of part `mine`.
    pub fn of(parts: Vec<Part>, mine: usize) -> Result<Self, ShareError> {
        if mine >= parts.len() {
            return Err(ShareError::NoPart { mine, parts: parts.len() });
        }
        if parts.iter().any(|part| part.workers == 0 || !(1..=WEIGHT_MAX).contains(&part.weight)) {
            return Err(ShareError::Empty);
        }
        let (workers, places) = sums(&parts);
        if workers > WORKERS_MAX || places > PLACES_MAX {
            return Err(ShareError::TooMany { workers, places });
        }
        Ok(Self { parts, mine })
    }

    /// The shares of all parts.
    pub fn all(parts: &[Part]) -> Result<Vec<Self>, ShareError> {
        (0..parts.len()).map(|mine| Self::of(parts.to_vec(), mine)).collect()
    }

    /// Workers here.
    pub fn workers(&self) -> u32 {
        self.parts[self.mine].workers
    }

    /// The number of the first worker here among all.
    pub fn first_worker(&self) -> u32 {
        self.parts[..self.mine].iter().map(|part| part.workers).sum()
    }

    /// All parts, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Index of the part of this host.
    pub fn mine(&self) -> usize {
        self.mine
    }

    /// The share of the load that this host carries, 0 to 1.
    pub fn fraction(&self) -> f64 {
        let Part { workers, weight } = self.parts[self.mine];
        (u64::from(workers) * u64::from(weight)) as f64 / sums(&self.parts).1 as f64
    }
}

impl TryFrom<ShareKeys> for Share {
    type Error = ShareError;

    fn try_from(ShareKeys { parts, mine }: ShareKeys) -> Result<Self, ShareError> {
        Self::of(parts, mine)
    }
}

impl From<Share> for ShareKeys {
    fn from(Share { parts, mine }: Share) -> Self {
        Self { parts, mine }
    }
}

/// Workers, and the sum of their weights.
fn sums(parts: &[Part]) -> (u64, u64) {
    let places = |part: &Part| u64::from(part.workers) * u64::from(part.weight);
    let workers = parts.iter().map(|part| u64::from(part.workers)).sum();
    (workers, parts.iter().map(places).sum())
}

/// The shares of one host, for each kind of worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shares {
    /// Share of the workers that send requests.
    pub asking: Share,
    /// Share of the workers that listen, in a fan-out.
    pub listening: Option<Share>,
}

/// Fits parts to a load whose largest level has `connections_max` connections, so that every worker
/// has one: weights become smaller, and then there are fewer workers. A part without workers has 0
/// of them and must be left out.
pub fn fit(mut parts: Vec<Part>, connections_max: u32) -> Vec<Part> {
    let connections = u64::from(connections_max.max(1));
    let (_, places) = sums(&parts);
    if places > connections {
        for part in &mut parts {
            let weight = u64::from(part.weight) * connections / places;
            part.weight = (weight as u32).max(1);
        }
    }
    if sums(&parts).1 > connections {
        parts.iter_mut().for_each(|part| part.weight = 1);
    }
    let (mut left, wanted) = (connections, parts.clone());
    parts.iter_mut().for_each(|part| part.workers = 0);
    // In turn: every host gets a worker before any host gets two.
    while left > 0 && parts.iter().zip(&wanted).any(|(part, most)| part.workers < most.workers) {
        for (part, most) in parts.iter_mut().zip(&wanted) {
            if left >= u64::from(part.weight) && part.workers < most.workers {
                part.workers += 1;
                left -= u64::from(part.weight);
            }
        }
        let is_tight = |(part, most): (&Part, &Part)| {
            part.workers < most.workers && u64::from(part.weight) <= left
        };
        if !parts.iter().zip(&wanted).any(is_tight) {
            break;
        }
    }
    parts
}

crate::named! {
    /// How the part of an agent in a run ended.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum AgentEnd {
        /// It did its part and reported it.
        #[default]
        Complete = "complete",
        /// It did its part, and all its counts arrived, but not its own report: what its host did
        /// and whether its checks passed is not known.
        NoReport = "no report",
        /// It was cut off for a while, and its measurements arrived afterwards.
        Late = "late",
        /// It was cut off and stopped its load by itself; its measurements until then arrived
        /// afterwards.
        CutOff = "cut off",
        /// It never came back: what it had reported until then counts.
        Lost = "lost",
    }
    /// The word in tables.
    fn word;
}

/// The host of an agent, in short.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentHost {
    /// Its name.
    pub hostname: String,
    /// Release of its kernel.
    pub kernel: String,
    /// CPUs that the agent may use.
    pub cpus: u32,
    /// Memory, bytes; absent when not read.
    pub memory_bytes: Option<u64>,
}

/// What one agent did in one point. `planned = sent + unsent + unaccounted` and
/// `sent = completed + failed + unanswered`, exactly. On a schedule of devices, connections are
/// planned: `planned = begun + unsent + unaccounted` of its [`AgentStarts`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentPoint {
    /// Its name in the fleet.
    pub agent: String,
    /// Its part of the schedule, or of a number of requests.
    pub planned: Option<u64>,
    /// Passed to the kernel.
    pub sent: u64,
    /// Had a good response.
    pub completed: u64,
    /// Had another response, or failed.
    pub failed: u64,
    /// Without a response when the drain ended, or in flight at the last report of the agent.
    pub unanswered: u64,
    /// Due and never sent.
    pub unsent: u64,
    /// Due, but it is not known whether they were sent: the agent stopped reporting.
    pub unaccounted: u64,
    /// Its connections that were due; only where devices start on a schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<AgentStarts>,
    /// Good responses that arrived in the window, per second of it; absent when not reported.
    pub rate: Option<f64>,
    /// 99th percentile of the generator delay, nanoseconds; open loop only.
    pub generator_delay_p99_ns: Option<u64>,
    /// Share of its CPUs that its process used, 0 to 1; absent when not reported.
    pub cpu_busy: Option<f64>,
    /// Share of its time in which the busiest of its workers had work, 0 to 1; absent when not
    /// reported.
    pub worker_busy: Option<f64>,
    /// How far its clock may have been off from that of the controller, nanoseconds.
    pub clock_error_ns: u64,
    /// How far the load of the agent got.
    pub ended: AgentEnd,
    /// Its gates that failed.
    pub broken: Vec<GateId>,
    /// What limited it, as far as it can tell; absent when it reported nothing.
    pub wall: Option<Named>,
    /// The side of that wall; absent when it reported none.
    pub side: Option<Side>,
    /// How sure that is.
    pub confidence: Option<Confidence>,
}

/// Connections of one agent that were due in one point.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentStarts {
    /// Attempts that were started.
    pub begun: u64,
    /// Due and never started.
    pub unsent: u64,
}

impl AgentPoint {
    /// Requests that were due or sent; connections where those were due.
    pub fn due(&self) -> u64 {
        let requests = (self.sent, self.unsent);
        let (begun, unsent) = self.starts.map_or(requests, |starts| (starts.begun, starts.unsent));
        begun + unsent + self.unaccounted
    }

    /// The wall, when it is on the generator's side. The table of connections (K10) may be that of
    /// either host.
    pub fn own_wall(&self) -> Option<WallId> {
        match self.wall? {
            Named::Wall(wall) if self.side.unwrap_or(wall.side()) == Side::Client => Some(wall),
            _ => None,
        }
    }

    /// The counts of several agents added up; the other figures stay at their defaults.
    pub fn sum<'a>(points: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for point in points {
            let planned = sum.planned.into_iter().chain(point.planned);
            sum.planned = planned.reduce(|one, two| one + two);
            sum.sent += point.sent;
            sum.completed += point.completed;
            sum.failed += point.failed;
            sum.unanswered += point.unanswered;
            sum.unsent += point.unsent;
            sum.unaccounted += point.unaccounted;
            if let Some(AgentStarts { begun, unsent }) = point.starts {
                let starts = sum.starts.get_or_insert_default();
                starts.begun += begun;
                starts.unsent += unsent;
            }
        }
        sum
    }
}

/// One agent of a fleet, and how its part in a run ended. What it did is in each point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// Its name in the fleet.
    pub name: String,
    /// Its labels, `key=value`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Its host.
    pub host: AgentHost,
    /// Version of ceiling there.
    pub version: String,
    /// Its workers, and the numbers that each takes of a round.
    pub part: Part,
    /// Requests per second that it can send, as it measured or as its user stated; its part follows
    /// this figure when all agents reported theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<f64>,
    /// Its clock against that of the controller.
    pub clock: ClockOffset,
    /// How it ended.
    pub ended: AgentEnd,
    /// Why it ended so, when it did not end well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Its notices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

/// The agents of a run and how each ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetRecord {
    /// Name of the fleet.
    pub name: String,
    /// Its agents, in the order in which the load was dealt out.
    pub agents: Vec<AgentRecord>,
}

/// What the controller of a fleet reports at the end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FleetAccount {
    /// The agents.
    pub record: FleetRecord,
    /// What each of them did, by the number of the visit, from 1.
    pub visits: BTreeMap<u32, Vec<AgentPoint>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(workers: u32, weight: u32) -> Part {
        Part { workers, weight }
    }

    #[test]
    fn a_share_says_which_workers_are_here() {
        let shares = Share::all(&[part(2, 3), part(4, 1)]).unwrap();
        assert_eq!((shares[0].workers(), shares[0].first_worker()), (2, 0));
        assert_eq!((shares[1].workers(), shares[1].first_worker()), (4, 2));
        assert!((shares[0].fraction() - 0.6).abs() < 1e-12);
        let text = serde_json::to_string(&shares[1]).unwrap();
        assert_eq!(serde_json::from_str::<Share>(&text).unwrap(), shares[1]);
    }

    #[test]
    fn what_cannot_be_dealt_out_is_refused() {
        assert!(matches!(Share::of(vec![part(1, 1)], 1), Err(ShareError::NoPart { .. })));
        assert_eq!(Share::of(vec![part(0, 1)], 0), Err(ShareError::Empty));
        assert_eq!(Share::of(vec![part(1, 0)], 0), Err(ShareError::Empty));
        assert!(matches!(Share::of(vec![part(70_000, 1)], 0), Err(ShareError::TooMany { .. })));
        assert!(serde_json::from_str::<Share>(r#"{"parts":[],"mine":0}"#).is_err());
    }

    #[test]
    fn no_worker_is_without_a_connection() {
        let fitted = |parts: &[Part], connections| fit(parts.to_vec(), connections);
        assert_eq!(fitted(&[part(2, 3), part(2, 1)], 100), [part(2, 3), part(2, 1)]);
        assert_eq!(fitted(&[part(4, 20), part(4, 10)], 60), [part(4, 10), part(4, 5)]);
        assert_eq!(fitted(&[part(4, 3), part(4, 1)], 8), [part(4, 1), part(4, 1)]);
        assert_eq!(fitted(&[part(4, 1), part(4, 1)], 3), [part(2, 1), part(1, 1)]);
        assert_eq!(fitted(&[part(4, 1), part(4, 1)], 1), [part(1, 1), part(0, 1)]);
    }

    #[test]
    fn counts_of_agents_add_up() {
        let one = AgentPoint { planned: Some(5), sent: 3, unsent: 2, ..AgentPoint::default() };
        let other = AgentPoint { planned: Some(4), sent: 1, unaccounted: 3, ..one.clone() };
        let sum = AgentPoint::sum([&one, &other]);
        assert_eq!((sum.planned, sum.sent, sum.unsent, sum.unaccounted), (Some(9), 4, 4, 3));
        assert_eq!((one.due(), sum.due()), (5, 11));
        let starts = Some(AgentStarts { begun: 7, unsent: 1 });
        let devices = AgentPoint { starts, ..other.clone() };
        let sum = AgentPoint::sum([&devices, &devices]);
        assert_eq!((sum.starts, sum.due()), (Some(AgentStarts { begun: 14, unsent: 2 }), 22));
    }
}
