//! The words that all commands of the journal take.

use clap::Args;
use std::path::PathBuf;

plan::typed! {
    /// The name of an entry.
    result SlugWord(journal::Slug), "the name of an entry: small letters, digits and hyphens",
        "gzip-helps", journal::Slug::parse;
    /// The folder of a journal.
    file Entries(PathBuf), "a directory", "journal";
    /// What a run is called in an entry.
    result RunName(String), "a name of letters, digits, hyphens and _", "by-hand", |text| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_inner = |byte: u8| is_plain(byte) || byte == b'-';
        let ends = text.bytes().next().zip(text.bytes().next_back());
        let fits = text.len() <= 100 && text.bytes().all(is_inner);
        let is_one = fits && ends.is_some_and(|(first, last)| is_plain(first) && is_plain(last));
        is_one.then(|| text.to_string()).ok_or_else(|| {
            format!("'{text}' is not a name of letters, digits, hyphens and _ (at most 100)")
        })
    };
    /// What another tool printed.
    file ToolOutput(PathBuf), "a file", "wrk.txt";
    /// The folder of a site.
    file SiteFolder(PathBuf), "a directory", "site";
    /// A line of text.
    text Line(String), "a text", "'Do compressed responses help?'";
}

impl RunName {
    /// Reads a name. The error says what is accepted, with an example.
    pub fn parse(text: &str) -> Result<String, String> {
        let read: Result<Self, String> = text.parse();
        read.map(|name| name.0).map_err(|why| format!("{why}; for example --name by-hand"))
    }
}

/// Which journal.
#[derive(Debug, Args)]
pub struct Place {
    /// Folder of the journal
    #[arg(long, value_name = "FOLDER", default_value = "journal")]
    pub journal: Entries,
}
