//! `ceiling journal ..`: keeps entries about experiments and checks their figures and findings.

mod add;
mod build;
mod check;
mod import;
mod list;
mod new;
mod pack;
pub mod pages;
mod run;
mod serve;
mod show;
mod signature;
mod verify;
mod words;

use crate::exit::{Code, Failure};
use ::journal::{EntryFolder, Journal as Opened, JournalError, Slug};
use clap::{Args, Subcommand};
use words::Place;
pub use words::kinds;

/// A folder of entries. Each has a question, a plan, results, and notes whose figures are filled in
/// from the results. Each finding has a condition, and `check` reports when it no longer holds.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ceiling journal new gzip-helps --title 'Do compressed responses help?'
  ceiling journal run gzip-helps
  ceiling journal show gzip-helps
  ceiling journal check
  ceiling journal build -o site/
  ceiling journal serve
  ceiling journal pack gzip-helps --key ~/.ssh/id_ed25519
  ceiling journal verify gzip-helps.tar.zst --pub ann.pub")]
pub struct Journal {
    #[command(subcommand)]
    command: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Makes an entry: entry.toml, plan.toml and notes.md.
    New(new::New),
    /// Lists the entries: date, status, title and answer.
    List(list::List),
    /// Runs the plan of an entry, and keeps the result in it.
    Run(run::RunEntry),
    /// Copies runs into an entry.
    Add(add::Add),
    /// Copies what another tool printed into an entry, and audits it.
    Import(import::Import),
    /// Prints an entry with its figures filled in.
    Show(show::Show),
    /// Reports what no longer holds, is open, or has changed.
    Check(check::Check),
    /// Builds the journal as a static site.
    Build(build::Build),
    /// Serves the site, and shows the current run.
    Serve(serve::Serve),
    /// Packs an entry with all its data into one archive, signed with your key.
    Pack(pack::Pack),
    /// Checks such an archive, and recomputes its figures and findings from the raw readings.
    Verify(verify::Verify),
}

pub fn run(command: Journal) -> Result<Code, Failure> {
    match command.command {
        What::New(new) => new::run(&new),
        What::List(list) => list::run(&list),
        What::Run(run) => run::run(run),
        What::Add(add) => add::run(&add),
        What::Import(import) => import::run(&import),
        What::Show(show) => show::run(&show),
        What::Check(check) => check::run(&check),
        What::Build(build) => build::run(&build),
        What::Serve(serve) => serve::run(&serve),
        What::Pack(pack) => pack::run(&pack),
        What::Verify(verify) => verify::run(&verify),
    }
}

/// An existing entry.
fn entry(place: &Place, slug: &Slug) -> Result<EntryFolder, Failure> {
    Ok(Opened::open(&place.journal)?.entry(slug)?)
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Io { .. } => Self::File(error.to_string()),
            JournalError::Wrong { .. } => Self::Usage(error.to_string()),
        }
    }
}
