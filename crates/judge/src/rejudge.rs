//! Judging a kept run again: the same input gives the same verdict, and better rules a better one.
//!
//! In: a record and its raw readings. Out: the record with gates and verdicts as this version finds
//! them; what was measured stays as it is.

use crate::case::Case;
use crate::observe::Observed;
use crate::odds::Speaking;
use crate::verdict::{Context, judge_point, judge_run};
use model::facts::ClockOffset;
use model::reading::Reading;
use model::run::{Point, Record};

/// The raw readings of a run, each in time order by the clock of its own host.
#[derive(Debug, Clone, Copy, Default)]
pub struct Raw<'a> {
    /// Of the generator's host.
    pub near: &'a [Reading],
    /// Of the server's host, when a probe there was read.
    pub far: &'a [Reading],
}

/// A window on the clock of another host, made smaller by what is not known of that clock. Nothing
/// when nothing is left of it.
pub fn window_of(window_ns: (u64, u64), clock: ClockOffset) -> Option<(u64, u64)> {
    let begin_ns = window_ns.0.checked_add_signed(clock.offset_ns)?.checked_add(clock.error_ns)?;
    let end_ns = window_ns.1.checked_add_signed(clock.offset_ns)?.checked_sub(clock.error_ns)?;
    (begin_ns < end_ns).then_some((begin_ns, end_ns))
}

/// What was observed in the window of a point, on both hosts.
pub fn observe(record: &Record, point: &Point, raw: Raw<'_>) -> Observed {
    let inside = |readings: &[Reading], (begin_ns, end_ns): (u64, u64)| -> Vec<Reading> {
        let is_inside = |read: &&Reading| read.begin_ns >= begin_ns && read.end_ns <= end_ns;
        readings.iter().filter(is_inside).cloned().collect()
    };
    let near = inside(raw.near, point.window_ns);
    let mut observed = Observed::of(near, record.host.clock_tick_ns);
    if let Some(probe) = &record.target.probe
        && let Some(window_ns) = window_of(point.window_ns, probe.clock)
    {
        let far = inside(raw.far, window_ns);
        observed.far = Some(Box::new(Observed::of(far, probe.host.clock_tick_ns)));
    }
    observed
}

/// Judges a run again.
pub fn again(mut record: Record, raw: Raw<'_>) -> Record {
    let observed: Vec<Observed> =
        record.points.iter().map(|point| observe(&record, point, raw)).collect();
    let points = std::mem::take(&mut record.points);
    let context = context_of(&record);
    let points: Vec<Point> = points
        .into_iter()
        .zip(&observed)
        .map(|(point, observed)| judge_point(context, point, observed))
        .collect();
    let verdict = judge_run(context, &points, &observed);
    record.points = points;
    record.verdict = verdict;
    record
}

/// Which tests speak at the point with the highest rate, the ramp around it known.
pub fn speaking(record: &Record, raw: Raw<'_>) -> Option<Speaking> {
    let point = record.points.iter().max_by(|left, right| left.rate.total_cmp(&right.rate))?;
    let observed = observe(record, point, raw);
    let ramp: Vec<&Point> = record.points.iter().collect();
    let case = context_of(record).case(point, &observed);
    Some(Speaking::of(&Case { ramp: &ramp, ..case }))
}

pub(crate) fn context_of(record: &Record) -> Context<'_> {
    Context {
        trial: &record.trial,
        host: &record.host,
        target: &record.target,
        outcome: record.outcome,
        perturbations: &record.perturbations,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_another_host_is_shifted_and_made_smaller() {
        let clock = ClockOffset { offset_ns: -100, error_ns: 10, round_trips: 3 };
        assert_eq!(window_of((1000, 2000), clock), Some((910, 1890)));
        let unknown = ClockOffset { error_ns: 500, ..clock };
        assert_eq!(window_of((1000, 2000), unknown), None, "the clock is not known well enough");
        assert_eq!(window_of((50, 2000), clock), None, "before that host's clock began");
    }
}
