//! The words that all commands of the journal take.

use clap::Args;
use std::path::PathBuf;

plan::typed! {
    /// The name of an entry.
    result SlugWord(journal::Slug), "the name of an entry: small letters, digits and hyphens",
        "gzip-helps", journal::Slug::parse;
    /// The folder of a journal.
    file Entries(PathBuf), "a directory", "journal";
    /// A line of text.
    text Line(String), "a text", "'Do compressed responses help?'";
}

/// Which journal.
#[derive(Debug, Args)]
pub struct Place {
    /// Folder of the journal
    #[arg(long, value_name = "FOLDER", default_value = "journal")]
    pub journal: Entries,
}
