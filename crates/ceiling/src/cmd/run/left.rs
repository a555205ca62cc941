//! The time that an experiment still needs: the estimate of its plan, corrected by its pace so far.

use plan::Plan;
use std::time::{Duration, Instant};

/// Estimates the time that is left.
pub struct Left {
    /// The length of each visit by the plan, in nanoseconds.
    visits: Vec<Option<u64>>,
    /// When the first visit of this command started, and its number.
    begin: Option<(Instant, usize)>,
}

impl Left {
    /// Before the first visit.
    pub fn of(plan: &Plan) -> Self {
        Self { visits: plan.lasts().visits, begin: None }
    }

    /// A visit starts now: roughly how long it and all later visits take. `None` if not known.
    pub fn at(&mut self, visit: usize) -> Option<String> {
        let (begin, first) = *self.begin.get_or_insert((Instant::now(), visit));
        left(&self.visits, first, visit, begin.elapsed()).map(plan::rough)
    }
}

/// Nanoseconds from a visit to the end. If the plan gives no length, visits are taken to last as
/// long as those before.
fn left(visits: &[Option<u64>], first: usize, at: usize, passed: Duration) -> Option<u64> {
    let passed = passed.as_nanos() as f64;
    let sum = |visits: &[Option<u64>]| {
        visits.iter().copied().collect::<Option<Vec<u64>>>().map(|all| all.iter().sum::<u64>())
    };
    let (done, open) = (visits.get(first..at)?, visits.get(at..)?);
    match (sum(done), sum(open)) {
        (Some(done), Some(open)) if done > 0 => Some((open as f64 * passed / done as f64) as u64),
        (Some(_), open @ Some(_)) => open,
        _ if !done.is_empty() => Some((passed / done.len() as f64 * open.len() as f64) as u64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_so_far_corrects_the_plan() {
        let s = 1_000_000_000;
        let plan = [Some(10 * s); 4];
        let passed = Duration::from_secs(20);
        assert_eq!(left(&plan, 0, 0, Duration::ZERO), Some(40 * s), "as planned");
        assert_eq!(left(&plan, 0, 1, passed), Some(60 * s), "twice as slow");
        assert_eq!(left(&plan, 2, 3, passed), Some(20 * s), "what was resumed took no time");
        let unknown = [None; 4];
        assert_eq!(left(&unknown, 0, 0, Duration::ZERO), None);
        assert_eq!(left(&unknown, 0, 2, passed), Some(20 * s), "as those before");
    }
}
