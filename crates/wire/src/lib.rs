//! Protocols without sockets and without time.
//!
//! What this room is for: turning requests into bytes, and bytes into responses, one connection at
//! a time. The same code runs in production, in simulation and under fuzzing.
//! In: a request to encode; bytes as they arrive, in pieces of any size. Out: the bytes to send;
//! complete responses, or the reason why the bytes are not a response. [`session`] is the
//! interface: what a protocol must implement so that the engine can speak it.
//! Never: a socket, a system call, a clock, a lock, an allocation per response.

pub mod tape;

pub mod tls;
pub mod tunnel;

mod head;
pub mod http1;
pub mod http2;
pub mod response;
pub mod session;
mod shape;
pub mod solo;

pub mod fill;
pub mod jar;
pub mod look;
pub mod message;
pub mod program;
pub mod rules;
pub mod sse;

pub use shape::Shapes;
