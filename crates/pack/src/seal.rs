//! The seal: a skippable frame of zstd behind the archive, with the SHA-256 of all bytes before it.
//!
//! It tells a file that was damaged or changed from one that was packed like this, also where the
//! change is in a byte that no decompressor looks at. It is no signature: who changes a file on
//! purpose makes a new seal.

use crate::Refused;
use sha2::{Digest, Sha256};
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Number of a skippable frame, and bytes in it.
const HEAD: [u8; 8] = [0x5c, 0x2a, 0x4d, 0x18, 32, 0, 0, 0];
/// Bytes of a seal.
pub(crate) const BYTES: u64 = 40;

/// The seal of an archive with this SHA-256.
fn seal(sha256: &[u8]) -> Vec<u8> {
    [&HEAD, sha256].concat()
}

/// Writes through, and seals what was written.
pub(crate) struct Sealing<W> {
    to: W,
    hash: Sha256,
    bytes: u64,
}

impl<W: Write> Sealing<W> {
    pub(crate) fn new(to: W) -> Self {
        Self { to, hash: Sha256::new(), bytes: 0 }
    }

    /// Bytes that were written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes the seal; nothing may follow.
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

/// What a seal says of an archive.
pub(crate) struct Seal {
    /// Bytes before it.
    pub before: u64,
    /// Whether they are the bytes that were sealed.
    pub is_whole: bool,
}

/// Reads an archive from beginning to end, and holds it against its seal. The reader is at the
/// beginning afterwards.
pub(crate) fn check<R: Read + Seek>(input: &mut R, most: u64) -> Result<Seal, Refused> {
    let bytes = input.seek(SeekFrom::End(0))?;
    if bytes > most {
        // Before all of it is read.
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
