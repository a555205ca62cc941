//! Exit codes, and why a command failed.

use lab::LabError;
use lab::target::UrlError;
use model::objective::Standing;
use model::run::{Outcome, Point, Record};
use model::search::Ended;
use model::verdict::Named;
use remote::FarError;
use std::process::ExitCode;
use store::StoreError;
use tune::TuneError;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Good.
    Good = 0,
    /// Something failed that is neither the user's doing nor the target's.
    Internal = 1,
    /// The command line or a file named on it is wrong.
    Usage = 2,
    /// An expectation was missed, or it is not known whether it holds.
    Unmet = 3,
    /// The measurement is not valid, or the generator was the wall.
    NotValid = 4,
    /// The target does not answer, or the probe on its host.
    Unreachable = 5,
    /// Interrupted; partial results were written.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

impl Code {
    /// The code of a search: its answer stands for all of its trials.
    fn of_search(record: &Record) -> Self {
        let answer = record.search.as_ref().and_then(|search| search.answer.as_ref());
        let Some(answer) = answer else { return Self::Internal };
        match (answer.ended, answer.rate) {
            (Ended::ClientLimited, _) | (Ended::Undecidable, None) => Self::NotValid,
            (_, Some(_)) => Self::Good,
            (_, None) => Self::Unmet,
        }
    }

    /// The code of a run that was made.
    pub fn of(record: &Record) -> Self {
        let last_visit = |index: &usize| {
            let attempt = record.points[*index].attempt;
            record.points.get(index + 1).is_none_or(|next| next.attempt <= attempt)
        };
        let is_broken =
            |index: usize| record.points[index].gates.iter().any(|gate| gate.ok == Some(false));
        match record.outcome {
            Outcome::Interrupted => Self::Interrupted,
            Outcome::TargetLost => Self::Unreachable,
            Outcome::Complete if was_silent(record) => Self::Unreachable,
            Outcome::Complete if record.search.is_some() => Self::of_search(record),
            Outcome::Complete if !record.verdict.is_valid() => Self::NotValid,
            Outcome::Complete => {
                let broken = (0..record.points.len()).filter(last_visit).any(is_broken);
                match Standing::of(&record.expectations) {
                    _ if broken => Self::NotValid,
                    Standing::Met => Self::Good,
                    Standing::Missed | Standing::Undecided => Self::Unmet,
                }
            }
        }
    }
}

/// Says in one line which terms are missed and which undecided.
pub fn unmet(record: &Record) -> String {
    let open = record.expectations.iter().filter(|term| term.met != Some(true));
    let shown = open.map(|term| {
        let word = if term.met.is_some() { "missed" } else { "undecided" };
        format!("{} {word}: {}", term.term, term.why)
    });
    shown.collect::<Vec<_>>().join("; ")
}

/// Whether no answer came at all, good or bad, and no limit explains it.
fn was_silent(record: &Record) -> bool {
    record.verdict.wall == Named::Unknown
        && !record.points.is_empty()
        && record.points.iter().all(Point::is_silent)
}

/// Why a command did not do what it should.
#[derive(Debug)]
pub enum Failure {
    /// The command line asks for something that cannot be.
    Usage(String),
    /// A file could not be written or read.
    File(String),
    /// A stored run is no measurement to work with.
    NotValid(String),
    /// The run could not be made.
    Lab(LabError),
    /// The host was not changed, or not put back.
    Tune(TuneError),
    /// Something that was changed could not be put back.
    Left(String),
    /// The host of a probe, which was to do something.
    Far(FarError),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage(text) | Self::File(text) | Self::NotValid(text) | Self::Left(text) => {
                f.write_str(text)
            }
            Self::Lab(error) => error.fmt(f),
            Self::Tune(error) => error.fmt(f),
            Self::Far(error) => error.fmt(f),
        }
    }
}

/// A word of a command in which a mask was left.
pub fn missing(word: &str) -> Failure {
    Failure::Usage(format!(
        "'{word}': *** stands for a secret that the record does not keep; give the value, for \
         example -H \"Authorization: $AUTHORIZATION\""
    ))
}

impl Failure {
    /// Its exit code.
    pub fn code(&self) -> Code {
        match self {
            Self::Usage(_) => Code::Usage,
            Self::NotValid(_) => Code::NotValid,
            Self::Lab(LabError::Unreachable(_) | LabError::Greet(_)) => Code::Unreachable,
            Self::Lab(LabError::Probe(error)) if error.is_unreachable() => Code::Unreachable,
            Self::Lab(
                LabError::Limit(_)
                | LabError::Request(_)
                | LabError::NoRoute
                | LabError::Probe(_)
                | LabError::Secrets(_),
            ) => Code::Usage,
            Self::Tune(TuneError::NotRoot | TuneError::Unknown { .. }) => Code::Usage,
            Self::Far(error) if error.is_unreachable() => Code::Unreachable,
            Self::Far(_) => Code::Usage,
            Self::Left(_) => Code::Unmet,
            Self::Tune(error) if error.leaves_something() => Code::Unmet,
            Self::File(_) | Self::Lab(_) | Self::Tune(_) => Code::Internal,
        }
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        Self::Lab(error)
    }
}

impl From<TuneError> for Failure {
    fn from(error: TuneError) -> Self {
        Self::Tune(error)
    }
}

impl From<UrlError> for Failure {
    fn from(error: UrlError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::File(error.to_string())
    }
}
