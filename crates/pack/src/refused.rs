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
    /// The archive itself is too large.
    #[error("the archive has {bytes} bytes; the limit is {most}")]
    LargeArchive {
        /// Its size.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// It is not a tar compressed with zstd, or ends too early. The library of zstd is built
    /// without its own error messages.
    #[error("it is not a tar compressed with zstd, is cut short, or is damaged ({0})")]
    Damaged(io::Error),
    /// There is something after the end.
    #[error("there are bytes after its end")]
    Trailing,
    /// It has no list of sums.
    #[error(
        "it has no SHA256SUMS in its folder; give an archive of ceiling journal pack, or add the \
         list that sha256sum makes"
    )]
    NoSums,
    /// The list of sums is not valid.
    #[error("SHA256SUMS: {0}")]
    Sums(String),
    /// A name is not allowed.
    #[error("the name '{name}' is refused: {fault}")]
    Name {
        /// The name, escaped and cut.
        name: String,
        /// Why.
        fault: NameFault,
    },
    /// A file is not in the folder of the others.
    #[error("'{0}' is not in the folder of the archive; all files are in one folder")]
    Outside(String),
    /// It is neither a regular file nor a folder.
    #[error(
        "'{name}' is {kind}; only files and folders are read (tar --format=ustar writes nothing \
         else)"
    )]
    Kind {
        /// Its name, escaped and cut.
        name: String,
        /// What it is.
        kind: &'static str,
    },
    /// A file is in the archive and not in the list of sums.
    #[error("SHA256SUMS does not name '{0}'")]
    NotListed(String),
    /// A file is in the list of sums and not in the archive.
    #[error("SHA256SUMS names '{0}', which is not in the archive")]
    Missing(String),
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
    /// There are too many files and folders.
    #[error("it has more than {most} files and folders")]
    ManyFiles {
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
