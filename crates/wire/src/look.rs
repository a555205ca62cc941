//! What a step looks for in its response: values that are captured, and conditions.
//!
//! For: steps of a flow, tried once or sent as load. What is needed of a response is noted while it
//! arrives; a whole body is kept only where a regular expression or a comparison needs it, up to
//! [`BODY_MAX`] bytes.
//! In: header fields and pieces of the body, then the end of the response. Out: values for the
//! variables of a user, or the first condition that does not hold.
//! Never: a request, a clock.
//!
//! Hot: runs for every response of such a step.

pub mod head;
pub mod json;

use self::json::{Json, NoValue, Walk};
use crate::fill::{Fill, Values};
use crate::rules::FIRST_ERROR;
use model::flow::{Comparison, Filter, Found, Key, Kind, Operand, Query, Step, Test, Text};
use regex::bytes::{CaptureLocations, Regex, RegexBuilder};
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::cmp::Ordering;

/// Longest value that is compared or captured, bytes.
pub const VALUE_MAX: usize = 64 * 1024;
/// Most of a body that is kept for a regular expression or a comparison, bytes.
pub const BODY_MAX: usize = 1024 * 1024;
/// Memory of a compiled regular expression, bytes.
const REGEX_BYTES: usize = 1024 * 1024;

/// What a step looks for, prepared.
#[derive(Debug)]
pub struct Look {
    step: Step,
    /// The paths into JSON, in the order of the queries that have one.
    paths: Vec<Vec<Key>>,
    /// For each query which path it is.
    path_of: Vec<Option<usize>>,
    regexes: Vec<(Box<str>, Regex)>,
    keeps_body: bool,
    hashes: bool,
}

/// What was seen of one response so far.
#[derive(Debug)]
pub struct Sight {
    walk: Walk,
    /// For each query the value of its header field or cookie, and whether it has come.
    fields: Vec<(bool, Vec<u8>)>,
    body: Vec<u8>,
    body_bytes: u64,
    hash: Sha256,
    /// The digest, once the body is over.
    hex: [u8; 64],
    /// For each regular expression where its last match lies.
    matched: Vec<CaptureLocations>,
    /// For a value that is captured, and for one that is compared.
    scratch: [Vec<u8>; 2],
}

/// The facts of a response that are not in its fields or its body.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// Status code.
    pub status: u16,
    /// Version of HTTP, as in `1.1`.
    pub version: &'static str,
    /// From the send to the last byte, nanoseconds.
    pub duration_ns: u64,
}

/// A value that a query found.
#[derive(Debug, Clone, PartialEq)]
enum Value<'a> {
    Null,
    Boolean(bool),
    Number(Cow<'a, [u8]>),
    /// A number that we counted.
    Whole(u64),
    Text(Cow<'a, [u8]>),
    List(&'a [u8], u32),
    Object(&'a [u8], u32),
}

/// Why a query found nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nothing {
    /// Nothing is there.
    Absent,
    /// The body is no JSON, or not whole.
    NotJson,
    /// It is longer than what is kept.
    TooLong,
    /// What a filter needs is not what is there.
    WrongKind,
}

impl Sight {
    /// Forgets the response.
    pub fn restart(&mut self) {
        self.walk.restart();
        self.fields.iter_mut().for_each(|(has_come, _)| *has_come = false);
        self.body.clear();
        self.body_bytes = 0;
        self.hash = Sha256::new();
    }
}

/// What of a response is read, apart from what is written while it is.
struct Parts<'a> {
    walk: &'a Walk,
    fields: &'a [(bool, Vec<u8>)],
    body: &'a [u8],
    body_bytes: u64,
    hex: &'a [u8],
}

impl Sight {
    /// The body is over.
    fn end(&mut self, hashes: bool) {
        self.walk.end();
        if hashes {
            let digest = self.hash.finalize_reset();
            for (byte, two) in digest.iter().zip(self.hex.chunks_mut(2)) {
                two[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
                two[1] = b"0123456789abcdef"[usize::from(byte & 0xf)];
            }
        }
    }

    fn split(&mut self) -> (&mut [CaptureLocations], Parts<'_>) {
        let Self { walk, fields, body, body_bytes, hex, matched, .. } = self;
        (matched, Parts { walk, fields, body, body_bytes: *body_bytes, hex })
    }
}

impl Nothing {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Absent => "nothing is there",
            Self::NotJson => "the body is no whole JSON",
            Self::TooLong => "it is longer than what is kept",
            Self::WrongKind => "it is not of the kind that the filter needs",
        }
    }
}

/// The first thing of a response that is not as a step needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Miss {
    /// The status is not good.
    Status,
    /// A capture, by its place, found nothing.
    Capture(usize, Nothing),
    /// A value that was captured has no room among those of its user.
    NoRoom(usize),
    /// A condition, by its place, does not hold.
    Assert(usize),
}

impl Look {
    /// Prepares a step; says which regular expression is too large.
    // Cold: once for each worker.
    pub fn new(step: &Step) -> Result<Self, String> {
        let mut look = Self {
            step: step.clone(),
            paths: Vec::new(),
            path_of: Vec::new(),
            regexes: Vec::new(),
            keeps_body: step.queries.contains(&Query::Body),
            hashes: step.queries.contains(&Query::Sha256),
        };
        for query in &step.queries {
            let path = match query {
                Query::Json(keys) => {
                    look.paths.push(keys.clone());
                    Some(look.paths.len() - 1)
                }
                _ => None,
            };
            look.path_of.push(path);
        }
        let founds = step.captures.iter().map(|capture| &capture.from);
        let founds = founds.chain(step.asserts.iter().map(|assert| &assert.of));
        for filter in founds.flat_map(|found| &found.filters) {
            if let Filter::Regex(pattern) = filter {
                look.compile(pattern)?;
            }
        }
        for assert in &step.asserts {
            if let Test::Matches(pattern) = &assert.test {
                look.compile(pattern)?;
            }
        }
        Ok(look)
    }

    // Cold: as above.
    fn compile(&mut self, pattern: &str) -> Result<(), String> {
        if self.regexes.iter().all(|(known, _)| **known != *pattern) {
            let mut builder = RegexBuilder::new(pattern);
            let regex = builder.size_limit(REGEX_BYTES).dfa_size_limit(REGEX_BYTES).build();
            let regex = regex.map_err(|error| format!("/{pattern}/: {error}"))?;
            self.regexes.push((pattern.into(), regex));
        }
        Ok(())
    }

    fn regex(&self, pattern: &str) -> Option<&Regex> {
        self.regexes.iter().find(|(known, _)| **known == *pattern).map(|(_, regex)| regex)
    }

    /// The step.
    pub fn step(&self) -> &Step {
        &self.step
    }

    /// Takes memory for one response.
    // Cold: as many as are awaited at once.
    pub fn sight(&self) -> Sight {
        Sight {
            walk: Walk::new(self.paths.len(), VALUE_MAX),
            fields: vec![(false, Vec::new()); self.step.queries.len()],
            body: Vec::new(),
            body_bytes: 0,
            hash: Sha256::new(),
            hex: [0; 64],
            matched: self.regexes.iter().map(|(_, regex)| regex.capture_locations()).collect(),
            scratch: Default::default(),
        }
    }

    /// A header field of the response.
    pub fn field(&self, sight: &mut Sight, name: &[u8], value: &[u8]) {
        for (query, seen) in self.step.queries.iter().zip(&mut sight.fields) {
            match query {
                Query::Header(wanted)
                    if !seen.0 && name.eq_ignore_ascii_case(wanted.as_bytes()) =>
                {
                    note(seen, value);
                }
                Query::Cookie(wanted) if name.eq_ignore_ascii_case(b"set-cookie") => {
                    let pair = value.split(|byte| *byte == b';').next().unwrap_or_default();
                    let rest = pair.trim_ascii_start().strip_prefix(wanted.as_bytes());
                    if let Some(rest) = rest.and_then(|rest| rest.strip_prefix(b"=")) {
                        note(seen, rest.trim_ascii());
                    }
                }
                _ => {}
            }
        }
    }

    /// A piece of the body of the response.
    pub fn body(&self, sight: &mut Sight, piece: &[u8]) {
        sight.body_bytes += piece.len() as u64;
        if !self.paths.is_empty() {
            sight.walk.read(&self.paths, piece);
        }
        if self.hashes {
            sight.hash.update(piece);
        }
        if self.keeps_body {
            let room = BODY_MAX.saturating_sub(sight.body.len());
            sight.body.extend_from_slice(&piece[..piece.len().min(room)]);
        }
    }

    /// The response is complete: gives variables their values and examines the conditions. What
    /// was captured stays even if a condition does not hold.
    pub fn judge(
        &self,
        sight: &mut Sight,
        facts: &Facts,
        values: &mut Values,
        fill: Filler<'_>,
    ) -> Result<(), Miss> {
        sight.end(self.hashes);
        let [mut captured, mut compared] = std::mem::take(&mut sight.scratch);
        let judged = self.judged(sight, facts, (values, fill), (&mut captured, &mut compared));
        sight.scratch = [captured, compared];
        judged
    }

    fn judged(
        &self,
        sight: &mut Sight,
        facts: &Facts,
        (values, fill): (&mut Values, Filler<'_>),
        (captured, compared): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<(), Miss> {
        let is_good = match &self.step.statuses {
            Some(good) => good.holds(facts.status),
            None => facts.status < FIRST_ERROR,
        };
        let mut first = if is_good { None } else { Some(Miss::Status) };
        for (place, capture) in self.step.captures.iter().enumerate() {
            captured.clear();
            let found = self.value(sight, facts, values, &capture.from);
            let found = found.map(|value| captured.extend_from_slice(&value.as_bytes()));
            let miss = match found {
                Ok(()) => values.set(capture.variable, captured).err().map(|_| Miss::NoRoom(place)),
                Err(why) => Some(Miss::Capture(place, why)),
            };
            first = first.or(miss);
        }
        for (place, assert) in self.step.asserts.iter().enumerate() {
            if first.is_some() {
                break;
            }
            let holds = match self.value(sight, facts, values, &assert.of) {
                Ok(value) => self.holds(&value, &assert.test, values, (fill, compared)),
                // Nothing can be said of a value that is not there, except that it is not.
                Err(Nothing::Absent) if assert.test == Test::Exists => Some(false),
                Err(_) => None,
            };
            if holds != Some(!assert.is_not) {
                first = Some(Miss::Assert(place));
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// What a query found, as text for people; why nothing otherwise.
    // Cold: a failure that is shown.
    pub fn shown(
        &self,
        sight: &mut Sight,
        facts: &Facts,
        values: &Values,
        found: &Found,
    ) -> Result<String, Nothing> {
        let value = self.value(sight, facts, values, found)?;
        let bytes = value.as_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(if matches!(value, Value::Text(_)) { format!("\"{text}\"") } else { text })
    }

    /// The value of a query with its filters.
    fn value<'a>(
        &self,
        sight: &'a mut Sight,
        facts: &Facts,
        values: &'a Values,
        found: &Found,
    ) -> Result<Value<'a>, Nothing> {
        let place = usize::from(found.query);
        let query = self.step.queries.get(place).ok_or(Nothing::Absent)?;
        let number = Value::Whole;
        let (matched, sight) = sight.split();
        let value = match query {
            Query::Status => Ok(number(u64::from(facts.status))),
            Query::Version => Ok(Value::Text(Cow::Borrowed(facts.version.as_bytes()))),
            Query::Duration => Ok(number(facts.duration_ns / 1_000_000)),
            Query::Bytes => Ok(number(sight.body_bytes)),
            Query::Header(_) | Query::Cookie(_) => match &sight.fields[place] {
                (true, value) => Ok(Value::Text(Cow::Borrowed(value))),
                (false, _) => Err(Nothing::Absent),
            },
            Query::Body if sight.body_bytes > BODY_MAX as u64 => Err(Nothing::TooLong),
            Query::Body => Ok(Value::Text(Cow::Borrowed(sight.body))),
            Query::Sha256 => Ok(Value::Text(Cow::Borrowed(sight.hex))),
            Query::Json(_) => self.json(sight.walk, place),
            Query::Variable(variable) => match values.get(*variable) {
                // What it was captured from is not known any more.
                Some(value) => Ok(loose(Cow::Borrowed(value))),
                None => Err(Nothing::Absent),
            },
        };
        found.filters.iter().try_fold(value?, |value, filter| self.filtered(value, filter, matched))
    }

    fn json<'a>(&self, walk: &'a Walk, place: usize) -> Result<Value<'a>, Nothing> {
        let path = self.path_of[place].ok_or(Nothing::Absent)?;
        match walk.found(path) {
            Ok(Json::Null) => Ok(Value::Null),
            Ok(Json::Boolean(value)) => Ok(Value::Boolean(value)),
            Ok(Json::Number(raw)) => Ok(Value::Number(Cow::Borrowed(raw))),
            Ok(Json::Text(letters)) => Ok(Value::Text(Cow::Borrowed(letters))),
            Ok(Json::List(raw, count)) => Ok(Value::List(raw, count)),
            Ok(Json::Object(raw, count)) => Ok(Value::Object(raw, count)),
            Err(NoValue::NotJson) => Err(Nothing::NotJson),
            Err(NoValue::Absent) => Err(Nothing::Absent),
            Err(NoValue::TooLong) => Err(Nothing::TooLong),
        }
    }

    // Cold: where it copies, it is given what was copied before.
    fn filtered<'a>(
        &self,
        value: Value<'a>,
        filter: &Filter,
        matched: &mut [CaptureLocations],
    ) -> Result<Value<'a>, Nothing> {
        match (filter, value) {
            (Filter::Count, Value::List(_, count) | Value::Object(_, count)) => {
                Ok(Value::Whole(u64::from(count)))
            }
            (Filter::Count, Value::Text(text)) => Ok(Value::Whole(text.len() as u64)),
            // A length that is counted already.
            (Filter::Count, value @ Value::Whole(_)) => Ok(value),
            (Filter::Number, value @ (Value::Number(_) | Value::Whole(_))) => Ok(value),
            (Filter::Number, Value::Text(text)) => match as_number(&text) {
                Some(_) => Ok(Value::Number(text)),
                None => Err(Nothing::WrongKind),
            },
            (Filter::Text, Value::Number(bytes) | Value::Text(bytes)) => Ok(Value::Text(bytes)),
            // Cold: figures are compared as numbers, and lists by what is in them.
            (Filter::Text, value) => Ok(Value::Text(Cow::Owned(value.as_bytes().into_owned()))),
            (Filter::Regex(pattern), Value::Text(text)) => {
                let place = self.regexes.iter().position(|(known, _)| **known == **pattern);
                let place = place.ok_or(Nothing::Absent)?;
                let at = &mut matched[place];
                self.regexes[place].1.captures_read(at, &text).ok_or(Nothing::Absent)?;
                let (start, end) = at.get(1).ok_or(Nothing::Absent)?;
                Ok(Value::Text(match text {
                    Cow::Borrowed(text) => Cow::Borrowed(&text[start..end]),
                    Cow::Owned(text) => Cow::Owned(text[start..end].to_vec()),
                }))
            }
            _ => Err(Nothing::WrongKind),
        }
    }

    /// Whether a value passes a test; `None` for a value that the test is not made for.
    fn holds(
        &self,
        value: &Value<'_>,
        test: &Test,
        values: &Values,
        (fill, scratch): (Filler<'_>, &mut Vec<u8>),
    ) -> Option<bool> {
        scratch.clear();
        let text = match value {
            Value::Text(text) => Some(text),
            _ => None,
        };
        match test {
            Test::Exists => Some(true),
            Test::Is(kind) => Some(is(value, *kind)),
            Test::Compare(comparison, operand) => {
                compared(*comparison, value, &given(operand, values, (fill, scratch)))
            }
            Test::StartsWith(begin) => {
                fill(values, begin, scratch);
                Some(text?.starts_with(scratch))
            }
            Test::EndsWith(end) => {
                fill(values, end, scratch);
                Some(text?.ends_with(scratch))
            }
            Test::Contains(operand) => contains(value, &given(operand, values, (fill, scratch))),
            Test::Matches(pattern) => Some(self.regex(pattern)?.is_match(text?)),
        }
    }
}

impl Value<'_> {
    /// As it is sent in the place of a hole.
    // Cold: only a number that we counted becomes text.
    fn as_bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Null => Cow::Borrowed(b"null"),
            Self::Boolean(true) => Cow::Borrowed(b"true"),
            Self::Boolean(false) => Cow::Borrowed(b"false"),
            Self::Number(bytes) | Self::Text(bytes) => Cow::Borrowed(bytes),
            Self::Whole(number) => Cow::Owned(number.to_string().into_bytes()),
            Self::List(raw, _) | Self::Object(raw, _) => Cow::Borrowed(raw),
        }
    }
}

/// The value that a file has; `scratch` is empty before.
fn given<'a>(
    operand: &'a Operand,
    values: &Values,
    (fill, scratch): (Filler<'_>, &'a mut Vec<u8>),
) -> Value<'a> {
    match operand {
        Operand::Text(text) => {
            fill(values, text, scratch);
            Value::Text(Cow::Borrowed(scratch))
        }
        Operand::Number(number) => Value::Number(Cow::Borrowed(number.as_bytes())),
        Operand::Boolean(value) => Value::Boolean(*value),
        Operand::Null => Value::Null,
        Operand::Loose(text) => {
            fill(values, text, scratch);
            loose(Cow::Borrowed(scratch))
        }
    }
}

/// A value of the kind that a text looks like.
fn loose(bytes: Cow<'_, [u8]>) -> Value<'_> {
    match &bytes[..] {
        b"true" => Value::Boolean(true),
        b"false" => Value::Boolean(false),
        b"null" => Value::Null,
        _ if as_number(&bytes).is_some() => Value::Number(bytes),
        _ => Value::Text(bytes),
    }
}

fn as_number(bytes: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(bytes).ok()?;
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    text.parse().ok().filter(|_| is_number)
}

fn compared(comparison: Comparison, value: &Value<'_>, other: &Value<'_>) -> Option<bool> {
    let is_equal = match (value, other) {
        (Value::Number(left), Value::Number(right)) => {
            // Whole numbers beyond 2^53 differ in digits that a float has not.
            left == right || !are_whole(left, right) && as_number(left) == as_number(right)
        }
        (Value::Whole(number), Value::Number(other)) => as_number(other) == Some(*number as f64),
        _ => value == other,
    };
    let order = || match (value, other) {
        (Value::Number(left), Value::Number(right)) => {
            as_number(left)?.partial_cmp(&as_number(right)?)
        }
        (Value::Whole(number), Value::Number(other)) => {
            (*number as f64).partial_cmp(&as_number(other)?)
        }
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        _ => None,
    };
    match comparison {
        Comparison::Equal => Some(is_equal),
        Comparison::Unequal => Some(!is_equal),
        Comparison::Greater => order().map(Ordering::is_gt),
        Comparison::AtLeast => order().map(Ordering::is_ge),
        Comparison::Less => order().map(Ordering::is_lt),
        Comparison::AtMost => order().map(Ordering::is_le),
    }
}

fn are_whole(left: &[u8], right: &[u8]) -> bool {
    let is_whole = |digits: &[u8]| !digits.iter().any(|byte| b".eE".contains(byte));
    is_whole(left) && is_whole(right)
}

// Cold: the word is the name of a kind.
fn is(value: &Value<'_>, kind: Kind) -> bool {
    let is_float = |raw: &[u8]| raw.iter().any(|byte| b".eE".contains(byte));
    match (kind, value) {
        (Kind::Boolean, Value::Boolean(_))
        | (Kind::Collection, Value::List(..) | Value::Object(..))
        | (Kind::List, Value::List(..))
        | (Kind::Object, Value::Object(..))
        | (Kind::Number | Kind::Integer, Value::Whole(_))
        | (Kind::Number, Value::Number(_))
        | (Kind::String, Value::Text(_)) => true,
        (Kind::Float, Value::Number(raw)) => is_float(raw),
        (Kind::Integer, Value::Number(raw)) => !is_float(raw),
        (Kind::Empty, Value::Text(text)) => text.is_empty(),
        (Kind::Empty, Value::List(_, count) | Value::Object(_, count)) => *count == 0,
        (Kind::Uuid, Value::Text(text)) => is_uuid(text),
        (Kind::IsoDate, Value::Text(text)) => is_date(text),
        _ => false,
    }
}

fn is_uuid(text: &[u8]) -> bool {
    text.len() == 36
        && text.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Whether it has the form of a date and time (RFC 3339).
fn is_date(text: &[u8]) -> bool {
    let form = b"0000-00-00T00:00:00";
    let begins = text.len() > form.len()
        && form.iter().zip(text).all(|(form, byte)| match form {
            b'0' => byte.is_ascii_digit(),
            b'T' => byte.eq_ignore_ascii_case(&b'T'),
            other => other == byte,
        });
    let rest = text.get(form.len()..).unwrap_or_default();
    let rest = match rest.strip_prefix(b".") {
        Some(fraction) => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 { return false } else { &fraction[digits..] }
        }
        None => rest,
    };
    let is_offset = |rest: &[u8]| match rest {
        [b'+' | b'-', a, b, b':', c, d] => [a, b, c, d].iter().all(|byte| byte.is_ascii_digit()),
        _ => false,
    };
    begins && (matches!(rest, b"Z" | b"z") || is_offset(rest))
}

fn contains(value: &Value<'_>, part: &Value<'_>) -> Option<bool> {
    match (value, part) {
        (Value::Text(text), _) => Some(memchr::memmem::find(text, &part.as_bytes()).is_some()),
        (Value::List(raw, _), _) => {
            Some(elements(raw).any(|element| {
                compared(Comparison::Equal, &element_of(element), part) == Some(true)
            }))
        }
        _ => None,
    }
}

/// An element of a list of JSON.
// Cold: few elements have an escape, and only they are copied.
fn element_of(raw: &[u8]) -> Value<'_> {
    match raw.first() {
        Some(b'"') => {
            let inside = raw.get(1..raw.len() - 1).unwrap_or_default();
            if !inside.contains(&b'\\') {
                return Value::Text(Cow::Borrowed(inside));
            }
            // Cold: few elements of lists have escapes.
            let mut letters = inside.to_vec();
            json::unescape(&mut letters);
            Value::Text(Cow::Owned(letters))
        }
        Some(b't' | b'f') => Value::Boolean(raw == b"true"),
        Some(b'n') => Value::Null,
        Some(b'[') => Value::List(raw, 0),
        Some(b'{') => Value::Object(raw, 0),
        _ => Value::Number(Cow::Borrowed(raw)),
    }
}

/// The elements of a list of JSON, each as it is written.
fn elements(raw: &[u8]) -> impl Iterator<Item = &[u8]> {
    let inside = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
    let (mut depth, mut is_text, mut is_escaped) = (0u32, false, false);
    inside
        .split(move |byte| {
            let is_end = *byte == b',' && depth == 0 && !is_text;
            match (byte, is_text) {
                (b'"', _) if !is_escaped => is_text = !is_text,
                (b'[' | b'{', false) => depth += 1,
                (b']' | b'}', false) => depth = depth.saturating_sub(1),
                _ => {}
            }
            is_escaped = *byte == b'\\' && !is_escaped;
            is_end
        })
        .map(<[u8]>::trim_ascii)
        .filter(|element| !element.is_empty())
}

/// Fills texts of a step for comparisons.
pub type Filler<'a> = &'a mut dyn FnMut(&Values, &Text, &mut Vec<u8>);

/// A filler for one user.
pub fn filler<'a>(
    random: &'a mut model::random::Random,
    date: &'a str,
    user: u64,
) -> impl FnMut(&Values, &Text, &mut Vec<u8>) + 'a {
    move |values, text, output| Fill { values, user, seq: 0, random, date }.put(text, output)
}

/// Notes the value of a field or cookie.
fn note((has_come, kept): &mut (bool, Vec<u8>), value: &[u8]) {
    *has_come = true;
    kept.clear();
    kept.extend_from_slice(value);
}
