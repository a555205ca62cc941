//! The agents and the controller of a fleet as processes: all IO of this crate.
//!
//! They carry out what the sessions decide: over a connection to a broker, with keys in files and
//! load made by the lab. In: credentials, an allow-list, orders; or a trial and the agents that
//! make it. Out: load from this host; or one run from many hosts, and the account of every agent.
//! Never: a decision about a message, which is made by the session; load that the dead-man's switch
//! does not control.

pub mod agent;
pub mod capacity;
mod controller;
mod error;
mod key_file;
pub mod keys;
mod lead;
mod line;
mod load;
mod switch;

pub use controller::{Controller, Seen, Settings};
pub use error::AgentsError;
pub use lead::Lead;
