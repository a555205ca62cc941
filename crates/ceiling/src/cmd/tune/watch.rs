//! The process of the watchdog, started before the first change that can cut connections.

use crate::exit::{Code, Failure};
use crate::screen::to_stdout;
use crate::signals::patient_flag;
use clap::Args;
use model::root::Root;
use plan::values::{JournalFolder, Transaction};
use stage::orders::WATCHING;
use tune::{Host, Journal};

/// Puts a transaction back at its deadline. Started by apply.
#[derive(Debug, Args)]
pub struct Guard {
    /// The transaction
    #[arg(long, value_name = "N")]
    transaction: Transaction,

    /// Folder of the journal
    #[arg(long, value_name = "DIR")]
    journal: JournalFolder,
}

pub fn guard(command: &Guard) -> Result<Code, Failure> {
    // In a session of its own, Ctrl-C and a hang-up of the terminal do not reach it. On a signal it
    // first puts the changes back.
    let stop = patient_flag()?;
    rustix::process::setsid()
        .map_err(|error| Failure::File(format!("cannot leave the session: {error}")))?;
    let host = Host::look(Root::default());
    let journal = Journal::open(&command.journal)?;
    tune::guard(&host, &journal, &command.transaction, &stop, &mut || {
        // The process that started it may be gone already; that changes nothing.
        let _ = to_stdout(&format!("{WATCHING}\n"));
    })?;
    Ok(Code::Good)
}
