//! One archive of a folder: a tar compressed with zstd, and in it the SHA-256 of each file.
//!
//! What this room is for: making such an archive, with the same bytes for the same files, and
//! reading an untrusted one.
//! In: names and bytes. Out: an archive; or the files of an archive, with its errors.
//! Never: a path of the file system, a journal, an opinion on the content of a file; trust in a
//! name, a size or a number of an archive.
//!
//! All files are below one folder. `SHA256SUMS` in it lists all others, as `sha256sum` writes it.
//! `tar --zstd` and `sha256sum` make and check such archives as well.

mod limits;
mod name;
mod read;
mod refused;
mod sums;
mod write;

pub mod fuzzing;

pub use limits::Limits;
pub use name::NameFault;
pub use read::{Opened, read};
pub use refused::Refused;
pub use write::{Effort, WriteError, Written, check, write};

/// Name of the list of sums in the folder of an archive.
pub const SUMS: &str = "SHA256SUMS";

/// A file of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its name below the folder of the archive, with `/` between folders.
    pub path: String,
    /// Its length.
    pub bytes: u64,
}

/// Total size of files, bytes.
pub fn total_bytes(files: &[File]) -> u64 {
    files.iter().fold(0, |sum, file| sum.saturating_add(file.bytes))
}
