//! Exit codes, and why a command failed.

use lab::LabError;
use model::claim::Claim;
use model::objective::ObjectiveStanding;
use model::run::{Outcome, Point, Record};
use model::verdict::Named;
use plan::{Refusal, Usage};
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
    /// The figure that was asked for is not known, or the generator was the wall.
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
    /// The code of a run that was made. The measurement is not valid only when the figure that
    /// the command exists for is not known, or is that of the generator; a strict one also when
    /// any gate of a level is broken.
    pub fn of(record: &Record, strictness: Strictness) -> Self {
        let is_strict = strictness == Strictness::EveryGate;
        match record.outcome {
            Outcome::Interrupted => return Self::Interrupted,
            Outcome::TargetLost => return Self::Unreachable,
            Outcome::Complete if was_silent(record) => return Self::Unreachable,
            Outcome::Complete => {}
        }
        // A search needs trials that miss, and those break gates.
        if let Some(search) = &record.search {
            let rate = search.answer.as_ref().map(|answer| answer.rate);
            return match (rate, record.claim()) {
                (None, _) => Self::Internal,
                (_, Claim::OfGenerator | Claim::NotKnown(_)) => Self::NotValid,
                (Some(Some(_)), Claim::Known) => Self::Good,
                (Some(None), Claim::Known) => Self::Unmet,
            };
        }
        match ObjectiveStanding::of(&record.expectations) {
            _ if !record.claim().is_known() => Self::NotValid,
            _ if is_strict && !record.holds_all_gates() => Self::NotValid,
            ObjectiveStanding::Met => Self::Good,
            ObjectiveStanding::Missed | ObjectiveStanding::Undecided => Self::Unmet,
        }
    }
}

/// Which broken gates make a measurement not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Those that leave nothing of the figure that was asked for.
    OfFigure,
    /// Every one.
    EveryGate,
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

/// Whether no response came at all, good or bad, and no limit explains it.
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
    /// The name of the server has no address.
    NoAddress(String),
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
            Self::Usage(text)
            | Self::NoAddress(text)
            | Self::File(text)
            | Self::NotValid(text)
            | Self::Left(text) => f.write_str(text),
            Self::Lab(error) => error.fmt(f),
            Self::Tune(error) => error.fmt(f),
            Self::Far(error) => error.fmt(f),
        }
    }
}

impl Failure {
    /// Its exit code.
    pub fn code(&self) -> Code {
        match self {
            Self::Usage(_) => Code::Usage,
            Self::NoAddress(_) => Code::Unreachable,
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

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Usage(usage) => usage.into(),
            Refusal::NoAddress(told) => Self::NoAddress(told),
        }
    }
}

impl From<Usage> for Failure {
    fn from(Usage(text): Usage) -> Self {
        Self::Usage(text)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::File(error.to_string())
    }
}
