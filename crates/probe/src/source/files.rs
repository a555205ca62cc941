//! `/proc/PID/fd` and `/proc/PID/limits`: open descriptors against the soft limit.
//!
//! Of a process tree, the process closest to its limit is reported. Since Linux 6.2 the size of the
//! folder is the number of open descriptors (`fs/proc/fd.c`, `proc_fd_getattr`); before, the
//! entries are counted, which for 20 000 of them takes milliseconds, hence the slow cadence.
//!
//! Caveats. The limit is on the highest descriptor number, so a process with gaps reaches it later,
//! never earlier. Before 6.2 only root can count another user's descriptors. Those of the generator
//! include what the probe keeps open: about fifty, and per thread of the server it watches two up
//! to 256 threads, and up to three more files for what the threads do.

use super::{Round, Scope, Source};
use crate::kernel_file::{is_gone, unreadable};
use crate::limits;
use crate::process;
use model::facts::Unreadable;
use model::metric::Declaration;
use model::reading::{Data, OpenFiles};
use model::root::Root;
use model::unit::Unit;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Descriptors and limit of one process.
pub(crate) fn open_files(pid: u32) -> Result<OpenFiles, Unreadable> {
    open_files_on(&Root::default(), pid)
}

fn open_files_on(root: &Root, pid: u32) -> Result<OpenFiles, Unreadable> {
    let open = count(&root.process(pid, "fd"))?;
    let (limit, _) = limits::open_files(root, pid)?;
    Ok(OpenFiles { pid, open, limit })
}

fn count(folder: &Path) -> Result<u64, Unreadable> {
    let size = fs::metadata(folder).map_err(|why| unreadable(folder, why))?.size();
    if size > 0 {
        return Ok(size);
    }
    // An older kernel, or a process with nothing open: either way counting is right.
    let entries = fs::read_dir(folder).map_err(|why| unreadable(folder, why))?;
    Ok(entries.filter(|entry| entry.is_ok()).count() as u64)
}

/// Whether `a` is closer to its limit than `b`.
fn is_closer(a: &OpenFiles, b: &OpenFiles) -> bool {
    u128::from(a.open) * u128::from(b.limit) > u128::from(b.open) * u128::from(a.limit)
}

/// What the figures are.
pub(super) fn client_declared() -> Declaration {
    Declaration::new("client_files", "/proc/self/{fd,limits}")
        .max("open", Unit::Count, "Open descriptors of the process closest to its limit.")
        .max("limit", Unit::Count, "Its limit of open descriptors.")
}

/// What the figures are.
pub(super) fn server_declared() -> Declaration {
    Declaration::new("server_files", "/proc/PID/{fd,limits}")
        .max("open", Unit::Count, "Open descriptors of the process closest to its limit.")
        .max("limit", Unit::Count, "Its limit of open descriptors.")
}

struct ClientFiles {
    pid: u32,
}

struct ServerFiles {
    root: Root,
}

pub(super) fn client(scope: &Scope) -> Option<Box<dyn Source>> {
    let pid = scope.tool_pid.unwrap_or_else(std::process::id);
    scope.has_client().then(|| Box::new(ClientFiles { pid }) as Box<dyn Source>)
}

pub(super) fn server(scope: &Scope) -> Option<Box<dyn Source>> {
    let root = scope.root.clone();
    scope.server().map(|_| Box::new(ServerFiles { root }) as Box<dyn Source>)
}

impl Source for ClientFiles {
    fn read(&mut self, _round: &Round<'_>) -> Result<Data, Unreadable> {
        Ok(Data::ClientFiles(open_files(self.pid)?))
    }
}

impl Source for ServerFiles {
    fn read(&mut self, round: &Round<'_>) -> Result<Data, Unreadable> {
        let tree = round.server()?;
        let mut closest: Option<OpenFiles> = None;
        let mut failed = None;
        for &pid in tree.pids() {
            match open_files_on(&self.root, pid) {
                Ok(files) if closest.is_none_or(|best| is_closer(&files, &best)) => {
                    closest = Some(files);
                }
                Ok(_) => {}
                // A worker that has just ended must not hide the others.
                Err(_) if is_ended(&self.root, pid) => {}
                Err(why) => failed = Some(why),
            }
        }
        // Without one of its processes the closest is not known, so a refusal is reported first.
        let none = || unreadable(&process::path(tree.root(), "fd"), "no process is left");
        match failed {
            Some(why) => Err(why),
            None => closest.map(Data::ServerFiles).ok_or_else(none),
        }
    }
}

fn is_ended(root: &Root, pid: u32) -> bool {
    match fs::read(root.process(pid, "stat")) {
        Ok(bytes) => process::parse_stat(&bytes).is_ok_and(|stat| stat.has_ended()),
        Err(why) => is_gone(&why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn opening_files_is_seen() {
        let pid = std::process::id();
        let hundred: Vec<File> = (0..100).map(|_| File::open("/dev/null").unwrap()).collect();
        let files = open_files(pid).unwrap();
        assert!(files.open >= hundred.len() as u64, "{files:?}");
        assert!(files.limit >= files.open);
    }

    #[test]
    fn closest_is_a_matter_of_shares() {
        let files = |open, limit| OpenFiles { pid: 1, open, limit };
        assert!(is_closer(&files(900, 1000), &files(1000, 20_000)));
        assert!(!is_closer(&files(10, u64::MAX), &files(1, 1000)));
    }
}
