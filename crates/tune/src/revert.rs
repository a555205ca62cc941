//! Putting back: newest first, in reverse order, by compare and swap.

use crate::apply::shown;
use crate::clock;
use crate::error::TuneError;
use crate::host::Host;
use crate::journal::{Begin, Ended, Entry, Header, Journal, Lock, Open, Recorded, Story};
use crate::namespace;
use model::tuning::{Fate, Row, Scope};

/// What to put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// Every transaction that is open.
    All,
    /// This one.
    Transaction(String),
}

/// Puts back what was changed, where nobody else changed it since. A row for each change, told as
/// it happens. Works as well after a crash, in another process, and after a restart of the host.
pub fn revert(
    host: &Host,
    journal: &Journal,
    which: &Which,
    tell: &mut dyn FnMut(&Row),
) -> Result<Vec<Row>, TuneError> {
    if !journal.folder().exists() {
        return match which {
            Which::All => Ok(Vec::new()),
            Which::Transaction(transaction) => {
                Err(TuneError::Unknown { transaction: transaction.clone() })
            }
        };
    }
    let lock = journal.lock()?;
    revert_locked(host, journal, &lock, which, tell)
}

/// The same by whoever has the lock.
pub(crate) fn revert_locked(
    host: &Host,
    journal: &Journal,
    lock: &Lock,
    which: &Which,
    tell: &mut dyn FnMut(&Row),
) -> Result<Vec<Row>, TuneError> {
    journal.sweep(lock)?;
    let (stories, damaged) = match which {
        Which::All => journal.stories()?,
        Which::Transaction(transaction) => {
            (journal.story(transaction)?.into_iter().collect(), Vec::new())
        }
    };
    let mut rows = Vec::new();
    for story in stories {
        rows.extend(put_back_story(host, journal, lock, story, tell)?);
    }
    // What could be understood is put back by now; the rest must be told.
    damaged.into_iter().next().map_or(Ok(rows), Err)
}

/// Puts back transactions whose deadline passed while nobody watched.
pub(crate) fn overdue(
    host: &Host,
    journal: &Journal,
    lock: &Lock,
    tell: &mut dyn FnMut(&Row),
) -> Result<Vec<Row>, TuneError> {
    let (stories, _) = journal.stories()?;
    let mut rows = Vec::new();
    for story in stories.into_iter().filter(|story| is_overdue(host, story)) {
        rows.extend(put_back_story(host, journal, lock, story, tell)?);
    }
    Ok(rows)
}

/// Whether a deadline has passed that nobody lifted.
pub(crate) fn is_overdue(host: &Host, story: &Story) -> bool {
    left_ms(host, story) == Some(0)
}

/// Milliseconds until a transaction is put back; nothing when it may stay.
pub(crate) fn left_ms(host: &Host, story: &Story) -> Option<u64> {
    let deadline = story.header.deadline_boot_ms.filter(|_| !story.is_kept())?;
    let is_this_boot = story.header.boot_id == host.boot_id;
    is_this_boot.then(|| deadline.saturating_sub(clock::boot_ms()))
}

fn put_back_story(
    host: &Host,
    journal: &Journal,
    lock: &Lock,
    story: Story,
    tell: &mut dyn FnMut(&Row),
) -> Result<Vec<Row>, TuneError> {
    let file = journal.file(story.header.transaction);
    let mut open = Open::resume(&file, story)?;
    let rows = put_back_all(host, &mut open, tell);
    close(journal, lock, open)?;
    Ok(rows)
}

/// Every change of a transaction that is not over, the last one first.
pub(crate) fn put_back_all(host: &Host, open: &mut Open, tell: &mut dyn FnMut(&Row)) -> Vec<Row> {
    let foreign = namespace::foreign_sys(host);
    let changes: Vec<Recorded> = open.story.open_changes().rev().cloned().collect();
    let mut rows = Vec::new();
    for change in changes {
        let around = Around { host, header: &open.story.header, foreign: foreign.as_deref() };
        let (row, ended) = around.put_back(&change);
        if let Some(how) = ended {
            // When this cannot be written, the next revert finds the value as it was before.
            let _ = open.append(Entry::Ended { seq: change.begin.seq, how });
        }
        tell(&row);
        rows.push(row);
    }
    rows
}

/// Closes a transaction when nothing is left of it.
pub(crate) fn close(journal: &Journal, lock: &Lock, mut open: Open) -> Result<(), TuneError> {
    if open.story.open_changes().next().is_some() {
        return Ok(());
    }
    open.append(Entry::Closed)?;
    journal.put_away(lock, open.story.header.transaction)
}

/// Where a change was made, and where we are.
struct Around<'a> {
    host: &'a Host,
    header: &'a Header,
    foreign: Option<&'a str>,
}

impl Around<'_> {
    fn put_back(&self, change: &Recorded) -> (Row, Option<Ended>) {
        let begin = &change.begin;
        let (now, fate, note) = match self.elsewhere(begin) {
            Some((fate, why)) => (None, fate, why),
            None => self.compare_and_swap(change),
        };
        let ended = match fate {
            Fate::Reverted => Some(Ended::Reverted),
            Fate::Gone => Some(Ended::Gone),
            // Nothing that was written outlives a boot: whatever it is now, it is not ours.
            Fate::Drifted if self.is_earlier_boot() => Some(Ended::Gone),
            _ => None,
        };
        (begin.row(now, fate, note), ended)
    }

    fn is_earlier_boot(&self) -> bool {
        self.header.boot_id != self.host.boot_id
    }

    /// Why it cannot be put back from here; nothing when it can.
    fn elsewhere(&self, begin: &Begin) -> Option<(Fate, String)> {
        if self.host.boot_id.is_empty() {
            let why = "/proc is not readable here, so nothing is known of this host";
            return Some((Fate::Refused, why.to_string()));
        }
        let is_bound = matches!(begin.scope, Scope::Namespace | Scope::Device);
        let namespace = &self.header.namespace;
        if is_bound && !self.is_earlier_boot() && *namespace != self.host.namespace {
            if !namespace::is_alive(self.host, namespace) {
                let why = "no process and no name has its network namespace any more; its values \
                           ended with it";
                return Some((Fate::Gone, why.to_string()));
            }
            return Some((
                Fate::Refused,
                format!(
                    "it belongs to network namespace {namespace}; revert there: ip netns exec \
                     NAME ceiling tune revert (of a process: first ip netns attach NAME PID)"
                ),
            ));
        }
        let why = self.foreign.filter(|_| begin.place.is_in_sys_of_devices())?;
        Some((Fate::Refused, why.to_string()))
    }

    /// Whether a file is not there only because none of its kind is.
    fn is_without_sys(&self, begin: &Begin) -> bool {
        let is_below = begin.place.path().is_some_and(|path| path.starts_with("/sys/"));
        is_below && !self.host.root.path("/sys/devices/system/cpu").exists()
    }

    fn compare_and_swap(&self, change: &Recorded) -> (Option<String>, Fate, String) {
        let begin = &change.begin;
        let present = match begin.place.read(self.host) {
            Ok(Some(present)) => present,
            Ok(None) if self.is_without_sys(begin) => {
                let why = "/sys is not mounted here, so nothing is known of it";
                return (None, Fate::Refused, why.to_string());
            }
            Ok(None) => return (None, Fate::Gone, "what it belonged to is gone".to_string()),
            Err(error) => return (None, Fate::Failed, error.why()),
        };
        let now = Some(present.value.clone());
        if self.is_earlier_boot() {
            return if present.value == begin.before.value {
                let why = "the host was started again since, and it is as it was before";
                (now, Fate::Gone, why.to_string())
            } else {
                let why = format!(
                    "the host was started again since; before our change it was '{}', now \
                     somebody set '{}'",
                    begin.before.value, present.value
                );
                (now, Fate::Drifted, why)
            };
        }
        if present.value == begin.before.value {
            return (now, Fate::Reverted, "it was as before already".to_string());
        }
        if !change.is_ours(&present) {
            return (now, Fate::Drifted, drifted(begin, &present.value));
        }
        if let Err(error) = begin.place.write(self.host, &begin.before.value, &present) {
            return (now, Fate::Failed, error.why());
        }
        match begin.place.read(self.host) {
            Ok(Some(back)) if back.value == begin.before.value => {
                (Some(back.value), Fate::Reverted, format!("was {}", shown(&present.value)))
            }
            Ok(Some(back)) => {
                let why =
                    format!("it reads back as '{}', not as '{}'", back.value, begin.before.value);
                (Some(back.value), Fate::Failed, why)
            }
            Ok(None) => (None, Fate::Gone, "what it belonged to is gone".to_string()),
            Err(error) => (None, Fate::Failed, error.why()),
        }
    }
}

/// What to do about a value that is neither ours nor the one before.
pub(crate) fn drifted(begin: &Begin, present: &str) -> String {
    format!(
        "somebody else set '{present}' since we wrote '{}'; left alone; before us it was '{}': set \
         that by hand if it is meant, then revert again",
        begin.wanted, begin.before.value
    )
}
