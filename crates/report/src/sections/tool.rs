//! A run whose load another tool made: what it reported, what arithmetic says about that, and the
//! gates that can be checked for it.

use super::audit::of_account;
use super::wall_words::{tone_of, wall_sentence};
use crate::page::{Banner, Block, Column, Fact, Mark, Table};
use crate::wording::{microseconds, ns, or_dash, per_second};
use model::audit::{Figure, Outcome};
use model::run::Run;
use model::shell;
use model::tool::ToolRun;
use model::verdict::Verdict;

/// Its rate and the wall.
pub fn banner(tool: &ToolRun, verdict: &Verdict) -> Banner {
    let [p50, p99] = [0.5, 0.99].map(|share| time(tool, share));
    let rate = or_dash(tool.rate, per_second);
    let text = format!("{rate}, p50 {p50}, p99 {p99}, as {} reports", tool.generator.name());
    let lines = vec![wall_sentence(verdict)];
    Banner { tone: tone_of(verdict), text, lines }
}

/// A percentile as the tool reported it, marked when it cannot be right.
fn time(tool: &ToolRun, share: f64) -> String {
    let reported = ns(tool.percentile_ns(share).map(|ns| ns as u64));
    let name = if share == 0.5 { "p50" } else { "p99" };
    match tool.refuted(name) {
        Some(_) => format!("{reported} (cannot be)"),
        None => reported,
    }
}

/// The tool that made the load, and its cost.
pub fn facts(tool: &ToolRun) -> Vec<Fact> {
    let cpus = |of: Option<f64>| or_dash(of, |cpus| format!("{cpus:.2}"));
    let version = tool.account.foreign.version.as_ref();
    let version = version.map_or(String::new(), |version| format!(", {version}"));
    vec![
        Fact::new("Generator", format!("{}{version}", tool.generator.name())),
        Fact::new("Command", shell::line(&tool.command)),
        Fact::new("CPU", cost(tool)),
        Fact::new(
            "CPUs used",
            format!("client {}, server {}", cpus(tool.cpu.client_cpus), cpus(tool.cpu.server_cpus)),
        ),
    ]
}

/// CPU time of both sides per response.
pub fn cost(tool: &ToolRun) -> String {
    let [client, server] =
        [tool.cpu.client_us_per_request, tool.cpu.server_us_per_request].map(|us| match us {
            Some(_) => format!("{} us", microseconds(us)),
            None => "-".to_string(),
        });
    format!("client {client}, server {server} per response")
}

/// How many of its figures hold, and which cannot be.
pub fn audited(tool: &ToolRun) -> String {
    let asked = tool.account.claims.iter().filter(|claim| !claim.findings.is_empty());
    let (mut holds, mut open, mut wrong) = (0, 0, Vec::new());
    for claim in asked {
        match claim.outcome {
            Outcome::Holds => holds += 1,
            Outcome::Undecided => open += 1,
            Outcome::Impossible => wrong.push(claim.name.as_str()),
        }
    }
    match wrong.is_empty() {
        true => format!("of its figures {holds} hold, {open} undecided"),
        false => format!("IMPOSSIBLE: {}; {holds} hold, {open} undecided", wrong.join(", ")),
    }
}

/// Whether one of its figures cannot be true.
pub fn is_refuted(tool: &ToolRun) -> bool {
    tool.account.claims.iter().any(|claim| claim.outcome == Outcome::Impossible)
}

/// Requests and failures as it reported them.
pub fn counted(tool: &ToolRun) -> String {
    let reported = &tool.account.foreign;
    let count = |figure: &Option<Figure>| figure.as_ref().map(|figure| figure.printed.clone());
    let parts = [
        ("requests", count(&reported.requests)),
        ("good", count(&reported.good)),
        ("without a good response", count(&reported.failed)),
        ("never sent", count(&reported.dropped)),
    ];
    let reported: Vec<String> =
        parts.into_iter().filter_map(|(what, many)| Some(format!("{} {what}", many?))).collect();
    reported.join(", ")
}

/// What it reported, figure by figure.
pub fn reported(run: &Run) -> Vec<Block> {
    run.record.tool.as_ref().map_or_else(Vec::new, |tool| of_account(&tool.account))
}

/// The gates of ceiling, applied to the tool.
pub fn gates(run: &Run) -> Vec<Block> {
    let Some(tool) = &run.record.tool else { return Vec::new() };
    let mut table = Table::new(["gate", "is", "because"].map(Column::words).to_vec());
    for gate in &tool.gates {
        let (mark, is) = match gate.ok {
            Some(true) => (Mark::None, "holds"),
            Some(false) => (Mark::Broken, "BROKEN"),
            None => (Mark::Caution, "undecided"),
        };
        table.push(mark, vec![gate.id.to_string(), is.to_string(), gate.why.clone()]);
    }
    vec![Block::Table(table)]
}
