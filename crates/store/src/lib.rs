//! The run directory: what a run leaves behind on disk.
//!
//! What this room is for: writing a run so that nothing is lost when the program or the disk ends
//! early, and reading it back.
//! In: points as they come, then the whole run; a directory to read. Out: files; a run.
//! Never: a figure of its own, a screen, the network.
//!
//! Files of a run: `points.ndjson`, one judged point per line, and `readings.ndjson`, one raw
//! reading per line, both appended as they come; `server-readings.ndjson`, the same from a probe on
//! the server's host, with that host's own times, if there was one; `latencies.json`, the whole
//! latency distribution of each point (HdrHistogram V2, deflated, base64); `profiles/`, by point
//! and process, in pprof format, if requested; `run.json`, the record,
//! written last under its final name, so that a directory without it is a run that did not end.

mod read;
mod readings;
mod write;

mod directory;
mod lock;

pub use directory::{Directory, Entry, Limits, NotOne, surplus};
pub use lock::Lock;
pub use read::{latencies_of, logs, read, read_record, readings_of, record_of};
pub use readings::{Readings, ReadingsPart};
pub use write::Writer;

use std::io;
use std::path::{Path, PathBuf};

/// A run holds the requests and the server's name, which are for its owner only.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
const RECORD: &str = "run.json";
const POINTS: &str = "points.ndjson";
const READINGS: &str = "readings.ndjson";
const SERVER_READINGS: &str = "server-readings.ndjson";
const LATENCIES: &str = "latencies.json";

/// The files from which a run is read back, the record last. Profiles are kept beside them.
pub const RUN_FILES: [&str; 5] = [POINTS, READINGS, SERVER_READINGS, LATENCIES, RECORD];

/// Why a run could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A system call failed.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which file or directory.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// The run did not end normally.
    #[error(
        "{} has no {RECORD}: the run did not end; {points} finished points are in {POINTS}",
        path.display()
    )]
    Unfinished {
        /// The directory.
        path: PathBuf,
        /// Points that were written before.
        points: usize,
    },
    /// The file is malformed.
    #[error("{}: {error}", path.display())]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        error: String,
    },
    /// The record was written by another version.
    #[error(
        "{}: unknown schema '{found}'; this version reads '{known}'",
        path.display()
    )]
    Schema {
        /// The record.
        path: PathBuf,
        /// Its schema.
        found: String,
        /// Ours.
        known: &'static str,
    },
}

fn io_error(path: &Path) -> impl Fn(io::Error) -> StoreError {
    let path = path.to_path_buf();
    move |error| StoreError::Io { path: path.clone(), error }
}

fn malformed(path: &Path, error: impl ToString) -> StoreError {
    StoreError::Malformed { path: path.to_path_buf(), error: error.to_string() }
}
