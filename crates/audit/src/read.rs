//! Turns the bytes of a file into what they report.

use crate::command;
use crate::document::Node;
use crate::formats::{self, FORMATS, Format, Reader};
use crate::page::{Page, without_colours};
use model::audit::{Foreign, Given};
use std::io::{BufRead, BufReader, Read};

/// The most bytes of a file that is read as a whole. Files of rows are read row by row.
pub const SIZE_MAX: usize = 64 << 20;
/// The bytes by which a format is recognised.
const HEAD_SIZE: usize = 64 << 10;

/// Why a file could not be audited.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// It is not in a known format.
    #[error(
        "not the output of a known tool ({}); for example {}",
        formats::tools(),
        formats::EXAMPLE
    )]
    Unknown,
    /// It is too large to be read at once.
    #[error("longer than {} MiB; only rows may be this long, for example \
             `k6 run --out json=FILE` or a JMeter .jtl", SIZE_MAX >> 20)]
    Long,
    /// A format without a figure that it always has.
    #[error("looks like {form}, but has no {missing}; for example {example}")]
    Missing {
        /// The format.
        form: &'static str,
        /// What is missing.
        missing: &'static str,
        /// How to get a complete one.
        example: &'static str,
    },
    /// Several outputs in one file, of which only one would be read.
    #[error("holds more than one {form}; put each into its own file, and name each file")]
    Several {
        /// The format.
        form: &'static str,
    },
    /// A text without a rate or a latency.
    #[error(
        "no rate and no latency in this text; expected are sentences such as `1.2M requests/s \
             over 128 connections, p99 of 3 ms`, and tables with such columns"
    )]
    NoFigure,
    /// It could not be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// Reads what one file reports.
pub fn read(source: &mut dyn Read, given: &Given) -> Result<Foreign, Unread> {
    let mut head = Vec::new();
    source.take(HEAD_SIZE as u64).read_to_end(&mut head)?;
    let shown = without_colours(&String::from_utf8_lossy(&head));
    let is_all = head.len() < HEAD_SIZE;
    let rows = FORMATS.iter().find(|format| match format.reader {
        Reader::Rows(is, _) => is(Page(&shown)),
        _ => false,
    });
    let mut foreign = match rows {
        Some(format) => by_rows(format, &head, source)?,
        None => {
            if !is_all {
                source.take((SIZE_MAX - HEAD_SIZE + 1) as u64).read_to_end(&mut head)?;
            }
            if head.len() > SIZE_MAX {
                return Err(Unread::Long);
            }
            whole(&without_colours(&String::from_utf8_lossy(&head)))?
        }
    };
    command::complete(&mut foreign, given, Page(&shown));
    Ok(foreign)
}

fn by_rows(format: &'static Format, head: &[u8], rest: &mut dyn Read) -> Result<Foreign, Unread> {
    let Reader::Rows(_, read) = format.reader else { return Err(Unread::Unknown) };
    let mut source = BufReader::new(head.chain(rest));
    let told = read(&mut source as &mut dyn BufRead)?;
    Ok(named(format, told.map_err(|missing| incomplete(format, missing))?))
}

fn whole(text: &str) -> Result<Foreign, Unread> {
    let page = Page(text);
    // A log may precede a document, and a newline follow it.
    let document = text.find(['{', '[']).and_then(|begin| Node::root(text.get(begin..)?));
    let object = document.and_then(Node::object);
    for format in FORMATS {
        let told = match (&format.reader, &object) {
            (Reader::Document(is, read), Some(object)) if is(object) => read(object),
            (Reader::Text(is, _), None) if is(page) && is_several(format, *is, text) => {
                return Err(Unread::Several { form: format.about });
            }
            (Reader::Text(is, read), None) if is(page) => read(page),
            _ => continue,
        };
        return Ok(named(format, told.map_err(|missing| incomplete(format, missing))?));
    }
    Err(Unread::Unknown)
}

/// Whether the text after the first recognised part is recognised as well.
fn is_several(format: &Format, is: fn(Page<'_>) -> bool, text: &str) -> bool {
    if let Some(once) = formats::printed_once(format) {
        return text.matches(once).count() > 1;
    }
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    let first = ends.partition_point(|end| !is(Page(&text[..*end])));
    ends.get(first).is_some_and(|end| is(Page(&text[*end..])))
}

fn named(format: &Format, told: Foreign) -> Foreign {
    Foreign { tool: format.tool.into(), format: format.id.into(), ..told }
}

fn incomplete(format: &'static Format, missing: &'static str) -> Unread {
    Unread::Missing { form: format.about, missing, example: format.example }
}
