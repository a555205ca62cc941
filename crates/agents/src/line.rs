//! The connection of an agent or of a controller to its broker.
//!
//! What comes is handed to `take` with the instant at which it came; what is to go is dropped while
//! there is no connection, because sessions send again.

use crate::error::AgentsError;
use nats::{Client, Credentials, Event, Failure, Servers, Settings, Subject, Waker};
use std::time::Duration;

/// How long a session may be left alone.
pub(crate) const TURN: Duration = Duration::from_millis(10);
/// Messages taken before a session is turned, so that a flood does not stop its clock.
const AT_ONCE: usize = 256;
/// How long the last messages may take to leave.
const FAREWELL: Duration = Duration::from_millis(300);

/// What comes over a line.
#[derive(Debug)]
pub(crate) enum Came {
    /// A message.
    Message { subject: String, payload: Vec<u8> },
    /// The connection is there.
    Up(String),
    /// It is not, and why; another is tried by itself.
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
    /// Connects when it is turned first.
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

    /// Waits until something comes or [`TURN`] is over, and hands over what came.
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

    /// Sends now or never.
    pub(crate) fn send(&mut self, subject: &str, payload: &[u8]) {
        // Names were checked, so this is a subject; and a session sends again what did not go.
        if let Ok(subject) = subject.parse::<Subject>() {
            let _ = self.client.publish(&subject, payload);
        }
    }

    /// Lets what was sent last leave.
    pub(crate) fn end(mut self) {
        let _ = self.client.flush(FAREWELL);
    }
}
