//! `ceiling run PLAN`: visits the cells of an experiment and shows them in one table.

mod analysis;
mod left;

use crate::ci::Ci;
use crate::exit::{Code, Failure};
use crate::onlookers::OfExperiment;
use crate::outputs::Outputs;
use crate::screen::{style, to_stderr, to_stdout};
use crate::signals;
use analysis::Looks;
use clap::Args;
use lab::ThisHost;
use left::Left;
use model::ending::{Ending, Strictness};
use model::experiment::{CellResult, Experiment, Fate, HostUsed, PredictionResult, SCHEMA};
use model::load::ProbeChoice;
use model::run::Run as StoredRun;
use plan::Machine as _;
use plan::values::{
    CellName, ExperimentFolder, HostsFile, OutFile, PlanFile, ServersFile, Setting,
};
use plan::{
    CLIENT, Cell, CiOptions, Colour, FleetOptions, GivenHosts, LiveOptions, Origin, Place, Plan,
    Runs, Surroundings, Targets, Usage,
};
use report::Format;
use report::ci::{Report, markdown};
use stage::{Begun, Folder, Hooks, Places, Progress, Ready};
use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use trials::experiment::{OfVisit, analysed};
use trials::prediction::Cell as Cells;

/// The file next to a plan that gives the addresses of its hosts.
const HOSTS: &str = "hosts.toml";
/// A plan, a list of servers and a file of hosts are written by people, and are shorter.
const TEXT_BYTES_MAX: u64 = 1 << 20;

/// Starts each server of a plan in turn, measures it as the plan says, ends it, and shows all cells
/// in one table. A cell whose server dies has no figures. Ctrl-C ends the current cell in order,
/// and then the experiment.
#[derive(Debug, Args)]
#[command(after_help = "\
A plan is TOML (docs/experiments.md): what all cells have in common, and what
each changes. It can start only the servers in targets/targets.toml. Treat a
plan from another person as code: --trust says that you have read it.

Exit codes: 0 all cells were measured, 3 a wall is not the one the plan expects,
or a cell had no good response, 5 a cell failed, 130 interrupted.

Examples:
  ceiling run experiments/04-ramp/plan.toml
  ceiling run experiments/spectrum/plan.toml --only simple,read -o out.html
  ceiling run experiments/04-ramp/full.toml --dry-run
  ceiling run PLAN --hosts hosts.toml --allow-tune
  ceiling run PLAN --set hosts.server.here=true
  ceiling run PLAN --resume out/runs/20260101T120000-ramp")]
pub struct Run {
    /// A plan file
    plan: PlanFile,

    #[command(flatten)]
    options: RunOptions,

    #[command(flatten)]
    runs: Runs,
}

/// Options of a run of a plan, wherever its result is kept.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// Measure only the cells with these names, or whose names begin so, separated by commas;
    /// repeatable
    #[arg(long, value_name = "NAMES")]
    only: Vec<CellName>,

    /// List of servers that a plan may start [default: targets/targets.toml above the plan]; not
    /// needed if all servers of the plan run already (addr)
    #[arg(long, value_name = "FILE")]
    servers: Option<ServersFile>,

    /// File with the hosts of the plan: their probes, token files, pins and links [default:
    /// hosts.toml next to the plan, if it exists]
    #[arg(long, value_name = "FILE")]
    hosts: Option<HostsFile>,

    /// One value of a host, overriding the file: hosts.NAME.probe, .token-file, .pin, .link or
    /// .here; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<Setting>,

    /// Print what would be done, with every program, file and address, and do nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Resume the interrupted experiment in this folder: blocks whose visits were all measured are
    /// kept, the others follow in the same order
    #[arg(long, value_name = "FOLDER")]
    pub resume: Option<ExperimentFolder>,

    /// Let the plan turn knobs of this host, and of other hosts whose probes allow it; each is put
    /// back after its cell
    #[arg(long)]
    allow_tune: bool,

    /// Run a plan that sets files, proxies or other addresses, or variables and arguments that the
    /// list of servers does not allow, or that changes the server; first read it as you would read
    /// a script
    #[arg(long)]
    trust: bool,

    /// Write a file, format by suffix: .json .html; repeatable
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    out: Vec<OutFile>,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    /// Print no progress
    #[arg(short = 'q', long)]
    pub quiet: bool,

    #[command(flatten)]
    fleet: FleetOptions,

    #[command(flatten)]
    live: LiveOptions,

    #[command(flatten)]
    ci: CiOptions,

    #[command(flatten)]
    colour: Colour,
}

/// A plan to run: its file, the options, and the directory for its result.
#[derive(Debug)]
struct Ordered<'a> {
    plan: &'a Path,
    options: &'a RunOptions,
    directory: Option<PathBuf>,
}

impl Deref for Ordered<'_> {
    type Target = RunOptions;

    fn deref(&self) -> &RunOptions {
        self.options
    }
}

pub fn run(command: Run) -> Result<Code, Failure> {
    carry_out(&command.plan, &command.options, command.runs.directory())
}

/// Runs a plan, and keeps its result in a new folder of a directory.
pub fn carry_out(
    plan: &Path,
    options: &RunOptions,
    directory: Option<PathBuf>,
) -> Result<Code, Failure> {
    let command = Ordered { plan, options, directory };
    let text = read(command.plan)?;
    let list = match &command.servers {
        Some(list) => Ok(list.0.clone()),
        None => stage::list_above(command.plan),
    };
    // A plan whose servers run already needs no list.
    let targets = match &list {
        Ok(list) => Targets::parse(&read(list)?).map_err(|error| wrong(list, error))?,
        Err(why) => Targets::absent(why.clone()),
    };
    let plan = Plan::parse(&text, &targets, &given_hosts(&command)?);
    let mut plan = plan.map_err(|error| wrong(command.plan, error))?;
    let only: Vec<&str> = command.only.iter().map(|name| name.as_str()).collect();
    plan.choose(&only)?;
    each_cell(&command, &plan, |cell| stage::check_tuning(cell).and(cell.check()))?;
    refuse_tuning(&command, &plan)?;
    refuse_untrusted(&command, &plan, &targets)?;
    if command.dry_run {
        to_stdout(&rehearsed(&plan, &targets, list.as_deref().ok())?)?;
        // Files of a plan that is not trusted are not read for it.
        if command.trust || plan::untrusted(&plan, &targets).is_none() {
            checked(&command, &plan)?;
        }
        return Ok(Code::Good);
    }
    let probes = checked(&command, &plan)?;
    refuse_formats(&command.out)?;
    let (outputs, ci) = (Outputs::open(&command.out)?, Ci::open(&command.ci)?);
    let stop = signals::stop_flag()?;
    let result = command.directory.as_deref();
    let mut onlookers = OfExperiment::open(&command.live, &command.colour, &plan, result)?;
    let (folder, begun) = begin(&command, &plan, &targets, list.as_deref().ok())?;
    let places = folder.places(list.as_deref().ok()).map_err(Failure::File)?;
    let places = Places { probes, ..places };
    let ground = Ground { targets: &targets, places: &places, folder: &folder, stop: &stop };
    let experiment = conduct(&command, &plan, &ground, begun, &mut onlookers)?;
    onlookers.stop_drawing();
    let runs: Vec<Option<StoredRun>> =
        experiment.cells.iter().map(|cell| stored_run(cell, &folder.runs())).collect();
    let visits: Vec<_> = runs.iter().map(|run| run.as_ref().map(OfVisit::whole)).collect();
    let experiment = analysed(experiment, &visits);
    let experiment =
        Experiment { predictions: predictions_compared(&plan, &experiment, &runs), ..experiment };
    // The document comes before all drawings, so that no drawing can lose it.
    let json = model::json::pretty(&experiment);
    let document = folder.write("experiment.json", json.as_bytes()).map_err(Failure::File);
    let printed = match command.json {
        true => to_stdout(&json),
        false => to_stdout(&report::text_experiment(&experiment, &runs, style(&command.colour))),
    };
    let rest = Rest { experiment: &experiment, runs: &runs, json, outputs, ci };
    let written = rest.write(&folder, printed.and(document));
    onlookers.end(&experiment, &runs);
    written?;
    if !command.quiet {
        to_stderr(&format!("ceiling: kept in {}", folder.path.display()));
    }
    let is_whole = experiment.cells.iter().all(|cell| matches!(cell.fate, Fate::Measured { .. }));
    if is_whole {
        folder.close();
    }
    let was_stopped = stop.load(Ordering::Relaxed) && !is_whole;
    Ok(if was_stopped { Code::Interrupted } else { code_of(&experiment, &runs) })
}

/// What is still to be written of an experiment when its document is.
struct Rest<'a> {
    experiment: &'a Experiment,
    runs: &'a [Option<StoredRun>],
    json: String,
    outputs: Outputs,
    ci: Ci,
}

impl Rest<'_> {
    /// Writes every other file. After a failure the others are still written; the first failure is
    /// returned, `before` included.
    fn write(self, folder: &Folder, before: Result<(), Failure>) -> Result<(), Failure> {
        let Self { experiment, runs, json, outputs, ci } = self;
        let html = LazyCell::new(|| report::html_experiment(experiment, runs).into_bytes());
        let written = outputs.write_bytes(&|format| match format {
            Format::Json => json.clone().into_bytes(),
            _ => html.clone(),
        });
        let page = folder.write("report.html", &html).map_err(Failure::File);
        let all = before.and(page).and(written);
        let mut report = Report::of_experiment(experiment, runs);
        if let Err(failure) = &all {
            report.add_failure(&failure.to_string());
        }
        let of_ci = ci.write(&report, &markdown::of_experiment(experiment, &report));
        all.and(of_ci)
    }
}

/// The hosts of a plan, from the options and from the file next to the plan.
fn given_hosts(command: &Ordered<'_>) -> Result<GivenHosts, Failure> {
    let mut given = GivenHosts::of(command.plan);
    let beside = command.plan.with_file_name(HOSTS);
    let file = match &command.hosts {
        Some(file) => Some((file.0.clone(), Origin::User)),
        None => beside.exists().then_some((beside, Origin::Plan)),
    };
    if let Some((file, origin)) = file {
        if origin == Origin::Plan {
            stage::is_safe(&file, command.plan).map_err(Failure::Usage)?;
        }
        let added = given.add_file(&read(&file)?, &file, origin);
        added.map_err(|error| wrong(&file, error))?;
    }
    let pairs: Vec<(String, String)> = command.set.iter().map(|pair| pair.0.clone()).collect();
    given.add_values(&pairs).map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(given)
}

/// Whether the loads of the plan can be made, and the probes of its hosts. Only a rehearsal may be
/// of hosts that are not known.
fn checked(command: &Ordered<'_>, plan: &Plan) -> Result<BTreeMap<String, ProbeChoice>, Failure> {
    let is_known = plan.used_hosts().all(|host| host.place != Place::Unknown);
    let probes = match is_known || !command.dry_run {
        true => probes(plan).map_err(|error| wrong(command.plan, error.0))?,
        false => BTreeMap::new(),
    };
    if is_known {
        each_cell(command, plan, stage::check_here)?;
    }
    plan.check(&probes, &read_regular, &ThisHost).map_err(|error| wrong(command.plan, error))?;
    Ok(probes)
}

/// The first cell that a check refuses, with its name.
fn each_cell(
    command: &Ordered<'_>,
    plan: &Plan,
    check: impl Fn(&Cell) -> Result<(), String>,
) -> Result<(), Failure> {
    plan.cells.iter().try_for_each(|cell| {
        check(cell).map_err(|why| wrong(command.plan, format!("cell '{}': {why}", cell.name)))
    })
}

/// The probes of the hosts that the plan uses, except this host.
fn probes(plan: &Plan) -> Result<BTreeMap<String, ProbeChoice>, Usage> {
    let mut probes = BTreeMap::new();
    for host in plan.used_hosts() {
        if let Some(probe) = host.probe(&ThisHost)? {
            probes.insert(host.name.clone(), probe);
        }
    }
    Ok(probes)
}

/// The hosts of a plan, for the record.
fn hosts_used(plan: &Plan) -> Vec<HostUsed> {
    let used = plan.used_hosts().map(|host| HostUsed {
        name: host.name.clone(),
        probe: match &host.place {
            Place::Far(probe) => Some(probe.address.clone()),
            Place::Here | Place::Unknown => None,
        },
        link: host.link.clone(),
    });
    let is_named = plan.hosts.iter().any(|host| host.name != CLIENT);
    used.filter(|_| is_named).collect()
}

/// The folder of the experiment, and what it has measured so far: nothing, unless it is resumed.
fn begin(
    command: &Ordered<'_>,
    plan: &Plan,
    targets: &Targets,
    list: Option<&Path>,
) -> Result<(Folder, Experiment), Failure> {
    let whole = read(command.plan)?;
    let text = plan::without_secrets(&whole);
    let root = root_of(list)?;
    if let Some(path) = &command.resume {
        let (folder, begun) = Folder::again(path).map_err(Failure::Usage)?;
        let was = read(&path.join("plan.toml"))?;
        let cells: Vec<&str> = begun.cells.iter().map(|cell| cell.name.as_str()).collect();
        let visits = plan.visits();
        let asked = visits.iter().map(|visit| plan.cells[visit.cell].name.as_str());
        if was != text || !asked.take(cells.len()).eq(cells.iter().copied()) {
            return Err(wrong(
                command.plan,
                format!(
                    "{} holds an experiment of another plan, or of other cells of this plan \
                     (--only); give the plan and cells it was started with, or start a new \
                     experiment without --resume, for example ceiling run PLAN",
                    path.display()
                ),
            ));
        }
        if begun.hosts != hosts_used(plan) {
            return Err(Failure::Usage(format!(
                "--resume {}: it was measured on other hosts, and visits on different hosts \
                 cannot form blocks of one experiment; give the same --hosts and --set, or start \
                 a new experiment without --resume, for example ceiling run PLAN --hosts \
                 hosts.toml",
                path.display()
            )));
        }
        refuse_another(path, folder.begun().as_ref(), |was| {
            was.like(&whole, plan, targets, &root)
        })?;
        return Ok((folder, begun));
    }
    let directory = command.directory.as_ref().ok_or_else(|| {
        Failure::Usage(
            "--runs: an experiment needs a directory to be kept in, and there is none (--runs \
             none, or HOME is not set); for example --runs out/runs"
                .into(),
        )
    })?;
    let folder = Folder::make(directory, command.plan).map_err(Failure::File)?;
    folder.write("plan.toml", text.as_bytes()).map_err(Failure::File)?;
    let measured = Begun::now(&whole, plan, targets, &root).map_err(Failure::File)?;
    let measured = model::json::pretty(&measured);
    folder.write(stage::BEGUN, measured.as_bytes()).map_err(Failure::File)?;
    let begun = Experiment {
        schema: SCHEMA.to_string(),
        id: folder.id.clone(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        started_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        plan: command.plan.display().to_string(),
        question: plan.question.clone(),
        design: plan.design.clone(),
        ended: None,
        took_s: None,
        hosts: hosts_used(plan),
        cells: Vec::new(),
        summaries: Vec::new(),
        contrasts: Vec::new(),
        levels: Vec::new(),
        predictions: Vec::new(),
        analysis: None,
    };
    Ok((folder, begun))
}

/// Refuses to add visits to those of another server, or made by another generator.
fn refuse_another(
    path: &Path,
    was: Option<&Begun>,
    now: impl Fn(&Begun) -> Begun,
) -> Result<(), Failure> {
    let differences = match was {
        Some(was) => was.differences(&now(was)),
        None => vec!["it does not say what it measured".to_string()],
    };
    if differences.is_empty() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "--resume {}: {}; visits of different servers or generators cannot form one experiment; \
         put back what it measured, or start a new experiment without --resume, for example \
         ceiling run PLAN",
        path.display(),
        differences.join("; ")
    )))
}

/// Where a plan is carried out, and what ends it early.
struct Ground<'a> {
    targets: &'a Targets,
    places: &'a Places,
    folder: &'a Folder,
    stop: &'a AtomicBool,
}

/// Makes the visits, and writes the experiment so far after each visit.
fn conduct(
    command: &Ordered<'_>,
    plan: &Plan,
    ground: &Ground<'_>,
    mut experiment: Experiment,
    onlookers: &mut OfExperiment,
) -> Result<Experiment, Failure> {
    let &Ground { targets, places, folder, stop } = ground;
    let runs = folder.runs();
    let before = std::mem::take(&mut experiment.cells);
    let shown = [onlookers.environment(), command.fleet.environment()].concat();
    let is_fleet = command.fleet.is_given();
    let mut measure = |cell: &Cell, ready: &Ready| {
        // A process id of this host means nothing to agents.
        let pid = ready.pid.filter(|_| !is_fleet);
        stage::measure(cell, &Ready { pid, ..ready.clone() }, &runs, stop, &shown)
    };
    let mut left = Left::of(plan);
    let (begin, earlier_s) = (Instant::now(), experiment.took_s.unwrap_or(0.0));
    let mut tell = |progress: Progress<'_>| {
        onlookers.tell(progress, plan);
        if !command.quiet && !command.live.tui {
            print_progress(progress, plan, &mut left);
        }
        if let Progress::Ended(_, cells) = progress {
            experiment.cells = cells.to_vec();
            experiment.took_s = Some(earlier_s + begin.elapsed().as_secs_f64());
            // A full disk is reported at the end, after the table was shown.
            let _ = folder.write("experiment.json", model::json::pretty(&experiment).as_bytes());
        }
    };
    let mut looks = Looks::new(plan.design.clone(), &runs, earlier_s);
    let mut look = |cells: &[CellResult]| looks.look(cells);
    let hooks = Hooks { measure: &mut measure, tell: &mut tell, look: &mut look };
    let (cells, ended) = stage::walk(plan, targets, places, stop, &before, hooks);
    Ok(Experiment { cells, ended, ..experiment })
}

/// Refuses a plan that turns knobs without `--allow-tune`: a plan from another person must not
/// change this host by itself.
fn refuse_tuning(command: &Ordered<'_>, plan: &Plan) -> Result<(), Failure> {
    let Some(cell) = plan.cells.iter().find(|cell| !cell.tune.is_empty()) else { return Ok(()) };
    if command.allow_tune || command.dry_run {
        return Ok(());
    }
    Err(wrong(
        command.plan,
        format!(
            "cell '{}' turns knobs of a host (docs/experiments.md); --dry-run shows which knobs, \
             and --allow-tune allows it, for example ceiling run PLAN --allow-tune",
            cell.name
        ),
    ))
}

/// Refuses a plan that runs programs, reads files or reaches other hosts, without `--trust`.
fn refuse_untrusted(command: &Ordered<'_>, plan: &Plan, targets: &Targets) -> Result<(), Failure> {
    match plan::untrusted(plan, targets) {
        Some(why) if !command.trust && !command.dry_run => Err(wrong(command.plan, why)),
        _ => Ok(()),
    }
}

/// The folder that the commands of a list run in.
fn root_of(list: Option<&Path>) -> Result<PathBuf, Failure> {
    Ok(list.map(stage::root_of).transpose().map_err(Failure::File)?.unwrap_or_default())
}

/// What a plan would do, in words.
fn rehearsed(plan: &Plan, targets: &Targets, list: Option<&Path>) -> Result<String, Failure> {
    let root = root_of(list)?;
    Ok(plan.rehearsed(Surroundings { targets, list, root: &root, read: &read_regular }))
}

/// Reads a file that a plan names, to show what it names in turn. Opening something else, such as a
/// pipe, may do more than read.
fn read_regular(path: &str) -> Result<Vec<u8>, String> {
    let is_file = fs::metadata(path).map_or(true, |about| about.is_file());
    if is_file { ThisHost.read(path) } else { Err(format!("{path} is not a file")) }
}

fn print_progress(progress: Progress<'_>, plan: &Plan, left: &mut Left) {
    match progress {
        Progress::Visit(at) => {
            let visits = plan.visits();
            let (visit, count) = (visits[at], visits.len());
            let block = match visit.block {
                None => String::new(),
                Some(0) => ", warm-up".to_string(),
                Some(block) => format!(", block {block}"),
            };
            let left = left.at(at).map_or(String::new(), |left| format!(", about {left} left"));
            let (number, name) = (at + 1, &plan.cells[visit.cell].name);
            to_stderr(&format!("ceiling: {number}/{count} {name}{block}{left}"));
        }
        Progress::Starting(name) => to_stderr(&format!("ceiling: starting {name}")),
        Progress::Ended(result, _) => {
            if let Fate::Failed { why } = &result.fate {
                to_stderr(&format!("ceiling: failed: {why}"));
            }
        }
    }
}

/// The predictions of the plan, compared with what was measured. Warm-up visits, and blocks with a
/// visit that is in no figure, are left out.
fn predictions_compared(
    plan: &Plan,
    of: &Experiment,
    runs: &[Option<StoredRun>],
) -> Vec<PredictionResult> {
    let excluded = of.analysis.iter().flat_map(|analysis| &analysis.excluded);
    let excluded: Vec<u32> = excluded.map(|one| one.block).chain([0]).collect();
    let counts = |cell: &CellResult| cell.block.is_none_or(|block| !excluded.contains(&block));
    let cells: Vec<_> = of
        .cells
        .iter()
        .zip(runs)
        .filter(|(cell, _)| counts(cell))
        .map(|(cell, run)| Cells { name: &cell.name, run: run.as_ref().map(|run| &run.record) })
        .collect();
    plan.predictions.iter().map(|one| trials::prediction::compare(one, &cells)).collect()
}

fn stored_run(cell: &CellResult, runs: &Path) -> Option<StoredRun> {
    let Fate::Measured { run } = &cell.fate else { return None };
    store::read(&runs.join(run)).ok()
}

fn code_of(experiment: &Experiment, runs: &[Option<StoredRun>]) -> Code {
    let surprising = |(cell, run): (&CellResult, &Option<StoredRun>)| {
        let Some(run) = run.as_ref().filter(|_| cell.block != Some(0)) else { return false };
        match report::is_expected(cell, run) {
            Some(is_expected) => !is_expected,
            None => run.record.ending(Strictness::OfFigure) == Ending::NothingGood,
        }
    };
    if experiment.failed() > 0 {
        Code::Unreachable
    } else if experiment.cells.iter().zip(runs).any(surprising) {
        Code::Unmet
    } else {
        Code::Good
    }
}

fn refuse_formats(out: &[OutFile]) -> Result<(), Failure> {
    let fits =
        |path: &&OutFile| matches!(Format::of(path.as_path()), Ok(Format::Json | Format::Html));
    match out.iter().find(|path| !fits(path)) {
        Some(path) => Err(Failure::Usage(format!(
            "-o {}: an experiment is written as .json or .html; for example -o out.html",
            path.display()
        ))),
        None => Ok(()),
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    let text = fs::File::open(path).and_then(|file| {
        let mut text = String::new();
        let length = file.take(TEXT_BYTES_MAX + 1).read_to_string(&mut text)? as u64;
        let why = || io::Error::other(format!("it has more than {TEXT_BYTES_MAX} bytes"));
        if length > TEXT_BYTES_MAX { Err(why()) } else { Ok(text) }
    });
    text.map_err(|error| {
        Failure::Usage(format!(
            "{}: {error}; give a TOML file that can be read, for example \
             experiments/04-ramp/plan.toml",
            path.display()
        ))
    })
}

fn wrong(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::Usage(format!("{}: {why}", path.display()))
}
