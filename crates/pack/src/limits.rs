//! Limits on the size of an archive and of its files.

/// Upper limits. An archive beyond one of them is refused before its bytes are unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the archive itself.
    pub archive_bytes: u64,
    /// Bytes of the manifest.
    pub manifest_bytes: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes of all files together.
    pub total_bytes: u64,
    /// Files.
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
            manifest_bytes: 32 << 20,
            file_bytes: 1 << 30,
            total_bytes: 8 << 30,
            files: 100_000,
            ratio: 200,
            ratio_from_bytes: 64 << 20,
        }
    }
}
