//! The real binary over loopback: its contract on the wire, on its output and in its record.
//!
//! The machine may be busy, so lower bounds of times are strict and upper bounds are generous.

mod accepting;
mod arrivals;
mod contract;
mod delays;
mod faults;
mod protocol;

mod client;
mod sink;
