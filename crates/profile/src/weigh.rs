//! From samples to what a page says: functions by cost, the tree of calls, and waits.

use crate::samples::{Samples, Sum};
use crate::waits;
use model::profile::{Frame, FunctionCost, MergedProfile, ProfileKind};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Functions with a value of their own that are kept in a record.
const TOP_MAX: usize = 300;
/// Functions kept that are costly only with what they called.
const CALLERS_MAX: usize = 40;
/// Frames below this part of the whole are not drawn.
const FRAME_PART_MIN: i64 = 500;
/// Deepest frame that is drawn.
const DEPTH_MAX: u32 = 96;

/// What is known of the visit that was profiled.
#[derive(Debug, Clone, Copy)]
pub struct Visited {
    /// Completed good responses per second.
    pub rate: f64,
    /// Requests in flight, mean.
    pub in_flight: Option<f64>,
}

/// One kind of profile over all processes.
pub fn merged(kind: ProfileKind, profiles: &[&Samples], visited: Visited) -> MergedProfile {
    let mut sum = Sum::default();
    profiles.iter().for_each(|samples| sum.add_all(samples));
    let all = sum.finish();
    let durations: Vec<u64> = profiles.iter().filter_map(|samples| samples.duration_ns).collect();
    let duration_s = if durations.is_empty() {
        0.0
    } else {
        durations.iter().map(|ns| *ns as f64).sum::<f64>() / durations.len() as f64 / 1e9
    };
    let costs = costs(&all);
    let functions = costs.iter().filter(|cost| cost.flat != 0).count();
    let waits = if kind.is_of_waits() {
        let held_s = visited.in_flight.map(|in_flight| in_flight * duration_s);
        waits::of(&all, held_s.filter(|held_s| *held_s > 0.0))
    } else {
        Vec::new()
    };
    MergedProfile {
        kind,
        processes: profiles.len() as u32,
        duration_s,
        requests: visited.rate * duration_s,
        total: all.total(),
        top: top(costs),
        functions,
        flame: flame(&all),
        waits,
    }
}

/// What every function cost. One that is several times in a stack counts once for the whole.
fn costs(samples: &Samples) -> Vec<FunctionCost> {
    let mut costs: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for stack in &samples.stacks {
        let mut seen = HashSet::new();
        for (at, spot) in samples.places(stack).enumerate() {
            let name = spot.function.as_str();
            let cost = costs.entry(name).or_default();
            if at == 0 {
                cost.0 = cost.0.saturating_add(stack.value);
            }
            if seen.insert(name) {
                cost.1 = cost.1.saturating_add(stack.value);
            }
        }
    }
    let cost = |(function, (flat, cum)): (&str, _)| FunctionCost {
        function: function.to_string(),
        flat,
        cum,
    };
    costs.into_iter().map(cost).collect()
}

/// The costliest by their own value first, then those that are so only with what they called.
fn top(mut costs: Vec<FunctionCost>) -> Vec<FunctionCost> {
    costs.sort_by(|one, other| other.flat.cmp(&one.flat).then(other.cum.cmp(&one.cum)));
    let own = costs.iter().take_while(|cost| cost.flat > 0).count();
    let mut callers = costs.split_off(own.min(TOP_MAX));
    callers.sort_by_key(|cost| std::cmp::Reverse(cost.cum));
    costs.extend(callers.into_iter().take(CALLERS_MAX));
    costs.retain(|cost| cost.cum > 0);
    costs
}

/// A node of the tree of calls, its children by name.
#[derive(Default)]
struct Node<'a> {
    value: i64,
    children: HashMap<&'a str, usize>,
}

fn flame(samples: &Samples) -> Vec<Frame> {
    let mut nodes = vec![Node::default()];
    for stack in samples.stacks.iter().filter(|stack| stack.value > 0) {
        let mut at = 0;
        nodes[0].value = nodes[0].value.saturating_add(stack.value);
        for spot in samples.places(stack).rev().take(DEPTH_MAX as usize) {
            let next = nodes.len();
            let below = *nodes[at].children.entry(spot.function.as_str()).or_insert(next);
            if below == next {
                nodes.push(Node::default());
            }
            at = below;
            nodes[at].value = nodes[at].value.saturating_add(stack.value);
        }
    }
    let total = nodes[0].value;
    let least = (total / FRAME_PART_MIN).max(1);
    let mut frames = Vec::new();
    let mut open = vec![("all", 0, 0)];
    while let Some((function, at, depth)) = open.pop() {
        let node = &nodes[at];
        if node.value < least {
            continue;
        }
        frames.push(Frame { function: function.to_string(), depth, value: node.value });
        let mut below: Vec<_> = node.children.iter().map(|(name, at)| (*name, *at)).collect();
        // By name, so that two drawings can be compared; the last is visited first.
        below.sort_unstable_by(|one, other| other.0.cmp(one.0));
        open.extend(below.into_iter().map(|(name, at)| (name, at, depth + 1)));
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{Spot, Stack};

    fn samples(stacks: &[(&str, i64)]) -> Samples {
        let mut sum = Sum::default();
        for (names, value) in stacks {
            let spot = |name: &str| Spot { function: name.to_string(), line: 1 };
            let places: Vec<_> = names.split(' ').map(spot).collect();
            sum.add(places.iter(), (1, *value));
        }
        Samples { duration_ns: Some(2_000_000_000), ..sum.finish() }
    }

    #[test]
    fn functions_count_once_for_the_whole_of_a_stack() {
        let (one, other) =
            (samples(&[("f f main", 30), ("g main", 5)]), samples(&[("g main", 15)]));
        let visited = Visited { rate: 100.0, in_flight: None };
        let merged = merged(ProfileKind::Cpu, &[&one, &other], visited);
        let cost =
            |function: &str, flat, cum| FunctionCost { function: function.to_string(), flat, cum };
        assert_eq!(merged.top, [cost("f", 30, 30), cost("g", 20, 20), cost("main", 0, 50)]);
        assert_eq!((merged.total, merged.processes, merged.requests), (50, 2, 200.0));
        let drawn: Vec<_> =
            merged.flame.iter().map(|at| (at.function.as_str(), at.value)).collect();
        assert_eq!(drawn, [("all", 50), ("main", 50), ("f", 30), ("f", 30), ("g", 20)]);
        assert_eq!(merged.flame[3].depth, 3);
        assert!(merged.waits.is_empty(), "CPU time is no wait");
    }

    #[test]
    fn frames_too_small_to_see_are_left_out() {
        let all = samples(&[("f", 10_000), ("g", 1)]);
        assert_eq!(flame(&all).len(), 2);
        let nothing = Samples { stacks: vec![Stack { spots: vec![9], count: 1, value: 0 }], ..all };
        assert!(flame(&nothing).is_empty());
    }
}
