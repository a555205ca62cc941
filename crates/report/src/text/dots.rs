//! Rows of dots in a terminal, one line per row.

use super::MARGIN;
use super::line::{Ink, TextLine};
use crate::axis::step_label;
use crate::page::{DotRow, Dots, Mark, Span};
use crate::wording::middle;
use crate::wrap::{fit, left, right, width};

/// Most characters of a name.
const LABEL_MAX: usize = 24;
/// Most columns of an axis.
const AXIS_MAX: usize = 48;
/// Fewest columns of an axis.
const AXIS_MIN: usize = 16;

/// Title, heading, rows, and the axis below them.
pub(super) fn lines(of: &Dots, columns: usize) -> Vec<TextLine> {
    let margin = " ".repeat(MARGIN);
    let column = |heading: &str, cell: fn(&DotRow) -> &str, most: usize| {
        let cells = of.rows.iter().map(|row| middle(cell(row), most));
        let all: Vec<String> = [heading.to_string()].into_iter().chain(cells).collect();
        let widest = all.iter().map(|text| width(text)).max().unwrap_or(0);
        (all, widest)
    };
    let (labels, names) = column(&of.rows_are, |row| &row.label, LABEL_MAX);
    let (values, value) = column(&of.values_are, |row| &row.value, LABEL_MAX);
    let (words, word) = column(&of.words_are, |row| &row.word, LABEL_MAX);
    let room = (columns - MARGIN).saturating_sub(names + value + word + 6);
    let (room, span) = (room.clamp(AXIS_MIN, AXIS_MAX), of.span());
    let title = TextLine::painted(Ink::Strong, fit(&format!("{margin}{}", of.title), columns));
    let mut lines = vec![title];
    for nth in 0..=of.rows.len() {
        let before =
            format!("{margin}{}  {}  ", left(&labels[nth], names), right(&values[nth], value));
        let (ink, strip) = match nth.checked_sub(1) {
            None => {
                let zone = of.zone.as_ref().map_or("", |zone| zone.label.as_str());
                (Ink::Faint, fit(zone, room))
            }
            Some(row) => (Ink::Plain, strip((of, span), &of.rows[row], room)),
        };
        let text = format!("{before}{}  {}", left(&strip, room), words[nth]);
        lines.push(TextLine::painted(ink, fit(&text, columns)));
    }
    let before = " ".repeat(MARGIN + names + value + 4);
    lines.push(TextLine::painted(
        Ink::Faint,
        fit(&format!("{before}{}", axis((of, span), room)), columns),
    ));
    lines
}

/// The column of a position.
fn column(place: f64, room: usize) -> usize {
    (place * (room - 1) as f64).round() as usize
}

fn strip((of, span): (&Dots, Span), row: &DotRow, room: usize) -> String {
    let at = |value: f64| column(span.place(value), room);
    let ends = |range| {
        let (from, to) = span.places(range);
        (column(from, room), column(to, room))
    };
    let mut letters = vec![' '; room];
    if let Some(zone) = &of.zone {
        let (from, to) = ends((zone.from, zone.to));
        letters[from..=to].fill('░');
    }
    if let Some(line) = of.line {
        letters[at(line)] = '│';
    }
    if let Some(within) = row.within {
        let (low, high) = ends(within);
        letters[low..=high].fill('─');
        (letters[low], letters[high]) = ('├', '┤');
    }
    for dot in &row.dots {
        letters[at(dot.at)] = if dot.mark == Mark::Broken { '×' } else { '•' };
    }
    if let Some(middle) = row.middle {
        letters[at(middle)] = if row.dots.is_empty() { '●' } else { '┃' };
    }
    letters.into_iter().collect()
}

/// Round values below their positions, as many as fit.
fn axis((of, span): (&Dots, Span), room: usize) -> String {
    let mut text = String::new();
    for step in span.steps() {
        let label = step_label(&of.axis, step);
        let begin = column(span.place(step), room).saturating_sub(width(&label) / 2);
        let gap = begin as i64 - width(&text) as i64;
        let is_inside = begin + width(&label) <= room;
        if is_inside && gap >= 0 && (gap > 0 || text.is_empty()) {
            text.push_str(&" ".repeat(gap as usize));
            text.push_str(&label);
        }
    }
    text
}
