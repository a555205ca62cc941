//! One load from many machines.
//!
//! What this room is for: what a controller and its agents say to each other, and what each of
//! them may conclude from it. Orders are signed, ticks are numbered and acknowledged, and a load
//! that is not renewed ends by itself.
//! In: bytes that came, instants of a monotonic clock, and what the caller wants.
//! Out: bytes to send, orders for the workers of an agent, merged ticks for the lab, and the
//! account of each agent.
//! Never: a clock, a socket, a thread. A file is touched by [`key`] alone.
//!
//! # The protocol, version 1
//!
//! | from | where | what |
//! |---|---|---|
//! | agent | [`subject::hello`] | [`message::Hello`] as JSON, each second and when it is called |
//! | controller | [`subject::call`] | anything: every agent says hello |
//! | controller | [`subject::down`] | an [`order::Envelope`], signed, around a [`frame::Down`] |
//! | agent | [`subject::up`] | a [`frame::Up`] |
//!
//! A frame carries numbered items, which are acknowledged, sent again and taken once, in order:
//! [`message::Command`] down, [`message::Report`] up. What must not be late or old travels beside
//! them in each frame: the lease of the load, and pings.
//!
//! An agent believes nothing that its controller's key did not sign for it, in the life of this
//! very process, and once. The times of an order are those of the agent's own clock, as far as the
//! controller knows it: nobody's calendar has to be right.

pub mod admit;
pub mod agent;
pub mod allow;
pub mod blob;
pub mod bytes;
pub mod clock;
pub mod control;
pub mod frame;
pub mod key;
pub mod message;
pub mod order;
pub mod stream;
pub mod subject;
pub mod ticks;

/// Version of the protocol; both ends must have the same.
pub const PROTOCOL: u32 = 1;
/// Bytes of one message on any subject. A NATS server lets a million through by default.
pub const MESSAGE_BYTES_MAX: usize = 512 << 10;
/// Bytes of one numbered item: several fit into a message.
pub const ITEM_BYTES_MAX: usize = 384 << 10;
/// Bytes of a hello.
pub const HELLO_BYTES_MAX: usize = 16 << 10;
/// Agents that a controller knows at once; more are not listened to.
pub const AGENTS_MAX: usize = 4096;
/// An agent says hello this often, nanoseconds.
pub const HELLO_EVERY_NS: u64 = 1_000_000_000;
/// A controller renews the lease of a load this often, nanoseconds.
pub const BEAT_NS: u64 = 250_000_000;
/// A load ends this long after the last lease, nanoseconds.
pub const LEASE_NS: u64 = 1_500_000_000;
/// An agent that is silent for this long is cut off, nanoseconds.
pub const SILENCE_NS: u64 = 2_000_000_000;
/// An order may be this old when it arrives, nanoseconds.
pub const ORDER_VALID_NS: u64 = 10_000_000_000;
/// How long after the drain of a window the figures of an agent that was cut off are still taken,
/// nanoseconds. It is less than the five seconds for which the lab waits for a last tick.
pub const LATE_NS: u64 = 4_500_000_000;
