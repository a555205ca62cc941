//! Where a value is, and how it is read and written.
//!
//! Values are compared by meaning: the kernel strips zeros, adds them, rounds, and shows choices
//! in brackets. Each place therefore has a *normalised* value, a text that is equal when the
//! meaning is, and knows which bytes say it.

mod file;
mod limits;

pub use file::Format;

use crate::host::Host;
use serde::{Deserialize, Serialize};
use std::io;

/// A place that holds a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Place {
    /// A file of the kernel.
    File {
        /// Absolute path on the host.
        path: String,
        /// What is written in it.
        format: Format,
    },
    /// The limit of open files of a running process: `soft hard`.
    OpenFiles {
        /// The process.
        pid: u32,
        /// When it started, in clock ticks since the boot: tells it from a later one with its pid.
        started_ticks: u64,
    },
}

/// Why a place cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The system refuses.
    #[error("{place}: {}", meaning(.error))]
    Io {
        /// The place, as shown.
        place: String,
        /// The system's reason.
        error: io::Error,
    },
    /// What is there is not what belongs there.
    #[error("{place}: {why}")]
    Value {
        /// The place, as shown.
        place: String,
        /// What is wrong.
        why: String,
    },
}

/// What the errors of these files mean, which their names do not say.
fn meaning(error: &io::Error) -> String {
    let why = match error.raw_os_error() {
        Some(libc::EIO) => "the kernel manages this interrupt itself, nobody can move it",
        Some(libc::EOVERFLOW) => "the mask names CPUs that this kernel cannot have",
        Some(libc::EROFS) => "the file system is read-only, as in a container; use the host",
        Some(libc::EACCES | libc::EPERM) => "not allowed; it takes root of the host",
        Some(libc::ENODEV) => "the device is gone",
        Some(libc::EOPNOTSUPP) => "the driver cannot do this",
        _ => return error.to_string(),
    };
    format!("{why} ({error})")
}

/// A value as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The bytes, as text.
    pub raw: String,
    /// The meaning.
    pub value: String,
}

impl Place {
    /// A file with one integer.
    pub fn number(path: impl Into<String>) -> Self {
        Self::File { path: path.into(), format: Format::Number }
    }

    /// The limit of open files of a process; nothing when it is gone.
    pub fn open_files(host: &Host, pid: u32) -> Option<Self> {
        let started_ticks = limits::started_ticks(host, pid)?;
        Some(Self::OpenFiles { pid, started_ticks })
    }

    /// Reads it. Nothing when it does not exist on this host.
    pub fn read(&self, host: &Host) -> Result<Option<Seen>, PlaceError> {
        match self {
            Self::File { path, format } => file::read(host, path, format),
            Self::OpenFiles { pid, started_ticks } => limits::read(host, *pid, *started_ticks),
        }
    }

    /// Writes a normalised value; what is there now says how wide, or in which form.
    pub fn write(&self, host: &Host, value: &str, now: &Seen) -> Result<(), PlaceError> {
        match self {
            Self::File { path, format } => file::write(host, path, &format.bytes(value, &now.raw)),
            Self::OpenFiles { pid, started_ticks } => {
                limits::write(host, *pid, *started_ticks, value)
            }
        }
    }

    /// What a value reads as once the kernel has taken it.
    pub fn settles_to(&self, value: &str) -> String {
        match self {
            Self::File { format, .. } => format.settles_to(value),
            Self::OpenFiles { .. } => value.to_string(),
        }
    }

    /// As shown to people.
    pub fn show(&self) -> String {
        match self {
            Self::File { path, .. } => path.clone(),
            Self::OpenFiles { pid, .. } => limits::shown(*pid),
        }
    }
}
