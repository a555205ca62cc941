//! Why a run could not be made.

use crate::limits::LimitError;
use crate::preflight::{GreetError, SecretsError};
use crate::target::Unreachable;
use engine::StartError;
use remote::FarError;
use wire::tape::EncodeError;

/// Why a run could not be made.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// No address of the target accepts a connection.
    #[error("cannot connect to {0}")]
    Unreachable(#[from] Unreachable),
    /// No source is of the family of an address that accepts connections.
    #[error(
        "no --source is of the address family of a target that accepts connections; give one that \
         is, for example --source 127.0.0.1,::1"
    )]
    NoRoute,
    /// The target accepts connections, but TLS or the proxy failed.
    #[error("{0}")]
    Greet(#[from] GreetError),
    /// Certificates cannot be used.
    #[error("{0}")]
    Secrets(#[from] SecretsError),
    /// A limit of this host prevents the run.
    #[error("{0}")]
    Limit(#[from] LimitError),
    /// The server's host cannot be watched as requested.
    #[error("{0}")]
    Probe(#[from] FarError),
    /// A request cannot be encoded.
    #[error("{0}")]
    Request(#[from] EncodeError),
    /// A flow whose steps are not good already when one user takes them.
    #[error("{0}")]
    Flow(String),
    /// The workers did not start.
    #[error("{0}")]
    Start(#[from] StartError),
    /// Another tool could not make the load.
    #[error("{0}")]
    Tool(#[from] ToolError),
    /// A worker ended by itself: a bug of ours.
    #[error("internal error: a worker thread ended by itself")]
    WorkerLost,
    /// A worker stopped reporting: a bug of ours.
    #[error("internal error: a worker thread stopped reporting")]
    WorkerStuck,
}

impl LabError {
    /// Whether the server or its probe does not respond; false for any other error.
    pub fn is_unreachable(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Greet(_) => true,
            Self::Probe(error) => error.is_unreachable(),
            Self::Start(StartError::Far { is_unreachable, .. }) => *is_unreachable,
            _ => false,
        }
    }
}

/// Why another tool made no load, or none with known figures.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// Its program is not installed on this host.
    #[error("{name} is not in the PATH; to get it: {get}")]
    Absent {
        /// Its name.
        name: &'static str,
        /// How to get it.
        get: &'static str,
    },
    /// It cannot make this load.
    #[error("--tool {0}: {1}")]
    Asked(&'static str, String),
    /// It could not be run.
    #[error("cannot run {name}: {error}")]
    Run {
        /// Its name.
        name: &'static str,
        /// The system's reason.
        error: std::io::Error,
    },
    /// It did not end.
    #[error("{0} did not end, and was killed")]
    Hangs(&'static str),
    /// It ended before the whole load was made, or says so: its figures are those of another load.
    #[error("{name} ended with {how}, so its figures do not count: {why}")]
    Ended {
        /// Its name.
        name: &'static str,
        /// Its exit code or signal.
        how: String,
        /// Its last output.
        why: String,
    },
    /// It ended without figures.
    #[error("{name} ended with {how} and printed no readable figures: {why}")]
    Silent {
        /// Its name.
        name: &'static str,
        /// Its exit code or signal.
        how: String,
        /// Its last output, or what is wrong with its output.
        why: String,
    },
}
