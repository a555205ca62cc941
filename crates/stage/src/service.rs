//! A service that a server needs, such as a database: started for the first cell that needs it, on
//! the CPUs of its server, and ended after the last cell of all.

use crate::data_folder::DataFolder;
use crate::hooks::{Places, Progress};
use crate::process::{How, Process, log_file, unnamed_log};
use model::starting::Limits;
use plan::Targets;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Who services run for.
#[derive(Debug, Clone, Copy)]
pub enum Owner {
    /// The experiment of this process, which keeps their logs.
    Experiment,
    /// A client of this probe. They get this soft limit of open files.
    Client {
        /// What this process had before it raised its own.
        open_files: Option<u64>,
    },
}

/// Running services.
pub struct Services {
    places: Places,
    owner: Owner,
    /// Of their data; removed after the last service has ended.
    folders: Vec<DataFolder>,
    /// By name; or why one could not be started, so that it is not tried again for every cell.
    started: BTreeMap<String, Result<Process, String>>,
}

impl Services {
    /// No service yet.
    pub fn new(places: &Places, owner: Owner) -> Self {
        let (folders, started) = (Vec::new(), BTreeMap::new());
        Self { places: places.clone(), owner, folders, started }
    }

    /// The addresses of the named services; those that are not running yet are started. Once `stop`
    /// is set the wait for them ends.
    pub fn need(
        &mut self,
        names: &[String],
        cpus: &str,
        targets: &Targets,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<(String, String)>, String> {
        let mut addresses = Vec::new();
        for name in names {
            if !self.started.contains_key(name) {
                tell(Progress::Starting(name));
                let started = self.start(name, cpus, targets, stop);
                self.started.insert(name.clone(), started);
            }
            if let Some(started) = self.started.get_mut(name) {
                let process = started.as_mut().map_err(|why| why.clone())?;
                process.alive()?;
                addresses.push((name.clone(), process.addr().to_string()));
            }
        }
        Ok(addresses)
    }

    /// Whether those of the named services that were started still run, or how one ended.
    pub fn alive(&mut self, names: &[String]) -> Result<(), String> {
        for name in names {
            if let Some(Ok(process)) = self.started.get_mut(name)
                && let Some(why) = process.death()
            {
                return Err(format!("service {name}: {why}"));
            }
        }
        Ok(())
    }

    fn start(
        &mut self,
        name: &str,
        cpus: &str,
        targets: &Targets,
        stop: &AtomicBool,
    ) -> Result<Process, String> {
        let target = targets.part(name)?;
        let folder = DataFolder::make(name)?;
        let path = folder.path().to_path_buf();
        self.folders.push(folder);
        if target.run.iter().any(|word| word.contains("{dir}")) && is_in_memory(&path) {
            return Err(format!(
                "service {name}: {} is in memory, where a flush to disk costs nothing; for example \
                 TMPDIR=/srv/tmp",
                path.display()
            ));
        }
        let (log, open_files) = match self.owner {
            Owner::Client { open_files } => (unnamed_log()?, open_files),
            Owner::Experiment => {
                (log_file(&self.places.scratch.join(format!("{name}.log")))?, None)
            }
        };
        let (folder, env) = (path.to_string_lossy(), BTreeMap::new());
        let limits = &Limits::default();
        let journal = &self.places.journal;
        let (args, folder) = (&[], &folder[..]);
        let how = How { args, env: &env, cpus, limits, journal, open_files, folder, stop };
        Process::start(target, &how, &self.places.root, log)
    }
}

impl Drop for Services {
    /// Ends them in order, so that data folders are left as they should be.
    fn drop(&mut self) {
        for process in std::mem::take(&mut self.started).into_values().flatten() {
            let _ = process.end();
        }
        self.folders.clear();
    }
}

/// Whether files there never reach a disk (tmpfs or ramfs, statfs(2)). An unknown file system
/// counts as one on a disk.
fn is_in_memory(folder: &Path) -> bool {
    const TMPFS_MAGIC: i64 = 0x0102_1994;
    const RAMFS_MAGIC: i64 = 0x8584_58f6;
    let kind = rustix::fs::statfs(folder).map(|found| found.f_type);
    matches!(kind, Ok(TMPFS_MAGIC | RAMFS_MAGIC))
}

/// A word in which the names of services in braces are replaced by their addresses.
pub fn filled(word: &str, addresses: &[(String, String)]) -> String {
    let mut word = word.to_string();
    for (name, address) in addresses {
        word = word.replace(&format!("{{{name}}}"), address);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_in_memory_differs_from_one_on_a_disk() {
        // The kernel builds /dev from pages of memory, everywhere.
        assert!(is_in_memory(Path::new("/dev")));
        assert!(!is_in_memory(Path::new("/proc")), "neither is a file of the kernel");
        assert!(!is_in_memory(&std::env::temp_dir().join("no-such-folder-of-ceiling")));
    }
}
