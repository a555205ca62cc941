//! Tables that lost the gaps between their columns, as copying a page leaves them.
//!
//! `connectionsRPSp50 ms` above `1000786,69438` has columns of known words, and every way to split
//! a row into such cells is tried. A cell that is the same in all of them is read, another one is
//! not. Where one number of a column has separators of thousands, all have.

use super::found::{Found, Role};
use super::prose::rank;
use super::table::{self, Column, Row};
use crate::audit::page::{Page, Spot};
use crate::audit::printed::{data_unit, per_second, second_unit};
use model::audit::Why;
use std::collections::BTreeSet;
use std::ops::Range;

/// The most bytes of a heading.
const HEADING_MAX: usize = 200;
/// The most bytes of a row.
const ROW_MAX: usize = 100;
/// The most bytes of a number with its unit, and of a word of a heading.
const CELL_MAX: usize = 24;
/// The most digits of a number of threads, or of requests in flight on a connection.
const FEW_MAX: usize = 5;
/// The most rows of all tables.
const ROWS_MAX: usize = 50;
/// The most columns.
const COLUMNS_MAX: usize = 16;

/// Words of headings; percentiles besides.
const HEADS: [&str; 61] = [
    "connections",
    "conns",
    "clients",
    "in-flight",
    "workers",
    "threads",
    "depth",
    "pipelining",
    "rps",
    "qps",
    "req/s",
    "requests/s",
    "req/sec",
    "requests/sec",
    "avg",
    "average",
    "mean",
    "max",
    "min",
    "stdev",
    "peak",
    "median",
    "latency",
    "throughput",
    "mb/s",
    "gb/s",
    "mbit/s",
    "gbit/s",
    "gbps",
    "mbps",
    "nic",
    "link",
    "tx",
    "rx",
    "tx%",
    "rx%",
    "nic%",
    "cpu",
    "cpu%",
    "%",
    "ms",
    "(ms)",
    "us",
    "µs",
    "server",
    "client",
    "base",
    "baseline",
    "pinned",
    "before",
    "after",
    "run",
    "config",
    "test",
    "name",
    "setting",
    "framework",
    "errors",
    "time",
    "usr",
    "idle",
];

/// How the numbers of a column are written.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Thousands {
    Unknown,
    Separated,
    Plain,
}

/// The rows of all glued tables, and their lines.
pub(super) fn rows(page: Page<'_>, others: &BTreeSet<u64>) -> (Vec<Row>, BTreeSet<u64>) {
    let (mut all, mut lines) = (Vec::new(), BTreeSet::new());
    let mut open: Option<Table<'_>> = None;
    for spot in page.lines().filter(|spot| !others.contains(&spot.line)) {
        if let Some(table) = &mut open
            && spot.text.len() <= ROW_MAX
            && table.rows.len() + all.len() < ROWS_MAX
            && table.splits(spot.text).iter().all(|cells| !cells.is_empty())
        {
            table.rows.push(spot);
            continue;
        }
        open.take().into_iter().for_each(|table| table.read(&mut all, &mut lines));
        open = heading(spot).map(|columns| Table { line: spot.line, columns, rows: Vec::new() });
    }
    open.into_iter().for_each(|table| table.read(&mut all, &mut lines));
    (all, lines)
}

struct Table<'a> {
    line: u64,
    columns: Vec<(Column, Thousands)>,
    rows: Vec<Spot<'a>>,
}

impl Table<'_> {
    fn read(mut self, all: &mut Vec<Row>, lines: &mut BTreeSet<u64>) {
        if self.rows.is_empty() {
            return;
        }
        self.learn();
        lines.insert(self.line);
        for spot in &self.rows {
            let cells = self.splits(spot.text);
            let figure = |((column, _), cells): (&(Column, Thousands), Vec<&str>)| {
                column.role?;
                match cells[..] {
                    [cell] => table::figure(*column, cell, spot.line),
                    _ => Some(Found::open(Why::Glued, spot.text, spot.line)),
                }
            };
            let figures = self.columns.iter().zip(cells).filter_map(figure).collect();
            lines.insert(spot.line);
            all.push(Row { table: Some(self.line), figures });
        }
    }

    /// What the certain cells of a column tell about the others.
    fn learn(&mut self) {
        for spot in self.rows.clone().into_iter().cycle().take(2 * self.rows.len()) {
            let cells = self.splits(spot.text);
            for ((_, thousands), cells) in self.columns.iter_mut().zip(cells) {
                let [cell] = cells[..] else { continue };
                let whole = cell.split('.').next().unwrap_or_default();
                let many = whole.chars().filter(char::is_ascii_digit).count();
                if many > 3 {
                    let is_separated = whole.contains(',');
                    *thousands = if is_separated { Thousands::Separated } else { Thousands::Plain };
                }
            }
        }
    }

    /// For each column the cells that a row may have there; the row, where any text may be there.
    fn splits<'a>(&self, text: &'a str) -> Vec<Vec<&'a str>> {
        let text = text.trim();
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        // Where each column can begin, from the left; and end, from the right.
        let mut begins = vec![BTreeSet::from([0])];
        let mut columns: Vec<Vec<Range<usize>>> = Vec::new();
        for column in &self.columns {
            let before = begins.last().into_iter().flatten();
            let near = |from: &usize| {
                let from = *from;
                let is_near = move |to: &&usize| **to > from && **to - from <= CELL_MAX;
                ends.iter().filter(is_near).map(move |to| from..*to)
            };
            let is_one = |range: &Range<usize>| is_cell(&text[range.clone()], *column);
            let (cells, after) = match (column.0.role, begins.last().and_then(BTreeSet::first)) {
                (Some(_), _) => {
                    let cells: Vec<_> = before.flat_map(near).filter(is_one).collect();
                    let after = cells.iter().map(|cell| cell.end).collect();
                    (cells, after)
                }
                (None, Some(first)) => {
                    (Vec::new(), ends.iter().copied().filter(|to| to > first).collect())
                }
                (None, None) => (Vec::new(), BTreeSet::new()),
            };
            columns.push(cells);
            begins.push(after);
        }
        let mut stops = BTreeSet::from([text.len()]);
        let mut kept = Vec::new();
        for ((cells, before), (column, _)) in columns.iter().zip(&begins).zip(&self.columns).rev() {
            if column.role.is_some() {
                let whole: Vec<_> = cells.iter().filter(|one| stops.contains(&one.end)).collect();
                stops = whole.iter().map(|one| one.start).collect();
                kept.push(whole.into_iter().map(|one| &text[one.clone()]).collect::<Vec<_>>());
            } else {
                let last = stops.last().copied().unwrap_or_default();
                stops = before.iter().copied().filter(|from| *from < last).collect();
                kept.push(Vec::from_iter((!stops.is_empty()).then_some(text)));
            }
        }
        kept.reverse();
        kept
    }
}

/// Whether a text can be a cell of a column with a role: a number with a unit that the head leaves
/// to it.
fn is_cell(cell: &str, (column, thousands): (Column, Thousands)) -> bool {
    let number = cell.trim_start_matches(['<', '~', '≈']);
    let end = number.find(|char: char| !(char.is_ascii_digit() || char == ',' || char == '.'));
    let (number, unit) = number.split_at(end.unwrap_or(number.len()));
    let is_few = matches!(column.role, Some(Role::Threads | Role::Depth));
    let may_be_zero = matches!(
        column.role,
        Some(Role::Rank(_) | Role::Mean | Role::Max | Role::LinkShare | Role::Cpu(_))
    );
    let is_share = matches!(column.role, Some(Role::LinkShare | Role::Cpu(_)));
    let is_possible = (!is_few || number.len() <= FEW_MAX)
        && (may_be_zero || !number.starts_with('0'))
        && (!is_share || number.parse::<f64>().is_ok_and(|percent| percent <= 100.0));
    is_possible && is_number(number, thousands) && is_unit(unit.trim_start(), column)
}

fn is_number(number: &str, thousands: Thousands) -> bool {
    let (whole, part) = number.split_once('.').map_or((number, None), |(a, b)| (a, Some(b)));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|one| one.is_ascii_digit());
    let is_real = part.is_none_or(is_digits) && (whole == "0" || !whole.starts_with('0'));
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let is_grouped = whole.contains(',');
    let is_right = match thousands {
        Thousands::Separated => is_grouped || first.len() <= 3,
        Thousands::Plain => !is_grouped,
        Thousands::Unknown => true,
    };
    let are_three = groups.all(|group| group.len() == 3 && is_digits(group));
    is_real && is_right && is_digits(first) && are_three && (!is_grouped || first.len() <= 3)
}

/// Whether a unit is one that the cell needs, or may have.
fn is_unit(unit: &str, column: Column) -> bool {
    let is_scaled = ["k", "K", "M"].contains(&unit);
    match column.role {
        Some(Role::Rank(_) | Role::Mean | Role::Max) => {
            second_unit(unit).is_some() || (unit.is_empty() && column.unit > 0.0)
        }
        Some(Role::LinkShare | Role::Cpu(_)) => {
            let named = unit.strip_prefix('%').map(str::trim);
            named.is_some_and(|word| word.is_empty() || super::prose::state(word).is_some())
        }
        Some(Role::BytesRate) => unit.is_empty() || per_second(unit).and_then(data_unit).is_some(),
        _ => unit.is_empty() || is_scaled,
    }
}

/// The columns of a heading with glued words.
fn heading(spot: Spot<'_>) -> Option<Vec<(Column, Thousands)>> {
    if spot.text.len() > HEADING_MAX {
        return None;
    }
    let mut columns: Vec<String> = Vec::new();
    let mut is_glued = false;
    for word in spot.text.split_whitespace() {
        let pieces = pieces(word)?;
        is_glued |= pieces.len() > 1;
        let (first, others) = pieces.split_first()?;
        match columns.last_mut() {
            Some(last) => *last += &format!(" {first}"),
            None => columns.push((*first).to_string()),
        }
        columns.extend(others.iter().map(|piece| (*piece).to_string()));
    }
    let cells: Vec<&str> = columns.iter().map(String::as_str).collect();
    let columns = is_glued.then(|| table::columns(&cells))??;
    (columns.len() <= COLUMNS_MAX)
        .then(|| columns.into_iter().map(|column| (column, Thousands::Unknown)).collect())
}

/// The fewest known words that make up a word.
fn pieces(word: &str) -> Option<Vec<&str>> {
    let is_known = |piece: &str| {
        let small = piece.to_lowercase();
        HEADS.contains(&small.as_str()) || rank(&small).is_some()
    };
    let ends: Vec<usize> = word.char_indices().map(|(at, _)| at).chain([word.len()]).collect();
    let mut best: Vec<Option<Vec<&str>>> = vec![Some(Vec::new())];
    for (index, end) in ends.iter().enumerate().skip(1) {
        let of = |from: usize| {
            let piece = &word[ends[from]..*end];
            let before = best[from].as_ref().filter(|_| is_known(piece))?;
            Some(before.iter().copied().chain([piece]).collect::<Vec<_>>())
        };
        let shortest = (index.saturating_sub(CELL_MAX)..index).filter_map(of).min_by_key(Vec::len);
        best.push(shortest);
    }
    best.pop()?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cells of each row; none where it can be split in several ways.
    fn cells(text: &str) -> Vec<Vec<Option<String>>> {
        let (rows, _) = rows(Page(text), &BTreeSet::new());
        let cell = |one: &Found| (!one.is_open()).then(|| one.figure.printed.clone());
        rows.iter().map(|row| row.figures.iter().map(cell).collect()).collect()
    }

    fn some(cells: &[&str]) -> Vec<Option<String>> {
        cells.iter().map(|cell| (!cell.is_empty()).then(|| (*cell).to_string())).collect()
    }

    #[test]
    fn a_cell_is_read_where_every_way_to_split_its_row_has_it() {
        let of = cells(
            "clientsin-flightthreadsreq/sp50 msp99 msthroughput MB/s\n\
             400040,000301,250,3072461180\n\
             800080,000161,310,442612.5185\n",
        );
        assert_eq!(of[0], some(&["4000", "40,000", "30", "1,250,307", "", "", ""]));
        // 1 and 61,310,442 are as good.
        assert_eq!(of[1], some(&["8000", "80,000", "", "", "", "", ""]));
        let of = cells(
            "connsRPS avgMB/sNIC TX%p50 msp95 msp99\n\
             200344,6211,46423%<1<13ms\n\
             1,000586,6942,47540%1715ms\n\
             2,000666,1892,88546%2812ms\n",
        );
        // 2003 would be 2,003 in this column.
        let first = ["200", "344,621", "1,464", "23%", "<1", "<1", "3ms"];
        assert_eq!(of[0], some(&first));
        let second = ["1,000", "586,694", "2,475", "40%", "", "", ""];
        assert_eq!(of[1], some(&second));
        let of = cells("ServerRPSp50 latencyCPU avg\nnginx123,45612ms81% usr\n");
        assert_eq!(of[0], some(&["", "", "81% usr"]), "or `nginx123,456`, 1 and 2ms");
    }

    /// The worst that a page may hold: every row may be split in very many ways.
    #[test]
    fn rows_of_digits_are_split_in_no_long_time() {
        let text = format!("name{}\n", "rps".repeat(15))
            + &format!("{}\n", "1".repeat(ROW_MAX)).repeat(400);
        let rows = cells(&text);
        assert_eq!(rows.len(), ROWS_MAX);
        assert!(rows.iter().flatten().all(Option::is_none));
    }

    #[test]
    fn a_heading_of_other_words_is_none() {
        for text in [
            "connectionsWidgets\n10020\n",
            "connections RPS p50\n100 20 3ms\n",
            "connectionsRPS\n\nsome text\n",
        ] {
            assert!(cells(text).is_empty(), "{text}");
        }
    }
}
