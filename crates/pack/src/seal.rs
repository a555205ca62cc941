//! The seal: a skippable zstd frame after the archive, with the SHA-256 of all bytes before it.
//!
//! It detects damage and changes, even in bytes that no decompressor reads. It is not a signature:
//! whoever changes a file on purpose can make a new seal.

use crate::Refused;
use sha2::{Digest, Sha256};
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Magic number of a skippable frame, and its length.
const HEAD: [u8; 8] = [0x5c, 0x2a, 0x4d, 0x18, 32, 0, 0, 0];
/// Bytes of a seal.
pub(crate) const BYTES: u64 = 40;

/// The seal of an archive with this SHA-256.
fn seal(sha256: &[u8]) -> Vec<u8> {
    [&HEAD, sha256].concat()
}

/// A writer that seals what passes through it.
pub(crate) struct Sealing<W> {
    to: W,
    hash: Sha256,
    bytes: u64,
}

impl<W: Write> Sealing<W> {
    pub(crate) fn new(to: W) -> Self {
        Self { to, hash: Sha256::new(), bytes: 0 }
    }

    /// Bytes written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes the seal; nothing may be written after it.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.to.write_all(&seal(&self.hash.finalize()))?;
        self.to.flush()?;
        Ok(self.to)
    }
}

impl<W: Write> Write for Sealing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The result of checking the seal of an archive.
pub(crate) struct Seal {
    /// Bytes before it.
    pub before: u64,
    /// Whether they are the bytes that were sealed.
    pub is_whole: bool,
}

/// Reads an archive from start to end and compares it with its seal. The reader is then at the
/// start again.
pub(crate) fn check<R: Read + Seek>(input: &mut R, most: u64) -> Result<Seal, Refused> {
    let bytes = input.seek(SeekFrom::End(0))?;
    if bytes > most {
        // Refused before it is read.
        return Err(Refused::LargeArchive { bytes, most });
    }
    let before = bytes.checked_sub(BYTES).ok_or(Refused::NoSeal)?;
    input.rewind()?;
    let mut hash = Sha256::new();
    io::copy(&mut input.by_ref().take(before), &mut hash)?;
    let mut found = [0; BYTES as usize];
    input.read_exact(&mut found)?;
    if found[..HEAD.len()] != HEAD {
        return Err(Refused::NoSeal);
    }
    input.rewind()?;
    Ok(Seal { before, is_whole: found[..] == seal(&hash.finalize()) })
}
