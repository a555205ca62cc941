//! `ceiling journal serve`: the site of the journal in the browser, and the run under way.

use super::pages::pages;
use super::words::Place;
use crate::exit::{Code, Failure};
use crate::onlookers::{OF_JOURNAL, warning};
use crate::signals;
use clap::Args;
use journal::Journal;
use live::changes::Changes;
use live::site::{LIVE, Showcase};
use plan::values::Socket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a wish to stop is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// Without another change for so long, what changed is whole.
const SETTLED: Duration = Duration::from_millis(300);

/// Serves the site of the journal as `build` writes it, and draws it anew when something in the
/// journal changes. What `ceiling journal run` measures meanwhile is shown at /_live/; while it
/// measures nothing is drawn. Ctrl-C ends it.
#[derive(Debug, Args)]
#[command(after_help = "\
Only this host is answered unless --listen says otherwise. Other commands are
shown at /_live/ as well: CEILING_LIVE=journal/.live ceiling load URL

Exit codes: 0 ended by a signal, 1 the journal cannot be watched, 2 an entry
cannot be read, or the address cannot be had.

Examples:
  ceiling journal serve
  ceiling journal serve --listen 127.0.0.1:8000 --journal experiments/journal")]
pub struct Serve {
    /// Where to listen; port 0 is a free one
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
            "--listen {address}: {error}; give an address of this host and a free port, for \
             example --listen 127.0.0.1:0"
        ))
    })?;
    show.show(first.files);
    if let Some(warning) = warning(address) {
        eprintln!("ceiling: {warning}");
    }
    let url = show.url();
    eprintln!(
        "ceiling: journal at {url}, the run under way at {}",
        url.trim_end_matches('/').to_string() + LIVE
    );
    follow(&journal, &changes, &show, &stop).map_err(unwatched)?;
    Ok(Code::Good)
}

/// Draws the site anew after each change, until it is to stop.
fn follow(
    journal: &Journal,
    changes: &Changes,
    show: &Showcase,
    stop: &AtomicBool,
) -> std::io::Result<()> {
    let mut is_due = false;
    while !stop.load(Ordering::Relaxed) {
        is_due |= changes.wait(LOOK)?;
        // Drawing takes all CPUs for a moment, and a measurement should have them.
        if !is_due || show.is_measuring() {
            continue;
        }
        while changes.wait(SETTLED)? && !stop.load(Ordering::Relaxed) {}
        is_due = false;
        match pages(journal) {
            Ok(pages) => {
                show.show(pages.files);
                eprintln!("ceiling: the site was drawn anew");
            }
            Err(why) => eprintln!("ceiling: the site stays as it was: {why}"),
        }
    }
    Ok(())
}
