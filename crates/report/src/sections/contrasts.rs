//! The cells of an experiment over its blocks, and each of them against the baseline.

use super::conclusion::more;
use super::visits::{id, title};
use crate::page::{Axis, Band, Block, Column, DotRow, Dots, Mark, Scale, Table};
use crate::wording::{band, bound, change, change_within, microseconds, ns, or_dash};
use model::experiment::{
    CellResult, Conclusion, Contrast, Design, Experiment, Fate, LevelContrast, Order,
};
use model::figure::Figure;
use model::unit::Unit;
use model::units::show_count;
use std::collections::BTreeSet;

/// Ratios that differ by more than this factor need a log axis.
const FACTOR_MAX: f64 = 4.0;

/// A row for each cell: medians over its visits.
pub(super) fn cells(of: &Experiment, design: &Design) -> Table {
    let mut table = Table::new(vec![
        Column::words("cell"),
        Column::numbers("visits"),
        Column::numbers("rate/s"),
        Column::words("95 %").rank(1),
        Column::numbers("p50").rank(3),
        Column::numbers("p99"),
        Column::numbers("client us").rank(4),
        Column::numbers("server us").rank(2),
    ])
    .caption("Cells");
    for name in &design.cells {
        let is_own = |cell: &&CellResult| cell.name == *name && cell.block != Some(0);
        let visits = || of.cells.iter().filter(is_own);
        let summary =
            |figure| of.summaries.iter().find(|one| one.cell == *name && one.figure == figure);
        let median = |figure| summary(figure).map(|one| one.median);
        let time = |figure| ns(median(figure).map(|ns| ns.round() as u64));
        let range = summary(Figure::Rate).and_then(|one| one.low.zip(one.high));
        let range = range.map(|(low, high)| format!("{} to {}", show_count(low), show_count(high)));
        let measured = visits().filter(|cell| matches!(cell.fate, Fate::Measured { .. })).count();
        let all = visits().count();
        let row = vec![
            name.clone(),
            format!("{measured} of {all}"),
            or_dash(median(Figure::Rate), show_count),
            range.unwrap_or_else(|| "-".to_string()),
            time(Figure::P50),
            time(Figure::P99),
            microseconds(median(Figure::ClientCpu)),
            microseconds(median(Figure::ServerCpu)),
        ];
        table.push(if measured < all { Mark::Caution } else { Mark::None }, row);
    }
    table.notes.push(
        "Medians over the visits; 95 %: interval of the median rate, from six visits on. client \
         us, server us: CPU time per request, microseconds."
            .to_string(),
    );
    if table.rows.iter().any(|row| row.mark == Mark::Caution) {
        table.notes.push("~ a visit has no figure".to_string());
    }
    table
}

/// A row for each cell: the short result of each figure.
pub(super) fn table(of: &Experiment, design: &Design) -> Table {
    let mut table = Table::new(vec![
        Column::words("cell"),
        Column::numbers("rate"),
        Column::numbers("95 %").rank(1),
        Column::numbers("p50").rank(3),
        Column::numbers("p99"),
        Column::numbers("client CPU").rank(4),
        Column::numbers("server CPU").rank(2),
    ])
    .caption(format!("Against {}", design.baseline));
    for name in design.cells.iter().filter(|name| **name != design.baseline) {
        let of_cell =
            |figure| of.contrasts.iter().find(|one| one.cell == *name && one.figure == figure);
        let within = of_cell(Figure::Rate).and_then(|one| one.low.zip(one.high));
        let within = or_dash(within, |(low, high)| format!("{} to {}", bound(low), bound(high)));
        let mut row = vec![name.clone()];
        row.extend(Figure::COMPARED.into_iter().map(|figure| or_dash(of_cell(figure), briefly)));
        row.insert(2, within);
        table.push(Mark::None, row);
    }
    table.notes.push(format!(
        "same: within {}. ?: undecided. All others differ; -: fewer than three pairs of visits.",
        band(design)
    ));
    table.notes.push(how(design));
    table
}

/// For each compared cell its levels against those of the baseline; nothing where visits have one
/// level.
pub(super) fn levels(of: &Experiment, design: &Design) -> Vec<Block> {
    let of_cell = |name: &String| of.levels.iter().any(|one| one.contrast.cell == *name);
    let blocks = design.cells.iter().filter(|name| of_cell(name)).map(|name| {
        let own = || of.levels.iter().filter(|one| one.contrast.cell == *name);
        if own().all(|one| one.contrast.pairs == 0) {
            let baseline = &design.baseline;
            return Block::Text(format!("{name} and {baseline} have no measured level in common."));
        }
        let mut table = Table::new(vec![
            Column::numbers("load"),
            Column::numbers("base/s"),
            Column::numbers("changed/s"),
            Column::numbers("rate"),
            Column::numbers("95 %").rank(2),
            Column::numbers("MB/s").rank(4),
            Column::numbers("p50").rank(3),
            Column::numbers("p95").rank(1),
            Column::numbers("p99"),
            Column::numbers("server CPU").rank(5),
        ])
        .caption(format!("{name} against {}, level by level", design.baseline));
        let loads: BTreeSet<Option<u64>> = own().map(|one| one.load).collect();
        // All levels together, which have no load, come last.
        let loads = loads.iter().filter(|load| load.is_some()).chain(loads.get(&None));
        for load in loads {
            let at = |figure| own().find(|one| one.load == *load && one.contrast.figure == figure);
            let change = |figure| or_dash(at(figure), |one| briefly(&one.contrast));
            let rate = at(Figure::Rate);
            let within = rate.and_then(|one| one.contrast.low.zip(one.contrast.high));
            let row = vec![
                load.map_or_else(|| "all".to_string(), |load| load.to_string()),
                or_dash(rate.and_then(|one| one.base), show_count),
                or_dash(rate.and_then(|one| one.changed), show_count),
                change(Figure::Rate),
                or_dash(within, |(low, high)| format!("{} to {}", bound(low), bound(high))),
                change(Figure::Bytes),
                change(Figure::P50),
                change(Figure::P95),
                change(Figure::P99),
                change(Figure::ServerCpu),
            ];
            table.push(Mark::None, row);
        }
        Block::Table(table)
    });
    let mut blocks: Vec<Block> = blocks.collect();
    let is_table = |block: &&mut Block| matches!(block, Block::Table(_));
    if let Some(Block::Table(last)) = blocks.iter_mut().rfind(is_table) {
        last.notes.push(
            "Medians of the rate, and changes by pairs of visits; all: the mean change of all \
             levels. The risk of a false difference is 5 % for all levels and cells of one figure \
             together."
                .to_string(),
        );
    }
    blocks
}

/// Base, changed and the interval of every figure of every level.
pub(super) fn all_levels(of: &Experiment, design: &Design) -> Option<Block> {
    let mut table = Table::new(vec![
        Column::words("cell"),
        Column::numbers("load"),
        Column::words("figure"),
        Column::numbers("base"),
        Column::numbers("changed"),
        Column::words("change (95 %)"),
        Column::words("conclusion"),
        Column::numbers("pairs").rank(1),
    ])
    .caption("All levels with their intervals")
    .folded();
    for LevelContrast { load, base, changed, contrast } in &of.levels {
        let figure = contrast.figure;
        let row = vec![
            contrast.cell.clone(),
            load.map_or_else(|| "all".to_string(), |load| load.to_string()),
            figure.name().to_string(),
            or_dash(*base, |value| figure.show(value)),
            or_dash(*changed, |value| figure.show(value)),
            change_within(contrast),
            in_words(contrast, design),
            contrast.pairs.to_string(),
        ];
        table.push(Mark::None, row);
    }
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

/// A contrast in a narrow column.
fn briefly(one: &Contrast) -> String {
    let by = or_dash(one.ratio, change);
    match one.conclusion {
        Some(Conclusion::Same) => format!("{by} same"),
        Some(Conclusion::Undecided) => format!("{by} ?"),
        _ => by,
    }
}

/// How cells were compared.
fn how(design: &Design) -> String {
    let order = match design.order {
        Order::Random => format!("drawn for each block from seed {}", design.seed),
        Order::Abba => "reversed in every second block".to_string(),
        Order::Plan => "that of the plan in every block".to_string(),
    };
    format!(
        "A pair is two visits of one block. The order of the cells is {order}. The risk of a false \
         difference is 5 % for all cells of one figure together."
    )
}

/// A row for each figure of each cell.
pub(super) fn all(of: &Experiment, design: &Design) -> Table {
    let mut table = Table::new(vec![
        Column::words("cell"),
        Column::words("figure"),
        Column::words("change (95 %)"),
        Column::words("conclusion"),
        Column::numbers("pairs").rank(1),
    ])
    .caption("All differences with their intervals")
    .folded();
    for one in &of.contrasts {
        let row = vec![
            one.cell.clone(),
            one.figure.name().to_string(),
            change_within(one),
            in_words(one, design),
            one.pairs.to_string(),
        ];
        table.push(Mark::None, row);
    }
    table
}

/// A conclusion, and what an undecided one would take.
fn in_words(one: &Contrast, design: &Design) -> String {
    match one.conclusion {
        Some(Conclusion::More) => "more".to_string(),
        Some(Conclusion::Less) => "less".to_string(),
        Some(Conclusion::Same) => format!("same within {}", band(design)),
        Some(Conclusion::Undecided) => format!("undecided, {}", more(one)),
        None => "too few pairs".to_string(),
    }
}

/// How to read a plot.
pub(super) const NOTE: &str = "The mean change over the blocks with its 95 % interval. Inside the \
    shaded band a change counts as none. A conclusion takes into account how many cells were \
    compared, and may need more than the interval.";

/// The ratios of one figure with their intervals; nothing when no cell was compared.
pub(super) fn plot(of: &Experiment, design: &Design, figure: Figure) -> Option<Dots> {
    let contrasts = || of.contrasts.iter().filter(|one| one.figure == figure);
    contrasts().find_map(|one| one.ratio)?;
    let row = |one: &Contrast| DotRow {
        label: one.cell.clone(),
        value: or_dash(one.ratio, change),
        word: word(one).to_string(),
        dots: Vec::new(),
        middle: one.ratio,
        within: one.low.zip(one.high),
    };
    let bounds = || contrasts().filter_map(|one| one.low.zip(one.high));
    let low = bounds().map(|(low, _)| low).fold(1.0, f64::min);
    let high = bounds().map(|(_, high)| high).fold(1.0, f64::max);
    let scale = if high > low * FACTOR_MAX { Scale::Log } else { Scale::Linear };
    let same = design.same_within;
    Some(Dots {
        id: format!("against-{}", id(figure)),
        title: format!("{} against {}", title(figure), design.baseline),
        note: String::new(),
        rows_are: "cell".to_string(),
        values_are: "change".to_string(),
        words_are: "conclusion".to_string(),
        axis: Axis { label: "change".to_string(), unit: Unit::Change, scale },
        zone: Some(Band {
            label: format!("shaded: same within {}", band(design)),
            from: 1.0 / (1.0 + same),
            to: 1.0 + same,
            mark: Mark::None,
        }),
        line: Some(1.0),
        rows: contrasts().map(row).collect(),
    })
}

/// A conclusion in a word or two.
fn word(one: &Contrast) -> &'static str {
    match (one.conclusion, one.figure) {
        (Some(Conclusion::More), Figure::Rate) => "faster",
        (Some(Conclusion::Less), Figure::Rate) => "slower",
        (Some(conclusion), _) => conclusion.word(),
        (None, _) => "too few pairs",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    /// 80 columns hold the rates and the tail of each level; a change that is not known is a dash.
    #[test]
    fn levels_stand_beside_each_other() {
        let (mut of, runs) = fixtures::blocks();
        let contrast = of.contrasts.iter().find(|one| one.figure == Figure::Rate).unwrap().clone();
        let level = |load, figure, ratio: Option<f64>| LevelContrast {
            load,
            base: load.map(|load: u64| 1000.0 * load as f64),
            changed: load.zip(ratio).map(|(load, ratio)| 1000.0 * load as f64 * ratio),
            contrast: Contrast {
                figure,
                ratio,
                low: ratio.map(|ratio| ratio * 0.98),
                high: ratio.map(|ratio| ratio * 1.02),
                conclusion: ratio.map(|ratio| {
                    if ratio > 1.0 { Conclusion::More } else { Conclusion::Undecided }
                }),
                ..contrast.clone()
            },
        };
        for load in [Some(16), Some(64), None] {
            of.levels.push(level(load, Figure::Rate, Some(1.25)));
            of.levels.push(level(load, Figure::P99, Some(0.9)));
        }
        of.levels.push(level(Some(256), Figure::Rate, None));
        let text = crate::text_experiment(&of, &runs, crate::Style::PLAIN);
        let begin = text.find("level by level").unwrap();
        let begin = text[..begin].rfind('\n').unwrap();
        let end = begin + text[begin..].find("\n\n").unwrap();
        insta::assert_snapshot!("experiment_levels", &text[begin..end]);
        let html = crate::html_experiment(&of, &runs);
        assert!(html.contains("All levels with their intervals"));
        of.levels.iter_mut().for_each(|one| one.contrast.pairs = 0);
        let text = crate::text_experiment(&of, &runs, crate::Style::PLAIN);
        assert!(text.contains("have no measured level in common"), "{text}");
        assert!(!text.contains("level by level"));
    }

    #[test]
    fn cells_are_compared_within_blocks() {
        let (of, runs) = fixtures::blocks();
        let text = crate::text_experiment(&of, &runs, crate::Style::PLAIN);
        insta::assert_snapshot!("experiment_blocks", text);
        let (of, runs) = fixtures::visits();
        let text = crate::text_experiment(&of, &runs, crate::Style::PLAIN);
        assert!(
            text.lines().all(|line| line.chars().count() <= crate::Style::PLAIN.columns),
            "{text}"
        );
        insta::assert_snapshot!("experiment_visits", text);
    }
}
