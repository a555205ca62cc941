//! Why an archive is refused.

use crate::NameFault;
use std::io;

/// Most characters of an untrusted name that are shown.
const SHOWN_LETTERS: usize = 80;

/// Why an archive is refused. None of its content may be used.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// A system call failed while the archive was read or its files were written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It has no seal at its end.
    #[error("it does not end like an archive of ceiling: it is cut short, extended, or not one")]
    NoSeal,
    /// The archive itself is too large.
    #[error("the archive has {bytes} bytes; the limit is {most}")]
    LargeArchive {
        /// Its size.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// It is not zstd, is broken zstd, or needs more memory than our archives. The library is built
    /// without its own error messages.
    #[error("it cannot be decompressed: it is not zstd, is damaged, or needs a larger window")]
    Compression,
    /// The tar ends before all files.
    #[error("the archive ends inside {0}")]
    CutShort(String),
    /// There is something after the end.
    #[error("there are bytes after its end")]
    Trailing,
    /// The first file is not the manifest.
    #[error("its first file is '{0}' and not manifest.json")]
    NoManifest(String),
    /// The manifest is not valid.
    #[error("manifest.json: {0}")]
    Manifest(String),
    /// A name is not allowed.
    #[error("the name '{name}' is refused: {fault}")]
    Name {
        /// The name, escaped and cut.
        name: String,
        /// Why.
        fault: NameFault,
    },
    /// It is not a regular file.
    #[error("'{name}' is {kind}; only regular files are read")]
    Kind {
        /// Its name, escaped and cut.
        name: String,
        /// What it is.
        kind: &'static str,
    },
    /// The header of a file cannot be read.
    #[error("the header of a file is wrong: {0}")]
    Header(String),
    /// The header of a file has more than its name and its size.
    #[error(
        "the header of '{0}' is not as ceiling writes it: owner, mode, time, links and devices \
         are fixed"
    )]
    OtherHeader(String),
    /// The bytes between two files are not zero.
    #[error("there are bytes between '{0}' and the next file")]
    Padding(String),
    /// A file is in the archive and not in the manifest.
    #[error("'{0}' is not in the manifest")]
    NotListed(String),
    /// A file is in the manifest and not in the archive.
    #[error("'{0}' is in the manifest and not in the archive")]
    Missing(String),
    /// A file occurs twice.
    #[error("'{0}' occurs twice")]
    Twice(String),
    /// The size of a file differs from the manifest.
    #[error("'{path}' has {found} bytes; the manifest says {listed}")]
    Size {
        /// The file.
        path: String,
        /// Its size in the tar.
        found: u64,
        /// Its size in the manifest.
        listed: u64,
    },
    /// A file is too large.
    #[error("'{path}' has {bytes} bytes; the limit is {most}")]
    LargeFile {
        /// The file.
        path: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// All files together are too large.
    #[error("its files have {bytes} bytes; the limit is {most}")]
    Large {
        /// Their size.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// There are too many files.
    #[error("it has {files} files; the limit is {most}")]
    ManyFiles {
        /// Their number.
        files: usize,
        /// The limit.
        most: usize,
    },
    /// A small archive has very large files.
    #[error(
        "its files have {bytes} bytes and the archive {archive_bytes}: more than {ratio} times as \
         much, like a decompression bomb"
    )]
    Bomb {
        /// Size of all files.
        bytes: u64,
        /// Size of the archive.
        archive_bytes: u64,
        /// The limit.
        ratio: u64,
    },
}

impl Refused {
    pub(crate) fn name(name: &str, fault: NameFault) -> Self {
        Self::Name { name: shown(name.as_bytes()), fault }
    }
}

/// An untrusted name, safe for a terminal.
pub(crate) fn shown(name: &[u8]) -> String {
    let shown: String = String::from_utf8_lossy(name).escape_debug().take(SHOWN_LETTERS).collect();
    // Characters that look like others or change the direction of text are shown by number.
    shown
        .chars()
        .flat_map(|letter| match letter.is_ascii() {
            true => vec![letter],
            false => letter.escape_unicode().collect(),
        })
        .collect()
}
