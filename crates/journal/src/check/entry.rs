//! Checks one entry: its findings, predictions, expected walls and references.

use super::{Again, EntryChecked, Kind, Remark, Weight, remark};
use crate::entry::Status;
use crate::folder::EntryFolder;
use crate::language::{Condition, Decision, Fault, Figures, Path, Piece, Truth, Value, filled};
use crate::slug::Slug;
use crate::world::World;
use model::wall::WallId;
use serde::Serialize;

/// A sentence with its condition, and whether that holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// The sentence, or the condition where there is none.
    pub text: String,
    /// The condition.
    pub condition: Condition,
    /// Whether it holds; nothing without a result, or when a path does not lead to a figure.
    pub truth: Option<Truth>,
    /// Its figures, or why it could not be decided.
    pub why: String,
}

/// Whether there is any data for figures.
fn has_data(entry: &EntryFolder) -> bool {
    let any = |names: Result<Vec<String>, _>| names.is_ok_and(|names| !names.is_empty());
    any(entry.results()) || any(entry.runs()) || any(entry.foreign())
}

fn decide(
    world: &World<'_>,
    entry: &EntryFolder,
    condition: &Condition,
) -> Result<Decision, Fault> {
    condition.decide(&world.within(entry))
}

/// The findings and the predictions of an entry, with their truth.
pub fn judged(world: &World<'_>, entry: &EntryFolder) -> EntryChecked {
    check(world, entry).0
}

/// The findings and the predictions of an entry with their truth, and remarks about the entry.
pub fn check(world: &World<'_>, entry: &EntryFolder) -> (EntryChecked, Vec<Remark>) {
    let mut remarks = Vec::new();
    let mut findings = Vec::new();
    for finding in &entry.entry.findings {
        let decided = decide(world, entry, &finding.condition);
        remarks.extend(of_finding(entry, &finding.text, &finding.condition, &decided));
        findings.push(judgement(finding.text.clone(), &finding.condition, decided));
    }
    let mut predictions = Vec::new();
    let is_open = entry.entry.status == Status::Predicted && !has_data(entry);
    for one in entry.entry.hypothesis.iter().flat_map(|hypothesis| &hypothesis.predictions) {
        let text = one.text.clone().unwrap_or_else(|| one.condition.text().to_string());
        if is_open {
            let remark = untested(world, entry, &text, &one.condition);
            let (condition, why) = (one.condition.clone(), remark.why.clone());
            predictions.push(Judged { text, condition, truth: None, why });
            remarks.push(remark);
            continue;
        }
        let decided = decide(world, entry, &one.condition);
        remarks.extend(of_prediction(entry, &text, &one.condition, &decided));
        predictions.push(judgement(text, &one.condition, decided));
    }
    remarks.extend(walls(world, entry));
    remarks.extend(references(world, entry));
    if entry.entry.status == Status::Done && entry.entry.answer.is_none() {
        let why = "status is done; write answer = \"...\" in entry.toml".to_string();
        remarks.push(remark(entry, Kind::NoAnswer, "answer", why));
    }
    if let Err(error) = entry.chosen() {
        remarks.push(remark(entry, Kind::Dangling, "result", error.to_string()));
    }
    let superseded = matches!(entry.entry.status, Status::Superseded { .. });
    // The statements of a superseded entry are history.
    remarks.retain(|one| !superseded || one.kind.weight() == Weight::Invalid);
    let (slug, title) = (entry.slug.clone(), entry.entry.title.clone());
    (EntryChecked { slug, title, findings, predictions, again: Again::default() }, remarks)
}

fn judgement(text: String, condition: &Condition, decided: Result<Decision, Fault>) -> Judged {
    let (truth, why) = match decided {
        Ok(decision) => (Some(decision.truth), decision.why),
        Err(fault) => (None, fault.to_string()),
    };
    Judged { text, condition: condition.clone(), truth, why }
}

fn of_finding(
    entry: &EntryFolder,
    text: &str,
    condition: &Condition,
    decided: &Result<Decision, Fault>,
) -> Option<Remark> {
    let about = format!("finding '{text}'");
    let with = |why: &str| format!("{condition}: {why}");
    match decided {
        Ok(Decision { truth: Truth::True, .. }) => None,
        Ok(Decision { truth: Truth::False, why }) => {
            Some(remark(entry, Kind::Stale, about, with(why)))
        }
        Ok(Decision { truth: Truth::Undecided, why }) => {
            Some(remark(entry, Kind::Undecided, about, with(why)))
        }
        // Without any data, everything is still open.
        Err(Fault::Dangling { .. }) if !has_data(entry) && entry.entry.status != Status::Done => {
            None
        }
        Err(fault @ Fault::Dangling { .. }) => {
            Some(remark(entry, Kind::Dangling, about, fault.to_string()))
        }
        Err(fault @ Fault::Wrong(_)) => {
            Some(remark(entry, Kind::Invalid, about, with(&fault.to_string())))
        }
    }
}

fn of_prediction(
    entry: &EntryFolder,
    text: &str,
    condition: &Condition,
    decided: &Result<Decision, Fault>,
) -> Option<Remark> {
    let about = format!("prediction '{text}'");
    let kind = match decided {
        Ok(Decision { truth: Truth::True, .. }) => return None,
        Ok(Decision { truth: Truth::False, .. }) => Kind::WrongPrediction,
        Ok(Decision { truth: Truth::Undecided, .. }) => Kind::OpenPrediction,
        Err(_) => {
            let fault = of_finding(entry, text, condition, decided)?;
            return Some(Remark { about, ..fault });
        }
    };
    let why = decided.as_ref().map_or(String::new(), |decision| decision.why.clone());
    Some(remark(entry, kind, about, format!("{condition}: {why}")))
}

/// A prediction that has no result yet, with the interval that follows from figures of other
/// entries.
fn untested(world: &World<'_>, entry: &EntryFolder, text: &str, condition: &Condition) -> Remark {
    let (kind, why) = match condition.predicted(&world.within(entry)) {
        Ok(None) => (Kind::Untested, condition.to_string()),
        Ok(Some(interval)) => (Kind::Untested, format!("{condition}: {interval}")),
        Err(fault @ Fault::Dangling { .. }) => (Kind::Dangling, fault.to_string()),
        Err(fault @ Fault::Wrong(_)) => (Kind::Invalid, format!("{condition}: {fault}")),
    };
    remark(entry, kind, format!("prediction '{text}'"), why)
}

/// Cells whose wall is not the expected one. Visits whose wall is not known do not count.
fn walls(world: &World<'_>, entry: &EntryFolder) -> Vec<Remark> {
    let Some(hypothesis) = &entry.entry.hypothesis else { return Vec::new() };
    if !has_data(entry) {
        return Vec::new();
    }
    let scope = world.within(entry);
    let one = |(cell, expected): (&String, &WallId)| {
        let path = Path::new(["cells", cell, "wall"].map(str::to_string).to_vec());
        let about = format!("expected wall {expected} of cell '{cell}'");
        match scope.find(&path) {
            Err(why) => Some(remark(entry, Kind::Dangling, about, format!("{path}: {why}"))),
            Ok(Value::Word(words)) => {
                let others =
                    words.keys().filter(|word| *word != expected.id() && *word != "unknown");
                let others: Vec<&str> = others.map(String::as_str).collect();
                let why = format!("found: {}", others.join(", "));
                (!others.is_empty()).then(|| remark(entry, Kind::OtherWall, about, why))
            }
            Ok(_) => None,
        }
    };
    hypothesis.walls.iter().filter_map(one).collect()
}

/// References in the notes that cannot be filled.
fn references(world: &World<'_>, entry: &EntryFolder) -> Vec<Remark> {
    let notes = match entry.notes() {
        Ok(notes) => notes,
        Err(error) => return vec![remark(entry, Kind::Invalid, "notes.md", error.to_string())],
    };
    let is_open = !has_data(entry) && entry.entry.status != Status::Done;
    let mut remarks = Vec::new();
    for piece in filled(&notes, &world.within(entry)) {
        let Piece::Reference(reference) = piece else { continue };
        let Err(fault) = &reference.filled else { continue };
        let about = format!("notes.md, {{{{{}}}}}", reference.source);
        match fault {
            Fault::Dangling { .. } if is_open => {}
            Fault::Dangling { .. } => {
                remarks.push(remark(entry, Kind::Dangling, about, fault.to_string()));
            }
            Fault::Wrong(why) => {
                let why = format!("{why}; write \\{{{{ for braces that are not a reference");
                remarks.push(remark(entry, Kind::Invalid, about, why));
            }
        }
    }
    remarks
}

/// Entries that are named as those that replace this one or follow it, and are missing.
pub fn successors(entries: &[EntryFolder], entry: &EntryFolder) -> Vec<Remark> {
    let by = match &entry.entry.status {
        Status::Superseded { by } => Some(("superseded_by", by)),
        _ => None,
    };
    let followed = entry.entry.followed_by.iter().map(|by| ("followed_by", by));
    let is_there = |by: &Slug| *by != entry.slug && entries.iter().any(|one| one.slug == *by);
    let missing = by.into_iter().chain(followed).filter(|(_, by)| !is_there(by));
    let why = |by| format!("there is no entry '{by}'; ceiling journal new {by} creates it");
    let one = |(key, by)| remark(entry, Kind::NoSuccessor, format!("{key} '{by}'"), why(by));
    missing.map(one).collect()
}
