//! Which walls the visits of each cell found, and whether the plan expects them.

use super::visited::{counted_visits, is_expected};
use crate::page::{Column, Mark, Table};
use crate::wording::{named_wall, wall_mark};
use model::experiment::{CellResult, Design, Experiment};
use model::order::OrderBy as _;
use model::run::Run;
use model::verdict::Named;
use std::collections::BTreeMap;

/// A row for each cell.
pub(super) fn table(of: &Experiment, design: &Design, runs: &[Option<Run>]) -> Table {
    let mut columns = ["cell", "walls of its visits"].map(Column::words).to_vec();
    let is_any = of.cells.iter().any(|cell| !cell.expected.is_empty());
    columns.extend(is_any.then(|| Column::words("as expected")));
    let mut table = Table::new(columns).caption("Walls");
    for name in &design.cells {
        let of_cell: Vec<_> = counted_visits(of, runs)
            .filter(|(cell, _)| cell.name == *name)
            .filter_map(|(cell, run)| Some((cell, run?)))
            .collect();
        let expected = of_cell.first().map_or(&[][..], |(cell, _)| &cell.expected[..]);
        let walls: Vec<_> = expected.iter().map(|wall| named_wall(*wall)).collect();
        let as_expected = of_cell.iter().filter(|(cell, run)| is_expected(cell, run) == Some(true));
        let known = of_cell.iter().filter(|(cell, run)| is_expected(cell, run).is_some()).count();
        let (as_expected, all) = (as_expected.count(), of_cell.len());
        let share = match (walls.is_empty(), as_expected) {
            (true, _) => "-".to_string(),
            (false, 0) => format!("0 of {all}: {}", walls.join(" or ")),
            (false, _) => format!("{as_expected} of {all}"),
        };
        let mark = if as_expected < known { Mark::Caution } else { Mark::None };
        let mut row = vec![name.clone(), found(&of_cell)];
        row.extend(is_any.then_some(share));
        table.push(mark, row);
    }
    let is_marked = |mark: Mark| table.rows.iter().any(|row| row.mark == mark);
    if is_marked(Mark::Caution) {
        table.notes.push("~ a visit found a wall that the plan does not expect".to_string());
    }
    let notes = [(")* ", "*: expected by the plan."), (")? ", "?: only suspected.")];
    for (sign, note) in notes {
        if table.rows.iter().any(|row| row.cells[1].contains(sign)) {
            table.notes.push(note.to_string());
        }
    }
    table
}

/// The walls of the visits with their counts, the most frequent first.
fn found(visits: &[(&CellResult, &Run)]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (cell, run) in visits {
        let verdict = &run.record.verdict;
        let wall = match verdict.wall {
            Named::Unknown => "unknown".to_string(),
            Named::None => "none".to_string(),
            Named::Wall(_) => {
                let also = verdict.also.iter().map(|wall| format!(" + {}", named_wall(*wall)));
                let star = if is_expected(cell, run) == Some(true) { "*" } else { "" };
                wall_mark(verdict) + &also.collect::<String>() + star
            }
        };
        *counts.entry(wall).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.order_by_key(|(_, count)| std::cmp::Reverse(*count));
    let all = visits.len();
    let phrases = counts.iter().enumerate().map(|(nth, (wall, count))| match nth {
        0 => format!("{wall} {count} of {all}"),
        _ => format!("{wall} {count}"),
    });
    if counts.is_empty() { "-".to_string() } else { phrases.collect::<Vec<_>>().join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use model::wall::WallId;

    #[test]
    fn walls_are_counted_and_held_against_the_plan() {
        let (mut of, mut runs) = fixtures::blocks();
        let expected = WallId::parse("S3").unwrap();
        of.cells.iter_mut().filter(|cell| cell.name != "rfs").for_each(|cell| {
            cell.expected = vec![expected];
        });
        runs[3] = Some(fixtures::ramp_unknown());
        runs[4] = Some(fixtures::ramp_generator());
        let table = table(&of, of.design.as_ref().unwrap(), &runs);
        let rows: Vec<_> = table.rows.iter().map(|row| row.cells.join(" | ")).collect();
        let quota = "server CPU quota (S3)";
        assert_eq!(rows[0], format!("plain | {quota}* 1 of 2, unknown 1 | 1 of 2"));
        let rps = format!("rps | one client thread (C2) 1 of 2, {quota}* 1 | 1 of 2");
        assert_eq!(rows[1], rps);
        assert_eq!(rows[2], format!("rfs | {quota} 2 of 2 | -"));
        of.cells.iter_mut().for_each(|cell| cell.expected.clear());
        let columns = self::table(&of, of.design.as_ref().unwrap(), &runs).columns.len();
        assert_eq!(columns, 2, "nothing is expected");
        let marks: Vec<_> = table.rows.iter().map(|row| row.mark).collect();
        assert_eq!(marks, [Mark::None, Mark::Caution, Mark::None], "unknown is no surprise");
    }
}
