//! `ceiling fleet list`: lists the agents that respond.

use crate::exit::{Code, Failure};
use crate::screen::to_stdout;
use clap::Args;
use fleet::process::Seen;
use plan::BrokerOptions;
use serde_json::json;

/// Calls all agents of a fleet and lists those that respond: their hosts, versions, clocks, and
/// what they are doing. Nothing is measured and no load is made.
///
/// Exit codes: 0 good, 2 usage, 5 the broker does not respond.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ceiling fleet list --fleet nats://127.0.0.1:4222 --fleet-keys fleet-keys
  CEILING_FLEET=nats://nats/staging CEILING_FLEET_KEYS=keys ceiling fleet list")]
pub struct List {
    #[command(flatten)]
    broker: BrokerOptions,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(command: &List) -> Result<Code, Failure> {
    let controller = super::controller(&command.broker)?;
    let seen = controller.list().map_err(Failure::Fleet)?;
    let text = if command.json {
        let agents: Vec<_> = seen.iter().map(document).collect();
        model::json::pretty(&json!({ "agents": agents }))
    } else {
        table(&seen)
    };
    to_stdout(&text)?;
    Ok(Code::Good)
}

fn document(seen: &Seen) -> serde_json::Value {
    json!({
        "name": seen.name,
        "version": seen.facts.version,
        "hostname": seen.facts.hostname,
        "kernel": seen.facts.kernel,
        "cpus": seen.facts.cpus,
        "memory_bytes": seen.facts.memory_bytes,
        "labels": seen.facts.labels,
        "allow": seen.facts.allow,
        "capacity": seen.facts.capacity,
        "rate_max": seen.facts.rate_max,
        "job": seen.job,
        "clock": seen.clock,
    })
}

/// One line for each agent, within 80 columns unless names are long.
fn table(seen: &[Seen]) -> String {
    if seen.is_empty() {
        return "no agent responds; ceiling agent starts one\n".to_string();
    }
    let labels = |seen: &Seen| {
        let pairs: Vec<_> =
            seen.facts.labels.iter().map(|(label, value)| format!("{label}={value}")).collect();
        if pairs.is_empty() { "-".to_string() } else { pairs.join(",") }
    };
    let row = |seen: &Seen| {
        [
            seen.name.clone(),
            if seen.job.is_some() { "busy" } else { "idle" }.to_string(),
            seen.facts.hostname.clone(),
            seen.facts.cpus.to_string(),
            seen.facts.capacity.map_or("-".to_string(), model::units::show_count),
            seen.facts.version.clone(),
            seen.clock
                .map_or("-".to_string(), |clock| format!("±{:.1}ms", clock.error_ns as f64 / 1e6)),
            labels(seen),
        ]
    };
    let head = ["agent", "state", "host", "CPUs", "can/s", "version", "clock", "labels"];
    let rows: Vec<[String; 8]> =
        std::iter::once(head.map(str::to_string)).chain(seen.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..8).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &[String; 8]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}
