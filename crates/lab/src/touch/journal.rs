//! One file for each change under way: written before the change, removed when it is put back.

use super::{cpu_max, mask, quota, told};
use serde::{Deserialize, Serialize};
use std::env;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// Changes under way in this process.
static UNDER_WAY: AtomicU32 = AtomicU32::new(0);

/// Whether this process has changed a server and has not put it back yet. A signal handler may ask.
pub fn is_under_way() -> bool {
    UNDER_WAY.load(Ordering::SeqCst) > 0
}

/// What was before a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Before {
    /// Processes were in another control group.
    Group(quota::Moved),
    /// A group had another limit of CPU time.
    CpuMax(cpu_max::CpuMax),
    /// Threads were allowed on other CPUs.
    Masks(mask::Masks),
}

impl Before {
    fn put_back(&self) -> Result<(), String> {
        match self {
            Self::Group(moved) => moved.put_back(),
            Self::CpuMax(max) => max.put_back(),
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
    /// Also when that cannot be read: what another run has changed is not ours to put back.
    fn is_owner_alive(&self) -> bool {
        let is_same = |stat: probe::ProcessStat| {
            stat.started_ticks == self.owner_started_ticks && !stat.has_ended()
        };
        probe::process_stat_if_there(self.owner_pid).map_or(true, |stat| stat.is_some_and(is_same))
    }
}

/// Counts a change as long as it lives.
#[derive(Debug)]
struct Counted;

impl Counted {
    fn new() -> Self {
        UNDER_WAY.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        UNDER_WAY.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A change under way. Whoever has it reverts it; a panic does so by dropping it.
#[derive(Debug)]
pub(super) struct Change {
    /// Absent when it has been put back.
    file: Option<PathBuf>,
    pub(super) before: Before,
    _counted: Counted,
}

impl Change {
    /// Writes down what is before a change. Nothing may be changed before this.
    pub(super) fn begin(before: Before) -> Result<Self, String> {
        Self::begin_in(&folders(), before)
    }

    fn begin_in(folders: &[PathBuf], before: Before) -> Result<Self, String> {
        let counted = Counted::new();
        let owner_started_ticks = probe::process_stat(process::id()).map_err(told)?.started_ticks;
        let entry = Entry { owner_pid: process::id(), owner_started_ticks, before };
        let mut why = "there is no folder for it; set XDG_RUNTIME_DIR".to_string();
        for folder in folders {
            match write(folder, &entry) {
                Ok(file) => {
                    let before = entry.before;
                    return Ok(Self { file: Some(file), before, _counted: counted });
                }
                Err(error) => why = format!("{}: {error}", folder.display()),
            }
        }
        Err(format!("nothing was changed, because no journal can be kept: {why}"))
    }

    /// Puts back what was before. When that fails the journal keeps it, and the error says so.
    pub(super) fn revert(mut self) -> Result<(), String> {
        let done = self.put_back();
        // Trying once is enough.
        let file = self.file.take();
        done.map_err(|why| {
            let file = file.map_or_else(String::new, |file| file.display().to_string());
            format!("{why}; the next start of ceiling on this host tries again, from {file}")
        })
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

/// Writes an entry that is whole or not there, in a file of its own: what could not be put back
/// stays in the file it is in.
fn write(folder: &Path, entry: &Entry) -> io::Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    fs::create_dir_all(folder)?;
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let file = folder.join(format!("touched-{}-{number}.json", entry.owner_pid));
        let draft = file.with_extension("draft");
        // A link, unlike a new name, never takes the place of another file.
        let written = write_draft(&draft, entry).and_then(|()| fs::hard_link(&draft, &file));
        let removed = fs::remove_file(&draft);
        match written {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            written => written.and(removed)?,
        }
        File::open(folder)?.sync_all()?;
        return Ok(file);
    }
}

fn write_draft(draft: &Path, entry: &Entry) -> io::Result<()> {
    let mut open = File::create(draft)?;
    open.write_all(&serde_json::to_vec_pretty(entry)?)?;
    open.sync_all()
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
    let (file, before) = (Some(file.to_path_buf()), entry.before);
    let mut change = Change { file, before, _counted: Counted::new() };
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

#[cfg(test)]
mod tests {
    use super::super::testing::Folder;
    use super::*;
    use probe::CpuGroup;

    /// A limit in a made-up group, and an entry about it whose owner is gone.
    fn entry(folder: &Folder) -> Entry {
        folder.write("group/cpu.max", "20000 100000\n");
        let group =
            CpuGroup { version: 2, path: "/group".to_string(), folder: folder.path("group") };
        let before = Before::CpuMax(cpu_max::CpuMax::of_group(&group).unwrap());
        Entry { owner_pid: u32::MAX - 1, owner_started_ticks: 1, before }
    }

    #[test]
    fn each_change_has_a_file_of_its_own() {
        let folder = Folder::new("journal-own");
        let entry = entry(&folder);
        let journal = folder.path("journal");
        let files: Vec<_> = (0..3).map(|_| write(&journal, &entry).unwrap()).collect();
        assert!(files[0] != files[1] && files[1] != files[2]);
        assert_eq!(fs::read_dir(&journal).unwrap().count(), 3, "and no drafts");
        // Files of a process that had our number before us are in the way of the next ones.
        let number = |file: &Path| {
            let name = file.file_stem().unwrap().to_str().unwrap();
            name.rsplit_once('-').unwrap().1.parse::<u32>().unwrap()
        };
        let taken: Vec<PathBuf> = (1..100)
            .map(|ahead| {
                let number = number(&files[2]) + ahead;
                journal.join(format!("touched-{}-{number}.json", entry.owner_pid))
            })
            .collect();
        taken.iter().for_each(|file| fs::write(file, "of another").unwrap());
        let file = write(&journal, &entry).unwrap();
        assert!(!taken.contains(&file), "{}", file.display());
        assert!(taken.iter().all(|file| fs::read(file).unwrap() == b"of another"));
    }

    #[test]
    fn what_cannot_be_put_back_stays_in_the_journal_and_is_told() {
        let folder = Folder::new("journal-stays");
        let entry = entry(&folder);
        let file = write(&folder.path("journal"), &entry).unwrap();
        let max = folder.path("group/cpu.max");
        fs::remove_file(&max).unwrap();
        fs::create_dir(&max).unwrap();
        let told = put_back_file(&file).unwrap();
        assert!(told.contains("cannot be put back") && file.exists(), "{told}");
        fs::remove_dir(&max).unwrap();
        fs::write(&max, "5000 100000").unwrap();
        let told = put_back_file(&file).unwrap();
        assert!(told.contains("put back what") && !file.exists(), "{told}");
        assert_eq!(fs::read_to_string(&max).unwrap(), "20000 100000");
    }

    #[test]
    fn a_change_that_cannot_be_reverted_says_where_it_is_written_down() {
        let folder = Folder::new("journal-revert");
        let journal = folder.path("journal");
        let change = Change::begin_in(std::slice::from_ref(&journal), entry(&folder).before);
        let change = change.unwrap();
        assert!(is_under_way());
        fs::remove_file(folder.path("group/cpu.max")).unwrap();
        fs::create_dir(folder.path("group/cpu.max")).unwrap();
        let why = change.revert().unwrap_err();
        assert!(why.contains("next start of ceiling") && why.contains("touched-"), "{why}");
        assert_eq!(fs::read_dir(&journal).unwrap().count(), 1);
        // Its owner, which is this process, is alive.
        let file = fs::read_dir(&journal).unwrap().next().unwrap().unwrap().path();
        assert_eq!(put_back_file(&file), None);
    }
}
