//! Why a change was not made, or not put back.

use crate::place::PlaceError;
use model::tuning::{Fate, Row};
use std::io;
use std::path::PathBuf;

/// Why nothing was changed, or why not everything is as it should be.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The journal cannot be written or read; nothing is changed without it.
    #[error("the journal of changes: {}: {error}", path.display())]
    Journal {
        /// File or folder.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// The journal cannot be trusted.
    #[error("the journal of changes: {}: {why}", path.display())]
    Unsafe {
        /// File or folder.
        path: PathBuf,
        /// Why it is refused.
        why: String,
    },
    /// An entry is damaged. Its meaning is not guessed.
    #[error(
        "the journal of changes is damaged: {} line {line}: {why}; what this transaction changed \
         is left as it is: see the file, put its values back by hand, and remove it",
        path.display()
    )]
    Corrupt {
        /// File.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// The fault.
        why: String,
    },
    /// Another process is changing values or putting them back right now.
    #[error(
        "another ceiling is changing this host right now (it holds {}); try again",
        path.display()
    )]
    Busy {
        /// The lock.
        path: PathBuf,
    },
    /// There is no such transaction.
    #[error("there is no transaction {transaction}; ceiling tune status lists those that are open")]
    Unknown {
        /// As asked for.
        transaction: String,
    },
    /// Some change cannot be made; this was found before anything was written.
    #[error("nothing was changed: {}", refusals(.rows))]
    Refused {
        /// Every change of the request, with the reason against it.
        rows: Vec<Row>,
    },
    /// Putting back was tried for every change, and an entry of the journal could not be closed or
    /// moved away.
    #[error(
        "{}; an entry of the journal cannot be closed: {error}; ceiling tune revert tries again",
        tried(.rows)
    )]
    EntryStays {
        /// Every change that was to be put back, with what became of it.
        rows: Vec<Row>,
        /// The first failure of the journal.
        error: Box<TuneError>,
    },
    /// It failed on the way, and the earlier changes were put back.
    #[error("{why}; {}", put_back(.left, .moved, .transaction))]
    RolledBack {
        /// The transaction.
        transaction: String,
        /// Every change that was meant, with what became of it.
        rows: Vec<Row>,
        /// What failed.
        why: String,
        /// How many changes could not be put back.
        left: usize,
        /// How many more values are not as they were at the first look, and are in no journal:
        /// another change of the plan, or another program, moved them.
        moved: usize,
    },
    /// Only root may change a host.
    #[error("only root may change this host; nothing was changed: run it with sudo")]
    NotRoot,
    /// The watchdog does not start, or its options are refused.
    #[error("nothing was changed: the watchdog: {why}")]
    Guard {
        /// The reason.
        why: String,
    },
    /// A transaction can no longer be kept.
    #[error("transaction {transaction} cannot be kept: {why}")]
    TooLate {
        /// The transaction.
        transaction: String,
        /// The reason.
        why: String,
    },
    /// A place cannot be read or written, outside of any transaction.
    #[error(transparent)]
    Place(#[from] PlaceError),
}

impl TuneError {
    /// How many values on the host are neither as they were nor as intended; one for a damaged
    /// entry, whose number is not known.
    pub fn left(&self) -> usize {
        match self {
            Self::RolledBack { left, moved, .. } => left + moved,
            Self::EntryStays { rows, .. } => rows.iter().filter(|row| is_left(row)).count(),
            Self::Corrupt { .. } => 1,
            _ => 0,
        }
    }

    /// Whether something on the host is neither as it was nor as intended.
    pub fn leaves_something(&self) -> bool {
        self.left() > 0
    }

    /// Whether the command was wrong, and not the host: nothing was tried.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::NotRoot | Self::Unknown { .. })
    }
}

/// Whether a revert has left a change as it is.
fn is_left(row: &Row) -> bool {
    !matches!(row.fate, Fate::Reverted | Fate::Gone)
}

/// Whether a revert has put everything back, in words.
fn tried(rows: &[Row]) -> String {
    match rows.iter().filter(|row| is_left(row)).count() {
        0 => "everything is as it was before".to_string(),
        left => format!("{left} could not be put back"),
    }
}

/// The first refusal, and how many more there are.
fn refusals(rows: &[Row]) -> String {
    let mut refused = rows.iter().filter(|row| is_trouble(row.fate));
    let Some(first) = refused.next() else { return "it cannot be done".to_string() };
    let more = match refused.count() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    format!("{}: {}{more}", first.place, first.note)
}

fn is_trouble(fate: Fate) -> bool {
    matches!(fate, Fate::Refused | Fate::Failed | Fate::Gone | Fate::Absent)
}

/// Whether the host is as it was, in words.
fn put_back(left: &usize, moved: &usize, transaction: &str) -> String {
    let left = (*left > 0).then(|| {
        format!(
            "{left} could not be put back: ceiling tune revert --transaction {transaction} tries \
             again"
        )
    });
    let moved = (*moved > 0).then(|| {
        format!("{moved} moved meanwhile, and no revert can restore that: set it by hand")
    });
    let words: Vec<String> = left.into_iter().chain(moved).collect();
    match words.is_empty() {
        true => "everything is as it was before".to_string(),
        false => words.join("; "),
    }
}
