//! The cells of an experiment over its blocks, and each of them against the baseline.

use crate::page::{Block, Column, Mark, Table};
use crate::wording::{microseconds, ns, or_dash, plural, wall_mark};
use model::experiment::{
    CellResult, Conclusion, Contrast, Design, Ended, Experiment, Fate, Figure, Order,
};
use model::run::Run;
use model::units::show_count;
use std::collections::BTreeMap;

/// The conclusion, the cells and the contrasts; nothing without a design.
pub(super) fn blocks(of: &Experiment, runs: &[Option<Run>]) -> Vec<Block> {
    let Some(design) = &of.design else { return Vec::new() };
    vec![
        Block::Text(conclusion(of, design)),
        Block::Table(cells(of, design, runs)),
        Block::Table(contrasts(of, design)),
    ]
}

/// One sentence: what the contrasts of the rate say.
fn conclusion(of: &Experiment, design: &Design) -> String {
    let rates = || of.contrasts.iter().filter(|one| one.figure == Figure::Rate);
    let said: Vec<String> =
        rates().map(|one| format!("{} {}", one.cell, said(one, design))).collect();
    let ended = match of.ended {
        None => "",
        Some(Ended::Decided) => " It ended when every contrast of rates was decided.",
        Some(Ended::Precise) => " It ended when the intervals were as narrow as asked.",
        Some(Ended::Budget) => " It ended when its time was used up.",
    };
    if said.is_empty() {
        return format!("No cell was compared with {} yet.{ended}", design.baseline);
    }
    format!("Rate against {}: {}.{ended}", design.baseline, said.join("; "))
}

fn said(one: &Contrast, design: &Design) -> String {
    let Some(ratio) = one.ratio else {
        return format!("not compared, {} are too few", plural(one.pairs, "pair"));
    };
    let change = interval(Some(ratio), one);
    match one.conclusion {
        Some(Conclusion::More) => format!("is faster, {change}"),
        Some(Conclusion::Less) => format!("is slower, {change}"),
        Some(Conclusion::Same) => {
            format!("is the same within {} %, {change}", percent(design.same_within))
        }
        _ if one.below_floor => format!("is undecided, {change}, which the host makes by itself"),
        _ => format!("is undecided, {change}{}", more(one)),
    }
}

fn more(one: &Contrast) -> String {
    match one.more_blocks {
        Some(blocks) => format!(", about {} more", plural(blocks, "block")),
        None => ", and more blocks would hardly decide it".to_string(),
    }
}

fn interval(ratio: Option<f64>, one: &Contrast) -> String {
    let change = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
    match (ratio, one.low, one.high) {
        (Some(ratio), Some(low), Some(high)) => {
            format!("{} ({} to {})", change(ratio), change(low), change(high))
        }
        _ => "-".to_string(),
    }
}

fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// A row for each cell: medians over its visits.
fn cells(of: &Experiment, design: &Design, runs: &[Option<Run>]) -> Table {
    let mut table = Table::new(vec![
        Column::words("cell"),
        Column::numbers("visits"),
        Column::numbers("rate/s"),
        Column::words("95 %").rank(1),
        Column::numbers("p50").rank(3),
        Column::numbers("p99"),
        Column::numbers("client us").rank(4),
        Column::numbers("server us").rank(2),
        Column::words("wall"),
    ])
    .caption("Cells");
    for name in &design.cells {
        let is_own = |cell: &CellResult| cell.name == *name && cell.block != Some(0);
        let visits = of.cells.iter().zip(runs).filter(|(cell, _)| is_own(cell));
        let visits: Vec<_> = visits.collect();
        let runs = visits.iter().filter_map(|(_, run)| run.as_ref());
        let summary =
            |figure| of.summaries.iter().find(|one| one.cell == *name && one.figure == figure);
        let median = |figure| summary(figure).map(|one| one.median);
        let time = |figure| ns(median(figure).map(|ns| ns.round() as u64));
        let range = summary(Figure::Rate).and_then(|one| one.low.zip(one.high));
        let range = range.map(|(low, high)| format!("{} to {}", show_count(low), show_count(high)));
        let measured =
            visits.iter().filter(|(cell, _)| matches!(cell.fate, Fate::Measured { .. })).count();
        let row = vec![
            name.clone(),
            format!("{measured} of {}", visits.len()),
            or_dash(median(Figure::Rate), show_count),
            range.unwrap_or_else(|| "-".to_string()),
            time(Figure::P50),
            time(Figure::P99),
            microseconds(median(Figure::ClientUsPerRequest)),
            microseconds(median(Figure::ServerUsPerRequest)),
            walls(runs),
        ];
        table.push(if measured < visits.len() { Mark::Caution } else { Mark::None }, row);
    }
    table.notes.push(
        "Medians over the visits; 95 %: interval of the median rate, from six visits on."
            .to_string(),
    );
    table
}

/// The walls that the visits found, the most frequent first.
fn walls<'a>(runs: impl Iterator<Item = &'a Run>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for run in runs {
        *counts.entry(wall_mark(&run.record.verdict)).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    match &counts[..] {
        [] => "-".to_string(),
        [(wall, _)] => wall.clone(),
        all => {
            let counted = all.iter().map(|(wall, count)| format!("{wall} {count}"));
            counted.collect::<Vec<_>>().join(", ")
        }
    }
}

fn contrasts(of: &Experiment, design: &Design) -> Table {
    let mut table = Table::new(vec![
        Column::words("cell"),
        Column::words("figure"),
        Column::words("change (95 %)"),
        Column::words("conclusion"),
        Column::numbers("pairs").rank(1),
    ])
    .caption(format!("Against {}", design.baseline));
    for one in &of.contrasts {
        let conclusion = match one.conclusion {
            Some(Conclusion::More) => "more".to_string(),
            Some(Conclusion::Less) => "less".to_string(),
            Some(Conclusion::Same) => format!("same within {} %", percent(design.same_within)),
            Some(Conclusion::Undecided) => format!("undecided{}", more(one)),
            None => "too few pairs".to_string(),
        };
        let row = vec![
            one.cell.clone(),
            figure(one.figure).to_string(),
            interval(one.ratio, one),
            conclusion,
            one.pairs.to_string(),
        ];
        table.push(Mark::None, row);
    }
    let order = match design.order {
        Order::Random => format!("drawn for each block from seed {}", design.seed),
        Order::Abba => "turned round in every second block".to_string(),
        Order::Plan => "that of the plan in every block".to_string(),
    };
    table.notes.push(format!(
        "A pair is the visits of one block. The order of the cells is {order}. The risk of a false \
         difference is 5 % for all cells of one figure together."
    ));
    table
}

fn figure(figure: Figure) -> &'static str {
    match figure {
        Figure::Rate => "rate",
        Figure::P50 => "p50",
        Figure::P99 => "p99",
        Figure::ClientUsPerRequest => "client CPU per request",
        Figure::ServerUsPerRequest => "server CPU per request",
    }
}

#[cfg(test)]
mod tests {
    use crate::fixtures;

    #[test]
    fn cells_are_compared_within_blocks() {
        let (of, runs) = fixtures::blocks();
        let text = crate::text_experiment(&of, &runs, crate::Style::Plain);
        insta::assert_snapshot!("experiment_blocks", text);
    }
}
