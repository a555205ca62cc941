//! The analysis over all visits of an experiment: the floor, effects of factors, trend and serial
//! correlation, outliers, and visits that were left out.

use crate::page::{Block, Column, Mark, Table};
use crate::wording::{change, plural, within};
use model::analysis::{Analysis, Course, Effect, Floor};
use model::experiment::{Conclusion, Design, Experiment};
use model::figure::Figure;

/// The blocks in that order; nothing without a design.
pub(super) fn blocks(of: &Experiment) -> Vec<Block> {
    let (Some(design), Some(analysis)) = (&of.design, &of.analysis) else { return Vec::new() };
    let mut blocks = Vec::new();
    blocks.extend(floor(of, design, analysis).map(Block::Text));
    blocks.extend(effects(design, &analysis.effects).map(Block::Table));
    blocks.extend(course(&analysis.course).map(Block::Text));
    blocks.extend(outliers(analysis).map(Block::Table));
    blocks.extend(excluded(analysis).map(Block::Table));
    blocks
}

/// The variation of the host by itself, and which differences are not claimed because of it.
fn floor(of: &Experiment, design: &Design, analysis: &Analysis) -> Option<String> {
    design.floor.as_ref()?;
    let by_itself =
        |floor: &Floor| format!("{} \u{b1}{:.1} %", floor.figure.name(), floor.share * 100.0);
    let all: Vec<String> = analysis.floors.iter().map(by_itself).collect();
    let Some(rate) = analysis.floors.iter().find(|floor| floor.figure == Figure::Rate) else {
        let baseline = &design.baseline;
        return Some(format!(
            "The variation of this host by itself is not known: {baseline} was compared with \
             itself in fewer than three blocks."
        ));
    };
    let mut text = format!(
        "Variation of this host by itself: {}. The rate of {} against itself is {}, {}. Smaller \
         differences are not claimed.",
        all.join(", "),
        design.baseline,
        within(Some(rate.ratio), Some(rate.low), Some(rate.high)),
        plural(rate.pairs, "pair")
    );
    if rate.conclusion != Conclusion::Undecided {
        text += " The same cell differs from itself: something other than the cells moves the rate \
                 within blocks.";
    }
    let below = of.contrasts.iter().filter(|one| one.below_floor);
    let below: Vec<String> =
        below.map(|one| format!("{} of {}", one.figure.name(), one.cell)).collect();
    if !below.is_empty() {
        text += &format!(" Undecided for that reason alone: {}.", below.join(", "));
    }
    Some(text)
}

/// Effects and interactions.
fn effects(design: &Design, effects: &[Effect]) -> Option<Table> {
    let columns = ["effect", "figure", "change (95 %)", "conclusion"].map(Column::words);
    let columns = [&columns[..], &[Column::numbers("blocks").rank(1)]].concat();
    let mut table = Table::new(columns).caption("Effects of the factors");
    for one in effects {
        let conclusion = match (one.conclusion, one.more_blocks) {
            (Some(Conclusion::More), _) => "more".to_string(),
            (Some(Conclusion::Less), _) => "less".to_string(),
            (Some(Conclusion::Same), _) if one.levels.len() == 1 => "same".to_string(),
            (Some(Conclusion::Same), _) => "none".to_string(),
            (Some(Conclusion::Undecided), Some(more)) => {
                format!("undecided, about {} more", plural(more, "block"))
            }
            (Some(Conclusion::Undecided), None) => "undecided".to_string(),
            (None, _) => "too few blocks".to_string(),
        };
        let aliases: String = one.aliases.iter().map(|alias| format!(" (or {alias})")).collect();
        let effect = match &one.levels[..] {
            [level] => format!("{level} against {}{aliases}", one.against[0]),
            levels => format!("{}{aliases}", levels.join(" with ")),
        };
        let change = within(one.ratio, one.low, one.high);
        let row = [effect, one.figure.name().into(), change, conclusion, one.blocks.to_string()];
        table.push(Mark::None, row.to_vec());
    }
    table.notes.push(format!(
        "Mean over all levels of the other factors. 'A with B': how much larger the effect of A is \
         with B than without; none where it differs by less than {:.1} %. Effects share the risk \
         of a false difference with the other comparisons of their figure.",
        design.same_within * 100.0
    ));
    if let Some(fraction) = &design.fraction {
        table.notes.push(format!(
            "Only {fraction} of all combinations was measured: an effect may instead be the one \
             after 'or'."
        ));
    }
    (!table.rows.is_empty()).then_some(table)
}

/// A sentence on trend, and one on serial correlation; nothing where neither was tested.
fn course(course: &Course) -> Option<String> {
    let mut sentences = Vec::new();
    match &course.trend {
        Some(trend) if trend.is_seen => sentences.push(format!(
            "The rate of all cells moved by {} from the first block to the last (Mann-Kendall, \
             chance {:.1} %): pairing removes that from the differences; the medians of the cells \
             contain it.",
            change(1.0 + trend.change),
            trend.chance * 100.0
        )),
        Some(_) => sentences.push("The rate has no trend over the blocks.".to_string()),
        None => {}
    }
    for one in &course.serial {
        sentences.push(format!(
            "The differences of {} are correlated from block to block (correlation {:.2}, chance \
             {:.1} %): its interval is too narrow, by a factor of about {:.1}.",
            one.cell,
            one.correlation,
            one.chance * 100.0,
            one.wider
        ));
    }
    if course.tested > 0 && course.serial.is_empty() {
        sentences.push(
            "Differences of consecutive blocks are not correlated, as the intervals assume.".into(),
        );
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn outliers(analysis: &Analysis) -> Option<Table> {
    let columns = [Column::words("visit"), Column::numbers("rate"), Column::words("what was seen")];
    let mut table = Table::new(columns.to_vec()).caption("Visits far from the others");
    for one in &analysis.outliers {
        let causes = match one.causes.is_empty() {
            true => "nothing in the readings of the probes".to_string(),
            false => one.causes.join("; "),
        };
        let visit = format!("{} #{}", one.cell, one.block);
        table.push(Mark::Caution, vec![visit, change(1.0 + one.change), causes]);
    }
    table.notes.push(
        "More than 3.5 robust standard deviations from the median of the cell, and of the block. \
         They stay in every figure; [design] exclude leaves visits out, by rules written in \
         advance."
            .to_string(),
    );
    (!table.rows.is_empty()).then_some(table)
}

fn excluded(analysis: &Analysis) -> Option<Table> {
    let columns = ["visit", "rule of the plan, and what was measured"].map(Column::words);
    let mut table = Table::new(columns.to_vec()).caption("Visits left out of all figures");
    for one in &analysis.excluded {
        let visit = format!("{} #{}", one.cell, one.block);
        table.push(Mark::Caution, vec![visit, one.why.clone()]);
    }
    (!table.rows.is_empty()).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::page::Page;
    use model::analysis::{Excluded, Outlier, Serial, Trend};

    fn of() -> Experiment {
        let (mut of, _) = fixtures::blocks();
        of.design.as_mut().unwrap().floor = Some("plain, again".to_string());
        of.design.as_mut().unwrap().fraction = Some("1/2".to_string());
        let floor = Floor {
            figure: Figure::Rate,
            pairs: 6,
            ratio: 1.002,
            low: 0.991,
            high: 1.013,
            share: 0.013,
            conclusion: Conclusion::Undecided,
        };
        let effect = |levels: &[&str], against: &[&str], conclusion| Effect {
            figure: Figure::Rate,
            levels: levels.iter().map(|level| (*level).to_string()).collect(),
            against: against.iter().map(|level| (*level).to_string()).collect(),
            aliases: Vec::new(),
            blocks: 6,
            ratio: Some(1.12),
            low: Some(1.1),
            high: Some(1.14),
            conclusion: Some(conclusion),
            more_blocks: None,
        };
        let both = effect(&["depth 10", "on"], &["depth 1", "off"], Conclusion::Undecided);
        let trend = Trend { change: -0.031, chance: 0.002, is_seen: true };
        let serial = Serial { cell: "rps".into(), correlation: 0.7, chance: 0.01, wider: 2.38 };
        let steal = "the hypervisor took CPU time (steal): 30.0 %, usually 0.1 %".to_string();
        let outlier = |causes| Outlier { cell: "rps".into(), block: 2, change: -0.6, causes };
        of.analysis = Some(Analysis {
            floors: vec![floor],
            effects: vec![
                effect(&["depth 10"], &["depth 1"], Conclusion::More),
                Effect { aliases: vec!["a with b".to_string()], more_blocks: Some(4), ..both },
            ],
            course: Course { trend: Some(trend), serial: vec![serial], tested: 2 },
            outliers: vec![outlier(vec![steal]), outlier(Vec::new())],
            excluded: vec![Excluded {
                cell: "rfs".to_string(),
                block: 3,
                why: "steal > 2%: it was 3.1 %".to_string(),
            }],
            ..Analysis::default()
        });
        of.contrasts[0].below_floor = true;
        of
    }

    #[test]
    fn everything_reads_like_this() {
        let page = Page { title: String::new(), subtitle: String::new(), blocks: blocks(&of()) };
        insta::assert_snapshot!("analysis", crate::text::draw(&page, crate::Style::PLAIN));
    }

    #[test]
    fn what_was_not_found_is_left_out() {
        let (mut of, _) = fixtures::blocks();
        of.analysis = Some(Analysis::default());
        assert!(blocks(&of).is_empty());
    }
}
