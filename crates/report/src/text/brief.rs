//! The default output: the result first and last, and nothing that needs a manual.
//!
//! In: a run. Out: at most 18 lines for one level, and one line for each level or trial with at
//! most 12 others for several. Never: gates that hold, evidence, settings; `-v` and `-vv` print
//! those.

mod beside;
mod histogram;
mod rows;
mod sizing;
mod tables;
mod verdict;

use super::line::{Ink, TextLine};
use super::{MARGIN, WIDTH, banner_lines, table};
use crate::page::Banner;
use crate::sections::summary;
use crate::wording::{best_point, middle};
use crate::wrap::{fit, left, width, wrap_at_most};
use model::load::Hold;
use model::run::{Point, Run};
use model::size::Sizing;

/// Lines of one level.
pub(super) const LINES: usize = 18;
/// Lines of several levels, in addition to one per level.
pub(super) const LINES_BESIDE_LEVELS: usize = 12;
/// Width of the names on the left.
const NAMES: usize = 11;
/// Lines that one row may take.
const ROW_LINES: usize = 2;

/// A named row. A command is never cut or broken inside a word, so that it can be pasted.
pub(super) struct Row {
    name: String,
    ink: Ink,
    text: String,
}

impl Row {
    fn new(name: &str, text: impl Into<String>) -> Self {
        Self::inked(name, Ink::Plain, text)
    }

    fn inked(name: &str, ink: Ink, text: impl Into<String>) -> Self {
        Self { name: name.to_string(), ink, text: text.into() }
    }
}

/// The verdict, the command, the figures. The verdict is repeated at the end, after what `-v`
/// adds.
pub(super) fn lines(run: &Run) -> Vec<TextLine> {
    let mut lines = first(run);
    let most = match run.record.points.len() {
        0 | 1 => LINES,
        levels => LINES_BESIDE_LEVELS + levels,
    };
    // The last line repeats the verdict.
    let figures = figures(run, most - lines.len() - 1);
    // Remaining lines become blank lines.
    let spare = most.saturating_sub(lines.len() + figures.len() + 1);
    lines.extend((spare > 1).then(TextLine::default));
    lines.extend(figures);
    lines.extend((spare > 0).then(TextLine::default));
    lines
}

/// The verdict again, in one line: it stays visible when the terminal scrolls.
pub(super) fn last(run: &Run) -> Vec<TextLine> {
    let verdict = verdict::verdict(run);
    banner_lines(&Banner { text: fit(&verdict.text, WIDTH - 2), ..verdict })
}

/// The fastest of several runs and a line for each; and the first line again, for the end.
pub(super) fn beside_lines(runs: &[Run]) -> (Vec<TextLine>, Vec<TextLine>) {
    (beside::lines(runs), beside::last(runs))
}

/// How many client machines, the products behind that number, and the first line again.
pub(super) fn sizing_lines(of: &Sizing, run: &Run) -> [Vec<TextLine>; 3] {
    [sizing::lines(of, run), sizing::steps(of), sizing::last(of)]
}

/// The verdict, and the command.
fn first(run: &Run) -> Vec<TextLine> {
    let mut lines = banner_lines(&verdict::verdict(run));
    lines.truncate(ROW_LINES);
    lines.push(TextLine::painted(Ink::Faint, title(run)));
    lines
}

/// The command without its options, and as much of the load as fits. A long URL is shortened in the
/// middle.
fn title(run: &Run) -> String {
    let head = format!("ceiling {} ", run.record.trial.question.word());
    let load = summary::load_parts(&run.record);
    let first = load.first().map_or(0, |part| width(part) + 2);
    let room = WIDTH.saturating_sub(width(&head) + first).max(URL_MIN);
    let mut title = format!("{head}{}", middle(&run.record.target.url, room));
    for (at, part) in load.iter().enumerate() {
        let joint = if at == 0 { "; " } else { ", " };
        if width(&title) + width(joint) + width(part) > WIDTH {
            break;
        }
        title.push_str(&format!("{joint}{part}"));
    }
    fit(&title, WIDTH)
}

/// A URL is not shortened below this to make room for what follows it.
const URL_MIN: usize = 36;

/// The figures, in at most `room` lines where possible.
fn figures(run: &Run, room: usize) -> Vec<TextLine> {
    let points = &run.record.points;
    let (table, rows) = match points.as_slice() {
        _ if run.record.search.is_some() => (tables::search(run), rows::of_levels(run)),
        _ if points.iter().any(|point| point.events.is_some()) => {
            (tables::events(run), rows::of_events(run))
        }
        [] => (
            None,
            run.record
                .tool
                .as_ref()
                .map_or_else(|| rows::of_nothing(run), |tool| rows::of_tool(run, tool)),
        ),
        [point] if is_of_connections(point) => (None, rows::of_connections(run, point)),
        [point] => return one_level(run, point, room),
        _ if points.iter().all(|point| point.is_churn() && point.turnover.is_some()) => {
            let best = best_point(run).map_or(&points[0], |(_, point)| point);
            (Some(tables::connections(run)), rows::of_connections(run, best))
        }
        _ => (tables::levels(run), rows::of_levels(run)),
    };
    let mut lines = table.map_or_else(Vec::new, |of| table::bare_lines(&of));
    let rows = drawn(&rows, room.saturating_sub(lines.len()));
    if !lines.is_empty() && !rows.is_empty() && lines.len() + rows.len() < room {
        lines.push(TextLine::default());
    }
    lines.extend(rows);
    lines
}

/// Whether the point is about connections, not requests.
fn is_of_connections(point: &Point) -> bool {
    let is_held = point.load.life.is_some_and(|life| life.hold == Some(Hold::Forever));
    point.is_churn() && (is_held || !point.asks())
}

/// One level: the distribution of latency is drawn if it fits.
fn one_level(run: &Run, point: &Point, room: usize) -> Vec<TextLine> {
    let (above, below) = rows::of_one(run, point);
    if let Some(latency) = histogram::lines(run, point) {
        let mut lines = drawn(&above, room);
        lines.extend(latency);
        lines.extend(drawn(&below, room));
        if lines.len() <= room {
            return lines;
        }
    }
    let rows: Vec<Row> = above.into_iter().chain(rows::latency(point)).chain(below).collect();
    drawn(&rows, room)
}

/// Rows in at most `room` lines where possible: else all rows except commands get one line.
fn drawn(rows: &[Row], room: usize) -> Vec<TextLine> {
    let lines = |most: usize| -> Vec<TextLine> {
        rows.iter().flat_map(|row| row_lines(row, most)).collect()
    };
    let whole = lines(ROW_LINES);
    if whole.len() <= room { whole } else { lines(1) }
}

/// A row in at most this many lines of a terminal.
fn row_lines(row: &Row, most: usize) -> Vec<TextLine> {
    let (indent, room) = (MARGIN + NAMES, WIDTH - MARGIN - NAMES);
    let texts = match row.ink {
        Ink::Command if row.text.starts_with("ceiling ") => command_lines(&row.text, room),
        _ => wrap_at_most(&row.text, room, most),
    };
    let mut name = row.name.as_str();
    let mut lines = Vec::new();
    for text in texts {
        let label = left(&format!("{}{name}", " ".repeat(MARGIN)), indent);
        lines.push(TextLine::painted(Ink::Faint, label).then(row.ink, text));
        name = "";
    }
    lines
}

/// A command in lines that a shell joins again, broken between words.
fn command_lines(command: &str, room: usize) -> Vec<String> {
    let command = crate::printable::printable(command);
    let mut lines = vec![String::new()];
    for word in with_values(&shell_words(&command)) {
        let line = lines.last_mut().expect("there is one");
        // Every line except the last ends with a backslash.
        if !line.is_empty() && width(line) + 1 + width(&word) + 2 > room {
            line.push_str(" \\");
            lines.push(format!("  {word}"));
        } else if line.is_empty() {
            *line = word;
        } else {
            line.push_str(&format!(" {word}"));
        }
    }
    lines
}

/// Joins each option with its value.
fn with_values(words: &[&str]) -> Vec<String> {
    let mut units: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let is_value = at > 2 && words[at - 1].starts_with('-') && !word.starts_with('-');
        match units.last_mut().filter(|_| is_value) {
            Some(unit) => unit.push_str(&format!(" {word}")),
            None => units.push((*word).to_string()),
        }
    }
    units
}

/// The words of a command as a shell splits them, with their quotes.
fn shell_words(command: &str) -> Vec<&str> {
    let (mut words, mut begin, mut quote, mut is_escaped) = (Vec::new(), 0, None, false);
    for (at, letter) in command.char_indices() {
        match (quote, letter) {
            _ if is_escaped => is_escaped = false,
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => is_escaped = true,
            (None, '\'' | '"') => quote = Some(letter),
            (None, ' ') => {
                words.push(&command[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    words.push(&command[begin..]);
    words.retain(|word| !word.is_empty());
    words
}
