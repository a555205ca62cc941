//! Why a fleet does nothing.

/// Why a fleet does nothing.
#[derive(Debug, thiserror::Error)]
pub enum AgentsError {
    /// The client could not be set up.
    #[error("{0}")]
    Client(nats::Failure),
    /// A name that is no part of a subject.
    #[error(transparent)]
    Subject(#[from] nats::SubjectError),
    /// The broker does not let us in.
    #[error(
        "{server}: {why}; the credentials are of another fleet, or the broker does not know \
             them yet: ceiling fleet keys writes both"
    )]
    Denied {
        /// Which one.
        server: String,
        /// Its words.
        why: nats::Failure,
    },
    /// No broker can be reached.
    #[error("no broker of the fleet can be reached: {0}; is nats-server running there?")]
    NoBroker(String),
    /// Too few agents.
    #[error("{0}")]
    TooFew(String),
    /// An agent does not take the load.
    #[error("{0}")]
    Refused(String),
    /// What is asked for cannot be sent to agents.
    #[error("{0}")]
    NotFar(String),
    /// A file of the controller that agents need cannot be read.
    #[error("{option} {path}: {error}")]
    File {
        /// The option that names it.
        option: &'static str,
        /// The file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// No thread could be made.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

impl AgentsError {
    /// Whether something is not there, rather than wrong.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Denied { .. } | Self::NoBroker(_) | Self::TooFew(_))
    }
}
