//! What a plan asks for that is more than load on a server that the list of targets names.
//!
//! Such a plan is code of whoever wrote it: it can start programs by the environment, send files
//! elsewhere, or change the server. So it is carried out only when the user says so.

use crate::cells::{Cell, Server};
use model::secret;
use toml::{Table, Value};

/// Options that say how much load there is, of what shape, and what is made of it. They open no
/// file, name no address, and change nothing. Any other needs trust, those that come later too.
pub const HARMLESS: &[&str] = &[
    "arrivals",
    "budget",
    "check-body",
    "check-length",
    "check-sha256",
    "check-status",
    "coalesce",
    "connections",
    "cpus",
    "depth",
    "driver",
    "duration",
    "events",
    "expand",
    "expect",
    "header",
    "hold",
    "insecure",
    "keep-requests",
    "ktls",
    "latency",
    "likes",
    "max-connections",
    "method",
    "no-color",
    "posts",
    "precision",
    "ramp",
    "ramp-down",
    "ramp-up",
    "rate",
    "repeats",
    "requests",
    "requests-per-conn",
    "secret-header",
    "seed",
    "sine",
    "slo",
    "sni",
    "source",
    "spike",
    "steps",
    "streams",
    "subscribers",
    "threads",
    "timeout",
    "tls-resume",
    "tls-version",
    "trial",
    "visits",
    "warmup",
    "write-path",
    "write-rate",
    "writers",
    "body",
    "devices",
    "strict",
];

/// Why a plan is refused that is not trusted, or nothing: each key, and how to allow it.
pub fn untrusted(cells: &[Cell]) -> Option<String> {
    let mut keys: Vec<String> = Vec::new();
    for key in cells.iter().flat_map(keys_of) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    (!keys.is_empty()).then(|| {
        format!(
            "it sets {}, which can run programs, read files, send load elsewhere or change the \
             server (docs/experiments.md); read the plan as you would read a script, then allow it \
             with --trust; --dry-run shows what it would do",
            keys.join(", ")
        )
    })
}

/// The keys of a cell that need trust.
fn keys_of(cell: &Cell) -> Vec<String> {
    let mut keys = Vec::new();
    match &cell.server {
        Server::Started { env, .. } => {
            keys.extend(env.keys().map(|name| format!("server.env.{name}")));
        }
        Server::Running { .. } => keys.push("server.addr".to_string()),
    }
    for word in &cell.load.options {
        let name = word.trim_start_matches('-').split('=').next().unwrap_or_default();
        // Of the server's own processes, which ceiling finds by itself.
        let is_harmless = HARMLESS.contains(&name) || word == "--profile=auto";
        if !is_harmless {
            keys.push(format!("load.{name}"));
        } else if word.contains("{{csv:") {
            keys.push(format!("load.{name} with {{{{csv:FILE}}}}"));
        }
    }
    if cell.load.url.contains("{{csv:") {
        keys.push("load.url with {{csv:FILE}}".to_string());
    }
    keys
}

/// The text of a plan without its secrets; as it stands when there are none.
pub fn without_secrets(text: &str) -> String {
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

/// The same of one table.
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
            // Of `[[vary]]`: its values are those of another key.
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

/// The value of a key without its secrets, beside those of listed headers.
pub(crate) fn masked(key: &str, text: &str, listed: &[String]) -> String {
    let words = [listed, &[format!("--{key}={text}")]].concat();
    let kept = secret::Secrets::command(&words).pop().unwrap_or_default();
    kept.get(key.len() + 3..).unwrap_or_default().to_string()
}
