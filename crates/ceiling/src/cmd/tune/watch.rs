//! The watchdog's process: started before the first change that can cut connections.

use crate::exit::{Code, Failure};
use crate::signals::patient_flag;
use clap::Args;
use model::root::Root;
use plan::values::{JournalFolder, Transaction};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tune::{Host, Journal};

/// What it says when it watches.
const READY: &str = "watching";
/// How long it may take to say so: only a hang takes longer, and that it has ended is seen at once.
const PATIENCE: Duration = tune::DEADLINE;

/// Puts a transaction back at its deadline. Started by apply.
#[derive(Debug, Args)]
pub struct Guard {
    /// Which
    #[arg(long, value_name = "N")]
    transaction: Transaction,

    /// Folder of the journal
    #[arg(long, value_name = "DIR")]
    journal: JournalFolder,
}

/// Starts the watchdog and waits until it watches. It has the namespaces of this process and none
/// of its terminal, and ends on its own.
pub fn start(transaction: &str, journal: &Path) -> Result<(), String> {
    // This very program, also when its file was replaced since it started.
    let mut command = Command::new("/proc/self/exe");
    command.args(["tune", "guard", "--transaction", transaction, "--journal"]).arg(journal);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).current_dir("/");
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let (send, receive) = mpsc::channel();
    let stdout = child.stdout.take();
    thread::spawn(move || {
        let mut line = String::new();
        let read = stdout.map(|stdout| BufReader::new(stdout).read_line(&mut line));
        let _ = send.send(read.is_some_and(|read| read.is_ok()) && line.trim() == READY);
    });
    if receive.recv_timeout(PATIENCE) == Ok(true) {
        return Ok(());
    }
    let _ = child.kill();
    let _ = child.wait();
    Err("it did not say that it watches".to_string())
}

pub fn guard(command: &Guard) -> Result<Code, Failure> {
    // A session of its own: no Ctrl-C, no hang-up of the terminal. Told to end, it puts back first.
    let stop = patient_flag()?;
    rustix::process::setsid()
        .map_err(|error| Failure::File(format!("cannot leave the session: {error}")))?;
    let host = Host::look(Root::default());
    let journal = Journal::open(&command.journal)?;
    tune::guard(&host, &journal, &command.transaction, &stop, &mut || {
        // Whoever started it may be gone already, which changes nothing.
        let _ = writeln!(io::stdout(), "{READY}");
        let _ = io::stdout().flush();
    })?;
    Ok(Code::Good)
}
