//! Tables of a text: Markdown, tabs, or columns between spaces, below a heading that names figures.

use super::found::{Found, Role};
use super::glued;
use super::prose::{About, rank, sentences, state, trimmed};
use crate::audit::page::{Page, Spot};
use crate::audit::printed::{data_unit, digits, per_second, rounded, scaled, second_unit};
use model::audit::{Figure, Why};
use std::collections::BTreeSet;

/// The most columns of a row.
const COLUMNS_MAX: usize = 64;
/// How many heads must name a known figure for a line to be a heading.
const KNOWN_MIN: usize = 2;

/// What a column holds, and the unit that its head names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Column {
    /// None where it is text, or of something else.
    pub role: Option<Role>,
    /// The factor of the head's unit: `M req/s`, `RPS (k)`, `p99 ms`, `MB/s`; 0 where it has none.
    pub unit: f64,
    /// The bytes of what it counts, bytes or bits.
    pub size: f64,
}

/// A row of a table.
pub(super) struct Row {
    /// Line of the heading; none for a sentence.
    pub table: Option<u64>,
    pub figures: Vec<Found>,
}

/// The rows of all tables, and the lines that belong to a table.
pub(super) fn rows(page: Page<'_>, others: &BTreeSet<u64>) -> (Vec<Row>, BTreeSet<u64>) {
    let (mut rows, mut lines) = glued::rows(page, others);
    let mut heading: Option<(u64, Vec<Column>)> = None;
    let glued = lines.clone();
    let is_free = |line: u64| !others.contains(&line) && !glued.contains(&line);
    for spot in page.lines().filter(|spot| is_free(spot.line)) {
        let cells = cells(spot.text);
        if is_rule(spot.text) && heading.is_some() {
            lines.insert(spot.line);
            continue;
        }
        let is_split = spot.text.contains('|') || spot.text.contains('\t');
        // Between spaces, a word that qualifies the previous one is not a column.
        let heads: Vec<&str> =
            cells.iter().filter(|cell| is_split || !is_part(cell)).copied().collect();
        if let Some(columns) = columns(&heads) {
            lines.insert(spot.line);
            heading = Some((spot.line, columns));
            continue;
        }
        let of = heading.as_ref();
        match of.and_then(|(table, columns)| Some((*table, row(columns, &cells, spot)?))) {
            Some((table, figures)) => {
                lines.insert(spot.line);
                rows.push(Row { table: Some(table), figures });
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

/// The columns of a heading: two known figures, one of them a rate, a time or a share, and no
/// number.
pub(super) fn columns(heads: &[&str]) -> Option<Vec<Column>> {
    let columns: Vec<Column> = heads.iter().map(|cell| column(cell)).collect();
    let has_number = heads.iter().any(|cell| digits(cell).is_some());
    let known = columns.iter().filter_map(|column| column.role);
    let is_setting = |role: Role| matches!(role, Role::Connections | Role::Depth | Role::Threads);
    let many = known.clone().count();
    let has_figure = known.into_iter().any(|role| !is_setting(role));
    (many >= KNOWN_MIN && !has_number && has_figure).then_some(columns)
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
    let of = |role: Role, unit: f64| Column { role: Some(role), unit, size: 1.0 };
    let none = Column { role: None, unit: 0.0, size: 1.0 };
    if let Some(share) = words.iter().find_map(|word| rank(word)) {
        return of(Role::Rank(share), unit);
    }
    if let Some((factor, size)) =
        written.split(is_gap).find_map(|word| data_unit(per_second(word)?))
    {
        return Column { size, ..of(Role::BytesRate, factor) };
    }
    let state = words.iter().find_map(|word| state(word.trim_matches('%')));
    let is_share = small.contains('%') || has(&["percent"]);
    match () {
        () if has(&["in-flight", "inflight"]) || small == "in flight" => of(Role::InFlight, 0.0),
        () if has(&["rps", "req/s", "requests/s", "requests/sec", "req/sec", "qps"]) => {
            // The words tell which of two rates a table means.
            let factor = match () {
                () if has(&["k", "thousand", "thousands"]) => 1e3,
                () if has(&["m", "million", "millions"]) => 1e6,
                () => 1.0,
            };
            match has(&["peak", "max", "stdev", "min"]) {
                true => of(Role::Open(Why::Other), factor),
                false => of(Role::Rate, factor),
            }
        }
        () if has(&["nic", "link"]) && is_share => of(Role::LinkShare, 0.01),
        () if is_share && state.is_some() => state.map_or(none, |state| of(Role::Cpu(state), 0.01)),
        () if has(&["cpu"]) => of(Role::Cpu("busy"), if is_share { 0.01 } else { 0.0 }),
        () if has(&["connections", "conns", "clients"]) => of(Role::Connections, 0.0),
        () if has(&["threads", "workers"]) => of(Role::Threads, 0.0),
        () if has(&["depth", "pipelining", "pipeline"]) => of(Role::Depth, 0.0),
        () if has(&["mean", "avg", "average"]) && (unit > 0.0 || has(&["latency"])) => {
            of(Role::Mean, unit)
        }
        () if has(&["max"]) && (unit > 0.0 || has(&["latency"])) => of(Role::Max, unit),
        () => none,
    }
}

/// The figures of a row. With fewer cells than columns it is not a row; with more, the words in
/// front are its name, which may say how it was measured.
fn row(columns: &[Column], cells: &[&str], spot: Spot<'_>) -> Option<Vec<Found>> {
    let extra = cells.len().checked_sub(columns.len())?;
    let first = columns.iter().position(|column| column.role.is_some()).unwrap_or(0);
    let name = cells[..extra + first].join(" ");
    let named = sentences(Spot { text: &name, ..spot }, About::Requests).into_iter().flatten();
    let is_setting = |one: &Found| {
        matches!(one.role, Role::Connections | Role::Depth | Role::Threads)
            && columns.iter().all(|column| column.role != Some(one.role))
    };
    let of = columns.iter().zip(&cells[extra..]);
    let mut figures: Vec<Found> = of
        .filter_map(|(column, cell)| figure(*column, cell.trim_matches(['*', '`', ' ']), spot.line))
        .collect();
    if figures.is_empty() {
        return None;
    }
    figures.extend(named.filter(is_setting));
    Some(figures)
}

/// The figure of a cell.
pub(super) fn figure(column: Column, cell: &str, line: u64) -> Option<Found> {
    let is_below = cell.starts_with('<');
    let bare = cell.trim_start_matches(['<', '~', '≈', '+']).trim();
    let number = digits(bare)?;
    let role = column.role?;
    // A number below zero is a difference to another row.
    if number.value < 0.0 || cell.starts_with('+') || matches!(role, Role::Open(_)) {
        return Some(Found::open(Why::Other, cell, line));
    }
    let is_bare = number.rest.trim().is_empty();
    let own_word = number.rest.split_whitespace().next().filter(|word| !word.starts_with('('));
    let (role, figure) = match role {
        Role::Rate if column.unit > 1.0 && is_bare => {
            (role, scaled(number, column.unit, line, cell))
        }
        Role::Rate => (role, rounded(bare, line)?),
        Role::BytesRate => {
            let scale = match own_word.map(trimmed) {
                None | Some("") => column.unit * column.size,
                Some(unit) => own_unit(unit, column.size)?,
            };
            (role, scaled(number, scale, line, cell))
        }
        Role::LinkShare | Role::Cpu(_) => {
            let is_share = number.rest.trim_start().starts_with('%');
            (column.unit > 0.0 || is_share).then_some(())?;
            let named = number.rest.split_whitespace().find_map(state);
            let role = named.filter(|_| role != Role::LinkShare).map_or(role, Role::Cpu);
            (role, scaled(number, 0.01, line, cell))
        }
        Role::Rank(_) | Role::Mean | Role::Max => {
            let named = second_unit(number.rest.trim());
            let scale = named.or((column.unit > 0.0 && is_bare).then_some(column.unit))?;
            (role, scaled(number, scale, line, cell))
        }
        _ => {
            let is_exact = number.is_whole && number.rest.is_empty();
            let exact = Figure { printed: cell.into(), ..Figure::exact(number.value, line) };
            (role, if is_exact { exact } else { rounded(bare, line)? })
        }
    };
    let (low, high) = if is_below { (0.0, figure.value) } else { (figure.low, figure.high) };
    Some(Found { role, figure: Figure { low, high, ..figure } })
}

/// Bytes in the unit of a cell. One that is only a prefix is of what the head counts, `size` bytes
/// each.
fn own_unit(unit: &str, size: f64) -> Option<f64> {
    let counted = per_second(unit).unwrap_or(unit);
    let of_head = || data_unit(&format!("{counted}B")).map(|(factor, _)| (factor, size));
    data_unit(counted).or_else(of_head).map(|(factor, size)| factor * size)
}
