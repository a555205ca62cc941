//! The formats that are recognised, by their content and never by the name of a file.
//!
//! One file per format, all of the same shape: how it is recognised, how it is read, and what its
//! figures mean, from the source of the tool.

mod ab;
mod autocannon_json;
mod autocannon_text;
mod fortio_json;
mod fortio_text;
mod gatling_json;
mod gatling_rows;
mod gatling_text;
mod ghz_json;
mod ghz_text;
mod h2load;
mod hdrplot;
mod hey;
mod jmeter_json;
mod jmeter_rows;
mod jmeter_text;
mod k6_json;
mod k6_rows;
mod k6_text;
mod oha_json;
mod oha_text;
mod refused;
mod vegeta_json;
mod vegeta_text;
mod wrk;
mod wrk2;

pub use refused::REFUSED;

use crate::audit::document::Object;
use crate::audit::page::{Page, Spot};
use crate::audit::printed::count;
use crate::audit::unread::Unread;
use model::audit::{Figure, Foreign, Sum, Tally};
use std::io::BufRead;

/// A format as listed.
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
    /// The figures it reads, by the names of their claims, and the fields of a file that hold them.
    pub reads: &'static [(&'static str, &'static str)],
    /// Without what, or with what else, it is refused.
    pub needs: &'static str,
}

/// What the tool reported, or the name of a missing figure that the format always has.
pub type Report = Result<Foreign, &'static str>;

/// How a format is recognised and read.
pub enum Reader {
    /// Text for people.
    Text(fn(Page<'_>) -> bool, fn(Page<'_>) -> Report),
    /// One JSON object.
    Document(fn(&Object<'_>) -> bool, fn(&Object<'_>) -> Report),
    /// Any number of rows, recognised by the first of them.
    Rows(fn(Page<'_>) -> bool, fn(&mut dyn BufRead) -> Result<Report, Unread>),
}

/// Every format. A format that contains another's marks comes before it.
pub const FORMATS: &[Format] = &[
    wrk2::FORMAT,
    wrk::FORMAT,
    oha_json::FORMAT,
    oha_text::FORMAT,
    ghz_json::FORMAT,
    ghz_text::FORMAT,
    hey::FORMAT,
    h2load::FORMAT,
    ab::FORMAT,
    vegeta_json::FORMAT,
    vegeta_text::FORMAT,
    hdrplot::FORMAT,
    k6_json::FORMAT,
    k6_text::FORMAT,
    k6_rows::FORMAT,
    autocannon_json::FORMAT,
    autocannon_text::FORMAT,
    fortio_json::FORMAT,
    fortio_text::FORMAT,
    gatling_json::FORMAT,
    gatling_text::FORMAT,
    gatling_rows::FORMAT,
    jmeter_rows::FORMAT,
    jmeter_text::FORMAT,
    jmeter_json::FORMAT,
];

/// Texts in a line that one output of a format has once; empty if none is known.
pub(crate) fn printed_once(format: &Format) -> &'static [&'static str] {
    match format.id {
        "wrk" | "wrk2" => &[" requests in ", " read"],
        "hey" | "oha-text" | "ghz-text" => &["Requests/sec:"],
        "k6-text" => &[k6_text::ONCE],
        "jmeter-text" => &[jmeter_text::ONCE],
        _ => &[],
    }
}

/// Whether the marks of a format occur again and again in one output, which has what is printed
/// once `marked` times: with it, k6 also prints each of its groups.
pub(crate) fn is_repeated(format: &Format, marked: usize) -> bool {
    format.id == jmeter_text::FORMAT.id || (format.id == k6_text::FORMAT.id && marked == 1)
}

/// Whether an output of a format is also recognised as that of another one, or lies around its
/// rows or around its document.
pub(crate) fn is_part(part: &Format, of: &Format) -> bool {
    let is_row = |format: &Format| matches!(format.reader, Reader::Rows(..));
    let is_around = matches!((&part.reader, &of.reader), (Reader::Text(..), Reader::Document(..)));
    let is_spectrum =
        of.id == wrk2::FORMAT.id && [wrk::FORMAT.id, hdrplot::FORMAT.id].contains(&part.id);
    is_spectrum || (part.tool == of.tool && (is_row(part) || is_row(of) || is_around))
}

/// The known tools, each once.
pub(crate) fn tools() -> String {
    let mut tools: Vec<&str> = FORMATS.iter().map(|format| format.tool).collect();
    tools.dedup();
    tools.join(", ")
}

/// The most classes of statuses or errors that are kept.
const TALLIES_MAX: usize = 64;

/// The sum of some tallies, on the line of the first.
fn total<'a>(tallies: impl IntoIterator<Item = &'a Tally>) -> Figure {
    let (mut sum, mut line) = (0.0, 0);
    for tally in tallies {
        sum += tally.count.value;
        line = if line == 0 { tally.count.line } else { line };
    }
    Figure::exact(sum, line)
}

/// Bytes of all responses, and of one on average as it was printed: in whole bytes, cut off or
/// rounded, or in digits of a unit.
fn of_sizes(all: &Option<Figure>, each: Option<Figure>, responses: &Figure) -> Option<Sum> {
    let (all, each) = (all.clone()?, each?);
    let (low, high) = ((each.low - 1.0).max(0.0).min(each.low), each.high.max(each.value + 1.0));
    let parts = vec![Figure {
        value: each.value * responses.value,
        low: low * responses.low,
        high: high * responses.high,
        ..each
    }];
    (responses.low >= 1.0).then(|| Sum {
        claims: vec!["bytes".into()],
        whole_is: "bytes".into(),
        whole: all,
        parts_are: "bytes of one response x responses".into(),
        parts,
        slack: 0.0,
    })
}

/// Whether a status is that of a good response.
fn is_good(status: &str) -> bool {
    status.starts_with(['2', '3'])
}

/// An object of counts.
fn tallies(root: &Object<'_>, key: &str) -> Vec<Tally> {
    let object = root.object(key);
    let entries = object.iter().flat_map(Object::entries);
    let tally = |(name, node): (&str, crate::audit::document::Node<'_>)| {
        Some(Tally { name: name.chars().take(200).collect(), count: node.count()? })
    };
    entries.filter_map(tally).take(TALLIES_MAX).collect()
}

/// `  [200] 41892 responses`, below a heading.
fn bracketed(page: Page<'_>, heading: &'static str) -> Vec<Tally> {
    let line = |spot: Spot<'_>| {
        let (name, many) = spot.text.trim().strip_prefix('[')?.split_once(']')?;
        Some(Tally { name: name.chars().take(40).collect(), count: count(many, spot.line)? })
    };
    page.below(heading).map_while(line).take(TALLIES_MAX).collect()
}
