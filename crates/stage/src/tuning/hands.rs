//! Carries out orders about knobs: this process for this host, a probe for its own host.

use crate::orders::{Bench, carry_out, start_watchdog};
use model::root::Root;
use model::tuning::{TuneOrder, TuneOutcome, Wanted};
use remote::{Call, FarError, Refusal};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};
use tune::{Host, Wish};

/// How long a probe may be busy with others before it counts as out of reach, and the pause between
/// two requests.
const BUSY_FOR: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(500);

/// The places of the knobs of this host, the journal, and how watchdogs are started.
#[derive(Debug, Clone)]
pub struct Ground {
    /// The host.
    pub root: Root,
    /// Folder of the journal.
    pub journal: PathBuf,
    /// Starts the watchdog of a transaction, whose journal is in a folder.
    pub watchdog: fn(&str, &Path) -> Result<(), String>,
}

impl Default for Ground {
    /// This host and its journal.
    fn default() -> Self {
        let (root, journal) = (Root::default(), tune::journal_folder());
        // A watchdog starts in another folder and must find the same journal.
        let journal = std::path::absolute(&journal).unwrap_or(journal);
        Self { root, journal, watchdog: start_watchdog }
    }
}

/// Carries out orders about the knobs of one host.
#[derive(Debug, Clone)]
pub enum Hands {
    /// This process, on this host; with the reason for the changes.
    Here(Ground, String),
    /// The probe of another host.
    Far(Call),
}

/// Why an order has no outcome.
#[derive(Debug)]
pub enum OrderError {
    /// It cannot be carried out here.
    Here(String),
    /// The probe did not carry it out, or is out of reach.
    Far(FarError),
}

impl OrderError {
    /// Whether the host is out of reach now, and may be reached later.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Far(error) if error.is_unreachable())
    }

    /// Whether the connection was lost, so that the order may have been carried out.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Far(FarError::Silent { .. }))
    }
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here(why) => f.write_str(why),
            Self::Far(error) => write!(f, "{error}"),
        }
    }
}

impl Hands {
    /// Gives an order and waits for its outcome. Once `stop` is set, a change of this host ends
    /// early and is put back; another host finishes what it has started.
    pub fn order(
        &self,
        order: TuneOrder,
        stop: Option<&AtomicBool>,
    ) -> Result<TuneOutcome, OrderError> {
        let (ground, note) = match self {
            Self::Far(call) => return patient(call, &order).map_err(OrderError::Far),
            Self::Here(ground, note) => (ground, note),
        };
        let watch = |transaction: &str| (ground.watchdog)(transaction, &ground.journal);
        let mut bench = Bench {
            root: &ground.root,
            journal: &ground.journal,
            look: &mut |wanted| look(&ground.root, wanted),
            watch: &watch,
            stop,
            note,
        };
        carry_out(&order, &mut bench).map_err(OrderError::Here)
    }
}

/// Gives an order to a probe that may already serve as many clients as it can.
fn patient(call: &Call, order: &TuneOrder) -> Result<TuneOutcome, FarError> {
    let begin = Instant::now();
    loop {
        match remote::order(call, order.clone()) {
            Err(FarError::Refused { why: Refusal::Busy { .. }, .. })
                if begin.elapsed() < BUSY_FOR =>
            {
                thread::sleep(AGAIN);
            }
            outcome => return outcome,
        }
    }
}

/// This host with all processes of the server: one that forks has workers besides its first
/// process.
fn look(root: &Root, wanted: &Wanted) -> Result<(Host, Wish), String> {
    let mut host = Host::look(root.clone());
    if let Some(pid) = wanted.server_pid {
        let tree = ::host::Tree::of(pid)
            .map_err(|error| format!("tuning: {}: {}", error.source, error.why))?;
        host.servers = tree.pids().to_vec();
    }
    let wish = Wish::resolve(wanted, &host)?;
    Ok((host, wish))
}
