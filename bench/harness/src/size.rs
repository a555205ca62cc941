//! `bench size`: does the cost that `ceiling size` takes from one full generator hold for two?
//!
//! One process has all connections, then two have half of them each, one after the other on the
//! same CPU. The prediction is for the rate that the two reached. The command prints the CPU time
//! they used over the predicted CPU time.

use crate::load::Transport;
use crate::options::{self, Missing, Programs, Setting};
use crate::rounds::{Bench, CLIENT_CPU, SERVER_CPU};
use crate::statistics::Spread;
use crate::words::{pinned, words};
use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// The command line.
#[derive(Debug, Args)]
pub struct Options {
    #[arg(long, value_name = "N", env = "ROUNDS", default_value = "7")]
    rounds: u32,
    /// Load of each run, whole seconds
    #[arg(long, value_name = "T", env = "SECONDS_EACH", default_value = "2")]
    seconds: u32,
    #[arg(long, value_name = "N", env = "CONNECTIONS", default_value = "64")]
    connections: u32,
    #[arg(long, value_name = "DIR", default_value = "out/size")]
    out: PathBuf,
    #[command(flatten)]
    programs: Programs,
}

/// Measures the rounds and prints a line for each.
pub fn run(options: Options) -> Result<ExitCode> {
    options::check_cpus()?;
    let mut bench = Bench::new(Setting {
        rounds: options.rounds,
        slot_ms: options.seconds * 1_000,
        seed: options::drawn_seed(),
        missing: Missing::LeaveOut,
        out: options.out,
        programs: options.programs,
    })?;
    let Programs { ceiling, sink, .. } = bench.setting.programs.clone();
    options::check_programs([&ceiling, &sink])?;
    let sink = [&*sink.to_string_lossy(), "--port", "0", "--threads", "1"];
    let server = bench.serve("sink", pinned(SERVER_CPU, words(&sink)))?;
    let url = server.url(Transport::Tcp, "/");
    let mut ratios = Vec::new();
    for round in 1..=bench.setting.rounds {
        let program = ceiling.to_string_lossy();
        match measure(&mut bench, &program, &url, options.connections)? {
            Ok(ratio) => ratios.push(ratio),
            // A disturbed run is not a measurement, and gives no size.
            Err(reason) => println!("round {round}: {reason:#}"),
        }
    }
    server.stop(&mut bench.supervisor)?;
    let Spread { median, min, max, count } =
        Spread::of(ratios).context("no run was a measurement: the machine is too busy")?;
    let [median, min, max] = [median, min, max].map(percent);
    println!("median {median} of {count} rounds ({min} to {max})");
    Ok(ExitCode::SUCCESS)
}

/// One round: CPU time used over CPU time predicted, or why there is no prediction.
fn measure(
    bench: &mut Bench,
    program: &str,
    url: &str,
    connections: u32,
) -> Result<Result<f64, anyhow::Error>> {
    let record = |name: &str| bench.setting.out.join(name).to_string_lossy().into_owned();
    let [whole, left, right] = ["whole.json", "left.json", "right.json"].map(record);
    let (seconds, cpu) = (format!("{}s", bench.setting.seconds()), CLIENT_CPU.to_string());
    let load = |record: &str, connections: u32| {
        let connections = connections.to_string();
        let flags = ["-c", &connections, "-p", "16", "-t", "1", "-d", &seconds, "--cpus", &cpu];
        let how = ["--warmup", "500ms", "-q", "-o", record, url];
        words(&[&[program, "load"][..], &flags, &how].concat())
    };
    bench.run([load(&whole, connections)])?;
    bench.run([load(&left, connections / 2), load(&right, connections / 2)])?;
    let (left, right) = (point(&left)?, point(&right)?);
    let (rate, used) = (format!("{:.0}", left.0 + right.0), left.1 + right.1);
    let size = [program, "size", &whole, "--rate", &rate, "--json"];
    let [said] = bench.run([words(&size)])?;
    let said: Value = match said.good() {
        Ok(said) => serde_json::from_str(&said)?,
        Err(reason) => return Ok(Err(reason)),
    };
    let predicted = said["client_cpus"]["value"].as_f64();
    let predicted = predicted.context("the size has no client_cpus.value")?;
    println!(
        "at {rate}/s one process predicts {predicted:.3} CPUs, two used {used:.3}: {}",
        percent(used / predicted)
    );
    Ok(Ok(used / predicted))
}

/// Rate and CPUs of the only point of a record.
fn point(record: &str) -> Result<(f64, f64)> {
    let text = std::fs::read_to_string(record).with_context(|| record.to_owned())?;
    let record: Value = serde_json::from_str(&text)?;
    let point = &record["points"][0];
    let figures = point["rate"].as_f64().zip(point["cpu"]["client_cpus"].as_f64());
    figures.context("the record has no rate or no client_cpus")
}

fn percent(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}
