//! Details of the responses: redirects, failed checks, and the results of each target of a mix.

use crate::page::{Block, Column, Mark, Table};
use crate::wording::{best_point, count, mark_of, ns, or_dash, plural, point_phrase};
use model::check::Check;
use model::run::{Point, Run, TargetResult};
use model::units::show_count;

/// Redirects and failed checks in words, if there were any.
pub fn remarks(run: &Run) -> Vec<Block> {
    let sentences = [redirects(run), mismatches(run)];
    sentences.into_iter().flatten().map(Block::Text).collect()
}

fn redirects(run: &Run) -> Option<String> {
    // A flow says itself which are followed.
    if run.record.trial.flow.is_some() {
        return None;
    }
    let points = &run.record.points;
    let redirects: u64 = points.iter().filter_map(|point| point.status.get("3xx")).sum();
    let answered: u64 = points.iter().flat_map(|point| point.status.values()).sum();
    (redirects > 0).then(|| {
        format!(
            "{} of {} had a 3xx status. Redirects are not followed.",
            count(redirects),
            plural(answered, "response")
        )
    })
}

/// How many responses failed a check, and which.
fn mismatches(run: &Run) -> Option<String> {
    let points = &run.record.points;
    let failed: u64 = points.iter().map(|point| point.mismatched).sum();
    if failed == 0 {
        return None;
    }
    let good = ["2xx", "3xx"];
    let status = points.iter().flat_map(|point| &point.status);
    let good: u64 =
        status.filter(|(name, _)| good.contains(&name.as_str())).map(|(_, number)| number).sum();
    let good = good + points.iter().map(Point::called_good).sum::<u64>();
    let by_check = Check::ALL.iter().filter_map(|check| {
        let of_point = |point: &Point| point.mismatches.get(check.name()).copied();
        let number: u64 = points.iter().filter_map(of_point).sum();
        let what = match check.name() {
            "status" => "an unexpected status",
            "length" => "a body of the wrong length",
            "body" => "a body without the expected text",
            "json" => "a message without the expected fields",
            "capture" => "nothing for a variable to capture",
            "assert" => "a value that an assert does not allow",
            _ => "a body with another SHA-256",
        };
        (number > 0).then(|| format!("{} had {what}", count(number)))
    });
    let by_check: Vec<_> = by_check.collect();
    Some(format!(
        "{} of {} with a good status failed a check and count as failed: {}.",
        count(failed),
        plural(good, "response"),
        by_check.join(", ")
    ))
}

/// The targets of the best point.
pub fn of_best_point(run: &Run) -> Vec<Block> {
    let best = best_point(run).map(|(_, point)| point).or(run.record.points.last());
    best.filter(|point| !point.targets.is_empty())
        .map(|point| table(run, point))
        .into_iter()
        .collect()
}

/// The targets of every point.
pub fn of_all_points(run: &Run) -> Vec<Block> {
    let points = &run.record.points;
    points.iter().filter(|point| !point.targets.is_empty()).map(|p| table(run, p)).collect()
}

fn table(run: &Run, point: &Point) -> Block {
    let is_mismatched = point.targets.iter().any(|target| target.mismatched > 0);
    let mut columns = vec![Column::words("target")];
    columns.extend(["weight", "sent"].map(|title| Column::numbers(title).rank(2)));
    columns.extend(["rate /s", "err"].map(Column::numbers));
    if is_mismatched {
        columns.push(Column::numbers("mismatch"));
    }
    columns.extend(["p50", "p99"].map(Column::numbers));
    columns.push(Column::numbers("max").rank(3));
    let mut table = Table::new(columns).caption(format!("By target, {}", point_phrase(point)));
    let mark = mark_of(run, point);
    for target in &point.targets {
        let lost = target.requests.failed + target.requests.unanswered;
        let mut cells = vec![
            target.name.clone(),
            count(target.weight),
            count(target.requests.sent),
            or_dash(rate(point, target), show_count),
            count(lost),
        ];
        if is_mismatched {
            cells.push(count(target.mismatched));
        }
        let latency = &target.latency_ns;
        cells.extend([latency.p50, latency.p99, latency.max].map(ns));
        let unanswered = target.requests.sent > 0 && target.requests.completed == 0;
        table.push(if unanswered { mark.max(Mark::Caution) } else { mark }, cells);
    }
    Block::Table(table)
}

/// Completed requests of a target per second of the window.
fn rate(point: &Point, target: &TargetResult) -> Option<f64> {
    let duration_s = point.load.duration_s;
    (duration_s > 0.0).then(|| target.requests.completed as f64 / duration_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn nothing_is_said_when_there_is_nothing_to_say() {
        let run = fixtures::load_unwatched();
        assert_eq!((remarks(&run), of_best_point(&run)), (vec![], vec![]));
    }

    #[test]
    fn redirects_and_failed_checks_are_told_in_words() {
        let said: Vec<_> = remarks(&fixtures::load_mix())
            .into_iter()
            .map(|block| match block {
                Block::Text(text) => text,
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(said[0].ends_with("3xx status. Redirects are not followed."), "{said:?}");
        assert!(said[1].contains("300 had a body of the wrong length, 100 had a body without"));
    }
}
