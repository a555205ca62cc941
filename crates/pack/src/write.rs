//! Writes an archive.

use crate::header::{self, BLOCK, padding_of};
use crate::manifest::hex;
use crate::seal::Sealing;
use crate::{File, Limits, MANIFEST, Manifest, NameFault, Refused, SIGNATURE};
use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};
use zstd::stream::write::Encoder;

/// Readings shrink to a seventeenth at this level; higher levels take twice the time for 2 %.
const LEVEL: i32 = 9;
/// Zero blocks at the end of a tar.
pub(crate) const END_BLOCKS: usize = 2;
/// Bytes that are read at once.
const PIECE: usize = 64 << 10;

/// Why no archive was written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A file could not be read, or the archive could not be written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Every reader would refuse it.
    #[error("{0}")]
    Refused(#[from] Refused),
    /// A file does not match the manifest.
    #[error("'{0}' changed while it was packed")]
    Changed(String),
}

/// Writes the archive of a manifest. `open` returns the bytes of each file, in the order of the
/// manifest. The same files, manifest and signature give the same bytes.
///
/// # Errors
///
/// A reader would refuse the manifest, a file does not match it, or a system call failed.
pub fn write<W: Write, R: Read>(
    to: W,
    manifest: &Manifest,
    signature: Option<&str>,
    mut open: impl FnMut(&File) -> io::Result<R>,
) -> Result<W, WriteError> {
    let limits = Limits::default();
    manifest.check(&limits)?;
    let listed = manifest.to_bytes();
    let first = [(MANIFEST, Some(&listed[..])), (SIGNATURE, signature.map(str::as_bytes))];
    let first = first.into_iter().filter_map(|(name, bytes)| Some((name, bytes?)));
    let first: Vec<(&str, &[u8])> = first.collect();
    let sizes = first.iter().map(|(_, bytes)| bytes.len() as u64);
    let sizes = sizes.chain(manifest.files.iter().map(|file| file.bytes));
    let total: u64 = sizes.map(|bytes| BLOCK as u64 + bytes.next_multiple_of(BLOCK as u64)).sum();
    let mut frame = encoder(Sealing::new(to), total + (END_BLOCKS * BLOCK) as u64)?;
    for (name, bytes) in first {
        frame.write_all(&header_of(name, bytes.len() as u64)?)?;
        frame.write_all(bytes)?;
        frame.write_all(&[0; BLOCK][..padding_of(bytes.len() as u64)])?;
    }
    for file in &manifest.files {
        frame.write_all(&header_of(&file.path, file.bytes)?)?;
        copy(open(file)?, file, &mut frame)?;
        frame.write_all(&[0; BLOCK][..padding_of(file.bytes)])?;
    }
    frame.write_all(&[0; END_BLOCKS * BLOCK])?;
    let sealing = frame.finish()?;
    manifest.check_archive(sealing.bytes(), &limits)?;
    Ok(sealing.finish()?)
}

/// The frame of an archive whose tar has this many bytes.
pub(crate) fn encoder<W: Write>(to: W, bytes: u64) -> io::Result<Encoder<'static, W>> {
    let mut frame = Encoder::new(to, LEVEL)?;
    frame.include_checksum(true)?;
    frame.set_pledged_src_size(Some(bytes))?;
    Ok(frame)
}

fn header_of(name: &str, bytes: u64) -> Result<[u8; BLOCK], Refused> {
    header::of(name, bytes).ok_or_else(|| Refused::name(name, NameFault::Long))
}

/// Copies a file, and compares it with the manifest.
fn copy(mut from: impl Read, file: &File, to: &mut impl Write) -> Result<(), WriteError> {
    let (mut hash, mut left) = (Sha256::new(), file.bytes);
    let mut piece = vec![0; PIECE];
    let changed = || WriteError::Changed(file.path.clone());
    loop {
        let read = from.read(&mut piece)?;
        if read == 0 {
            break;
        }
        left = left.checked_sub(read as u64).ok_or_else(changed)?;
        hash.update(&piece[..read]);
        to.write_all(&piece[..read])?;
    }
    match left == 0 && hex(&hash.finalize()) == file.sha256 {
        true => Ok(()),
        false => Err(changed()),
    }
}
