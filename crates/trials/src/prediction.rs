//! A prediction compared with the measurement.
//!
//! Cells with a change and cells without are taken in pairs, in the order of the plan.
//! With three pairs or more the interval is that of a contrast, which includes the difference from
//! run to run. With fewer pairs it is that of the rates inside their windows, which does not
//! include it; `why` says so.
//!
//! The measured change is that of the rates. Where a rate is only a lower bound of the ceiling, the
//! change of the ceiling may be larger (the changed cell did not reach its ceiling), smaller (the
//! baseline did not) or either, and the prediction is decided by the end that is known.

use crate::contrast::Contrast;
use model::advice::{CALIBRATION_SCHEMA, Calibration, Remembered, Tally};
use model::experiment::{Experiment, PlannedPrediction, PredictionResult};
use model::order::OrderBy as _;
use model::run::Record;
use model::verdict::CeilingKind;
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
pub fn compare(predicted: &PlannedPrediction, cells: &[Cell<'_>]) -> PredictionResult {
    let side = |side: &str| -> Vec<Option<Rate>> {
        let meant = cells.iter().filter(|cell| PlannedPrediction::means(side, cell.name));
        meant.map(|cell| cell.run.and_then(rate)).collect()
    };
    let (before, after) = (side(&predicted.baseline), side(&predicted.change));
    let pairs: Vec<(Rate, Rate)> =
        before.iter().zip(&after).filter_map(|(one, other)| one.zip(*other)).collect();
    let whole = before.len().max(after.len());
    let mut result = PredictionResult {
        predicted: predicted.clone(),
        measured: None,
        low: None,
        high: None,
        pairs: pairs.len() as u64,
        inside: None,
        why: String::new(),
    };
    if pairs.is_empty() {
        result.why = "no pair of cells has a valid number".to_string();
        return result;
    }
    let logs: Vec<f64> = pairs.iter().map(|(one, other)| (other.value / one.value).ln()).collect();
    let ratio = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    let (interval, how) = match Contrast::of_logs(&logs) {
        Some(contrast) => {
            (Some((contrast.low, contrast.high)), format!("mean of {} pairs", pairs.len()))
        }
        None => {
            let how = format!("{} of runs: only the variation inside them", count(pairs.len()));
            (inside_windows(&pairs, ratio), how)
        }
    };
    result.measured = Some(ratio - 1.0);
    (result.low, result.high) = (interval.map(|one| one.0 - 1.0), interval.map(|one| one.1 - 1.0));
    let known = Known::of(&pairs);
    let (low, high) = match known {
        Known::Change => (result.low, result.high),
        Known::AtLeast(_) => (result.low, None),
        Known::AtMost(_) => (None, result.high),
        Known::Nothing => (None, None),
    };
    result.why = how + &known.why(low.or(high), pairs.len());
    if pairs.len() < whole {
        let missing = whole - pairs.len();
        result.why += &format!("; {missing} of {whole} pairs have no valid number");
        return result;
    }
    result.inside = is_inside(predicted, (low, high));
    result
}

/// What pairs say about the change of the ceiling: rates that are only lower bounds leave an end
/// open. Each with the number of pairs in which a side has such a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// The change itself.
    Change,
    /// Its lower bound: changed cells did not reach their ceiling.
    AtLeast(usize),
    /// Its upper bound: baselines did not.
    AtMost(usize),
    /// Neither.
    Nothing,
}

impl Known {
    fn of(pairs: &[(Rate, Rate)]) -> Self {
        let before = pairs.iter().filter(|(one, _)| one.is_bound).count();
        let after = pairs.iter().filter(|(_, other)| other.is_bound).count();
        match (before, after) {
            (0, 0) => Self::Change,
            (0, after) => Self::AtLeast(after),
            (before, 0) => Self::AtMost(before),
            _ => Self::Nothing,
        }
    }

    /// Which side did not reach its ceiling, and what follows; `end` is the known end.
    fn why(self, end: Option<f64>, of: usize) -> String {
        let bound_words = |side: &str, missed: usize, bound: &str, at: &str| {
            let known = end.map_or(" would be known".to_string(), |end| {
                format!(" is known: at {at} {:+.1} %", 100.0 * end)
            });
            format!(
                "; the {side} did not reach its ceiling in {missed} of {of} pairs, so only {bound} \
                 bound of the ceiling's change{known}"
            )
        };
        match self {
            Self::Change => String::new(),
            Self::AtLeast(missed) => bound_words("change", missed, "a lower", "least"),
            Self::AtMost(missed) => bound_words("baseline", missed, "an upper", "most"),
            Self::Nothing => {
                let what = "; neither the baseline nor the change reached its ceiling in every \
                            pair, so the ceiling's change is not known";
                what.to_string()
            }
        }
    }
}

fn count(pairs: usize) -> String {
    if pairs == 1 { "one pair".to_string() } else { format!("{pairs} pairs") }
}

/// None if the interval crosses a bound, or has no end where it would decide: the value may be on
/// either side.
fn is_inside(
    predicted: &PlannedPrediction,
    (low, high): (Option<f64>, Option<f64>),
) -> Option<bool> {
    let is_under = high.is_some_and(|high| high < predicted.low);
    let is_over = low.zip(predicted.high).is_some_and(|(low, most)| low > most);
    if is_under || is_over {
        return Some(false);
    }
    let is_enough = low.is_some_and(|low| low >= predicted.low);
    let is_bounded = predicted.high.is_none_or(|most| high.is_some_and(|high| high <= most));
    (is_enough && is_bounded).then_some(true)
}

/// The rate of a cell and half its interval.
#[derive(Debug, Clone, Copy)]
struct Rate {
    value: f64,
    half: Option<f64>,
    /// Whether no limit was reached, so that the ceiling is at least this.
    is_bound: bool,
}

/// The result of a search; otherwise the ceiling, if the measurement is valid.
fn rate(record: &Record) -> Option<Rate> {
    let found = match &record.search {
        Some(search) => {
            let answer = search.answer.as_ref()?;
            let is_bound = answer.kind == CeilingKind::AtLeast;
            Rate { value: answer.rate?, half: None, is_bound }
        }
        None => {
            let ceiling = record.verdict.ceiling.as_ref()?;
            let half = ceiling.low.zip(ceiling.high).map(|(low, high)| (high - low) / 2.0);
            let is_bound = ceiling.kind == CeilingKind::AtLeast;
            Rate { value: ceiling.rate, half, is_bound }
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
    entries.order_by(|left, right| {
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
    knobs.order_by_key(|tally| (tally.knob.len(), tally.knob.clone()));
    Calibration { schema: CALIBRATION_SCHEMA.to_string(), entries, knobs, all }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(of: &[(f64, f64)]) -> Vec<(Rate, Rate)> {
        let rate = |value| Rate { value, half: Some(value * 0.01), is_bound: false };
        of.iter().map(|(one, other)| (rate(*one), rate(*other))).collect()
    }

    fn predicted(low: f64, high: Option<f64>) -> PlannedPrediction {
        let text = String::new;
        PlannedPrediction {
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
        let text = include_str!("../../judge/tests/replay/base.json");
        let base: serde_json::Value = serde_json::from_str(text).unwrap();
        let mut document = serde_json::json!({
            "schema": "ceiling.run/1", "id": "", "version": "", "started_at": "", "command": [],
            "seed": 1, "outcome": "complete", "trial": base["trial"], "host": base["host"],
            "target": {
                "url": "", "addresses": [], "addresses_used": [], "sources_used": [],
                "server": null,
            }, "points": [],
            "verdict": judge::undecided(),
            "expectations": [], "perturbations": [], "notices": [], "definitions": {},
        });
        if let Some(rate) = rate {
            let (low, high) = (rate * 0.99, rate * 1.01);
            document["verdict"]["ceiling"] = serde_json::json!({
                "rate": rate, "kind": "ceiling", "low": low, "high": high,
                "interval": "within-run", "visits": 1,
            });
        }
        serde_json::from_value(document).unwrap()
    }

    fn compared(predicted: &PlannedPrediction, cells: &[(&str, Option<f64>)]) -> PredictionResult {
        let records: Vec<_> = cells.iter().map(|(name, rate)| (*name, record(*rate))).collect();
        let cells: Vec<_> =
            records.iter().map(|(name, run)| Cell { name, run: Some(run) }).collect();
        compare(predicted, &cells)
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
        let held = compared(&predicted(-0.02, Some(0.2)), &PAIRS);
        assert!((held.measured.unwrap() - 0.1).abs() < 1e-4, "{held:?}");
        let half = 4.303 * 0.01 / 3f64.sqrt();
        assert!((held.high.unwrap() - 0.1 - half).abs() < 5e-4, "{held:?}");
        assert_eq!((held.inside, held.pairs), (Some(true), 3));
        assert_eq!(compared(&predicted(-0.02, Some(0.02)), &PAIRS).inside, Some(false));
        assert_eq!(compared(&predicted(-0.02, Some(0.11)), &PAIRS).inside, None, "it may be above");
        assert_eq!(compared(&predicted(-0.02, None), &PAIRS).inside, Some(true), "no upper bound");
        assert_eq!(compared(&predicted(0.2, None), &PAIRS).inside, Some(false));
    }

    #[test]
    fn a_cell_without_a_number_decides_nothing() {
        let mut cells = PAIRS;
        cells[1].1 = None;
        let held = compared(&predicted(-0.02, Some(0.2)), &cells);
        assert_eq!((held.inside, held.pairs), (None, 2));
        assert!(held.measured.is_some() && held.why.contains("1 of 3 pairs"), "{held:?}");
        let none = compare(&predicted(0.0, None), &[]);
        assert_eq!((none.measured, none.inside), (None, None));
    }

    #[test]
    fn one_pair_has_the_interval_of_its_windows() {
        let held = compared(&predicted(-0.02, Some(0.2)), &PAIRS[..2]);
        let half = 1.1 * (2.0 * 0.01f64.powi(2)).sqrt();
        assert!((held.high.unwrap() - 0.1 - half).abs() < 1e-9, "{held:?}");
        assert!(held.why.contains("one pair"), "{}", held.why);
        assert_eq!(inside_windows(&rates(&[(1.0, 1.0)]), 1.0).map(|one| one.0 < 1.0), Some(true));
    }

    /// The pairs, and whether the ceiling of each baseline and each changed cell is a lower bound.
    fn of_bounds(predicted: &PlannedPrediction, bounds: &[(bool, bool)]) -> PredictionResult {
        let cell = |name: String, rate, is_bound| {
            let mut record = record(Some(rate));
            if is_bound {
                record.verdict.ceiling.as_mut().unwrap().kind = CeilingKind::AtLeast;
            }
            (name, record)
        };
        let pair = |(nth, (before, after)): (usize, &(bool, bool))| {
            let rate = 1100.0 + 10.0 * nth as f64;
            [
                cell(format!("plain, {nth}"), 1000.0, *before),
                cell(format!("rps, {nth}"), rate, *after),
            ]
        };
        let records: Vec<_> = bounds.iter().enumerate().flat_map(pair).collect();
        let cells: Vec<_> =
            records.iter().map(|(name, run)| Cell { name, run: Some(run) }).collect();
        compare(predicted, &cells)
    }

    #[test]
    fn a_change_that_did_not_reach_its_ceiling_is_a_lower_bound() {
        // About 11 % more, or any change above that.
        let bounds = [(false, true), (false, false), (false, true)];
        let of = |low, high| of_bounds(&predicted(low, high), &bounds);
        let held = of(0.0, Some(0.2));
        assert_eq!((held.inside, held.high.is_some()), (None, true), "it may be 50 %");
        let low = held.low.unwrap();
        assert!(low > 0.08 && low < 0.11, "{held:?}");
        let why = "mean of 3 pairs; the change did not reach its ceiling in 2 of 3 pairs, so only \
                   a lower bound of the ceiling's change is known: at least +8.";
        assert!(held.why.starts_with(why), "{}", held.why);
        assert_eq!(of(0.0, None).inside, Some(true), "more is inside too");
        assert_eq!(of(-0.02, Some(0.02)).inside, Some(false), "it is above in any case");
        assert_eq!(of(0.3, None).inside, None, "it may be 50 %");
        assert_eq!(of(0.3, Some(0.6)).inside, None, "it may be 50 %");
    }

    #[test]
    fn a_baseline_that_did_not_reach_its_ceiling_is_an_upper_bound() {
        let bounds = [(true, false), (true, false), (true, false)];
        let of = |low, high| of_bounds(&predicted(low, high), &bounds);
        let held = of(0.0, Some(0.2));
        assert_eq!((held.inside, held.low.is_some()), (None, true), "it may be -50 %");
        let why = "the baseline did not reach its ceiling in 3 of 3 pairs, so only an upper bound";
        assert!(held.high.unwrap() > 0.11 && held.why.contains(why), "{held:?}");
        assert_eq!(of(0.0, None).inside, None);
        assert_eq!(of(-0.02, Some(0.02)).inside, None, "it may be 0 %");
        assert_eq!(of(0.3, None).inside, Some(false), "it is below in any case");
    }

    #[test]
    fn two_lower_bounds_decide_nothing() {
        for bounds in [[(true, true); 3], [(true, false), (false, true), (false, false)]] {
            for (low, high) in [(0.0, None), (0.3, None), (-0.02, Some(0.02)), (0.0, Some(0.2))] {
                let held = of_bounds(&predicted(low, high), &bounds);
                assert_eq!((held.inside, held.measured.is_some()), (None, true));
                assert!(held.why.contains("neither the baseline nor the change"), "{}", held.why);
            }
        }
        let one = of_bounds(&predicted(0.0, Some(0.2)), &[(false, true)]);
        assert!(one.why.contains("in 1 of 1 pairs"), "{}", one.why);
    }

    #[test]
    fn a_search_that_found_no_limit_is_a_lower_bound() {
        let of = |kind: &str| {
            let mut document = serde_json::to_value(record(None)).unwrap();
            document["search"] = serde_json::json!({
                "config": {"lowest": 1.0, "highest": 9000.0, "precision": 0.02, "budget_ns": 1,
                           "trial_ns": 1, "answers_min": 1, "confidence": 0.95},
                "trials": [],
                "answer": {"rate": 1000.0, "kind": kind, "misses_at": null, "width": null,
                           "ended": "client-limited", "confidence": "unknown", "below": null,
                           "above": null, "notes": []},
            });
            rate(&serde_json::from_value(document).unwrap()).unwrap().is_bound
        };
        assert_eq!((of("at-least"), of("ceiling")), (true, false));
    }

    #[test]
    fn the_calibration_counts_each_knob_and_all() {
        let experiment = |id: &str, inside| {
            let mut held = compared(&predicted(-0.02, None), &PAIRS);
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
                took_s: None,
                hosts: vec![],
                cells: vec![],
                summaries: vec![],
                contrasts: vec![],
                levels: Vec::new(),
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
