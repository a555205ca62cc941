//! A small client of NATS.
//!
//! What this room is for: publishing and receiving on subjects, as a user with a key of their own,
//! over one connection that comes back by itself.
//! In: servers, credentials, subjects, payloads. Out: payloads with their subjects, and when the
//! connection comes and goes.
//! Never: JetStream, headers, requests with replies; trust in what a server names; a payload that
//! is kept while there is no connection.
//!
//! # Why our own
//!
//! `async-nats` is well kept and knows all of NATS. With the same rustls it adds 961 kB to a
//! stripped program, because it brings tokio, an URL parser with the tables of Unicode, and regular
//! expressions; this crate adds 195 kB (both built for size). Nothing else here needs tokio, and a
//! program of at most 15 MB has no room for it. The fleet uses eight words of the protocol.

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
