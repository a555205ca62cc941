//! Entries that cannot be recomputed, and which differences count as the same.

use super::*;
use crate::fixture::{Folder, entry, experiment, finding, measured, of_rate};
use crate::{Journal, run_archive};
use model::histogram::Summary;
use model::run::Run;

fn made(name: &str, of: Experiment) -> Remade {
    let folder = Folder::new(name);
    let journal = Journal::open_or_make(&folder.0).unwrap();
    remade(&entry(&journal, "a", &finding("cells.a.rate > 50"), Some(of))).unwrap()
}

fn why(line: &Line) -> &str {
    match &line.outcome {
        Outcome::CannotBe { why } => why,
        other => panic!("{}: {other:?}", line.about),
    }
}

#[test]
fn without_raw_readings_nothing_is_told_to_be_the_same() {
    let made = made("remade-readings", of_rate(100.0, "6.1"));
    assert_eq!((made.runs.len(), made.figures.len(), made.findings.len()), (2, 13, 1));
    assert_eq!(made.runs[1].about, "20260101T000000-a, cell a, block 2");
    for line in made.lines() {
        assert!(why(line).contains("its raw readings are missing"), "{}", line.about);
    }
}

/// An added run, the output of another tool, and a result that was never written.
#[test]
fn what_is_only_taken_over_is_not_told_to_be_the_same() {
    let folder = Folder::new("remade-added");
    let journal = Journal::open_or_make(&folder.0).unwrap();
    let findings =
        ["runs.hand.p99 < 5s", "entries.a.runs.hand.rate > 1", "foreign.w.rate.outcome == holds"];
    let findings = findings.map(finding).concat();
    let of = entry(&journal, "a", &findings, None);
    let hand = of.path.join("runs/hand");
    std::fs::create_dir_all(&hand).unwrap();
    let record = serde_json::to_vec(&crate::fixture::record(100.0)).unwrap();
    std::fs::write(hand.join("run.json"), record).unwrap();
    std::fs::create_dir_all(of.path.join("results/20260101T000000-a")).unwrap();
    std::fs::write(of.path.join("results/20260101T000000-a/plan.toml"), "").unwrap();
    let made = remade(&of).unwrap();
    assert!(why(&made.runs[0]).contains("its raw readings are missing"), "{made:?}");
    assert!(why(&made.figures[0]).contains("experiment.json"), "{made:?}");
    for line in &made.findings[..2] {
        assert!(why(line).contains("its raw readings are missing"), "{line:?}");
    }
    assert!(matches!(made.findings[2].outcome, Outcome::CannotBe { .. }), "{made:?}");
}

/// Their percentiles are in the record alone, so they would be compared with themselves.
#[test]
fn percentiles_without_a_distribution_are_not_told_to_be_the_same() {
    let mut record = crate::fixture::record(100.0);
    let run = |record: &Record| Run {
        record: record.clone(),
        readings: vec![],
        server_readings: vec![],
        latencies: vec![],
    };
    assert_eq!(run::times_open(&run(&record)), None);
    let events = model::fanout::EventInfo { rate: 5.0, ..Default::default() };
    record.points[0].subject = model::subject::Subject::Events(events);
    let why = run::times_open(&run(&record)).unwrap();
    assert!(why.contains("staleness of events"), "{why}");
    let times = [("a".to_string(), why)].into();
    let open = Open { times, ..Open::default() };
    assert!(open.why(&["a"], "p99").is_kept.is_some() && open.why(&["b"], "p99").is_kept.is_none());
    assert!(open.why(&["a"], "rate").is_kept.is_none());
    let names = ["contrasts", "b", "p99", "ratio"];
    assert!(open.why_at(&names).is_kept.is_some(), "it needs both cells");
    let named = |p99: f64| -> Named {
        let of = |value| Value::Quantity(Quantity::exact(value, model::unit::Unit::Seconds));
        [("p99".to_string(), of(p99)), ("rate".to_string(), of(1.0))].into()
    };
    let outcomes = |now: f64| -> Vec<Outcome> {
        let both = (&named(1.0), Some(&named(now)));
        let lines = each("", both, SAME_WITHIN, &|name| open.why(&["a"], name));
        lines.into_iter().map(|line| line.outcome).collect()
    };
    assert!(matches!(&outcomes(1.0)[..], [Outcome::CannotBe { .. }, Outcome::Same]));
    assert!(matches!(&outcomes(2.0)[..], [Outcome::Differs { .. }, Outcome::Same]));
}

#[test]
fn an_experiment_that_did_not_end_has_no_figures_to_compare() {
    let of = Experiment { analysis: None, ..experiment(vec![measured("a", 1)]) };
    let made = made("remade-ended", of);
    for line in made.figures.iter().chain(&made.findings) {
        assert_eq!(why(line), "the experiment did not end", "{}", line.about);
    }
}

/// An archive with fewer digits is compared with as many as it has.
#[test]
fn figures_of_a_rounded_archive_are_compared_less_closely() {
    let folder = Folder::new("remade-rounded");
    let journal = Journal::open_or_make(&folder.0).unwrap();
    let of = experiment(vec![measured("a", 1)]);
    let entry = entry(&journal, "a", "", Some(of.clone()));
    let result = entry.path.join("results").join(&of.id);
    let (record, readings) = (crate::fixture::record(100.0), crate::fixture::readings());
    let run = Run { record, readings, server_readings: vec![], latencies: vec![] };
    let observed = judge::rejudge::observed(&run.record, observe::Raw::from(&run));
    let kept = run_archive::ToKeep {
        about: "a".to_string(),
        name: "a-1".to_string(),
        record: run.record,
        latencies: None,
        observed: Ok(observed),
    };
    std::fs::remove_dir_all(result.join("runs")).unwrap();
    let path = result.join(run_archive::FILE);
    let same_within = |made: run_archive::Made| {
        std::fs::write(&path, made.bytes).unwrap();
        of_result(&entry, &of.id).unwrap().same_within
    };
    let kept = [kept];
    assert_eq!(same_within(run_archive::make(&path, &kept).unwrap()), SAME_WITHIN);
    assert_eq!(same_within(run_archive::make_rounded(&path, &kept).unwrap()), ROUNDED_WITHIN);
}

#[test]
fn figures_are_the_same_to_the_last_bits_and_no_further() {
    let is_same = |was: &Value, now: &Value| is_same(was, now, SAME_WITHIN);
    let of = |value: f64| Value::Quantity(Quantity::exact(value, model::unit::Unit::Seconds));
    assert!(is_same(&of(0.1 + 0.2), &of(0.3)));
    assert!(!is_same(&of(0.3), &of(0.300_000_001)));
    assert!(is_same(&of(0.0), &of(0.0)) && !is_same(&of(0.0), &of(1e-300)));
    for open in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        assert!(!is_same(&of(open), &of(0.3)) && !is_same(&of(0.3), &of(open)), "{open}");
        assert!(!is_same(&of(open), &of(-open)), "{open}");
    }
    assert!(is_same(&of(f64::INFINITY), &of(f64::INFINITY)), "both are bounds that nothing left");
    let unknown = |why: &str| Value::Unknown(why.to_string());
    assert!(is_same(&unknown("a"), &unknown("b")) && !is_same(&unknown("a"), &of(1.0)));
    let wall = |word: &str| Value::Word([(word.to_string(), 2)].into());
    assert!(is_same(&wall("S1"), &wall("S1")) && !is_same(&wall("S1"), &wall("K1")));
    assert!(super::is_same(&of(0.3), &of(0.3002), ROUNDED_WITHIN));
    assert!(!super::is_same(&of(0.3), &of(0.3004), ROUNDED_WITHIN));
}

#[test]
fn the_percentiles_of_a_point_are_those_of_its_distribution() {
    let mut record = crate::fixture::record(100.0);
    let mut whole = model::histogram::Histogram::new();
    whole.record_n(1_000_000, 5000);
    record.points[0].latency_ns = Summary { censored: 0, ..whole.summary(0) };
    let point = &record.points[0];
    assert_eq!(run::again_of(point, &whole), point.latency_ns);
    whole.record_n(9_000_000, 5000);
    assert_eq!(run::again_of(point, &whole).p99, whole.summary(0).p99);
    assert_ne!(run::again_of(point, &whole), point.latency_ns);
}

/// A distribution that was read back has the largest value as the end of its bucket.
#[test]
fn a_percentile_that_is_the_largest_value_is_the_same() {
    let mut exact = model::histogram::Histogram::new();
    exact.record_n(1_000_000, 500);
    exact.record_n(31_778_177, 500);
    let read = model::histogram::Histogram::from_buckets(exact.buckets()).unwrap();
    assert!(read.summary(0).p99 > exact.summary(0).p99, "the test has a largest value in a bucket");
    let mut point = crate::fixture::record(100.0).points.remove(0);
    for censored in [0, 20] {
        point.latency_ns = exact.summary(censored);
        assert_eq!(run::again_of(&point, &read), point.latency_ns);
        let was = point.latency_ns.p90.replace(31_000_000);
        assert_ne!(run::again_of(&point, &read), point.latency_ns, "and no other value is");
        point.latency_ns.p90 = was;
    }
}

#[test]
fn a_point_without_its_distribution_is_not_the_same() {
    let record = crate::fixture::record(100.0);
    let mut whole = model::histogram::Histogram::new();
    whole.record_n(1_000_000, 5000);
    let (readings, server_readings, latencies) = (vec![], vec![], vec![whole; 2]);
    let mut run = Run { record, readings, server_readings, latencies };
    for point in &mut run.record.points {
        point.latency_ns = run::again_of(point, &run.latencies[0]);
    }
    run.latencies.truncate(run.record.points.len());
    assert_eq!(run::percentiles(&run), None);
    run.latencies.clear();
    let why = run::percentiles(&run).unwrap();
    assert!(why.contains("points are 1, and their distributions 0"), "{why}");
}
