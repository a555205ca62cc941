//! One line for each target of a mix or trial of a search.

use crate::page::{Column, Mark, Table};
use crate::sections::search;
use crate::wording::{figure, main_failed, ns, or_dash, plural, rate_cell, share};
use model::figure::Figure;
use model::order::OrderBy as _;
use model::run::{Point, Run, TargetResult};
use model::units::{show_count, show_ns};

/// Most targets of a mix.
const TARGETS_MAX: usize = 12;

/// The targets of a mix, in the order of its file; of many, those that were asked for most.
pub(super) fn targets(point: &Point) -> Option<Table> {
    let mut shown: Vec<&TargetResult> = point.targets.iter().collect();
    shown.order_by_key(|target| std::cmp::Reverse(target.requests.sent));
    let least = shown.get(TARGETS_MAX - 1).map_or(0, |target| target.requests.sent);
    let mut columns = vec![Column::words("target")];
    columns.extend(["rate/s", "p50", "p99"].map(Column::numbers));
    columns.push(Column::words("failed"));
    let mut table = Table::new(columns);
    let of_many = point.targets.iter().filter(|target| target.requests.sent >= least);
    for target in of_many.take(TARGETS_MAX) {
        let (latency, requests) = (&target.latency_ns, &target.requests);
        let rate = requests.completed as f64 / point.load.duration_s.max(f64::MIN_POSITIVE);
        let percentiles = [latency.p50, latency.p99].map(ns);
        let mut cells = vec![target.name.clone(), show_count(rate)];
        cells.extend(percentiles);
        cells.push(causes(target));
        let is_bad = requests.failed + requests.unanswered > 0;
        table.push(if is_bad { Mark::Caution } else { Mark::None }, cells);
    }
    let more = point.targets.len().saturating_sub(table.rows.len()) as u64;
    if more > 0 {
        let cells = ["-"; 4].map(str::to_string);
        let name = [format!("{} (-v)", plural(more, "more target"))].into_iter();
        table.push(Mark::None, name.chain(cells).collect());
    }
    (!table.rows.is_empty()).then_some(table)
}

/// The share of a target's requests without a good response, and what came instead.
fn causes(target: &TargetResult) -> String {
    let requests = &target.requests;
    let part = |count: u64| share(count, requests.sent);
    let bad = target.status.iter().filter(|(class, _)| matches!(class.as_str(), "4xx" | "5xx"));
    let named = bad.chain(&target.errors).map(|(name, count)| (name.as_str(), *count));
    let others = [("failed a check", target.mismatched), ("no response", requests.unanswered)];
    let causes = named.chain(others).filter(|(_, count)| *count > 0);
    let causes: Vec<_> = causes.map(|(name, count)| format!("{name} {} %", part(count))).collect();
    match requests.failed + requests.unanswered {
        0 => "0 %".to_string(),
        failed => format!("{} %: {}", part(failed), causes.join(", ")),
    }
}

/// Trials of a search.
pub(super) fn search(run: &Run) -> Option<Table> {
    let search = run.record.search.as_ref().filter(|search| !search.trials.is_empty())?;
    let ranks = [("asked/s", 0), ("rate/s", 0), ("length", 5), ("p50", 4), ("p99", 0)];
    let mut columns = ranks.map(|(title, rank)| Column::numbers(title).rank(rank)).to_vec();
    columns.extend([Column::numbers("failed").rank(3), Column::words("objective")]);
    let mut table = Table::new(columns);
    for (at, trial) in search.trials.iter().enumerate() {
        let (mark, word) = search::standing(trial);
        let point = run.record.points.get(at);
        let of = |of| or_dash(point, |point| figure(point, of));
        let cells = vec![
            show_count(trial.rate),
            or_dash(point, rate_cell),
            show_ns(trial.duration_s * 1e9),
            of(Figure::P50),
            of(Figure::P99),
            or_dash(point, main_failed),
            word.to_string(),
        ];
        table.push(mark, cells);
    }
    Some(table)
}
