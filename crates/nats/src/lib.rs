//! A small NATS client.
//!
//! What this room is for: publishing and receiving on subjects, as a user with its own key, over
//! one connection that reconnects by itself.
//! In: servers, credentials, subjects, payloads. Out: payloads with their subjects, and events when
//! the connection is made or lost.
//! Never: JetStream, headers, requests with replies; servers that a server advertises; a payload
//! queued while there is no connection.
//!
//! # Why our own
//!
//! `async-nats` is well maintained and supports all of NATS. With the same rustls it adds 961 kB to
//! a stripped program, because it brings tokio, a URL parser with the tables of Unicode, and
//! regular expressions; this crate adds 195 kB (both built for size). Nothing else here needs
//! tokio. The fleet uses eight commands of the protocol.

mod protocol;
mod subject;

mod credentials;
mod key;

mod address;
mod authority;
mod client;
mod link;
mod wake;

pub use address::{AddressError, PORT, Server, Servers};
pub use client::{Client, Event, Settings};
pub use credentials::{Credentials, CredentialsError};
pub use key::{KeyError, Seed};
pub use link::Failure;
pub use protocol::{Info, LINE_BYTES_MAX, Message, PAYLOAD_BYTES_MAX, Parser, ProtocolError};
pub use subject::{Subject, SubjectError};
pub use wake::Waker;
