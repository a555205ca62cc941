//! The kinds of arguments of the journal commands.

use clap::Args;
use std::path::PathBuf;

plan::typed! {
    /// The name of an entry.
    result SlugWord(journal::Slug), "the name of an entry: lower-case letters, digits and hyphens",
        "gzip-helps", journal::Slug::parse;
    /// The folder of a journal.
    file Entries(PathBuf), "a directory", "journal";
    /// The name of a run in an entry.
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
    /// The folder of a site.
    file SiteFolder(PathBuf), "a directory", "site";
    /// Keys whose signatures are accepted.
    text PublicKey(String), "a public SSH key, or a file with public keys", "id_ed25519.pub";
    /// A key to sign with.
    file KeyFile(PathBuf), "an SSH key file", "~/.ssh/id_ed25519";
    /// An archive of an entry.
    file Archive(PathBuf), "an archive of ceiling journal pack", "gzip-helps.tar.zst";
    /// A folder that is created.
    file NewFolder(PathBuf), "a folder that does not exist yet", "gzip-helps";
    /// A line of text.
    text Line(String), "a text", "'Do compressed responses help?'";
}

impl RunName {
    /// Parses a name. The error says what is accepted, with an example.
    pub fn parse(text: &str) -> Result<String, String> {
        let read: Result<Self, String> = text.parse();
        read.map(|name| name.0).map_err(|why| format!("{why}; for example --name by-hand"))
    }
}

/// The option that names the journal.
#[derive(Debug, Args)]
pub struct Place {
    /// Folder of the journal
    #[arg(long, value_name = "FOLDER", default_value = "journal")]
    pub journal: Entries,
}
