//! The folders of a journal and of its entries.

use crate::about::About;
use crate::entry::Entry;
use crate::files::{self, NOTES, TOML, folders};
use crate::skeleton::Skeleton;
use crate::slug::Slug;
use crate::{JournalError, io_error, wrong};
use model::order::OrderBy as _;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The file with title and description of a journal.
const ABOUT: &str = "journal.toml";
/// The files of an entry.
const ENTRY: &str = "entry.toml";
const PLAN: &str = "plan.toml";
const NOTES_FILE: &str = "notes.md";

/// The folder of a journal.
#[derive(Debug, Clone)]
pub struct Journal {
    path: PathBuf,
    /// Its real path.
    root: PathBuf,
}

/// The folder of an entry, with the content of its `entry.toml`.
#[derive(Debug, Clone)]
pub struct EntryFolder {
    /// Its name.
    pub slug: Slug,
    /// Where it is.
    pub path: PathBuf,
    /// Its content.
    pub entry: Entry,
    root: PathBuf,
}

/// All entries of a journal.
#[derive(Debug, Default)]
pub struct Listing {
    /// Entries that can be read, by date and name; those that follow another one are behind it.
    pub entries: Vec<EntryFolder>,
    /// Why the others cannot be read.
    pub broken: Vec<JournalError>,
}

impl Journal {
    /// The journal in a folder.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let root = fs::canonicalize(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => wrong(
                path,
                "there is no journal; ceiling journal new SLUG creates one, and --journal FOLDER \
                 says where it is",
            ),
            _ => io_error(path)(error),
        })?;
        if !root.is_dir() {
            return Err(wrong(path, "it is not a folder; give the folder of a journal"));
        }
        Ok(Self { path: path.to_path_buf(), root })
    }

    /// The journal in a folder; a missing folder is created, with a `journal.toml`.
    pub fn open_or_make(path: &Path) -> Result<Self, JournalError> {
        fs::create_dir_all(path).map_err(io_error(path))?;
        let journal = Self::open(path)?;
        let about = path.join(ABOUT);
        if fs::symlink_metadata(&about).is_err() {
            files::replace(&about, Skeleton::about().as_bytes())?;
        }
        Ok(journal)
    }

    /// Its path, as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its title and description.
    pub fn about(&self) -> Result<About, JournalError> {
        let path = self.path.join(ABOUT);
        let text = files::text(&self.root, &path, TOML)?;
        let text = text.ok_or_else(|| {
            wrong(&path, "there is no such file; for example with title = \"Our journal\"")
        })?;
        About::parse(&text).map_err(|why| wrong(&path, why))
    }

    /// All entries: folders with an `entry.toml`.
    pub fn entries(&self) -> Result<Listing, JournalError> {
        let mut listing = Listing::default();
        for name in folders(&self.root, &self.path)? {
            let path = self.path.join(&name);
            if fs::symlink_metadata(path.join(ENTRY)).is_err() {
                continue;
            }
            let slug = Slug::parse(&name).map_err(|why| wrong(&path, why));
            match slug.and_then(|slug| self.entry(&slug)) {
                Ok(entry) => listing.entries.push(entry),
                Err(why) => listing.broken.push(why),
            }
        }
        let place = |one: &EntryFolder| (one.entry.date, one.slug.clone());
        listing.entries.order_by_key(place);
        listing.entries = with_followers(listing.entries);
        Ok(listing)
    }

    /// One entry.
    pub fn entry(&self, slug: &Slug) -> Result<EntryFolder, JournalError> {
        let path = self.path.join(slug.as_str());
        let file = path.join(ENTRY);
        let text = files::text(&self.root, &file, TOML)?.ok_or_else(|| {
            wrong(&path, format!("there is no entry; ceiling journal new {slug} creates it"))
        })?;
        let entry = Entry::parse(&text).map_err(|why| wrong(&file, why))?;
        Ok(EntryFolder { slug: slug.clone(), path, entry, root: self.root.clone() })
    }

    /// Creates an entry. An existing entry is an error and is left unchanged.
    pub fn create(&self, slug: &Slug, skeleton: &Skeleton) -> Result<EntryFolder, JournalError> {
        let path = self.path.join(slug.as_str());
        // Under a hidden name until it is complete.
        let draft = self.path.join(format!(".{slug}.{}.part", std::process::id()));
        if fs::symlink_metadata(&path).is_ok() {
            let why = "it exists already and is left unchanged; give another name";
            return Err(wrong(&path, why));
        }
        let made = fs::create_dir(&draft).and_then(|()| {
            fs::write(draft.join(ENTRY), skeleton.entry())?;
            if let Some(plan) = skeleton.plan() {
                fs::write(draft.join(PLAN), plan)?;
            }
            fs::write(draft.join(NOTES_FILE), skeleton.notes())?;
            // Fails when another process has created one in the meantime.
            fs::rename(&draft, &path)
        });
        made.map_err(|error| {
            let _ = fs::remove_dir_all(&draft);
            io_error(&path)(error)
        })?;
        self.entry(slug)
    }
}

impl EntryFolder {
    /// The text of the plan; nothing for an entry without a plan.
    pub fn plan(&self) -> Result<Option<String>, JournalError> {
        files::text(&self.root, &self.path.join(PLAN), TOML)
    }

    /// The text of the notes; empty when there are none.
    pub fn notes(&self) -> Result<String, JournalError> {
        let text = files::text(&self.root, &self.path.join(NOTES_FILE), NOTES)?;
        Ok(text.unwrap_or_default())
    }

    /// Names of its results, the oldest first.
    pub fn results(&self) -> Result<Vec<String>, JournalError> {
        folders(&self.root, &self.path.join("results"))
    }

    /// The name of the chosen result: the one that the entry names, else the newest. Nothing when
    /// there is none yet.
    pub fn chosen(&self) -> Result<Option<String>, JournalError> {
        let results = self.results()?;
        match &self.entry.result {
            Some(named) if !results.contains(named) => Err(wrong(
                &self.path.join(ENTRY),
                format!(
                    "result '{named}' is not in results/, which has {}",
                    if results.is_empty() { "none".to_string() } else { results.join(", ") }
                ),
            )),
            Some(named) => Ok(Some(named.clone())),
            None => Ok(results.into_iter().next_back()),
        }
    }

    /// The folder of a result.
    pub fn result_path(&self, id: &str) -> PathBuf {
        self.path.join("results").join(id)
    }

    /// Replaces only the word of the status in `entry.toml`.
    pub fn write_status(&self, word: &str) -> Result<(), JournalError> {
        let file = self.path.join(ENTRY);
        let text = files::text(&self.root, &file, TOML)?;
        let text = text.ok_or_else(|| wrong(&file, "it was removed in the meantime"))?;
        let text = with_status(&text, word).map_err(|why| wrong(&file, why))?;
        Entry::parse(&text).map_err(|why| wrong(&file, why))?;
        files::replace(&file, text.as_bytes())
    }

    /// The real path of the journal.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
}

/// The entries in their order, each with those that follow it directly behind it. Entries that
/// follow each other in a circle are last.
fn with_followers(entries: Vec<EntryFolder>) -> Vec<EntryFolder> {
    let followers = |of: &EntryFolder| of.entry.followed_by.clone();
    let all: BTreeSet<Slug> = entries.iter().flat_map(followers).collect();
    let (mut begin, circle): (Vec<Slug>, Vec<Slug>) =
        entries.iter().map(|one| one.slug.clone()).partition(|slug| !all.contains(slug));
    begin.extend(circle);
    let mut left: BTreeMap<Slug, EntryFolder> =
        entries.into_iter().map(|one| (one.slug.clone(), one)).collect();
    let mut ordered = Vec::new();
    // The next one is the last.
    let mut next: Vec<Slug> = begin.into_iter().rev().collect();
    while let Some(slug) = next.pop() {
        let Some(entry) = left.remove(&slug) else { continue };
        next.extend(followers(&entry).into_iter().rev());
        ordered.push(entry);
    }
    ordered
}

/// The text of `entry.toml` with another status.
fn with_status(text: &str, word: &str) -> Result<String, String> {
    #[derive(Deserialize)]
    struct StatusText {
        status: Spanned<String>,
    }
    let read: StatusText = crate::text::parse(text)?;
    let place = read.status.span();
    let (before, behind) = (text.get(..place.start), text.get(place.end..));
    let (before, behind) = before.zip(behind).ok_or("its status cannot be found")?;
    Ok(format!("{before}\"{word}\"{behind}"))
}

#[cfg(test)]
mod tests;
