//! What one user does, read from a file.
//!
//! What this room is for: flow files, which are a subset of Hurl files (<https://hurl.dev>).
//! In: the text of a file, the values of variables that a user gave, and files that it names. Out:
//! a [`Flow`], or what is wrong in which line, what is accepted, and the way round.
//! Never: a request, a response, or how many users come and when.
//!
//! The parser is written from the published grammar. It reads line by line, because every form but
//! a body has a line of its own.

mod body;
mod entry;
mod lines;
mod names;
mod options;
mod path;
mod query;
mod text;
mod wrong;

pub use entry::{FILE_MAX, STEPS_MAX, read};
pub use model::flow::Flow;
pub use names::{Given, VARIABLES_MAX};
pub use wrong::Wrong;
