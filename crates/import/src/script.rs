//! Scripts of request files and collections. They are not run: what they set to a value of the
//! response becomes a capture, and the text of a script a comment.

use crate::draft::{Capture, Step, variable};
use crate::write::{jsonpath, quoted};
use model::flow::Key;

/// Lines of a script that a comment has at most.
const LINES_MAX: usize = 20;
/// What stands for the body as JSON.
const BODIES: [&str; 5] = [
    "pm.response.json()",
    "JSON.parse(responseBody)",
    "response.body",
    "res.body",
    "res.getBody()",
];
/// What stands for the value of a header, up to its name.
const HEADERS: [&str; 5] = [
    "response.headers.valueOf(",
    "response.headers.valuesOf(",
    "pm.response.headers.get(",
    "postman.getResponseHeader(",
    "res.getHeader(",
];
/// What is in front of the status that a script expects.
const STATUSES: [&str; 6] = [
    "to.have.status(",
    "response.code).to.eql(",
    "response.code).to.equal(",
    "responseCode.code === ",
    "response.status === ",
    "response.status == ",
];

/// Adds what a script does after the response of a step.
pub fn after(step: &mut Step, script: &str) {
    for capture in captures(script) {
        if !step.captures.iter().any(|known| known.name == capture.name) {
            step.captures.push(capture);
        }
    }
    step.status = step.status.or_else(|| status(script));
    note(step, "Script after the response, of which captures and the status are kept", script);
}

/// Adds a script as a comment.
pub fn note(step: &mut Step, title: &str, script: &str) {
    let lines: Vec<&str> = script.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        return;
    }
    let mut text = format!("{title}:");
    for line in lines.iter().take(LINES_MAX) {
        text += &format!("\n  {}", line.trim_end());
    }
    if lines.len() > LINES_MAX {
        text += &format!("\n  and {} lines more", lines.len() - LINES_MAX);
    }
    step.notes.push(text);
}

/// What a script sets to values of the response.
pub fn captures(script: &str) -> Vec<Capture> {
    let names = assigned(script);
    let mut captures = Vec::new();
    for (at, _) in script.match_indices(".set(") {
        let capture = quoted_name(&script[at + 5..]).and_then(|(name, rest)| {
            let expression = rest.trim_start().strip_prefix(',')?;
            let end = expression.find([';', '\n']).unwrap_or(expression.len());
            let expression = expression[..end].trim().strip_suffix(')')?;
            let query = query(expression, &names)?;
            Some(Capture { name: variable(name), query })
        });
        captures.extend(capture);
    }
    captures
}

/// A text in quotes at the beginning, and what follows.
fn quoted_name(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|quote| "'\"`".contains(*quote))?;
    text[1..].split_once(quote)
}

/// Names that a script gives to expressions: `var data = pm.response.json();`.
fn assigned(script: &str) -> Vec<(&str, &str)> {
    let lines = script.split([';', '\n']).filter_map(|line| {
        let line = line.trim();
        let rest = ["var ", "let ", "const "].iter().find_map(|word| line.strip_prefix(word));
        let (name, expression) = rest?.split_once('=')?;
        Some((name.trim(), expression.trim()))
    });
    lines.collect()
}

/// The query of an expression.
fn query(expression: &str, names: &[(&str, &str)]) -> Option<String> {
    let whole = whole(expression, names, 0)?;
    let header = HEADERS.iter().find_map(|begin| whole.strip_prefix(begin));
    if let Some((name, _)) = header.and_then(quoted_name) {
        return Some(format!("header {}", quoted(name)));
    }
    let path = BODIES.iter().find_map(|begin| whole.strip_prefix(begin))?;
    jsonpath(&keys(path)?)
}

/// The expression with the names of a script filled in.
fn whole(expression: &str, names: &[(&str, &str)], depth: usize) -> Option<String> {
    let expression = expression.split("||").next().unwrap_or_default().trim();
    if BODIES.iter().chain(&HEADERS).any(|begin| expression.starts_with(begin)) {
        return Some(expression.to_string());
    }
    let end = expression.find(['.', '[']).unwrap_or(expression.len());
    let (name, path) = expression.split_at(end);
    let (_, inside) = names.iter().find(|(given, _)| *given == name)?;
    (depth < 4).then(|| whole(inside, names, depth + 1)).flatten().map(|inside| inside + path)
}

/// Names and places: `.data.items[0]["id"]`.
fn keys(path: &str) -> Option<Vec<Key>> {
    let mut keys = Vec::new();
    let mut rest = path.trim();
    while !rest.is_empty() {
        if let Some(name) = rest.strip_prefix("?.").or(rest.strip_prefix('.')) {
            let end = name.find(['.', '[', '?']).unwrap_or(name.len());
            let is_word = |letter: char| letter.is_alphanumeric() || "_$".contains(letter);
            if end == 0 || !name[..end].chars().all(is_word) {
                return None;
            }
            keys.push(Key::Name(name[..end].to_string()));
            rest = &name[end..];
            continue;
        }
        let (inside, after) = rest.strip_prefix('[')?.split_once(']')?;
        keys.push(match quoted_name(inside) {
            Some((name, _)) => Key::Name(name.to_string()),
            None => Key::Nth(inside.trim().parse().ok()?),
        });
        rest = after;
    }
    Some(keys)
}

/// The status that a script expects.
fn status(script: &str) -> Option<u16> {
    let after = STATUSES.iter().find_map(|begin| Some(script.split_once(begin)?.1))?;
    let digits = after.get(..3)?;
    digits.parse().ok().filter(|status| (100..600).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_to_a_value_of_the_response_is_captured() {
        for (script, is) in [
            ("client.global.set(\"a\", response.body.token);", "a: jsonpath \"$.token\""),
            (
                "const d = pm.response.json();\nif (d) {\n pm.environment.set('a b', d.x[0]['y']);",
                "a_b: jsonpath \"$.x[0].y\"",
            ),
            (
                "var r = JSON.parse(responseBody); var u = r.user || {}; pm.globals.set('t', u.t);",
                "t: jsonpath \"$.user.t\"",
            ),
            (
                "client.global.set('t', response.headers.valuesOf(\"Token\")[0]);",
                "t: header \"Token\"",
            ),
        ] {
            let captures = captures(script);
            let shown: Vec<String> =
                captures.iter().map(|one| format!("{}: {}", one.name, one.query)).collect();
            assert_eq!(shown, [is], "{script}");
        }
        for script in ["x.set(\"a\", 1)", "x.set(a, response.body.b)", "a.set('b', c(d.e))", ""] {
            assert!(captures(script).is_empty(), "{script}");
        }
        assert_eq!(status("pm.response.to.have.status(201);"), Some(201));
        assert_eq!(status("pm.response.to.have.status(\"OK\");"), None);
    }
}
