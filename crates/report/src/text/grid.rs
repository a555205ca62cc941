//! Grids in a terminal: one line per row, with parts and values as numbers and cells as bars.

use super::line::{Ink, TextLine};
use super::{MARGIN, spark};
use crate::page::{Across, Align, Grid, GridRow};
use crate::wrap::{fit, left, right, width};
use model::order::OrderBy as _;

/// Most rows: those with the largest cells, in their original order.
const ROWS_MAX: usize = 17;
/// Most characters of a name.
const LABEL_MAX: usize = 22;
/// Fewest bars on a line.
const BARS_MIN: usize = 8;
/// Most bars on a line.
const BARS_MAX: usize = 32;

/// Title, heading, rows, and how many were left out.
pub(super) fn lines(grid: &Grid, screen: usize) -> Vec<TextLine> {
    let rows = chosen(grid);
    let margin = " ".repeat(MARGIN);
    let span = match &grid.across {
        Across::Time { .. } => format!(": {} over the run", grid.cells_are),
        Across::Cpus => String::new(),
    };
    let title = format!("{margin}{}{span}", grid.title);
    let mut lines = vec![TextLine::painted(Ink::Strong, fit(&title, screen))];
    let heads = grid.parts.iter().map(|part| (part.as_str(), Align::Right));
    let heads = heads.chain(grid.columns.iter().map(|one| (one.title.as_str(), one.align)));
    let mut columns: Vec<Vec<String>> = vec![];
    let mut aligned = vec![];
    for (nth, (head, align)) in heads.enumerate() {
        let cells = rows.iter().map(|row| cell(grid, row, nth));
        columns.push([head.to_string()].into_iter().chain(cells).collect());
        aligned.push(align);
    }
    let labels = rows.iter().map(|row| fit(&row.label, LABEL_MAX));
    let labels: Vec<String> = [grid.rows_are.clone()].into_iter().chain(labels).collect();
    let names = widest(&labels);
    // Columns that do not fit are left out from the right, so that the bars stay.
    let mut room = screen - MARGIN - names - 2 - BARS_MIN;
    let fits = |column: &Vec<String>| {
        let needed = widest(column) + 2;
        let is_room = room >= needed;
        room = if is_room { room - needed } else { 0 };
        is_room
    };
    let shown: Vec<bool> = columns.iter().map(fits).collect();
    for nth in 0..=rows.len() {
        let mut text = format!("{margin}{}", left(&labels[nth], names));
        for ((column, align), _) in columns.iter().zip(&aligned).zip(&shown).filter(|(_, on)| **on)
        {
            let padded = match align {
                Align::Left => left(&column[nth], widest(column)),
                Align::Right => right(&column[nth], widest(column)),
            };
            text.push_str(&format!("  {padded}"));
        }
        let bars = match nth.checked_sub(1) {
            None => String::new(),
            Some(row) => bars(grid, rows[row], screen - width(&text) - 2),
        };
        let ink = if nth == 0 { Ink::Faint } else { Ink::Plain };
        lines.push(TextLine::painted(ink, fit(&format!("{text}  {bars}"), screen)));
    }
    if rows.len() < grid.rows.len() {
        let more = grid.rows.len() - rows.len();
        let text = format!("{margin}{more} more with smaller values.");
        lines.push(TextLine::painted(Ink::Faint, text));
    }
    lines
}

/// The rows with the largest cells, in their original order.
fn chosen(grid: &Grid) -> Vec<&GridRow> {
    let most = |row: &GridRow| row.cells.iter().flatten().copied().fold(0.0, f64::max);
    let mut by_most: Vec<usize> = (0..grid.rows.len()).collect();
    by_most.order_by(|left, right| most(&grid.rows[*right]).total_cmp(&most(&grid.rows[*left])));
    by_most.truncate(ROWS_MAX);
    by_most.sort_unstable();
    by_most.into_iter().map(|nth| &grid.rows[nth]).collect()
}

fn cell(grid: &Grid, row: &GridRow, nth: usize) -> String {
    let of_bar = nth < grid.parts.len();
    let shown = if of_bar {
        row.bar.get(nth).map(|share| format!("{share:.0}"))
    } else {
        row.values.get(nth - grid.parts.len()).cloned()
    };
    shown.unwrap_or_else(|| "-".to_string())
}

fn widest(column: &[String]) -> usize {
    column.iter().map(|text| width(text)).max().unwrap_or(0)
}

/// One bar for several neighbouring cells shows the largest of them.
fn bars(grid: &Grid, row: &GridRow, room: usize) -> String {
    let room = room.clamp(1, BARS_MAX);
    let each = row.cells.len().div_ceil(room).max(1);
    let most = |cells: &[Option<f64>]| cells.iter().flatten().copied().max_by(f64::total_cmp);
    let bar =
        |cells: &[Option<f64>]| most(cells).map_or(' ', |value| spark::step(value / grid.full));
    row.cells.chunks(each).map(bar).collect()
}
