//! `ceiling journal build`: builds the journal as a static site.

use super::pages::{Pages, pages};
use super::words::{Place, SiteFolder};
use crate::exit::{Code, Failure};
use crate::screen::{to_stderr, to_stdout};
use clap::Args;
use journal::Journal;
use model::units::show_bytes;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use site::Files;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file that marks a folder as a site of ours, so that it may be replaced.
const MARK: &str = ".ceiling-site";
const MARKED: &str = "ceiling.site/1\nceiling journal build replaces this folder whole.\n";

/// Builds the journal as a static site: an index, a page for each entry, entries by tag, figures
/// over time, and, if journal.toml has a url, a feed. The site needs no network and no scripts.
#[derive(Debug, Args)]
#[command(after_help = "\
The folder is replaced as a whole after all pages are made; a build that fails
leaves it unchanged. Only an empty folder, or a site that this command built, is
replaced.

Exit codes: 0 built, 1 the folder cannot be written, 2 an entry cannot be read.

Examples:
  ceiling journal build
  ceiling journal build -o public --journal experiments/journal")]
pub struct Build {
    /// Folder of the site
    #[arg(short = 'o', long = "out", value_name = "FOLDER", default_value = "site")]
    out: SiteFolder,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    place: Place,
}

pub fn run(command: &Build) -> Result<Code, Failure> {
    let out: &Path = &command.out;
    let place = replaceable(out)?;
    let journal = Journal::open(&command.place.journal)?;
    let pages = pages(&journal)?;
    write(&place, &pages.files)?;
    for complaint in &pages.complaints {
        to_stderr(&format!("ceiling: {complaint}"));
    }
    to_stdout(&summary(command, &pages))?;
    Ok(Code::Good)
}

fn summary(command: &Build, pages: &Pages) -> String {
    let index = command.out.join("index.html");
    let bytes: usize = pages.files.values().map(Vec::len).sum();
    if command.json {
        let document = json!({
            "schema": "ceiling.site/1",
            "index": index,
            "entries": pages.entries,
            "files": pages.files.len(),
            "bytes": bytes,
            "feed": pages.has_feed,
            "complaints": pages.complaints,
        });
        return model::json::pretty(&document);
    }
    let entries = match pages.entries {
        1 => "1 entry".to_string(),
        count => format!("{count} entries"),
    };
    let feed = match pages.has_feed {
        true => "",
        false => "No feed: journal.toml has no url.\n",
    };
    format!(
        "{}: {entries}, {} files, {}\n{feed}",
        index.display(),
        pages.files.len(),
        show_bytes(bytes as f64)
    )
}

/// The canonical path of the folder, if it is a site, empty, or does not exist.
fn replaceable(out: &Path) -> Result<PathBuf, Failure> {
    let refused = |why: String| Failure::Usage(format!("-o {}: {why}", out.display()));
    if fs::symlink_metadata(out).is_err() {
        return match out.file_name() {
            Some(_) => Ok(out.to_path_buf()),
            None => Err(refused("it is not a folder; for example -o site".to_string())),
        };
    }
    // A link stays, and the folder that it points to is replaced.
    let place = fs::canonicalize(out).map_err(|error| refused(error.to_string()))?;
    let mut files = fs::read_dir(&place).map_err(|error| refused(error.to_string()))?;
    let is_site = fs::read(place.join(MARK)).is_ok_and(|mark| mark.starts_with(b"ceiling.site/"));
    match is_site || files.next().is_none() {
        true => Ok(place),
        false => Err(refused(
            "it holds files that ceiling journal build did not make, and is not replaced; give a \
             new folder, for example -o site"
                .to_string(),
        )),
    }
}

/// Writes the site next to its place, then moves it there.
fn write(place: &Path, files: &Files) -> Result<(), Failure> {
    let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let draft = place.with_file_name(format!(".{name}.{}.part", std::process::id()));
    let written = write_draft(&draft, files).and_then(|()| put(&draft, place));
    written.map_err(|error| {
        let _ = fs::remove_dir_all(&draft);
        Failure::File(format!("{}: {error}", place.display()))
    })
}

fn write_draft(draft: &Path, files: &Files) -> io::Result<()> {
    if let Some(parent) = draft.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent)?;
    }
    fs::create_dir(draft)?;
    let mark = (MARK.to_string(), MARKED.as_bytes().to_vec());
    for (path, bytes) in files.iter().chain([(&mark.0, &mark.1)]) {
        let file = draft.join(path);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::File::create(&file)?.write_all(bytes)?;
    }
    Ok(())
}

/// Moves the draft to its place. An old site is exchanged in one step, so that a complete site
/// exists at every moment.
fn put(draft: &Path, place: &Path) -> io::Result<()> {
    if fs::symlink_metadata(place).is_err() {
        return fs::rename(draft, place);
    }
    match renameat_with(CWD, draft, CWD, place, RenameFlags::EXCHANGE) {
        // The draft's path now holds the old site.
        Ok(()) => fs::remove_dir_all(draft),
        Err(_) => {
            // Not every file system supports the exchange.
            let old = draft.with_extension("old");
            fs::rename(place, &old)?;
            fs::rename(draft, place).inspect_err(|_| {
                let _ = fs::rename(&old, place);
            })?;
            fs::remove_dir_all(&old)
        }
    }
}
