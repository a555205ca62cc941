//! Why there is no session with a probe, in one line that says what to do.

use crate::line::LineEnd;
use crate::message::Refusal;
use crate::token::TokenError;
use std::io::{self, ErrorKind};

/// Why there is no session with a probe.
#[derive(Debug, thiserror::Error)]
pub enum FarError {
    /// Our copy of the token cannot be used.
    #[error("--probe-token-file {0}")]
    Token(#[from] TokenError),
    /// No connection to that address.
    #[error("cannot connect to a probe at {address}: {why}; is ceiling probe serve running there?")]
    Unreachable {
        /// As typed.
        address: String,
        /// The system's reason.
        why: String,
    },
    /// The other end sends nothing, or nothing more.
    #[error("the probe at {address} does not respond: {why}")]
    Silent {
        /// As typed.
        address: String,
        /// What the client waited for.
        why: String,
    },
    /// The other end is not a probe.
    #[error(
        "the server at {address} is not a probe: {why}; give the address that ceiling probe serve \
         printed"
    )]
    NotAProbe {
        /// As typed.
        address: String,
        /// What it sent.
        why: String,
    },
    /// A probe, or a program in its place, with another certificate.
    #[error(
        "the certificate of {address} does not match the pin: its SHA-256 is {found} and not \
         {pin}; give the pin that ceiling probe serve printed on its own host"
    )]
    WrongPin {
        /// As typed.
        address: String,
        /// As given.
        pin: String,
        /// As shown.
        found: String,
    },
    /// The probe's own reason.
    #[error("the probe at {address} refuses: {why}")]
    Refused {
        /// As typed.
        address: String,
        /// Why.
        why: Refusal,
    },
    /// The server of an order does not run, for the probe's own reason.
    #[error("the probe at {address} did not start {server}: {why}")]
    NotStarted {
        /// As typed.
        address: String,
        /// Its name.
        server: String,
        /// What was asked and what its list allows, or why the server did not listen.
        why: String,
    },
    /// We were stopped before it listened.
    #[error("interrupted before {server} listened")]
    Interrupted {
        /// Its name.
        server: String,
    },
    /// The output of the server cannot be kept.
    #[error("cannot write {path}: {why}")]
    Log {
        /// The file.
        path: String,
        /// The system's reason.
        why: String,
    },
    /// This host cannot start a thread.
    #[error("cannot start a thread to read from the probe: {0}")]
    NoThread(String),
}

impl FarError {
    /// Whether the same call could work later: the connection failed, not the request.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Silent { .. })
            || matches!(self, Self::Refused { why: Refusal::Busy { .. }, .. })
    }
}

/// The system's reason, in words.
pub fn io_reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::TimedOut => "no response in time".to_string(),
        _ => error.to_string(),
    }
}

/// The error for a connection that ends before the welcome.
pub fn of_end(address: &str, pin: &str, end: LineEnd, refused: Option<String>) -> FarError {
    let (address, pin) = (address.to_string(), pin.to_string());
    if let Some(found) = refused {
        return FarError::WrongPin { address, pin, found };
    }
    match end {
        LineEnd::Tls(_) => {
            let why = "it does not speak TLS 1.3 as a probe does".to_string();
            FarError::NotAProbe { address, why }
        }
        LineEnd::Frame(error) => FarError::NotAProbe { address, why: format!("it sent {error}") },
        LineEnd::Closed => {
            let why = "it closed the connection without a message".to_string();
            FarError::NotAProbe { address, why }
        }
        LineEnd::Io(error) => FarError::Silent { address, why: error.to_string() },
    }
}
