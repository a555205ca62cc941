//! Checks whether the statements of a journal still hold.
//!
//! In: its entries with their results. Out: each finding with its truth, and remarks on everything
//! that does not hold, is open, or has changed.

pub(crate) mod again;
mod between;
mod entry;
mod hosts;

pub use entry::{Judged, judged};
use model::order::OrderBy as _;

use crate::entry::Status;
use crate::folder::{EntryFolder, Listing};
use crate::language::Truth;
use crate::remade::Outcome;
use crate::slug::Slug;
use crate::world::World;
use serde::Serialize;

/// The result of checking a journal.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Checked {
    /// The statements of each entry, with their truth.
    pub entries: Vec<EntryChecked>,
    /// Remarks for the reader, the worst first.
    pub remarks: Vec<Remark>,
}

/// The statements of an entry, with their truth.
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
    /// What became of its runs, judged again.
    pub again: Again,
}

/// What was judged again by the rules of this version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Again {
    /// Runs, by verdict, gates and percentiles.
    pub runs: Counts,
    /// Figures of cells, and contrasts.
    pub figures: Counts,
}

/// How many are as they were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// They are the same.
    pub same: usize,
    /// They differ.
    pub differ: usize,
    /// They cannot be made again.
    pub cannot_be: usize,
}

impl Counts {
    fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Same => self.same += 1,
            Outcome::Differs { .. } => self.differ += 1,
            Outcome::CannotBe { .. } => self.cannot_be += 1,
        }
    }

    fn with(self, other: Self) -> Self {
        Self {
            same: self.same + other.same,
            differ: self.differ + other.differ,
            cannot_be: self.cannot_be + other.cannot_be,
        }
    }

    /// All of them.
    pub fn all(&self) -> usize {
        self.same + self.differ + self.cannot_be
    }
}

/// A remark for the reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// The entry; nothing when it cannot be read.
    pub entry: Option<Slug>,
    /// Its kind.
    pub kind: Kind,
    /// What it is about: a finding, a reference, a run.
    pub about: String,
    /// The reason, with figures.
    pub why: String,
}

model::named! {
    /// Kinds of remarks, the worst first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Kind {
        /// A file of an entry is not valid.
        Invalid = "not valid",
        /// The condition of a finding is false now.
        Stale = "no longer holds",
        /// The condition of a finding is neither true nor false.
        Undecided = "undecided",
        /// A path does not lead to a figure.
        Dangling = "leads to nothing",
        /// The entry that replaces or follows another is missing.
        NoSuccessor = "no such entry",
        /// A finding of one entry is false by the result of another entry with the same question.
        Contradiction = "contradicted",
        /// This version finds another wall in a run, or calls its rate known where it was not.
        Rejudged = "judged differently",
        /// A gate has a different result in this version.
        Gates = "gates differ",
        /// A figure that is made again is another one.
        Figures = "figures differ",
        /// Compared results are from different hosts.
        HostsDiffer = "hosts differ",
        /// Another entry has the same question.
        AskedAgain = "asked again",
        /// Another entry has the same rows of figures in its notes.
        Copied = "copied",
        /// The entry is done and has no answer.
        NoAnswer = "no answer",
        /// A run cannot be judged again.
        NotJudged = "not judged again",
        /// A prediction was wrong.
        WrongPrediction = "prediction was wrong",
        /// A prediction is neither right nor wrong.
        OpenPrediction = "prediction is open",
        /// A wall is not the expected one.
        OtherWall = "another wall",
        /// A prediction has no result yet.
        Untested = "not tested yet",
    }
    /// In a few words.
    fn words;
}

/// The weight of a remark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// The input is not valid.
    Invalid,
    /// A statement of the journal does not hold.
    Failed,
    /// A reader should look at it.
    Doubtful,
    /// It is a result, and nothing is wrong.
    Result,
    /// It is still open, as it should be.
    Open,
}

impl Kind {
    /// Its weight.
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
            | Self::Figures
            | Self::HostsDiffer
            | Self::AskedAgain
            | Self::Copied
            | Self::NoAnswer
            | Self::NotJudged => Weight::Doubtful,
            Self::WrongPrediction | Self::OpenPrediction | Self::OtherWall => Weight::Result,
            Self::Untested => Weight::Open,
        }
    }
}

impl Checked {
    /// The heaviest weight of its remarks; nothing without remarks.
    pub fn worst(&self) -> Option<Weight> {
        self.remarks.iter().map(|one| one.kind.weight()).min()
    }

    /// What was judged again, over all entries.
    pub fn again(&self) -> Again {
        self.entries.iter().fold(Again::default(), |sum, one| Again {
            runs: sum.runs.with(one.again.runs),
            figures: sum.figures.with(one.again.figures),
        })
    }

    /// The number of findings that hold, and of all findings.
    pub fn holding(&self) -> (usize, usize) {
        let findings = || self.entries.iter().flat_map(|one| &one.findings);
        let holds = |one: &&Judged| one.truth == Some(Truth::True);
        (findings().filter(holds).count(), findings().count())
    }
}

/// Checks the entries of a journal that `is_asked` selects, also against the other entries.
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
        let (mut stated, remarks) = entry::check(&world, entry);
        checked.remarks.extend(remarks);
        checked.remarks.extend(entry::successors(&listing.entries, entry));
        checked.remarks.extend(unread_audits(entry));
        // The statements of a superseded entry are history.
        if !matches!(entry.entry.status, Status::Superseded { .. }) {
            checked.remarks.extend(hosts::check(&world, entry));
            let (again, remarks) = again::check(entry);
            stated.again = again;
            checked.remarks.extend(remarks);
        }
        checked.entries.push(stated);
    }
    checked.remarks.extend(between::check(&world, &listing.entries, &asked));
    checked.remarks.order_by(|one, two| {
        let place = |remark: &Remark| (remark.kind.weight(), remark.entry.clone(), remark.kind);
        place(one).cmp(&place(two))
    });
    checked
}

/// Audits that cannot be read, including those that no finding or figure uses.
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
