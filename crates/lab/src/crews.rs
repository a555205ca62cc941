//! Which crew does what in a level: one sends requests, and in a fan-out another one listens.
//!
//! A level of a fan-out counts subscribers. Its writers are ordinary workers, with a level of their
//! own.

use model::load::{Arrival, Level, Trial};

/// A level, and what each crew does in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Crews {
    /// The level of the trial.
    pub level: Level,
    /// For the workers that send requests: the writers of a fan-out, else the level itself.
    pub asking: Level,
    /// For the workers that listen, in a fan-out: none of their requests is ever due.
    pub listening: Option<Level>,
}

impl Crews {
    /// The crews of one level.
    pub fn of(trial: &Trial, level: &Level) -> Self {
        let level = level.clone();
        let Some(fanout) = &trial.fanout else {
            return Self { asking: level.clone(), listening: None, level };
        };
        let asking = Level { connections: fanout.writers, spare: 0, ..level.clone() };
        let listening = Level { arrival: Arrival::Closed, depth: 1, ..level.clone() };
        Self { level, asking, listening: Some(listening) }
    }

    /// The crews of every level.
    pub fn of_all(trial: &Trial) -> Vec<Self> {
        trial.levels.iter().map(|level| Self::of(trial, level)).collect()
    }

    /// The level with the connections of both crews, where only connections count.
    pub fn both(&self) -> Level {
        let Some(listening) = &self.listening else { return self.level.clone() };
        let spare = listening.spare.saturating_add(self.asking.connections);
        Level { spare, ..listening.clone() }
    }

    /// Connections that both crews open at the start.
    pub fn connections(&self) -> u64 {
        let listening = self.listening.as_ref().map_or(0, |level| level.connections);
        u64::from(self.asking.connections) + u64::from(listening)
    }
}

/// What the workers that send requests must have room for, over all levels of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrewSize {
    /// Connections open at once; one if no worker sends anything.
    pub connections_max: u32,
    /// Requests in flight on each.
    pub depth_max: u32,
    /// Worker threads: each has at least one connection.
    pub threads: u32,
}

impl CrewSize {
    /// The size for a trial.
    pub fn of(trial: &Trial) -> Self {
        let crews = Crews::of_all(trial);
        let connections = crews.iter().map(|crews| crews.asking.connections_max());
        let connections_max = connections.max().unwrap_or(1).max(1);
        Self {
            connections_max,
            depth_max: trial.levels.iter().map(|level| level.depth).max().unwrap_or(1),
            threads: trial.threads.min(connections_max),
        }
    }
}

/// Connections and worker threads of the crew whose workers hold the most connections each.
pub fn fullest(trial: &Trial) -> (u32, u32) {
    let crews = Crews::of_all(trial);
    let most = |of: fn(&Crews) -> u32| crews.iter().map(of).max().unwrap_or(1);
    let asking = most(|crews| crews.asking.connections_max());
    let listening = most(|crews| crews.listening.as_ref().map_or(1, Level::connections_max));
    fuller([asking, listening], trial.threads)
}

fn fuller(crews: [u32; 2], threads: u32) -> (u32, u32) {
    let size = |connections: u32| (connections.max(1), threads.clamp(1, connections.max(1)));
    let [asking, listening] = crews.map(size);
    let each = |(connections, threads): (u32, u32)| connections.div_ceil(threads);
    if each(asking) < each(listening) { listening } else { asking }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fuller_crew_is_that_with_more_connections_for_each_worker() {
        assert_eq!(fuller([1, 100_000], 8), (100_000, 8), "one writer");
        assert_eq!(fuller([50, 1], 2), (50, 2), "no fan-out");
        assert_eq!(fuller([0, 0], 4), (1, 1));
    }
}
