//! The words that all commands of the journal take.

use clap::Args;
use std::path::PathBuf;

plan::typed! {
    /// The name of an entry.
    result SlugWord(journal::Slug), "the name of an entry: small letters, digits and hyphens",
        "gzip-helps", journal::Slug::parse;
    /// The folder of a journal.
    file Entries(PathBuf), "a directory", "journal";
    /// Keys whose signatures are good.
    text PublicKey(String), "a public key of SSH, or a file with some", "id_ed25519.pub";
    /// A key to sign with.
    file KeyFile(PathBuf), "a key file of SSH", "~/.ssh/id_ed25519";
    /// An archive of an entry.
    file Archive(PathBuf), "an archive of ceiling journal pack", "gzip-helps.tar.zst";
    /// A folder that is made.
    file NewFolder(PathBuf), "a folder that is not there yet", "gzip-helps";
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
