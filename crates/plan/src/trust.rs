//! What a plan asks for beyond load on a server that the list of targets names.
//!
//! Such a plan is code of its author: it can start programs through the environment, send files
//! elsewhere, or change the server. So it is carried out only when the user says so.

use crate::cell::{Cell, Server};
use crate::cells::Plan;
use crate::kinds::numbers;
use crate::load::command;
use crate::typed::is_of;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Options that hold more than a number, but only shape load or the reports about it. They open no
/// file, name no address, and change nothing. Numbers need no entry; any other option needs trust,
/// including future ones.
const HARMLESS: &[&str] = &[
    "arrivals",
    "body",
    "check-body",
    "check-length",
    "check-sha256",
    "check-status",
    "driver",
    "events",
    "expect",
    "header",
    "insecure",
    "keep-requests",
    "ktls",
    "latency",
    "likes",
    "link",
    "method",
    "no-color",
    "retry-unprocessed",
    "secret-header",
    "sine",
    "slo",
    "sni",
    "source",
    "strict",
    "tls-resume",
    "tls-version",
    "tool",
    "verbose",
    "write-path",
];

/// Options whose value is a number, with their old names.
static NUMBERS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let (commands, numbers) = (command(), numbers());
    let arguments = commands.get_subcommands().flat_map(clap::Command::get_arguments);
    let (number, other): (Vec<_>, Vec<_>) =
        arguments.partition(|argument| is_of(argument, &numbers));
    let names = |argument: &clap::Arg| {
        let aliases = argument.get_all_aliases().unwrap_or_default();
        aliases.into_iter().chain(argument.get_long()).map(str::to_string).collect::<Vec<_>>()
    };
    let other: BTreeSet<_> = other.into_iter().flat_map(names).collect();
    number.into_iter().flat_map(names).filter(|name| !other.contains(name)).collect()
});

/// Whether a plan may set an option without trust.
pub fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name) || NUMBERS.contains(name)
}

/// Why an untrusted plan is refused, or nothing: each key, and how to allow it.
pub fn untrusted(plan: &Plan) -> Option<String> {
    let mut keys: Vec<String> = Vec::new();
    let of_hosts = plan.used_hosts().flat_map(|host| host.untrusted.clone());
    for key in of_hosts.chain(plan.cells.iter().flat_map(keys_of)) {
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
        // `auto` profiles the server's own processes, which ceiling finds by itself.
        let is_harmless = is_harmless(name) || word == "--profile=auto";
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
