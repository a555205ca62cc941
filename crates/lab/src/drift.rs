//! What `ceiling tune` changed on this host is looked at while a run goes on.
//!
//! Only when something is changed there is a thread, which reads the places again twice a second,
//! so that a window of a second or more is looked at near its begin and its end as well. It shares
//! nothing with the workers.

use model::facts::{TunedValue, Unreadable};
use model::reading::{Data, Reading, TuningNow};
use model::root::Root;
use model::tuning::{Fate, Row};
use rustix::time::{ClockId, clock_gettime};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tune::{Host, Journal};

/// How often the places are read again.
const PERIOD: Duration = Duration::from_millis(500);

/// What is changed on this host now; nothing without a journal.
pub fn tuned() -> Option<Vec<TunedValue>> {
    let folder = tune::journal_folder();
    if !folder.exists() {
        return None;
    }
    let rows = look(&folder_of(&folder).ok()?).ok()?;
    let value = |row: Row| TunedValue {
        knob: row.knob,
        place: row.place,
        wanted: row.wanted.unwrap_or_default(),
        now: row.now,
    };
    Some(rows.into_iter().map(value).collect())
}

fn folder_of(folder: &std::path::Path) -> Result<Journal, String> {
    Journal::open(folder).map_err(|error| error.to_string())
}

/// Rows of this namespace and host; those of others cannot be looked at from here.
fn look(journal: &Journal) -> Result<Vec<Row>, String> {
    let rows = tune::status(&Host::look(Root::default()), journal);
    let mut rows = rows.map_err(|error| error.to_string())?;
    rows.retain(|row| row.fate != Fate::Refused);
    Ok(rows)
}

/// The thread that looks.
#[derive(Debug)]
pub struct DriftWatch {
    stop: Option<Sender<()>>,
    readings: Receiver<Reading>,
    thread: Option<JoinHandle<()>>,
}

impl DriftWatch {
    /// Looks from now on; nothing when nothing is changed.
    pub fn start() -> Option<Self> {
        tuned().filter(|tuned| !tuned.is_empty())?;
        let journal = folder_of(&tune::journal_folder()).ok()?;
        let (stop, stopped) = channel();
        let (sender, readings) = channel();
        let work = move || {
            while sender.send(read(&journal)).is_ok() {
                if stopped.recv_timeout(PERIOD) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("drift".to_string()).spawn(work).ok()?;
        Some(Self { stop: Some(stop), readings, thread: Some(thread) })
    }

    /// What was seen since the last call.
    pub fn take(&self) -> Vec<Reading> {
        self.readings.try_iter().collect()
    }
}

impl Drop for DriftWatch {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What is changed on this host, looked at now; nothing when nothing is.
pub fn look_now(journal: &Journal) -> Option<Reading> {
    let reading = read(journal);
    let is_idle = matches!(&reading.data, Data::Tuning(now) if now.places == 0);
    (!is_idle).then_some(reading)
}

fn read(journal: &Journal) -> Reading {
    let begin_ns = now_ns();
    let data = match look(journal) {
        Ok(rows) => {
            let places = rows.len() as u32;
            let is_astray =
                |row: &Row| matches!(row.fate, Fate::Drifted | Fate::Gone | Fate::Failed);
            let drifted = rows.into_iter().filter(is_astray).collect();
            Data::Tuning(TuningNow { places, drifted })
        }
        Err(why) => {
            let source = journal.folder().display().to_string();
            Data::Unreadable(Unreadable { source, why })
        }
    };
    Reading { begin_ns, end_ns: now_ns(), data }
}

/// Monotonic, as all readings.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
