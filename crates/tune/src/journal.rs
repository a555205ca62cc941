//! The journal: the value before each change, on disk before the change is made.
//!
//! A folder with one file per transaction, `NUMBER.jsonl`: lines of JSON that are only ever
//! appended. A line, and the directory entry of its file, is on disk before what it announces is
//! done. So a torn line announces something that was not done, and is dropped. A damaged line
//! before the last one is reported; its meaning is never guessed. A closed transaction moves to
//! `done/`. A process that changes anything holds a lock, which is released when the process ends.

mod entry;
mod story;

pub(crate) use entry::{Begin, ChangeEnd, Entry, Header, VERSION};
pub(crate) use story::{Open, Recorded, Story};

use crate::error::TuneError;
use crate::trust::trusted;
use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{self, Path, PathBuf};
use std::thread;
use std::time::Duration;

/// How long a process waits for the lock of another.
const PATIENCE: Duration = Duration::from_secs(3);
const STEP: Duration = Duration::from_millis(20);
/// How many closed transactions are kept for inspection.
const DONE_MAX: usize = 100;
/// Most open transactions accepted; more cannot be real.
const OPEN_MAX: usize = 10_000;

/// Where root's journal is, unless the environment says otherwise.
const FOLDER: &str = "/var/lib/ceiling/tune";

/// Whose journal it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum User {
    Root,
    Other,
}

/// Where the journal is: `CEILING_TUNE_JOURNAL`, or root's own folder. Another user, who can only
/// change their own servers, has it in their state folder, which outlives the session; root never,
/// because after `su` or `sudo -E` that is another user's folder. The path is absolute: a watchdog
/// runs in another directory.
pub fn journal_folder() -> PathBuf {
    let is_root = rustix::process::geteuid().is_root();
    let user = if is_root { User::Root } else { User::Other };
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let folder = folder_of(user, &|name| env::var_os(name), boot_id.trim());
    path::absolute(&folder).unwrap_or(folder)
}

/// The folder of the journal in an environment. A state folder may be in a home that several hosts
/// share, so there is one journal for each boot of a host; no change outlives the boot. Without a
/// home or a boot it is in `XDG_RUNTIME_DIR`, which ends with the session.
fn folder_of(user: User, variable: &dyn Fn(&str) -> Option<OsString>, boot_id: &str) -> PathBuf {
    let named = |name| variable(name).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let absolute = |name| named(name).filter(|folder| folder.is_absolute());
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let has_boot = !boot_id.is_empty() && boot_id.chars().all(is_plain);
    let lasting = || {
        let home = || Some(absolute("HOME")?.join(".local/state"));
        let state = absolute("XDG_STATE_HOME").or_else(home).filter(|_| has_boot)?;
        Some(state.join("ceiling/tune").join(boot_id))
    };
    let of_session = || Some(named("XDG_RUNTIME_DIR")?.join("ceiling/tune"));
    let own = || match user {
        User::Root => None,
        User::Other => lasting().or_else(of_session),
    };
    named("CEILING_TUNE_JOURNAL").or_else(own).unwrap_or_else(|| FOLDER.into())
}

/// A folder of transactions.
#[derive(Debug, Clone)]
pub struct Journal {
    folder: PathBuf,
}

/// The right to change something, while this value lives.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "it is held, not read")] File);

impl Journal {
    /// A journal in a folder, which is created with the first transaction. A folder that others can
    /// write to is refused, because its values are later written to the kernel.
    pub fn open(folder: &Path) -> Result<Self, TuneError> {
        let journal = Self { folder: folder.to_path_buf() };
        match fs::symlink_metadata(folder) {
            Ok(about) if !about.is_dir() => Err(journal.untrusted("it is not a folder")),
            Ok(about) => {
                trusted(&about).map_err(|why| journal.untrusted(&why.to_string())).map(|()| journal)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(journal),
            Err(error) => Err(journal.error(folder, error)),
        }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn untrusted(&self, why: &str) -> TuneError {
        TuneError::Unsafe { path: self.folder.clone(), why: why.to_string() }
    }

    fn error(&self, path: &Path, error: io::Error) -> TuneError {
        TuneError::Journal { path: path.to_path_buf(), error }
    }

    /// Waits for the right to change something, for [`PATIENCE`] at most. A lock file that exists
    /// need not be writable: on a file system that has become read-only, values can still be put
    /// back.
    pub(crate) fn lock(&self) -> Result<Lock, TuneError> {
        let path = self.folder.join("lock");
        let error = |error| self.error(&path, error);
        let mut make = DirBuilder::new();
        make.recursive(true).mode(0o700).create(&self.folder).map_err(error)?;
        let file =
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = file.or_else(|why| File::open(&path).map_err(|_| why)).map_err(error)?;
        let mut waited = Duration::ZERO;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock(file)),
                Err(fs::TryLockError::Error(cause)) => return Err(error(cause)),
                Err(fs::TryLockError::WouldBlock) if waited < PATIENCE => {
                    thread::sleep(STEP);
                    waited += STEP;
                }
                Err(fs::TryLockError::WouldBlock) => return Err(TuneError::Busy { path }),
            }
        }
    }

    /// Transactions that are not closed, newest first, and what could not be understood.
    pub(crate) fn stories(&self) -> Result<(Vec<Story>, Vec<TuneError>), TuneError> {
        let (mut stories, mut damaged) = (Vec::new(), Vec::new());
        let mut numbers = self.numbers(&self.folder)?;
        numbers.sort_unstable_by(|left, right| right.cmp(left));
        if numbers.len() > OPEN_MAX {
            return Err(self.untrusted("it holds implausibly many transactions"));
        }
        for number in numbers {
            match Story::read(&self.file(number), number) {
                Ok(Some(story)) if !story.is_closed() => stories.push(story),
                Ok(_) => {}
                Err(error) => damaged.push(error),
            }
        }
        Ok((stories, damaged))
    }

    /// One transaction that is not closed. Nothing when it is closed.
    pub(crate) fn story(&self, transaction: &str) -> Result<Option<Story>, TuneError> {
        let unknown = || TuneError::Unknown { transaction: transaction.to_string() };
        let number: u64 = transaction.parse().map_err(|_| unknown())?;
        if number.to_string() != transaction {
            return Err(unknown());
        }
        let story = match self.file(number) {
            file if file.exists() => Story::read(&file, number)?,
            _ if self.done().join(name(number)).exists() => None,
            _ => return Err(unknown()),
        };
        Ok(story.filter(|story| !story.is_closed()))
    }

    /// The newest of the closed transactions that were put away, if it can be read.
    pub(crate) fn newest_done(&self) -> Option<Story> {
        let done = self.done();
        let number = self.numbers(&done).ok()?.into_iter().max()?;
        // They are kept for inspection only, so a damaged one is not reported.
        Story::read(&done.join(name(number)), number).ok().flatten()
    }

    /// Starts a transaction: its header is on disk when this returns.
    pub(crate) fn begin(&self, _: &Lock, header: &Header) -> Result<Open, TuneError> {
        let mut numbers = self.numbers(&self.folder)?;
        numbers.extend(self.numbers(&self.done())?);
        let number = numbers.into_iter().max().unwrap_or(0) + 1;
        let path = self.file(number);
        let header = Header { transaction: number, ..header.clone() };
        let story = Story::begun(header.clone());
        let open = Open::create(&path, story, &Entry::Header(header))?;
        self.sync(&self.folder)?;
        Ok(open)
    }

    /// Moves a closed transaction to `done/`.
    pub(crate) fn put_away(&self, _: &Lock, number: u64) -> Result<(), TuneError> {
        let done = self.done();
        let error = |error| self.error(&done, error);
        DirBuilder::new().recursive(true).mode(0o700).create(&done).map_err(error)?;
        fs::rename(self.file(number), done.join(name(number))).map_err(error)?;
        self.sync(&self.folder)?;
        self.sync(&done)?;
        let mut numbers = self.numbers(&done)?;
        numbers.sort_unstable();
        let surplus = numbers.len().saturating_sub(DONE_MAX);
        for number in &numbers[..surplus] {
            // They are kept for inspection only.
            let _ = fs::remove_file(done.join(name(*number)));
        }
        Ok(())
    }

    /// Clears files left by processes that ended between closing a transaction and moving it, or
    /// before they had written a header. Tries all of them, and returns the first failure.
    pub(crate) fn sweep(&self, lock: &Lock) -> Result<(), TuneError> {
        let mut all_cleared = Ok(());
        for number in self.numbers(&self.folder)? {
            let path = self.file(number);
            let cleared = match Story::read(&path, number) {
                Ok(Some(story)) if story.is_closed() => self.put_away(lock, number),
                Ok(None) => fs::remove_file(&path).map_err(|error| self.error(&path, error)),
                _ => Ok(()),
            };
            all_cleared = all_cleared.and(cleared);
        }
        all_cleared
    }

    /// Where a transaction is written down while it is open.
    pub(crate) fn file(&self, number: u64) -> PathBuf {
        self.folder.join(name(number))
    }

    fn done(&self) -> PathBuf {
        self.folder.join("done")
    }

    fn sync(&self, folder: &Path) -> Result<(), TuneError> {
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| self.error(folder, error))
    }

    fn numbers(&self, folder: &Path) -> Result<Vec<u64>, TuneError> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.error(folder, error)),
        };
        let number = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let digits = name.strip_suffix(".jsonl")?;
            let number: u64 = digits.parse().ok()?;
            // Another spelling of a number would be another file.
            (number.to_string() == digits).then_some(number)
        };
        Ok(entries.flatten().filter_map(number).collect())
    }
}

fn name(number: u64) -> String {
    format!("{number}.jsonl")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOT: &str = "00000000-0000-4000-8000-000000000001";

    fn chosen(user: User, boot_id: &str, environment: &[(&str, &str)]) -> String {
        let variable = |name: &str| {
            let found = environment.iter().find(|(one, _)| *one == name);
            found.map(|(_, value)| OsString::from(value))
        };
        folder_of(user, &variable, boot_id).display().to_string()
    }

    #[test]
    fn a_users_journal_outlives_the_session_and_is_one_for_each_boot() {
        let (home, state) = (("HOME", "/u"), ("XDG_STATE_HOME", "/state"));
        let (session, named) = (("XDG_RUNTIME_DIR", "/run/user/7"), ("CEILING_TUNE_JOURNAL", "/j"));
        let user = |environment: &[(&str, &str)]| chosen(User::Other, BOOT, environment);
        assert_eq!(user(&[home, state, session]), format!("/state/ceiling/tune/{BOOT}"));
        let of_home = format!("/u/.local/state/ceiling/tune/{BOOT}");
        assert_eq!(user(&[home, session]), of_home);
        assert_eq!(user(&[home, ("XDG_STATE_HOME", "")]), of_home);
        assert_eq!(user(&[home, ("XDG_STATE_HOME", "relative")]), of_home);
        assert_eq!(user(&[home, state, session, named]), "/j");
        // Without a home, or without a boot, it is there for the session at least.
        assert_eq!(user(&[session]), "/run/user/7/ceiling/tune");
        assert_eq!(user(&[]), FOLDER);
        for boot_id in ["", "../..", "a/b"] {
            let folder = chosen(User::Other, boot_id, &[home, state, session]);
            assert_eq!(folder, "/run/user/7/ceiling/tune", "{boot_id}");
        }
        let root = |environment: &[(&str, &str)]| chosen(User::Root, BOOT, environment);
        assert_eq!(root(&[home, state, session]), FOLDER, "it may be another user's home");
        assert_eq!(root(&[home, named]), "/j");
    }
}
