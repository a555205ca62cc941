//! The secrets in a plan: values of headers, passwords in URLs, words of commands.

use model::secret;
use toml::{Table, Value};

/// A mask may make what is around it look like another secret: the passes until nothing does.
const PASSES_MAX: usize = 8;

/// The text of a plan without its secrets; unchanged when there are none.
pub fn without_secrets(text: &str) -> String {
    let mut text = text.to_string();
    for _ in 0..PASSES_MAX {
        let once = masked_once(&text);
        if once == text {
            break;
        }
        text = once;
    }
    text
}

fn masked_once(text: &str) -> String {
    let Ok(mut plan) = text.parse::<Table>() else { return secret::text(text) };
    let before = plan.clone();
    let listed = secret_headers(&plan);
    plan.iter_mut().for_each(|(key, value)| mask(key, value, &listed));
    if plan == before { text.to_string() } else { toml::to_string(&plan).unwrap_or_default() }
}

/// The headers that a plan says are secrets, as words of a command.
fn list(key: &str, value: &Value, listed: &mut Vec<String>) {
    match value {
        Value::String(name) if key == "secret-header" => {
            listed.push(format!("--secret-header={name}"));
        }
        Value::Array(values) => values.iter().for_each(|value| list(key, value, listed)),
        Value::Table(table) => table.iter().for_each(|(key, value)| list(key, value, listed)),
        _ => {}
    }
}

/// The headers that a table of a plan says are secrets, as words of a command.
pub(crate) fn secret_headers(table: &Table) -> Vec<String> {
    let mut listed = Vec::new();
    table.iter().for_each(|(key, value)| list(key, value, &mut listed));
    listed
}

fn mask(key: &str, value: &mut Value, listed: &[String]) {
    match value {
        Value::String(text) => *text = masked(key, text, listed),
        Value::Array(values) => {
            let words: Option<Vec<String>> =
                values.iter().map(|value| value.as_str().map(str::to_string)).collect();
            match words.filter(|_| key == "args") {
                Some(words) => {
                    *values = secret::words(&words).into_iter().map(Value::String).collect();
                }
                None => values.iter_mut().for_each(|value| mask(key, value, listed)),
            }
        }
        Value::Table(table) => {
            // In `[[vary]]` the values are those of another key.
            let varied = table.get("key").and_then(Value::as_str).map(str::to_string);
            let varied = varied.and_then(|key| Some(key.rsplit_once('.')?.1.to_string()));
            for (key, value) in table.iter_mut() {
                match &varied {
                    Some(varied) if key == "values" => mask(varied, value, listed),
                    _ => mask(key, value, listed),
                }
            }
        }
        _ => {}
    }
}

/// The value of a key without its secrets, including those of listed headers.
pub(crate) fn masked(key: &str, text: &str, listed: &[String]) -> String {
    let words = [listed, &[format!("--{key}={text}")]].concat();
    let kept = secret::Secrets::command(&words).pop().unwrap_or_default();
    kept.get(key.len() + 3..).unwrap_or_default().to_string()
}
