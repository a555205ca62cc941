//! Samples: stacks of calls, each with a count and a value, and the names they are made of.

use std::collections::HashMap;
use std::sync::Arc;

/// Most frames in all stacks of one sum: a few bytes of a profile can stand for hundreds of them.
pub const PLACES_MAX: usize = 8_000_000;

/// More frames than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its stacks have more than 8 million frames together")]
pub struct TooDeep;

/// A place in a program.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Spot {
    /// Function; in the kernel it ends with ` [k]`. Shared, because many places have the same name.
    pub function: Arc<str>,
    /// Line of its file; 0 when not known.
    pub line: i64,
}

/// One stack of calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// Places in [`Samples::spots`], the innermost first.
    pub spots: Vec<u32>,
    /// How often it occurred.
    pub count: i64,
    /// Nanoseconds, or bytes.
    pub value: i64,
}

/// What a profile holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    /// Places that stacks are made of.
    pub spots: Vec<Spot>,
    /// Stacks.
    pub stacks: Vec<Stack>,
    /// How much time they cover, nanoseconds; absent when not reported.
    pub duration_ns: Option<u64>,
}

impl Samples {
    /// Sum of all values.
    pub fn total(&self) -> i64 {
        self.stacks.iter().fold(0, |sum, stack| sum.saturating_add(stack.value))
    }

    /// Sum of all counts.
    pub fn count(&self) -> i64 {
        self.stacks.iter().fold(0, |sum, stack| sum.saturating_add(stack.count))
    }

    /// The places of a stack, the innermost first. A place that is not there is left out.
    pub fn places<'a>(&'a self, stack: &'a Stack) -> impl DoubleEndedIterator<Item = &'a Spot> {
        stack.spots.iter().filter_map(|&spot| self.spots.get(spot as usize))
    }
}

/// Adds up samples, so that equal stacks are one.
#[derive(Debug, Default)]
pub struct Sum {
    spots: HashMap<Spot, u32>,
    stacks: HashMap<Vec<u32>, (i64, i64)>,
    /// Places in all stacks.
    places: usize,
    duration_ns: Option<u64>,
}

impl Sum {
    /// Adds a stack of places, the innermost first; fails when there are more than are kept.
    pub fn add<'a>(
        &mut self,
        places: impl Iterator<Item = &'a Spot>,
        (count, value): (i64, i64),
    ) -> Result<(), TooDeep> {
        let mut spots = Vec::new();
        for place in places {
            let next = self.spots.len() as u32;
            spots.push(match self.spots.get(place) {
                Some(known) => *known,
                None => *self.spots.entry(place.clone()).or_insert(next),
            });
        }
        if let Some(sum) = self.stacks.get_mut(&spots) {
            *sum = (sum.0.saturating_add(count), sum.1.saturating_add(value));
            return Ok(());
        }
        self.places += spots.len();
        if self.places > PLACES_MAX {
            return Err(TooDeep);
        }
        self.stacks.insert(spots, (count, value));
        Ok(())
    }

    /// Adds all samples of a profile; the time covered is that of the longest.
    pub fn add_all(&mut self, samples: &Samples) -> Result<(), TooDeep> {
        self.duration_ns = self.duration_ns.max(samples.duration_ns);
        let mut stacks = samples.stacks.iter();
        stacks.try_for_each(|stack| self.add(samples.places(stack), (stack.count, stack.value)))
    }

    /// The sum, in an order that depends on the samples alone.
    pub fn finish(self) -> Samples {
        let mut spots: Vec<_> = self.spots.into_iter().collect();
        spots.sort_unstable_by_key(|(_, number)| *number);
        let spots = spots.into_iter().map(|(spot, _)| spot).collect();
        let stack = |(spots, (count, value))| Stack { spots, count, value };
        let mut stacks: Vec<_> = self.stacks.into_iter().map(stack).collect();
        stacks.sort_unstable_by(|one, other| one.spots.cmp(&other.spots));
        Samples { spots, stacks, duration_ns: self.duration_ns }
    }
}
