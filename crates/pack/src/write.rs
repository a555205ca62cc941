//! Writes an archive.

use crate::limits::Tally;
use crate::sums::{self, Summed};
use crate::{File, Limits, NameFault, Refused, SUMS, name};
use std::io::{self, Read, Write};
use tar::{EntryType, Header};
use zstd::stream::write::Encoder;

/// How much time is spent on a small archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// For readings, which shrink to a seventeenth: more takes twice the time for 2 %.
    Quick,
    /// For a few megabytes that stay for good: a tenth smaller.
    Thorough,
}

impl Effort {
    /// The level of zstd.
    fn level(self) -> i32 {
        match self {
            Self::Quick => 9,
            Self::Thorough => 19,
        }
    }
}
/// Bytes of a tar block.
const BLOCK: usize = 512;
/// Zero blocks at the end of a tar.
const END_BLOCKS: usize = 2;

/// Why no archive was written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A file could not be read, or the archive could not be written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Every reader would refuse it.
    #[error("{0}")]
    Refused(#[from] Refused),
    /// A file does not have the bytes that were announced.
    #[error("'{0}' changed while it was packed")]
    Changed(String),
}

/// An archive that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256: 64 lower-case hexadecimal digits.
    pub sha256: String,
}

/// Checks whether a reader would take these files, and returns their size.
///
/// # Errors
///
/// The first name or size that is refused.
pub fn check(files: &[File]) -> Result<u64, Refused> {
    let limits = Limits::default();
    let mut tally = Tally::new(&limits);
    // No file may take the name of the list.
    tally.file(SUMS, 0)?;
    files.iter().try_for_each(|file| tally.file(&file.path, file.bytes))?;
    Ok(tally.bytes)
}

/// Writes the archive of files below a folder. `open` returns the bytes of each file, in their
/// order. The same folder and files give the same bytes.
///
/// # Errors
///
/// A reader would refuse it, a file has other bytes than announced, or a system call failed.
pub fn write<R: Read>(
    to: impl Write,
    folder: &str,
    files: &[File],
    effort: Effort,
    mut open: impl FnMut(&File) -> io::Result<R>,
) -> Result<Written, WriteError> {
    let total_bytes = check(files)?;
    let mut frame = Encoder::new(Summed::new(to), effort.level())?;
    frame.include_checksum(true)?;
    let mut list = String::new();
    for file in files {
        let sum = add(&mut frame, folder, file, open(file)?)?;
        list += &sums::line(&sum, &file.path);
    }
    let sums = File { path: SUMS.to_string(), bytes: list.len() as u64 };
    add(&mut frame, folder, &sums, list.as_bytes())?;
    frame.write_all(&[0; END_BLOCKS * BLOCK])?;
    let mut whole = frame.finish()?;
    whole.flush()?;
    Limits::default().check_archive(whole.bytes, total_bytes)?;
    Ok(Written { bytes: whole.bytes, sha256: whole.sum() })
}

/// Adds a file and returns its sum.
fn add(
    frame: &mut impl Write,
    folder: &str,
    file: &File,
    from: impl Read,
) -> Result<String, WriteError> {
    let name = format!("{folder}/{}", file.path);
    frame.write_all(&header(&name, file.bytes)?)?;
    let mut to = Summed::new(&mut *frame);
    io::copy(&mut from.take(file.bytes.saturating_add(1)), &mut to)?;
    if to.bytes != file.bytes {
        return Err(WriteError::Changed(file.path.clone()));
    }
    let sum = to.sum();
    let padding = file.bytes.next_multiple_of(BLOCK as u64) - file.bytes;
    frame.write_all(&[0; BLOCK][..padding as usize])?;
    Ok(sum)
}

/// A header that depends only on name and size, so that the same files make the same archive.
fn header(name: &str, bytes: u64) -> Result<[u8; BLOCK], Refused> {
    name::check(name).map_err(|fault| Refused::name(name, fault))?;
    let mut header = Header::new_ustar();
    header.set_path(name).map_err(|_| Refused::name(name, NameFault::Long))?;
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(bytes);
    header.set_entry_type(EntryType::Regular);
    header.set_cksum();
    Ok(*header.as_bytes())
}
