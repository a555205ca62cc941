//! Tables in columns of a terminal.

use super::MARGIN;
use super::line::{Ink, TextLine};
use crate::page::{Align, Column, Mark, Row, Table};
use crate::wrap::{left, right, width, wrap, wrap_at_most};
use model::printable::printable;

/// Columns of this rank and above are dropped for wider gaps between the others.
const RANK_OF_SPARE: u8 = 6;

/// A column of words is never made narrower than this; numbers are never cut.
const WORDS_MIN: usize = 12;
/// Words up to this length are not cut if they fit.
const WORD_MAX: usize = 24;

/// Most lines of one cell.
const CELL_LINES_MAX: usize = 8;

/// Which columns are drawn and how wide.
struct Layout {
    shown: Vec<usize>,
    widths: Vec<usize>,
    gap: usize,
}

/// Heading and rows only.
pub(super) fn bare_lines(table: &Table, columns: usize) -> Vec<TextLine> {
    let layout = layout(table, columns);
    let rows = table.rows.iter().flat_map(|row| row_lines(table, &layout, row));
    heading(table, &layout).into_iter().chain(rows).collect()
}

/// Caption, heading, rows, what was left out, notes.
pub(super) fn lines(table: &Table, columns: usize) -> Vec<TextLine> {
    let layout = layout(table, columns);
    let mut lines = Vec::new();
    if !table.caption.is_empty() {
        let caption = wrap(&table.caption, columns - MARGIN).into_iter();
        let indent = " ".repeat(MARGIN);
        lines.extend(caption.map(|text| TextLine::painted(Ink::Strong, format!("{indent}{text}"))));
    }
    lines.extend(heading(table, &layout));
    for row in &table.rows {
        lines.extend(row_lines(table, &layout, row));
    }
    for note in left_out(table, &layout).iter().chain(&table.notes) {
        lines.extend(note_lines(note, columns));
    }
    lines
}

/// A note that starts with the symbol of a mark is as visible as the rows that it explains.
fn note_lines(note: &str, columns: usize) -> Vec<TextLine> {
    let ink = match note.split(' ').next() {
        Some(first) if first == Mark::Broken.symbol() => Ink::Bad,
        Some(first) if first == Mark::Caution.symbol() => Ink::Caution,
        _ => Ink::Faint,
    };
    let marked = ink != Ink::Faint;
    let indent = if marked { 0 } else { MARGIN };
    let hanging = " ".repeat(MARGIN);
    let lines = wrap(note, columns - MARGIN).into_iter().enumerate();
    let indented = |(number, text): (usize, String)| {
        let before = if number == 0 { " ".repeat(indent) } else { hanging.clone() };
        TextLine::painted(ink, format!("{before}{text}"))
    };
    lines.map(indented).collect()
}

fn left_out(table: &Table, layout: &Layout) -> Option<String> {
    let missing: Vec<&str> = (0..table.columns.len())
        .filter(|index| !layout.shown.contains(index))
        .map(|index| table.columns[index].title.as_str())
        .collect();
    (!missing.is_empty()).then(|| format!("Left out for lack of room: {}.", missing.join(", ")))
}

/// Preferred width of a column.
fn natural_width(table: &Table, index: usize) -> usize {
    let cells = table.rows.iter().map(|row| width(&printable(&row.cells[index])));
    let title = longest_word(&table.columns[index].title);
    // The title of a column of words stays on one line; columns of numbers are kept narrow.
    let title = match table.columns[index].align {
        Align::Left => width(&printable(&table.columns[index].title)).max(title),
        Align::Right => title,
    };
    cells.max().unwrap_or(0).max(title)
}

fn longest_word(text: &str) -> usize {
    printable(text).split(' ').map(width).max().unwrap_or(0)
}

/// Wide gaps without the spare columns, else narrow gaps with as many columns as fit.
fn layout(table: &Table, columns: usize) -> Layout {
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let needed: Vec<usize> =
        all.iter().filter(|i| table.columns[**i].rank < RANK_OF_SPARE).copied().collect();
    for (shown, gap) in [(&all, 2), (&needed, 2), (&all, 1)] {
        if let Some(layout) = laid_out(table, shown, gap, columns) {
            return layout;
        }
    }
    let mut shown = all;
    loop {
        let droppable = shown.iter().filter(|index| table.columns[**index].rank > 0);
        let last = droppable.max_by_key(|index| (table.columns[**index].rank, **index)).copied();
        match last {
            Some(index) => shown.retain(|other| *other != index),
            None => return squeezed(table, shown, columns),
        }
        if let Some(layout) = laid_out(table, &shown, 1, columns) {
            return layout;
        }
    }
}

/// The layout with these columns and gaps, if it fits.
fn laid_out(table: &Table, shown: &[usize], gap: usize, columns: usize) -> Option<Layout> {
    let natural: Vec<usize> = shown.iter().map(|index| natural_width(table, *index)).collect();
    let least = |(index, natural): (&usize, &usize)| match table.columns[*index].align {
        Align::Left => (*natural).min(WORDS_MIN),
        Align::Right => *natural,
    };
    let least: Vec<usize> = shown.iter().zip(&natural).map(least).collect();
    let room = (columns - MARGIN).checked_sub(shown.len().saturating_sub(1) * gap)?;
    (least.iter().sum::<usize>() <= room).then(|| Layout {
        shown: shown.to_vec(),
        widths: share(share(least, &whole_words(table, shown), room), &natural, room),
        gap,
    })
}

/// The longest word of each column: a URL is one word, and is not cut if it fits.
fn whole_words(table: &Table, shown: &[usize]) -> Vec<usize> {
    let longest = |index: &usize| {
        let cells = table.rows.iter().map(|row| longest_word(&row.cells[*index]));
        cells.filter(|word| *word <= WORD_MAX).max().unwrap_or(0)
    };
    shown.iter().map(longest).collect()
}

/// Gives spare room to the columns that need more, narrowest first, so that only the longest texts
/// are wrapped.
fn share(mut widths: Vec<usize>, wanted: &[usize], room: usize) -> Vec<usize> {
    let mut spare = room.saturating_sub(widths.iter().sum());
    while spare > 0 {
        let wanting = (0..widths.len()).filter(|index| widths[*index] < wanted[*index]);
        let Some(index) = wanting.min_by_key(|index| widths[*index]) else { break };
        widths[index] += 1;
        spare -= 1;
    }
    widths
}

/// The last resort where no layout fits: the widest columns shrink.
fn squeezed(table: &Table, shown: Vec<usize>, columns: usize) -> Layout {
    let mut widths: Vec<usize> = shown.iter().map(|i| natural_width(table, *i)).collect();
    let room = columns - MARGIN - shown.len().saturating_sub(1);
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max() else { break };
        *widest = widest.saturating_sub(1);
    }
    Layout { shown, widths, gap: 1 }
}

fn aligned(column: &Column, text: &str, room: usize) -> String {
    match column.align {
        Align::Left => left(text, room),
        Align::Right => right(text, room),
    }
}

/// Titles, broken between words and aligned at the bottom.
fn heading(table: &Table, layout: &Layout) -> Vec<TextLine> {
    let titles: Vec<Vec<String>> = layout
        .shown
        .iter()
        .zip(&layout.widths)
        .map(|(index, room)| wrap(&table.columns[*index].title, *room))
        .collect();
    let height = titles.iter().map(Vec::len).max().unwrap_or(0);
    let line = |number: usize| {
        let mut text = " ".repeat(MARGIN);
        for (position, index) in layout.shown.iter().enumerate() {
            let title = &titles[position];
            let part = (number + title.len()).checked_sub(height).map_or("", |at| &title[at]);
            text.push_str(&aligned(&table.columns[*index], part, layout.widths[position]));
            text.push_str(&" ".repeat(layout.gap));
        }
        TextLine::painted(Ink::Faint, text)
    };
    (0..height).map(line).collect()
}

fn row_lines(table: &Table, layout: &Layout, row: &Row) -> Vec<TextLine> {
    let cells: Vec<Vec<String>> = layout
        .shown
        .iter()
        .zip(&layout.widths)
        .map(|(index, room)| wrap_at_most(&row.cells[*index], *room, CELL_LINES_MAX))
        .collect();
    let ink = match row.mark {
        Mark::None => Ink::Plain,
        Mark::Caution => Ink::Caution,
        Mark::Broken => Ink::Bad,
    };
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let line = |number: usize| {
        let symbol = if number == 0 { row.mark.symbol() } else { "" };
        let mut text = left(symbol, MARGIN);
        for (position, index) in layout.shown.iter().enumerate() {
            let part = cells[position].get(number).map_or("", String::as_str);
            text.push_str(&aligned(&table.columns[*index], part, layout.widths[position]));
            text.push_str(&" ".repeat(layout.gap));
        }
        TextLine::painted(ink, text)
    };
    (0..height).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Style;

    fn drawn(table: &Table) -> String {
        let mut text = String::new();
        for line in lines(table, Style::PLAIN.columns) {
            line.write(Style::PLAIN, &mut text);
        }
        text
    }

    #[test]
    fn numbers_line_up_on_the_right_and_marks_stand_in_the_margin() {
        let mut table = Table::new(vec![Column::numbers("rate /s"), Column::words("gates")]);
        table.push(Mark::None, vec!["9".to_string(), "ok".to_string()]);
        table.push(Mark::Broken, vec!["12.3k".to_string(), "BAD 1".to_string()]);
        assert_eq!(drawn(&table), "   rate\n     /s  gates\n      9  ok\n! 12.3k  BAD 1\n");
    }

    #[test]
    fn the_least_important_columns_go_first_and_are_named() {
        let columns = (0..12).map(|rank| Column::numbers(&format!("column{rank}")).rank(rank / 3));
        let mut table = Table::new(columns.collect());
        table.push(Mark::None, vec!["1234567".to_string(); 12]);
        let text = drawn(&table);
        assert!(text.contains("lack of room: column9, column10, column11."), "{text}");
        assert!(text.lines().all(|line| width(line) <= Style::PLAIN.columns), "{text}");
    }

    #[test]
    fn spare_columns_give_way_to_space() {
        let mut columns = vec![Column::numbers("column"); 9];
        columns.push(Column::numbers("spare").rank(RANK_OF_SPARE));
        let mut table = Table::new(columns);
        table.push(Mark::None, vec!["1234567".to_string(); 10]);
        let text = drawn(&table);
        assert!(text.contains("1234567 1234567") && text.contains("spare"), "no use: {text}");
        table.columns.truncate(9);
        table.columns[8].rank = RANK_OF_SPARE;
        table.rows[0].cells.truncate(9);
        let text = drawn(&table);
        assert!(text.contains("1234567  1234567"), "{text}");
    }

    #[test]
    fn words_wrap_and_numbers_do_not() {
        let columns = vec![Column::words("rule"), Column::numbers("n"), Column::words("why")];
        let mut table = Table::new(columns);
        let long = "a sentence that is much longer than a terminal is wide ".repeat(3);
        table.push(Mark::None, vec![long.clone(), "123456789".to_string(), long]);
        let text = drawn(&table);
        assert!(text.contains("123456789"), "{text}");
        assert!(text.lines().all(|line| width(line) <= Style::PLAIN.columns), "{text}");
    }

    #[test]
    fn a_table_that_cannot_fit_is_cut_and_not_overlong() {
        let mut table = Table::new(vec![Column::numbers("n"); 30]);
        table.push(Mark::None, vec!["123456789".to_string(); 30]);
        assert!(drawn(&table).lines().all(|line| width(line) <= Style::PLAIN.columns));
    }
}
