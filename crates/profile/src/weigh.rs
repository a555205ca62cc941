//! From samples to the figures of a page: functions by cost, the tree of calls, and waits.

use crate::samples::{Samples, Stack, Sum, TooDeep};
use crate::waits;
use model::order::OrderBy as _;
use model::profile::{Frame, FunctionCost, MergedProfile, ProfileKind};
use std::collections::{BTreeMap, HashSet};

/// Functions with a value of their own that are kept in a record.
const TOP_MAX: usize = 300;
/// Functions kept that are costly only with their callees.
const CALLERS_MAX: usize = 40;
/// Frames with less than one part in this many of the whole are not drawn.
const FRAME_PART_MIN: i64 = 500;
/// Deepest frame that is drawn.
const DEPTH_MAX: u32 = 96;

/// What costs and waits are compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Weight<'a> {
    /// The requests of the visit, all of which were served by the processes in the profiles.
    Requests {
        /// Responses per second, good or not.
        rate: f64,
        /// In flight, mean.
        in_flight: Option<f64>,
    },
    /// Nothing, and why: with requests that other processes served, a share would not be a bound.
    Absent(&'a str),
}

/// One kind of profile over all processes.
pub fn merged(
    kind: ProfileKind,
    profiles: &[&Samples],
    weight: Weight<'_>,
) -> Result<MergedProfile, TooDeep> {
    let mut sum = Sum::default();
    profiles.iter().try_for_each(|samples| sum.add_all(samples))?;
    let all = sum.finish();
    let durations: Vec<u64> = profiles.iter().filter_map(|samples| samples.duration_ns).collect();
    let duration_s = if durations.is_empty() {
        0.0
    } else {
        durations.iter().map(|ns| *ns as f64).sum::<f64>() / durations.len() as f64 / 1e9
    };
    let (requests, held_s, requests_absent) = match weight {
        Weight::Requests { rate, in_flight } => {
            let held_s = in_flight.map(|in_flight| in_flight * duration_s);
            (Some(rate * duration_s), held_s.filter(|held_s| *held_s > 0.0), None)
        }
        Weight::Absent(why) => (None, None, Some(why.to_string())),
    };
    let costs = costs(&all);
    let functions = costs.iter().filter(|cost| cost.flat != 0).count();
    let waits = if kind.is_of_waits() { waits::of(&all, held_s) } else { Vec::new() };
    Ok(MergedProfile {
        kind,
        processes: profiles.len() as u32,
        duration_s,
        requests,
        requests_absent,
        total: all.total(),
        top: top(costs),
        functions,
        flame: flame(&all),
        waits,
    })
}

/// What every function cost. One that occurs several times in a stack counts once for the whole.
fn costs(samples: &Samples) -> Vec<FunctionCost> {
    let mut costs: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for stack in &samples.stacks {
        let mut seen = HashSet::new();
        for (at, spot) in samples.places(stack).enumerate() {
            let name = &*spot.function;
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

/// The costliest by their own value first, then those that are costly only with their callees.
fn top(mut costs: Vec<FunctionCost>) -> Vec<FunctionCost> {
    costs.order_by(|one, other| other.flat.cmp(&one.flat).then(other.cum.cmp(&one.cum)));
    let own = costs.iter().take_while(|cost| cost.flat > 0).count();
    let mut callers = costs.split_off(own.min(TOP_MAX));
    callers.order_by_key(|cost| std::cmp::Reverse(cost.cum));
    costs.extend(callers.into_iter().take(CALLERS_MAX));
    costs.retain(|cost| cost.cum > 0);
    costs
}

/// The tree of calls. Only drawn nodes are made: stacks are grouped by their outermost function,
/// and each group that is large enough by the next one.
fn flame(samples: &Samples) -> Vec<Frame> {
    let mut stacks: Vec<&Stack> = samples.stacks.iter().filter(|stack| stack.value > 0).collect();
    let value =
        |stacks: &[&Stack]| stacks.iter().fold(0_i64, |sum, stack| sum.saturating_add(stack.value));
    let least = (value(&stacks) / FRAME_PART_MIN).max(1);
    let is_same = |one: &Stack, other: &Stack, depth| {
        called(samples, one, depth) == called(samples, other, depth)
    };
    let mut frames = Vec::new();
    let mut open = vec![("all", 0, stacks.len(), 0)];
    while let Some((function, begin, end, depth)) = open.pop() {
        let part = &mut stacks[begin..end];
        let value = value(part);
        if value < least {
            continue;
        }
        frames.push(Frame { function: function.to_string(), depth, value });
        if depth == DEPTH_MAX {
            continue;
        }
        // By name, so that two drawings can be compared. Stacks that end here have none.
        part.sort_by_cached_key(|stack| called(samples, stack, depth));
        let mut below = Vec::new();
        let mut at = begin;
        for same in part.chunk_by(|one, other| is_same(one, other, depth)) {
            if let Some(function) = called(samples, same[0], depth) {
                below.push((function, at, at + same.len(), depth + 1));
            }
            at += same.len();
        }
        // The last is visited first.
        open.extend(below.into_iter().rev());
    }
    frames
}

/// The function of a stack `depth` calls below its outermost one.
fn called<'a>(samples: &'a Samples, stack: &'a Stack, depth: u32) -> Option<&'a str> {
    let place = samples.places(stack).rev().nth(depth as usize)?;
    Some(&*place.function)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{Spot, Stack};

    fn samples(stacks: &[(&str, i64)]) -> Samples {
        let mut sum = Sum::default();
        for (names, value) in stacks {
            let spot = |name: &str| Spot { function: name.into(), line: 1 };
            let places: Vec<_> = names.split(' ').map(spot).collect();
            sum.add(places.iter(), (1, *value)).unwrap();
        }
        Samples { duration_ns: Some(2_000_000_000), ..sum.finish() }
    }

    #[test]
    fn functions_count_once_for_the_whole_of_a_stack() {
        let (one, other) =
            (samples(&[("f f main", 30), ("g main", 5)]), samples(&[("g main", 15)]));
        let weight = Weight::Requests { rate: 100.0, in_flight: None };
        let merged = merged(ProfileKind::Cpu, &[&one, &other], weight).unwrap();
        let cost =
            |function: &str, flat, cum| FunctionCost { function: function.to_string(), flat, cum };
        assert_eq!(merged.top, [cost("f", 30, 30), cost("g", 20, 20), cost("main", 0, 50)]);
        assert_eq!((merged.total, merged.processes, merged.requests), (50, 2, Some(200.0)));
        let drawn: Vec<_> =
            merged.flame.iter().map(|at| (at.function.as_str(), at.value)).collect();
        assert_eq!(drawn, [("all", 50), ("main", 50), ("f", 30), ("f", 30), ("g", 20)]);
        assert_eq!(merged.flame[3].depth, 3);
        assert!(merged.waits.is_empty(), "CPU time is not a wait");
    }

    #[test]
    fn what_cannot_be_held_against_requests_says_why_and_nothing_else() {
        let lock = samples(&[("sync.(*Mutex).Lock main.f net/http.(*conn).serve", 3_000_000_000)]);
        let weighed = |weight| merged(ProfileKind::Block, &[&lock], weight).unwrap();
        let all = weighed(Weight::Requests { rate: 100.0, in_flight: Some(6.0) });
        assert_eq!((all.requests, all.requests_absent), (Some(200.0), None));
        assert_eq!((all.waits[0].share, all.waits[0].gain_max), (Some(0.25), Some(1.0 / 3.0)));
        let some = weighed(Weight::Absent("process 7 is not in it"));
        assert_eq!(some.requests, None);
        assert_eq!(some.requests_absent.as_deref(), Some("process 7 is not in it"));
        assert_eq!((some.waits[0].share, some.waits[0].gain_max), (None, None));
        assert_eq!((some.waits[0].blocked_s, some.total), (3.0, 3_000_000_000), "that is known");
        assert!(!some.flame.is_empty() && !some.top.is_empty());
    }

    #[test]
    fn a_tree_is_drawn_by_name_and_cut_where_it_is_deepest() {
        let deep = vec!["f"; 200].join(" ");
        let all = samples(&[(&deep, 10), ("b main", 5), ("a main", 5), ("main", 5)]);
        let drawn = flame(&all);
        assert_eq!(drawn.iter().map(|frame| frame.depth).max(), Some(DEPTH_MAX));
        let below: Vec<_> = drawn.iter().filter(|frame| &*frame.function != "f").collect();
        let below: Vec<_> =
            below.iter().map(|at| (at.function.as_str(), at.depth, at.value)).collect();
        assert_eq!(below, [("all", 0, 25), ("main", 1, 15), ("a", 2, 5), ("b", 2, 5)]);
    }

    #[test]
    fn frames_too_small_to_see_are_left_out() {
        let all = samples(&[("f", 10_000), ("g", 1)]);
        assert_eq!(flame(&all).len(), 2);
        let nothing = Samples { stacks: vec![Stack { spots: vec![9], count: 1, value: 0 }], ..all };
        assert!(flame(&nothing).is_empty());
    }
}
