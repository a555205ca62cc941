//! One archive of many files, with a manifest and, when a key is given, a signature.
//!
//! What this room is for: making such an archive, the same bytes for the same files, and reading
//! one that another person made.
//! In: names, bytes, keys. Out: an archive; or the files of one, with all that is wrong with it.
//! Never: a path of the file system, a journal, an opinion on what a file says; trust in a name, a
//! size or a number of an archive.
//!
//! An archive is one frame of zstd and a seal. In the frame is a tar: `manifest.json` first, then
//! `manifest.json.sig` if it is signed, then the files of the manifest in its order. All headers of
//! the tar are made of name and size alone, so a reader makes each header again and refuses what is
//! not the same. The seal is a skippable frame of zstd with the SHA-256 of all bytes before it;
//! `tar --zstd -x` reads such a file as any other.

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

/// The manifest, as the archive has it.
pub const MANIFEST: &str = "manifest.json";
/// The signature of the manifest, as the archive has it.
pub const SIGNATURE: &str = "manifest.json.sig";
