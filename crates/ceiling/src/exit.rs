//! Exit codes, and why a command failed.

use engine::StartError;
use fleet::process::AgentsError;
use lab::{LabError, ToolError};
use model::ending::Ending;
use model::run::Record;
use plan::{Refusal, Usage};
use remote::FarError;
use std::collections::BTreeMap;
use std::process::ExitCode;
use store::StoreError;
use tune::TuneError;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Good.
    Good = 0,
    /// A failure that neither the user nor the target caused.
    Internal = 1,
    /// The command line or a file named on it is wrong.
    Usage = 2,
    /// An expectation was missed, or it is not known whether it holds; or nothing was expected, and
    /// no good response came.
    Unmet = 3,
    /// The requested figure is not known, or the generator was the wall.
    NotValid = 4,
    /// The target, or the probe on its host, does not respond.
    Unreachable = 5,
    /// Interrupted; partial results were written.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

impl From<Ending> for Code {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Good => Self::Good,
            Ending::Unmet | Ending::NothingGood => Self::Unmet,
            Ending::NotValid => Self::NotValid,
            Ending::Unreachable => Self::Unreachable,
            Ending::Interrupted => Self::Interrupted,
            Ending::NoAnswer => Self::Internal,
        }
    }
}

impl Code {
    /// Every code with what it means, in the order of their numbers.
    pub const ALL: [(Self, &str); 7] = [
        (Self::Good, "The measurement is good, and every expectation holds."),
        (Self::Internal, "ceiling itself failed, for example to write a file."),
        (Self::Usage, "The command line, or a file named on it, is wrong."),
        (
            Self::Unmet,
            "An expectation was missed or could not be decided; or none was given, and no good \
             response came.",
        ),
        (
            Self::NotValid,
            "The measurement is not valid: the requested figure is not known, or the generator \
             was the wall; with --strict, any gate failed.",
        ),
        (Self::Unreachable, "The target or the probe does not respond, or a cell failed."),
        (Self::Interrupted, "Interrupted; partial results were written."),
    ];
}

/// One line with the terms that were missed and those that are undecided.
pub fn unmet(record: &Record) -> String {
    let open = record.expectations.iter().filter(|term| term.met != Some(true));
    let shown = open.map(|term| {
        let word = if term.met.is_some() { "missed" } else { "undecided" };
        let margin = term.margin().map_or(String::new(), |margin| format!(", {margin}"));
        format!("{} {word}: {}{margin}", term.term, term.why)
    });
    shown.collect::<Vec<_>>().join("; ")
}

/// One line that says that no good response came, and how to say that those are expected which did.
pub fn nothing_good(record: &Record) -> String {
    let mut codes: BTreeMap<&str, u64> = BTreeMap::new();
    for (code, count) in record.points.iter().flat_map(|point| &point.error_codes) {
        *codes.entry(code).or_default() += count;
    }
    let most = codes.into_iter().max_by_key(|(_, count)| *count);
    let hint = most.map_or(String::new(), |(code, _)| {
        format!("; if {code} is the response you expect: --check-status {code}")
    });
    format!("no good response came{hint}")
}

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The command line asks for something impossible.
    Usage(String),
    /// The name of the server has no address.
    NoAddress(String),
    /// A file could not be written or read.
    File(String),
    /// A stored run is not a valid measurement.
    NotValid(String),
    /// The run could not be made.
    Lab(LabError),
    /// A knob of the host was not changed, or not put back.
    Tune(TuneError),
    /// A change could not be put back.
    Left(String),
    /// The probe's host could not carry out an order.
    Far(FarError),
    /// A fleet could not carry out an order.
    Fleet(AgentsError),
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
            Self::Fleet(error) => error.fmt(f),
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
            Self::Lab(error) if error.is_unreachable() => Code::Unreachable,
            Self::Lab(
                LabError::Limit(_)
                | LabError::Request(_)
                | LabError::NoRoute
                | LabError::Probe(_)
                | LabError::Secrets(_)
                | LabError::Start(StartError::Far { .. })
                | LabError::Tool(ToolError::Absent { .. } | ToolError::Asked(..)),
            ) => Code::Usage,
            Self::Lab(LabError::Tool(_)) => Code::NotValid,
            Self::Tune(error) if error.is_usage() => Code::Usage,
            Self::Far(error) if error.is_unreachable() => Code::Unreachable,
            Self::Far(_) => Code::Usage,
            Self::Fleet(error) if error.is_unreachable() => Code::Unreachable,
            Self::Fleet(_) => Code::Usage,
            Self::Left(_) | Self::Lab(LabError::Flow(_)) => Code::Unmet,
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
            Refusal::NoAddress(why) => Self::NoAddress(why),
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
