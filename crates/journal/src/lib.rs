//! The journal: a folder of entries, each about one experiment.
//!
//! What this room is for: reading entries with their results, and checking whether their findings
//! still hold.
//! In: the folder of a journal. Out: entries, results, and what is wrong with them.
//! Never: a measurement, a page, the network, a file outside of the journal.

mod about;
mod contents;
mod data;
mod date;
mod entry;
mod files;
mod folder;
mod run_archive;
mod skeleton;
mod slug;
mod text;

pub mod figures;
pub mod fuzzing;
pub mod language;

pub mod check;
mod remade;
mod world;

#[cfg(test)]
mod fixture;

pub use about::About;
pub use contents::{Content, Contents};
pub use data::{KeptRuns, ResultData, StoredRun};
pub use date::Date;
pub use entry::{Entry, Finding, Hypothesis, Prediction, Status};
pub use folder::{EntryFolder, Journal, Listing};
pub use remade::{Line, Outcome, Remade, remade};
pub use skeleton::Skeleton;
pub use slug::Slug;
pub use world::{ReadResult, Scope, World};

use std::io;
use std::path::{Path, PathBuf};

/// Schema of `entry.toml`.
pub const SCHEMA: &str = "ceiling.entry/1";

/// Why a journal or an entry could not be read or written. The text says what is wrong, what is
/// accepted, and gives an example.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A system call failed.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// The content of a file is not valid.
    #[error("{}: {why}", path.display())]
    Wrong {
        /// Which file or folder.
        path: PathBuf,
        /// What is wrong, what is accepted, an example.
        why: String,
    },
}

fn io_error(path: &Path) -> impl Fn(io::Error) -> JournalError {
    let path = path.to_path_buf();
    move |error| JournalError::Io { path: path.clone(), error }
}

fn wrong(path: &Path, why: impl ToString) -> JournalError {
    JournalError::Wrong { path: path.to_path_buf(), why: why.to_string() }
}
