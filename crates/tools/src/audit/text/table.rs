//! Tables of a text: Markdown, tabs, or columns between spaces, below a heading that names figures.

use super::Stated;
use super::prose::{rank, trimmed};
use crate::audit::page::{Page, Spot};
use crate::audit::printed::{data_unit, digits, per_second, rounded, scaled, second_unit};
use model::audit::Figure;
use std::collections::BTreeSet;

/// The most columns of a row.
const COLUMNS_MAX: usize = 64;
/// How many heads must name a known figure for a line to be a heading.
const KNOWN_MIN: usize = 2;

/// What a column holds, and the unit that its head names.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Column {
    /// With the factor that its head names: `M req/s`, `RPS (k)`.
    Rate(f64),
    Connections,
    Depth,
    InFlight,
    /// The factor of the unit's prefix, and the bytes of what it counts: bytes or bits.
    BytesRate(f64, f64),
    Mean(f64),
    Max(f64),
    Rank(f64, f64),
    Other,
}

/// Accounts of all tables, and the lines that belong to a table.
pub(super) fn rows(page: Page<'_>) -> (Vec<(u64, Vec<Stated>)>, BTreeSet<u64>) {
    let (mut rows, mut lines) = (Vec::new(), BTreeSet::new());
    let mut heading: Option<Vec<Column>> = None;
    for spot in page.lines() {
        let cells = cells(spot.text);
        if is_rule(spot.text) && heading.is_some() {
            lines.insert(spot.line);
            continue;
        }
        if let Some(columns) = columns(&cells, spot.text) {
            lines.insert(spot.line);
            heading = Some(columns);
            continue;
        }
        let report = heading.as_ref().and_then(|columns| row(columns, &cells, spot));
        match report {
            Some(report) => {
                lines.insert(spot.line);
                rows.push((spot.line, report));
            }
            None => heading = None,
        }
    }
    (rows, lines)
}

/// `|---|---|`.
fn is_rule(text: &str) -> bool {
    let text = text.trim();
    text.len() > 2 && text.contains('-') && text.chars().all(|char| "|-: +".contains(char))
}

fn cells(text: &str) -> Vec<&str> {
    let text = text.trim();
    let cells: Vec<&str> = if text.contains('|') {
        text.trim_matches('|').split('|').map(str::trim).take(COLUMNS_MAX).collect()
    } else if text.contains('\t') {
        text.split('\t').map(str::trim).take(COLUMNS_MAX).collect()
    } else {
        text.split_whitespace().take(COLUMNS_MAX).collect()
    };
    cells
}

/// The columns of a heading: two known figures, one of them a rate or a time, and no number.
fn columns(cells: &[&str], text: &str) -> Option<Vec<Column>> {
    let is_split = text.contains('|') || text.contains('\t');
    // Between spaces, a word that qualifies the previous one is not a column.
    let heads = cells.iter().filter(|cell| is_split || !is_part(cell));
    let columns: Vec<Column> = heads.map(|cell| column(cell)).collect();
    let is_known = |column: &&Column| **column != Column::Other;
    let has_number = cells.iter().any(|cell| digits(cell).is_some());
    let known = columns.iter().filter(is_known).count();
    let is_figure =
        |column: &Column| !matches!(column, Column::Other | Column::Connections | Column::Depth);
    (known >= KNOWN_MIN && !has_number && columns.iter().any(is_figure)).then_some(columns)
}

fn is_part(word: &str) -> bool {
    ["latency", "avg", "(ms)", "ms", "time"].contains(&word.to_lowercase().as_str())
}

fn column(cell: &str) -> Column {
    let written = cell.trim_matches(['*', '`']);
    let small = written.to_lowercase();
    let is_gap = |char: char| char.is_whitespace() || "()[],".contains(char);
    let words: Vec<&str> = small.split(is_gap).filter(|word| !word.is_empty()).collect();
    let unit = words.iter().find_map(|word| second_unit(word)).unwrap_or(0.0);
    let has = |names: &[&str]| words.iter().any(|word| names.contains(word));
    if let Some(share) = words.iter().find_map(|word| rank(word)) {
        return Column::Rank(share, unit);
    }
    if let Some((factor, size)) =
        written.split(is_gap).find_map(|word| data_unit(per_second(word)?))
    {
        return Column::BytesRate(factor, size);
    }
    match () {
        () if has(&["in-flight", "inflight"]) || small == "in flight" => Column::InFlight,
        () if has(&["rps", "req/s", "requests/s", "requests/sec", "req/sec", "qps"]) => {
            // The words tell which of two rates a table means.
            let factor = match () {
                () if has(&["k", "thousand", "thousands"]) => 1e3,
                () if has(&["m", "million", "millions"]) => 1e6,
                () => 1.0,
            };
            match has(&["peak", "max", "stdev", "min"]) {
                true => Column::Other,
                false => Column::Rate(factor),
            }
        }
        () if has(&["connections", "conns", "clients"]) => Column::Connections,
        () if has(&["depth", "pipelining", "pipeline"]) => Column::Depth,
        () if has(&["mean", "avg", "average"]) && (unit > 0.0 || has(&["latency"])) => {
            Column::Mean(unit)
        }
        () if has(&["max"]) && (unit > 0.0 || has(&["latency"])) => Column::Max(unit),
        () => Column::Other,
    }
}

/// The figures of a row. With fewer cells than columns it is not a row; with more, the words in
/// front are its name.
fn row(columns: &[Column], cells: &[&str], spot: Spot<'_>) -> Option<Vec<Stated>> {
    let extra = cells.len().checked_sub(columns.len())?;
    let report: Vec<Stated> = columns
        .iter()
        .zip(&cells[extra..])
        .filter_map(|(column, cell)| figure(*column, cell.trim_matches(['*', '`', ' ']), spot.line))
        // A number below zero is a difference to another row.
        .filter(|report| report.figure().value >= 0.0)
        .collect();
    (!report.is_empty()).then_some(report)
}

fn figure(column: Column, cell: &str, line: u64) -> Option<Stated> {
    let is_below = cell.starts_with('<');
    let bare = cell.trim_start_matches(['<', '~', '≈']).trim();
    let below = |figure: Figure| Figure { low: if is_below { 0.0 } else { figure.low }, ..figure };
    let time = |unit: f64| {
        let number = digits(bare)?;
        let named = second_unit(number.rest.trim());
        let scale = named.or((unit > 0.0 && number.rest.trim().is_empty()).then_some(unit))?;
        Some(below(scaled(number, scale, line, cell)))
    };
    let count = || {
        let number = digits(bare)?;
        let figure = rounded(bare, line)?;
        let is_exact = number.is_whole && number.rest.is_empty();
        Some(if is_exact { Figure::exact(number.value, line) } else { figure })
    };
    Some(match column {
        Column::Rate(factor) => {
            let number = digits(bare)?;
            let is_bare = number.rest.trim().is_empty();
            Stated::Rate(match factor > 1.0 && is_bare {
                true => scaled(number, factor, line, cell),
                false => rounded(bare, line)?,
            })
        }
        Column::Connections => Stated::Connections(count()?),
        Column::Depth => Stated::Depth(count()?),
        Column::InFlight => Stated::InFlight(count()?),
        Column::BytesRate(factor, size) => {
            let number = digits(bare)?;
            let own = number.rest.split_whitespace().next().filter(|word| !word.starts_with('('));
            let scale = match own.map(trimmed) {
                None | Some("") => factor * size,
                Some(unit) => own_unit(unit, size)?,
            };
            Stated::BytesRate(scaled(number, scale, line, cell))
        }
        Column::Mean(unit) => Stated::Mean(time(unit)?),
        Column::Max(unit) => Stated::Max(time(unit)?),
        Column::Rank(share, unit) => Stated::Rank(share, time(unit)?),
        Column::Other => return None,
    })
}

/// Bytes in the unit of a cell. One that is only a prefix is of what the head counts, `size` bytes
/// each.
fn own_unit(unit: &str, size: f64) -> Option<f64> {
    let counted = per_second(unit).unwrap_or(unit);
    let of_head = || data_unit(&format!("{counted}B")).map(|(factor, _)| (factor, size));
    data_unit(counted).or_else(of_head).map(|(factor, size)| factor * size)
}
