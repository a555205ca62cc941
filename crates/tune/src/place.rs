//! Where a value is, and how it is read and written.
//!
//! Values are compared by meaning: the kernel strips zeros, adds them, rounds, and shows choices
//! in brackets. Each place therefore has a *normalised* value, a text that is equal when the
//! meaning is, and knows which bytes say it.

mod file;

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

impl PlaceError {
    /// Why, without the place.
    pub fn why(&self) -> String {
        match self {
            Self::Io { error, .. } => meaning(error),
            Self::Value { why, .. } => why.clone(),
        }
    }
}

fn is_of_the_kernel(path: &str) -> bool {
    let is_below = ["/proc/", "/sys/"].iter().any(|root| path.starts_with(root));
    is_below && !path.split('/').any(|part| part == "..") && !path.contains('\0')
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
    /// Reads it. Nothing when it does not exist on this host.
    pub fn read(&self, host: &Host) -> Result<Option<Seen>, PlaceError> {
        match self {
            Self::File { path, format } => file::read(host, path, format),
        }
    }

    /// Writes a normalised value; what is there now says how wide, or in which form.
    pub fn write(&self, host: &Host, value: &str, now: &Seen) -> Result<(), PlaceError> {
        match self {
            Self::File { path, format } => file::write(host, path, &format.bytes(value, &now.raw)),
        }
    }

    /// What a value reads as once the kernel has taken it.
    pub fn settles_to(&self, value: &str) -> String {
        match self {
            Self::File { format, .. } => format.settles_to(value),
        }
    }

    /// Whether it could be written, without writing it.
    pub fn check_writable(&self, host: &Host) -> Result<(), PlaceError> {
        match self {
            Self::File { path, .. } => file::check_writable(host, path),
        }
    }

    /// Whether it is a place that we would ever have written: what a journal says is not believed
    /// blindly.
    pub(crate) fn check_sound(&self) -> Result<(), String> {
        match self.path() {
            Some(path) if !is_of_the_kernel(path) => {
                Err(format!("'{path}' is no file of the kernel"))
            }
            _ => Ok(()),
        }
    }

    /// The file, when it is one.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::File { path, .. } => Some(path),
        }
    }

    /// Whether it is a file of network devices below `/sys`, which shows those of its mount.
    pub(crate) fn is_in_sys_of_devices(&self) -> bool {
        self.path().is_some_and(|path| path.starts_with("/sys/class/net/"))
    }

    /// As shown to people.
    pub fn show(&self) -> String {
        match self {
            Self::File { path, .. } => path.clone(),
        }
    }
}
