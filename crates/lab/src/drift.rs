//! Watches, during a run, the values that `ceiling tune` changed on this host.
//!
//! The first look says which changes belong to the run; whatever differs from it later has drifted,
//! even if it was put back in order, or changed only since. A thread looks twice a second, and once
//! more when a level has ended: if the host has no CPU time for the thread, that look sees what
//! happened in the window. The thread shares nothing with the workers, and without a change it only
//! reads the names in one folder.
//!
//! While another process makes changes or puts them back, a part of them is done and the journal
//! does not say so yet. A look waits until that process is ready, so what it says does not depend
//! on the moment.
//!
//! A journal without read permission is reported as such, because changes on the host are then
//! unknown.

use model::facts::{TunedValue, Unreadable};
use model::reading::{Data, Reading, TuningNow};
use model::root::Root;
use model::tuning::{Fate, Row};
use rustix::time::{ClockId, clock_gettime};
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tune::{Host, Journal};

/// How often the places are read again.
const PERIOD: Duration = Duration::from_millis(500);
/// How long a look waits for a process that makes changes, while others wait for the look.
const BRIEFLY: Duration = Duration::from_millis(100);
/// How long a look in a thread of its own waits for a process that makes changes.
const PATIENTLY: Duration = Duration::from_secs(3);
/// How often it tries again meanwhile.
const STEP: Duration = Duration::from_millis(5);

/// The changes on this host now; `None` without a journal, or when it cannot be read.
pub fn tuned() -> Option<Vec<TunedValue>> {
    let folder = tune::journal_folder();
    if !fs::exists(&folder).ok()? {
        return None;
    }
    let value = |one: InForce| TunedValue {
        knob: one.row.knob,
        place: one.row.place,
        wanted: one.row.wanted.unwrap_or_default(),
        now: one.row.now,
    };
    let found = find(&Root::default(), &folder, PATIENTLY).ok()?;
    Some(found.into_iter().map(value).collect())
}

/// A change that was made and not put back.
#[derive(Debug, Clone)]
struct InForce {
    transaction: String,
    row: Row,
}

impl InForce {
    fn is(&self, other: &Self) -> bool {
        self.transaction == other.transaction && self.row.place == other.row.place
    }
}

/// Changes of this namespace and host; those of others cannot be read from here.
fn find(root: &Root, folder: &Path, patience: Duration) -> Result<Vec<InForce>, String> {
    match has_transactions(folder) {
        Ok(true) => {}
        Ok(false) => return Ok(Vec::new()),
        Err(error) => return Err(format!("{}: {error}", folder.display())),
    }
    let journal = Journal::open(folder).map_err(|error| error.to_string())?;
    let _quiet = quiet(folder, patience)?;
    let standing = tune::standing(&Host::look(root.clone()), &journal);
    let of = |one: tune::InForce| {
        let transaction = one.transaction;
        one.rows.into_iter().map(move |row| InForce { transaction: transaction.clone(), row })
    };
    let standing = standing.map_err(|error| error.to_string())?.into_iter();
    // What an experiment changes back and forth is not tuning.
    let mut all: Vec<_> = standing.filter(|one| one.held_by.is_none()).flat_map(of).collect();
    all.retain(|one| one.row.fate != Fate::Refused);
    Ok(all)
}

/// Waits until no process makes changes, and keeps others from it while the result lives: they hold
/// the same lock, and wait for it. Nothing for a journal that never had a lock.
fn quiet(folder: &Path, patience: Duration) -> Result<Option<File>, String> {
    let path = folder.join("lock");
    let error_words = |error: std::io::Error| format!("{}: {error}", path.display());
    let lock = match File::open(&path) {
        Ok(lock) => lock,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error_words(error)),
    };
    let begin = Instant::now();
    loop {
        match lock.try_lock_shared() {
            Ok(()) => return Ok(Some(lock)),
            Err(TryLockError::Error(error)) => return Err(error_words(error)),
            Err(TryLockError::WouldBlock) if begin.elapsed() < patience => thread::sleep(STEP),
            Err(TryLockError::WouldBlock) => {
                return Err(format!("{}: another process is making changes", path.display()));
            }
        }
    }
}

/// Whether a journal has an open transaction: checked twice a second on every host.
fn has_transactions(folder: &Path) -> std::io::Result<bool> {
    match fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.any(|entry| {
            entry.is_ok_and(|entry| entry.path().extension().is_some_and(|end| end == "jsonl"))
        })),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Looks repeatedly, and keeps what the first look found.
#[derive(Debug)]
pub struct Looks {
    root: Root,
    folder: PathBuf,
    patience: Duration,
    first: Option<Vec<InForce>>,
}

impl Looks {
    /// For the changes in the journal of this folder. A look waits only briefly for a process that
    /// is making changes, and is then reported as one that failed.
    pub fn at(folder: PathBuf) -> Self {
        Self { root: Root::default(), folder, patience: BRIEFLY, first: None }
    }

    /// The current changes, and those that differ from the first look; `None` when nothing is or
    /// was changed.
    pub fn look(&mut self) -> Option<Reading> {
        let begin_ns = now_ns();
        let data = match find(&self.root, &self.folder, self.patience) {
            Ok(found) => Data::Tuning(self.compare(found)?),
            Err(why) => Data::Unreadable(Unreadable { source: TuningNow::SOURCE.to_string(), why }),
        };
        Some(Reading { begin_ns, end_ns: now_ns(), data })
    }

    fn compare(&mut self, found: Vec<InForce>) -> Option<TuningNow> {
        let first = self.first.get_or_insert_with(|| found.clone());
        if first.is_empty() && found.is_empty() {
            return None;
        }
        let places = found.len() as u32;
        let is_in = |all: &[InForce], one: &InForce| all.iter().any(|other| other.is(one));
        let gone = first.iter().filter(|one| !is_in(&found, one)).map(|one| Row {
            now: None,
            fate: Fate::Reverted,
            note: "it was put back since the run began".to_string(),
            ..one.row.clone()
        });
        let mut drifted: Vec<Row> = gone.collect();
        for one in found {
            let is_astray = matches!(one.row.fate, Fate::Drifted | Fate::Gone | Fate::Failed);
            if is_astray {
                drifted.push(one.row);
            } else if !is_in(first, &one) {
                let note = "it was changed after the run began".to_string();
                drifted.push(Row { note, ..one.row });
            }
        }
        Some(TuningNow { places, drifted })
    }
}

/// The thread that looks.
#[derive(Debug)]
pub struct DriftWatch {
    /// Orders a look now; the sender in the order is dropped when the look is done.
    orders: Option<Sender<Sender<()>>>,
    readings: Receiver<Reading>,
    thread: Option<JoinHandle<()>>,
}

impl DriftWatch {
    /// Looks from now on; `None` when no thread can be started.
    pub fn start() -> Option<Self> {
        let mut looks = Looks { patience: PATIENTLY, ..Looks::at(tune::journal_folder()) };
        let (orders, ordered) = channel::<Sender<()>>();
        let (sender, readings) = channel();
        // Before the caller continues: a change from now on counts as one after the start.
        let first = looks.look();
        let work = move || {
            first.into_iter().for_each(|reading| drop(sender.send(reading)));
            loop {
                let order = ordered.recv_timeout(PERIOD);
                if matches!(order, Err(RecvTimeoutError::Disconnected))
                    || looks.look().is_some_and(|reading| sender.send(reading).is_err())
                {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("drift".to_string()).spawn(work).ok()?;
        Some(Self { orders: Some(orders), readings, thread: Some(thread) })
    }

    /// Looks now, and returns when that is done.
    pub fn look(&self) {
        let (done, is_done) = channel();
        if self.orders.as_ref().is_some_and(|orders| orders.send(done).is_ok()) {
            // The drop of the sender is the response.
            let _ = is_done.recv();
        }
    }

    /// Changes seen since the last call.
    pub fn take(&self) -> Vec<Reading> {
        self.readings.try_iter().collect()
    }
}

impl Drop for DriftWatch {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Monotonic, like all readings.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests;
