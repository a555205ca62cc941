//! What a person sees while a run goes on: one line on stderr that is drawn over again, when
//! stderr is a terminal.

use model::event::Event;
use plan::{Colour, Options, Verbosity};
use report::progress::{LevelInfo, block_line, progress_line};
use report::{Detail, Style};
use std::env;
use std::io::{IsTerminal, Write, stderr, stdout};

/// Colours on a terminal only, and not when the user says no (<https://no-color.org>).
pub fn style(colour: &Colour) -> Style {
    let refused = colour.no_color || env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty());
    if stdout().is_terminal() && !refused { Style::Colour } else { Style::Plain }
}

/// How much of a run is printed, at least so much.
pub fn detail(verbosity: &Verbosity, least: Detail) -> Detail {
    match verbosity.verbose {
        0 => least,
        1 => Detail::Evidence,
        _ => Detail::Setup,
    }
}

/// Draws events.
pub struct Screen {
    is_live: bool,
    is_quiet: bool,
    level: Option<LevelInfo>,
    /// The block of an experiment that is under way.
    block: Option<String>,
    has_line: bool,
}

impl Screen {
    /// Draws as the options say.
    pub fn new(options: &Options) -> Self {
        let is_quiet = options.quiet;
        Self {
            is_live: stderr().is_terminal() && !is_quiet,
            is_quiet,
            level: None,
            block: None,
            has_line: false,
        }
    }

    /// Draws one event.
    pub fn show(&mut self, event: &Event) {
        match event {
            Event::Level { index, of, attempt, level } => {
                let (index, of, attempt, level) = (*index, *of, *attempt, level.clone());
                self.level = Some(LevelInfo { index, of, attempt, level });
            }
            Event::Block { what, block, of } => {
                self.block = Some(format!("confirming: {what}, block {block} of {of}"));
            }
            Event::Progress(progress) if self.is_live => {
                let columns = terminal_columns().saturating_sub(1);
                let line = match (&self.block, &self.level) {
                    (Some(block), _) => block_line(block, progress, columns),
                    (None, Some(info)) => progress_line(info, progress, columns),
                    (None, None) => return,
                };
                // Losing a progress line is no reason to stop.
                let _ = write!(stderr(), "\r\x1b[2K{line}").and_then(|()| stderr().flush());
                self.has_line = true;
            }
            Event::Notice(text) if !self.is_quiet => {
                self.clear();
                let _ = writeln!(stderr(), "ceiling: {text}");
            }
            Event::Point(_) | Event::Notice(_) | Event::Progress(_) | Event::Profile { .. } => {}
        }
    }

    /// Removes the line.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.has_line) {
            let _ = write!(stderr(), "\r\x1b[2K").and_then(|()| stderr().flush());
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.clear();
    }
}

fn terminal_columns() -> usize {
    rustix::termios::tcgetwinsize(stderr())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
        .unwrap_or(80)
}
