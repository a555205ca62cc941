//! What `/proc/PID` says about a process: its `stat` line, command, CPUs and limits.

use crate::kernel_file::{is_gone, unreadable};
use crate::scan::{self, ParseError};
use model::facts::Unreadable;
use model::root::Root;
use model::secret;
use std::io;
use std::path::{Path, PathBuf};

/// The fields of a `stat` line, of a process or of a thread, that are used here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// Process or thread.
    pub id: u32,
    /// Name: up to 15 bytes of anything, blanks and parentheses included.
    pub name: String,
    /// State letter; `Z` and `X` have ended.
    pub state: u8,
    /// Parent process; 0 where it is outside of our PID namespace (pid_namespaces(7)).
    pub parent: u32,
    /// Session, by its leader; 0 where that is outside of our PID namespace, as for a command that
    /// was sent into a container.
    pub session: u32,
    /// User-mode time, clock ticks.
    pub user_ticks: u64,
    /// Kernel-mode time, clock ticks.
    pub system_ticks: u64,
    /// Threads of the process.
    pub threads: u32,
    /// Start, clock ticks since boot; with the id it identifies a process for good.
    pub started_ticks: u64,
}

impl Stat {
    /// Whether nothing of it runs any more. A leader may end before its other threads.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x') && self.threads <= 1
    }
}

/// Parses `/proc/PID/stat` or `/proc/PID/task/TID/stat` (`fs/proc/array.c`, `do_task_stat`). The
/// name is in parentheses and may contain some itself, so the last one closes it.
pub fn parse_stat(bytes: &[u8]) -> Result<Stat, ParseError> {
    let error = || ParseError::new("a line such as '12 (name) S 1 ...'", bytes);
    let open = bytes.iter().position(|&byte| byte == b'(').ok_or_else(error)?;
    let close = bytes.iter().rposition(|&byte| byte == b')').ok_or_else(error)?;
    if close < open {
        return Err(error());
    }
    let id = scan::number(bytes[..open].trim_ascii()).and_then(|id| u32::try_from(id).ok());
    let mut words = scan::words(&bytes[close + 1..]);
    let state = words.next().filter(|word| word.len() == 1).ok_or_else(error)?[0];
    let parent = words.next().and_then(scan::number).and_then(|id| u32::try_from(id).ok());
    // Fields 5, 7 to 13, 16 to 19 and 21 are not needed.
    let session = words.nth(1).and_then(scan::number).and_then(|id| u32::try_from(id).ok());
    let mut skip_and_take = |skipped| words.nth(skipped).and_then(scan::number).ok_or_else(error);
    Ok(Stat {
        id: id.ok_or_else(error)?,
        name: scan::text(&bytes[open + 1..close]),
        state,
        parent: parent.ok_or_else(error)?,
        session: session.ok_or_else(error)?,
        user_ticks: skip_and_take(7)?,
        system_ticks: skip_and_take(0)?,
        threads: u32::try_from(skip_and_take(4)?).map_err(|_| error())?,
        started_ticks: skip_and_take(1)?,
    })
}

/// The value of one line of a `status` file, such as `Cpus_allowed_list`.
pub fn parse_status<'a>(bytes: &'a [u8], field: &str) -> Option<&'a [u8]> {
    scan::lines(bytes).find_map(|line| {
        let value = line.strip_prefix(field.as_bytes())?.strip_prefix(b":")?;
        Some(value.trim_ascii())
    })
}

/// The effective capabilities in a `status` file (proc_pid_status(5)).
pub fn capabilities(status: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(parse_status(status, "CapEff")?).ok()?;
    u64::from_str_radix(digits, 16).ok()
}

/// The path of a file about a process of this host.
pub fn path(pid: u32, file: &str) -> PathBuf {
    Root::default().process(pid, file)
}

/// The `stat` line of a process.
pub fn stat(pid: u32) -> Result<Stat, Unreadable> {
    stat_on(&Root::default(), pid)
}

/// The `stat` line of a process on a host whose files are elsewhere.
pub fn stat_on(host: &Root, pid: u32) -> Result<Stat, Unreadable> {
    read(&host.process(pid, "stat"), parse_stat)
}

/// The `stat` line of a process or a thread that may have ended: nothing when it does not exist any
/// more. What cannot be read for another reason is an error.
pub fn stat_if_there(id: u32) -> Result<Option<Stat>, Unreadable> {
    stat_if_there_on(&Root::default(), id)
}

/// [`stat_if_there`] on a host whose files are elsewhere.
pub fn stat_if_there_on(host: &Root, id: u32) -> Result<Option<Stat>, Unreadable> {
    let path = host.process(id, "stat");
    match std::fs::read(&path) {
        Ok(bytes) => parse_stat(&bytes).map(Some).map_err(|why| unreadable(&path, why)),
        Err(why) if is_gone(&why) => Ok(None),
        Err(why) => Err(unreadable(&path, why)),
    }
}

/// CPUs the process may run on.
pub fn cpus_allowed(pid: u32) -> Result<Vec<u32>, Unreadable> {
    const FIELD: &str = "Cpus_allowed_list";
    read(&path(pid, "status"), |bytes| {
        let list = parse_status(bytes, FIELD);
        scan::cpu_list(list.ok_or_else(|| ParseError::new("a Cpus_allowed_list", b"none"))?)
    })
}

/// The command line without its secrets, arguments separated by spaces; the name in brackets when
/// there is none.
pub fn command(pid: u32) -> Result<String, Unreadable> {
    let line = read(&path(pid, "cmdline"), |bytes| Ok(shown(bytes)))?;
    if line.is_empty() { Ok(format!("[{}]", stat(pid)?.name)) } else { Ok(line) }
}

/// Zero-terminated words, as readable text. Some programs write one line in their place, with
/// spaces.
fn shown(bytes: &[u8]) -> String {
    let words: Vec<String> =
        bytes.split(|&byte| byte == 0).map(|word| scan::text(word).to_string()).collect();
    let is_line = words.iter().filter(|word| !word.is_empty()).count() == 1;
    let words = match words.first().filter(|_| is_line) {
        Some(line) => line.split(' ').map(str::to_string).collect(),
        None => words,
    };
    secret::words(&words).join(" ").trim_end().to_string()
}

/// The process with this start, if it is alive; nothing when it is not. One that cannot be read may
/// be alive, so that is an error.
pub fn same(host: &Root, pid: u32, started_ticks: u64) -> Result<Option<Stat>, Unreadable> {
    let stat = stat_if_there_on(host, pid)?;
    Ok(stat.filter(|stat| stat.started_ticks == started_ticks && !stat.has_ended()))
}

/// The first process with a name, and when it started.
pub fn named(host: &Root, name: &str) -> Option<(u32, u64)> {
    let is_it = |pid: &u32| {
        let comm = std::fs::read(host.process(*pid, "comm"));
        comm.is_ok_and(|comm| comm.trim_ascii() == name.as_bytes())
    };
    let mut all = ids(&host.path("/proc")).ok()?;
    all.sort_unstable();
    let pid = all.into_iter().find(is_it)?;
    Some((pid, stat_on(host, pid).ok()?.started_ticks))
}

/// Ids that are the names of entries of a folder: processes of `/proc`, threads of a `task`.
pub fn ids(folder: &Path) -> io::Result<Vec<u32>> {
    let mut ids = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        ids.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    Ok(ids)
}

/// Reads a file once and parses it, telling which file it was if that fails.
pub fn read<T>(
    path: &Path,
    parse: impl FnOnce(&[u8]) -> Result<T, ParseError>,
) -> Result<T, Unreadable> {
    let bytes = std::fs::read(path).map_err(|why| unreadable(path, why))?;
    parse(&bytes).map_err(|why| unreadable(path, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Folder, fixture};

    #[test]
    fn a_command_line_has_no_secrets() {
        let shown = |text: &str| shown(text.as_bytes());
        assert_eq!(
            shown("app\0--db\0postgres://u:s@h/d\0-n\x005\0"),
            "app --db postgres://u:***@h/d -n 5"
        );
        assert_eq!(shown("app\0--password\0s\0\0"), "app --password ***");
        assert_eq!(shown("app: --token s -n 5"), "app: --token *** -n 5", "as one line");
        assert_eq!(shown("/a b/app\0--token=s t\0"), "/a b/app --token=***");
    }

    #[test]
    fn the_fields_of_stat() {
        let stat = parse_stat(&fixture("linux-6.18-vm/thread_stat")).unwrap();
        let expected = Stat {
            id: 1349,
            name: "bash".to_string(),
            state: b'S',
            parent: 1348,
            session: 1349,
            user_ticks: 14,
            system_ticks: 9,
            threads: 1,
            started_ticks: 9876,
        };
        assert_eq!(stat, expected);
        let sent_into_a_container = fixture("linux-6.18-vm/thread_stat");
        let text = String::from_utf8(sent_into_a_container).unwrap();
        let stat = parse_stat(text.replace("1348 1349 1349", "0 0 0").as_bytes()).unwrap();
        assert_eq!((stat.parent, stat.session, stat.user_ticks), (0, 0, 14));
    }

    #[test]
    fn names_may_hold_anything() {
        for (file, name) in [
            ("odd-names/blank", "tmux: server"),
            ("odd-names/parentheses", "a) R 1 (b"),
            ("odd-names/kernel_thread", "(sd-pam)"),
            ("odd-names/newline", "two\nlines"),
            ("odd-names/not_utf8", "caf\u{fffd}"),
        ] {
            let stat = parse_stat(&fixture(file)).unwrap();
            assert_eq!((stat.name.as_str(), stat.state, stat.parent), (name, b'S', 1), "{file}");
            assert_eq!((stat.user_ticks, stat.system_ticks), (120, 34), "{file}");
            assert_eq!((stat.threads, stat.started_ticks), (7, 5678), "{file}");
        }
    }

    #[test]
    fn a_leader_that_ended_before_its_threads_has_not_ended() {
        let mut stat = parse_stat(&fixture("odd-names/blank")).unwrap();
        assert!(!stat.has_ended());
        stat.state = b'Z';
        assert!(!stat.has_ended());
        stat.threads = 1;
        assert!(stat.has_ended());
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "1 a S 1", "1 )(", "x (a) S 1", "1 (a) S 1 2 3", "1 (a) "] {
            assert!(parse_stat(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn status_fields_are_found_by_their_whole_name() {
        let status = fixture("linux-6.18-vm/status");
        assert_eq!(parse_status(&status, "Cpus_allowed_list"), Some(&b"0-1"[..]));
        assert_eq!(parse_status(&status, "Cpus_allowed"), Some(&b"3"[..]));
        assert_eq!(parse_status(&status, "Cpus"), None);
    }

    #[test]
    fn what_has_ended_is_told_from_what_cannot_be_read() {
        let host = Folder::new("if-there");
        let root = Root::below(host.path());
        assert_eq!(stat_if_there_on(&root, 7), Ok(None));
        host.write("proc/7/stat", fixture("linux-6.18-vm/thread_stat"));
        assert_eq!(stat_if_there_on(&root, 7).unwrap().unwrap().started_ticks, 9876);
        // A folder in its place cannot be read, which a file can also not be without descriptors.
        host.write("proc/8/stat/none", "");
        assert!(stat_if_there_on(&root, 8).is_err() && same(&root, 8, 9876).is_err());
    }

    #[test]
    fn a_process_is_itself_only_with_its_start() {
        let (root, pid) = (Root::default(), std::process::id());
        let started = stat(pid).unwrap().started_ticks;
        assert!(same(&root, pid, started).unwrap().is_some());
        assert_eq!((same(&root, pid, started + 1), same(&root, 0, 0)), (Ok(None), Ok(None)));
        let name = stat(pid).unwrap().name;
        assert!(named(&root, &name).is_some());
        assert_eq!(named(&root, "no such name"), None);
    }

    #[test]
    fn a_thread_has_a_start_of_its_own() {
        let begin = stat(std::process::id()).unwrap().started_ticks;
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || receiver.recv());
        for tid in ids(&path(std::process::id(), "task")).unwrap() {
            let Some(stat) = stat_if_there(tid).unwrap() else { continue };
            assert!(stat.id == tid && stat.started_ticks >= begin, "{stat:?}");
        }
        drop(sender);
        assert!(thread.join().unwrap().is_err());
    }

    #[test]
    fn we_know_ourselves() {
        let pid = std::process::id();
        assert_eq!(stat(pid).unwrap().id, pid);
        let program = std::env::args().next().unwrap();
        assert!(command(pid).unwrap().starts_with(&program));
        assert!(!cpus_allowed(pid).unwrap().is_empty());
        assert!(ids(Path::new("/proc")).unwrap().contains(&pid));
    }
}
