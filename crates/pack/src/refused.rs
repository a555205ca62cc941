//! Why an archive is not read.

use crate::NameFault;
use std::io;

/// Letters of a name of another person that are shown.
const SHOWN_LETTERS: usize = 80;

/// Why an archive is not read. Nothing that it says is used.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// A file system said no while an archive was read or its files were kept.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It has no seal at its end.
    #[error("it does not end as an archive of ceiling does: it is cut short, longer, or none")]
    NoSeal,
    /// The archive itself is too large.
    #[error("the archive has {bytes} bytes; {most} are read")]
    LargeArchive {
        /// Its size.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// It is not zstd, broken zstd, or asks for more memory than ours does. The library was built
    /// without its own words for that.
    #[error(
        "it cannot be decompressed: it is not of zstd, was damaged, or asks for a larger window"
    )]
    Compression,
    /// The tar ends before all files were there.
    #[error("the archive ends inside of {0}")]
    CutShort(String),
    /// There is something behind the end.
    #[error("there are bytes behind its end")]
    Trailing,
    /// The first file is another one.
    #[error("its first file is '{0}' and not manifest.json")]
    NoManifest(String),
    /// The manifest is no manifest.
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
    /// It is no regular file.
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
    /// The header of a file says more than its name and its size.
    #[error(
        "the header of '{0}' is not as ceiling writes it: owner, mode, time, links and devices are \
         fixed"
    )]
    OtherHeader(String),
    /// The bytes between two files are not zero.
    #[error("there are bytes between '{0}' and the next file")]
    Padding(String),
    /// A file is there, and not in the manifest.
    #[error("'{0}' is not in the manifest")]
    NotListed(String),
    /// A file is in the manifest, and not there.
    #[error("'{0}' is in the manifest and not in the archive")]
    Missing(String),
    /// A file is there twice.
    #[error("'{0}' is there twice")]
    Twice(String),
    /// The size of a file is another than the manifest says.
    #[error("'{path}' has {found} bytes; the manifest says {listed}")]
    Size {
        /// The file.
        path: String,
        /// Its size in the tar.
        found: u64,
        /// That of the manifest.
        listed: u64,
    },
    /// A file is too large.
    #[error("'{path}' has {bytes} bytes; {most} are read")]
    LargeFile {
        /// The file.
        path: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// All files together are too large.
    #[error("its files have {bytes} bytes; {most} are read")]
    Large {
        /// Their size.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// There are too many files.
    #[error("it has {files} files; {most} are read")]
    ManyFiles {
        /// Their number.
        files: usize,
        /// The limit.
        most: usize,
    },
    /// A small archive has very large files.
    #[error(
        "its files have {bytes} bytes and the archive {archive_bytes}: more than {ratio} times as \
         much, as a decompression bomb has"
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

/// A name of another person, such that it cannot do anything to a terminal.
pub(crate) fn shown(name: &[u8]) -> String {
    let shown: String = String::from_utf8_lossy(name).escape_debug().take(SHOWN_LETTERS).collect();
    // Letters that look like others, or turn the direction, are shown by their numbers.
    shown
        .chars()
        .flat_map(|letter| match letter.is_ascii() {
            true => vec![letter],
            false => letter.escape_unicode().collect(),
        })
        .collect()
}
