//! Bodies: JSON, text between backticks, files, and bytes.

use crate::lines::Lines;
use crate::names::Names;
use crate::text::{self, is_over};
use crate::wrong::Wrong;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::flow::{Escape, Text};

/// Reads a file that a flow names.
pub type ReadFile<'a> = &'a mut dyn FnMut(&str) -> Result<Vec<u8>, String>;

/// A body, and the type that it has when the file names none.
#[derive(Debug, Default)]
pub struct Body {
    pub text: Text,
    pub media_type: Option<&'static str>,
}

/// Whether a line begins a body.
pub fn begins(line: &str) -> bool {
    let line = line.trim_start();
    let is_json = line.starts_with(['{', '[', '"', '-'])
        || line.starts_with(|first: char| first.is_ascii_digit())
        || ["true", "false", "null"].contains(&line.split([' ', '#']).next().unwrap_or_default());
    is_json || line.starts_with(['`', '<']) || prefix(line).is_some()
}

fn prefix(line: &str) -> Option<&'static str> {
    ["base64,", "hex,", "file,"].into_iter().find(|prefix| line.starts_with(prefix))
}

/// Reads a body, which the next line begins.
pub fn read(lines: &mut Lines<'_>, names: &Names<'_>, file: ReadFile<'_>) -> Result<Body, Wrong> {
    let number = lines.number();
    let wrong = |what: String| Wrong::at(number, what);
    let line = lines.peek().unwrap_or_default();
    let begin = line.trim_start();
    if begin.starts_with("```") {
        return fenced(lines, names);
    }
    if begin.starts_with('<') {
        return Err(wrong(
            "an XML body has no end that can be seen without reading it as XML; write it between \
             lines of ```"
                .to_string(),
        ));
    }
    if begin.starts_with('`') {
        lines.take();
        let (text, rest) = text::backquoted(begin, names).map_err(wrong)?;
        over(rest).map_err(wrong)?;
        return Ok(Body { text, media_type: None });
    }
    if let Some(prefix) = prefix(begin) {
        lines.take();
        let (inside, rest) = begin[prefix.len()..]
            .split_once(';')
            .ok_or_else(|| wrong(format!("{prefix} has no ; at its end")))?;
        over(rest).map_err(wrong)?;
        let bytes = bytes(prefix, inside, names, file).map_err(wrong)?;
        return Ok(Body { text: Text::plain(bytes), media_type: None });
    }
    json(lines, names)
}

fn over(rest: &str) -> Result<(), String> {
    match is_over(rest) {
        true => Ok(()),
        false => Err(format!("'{}' comes after the body", rest.trim())),
    }
}

fn bytes(
    prefix: &str,
    inside: &str,
    names: &Names<'_>,
    file: ReadFile<'_>,
) -> Result<Vec<u8>, String> {
    match prefix {
        "file," => file(&text::constant(inside, names)?),
        "hex," => {
            let digits: Option<Vec<u8>> = inside
                .chars()
                .filter(|character| !character.is_whitespace())
                .map(|digit| digit.to_digit(16).map(|value| value as u8))
                .collect();
            let digits = digits.filter(|digits| digits.len() % 2 == 0);
            let digits = digits.ok_or("hex, needs pairs of hexadecimal digits")?;
            Ok(digits.chunks(2).map(|two| two[0] << 4 | two[1]).collect())
        }
        _ => STANDARD
            .decode(inside.split_whitespace().collect::<String>())
            .map_err(|error| format!("base64, is no Base64: {error}")),
    }
}

/// Lines between two of ```.
fn fenced(lines: &mut Lines<'_>, names: &Names<'_>) -> Result<Body, Wrong> {
    let number = lines.number();
    let wrong = |what: String| Wrong::at(number, what);
    let first = lines.take().unwrap_or_default().trim_start();
    let inside = &first[3..];
    // On one line.
    if let Some((plain, rest)) = inside.split_once("```") {
        over(rest).map_err(wrong)?;
        let text = text::with_holes(plain, names, |_| Escape::Raw).map_err(wrong)?;
        return Ok(Body { text, media_type: None });
    }
    let mut attributes = inside.split(',').map(str::trim);
    let language = attributes.next().unwrap_or_default();
    let is_raw = language == "raw" || attributes.any(|one| one == "novariable");
    let end = lines.rest().find("```").ok_or_else(|| wrong("``` is not closed".into()))?;
    let plain = lines.take_bytes(end);
    let after = &lines.take().unwrap_or_default()[3..];
    over(after).map_err(wrong)?;
    let media_type = match language {
        "json" | "graphql" => Some("application/json"),
        "xml" => Some("application/xml"),
        _ => None,
    };
    let text = match language {
        _ if is_raw => Text::plain(plain),
        "graphql" => graphql(plain, names).map_err(wrong)?,
        "json" => json_text(plain, names).map_err(wrong)?,
        _ => text::with_holes(plain, names, |_| Escape::Raw).map_err(wrong)?,
    };
    Ok(Body { text, media_type })
}

/// A query of GraphQL as a member of JSON.
fn graphql(plain: &str, names: &Names<'_>) -> Result<Text, String> {
    if plain.lines().any(|line| line.trim_start().starts_with("variables ")) {
        return Err("variables of GraphQL are not read; write the body as JSON: {\"query\": \
                    \"..\", \"variables\": {..}}"
            .to_string());
    }
    let mut text = Text::plain("{\"query\":\"");
    let filled = text::with_holes(plain, names, |_| Escape::Json)?;
    for piece in &filled.0 {
        match piece {
            model::flow::Piece::Plain(bytes) => {
                let mut escaped = Vec::new();
                Escape::Json.put(bytes, &mut escaped);
                text.push_plain(&escaped);
            }
            hole => text.0.push(hole.clone()),
        }
    }
    text.push_plain(b"\"}");
    Ok(text)
}

/// A value of JSON, which ends where its brackets and quotes do.
fn json(lines: &mut Lines<'_>, names: &Names<'_>) -> Result<Body, Wrong> {
    let number = lines.number();
    let wrong = |what: String| Wrong::at(number, what);
    let rest = lines.rest();
    let end = json_end(rest).map_err(|what| wrong(what.to_string()))?;
    let text = json_text(rest[..end].trim(), names).map_err(wrong)?;
    lines.take_bytes(end);
    // What follows on the line.
    let after = lines.take().unwrap_or_default();
    over(after).map_err(|what| Wrong::at(lines.number() - 1, what))?;
    Ok(Body { text, media_type: Some("application/json") })
}

/// JSON with holes: inside of a string a value is written as its part, elsewhere as it is.
fn json_text(plain: &str, names: &Names<'_>) -> Result<Text, String> {
    let is_within = |at: usize| {
        let mut is_string = false;
        let mut is_escaped = false;
        for byte in plain.as_bytes()[..at].iter() {
            match (byte, is_escaped) {
                (b'\\', false) => is_escaped = is_string,
                (b'"', false) => is_string = !is_string,
                _ => is_escaped = false,
            }
        }
        if is_string { Escape::Json } else { Escape::Raw }
    };
    text::with_holes(plain, names, is_within)
}

/// Where a value of JSON ends.
fn json_end(text: &str) -> Result<usize, &'static str> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut is_string) = (0, 0u32, false);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if is_string => at += 1,
            b'"' => {
                is_string = !is_string;
                if !is_string && depth == 0 {
                    return Ok(at + 1);
                }
            }
            _ if is_string => {}
            b'{' if bytes[at..].starts_with(b"{{") => {
                let end = text[at..].find("}}").ok_or("{{ has no }} after it")?;
                at += end + 1;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1).ok_or("a bracket closes what was not open")?;
                if depth == 0 {
                    return Ok(at + 1);
                }
            }
            b'\n' | b'#' if depth == 0 => return Ok(at),
            _ => {}
        }
        at += 1;
    }
    if depth == 0 && !is_string { Ok(text.len()) } else { Err("the JSON of the body has no end") }
}
