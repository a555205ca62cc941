//! The watchdog: a separate process that puts a transaction back at its deadline, unless the user
//! keeps it first.
//!
//! It shares only the journal with the process that applied, so it works after a cut connection, a
//! closed shell or a killed process.

use crate::apply::DEADLINE_MAX;
use crate::clock;
use crate::error::TuneError;
use crate::host::Host;
use crate::journal::{Entry, Journal, Lock, Open, Story};
use crate::revert::{Which, is_overdue, left_ms, revert_locked};
use model::tuning::{Fate, Row};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How often the watchdog checks: rarely while the deadline is far, because it may run on the host
/// of a server under measurement.
const LOOK: Duration = Duration::from_millis(50);
const LOOK_FAR: Duration = Duration::from_millis(500);
/// The time left from which it checks more often.
const NEAR_MS: u64 = 2_000;
/// How many times it retries when the kernel or another process prevents the revert.
const TRIES: u32 = 120;
const AGAIN: Duration = Duration::from_millis(500);

/// How a watch ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Watched {
    /// The user kept it, or put it back in time.
    Settled,
    /// The deadline passed: what became of each change.
    PutBack(Vec<Row>),
}

/// Lets a transaction stay: its deadline no longer counts. It can still be put back. An error when
/// it is too late, also for all transactions when the last one with a deadline is closed.
pub fn keep(host: &Host, journal: &Journal, which: &Which) -> Result<Vec<String>, TuneError> {
    let lock = journal.lock()?;
    let closed = |transaction: &str| TuneError::TooLate {
        transaction: transaction.to_string(),
        why: "it was put back already".to_string(),
    };
    let stories = match which {
        Which::All => {
            let (mut stories, _) = journal.stories()?;
            let late = missed(host, journal, &stories);
            stories.retain(|story| left_ms(host, story).is_some());
            if let Some(late) = late.filter(|_| stories.is_empty()) {
                return Err(closed(&late.id()));
            }
            stories
        }
        Which::Transaction(transaction) => {
            let story = journal.story(transaction)?;
            vec![story.ok_or_else(|| closed(transaction))?]
        }
    };
    let mut kept = Vec::new();
    for story in stories {
        let transaction = story.id();
        if is_overdue(host, &story) {
            let why = "its deadline has passed; it is being put back".to_string();
            return Err(TuneError::TooLate { transaction, why });
        }
        if left_ms(host, &story).is_some() {
            let file = journal.file(story.header.transaction);
            Open::resume(&file, story)?.append(Entry::Kept)?;
        }
        kept.push(transaction);
    }
    drop(lock);
    Ok(kept)
}

/// The newest closed transaction, when it had a deadline and was not kept, and no later one that is
/// open was kept.
fn missed(host: &Host, journal: &Journal, stories: &[Story]) -> Option<Story> {
    let closed = journal.newest_done()?;
    let is_later = |story: &Story| story.header.transaction > closed.header.transaction;
    let is_kept_since = stories.iter().any(|story| story.is_kept() && is_later(story));
    (!is_kept_since && left_ms(host, &closed).is_some()).then_some(closed)
}

/// Moves the deadline of a transaction that has one to `left` from now. An error when it is too
/// late.
pub fn extend(
    host: &Host,
    journal: &Journal,
    transaction: &str,
    left: Duration,
) -> Result<(), TuneError> {
    let late = |why: &str| TuneError::TooLate {
        transaction: transaction.to_string(),
        why: why.to_string(),
    };
    let _lock = journal.lock()?;
    let story = journal.story(transaction)?;
    let story = story.ok_or_else(|| late("it was put back already"))?;
    if is_overdue(host, &story) {
        return Err(late("its deadline has passed; it is being put back"));
    }
    if left_ms(host, &story).is_none() {
        return Ok(());
    }
    let left_ms = left.min(DEADLINE_MAX).as_millis() as u64;
    let file = journal.file(story.header.transaction);
    let deadline_boot_ms = clock::boot_ms() + left_ms;
    Open::resume(&file, story)?.append(Entry::Extended { deadline_boot_ms })
}

/// Watches a transaction until it is kept, put back, or overdue; then puts it back. `ready` is
/// called once it is watching. `stop` makes it put everything back at once.
pub fn guard(
    host: &Host,
    journal: &Journal,
    transaction: &str,
    stop: &AtomicBool,
    ready: &mut dyn FnMut(),
) -> Result<Watched, TuneError> {
    journal.story(transaction)?;
    ready();
    let mut misses = 0;
    loop {
        let story = match journal.story(transaction) {
            // For example when the host has no descriptors left for a moment.
            Err(TuneError::Journal { .. }) if misses < TRIES => {
                misses += 1;
                thread::sleep(AGAIN);
                continue;
            }
            read => read?,
        };
        misses = 0;
        let Some(story) = story else { return Ok(Watched::Settled) };
        let Some(left) = left_ms(host, &story) else { return Ok(Watched::Settled) };
        if left == 0 || stop.load(Ordering::SeqCst) {
            if let Some(watched) = put_back(host, journal, transaction, stop)? {
                return Ok(watched);
            }
            continue;
        }
        let look = if left > NEAR_MS { LOOK_FAR } else { LOOK };
        thread::sleep(look.min(Duration::from_millis(left)));
    }
}

/// Retries for a while: a device that is being set up again refuses for a moment. Nothing when the
/// transaction may stay after all.
fn put_back(
    host: &Host,
    journal: &Journal,
    transaction: &str,
    stop: &AtomicBool,
) -> Result<Option<Watched>, TuneError> {
    let which = Which::Transaction(transaction.to_string());
    // With the lock: it may have been kept, or its deadline moved, in the last moment.
    let due = |lock: &Lock| -> Result<Option<Vec<Row>>, TuneError> {
        let left = journal.story(transaction)?.map(|story| left_ms(host, &story));
        let may_stay = match left {
            Some(None) => true,
            Some(Some(left)) => left > 0 && !stop.load(Ordering::SeqCst),
            None => false,
        };
        if may_stay {
            return Ok(None);
        }
        revert_locked(host, journal, lock, &which, &mut |_| {}).map(Some)
    };
    let mut tries = 0;
    loop {
        tries += 1;
        let done = journal.lock().and_then(|lock| due(&lock));
        let is_done = match &done {
            Ok(None) => true,
            // Trouble of the journal alone keeps no value from being put back.
            Ok(Some(rows)) | Err(TuneError::EntryStays { rows, .. }) => {
                !rows.iter().any(|row| row.fate == Fate::Failed)
            }
            Err(TuneError::Busy { .. } | TuneError::Journal { .. }) => false,
            Err(_) => true,
        };
        if is_done || tries == TRIES {
            return Ok(done?.map(Watched::PutBack));
        }
        thread::sleep(AGAIN);
    }
}

/// Milliseconds since the boot of this host, the clock of deadlines.
pub fn now_boot_ms() -> u64 {
    clock::boot_ms()
}
