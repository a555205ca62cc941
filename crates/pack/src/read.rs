//! Reads an untrusted archive.
//!
//! Every name, kind and size is compared with the limits before the bytes are unpacked. Headers are
//! read as they are: what changes the next header (long names, pax, sparse files) is refused.

use crate::limits::Tally;
use crate::name::check;
use crate::refused::shown;
use crate::sums::{self, Summed};
use crate::{File, Limits, Refused, SUMS};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use tar::{EntryType, Header};
use zstd::stream::read::Decoder;

/// Zeros that may follow the end of a tar, bytes: `tar` fills its last record.
const ZEROS_MAX: u64 = 1 << 20;
/// Bytes that are passed on at once.
const PIECE: usize = 64 << 10;

/// An archive that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Name of the folder that has all its files.
    pub folder: String,
    /// The files, without the list of sums.
    pub files: Vec<File>,
    /// Files whose bytes do not match their sum.
    pub changed: Vec<String>,
}

/// Reads an archive of this many bytes. `keep` returns the writer for the bytes of a file, by the
/// name of the folder and that of the file; both have been checked and lead nowhere else.
///
/// # Errors
///
/// It is not an archive of one folder with a list of sums, is larger than the limits, or a system
/// call failed. Files written before the error must be discarded.
pub fn read<W: Write>(
    input: impl Read,
    archive_bytes: u64,
    limits: &Limits,
    mut keep: impl FnMut(&str, &str) -> io::Result<W>,
) -> Result<Opened, Refused> {
    limits.check_archive(archive_bytes, 0)?;
    let frame = Decoder::new(input.take(archive_bytes))?.single_frame();
    let mut tar = tar::Archive::new(frame);
    let (mut tally, mut folder) = (Tally::new(limits), None);
    let (mut listed, mut found) = (None, BTreeMap::new());
    for entry in tar.entries().map_err(Refused::Damaged)?.raw(true) {
        let mut entry = entry.map_err(Refused::Damaged)?;
        let Some(place) = place(entry.header(), entry.size(), &mut folder, &mut tally)? else {
            continue;
        };
        limits.check_archive(archive_bytes, tally.bytes)?;
        if place.path == SUMS {
            let mut list = Vec::new();
            copy(&mut entry, &mut list)?;
            listed = Some(sums::parse(&list)?);
        } else {
            let mut kept = Summed::new(keep(&place.folder, &place.path)?);
            copy(&mut entry, &mut kept)?;
            found.insert(place.path, kept.sum());
        }
    }
    end(tar.into_inner())?;
    let listed = listed.ok_or(Refused::NoSums)?;
    let changed = compare(&found, &listed)?;
    tally.files.retain(|file| file.path != SUMS);
    Ok(Opened { folder: folder.unwrap_or_default(), files: tally.files, changed })
}

/// Where a file belongs.
struct Place {
    folder: String,
    /// Below the folder.
    path: String,
}

/// The place of the file of a header; none for a folder.
fn place(
    header: &Header,
    bytes: u64,
    folder: &mut Option<String>,
    tally: &mut Tally,
) -> Result<Option<Place>, Refused> {
    let raw = header.path_bytes();
    let kind = header.entry_type();
    let is_folder = kind.is_dir() && bytes == 0;
    if !kind.is_file() && !is_folder {
        return Err(Refused::Kind { name: shown(&raw), kind: kind_of(kind) });
    }
    // A byte that is not UTF-8 becomes a character that no name may have.
    let name = String::from_utf8_lossy(&raw);
    let name = if is_folder { name.trim_end_matches('/') } else { &name };
    check(name).map_err(|fault| Refused::name(name, fault))?;
    let (top, below) = name.split_once('/').unwrap_or((name, ""));
    let is_inside = folder.get_or_insert_with(|| top.to_string()) == top;
    if !is_inside || (below.is_empty() && !is_folder) {
        return Err(Refused::Outside(name.to_string()));
    }
    if is_folder {
        tally.entry()?;
        return Ok(None);
    }
    tally.file(below, bytes)?;
    Ok(Some(Place { folder: top.to_string(), path: below.to_string() }))
}

fn kind_of(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Link => "a hard link",
        EntryType::Symlink => "a symbolic link",
        EntryType::Char | EntryType::Block => "a device",
        EntryType::Directory => "a folder with bytes of its own",
        EntryType::Fifo => "a pipe",
        EntryType::GNULongName | EntryType::GNULongLink => "a GNU tar long name",
        EntryType::GNUSparse => "a sparse file",
        EntryType::XGlobalHeader | EntryType::XHeader => "a pax header",
        _ => "of an unknown kind",
    }
}

/// Copies all bytes of an entry.
fn copy(entry: &mut tar::Entry<impl Read>, to: &mut impl Write) -> Result<(), Refused> {
    let mut left = entry.size();
    let mut piece = vec![0; PIECE];
    while left > 0 {
        match entry.read(&mut piece).map_err(Refused::Damaged)? {
            0 => return Err(Refused::Damaged(io::ErrorKind::UnexpectedEof.into())),
            read => {
                to.write_all(&piece[..read])?;
                left -= read as u64;
            }
        }
    }
    Ok(to.flush()?)
}

/// Only zeros may follow the tar, and nothing its frame.
fn end(mut frame: Decoder<'_, BufReader<impl Read>>) -> Result<(), Refused> {
    let mut zeros = Vec::new();
    let read = frame.by_ref().take(ZEROS_MAX).read_to_end(&mut zeros);
    let is_end = read.map_err(Refused::Damaged)? < ZEROS_MAX as usize;
    match is_end && zeros.iter().all(|byte| *byte == 0) && frame.finish().fill_buf()?.is_empty() {
        true => Ok(()),
        false => Err(Refused::Trailing),
    }
}

/// The files whose sum is not as listed.
fn compare(
    found: &BTreeMap<String, String>,
    listed: &BTreeMap<String, String>,
) -> Result<Vec<String>, Refused> {
    if let Some(path) = found.keys().find(|path| !listed.contains_key(*path)) {
        return Err(Refused::NotListed(path.clone()));
    }
    if let Some(path) = listed.keys().find(|path| !found.contains_key(*path)) {
        return Err(Refused::Missing(shown(path.as_bytes())));
    }
    let changed = found.iter().filter(|(path, sum)| listed[*path] != **sum);
    Ok(changed.map(|(path, _)| path.clone()).collect())
}
