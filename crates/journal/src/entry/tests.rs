//! Valid entries, and entries that are refused.

use super::*;

const WHOLE: &str = r#"
schema = "ceiling.entry/1"
title = "Do compressed responses help?"
date = 2026-11-23
tags = ["http", "client"]
status = "done"
question = "Where is compression worth its CPU time?"
answer = "On a slow link only."
lesson = "Measure the link first."
result = "20261123T120000-gzip"

[hypothesis]
text = "The link is the wall."
walls = { free = "S1", "each like, 1" = "K1" }
[[hypothesis.prediction]]
condition = "cells.free.rate > 2 * cells.starved.rate"

[[finding]]
text = "Compression is worth 40 %."
condition = "contrasts.free-gz.rate.ratio > 1.2"
"#;

#[test]
fn an_entry_is_read_whole() {
    let entry = Entry::parse(WHOLE).unwrap();
    assert_eq!((entry.status.word(), entry.date.to_string().as_str()), ("done", "2026-11-23"));
    assert_eq!(entry.findings[0].condition.text(), "contrasts.free-gz.rate.ratio > 1.2");
    let hypothesis = entry.hypothesis.unwrap();
    assert_eq!(hypothesis.walls["each like, 1"], WallId::K1);
    assert_eq!(hypothesis.predictions.len(), 1);
}

#[test]
fn what_is_wrong_is_told_with_what_is_accepted() {
    for (from, to, said) in [
        ("ceiling.entry/1", "ceiling.entry/2", "'ceiling.entry/1' is accepted"),
        ("2026-11-23", "\"yesterday\"", "for example date = 2026-11-23"),
        ("2026-11-23", "2026-11-23T10:00:00Z", "for example date = 2026-11-23"),
        ("lesson =", "leson =", "line 9: unknown field `leson`, expected one of `schema`"),
        ("\"done\"", "\"finished\"", "planned, predicted, running, done and superseded"),
        ("\"done\"", "\"superseded\"", "superseded_by does not say"),
        ("lesson =", "superseded_by =", "superseded_by belongs to status"),
        ("\"S1\"", "\"S99\"", "'S99' of cell 'free' is not a wall"),
        ("\"20261123T120000-gzip\"", "\"../../etc\"", "for example result"),
        ("\"http\"", "\"<b>\"", "tag '<b>'"),
        ("[[finding]]", "[[finding]]\nif = 1", "unknown field `if`, expected `text` or"),
        ("On a slow", "On\\n a slow", "answer is not one line"),
        ("Where is compression worth its CPU time?", " ", "question is empty"),
    ] {
        let text = WHOLE.replacen(from, to, 1);
        assert_ne!(text, WHOLE);
        let error = Entry::parse(&text).unwrap_err();
        assert!(error.contains(said), "{to}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn an_entry_is_predicted_only_with_a_prediction() {
    let predicted = WHOLE.replace("\"done\"", "\"predicted\"");
    assert_eq!(Entry::parse(&predicted).unwrap().status, Status::Predicted);
    let begin = predicted.find("[[hypothesis.prediction]]").unwrap();
    let end = predicted.find("[[finding]]").unwrap();
    let without = format!("{}{}", &predicted[..begin], &predicted[end..]);
    let why = Entry::parse(&without).unwrap_err();
    assert!(why.contains("status is predicted, and there is no prediction"), "{why}");
}

#[test]
fn what_replaces_an_entry_is_a_name() {
    let with = |by: &str| {
        let to = format!("\"superseded\"\nsuperseded_by = \"{by}\"");
        Entry::parse(&WHOLE.replace("\"done\"", &to))
    };
    let entry = with("gzip-again").unwrap();
    assert_eq!(entry.status, Status::Superseded { by: Slug::parse("gzip-again").unwrap() });
    assert!(with("../x").unwrap_err().contains("superseded_by"));
}
