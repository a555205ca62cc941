//! A fleet's agents and its controller as processes.
//!
//! What this room is for: what [`fleet`] decided, carried out: sessions over a connection to a
//! broker, keys in files, and load by the lab.
//! In: credentials, an allow-list, orders; or a trial and the agents that shall make it. Out: load
//! from this host; or one run from many, and the account of every agent.
//! Never: an opinion about a message, which is the session's; load that the dead-man's switch did
//! not see.

pub mod agent;
pub mod capacity;
mod controller;
mod error;
pub mod keys;
mod lead;
mod line;
mod load;
mod switch;

pub use controller::{Controller, Seen, Settings};
pub use error::AgentsError;
pub use lead::Lead;
