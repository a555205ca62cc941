//! The option that names the journal.

use crate::exit::Failure;
use clap::Args;
use plan::values::JournalFolder;
use std::path::PathBuf;
use tune::Journal;

/// Where changes are recorded.
#[derive(Debug, Args)]
pub struct JournalOption {
    /// Folder of the journal [default: /var/lib/ceiling/tune]
    #[arg(long, value_name = "DIR", env = "CEILING_TUNE_JOURNAL")]
    journal: Option<JournalFolder>,
}

impl JournalOption {
    /// Opens the journal. Fails if its folder cannot be trusted.
    pub fn open(&self) -> Result<Journal, Failure> {
        Ok(Journal::open(&self.folder())?)
    }

    /// Its folder.
    pub fn folder(&self) -> PathBuf {
        let folder =
            self.journal.as_ref().map_or_else(tune::journal_folder, |folder| folder.0.clone());
        // The watchdog starts in another directory and must find the same folder.
        std::path::absolute(&folder).unwrap_or(folder)
    }

    /// A hint for later runs, if the journal is not in the folder where they look.
    pub fn hint(&self) -> String {
        let folder = self.folder();
        if folder == tune::journal_folder() {
            return String::new();
        }
        format!("runs see this journal only with CEILING_TUNE_JOURNAL={}\n", folder.display())
    }
}
