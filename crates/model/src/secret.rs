//! Secrets in what users write: which names have one, and the same text without it.
//!
//! Everything that is kept, shown or sent goes through here, so there is one list of names. A mask
//! may hide too much, never too little: the user's own shell still has the text.

use crate::option::{self, Facts, Value};
use crate::order::OrderBy as _;
use std::ops::Range;

/// The text that replaces a secret.
pub const MASK: &str = "***";

/// Any name that contains one of these, however it is spelled, has a secret.
const WITHIN: &[&str] = &[
    "token",
    "secret",
    "passw",
    "passphrase",
    "apikey",
    "accesskey",
    "authkey",
    "licensekey",
    "masterkey",
    "privatekey",
    "sharedkey",
    "signingkey",
    "storagekey",
    "credential",
    "cookie",
    "authorization",
    "sessid",
    "sessionid",
];
/// Any name with one of these as a word of its own.
const WORDS: &[&str] = &[
    "auth",
    "bearer",
    "jwt",
    "pass",
    "passwd",
    "pat",
    "pw",
    "pwd",
    "session",
    "sid",
    "sig",
    "signature",
];
/// Any name with a word that ends in one of these: `requirepass`, `masterauth`.
const ENDS: &[&str] = &["auth", "pass", "pwd"];
/// Words of headers that mean something else alone in the names of options and variables, which
/// have keys of other kinds: files, columns.
const IN_HEADERS: &[&str] = &["authentication", "key", "keys"];
/// Names of keys that are no secrets, as one word, without a plural.
const OPEN_KEYS: &[&str] = &[
    "cachekey",
    "certkey",
    "fleetkey",
    "foreignkey",
    "groupkey",
    "hostkey",
    "idempotencykey",
    "partitionkey",
    "primarykey",
    "publickey",
    "shardkey",
    "sortkey",
    "sslkey",
    "surrogatekey",
    "tlskey",
    "websocketkey",
];
/// Programs that take a password behind a letter, by the start of their names, and these letters.
const LETTERS: &[(&str, &str)] = &[
    ("cqlsh", "p"),
    ("keydb-cli", "a"),
    ("ldap", "w"),
    ("mariadb", "p"),
    ("mongo", "p"),
    ("mysql", "p"),
    ("psql", "p"),
    ("rabbitmqadmin", "p"),
    ("redis-cli", "ap"),
    ("sshpass", "p"),
    ("valkey-cli", "ap"),
];
/// Parameters of a query whose names mean something else as the name of an option.
const IN_QUERIES: &[&str] = &["code", "hmac", "key", "otp", "pin", "sign"];
/// Names with these endings are about a secret, for example its place, and their values are not
/// secrets.
const ABOUT: &[&str] =
    &["dir", "file", "folder", "header", "length", "path", "ttl", "type", "uri", "url"];
/// A shorter secret is not searched for in our messages: any text may contain it.
const SOUGHT_MIN_BYTES: usize = 4;

/// Whether an option, a variable or a parameter of this name has a secret for a value.
pub fn is_secret(name: &str) -> bool {
    let words = words_of(name);
    if words.last().is_some_and(|last| ABOUT.contains(&last.as_str())) {
        return false;
    }
    let whole = words.concat();
    let is_word = |word: &String| {
        WORDS.contains(&word.as_str()) || ENDS.iter().any(|end| word.ends_with(end))
    };
    WITHIN.iter().any(|part| whole.contains(part))
        || words.iter().any(is_word)
        || (words.len() > 1 && is_key(&words))
}

/// Whether it is the name of a key that is a secret.
fn is_key(words: &[String]) -> bool {
    let whole = words.concat();
    let is_open = OPEN_KEYS.iter().any(|open| whole.trim_end_matches('s').ends_with(open));
    words.last().is_some_and(|last| last == "key" || last == "keys") && !is_open
}

/// Whether a header of this name has a secret for a value.
pub fn is_secret_header(name: &str) -> bool {
    let words = words_of(name);
    let is_about = words.last().is_some_and(|last| ABOUT.contains(&last.as_str()));
    let is_open = OPEN_KEYS.iter().any(|open| words.concat().ends_with(open));
    let has_key = words.iter().any(|word| IN_HEADERS.contains(&word.as_str()));
    is_secret(name) || (has_key && !is_about && !is_open)
}

/// The words of a name in lower case: `xApi-Key_2` is x, api, key, 2.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in name.chars() {
        if !letter.is_ascii_alphanumeric() || (was_small && letter.is_ascii_uppercase()) {
            words.push(String::new());
        }
        was_small = letter.is_ascii_lowercase();
        if letter.is_ascii_alphanumeric() {
            words.last_mut().expect("there is one").push(letter.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The text without passwords of URLs, values of secret parameters, variables and headers.
pub fn text(text: &str) -> String {
    masked(text, apart([in_text(text), without_scheme(text)].concat()))
}

/// A command line of any program without its secrets.
pub fn words(words: &[String]) -> Vec<String> {
    Secrets::default().words(words, Program::Any)
}

/// The text without any of these pieces.
pub fn without(text: &str, pieces: &[String]) -> String {
    pieces.iter().fold(text.to_string(), |text, piece| text.replace(piece.as_str(), MASK))
}

/// Names of headers whose values are secrets, beside those that always are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    headers: Vec<String>,
}

/// Whose command line it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Program {
    /// Ceiling's: its options are known.
    Ceiling,
    /// Another program's: only the names of options are known.
    Any,
}

impl Secrets {
    /// Those that a command line of ceiling lists with `--secret-header`.
    pub fn listed(words: &[String]) -> Self {
        const OPTION: &str = "--secret-header";
        let mut headers = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let behind = word.strip_prefix(OPTION);
            match behind {
                Some("") => headers.extend(words.get(at + 1).cloned()),
                Some(rest) => headers.extend(rest.strip_prefix('=').map(str::to_string)),
                None => {}
            }
        }
        Self { headers: headers.iter().map(|name| name.trim().to_ascii_lowercase()).collect() }
    }

    /// A word with a mask in place of a secret: it was copied from a record.
    pub fn missing(words: &[String]) -> Option<&String> {
        let found = Self::listed(words).in_words(words, Program::Ceiling);
        let is_mask = |word: &str, ranges: Vec<Range<usize>>| {
            ranges.into_iter().any(|range| &word[range] == MASK)
        };
        words
            .iter()
            .zip(found)
            .find(|(word, ranges)| is_mask(word, ranges.clone()))
            .map(|(word, _)| word)
    }

    fn is_header(&self, name: &str) -> bool {
        let (name, small) = (name.trim(), name.trim().to_ascii_lowercase());
        // Capitals may begin a word or not: a mask may hide too much.
        self.headers.contains(&small) || is_secret_header(name) || is_secret_header(&small)
    }

    /// A command line of ceiling without its secrets, including those of the body.
    pub fn command(words: &[String]) -> Vec<String> {
        Self::listed(words).words(words, Program::Ceiling)
    }

    /// The secrets of a command line of ceiling, to remove them from messages about it.
    pub fn of_command(words: &[String]) -> Vec<String> {
        let found = Self::listed(words).in_words(words, Program::Ceiling);
        let pieces = words.iter().zip(found);
        let mut pieces: Vec<String> = pieces
            .flat_map(|(word, ranges)| ranges.into_iter().map(|range| word[range].to_string()))
            .collect();
        // Parts are masked alone as well: the last word of `Bearer abc`, the value of `id=abc`.
        let parts: Vec<String> = pieces
            .iter()
            .flat_map(|piece| [piece.rsplit_once(' '), piece.split_once('=')])
            .flatten()
            .map(|(_, part)| part.to_string())
            .collect();
        pieces.extend(parts);
        pieces.retain(|piece| piece.len() >= SOUGHT_MIN_BYTES);
        // The longest first, so that no part of one is left.
        pieces.order_by_key(|piece| std::cmp::Reverse(piece.len()));
        pieces
    }

    fn words(&self, words: &[String], program: Program) -> Vec<String> {
        let found = self.in_words(words, program);
        words.iter().zip(found).map(|(word, ranges)| masked(word, ranges)).collect()
    }

    /// Where secrets are in each word.
    fn in_words(&self, words: &[String], program: Program) -> Vec<Vec<Range<usize>>> {
        let mut next = None;
        let mut found = Vec::new();
        let mut letters = "";
        for word in words {
            if let Some(value) = next.take().filter(|_| !word.starts_with("--")) {
                found.push(self.in_value(word, 0, value));
                // Typed without quotes, its value is a word of its own.
                let name = word.strip_suffix(':').filter(|_| value == Value::Header);
                next = name.filter(|name| self.is_header(name)).map(|_| Value::Secret);
                continue;
            }
            if program == Program::Any {
                letters = letters_of(word).unwrap_or(letters);
            }
            let (at, value) = behind_letter(word, letters).unwrap_or_else(|| option(word, program));
            match at {
                Some(at) if value != Value::Plain || program == Program::Ceiling => {
                    found.push(self.in_value(word, at, value));
                }
                _ => {
                    next = (value != Value::Plain).then_some(value);
                    found.push(self.in_word(word, program));
                }
            }
        }
        found
    }

    /// Where secrets are in a word that is no option with a value: it may be a URL without a
    /// scheme or, as for `sh -c`, a command line.
    fn in_word(&self, word: &str, program: Program) -> Vec<Range<usize>> {
        let mut found = [in_text(word), without_scheme(word)].concat();
        if program == Program::Any && word.contains(' ') {
            let parts: Vec<String> = word.split(' ').map(str::to_string).collect();
            let mut begin = 0;
            for (part, ranges) in parts.iter().zip(self.in_words(&parts, program)) {
                found.extend(ranges.iter().map(|range| range.start + begin..range.end + begin));
                begin += part.len() + 1;
            }
        }
        apart(found)
    }

    /// Where secrets are in a value that starts at a position of a word.
    fn in_value(&self, word: &str, at: usize, value: Value) -> Vec<Range<usize>> {
        let text = &word[at..];
        let behind_colon = text.find(':').map(|colon| colon + 1);
        let ranges = match (value, behind_colon) {
            (Value::Flag | Value::Plain, _) => return in_text(word),
            (Value::Open, _) => return Vec::new(),
            (Value::User, Some(begin)) => one(begin..text.len()),
            (Value::User, None) => return in_text(word),
            (Value::Address, _) => apart([in_text(text), without_scheme(text)].concat()),
            (Value::Header, Some(begin)) => {
                let space = text[begin..].len() - text[begin..].trim_start().len();
                match self.is_header(&text[..begin - 1]) {
                    true => one(begin + space..text.len()),
                    false => in_text(text),
                }
            }
            // A header without a colon is a typo.
            (Value::Secret | Value::Header, _) => one(0..text.len()),
        };
        ranges.into_iter().map(|range| range.start + at..range.end + at).collect()
    }
}

fn one(range: Range<usize>) -> Vec<Range<usize>> {
    vec![range]
}

/// Where the value of an option starts in its word, if it is there, and what is known about it.
fn option(word: &str, program: Program) -> (Option<usize>, Value) {
    if let Some(at) = short_value(word, program) {
        let value = match (word.as_bytes()[at - 1], program) {
            (letter, Program::Ceiling) => option::lettered(letter.into()).and_then(known),
            (b'H', Program::Any) => Some(Value::Header),
            (b'u', Program::Any) => Some(Value::User),
            _ => None,
        };
        let value = value.unwrap_or(Value::Plain);
        let is_equal = word[at..].starts_with('=') && program == Program::Ceiling;
        let begin = at + usize::from(is_equal);
        return ((begin < word.len()).then_some(begin), value);
    }
    let (name, at) = match word.split_once('=') {
        Some((name, _)) => (name, Some(name.len() + 1)),
        None => (word, None),
    };
    let is_option = name.starts_with('-') || at.is_some();
    let is_name =
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:[]".contains(&byte));
    let value = match name.trim_start_matches('-') {
        _ if !is_option || !is_name => Value::Plain,
        "header" => Value::Header,
        "user" | "proxy-user" if program == Program::Any => Value::User,
        name => match option::named(name).filter(|_| program == Program::Ceiling).and_then(known) {
            Some(value) => value,
            None if is_secret(name) => Value::Secret,
            None if program == Program::Any && at.is_some() => Value::Address,
            None => Value::Plain,
        },
    };
    (at, value)
}

/// What the facts of an option of ours say about its value; nothing where its name has to tell.
fn known(facts: Facts) -> Option<Value> {
    Some(facts.value).filter(|value| !matches!(value, Value::Flag | Value::Plain))
}

/// Whether a letter of our command line may precede another one in its word: `-kH'A: b'`.
fn is_flag(letter: u8) -> bool {
    let facts = option::lettered(letter.into());
    b"hV".contains(&letter) || facts.is_some_and(|facts| facts.value == Value::Flag)
}

/// The letters of a program behind which passwords are, if the word names such a program.
fn letters_of(word: &str) -> Option<&'static str> {
    let name = word.rsplit('/').next().unwrap_or_default();
    LETTERS.iter().find(|(program, _)| name.starts_with(program)).map(|(_, letters)| *letters)
}

/// The password behind one of these letters, in this word or in the next.
fn behind_letter(word: &str, letters: &str) -> Option<(Option<usize>, Value)> {
    let letter = word.strip_prefix('-')?.chars().next()?;
    letters.contains(letter).then(|| ((word.len() > 2).then_some(2), Value::Secret))
}

/// The position after the letter of a short option that takes a value.
fn short_value(word: &str, program: Program) -> Option<usize> {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    match program {
        Program::Ceiling => {
            let flags = letters.bytes().take_while(|byte| is_flag(*byte)).count();
            let letter = letters.as_bytes().get(flags)?;
            letter.is_ascii_alphabetic().then_some(flags + 2)
        }
        // The options of other programs are not known: only those of curl are looked for.
        Program::Any => match letters.as_bytes() {
            [b'H' | b'u'] => Some(2),
            [b'H', rest @ ..] if rest.contains(&b':') => Some(2),
            _ => None,
        },
    }
}

/// The text with a mask for each range; they are in order and do not overlap.
fn masked(text: &str, ranges: Vec<Range<usize>>) -> String {
    let (mut out, mut done) = (String::new(), 0);
    for range in ranges {
        out.push_str(&text[done..range.start]);
        out.push_str(MASK);
        done = range.end;
    }
    out.push_str(&text[done..]);
    out
}

/// Where secrets are in a text.
fn in_text(text: &str) -> Vec<Range<usize>> {
    let authorities = authorities(text);
    let mut found: Vec<_> = authorities.iter().filter_map(|one| in_authority(text, one)).collect();
    found.extend(behind_names(text, &authorities));
    found.extend(behind_schemes(text));
    apart(found)
}

/// Ranges in order, without overlaps.
fn apart(mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    found.order_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let mut apart: Vec<Range<usize>> = Vec::new();
    for range in found.into_iter().filter(|range| !range.is_empty()) {
        match apart.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => apart.push(range),
        }
    }
    apart
}

/// Where the authorities of URLs are: user, host and port. A password that contains a slash is
/// invalid by the standard, and is accepted as one.
fn authorities(text: &str) -> Vec<Range<usize>> {
    let ends = |rest: &str, ends: &[char]| rest.find(ends).unwrap_or(rest.len());
    let of = |(at, _): (usize, &str)| {
        let begin = at + 3;
        let rest = &text[begin..];
        let plain = ends(rest, &['/', '?', '#', ' ', '"', '\n', '\t']);
        let word = &rest[..ends(rest, &[' ', '"', '\n', '\t'])];
        let word = word.split("://").next().unwrap_or_default();
        let (_, port) = rest[..plain].split_once(':').unwrap_or(("", "0"));
        let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
        let is_ours = rest[..plain].contains('@') || rest.starts_with('[') || is_port;
        match word.rfind('@').filter(|_| !is_ours) {
            Some(sign) => begin..begin + sign + 1 + ends(&word[sign + 1..], &['/', '?', '#']),
            None => begin..begin + plain,
        }
    };
    text.match_indices("://").map(of).collect()
}

/// Passwords of `NAME:PASSWORD@` where no scheme precedes: what curl takes for a proxy, and Go's
/// MySQL for a database. A name begins with a letter, unlike a rate.
fn without_scheme(text: &str) -> Vec<Range<usize>> {
    let is_end = |letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'');
    let is_name = |letter: char| letter.is_alphanumeric() || "_-.+%$\\".contains(letter);
    let mut found = Vec::new();
    let mut begin = 0;
    for word in text.split(is_end) {
        // The name stands at the start, or behind the sign of an option or of a list.
        let colons = word.match_indices(':').map(|(at, _)| at);
        let at_name = colons.filter(|at| {
            let start = word[..*at].trim_end_matches(is_name).len();
            let is_first = word[..start].is_empty() || word[..start].ends_with(['=', ',', '(']);
            is_first && word[start..*at].starts_with(char::is_alphabetic)
        });
        let password = at_name.map(|at| at + 1).find_map(|start| {
            let rest = &word[start..];
            let end = rest.rfind('@').filter(|end| *end > 0 && !rest.starts_with("//"))?;
            Some(begin + start..begin + start + end)
        });
        found.extend(password);
        begin += word.len() + text[begin + word.len()..].chars().next().map_or(0, char::len_utf8);
    }
    found
}

/// The password of an authority. In a URL of HTTP or WebSocket a user without one is a token.
fn in_authority(text: &str, authority: &Range<usize>) -> Option<Range<usize>> {
    let (user, _) = text[authority.clone()].rsplit_once('@')?;
    let begin = authority.start;
    let end = begin + user.len();
    let scheme = text[..begin - 3].to_ascii_lowercase();
    let is_web = ["http", "https", "ws", "wss"].iter().any(|web| scheme.ends_with(web));
    match user.split_once(':') {
        Some((_, "" | "x-oauth-basic")) => Some(begin..end),
        Some((name, _)) => Some(begin + name.len() + 1..end),
        None => is_web.then_some(begin..end),
    }
}

/// Values after secret names: `token=..` anywhere, `key=..` in queries, `password: ..` to the end
/// of the line.
fn behind_names(text: &str, authorities: &[Range<usize>]) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.[]%$".contains(&byte);
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        if !is_name(bytes[at]) {
            at += 1;
            continue;
        }
        let begin = at;
        while at < bytes.len() && is_name(bytes[at]) {
            at += 1;
        }
        let name = decoded(&text[begin..at]);
        let is_parameter = begin > 0 && b"?&;".contains(&bytes[begin - 1]);
        let last = words_of(&name).pop().unwrap_or_default();
        let is_one = is_secret(&name) || (is_parameter && IN_QUERIES.contains(&last.as_str()));
        if !is_one || authorities.iter().any(|of| of.contains(&begin)) {
            continue;
        }
        let value = value_behind(text, begin, at);
        at = value.as_ref().map_or(at, |value| value.end);
        found.extend(value);
    }
    found
}

/// A name with `%5F` and the like read, also where that was done twice.
fn decoded(name: &str) -> String {
    let mut name = name.to_string();
    let mut from = 0;
    while let Some(at) = name[from..].find('%').map(|at| at + from) {
        let digits = name.get(at + 1..at + 3);
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            // What is read may begin another one.
            Some(byte) if byte.is_ascii() => {
                name.replace_range(at..at + 3, char::from(byte).encode_utf8(&mut [0; 4]));
                from = at + usize::from(byte != b'%');
            }
            _ => from = at + 1,
        }
    }
    name
}

/// The value after a name, when one is assigned to it.
fn value_behind(text: &str, name: usize, mut at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    while matches!(byte(at), b'"' | b'\'' | b'\\') {
        at += 1;
    }
    while byte(at) == b' ' && matches!(byte(at + 1), b' ' | b':' | b'=') {
        at += 1;
    }
    let sign = byte(at);
    if !matches!(sign, b'=' | b':') || text[at..].starts_with("://") {
        return None;
    }
    at += 1;
    while byte(at) == b' ' {
        at += 1;
    }
    if byte(at) == b'\\' && matches!(byte(at + 1), b'"' | b'\'') {
        at += 1;
    }
    if matches!(byte(at), b'"' | b'\'') {
        return Some(at + 1..closing(bytes, at));
    }
    let before = &text[..name];
    let is_query = before.contains('?');
    let is_end = |byte: u8| match byte {
        b'\n' => true,
        b'"' | b'\'' => before.as_bytes().contains(&byte),
        b'&' => is_query,
        b' ' | b'\t' => sign == b'=',
        _ => false,
    };
    let length = bytes[at..].iter().position(|byte| is_end(*byte));
    Some(at..length.map_or(bytes.len(), |length| at + length))
}

/// Where the quote that opens here is closed; one after a backslash is closed by another such.
fn closing(bytes: &[u8], open: usize) -> usize {
    let is_escaped = open > 0 && bytes[open - 1] == b'\\';
    let mut at = open + 1;
    while at < bytes.len() {
        let is_quote = |at: usize| bytes.get(at) == Some(&bytes[open]);
        match bytes[at] {
            b'\\' if is_escaped && is_quote(at + 1) => return at,
            b'\\' => at += 2,
            _ if is_quote(at) && !is_escaped => return at,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// What follows the name of a scheme of HTTP: `Bearer ..`, `Basic ..`.
fn behind_schemes(text: &str) -> Vec<Range<usize>> {
    let small = text.to_ascii_lowercase();
    let of = |scheme: &'static str| {
        small.match_indices(scheme).filter_map(|(at, _)| {
            let begin = at + scheme.len();
            let is_word = at == 0 || !small.as_bytes()[at - 1].is_ascii_alphanumeric();
            let rest = &small[begin..];
            let length = rest.find([' ', '"', '\'', '\n']).unwrap_or(rest.len());
            is_word.then_some(begin..begin + length)
        })
    };
    of("bearer ").chain(of("basic ")).collect()
}

#[cfg(test)]
mod tests;
