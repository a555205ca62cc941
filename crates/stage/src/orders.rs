//! Carries out orders about the knobs of this host: those of a plan that runs here, and those that
//! a probe gets from a client.

use crate::keeper::spawn_apart;
use model::root::Root;
use model::tuning::{Fault, Row, TuneOrder, TuneOutcome, Wanted};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tune::{
    Applied, ApplyOptions, DEADLINE, Disruption, Host, InForce, Journal, TuneError, Which, Wish,
};

/// What a watchdog prints on standard output when it watches.
pub const WATCHING: &str = "watching";

/// How long a watchdog may take to print that. Only a hang takes longer: a watchdog that has ended
/// is noticed at once.
const PATIENCE: Duration = DEADLINE;

/// Looks at the host, with the processes that an order names, and returns what is wanted of it.
pub type Looks<'a> = dyn FnMut(&Wanted) -> Result<(Host, Wish), String> + 'a;

/// What is changed, and how.
pub struct Bench<'a> {
    /// Where the files of the host are.
    pub root: &'a Root,
    /// The folder of the journal.
    pub journal: &'a Path,
    /// Looks at the host for an order.
    pub look: &'a mut Looks<'a>,
    /// Starts the watchdog of a transaction.
    pub watch: &'a dyn Fn(&str) -> Result<(), String>,
    /// Ends a change early; it is then put back.
    pub stop: Option<&'a AtomicBool>,
    /// The reason; kept in the journal.
    pub note: &'a str,
}

/// Carries out an order, or returns why it cannot be started. What fails on the host is an outcome.
pub fn carry_out(order: &TuneOrder, bench: &mut Bench<'_>) -> Result<TuneOutcome, String> {
    let journal = match Journal::open(bench.journal) {
        Ok(journal) => journal,
        Err(error) => return Ok(failed(error)),
    };
    // What is changed is in the journal, so it does not matter that a server has ended.
    let host = || Host::look(bench.root.clone());
    let of_rows = |rows: Vec<Row>| TuneOutcome { rows, ..TuneOutcome::default() };
    match order {
        TuneOrder::Plan { wanted } => {
            let (host, wish) = (bench.look)(wanted)?;
            let planned = tune::planned(&host, &wish)?;
            Ok(of_rows(planned.into_iter().map(|planned| planned.row).collect()))
        }
        TuneOrder::Apply { wanted, disruptive, deadline_ns } => {
            let (host, wish) = (bench.look)(wanted)?;
            let planned = tune::planned(&host, &wish)?;
            let options = ApplyOptions {
                disruption: if *disruptive { Disruption::Allowed } else { Disruption::Refused },
                deadline: deadline_ns.map(Duration::from_nanos),
                watch: Some(bench.watch),
                stop: bench.stop,
                note: bench.note,
            };
            Ok(response(tune::apply(&host, &journal, &planned, &options, &mut |_| {})))
        }
        TuneOrder::Status { transaction } => {
            let is_meant = |id: &String| transaction.as_ref().is_none_or(|meant| meant == id);
            let shown = |mut meant: Vec<InForce>| {
                meant.retain(|one| is_meant(&one.transaction));
                let is_overdue = meant.iter().any(|one| one.left_ms == Some(0));
                let rows = meant.into_iter().flat_map(|one| one.rows).collect();
                TuneOutcome { is_overdue, ..of_rows(rows) }
            };
            Ok(tune::standing(&host(), &journal).map_or_else(failed, shown))
        }
        TuneOrder::Revert { transaction } => {
            let which = which(transaction.as_deref());
            let reverted = tune::revert(&host(), &journal, &which, &mut |_| {});
            Ok(reverted.map_or_else(failed, of_rows))
        }
        TuneOrder::Extend { transaction, left_ns } => {
            let left = Duration::from_nanos(*left_ns);
            let extended = tune::extend(&host(), &journal, transaction, left);
            let transaction = Some(transaction.clone());
            Ok(match extended {
                Ok(()) => TuneOutcome { transaction, ..TuneOutcome::default() },
                Err(error) => failed(error),
            })
        }
        // It lasts as long as a session, and there is none here.
        TuneOrder::Experiment { .. } => Err("an experiment needs a session".to_string()),
        TuneOrder::Keep { transaction } => {
            let kept = tune::keep(&host(), &journal, &which(transaction.as_deref()));
            Ok(kept.map_or_else(failed, |kept| {
                let transaction = (!kept.is_empty()).then(|| kept.join(", "));
                TuneOutcome { transaction, ..TuneOutcome::default() }
            }))
        }
    }
}

/// The transactions that an order names.
pub fn which(transaction: Option<&str>) -> Which {
    transaction.map_or(Which::All, |id| Which::Transaction(id.to_string()))
}

/// The result of a change, for the program that ordered it.
pub fn response(done: Result<Applied, TuneError>) -> TuneOutcome {
    match done {
        Ok(Applied { transaction, rows }) => {
            TuneOutcome { transaction: Some(transaction), rows, ..TuneOutcome::default() }
        }
        Err(error) => failed(error),
    }
}

/// The outcome of an order that failed on the host.
fn failed(error: TuneError) -> TuneOutcome {
    let (why, left) = (error.to_string(), error.left() as u64);
    let fault = if error.is_usage() { Fault::Order } else { Fault::Host };
    let moved = match &error {
        TuneError::RolledBack { moved, .. } => *moved as u64,
        _ => 0,
    };
    let (transaction, rows) = match error {
        TuneError::RolledBack { transaction, rows, .. } => (Some(transaction), rows),
        TuneError::Refused { rows } | TuneError::EntryStays { rows, .. } => (None, rows),
        _ => (None, Vec::new()),
    };
    TuneOutcome { transaction, rows, error: Some(why), left, moved, fault, is_overdue: false }
}

/// Starts the watchdog of a transaction, a process of this same program, and waits until it
/// watches. It has the namespaces of this process but not its terminal, and ends on its own.
pub fn start_watchdog(transaction: &str, journal: &Path) -> Result<(), String> {
    // This works even if the program's file was replaced since it started.
    let mut command = Command::new("/proc/self/exe");
    command.args(["tune", "guard", "--transaction", transaction, "--journal"]).arg(journal);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).current_dir("/");
    let mut child = spawn_apart(&mut command).map_err(|error| error.to_string())?;
    let (send, receive) = mpsc::channel();
    let stdout = child.stdout.take();
    thread::spawn(move || {
        let mut line = String::new();
        let read = stdout.map(|stdout| BufReader::new(stdout).read_line(&mut line));
        let _ = send.send(read.is_some_and(|read| read.is_ok()) && line.trim() == WATCHING);
    });
    if receive.recv_timeout(PATIENCE) == Ok(true) {
        // It is reaped, because an experiment starts one for each cell with knobs.
        thread::spawn(move || child.wait());
        return Ok(());
    }
    let _ = child.kill();
    let _ = child.wait();
    Err("it did not report that it watches".to_string())
}
