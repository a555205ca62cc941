//! Judges one run again.

use super::{Line, Outcome};
use crate::check::Kind;
use crate::check::again::{gates, verdicts};
use crate::data::StoredRun;
use crate::folder::EntryFolder;
use judge::{conditions, rejudge};
use model::analysis::Conditions;
use model::figure::Statistic;
use model::histogram::{Histogram, Summary};
use model::run::{Point, Record, Run};
use model::visit::best_point;
use observe::Observed;
use trials::experiment::OfVisit;

/// A run that was judged again.
pub struct Again {
    /// The result.
    pub line: Line,
    /// What differs, with its kind.
    pub changes: Vec<(Kind, String)>,
    /// Its record as judged now, or unchanged where it could not be judged again; nothing where it
    /// cannot be read.
    pub record: Option<Record>,
    /// What may have disturbed it, where it was judged again.
    pub conditions: Option<Conditions>,
    /// Why its percentiles are not computed again.
    pub times_open: Option<String>,
}

impl Again {
    /// Its run, as the visit of an experiment.
    pub fn visit(&self) -> Option<OfVisit<'_>> {
        let conditions = self.conditions.clone().unwrap_or_default();
        Some(OfVisit { record: self.record.as_ref()?, conditions })
    }
}

/// Judges a run of an entry again.
pub fn again(entry: &EntryFolder, kept: &StoredRun) -> Again {
    let about = kept.about.clone();
    let open = |value: String, why: String, run: Option<Run>| Again {
        line: Line { about: about.clone(), value, outcome: Outcome::CannotBe { why } },
        changes: vec![],
        times_open: None,
        record: run.map(|run| run.record),
        conditions: None,
    };
    let run = match entry.whole_run(kept) {
        Ok(run) => run,
        Err(error) => return open("not known".to_string(), error.to_string(), None),
    };
    let value = format!("wall {}", run.record.verdict.wall.word());
    let observed = match entry.observed(kept, &run) {
        Ok(observed) => observed,
        Err(why) => return open(value, why, Some(run)),
    };
    let mut record = rejudge::again_from(run.record.clone(), &observed);
    let not_kept = || Some("its distributions of latency are not kept".to_string());
    let times_open = if kept.has_latencies() { times_open(&run) } else { not_kept() };
    let percentiles = if times_open.is_none() { percentiles(&run) } else { None };
    let changes = [
        verdicts(&run, &record).map(|why| (Kind::Rejudged, why)),
        gates(&run.record, &record).map(|why| (Kind::Gates, why)),
        percentiles.map(|why| (Kind::Figures, why)),
    ];
    let changes: Vec<(Kind, String)> = changes.into_iter().flatten().collect();
    for (point, whole) in record.points.iter_mut().zip(&run.latencies) {
        point.latency_ns = again_of(point, whole);
    }
    let outcome = match changes.is_empty() {
        true => Outcome::Same,
        false => {
            let whys: Vec<&str> = changes.iter().map(|(_, why)| why.as_str()).collect();
            Outcome::Differs { now: whys.join("; ") }
        }
    };
    let windows_ns = rejudge::windows(&record);
    let observed_in = |asked_ns| {
        let nth = windows_ns.iter().position(|window_ns| *window_ns == asked_ns);
        let found: Option<&Observed> = nth.and_then(|nth| observed.get(nth));
        found.cloned().unwrap_or_default()
    };
    let conditions = Some(conditions(&record, observed_in));
    let line = Line { about, value, outcome };
    Again { line, changes, record: Some(record), conditions, times_open }
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

/// The latency of a point, with the percentiles of its full distribution. That has its largest
/// value only as the end of a bucket, so a percentile that is the largest value is taken from the
/// record if it is in that bucket.
pub(super) fn again_of(point: &Point, whole: &Histogram) -> Summary {
    let was = &point.latency_ns;
    let mut now = whole.summary(was.censored);
    let end_ns = whole.quantile_ns(1.0);
    for (now, was) in percentiles_of(&mut now).into_iter().zip(percentiles_of(&mut was.clone())) {
        let is_in_bucket = |was_ns: u64, now_ns: u64| {
            Some(now_ns) == end_ns && was_ns <= now_ns && now_ns - was_ns <= was_ns / BUCKETS
        };
        if now.zip(*was).is_some_and(|(now, was)| is_in_bucket(was, now)) {
            *now = *was;
        }
    }
    Summary { min: was.min, mean: was.mean, stdev: was.stdev, max: was.max, ..now }
}

/// Buckets of a distribution for each doubling of the value, at least.
const BUCKETS: u64 = 1000;

fn percentiles_of(of: &mut Summary) -> [&mut Option<u64>; 7] {
    let Summary { p50, p75, p90, p95, p99, p99_9, p99_99, .. } = of;
    [p50, p75, p90, p95, p99, p99_9, p99_99]
}

/// Points whose percentiles do not match their full distribution, or that have none.
pub(super) fn percentiles(run: &Run) -> Option<String> {
    let of_point = |(nth, (point, whole)): (usize, (&Point, &Histogram))| {
        let (was, now) = (&point.latency_ns, again_of(point, whole));
        let shown = |of: &Summary, at: Statistic| {
            of.at(at).map_or_else(|| "not known".to_string(), |ns| format!("{ns} ns"))
        };
        let mut differ: Vec<String> = Statistic::PERCENTILES
            .into_iter()
            .filter(|at| was.at(*at) != now.at(*at))
            .map(|at| (at.key(), shown(was, at), shown(&now, at)))
            .map(|(key, was, now)| format!("{key} {was} in the record, {now} now"))
            .collect();
        if was.count != now.count {
            differ.push(format!("{} values in the record, {} now", was.count, now.count));
        }
        (!differ.is_empty()).then(|| format!("point {}: {}", nth + 1, differ.join(", ")))
    };
    let (points, whole) = (run.record.points.len(), run.latencies.len());
    let missing = format!("its points are {points}, and their distributions {whole}");
    let pairs = run.record.points.iter().zip(&run.latencies).enumerate();
    let changes = pairs.filter_map(of_point).chain((points != whole).then_some(missing));
    let changes: Vec<String> = changes.collect();
    (!changes.is_empty()).then(|| changes.join("; "))
}
