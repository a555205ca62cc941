//! What an importer found, before it is written: steps with holes that have names.

use crate::json::Json;

/// The variable of the server.
pub const BASE: &str = "base";

/// Letters that are shown of a method and a URL.
const TITLE_MAX: usize = 200;
/// Letters that are shown of a request that is left out, and of what is wrong with it.
const LEFT_MAX: usize = 400;

/// A text with holes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text(pub Vec<Piece>);

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// As it is.
    Plain(String),
    /// To be filled: the name of a variable, or one of the other holes of a flow.
    Hole(String),
}

/// Whether `{{name}}` in a source is a hole or a text like any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Braces {
    /// A hole.
    Hole,
    /// A text.
    Plain,
}

/// What a file has, in its order.
#[derive(Debug, Default)]
pub struct Draft {
    /// Steps, and what stands between them.
    pub items: Vec<Item>,
    /// What is said once, at the beginning.
    pub notes: Vec<String>,
    /// The server that the flow goes to, if the importer knows it.
    pub server: Option<String>,
    /// What variables are, where more is known than their names.
    pub meanings: Vec<(String, String)>,
}

/// A step, or what stands between steps.
#[derive(Debug)]
pub enum Item {
    /// A request that is written.
    Step(Box<Step>),
    /// A request that is not.
    Left(Left),
    /// A heading, such as the name of a folder.
    Title(String),
}

/// A request that is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Method and URL, or as much as is known.
    pub what: String,
    /// Why, in the words of a count: `3 of other servers`.
    pub why: String,
}

/// One request, and what its response is like.
#[derive(Debug, Default)]
pub struct Step {
    /// Comments above it.
    pub notes: Vec<String>,
    /// Method token.
    pub method: String,
    /// Scheme and authority, or the name of a variable in braces.
    pub server: String,
    /// Path, percent-encoded.
    pub path: Text,
    /// Parameters behind the `?`.
    pub query: Pairs,
    /// Header fields.
    pub headers: Vec<(String, Text)>,
    /// Cookies that no response of the flow sets.
    pub cookies: Vec<(String, Text)>,
    /// Name and password.
    pub basic: Option<(Text, Text)>,
    /// Lines of `[Options]`.
    pub options: Vec<String>,
    /// Body.
    pub body: Body,
    /// The status of the response, if the source knows it.
    pub status: Option<u16>,
    /// Values that later steps use.
    pub captures: Vec<Capture>,
    /// What was recorded besides the request.
    pub recorded: Option<Box<Recorded>>,
}

/// What a recording has of a response.
#[derive(Debug, Default)]
pub struct Recorded {
    /// From when to when the request took, milliseconds since 1970.
    pub took_ms: Option<(i64, i64)>,
    /// Header fields.
    pub headers: Vec<(String, String)>,
    /// The body, if it is a text that is not long.
    pub body: String,
    /// It was too long, or there was no room for it.
    pub is_body_lost: bool,
}

/// A value of a response that gets a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// Name of the variable.
    pub name: String,
    /// Query and filters, as a flow has them.
    pub query: String,
}

/// Parameters of a query or a form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pairs {
    /// As the source has them, encoded.
    pub raw: String,
    /// Names and values, decoded.
    pub pairs: Vec<(String, Text)>,
}

/// Body of a request.
#[derive(Debug, Default)]
pub enum Body {
    /// There is none.
    #[default]
    None,
    /// JSON.
    Json(Json),
    /// Any text.
    Text(Text),
    /// Parameters of a form.
    Form(Pairs),
    /// Parts with names.
    Multipart(Vec<Part>),
    /// The content of a file.
    File(String),
}

/// A part of a body with several.
#[derive(Debug)]
pub struct Part {
    /// Name of the field.
    pub name: String,
    /// What it has.
    pub content: Content,
}

/// What a part of a body has.
#[derive(Debug)]
pub enum Content {
    /// A text.
    Text(Text),
    /// A file: its path, and its type where one is known.
    File(String, String),
}

impl Left {
    /// A request that is left out.
    pub fn new(what: &str, why: &str) -> Self {
        Self { what: shortened(what, LEFT_MAX), why: why.to_string() }
    }
}

impl Text {
    /// A text without holes.
    pub fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        Self(if text.is_empty() { Vec::new() } else { vec![Piece::Plain(text)] })
    }

    /// A hole alone.
    pub fn hole(name: &str) -> Self {
        Self(vec![Piece::Hole(name.to_string())])
    }

    /// A text of a source.
    pub fn read(text: &str, braces: Braces) -> Self {
        let mut read = Self::default();
        let mut rest = text;
        while let Some((before, (name, after))) = next_hole(rest, braces) {
            read.push_plain(before);
            read.0.push(Piece::Hole(hole_name(name)));
            rest = after;
        }
        read.push_plain(rest);
        read
    }

    /// Adds plain text at the end.
    pub fn push_plain(&mut self, text: &str) {
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Plain(last)) => last.push_str(text),
            _ => self.0.push(Piece::Plain(text.to_string())),
        }
    }

    /// The text, if it has no holes.
    pub fn as_plain(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Piece::Plain(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether it has a hole.
    pub fn has_hole(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Hole(_)))
    }

    /// The names of its holes.
    pub fn holes(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Hole(name) => Some(name.as_str()),
            Piece::Plain(_) => None,
        })
    }

    /// Makes a hole of each place that has the value; returns whether there was one.
    pub fn cut(&mut self, value: &str, name: &str) -> bool {
        let mut cut = Self::default();
        let mut is_found = false;
        for piece in std::mem::take(&mut self.0) {
            let Piece::Plain(text) = piece else {
                cut.0.push(piece);
                continue;
            };
            let mut rest = text.as_str();
            while let Some(at) = place_of(rest, value) {
                cut.push_plain(&rest[..at]);
                cut.0.push(Piece::Hole(name.to_string()));
                rest = &rest[at + value.len()..];
                is_found = true;
            }
            cut.push_plain(rest);
        }
        *self = cut;
        is_found
    }
}

/// Where a value stands as a word of its own: not inside a longer one.
pub fn place_of(text: &str, value: &str) -> Option<usize> {
    let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    text.match_indices(value).map(|(at, _)| at).find(|at| {
        let (before, after) = (&text[..*at], &text[at + value.len()..]);
        !is_letter(before.chars().next_back()) && !is_letter(after.chars().next())
    })
}

/// What is before the next hole, what is between its braces, and what follows.
fn next_hole(text: &str, braces: Braces) -> Option<(&str, (&str, &str))> {
    if braces == Braces::Plain {
        return None;
    }
    let (before, rest) = text.split_once("{{")?;
    let (name, after) = rest.split_once("}}")?;
    (!name.contains(['\n', '{'])).then_some((before, (name, after)))
}

/// The hole of a flow for that of another program.
fn hole_name(inside: &str) -> String {
    let name = inside.trim();
    match name.split([' ', '(']).next().unwrap_or_default() {
        "$guid" | "$uuid" | "$randomUUID" | "$random.uuid" => "newUuid".to_string(),
        "$timestamp" | "$isoTimestamp" | "$datetime" | "$localDatetime" => "newDate".to_string(),
        "$randomInt" | "$random.integer" => range(name).unwrap_or("random:0..1000".to_string()),
        "$processEnv" | "$dotenv" => variable(name.split(' ').next_back().unwrap_or(name)),
        _ => variable(name.strip_prefix("$env.").unwrap_or(name)),
    }
}

/// Two numbers of a text: `$randomInt 1 9`.
fn range(text: &str) -> Option<String> {
    let mut numbers = text.split(|one: char| !one.is_ascii_digit()).filter(|one| !one.is_empty());
    let (least, most) = (numbers.next()?, numbers.next()?);
    (least.parse::<u64>().ok()? <= most.parse().ok()?).then(|| format!("random:{least}..{most}"))
}

/// A name that a variable of a flow can have.
pub fn variable(name: &str) -> String {
    let is_good = |letter: char| letter.is_alphanumeric() || "_-.".contains(letter);
    let mut variable = String::new();
    for letter in name.chars().map(|letter| if is_good(letter) { letter } else { '_' }).take(40) {
        if letter != '_' || !variable.ends_with('_') {
            variable.push(letter);
        }
    }
    let variable = variable.trim_matches('_');
    let begins = variable.starts_with(char::is_alphabetic);
    let is_taken = ["newUuid", "uuid", "newDate", "user", "seq"].contains(&variable);
    match (begins, is_taken) {
        (true, false) => variable.to_string(),
        (true, true) => format!("{variable}_value"),
        (false, _) => format!("value_{variable}"),
    }
}

impl Pairs {
    /// Parameters without holes.
    pub fn of(pairs: impl Iterator<Item = (String, String)>) -> Self {
        let pairs = pairs.map(|(name, value)| {
            format!("{}={}", crate::url::part_encoded(&name), crate::url::part_encoded(&value))
        });
        Self::read(&pairs.collect::<Vec<String>>().join("&"), Braces::Plain)
    }

    /// Parameters of an encoded text.
    pub fn read(raw: &str, braces: Braces) -> Self {
        let mut pairs = Vec::new();
        for part in raw.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let mut text = Text::read(value, braces);
            for piece in &mut text.0 {
                if let Piece::Plain(plain) = piece {
                    *plain = crate::url::decoded(plain);
                }
            }
            pairs.push((crate::url::decoded(name), text));
        }
        Self { raw: raw.to_string(), pairs }
    }

    /// Adds a parameter.
    pub fn push(&mut self, name: String, value: Text) {
        let plain = value.as_plain().map(crate::url::part_encoded).unwrap_or_default();
        let and = if self.raw.is_empty() { "" } else { "&" };
        self.raw += &format!("{and}{}={plain}", crate::url::part_encoded(&name));
        self.pairs.push((name, value));
    }

    /// Whether a value has a hole.
    pub fn has_hole(&self) -> bool {
        self.pairs.iter().any(|(_, value)| value.has_hole())
    }
}

impl Body {
    /// The body of a text, read as its type says.
    pub fn read(text: &str, media_type: Option<&str>, braces: Braces) -> Self {
        let kind = media_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        let kind = kind.to_ascii_lowercase();
        if text.is_empty() {
            return Self::None;
        }
        if kind == "application/x-www-form-urlencoded" && is_form(text) {
            return Self::Form(Pairs::read(text, braces));
        }
        match Json::read(text, braces) {
            Some(json) => Self::Json(json),
            None => Self::Text(Text::read(text, braces)),
        }
    }
}

/// Whether a text is what forms send, and lines of a form can have it.
fn is_form(text: &str) -> bool {
    // The spaces at the end of a line would be lost.
    let is_whole = |part: &str| {
        !crate::url::decoded(part).ends_with(|letter: char| letter.is_ascii_whitespace())
    };
    let is_pair = |part: &str| {
        part.split_once('=').is_some_and(|(name, value)| {
            !name.is_empty() && !name.starts_with('{') && is_whole(name) && is_whole(value)
        })
    };
    !text.contains(char::is_whitespace) && text.split('&').all(is_pair)
}

impl Part {
    /// The path of its file, if it is one.
    fn file(&self) -> Option<&str> {
        match &self.content {
            Content::File(path, _) => Some(path),
            Content::Text(_) => None,
        }
    }
}

impl Step {
    /// Calls for each value that may be a secret or come from a response, with its name.
    pub fn for_each_value(&mut self, each: &mut dyn FnMut(Place<'_>, &mut Text)) {
        each(Place::Path, &mut self.path);
        for (name, value) in &mut self.query.pairs {
            each(Place::Parameter(name), value);
        }
        for (name, value) in &mut self.headers {
            each(Place::Header(name), value);
        }
        for (name, value) in &mut self.cookies {
            each(Place::Cookie(name), value);
        }
        if let Some((user, password)) = &mut self.basic {
            each(Place::Member("user_name"), user);
            each(Place::Member("password"), password);
        }
        match &mut self.body {
            Body::Json(json) => json.for_each_value(&mut |name, value| {
                each(Place::Member(name), value);
            }),
            Body::Form(pairs) => {
                for (name, value) in &mut pairs.pairs {
                    each(Place::Member(name), value);
                }
            }
            Body::Multipart(parts) => {
                for part in parts {
                    if let Content::Text(value) = &mut part.content {
                        each(Place::Member(&part.name), value);
                    }
                }
            }
            Body::Text(text) => each(Place::Body, text),
            Body::None | Body::File(_) => {}
        }
    }

    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&Text> {
        let found = self.headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }

    /// Adds the cookies of a header: `name=value; other=value`.
    pub fn add_cookies(&mut self, text: &str, braces: Braces) {
        for (name, value) in text.split(';').filter_map(|cookie| cookie.split_once('=')) {
            self.cookies.push((name.trim().to_string(), Text::read(value.trim(), braces)));
        }
    }

    /// The files that it sends.
    pub fn files(&self) -> Vec<&str> {
        match &self.body {
            Body::File(path) => vec![path],
            Body::Multipart(parts) => parts.iter().filter_map(Part::file).collect(),
            _ => Vec::new(),
        }
    }

    /// Takes away all headers of this name; returns whether there was one.
    pub fn drop_header(&mut self, name: &str) -> bool {
        let before = self.headers.len();
        self.headers.retain(|(given, _)| !given.eq_ignore_ascii_case(name));
        self.headers.len() < before
    }

    /// Method and path, for people.
    pub fn title(&self) -> String {
        let path: String = self.path.0.iter().map(piece_shown).collect();
        shortened(&format!("{} {}{path}", self.method, self.server), TITLE_MAX)
    }
}

/// The first letters of a text.
fn shortened(text: &str, most: usize) -> String {
    let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
    let dots = if end < text.len() { "..." } else { "" };
    format!("{}{dots}", &text[..end])
}

fn piece_shown(piece: &Piece) -> String {
    match piece {
        Piece::Plain(text) => text.clone(),
        Piece::Hole(name) => format!("{{{{{name}}}}}"),
    }
}

/// Where a value stands in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'a> {
    /// In the path.
    Path,
    /// A parameter of the query.
    Parameter(&'a str),
    /// A header.
    Header(&'a str),
    /// A cookie.
    Cookie(&'a str),
    /// A member of the body, or a name or password.
    Member(&'a str),
    /// The whole body.
    Body,
}
