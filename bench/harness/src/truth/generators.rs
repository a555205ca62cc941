//! The generators with a fixed rate, and how each prints its latencies.
//!
//! A generator is one row in [`GENERATORS`]. Peers keep their own schedule and their own definition
//! of latency: an option that corrects for their own lateness is switched on where one exists.

use super::schedule::percentile;
use crate::peers;
use crate::words::{Words, words};
use serde_json::Value;
use std::path::PathBuf;

/// Shares that are compared.
pub const SHARES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// One percentile for each of [`SHARES`]; absent if the program does not report it.
pub type Percentiles = [Option<u64>; 4];

/// The load for a generator.
#[derive(Debug, Clone)]
pub struct Ask {
    pub url: String,
    pub rate: u32,
    pub connections: u32,
    pub seconds: u32,
    /// Where a generator may leave a file.
    pub scratch: PathBuf,
}

/// Where its program is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    Ceiling,
    /// A name in the table of peers.
    Peer(&'static str),
}

/// When requests are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    Fixed,
    Poisson,
}

/// One generator.
pub struct Generator {
    pub name: &'static str,
    pub program: Program,
    pub arrivals: Arrivals,
    pub arguments: fn(&Ask) -> Words,
    /// Arguments of a second call that prints what the first one wrote to a file.
    pub report: Option<fn(&Ask) -> Words>,
    /// Reads its percentiles from standard output, or from a file it wrote.
    pub read: fn(&str, &Ask) -> Result<Percentiles, String>,
}

/// Every generator, in the order of the table.
pub const GENERATORS: &[Generator] = &[
    Generator {
        name: "ceiling fixed",
        program: Program::Ceiling,
        arrivals: Arrivals::Fixed,
        arguments: |ask| line(ask, &format!("{CEILING} --arrivals fixed {{url}}")),
        report: None,
        read: |output, _| ceiling(output),
    },
    Generator {
        name: "ceiling poisson",
        program: Program::Ceiling,
        arrivals: Arrivals::Poisson,
        arguments: |ask| line(ask, &format!("{CEILING} --arrivals poisson {{url}}")),
        report: None,
        read: |output, _| ceiling(output),
    },
    Generator {
        name: "wrk2",
        program: Program::Peer("wrk2"),
        arrivals: Arrivals::Fixed,
        arguments: |ask| line(ask, "-t1 -c{connections} -d{seconds}s -R{rate} --latency {url}"),
        report: None,
        read: |output, _| wrk2(output),
    },
    Generator {
        name: "oha",
        program: Program::Peer("oha"),
        arrivals: Arrivals::Fixed,
        arguments: |ask| {
            let form = "--no-tui --output-format json --latency-correction";
            line(ask, &format!("{form} -c {{connections}} -z {{seconds}}s -q {{rate}} {{url}}"))
        },
        report: None,
        read: |output, _| oha(output),
    },
    Generator {
        name: "vegeta",
        program: Program::Peer("vegeta"),
        arrivals: Arrivals::Fixed,
        arguments: |ask| {
            let what = "attack -targets {scratch}/target.txt -rate {rate}/1s";
            let how = "-duration {seconds}s -workers {connections} -connections {connections}";
            line(ask, &format!("{what} {how} -output {{scratch}}/vegeta.bin"))
        },
        report: Some(|ask| line(ask, "report -type hdrplot {scratch}/vegeta.bin")),
        read: |output, _| vegeta(output),
    },
    Generator {
        name: "k6",
        program: Program::Peer("k6"),
        arrivals: Arrivals::Fixed,
        arguments: |ask| {
            let set = "-e TARGET={url} -e RATE={rate} -e SECONDS={seconds} -e USERS={users}";
            line(ask, &format!("run --quiet --no-usage-report {set} bench/truth.js"))
        },
        report: None,
        read: |output, _| k6(output),
    },
    Generator {
        name: "h2load",
        program: Program::Peer("h2load"),
        arrivals: Arrivals::Fixed,
        arguments: |ask| {
            let how = "--h1 -t 1 -c {connections} -D {seconds} --rps {rate-each}";
            line(ask, &format!("{how} --log-file {{scratch}}/h2load.log {{url}}"))
        },
        report: None,
        read: |_, ask| {
            let path = ask.scratch.join("h2load.log");
            let log = std::fs::read_to_string(&path);
            h2load(&log.map_err(|error| format!("{}: {error}", path.display()))?)
        },
    },
];

/// No warm-up: the plan covers every sent request, so all can be compared.
const CEILING: &str = "load -t 1 -c {connections} -d {seconds}s -R {rate} --warmup 0 --runs none \
                       -q --json";

impl Generator {
    /// The peer that must be on the machine.
    pub fn peer(&self) -> Option<&'static peers::Peer> {
        match self.program {
            Program::Ceiling => None,
            Program::Peer(name) => peers::named(name),
        }
    }

    /// Whether an exit code means that there is something to read. `ceiling` exits with 4 when a
    /// point breaks a gate, and its record still has the measurement.
    pub fn accepts(&self, code: Option<i32>) -> bool {
        code == Some(0) || (self.program == Program::Ceiling && code == Some(4))
    }
}

/// Words from a template.
pub fn line(ask: &Ask, template: &str) -> Words {
    // A virtual user of k6 needs megabytes.
    const USERS_MAX: u32 = 500;
    let each = f64::from(ask.rate) / f64::from(ask.connections);
    let filled = |word: &str| {
        word.replace("{connections}", &ask.connections.to_string())
            .replace("{users}", &ask.connections.min(USERS_MAX).to_string())
            .replace("{seconds}", &ask.seconds.to_string())
            .replace("{rate}", &ask.rate.to_string())
            .replace("{rate-each}", &each.to_string())
            .replace("{scratch}", &ask.scratch.to_string_lossy())
            .replace("{url}", &ask.url)
    };
    words(&template.split_whitespace().map(filled).collect::<Vec<_>>())
}

fn json(output: &str) -> Result<Value, String> {
    serde_json::from_str(output).map_err(|error| format!("not one JSON document: {error}"))
}

/// A percentile may be missing, but if all four are, the format has changed.
fn known(percentiles: Percentiles) -> Result<Percentiles, String> {
    let is_known = percentiles.iter().any(Option::is_some);
    is_known.then_some(percentiles).ok_or_else(|| "it printed no percentile".into())
}

/// `ceiling load --json`: from the planned instant.
fn ceiling(output: &str) -> Result<Percentiles, String> {
    let record = json(output)?;
    let latency = &record["points"][0]["latency_ns"];
    known(["p50", "p90", "p99", "p99_9"].map(|name| latency[name].as_u64()))
}

/// wrk2 `--latency`: lines ` 99.900%  101.38ms`.
fn wrk2(output: &str) -> Result<Percentiles, String> {
    let at = |share: &str| {
        let line = output.lines().find_map(|line| line.trim().strip_prefix(share));
        time_ns(line?.trim())
    };
    known(["50.000%", "90.000%", "99.000%", "99.900%"].map(at))
}

/// A time of wrk: a number and a unit.
fn time_ns(text: &str) -> Option<u64> {
    let unit_begin = text.find(|c: char| c.is_ascii_alphabetic())?;
    let scale = match &text[unit_begin..] {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        _ => return None,
    };
    Some((text[..unit_begin].parse::<f64>().ok()? * scale).round() as u64)
}

/// `oha --output-format json`, in seconds.
fn oha(output: &str) -> Result<Percentiles, String> {
    let record = json(output)?;
    let latency = &record["latencyPercentiles"];
    known(["p50", "p90", "p99", "p99.9"].map(|name| scaled(&latency[name], 1e9)))
}

/// The metrics that bench/truth.js prints, in milliseconds.
fn k6(output: &str) -> Result<Percentiles, String> {
    let metrics = json(output)?;
    let values = &metrics["http_req_duration"]["values"];
    known(["p(50)", "p(90)", "p(99)", "p(99.9)"].map(|name| scaled(&values[name], 1e6)))
}

fn scaled(value: &Value, scale: f64) -> Option<u64> {
    Some((value.as_f64()? * scale).round() as u64)
}

/// `vegeta report -type hdrplot`: columns value (ms), share, count and more; takes the first line
/// whose share is not below the wanted one.
fn vegeta(output: &str) -> Result<Percentiles, String> {
    let rows: Vec<(f64, f64)> = output
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_whitespace().map(str::parse::<f64>);
            Some((fields.next()?.ok()?, fields.next()?.ok()?))
        })
        .collect();
    let at = |share: f64| rows.iter().find(|row| row.1 >= share - 1e-9);
    known(SHARES.map(|share| Some((at(share)?.0 * 1e6).round() as u64)))
}

/// `h2load --log-file`: a line per request with its start, its status and its microseconds.
fn h2load(log: &str) -> Result<Percentiles, String> {
    let mut latencies: Vec<u64> = log
        .lines()
        .filter_map(|line| line.split('\t').nth(2)?.trim().parse::<u64>().ok())
        .map(|us| us * 1_000)
        .collect();
    latencies.sort_unstable();
    known(SHARES.map(|share| percentile(&latencies, share)))
}

#[cfg(test)]
#[path = "generators_tests.rs"]
mod tests;
