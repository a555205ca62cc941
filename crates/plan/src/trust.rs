//! What a plan asks for that is more than load on a server that the list of targets names.
//!
//! Such a plan is code of whoever wrote it: it can start programs by the environment, send files
//! elsewhere, or change the server. So it is carried out only when the user says so.

use crate::cells::{Cell, Server};

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
