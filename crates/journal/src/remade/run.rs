//! Judges one run again.

use super::{Line, Outcome};
use crate::check::again::{gates, verdicts};
use crate::data::{StoredRun, unjudged};
use crate::folder::EntryFolder;
use model::histogram::{Histogram, Summary};
use model::run::{Point, Run};
use model::visit::best_point;

/// A run that was judged again.
pub struct Again {
    /// The result.
    pub line: Line,
    /// The run as judged now, or unchanged where it could not be judged again; nothing where it
    /// cannot be read.
    pub run: Option<Run>,
}

/// Judges a run of an entry again.
pub fn again(entry: &EntryFolder, kept: &StoredRun) -> Again {
    let about = kept.about.clone();
    let open = |value: String, why: String, run| {
        let outcome = Outcome::CannotBe { why };
        Again { line: Line { about: about.clone(), value, outcome }, run }
    };
    let run = match entry.whole_run(kept) {
        Ok(run) => run,
        Err(error) => return open("not known".to_string(), error.to_string(), None),
    };
    let value = format!("wall {}", run.record.verdict.wall.word());
    if let Some(why) = unjudged(&run) {
        return open(value, why, Some(run));
    }
    let mut record = match entry.judged_again(kept, &run) {
        Ok(record) => record,
        Err(error) => return open(value, error.to_string(), Some(run)),
    };
    let changes = [verdicts(&run, &record), gates(&run.record, &record), percentiles(&run)];
    let changes: Vec<String> = changes.into_iter().flatten().collect();
    for (point, whole) in record.points.iter_mut().zip(&run.latencies) {
        point.latency_ns = again_of(point, whole);
    }
    let outcome = match changes.is_empty() {
        true => Outcome::Same,
        false => Outcome::Differs { now: changes.join("; ") },
    };
    Again { line: Line { about, value, outcome }, run: Some(Run { record, ..run }) }
}

/// Why the percentiles of a run are not computed again: it keeps only distributions of the latency
/// of requests.
pub(super) fn times_open(run: &Run) -> Option<String> {
    if let Some(tool) = &run.record.tool {
        return Some(format!("its times are as {} printed them", tool.generator.name()));
    }
    let (_, point) = best_point(&run.record)?;
    let what = point.main().words().times?;
    Some(format!("{what}: the record has their percentiles, and no run keeps the distribution"))
}

/// The latency of a point, with the percentiles of its full distribution.
pub(super) fn again_of(point: &Point, whole: &Histogram) -> Summary {
    let was = &point.latency_ns;
    let now = whole.summary(was.censored);
    let Summary { p50, p75, p90, p95, p99, p99_9, p99_99, .. } = now;
    Summary { count: now.count, p50, p75, p90, p95, p99, p99_9, p99_99, ..was.clone() }
}

/// Points whose percentiles do not match their full distribution, or that have none.
pub(super) fn percentiles(run: &Run) -> Option<String> {
    let of_point = |(nth, (point, whole)): (usize, (&Point, &Histogram))| {
        let (was, now) = (&point.latency_ns, again_of(point, whole));
        let shown = |of: &Summary| format!("{:?}, {:?}", of.p50, of.p99);
        (*was != now).then(|| {
            format!(
                "point {}: its distribution has {} values with p50 and p99 of {} ns, and the \
                 record {} with {}",
                nth + 1,
                now.count,
                shown(&now),
                was.count,
                shown(was)
            )
        })
    };
    let (points, whole) = (run.record.points.len(), run.latencies.len());
    let missing = format!("its points are {points}, and their distributions {whole}");
    let pairs = run.record.points.iter().zip(&run.latencies).enumerate();
    let changes = pairs.filter_map(of_point).chain((points != whole).then_some(missing));
    let changes: Vec<String> = changes.collect();
    (!changes.is_empty()).then(|| changes.join("; "))
}
