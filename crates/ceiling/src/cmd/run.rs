//! `ceiling run PLAN`: walks the cells of an experiment and draws them in one table.

use crate::cli::{Cli, one_line};
use crate::exit::{self, Code, Failure};
use crate::options::{Colour, Runs};
use crate::outputs::Outputs;
use crate::{session, signals};
use clap::{Args, Parser};
use judge::prediction::Cell as Cells;
use lab::endpoints::WayError;
use lab::experiment::{self, Measured, Places, Progress, Ready};
use model::experiment::{CellResult, Experiment, Fate, Kept as KeptPrediction, SCHEMA};
use model::run::Run as Kept;
use model::secret::{self, Secrets};
use plan::{Cell, Plan, Server, Targets};
use report::Format;
use serde_json::Value;
use std::env;
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where the list of targets is, seen from the root that its words are run from.
const TARGETS: &str = "targets/targets.toml";

/// Starts each server of a plan in turn, measures it as the plan says, ends it, and draws all cells
/// in one table. A cell whose server dies has no number. Ctrl-C ends the cell under way in order,
/// and the experiment with it.
#[derive(Debug, Args)]
#[command(after_help = "\
A plan is TOML (docs/experiments.md): what all cells have in common, and what
each changes. It can start only what targets/targets.toml lists. A plan of
another person is that person's code: --trust says that you have read it.

Exit codes: 0 all cells were measured, 3 a wall is not the one the plan expects,
5 a cell failed, 130 interrupted.

Examples:
  ceiling run experiments/04-ramp/plan.toml
  ceiling run experiments/spectrum/plan.toml --only simple,read -o out.html
  ceiling run experiments/04-ramp/full.toml --dry-run")]
pub struct Run {
    /// A plan file
    plan: PathBuf,

    /// Only these cells, by the beginning of their names
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,

    /// The list of what may be started [default: targets/targets.toml above the plan]
    #[arg(long, value_name = "FILE")]
    targets_file: Option<PathBuf>,

    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,

    /// Let the plan turn knobs of this host; each is put back after its cell
    #[arg(long)]
    allow_tune: bool,

    /// Carry out a plan that sets variables of servers, files, proxies or other addresses, or
    /// changes the server; read it first as you would read a script
    #[arg(long)]
    trust: bool,

    /// Write a file, by suffix .json .html; repeatable
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    out: Vec<PathBuf>,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    /// No progress
    #[arg(short = 'q', long)]
    quiet: bool,

    #[command(flatten)]
    colour: Colour,

    #[command(flatten)]
    runs: Runs,
}

pub fn run(command: Run) -> Result<Code, Failure> {
    let list = command.targets_file.clone().map_or_else(|| list_above(&command.plan), Ok)?;
    let targets = Targets::parse(&read(&list)?).map_err(|error| wrong(&list, error))?;
    let plan = Plan::parse(&read(&command.plan)?, &targets);
    let mut plan = plan.map_err(|error| wrong(&command.plan, error))?;
    choose(&mut plan, &command.only)?;
    for cell in &plan.cells {
        check(cell).map_err(|why| wrong(&command.plan, why))?;
    }
    refuse_tuning(&command, &plan)?;
    refuse_untrusted(&command, &plan)?;
    if command.dry_run {
        session::to_stdout(&rehearsed(&plan))?;
        return Ok(Code::Good);
    }
    refuse_formats(&command.out)?;
    let outputs = Outputs::open(&command.out)?;
    let directory = command.runs.directory().ok_or_else(|| {
        Failure::Usage("--runs none: an experiment is kept; for example --runs out/runs".into())
    })?;
    let stop = signals::stop_flag()?;
    let folder = Folder::make(&directory, &command.plan)?;
    let places = Places { root: root_of(&list)?, scratch: folder.scratch()? };
    let experiment = conduct(&command, &plan, &targets, &places, &folder, &stop)?;
    let runs: Vec<Option<Kept>> =
        experiment.cells.iter().map(|cell| kept(cell, &folder.runs())).collect();
    let experiment =
        Experiment { predictions: kept_predictions(&plan, &experiment, &runs), ..experiment };
    let text = match command.json {
        true => String::from_utf8_lossy(&report::json::json(&experiment)).into_owned(),
        false => report::text_experiment(&experiment, &runs, command.colour.style()),
    };
    // First what cannot be lost by a full disk.
    session::to_stdout(&text)?;
    folder.write("experiment.json", &report::json::json(&experiment))?;
    folder.write("report.html", report::html_experiment(&experiment, &runs).as_bytes())?;
    outputs.write_bytes(&|format| match format {
        Format::Json => report::json::json(&experiment),
        _ => report::html_experiment(&experiment, &runs).into_bytes(),
    })?;
    if !command.quiet {
        eprintln!("ceiling: kept in {}", folder.path.display());
    }
    let was_stopped = stop.load(Ordering::Relaxed);
    Ok(if was_stopped { Code::Interrupted } else { code_of(&experiment, &runs) })
}

/// Walks the cells; what is known is written after each of them.
fn conduct(
    command: &Run,
    plan: &Plan,
    targets: &Targets,
    places: &Places,
    folder: &Folder,
    stop: &AtomicBool,
) -> Result<Experiment, Failure> {
    let text = plan::without_secrets(&read(&command.plan)?);
    folder.write("plan.toml", text.as_bytes())?;
    let mut experiment = Experiment {
        schema: SCHEMA.to_string(),
        id: folder.id.clone(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        started_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        plan: command.plan.display().to_string(),
        question: plan.question.clone(),
        cells: Vec::new(),
        predictions: Vec::new(),
    };
    let runs = folder.runs();
    let mut measure = |cell: &Cell, ready: &Ready| measure(cell, ready, &runs, stop);
    let mut tell = |progress: Progress<'_>| {
        if !command.quiet {
            told(progress, plan);
        }
        if let Progress::Ended(_, cells) = progress {
            experiment.cells = cells.to_vec();
            // A full disk is told at the end, when the table has been shown.
            let _ = folder.write("experiment.json", &report::json::json(&experiment));
        }
    };
    let cells = experiment::walk(plan, targets, places, stop, &mut measure, &mut tell);
    Ok(Experiment { cells, ..experiment })
}

/// The folder of one experiment.
struct Folder {
    id: String,
    path: PathBuf,
}

impl Folder {
    /// A new one, by time and plan; a second one of the same second gets a number.
    fn make(directory: &Path, plan: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(directory).map_err(|error| file_error(directory, &error))?;
        let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S");
        let stem = format!("{now}-{}", name_of(plan));
        let mut id = stem.clone();
        let mut number = 1;
        loop {
            let path = directory.join(&id);
            // Logs of servers and commands are for its owner.
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { id, path }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(file_error(&path, &error)),
            }
            number += 1;
            id = format!("{stem}-{number}");
        }
    }

    fn runs(&self) -> PathBuf {
        self.path.join("runs")
    }

    /// Where servers write their logs; absolute, because they are run from another folder.
    fn scratch(&self) -> Result<PathBuf, Failure> {
        let path = self.path.join("servers");
        fs::create_dir(&path).map_err(|error| file_error(&path, &error))?;
        absolute(&path)
    }

    /// Replaces a file as a whole, so that it is never half of one.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let (path, draft) = (self.path.join(name), self.path.join(format!(".{name}.part")));
        let written = fs::write(&draft, bytes).and_then(|()| fs::rename(&draft, &path));
        written.map_err(|error| {
            let _ = fs::remove_file(&draft);
            file_error(&path, &error)
        })
    }
}

/// Measures one cell with a process of our own kind: what one cell does to it, or it to the
/// machine, ends with it.
fn measure(cell: &Cell, ready: &Ready, runs: &Path, stop: &AtomicBool) -> Measured {
    let mut words = words_of(cell, ready);
    let shown = Secrets::command(&[&["ceiling".to_string()], &words[..]].concat());
    words.extend(["--json".to_string(), "--quiet".to_string(), "--runs".to_string()]);
    words.push(runs.display().to_string());
    let fate = match measured(cell, &words, stop) {
        Ok(run) => Fate::Measured { run },
        Err(why) => Fate::Failed { why },
    };
    Measured { command: shown, fate }
}

fn measured(cell: &Cell, words: &[String], stop: &AtomicBool) -> Result<String, String> {
    if stop.load(Ordering::Relaxed) {
        return Err("interrupted before it was measured".to_string());
    }
    let program = env::current_exe().map_err(|error| format!("cannot find ceiling: {error}"))?;
    let mut command = match cell.client.nice {
        0 => Command::new(program),
        nice => {
            let mut command = Command::new("nice");
            command.arg("-n").arg(nice.to_string()).arg(program);
            command
        }
    };
    command.args(words);
    let output = experiment::output(command, stop);
    let output = output.map_err(|error| format!("cannot start ceiling: {error}"))?;
    let record: Option<Value> = serde_json::from_slice(&output.stdout).ok();
    if let Some(id) = record.as_ref().and_then(|record| record["id"].as_str()) {
        let outcome = record.as_ref().map_or(&Value::Null, |record| &record["outcome"]);
        return match outcome.as_str() {
            Some("interrupted") => Err(format!("interrupted; what was measured is run {id}")),
            Some("target-lost") => Err("the target stopped answering".to_string()),
            _ if output.status.code() == Some(Code::Unreachable as i32) => {
                Err("the target gave no response".to_string())
            }
            _ => Ok(id.to_string()),
        };
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    Err(last.map_or_else(|| output.status.to_string(), |line| line.replace("ceiling: ", "")))
}

/// The command line of a cell, without what is only ours.
fn words_of(cell: &Cell, ready: &Ready) -> Vec<String> {
    let mut words = vec![cell.load.command.clone(), cell.load.url.replace("{addr}", &ready.addr)];
    words.extend(cell.load.options.iter().cloned());
    words.extend(ready.pid.map(|pid| format!("--server-pid={pid}")));
    words
}

/// Whether ceiling would take the command line of a cell: known before anything is started.
fn check(cell: &Cell) -> Result<(), String> {
    let pid = matches!(cell.server, Server::Started { .. }).then_some(1);
    let ready = Ready { addr: "127.0.0.1:1".to_string(), pid };
    let words = [vec!["ceiling".to_string()], words_of(cell, &ready)].concat();
    if let Some(word) = Secrets::missing(&words) {
        return Err(format!("cell '{}': {}", cell.name, exit::missing(word)));
    }
    let kept = Secrets::of_command(&words);
    let parsed = Cli::try_parse_from(words);
    let tuned = experiment::check_tuning(cell);
    tuned.and(check_sources(cell)).map_err(|why| format!("cell '{}': {why}", cell.name))?;
    let told = |error| secret::without(&one_line(&error), &kept);
    parsed.map(|_| ()).map_err(|error| format!("cell '{}': {}", cell.name, told(error)))
}

/// Whether the addresses to connect from can be those of the cell's server.
fn check_sources(cell: &Cell) -> Result<(), String> {
    let Server::Running { addr } = &cell.server else { return Ok(()) };
    let is_auto = cell.load.options.iter().any(|word| word == "--source=auto");
    match addr.parse::<SocketAddr>() {
        Ok(to) if is_auto && !to.ip().is_loopback() => {
            Err(WayError::NotLoopback { to: addr.clone() }.to_string())
        }
        _ => Ok(()),
    }
}

/// A plan of somebody else must not change this host by itself.
fn refuse_tuning(command: &Run, plan: &Plan) -> Result<(), Failure> {
    let Some(cell) = plan.cells.iter().find(|cell| cell.tune.is_some()) else { return Ok(()) };
    if command.allow_tune || command.dry_run {
        return Ok(());
    }
    Err(wrong(
        &command.plan,
        format!(
            "cell '{}' turns knobs of this host (docs/experiments.md); --allow-tune allows it, and \
             --dry-run shows which",
            cell.name
        ),
    ))
}

/// Nor run programs, read files or reach other hosts.
fn refuse_untrusted(command: &Run, plan: &Plan) -> Result<(), Failure> {
    match plan::untrusted(&plan.cells) {
        Some(why) if !command.trust && !command.dry_run => Err(wrong(&command.plan, why)),
        _ => Ok(()),
    }
}

/// The knobs of a cell in one line.
fn knobs_of(tune: &plan::Tune) -> String {
    let values = tune.values.iter().map(|(knob, value)| format!("{knob} = {value}"));
    let plain = tune.only.iter().filter(|knob| !tune.values.contains_key(*knob)).cloned();
    let mut text = plain.chain(values).collect::<Vec<_>>().join(", ");
    for (what, of) in [("profile", &tune.profile), ("device", &tune.device), ("CPUs", &tune.cpus)] {
        if !of.is_empty() {
            text += &format!(", {what} {of}");
        }
    }
    text
}

fn rehearsed(plan: &Plan) -> String {
    let mut text = format!("{}\n", plan.question);
    for cell in &plan.cells {
        let (server, addr) = match &cell.server {
            Server::Started { target, args, cpus, services, .. } => {
                let mut server = format!("start {target} {}", secret::words(args).join(" "));
                if !cpus.is_empty() {
                    server += &format!(" on CPUs {cpus}");
                }
                if !services.is_empty() {
                    server += &format!(" beside {}", services.join(", "));
                }
                (server, "{addr}".to_string())
            }
            Server::Running { addr } => (format!("external server at {addr}"), addr.clone()),
        };
        let ready = Ready { addr, pid: None };
        let words = Secrets::command(&words_of(cell, &ready)).join(" ");
        text += &format!("\n{}\n  server  {server}\n  load    ceiling {words}\n", cell.name);
        if let Some(tune) = &cell.tune {
            text += &format!("  tune    {}\n", knobs_of(tune));
        }
    }
    text
}

fn told(progress: Progress<'_>, plan: &Plan) {
    match progress {
        Progress::Cell(at) => {
            let (cell, count) = (&plan.cells[at], plan.cells.len());
            eprintln!("ceiling: {}/{count} {}", at + 1, cell.name);
        }
        Progress::Starting(name) => eprintln!("ceiling: starting {name}"),
        Progress::Ended(result, _) => {
            if let Fate::Failed { why } = &result.fate {
                eprintln!("ceiling: failed: {why}");
            }
        }
    }
}

/// What the plan said beforehand, held against what was measured.
fn kept_predictions(plan: &Plan, of: &Experiment, runs: &[Option<Kept>]) -> Vec<KeptPrediction> {
    let cells: Vec<_> = of
        .cells
        .iter()
        .zip(runs)
        .map(|(cell, run)| Cells { name: &cell.name, run: run.as_ref().map(|run| &run.record) })
        .collect();
    plan.predictions.iter().map(|one| judge::prediction::keep(one, &cells)).collect()
}

fn kept(cell: &CellResult, runs: &Path) -> Option<Kept> {
    let Fate::Measured { run } = &cell.fate else { return None };
    store::read(&runs.join(run)).ok()
}

fn code_of(experiment: &Experiment, runs: &[Option<Kept>]) -> Code {
    let surprising = |(cell, run): (&CellResult, &Option<Kept>)| {
        run.as_ref().is_some_and(|run| report::is_expected(cell, run) == Some(false))
    };
    if experiment.failed() > 0 {
        Code::Unreachable
    } else if experiment.cells.iter().zip(runs).any(surprising) {
        Code::Unmet
    } else {
        Code::Good
    }
}

fn choose(plan: &mut Plan, only: &[String]) -> Result<(), Failure> {
    for name in only {
        if !plan.cells.iter().any(|cell| cell.name.starts_with(name)) {
            let names: Vec<_> = plan.cells.iter().map(|cell| cell.name.as_str()).collect();
            return Err(Failure::Usage(format!(
                "--only {name}: no cell begins so; there are {}",
                names.join(", ")
            )));
        }
    }
    plan.cells
        .retain(|cell| only.is_empty() || only.iter().any(|name| cell.name.starts_with(name)));
    Ok(())
}

fn refuse_formats(out: &[PathBuf]) -> Result<(), Failure> {
    let fits = |path: &&PathBuf| matches!(Format::of(path), Ok(Format::Json | Format::Html));
    match out.iter().find(|path| !fits(path)) {
        Some(path) => Err(Failure::Usage(format!(
            "-o {}: an experiment is written as .json or .html; for example -o out.html",
            path.display()
        ))),
        None => Ok(()),
    }
}

/// The list of targets in the nearest folder above a plan that has one.
fn list_above(plan: &Path) -> Result<PathBuf, Failure> {
    let place = fs::canonicalize(plan).map_err(|error| {
        let plan = plan.display();
        Failure::Usage(format!(
            "{plan}: {error}; give a plan file, for example ceiling run \
             experiments/04-ramp/plan.toml"
        ))
    })?;
    let lists = place.ancestors().skip(1).map(|folder| folder.join(TARGETS));
    let found = { lists }.find(|list| list.exists());
    found.ok_or_else(|| {
        Failure::Usage(format!(
            "there is no {TARGETS} above {}; say where it is, for example --targets-file {TARGETS}",
            plan.display()
        ))
    })
}

/// The folder that the words of targets are run from: the one that holds the list's own.
fn root_of(list: &Path) -> Result<PathBuf, Failure> {
    let list = absolute(list)?;
    Ok(list.ancestors().nth(2).unwrap_or(Path::new("/")).to_path_buf())
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    fs::canonicalize(path).map_err(|error| file_error(path, &error))
}

/// The folder of a plan tells what it is about, unless the file does.
fn name_of(plan: &Path) -> String {
    let stem = plan.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = fs::canonicalize(plan).ok();
    let folder = folder.as_ref().and_then(|plan| plan.parent()?.file_name());
    match folder {
        Some(folder) if stem == "plan" => folder.to_string_lossy().into_owned(),
        Some(folder) if stem == "full" => format!("{}-full", folder.to_string_lossy()),
        _ => stem,
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| {
        Failure::Usage(format!("{}: {error}; give a file of TOML", path.display()))
    })
}

fn wrong(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::Usage(format!("{}: {why}", path.display()))
}

fn file_error(path: &Path, error: &std::io::Error) -> Failure {
    Failure::File(format!("{}: {error}", path.display()))
}
