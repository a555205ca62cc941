//! A prediction compared with the measurement.
//!
//! Cells with a change and cells without are taken in pairs, in the order of the plan.
//! With three pairs or more the interval is that of a contrast, which includes the difference from
//! run to run. With fewer pairs it is that of the rates inside their windows, which does not
//! include it; `why` says so.

use crate::contrast::Contrast;
use model::advice::{CALIBRATION_SCHEMA, Calibration, Remembered, Tally};
use model::experiment::{Experiment, Foretold, Kept};
use model::run::Record;
use std::collections::BTreeMap;

/// A cell by name, with its run if it was measured.
#[derive(Debug, Clone, Copy)]
pub struct Cell<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its run; none if it failed or was not reached.
    pub run: Option<&'a Record>,
}

/// Compares one prediction with the cells of its experiment.
pub fn keep(predicted: &Foretold, cells: &[Cell<'_>]) -> Kept {
    let side = |side: &str| -> Vec<Option<Rate>> {
        let meant = cells.iter().filter(|cell| Foretold::means(side, cell.name));
        meant.map(|cell| cell.run.and_then(rate)).collect()
    };
    let (before, after) = (side(&predicted.baseline), side(&predicted.change));
    let pairs: Vec<(Rate, Rate)> =
        before.iter().zip(&after).filter_map(|(one, other)| one.zip(*other)).collect();
    let whole = before.len().max(after.len());
    let mut kept = Kept {
        predicted: predicted.clone(),
        measured: None,
        low: None,
        high: None,
        pairs: pairs.len() as u64,
        inside: None,
        why: String::new(),
    };
    if pairs.is_empty() {
        kept.why = "no pair of cells has a valid number".to_string();
        return kept;
    }
    let logs: Vec<f64> = pairs.iter().map(|(one, other)| (other.value / one.value).ln()).collect();
    let ratio = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    kept.measured = Some(ratio - 1.0);
    let (interval, how) = match Contrast::of_logs(&logs) {
        Some(contrast) => {
            (Some((contrast.low, contrast.high)), format!("mean of {} pairs", pairs.len()))
        }
        None => {
            let how = format!("{} of runs: only the variation inside them", count(pairs.len()));
            (inside_windows(&pairs, ratio), how)
        }
    };
    (kept.low, kept.high) = (interval.map(|one| one.0 - 1.0), interval.map(|one| one.1 - 1.0));
    if pairs.len() < whole {
        kept.why = format!("{how}; {} of {whole} pairs have no valid number", whole - pairs.len());
        return kept;
    }
    kept.inside = kept.low.zip(kept.high).and_then(|interval| is_inside(predicted, interval));
    kept.why = how;
    kept
}

fn count(pairs: usize) -> String {
    if pairs == 1 { "one pair".to_string() } else { format!("{pairs} pairs") }
}

/// None if the interval crosses a bound: the value may be on either side.
fn is_inside(predicted: &Foretold, (low, high): (f64, f64)) -> Option<bool> {
    let most = predicted.high.unwrap_or(f64::INFINITY);
    if low >= predicted.low && high <= most {
        return Some(true);
    }
    (high < predicted.low || low > most).then_some(false)
}

/// The rate of a cell and half its interval.
#[derive(Debug, Clone, Copy)]
struct Rate {
    value: f64,
    half: Option<f64>,
}

/// The result of a search; otherwise the ceiling, if the measurement is valid.
fn rate(record: &Record) -> Option<Rate> {
    let found = match &record.search {
        Some(search) => {
            let value = search.answer.as_ref()?.rate?;
            Rate { value, half: None }
        }
        None => {
            let ceiling = record.verdict.ceiling.as_ref()?;
            let half = ceiling.low.zip(ceiling.high).map(|(low, high)| (high - low) / 2.0);
            Rate { value: ceiling.rate, half }
        }
    };
    (found.value > 0.0).then_some(found)
}

/// Relative errors of both sides add up like independent errors.
fn inside_windows(pairs: &[(Rate, Rate)], ratio: f64) -> Option<(f64, f64)> {
    let share = |rate: &Rate| Some(rate.half? / rate.value);
    let mut sum = 0.0;
    for (one, other) in pairs {
        sum += share(one)?.powi(2) + share(other)?.powi(2);
    }
    let half = ratio * sum.sqrt() / pairs.len() as f64;
    Some((ratio - half, ratio + half))
}

/// The track record of all predictions of some experiments, oldest first.
pub fn calibration(experiments: &[Experiment]) -> Calibration {
    let mut entries: Vec<Remembered> = experiments
        .iter()
        .flat_map(|experiment| {
            experiment.predictions.iter().map(|kept| Remembered {
                experiment: experiment.id.clone(),
                started_at: experiment.started_at.clone(),
                kept: kept.clone(),
            })
        })
        .collect();
    entries.sort_by(|left, right| {
        let key = |one: &Remembered| (one.started_at.clone(), one.experiment.clone());
        key(left).cmp(&key(right))
    });
    let mut knobs: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut all = Tally::default();
    for entry in &entries {
        let knob = entry.kept.predicted.knob.as_str();
        let tally = knobs.entry(knob).or_default();
        tally.knob = knob.to_string();
        for tally in [tally, &mut all] {
            match entry.kept.inside {
                Some(true) => tally.inside += 1,
                Some(false) => tally.outside += 1,
                None => tally.open += 1,
            }
        }
    }
    let mut knobs: Vec<Tally> = knobs.into_values().collect();
    // T9 before T10.
    knobs.sort_by_key(|tally| (tally.knob.len(), tally.knob.clone()));
    Calibration { schema: CALIBRATION_SCHEMA.to_string(), entries, knobs, all }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(of: &[(f64, f64)]) -> Vec<(Rate, Rate)> {
        let rate = |value| Rate { value, half: Some(value * 0.01) };
        of.iter().map(|(one, other)| (rate(*one), rate(*other))).collect()
    }

    fn predicted(low: f64, high: Option<f64>) -> Foretold {
        let text = String::new;
        Foretold {
            knob: "T5".to_string(),
            baseline: "plain".to_string(),
            change: "rps".to_string(),
            low,
            high,
            why: text(),
            run: text(),
        }
    }

    /// A record in which only the verdict matters.
    fn record(rate: Option<f64>) -> Record {
        let text = include_str!("../tests/replay/base.json");
        let base: serde_json::Value = serde_json::from_str(text).unwrap();
        let mut document = serde_json::json!({
            "schema": "ceiling.run/1", "id": "", "version": "", "started_at": "", "command": [],
            "seed": 1, "outcome": "complete", "trial": base["trial"], "host": base["host"],
            "target": {"url": "", "addresses": [], "server": null}, "points": [],
            "verdict": crate::undecided(), "notices": [], "definitions": {},
        });
        if let Some(rate) = rate {
            let (low, high) = (rate * 0.99, rate * 1.01);
            document["verdict"]["ceiling"] =
                serde_json::json!({"rate": rate, "kind": "ceiling", "low": low, "high": high});
        }
        serde_json::from_value(document).unwrap()
    }

    fn kept(predicted: &Foretold, cells: &[(&str, Option<f64>)]) -> Kept {
        let records: Vec<_> = cells.iter().map(|(name, rate)| (*name, record(*rate))).collect();
        let cells: Vec<_> =
            records.iter().map(|(name, run)| Cell { name, run: Some(run) }).collect();
        keep(predicted, &cells)
    }

    const PAIRS: [(&str, Option<f64>); 6] = [
        ("plain, 1", Some(1000.0)),
        ("rps, 1", Some(1100.0)),
        ("rps, 2", Some(1110.0)),
        ("plain, 2", Some(1000.0)),
        ("plain, 3", Some(1000.0)),
        ("rps, 3", Some(1090.0)),
    ];

    #[test]
    fn pairs_are_taken_by_number_and_their_scatter_is_the_interval() {
        let held = kept(&predicted(-0.02, Some(0.2)), &PAIRS);
        assert!((held.measured.unwrap() - 0.1).abs() < 1e-4, "{held:?}");
        let half = 4.303 * 0.01 / 3f64.sqrt();
        assert!((held.high.unwrap() - 0.1 - half).abs() < 5e-4, "{held:?}");
        assert_eq!((held.inside, held.pairs), (Some(true), 3));
        assert_eq!(kept(&predicted(-0.02, Some(0.02)), &PAIRS).inside, Some(false));
        assert_eq!(kept(&predicted(-0.02, Some(0.11)), &PAIRS).inside, None, "it may be above");
        assert_eq!(kept(&predicted(-0.02, None), &PAIRS).inside, Some(true), "no upper bound");
        assert_eq!(kept(&predicted(0.2, None), &PAIRS).inside, Some(false));
    }

    #[test]
    fn a_cell_without_a_number_decides_nothing() {
        let mut cells = PAIRS;
        cells[1].1 = None;
        let held = kept(&predicted(-0.02, Some(0.2)), &cells);
        assert_eq!((held.inside, held.pairs), (None, 2));
        assert!(held.measured.is_some() && held.why.contains("1 of 3 pairs"), "{held:?}");
        let none = keep(&predicted(0.0, None), &[]);
        assert_eq!((none.measured, none.inside), (None, None));
    }

    #[test]
    fn one_pair_has_the_interval_of_its_windows() {
        let held = kept(&predicted(-0.02, Some(0.2)), &PAIRS[..2]);
        let half = 1.1 * (2.0 * 0.01f64.powi(2)).sqrt();
        assert!((held.high.unwrap() - 0.1 - half).abs() < 1e-9, "{held:?}");
        assert!(held.why.contains("one pair"), "{}", held.why);
        assert_eq!(inside_windows(&rates(&[(1.0, 1.0)]), 1.0).map(|one| one.0 < 1.0), Some(true));
    }

    #[test]
    fn the_calibration_counts_each_knob_and_all() {
        let experiment = |id: &str, inside| {
            let mut held = kept(&predicted(-0.02, None), &PAIRS);
            held.inside = inside;
            let text = String::new;
            Experiment {
                schema: text(),
                id: id.to_string(),
                version: text(),
                started_at: id.to_string(),
                plan: text(),
                question: text(),
                design: None,
                ended: None,
                hosts: vec![],
                cells: vec![],
                summaries: vec![],
                contrasts: vec![],
                predictions: vec![held],
                analysis: None,
            }
        };
        let all = [
            experiment("c", None),
            experiment("a", Some(true)),
            experiment("b", Some(false)),
            experiment("d", Some(true)),
        ];
        let record = calibration(&all);
        let order: Vec<_> = record.entries.iter().map(|one| one.experiment.as_str()).collect();
        assert_eq!(order, ["a", "b", "c", "d"]);
        assert_eq!((record.all.inside, record.all.outside, record.all.open), (2, 1, 1));
        assert_eq!(record.knobs.len(), 1);
        assert_eq!(record.knobs[0].knob, "T5");
        assert!(calibration(&[]).entries.is_empty());
    }
}
