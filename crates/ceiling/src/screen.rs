//! Everything that is printed, and progress on stderr while a run goes on.
//!
//! No other module writes to stdout or stderr (`clippy.toml`), so that no text of others reaches a
//! terminal as it is.
//!
//! On a terminal, one line is redrawn in place. On any stderr, `ramp` and `find` print a line for
//! each level or trial that has ended, so that the log of a long run shows its progress.

#![allow(clippy::disallowed_methods, reason = "the only writer")]

use crate::exit::Failure;
use model::claim::Claim;
use model::event::{Event, Progress};
use model::load::Trial;
use model::objective::ObjectiveStanding;
use model::printable::printable;
use model::run::Point;
use plan::{Colour, Options, Verbosity};
use report::progress::{LevelInfo, Pace, block_line, point_line, progress_line};
use report::{Detail, Letters, Paint, Style};
use std::env;
use std::io::{self, IsTerminal, Write, stderr, stdout};
use std::os::fd::AsFd;
use std::time::Instant;

/// Columns of texts: not so few that no table fits, nor so many that a sentence is hard to follow
/// unless the user asks for them.
const COLUMNS: std::ops::RangeInclusive<usize> = 40..=200;
const COLUMNS_READABLE: usize = 100;

/// Colours only on a terminal, and not when the user turned them off (<https://no-color.org>); the
/// letters of the locale, and the columns of the terminal.
pub fn style(colour: &Colour) -> Style {
    let is_plain = !stdout().is_terminal() || colour.is_plain();
    let paint = if is_plain { Paint::None } else { Paint::Ansi };
    Style { paint, letters: letters(), columns: text_columns(terminal_columns(stdout())) }
}

/// `COLUMNS` goes before what the terminal says. A file or a pipe has 80.
fn text_columns(terminal: Option<usize>) -> usize {
    let (least, most) = COLUMNS.into_inner();
    let asked = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let usual = terminal.unwrap_or(80).min(COLUMNS_READABLE);
    asked.unwrap_or(usual).clamp(least, most)
}

/// The letters of the locale of the user.
fn letters() -> Letters {
    let set = |name: &&str| env::var(name).is_ok_and(|value| !value.is_empty());
    let name = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find(set);
    letters_of(&name.and_then(|name| env::var(name).ok()).unwrap_or_default())
}

/// The letters of a locale: where none is set or it names no encoding, most terminals know UTF-8.
fn letters_of(locale: &str) -> Letters {
    let encoding = locale.split_once('.').map(|(_, encoding)| encoding.to_ascii_lowercase());
    match encoding.as_deref() {
        Some(encoding) if !encoding.starts_with("utf") => Letters::Ascii,
        None if ["C", "POSIX"].contains(&locale) => Letters::Ascii,
        _ => Letters::Unicode,
    }
}

/// A line for stderr in the letters of the locale.
fn lettered(line: &str) -> String {
    Style { letters: letters(), ..Style::PLAIN }.in_letters(line)
}

/// How much of a run is printed, at least `least`.
pub fn detail(verbosity: &Verbosity, least: Detail) -> Detail {
    match verbosity.verbose {
        0 => least,
        1 => Detail::Evidence,
        _ => Detail::Setup,
    }
}

/// Until this share of a stage is done, the time left is not estimated.
const SHOWING_SHARE: f64 = 0.05;

/// Draws events.
pub struct Screen {
    is_live: bool,
    is_quiet: bool,
    level: Option<LevelInfo>,
    /// The current block of an experiment.
    block: Option<String>,
    has_line: bool,
    begun: Instant,
    /// When the level started, and its current stage with the start of that stage.
    level_begun: Instant,
    stage_begun: (&'static str, Instant),
    /// Levels or trials that have ended, and how long they took in seconds.
    ended: (usize, f64),
    best: Option<f64>,
    /// Time for all trials of a search in seconds.
    budget_s: Option<f64>,
}

impl Screen {
    /// A screen as the options ask for.
    pub fn new(options: &Options, trial: &Trial) -> Self {
        let is_quiet = options.quiet;
        let now = Instant::now();
        Self {
            is_live: stderr().is_terminal() && !is_quiet,
            is_quiet,
            level: None,
            block: None,
            has_line: false,
            begun: now,
            level_begun: now,
            stage_begun: ("", now),
            ended: (0, 0.0),
            best: None,
            budget_s: trial.search.as_ref().map(|search| search.budget_ns as f64 / 1e9),
        }
    }

    /// Draws one event.
    pub fn show(&mut self, event: &Event) {
        match event {
            Event::Level { index, of, attempt, level } => {
                let (index, of, attempt, level) = (*index, *of, *attempt, level.clone());
                self.level = Some(LevelInfo { index, of, attempt, level });
                self.level_begun = Instant::now();
            }
            Event::Block { what, block, of } => {
                self.block = Some(format!("confirming: {what}, block {block} of {of}"));
            }
            Event::Progress(progress) if self.is_live => self.show_progress(progress),
            Event::Notice(text) if !self.is_quiet => {
                self.clear();
                to_stderr(&format!("ceiling: {text}"));
            }
            Event::Point(point) => self.show_point(point),
            Event::Notice(_)
            | Event::Progress(_)
            | Event::Hosts(_)
            | Event::Present(_)
            | Event::Profile { .. } => {}
        }
    }

    fn show_progress(&mut self, progress: &Progress) {
        if self.stage_begun.0 != progress.stage {
            self.stage_begun = (progress.stage, Instant::now());
        }
        let columns = terminal_columns(stderr()).unwrap_or(80).saturating_sub(1);
        let line = match (&self.block, &self.level) {
            (Some(block), _) => block_line(block, progress, columns),
            (None, Some(info)) => {
                let pace = self.pace(self.left_s(info, progress));
                progress_line(info, &pace, progress, columns)
            }
            (None, None) => return,
        };
        // A lost progress line must not stop the run.
        let line = printable(&line);
        let _ = write!(stderr(), "\r\x1b[2K{}", lettered(&line)).and_then(|()| stderr().flush());
        self.has_line = true;
    }

    /// Prints one line for each of several levels or trials.
    fn show_point(&mut self, point: &Point) {
        let Some(info) = self.level.take() else { return };
        self.ended = (self.ended.0 + 1, self.ended.1 + self.level_begun.elapsed().as_secs_f64());
        let holds = ObjectiveStanding::of(&point.expectations) == ObjectiveStanding::Met;
        let is_usable = !matches!(point.claim(), Claim::NotKnown(_)) && (info.of > 0 || holds);
        let best = self.best.into_iter().chain(is_usable.then(|| point.headline_rate()));
        self.best = best.max_by(f64::total_cmp);
        if info.of != 1 && !self.is_quiet {
            self.clear();
            let columns = text_columns(terminal_columns(stderr()));
            let line = point_line(&info, &self.pace(None), point, columns);
            to_stderr(&line);
        }
        self.level = Some(info);
    }

    fn pace(&self, left_s: Option<f64>) -> Pace {
        // With a single level the line has its rate already.
        let best = self.best.filter(|_| self.level.as_ref().is_none_or(|level| level.of != 1));
        Pace { elapsed_s: self.begun.elapsed().as_secs_f64(), left_s, best }
    }

    /// Seconds left. For a search: the rest of its budget. Otherwise: the rest of this level at the
    /// pace of its stage, plus the later levels at the mean time of those that have ended.
    fn left_s(&self, info: &LevelInfo, progress: &Progress) -> Option<f64> {
        if let Some(budget_s) = self.budget_s {
            return Some((budget_s - self.begun.elapsed().as_secs_f64()).max(0.0));
        }
        let done = progress.done.filter(|done| *done >= SHOWING_SHARE)?;
        let is_measuring = progress.stage == "measuring";
        let passed_s = self.stage_begun.1.elapsed().as_secs_f64();
        let rest_s = (passed_s / done - passed_s).max(0.0);
        let more = info.of.checked_sub(info.index + 1)?;
        let each_s = match self.ended {
            (0, _) => self.level_begun.elapsed().as_secs_f64() + rest_s,
            (levels, took_s) => took_s / levels as f64,
        };
        is_measuring.then_some(rest_s + more as f64 * each_s)
    }

    /// Clears the progress line.
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

/// Writes a line to stderr, without characters that control a terminal. A closed stderr, or a
/// terminal that is gone, must not end the program: results still have to be written.
pub fn to_stderr(line: &str) {
    let _ = stderr().write_all(lettered(&report::text::printed(line)).as_bytes());
}

fn terminal_columns(of: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(of).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Writes to stdout, without characters that control a terminal, whoever wrote them. JSON has none,
/// because [`model::json::pretty`] escapes them.
pub fn to_stdout(text: &str) -> Result<(), Failure> {
    let paint = if stdout().is_terminal() { Paint::Ansi } else { Paint::None };
    document(&report::text::safe(text, paint))
}

/// Writes a document of our own to stdout as it is, such as a manual page: nothing in it was
/// written by others. A closed pipe is not a failure.
pub fn document(text: &str) -> Result<(), Failure> {
    match stdout().write_all(text.as_bytes()).and_then(|()| stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::File(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_without_other_letters_gets_ascii() {
        let plain = ["C", "POSIX", "en_US.ISO-8859-1", "de_DE.iso88591@euro"];
        assert!(plain.iter().all(|name| letters_of(name) == Letters::Ascii));
        let others = ["", "C.UTF-8", "en_US.utf8", "de_DE", "ja_JP.UTF-8"];
        assert!(others.iter().all(|name| letters_of(name) == Letters::Unicode));
    }
}
