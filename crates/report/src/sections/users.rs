//! Users of a flow: how many, how long whole flows took, and what became of them at each step.

use crate::page::{Block, Column, Mark, Table};
use crate::text::PERCENTILES;
use crate::wording::{count, figure, mark_of, per_second, point_mark, point_phrase};
use model::figure::{Figure, Times};
use model::run::{Point, Run};
use model::users::UserInfo;

/// One row for each level, and a table of the steps of each.
pub fn users(run: &Run) -> Vec<Block> {
    let with = |point: &Point| point.users.is_some();
    let points: Vec<&Point> = run.record.points.iter().filter(|point| with(point)).collect();
    let steps = points.iter().filter_map(|point| steps(run, point));
    levels(run, &points).into_iter().chain(steps).map(Block::Table).collect()
}

/// Users who took all steps, per second of the window.
pub(crate) fn rate(point: &Point, users: &UserInfo) -> String {
    per_second(users.completed as f64 / point.load.duration_s.max(f64::MIN_POSITIVE))
}

/// The percentiles that are always shown, of whole flows.
pub(crate) fn flow_times(point: &Point) -> [(&'static str, String); PERCENTILES.len()] {
    PERCENTILES.map(|(name, of)| match of {
        Figure::Time(_, stat) => (name, figure(point, Figure::Time(Times::Flow, stat))),
        _ => (name, String::new()),
    })
}

fn levels(run: &Run, points: &[&Point]) -> Option<Table> {
    let first = points.first()?;
    let mut columns = vec![Column::numbers("at"), Column::numbers("users")];
    let is_open = points.iter().any(|point| point.plans_users());
    columns.extend(["began", "completed", "failed", "not through"].map(Column::numbers));
    columns.extend(is_open.then(|| Column::numbers("never began")));
    let of_time = |name| match name {
        "p99.9" => Column::numbers(name).rank(2),
        _ => Column::numbers(name),
    };
    columns.extend(flow_times(first).map(|(name, _)| of_time(name)));
    let mut table = Table::new(columns).caption(
        "Users who began in the window, and the time of whole flows without the time to think",
    );
    for point in points {
        let Some(users) = &point.users else { continue };
        let asked = point.load.rate.filter(|_| is_open).map(per_second);
        let mut cells = vec![asked.unwrap_or_else(|| point_mark(point)), rate(point, users)];
        let counted = [users.begun, users.completed, users.failed, users.unfinished];
        cells.extend(counted.map(count));
        cells.extend(is_open.then(|| count(users.unstarted)));
        cells.extend(flow_times(point).map(|(_, time)| time));
        table.push(mark_of(run, point), cells);
    }
    Some(table)
}

fn steps(run: &Run, point: &Point) -> Option<Table> {
    let users = point.users.as_ref()?;
    let mut columns = vec![Column::words("step")];
    columns.extend(["reached", "good", "failed", "left"].map(Column::numbers));
    let caption = format!("Users by step, {}", point_phrase(point));
    let mut table = Table::new(columns).caption(caption);
    for step in &users.steps {
        let mark = match step.failed + step.left {
            0 => mark_of(run, point),
            _ => mark_of(run, point).max(Mark::Caution),
        };
        let counted = [step.reached, step.good, step.failed, step.left].map(count);
        table.push(mark, [step.name.clone()].into_iter().chain(counted).collect());
    }
    Some(table)
}
