//! The forms that are recognised, by their content and never by the name of a file.
//!
//! One file per form, all of one shape: how it is recognised, how it is read, and what its figures
//! mean, from the source of the tool.

mod wrk;
mod wrk2;

use crate::document::Object;
use crate::page::Page;
use model::audit::Foreign;
use std::io::{self, BufRead};

/// A form as listed.
pub struct Format {
    /// Its name.
    pub id: &'static str,
    /// The tool that prints it.
    pub tool: &'static str,
    /// What it is, as a noun phrase.
    pub about: &'static str,
    /// A command that makes one.
    pub example: &'static str,
    /// How it is recognised and read.
    pub reader: Reader,
}

/// What was told, or the name of a figure that the form always has.
pub type Told = Result<Foreign, &'static str>;

/// How a form is recognised and read.
pub enum Reader {
    /// Text for people.
    Text(fn(Page<'_>) -> bool, fn(Page<'_>) -> Told),
    /// One JSON object.
    Document(fn(&Object<'_>) -> bool, fn(&Object<'_>) -> Told),
    /// Rows of any number, recognised by the first of them.
    Rows(fn(Page<'_>) -> bool, fn(&mut dyn BufRead) -> io::Result<Told>),
}

/// Every form. One that holds another's marks comes before it.
pub const FORMATS: &[Format] = &[wrk2::FORMAT, wrk::FORMAT];

/// What an error names.
pub(crate) const EXAMPLE: &str = "wrk -t2 -c64 -d30s --latency URL > wrk.txt";

/// The tools that are known, each once.
pub(crate) fn tools() -> String {
    let mut tools: Vec<&str> = FORMATS.iter().map(|format| format.tool).collect();
    tools.dedup();
    tools.join(", ")
}
