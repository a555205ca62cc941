//! Files of a journal: read whole up to a size, never outside the journal, and replaced whole.

use crate::{JournalError, io_error, wrong};
use flate2::read::GzDecoder;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Most bytes of a file.
#[derive(Debug, Clone, Copy)]
pub struct Most(pub u64);

/// `entry.toml`, `journal.toml` and `plan.toml`.
pub const TOML: Most = Most(256 << 10);
/// `notes.md`.
pub const NOTES: Most = Most(1 << 20);
/// `experiment.json`, and audits.
pub const DOCUMENT: Most = Most(32 << 20);
/// The records of all visits of a result, which are read together.
pub const RECORDS: Most = Most(64 << 20);

/// A run's record, and its readings.
pub const RUN: Most = Most(1 << 30);

/// Most folders in one folder.
const FOLDERS_MAX: usize = 10_000;

/// The real path, if it is in the journal: a link that leads out of the journal is refused.
pub fn inside(root: &Path, path: &Path) -> Result<PathBuf, JournalError> {
    let place = fs::canonicalize(path).map_err(io_error(path))?;
    match place.starts_with(root) {
        true => Ok(place),
        false => Err(wrong(path, "it is a link that leads out of the journal; put a copy there")),
    }
}

/// The text of a file; nothing when there is no such file.
pub fn text(root: &Path, path: &Path, most: Most) -> Result<Option<String>, JournalError> {
    let bytes = bytes(root, path, most)?;
    let text =
        bytes.map(|bytes| String::from_utf8(bytes).map_err(|_| wrong(path, "it is not UTF-8")));
    text.transpose()
}

/// The bytes of a file; nothing when there is no such file.
pub fn bytes(root: &Path, path: &Path, most: Most) -> Result<Option<Vec<u8>>, JournalError> {
    let Some(place) = checked(root, path, most)? else { return Ok(None) };
    let mut bytes = Vec::new();
    let file = File::open(&place).map_err(io_error(path))?;
    file.take(most.0).read_to_end(&mut bytes).map_err(io_error(path))?;
    Ok(Some(bytes))
}

/// The bytes of a document, or what `NAME.gz` in its place expands to; nothing when there is
/// neither.
pub fn document(root: &Path, path: &Path) -> Result<Option<Vec<u8>>, JournalError> {
    if let Some(bytes) = bytes(root, path, DOCUMENT)? {
        return Ok(Some(bytes));
    }
    let packed = path.with_added_extension("gz");
    let Some(bytes) = bytes(root, &packed, DOCUMENT)? else { return Ok(None) };
    let mut all = Vec::new();
    GzDecoder::new(&bytes[..])
        .take(DOCUMENT.0 + 1)
        .read_to_end(&mut all)
        .map_err(|error| wrong(&packed, error))?;
    match all.len() as u64 > DOCUMENT.0 {
        true => Err(wrong(&packed, format!("it expands to more than {} bytes", DOCUMENT.0))),
        false => Ok(Some(all)),
    }
}

/// The real path of a file in the journal, within a size; nothing when there is no such file.
pub fn checked(root: &Path, path: &Path, most: Most) -> Result<Option<PathBuf>, JournalError> {
    if fs::symlink_metadata(path).is_err() {
        return Ok(None);
    }
    let place = inside(root, path)?;
    let data = fs::metadata(&place).map_err(io_error(path))?;
    // Reading a pipe might never end.
    if !data.is_file() {
        return Err(wrong(path, "it is not a file"));
    }
    match data.len() > most.0 {
        true => Err(wrong(path, format!("it has more than {} bytes", most.0))),
        false => Ok(Some(place)),
    }
}

/// Names of the folders in a folder, sorted; none when there is no such folder. Hidden folders are
/// left out.
pub fn folders(root: &Path, path: &Path) -> Result<Vec<String>, JournalError> {
    names(root, path, |place| place.is_dir())
}

/// Names of the files in a folder, likewise.
pub fn files(root: &Path, path: &Path) -> Result<Vec<String>, JournalError> {
    names(root, path, |place| place.is_file())
}

fn names(
    root: &Path,
    path: &Path,
    is_one: impl Fn(&Path) -> bool,
) -> Result<Vec<String>, JournalError> {
    if fs::symlink_metadata(path).is_err() {
        return Ok(Vec::new());
    }
    let place = inside(root, path)?;
    let mut names = Vec::new();
    for entry in fs::read_dir(&place).map_err(io_error(path))? {
        let entry = entry.map_err(io_error(path))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if !name.starts_with('.') && is_one(&entry.path()) {
            names.push(name);
        }
        if names.len() > FOLDERS_MAX {
            return Err(wrong(path, format!("it has more than {FOLDERS_MAX} entries")));
        }
    }
    names.sort();
    Ok(names)
}

/// Replaces a file atomically; on an error the old file stays.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), JournalError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let draft = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
    let made = OpenOptions::new().write(true).create_new(true).open(&draft);
    let written = made.and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
    written.and_then(|()| fs::rename(&draft, path)).map_err(|error| {
        let _ = fs::remove_file(&draft);
        io_error(path)(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    #[test]
    fn a_document_is_read_as_it_is_or_from_its_compressed_form() {
        let root = std::env::temp_dir().join(format!("journal-files-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let root = fs::canonicalize(&root).unwrap();
        let path = root.join("experiment.json");
        assert_eq!(document(&root, &path).unwrap(), None);
        let pack = |bytes: &[u8]| {
            let mut to = GzEncoder::new(Vec::new(), Compression::fast());
            to.write_all(bytes).unwrap();
            fs::write(root.join("experiment.json.gz"), to.finish().unwrap()).unwrap();
        };
        pack(b"{}");
        assert_eq!(document(&root, &path).unwrap(), Some(b"{}".to_vec()));
        pack(&vec![b' '; DOCUMENT.0 as usize + 1]);
        let why = document(&root, &path).unwrap_err().to_string();
        assert!(why.contains("it expands to more than"), "{why}");
        fs::write(&path, "[]").unwrap();
        assert_eq!(document(&root, &path).unwrap(), Some(b"[]".to_vec()));
        fs::remove_dir_all(&root).unwrap();
    }
}
