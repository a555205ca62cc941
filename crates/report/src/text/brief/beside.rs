//! Several runs: the fastest, and a line for each.
//!
//! In: runs in the order of the command line. Out: two lines per run, and at most seven others.
//! Never: whether a difference is real; `ceiling compare` says more about two runs.

use super::super::line::{Ink, TextLine};
use super::super::{banner_lines, painted, table};
use super::{MARGIN, NAMES, Row, drawn, title};
use crate::page::{Banner, Column, Mark, Table, Tone};
use crate::wording::{
    best_point, figure, main_failed, mark_of, or_dash, rate_cell, rate_of, wall_mark,
};
use model::figure::Figure;
use model::order::OrderBy as _;
use model::run::{Point, Run};
use model::standing::Standing;
use model::units::show_count;

/// The fastest, the table, what each run was, and a command.
pub(super) fn lines(runs: &[Run], columns: usize) -> Vec<TextLine> {
    let mut lines = last(runs, columns);
    let ids: Vec<&str> = runs.iter().map(|run| run.record.id.as_str()).collect();
    let asked = format!("ceiling show {}", ids.join(" "));
    lines.extend(painted(Ink::Faint, &asked, columns));
    lines.extend(table::bare_lines(&rows(runs), columns));
    lines.push(TextLine::default());
    let what = |(at, run): (usize, &Run)| {
        let title = title(run, columns - MARGIN - NAMES);
        Row::new(&format!("Run {}", at + 1), title.strip_prefix("ceiling ").unwrap_or(&title))
    };
    let what: Vec<Row> = runs.iter().enumerate().map(what).collect();
    lines.extend(drawn(&what, columns));
    let next = match ids.as_slice() {
        [a, b] => format!("ceiling compare {a} {b}"),
        ids => format!("ceiling show {} -o runs.html", ids.join(" ")),
    };
    lines.extend(drawn(&[Row::inked("Next", Ink::Command, next)], columns));
    lines
}

/// The verdict again.
pub(super) fn last(runs: &[Run], columns: usize) -> Vec<TextLine> {
    banner_lines(&verdict(runs), columns)
}

/// The best point of a run, unless it has only connections without requests.
fn shown(run: &Run) -> Option<&Point> {
    let point = best_point(run).map(|(_, point)| point)?;
    (point.requests.sent > 0 || !point.is_of_devices()).then_some(point)
}

/// The best point of a run, when its rate is valid.
fn rated(run: &Run) -> Option<&Point> {
    let point = shown(run).filter(|point| mark_of(run, point) != Mark::Broken)?;
    rate_of(point).map(|_| point)
}

/// The highest rate, compared with the lowest.
fn verdict(runs: &[Run]) -> Banner {
    let points = runs.iter().enumerate().filter_map(|(at, run)| Some((at + 1, rated(run)?)));
    let mut rates: Vec<(usize, f64, &Point)> =
        points.map(|(number, point)| (number, point.headline_rate(), point)).collect();
    rates.order_by(|(_, left, _), (_, right, _)| right.total_cmp(left));
    let is_known = |point: &Point| *point.standing.of(Figure::Rate) == Standing::Sound;
    let unknown = match runs.len() - rates.len() {
        0 => String::new(),
        1 => "; 1 run has no known rate".to_string(),
        some => format!("; {some} runs have no known rate"),
    };
    let text = match (rates.first(), rates.last()) {
        (Some((high, most, of_most)), Some((low, least, of_least)))
            if high != low && *least > 0.0 && is_known(of_most) && is_known(of_least) =>
        {
            let (of, shown) = (most / least, show_count(*least));
            format!(
                "{}/s in run {high}, {of:.2} times the {shown}/s of run {low}",
                show_count(*most)
            )
        }
        (Some((high, _, point)), _) => format!("{}/s in run {high}", rate_cell(point)),
        (None, _) => "NO RATE IS KNOWN".to_string(),
    };
    let is_plain = |run: &Run| shown(run).is_some_and(|point| mark_of(run, point) == Mark::None);
    let tone = match rates.len() {
        0 => Tone::Bad,
        _ if runs.iter().all(is_plain) => Tone::Neutral,
        _ => Tone::Caution,
    };
    Banner { tone, text: format!("{text}{unknown}"), lines: Vec::new() }
}

fn rows(runs: &[Run]) -> Table {
    let mut columns = ["run", "rate/s", "p50"].map(Column::numbers).to_vec();
    columns.push(Column::numbers("p99").rank(1));
    columns.push(Column::numbers("failed").rank(2));
    columns.push(Column::words("wall"));
    let mut table = Table::new(columns);
    for (at, run) in runs.iter().enumerate() {
        let point = shown(run);
        let of = |cell: &dyn Fn(&Point) -> String| or_dash(point, cell);
        let cells = vec![
            (at + 1).to_string(),
            of(&rate_cell),
            of(&|point| figure(point, Figure::P50)),
            of(&|point| figure(point, Figure::P99)),
            of(&main_failed),
            wall_mark(&run.record.verdict),
        ];
        let mark = best_point(run).map_or(Mark::Broken, |(_, point)| mark_of(run, point));
        table.push(mark, cells);
    }
    table
}
