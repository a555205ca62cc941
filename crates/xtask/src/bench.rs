//! `cargo xtask bench`: `ceiling` against its peers and against the physical floor.
//!
//! What is measured, how, and how to read it: bench/README.md. A row is data in [`rows`], a peer
//! is data in [`peers`]; the rest is one way from slots to ratios to what is printed.

mod options;
mod rows;

mod bounds;
mod contender;
mod load;
mod peers;

mod install;
mod machine;
mod server;
mod supervise;
mod veth;
mod words;

mod memory;
mod rounds;
mod slot;

mod compare;
mod count;
mod statistics;

mod chart;
mod record;
mod table;

pub mod truth;

use anyhow::{Context, Result, ensure};
use bounds::{Judged, Verdict};
use compare::Comparison;
use install::Peers;
use memory::Memory;
use options::{Invocation, Miss, Options, Programs};
use record::Report;
use rounds::Bench;
use slot::RowResult;
use statistics::Random;
use std::fs;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};
use supervise::{Interrupted, Supervisor};

/// One line for the usage text.
pub const ABOUT: &str = "measure ceiling against its peers and the floor";

/// The exit code after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Measures, prints, and writes bench.json and bench.svg.
pub fn run(arguments: &[String]) -> Result<ExitCode> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let drawn = since.map_or(1, |since| since.as_micros() as u64);
    let options = match options::parse(arguments, drawn)? {
        Invocation::Run(options) => *options,
        Invocation::Help => {
            print!("{}", options::USAGE);
            return Ok(ExitCode::SUCCESS);
        }
    };
    match bench(options) {
        Err(error) if error.is::<Interrupted>() => {
            eprintln!("bench: interrupted; nothing is left running");
            Ok(ExitCode::from(INTERRUPTED))
        }
        other => other,
    }
}

fn bench(options: Options) -> Result<ExitCode> {
    check(&options)?;
    let scratch = options.scratch();
    fs::create_dir_all(&scratch)
        .with_context(|| format!("{} cannot be made", scratch.display()))?;
    let mut supervisor = Supervisor::new()?;
    let peers = Peers::gather(&mut supervisor, options.missing, &scratch)?;
    let random = Random::new(options.seed);
    let mut bench = Bench { options, supervisor, peers, random };
    print!("{}", opening(&bench));
    let mut outcome = Outcome::default();
    let ended = outcome.measure(&mut bench);
    // Whatever ended it: rows that are complete are kept.
    outcome.write(&bench)?;
    ended?;
    println!("{}", closing(&bench, &outcome));
    let fails = bench.options.miss == Miss::Fail && !outcome.is_good();
    Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What must be there before anything is measured.
fn check(options: &Options) -> Result<()> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    ensure!(cpus >= 2, "server and client need a CPU each, and this process may use {cpus}");
    let wanted = rows::ROWS.iter().any(|row| options.wants(row.name));
    ensure!(wanted || options.wants(memory::NAME), "no row has such a name\n\n{}", options::USAGE);
    let programs = &options.programs;
    let Programs { ceiling, floor, fasthttp, nethttp, certs, sink } = programs;
    for program in [ceiling, floor, fasthttp, nethttp, certs, sink] {
        let path = program.display();
        ensure!(program.is_file(), "{path} is not there; `make build` makes it");
    }
    Ok(())
}

/// What the rows came to.
#[derive(Default)]
struct Outcome {
    results: Vec<RowResult>,
    memory: Option<Memory>,
    judged: Vec<Judged>,
}

impl Outcome {
    /// Measures row after row, and prints each as soon as it is complete.
    fn measure(&mut self, bench: &mut Bench) -> Result<()> {
        let rounds = bench.options.rounds;
        for row in rows::ROWS {
            if !bench.options.wants(row.name) {
                continue;
            }
            let result = bench.row(row)?;
            let comparison = Comparison::of(&result, rounds);
            let bounds = result.row.bounds.iter();
            let judged: Vec<Judged> = bounds.map(|bound| bound.judge_row(&comparison)).collect();
            print!("{}", table::row(&result, rounds, &judged));
            self.judged.extend(judged);
            self.results.push(result);
        }
        if bench.options.wants(memory::NAME) {
            let memory = memory::measure(bench)?;
            let judged = memory.judge();
            print!("{}{}", table::title(memory::NAME, &memory.title()), table::bounds(&judged));
            self.judged.extend(judged);
            self.memory = Some(memory);
        }
        Ok(())
    }

    fn write(&self, bench: &Bench) -> Result<()> {
        let options = &bench.options;
        let (results, judged) = (&self.results, &self.judged);
        let report = Report { bench, results, memory: self.memory.as_ref(), judged };
        let record = serde_json::to_string_pretty(&report.record())? + "\n";
        fs::write(options.out.join("bench.json"), record)?;
        let svg = chart::svg(results, options.rounds, options.seconds, judged);
        fs::write(options.out.join("bench.svg"), svg)?;
        Ok(())
    }

    /// Whether every bound is met whose peer is on this machine.
    fn is_good(&self) -> bool {
        self.judged.iter().all(|judged| match &judged.verdict {
            Verdict::Met => true,
            Verdict::Missed => false,
            Verdict::NotMeasured(reason) => !reason.starts_with("ceiling"),
        })
    }
}

fn opening(bench: &Bench) -> String {
    let options = &bench.options;
    let versions: Vec<String> =
        bench.peers.versions().map(|(name, version)| format!("{name} ({version})")).collect();
    let absent: Vec<&str> = bench.peers.absent().collect();
    format!(
        "bench: {} rounds of {} s, seed {}\npeers: {}\nabsent: {}\n",
        options.rounds,
        options.seconds,
        options.seed,
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
        "\n{noise}bounds: {} met, {} missed, {} not measured\nwrote {out}/bench.json and \
         {out}/bench.svg",
        count(|verdict| *verdict == Verdict::Met),
        count(|verdict| *verdict == Verdict::Missed),
        count(|verdict| matches!(verdict, Verdict::NotMeasured(_))),
        out = bench.options.out.display(),
    )
}
