//! Which part of a load an agent has.
//!
//! Every worker of the fleet has a weight. An agent is told the weights of all workers and which
//! of them are its own: how requests, connections and budgets are divided follows from that alone,
//! so that all agents divide alike.

use serde::{Deserialize, Serialize};

/// Workers of a fleet.
pub const WORKERS_MAX: usize = 1 << 16;
/// The weight of one worker.
pub const WEIGHT_MAX: u32 = 1 << 10;

/// An agent's workers among all workers of the fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Weights of all workers of the fleet, in one order for all agents; each from 1 to
    /// [`WEIGHT_MAX`].
    pub weights: Vec<u32>,
    /// The first worker of this agent.
    pub first: u32,
    /// How many there are.
    pub workers: u32,
}

impl Share {
    /// The only worker of a fleet of one.
    pub fn whole() -> Self {
        Self { weights: vec![1], first: 0, workers: 1 }
    }

    /// The shares of agents with so many workers, each of the given weight, in that order.
    pub fn of_agents(agents: &[(u32, u32)]) -> Vec<Self> {
        let each = |&(workers, weight): &(u32, u32)| vec![weight; workers as usize];
        let weights: Vec<u32> = agents.iter().flat_map(each).collect();
        let mut first = 0;
        let share = |&(workers, _): &(u32, u32)| {
            let share = Self { weights: weights.clone(), first, workers };
            first += workers;
            share
        };
        agents.iter().map(share).collect()
    }

    /// Whether it means something: workers that exist, and weights in their range.
    pub fn is_sane(&self) -> bool {
        let end = u64::from(self.first) + u64::from(self.workers);
        let is_weight = |weight: &u32| (1..=WEIGHT_MAX).contains(weight);
        self.workers > 0
            && self.weights.len() <= WORKERS_MAX
            && end <= self.weights.len() as u64
            && self.weights.iter().all(is_weight)
    }

    /// The part of the load that this agent has, 0 to 1; of a sane share.
    pub fn part(&self) -> f64 {
        let sum = |weights: &[u32]| weights.iter().copied().map(f64::from).sum::<f64>();
        let mine = &self.weights[self.first as usize..][..self.workers as usize];
        sum(mine) / sum(&self.weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up() {
        let shares = Share::of_agents(&[(4, 2), (2, 1), (1, 7)]);
        assert!(shares.iter().all(Share::is_sane));
        let sum: f64 = shares.iter().map(Share::part).sum();
        assert!((sum - 1.0).abs() < 1e-12);
        assert_eq!((shares[1].first, shares[1].workers), (4, 2));
        assert_eq!(Share::whole().part(), 1.0);
    }

    #[test]
    fn what_means_nothing_is_not_sane() {
        let share = |weights: &[u32], first, workers| {
            Share { weights: weights.to_vec(), first, workers }.is_sane()
        };
        assert!(share(&[1, 2], 1, 1));
        assert!(!share(&[1, 2], 1, 2) && !share(&[1, 2], u32::MAX, u32::MAX));
        assert!(!share(&[1, 2], 0, 0) && !share(&[0, 2], 0, 1) && !share(&[], 0, 0));
    }
}
