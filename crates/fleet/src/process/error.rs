//! Why a fleet makes no load.

/// Why a fleet makes no load.
#[derive(Debug, thiserror::Error)]
pub enum AgentsError {
    /// The client could not be set up.
    #[error("{0}")]
    Client(nats::Failure),
    /// A name that cannot be part of a subject.
    #[error(transparent)]
    Subject(#[from] nats::SubjectError),
    /// The broker refuses our credentials.
    #[error(
        "{server}: {why}; the credentials are of another fleet, or the broker has not loaded \
             them yet: ceiling fleet keys writes the credentials and the broker's configuration"
    )]
    Denied {
        /// The broker.
        server: String,
        /// Its message.
        why: nats::Failure,
    },
    /// The broker accepts us, but not as a controller of this fleet.
    #[error(
        "the broker does not let us call or hear the agents: {0}; the user of these credentials is \
         no controller of this fleet: see the name after the slash in --fleet, and the users that \
         ceiling fleet keys wrote into the broker's configuration"
    )]
    Forbidden(String),
    /// No broker can be reached.
    #[error("no broker of the fleet can be reached: {0}; is nats-server running there?")]
    NoBroker(String),
    /// Too few agents.
    #[error("{0}")]
    TooFew(String),
    /// Agents respond, but do not take the order to stop.
    #[error(
        "these agents did not acknowledge the order to stop: {0}; they may carry on if their \
         --controller is another key than that in --fleet-keys, and their logs say why they \
         refuse it"
    )]
    NotStopped(String),
    /// An agent refuses the load.
    #[error("{0}")]
    Refused(String),
    /// A load that agents cannot make.
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
    /// Whether the broker or the agents are missing, as opposed to a wrong setting.
    pub fn is_unreachable(&self) -> bool {
        matches!(
            self,
            Self::Denied { .. }
                | Self::Forbidden(_)
                | Self::NoBroker(_)
                | Self::TooFew(_)
                | Self::NotStopped(_)
        )
    }
}
