//! Texts as a file has them: with holes, with escapes, in quotes or up to a comment.

use crate::names::Names;
use model::flow::{Escape, Text};

/// Reads a text up to the end of the line or a comment; spaces around it are none of it.
pub fn unquoted(line: &str, names: &Names<'_>, escape: Escape) -> Result<Text, String> {
    // Spaces around it are none of it, those that are written as escapes are.
    let end = comment_at(line).unwrap_or(line.len());
    Ok(until(line[..end].trim(), None, names, escape)?.0)
}

/// Where a comment begins.
fn comment_at(line: &str) -> Option<usize> {
    let mut is_escaped = false;
    line.find(|letter| {
        let begins = letter == '#' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        begins
    })
}

/// Reads a text in quotes, which the input begins with; returns what follows.
pub fn quoted<'a>(
    line: &'a str,
    names: &Names<'_>,
    escape: Escape,
) -> Result<(Text, &'a str), String> {
    let inside = line.strip_prefix('"').ok_or("a text in \"quotes\" is expected here")?;
    let (text, rest) = until(inside, Some('"'), names, escape)?;
    let rest = rest.strip_prefix('"').ok_or("the quotes are not closed")?;
    Ok((text, rest))
}

/// Reads a text in backquotes, which the input begins with; returns what follows.
pub fn backquoted<'a>(line: &'a str, names: &Names<'_>) -> Result<(Text, &'a str), String> {
    let inside = line.strip_prefix('`').unwrap_or(line);
    let (text, rest) = until(inside, Some('`'), names, Escape::Raw)?;
    let rest = rest.strip_prefix('`').ok_or("the ` is not closed")?;
    Ok((text, rest))
}

/// A text in quotes that can have no holes.
pub fn quoted_plain<'a>(line: &'a str, names: &Names<'_>) -> Result<(String, &'a str), String> {
    let (text, rest) = quoted(line, names, Escape::Raw)?;
    let bytes = text.constant().ok_or("a hole is not possible here")?;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), rest))
}

/// A text that can have no holes besides those that are given, up to a comment.
pub fn constant(line: &str, names: &Names<'_>) -> Result<String, String> {
    let text = unquoted(line, names, Escape::Raw)?;
    let bytes = text.constant().ok_or("a captured value is not possible here")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Text with holes and escapes, up to `end` if there is one, which is not taken.
fn until<'a>(
    line: &'a str,
    end: Option<char>,
    names: &Names<'_>,
    escape: Escape,
) -> Result<(Text, &'a str), String> {
    let mut text = Text::default();
    let mut rest = line;
    while let Some(character) = rest.chars().next().filter(|character| Some(*character) != end) {
        if rest.starts_with("{{") {
            let (hole, after) = hole(rest, names, escape)?;
            text.push(&hole);
            rest = after;
        } else if character == '\\' {
            let (character, after) = escaped(rest)?;
            text.push_plain(character.encode_utf8(&mut [0; 4]).as_bytes());
            rest = after;
        } else {
            text.push_plain(character.encode_utf8(&mut [0; 4]).as_bytes());
            rest = &rest[character.len_utf8()..];
        }
    }
    Ok((text, rest))
}

/// A hole, which the input begins with; returns what follows.
pub fn hole<'a>(
    line: &'a str,
    names: &Names<'_>,
    escape: Escape,
) -> Result<(Text, &'a str), String> {
    let inside = line.strip_prefix("{{").unwrap_or(line);
    let end = inside.find("}}").ok_or("{{ has no }} after it")?;
    Ok((names.fill(&inside[..end], escape)?, &inside[end + 2..]))
}

/// An escape, which the input begins with.
fn escaped(line: &str) -> Result<(char, &str), String> {
    let rest = &line[1..];
    let wrong = || {
        "a \\ is followed by \", \\, #, b, f, n, r, t or u{..}; write \\\\ for one of them"
            .to_string()
    };
    let first = rest.chars().next().ok_or_else(wrong)?;
    let character = match first {
        '"' | '\\' | '#' | '/' | ':' | '{' | '}' | '`' | ' ' => first,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unicode(&rest[1..]).ok_or_else(wrong),
        _ => return Err(wrong()),
    };
    Ok((character, &rest[first.len_utf8()..]))
}

fn unicode(rest: &str) -> Option<(char, &str)> {
    let (digits, after) = rest.strip_prefix('{')?.split_once('}')?;
    let code = u32::from_str_radix(digits, 16).ok()?;
    Some((char::from_u32(code)?, after))
}

/// Whether nothing but a comment is left.
pub fn is_over(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.is_empty() || rest.starts_with('#')
}

/// Text of a body with its holes, which may be in strings of JSON or not.
pub fn with_holes(
    body: &str,
    names: &Names<'_>,
    escape_at: impl Fn(usize) -> Escape,
) -> Result<Text, String> {
    let mut text = Text::default();
    let mut at = 0;
    while let Some(next) = body[at..].find("{{") {
        text.push_plain(&body.as_bytes()[at..at + next]);
        let (filled, rest) = hole(&body[at + next..], names, escape_at(at + next))?;
        text.push(&filled);
        at = body.len() - rest.len();
    }
    text.push_plain(&body.as_bytes()[at..]);
    Ok(text)
}
