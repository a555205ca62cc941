//! Captures and asserts: what is looked for in a response, and what must hold.

use crate::names::Names;
use crate::path;
use crate::text::{self, is_over};
use model::flow::{Comparison, Escape, Filter, Found, Key, Kind, Operand, Query, Test, Text};

/// Queries that a file of Hurl can have and ceiling has not, with the way round.
const REFUSED: &[(&str, &str)] = &[
    (
        "xpath",
        "needs the whole page; take the text by regex \"..(..)..\", or a value of JSON by jsonpath",
    ),
    ("certificate", "is not looked at; ceiling checks certificates before a run (--cacert)"),
    ("md5", "is not computed; use sha256"),
    ("url", "is the same for every request of a step without redirects; leave it out"),
    ("ip", "is the same for all; leave it out"),
    ("redirects", "are steps of their own; leave it out"),
    ("rawbytes", "are not kept; use body or bytes"),
];

/// Filters that a file of Hurl can have, and ceiling has not or not there.
const OTHER_FILTERS: &[&str] = &[
    "base64Decode",
    "base64Encode",
    "base64UrlSafeDecode",
    "base64UrlSafeEncode",
    "dateFormat",
    "daysAfterNow",
    "daysBeforeNow",
    "decode",
    "first",
    "format",
    "htmlEscape",
    "htmlUnescape",
    "jsonpath",
    "last",
    "location",
    "nth",
    "replace",
    "replaceRegex",
    "split",
    "toDate",
    "toHex",
    "urlDecode",
    "urlEncode",
    "urlQueryParam",
    "utf8Decode",
    "utf8Encode",
    "xpath",
];

/// Those that it has.
const FILTERS: &str = "count, nth N, regex \"..(..)..\", toInt, toFloat, toString and jsonpath";

/// The queries of a step, each once.
#[derive(Debug, Default)]
pub struct Queries(pub Vec<Query>);

impl Queries {
    /// Reads a query with its filters; returns what follows.
    pub fn read<'a>(
        &mut self,
        line: &'a str,
        names: &Names<'_>,
    ) -> Result<(Found, &'a str), String> {
        let (mut query, mut filters, mut rest) = query(line.trim_start(), names)?;
        loop {
            let (word, after) = word(rest);
            match (word, &mut query) {
                ("count", _) => filters.push(Filter::Count),
                ("toInt" | "toFloat", _) => filters.push(Filter::Number),
                ("toString", _) => filters.push(Filter::Text),
                ("regex", _) => {
                    let (pattern, after) = pattern(after, names)?;
                    filters.push(Filter::Regex(pattern));
                    rest = after;
                    continue;
                }
                ("first", Query::Json(keys)) if filters.is_empty() => keys.push(Key::Nth(0)),
                ("nth", Query::Json(keys)) if filters.is_empty() => {
                    let (place, after) = self::word(after);
                    let place = place
                        .parse()
                        .map_err(|_| format!("nth {place}: give a place from 0, such as nth 2"))?;
                    keys.push(Key::Nth(place));
                    rest = after;
                    continue;
                }
                ("jsonpath", Query::Body) if filters.is_empty() => {
                    let (path, after) = text::quoted_plain(after.trim_start(), names)?;
                    query = Query::Json(path::parse(&path)?);
                    rest = after;
                    continue;
                }
                _ if OTHER_FILTERS.contains(&word) => {
                    return Err(format!(
                        "filter '{word}' is not possible here; accepted are {FILTERS} of a body"
                    ));
                }
                _ => break,
            }
            rest = after;
        }
        let place = self.0.iter().position(|known| *known == query).unwrap_or_else(|| {
            self.0.push(query);
            self.0.len() - 1
        });
        Ok((Found { query: place as u16, filters }, rest))
    }
}

/// The next word of a line, and what follows it.
pub fn word(line: &str) -> (&str, &str) {
    let line = line.trim_start();
    let end = line.find([' ', '\t', '#']).unwrap_or(line.len());
    line.split_at(end)
}

fn query<'a>(line: &'a str, names: &Names<'_>) -> Result<(Query, Vec<Filter>, &'a str), String> {
    let (name, rest) = word(line);
    let quoted = || {
        let argument = rest.trim_start();
        text::quoted_plain(argument, names).map_err(|why| format!("{name}: {why}"))
    };
    let plain = |query| Ok((query, Vec::new(), rest));
    match name {
        "status" => plain(Query::Status),
        "version" => plain(Query::Version),
        "body" => plain(Query::Body),
        "bytes" => plain(Query::Bytes),
        "sha256" => plain(Query::Sha256),
        "duration" => plain(Query::Duration),
        "header" => {
            let (field, rest) = quoted()?;
            Ok((Query::Header(field.to_ascii_lowercase()), Vec::new(), rest))
        }
        "cookie" => {
            let (cookie, rest) = quoted()?;
            let cookie = match cookie.split_once('[') {
                None => cookie,
                Some((cookie, "Value]")) => cookie.to_string(),
                Some((cookie, attribute)) => {
                    return Err(format!(
                        "cookie \"{cookie}[{attribute}\": only the value of a cookie is kept; for \
                         an attribute use header \"Set-Cookie\" contains \"..\""
                    ));
                }
            };
            Ok((Query::Cookie(cookie), Vec::new(), rest))
        }
        "jsonpath" => {
            let (path, rest) = quoted()?;
            Ok((Query::Json(path::parse(&path)?), Vec::new(), rest))
        }
        "regex" => {
            let (pattern, rest) = pattern(rest, names)?;
            Ok((Query::Body, vec![Filter::Regex(pattern)], rest))
        }
        "variable" => {
            let (variable, rest) = quoted()?;
            let place = names.known(&variable);
            let place =
                place.ok_or_else(|| format!("variable \"{variable}\" has no value here"))?;
            Ok((Query::Variable(place), Vec::new(), rest))
        }
        _ => match REFUSED.iter().find(|(refused, _)| *refused == name) {
            Some((_, way_out)) => Err(format!("'{name}' {way_out}")),
            None => Err(format!(
                "'{name}' is no query; accepted are status, header \"..\", cookie \"..\", jsonpath \
                 \"..\", regex \"..\", body, bytes, sha256, duration, version and variable \"..\""
            )),
        },
    }
}

/// A regular expression in quotes or between slashes, with at most one group.
fn pattern<'a>(line: &'a str, names: &Names<'_>) -> Result<(String, &'a str), String> {
    let (pattern, rest) = expression(line, names)?;
    match groups(&pattern)? {
        1 => Ok((pattern, rest)),
        groups => Err(format!(
            "regex /{pattern}/ has {groups} groups, and the value is that of one; write the others \
             as (?:..)"
        )),
    }
}

fn expression<'a>(line: &'a str, names: &Names<'_>) -> Result<(String, &'a str), String> {
    let line = line.trim_start();
    if let Some(inside) = line.strip_prefix('/') {
        let mut is_escaped = false;
        let end = inside.find(|character| {
            let is_end = character == '/' && !is_escaped;
            is_escaped = character == '\\' && !is_escaped;
            is_end
        });
        let end = end.ok_or("the / of a regular expression is not closed")?;
        return Ok((inside[..end].replace("\\/", "/"), &inside[end + 1..]));
    }
    text::quoted_plain(line, names)
}

/// How many groups a regular expression has.
fn groups(pattern: &str) -> Result<usize, String> {
    let mut parser = regex_syntax::ParserBuilder::new().nest_limit(50).utf8(false).build();
    let parsed = parser.parse(pattern).map_err(|error| {
        let why = error.to_string();
        let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("/{pattern}/ is no regular expression: {why}")
    })?;
    Ok(parsed.properties().explicit_captures_len())
}

/// What a value is tested for, and whether that must not hold; the rest of the line is over.
pub fn test(line: &str, names: &Names<'_>) -> Result<(bool, Test), String> {
    let (first, rest) = word(line);
    let (is_not, name, rest) = match first {
        "not" => {
            let (name, rest) = word(rest);
            (true, name, rest)
        }
        _ => (false, first, rest),
    };
    let (test, rest) = tested(name, rest, names)?;
    match is_over(rest) {
        true => Ok((is_not, test)),
        false => Err(format!("'{}' is more than a test has", rest.trim())),
    }
}

fn tested<'a>(name: &str, rest: &'a str, names: &Names<'_>) -> Result<(Test, &'a str), String> {
    let compare = |comparison| {
        let (value, rest) = operand(rest, names)?;
        Ok((Test::Compare(comparison, value), rest))
    };
    let is = |kind| Ok((Test::Is(kind), rest));
    let quoted = || text::quoted(rest.trim_start(), names, Escape::Raw);
    match name {
        "==" => compare(Comparison::Equal),
        "!=" => compare(Comparison::Unequal),
        ">" => compare(Comparison::Greater),
        ">=" => compare(Comparison::AtLeast),
        "<" => compare(Comparison::Less),
        "<=" => compare(Comparison::AtMost),
        "startsWith" => quoted().map(|(text, rest)| (Test::StartsWith(text), rest)),
        "endsWith" => quoted().map(|(text, rest)| (Test::EndsWith(text), rest)),
        "contains" | "includes" => {
            operand(rest, names).map(|(value, rest)| (Test::Contains(value), rest))
        }
        "matches" => {
            let (pattern, rest) = expression(rest, names)?;
            groups(&pattern)?;
            Ok((Test::Matches(pattern), rest))
        }
        "exists" => Ok((Test::Exists, rest)),
        "isBoolean" => is(Kind::Boolean),
        "isCollection" => is(Kind::Collection),
        "isList" => is(Kind::List),
        "isObject" => is(Kind::Object),
        "isEmpty" => is(Kind::Empty),
        "isFloat" => is(Kind::Float),
        "isInteger" => is(Kind::Integer),
        "isNumber" => is(Kind::Number),
        "isString" => is(Kind::String),
        "isUuid" => is(Kind::Uuid),
        "isIsoDate" | "isDate" => is(Kind::IsoDate),
        "equals" | "equal" => Err("'equals' is no longer written so; write ==".to_string()),
        _ => Err(format!(
            "'{name}' is no test; accepted are == != > >= < <= startsWith endsWith contains \
             matches exists isString isInteger isNumber isFloat isBoolean isList isObject \
             isCollection isEmpty isUuid isIsoDate, each also behind 'not'"
        )),
    }
}

/// A value that another is compared with; returns what follows.
fn operand<'a>(line: &'a str, names: &Names<'_>) -> Result<(Operand, &'a str), String> {
    let line = line.trim_start();
    if line.starts_with("```") {
        return Err("a text of many lines is not compared; use contains, or sha256".to_string());
    }
    if line.starts_with('"') {
        return text::quoted(line, names, Escape::Raw)
            .map(|(text, rest)| (Operand::Text(text), rest));
    }
    if line.starts_with('`') {
        return text::backquoted(line, names).map(|(text, rest)| (Operand::Text(text), rest));
    }
    if line.starts_with("{{") {
        let (text, rest) = text::hole(line, names, Escape::Raw)?;
        return Ok((Operand::Loose(text), rest));
    }
    let (word, rest) = word(line);
    if let Some(digits) = word.strip_prefix("hex,").and_then(|rest| rest.strip_suffix(';')) {
        return Ok((Operand::Text(Text::plain(digits.to_ascii_lowercase())), rest));
    }
    match word {
        "true" | "false" => Ok((Operand::Boolean(word == "true"), rest)),
        "null" => Ok((Operand::Null, rest)),
        _ if is_number(word) => Ok((Operand::Number(word.to_string()), rest)),
        _ => Err(format!(
            "'{word}' is no value; for example \"text\", 7, true, null or {{{{variable}}}}"
        )),
    }
}

/// Whether a word is a number as JSON has them.
fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    digits.starts_with(|first: char| first.is_ascii_digit())
        && word.parse::<f64>().is_ok_and(f64::is_finite)
        && word.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
}
