//! Predictions next to measurements: of one experiment, and of all kept experiments.

use super::advice::percent;
use crate::page::{Banner, Block, Column, Mark, Page, Table, Tone};
use crate::wording::plural;
use model::advice::{Calibration, Tally};
use model::experiment::{Experiment, PredictionResult};

/// The predictions of an experiment; nothing when its plan has none.
pub fn predictions(experiment: &Experiment) -> Option<Block> {
    if experiment.predictions.is_empty() {
        return None;
    }
    let mut table = Table::new(columns("change")).caption("Predictions");
    for kept in &experiment.predictions {
        let predicted = &kept.predicted;
        let what = format!("{} against {}", predicted.change, predicted.baseline);
        table.push(mark(kept), row(kept, what));
    }
    table.notes.extend(notes(experiment.predictions.iter()));
    Some(Block::Table(table))
}

/// The page of all kept predictions.
pub fn calibration(of: &Calibration) -> Page {
    let mut table = Table::new(columns("experiment"));
    for entry in &of.entries {
        table.push(mark(&entry.kept), row(&entry.kept, entry.experiment.clone()));
    }
    table.notes.extend(notes(of.entries.iter().map(|entry| &entry.kept)));
    let Tally { inside, outside, .. } = of.all;
    let banner = Banner {
        tone: if outside > inside { Tone::Caution } else { Tone::Neutral },
        text: format!("{inside} OF {} DECIDED PREDICTIONS HELD.", inside + outside),
        lines: vec![format!("{} more could not be decided.", of.all.open)],
    };
    Page {
        title: "ceiling advise --calibration".to_string(),
        subtitle: plural(of.entries.len() as u64, "prediction"),
        blocks: vec![Block::Banner(banner), Block::Table(table), Block::Table(tallies(of))],
    }
}

fn columns(first: &str) -> Vec<Column> {
    let mut columns = vec![Column::words("knob"), Column::words(first)];
    columns.extend(["predicted", "measured"].map(Column::words));
    columns.push(Column::words("inside"));
    columns
}

fn row(kept: &PredictionResult, what: String) -> Vec<String> {
    let predicted = &kept.predicted;
    let high = predicted.high.map_or("the next wall".to_string(), percent);
    let interval = kept.low.zip(kept.high);
    let interval = interval
        .map_or(String::new(), |(low, high)| format!(" [{}, {}]", percent(low), percent(high)));
    vec![
        predicted.knob.clone(),
        what,
        format!("{} to {high}", percent(predicted.low)),
        kept.measured.map_or("-".to_string(), |measured| percent(measured) + &interval),
        inside(kept).to_string(),
    ]
}

fn inside(kept: &PredictionResult) -> &'static str {
    match kept.inside {
        Some(true) => "yes",
        Some(false) => "NO",
        None => "not decided",
    }
}

fn mark(kept: &PredictionResult) -> Mark {
    if kept.inside == Some(false) { Mark::Caution } else { Mark::None }
}

/// How they were compared, without duplicates.
fn notes<'a>(all: impl Iterator<Item = &'a PredictionResult>) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for kept in all {
        let note = format!("{}: {}", kept.predicted.knob, kept.why);
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

fn tallies(of: &Calibration) -> Table {
    let mut columns = vec![Column::words("knob")];
    columns.extend(["inside", "outside", "not decided"].map(Column::numbers));
    let mut table = Table::new(columns).caption("By knob");
    for tally in of.knobs.iter().chain([&of.all]) {
        let knob = if tally.knob.is_empty() { "all" } else { &tally.knob };
        let counts = [tally.inside, tally.outside, tally.open].map(|count| count.to_string());
        table.push(Mark::None, [vec![knob.to_string()], counts.to_vec()].concat());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::advice::{CALIBRATION_SCHEMA, Remembered};
    use model::experiment::PlannedPrediction;

    fn result(knob: &str, high: Option<f64>, inside: Option<bool>) -> PredictionResult {
        PredictionResult {
            predicted: PlannedPrediction {
                knob: knob.to_string(),
                baseline: "as it is".to_string(),
                change: "rps".to_string(),
                low: -0.35,
                high,
                why: String::new(),
                run: String::new(),
            },
            measured: inside.map(|_| 0.0512),
            low: inside.map(|_| 0.021),
            high: inside.map(|_| 0.081),
            pairs: 4,
            inside,
            why: "mean of 4 pairs".to_string(),
        }
    }

    #[test]
    fn the_record_reads_like_this() {
        let entry = |kept| Remembered {
            experiment: "20260101T120000-rps".to_string(),
            started_at: "2026-01-01T12:00:00Z".to_string(),
            kept,
        };
        let of = Calibration {
            schema: CALIBRATION_SCHEMA.to_string(),
            entries: vec![
                entry(result("T5", Some(0.54), Some(true))),
                entry(result("T29", None, Some(false))),
                entry(result("T5", Some(0.012), None)),
            ],
            knobs: vec![
                Tally { knob: "T5".to_string(), inside: 1, outside: 0, open: 1 },
                Tally { knob: "T29".to_string(), inside: 0, outside: 1, open: 0 },
            ],
            all: Tally { knob: String::new(), inside: 1, outside: 1, open: 1 },
        };
        let text = crate::text_calibration(&of, crate::Style::PLAIN);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!("calibration", text);
    }

    #[test]
    fn an_experiment_shows_its_predictions_and_others_have_no_table() {
        let (mut of, runs) = crate::fixtures::experiment();
        assert!(predictions(&of).is_none());
        of.predictions = vec![result("T5", Some(0.54), Some(true))];
        let text = crate::text_experiment(&of, &runs, crate::Style::PLAIN);
        assert!(text.contains("rps against as it is") && text.contains("+5.1 %"), "{text}");
    }
}
