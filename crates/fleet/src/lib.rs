//! One load from many machines.
//!
//! What this room is for: the protocol between a controller and its agents, as the state of each
//! side. Orders are signed, ticks are numbered and acknowledged, and a load whose lease is not
//! renewed ends by itself.
//! In: bytes that arrived, instants of a monotonic clock, and the wishes of the caller.
//! Out: bytes to send, orders for the workers of an agent, merged ticks for the lab, and the
//! account of each agent.
//! Never: a clock, a socket, a thread or a file, except in [`process`], where the sessions become
//! agents and a controller.
//!
//! # The protocol, version 1
//!
//! | from | where | what |
//! |---|---|---|
//! | agent | [`subject::hello`] | [`message::Hello`] as JSON, every second and after a call |
//! | controller | [`subject::call`] | [`CALL`] and a version, or anything: every agent says hello |
//! | controller | [`subject::down`] | an [`order::Envelope`], signed, around a [`frame::Down`] |
//! | agent | [`subject::up`] | a [`frame::Up`] |
//!
//! A frame carries numbered items, which are acknowledged, sent again if lost, and handled once, in
//! order: [`message::Command`] down, [`message::Report`] up. Values that must not be late or old
//! are not items but part of each frame: the lease of the load, and pings.
//!
//! An agent accepts only orders that its controller's key has signed for it and for its current
//! process, and each only once. The times of an order are in the agent's own clock, as the
//! controller estimates it: no wall clock has to be right.

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
pub mod process;
pub mod stream;
pub mod subject;
pub mod ticks;

/// Version of the protocol; both sides must have the same.
pub const PROTOCOL: u32 = 1;
/// A call starts with this; the controller's version of the protocol follows.
pub const CALL: &str = "call ";
/// Size limit of a message on any subject, bytes. The default limit of a NATS server is a million.
pub const MESSAGE_BYTES_MAX: usize = 512 << 10;
/// Size limit of a numbered item, bytes; a message can carry several items.
pub const ITEM_BYTES_MAX: usize = 384 << 10;
/// Size limit of a hello, bytes.
pub const HELLO_BYTES_MAX: usize = 16 << 10;
/// Most agents that a controller tracks at once; it ignores more.
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
/// How long after the drain of a window the figures of an agent that was cut off still count,
/// nanoseconds. It is less than the five seconds for which the lab waits for a last tick.
pub const LATE_NS: u64 = 4_500_000_000;
