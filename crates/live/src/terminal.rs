//! The run under way, drawn in the terminal: on standard error, so that standard output stays what
//! it is without it.

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

/// How often it is drawn; only what changed is written.
const PACE: Duration = Duration::from_millis(250);

/// Whether a drawing has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// As it likes.
    Some,
    /// None.
    None,
}

/// Why the terminal cannot be drawn on.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    /// There is none.
    #[error(
        "--tui draws on standard error, which is not a terminal here; take --live for a page in \
         the browser, or leave both out"
    )]
    None,
    /// It does not do what it is asked.
    #[error("--tui: the terminal cannot be set up: {0}")]
    Refused(#[from] io::Error),
}

/// A terminal that is drawn on, until it is dropped.
#[derive(Debug)]
pub struct Drawing {
    thread: Option<JoinHandle<()>>,
    stop: Option<Sender<()>>,
    owned: Owned,
}

impl Drawing {
    /// Takes the terminal and draws how the run stands.
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
            // What it drew last does not matter any more.
            let _ = thread.join();
        }
        self.owned.give_back();
    }
}

fn keep_drawing(feed: &Feed, colours: Colours, stopped: &Receiver<()>) {
    let Ok(mut terminal) = Terminal::new(Ansi::default()) else { return };
    loop {
        let now = feed.look(Clone::clone);
        // A terminal that went away is no reason for anything.
        if terminal.draw(|frame| draw::whole(frame, &now, colours)).is_err() {
            return;
        }
        if stopped.recv_timeout(PACE) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}
