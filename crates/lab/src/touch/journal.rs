//! One file for each change under way: written before the change, removed when it is put back.

use super::{mask, quota};
use serde::{Deserialize, Serialize};
use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process;

/// What was before a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Before {
    /// Processes were in another control group.
    Group(quota::Moved),
    /// Threads were allowed on other CPUs.
    Masks(mask::Masks),
}

impl Before {
    fn put_back(&self) -> Result<(), String> {
        match self {
            Self::Group(moved) => moved.put_back(),
            Self::Masks(masks) => masks.put_back(),
        }
    }
}

/// An entry, and who made it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    owner_pid: u32,
    /// Start of that process: numbers are used again.
    owner_started_ticks: u64,
    before: Before,
}

impl Entry {
    fn is_owner_alive(&self) -> bool {
        probe::process_stat(self.owner_pid)
            .is_ok_and(|stat| stat.started_ticks == self.owner_started_ticks && !stat.has_ended())
    }
}

/// A change under way. It is put back when this is dropped.
#[derive(Debug)]
pub(super) struct Change {
    /// Absent when it has been put back.
    file: Option<PathBuf>,
    pub(super) before: Before,
}

impl Change {
    /// Writes down what is before a change. Nothing may be changed before this.
    pub(super) fn begin(before: Before) -> Result<Self, String> {
        let owner_started_ticks = probe::process_stat(process::id())
            .map_err(|error| format!("{}: {}", error.source, error.why))?
            .started_ticks;
        let entry = Entry { owner_pid: process::id(), owner_started_ticks, before };
        let mut why = "there is no folder for it; set XDG_RUNTIME_DIR".to_string();
        for folder in folders() {
            match write(&folder, &entry) {
                Ok(file) => return Ok(Self { file: Some(file), before: entry.before }),
                Err(error) => why = format!("{}: {error}", folder.display()),
            }
        }
        Err(format!("nothing was changed, because no journal can be kept: {why}"))
    }

    /// Puts back what was before.
    pub(super) fn revert(mut self) -> Result<(), String> {
        self.put_back()
    }

    fn put_back(&mut self) -> Result<(), String> {
        let Some(file) = &self.file else { return Ok(()) };
        self.before.put_back()?;
        fs::remove_file(file).map_err(|error| format!("{}: {error}", file.display()))?;
        self.file = None;
        Ok(())
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        // What fails here stays in the journal, and the next start tries again and tells.
        let _ = self.put_back();
    }
}

/// Where journals are: folders that a reboot empties, as it undoes all that is changed here.
fn folders() -> Vec<PathBuf> {
    let own = env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty()).map(PathBuf::from);
    own.into_iter().chain([PathBuf::from("/run")]).map(|path| path.join("ceiling")).collect()
}

/// Writes an entry that is whole or not there.
fn write(folder: &Path, entry: &Entry) -> std::io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let file = folder.join(format!("touched-{}.json", entry.owner_pid));
    let draft = file.with_extension("draft");
    let mut open = File::create(&draft)?;
    open.write_all(&serde_json::to_vec_pretty(entry)?)?;
    open.sync_all()?;
    fs::rename(&draft, &file)?;
    File::open(folder)?.sync_all()?;
    Ok(file)
}

/// Puts back what runs that were killed had changed; returns what to tell about it.
pub fn put_back_leftovers() -> Vec<String> {
    let mut told = Vec::new();
    for folder in folders() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("touched-") && name.ends_with(".json") {
                told.extend(put_back_file(&entry.path()));
            }
        }
    }
    told
}

fn put_back_file(file: &Path) -> Option<String> {
    let shown = file.display();
    let read = fs::read(file).map_err(|error| error.to_string());
    let parsed = read.and_then(|bytes| {
        serde_json::from_slice::<Entry>(&bytes).map_err(|error| error.to_string())
    });
    let entry = match parsed {
        Ok(entry) if entry.is_owner_alive() => return None,
        Ok(entry) => entry,
        Err(error) => {
            return Some(format!("a journal of changes cannot be read: {shown}: {error}"));
        }
    };
    let pid = entry.owner_pid;
    let mut change = Change { file: Some(file.to_path_buf()), before: entry.before };
    let done = change.put_back();
    // Trying once is enough; it stays in the journal.
    change.file = None;
    Some(match done {
        Ok(()) => {
            format!("put back what an experiment of process {pid}, which was killed, had changed")
        }
        Err(error) => format!(
            "process {pid} was killed in an experiment, and what it changed cannot be put back: \
             {error}; see {shown}"
        ),
    })
}
