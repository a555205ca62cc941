//! The connection of an agent or of a controller to its broker.
//!
//! Everything that arrives is passed to `take`. While there is no connection, outgoing messages are
//! dropped, because sessions send them again.

use super::error::AgentsError;
use nats::{Client, Credentials, Event, Failure, Servers, Settings, Subject, Waker};
use std::time::Duration;

/// Longest time between two turns of a session.
pub(crate) const TURN: Duration = Duration::from_millis(10);
/// How many messages are taken before the session gets its turn, so that a flood does not stop its
/// clock.
const AT_ONCE: usize = 256;
/// How long the last messages may take to leave.
const FAREWELL: Duration = Duration::from_millis(300);

/// What arrives on a line.
#[derive(Debug)]
pub(crate) enum Came {
    /// A message.
    Message { subject: String, payload: Vec<u8> },
    /// The connection is up.
    Up(String),
    /// The connection is down, and why; the client tries the next server by itself.
    Down { server: String, why: Failure },
    /// The broker does not allow something.
    Refused(String),
}

/// A line.
#[derive(Debug)]
pub(crate) struct Line {
    client: Client,
}

impl Line {
    /// A line that connects at its first turn.
    pub(crate) fn new(
        servers: &Servers,
        credentials: &Credentials,
        name: &str,
        subjects: &[String],
    ) -> Result<Self, AgentsError> {
        let subjects = subjects.iter().map(|subject| subject.parse()).collect::<Result<_, _>>()?;
        let client = Client::new(Settings {
            servers: servers.clone(),
            credentials: credentials.clone(),
            name: name.to_string(),
            subjects,
        });
        Ok(Self { client: client.map_err(AgentsError::Client)? })
    }

    /// Ends the wait of [`Line::turn`].
    pub(crate) fn waker(&self) -> Waker {
        self.client.waker()
    }

    /// Waits until something arrives or [`TURN`] has passed, and passes what arrived to `take`.
    pub(crate) fn turn(&mut self, mut take: impl FnMut(Came)) {
        let mut wait = TURN;
        for _ in 0..AT_ONCE {
            let Some(event) = self.client.next(wait) else { return };
            let came = match event {
                Event::Up { server } => Came::Up(server),
                Event::Down { server, why } => Came::Down { server, why },
                Event::Payload { subject, payload } => Came::Message { subject, payload },
                Event::Refused { why } => Came::Refused(why),
            };
            take(came);
            wait = Duration::ZERO;
        }
    }

    /// Sends a message, or drops it if there is no connection.
    pub(crate) fn send(&mut self, subject: &str, payload: &[u8]) {
        // Names were checked, so this parses; and a session sends a dropped message again.
        if let Ok(subject) = subject.parse::<Subject>() {
            let _ = self.client.publish(&subject, payload);
        }
    }

    /// Waits until the last messages have left.
    pub(crate) fn end(mut self) {
        let _ = self.client.flush(FAREWELL);
    }
}
