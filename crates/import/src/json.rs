//! JSON as a source wrote it, with its values to be looked at and replaced.

use crate::draft::{Braces, Piece, Text};
use model::flow::Escape;
use serde::de::IgnoredAny;

/// JSON, in pieces that together are its text.
#[derive(Debug)]
pub struct Json(Vec<Part>);

#[derive(Debug)]
enum Part {
    /// Brackets, names, commas and spaces.
    Raw(String),
    /// A text or another value without members.
    Value(Value),
}

#[derive(Debug)]
struct Value {
    /// Of the member that it is, or of the list that it is in.
    name: String,
    raw: String,
    text: Text,
    is_string: bool,
}

/// A longer text is no body of a flow.
const TEXT_MAX: usize = flow::FILE_MAX;

impl Json {
    /// Reads a text; none if it is no JSON, or too long to be looked at.
    pub fn read(text: &str, braces: Braces) -> Option<Self> {
        let text = text.trim();
        if text.len() > TEXT_MAX {
            return None;
        }
        let parts = parts(text, braces)?;
        // With holes filled, it must be JSON.
        let filled = parts.iter().map(|part| match part {
            Part::Value(value) if !value.is_string && value.text.has_hole() => "0",
            Part::Raw(raw) | Part::Value(Value { raw, .. }) => raw,
        });
        let filled: String = filled.collect();
        serde_json::from_str::<IgnoredAny>(&filled).ok()?;
        Some(Self(parts))
    }

    /// Calls for each text and number with the name of its member.
    pub fn for_each_value(&mut self, each: &mut dyn FnMut(&str, &mut Text)) {
        for part in &mut self.0 {
            if let Part::Value(value) = part {
                each(&value.name, &mut value.text);
            }
        }
    }

    /// Whether a value has a hole.
    pub fn has_hole(&self) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Value(value) if value.text.has_hole()))
    }

    /// The text of a flow. Where it has holes, two braces that are none are escaped.
    pub fn written(&self) -> String {
        let has_hole = self.has_hole();
        let parts = self.0.iter().map(|part| match part {
            Part::Raw(raw) => raw.clone(),
            Part::Value(value) if value.text.has_hole() => value.written(),
            Part::Value(value) if has_hole => value.raw.replace("{{", "{\\u007b"),
            Part::Value(value) => value.raw.clone(),
        });
        parts.collect()
    }
}

/// The body of a query of GraphQL; without variables it has none.
pub fn graphql(query: &str, variables: &str) -> String {
    let query = serde_json::Value::from(query);
    let variables = if variables.trim().is_empty() { "{}" } else { variables };
    format!("{{\"query\": {query}, \"variables\": {variables}}}")
}

impl Value {
    fn written(&self) -> String {
        let mut written = String::new();
        for piece in &self.text.0 {
            match piece {
                Piece::Plain(text) => {
                    let mut bytes = Vec::new();
                    Escape::Json.put(text.as_bytes(), &mut bytes);
                    let escaped = String::from_utf8_lossy(&bytes);
                    written += &match escaped.contains("{{") || escaped.ends_with('{') {
                        true => escaped.replace('{', "\\u007b"),
                        false => escaped.into_owned(),
                    };
                }
                Piece::Hole(name) => written += &format!("{{{{{name}}}}}"),
            }
        }
        if self.is_string { format!("\"{written}\"") } else { written }
    }
}

/// The pieces of a text; none if it has no brackets that match or a string has no end.
fn parts(text: &str, braces: Braces) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut raw = String::new();
    let (mut name, mut outer) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' => string_end(rest)?,
            '{' if braces == Braces::Hole && rest.starts_with("{{") => rest.find("}}")? + 2,
            '{' | '[' => {
                outer.push(name.clone());
                1
            }
            '}' | ']' => {
                name = outer.pop()?;
                1
            }
            _ if first.is_whitespace() || ",:".contains(first) => first.len_utf8(),
            _ => rest.find([',', '}', ']', ' ', '\n', '\r', '\t']).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(end);
        rest = after;
        let is_string = first == '"';
        let plain = if is_string { string(token, braces) } else { Some(token.to_string()) };
        let is_name = is_string && after.trim_start().starts_with(':');
        if is_name {
            name = plain.clone()?;
        }
        if is_name || token.len() == 1 && "{}[],: \n\r\t".contains(first) {
            raw += token;
            continue;
        }
        parts.push(Part::Raw(std::mem::take(&mut raw)));
        let text = Text::read(&plain?, braces);
        parts.push(Part::Value(Value {
            name: name.clone(),
            raw: token.to_string(),
            text,
            is_string,
        }));
    }
    parts.push(Part::Raw(raw));
    outer.is_empty().then_some(parts)
}

fn string_end(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    let end = text[1..].find(|letter| {
        let is_end = letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        is_end
    });
    Some(end? + 2)
}

/// The text of a string.
fn string(token: &str, braces: Braces) -> Option<String> {
    let read = serde_json::from_str(token).ok();
    // A source with holes may have quotes in their names.
    read.or_else(|| (braces == Braces::Hole).then(|| token[1..token.len() - 1].to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_names_and_are_replaced_where_they_stand() {
        let text = "{ \"a\": [\"x\", {\"b c\": 1.5}],\n \"d\": \"{{e}} {{\", \"f\": \"\\u00e9\"}";
        let mut json = Json::read(text, Braces::Plain).unwrap();
        assert_eq!(json.written(), text, "without a hole, every byte stays");
        let mut seen = Vec::new();
        json.for_each_value(&mut |name, value| {
            seen.push(format!("{name}={}", value.as_plain().unwrap()));
            if name == "f" {
                *value = Text::hole("g");
            }
        });
        assert_eq!(seen, ["a=x", "b c=1.5", "d={{e}} {{", "f=é"]);
        let end = "\"d\": \"{\\u007be}} {\\u007b\", \"f\": \"{{g}}\"}";
        assert!(json.written().ends_with(end), "{}", json.written());
    }

    #[test]
    fn holes_of_a_source_may_stand_for_any_value() {
        let text = "{\"a\": {{b}}, \"c\": \"x {{d}}\"}";
        assert_eq!(Json::read(text, Braces::Hole).unwrap().written(), text);
        for text in ["{\"a\": {{b}}", "{\"a\" {{b}}}", "a", "[1,]", "\"a", "// no\n{}", "]["] {
            assert!(Json::read(text, Braces::Hole).is_none(), "{text}");
        }
        assert!(Json::read("{\"a\": {{b}}}", Braces::Plain).is_none());
        let long = format!("[\"{}\"]", "x".repeat(TEXT_MAX));
        assert!(Json::read(&long, Braces::Plain).is_none(), "no flow can have it");
    }
}
