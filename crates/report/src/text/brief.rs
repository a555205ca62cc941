//! The default output: the result first and last, and nothing that needs a manual.
//!
//! In: a run. Out: about 20 lines for one level, and one for each level or trial with about 15
//! others for several. Nothing is cut: a text that does not fit goes on in the next line. Never:
//! gates that hold, all evidence, settings; `-v` and `-vv` print those.

mod beside;
mod histogram;
mod rows;
pub(crate) use rows::PERCENTILES;
mod sizing;
mod tables;
mod verdict;

use super::line::{Ink, TextLine};
use super::{MARGIN, banner_lines, painted, table};
use crate::page::Table;
use crate::sections::levels::{self, About};
use crate::sections::{Detail, summary};
use crate::wording::best_point;
use crate::wrap::{left, together, width, wrap};
use model::run::{Point, Run};
use model::size::Sizing;

/// Lines of a terminal that the result shares with nothing but the prompt: where it is shorter,
/// blank lines set its parts apart.
const SCREEN: usize = 23;
/// Width of the names on the left.
const NAMES: usize = 11;
/// Most letters of one row. Only hostile texts are longer.
const LETTERS_MAX: usize = 4000;

/// A part below the verdict.
pub(super) enum Row {
    /// A name and its text. A command is never broken inside a word, so that it can be pasted.
    Named { name: String, ink: Ink, text: String },
    /// Several of a kind.
    Table(Table),
}

impl Row {
    fn new(name: &str, text: impl Into<String>) -> Self {
        Self::inked(name, Ink::Plain, text)
    }

    fn inked(name: &str, ink: Ink, text: impl Into<String>) -> Self {
        let mut text: String = text.into();
        if let Some((end, _)) = text.char_indices().nth(LETTERS_MAX) {
            let more = text[end..].chars().count();
            text.truncate(end);
            text.push_str(&format!(" (and {more} more letters)"));
        }
        Self::Named { name: name.to_string(), ink, text }
    }
}

/// The verdict, the command, the figures. The verdict is repeated at the end, after what `-v`
/// adds.
pub(super) fn lines(run: &Run, columns: usize) -> Vec<TextLine> {
    let verdict = last(run, columns);
    let mut lines = verdict.clone();
    lines.extend(painted(Ink::Faint, &title(run, columns), columns));
    let (table, rows) = figures(run, columns);
    let spare = SCREEN.saturating_sub(lines.len() + table.len() + rows.len() + verdict.len());
    lines.extend((spare > 1).then(TextLine::default));
    let is_table = !table.is_empty();
    lines.extend(table);
    lines.extend((spare > 2 && is_table).then(TextLine::default));
    lines.extend(rows);
    lines.extend((spare > 0).then(TextLine::default));
    lines
}

/// The verdict again: it stays visible when the terminal scrolls.
pub(super) fn last(run: &Run, columns: usize) -> Vec<TextLine> {
    banner_lines(&verdict::verdict(run, columns), columns)
}

/// The fastest of several runs and a line for each; and the first line again, for the end.
pub(super) fn beside_lines(runs: &[Run], columns: usize) -> (Vec<TextLine>, Vec<TextLine>) {
    (beside::lines(runs, columns), beside::last(runs, columns))
}

/// How many client machines, the products behind that number, and the first line again.
pub(super) fn sizing_lines(of: &Sizing, run: &Run, columns: usize) -> [Vec<TextLine>; 3] {
    [sizing::lines(of, run, columns), sizing::steps(of, columns), sizing::last(of, columns)]
}

/// The command without its options, and as much of the load as fits into the same lines.
fn title(run: &Run, columns: usize) -> String {
    let mut title = together(&format!(
        "ceiling {} {}",
        run.record.trial.question.word(),
        run.record.target.url
    ));
    for (at, part) in summary::load_parts(&run.record).iter().enumerate() {
        let more = format!("{title}{} {}", if at == 0 { ";" } else { "," }, together(part));
        if at > 0 && wrap(&more, columns).len() > wrap(&title, columns).len() {
            break;
        }
        title = more;
    }
    title
}

/// The table of levels or trials, if there are several, and the figures.
fn figures(run: &Run, columns: usize) -> (Vec<TextLine>, Vec<TextLine>) {
    let points = &run.record.points;
    let about = About::of(points);
    let (table, rows) = match points.as_slice() {
        _ if run.record.search.is_some() => (tables::search(run), rows::of_levels(run)),
        _ if about == About::Events => {
            (levels::table(run, about, Detail::Summary), rows::of_events(run))
        }
        [] => (
            None,
            run.record
                .tool
                .as_ref()
                .map_or_else(|| rows::of_nothing(run), |tool| rows::of_tool(run, tool)),
        ),
        [point] if is_of_connections(point) => (None, rows::of_connections(run, point)),
        [point] => (None, rows::of_one(run, point, columns)),
        _ if about == About::Connections => {
            let best = best_point(run).map_or(&points[0], |(_, point)| point);
            (levels::table(run, about, Detail::Summary), rows::of_connections(run, best))
        }
        _ if !points.iter().any(Point::asks) => (None, rows::of_levels(run)),
        _ => (levels::table(run, about, Detail::Summary), rows::of_levels(run)),
    };
    let table = table.map_or_else(Vec::new, |table| table::bare_lines(&table, columns));
    (table, drawn(&rows, columns))
}

/// Whether the point is about connections, not requests.
fn is_of_connections(point: &Point) -> bool {
    point.is_held() || point.is_of_devices() && !point.asks()
}

fn drawn(rows: &[Row], columns: usize) -> Vec<TextLine> {
    let lines = |row: &Row| match row {
        Row::Named { name, ink, text } => row_lines(name, *ink, text, columns),
        Row::Table(table) if table.caption.is_empty() => table::bare_lines(table, columns),
        Row::Table(table) => table::lines(table, columns),
    };
    rows.iter().flat_map(lines).collect()
}

/// A named row in as many lines as it needs. A command whose words do not fit beside the name
/// begins below it.
fn row_lines(name: &str, ink: Ink, text: &str, columns: usize) -> Vec<TextLine> {
    let (indent, room) = (MARGIN + NAMES, columns - MARGIN - NAMES);
    let mut label = left(&format!("{}{name}", " ".repeat(MARGIN)), indent);
    let is_command = ink == Ink::Command;
    let is_wide = |room: usize| command_lines(text, room).iter().any(|line| width(line) > room);
    let mut lines = Vec::new();
    let texts = match is_command {
        false => wrap(text, room),
        true if is_wide(room) => {
            lines.push(TextLine::painted(Ink::Faint, label));
            label = " ".repeat(MARGIN);
            command_lines(text, columns - MARGIN)
        }
        true => command_lines(text, room),
    };
    for text in texts {
        let blank = " ".repeat(width(&label));
        lines.push(TextLine::painted(Ink::Faint, label).then(ink, text));
        label = blank;
    }
    lines
}

/// A command in lines that a shell joins again, broken between words.
fn command_lines(command: &str, room: usize) -> Vec<String> {
    let command = model::printable::printable(command);
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
