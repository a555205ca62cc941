//! Reads an untrusted archive.
//!
//! At each position only one header is valid: the manifest determines the next file, and its name
//! and size determine the header. Anything else is refused at once, so the reader uses no size,
//! number or name of the archive before comparing it with the limits.

use crate::header::{self, BLOCK, padding_of};
use crate::manifest::hex;
use crate::write::END_BLOCKS;
use crate::{File, Limits, MANIFEST, Manifest, Refused, SIGNATURE, seal};
use sha2::{Digest, Sha256};
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use zstd::stream::read::Decoder;

/// Most bytes of a signature.
const SIGNATURE_BYTES_MAX: u64 = 64 << 10;
/// The largest window of a frame, as a power of two; windows of our archives are smaller.
const WINDOW_LOG_MAX: u32 = 24;
/// Bytes that are passed on at once.
const PIECE: usize = 64 << 10;

/// An archive that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Its contents.
    pub manifest: Manifest,
    /// The manifest as packed: the bytes that were signed.
    pub manifest_bytes: Vec<u8>,
    /// Its signature; none when it is not signed.
    pub signature: Option<String>,
    /// Whether the archive is byte for byte what was sealed.
    pub is_whole: bool,
    /// Files whose bytes do not match the SHA-256 in the manifest.
    pub changed: Vec<String>,
}

/// Reads an archive. `keep` returns the writer for the bytes of a file of the manifest, whose name
/// has been checked and cannot leave its folder.
///
/// # Errors
///
/// The archive is not as [`crate::write`] makes it, is larger than the limits, or a system call
/// failed. Files written before the error must be discarded.
pub fn read<R: Read + Seek, K: Write>(
    mut input: R,
    limits: &Limits,
    mut keep: impl FnMut(&str) -> io::Result<K>,
) -> Result<Opened, Refused> {
    let seal = seal::check(&mut input, limits.archive_bytes)?;
    let mut archive = Archive::open(input.take(seal.before))?;
    let first = archive.header(MANIFEST)?;
    let first = first.ok_or_else(|| Refused::NoManifest(String::new()))?;
    if first.name != MANIFEST {
        return Err(Refused::NoManifest(first.name));
    }
    let manifest_bytes = archive.small(&first, limits.manifest_bytes)?;
    let manifest = Manifest::parse(&manifest_bytes, limits)?;
    manifest.check_archive(seal.before, limits)?;
    let mut next = archive.header(MANIFEST)?;
    let mut signature = None;
    if let Some(found) = next.take_if(|found| found.name == SIGNATURE) {
        let text = String::from_utf8(archive.small(&found, SIGNATURE_BYTES_MAX)?);
        signature = Some(text.map_err(|_| Refused::Header(format!("{SIGNATURE} is not UTF-8")))?);
        next = archive.header(SIGNATURE)?;
    }
    let mut changed = Vec::new();
    for (at, file) in manifest.files.iter().enumerate() {
        let found = next.take().ok_or_else(|| Refused::Missing(file.path.clone()))?;
        is_listed(&manifest.files, at, found)?;
        if archive.file(file, keep(&file.path)?)? != file.sha256 {
            changed.push(file.path.clone());
        }
        next = archive.header(&file.path)?;
    }
    if let Some(found) = next {
        return Err(other_file(&manifest.files, manifest.files.len(), found.name));
    }
    archive.end()?;
    Ok(Opened { manifest, manifest_bytes, signature, is_whole: seal.is_whole, changed })
}

/// Checks that the found file is the one that must come next.
fn is_listed(files: &[File], at: usize, found: Found) -> Result<(), Refused> {
    let file = &files[at];
    if found.name != file.path {
        return Err(other_file(files, at, found.name));
    }
    match found.bytes == file.bytes {
        true => Ok(()),
        false => {
            let (path, listed) = (file.path.clone(), file.bytes);
            Err(Refused::Size { path, found: found.bytes, listed })
        }
    }
}

/// Why a file may not be at the position of file `at` of the manifest.
fn other_file(files: &[File], at: usize, name: String) -> Refused {
    let place = files.iter().position(|file| file.path == name);
    match place {
        _ if [MANIFEST, SIGNATURE].contains(&name.as_str()) => Refused::Twice(name),
        Some(place) if place < at => Refused::Twice(name),
        Some(_) => Refused::Missing(files[at].path.clone()),
        None => Refused::NotListed(name),
    }
}

/// A file as its header describes it.
struct Found {
    name: String,
    bytes: u64,
}

/// The tar in the frame of an archive.
struct Archive<R: Read> {
    frame: Decoder<'static, BufReader<R>>,
}

impl<R: Read> Archive<R> {
    fn open(input: R) -> Result<Self, Refused> {
        let mut frame = Decoder::new(input)?.single_frame();
        frame.window_log_max(WINDOW_LOG_MAX)?;
        Ok(Self { frame })
    }

    /// The next file; none at the end. `after` is the previous file.
    fn header(&mut self, after: &str) -> Result<Option<Found>, Refused> {
        let block = self.block(after)?;
        if block == [0; BLOCK] {
            return Ok(None);
        }
        let (name, bytes) = header::parse(&block)?;
        Ok(Some(Found { name, bytes }))
    }

    /// The bytes of the manifest or the signature.
    fn small(&mut self, found: &Found, most: u64) -> Result<Vec<u8>, Refused> {
        let (path, bytes) = (found.name.clone(), found.bytes);
        if bytes > most {
            return Err(Refused::LargeFile { path, bytes, most });
        }
        let mut kept = Vec::new();
        self.bytes(&path, bytes, |piece| {
            kept.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(kept)
    }

    /// Writes a file of the manifest to `keep` and returns its SHA-256.
    fn file(&mut self, file: &File, mut keep: impl Write) -> Result<String, Refused> {
        let mut hash = Sha256::new();
        self.bytes(&file.path, file.bytes, |piece| {
            hash.update(piece);
            keep.write_all(piece)
        })?;
        keep.flush()?;
        Ok(hex(&hash.finalize()))
    }

    /// Reads this many bytes, and the zeros that fill the last block.
    fn bytes(
        &mut self,
        name: &str,
        bytes: u64,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), Refused> {
        let mut piece = vec![0; PIECE.min(usize::try_from(bytes).unwrap_or(PIECE))];
        let mut left = bytes;
        while left > 0 {
            let now = piece.len().min(usize::try_from(left).unwrap_or(PIECE));
            self.fill(&mut piece[..now], name)?;
            take(&piece[..now])?;
            left -= now as u64;
        }
        let mut zeros = [0; BLOCK];
        let padding = &mut zeros[..padding_of(bytes)];
        self.fill(padding, name)?;
        match padding.iter().all(|byte| *byte == 0) {
            true => Ok(()),
            false => Err(Refused::Padding(name.to_string())),
        }
    }

    fn block(&mut self, inside: &str) -> Result<[u8; BLOCK], Refused> {
        let mut block = [0; BLOCK];
        self.fill(&mut block, inside)?;
        Ok(block)
    }

    fn fill(&mut self, bytes: &mut [u8], inside: &str) -> Result<(), Refused> {
        self.frame.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Refused::CutShort(inside.to_string()),
            _ => Refused::Compression,
        })
    }

    /// Only the end may follow: the other zero blocks, the end of the frame, the seal.
    fn end(mut self) -> Result<(), Refused> {
        for _ in 1..END_BLOCKS {
            if self.block("its end")? != [0; BLOCK] {
                return Err(Refused::Trailing);
            }
        }
        let behind = self.frame.read(&mut [0]);
        if behind.map_err(|_| Refused::Compression)? > 0 {
            return Err(Refused::Trailing);
        }
        match self.frame.finish().fill_buf()?.is_empty() {
            true => Ok(()),
            false => Err(Refused::Trailing),
        }
    }
}
