//! A response means what RFC 9112 says, read by a second parser that shares no code with ours: it
//! has the whole text and splits it into lines.

use wire::Shapes;
use wire::http1::{HEAD_BYTES_MAX, Http1};
use wire::response::{Expect, Outcome, ProtocolError, Response};
use wire::session::Session;

/// What the RFC makes of a text.
#[derive(Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A whole response.
    Whole(Response),
    /// The start of one.
    Partial,
    /// No response.
    Refused,
}

/// How a body ends.
enum Body {
    Length(u64),
    Chunked,
    UntilClose,
}

/// A final head: its status, its body, and whether the connection can be used again.
type Head = (u16, Body, bool);

/// Stops at what is not there yet, or not allowed.
type Step<T> = Result<T, Meaning>;

/// Panics if a property does not hold.
pub fn hold(input: &[u8]) {
    if input.len() as u64 > HEAD_BYTES_MAX {
        return;
    }
    for expect in [Expect::Body, Expect::HeadOnly] {
        let (ours, theirs) = (ours(input, expect), meaning(input, expect));
        match (&ours, &theirs) {
            (Ok(Some(one)), Meaning::Whole(other)) => assert_eq!(one, other, "{expect:?}"),
            (Ok(None) | Err(_), Meaning::Partial) | (Err(_), Meaning::Refused) => {}
            _ => panic!("{expect:?}: ours {ours:?}, the RFC {theirs:?}"),
        }
    }
}

/// The first response as our session reads it, at the end of the connection too.
fn ours(input: &[u8], expect: Expect) -> Result<Option<Response>, ProtocolError> {
    let (mut session, mut rest) = (Http1::new(), input);
    let outcome = session.receive(&mut rest, expect, &mut Shapes::new(), &mut ())?;
    match outcome.and_then(Outcome::response) {
        Some(response) => Ok(Some(response)),
        None => session.end(),
    }
}

/// The first response by the RFC.
pub fn meaning(input: &[u8], expect: Expect) -> Meaning {
    read(input, expect).unwrap_or_else(|stop| stop)
}

fn read(input: &[u8], expect: Expect) -> Step<Meaning> {
    let mut rest = input;
    let (status, body, is_kept) = loop {
        if let Some(head) = head(&mut rest, expect)? {
            break head;
        }
    };
    match body {
        Body::Length(length) if length > rest.len() as u64 => return Err(Meaning::Partial),
        Body::Length(length) => rest = &rest[length as usize..],
        Body::Chunked => chunks(&mut rest)?,
        Body::UntilClose => rest = &[],
    }
    let bytes = (input.len() - rest.len()) as u64;
    let reusable = is_kept && !matches!(body, Body::UntilClose);
    Ok(Meaning::Whole(Response { status, bytes, reusable }))
}

/// The next line without its end, which is a line feed; one carriage return before it is ignored.
/// Any other, and NUL, is refused (sections 2.2 and 5.5).
fn line<'a>(rest: &mut &'a [u8]) -> Step<&'a [u8]> {
    let end = rest.iter().position(|byte| *byte == b'\n').ok_or(Meaning::Partial)?;
    let line = &rest[..end];
    *rest = &rest[end + 1..];
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.contains(&b'\r') || line.contains(&0) { Err(Meaning::Refused) } else { Ok(line) }
}

/// A head; `None` for an interim one.
fn head(rest: &mut &[u8], expect: Expect) -> Step<Option<Head>> {
    // Section 2.2, which asks this of servers.
    let mut first = line(rest)?;
    while first.is_empty() {
        first = line(rest)?;
    }
    let (minor, status) = status_line(first).ok_or(Meaning::Refused)?;
    let mut fields: Vec<(String, Vec<u8>)> = Vec::new();
    loop {
        let line = line(rest)?;
        match line {
            [] => break,
            // Section 5.2: a folded line. Before the first field it is dropped (section 2.2).
            [b' ' | b'\t', more @ ..] => {
                if let Some((_, value)) = fields.last_mut() {
                    value.push(b' ');
                    value.extend_from_slice(more);
                }
            }
            _ => fields.push(field(line).ok_or(Meaning::Refused)?),
        }
    }
    let values = |name: &str| -> Vec<Vec<u8>> {
        let named = fields.iter().filter(|(other, _)| other == name);
        named.flat_map(|(_, value)| list(value)).collect()
    };
    match status {
        101 => return Err(Meaning::Refused),
        100..200 => return Ok(None),
        _ => {}
    }
    let codings: Vec<_> =
        values("transfer-encoding").into_iter().filter(|coding| coding != b"identity").collect();
    let says = |word: &[u8]| values("connection").iter().any(|option| option == word);
    // Sections 6.1 and 9.3.
    let is_kept = match minor {
        0 => says(b"keep-alive") && !says(b"close") && codings.is_empty(),
        _ => !says(b"close"),
    };
    let has_length = fields.iter().any(|(name, _)| name == "content-length");
    // Section 6.3, in its order.
    let body = match codings.last() {
        _ if expect == Expect::HeadOnly || status == 204 || status == 304 => Body::Length(0),
        Some(coding) if coding == b"chunked" => Body::Chunked,
        Some(_) => Body::UntilClose,
        None if has_length => {
            Body::Length(length(&values("content-length")).ok_or(Meaning::Refused)?)
        }
        None => Body::UntilClose,
    };
    Ok(Some((status, body, is_kept)))
}

/// Version and status, with any blanks between them (section 4). Statuses below 100 are no class.
fn status_line(line: &[u8]) -> Option<(u8, u16)> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | 0x0b | 0x0c);
    let (minor, rest) = line.strip_prefix(b"HTTP/1.")?.split_first()?;
    let code = rest.iter().position(|byte| !is_blank(byte)).filter(|blanks| *blanks > 0)?;
    let (code, reason) = rest[code..].split_at_checked(3)?;
    let is_over = reason.first().is_none_or(is_blank);
    let is_number = minor.is_ascii_digit() && code.iter().all(u8::is_ascii_digit);
    let status: u16 = std::str::from_utf8(code).ok().filter(|_| is_number)?.parse().ok()?;
    (is_over && status >= 100).then_some((minor - b'0', status))
}

/// Name and value. Blanks before the colon are removed, as a proxy has to (section 5.1).
fn field(line: &[u8]) -> Option<(String, Vec<u8>)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let name = trimmed(&line[..colon]);
    let is_in_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let is_token = !name.is_empty() && name.iter().all(is_in_token);
    let name = String::from_utf8(name.to_ascii_lowercase()).ok().filter(|_| is_token)?;
    Some((name, line[colon + 1..].to_vec()))
}

/// The elements of a list, without the empty ones (RFC 9110 section 5.6.1), in lower case.
fn list(value: &[u8]) -> Vec<Vec<u8>> {
    let elements = value.split(|byte| *byte == b',').map(trimmed);
    elements.filter(|one| !one.is_empty()).map(<[u8]>::to_ascii_lowercase).collect()
}

fn trimmed(text: &[u8]) -> &[u8] {
    let is_other = |byte: &u8| !matches!(byte, b' ' | b'\t');
    let begin = text.iter().position(is_other).unwrap_or(text.len());
    let end = text.iter().rposition(is_other).map_or(begin, |last| last + 1);
    &text[begin..end]
}

/// The length that all values agree on.
fn length(values: &[Vec<u8>]) -> Option<u64> {
    let number = |value: &Vec<u8>| -> Option<u64> {
        let is_number = value.iter().all(u8::is_ascii_digit);
        std::str::from_utf8(value).ok().filter(|_| is_number)?.parse().ok()
    };
    let first = number(values.first()?)?;
    values.iter().all(|value| number(value) == Some(first)).then_some(first)
}

/// Chunks and trailers (section 7.1).
fn chunks(rest: &mut &[u8]) -> Step<()> {
    loop {
        let size = chunk_size(rest)?;
        if size == 0 {
            break;
        }
        let end = rest.len() as u64;
        if size > end {
            return Err(Meaning::Partial);
        }
        *rest = &rest[size as usize..];
        match rest {
            [b'\r', b'\n', more @ ..] => *rest = more,
            [] | [b'\r'] => return Err(Meaning::Partial),
            _ => return Err(Meaning::Refused),
        }
    }
    while !line(rest)?.is_empty() {}
    Ok(())
}

fn chunk_size(rest: &mut &[u8]) -> Step<u64> {
    let end = rest.iter().position(|byte| *byte == b'\n').ok_or(Meaning::Partial)?;
    let line = rest[..end].strip_suffix(b"\r").ok_or(Meaning::Refused)?;
    *rest = &rest[end + 1..];
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let is_text = |byte: &u8| *byte == b'\t' || *byte >= b' ' && *byte != 0x7f;
    let has_end = match trimmed(&line[digits..]) {
        [] => true,
        [b';', extension @ ..] => extension.iter().all(is_text),
        _ => false,
    };
    let size = std::str::from_utf8(&line[..digits]).ok();
    let size = size.and_then(|size| u64::from_str_radix(size, 16).ok());
    size.filter(|_| has_end).ok_or(Meaning::Refused)
}
