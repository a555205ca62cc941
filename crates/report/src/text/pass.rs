//! One pass of a flow, request by request.

use super::line::{Ink, TextLine};
use super::{Style, written};
use crate::wrap::fit;
use model::pass::{Answer, Pass, Sent, Taken};
use model::printable::printable;
use model::units::{show_bytes, show_ns, show_things};
use unicode_width::UnicodeWidthChar;

/// Columns before what belongs to a request.
const INDENT: usize = 3;
/// Lines of a body that are shown, unless all are asked for.
const BODY_LINES: usize = 12;

/// How much of a request is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassDetail {
    /// Only what failed.
    Failures,
    /// Everything but the rest of long bodies.
    Usual,
    /// Everything.
    All,
}

/// One request of a pass, as soon as it is over.
pub fn text_taken(taken: &Taken, number: u32, detail: PassDetail, style: Style) -> String {
    if detail == PassDetail::Failures && taken.failed.is_none() {
        return String::new();
    }
    let mut lines = vec![headline(taken, number, style)];
    if let Some(sent) = &taken.sent {
        lines.extend(request(sent, detail, style));
    }
    if let Some(answer) = &taken.answer {
        lines.extend(response(answer, detail, style));
    }
    for captured in &taken.captured {
        let text = format!("{} = {}", captured.name, captured.value);
        lines.extend(below("captured  ", Ink::Good, &text, style));
    }
    for assert in &taken.asserts {
        match &assert.found {
            None => lines.extend(below("holds     ", Ink::Good, &assert.text, style)),
            Some(found) => {
                let text = format!("{}: {found} (line {})", assert.text, assert.line);
                lines.extend(below("FAILS     ", Ink::Bad, &text, style));
            }
        }
    }
    let is_said = taken.asserts.last().is_some_and(|assert| assert.found.is_some());
    if let Some(failed) = taken.failed.as_ref().filter(|_| !is_said) {
        lines.extend(below("FAILS     ", Ink::Bad, failed, style));
    }
    written(&lines, style)
}

/// The end of a pass: how far it came.
pub fn text_pass_end(pass: &Pass, style: Style) -> String {
    let requests = pass.requests.iter().filter(|taken| taken.sent.is_some()).count() as u64;
    let last = pass.requests.last();
    let line = match last.filter(|_| !pass.is_good) {
        None => {
            let steps = show_things(u64::from(pass.steps), "step");
            let requests = show_things(requests, "request");
            TextLine::painted(Ink::Good, "good".into())
                .then(Ink::Plain, format!(": {steps}, {requests}"))
        }
        Some(taken) => {
            let why = taken.failed.as_deref().unwrap_or_default();
            let step = printable(&taken.step).into_owned();
            let why = printable(why);
            TextLine::painted(Ink::Bad, "failed".into())
                .then(Ink::Plain, format!(" at {step} (line {}): {why}", taken.line))
        }
    };
    written(&[line], style)
}

fn headline(taken: &Taken, number: u32, style: Style) -> TextLine {
    let (round, rounds) = taken.round;
    let round = if rounds > 1 { format!(" ({round} of {rounds})") } else { String::new() };
    let (ink, status, times) = match (&taken.answer, &taken.sent) {
        (Some(answer), _) => {
            let ink = match answer.status {
                400.. => Ink::Bad,
                300..400 => Ink::Caution,
                _ => Ink::Good,
            };
            let (last, first) = (show_ns(answer.last_ns as f64), show_ns(answer.first_ns as f64));
            (ink, answer.status.to_string(), format!("  {last}, first byte {first}"))
        }
        (None, None) if taken.failed.is_none() => (Ink::Faint, "left out".into(), String::new()),
        (None, _) => (Ink::Bad, "no response".into(), String::new()),
    };
    let rest = status.len() + times.len() + round.len() + "  ".len();
    let step = fit(&format!("{number:>2} {}", taken.step), style.columns.saturating_sub(rest));
    TextLine::painted(Ink::Strong, step)
        .then(Ink::Strong, round)
        .then(ink, format!("  {status}"))
        .then(Ink::Plain, times)
}

fn request(sent: &Sent, detail: PassDetail, style: Style) -> Vec<TextLine> {
    let first = format!("{} {}", sent.method, sent.path);
    message(">", first, &sent.headers, (&sent.body, sent.body_bytes, sent.is_cut), (detail, style))
}

fn response(answer: &Answer, detail: PassDetail, style: Style) -> Vec<TextLine> {
    let first = format!("HTTP/{} {}", answer.version, answer.status);
    message(
        "<",
        first,
        &answer.headers,
        (&answer.body, answer.body_bytes, answer.is_cut),
        (detail, style),
    )
}

fn message(
    mark: &str,
    first: String,
    headers: &[(String, String)],
    (body, body_bytes, is_cut): (&str, u64, bool),
    (detail, style): (PassDetail, Style),
) -> Vec<TextLine> {
    let mark = format!("{mark} ");
    let head = [first].into_iter();
    let head = head.chain(headers.iter().map(|(name, value)| format!("{name}: {value}")));
    let mut lines: Vec<TextLine> =
        head.flat_map(|line| below(&mark, Ink::Faint, &line, style)).collect();
    if body.is_empty() {
        return lines;
    }
    lines.extend(below(&mark, Ink::Faint, "", style));
    let all: Vec<TextLine> =
        body.lines().flat_map(|line| below(&mark, Ink::Faint, line, style)).collect();
    let shown = if detail == PassDetail::All { all.len() } else { BODY_LINES.min(all.len()) };
    let is_whole = shown == all.len() && !is_cut;
    lines.extend(all.into_iter().take(shown));
    if !is_whole {
        let hint = if detail == PassDetail::All { "" } else { "; -v shows more" };
        let text = format!(".. {} in all{hint}", show_bytes(body_bytes as f64));
        lines.extend(below(&mark, Ink::Faint, &text, style));
    }
    lines
}

/// A text below a request, in as many lines as it needs: what is to be read exactly is not broken
/// at words.
fn below(mark: &str, ink: Ink, text: &str, style: Style) -> Vec<TextLine> {
    let text = printable(text);
    let room = style.columns.saturating_sub(INDENT + mark.len()).max(10);
    let mut rows = vec![String::new()];
    let mut taken = 0;
    for letter in text.chars() {
        let width = letter.width().unwrap_or(0);
        if taken + width > room {
            rows.push(String::new());
            taken = 0;
        }
        taken += width;
        rows.last_mut().expect("there is one").push(letter);
    }
    let indent = " ".repeat(INDENT);
    let rows = rows.into_iter().enumerate();
    let lines = rows.map(|(nth, row)| {
        let mark =
            if nth == 0 || mark.len() < 3 { mark.to_string() } else { " ".repeat(mark.len()) };
        TextLine::painted(Ink::Plain, indent.clone()).then(ink, mark).then(Ink::Plain, row)
    });
    lines.collect()
}
