//! One archive of many files, with a manifest and, if a key is given, a signature.
//!
//! What this room is for: making such an archive, with the same bytes for the same files, and
//! reading an untrusted one.
//! In: names, bytes, keys. Out: an archive; or the files of an archive, with its errors.
//! Never: a path of the file system, a journal, an opinion on the content of a file; trust in a
//! name, a size or a number of an archive.
//!
//! An archive is one zstd frame and a seal. The frame contains a tar: `manifest.json` first, then
//! `manifest.json.sig` if it is signed, then the files of the manifest in its order. All headers of
//! the tar depend only on name and size, so the reader rebuilds each header and refuses one that
//! differs. The seal is a skippable zstd frame with the SHA-256 of all bytes before it; `tar --zstd
//! -x` can read the file.

mod header;
mod limits;
mod manifest;
mod name;
mod read;
mod refused;
mod seal;
mod write;

pub mod fuzzing;
pub mod signature;

pub use limits::Limits;
pub use manifest::{File, Manifest, SCHEMA, digest};
pub use name::{NameFault, Names};
pub use read::{Opened, read};
pub use refused::Refused;
pub use write::{WriteError, write};

/// Name of the manifest in the archive.
pub const MANIFEST: &str = "manifest.json";
/// Name of the signature of the manifest in the archive.
pub const SIGNATURE: &str = "manifest.json.sig";
