//! Two entries: the same question asked again, and a finding that is false by the other's result.

use super::{Kind, Remark, remark};
use crate::entry::Status;
use crate::folder::EntryFolder;
use crate::language::Truth;
use crate::world::World;

/// What entries say of each other. Each pair is reported at the later one, when either was asked
/// for.
pub fn check(world: &World<'_>, all: &[EntryFolder], asked: &[&EntryFolder]) -> Vec<Remark> {
    let is_asked = |one: &EntryFolder| asked.iter().any(|other| other.slug == one.slug);
    let mut remarks = Vec::new();
    for (at, later) in all.iter().enumerate() {
        for earlier in &all[..at] {
            let is_live = !replaces(earlier, later) && !replaces(later, earlier);
            if !is_live || !(is_asked(later) || is_asked(earlier)) || !asks_the_same(earlier, later)
            {
                continue;
            }
            let about = format!("the question of '{}'", earlier.slug);
            let why = format!(
                "both ask: {}; when one replaces the other, say status = \"superseded\" and \
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

/// Whether an entry says that another one replaces it, or anything does.
fn replaces(old: &EntryFolder, new: &EntryFolder) -> bool {
    match &old.entry.status {
        Status::Superseded { by } => *by == new.slug || old.slug != new.slug,
        _ => false,
    }
}

/// Whether two entries ask the same: in words but for signs and capitals, or by the same plan.
fn asks_the_same(one: &EntryFolder, two: &EntryFolder) -> bool {
    let words = |text: &str| {
        let letters =
            text.chars().map(|letter| if letter.is_alphanumeric() { letter } else { ' ' });
        let text: String = letters.collect::<String>().to_lowercase();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    // The question of the skeleton is nobody's question.
    let unwritten = crate::skeleton::QUESTION;
    let (first, second) = (words(&one.entry.question), words(&two.entry.question));
    (first == second && first != words(unwritten)) || has_same_plan(one, two)
}

/// Whether two entries that have results have the same plan but for its question.
fn has_same_plan(one: &EntryFolder, two: &EntryFolder) -> bool {
    let plan = |entry: &EntryFolder| -> Option<toml::Table> {
        entry.chosen().ok()??;
        let mut plan: toml::Table = entry.plan().ok()??.parse().ok()?;
        plan.remove("question");
        Some(plan)
    };
    plan(one).zip(plan(two)).is_some_and(|(one, two)| one == two)
}

/// Findings of one entry that hold by its own result, and are false by that of the other.
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
