//! Why no run could be made.

use crate::limits::LimitError;
use crate::preflight::{GreetError, SecretsError};
use crate::target::Unreachable;
use crate::tool::ToolError;
use engine::StartError;
use remote::FarError;
use wire::tape::EncodeError;

/// Why no run could be made.
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
    /// A limit of this host stands in the way.
    #[error("{0}")]
    Limit(#[from] LimitError),
    /// The server's host cannot be watched as asked.
    #[error("{0}")]
    Probe(#[from] FarError),
    /// A request cannot be encoded.
    #[error("{0}")]
    Request(#[from] EncodeError),
    /// The workers did not start.
    #[error("{0}")]
    Start(#[from] StartError),
    /// Another tool did not make the load.
    #[error("{0}")]
    Tool(#[from] ToolError),
    /// A worker ended by itself: a bug of ours.
    #[error("internal error: a worker thread ended by itself")]
    WorkerLost,
    /// A worker stopped reporting: a bug of ours.
    #[error("internal error: a worker thread stopped reporting")]
    WorkerStuck,
}
