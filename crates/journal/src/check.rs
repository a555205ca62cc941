//! Whether what a journal says still holds.
//!
//! In: its entries with their results. Out: each finding with its truth, and remarks about what
//! does not hold, is open, or has changed.

pub(crate) mod again;
mod between;
mod entry;
mod hosts;

pub use entry::{Judged, judged};

use crate::entry::Status;
use crate::folder::{EntryFolder, Listing};
use crate::language::Truth;
use crate::slug::Slug;
use crate::world::World;
use serde::Serialize;

/// What was found out about a journal.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Checked {
    /// What each entry states, with its truth.
    pub entries: Vec<EntryChecked>,
    /// What a reader should know, the worst first.
    pub remarks: Vec<Remark>,
}

/// What an entry states, with its truth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EntryChecked {
    /// Its name.
    pub slug: Slug,
    /// Its title.
    pub title: String,
    /// Its findings.
    pub findings: Vec<Judged>,
    /// Its predictions.
    pub predictions: Vec<Judged>,
}

/// Something that a reader should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// The entry; nothing for what cannot be read as one.
    pub entry: Option<Slug>,
    /// What kind it is of.
    pub kind: Kind,
    /// What it is about: a finding, a reference, a run.
    pub about: String,
    /// What is so, with figures.
    pub why: String,
}

/// What kind a remark is of, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A file of an entry is not valid.
    Invalid,
    /// The condition of a finding is false now.
    Stale,
    /// The condition of a finding is neither true nor false.
    Undecided,
    /// A path leads to nothing.
    Dangling,
    /// The entry that replaces one is missing.
    NoSuccessor,
    /// A finding of one entry is false by the result of another that asks the same.
    Contradiction,
    /// This version finds another wall in a run, or calls its rate known where it was not.
    Rejudged,
    /// A gate comes out differently in this version.
    Gates,
    /// Results that are compared are of different hosts.
    HostsDiffer,
    /// Another entry asks the same.
    AskedAgain,
    /// It is done and has no answer.
    NoAnswer,
    /// A run cannot be judged again.
    NotJudged,
    /// A prediction was wrong.
    WrongPrediction,
    /// A prediction is neither right nor wrong.
    OpenPrediction,
    /// A wall is another than expected.
    OtherWall,
}

/// How much a remark weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// The input is not valid.
    Invalid,
    /// Something that the journal says does not hold.
    Failed,
    /// A reader should look at it.
    Doubtful,
    /// It is a result, and nothing is wrong.
    Result,
}

impl Kind {
    /// How much it weighs.
    pub fn weight(self) -> Weight {
        match self {
            Self::Invalid => Weight::Invalid,
            Self::Stale
            | Self::Undecided
            | Self::Dangling
            | Self::NoSuccessor
            | Self::Contradiction
            | Self::Rejudged => Weight::Failed,
            Self::Gates
            | Self::HostsDiffer
            | Self::AskedAgain
            | Self::NoAnswer
            | Self::NotJudged => Weight::Doubtful,
            Self::WrongPrediction | Self::OpenPrediction | Self::OtherWall => Weight::Result,
        }
    }

    /// In a few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Invalid => "not valid",
            Self::Stale => "no longer holds",
            Self::Undecided => "undecided",
            Self::Dangling => "leads to nothing",
            Self::NoSuccessor => "successor is missing",
            Self::Contradiction => "contradicted",
            Self::Rejudged => "judged differently",
            Self::Gates => "gates differ",
            Self::HostsDiffer => "hosts differ",
            Self::AskedAgain => "asked again",
            Self::NoAnswer => "no answer",
            Self::NotJudged => "not judged again",
            Self::WrongPrediction => "prediction was wrong",
            Self::OpenPrediction => "prediction is open",
            Self::OtherWall => "another wall",
        }
    }
}

impl Checked {
    /// The heaviest weight of its remarks; nothing without remarks.
    pub fn worst(&self) -> Option<Weight> {
        self.remarks.iter().map(|one| one.kind.weight()).min()
    }

    /// Findings that hold, and all of them.
    pub fn holding(&self) -> (usize, usize) {
        let findings = || self.entries.iter().flat_map(|one| &one.findings);
        let holds = |one: &&Judged| one.truth == Some(Truth::True);
        (findings().filter(holds).count(), findings().count())
    }
}

/// Checks entries of a journal: those that `is_asked`, with what others say of the same.
pub fn check(listing: &Listing, is_asked: impl Fn(&Slug) -> bool) -> Checked {
    let world = World::of(&listing.entries);
    let mut checked = Checked::default();
    for error in &listing.broken {
        let (about, why) = match error {
            crate::JournalError::Wrong { path, why } => (path.display().to_string(), why.clone()),
            error @ crate::JournalError::Io { .. } => (String::new(), error.to_string()),
        };
        checked.remarks.push(Remark { entry: None, kind: Kind::Invalid, about, why });
    }
    let asked: Vec<&EntryFolder> =
        listing.entries.iter().filter(|one| is_asked(&one.slug)).collect();
    for entry in &asked {
        let (stated, remarks) = entry::check(&world, entry);
        checked.entries.push(stated);
        checked.remarks.extend(remarks);
        checked.remarks.extend(entry::successor(&listing.entries, entry));
        checked.remarks.extend(unread_audits(entry));
        // What an entry says that another one replaced is history.
        if !matches!(entry.entry.status, Status::Superseded { .. }) {
            checked.remarks.extend(hosts::check(&world, entry));
            checked.remarks.extend(again::check(entry));
        }
    }
    checked.remarks.extend(between::check(&world, &listing.entries, &asked));
    checked.remarks.sort_by(|one, two| {
        let place = |remark: &Remark| (remark.kind.weight(), remark.entry.clone(), remark.kind);
        place(one).cmp(&place(two))
    });
    checked
}

/// Audits that cannot be read, also those that no finding and no figure needs.
fn unread_audits(entry: &EntryFolder) -> Vec<Remark> {
    let unread = |about: String, error: crate::JournalError| {
        remark(entry, Kind::Invalid, about, error.to_string())
    };
    match entry.foreign() {
        Err(error) => vec![unread("foreign".to_string(), error)],
        Ok(names) => names
            .into_iter()
            .filter_map(|name| entry.audit(&name).err().map(|error| unread(name, error)))
            .collect(),
    }
}

fn remark(entry: &EntryFolder, kind: Kind, about: impl Into<String>, why: String) -> Remark {
    Remark { entry: Some(entry.slug.clone()), kind, about: about.into(), why }
}

#[cfg(test)]
mod tests;
