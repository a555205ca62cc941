//! Limits on the size of an archive and of its files.

use crate::name::Names;
use crate::{File, Refused, SUMS};

/// Upper limits. An archive beyond one of them is refused before the bytes beyond it are unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the archive itself.
    pub archive_bytes: u64,
    /// Bytes of the list of sums.
    pub sums_bytes: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes of all files together.
    pub total_bytes: u64,
    /// Files and folders.
    pub files: usize,
    /// By what factor the files may be larger than the archive, when they have more than
    /// [`Limits::ratio_from_bytes`] together.
    pub ratio: u64,
    /// Total size of the files above which [`Limits::ratio`] applies, bytes.
    pub ratio_from_bytes: u64,
}

/// The readings of an experiment of a day are 1 GB and pack to a twentieth of that.
impl Default for Limits {
    fn default() -> Self {
        Self {
            archive_bytes: 1 << 30,
            sums_bytes: 32 << 20,
            file_bytes: 1 << 30,
            total_bytes: 8 << 30,
            files: 100_000,
            ratio: 200,
            ratio_from_bytes: 64 << 20,
        }
    }
}

impl Limits {
    /// Compares the size of an archive with that of its files.
    pub(crate) fn check_archive(&self, archive_bytes: u64, bytes: u64) -> Result<(), Refused> {
        let (most, ratio) = (self.archive_bytes, self.ratio);
        if archive_bytes > most {
            return Err(Refused::LargeArchive { bytes: archive_bytes, most });
        }
        match bytes > self.ratio_from_bytes && bytes > archive_bytes.saturating_mul(ratio) {
            true => Err(Refused::Bomb { bytes, archive_bytes, ratio }),
            false => Ok(()),
        }
    }
}

/// What an archive has so far.
pub(crate) struct Tally<'a> {
    limits: &'a Limits,
    names: Names,
    entries: usize,
    /// Bytes of the files.
    pub(crate) bytes: u64,
    pub(crate) files: Vec<File>,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(limits: &'a Limits) -> Self {
        Self { limits, names: Names::default(), entries: 0, bytes: 0, files: Vec::new() }
    }

    /// Adds a file, before any of its bytes are used.
    pub(crate) fn file(&mut self, path: &str, bytes: u64) -> Result<(), Refused> {
        self.entry()?;
        self.names.add(path).map_err(|fault| Refused::name(path, fault))?;
        let most = if path == SUMS { self.limits.sums_bytes } else { self.limits.file_bytes };
        if bytes > most {
            return Err(Refused::LargeFile { path: path.to_string(), bytes, most });
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.files.push(File { path: path.to_string(), bytes });
        let (bytes, most) = (self.bytes, self.limits.total_bytes);
        if bytes > most { Err(Refused::Large { bytes, most }) } else { Ok(()) }
    }

    /// Counts a file or a folder.
    pub(crate) fn entry(&mut self) -> Result<(), Refused> {
        self.entries += 1;
        match self.entries > self.limits.files {
            true => Err(Refused::ManyFiles { most: self.limits.files }),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_beyond_the_ratio_is_too_much() {
        let limits = Limits { ratio: 200, ratio_from_bytes: 100, ..Limits::default() };
        assert!(limits.check_archive(10, 2_000).is_ok());
        let more = limits.check_archive(10, 2_001);
        assert!(matches!(more, Err(Refused::Bomb { bytes: 2_001, .. })), "{more:?}");
    }
}
