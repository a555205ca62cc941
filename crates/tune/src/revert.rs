//! Puts changes back: newest first, in reverse order, by compare and swap.

use crate::children;
use crate::clock;
use crate::error::TuneError;
use crate::host::Host;
use crate::journal::{Begin, ChangeEnd, Entry, Header, Journal, Lock, Open, Recorded, Story};
use crate::namespace;
use crate::place::Place;
use crate::process;
use crate::reach::{Elsewhere, Reach};
use model::tuning::{Fate, Row};

/// What to put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// Every transaction that is open.
    All,
    /// This one.
    Transaction(String),
}

/// Puts changes back where no other program changed the value since. Each change is one row,
/// reported as it happens. Also works after a crash, in another process, and after a restart of the
/// host. A journal that takes no more lines keeps no value from being put back: that is reported
/// after everything was tried.
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

/// Puts transactions back, for a caller that holds the lock.
pub(crate) fn revert_locked(
    host: &Host,
    journal: &Journal,
    lock: &Lock,
    which: &Which,
    tell: &mut dyn FnMut(&Row),
) -> Result<Vec<Row>, TuneError> {
    let mut trouble = journal.sweep(lock).err();
    let (stories, damaged) = match which {
        Which::All => journal.stories()?,
        Which::Transaction(transaction) => {
            (journal.story(transaction)?.into_iter().collect(), Vec::new())
        }
    };
    let mut rows = Vec::new();
    for story in stories {
        let (done, kept) = put_back_story(host, journal, lock, story, tell);
        rows.extend(done);
        trouble = trouble.or(kept.err());
    }
    // The readable entries are put back by now; the rest must be reported.
    damaged.into_iter().next().map_or_else(|| after_all(rows, trouble), Err)
}

/// The rows, with the first trouble that the journal made meanwhile.
fn after_all(rows: Vec<Row>, trouble: Option<TuneError>) -> Result<Vec<Row>, TuneError> {
    match trouble {
        None => Ok(rows),
        Some(error) => Err(TuneError::EntryStays { rows, error: Box::new(error) }),
    }
}

/// Puts back transactions whose deadline passed without a watchdog, and those whose process ended
/// without putting them back.
pub(crate) fn overdue(
    host: &Host,
    journal: &Journal,
    lock: &Lock,
    tell: &mut dyn FnMut(&Row),
) -> Result<Vec<Row>, TuneError> {
    let (stories, _) = journal.stories()?;
    let (mut rows, mut trouble) = (Vec::new(), None);
    for story in stories.into_iter().filter(|story| is_left(host, story)) {
        let (done, kept) = put_back_story(host, journal, lock, story, tell);
        rows.extend(done);
        trouble = trouble.or(kept.err());
    }
    after_all(rows, trouble)
}

fn is_left(host: &Host, story: &Story) -> bool {
    is_overdue(host, story) || is_abandoned(host, story)
}

/// Whether the deadline has passed and the user did not keep the transaction.
pub(crate) fn is_overdue(host: &Host, story: &Story) -> bool {
    left_ms(host, story) == Some(0)
}

/// Milliseconds until a transaction is put back; nothing when it may stay.
pub(crate) fn left_ms(host: &Host, story: &Story) -> Option<u64> {
    let deadline = story.header.deadline_boot_ms.filter(|_| !story.is_kept())?;
    let is_this_boot = story.header.boot_id == host.boot_id;
    is_this_boot.then(|| deadline.saturating_sub(clock::boot_ms()))
}

/// What became of each change of a transaction, and whether the journal has it.
fn put_back_story(
    host: &Host,
    journal: &Journal,
    lock: &Lock,
    story: Story,
    tell: &mut dyn FnMut(&Row),
) -> (Vec<Row>, Result<(), TuneError>) {
    let file = journal.file(story.header.transaction);
    let mut open = Open::resume_to_put_back(&file, story);
    let (rows, recorded) = put_back_all(host, &mut open, Absent::Ends, tell);
    (rows, recorded.and(close(journal, lock, open)))
}

/// What happens to a change whose place does not exist any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absent {
    /// It ends.
    Ends,
    /// It stays open: it was there a moment ago, when we wrote to it.
    Stays,
}

/// Puts back every change of a transaction that has not ended, the last one first. Returns what
/// became of each, and whether the journal has it.
pub(crate) fn put_back_all(
    host: &Host,
    open: &mut Open,
    absent: Absent,
    tell: &mut dyn FnMut(&Row),
) -> (Vec<Row>, Result<(), TuneError>) {
    let foreign = namespace::foreign_sys(&host.root);
    let changes: Vec<Recorded> = open.story.open_changes().rev().cloned().collect();
    let (mut rows, mut recorded) = (Vec::new(), Ok(()));
    for change in changes {
        let foreign = foreign.as_deref();
        let reach = Reach { host, header: &open.story.header, foreign };
        let (row, ended) = Around { reach, absent }.put_back(&change);
        if let Some(how) = ended {
            // If this cannot be written, the next revert finds the value as it was before.
            recorded = recorded.and(open.append(Entry::Ended { seq: change.begin.seq, how }));
        }
        tell(&row);
        rows.push(row);
    }
    (rows, recorded)
}

/// Closes a transaction when nothing is left of it.
pub(crate) fn close(journal: &Journal, lock: &Lock, mut open: Open) -> Result<(), TuneError> {
    if open.story.open_changes().next().is_some() {
        return Ok(());
    }
    open.append(Entry::Closed)?;
    journal.put_away(lock, open.story.header.transaction)
}

/// Putting one change back.
struct Around<'a> {
    reach: Reach<'a>,
    absent: Absent,
}

impl Around<'_> {
    fn put_back(&self, change: &Recorded) -> (Row, Option<ChangeEnd>) {
        let begin = &change.begin;
        let (now, fate, note) = match self.reach.elsewhere(begin) {
            Some(Elsewhere::Ended(why)) => (None, Fate::Gone, why),
            Some(Elsewhere::Hidden(why)) => (None, Fate::Refused, why),
            None => self.compare_and_swap(change),
        };
        let ended = match fate {
            Fate::Reverted => Some(ChangeEnd::Reverted),
            Fate::Gone if self.absent == Absent::Ends => Some(ChangeEnd::Gone),
            // Nothing that was written outlives a boot: whatever it is now, it is not ours.
            Fate::Drifted if self.reach.is_earlier_boot() => Some(ChangeEnd::Gone),
            _ => None,
        };
        (begin.row(now, fate, note), ended)
    }

    /// The note on a place that is not there.
    fn absence(&self, begin: &Begin) -> (Option<String>, Fate, String) {
        match self.reach.absence(&begin.place) {
            Elsewhere::Ended(why) => (None, Fate::Gone, why),
            Elsewhere::Hidden(why) => (None, Fate::Failed, why),
        }
    }

    fn compare_and_swap(&self, change: &Recorded) -> (Option<String>, Fate, String) {
        let begin = &change.begin;
        let host = self.reach.host;
        let present = match begin.place.read(host) {
            Ok(Some(present)) => present,
            Ok(None) => return self.absence(begin),
            Err(error) => return (None, Fate::Failed, error.why()),
        };
        if self.reach.is_earlier_boot() {
            return since_the_restart(begin, present.value);
        }
        if begin.place.are_alike(host, &present.value, &begin.before.value) {
            let done = (Some(present.value), "it was as before already".to_string());
            return self.and_its_heirs(change, done);
        }
        if !change.is_ours(&present) && !change.is_half_done(host, &present) {
            let note = drifted(begin, &present.value);
            return (Some(present.value), Fate::Drifted, note);
        }
        if let Err(error) = begin.place.write(host, &begin.before.value, &present) {
            return (Some(present.value), Fate::Failed, error.why());
        }
        match begin.place.read_back(host) {
            Ok(Some(back)) if begin.place.are_alike(host, &back.value, &begin.before.value) => {
                let mut note = format!("was {}", shown(&present.value));
                let (now, then) = (back.raw.trim(), begin.before.raw.trim());
                if matches!(begin.place, Place::Qdisc { .. }) && now != then {
                    note += &format!("; the kernel's own is {now} now, and was {then} before");
                }
                self.and_its_heirs(change, (Some(back.value), note))
            }
            Ok(Some(back)) => {
                let why =
                    format!("it reads back as '{}', not as '{}'", back.value, begin.before.value);
                (Some(back.value), Fate::Failed, why)
            }
            Ok(None) => self.absence(begin),
            Err(error) => (None, Fate::Failed, error.why()),
        }
    }

    /// Also puts back processes that this one started meanwhile, which inherited its value.
    fn and_its_heirs(
        &self,
        change: &Recorded,
        (now, note): (Option<String>, String),
    ) -> (Option<String>, Fate, String) {
        match children::put_back(self.reach.host, change) {
            Ok(heirs) => (now, Fate::Reverted, format!("{note}{}", heirs.unwrap_or_default())),
            Err(why) => (now, Fate::Failed, why),
        }
    }
}

/// The note on a change from before a reboot.
fn since_the_restart(begin: &Begin, present: String) -> (Option<String>, Fate, String) {
    if present == begin.before.value {
        let why = "the host was restarted since, and it is as it was before";
        return (Some(present), Fate::Gone, why.to_string());
    }
    let why = format!(
        "the host was restarted since; before our change it was '{}'; now another program set \
         '{present}'",
        begin.before.value
    );
    (Some(present), Fate::Drifted, why)
}

/// What to do about a value that is neither ours nor the one before.
pub(crate) fn drifted(begin: &Begin, present: &str) -> String {
    format!(
        "another program set '{present}' after ceiling wrote '{}'; left alone; before, it was \
         '{}': set that by hand if you want it, then revert again",
        begin.wanted, begin.before.value
    )
}

/// A value in a sentence; an empty set of CPUs is a value, too.
pub(crate) fn shown(value: &str) -> &str {
    if value.is_empty() { "none" } else { value }
}

/// The process that puts a transaction back when it ends, while it lives.
pub(crate) fn holder(host: &Host, story: &Story) -> Option<u32> {
    let Header { pid, held_since_ticks, pid_namespace, boot_id, .. } = &story.header;
    let since = (*held_since_ticks)?;
    let is_seen = *pid_namespace == host.pid_namespace;
    let is_there = match process::stat_if_there_on(&host.root, *pid) {
        _ if *boot_id != host.boot_id => false,
        // Also when that cannot be read: another run's change is not ours to put back.
        Err(_) => true,
        Ok(stat) => {
            stat.is_some_and(|stat| stat.started_ticks == since && !stat.has_ended()) || !is_seen
        }
    };
    is_there.then_some(*pid)
}

/// Whether the process that should have put a transaction back is gone.
pub(crate) fn is_abandoned(host: &Host, story: &Story) -> bool {
    story.header.held_since_ticks.is_some() && holder(host, story).is_none()
}
