//! Recorded runs of small servers that were not written for the judge, judged again: each file says
//! what the verdict may be.
//!
//! Each file of `kept/` is the record of a run, the first and last reading of each counter in each
//! window, some of the samples in between, and the expected verdict.

use judge::observe::Raw;
use judge::rejudge::again;
use model::reading::Reading;
use model::run::Record;
use model::step::Step;
use model::verdict::{CeilingKind, Verdict};
use serde::Deserialize;

const KEPT: [&str; 10] = [
    include_str!("kept/idle-event-loop.json"),
    include_str!("kept/pool-of-promises.json"),
    include_str!("kept/five-calls-at-once.json"),
    include_str!("kept/refuses-429.json"),
    include_str!("kept/refuses-503.json"),
    include_str!("kept/one-mutex.json"),
    include_str!("kept/one-thread-that-closes.json"),
    include_str!("kept/full-event-loop.json"),
    include_str!("kept/full-event-loop-beside-others.json"),
    include_str!("kept/failures-of-their-own.json"),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRun {
    about: String,
    expect: Expect,
    record: Record,
    readings: Vec<Reading>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    /// The verdict is one of these.
    walls: Vec<String>,
    /// Walls that it must list as possible, in order.
    #[serde(default)]
    left: Vec<String>,
    /// How the first proposal starts.
    #[serde(default)]
    next: String,
    /// Whether the rate is a ceiling.
    #[serde(default)]
    ceiling: Option<CeilingKind>,
}

/// Why a verdict is not the expected one.
fn wrong(expect: &Expect, verdict: &Verdict) -> Option<String> {
    let left: Vec<&str> = verdict.alternatives.iter().map(|one| one.wall.word()).collect();
    let next = verdict.next.first().map(Step::text).unwrap_or_default();
    let kind = verdict.ceiling.as_ref().map(|ceiling| ceiling.kind);
    let is_right = expect.walls.iter().any(|wall| wall == verdict.wall.word())
        && (expect.left.is_empty() || expect.left == left)
        && next.contains(&expect.next)
        && (expect.ceiling.is_none() || expect.ceiling == kind);
    (!is_right).then(|| serde_json::json!(verdict).to_string())
}

#[test]
fn every_kept_run_has_its_verdict() {
    let mut faults = Vec::new();
    for text in KEPT {
        let kept: StoredRun = serde_json::from_str(text).expect("a kept run");
        let record = again(kept.record, Raw { near: &kept.readings, far: &[] });
        if let Some(verdict) = wrong(&kept.expect, &record.verdict) {
            faults.push(format!("{}: {verdict}", kept.about));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
