//! One file for each change under way: written before the change, removed when it is put back.

use super::cgroup::Ground;
use super::{cpu_max, mask, quota, told};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::env;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use tune::trust;

/// Bytes of an entry that is believed: the masks of a hundred thousand threads.
const FILE_MAX_BYTES: u64 = 16 << 20;

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
    fn put_back(&self, ground: Ground) -> Result<(), String> {
        match self {
            Self::Group(moved) => moved.put_back(ground),
            Self::CpuMax(max) => max.put_back(ground),
            Self::Masks(masks) => masks.put_back(),
        }
    }

    /// Whether it can be an entry of ours. Threads are known by number and start, and a mask is all
    /// that they are given.
    fn check(&self) -> Result<(), String> {
        match self {
            Self::Group(moved) => moved.check(),
            Self::CpuMax(max) => max.check(),
            Self::Masks(_) => Ok(()),
        }
    }
}

/// Whether a path of an entry can be a control group: it is absolute, goes nowhere but down, and
/// is plain text.
pub(super) fn check_path(path: &Path) -> Result<(), String> {
    let is_down = path.components().enumerate().all(|(at, part)| {
        matches!((at, part), (0, Component::RootDir) | (1.., Component::Normal(_)))
    });
    let is_plain = path.to_str().is_some_and(|text| !text.chars().any(char::is_control));
    if path.is_absolute() && is_down && is_plain {
        return Ok(());
    }
    Err(format!("'{}' is no path of a control group", path.to_string_lossy().escape_debug()))
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
        let is_same = |stat: host::process::Stat| {
            stat.started_ticks == self.owner_started_ticks && !stat.has_ended()
        };
        host::process::stat_if_there(self.owner_pid).map_or(true, |stat| stat.is_some_and(is_same))
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
    ground: Ground,
    _counted: Counted,
}

impl Change {
    /// Writes down what is before a change. Nothing may be changed before this.
    pub(super) fn begin(before: Before) -> Result<Self, String> {
        Self::begin_in(&folders(), before, Ground::Kernel)
    }

    fn begin_in(folders: &[PathBuf], before: Before, ground: Ground) -> Result<Self, String> {
        let counted = Counted::new();
        let owner_started_ticks = host::process::stat(process::id()).map_err(told)?.started_ticks;
        let entry = Entry { owner_pid: process::id(), owner_started_ticks, before };
        let mut why = "there is no folder for it; set XDG_RUNTIME_DIR".to_string();
        for folder in folders {
            match write(folder, &entry) {
                Ok(file) => {
                    let before = entry.before;
                    return Ok(Self { file: Some(file), before, ground, _counted: counted });
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
        self.before.put_back(self.ground)?;
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

/// Where journals are: folders that a reboot empties, as it undoes all that is changed here. Root
/// takes its own only: XDG_RUNTIME_DIR is of whoever became root with `su` or `sudo -E`.
fn folders() -> Vec<PathBuf> {
    let is_root = rustix::process::geteuid().is_root();
    let own = env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty() && !is_root);
    let own = own.map(PathBuf::from);
    own.into_iter().chain([PathBuf::from("/run")]).map(|path| path.join("ceiling")).collect()
}

/// Writes an entry that is whole or not there, in a file of its own: what could not be put back
/// stays in the file it is in.
fn write(path: &Path, entry: &Entry) -> io::Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let folder = trust::open_folder(path)?;
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("touched-{}-{number}.json", entry.owner_pid);
        let draft = format!("touched-{}-{number}.draft", entry.owner_pid);
        match write_draft(&folder, &draft, entry) {
            // Of a process that had our number before us.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            written => written?,
        }
        // A link, unlike a new name, never takes the place of another file.
        let linked = rustix::fs::linkat(&folder, &draft, &folder, &name, AtFlags::empty());
        let removed = rustix::fs::unlinkat(&folder, &draft, AtFlags::empty());
        match linked {
            Err(Errno::EXIST) => continue,
            linked => linked.and(removed)?,
        }
        folder.sync_all()?;
        return Ok(path.join(name));
    }
}

/// A file that was not there before, so that no link of another user is followed.
fn write_draft(folder: &File, draft: &str, entry: &Entry) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    let mut open = File::from(rustix::fs::openat(folder, draft, flags, mode)?);
    open.write_all(&serde_json::to_vec_pretty(entry)?)?;
    open.sync_all()
}

/// Puts back what runs that were killed had changed; returns what to tell about it.
pub fn put_back_leftovers() -> Vec<String> {
    folders().iter().flat_map(|folder| put_back_folder(folder, Ground::Kernel)).collect()
}

/// The same of one folder. A folder that other users decide about is not looked into.
fn put_back_folder(path: &Path, ground: Ground) -> Vec<String> {
    let folder = match trust::open_folder(path) {
        Ok(folder) => folder,
        // There is none, or it is root's, and we are not root.
        Err(error)
            if [ErrorKind::NotFound, ErrorKind::PermissionDenied].contains(&error.kind()) =>
        {
            return Vec::new();
        }
        Err(error) => return vec![refused(path, &error)],
    };
    let mut names: Vec<String> = match rustix::fs::Dir::read_from(&folder) {
        Ok(entries) => entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name.starts_with("touched-") && name.ends_with(".json"))
            .collect(),
        Err(error) => return vec![refused(path, &error)],
    };
    names.sort_unstable();
    names.iter().filter_map(|name| put_back_file(&folder, &path.join(name), ground)).collect()
}

fn refused(path: &Path, why: &dyn std::fmt::Display) -> String {
    format!(
        "a journal of changes is not believed, and nothing in it was carried out: {}: {why}",
        path.display()
    )
}

/// The entry in a file of a folder that was opened. Nothing in it is carried out before all of it
/// was looked at.
fn entry_of(folder: &File, file: &Path) -> Result<Entry, String> {
    let name = file.file_name().unwrap_or_default();
    let bytes = trust::read(folder, Path::new(name), FILE_MAX_BYTES);
    let bytes = bytes.map_err(|error| error.to_string())?;
    let entry: Entry = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    entry.before.check().map(|()| entry)
}

fn put_back_file(folder: &File, file: &Path, ground: Ground) -> Option<String> {
    let entry = match entry_of(folder, file) {
        Ok(entry) if entry.is_owner_alive() => return None,
        Ok(entry) => entry,
        Err(why) => return Some(refused(file, &why)),
    };
    let (pid, shown) = (entry.owner_pid, file.display());
    let (file, before) = (Some(file.to_path_buf()), entry.before);
    let mut change = Change { file, before, ground, _counted: Counted::new() };
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
    use host::cgroup::Group as CpuGroup;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    /// A limit in a made-up group, and an entry about it whose owner is gone.
    fn entry(folder: &Folder) -> Entry {
        folder.write("group/cpu.max", "20000 100000\n");
        let group =
            CpuGroup { version: 2, path: "/group".to_string(), folder: folder.path("group") };
        let before = Before::CpuMax(cpu_max::CpuMax::of_group(&group).unwrap());
        Entry { owner_pid: u32::MAX - 1, owner_started_ticks: 1, before }
    }

    /// What the caller learns of one file.
    fn of(file: &Path) -> Option<String> {
        let folder = trust::open_folder(file.parent().unwrap()).unwrap();
        put_back_file(&folder, file, Ground::MadeUp)
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
        let told = of(&file).unwrap();
        assert!(told.contains("cannot be put back") && file.exists(), "{told}");
        fs::remove_dir(&max).unwrap();
        fs::write(&max, "5000 100000").unwrap();
        let told = of(&file).unwrap();
        assert!(told.contains("put back what") && !file.exists(), "{told}");
        assert_eq!(fs::read_to_string(&max).unwrap(), "20000 100000");
    }

    #[test]
    fn a_change_that_cannot_be_reverted_says_where_it_is_written_down() {
        let folder = Folder::new("journal-revert");
        let journal = folder.path("journal");
        let change =
            Change::begin_in(std::slice::from_ref(&journal), entry(&folder).before, Ground::MadeUp);
        let change = change.unwrap();
        assert!(is_under_way());
        fs::remove_file(folder.path("group/cpu.max")).unwrap();
        fs::create_dir(folder.path("group/cpu.max")).unwrap();
        let why = change.revert().unwrap_err();
        assert!(why.contains("next start of ceiling") && why.contains("touched-"), "{why}");
        assert_eq!(fs::read_dir(&journal).unwrap().count(), 1);
        // Its owner, which is this process, is alive.
        let file = fs::read_dir(&journal).unwrap().next().unwrap().unwrap().path();
        assert_eq!(of(&file), None);
    }

    /// A journal with one hand-made file, as [`put_back_folder`] would find it after a restart.
    struct Hostile {
        folder: Folder,
        journal: PathBuf,
        file: PathBuf,
        victim: PathBuf,
    }

    impl Hostile {
        /// A good entry about a group whose list of processes is a link to a victim.
        fn new(name: &str) -> Self {
            let folder = Folder::new(&format!("hostile-{name}"));
            let journal = folder.path("journal");
            DirBuilder::new().mode(0o700).create(&journal).unwrap();
            folder.write("from/ceiling-1/cgroup.procs", "owned\n");
            folder.write("victim", "as it was");
            let victim = folder.path("victim");
            symlink(&victim, folder.path("from/cgroup.procs")).unwrap();
            let hostile = Self { file: journal.join("touched-1-1.json"), journal, victim, folder };
            let from = hostile.folder.path("from");
            hostile.says(&serde_json::json!({"from": from, "made": from.join("ceiling-1")}));
            hostile
        }

        fn says(&self, group: &serde_json::Value) {
            let entry = serde_json::json!({
                "owner_pid": u32::MAX - 1,
                "owner_started_ticks": 1,
                "before": {"group": group},
            });
            fs::write(&self.file, entry.to_string()).unwrap();
            self.mode(0o600);
        }

        fn mode(&self, mode: u32) {
            fs::set_permissions(&self.file, fs::Permissions::from_mode(mode)).unwrap();
        }

        /// Refused, by name and reason, with nothing done.
        fn is_refused(&self, ground: Ground, why: &str) {
            let told = put_back_folder(&self.journal, ground).join("\n");
            assert!(told.contains(why), "{told}");
            let shown = self.journal.display().to_string();
            assert!(told.contains(&shown), "{told}");
            assert_eq!(fs::read_to_string(&self.victim).unwrap(), "as it was", "{told}");
            assert!(fs::symlink_metadata(&self.file).is_ok(), "it is kept to look at");
        }
    }

    #[test]
    fn a_folder_that_is_no_control_group_is_not_written_to() {
        let hostile = Hostile::new("ground");
        hostile.is_refused(Ground::Kernel, "it is not a control group");
        // The link and the lines are refused on their own as well.
        hostile.is_refused(Ground::MadeUp, "'owned' is no process");
        hostile.folder.write("from/ceiling-1/cgroup.procs", "4194304\n");
        hostile.is_refused(Ground::MadeUp, "cannot be put back");
    }

    #[test]
    fn no_file_is_made_where_the_kernel_has_none() {
        let hostile = Hostile::new("made");
        fs::remove_file(hostile.folder.path("from/cgroup.procs")).unwrap();
        hostile.folder.write("from/ceiling-1/cgroup.procs", "4194304\n");
        hostile.is_refused(Ground::MadeUp, "cannot be put back");
        assert!(!hostile.folder.path("from/cgroup.procs").exists());
    }

    #[test]
    fn a_link_in_the_journal_is_not_followed() {
        let hostile = Hostile::new("link");
        let aside = hostile.folder.path("aside.json");
        fs::rename(&hostile.file, &aside).unwrap();
        symlink(&aside, &hostile.file).unwrap();
        hostile.is_refused(Ground::MadeUp, "no regular file");
    }

    #[test]
    fn what_others_can_write_is_not_believed() {
        let hostile = Hostile::new("mode");
        for mode in [0o620, 0o602, 0o666] {
            hostile.mode(mode);
            hostile.is_refused(Ground::MadeUp, "others can write to it");
        }
        hostile.mode(0o600);
        fs::set_permissions(&hostile.journal, fs::Permissions::from_mode(0o770)).unwrap();
        hostile.is_refused(Ground::MadeUp, "others can write to it");
    }

    #[test]
    fn what_another_user_owns_is_not_believed() {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root gives files away");
            return;
        }
        let hostile = Hostile::new("owner");
        chown(&hostile.file, Some(65_534), None).unwrap();
        hostile.is_refused(Ground::MadeUp, "it belongs to another user");
        chown(&hostile.file, Some(0), None).unwrap();
        chown(&hostile.journal, Some(65_534), None).unwrap();
        hostile.is_refused(Ground::MadeUp, "it belongs to another user");
        let entry = entry(&hostile.folder);
        let written = write(&hostile.journal, &entry).unwrap_err().to_string();
        assert!(written.contains("another user"), "{written}");
    }

    #[test]
    fn paths_are_those_of_groups() {
        let hostile = Hostile::new("paths");
        let says = |from: &str, made: &str, why: &str| {
            hostile.says(&serde_json::json!({"from": from, "made": made}));
            hostile.is_refused(Ground::MadeUp, why);
        };
        says("/a\n/b", "/a\n/b/ceiling-1", r"'/a\n/b' is no path");
        says("a", "a/ceiling-1", "'a' is no path");
        says("/a/../b", "/a/../b/ceiling-1", "is no path");
        says("/a", "/b/ceiling-1", "is no group that ceiling makes");
        says("/a", "/a/other", "is no group that ceiling makes");
        fs::write(&hostile.file, "{\"owner_pid\": 1").unwrap();
        hostile.is_refused(Ground::MadeUp, "EOF");
    }

    #[test]
    fn a_huge_file_is_not_read_to_its_end() {
        let hostile = Hostile::new("huge");
        let file = File::options().write(true).open(&hostile.file).unwrap();
        file.set_len(1 << 40).unwrap();
        hostile.is_refused(Ground::MadeUp, "longer than any journal");
    }

    #[test]
    fn a_draft_that_was_planted_is_not_written_through() {
        let hostile = Hostile::new("draft");
        let entry = entry(&hostile.folder);
        let first = write(&hostile.journal, &entry).unwrap();
        let name = first.file_stem().unwrap().to_str().unwrap();
        let number: u32 = name.rsplit_once('-').unwrap().1.parse().unwrap();
        for ahead in 1..100 {
            let draft = format!("touched-{}-{}.draft", entry.owner_pid, number + ahead);
            symlink(&hostile.victim, hostile.journal.join(draft)).unwrap();
        }
        let file = write(&hostile.journal, &entry).unwrap();
        assert_eq!(fs::read_to_string(&hostile.victim).unwrap(), "as it was");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&hostile.journal), mode(&file)), (0o700, 0o600));
    }
}
