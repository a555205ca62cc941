//! `ceiling journal serve`: serves the site of the journal and the current run to a browser.

use super::pages::pages;
use super::words::Place;
use crate::exit::{Code, Failure};
use crate::onlookers::{OF_JOURNAL, warning};
use crate::screen::to_stderr;
use crate::signals;
use clap::Args;
use journal::Journal;
use live::changes::Changes;
use live::site::{LIVE, Showcase};
use plan::values::Socket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often the stop flag is checked.
const LOOK: Duration = Duration::from_millis(200);
/// Changes are complete when no other has followed for this long.
const SETTLED: Duration = Duration::from_millis(300);

/// Serves the site of the journal as `build` writes it, and rebuilds it when the journal changes.
/// A run of `ceiling journal run` is shown at /_live/ while it goes on; the site is not rebuilt
/// during that run. Ctrl-C ends the server.
#[derive(Debug, Args)]
#[command(after_help = "\
Without --listen, only this host can connect. Runs of other commands are shown
at /_live/ as well: CEILING_LIVE=journal/.live ceiling load URL

Exit codes: 0 ended by a signal, 1 the journal cannot be watched, 2 an entry
cannot be read, or the address cannot be bound.

Examples:
  ceiling journal serve
  ceiling journal serve --listen 127.0.0.1:8000 --journal experiments/journal")]
pub struct Serve {
    /// Where to listen; port 0 takes a free port
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    listen: Socket,

    #[command(flatten)]
    place: Place,
}

pub fn run(command: &Serve) -> Result<Code, Failure> {
    let (folder, address) = (&command.place.journal, command.listen.0);
    let journal = Journal::open(folder)?;
    let stop = signals::stop_flag()?;
    let unwatched =
        |error| Failure::File(format!("{}: cannot watch it: {error}", folder.display()));
    let changes = Changes::of(folder).map_err(unwatched)?;
    let first = pages(&journal)?;
    let show = Showcase::start(address, Some(&folder.join(OF_JOURNAL))).map_err(|error| {
        Failure::Usage(format!(
            "--listen {address}: cannot listen there: {error}; give an address of this host and a \
             free port, for example --listen 127.0.0.1:0"
        ))
    })?;
    show.show(first.files);
    if let Some(warning) = warning(address) {
        to_stderr(&format!("ceiling: {warning}"));
    }
    let url = show.url();
    to_stderr(&format!(
        "ceiling: journal at {url}, current run at {}",
        url.trim_end_matches('/').to_string() + LIVE
    ));
    follow(&journal, &changes, &show, &stop).map_err(unwatched)?;
    Ok(Code::Good)
}

/// Rebuilds the site after each change, until the stop flag is set.
fn follow(
    journal: &Journal,
    changes: &Changes,
    show: &Showcase,
    stop: &AtomicBool,
) -> std::io::Result<()> {
    let mut is_due = false;
    while !stop.load(Ordering::Relaxed) {
        is_due |= changes.wait(LOOK)?;
        // A rebuild takes all CPUs for a moment, and a measurement needs them.
        if !is_due || show.is_measuring() {
            continue;
        }
        while changes.wait(SETTLED)? && !stop.load(Ordering::Relaxed) {}
        is_due = false;
        match pages(journal) {
            Ok(pages) => {
                show.show(pages.files);
                to_stderr("ceiling: the site was rebuilt");
            }
            Err(why) => to_stderr(&format!("ceiling: the site was not rebuilt: {why}")),
        }
    }
    Ok(())
}
