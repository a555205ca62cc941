//! What a step looks for in its response: values that are captured, and conditions.
//!
//! For: steps of a flow, tried once or sent as load. What is needed of a response is noted while it
//! arrives; a whole body is kept only where a regular expression or a comparison needs it, up to
//! [`BODY_MAX`] bytes.
//! In: header fields and pieces of the body, then the end of the response. Out: values for the
//! variables of a user, or the first condition that does not hold.
//! Never: a request, a clock.

pub mod json;

use self::json::{Json, NoValue, Walk};
use crate::fill::{Fill, Values};
use crate::rules::FIRST_ERROR;
use model::flow::{Comparison, Filter, Found, Key, Kind, Operand, Query, Step, Test, Text};
use regex::bytes::{Regex, RegexBuilder};
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
    regexes: Vec<(String, Regex)>,
    keeps_body: bool,
    hashes: bool,
}

/// What was seen of one response so far.
#[derive(Debug)]
pub struct Sight {
    walk: Walk,
    /// For each query the value of its header field or cookie.
    fields: Vec<Option<Vec<u8>>>,
    body: Vec<u8>,
    body_bytes: u64,
    hash: Sha256,
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

    fn compile(&mut self, pattern: &str) -> Result<(), String> {
        if self.regexes.iter().all(|(known, _)| known != pattern) {
            let mut builder = RegexBuilder::new(pattern);
            let regex = builder.size_limit(REGEX_BYTES).dfa_size_limit(REGEX_BYTES).build();
            let regex = regex.map_err(|error| format!("/{pattern}/: {error}"))?;
            self.regexes.push((pattern.to_string(), regex));
        }
        Ok(())
    }

    fn regex(&self, pattern: &str) -> Option<&Regex> {
        self.regexes.iter().find(|(known, _)| known == pattern).map(|(_, regex)| regex)
    }

    /// The step.
    pub fn step(&self) -> &Step {
        &self.step
    }

    /// Takes memory for one response.
    pub fn sight(&self) -> Sight {
        Sight {
            walk: Walk::new(self.paths.len(), VALUE_MAX),
            fields: vec![None; self.step.queries.len()],
            body: Vec::new(),
            body_bytes: 0,
            hash: Sha256::new(),
        }
    }

    /// A header field of the response.
    pub fn field(&self, sight: &mut Sight, name: &[u8], value: &[u8]) {
        for (query, seen) in self.step.queries.iter().zip(&mut sight.fields) {
            match query {
                Query::Header(wanted) if name.eq_ignore_ascii_case(wanted.as_bytes()) => {
                    seen.get_or_insert_with(|| value.to_vec());
                }
                Query::Cookie(wanted) if name.eq_ignore_ascii_case(b"set-cookie") => {
                    let pair = value.split(|byte| *byte == b';').next().unwrap_or_default();
                    let rest = pair.trim_ascii_start().strip_prefix(wanted.as_bytes());
                    if let Some(rest) = rest.and_then(|rest| rest.strip_prefix(b"=")) {
                        *seen = Some(rest.trim_ascii().to_vec());
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
        fill: &mut dyn FnMut(&Values, &Text) -> Vec<u8>,
    ) -> Result<(), Miss> {
        sight.walk.end();
        let is_good = match &self.step.statuses {
            Some(good) => good.holds(facts.status),
            None => facts.status < FIRST_ERROR,
        };
        let mut first = if is_good { None } else { Some(Miss::Status) };
        for (place, capture) in self.step.captures.iter().enumerate() {
            let found = self.value(sight, facts, values, &capture.from);
            let miss = match found.map(|value| value.as_bytes().into_owned()) {
                Ok(bytes) => {
                    values.set(capture.variable, &bytes).err().map(|_| Miss::NoRoom(place))
                }
                Err(why) => Some(Miss::Capture(place, why)),
            };
            first = first.or(miss);
        }
        for (place, assert) in self.step.asserts.iter().enumerate() {
            if first.is_some() {
                break;
            }
            let holds = match self.value(sight, facts, values, &assert.of) {
                Ok(value) => self.holds(&value, &assert.test, values, fill),
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
        sight: &Sight,
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
        sight: &'a Sight,
        facts: &Facts,
        values: &'a Values,
        found: &Found,
    ) -> Result<Value<'a>, Nothing> {
        let place = usize::from(found.query);
        let query = self.step.queries.get(place).ok_or(Nothing::Absent)?;
        let number = |number: u64| Value::Number(Cow::Owned(number.to_string().into_bytes()));
        let value = match query {
            Query::Status => Ok(number(u64::from(facts.status))),
            Query::Version => Ok(Value::Text(Cow::Borrowed(facts.version.as_bytes()))),
            Query::Duration => Ok(number(facts.duration_ns / 1_000_000)),
            Query::Bytes => Ok(number(sight.body_bytes)),
            Query::Header(_) | Query::Cookie(_) => match &sight.fields[place] {
                Some(value) => Ok(Value::Text(Cow::Borrowed(value))),
                None => Err(Nothing::Absent),
            },
            Query::Body if sight.body_bytes > BODY_MAX as u64 => Err(Nothing::TooLong),
            Query::Body => Ok(Value::Text(Cow::Borrowed(&sight.body))),
            Query::Sha256 => {
                let digest = sight.hash.clone().finalize();
                let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
                Ok(Value::Text(Cow::Owned(hex.into_bytes())))
            }
            Query::Json(_) => self.json(sight, place),
            Query::Variable(variable) => match values.get(*variable) {
                // What it was captured from is not known any more.
                Some(value) => Ok(loose(Cow::Borrowed(value))),
                None => Err(Nothing::Absent),
            },
        };
        found.filters.iter().try_fold(value?, |value, filter| self.filtered(value, filter))
    }

    fn json<'a>(&self, sight: &'a Sight, place: usize) -> Result<Value<'a>, Nothing> {
        let path = self.path_of[place].ok_or(Nothing::Absent)?;
        match sight.walk.found(path) {
            Ok(Json::Null) => Ok(Value::Null),
            Ok(Json::Boolean(value)) => Ok(Value::Boolean(value)),
            Ok(Json::Number(raw)) => Ok(Value::Number(Cow::Borrowed(raw))),
            Ok(Json::Text(raw)) if !raw.contains(&b'\\') => Ok(Value::Text(Cow::Borrowed(raw))),
            Ok(Json::Text(raw)) => json::unescaped(raw)
                .map(|text| Value::Text(Cow::Owned(text.into_bytes())))
                .ok_or(Nothing::NotJson),
            Ok(Json::List(raw, count)) => Ok(Value::List(raw, count)),
            Ok(Json::Object(raw, count)) => Ok(Value::Object(raw, count)),
            Err(NoValue::NotJson) => Err(Nothing::NotJson),
            Err(NoValue::Absent) => Err(Nothing::Absent),
            Err(NoValue::TooLong) => Err(Nothing::TooLong),
        }
    }

    fn filtered<'a>(&self, value: Value<'a>, filter: &Filter) -> Result<Value<'a>, Nothing> {
        let number = |number: u64| Value::Number(Cow::Owned(number.to_string().into_bytes()));
        match (filter, &value) {
            (Filter::Count, Value::List(_, count) | Value::Object(_, count)) => {
                Ok(number(u64::from(*count)))
            }
            (Filter::Count, Value::Text(text)) => Ok(number(text.len() as u64)),
            // A length that is counted already.
            (Filter::Count, Value::Number(_)) => Ok(value),
            (Filter::Number, _) => {
                let bytes = value.as_bytes().into_owned();
                match as_number(&bytes) {
                    Some(_) => Ok(Value::Number(Cow::Owned(bytes))),
                    None => Err(Nothing::WrongKind),
                }
            }
            (Filter::Text, _) => Ok(Value::Text(Cow::Owned(value.as_bytes().into_owned()))),
            (Filter::Regex(pattern), Value::Text(text)) => {
                let regex = self.regex(pattern).ok_or(Nothing::Absent)?;
                let group = regex.captures(text).and_then(|groups| groups.get(1));
                let group = group.ok_or(Nothing::Absent)?.as_bytes().to_vec();
                Ok(Value::Text(Cow::Owned(group)))
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
        fill: &mut dyn FnMut(&Values, &Text) -> Vec<u8>,
    ) -> Option<bool> {
        let text = match value {
            Value::Text(text) => Some(text),
            _ => None,
        };
        match test {
            Test::Exists => Some(true),
            Test::Is(kind) => Some(is(value, *kind)),
            Test::Compare(comparison, operand) => {
                compared(*comparison, value, &given(operand, values, fill))
            }
            Test::StartsWith(begin) => Some(text?.starts_with(&fill(values, begin))),
            Test::EndsWith(end) => Some(text?.ends_with(&fill(values, end))),
            Test::Contains(operand) => contains(value, &given(operand, values, fill)),
            Test::Matches(pattern) => Some(self.regex(pattern)?.is_match(text?)),
        }
    }
}

impl Value<'_> {
    /// As it is sent in the place of a hole.
    fn as_bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Null => Cow::Borrowed(b"null"),
            Self::Boolean(true) => Cow::Borrowed(b"true"),
            Self::Boolean(false) => Cow::Borrowed(b"false"),
            Self::Number(bytes) | Self::Text(bytes) => Cow::Borrowed(bytes),
            Self::List(raw, _) | Self::Object(raw, _) => Cow::Borrowed(raw),
        }
    }
}

/// The value that a file has.
fn given(
    operand: &Operand,
    values: &Values,
    fill: &mut dyn FnMut(&Values, &Text) -> Vec<u8>,
) -> Value<'static> {
    match operand {
        Operand::Text(text) => Value::Text(Cow::Owned(fill(values, text))),
        Operand::Number(number) => Value::Number(Cow::Owned(number.clone().into_bytes())),
        Operand::Boolean(value) => Value::Boolean(*value),
        Operand::Null => Value::Null,
        Operand::Loose(text) => loose(Cow::Owned(fill(values, text))),
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
        _ => value == other,
    };
    let order = || match (value, other) {
        (Value::Number(left), Value::Number(right)) => {
            as_number(left)?.partial_cmp(&as_number(right)?)
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

fn is(value: &Value<'_>, kind: Kind) -> bool {
    let is_float = |raw: &[u8]| raw.iter().any(|byte| b".eE".contains(byte));
    match (kind, value) {
        (Kind::Boolean, Value::Boolean(_))
        | (Kind::Collection, Value::List(..) | Value::Object(..))
        | (Kind::List, Value::List(..))
        | (Kind::Object, Value::Object(..))
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
fn element_of(raw: &[u8]) -> Value<'_> {
    match raw.first() {
        Some(b'"') => {
            let inside = raw.get(1..raw.len() - 1).unwrap_or_default();
            let text = json::unescaped(inside).unwrap_or_default();
            Value::Text(Cow::Owned(text.into_bytes()))
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

/// Fills texts of a step for comparisons, which draw nothing.
pub fn filler<'a>(
    random: &'a mut model::random::Random,
    date: &'a str,
    user: u64,
) -> impl FnMut(&Values, &Text) -> Vec<u8> + 'a {
    move |values, text| Fill { values, user, seq: 0, random, date }.text(text)
}
