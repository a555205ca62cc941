//! A kernel file that stays open between reads.
//!
//! Looking a path up in `/proc` costs more than reading most of its files, so a file is opened once
//! and read again from its start with pread, which makes the kernel produce it anew.

use crate::scan::ParseError;
use model::facts::Unreadable;
use std::cell::RefCell;
use std::fmt::Display;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// No kernel file that we read comes near this; a longer one is refused rather than read on.
const FILE_BYTES_MAX: usize = 64 << 20;

thread_local! {
    /// Space for the reads of a thread: one page at first, which most files fit.
    static SPACE: RefCell<Vec<u8>> = RefCell::new(vec![0; 4096]);
}

/// Reads `file` from its beginning to its end, and returns its length.
fn fill(bytes: &mut Vec<u8>, file: &File, shape: FileLayout) -> io::Result<usize> {
    let mut filled = 0;
    loop {
        if filled == bytes.len() {
            if filled >= FILE_BYTES_MAX {
                return Err(io::Error::other("the file is longer than 64 MiB"));
            }
            bytes.resize(filled * 2, 0);
        }
        match file.read_at(&mut bytes[filled..], filled as u64) {
            Ok(0) => return Ok(filled),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if shape == FileLayout::OnePiece && filled < bytes.len() {
            return Ok(filled);
        }
    }
}

/// How the kernel produces a file (`fs/seq_file.c`, `seq_read_iter`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileLayout {
    /// Produced as a whole (`single_open`), so a short read is the whole file, and a second read to
    /// find its end is not needed.
    OnePiece,
    /// A page of records at a time: a short read is not the end.
    Records,
}

/// A path and, once read, the open file behind it.
#[derive(Debug)]
pub struct KernelFile {
    path: PathBuf,
    file: Option<File>,
    shape: FileLayout,
}

impl KernelFile {
    /// A file that the kernel produces as a whole. It is opened by the first read.
    pub fn one_piece(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), file: None, shape: FileLayout::OnePiece }
    }

    /// A file that the kernel produces record by record. It is opened by the first read.
    pub fn records(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), file: None, shape: FileLayout::Records }
    }

    /// What a function makes of the whole file as it is now. It must not read another one.
    pub fn read<T>(&mut self, made: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(File::open(&self.path)?),
        };
        let result: io::Result<T> = SPACE.with_borrow_mut(|bytes| {
            let length = fill(bytes, file, self.shape)?;
            Ok(made(&bytes[..length]))
        });
        if result.is_err() {
            // The file may belong to something that has ended; the next read opens the path again.
            self.file = None;
        }
        result
    }

    /// Reads and parses, telling which file it was if that fails.
    pub fn parse<T>(
        &mut self,
        parse: impl FnOnce(&[u8]) -> Result<T, ParseError>,
    ) -> Result<T, Unreadable> {
        match self.read(parse) {
            Ok(parsed) => parsed.map_err(|why| self.unreadable(why)),
            Err(why) => Err(self.unreadable(why)),
        }
    }

    /// Reads and parses a file that need not exist: nothing if the thing it belongs to does not, or
    /// no longer.
    pub fn parse_if_there<T>(
        &mut self,
        parse: impl FnOnce(&[u8]) -> Result<T, ParseError>,
    ) -> Result<Option<T>, Unreadable> {
        match self.read(parse) {
            Ok(parsed) => parsed.map(Some).map_err(|why| self.unreadable(why)),
            Err(why) if is_gone(&why) => Ok(None),
            Err(why) => Err(self.unreadable(why)),
        }
    }

    /// Closes the descriptor; the next read opens the file again.
    pub fn close(&mut self) {
        self.file = None;
    }

    /// Why this file could not be read, as a value.
    pub fn unreadable(&self, why: impl Display) -> Unreadable {
        unreadable(&self.path, why)
    }
}

/// Why a file could not be read, as a value.
pub fn unreadable(path: &Path, why: impl Display) -> Unreadable {
    Unreadable { source: path.display().to_string(), why: why.to_string() }
}

/// Whether the error means that the thing does not exist, or no longer: the path is not there, the
/// process has ended (ESRCH), or the control group was removed (ENODEV).
pub fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH | libc::ENODEV))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_longer_than_a_page_is_read_whole_and_again() {
        let path = std::env::temp_dir().join(format!("probe-kept-{}", std::process::id()));
        std::fs::write(&path, vec![b'x'; 10_000]).unwrap();
        let mut kept = KernelFile::records(&path);
        assert_eq!(kept.read(<[u8]>::len).unwrap(), 10_000);
        std::fs::write(&path, b"short").unwrap();
        assert_eq!(kept.read(<[u8]>::to_vec).unwrap(), b"short");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn what_is_not_there_is_gone_and_named() {
        let mut kept = KernelFile::one_piece("/proc/0/stat");
        assert!(is_gone(&kept.read(<[u8]>::len).unwrap_err()));
        let error = kept.parse(|_| Ok(())).unwrap_err();
        assert_eq!(error.source, "/proc/0/stat");
        assert!(error.why.contains("No such file"), "{}", error.why);
    }
}
