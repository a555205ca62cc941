//! A transaction rebuilt from its lines, and the file they are appended to.

use super::entry::{Begin, ChangeEnd, Entry, Header, VERSION};
use crate::error::TuneError;
use crate::host::Host;
use crate::place::Seen;
use crate::place::threads::MIXED;
use crate::trust;
use rustix::fs::CWD;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Most bytes of a file that is accepted: thousands of changes.
const FILE_MAX_BYTES: u64 = 16 << 20;
/// Most bytes of a line that is accepted: the CPUs of a hundred thousand threads.
const LINE_MAX_BYTES: usize = 4 << 20;

/// The state of one transaction, from its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Story {
    /// Its first line.
    pub(crate) header: Header,
    /// Its changes in the order they were begun.
    pub(crate) changes: Vec<Recorded>,
    /// Whether the user kept it.
    is_kept: bool,
    /// Whether nothing is left to do.
    is_closed: bool,
    /// How many bytes of the file are whole lines.
    whole_bytes: u64,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// The announced change.
    pub(crate) begin: Begin,
    /// What it read as afterwards; nothing when it did not get that far.
    pub(crate) written: Option<Seen>,
    /// How it ended.
    pub(crate) ended: Option<ChangeEnd>,
}

impl Recorded {
    /// Whether a value is the one that we wrote, or that the kernel made of it.
    pub(crate) fn is_ours(&self, present: &Seen) -> bool {
        let is_it = |value: &str| self.begin.place.is_same(value, &present.value);
        let written = self.written.as_ref().is_some_and(|seen| is_it(&seen.value));
        written || is_it(&self.begin.settles_to)
    }

    /// Whether a value is what an end in the middle of a write leaves: some threads have the value
    /// before, and the others ours.
    pub(crate) fn is_half_done(&self, host: &Host, present: &Seen) -> bool {
        let Self { begin, written, .. } = self;
        let Some(lists) = present.value.strip_prefix(MIXED) else { return false };
        let known = [Some(&begin.before.value), Some(&begin.settles_to)];
        let known = known.into_iter().chain([written.as_ref().map(|seen| &seen.value)]).flatten();
        let known: Vec<&String> = known.collect();
        let is_known = |list: &str| known.iter().any(|one| begin.place.are_alike(host, one, list));
        lists.split(';').map(str::trim).all(is_known)
    }
}

impl Story {
    /// A transaction without changes.
    pub(crate) fn begun(header: Header) -> Self {
        let changes = Vec::new();
        Self { header, changes, is_kept: false, is_closed: false, whole_bytes: 0 }
    }

    /// Its name.
    pub(crate) fn id(&self) -> String {
        self.header.transaction.to_string()
    }

    /// Whether nothing is left to do.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Whether the user kept it; also when it was put back and closed since.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Changes that have not ended.
    pub(crate) fn open_changes(&self) -> impl DoubleEndedIterator<Item = &Recorded> {
        self.changes.iter().filter(|change| change.ended.is_none())
    }

    /// Reads a file. Nothing when not even its header was finished: then nothing was changed.
    pub(crate) fn read(path: &Path, number: u64) -> Result<Option<Self>, TuneError> {
        let error = |error| TuneError::Journal { path: path.to_path_buf(), error };
        let bytes = trust::read(CWD, path, FILE_MAX_BYTES).map_err(error)?;
        Self::parse(&bytes, path, number)
    }

    pub(super) fn parse(bytes: &[u8], path: &Path, number: u64) -> Result<Option<Self>, TuneError> {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let mut story: Option<Self> = None;
        for (index, line) in bytes[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
            let corrupt = |why: String| {
                let path = path.to_path_buf();
                TuneError::Corrupt { path, line: index + 1, why }
            };
            if line.len() > LINE_MAX_BYTES {
                return Err(corrupt("it is too long".to_string()));
            }
            let entry = serde_json::from_slice(line).map_err(|error| corrupt(error.to_string()))?;
            match (&mut story, entry) {
                (None, Entry::Header(header)) => {
                    check(&header, number).map_err(corrupt)?;
                    story = Some(Self::begun(header));
                }
                (None, _) => return Err(corrupt("it is not a header".to_string())),
                (Some(story), entry) => story.take(entry).map_err(corrupt)?,
            }
        }
        Ok(story.map(|story| Self { whole_bytes: whole as u64, ..story }))
    }

    /// Accepts an entry if it can follow those before.
    fn take(&mut self, entry: Entry) -> Result<(), String> {
        if self.is_closed() {
            return Err("it comes after the end".to_string());
        }
        let of = |seq: usize| format!("it is about change {seq}, which was not begun");
        match entry {
            Entry::Header(_) => return Err("it is a second header".to_string()),
            Entry::Begin(begin) if begin.seq != self.changes.len() => {
                return Err(format!("it starts change {} out of order", begin.seq));
            }
            Entry::Begin(begin) => {
                begin.place.check_sound()?;
                self.changes.push(Recorded { begin, written: None, ended: None });
            }
            Entry::Written { seq, seen } => {
                self.changes.get_mut(seq).ok_or_else(|| of(seq))?.written = Some(seen);
            }
            Entry::Ended { seq, how } => {
                self.changes.get_mut(seq).ok_or_else(|| of(seq))?.ended = Some(how);
            }
            Entry::Extended { deadline_boot_ms } => {
                self.header.deadline_boot_ms = Some(deadline_boot_ms);
            }
            Entry::Kept => self.is_kept = true,
            Entry::Closed if self.open_changes().next().is_some() => {
                return Err("it closes a transaction with changes that have not ended".to_string());
            }
            Entry::Closed => self.is_closed = true,
        }
        Ok(())
    }
}

fn check(header: &Header, number: u64) -> Result<(), String> {
    match header {
        _ if header.version != VERSION => {
            Err(format!("version {} is not known here", header.version))
        }
        _ if header.transaction != number => {
            Err(format!("it is the header of transaction {}", header.transaction))
        }
        _ => Ok(()),
    }
}

/// A file to which lines can be added after its whole ones.
fn appendable(path: &Path, whole_bytes: u64) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.append(true).custom_flags(libc::O_NOFOLLOW).open(path)?;
    if file.metadata()?.len() > whole_bytes {
        file.set_len(whole_bytes)?;
    }
    Ok(file)
}

/// A transaction that is being written.
#[derive(Debug)]
pub(crate) struct Open {
    /// What its lines say.
    pub(crate) story: Story,
    /// The file, or why it takes no more lines.
    file: Result<File, ErrorKind>,
    path: PathBuf,
}

impl Open {
    /// A new file with its header.
    pub(super) fn create(path: &Path, story: Story, header: &Entry) -> Result<Self, TuneError> {
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path);
        let file = file.map_err(|error| TuneError::Journal { path: path.to_path_buf(), error })?;
        let mut open = Self { story, file: Ok(file), path: path.to_path_buf() };
        open.put(header)?;
        Ok(open)
    }

    /// Continues a transaction that another process started. The lock must be held. A torn line is
    /// cut off, so that the next one does not become a part of it.
    pub(crate) fn resume(path: &Path, story: Story) -> Result<Self, TuneError> {
        let file = appendable(path, story.whole_bytes);
        let file = file.map_err(|error| TuneError::Journal { path: path.to_path_buf(), error })?;
        Ok(Self { story, file: Ok(file), path: path.to_path_buf() })
    }

    /// Continues a transaction to put values back, which needs no further line: if the file takes
    /// none, as on a file system that has become read-only, each [`Self::append`] is an error.
    pub(crate) fn resume_to_put_back(path: &Path, story: Story) -> Self {
        let file = appendable(path, story.whole_bytes).map_err(|error| error.kind());
        Self { story, file, path: path.to_path_buf() }
    }

    /// Appends a line; it is on disk when this returns.
    pub(crate) fn append(&mut self, entry: Entry) -> Result<(), TuneError> {
        self.put(&entry)?;
        self.story.take(entry).map_err(|why| {
            let path = self.path.clone();
            TuneError::Unsafe { path, why }
        })
    }

    fn put(&mut self, entry: &Entry) -> Result<(), TuneError> {
        let error = |error| TuneError::Journal { path: self.path.clone(), error };
        let mut line = serde_json::to_vec(entry).map_err(|cause| error(cause.into()))?;
        line.push(b'\n');
        let file = match &mut self.file {
            Ok(file) => file,
            Err(kind) => return Err(error((*kind).into())),
        };
        let put = file.write_all(&line).and_then(|()| file.sync_all());
        if put.is_err() {
            // The next line must not follow half a line.
            let _ = file.set_len(self.story.whole_bytes);
        }
        put.map_err(error)?;
        self.story.whole_bytes += line.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;
    use crate::testing::MadeUp;
    use model::tuning::{Scope, TakesEffect};

    fn seen(value: &str) -> Seen {
        Seen { raw: value.to_string(), value: value.to_string() }
    }

    /// Two CPUs are online; a thread that was never pinned may use 128.
    #[test]
    fn threads_with_the_value_before_and_ours_are_a_change_that_ended_in_the_middle() {
        let host = MadeUp::two_cpus().host();
        let begin = Begin {
            seq: 0,
            knob: "T12".to_string(),
            name: "server-cpus".to_string(),
            scope: Scope::Process,
            takes_effect: TakesEffect::Now,
            is_disruptive: false,
            risk: String::new(),
            place: Place::Threads { pid: 7, started_ticks: 1 },
            before: seen("0-127"),
            wanted: "1".to_string(),
            settles_to: "1".to_string(),
            sign: None,
            device_index: None,
            group_inode: None,
            at_boot_ms: None,
        };
        let change = Recorded { begin, written: None, ended: None };
        for (value, is_half) in [
            ("threads differ: 0-127; 1", true),
            ("threads differ: 0-1; 1", true),
            ("threads differ: 0; 0-127; 1", false),
            ("0", false),
            ("1", false),
        ] {
            assert_eq!(change.is_half_done(&host, &seen(value)), is_half, "{value}");
        }
        let place = &change.begin.place;
        assert!(place.are_alike(&host, "0-127", "0-1") && !place.are_alike(&host, "0-127", "0"));
        assert!(!Place::number("/proc/sys/net/core/somaxconn").are_alike(&host, "0-127", "0-1"));
    }
}
