//! Target files: JSON lines, or the plain text that vegeta reads.
//!
//! A JSON line is an object with `url` (or a path below the URL of the command line) and, as
//! needed, `method`, `name`, `weight`, `headers` (or `header`; a value is a text or a list of
//! texts), one of `body` (base64), `body_text` and `body_file`, and `check` with `status`,
//! `length`, `body`, `sha256` and `json`. It reads vegeta's JSON as it is. In plain text a
//! target is `METHOD URL`, then its headers and `@FILE` for a body, and ends with an empty line.
//! Lines that start with `#` are skipped in both.

use super::{MixError, ReadFile, Recipe};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use model::check::Checks;
use model::secret;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::fmt;

/// Greatest weight of one target.
pub const WEIGHT_MAX: u32 = 1_000_000;

const EXAMPLE: &str = "{\"url\":\"/read\",\"weight\":3}";

/// Reads a target file. `name` is for errors.
pub fn parse(name: &str, text: &str, read: ReadFile) -> Result<Vec<Recipe>, MixError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().map(str::trim).zip(1..).filter(|(line, _)| !is_comment(line));
    let first = lines.clone().find(|(line, _)| !line.is_empty());
    let Some((first, _)) = first else {
        return Err(MixError(format!("{name} has no targets; for example {EXAMPLE}")));
    };
    let mut recipes = Vec::new();
    if first.starts_with('{') {
        for (line, number) in lines.filter(|(line, _)| !line.is_empty()) {
            let place = format!("{name} line {number}");
            recipes.push(json_line(line, &place, read)?);
        }
        return Ok(recipes);
    }
    let mut is_open = false;
    for (line, number) in &mut lines {
        let place = format!("{name} line {number}");
        if line.is_empty() {
            is_open = false;
        } else if let Some((method, url)) = request_line(line) {
            recipes.push(Recipe {
                method: Some(method.to_string()),
                ..Recipe::new(url.to_string(), place)
            });
            is_open = true;
        } else if let Some(recipe) = recipes.last_mut().filter(|_| is_open) {
            plain_line(recipe, line, &place, read)?;
        } else {
            return Err(not_a_target(&place, line));
        }
    }
    Ok(recipes)
}

fn is_comment(line: &str) -> bool {
    line.starts_with('#')
}

/// `GET http://host/path` taken apart.
fn request_line(line: &str) -> Option<(&str, &str)> {
    let (method, url) = line.split_once(char::is_whitespace)?;
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    is_method.then(|| (method, url.trim()))
}

fn not_a_target(place: &str, line: &str) -> MixError {
    let shown: String = secret::text(line).chars().take(40).collect();
    MixError(format!(
        "{place}: '{shown}' is neither 'METHOD URL' nor a JSON object; for example GET /read or \
         {EXAMPLE}"
    ))
}

/// A header or the body of a target in plain text.
fn plain_line(
    recipe: &mut Recipe,
    line: &str,
    place: &str,
    read: ReadFile,
) -> Result<(), MixError> {
    if let Some(file) = line.strip_prefix('@') {
        let body = read(file.trim()).map_err(|why| MixError(format!("{place}: {why}")))?;
        recipe.body = Some(body);
        return Ok(());
    }
    match line.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            recipe.headers.push((name.trim().to_string(), value.trim().to_string()));
            Ok(())
        }
        _ => Err(MixError(format!(
            "{place}: this is neither a header nor @FILE; for example 'Accept: text/plain'"
        ))),
    }
}

/// A target as it is written in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileLine {
    url: String,
    method: Option<String>,
    name: Option<String>,
    weight: Option<u64>,
    #[serde(default, alias = "header")]
    headers: Headers,
    body: Option<String>,
    body_text: Option<String>,
    body_file: Option<String>,
    #[serde(default)]
    check: Checks,
}

fn json_line(line: &str, place: &str, read: ReadFile) -> Result<Recipe, MixError> {
    let error = |why: String| MixError(format!("{place}: {why}; for example {EXAMPLE}"));
    let line: FileLine =
        serde_json::from_slice(line.as_bytes()).map_err(|why| error(why.to_string()))?;
    let weight = line.weight.unwrap_or(1);
    if !(1..=u64::from(WEIGHT_MAX)).contains(&weight) {
        return Err(error(format!("weight {weight} is not a whole number from 1 to {WEIGHT_MAX}")));
    }
    let body = match (line.body, line.body_text, line.body_file) {
        (None, None, None) => None,
        (Some(packed), None, None) => Some(BASE64_STANDARD.decode(packed).map_err(|why| {
            let hint = "write body_text for text";
            error(format!("body is not base64 ({why}); {hint}"))
        })?),
        (None, Some(text), None) => Some(text.into_bytes()),
        (None, None, Some(file)) => Some(read(&file).map_err(error)?),
        _ => return Err(error("body, body_text and body_file exclude each other".to_string())),
    };
    Ok(Recipe {
        name: line.name,
        weight: weight as u32,
        // vegeta writes an empty method for GET.
        method: line.method.filter(|method| !method.is_empty()),
        headers: line.headers.0,
        body: body.filter(|body| !body.is_empty()),
        checks: line.check,
        ..Recipe::new(line.url, place.to_string())
    })
}

/// Headers in the order they are written; a value may be a list.
#[derive(Debug, Default)]
struct Headers(Vec<(String, String)>);

#[derive(Deserialize)]
#[serde(untagged, expecting = "a value of a header is a text or a list of texts")]
enum RowValues {
    One(String),
    Many(Vec<String>),
}

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Headers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of header names and values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Headers, A::Error> {
                let mut headers = Vec::new();
                while let Some((name, values)) = map.next_entry::<String, RowValues>()? {
                    match values {
                        RowValues::One(value) => headers.push((name, value)),
                        RowValues::Many(values) => {
                            headers.extend(values.into_iter().map(|value| (name.clone(), value)));
                        }
                    }
                }
                Ok(Headers(headers))
            }

            fn visit_unit<E>(self) -> Result<Headers, E> {
                Ok(Headers::default())
            }
        }

        deserializer.deserialize_any(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::template::{Tables, Template};
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Vec<Recipe>, MixError> {
        let mut files = |name: &str| match name {
            "body.bin" => Ok(vec![0, 255]),
            _ => Err(format!("cannot read {name}")),
        };
        parse("mix.txt", text, &mut files)
    }

    #[test]
    fn json_lines_hold_everything_about_a_request() {
        let text = "# two\n{\"url\":\"/a\"}\n\n{\"url\":\"http://h/b\",\"method\":\"PUT\",\
                    \"name\":\"put\",\"weight\":5,\"headers\":{\"Z\":\"1\",\"A\":[\"2\",\"3\"]},\
                    \"body_text\":\"hi\",\"check\":{\"status\":\"201\",\"length\":\"0..10\"}}\n\
                    {\"url\":\"/c\",\"body_file\":\"body.bin\"}";
        let recipes = read(text).unwrap();
        assert_eq!(recipes.len(), 3);
        assert_eq!((recipes[0].url.as_str(), recipes[0].weight), ("/a", 1));
        let put = &recipes[1];
        assert_eq!((put.method.as_deref(), put.name.as_deref()), (Some("PUT"), Some("put")));
        let headers: Vec<_> =
            put.headers.iter().map(|(name, value)| format!("{name}{value}")).collect();
        assert_eq!((headers.join(" "), put.weight), ("Z1 A2 A3".to_string(), 5));
        assert_eq!(put.body.as_deref(), Some(&b"hi"[..]));
        assert!(put.checks.status.as_ref().unwrap().holds(201));
        assert_eq!(recipes[2].body.as_deref(), Some(&[0, 255][..]));
        assert_eq!(recipes[2].place, "mix.txt line 5");
    }

    #[test]
    fn what_vegeta_writes_is_read() {
        let json = "{\"method\":\"POST\",\"url\":\"http://h/\",\"body\":\"AP8=\",\
                    \"header\":{\"X-A\":[\"b\",\"c\"]}}\n{\"method\":\"GET\",\"url\":\"http://h/\"}";
        let recipes = read(json).unwrap();
        assert_eq!(recipes[0].body.as_deref(), Some(&[0, 255][..]));
        assert_eq!(recipes[0].headers.len(), 2);
        assert_eq!(recipes[1].body, None);
        let plain = "GET http://h/a\nX-A: 1\n# comment\nX-B: a:b\n@body.bin\n\
                     DELETE http://h/b\n\n\nPOST http://h/c\n";
        let recipes = read(plain).unwrap();
        let methods: Vec<_> = recipes.iter().map(|one| one.method.clone().unwrap()).collect();
        assert_eq!(methods, ["GET", "DELETE", "POST"]);
        assert_eq!(recipes[0].headers[1], ("X-B".to_string(), "a:b".to_string()));
        assert_eq!(recipes[0].body.as_deref(), Some(&[0, 255][..]));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(
            text in "(GET |POST )?[{}@:/a-c\"\\\\, \n#\u{e9}]{0,60}|\\PC{0,40}",
        ) {
            if let Err(error) = read(&text) {
                prop_assert!(!error.to_string().contains('\n'), "{error}");
            }
            let mut files = |_: &str| Ok(Vec::new());
            let _ = Template::parse(text.as_bytes(), &mut Tables::default(), &mut files);
        }
    }

    #[test]
    fn wrong_lines_are_told_by_number_with_an_example() {
        let cases = [
            ("", "no targets"),
            ("# only\n", "no targets"),
            ("http://h/", "line 1"),
            ("GET http://h/\n\nX-A: b\n", "line 3"),
            ("GET http://h/\nno colon\n", "line 2"),
            ("GET http://h/\n@gone\n", "cannot read gone"),
            ("{\"url\":\"/a\"}\n{\"url\":5}\n", "line 2"),
            ("{\"uri\":\"/a\"}", "unknown field `uri`"),
            ("{\"url\":\"/\",\"weight\":0}", "weight 0"),
            ("{\"url\":\"/\",\"body\":\"{x}\"}", "body_text"),
            ("{\"url\":\"/\",\"body\":\"AA==\",\"body_text\":\"x\"}", "exclude"),
            ("{\"url\":\"/\",\"check\":{\"status\":\"101\"}}", "101"),
            ("{\"url\":\"/\",\"check\":{\"lenght\":\"4\"}}", "lenght"),
        ];
        for (text, words) in cases {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("mix.txt"), "{text}: {error}");
        }
    }
}
