//! A change that its own process puts back, such as what an experiment turns back and forth on a
//! server.
//!
//! It is a transaction like all others, under the same lock: `ceiling tune status` shows it,
//! `ceiling tune revert` undoes it. It differs in how it ends. The process that made it puts it
//! back, also when it fails or panics. If that process was killed, the next start of `ceiling`
//! does.

use crate::apply::header;
use crate::clock;
use crate::error::TuneError;
use crate::host::Host;
use crate::journal::{Begin, Entry, Header, Journal, Open, Story};
use crate::place::{Place, PlaceError, Seen};
use crate::process;
use crate::revert::{self, Which, holder, is_abandoned};
use model::root::Root;
use model::tuning::{Fate, Row, Scope, TakesEffect};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Changes under way in this process.
static UNDER_WAY: AtomicU32 = AtomicU32::new(0);

/// Whether this process has changed a server and has not put it back yet. Safe in a signal handler.
pub fn is_changed() -> bool {
    UNDER_WAY.load(Ordering::SeqCst) > 0
}

/// What an experiment turns.
pub(crate) struct Turn {
    /// Its name, in place of a knob's.
    pub(crate) name: &'static str,
    /// Where it is.
    pub(crate) place: Place,
    /// What it is turned to.
    pub(crate) wanted: String,
    /// What it is for.
    pub(crate) note: &'static str,
    /// What it does.
    pub(crate) risk: &'static str,
}

impl Turn {
    /// What an experiment that confirms a verdict takes from a server.
    pub(crate) fn of_experiment(name: &'static str, place: Place, wanted: String) -> Self {
        let risk = "the server is slower while it lasts";
        Self { name, place, wanted, note: "--confirm", risk }
    }
}

/// A change under way. Its owner reverts it; dropping it, as a panic does, reverts it too.
#[derive(Debug)]
pub(crate) struct Held {
    host: Host,
    journal: Journal,
    transaction: u64,
    place: Place,
    before: Seen,
    wanted: String,
    is_over: bool,
}

impl Held {
    /// Journals the old value. Nothing may be changed before this.
    pub(crate) fn begin(host: Host, journal: Journal, turn: Turn) -> Result<Self, String> {
        let none = |why: TuneError| {
            let advice = "CEILING_TUNE_JOURNAL names another folder for it";
            format!("nothing was changed, because no journal can be kept: {why}; {advice}")
        };
        let Turn { name, place, wanted, note, risk } = turn;
        let us = std::process::id();
        let since = process::stat_on(&host.root, us).map_err(|why| why.why)?.started_ticks;
        let lock = journal.lock().map_err(none)?;
        journal.sweep(&lock).map_err(none)?;
        let (stories, _) = journal.stories().map_err(none)?;
        let is_same = |story: &&Story| {
            let shown = place.show();
            let mut changes = story.open_changes();
            holder(&host, story).is_some()
                && changes.any(|change| change.begin.place.show() == shown)
        };
        if let Some(story) = stories.iter().find(is_same) {
            let (shown, pid) = (place.show(), story.header.pid);
            return Err(format!("{shown}: an experiment of process {pid} is changing it now"));
        }
        place.check_sound()?;
        let before = place.read(&host).map_err(|why| why.to_string())?;
        let before = before.ok_or_else(|| format!("{}: it is gone", place.show()))?;
        let header = Header { held_since_ticks: Some(since), ..header(&host, None, note) };
        let begin = Begin {
            seq: 0,
            knob: "experiment".to_string(),
            name: name.to_string(),
            scope: Scope::Process,
            takes_effect: TakesEffect::Now,
            is_disruptive: false,
            risk: risk.to_string(),
            place: place.clone(),
            before: before.clone(),
            settles_to: place.settles_to(&wanted),
            wanted: wanted.clone(),
            sign: None,
            device_index: None,
            group_inode: None,
            at_boot_ms: Some(clock::boot_ms()),
        };
        UNDER_WAY.fetch_add(1, Ordering::SeqCst);
        let mut held = Self { host, journal, transaction: 0, place, before, wanted, is_over: true };
        let mut open = held.journal.begin(&lock, &header).map_err(none)?;
        held.transaction = open.story.header.transaction;
        open.append(Entry::Begin(begin)).map_err(none)?;
        held.is_over = false;
        Ok(held)
    }

    /// Turns it.
    pub(crate) fn turn(&self) -> Result<(), String> {
        self.write(&self.wanted)
    }

    /// Turns it back for a while.
    pub(crate) fn turn_back(&self) -> Result<(), String> {
        self.write(&self.before.value)
    }

    fn write(&self, value: &str) -> Result<(), String> {
        let told = |why: &dyn ToString| why.to_string();
        let _lock = self.journal.lock().map_err(|why| told(&why))?;
        // A write after a revert would be in no journal.
        let Ok(Some(story)) = self.journal.story(&self.transaction.to_string()) else {
            return Err(format!("{}: it was put back meanwhile", self.place.show()));
        };
        let now = self.place.read(&self.host).map_err(|why| told(&why))?;
        let now = now.ok_or_else(|| format!("{}: it is gone", self.place.show()))?;
        if now.value == value {
            return Ok(());
        }
        if ![&self.before.value, &self.wanted].contains(&&now.value) {
            return Err(format!("{}: another program set '{}'", self.place.show(), now.value));
        }
        self.place.write(&self.host, value, &now).map_err(|why| told(&why))?;
        let back = self.place.read_back(&self.host).map_err(|why| told(&why))?;
        let back = back.ok_or_else(|| format!("{}: it is gone", self.place.show()))?;
        if self.is_at(&back, value) {
            return Ok(());
        }
        let meant = self.place.settles_to(value);
        let why = format!("it reads back as '{}', not as '{meant}'", back.value);
        // Known to a revert as ours.
        let file = self.journal.file(self.transaction);
        let written = Entry::Written { seq: 0, seen: back };
        Open::resume(&file, story)
            .and_then(|mut open| open.append(written))
            .map_err(|why| told(&why))?;
        Err(format!("{}: {why}", self.place.show()))
    }

    fn is_at(&self, now: &Seen, value: &str) -> bool {
        self.place.are_alike(&self.host, &now.value, &self.place.settles_to(value))
    }

    /// Puts the old value back. On failure the journal keeps the entry, and the error reports it.
    pub(crate) fn revert(mut self) -> Result<(), String> {
        let done = self.put_back();
        // Trying once is enough.
        self.is_over = true;
        done.map_err(|why| {
            let file = self.journal.file(self.transaction);
            format!(
                "{why}; the next start of ceiling on this host tries again, from {}",
                file.display()
            )
        })
    }

    fn put_back(&mut self) -> Result<(), String> {
        if self.is_over {
            return Ok(());
        }
        let which = Which::Transaction(self.transaction.to_string());
        let rows = match revert::revert(&self.host, &self.journal, &which, &mut |_| {}) {
            // Another process put it back, and its journal entry is no longer kept; or the journal
            // was removed.
            Err(TuneError::Unknown { .. }) => {
                self.is_over = true;
                return self.put_back_alone();
            }
            rows => rows.map_err(|why| why.to_string())?,
        };
        self.is_over = true;
        trouble(&rows).map_or(Ok(()), |why| {
            Err(format!("{why}; before the experiment it was '{}'", self.before.value))
        })
    }

    /// Without a journal: what this process has in memory is enough.
    fn put_back_alone(&self) -> Result<(), String> {
        let told = |why: PlaceError| why.to_string();
        match self.place.read(&self.host).map_err(told)? {
            Some(now)
                if self.is_at(&now, &self.wanted) && !self.is_at(&now, &self.before.value) =>
            {
                self.place.write(&self.host, &self.before.value, &now).map_err(told)?;
                let back = self.place.read_back(&self.host).map_err(told)?;
                match back.filter(|back| !self.is_at(back, &self.before.value)) {
                    None => Ok(()),
                    Some(back) => Err(format!("{}: it is '{}'", self.place.show(), back.value)),
                }
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // What fails here stays in the journal, and the next start tries again and reports it.
        let _ = self.put_back();
        UNDER_WAY.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Why a place is not as it was.
fn trouble(rows: &[Row]) -> Option<String> {
    let row = rows.iter().find(|row| !matches!(row.fate, Fate::Reverted | Fate::Gone))?;
    Some(format!("{}: {}", row.place, row.note))
}

/// Puts back what killed runs had changed; returns what to report about it.
pub fn put_back_abandoned(root: &Root, folder: &Path) -> Vec<String> {
    let refused = |why: &dyn ToString| {
        let why = why.to_string();
        format!("a journal of changes is not trusted, and nothing in it was carried out: {why}")
    };
    let journal = match Journal::open(folder) {
        Ok(journal) => journal,
        // The folder belongs to root, and we are not root.
        Err(TuneError::Journal { error, .. }) if is_denied(&error) => return Vec::new(),
        Err(why) => return vec![refused(&why)],
    };
    let (stories, damaged) = match journal.stories() {
        Ok(stories) => stories,
        Err(TuneError::Journal { error, .. }) if is_denied(&error) => return Vec::new(),
        Err(why) => return vec![refused(&why)],
    };
    let mut told: Vec<String> = damaged.iter().map(|why| refused(why)).collect();
    if stories.is_empty() {
        return told;
    }
    let host = Host::look(root.clone());
    let abandoned = stories.iter().filter(|story| is_abandoned(&host, story));
    told.extend(abandoned.filter_map(|story| put_back_one(&host, &journal, story)));
    told
}

fn is_denied(error: &std::io::Error) -> bool {
    error.kind() == ErrorKind::PermissionDenied
}

fn put_back_one(host: &Host, journal: &Journal, story: &Story) -> Option<String> {
    let (pid, which) = (story.header.pid, Which::Transaction(story.id()));
    let told =
        format!("put back what an experiment of process {pid}, which was killed, had changed");
    let done = match revert::revert(host, journal, &which, &mut |_| {}) {
        // A restart of the host undid it.
        Ok(_) | Err(TuneError::EntryStays { .. }) if story.header.boot_id != host.boot_id => {
            return None;
        }
        Ok(rows) => trouble(&rows).map_or(Ok(()), Err),
        Err(TuneError::EntryStays { rows, error }) if trouble(&rows).is_none() => {
            return Some(format!("{told}; its entry cannot be closed: {error}"));
        }
        Err(why) => Err(why.to_string()),
    };
    Some(match done {
        Ok(()) => told,
        Err(why) => format!(
            "process {pid} was killed in an experiment, and what it changed cannot be put back: \
             {why}; see {}",
            journal.file(story.header.transaction).display()
        ),
    })
}

#[cfg(test)]
mod tests;
