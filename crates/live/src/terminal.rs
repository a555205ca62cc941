//! Draws the current run in the terminal, on standard error, so that standard output stays the
//! same.

mod ansi;
mod draw;
mod own;

use crate::feed::Feed;
use ansi::Ansi;
use own::Owned;
pub use own::give_back;
use ratatui_core::terminal::Terminal;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often it is drawn; only changes are written.
const PACE: Duration = Duration::from_millis(250);

/// Whether a drawing has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// With colours.
    Some,
    /// Without colours.
    None,
}

/// Why the run cannot be drawn in the terminal.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    /// There is no terminal.
    #[error(
        "--tui draws on standard error, which is not a terminal here; use --live for a page in \
         the browser, or leave both out"
    )]
    None,
    /// The terminal cannot be set up.
    #[error("--tui: the terminal cannot be set up: {0}")]
    Refused(#[from] io::Error),
}

/// A drawing in the terminal, until it is dropped.
#[derive(Debug)]
pub struct Drawing {
    thread: Option<JoinHandle<()>>,
    stop: Option<Sender<()>>,
    owned: Owned,
}

impl Drawing {
    /// Takes the terminal, and draws the state of the run on it.
    pub fn start(
        feed: Arc<Feed>,
        colours: Colours,
        taken_cpus: &[usize],
    ) -> Result<Self, TerminalError> {
        if !io::stderr().is_terminal() {
            return Err(TerminalError::None);
        }
        let owned = Owned::take()?;
        let (stop, stopped) = channel();
        let taken_cpus = taken_cpus.to_vec();
        let body = move || {
            host::background::stand_back(&taken_cpus);
            keep_drawing(&feed, colours, &stopped);
        };
        let thread = thread::Builder::new().name("live terminal".to_string()).spawn(body)?;
        Ok(Self { thread: Some(thread), stop: Some(stop), owned })
    }
}

impl Drop for Drawing {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the drawing thread does not matter any more.
            let _ = thread.join();
        }
        self.owned.give_back();
    }
}

fn keep_drawing(feed: &Feed, colours: Colours, stopped: &Receiver<()>) {
    let Ok(mut terminal) = Terminal::new(Ansi::default()) else { return };
    loop {
        let now = feed.look(Clone::clone);
        // A lost terminal only ends the drawing.
        if terminal.draw(|frame| draw::whole(frame, &now, colours)).is_err() {
            return;
        }
        if stopped.recv_timeout(PACE) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}
