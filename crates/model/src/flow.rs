//! What one user does: steps that depend on each other.
//!
//! A user makes one pass through a flow. The texts of a step have holes, which are filled when the
//! step is sent: with what earlier steps captured, or with values drawn for this user.

use crate::check::Statuses;

/// A flow, as its file says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// Its name: that of its file without the ending.
    pub name: String,
    /// In the order in which a user takes them; at least one.
    pub steps: Vec<Step>,
    /// The names of variables; a hole has the place of its variable here.
    pub variables: Vec<Variable>,
    /// Scheme and authority of the server, as in `http://127.0.0.1:8083`.
    pub base: String,
}

/// A value that a user carries from step to step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name in the file.
    pub name: String,
    /// It is never shown.
    pub is_secret: bool,
}

/// One request of a flow, and what its response must be like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its name in results: method and path as written, such as `POST /login`.
    pub name: String,
    /// Line of the file, from 1.
    pub line: u32,
    /// Method token.
    pub method: String,
    /// Path and query. Where it begins with a hole, that may be filled with a whole URL of the same
    /// server.
    pub path: Text,
    /// Header fields; Host and Content-Length are added.
    pub headers: Vec<(String, Text)>,
    /// Cookies besides those that the server has set.
    pub cookies: Vec<(String, Text)>,
    /// Body; empty for none.
    pub body: Text,
    /// Think time before it, nanoseconds.
    pub delay_ns: u64,
    /// How often it is sent in a row; at least 1.
    pub repeat: u32,
    /// Whether it is left out.
    pub skip: Skip,
    /// Variables that get a value before it is sent.
    pub sets: Vec<(u16, Text)>,
    /// A response after this time failed, nanoseconds; absent for the time-out of the run.
    pub timeout_ns: Option<u64>,
    /// Most redirects that are followed, each as a step of its own; 0 for none.
    pub redirects_max: u32,
    /// Statuses that are good; absent when any below 400 is.
    pub statuses: Option<Statuses>,
    /// What is looked for in the response.
    pub queries: Vec<Query>,
    /// Variables that get what a query found, after the response.
    pub captures: Vec<Capture>,
    /// What must hold, in order.
    pub asserts: Vec<Assert>,
}

/// Whether a step is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Skip {
    /// It is sent.
    Never,
    /// It is left out when this is `true`.
    When(Text),
}

/// A text with holes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text(pub Vec<Piece>);

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// As it is.
    Plain(Vec<u8>),
    /// To be filled.
    Hole(Source, Escape),
    /// A text that is written as Base64 (RFC 4648) once it is filled.
    Base64(Text),
}

/// Where the value of a hole comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The variable at this place.
    Variable(u16),
    /// A random UUID (version 4), from the seed.
    Uuid,
    /// The date and time at the start of the flow (RFC 3339).
    Date,
    /// The number of the user, from 1.
    User,
    /// A number that no other request of the run has, from 1.
    Seq,
    /// A whole number, both ends included.
    Random(u64, u64),
}

/// How a value is written, for the place that it goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// As it is; a line break in it makes the step fail.
    Raw,
    /// In a URL: what no URL may have is percent-encoded.
    Url,
    /// In a part of a query or a form: all but unreserved letters are percent-encoded (RFC 3986).
    Part,
    /// Inside a string of JSON.
    Json,
}

/// A part of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// The status code.
    Status,
    /// The version of HTTP: 1.1 or 2.
    Version,
    /// The first field of this name, compared without case.
    Header(String),
    /// The value of the cookie that the response sets.
    Cookie(String),
    /// The whole body.
    Body,
    /// Its length.
    Bytes,
    /// Its SHA-256.
    Sha256,
    /// A value in a body of JSON.
    Json(Vec<Key>),
    /// A variable of the user.
    Variable(u16),
    /// From the send to the last byte, milliseconds.
    Duration,
}

/// A step from a value of JSON to one inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// The member of this name.
    Name(String),
    /// The element at this place, from 0.
    Nth(u32),
    /// Every element: the value of the path is the list of what is found.
    All,
}

/// What becomes of a value that a query found, before it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// How many elements, members or bytes it has.
    Count,
    /// The first group of a regular expression, of which this is the text.
    Regex(String),
    /// A number for a text that is one.
    Number,
    /// The value as text.
    Text,
}

/// A query of the step with what becomes of its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Place among the queries of the step.
    pub query: u16,
    /// In this order.
    pub filters: Vec<Filter>,
}

/// A variable that gets a value from a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// Which variable.
    pub variable: u16,
    /// What it gets.
    pub from: Found,
    /// Line of the file.
    pub line: u32,
}

/// A condition on a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assert {
    /// What is compared.
    pub of: Found,
    /// Whether it holds when the test does not.
    pub is_not: bool,
    /// The test.
    pub test: Test,
    /// As it is written.
    pub text: String,
    /// Line of the file.
    pub line: u32,
}

/// What a value is tested for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// It is there.
    Exists,
    /// It is one of a kind.
    Is(Kind),
    /// It is compared with another value.
    Compare(Comparison, Operand),
    /// It is a text with this beginning.
    StartsWith(Text),
    /// It is a text with this end.
    EndsWith(Text),
    /// It is a text with this in it, or a list with this element.
    Contains(Operand),
    /// A regular expression, of which this is the text, is found in it.
    Matches(String),
}

/// Kinds of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Boolean,
    /// A list or an object.
    Collection,
    /// A list.
    List,
    /// An object.
    Object,
    /// A text, a list or an object without anything in it.
    Empty,
    /// A number with a fraction or an exponent.
    Float,
    /// A number without one.
    Integer,
    /// A number.
    Number,
    /// A text.
    String,
    /// A text that is a UUID.
    Uuid,
    /// A text that is a date and time (RFC 3339).
    IsoDate,
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// The same.
    Equal,
    /// Not the same.
    Unequal,
    /// Greater.
    Greater,
    /// Greater or the same.
    AtLeast,
    /// Less.
    Less,
    /// Less or the same.
    AtMost,
}

/// A value in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    /// A text.
    Text(Text),
    /// A number, as it is written.
    Number(String),
    /// `true` or `false`.
    Boolean(bool),
    /// `null`.
    Null,
    /// A hole without quotes: whatever kind the value of this variable looks like.
    Loose(Text),
}

impl Step {
    /// A request without conditions.
    pub fn new(method: &str, path: Text) -> Self {
        Self {
            name: format!("{method} {}", path.shown()),
            line: 1,
            method: method.to_string(),
            path,
            headers: Vec::new(),
            cookies: Vec::new(),
            body: Text::default(),
            delay_ns: 0,
            repeat: 1,
            skip: Skip::Never,
            sets: Vec::new(),
            timeout_ns: None,
            redirects_max: 0,
            statuses: None,
            queries: Vec::new(),
            captures: Vec::new(),
            asserts: Vec::new(),
        }
    }
}

impl Flow {
    /// Adds a header to steps that have none of its name.
    pub fn add_header(&mut self, (name, value): (String, String)) {
        for step in &mut self.steps {
            let has = step.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(&name));
            if !has {
                step.headers.push((name.clone(), Text::plain(value.clone())));
            }
        }
    }
}

impl Text {
    /// A text without holes.
    pub fn plain(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self(if bytes.is_empty() { Vec::new() } else { vec![Piece::Plain(bytes)] })
    }

    /// Whether nothing is in it, whatever its holes are filled with.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its bytes, if it has no holes.
    pub fn constant(&self) -> Option<Vec<u8>> {
        self.0.iter().try_fold(Vec::new(), |mut all, piece| match piece {
            Piece::Plain(bytes) => {
                all.extend_from_slice(bytes);
                Some(all)
            }
            Piece::Hole(..) | Piece::Base64(_) => None,
        })
    }

    /// For people: holes are dots in braces.
    pub fn shown(&self) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Plain(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Piece::Hole(..) | Piece::Base64(_) => "{..}".to_string(),
        });
        pieces.collect()
    }

    /// Adds plain bytes at the end.
    pub fn push_plain(&mut self, bytes: &[u8]) {
        match self.0.last_mut() {
            _ if bytes.is_empty() => {}
            Some(Piece::Plain(last)) => last.extend_from_slice(bytes),
            _ => self.0.push(Piece::Plain(bytes.to_vec())),
        }
    }

    /// Adds another text at the end.
    pub fn push(&mut self, other: &Self) {
        for piece in &other.0 {
            match piece {
                Piece::Plain(bytes) => self.push_plain(bytes),
                hole => self.0.push(hole.clone()),
            }
        }
    }
}

impl Escape {
    /// Appends a value, written for the place that it goes to.
    pub fn put(self, value: &[u8], output: &mut Vec<u8>) {
        let keeps = |byte: u8| match self {
            Self::Raw => true,
            Self::Url => byte > b' ' && byte < 0x7f && !b"\"<>\\^`{|}".contains(&byte),
            Self::Part => byte.is_ascii_alphanumeric() || b"-._~".contains(&byte),
            Self::Json => byte >= b' ' && byte != b'"' && byte != b'\\',
        };
        for &byte in value {
            match (keeps(byte), self) {
                (true, _) | (_, Self::Raw) => output.push(byte),
                (false, Self::Url | Self::Part) => {
                    output.extend_from_slice(&[b'%', hex(byte >> 4), hex(byte & 0xf)]);
                }
                (false, Self::Json) if byte < b' ' => {
                    output.extend_from_slice(&[b'\\', b'u', b'0', b'0', hex(byte >> 4)]);
                    output.push(hex(byte & 0xf));
                }
                (false, Self::Json) => output.extend_from_slice(&[b'\\', byte]),
            }
        }
    }
}

fn hex(nibble: u8) -> u8 {
    b"0123456789ABCDEF"[usize::from(nibble & 0xf)]
}
