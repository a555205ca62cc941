//! Pairs of entries: the same question asked twice, a finding that the other result refutes, and
//! rows of figures that stand in both.

use super::{Kind, Remark, remark};
use crate::entry::Status;
use crate::folder::EntryFolder;
use crate::language::Truth;
use crate::world::World;
use std::collections::BTreeSet;

/// Two tables with this many rows alike were not measured one by one: a row may be repeated to
/// compare with it.
const ROWS_MIN: usize = 3;
/// A row of fewer figures may be alike by chance.
const FIGURES_MIN: usize = 3;

/// Remarks on pairs of entries. A pair is reported at the later entry, when either was selected.
pub fn check(world: &World<'_>, all: &[EntryFolder], asked: &[&EntryFolder]) -> Vec<Remark> {
    let is_asked = |one: &EntryFolder| asked.iter().any(|other| other.slug == one.slug);
    let mut remarks = Vec::new();
    for (at, later) in all.iter().enumerate() {
        for earlier in &all[..at] {
            let is_live = !replaces(earlier, later) && !replaces(later, earlier);
            if !is_live || !(is_asked(later) || is_asked(earlier)) {
                continue;
            }
            remarks.extend(copied(earlier, later));
            if !asks_the_same(earlier, later) {
                continue;
            }
            let about = format!("the question of '{}'", earlier.slug);
            let why = format!(
                "both ask: {}; if one replaces the other, set status = \"superseded\" and \
                 superseded_by",
                one_line(&later.entry.question)
            );
            remarks.push(remark(later, Kind::AskedAgain, about, why));
            remarks.extend(contradicted(world, earlier, later));
            remarks.extend(contradicted(world, later, earlier));
        }
    }
    remarks
}

/// Rows of figures that the notes of two entries have in common. A figure of our own results is a
/// reference, so these are figures that others published.
fn copied(earlier: &EntryFolder, later: &EntryFolder) -> Option<Remark> {
    let (first, second) = (earlier.notes().ok()?, later.notes().ok()?);
    let (first, second): (BTreeSet<_>, BTreeSet<_>) =
        (rows(&first).collect(), rows(&second).collect());
    let shared: Vec<&Vec<&str>> = first.intersection(&second).collect();
    let example = shared.first().filter(|_| shared.len() >= ROWS_MIN)?.join(" | ");
    let why = format!(
        "{} rows of figures are in both, such as {example}; a table that was copied is no second \
         measurement",
        shared.len()
    );
    Some(remark(later, Kind::Copied, format!("a table of '{}'", earlier.slug), why))
}

/// The rows of the tables of a text that have at least [`FIGURES_MIN`] figures, cell by cell.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let in_tables = text.lines().filter_map(|line| line.trim().strip_prefix('|'));
    let rows = in_tables.map(|row| row.trim_end_matches('|').split('|').map(str::trim).collect());
    let is_figure = |cell: &&&str| cell.starts_with(|first: char| first.is_ascii_digit());
    rows.filter(move |row: &Vec<&str>| row.iter().filter(is_figure).count() >= FIGURES_MIN)
}

/// Whether an entry is superseded, by this entry or by any other.
fn replaces(old: &EntryFolder, new: &EntryFolder) -> bool {
    match &old.entry.status {
        Status::Superseded { by } => *by == new.slug || old.slug != new.slug,
        _ => false,
    }
}

/// Whether two entries ask the same: by words, ignoring punctuation and case, or by plan.
fn asks_the_same(one: &EntryFolder, two: &EntryFolder) -> bool {
    let words = |text: &str| {
        let letters =
            text.chars().map(|letter| if letter.is_alphanumeric() { letter } else { ' ' });
        let text: String = letters.collect::<String>().to_lowercase();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    // The question of the skeleton does not count.
    let unwritten = crate::skeleton::QUESTION;
    let (first, second) = (words(&one.entry.question), words(&two.entry.question));
    (first == second && first != words(unwritten)) || has_same_plan(one, two)
}

/// Whether two entries with results have the same plan, apart from its question.
fn has_same_plan(one: &EntryFolder, two: &EntryFolder) -> bool {
    let plan = |entry: &EntryFolder| -> Option<toml::Table> {
        entry.chosen().ok()??;
        let mut plan: toml::Table = entry.plan().ok()??.parse().ok()?;
        plan.remove("question");
        Some(plan)
    };
    plan(one).zip(plan(two)).is_some_and(|(one, two)| one == two)
}

/// Findings that hold by the entry's own result and are false by the result of the other.
fn contradicted(world: &World<'_>, one: &EntryFolder, other: &EntryFolder) -> Vec<Remark> {
    let Ok(Some(result)) = other.chosen() else { return Vec::new() };
    let own = world.within(one);
    let foreign = own.over(other, &result);
    let mut remarks = Vec::new();
    for finding in &one.entry.findings {
        let truth = finding.condition.decide(&own).map(|decision| decision.truth);
        let Ok(there) = finding.condition.decide(&foreign) else { continue };
        if truth == Ok(Truth::True) && there.truth == Truth::False {
            let about = format!("finding '{}'", finding.text);
            let why = format!(
                "it is false by results/{result} of '{}', which asks the same: {}: {}",
                other.slug, finding.condition, there.why
            );
            remarks.push(remark(one, Kind::Contradiction, about, why));
        }
    }
    remarks
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
