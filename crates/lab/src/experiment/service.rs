//! A service that a server needs, such as a database: started for the first cell that needs it, on
//! the CPUs of its server, and ended after the last cell of all.

use super::process::{How, Process, log_file, unnamed_log};
use super::{Places, Progress};
use model::starting::Limits;
use plan::Targets;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

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
    /// Those that were made here: only these are removed.
    folders: Vec<PathBuf>,
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
        let folder = make_folder(name)?;
        self.folders.push(folder.clone());
        if target.run.iter().any(|word| word.contains("{dir}")) && is_in_memory(&folder) {
            return Err(format!(
                "service {name}: {} is in memory, where a flush to disk costs nothing; for example \
                 TMPDIR=/srv/tmp",
                folder.display()
            ));
        }
        let (log, open_files) = match self.owner {
            Owner::Client { open_files } => (unnamed_log()?, open_files),
            Owner::Experiment => {
                (log_file(&self.places.scratch.join(format!("{name}.log")))?, None)
            }
        };
        let (folder, env) = (folder.to_string_lossy(), BTreeMap::new());
        let limits = &Limits::default();
        let journal = &self.places.journal;
        let (args, folder) = (&[], &folder[..]);
        let how = How { args, env: &env, cpus, limits, journal, open_files, folder, stop };
        Process::start(target, &how, &self.places.root, log)
    }
}

/// Not below the directory of runs: the path of a unix socket is short, and a database that runs as
/// another user must be able to enter. `/var/tmp` survives a restart and so is on a disk. An
/// existing one may belong to another user, or to a process of another container with our number.
fn make_folder(name: &str) -> Result<PathBuf, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let parent = env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("ceiling-{}-{count}-{name}", std::process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("cannot make {}: {error}", folder.display())),
        }
    }
}

impl Drop for Services {
    /// Ends them in order, so that data folders are left as they should be.
    fn drop(&mut self) {
        for process in std::mem::take(&mut self.started).into_values().flatten() {
            let _ = process.end();
        }
        for folder in &self.folders {
            let _ = fs::remove_dir_all(folder);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_there_already_is_another_one() {
        let number = |folder: &Path| -> u32 {
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            name.split('-').nth(2).unwrap().parse().unwrap()
        };
        let name = "of-a-test";
        let first = make_folder(name).unwrap();
        // Other tests may take numbers meanwhile, but not all of these.
        let next = |more: u32| {
            let folder = format!("ceiling-{}-{}-{name}", std::process::id(), number(&first) + more);
            first.with_file_name(folder)
        };
        let left: Vec<PathBuf> = (1..100).map(next).collect();
        left.iter().for_each(|folder| fs::create_dir(folder).unwrap());
        let second = make_folder(name).unwrap();
        let is_new = !left.contains(&second) && second != first;
        left.iter().chain([&first, &second]).for_each(|folder| fs::remove_dir(folder).unwrap());
        assert!(is_new, "{}", second.display());
    }

    #[test]
    fn a_folder_in_memory_differs_from_one_on_a_disk() {
        // The kernel builds /dev from pages of memory, everywhere.
        assert!(is_in_memory(Path::new("/dev")));
        assert!(!is_in_memory(Path::new("/proc")), "neither is a file of the kernel");
        assert!(!is_in_memory(&env::temp_dir().join("no-such-folder-of-ceiling")));
    }
}
