//! `bench rows`: `ceiling` against its peers and against the physical floor.
//!
//! What is measured, how, and how to read it: bench/README.md. A row is data in [`rows`], a peer is
//! data in [`crate::peers`]; the rest turns slots into ratios and prints the table.

use crate::bounds::{Judged, Verdict};
use crate::compare::{self, Comparison};
use crate::install::Peers;
use crate::memory::{self, Memory};
use crate::options::{self, Missing, Programs, Setting};
use crate::record::Report;
use crate::rounds::Bench;
use crate::slot::RowResult;
use crate::{rows, table};
use anyhow::{Result, ensure};
use clap::Args;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

/// The command line.
#[derive(Debug, Args)]
pub struct Options {
    /// Rounds of each row [default: 7]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// Load of each slot, whole seconds [default: 3]
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: Option<u32>,
    /// One row, or all of a kind (depth, veth, null, churn, tls, h2, grpc, memory); repeatable
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// 2 rounds of 1 s, memory watched for 15 s instead of 60 s
    #[arg(long)]
    quick: bool,
    /// Seed of the order within rounds [default: drawn, printed and recorded]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Exit 1 when a bound is missed
    #[arg(long)]
    check: bool,
    /// Do not install missing peers
    #[arg(long)]
    no_install: bool,
    /// Where bench.json goes
    #[arg(long, value_name = "DIR", default_value = "out/bench")]
    out: PathBuf,
    #[command(flatten)]
    programs: Programs,
}

impl Options {
    fn setting(&self) -> Setting {
        let (rounds, seconds) = if self.quick { (2, 1) } else { (7, 3) };
        Setting {
            rounds: self.rounds.unwrap_or(rounds),
            slot_ms: self.seconds.unwrap_or(seconds) * 1_000,
            seed: self.seed.unwrap_or_else(options::drawn_seed),
            missing: if self.no_install { Missing::LeaveOut } else { Missing::Install },
            out: self.out.clone(),
            programs: self.programs.clone(),
        }
    }

    fn wants(&self, row: &str) -> bool {
        options::wants(&self.only, row)
    }

    /// Length of the run whose memory is watched.
    fn watch_seconds(&self) -> u32 {
        if self.quick { 15 } else { 60 }
    }
}

/// Measures, prints, and writes bench.json.
pub fn run(options: Options) -> Result<ExitCode> {
    check(&options)?;
    let mut bench = Bench::new(options.setting())?;
    bench.peers = Peers::gather(&mut bench.supervisor, &bench.setting)?;
    print!("{}", opening(&bench));
    let mut outcome = Outcome::default();
    let ended = outcome.measure(&options, &mut bench);
    // Keeps complete rows, however the run ended.
    outcome.write(&bench)?;
    ended?;
    println!("{}", closing(&bench, &outcome));
    let fails = options.check && !outcome.is_good();
    Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Checks the requirements of a measurement.
fn check(options: &Options) -> Result<()> {
    options::check_cpus()?;
    let names = || rows::ROWS.iter().map(|row| row.name).chain([memory::NAME]);
    let is_any = names().any(|name| options.wants(name));
    ensure!(is_any, "no such row; rows are {}", names().collect::<Vec<_>>().join(", "));
    let Programs { ceiling, floor, fasthttp, nethttp, certs, sink, grpc, .. } = &options.programs;
    options::check_programs([ceiling, floor, fasthttp, nethttp, certs, sink, grpc])
}

/// The results of all rows.
#[derive(Default)]
struct Outcome {
    results: Vec<RowResult>,
    memory: Option<Memory>,
    judged: Vec<Judged>,
}

impl Outcome {
    /// Measures one row after the other, and prints each when it is complete.
    fn measure(&mut self, options: &Options, bench: &mut Bench) -> Result<()> {
        let rounds = bench.setting.rounds;
        for row in rows::ROWS {
            if !options.wants(row.name) {
                continue;
            }
            let contenders = row.contenders(&bench.peers);
            let result = bench.row(row, &contenders)?;
            let comparison = Comparison::of(&result, rounds);
            let bounds = result.row.bounds.iter();
            let judged: Vec<Judged> = bounds.map(|bound| comparison.judge(*bound)).collect();
            print!("{}", table::row(&result, rounds, &judged));
            self.judged.extend(judged);
            self.results.push(result);
        }
        if options.wants(memory::NAME) {
            let memory = memory::measure(bench, options.watch_seconds())?;
            let judged = memory.judge();
            print!("{}{}", table::title(memory::NAME, &memory.title()), table::bounds(&judged));
            self.judged.extend(judged);
            self.memory = Some(memory);
        }
        Ok(())
    }

    fn write(&self, bench: &Bench) -> Result<()> {
        let setting = &bench.setting;
        let (results, judged) = (&self.results, &self.judged);
        let report = Report { bench, results, memory: self.memory.as_ref(), judged };
        let record = serde_json::to_string_pretty(&report.record())? + "\n";
        fs::write(setting.out.join("bench.json"), record)?;
        Ok(())
    }

    /// Whether every bound whose peer is on this machine is met.
    fn is_good(&self) -> bool {
        self.judged.iter().all(|judged| match &judged.verdict {
            Verdict::Met => true,
            Verdict::Missed => false,
            Verdict::NotMeasured(reason) => !reason.starts_with("ceiling"),
        })
    }
}

fn opening(bench: &Bench) -> String {
    let setting = &bench.setting;
    let versions: Vec<String> =
        bench.peers.versions().map(|(name, version)| format!("{name} ({version})")).collect();
    let absent: Vec<&str> = bench.peers.absent().collect();
    format!(
        "bench: {} rounds of {} s, seed {}\npeers: {}\nabsent: {}\n",
        setting.rounds,
        setting.seconds(),
        setting.seed,
        versions.join("\n       "),
        if absent.is_empty() { "none".to_owned() } else { absent.join(", ") },
    )
}

fn closing(bench: &Bench, outcome: &Outcome) -> String {
    let count = |wanted: fn(&Verdict) -> bool| {
        outcome.judged.iter().filter(|judged| wanted(&judged.verdict)).count()
    };
    let noise = compare::foreign(&outcome.results).map_or(String::new(), |share| {
        format!(
            "others had {:.1} % of a CPU ({:.1}..{:.1} %) while slots ran\n",
            share.median * 100.0,
            share.min * 100.0,
            share.max * 100.0
        )
    });
    format!(
        "\n{noise}bounds: {} met, {} missed, {} not measured\nwrote {out}/bench.json",
        count(|verdict| *verdict == Verdict::Met),
        count(|verdict| *verdict == Verdict::Missed),
        count(|verdict| matches!(verdict, Verdict::NotMeasured(_))),
        out = bench.setting.out.display(),
    )
}
