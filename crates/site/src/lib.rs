//! A journal as a static site.
//!
//! What this room is for: one page for each entry, an index, entries by tag, one figure across
//! entries, a search and a feed, as files that need no network.
//! In: the entries and the data of a journal. Out: paths and bytes; the same journal gives the same
//! bytes.
//! Never: a file or a clock, a judgement of its own, an unescaped string.
//!
//! Each entry is drawn separately ([`Site::draw`]), so that callers can draw entries in parallel
//! and load the readings of one entry at a time; [`Site::finish`] makes the pages about all of
//! them.

mod contents;
mod entry;
mod feed;
mod figures;
mod frame;
mod groups;
mod index;
mod listing;
mod markup;
mod notes;

pub use contents::{Added, Contents, Foreign, Measured};

use figures::Measure;
use frame::Frame;
use journal::{About, Entry, Slug};
use std::collections::BTreeMap;

/// Files by their path from the root of the site. Paths have only letters, digits, `-`, `.`, `_`
/// and `/`.
pub type Files = BTreeMap<String, Vec<u8>>;

/// An entry with its name.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Its name.
    pub slug: Slug,
    /// Its `entry.toml`.
    pub entry: Entry,
}

/// The common parts of the pages of a site.
#[derive(Debug)]
pub struct Site {
    about: About,
    entries: Vec<Listed>,
}

/// The pages of one entry, and the data that the pages about all entries need.
#[derive(Debug)]
pub struct Drawn {
    slug: Slug,
    files: Files,
    words: String,
    /// Time of its last change, for the feed.
    updated: String,
    measures: Vec<Measure>,
}

impl Site {
    /// The site of a journal; entries in their order.
    pub fn new(about: About, entries: Vec<Listed>) -> Self {
        Self { about, entries }
    }

    /// The pages of one entry; nothing when the site has no such entry.
    pub fn draw(&self, slug: &Slug, of: &Contents) -> Option<Drawn> {
        let at = self.entries.iter().position(|one| one.slug == *slug)?;
        Some(entry::draw(self, at, of))
    }

    /// All files. The index also lists entries that were not drawn, which have no page.
    pub fn finish(&self, drawn: Vec<Drawn>) -> Files {
        let mut files = Files::new();
        let frame = |path| Frame { about: &self.about, root: "", path };
        files.insert(frame::INDEX.to_string(), index::page(frame(frame::INDEX), self, &drawn));
        files.insert(frame::GROUPS.to_string(), groups::page(frame(frame::GROUPS), self));
        let measures: Vec<&Measure> = drawn.iter().flat_map(|one| &one.measures).collect();
        let figures = figures::page(frame(frame::FIGURES), &measures);
        files.insert(frame::FIGURES.to_string(), figures);
        if let Some(url) = &self.about.url {
            files.insert(frame::FEED.to_string(), feed::feed(url, self, &drawn).into_bytes());
        }
        for one in drawn {
            files.extend(one.files);
        }
        files
    }
}

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod tests;
