//! Judges a stored run again: the same input gives the same verdict, and better rules a better one.
//!
//! In: a record and its raw readings. Out: the record with the gates and verdicts of this version;
//! measured figures stay as they are.

use crate::case::Case;
use crate::odds::Speaking;
use crate::tool::judge_tool;
use crate::verdict::{Context, judge_point, judge_run};
use model::run::{Point, Record};
use observe::{Observed, Raw};

/// Judges a run again.
pub fn again(record: Record, raw: Raw<'_>) -> Record {
    let observed = observed(&record, raw);
    again_from(record, &observed)
}

/// What was observed in each of the [`windows`] of a run.
pub fn observed(record: &Record, raw: Raw<'_>) -> Vec<Observed> {
    windows(record).into_iter().map(|window_ns| raw.observed_in(record, window_ns)).collect()
}

/// The windows by whose readings a run is judged, monotonic nanoseconds of the generator's host.
pub fn windows(record: &Record) -> Vec<(u64, u64)> {
    match &record.tool {
        Some(tool) => vec![tool.window_ns],
        None => record.points.iter().map(|point| point.window_ns).collect(),
    }
}

/// Judges a run again from what was observed in each of its [`windows`].
pub fn again_from(mut record: Record, observed: &[Observed]) -> Record {
    if let Some(tool) = record.tool.take() {
        let nothing = Observed::default();
        let observed = observed.first().unwrap_or(&nothing);
        let (tool, verdict) = judge_tool(context_of(&record), tool, observed);
        return Record { tool: Some(tool), verdict, ..record };
    }
    let points = std::mem::take(&mut record.points);
    let context = context_of(&record);
    let points: Vec<Point> = points
        .into_iter()
        .zip(observed)
        .map(|(point, observed)| judge_point(context, point, observed))
        .collect();
    let verdict = judge_run(context, &points, observed);
    record.points = points;
    record.verdict = verdict;
    record
}

/// Which tests fire at the point with the highest rate, given its ramp.
pub fn speaking(record: &Record, raw: Raw<'_>) -> Option<Speaking> {
    let point = record.points.iter().max_by(|left, right| left.rate.total_cmp(&right.rate))?;
    let observed = raw.observed(record, point);
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
        kernel: record.kernel.as_ref(),
    }
}
