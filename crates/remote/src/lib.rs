//! The probe on the server's host, and the connection to it.
//!
//! What this room is for: facts and readings of another host, without trusting either end more than
//! needed.
//! In: a listening address and a token on the server's host; an address, the same token and the
//! certificate's pin on ours. Out: the far host's facts, its raw readings with its own times, and
//! the offset of its clock from ours, with the error of that offset.
//! Never: a command from a client, a converted time; a change to the host, except of knobs that the
//! tuner knows and servers that the starter lists, and only when the probe was started to allow it.
//!
//! # The protocol, version 5
//!
//! TLS 1.3 over TCP. The probe shows a certificate that it made itself; the client accepts only the
//! one whose SHA-256 is the *pin*, and sends nothing before that. Each message is four bytes of
//! length, big-endian, and that many bytes of JSON: an object with a `kind`.
//!
//! | from | kind | when |
//! |---|---|---|
//! | client | `hello` | first: version, token, the server's port, how often to read, when to stop |
//! | probe | `welcome` | facts of the host and of the server, privilege, what it cannot read |
//! | probe | `refused` | instead, with the reason; the connection then ends |
//! | client | `ping` | at will, once per second at least; with the client's monotonic time |
//! | probe | `pong` | at once, with that time and the probe's own, before and after |
//! | probe | `reading` | as they come, in the order read |
//! | client | `stop` | asks for one last round of everything, or to end the server |
//! | client | `tune` | in a session for that: an order about knobs, or a step of an experiment |
//! | probe | `tuned` | the response to that, when the probe was started to allow it |
//! | client | `start` | in a session for that, once: a server of the probe's list and choices |
//! | probe | `started`, `not-started` | the response to that: where it listens, or why not |
//! | probe | `line` | what the server wrote on standard error, as far as it is passed on |
//! | probe | `ended` | after `stop`, or when the server ends by itself: how it ended |
//! | probe | `bye` | last: the reason of the end |
//!
//! A client's message has at most [`TO_PROBE_BYTES_MAX`] bytes, a probe's at most
//! [`FROM_PROBE_BYTES_MAX`]; a longer one ends the connection. So does silence: the probe waits
//! [`HELLO_WITHIN`] for the hello and [`IDLE_MAX`] for anything later, and the client counts the
//! probe as lost after [`SILENCE_MAX`]. Any change of a message or of a reading needs a new
//! version.

mod certificate;
mod frame;
mod line;
mod listening;
mod message;
mod offset;
mod printable;
mod token;

mod serve;

mod metrics;

mod far;

pub use far::{Call, Far, FarError, FarServer, Orders, SessionEnd, order};
pub use frame::{FrameError, Frames};
pub use line::LineEnd;
pub use message::{
    Farewell, FromProbe, Hello, Pong, Purpose, Refusal, Started, ToProbe, VERSION, Welcome,
    hello_version,
};
pub use offset::{Estimator, Part, RoundTrip, WallZero};
pub use printable::printable;
pub use serve::{Look, Probe, Running, ServeError, Settings, Starter, Tuner};
pub use token::{TokenError, write_secret};

use std::time::Duration;

/// Most bytes of a client's message.
pub const TO_PROBE_BYTES_MAX: usize = 16 << 10;
/// Most bytes of a probe's message.
pub const FROM_PROBE_BYTES_MAX: usize = 16 << 20;
/// From the connection to the whole hello, and to the welcome. A host whose server is at its limit
/// may need seconds for the handshake.
pub const HELLO_WITHIN: Duration = IDLE_MAX;
/// A client that sends nothing for this long is gone.
pub const IDLE_MAX: Duration = Duration::from_secs(15);
/// A probe that sends nothing for this long is gone. On a host at its limit it may get no CPU for
/// seconds.
pub const SILENCE_MAX: Duration = Duration::from_secs(15);
