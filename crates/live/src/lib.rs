//! Shows a run while it goes on: in browsers, on a page that grows, and in the terminal.
//!
//! What this room is for: taking the events of a run, encoding each once, and sending it to all
//! watchers, so that the run never waits.
//! In: events of the lab, messages of a process of ours that measures, requests of browsers. Out:
//! server-sent events, pages, a drawing in the terminal.
//! Never: a figure or a judgement of its own, a change of the run, a thread that the control plane
//! waits for.

pub mod message;

pub mod feed;
pub mod hub;
pub mod now;

pub mod compose;
mod hosts;

pub mod http;
pub mod page;

pub mod relay;
pub mod terminal;

pub mod changes;
pub mod site;

mod live;

pub use live::{Live, LiveError, Wanted};
pub use terminal::Colours;
