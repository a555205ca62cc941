//! Two experiments on one page: what speaks against comparing them, bounds, differences, cells.

use super::Detail;
use crate::page::{Banner, Block, Column, Fact, Mark, Page, Table, Tone};
use crate::wording::{plural, sentence, within};
use model::across::{Across, AcrossCell, Decided, Outcome};
use model::experiment::Conclusion;
use model::figure::Figure;

/// The page of the comparison of two experiments. The figures that are neither compared everywhere
/// nor bounded are on the page alone.
pub fn across(of: &Across, detail: Detail) -> Page {
    let mut blocks = vec![Block::Banner(banner(of))];
    blocks.extend(bounds(&of.bounds, |one| change_of(of, one)).map(Block::Table));
    if !of.settings.is_empty() {
        blocks.push(Block::Heading("What differs".to_string()));
        blocks.push(Block::Table(settings(of)));
    }
    blocks.push(Block::Heading("Cells".to_string()));
    let is_bounded = |figure| of.bounds.iter().any(|bound| bound.figure == figure);
    let is_main = |figure| Figure::COMPARED.contains(&figure) || is_bounded(figure);
    blocks.push(Block::Table(cells(of, is_main)));
    let others = cells(of, |figure| !is_main(figure)).caption("Other figures").folded();
    if detail == Detail::Everything && !others.rows.is_empty() {
        blocks.push(Block::Table(others));
    }
    let alone = [("only in A", &of.only_a), ("only in B", &of.only_b)];
    let alone = alone.into_iter().filter(|(_, cells)| !cells.is_empty());
    let facts: Vec<Fact> = alone.map(|(name, cells)| Fact::new(name, cells.join("; "))).collect();
    if !facts.is_empty() {
        blocks.push(Block::Facts(facts));
    }
    Page {
        title: format!("ceiling compare {} {}", of.a, of.b),
        subtitle: "two experiments; every ratio is B over A".to_string(),
        blocks,
    }
}

fn banner(of: &Across) -> Banner {
    let rates = of.cells.iter().filter(|one| one.figure == Figure::Rate);
    let changes: Vec<String> =
        rates.map(|one| format!("{} {}", one.cell, change_words(one, of))).collect();
    let text = match changes.is_empty() {
        true => "No cell has a rate in both.".to_string(),
        false => format!("Rate of B against A: {}.", changes.join("; ")),
    };
    let mut lines: Vec<String> = of.warnings.iter().map(|why| sentence(why)).collect();
    lines.push(
        "Visits of different days are not pairs: Welch's interval covers the variation inside each \
         experiment, and not the difference from day to day."
            .to_string(),
    );
    let count = |wanted| of.bounds.iter().filter(|one| one.outcome == wanted).count() as u64;
    let (failed, open) = (count(Outcome::Failed), count(Outcome::Undecided));
    let tone = match (failed, open) {
        (1.., _) => Tone::Bad,
        (0, 1..) => Tone::Caution,
        _ if !of.warnings.is_empty() => Tone::Caution,
        _ if of.bounds.is_empty() => Tone::Neutral,
        _ => Tone::Good,
    };
    let verdict = match (failed, open) {
        _ if of.bounds.is_empty() => return Banner { tone, text, lines },
        (1.., _) => format!("FAILED: {} of a change", plural(failed, "bound")),
        (0, 1..) => format!("UNDECIDED: {} of a change", plural(open, "bound")),
        _ => "Every bound of a change holds.".to_string(),
    };
    lines.insert(0, text);
    Banner { tone, text: verdict, lines }
}

fn change_words(one: &AcrossCell, of: &Across) -> String {
    let change = change(one);
    match one.conclusion {
        Some(Conclusion::More) => format!("is faster, {change}"),
        Some(Conclusion::Less) => format!("is slower, {change}"),
        Some(Conclusion::Same) => {
            format!("is the same within {:.1} %, {change}", of.same_within * 100.0)
        }
        Some(Conclusion::Undecided) => format!("is undecided, {change}{}", more(one.more_visits)),
        None => "has too few visits".to_string(),
    }
}

/// The ratio with its bounds; there is none where a visit has a rate of zero.
fn change(one: &AcrossCell) -> String {
    match one.means.0 <= 0.0 || one.means.1 <= 0.0 {
        true => "with visits whose rate is zero".to_string(),
        false => within(one.ratio, one.low, one.high),
    }
}

fn more(visits: Option<u64>) -> String {
    let words = |more| format!(", about {} of each", plural(more, "more visit"));
    visits.map_or(String::new(), words)
}

/// The outcomes of bounds, with the change that each is about.
pub(super) fn bounds(of: &[Decided], change: impl Fn(&Decided) -> String) -> Option<Table> {
    let columns = ["fails if", "cell", "change (95 %)", "outcome"].map(Column::words);
    let mut table = Table::new(columns.to_vec()).caption("Bounds of a change");
    for one in of {
        let (mark, outcome) = match one.outcome {
            Outcome::Failed => (Mark::Broken, "failed".to_string()),
            Outcome::Holds => (Mark::None, "holds".to_string()),
            Outcome::Undecided => (Mark::Caution, format!("undecided{}", more(one.more_visits))),
        };
        table.push(mark, vec![one.bound.clone(), one.cell.clone(), change(one), outcome]);
    }
    table.notes.push(
        "A bound fails when the whole interval is beyond it, and holds when the whole interval is \
         inside; all bounds and cells share the risk (Holm)."
            .to_string(),
    );
    (!table.rows.is_empty()).then_some(table)
}

/// The outcome of a bound of two runs in one line: `rate<-3% failed at 8 in flight: -52 % (..)`.
pub fn bound_line(one: &Decided) -> String {
    let verb = match one.outcome {
        Outcome::Failed => "failed",
        Outcome::Holds => "holds",
        Outcome::Undecided => "is undecided",
    };
    format!("{} {verb} at {}: {}", one.bound, one.cell, ratio_of(one))
}

/// Its change, without one where a figure is zero or not known.
pub(super) fn ratio_of(one: &Decided) -> String {
    match one.ratio {
        Some((ratio, low, high)) => within(Some(ratio), Some(low), Some(high)),
        // Two runs: how much other visits would vary is known of these alone.
        None if !Figure::COMPARED.contains(&one.figure) => {
            "two runs do not show how much it varies; two experiments do".to_string()
        }
        None => "a figure is zero, not known, or of another load".to_string(),
    }
}

/// The change that a bound is about.
fn change_of(of: &Across, bound: &Decided) -> String {
    let is_meant = |one: &&AcrossCell| one.cell == bound.cell && one.figure == bound.figure;
    let cell = of.cells.iter().find(is_meant);
    cell.map_or("-".to_string(), change)
}

fn settings(of: &Across) -> Table {
    let columns = ["what", "A", "B"].map(Column::words);
    let mut table = Table::new(columns.to_vec());
    for one in &of.settings {
        let value = |value: &Option<String>| value.clone().unwrap_or("-".to_string());
        table.push(Mark::None, vec![one.setting.clone(), value(&one.a), value(&one.b)]);
    }
    table
}

/// A row for each of these figures of each cell.
fn cells(of: &Across, is_row: impl Fn(Figure) -> bool) -> Table {
    let mut table = Table::new(vec![
        Column::words("cell"),
        Column::words("figure"),
        Column::numbers("A").rank(2),
        Column::numbers("B").rank(2),
        Column::words("change (95 %)"),
        Column::words("conclusion"),
        Column::words("visits").rank(1),
    ]);
    for one in of.cells.iter().filter(|one| is_row(one.figure)) {
        let conclusion = match one.conclusion {
            Some(Conclusion::More) => "more".to_string(),
            Some(Conclusion::Less) => "less".to_string(),
            Some(Conclusion::Same) => format!("same within {:.1} %", of.same_within * 100.0),
            Some(Conclusion::Undecided) => format!("undecided{}", more(one.more_visits)),
            None => "too few visits".to_string(),
        };
        let row = vec![
            one.cell.clone(),
            one.figure.name().to_string(),
            one.figure.cell(one.means.0),
            one.figure.cell(one.means.1),
            within(one.ratio, one.low, one.high),
            conclusion,
            format!("{} and {}", one.visits.0, one.visits.1),
        ];
        table.push(Mark::None, row);
    }
    table.notes.push(
        "A, B: geometric means over the visits. The risk of a false difference is 5 % for all \
         cells of one figure together."
            .to_string(),
    );
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::across::ACROSS_SCHEMA;
    use model::across::Difference;

    fn of(outcomes: &[Outcome]) -> Across {
        let cell = |cell: &str, figure, ratio: f64, conclusion| AcrossCell {
            cell: cell.to_string(),
            figure,
            visits: (6, 6),
            means: (20_000.0, 20_000.0 * ratio),
            ratio: Some(ratio),
            low: Some(ratio * 0.99),
            high: Some(ratio * 1.01),
            conclusion: Some(conclusion),
            more_visits: None,
        };
        let decided = |(at, outcome): (usize, &Outcome)| Decided {
            bound: "rate<-3%".to_string(),
            figure: Figure::Rate,
            cell: ["plain", "rps"][at].to_string(),
            outcome: *outcome,
            more_visits: (*outcome == Outcome::Undecided).then_some(9),
            ratio: None,
        };
        let undecided = cell("rps", Figure::Rate, 0.985, Conclusion::Undecided);
        Across {
            schema: ACROSS_SCHEMA.to_string(),
            a: "before".to_string(),
            b: "after".to_string(),
            warnings: vec!["the hosts or their kernels differ".to_string()],
            settings: vec![Difference {
                setting: "host.client.kernel".to_string(),
                a: Some("6.1.0".to_string()),
                b: Some("6.12.1".to_string()),
            }],
            same_within: 0.02,
            cells: vec![
                cell("plain", Figure::Rate, 0.919, Conclusion::Less),
                cell("plain", Figure::P99, 1.001, Conclusion::Same),
                AcrossCell { more_visits: Some(9), ..undecided },
            ],
            only_a: vec!["rfs".to_string()],
            only_b: Vec::new(),
            bounds: outcomes.iter().enumerate().map(decided).collect(),
        }
    }

    #[test]
    fn two_days_read_like_this() {
        let page = across(&of(&[Outcome::Failed, Outcome::Undecided]), Detail::Summary);
        insta::assert_snapshot!("across", crate::text::draw(&page, crate::Style::PLAIN));
    }

    #[test]
    fn figures_of_hosts_are_on_the_page_and_in_the_text_where_they_are_bounded() {
        let mut of = of(&[Outcome::Failed]);
        let busy = Figure::parse("busy.server").unwrap();
        of.cells.push(AcrossCell { figure: busy, ..of.cells[0].clone() });
        let is_told = |of: &Across, detail| {
            let page = across(of, detail);
            crate::html::blocks(&page).contains(busy.name())
        };
        assert!(is_told(&of, Detail::Everything) && !is_told(&of, Detail::Summary));
        of.bounds[0].figure = busy;
        assert!(is_told(&of, Detail::Summary));
    }

    #[test]
    fn a_cell_that_serves_nothing_any_more_reads_like_this() {
        let mut of = of(&[]);
        let one = &mut of.cells[0];
        (one.ratio, one.low, one.high, one.means.1) = (None, None, None, 0.0);
        let page = across(&of, Detail::Summary);
        let Block::Banner(banner) = &page.blocks[0] else { panic!("{of:?}") };
        let said = "plain is slower, with visits whose rate is zero;";
        assert!(banner.text.contains(said), "{}", banner.text);
    }

    #[test]
    fn the_first_line_is_the_worst_outcome() {
        let first = |outcomes: &[Outcome]| match &across(&of(outcomes), Detail::Summary).blocks[0] {
            Block::Banner(banner) => (banner.tone, banner.text.clone()),
            other => panic!("{other:?}"),
        };
        let (tone, text) = first(&[Outcome::Holds, Outcome::Undecided]);
        assert_eq!((tone, text.as_str()), (Tone::Caution, "UNDECIDED: 1 bound of a change"));
        assert_eq!(first(&[Outcome::Holds]).1, "Every bound of a change holds.");
        assert!(first(&[]).1.starts_with("Rate of B against A: plain is slower, -8.1 %"));
    }
}
