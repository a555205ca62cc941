//! Writes flows from what other programs keep of requests.
//!
//! What this room is for: a first flow that a person then edits: from command lines of curl, from
//! what a browser recorded, from request files, collections and descriptions of an API.
//! In: the bytes of one file. Out: the text of a flow, and what it does not have.
//! Never: a request, a secret in the text, or a value that is not in the file.
//!
//! An importer turns a file into a draft ([`draft::Draft`]); one writer turns drafts into text.

mod curl;
mod draft;
mod har;
mod http;
mod json;
mod multipart;
mod node;
mod openapi;
mod postman;
mod recorded;
mod scope;
mod script;
mod secrets;
mod server;
mod url;
mod write;

pub use write::Written;

use draft::{Braces, Draft, Item};
use flow::Wrong;
use std::io::{BufRead, Read as _};

/// Most bytes of a file that is read as a whole.
const TEXT_MAX: u64 = 64 << 20;

/// Something that flows are written from.
#[derive(Debug)]
pub struct Kind {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    read: fn(&mut dyn BufRead) -> Result<Draft, Wrong>,
}

/// All kinds.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "curl",
        about: "command lines of curl, as browsers copy them",
        read: |input| curl::read(&text(input)?),
    },
    Kind { name: "har", about: "what a browser recorded, as a HAR file", read: har::read },
    Kind {
        name: "http",
        about: "a request file (.http, .rest) of an editor",
        read: |input| http::read(&text(input)?),
    },
    Kind {
        name: "openapi",
        about: "a description of an API (OpenAPI 3.0 or 3.1, JSON or YAML)",
        read: |input| openapi::read(&text(input)?),
    },
    Kind {
        name: "postman",
        about: "a collection of Postman (v2.1)",
        read: |input| postman::read(&text(input)?),
    },
];

/// Writes a flow from a file; `from` is its name, and `server` the one whose requests are taken.
pub fn import(
    kind: &Kind,
    from: &str,
    input: &mut dyn BufRead,
    server: Option<&str>,
) -> Result<Written, Wrong> {
    let mut draft = (kind.read)(input)?;
    if !draft.items.iter().any(|item| matches!(item, Item::Step(_))) {
        return Err(at_once(format!("there is no request in it; it should be {}", kind.about)));
    }
    if let Some(server) = server {
        draft.server = Some(url::read(server, Braces::Plain).map_err(at_once)?.server);
    }
    server::choose(&mut draft);
    recorded::link(&mut draft);
    secrets::hide(&mut draft);
    write::write(draft, from).map_err(at_once)
}

/// What is wrong with a file as a whole.
fn at_once(what: impl Into<String>) -> Wrong {
    at_line(1, what)
}

/// What is wrong at a line, which is 0 where a parser knows none.
fn at_line(line: usize, what: impl Into<String>) -> Wrong {
    Wrong { line: u32::try_from(line).unwrap_or(u32::MAX).max(1), what: what.into() }
}

/// The whole file as text, without the mark of a byte order.
fn text(input: &mut dyn BufRead) -> Result<String, Wrong> {
    let mut bytes = Vec::new();
    let read = input.take(TEXT_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| at_once(error.to_string()))?;
    if bytes.len() as u64 > TEXT_MAX {
        return Err(at_once(format!("the file has more than {} MiB", TEXT_MAX >> 20)));
    }
    let text = String::from_utf8(bytes).map_err(|_| at_once("the file is no text (UTF-8)"))?;
    Ok(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_string))
}
