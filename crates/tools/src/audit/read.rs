//! Turns the bytes of a file into what they report.

use crate::audit::command;
use crate::audit::document::{Node, Object, with_quotes};
use crate::audit::formats::{self, FORMATS, Format, REFUSED, Reader};
use crate::audit::page::{Page, Spot, without_colours};
use crate::audit::printed::{has_decimal_comma, is_ambiguous};
use crate::audit::unread::{SIZE_MAX, Unread};
use model::audit::{Foreign, Given, Loop, Since};
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;

/// The bytes by which a format is recognised.
const HEAD_SIZE: usize = 64 << 10;

/// Reads what one file reports.
pub fn read(source: &mut dyn Read, given: &Given) -> Result<Foreign, Unread> {
    let mut head = Vec::new();
    source.take(HEAD_SIZE as u64).read_to_end(&mut head)?;
    let is_all = head.len() < HEAD_SIZE;
    if head.starts_with(BYTE_ORDER_MARK) {
        head.drain(..BYTE_ORDER_MARK.len());
    }
    let shown = without_colours(&String::from_utf8_lossy(&head));
    refused(&head, &shown)?;
    let rows = FORMATS.iter().find(|format| match format.reader {
        Reader::Rows(is, _) => is(Page(&shown)),
        _ => false,
    });
    let mut foreign = match rows {
        Some(format) => {
            let document = document(&shown).map(|document| document.format);
            apart(format, &document.into_iter().chain(of_lines(&shown)).collect::<Vec<_>>())?;
            by_rows(format, &head, source)?
        }
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
    clear(std::slice::from_ref(&foreign))?;
    of_our_engine(&mut foreign, Page(&shown));
    command::complete(&mut foreign, given, Page(&shown));
    Ok(foreign)
}

/// `ceiling wrk` and the others print the layout of a tool, and below it how our engine measured:
/// latency counts from the planned instant of an open loop, else from the send, and no time is
/// added.
fn of_our_engine(report: &mut Foreign, page: Page<'_>) {
    let heading = format!("What {} would not have reported:", report.tool);
    let row = page.below(&heading).find_map(|spot| spot.starting("loop "));
    let is_open = |spot: &Spot<'_>| spot.text.starts_with("open");
    let Some(row) = row else { return };
    let since = if is_open(&row) { Since::Plan } else { Since::Send };
    let own = report.latencies.iter_mut().filter(|one| one.name.is_empty());
    own.for_each(|latency| latency.since = since);
    report.meaning.load = if is_open(&row) { Loop::Open } else { Loop::Closed };
    report.meaning.defects.clear();
}

/// What some editors put before UTF-8.
const BYTE_ORDER_MARK: &[u8] = &[0xef, 0xbb, 0xbf];

/// Refuses what is known and not read, by its beginning.
fn refused(head: &[u8], shown: &str) -> Result<(), Unread> {
    if shown.trim().is_empty() {
        return Err(Unread::Empty);
    }
    match REFUSED.iter().find(|one| (one.is)(head, Page(shown))) {
        Some(one) => Err(Unread::Known { form: one.about, instead: one.instead }),
        None => Ok(()),
    }
}

fn unknown() -> Unread {
    Unread::Unknown(formats::tools())
}

/// Where some numbers of a file have a decimal comma, one with two readings has none.
pub(crate) fn clear(report: &[Foreign]) -> Result<(), Unread> {
    let figures = || report.iter().flat_map(Foreign::figures).map(|(_, _, figure)| figure);
    let unclear = figures().find(|figure| is_ambiguous(&figure.printed));
    match unclear.filter(|_| figures().any(|figure| has_decimal_comma(&figure.printed))) {
        Some(of) => Err(Unread::Ambiguous { line: of.line, printed: of.printed.clone() }),
        None => Ok(()),
    }
}

fn by_rows(format: &'static Format, head: &[u8], rest: &mut dyn Read) -> Result<Foreign, Unread> {
    let Reader::Rows(_, read) = format.reader else { return Err(unknown()) };
    let mut source = BufReader::new(head.chain(rest));
    let report = read(&mut source as &mut dyn BufRead)?;
    Ok(named(format, report.map_err(|missing| incomplete(format, missing))?))
}

fn whole(text: &str) -> Result<Foreign, Unread> {
    let document = document(text);
    let all = outputs(text, document.as_ref());
    let Some((&first, others)) = all.split_first() else {
        return with_quotes(text).map_or(Err(unknown()), |text| whole(&text));
    };
    apart(first, others)?;
    let report = match (&first.reader, &document) {
        (Reader::Document(_, read), Some(document)) => read(&document.object),
        (Reader::Text(is, _), _) if is_several(first, *is, text) => {
            return Err(Unread::Several { form: first.about });
        }
        (Reader::Text(_, read), _) => read(Page(text)),
        _ => return Err(unknown()),
    };
    let report = named(first, report.map_err(|missing| incomplete(first, missing))?);
    if let Some(document) = &document {
        let around = document.around(text);
        others.iter().try_for_each(|other| of_same_run(&report, first, other, &around))?;
    }
    Ok(report)
}

/// Refuses the text around a document unless it is that of the same run: some tools print it as
/// they go (`fortio load -json - URL 2>&1`).
fn of_same_run(
    report: &Foreign,
    first: &Format,
    other: &'static Format,
    around: &str,
) -> Result<(), Unread> {
    let Reader::Text(is, read) = other.reader else { return Ok(()) };
    if is_several(other, is, around) {
        return Err(Unread::Several { form: other.about });
    }
    match read(Page(around)).is_ok_and(|text| may_agree(report, &text)) {
        true => Ok(()),
        false => Err(Unread::Mixed { form: first.about, other: other.about }),
    }
}

/// Whether two accounts have counts, rates or times in common, and none that differ.
fn may_agree(one: &Foreign, other: &Foreign) -> bool {
    let all = [
        one.requests.as_ref().zip(other.requests.as_ref()),
        one.rate.as_ref().zip(other.rate.as_ref()),
        one.duration_s.as_ref().zip(other.duration_s.as_ref()),
    ];
    let mut both = all.into_iter().flatten().peekable();
    both.peek().is_some() && both.all(|(one, other)| one.low <= other.high && other.low <= one.high)
}

/// An output of a tool in a text.
pub(crate) struct Printed {
    pub foreign: Foreign,
    /// Its lines.
    pub lines: Range<u64>,
}

/// What tools printed among the sentences of a text, of each tool at most one output.
pub(crate) fn printed_in(text: &str) -> Vec<Printed> {
    let of_text = of_lines(text);
    let is_whole = |format: &&&'static Format| {
        let others = || of_text.iter().filter(|other| other.id != format.id);
        !others().any(|other| formats::is_part(format, other))
    };
    let read = |format: &&'static Format| match format.reader {
        Reader::Text(is, read) if !is_several(format, is, text) => {
            let (begin, end) = extent(text, is, read)?;
            let before = text[..begin].matches('\n').count();
            // Empty lines in the place of the text before it keep the numbers of its lines.
            let own = format!("{}{}", "\n".repeat(before), &text[begin..end]);
            let last = before + text[begin..end].trim_end().lines().count();
            let foreign = named(format, read(Page(&own)).ok()?);
            Some(Printed { foreign, lines: before as u64 + 1..last as u64 + 1 })
        }
        _ => None,
    };
    of_text.iter().filter(is_whole).filter_map(read).collect()
}

/// Lines before and after what makes an output known that may belong to it.
const AROUND: usize = 200;

/// Where an output in a text begins and ends: the fewest lines in which as much of it is found as
/// in more of them. A sentence above it may contain the words of its labels.
fn extent(
    text: &str,
    is: fn(Page<'_>) -> bool,
    read: fn(Page<'_>) -> formats::Report,
) -> Option<(usize, usize)> {
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    let known = ends.partition_point(|end| !is(Page(&text[..*end])));
    let at = |line: usize| ends.get(line).copied().unwrap_or(text.len());
    let last = at(known + AROUND);
    let found = |begin: usize, end: usize| {
        let page = Page(&text[begin..end]);
        let of = is(page).then(|| read(page).ok()).flatten()?;
        let facts = [&of.connections, &of.depth, &of.threads, &of.asked_s, &of.duration_s];
        let texts = [&of.url, &of.version, &of.command].into_iter().flatten().count();
        Some(of.figures().len() + facts.into_iter().flatten().count() + texts)
    };
    let begins = (known.saturating_sub(AROUND)..=known).map(|line| match line {
        0 => 0,
        line => at(line - 1),
    });
    let (most, begin) = begins.filter_map(|begin| Some((found(begin, last)?, begin))).max()?;
    let end = (known..=known + AROUND).map(at).find(|end| found(begin, *end) == Some(most));
    Some((begin, end.unwrap_or(last)))
}

/// The formats of all outputs in a text: of its documents, of its lines, and of rows among them.
fn outputs(text: &str, document: Option<&Document<'_>>) -> Vec<&'static Format> {
    let Some(known) = document else {
        return if is_foreign_document(text) { Vec::new() } else { of_lines(text) };
    };
    let again = self::document(&text[known.range.end..]).map(|again| again.format);
    let lines = of_lines(&known.around(text));
    [known.format].into_iter().chain(again).chain(lines).collect()
}

fn of_lines(text: &str) -> Vec<&'static Format> {
    let is = |format: &&Format| match format.reader {
        Reader::Text(is, _) => is(Page(text)),
        Reader::Rows(is, _) => text.lines().any(|line| is(Page(line))),
        Reader::Document(..) => false,
    };
    let (texts, rows): (Vec<_>, Vec<_>) =
        FORMATS.iter().filter(is).partition(|format| matches!(format.reader, Reader::Text(..)));
    [texts, rows].concat()
}

/// Whether each of these formats is a part of the first one.
fn apart(first: &Format, others: &[&Format]) -> Result<(), Unread> {
    match others.iter().find(|other| !formats::is_part(other, first)) {
        Some(other) if other.id == first.id => Err(Unread::Several { form: first.about }),
        Some(other) => Err(Unread::Mixed { form: first.about, other: other.about }),
        None => Ok(()),
    }
}

/// A document of a tool.
struct Document<'a> {
    format: &'static Format,
    object: Object<'a>,
    range: Range<usize>,
}

impl Document<'_> {
    /// The lines before and after it.
    fn around(&self, text: &str) -> String {
        format!("{}\n{}", &text[..self.range.start], &text[self.range.end..])
    }
}

/// The most places at which a document is looked for, besides objects of one line.
const TRIES_MAX: usize = 16;

/// The first document of a tool: a log may precede it, also one with an object in each line.
fn document(text: &str) -> Option<Document<'_>> {
    let of_lines = text.match_indices("\n{").map(|(at, _)| at + 1);
    let places = text.find('{').into_iter().chain(of_lines);
    let mut tries = 0;
    let begun = places.map_while(|begin| {
        let begun = Node::begun(text, begin).map(|(node, end)| (node, begin..end));
        let is_line = |(_, range): &(_, Range<usize>)| !text[range.clone()].contains('\n');
        tries += usize::from(!begun.as_ref().is_some_and(is_line));
        (tries <= TRIES_MAX).then_some(begun)
    });
    begun.flatten().find_map(|(node, range)| {
        let object = node.object()?;
        let is = |format: &&Format| matches!(format.reader, Reader::Document(is, _) if is(&object));
        let format = FORMATS.iter().find(is)?;
        Some(Document { format, object, range })
    })
}

/// Whether it is one document of another program; it may quote the text of a tool.
fn is_foreign_document(text: &str) -> bool {
    let begin = text.len() - text.trim_start().len();
    let begun = Node::begun(text, begin).filter(|_| text[begin..].starts_with('{'));
    begun.is_some_and(|(_, end)| text[end..].trim().is_empty())
}

/// Whether the text after the first recognised part is recognised as well.
fn is_several(format: &Format, is: fn(Page<'_>) -> bool, text: &str) -> bool {
    let once = formats::printed_once(format);
    let has_all = |line: &&str| once.iter().all(|mark| line.contains(mark));
    let marked = if once.is_empty() { 0 } else { text.lines().filter(has_all).count() };
    if marked > 1 || formats::is_repeated(format, marked) {
        return marked > 1;
    }
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    let first = ends.partition_point(|end| !is(Page(&text[..*end])));
    ends.get(first).is_some_and(|end| is(Page(&text[*end..])))
}

fn named(format: &Format, report: Foreign) -> Foreign {
    Foreign { tool: format.tool.into(), format: format.id.into(), ..report }
}

fn incomplete(format: &'static Format, missing: &'static str) -> Unread {
    Unread::Missing { form: format.about, missing, example: format.example }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRK: &str = include_str!("../../../../bench/fixtures/wrk.txt");
    const HEY: &str = include_str!("../../../../bench/fixtures/hey.txt");
    const OHA: &str = include_str!("../../../../bench/fixtures/oha.json");
    const WRK2: &str = include_str!("../../corpus/wrk2-healthy.txt");
    const OHA_TEXT: &str = include_str!("../../corpus/oha-text-healthy.txt");
    const AB: &str = include_str!("../../../../bench/fixtures/ab.txt");
    const JTL: &str = include_str!("../../corpus/jmeter-jtl-healthy.txt");

    fn read_all(parts: &[&str]) -> Result<Foreign, Unread> {
        read(&mut parts.concat().as_bytes(), &Given::default())
    }

    #[test]
    fn outputs_of_two_tools_are_not_read_as_one() {
        let all = [WRK, HEY, OHA, WRK2, OHA_TEXT, AB, JTL];
        for (at, one) in all.iter().enumerate() {
            assert!(read_all(&[one]).is_ok(), "{at}");
            for (other_at, other) in all.iter().enumerate().filter(|(other, _)| *other != at) {
                let error = read_all(&[one, "\n", other]).err();
                let is_refused =
                    matches!(error, Some(Unread::Several { .. } | Unread::Mixed { .. }));
                assert!(is_refused, "{at} and {other_at}: {error:?}");
            }
        }
    }

    #[test]
    fn a_text_of_the_same_run_around_a_document_is_a_part_of_it() {
        let fortio = [
            (
                include_str!("../../corpus/fortio-json-healthy.json"),
                include_str!("../../corpus/fortio-text-healthy.txt"),
            ),
            (
                include_str!("../../corpus/fortio-json-500.json"),
                include_str!("../../corpus/fortio-text-500.txt"),
            ),
        ];
        for (json, text) in fortio {
            let alone = read_all(&[json]).unwrap();
            for parts in [[text, json], [json, text]] {
                let both = read_all(&parts).unwrap();
                assert_eq!((&both.format, &both.rate.unwrap().printed), {
                    (&alone.format, &alone.rate.as_ref().unwrap().printed)
                });
            }
            let twice = read_all(&[text, json, text]);
            assert!(matches!(twice, Err(Unread::Several { .. })), "{twice:?}");
        }
        let of_two = read_all(&[fortio[0].1, fortio[1].0]);
        assert!(matches!(of_two, Err(Unread::Mixed { .. })), "of two runs: {of_two:?}");
    }

    #[test]
    fn a_document_with_what_is_no_number_is_read() {
        let line = OHA.lines().find(|line| line.contains("\"average\"")).unwrap();
        let broken = OHA.replace(line, "    \"average\": NaN,");
        let report = read_all(&[&broken]).unwrap();
        assert!(report.latencies[0].mean.as_ref().unwrap().value.is_nan());
    }

    #[test]
    fn a_document_is_found_below_a_log_and_its_lines_are_those_of_the_file() {
        let alone = read_all(&[OHA]).unwrap();
        let below = read_all(&["[12:00] {\"level\": 1}\n{\"level\": 2}\n", OHA]).unwrap();
        let line = |report: &Foreign| report.rate.as_ref().unwrap().line;
        assert_eq!(line(&below), line(&alone) + 2);
        let quoted = format!("{{\"said\": {WRK:?}}}");
        assert!(matches!(read_all(&[&quoted]), Err(Unread::Unknown(_))));
    }
}
