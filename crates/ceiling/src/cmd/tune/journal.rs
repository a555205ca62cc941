//! Which journal, and which transactions in it.

use crate::exit::Failure;
use clap::Args;
use plan::values::JournalFolder;
use std::path::PathBuf;
use tune::Journal;

/// Where changes are written down.
#[derive(Debug, Args)]
pub struct JournalOption {
    /// Folder of the journal; by default /var/lib/ceiling/tune
    #[arg(long, value_name = "DIR", env = "CEILING_TUNE_JOURNAL")]
    journal: Option<JournalFolder>,
}

impl JournalOption {
    /// The journal, if it is one to trust.
    pub fn open(&self) -> Result<Journal, Failure> {
        Ok(Journal::open(&self.folder())?)
    }

    /// Its folder.
    pub fn folder(&self) -> PathBuf {
        let folder =
            self.journal.as_ref().map_or_else(tune::journal_folder, |folder| folder.0.clone());
        // A watchdog starts elsewhere and must find the same folder.
        std::path::absolute(&folder).unwrap_or(folder)
    }

    /// What those must be told who measure, when it is not where they look.
    pub fn hint(&self) -> String {
        let folder = self.folder();
        if folder == tune::journal_folder() {
            return String::new();
        }
        format!("a run looks at it only with CEILING_TUNE_JOURNAL={}\n", folder.display())
    }
}
