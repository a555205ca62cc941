//! Figures of synthetic results, made from one kept run.

use super::*;
use crate::fixture::{experiment, measured, record, visit};
use model::analysis::{Analysis, Conditions, LevelSeen};
use model::experiment::{CellSummary, Conclusion};
use model::figure::{OfHost, Whose};

fn figure(of: &ResultFigures, cell: &str, name: &str) -> Quantity {
    match &of.cells[cell][name] {
        Value::Quantity(figure) => *figure,
        other => panic!("{cell} {name}: {other:?}"),
    }
}

fn why(of: &ResultFigures, cell: &str, name: &str) -> String {
    match &of.cells[cell][name] {
        Value::Unknown(why) => why.clone(),
        other => panic!("{cell} {name}: {other:?}"),
    }
}

/// One visit of a cell, as the document has it.
fn seen(cell: &str, block: u32, figures: &[(Figure, f64)]) -> VisitSeen {
    VisitSeen {
        cell: cell.to_string(),
        block: Some(block),
        figures: figures.iter().copied().collect(),
        bounds: BTreeMap::new(),
        rate_is_at_least: false,
        load: None,
        levels: Vec::new(),
        conditions: Conditions::default(),
        wall: None,
    }
}

/// A cell `b` against `a`, as the document has it.
fn contrast(figure: Figure, pairs: u64, within: Option<(f64, f64, f64)>) -> Contrast {
    Contrast {
        cell: "b".to_string(),
        baseline: "a".to_string(),
        figure,
        pairs,
        ratio: within.map(|(_, ratio, _)| ratio),
        low: within.map(|(low, ..)| low),
        high: within.map(|(.., high)| high),
        conclusion: within.map(|_| Conclusion::More),
        more_blocks: None,
        below_floor: false,
    }
}

#[test]
fn the_interval_says_how_many_visits_it_is_of() {
    let rates = [100.0, 104.0, 102.0, 101.0, 103.0, 105.0];
    let of = |count: usize| {
        let cells = (1..=count as u32).map(|block| measured("a", block)).collect();
        let records: Vec<_> = rates[..count].iter().map(|rate| Some(record(*rate))).collect();
        ResultFigures::of(&experiment(cells), &records)
    };
    let rate = |count| figure(&of(count), "a", "rate");
    assert_eq!((rate(1).basis, rate(1).value), (Basis::Nothing, 100.0));
    let few = rate(3);
    assert_eq!((few.basis, few.low, few.value, few.high), (Basis::Range(3), 100.0, 102.0, 104.0));
    let all = rate(6);
    assert_eq!((all.basis, all.low, all.value, all.high), (Basis::Visits(6), 100.0, 102.5, 105.0));
}

#[test]
fn a_summary_of_the_document_goes_first() {
    let mut of = experiment(vec![measured("a", 1), measured("a", 2)]);
    of.summaries.push(CellSummary {
        cell: "a".to_string(),
        figure: Figure::Rate,
        visits: 8,
        median: 500.0,
        low: Some(490.0),
        high: Some(510.0),
    });
    let figures = ResultFigures::of(&of, &[Some(record(1.0)), Some(record(2.0))]);
    let rate = figure(&figures, "a", "rate");
    assert_eq!((rate.low, rate.high, rate.basis), (490.0, 510.0, Basis::Visits(8)));
}

#[test]
fn what_failed_and_what_was_not_reached_say_so() {
    let failed = Fate::Failed { why: "its server ended".to_string() };
    let cells = vec![visit("a", 1, failed), visit("b", 1, Fate::NotReached), measured("c", 1)];
    let of = ResultFigures::of(&experiment(cells), &[None, None, None]);
    assert_eq!(why(&of, "a", "rate"), "the cell failed: its server ended");
    assert!(why(&of, "b", "wall").contains("ended before the cell"));
    assert!(why(&of, "c", "p99").contains("cannot be read"));
}

#[test]
fn without_their_records_visits_have_the_figures_of_the_document() {
    let mut of = experiment(vec![measured("a", 1), measured("a", 2), measured("b", 1)]);
    let seen = |block, rate: f64| VisitSeen {
        bounds: [(Figure::P99, (1e6, None))].into(),
        wall: Some("S1".to_string()),
        ..seen("a", block, &[(Figure::Rate, rate), (Figure::P99, 2e6)])
    };
    let visits = vec![seen(0, 9.0), seen(1, 100.0), seen(2, 104.0)];
    of.analysis = Some(Analysis { visits, ..Analysis::default() });
    let figures = ResultFigures::of(&of, &[None, None, None]);
    let rate = figure(&figures, "a", "rate");
    assert_eq!((rate.low, rate.value, rate.high), (100.0, 102.0, 104.0), "block 0 warms up");
    let p99 = figure(&figures, "a", "p99");
    assert_eq!((p99.low, p99.value, p99.high), (0.001, 0.002, f64::INFINITY), "at least 1 ms");
    assert_eq!(p99.basis, Basis::Bounds);
    assert_eq!(figures.cells["a"]["wall"], Value::Word([("S1".to_string(), 2)].into()));
    let mut partly = of.clone();
    partly.analysis.as_mut().unwrap().visits[2].wall = None;
    partly.analysis.as_mut().unwrap().visits[2].figures.remove(&Figure::P99);
    let figures_of_part = ResultFigures::of(&partly, &[None, None, None]);
    let walls = [("S1".to_string(), 1), ("unknown".to_string(), 1)];
    assert_eq!(figures_of_part.cells["a"]["wall"], Value::Word(walls.into()));
    let p99 = figure(&figures_of_part, "a", "p99");
    assert_eq!((p99.low, p99.value, p99.high), (0.001, 0.0015, f64::INFINITY));
    assert!(why(&figures, "a", "errors").contains("cannot be read"));
    assert!(why(&figures, "b", "rate").contains("cannot be read"), "the document has none");
}

/// The visits that can be read say nothing about those that cannot.
#[test]
fn with_a_record_missing_a_cell_has_the_figures_of_the_document() {
    let mut of = experiment(vec![measured("a", 1), measured("a", 2)]);
    let seen = |block, rate| seen("a", block, &[(Figure::Rate, rate)]);
    let visits = vec![seen(1, 100.0), seen(2, 200.0)];
    of.analysis = Some(Analysis { visits, ..Analysis::default() });
    let figures = ResultFigures::of(&of, &[Some(record(100.0)), None]);
    assert_eq!(figure(&figures, "a", "rate").value, 150.0);
    assert!(why(&figures, "a", "errors").contains("a-2 cannot be read"), "{figures:?}");
}

#[test]
fn a_figure_that_a_gate_struck_is_not_known_or_has_bounds() {
    let mut struck = record(100.0);
    let bounded = Standing::Bounded { low: 1e6, high: Some(2e6), by: "a test".to_string() };
    struck.points[0].latency_ns.p99 = Some(1_500_000);
    struck.points[0].latency_ns.p99_9 = None;
    struck.points[0].standing.add(Figure::P99, bounded);
    let named = of_record(&struck);
    let Value::Quantity(p99) = &named["p99"] else { panic!("{named:?}") };
    assert_eq!(p99.basis, Basis::Bounds);
    assert!((p99.low - 0.001).abs() < 1e-9 && (p99.high - 0.002).abs() < 1e-9, "{p99:?}");
    assert!(matches!(&named["p99_9"], Value::Unknown(why) if why.contains("too few values")));
    let unknown = Standing::NotKnown { why: "the clock jumped".to_string() };
    struck.points[0].standing.add(Figure::P99, unknown);
    assert_eq!(of_record(&struck)["p99"], Value::Unknown("the clock jumped".to_string()));
}

/// A visit whose p99 falls among its failed requests ranks as the slowest, and is not left out.
#[test]
fn a_percentile_among_failures_is_known_from_below() {
    let of = |failed: [u64; 6]| {
        let records = failed.map(|failed| {
            let mut record = record(100.0);
            let mut whole = model::histogram::Histogram::new();
            whole.record_n(1_000_000, 9_000);
            whole.record_n(2_000_000, 1_000);
            let point = &mut record.points[0];
            point.latency_ns = whole.summary(failed);
            // As the rules of the gates say of an absent percentile without any bound.
            if failed > 0 {
                let why = "p99 falls among requests without a good response".to_string();
                point.standing.add(Figure::P99, Standing::NotKnown { why });
            }
            Some(record)
        });
        let cells = (1..=6).map(|block| measured("a", block)).collect();
        let mut of = experiment(cells);
        // Written by a version that left such visits out.
        of.summaries.push(CellSummary {
            cell: "a".to_string(),
            figure: Figure::P99,
            visits: 5,
            median: 2e6,
            low: Some(2e6),
            high: Some(2e6),
        });
        ResultFigures::of(&of, &records)
    };
    let p99 = |failed| figure(&of(failed), "a", "p99");
    let good = p99([0; 6]);
    assert_eq!((good.basis, good.high), (Basis::Visits(6), 0.002));
    for failed in [[0, 0, 0, 0, 0, 500], [500; 6]] {
        let found = p99(failed);
        assert_eq!((found.basis, found.high), (Basis::Bounds, f64::INFINITY), "{failed:?}");
        assert!((found.low - 0.002).abs() < 1e-5, "{found:?}");
        let shown = crate::language::shown_value(&Value::Quantity(found));
        assert!(shown.starts_with("at least 2"), "{shown}");
    }
    let errors = of([500; 6]);
    assert!(
        matches!(errors.cells["a"]["p50"], Value::Quantity(Quantity { high, .. }) if high < 0.002)
    );
}

#[test]
fn a_rate_of_zero_was_measured() {
    let of = ResultFigures::of(&experiment(vec![measured("a", 1)]), &[Some(record(0.0))]);
    assert_eq!(figure(&of, "a", "rate").value, 0.0);
    let cells = (1..=3).map(|block| measured("a", block)).collect();
    let rates = [100.0, 0.0, 102.0].map(|rate| Some(record(rate)));
    let rate = figure(&ResultFigures::of(&experiment(cells), &rates), "a", "rate");
    assert_eq!((rate.low, rate.value, rate.high), (0.0, 100.0, 102.0));
}

#[test]
fn failures_that_gates_struck_are_not_known() {
    let mut struck = record(100.0);
    let by = "littles_law: the accounts disagree".to_string();
    struck.points[0].standing.add(Figure::Errors, Standing::NotKnown { why: by });
    let cells = vec![measured("a", 1), measured("a", 2)];
    let of = ResultFigures::of(&experiment(cells), &[Some(struck), Some(record(100.0))]);
    assert_eq!(why(&of, "a", "errors"), "in 1 of 2 visits: littles_law: the accounts disagree");
}

/// A rate that the generator limited is a lower bound, however many visits agree on it.
#[test]
fn bounds_of_visits_are_bounds_of_their_median() {
    let of = |high: Option<f64>| {
        let cells: Vec<_> = (1..=8).map(|block| measured("a", block)).collect();
        let records = (1..=8).map(|block: u32| {
            let mut record = record(100.0 + f64::from(block));
            if block == 8 {
                let low = record.points[0].headline_rate();
                let bounded = Standing::Bounded { low, high, by: "a test".to_string() };
                record.points[0].standing.add(Figure::Rate, bounded);
            }
            Some(record)
        });
        let mut of = experiment(cells);
        of.summaries.push(CellSummary {
            cell: "a".to_string(),
            figure: Figure::Rate,
            visits: 8,
            median: 104.5,
            low: Some(101.0),
            high: Some(108.0),
        });
        figure(&ResultFigures::of(&of, &records.collect::<Vec<_>>()), "a", "rate")
    };
    for (known, most) in [(Some(200.0), 200.0), (None, f64::INFINITY)] {
        let rate = of(known);
        assert_eq!((rate.low, rate.value, rate.high), (101.0, 104.5, most));
        assert_eq!(rate.basis, Basis::Bounds);
    }
}

#[test]
fn failures_are_counted_over_all_visits() {
    let with = |failed: u64| {
        let mut record = record(100.0);
        let requests = &mut record.points[0].requests;
        (requests.sent, requests.unsent, requests.unanswered) = (1000, 0, 0);
        (requests.failed, requests.completed) = (failed, 1000 - failed);
        record
    };
    let of = |failed: [u64; 2]| {
        let cells = vec![measured("a", 1), measured("a", 2)];
        ResultFigures::of(&experiment(cells), &failed.map(|failed| Some(with(failed))))
    };
    assert_eq!(figure(&of([0, 0]), "a", "errors"), Quantity::exact(0.0, Unit::Share));
    let errors = figure(&of([0, 20]), "a", "errors");
    assert_eq!((errors.low, errors.value, errors.high), (0.0, 0.01, 0.02));
}

#[test]
fn a_contrast_without_three_pairs_is_not_known() {
    let mut of = experiment(vec![]);
    of.contrasts.push(contrast(Figure::Rate, 2, None));
    let figures = ResultFigures::of(&of, &[]);
    let ratio = &figures.contrasts["b"]["rate"]["ratio"];
    assert!(matches!(ratio, Value::Unknown(why) if why.contains("there are 2")), "{ratio:?}");
    let bounds = [(Figure::Rate, (100.0, None))].into();
    let seen = VisitSeen { bounds, ..seen("a", 1, &[(Figure::Rate, 100.0)]) };
    of.analysis = Some(Analysis { visits: vec![seen], ..Analysis::default() });
    of.cells = vec![measured("a", 1)];
    (of.contrasts[0].ratio, of.contrasts[0].low) = (Some(1.1), Some(1.0));
    of.contrasts[0].high = Some(1.2);
    // A document may lack the bounds of visits, or the records may be missing.
    let mut bounded = record(100.0);
    let bounds = Standing::Bounded { low: 100.0, high: None, by: "a test".to_string() };
    bounded.points[0].standing.add(Figure::Rate, bounds);
    for (is_old, records) in [(false, [None]), (true, [Some(bounded)])] {
        let mut of = of.clone();
        if is_old {
            of.analysis.as_mut().unwrap().visits[0].bounds.clear();
        }
        let figures = ResultFigures::of(&of, &records);
        let ratio = &figures.contrasts["b"]["rate"]["ratio"];
        assert!(matches!(ratio, Value::Unknown(why) if why.contains("only bounds")), "{ratio:?}");
    }
}

#[test]
fn a_level_has_its_ratio_and_its_medians_under_its_load() {
    let mut of = experiment(vec![]);
    let level = |load| LevelContrast {
        load,
        base: load.map(|_| 2e6),
        changed: load.map(|_| 2.2e6),
        contrast: contrast(Figure::P99, 4, Some((1.0, 1.1, 1.2))),
    };
    of.levels = vec![level(Some(64)), level(None)];
    let figures = ResultFigures::of(&of, &[]);
    let at = |load: &str, name: &str| figures.contrasts["b"][load].get(name).cloned();
    let Some(Value::Quantity(base)) = at("p99.at.64", "base") else { panic!("no median") };
    assert_eq!((base.value, base.unit), (0.002, Unit::Seconds));
    assert!(matches!(at("p99.at.all", "ratio"), Some(Value::Quantity(_))));
    assert_eq!(at("p99.at.all", "base"), None);
    // Only bounds of the level are known in a visit of the baseline.
    let bounds = [(Figure::P99, (1e6, None))].into();
    let levels = vec![LevelSeen { load: 64, figures: BTreeMap::new(), bounds }];
    let seen = VisitSeen { levels, ..seen("a", 1, &[]) };
    of.analysis = Some(Analysis { visits: vec![seen], ..Analysis::default() });
    let figures = ResultFigures::of(&of, &[]);
    for load in ["p99.at.64", "p99.at.all"] {
        assert!(matches!(&figures.contrasts["b"][load]["ratio"], Value::Unknown(_)), "{load}");
    }
}

#[test]
fn figures_of_hosts_are_those_of_cells_and_have_contrasts() {
    let of_host = |of| Figure::Host(of, Whose::Server);
    let (busy, queue) = (of_host(OfHost::Busy), of_host(OfHost::AcceptQueue));
    let cells = ["a", "b"].into_iter().flat_map(|cell| (1..=3).map(move |at| measured(cell, at)));
    let mut of = experiment(cells.collect());
    let share = |cell: &str| if cell == "a" { 0.4 } else { 0.2 };
    let records: Vec<Option<Record>> = of
        .cells
        .iter()
        .map(|cell| {
            let mut record = record(100.0);
            record.points[0].hosts = [(busy, share(&cell.name)), (queue, 0.0)].into();
            Some(record)
        })
        .collect();
    let design = serde_json::json!({
        "cells": ["a", "b"], "blocks": 3, "order": "plan", "seed": 1, "baseline": "a",
        "figure": "rate", "same_within": 0.02, "precision": null, "until_decided": false,
        "budget_ns": null, "pause_ns": 0, "restart": "cell", "warmup_visits": 0,
    });
    of.design = Some(serde_json::from_value(design).unwrap());
    let visits = of.cells.iter().map(|cell| {
        let block = cell.block.unwrap();
        seen(&cell.name, block, &[(busy, share(&cell.name)), (queue, 0.0)])
    });
    of.analysis = Some(Analysis { visits: visits.collect(), ..Analysis::default() });
    let no_records = vec![None; of.cells.len()];
    for records in [records, no_records] {
        let figures = ResultFigures::of(&of, &records);
        assert_eq!(figure(&figures, "b", "busy.server").value, 0.2);
        assert_eq!(figure(&figures, "a", "accept.queue.server").value, 0.0, "zero was read");
        assert!(!why(&figures, "a", "memory.server").is_empty(), "it was not read");
        let contrast = &figures.contrasts["b"];
        let Value::Quantity(ratio) = contrast["busy.server"]["ratio"] else {
            panic!("{contrast:?}")
        };
        assert!((ratio.value - 0.5).abs() < 1e-9, "{ratio:?}");
        let zero = &contrast["accept.queue.server"]["ratio"];
        assert!(matches!(zero, Value::Unknown(_)), "{zero:?}");
    }
}
