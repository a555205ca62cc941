//! `ceiling advise RUN`: what to try next; `--calibration`: how often such advice was right.

use super::runs;
use crate::exit::{Code, Failure};
use crate::screen::{style, to_stderr, to_stdout};
use clap::Args;
use model::advice::{Advice, By, Candidate};
use model::claim::Claim;
use model::experiment::Experiment;
use model::json::Document;
use model::root::Root;
use model::run::{Record, Run};
use model::secret::{self, Secrets};
use model::tuning::Scope;
use plan::Change;
use plan::values::{KnobName, NewPlan, RunPath};
use plan::{Colour, Runs, rerun};
use stage::{Rehearsed, server_of, way};
use std::fs;
use std::path::Path;
use toml::{Table, Value};
use tune::{Host, RunCommands};

/// Ranks every knob from a run: those predicted to move the rate and by how much, those for which
/// the run has too little data, and those that cannot matter now. Changes nothing.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 advice was given, 4 the run is not a valid measurement.

Examples:
  ceiling advise last
  ceiling advise last --plan rps.toml
  ceiling advise --calibration")]
pub struct Advise {
    /// last, an id or its beginning (ceiling runs), a directory, or a record written with --json
    #[arg(required_unless_present = "calibration")]
    run: Option<RunPath>,

    /// Write the plan that would test the best candidate
    #[arg(long, value_name = "FILE", conflicts_with = "calibration")]
    plan: Option<NewPlan>,

    /// With --plan: test this knob instead of the best one, by id or name
    #[arg(long, value_name = "KNOB", requires = "plan")]
    knob: Option<KnobName>,

    /// Print which predictions of earlier experiments came true
    #[arg(long, conflicts_with = "run")]
    calibration: bool,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    colour: Colour,

    #[command(flatten)]
    runs: Runs,
}

pub fn run(command: Advise) -> Result<Code, Failure> {
    let Some(asked) = command.run.as_ref().filter(|_| !command.calibration) else {
        return calibration(&command);
    };
    let (path, run) = runs::read(asked, command.runs.directory())?;
    let ground = ground(&run, &path);
    let advice = advise(&run, asked, &ground)?;
    if let Some(file) = &command.plan {
        let (best, change) =
            choose(&advice, command.knob.as_ref().map(|knob| knob.as_str()), &run.record, &ground)?;
        let server = server_of(&run.record, &path);
        fs::write(&file.0, plan::proposed(&run.record, server, best, change)?)
            .map_err(|error| Failure::File(format!("{}: {error}", file.display())))?;
        to_stderr(&format!("ceiling: try it: {}", to_try(file, &run.record)));
    }
    let text = if command.json {
        model::json::pretty(&advice)
    } else {
        report::text_advice(&advice, style(&command.colour))
    };
    to_stdout(&text)?;
    Ok(Code::Good)
}

/// The command that runs a plan, and the secret that has to be put into the plan first.
fn to_try(file: &Path, record: &Record) -> String {
    let command = format!("ceiling run {} --allow-tune --trust", file.display());
    match Secrets::missing(&Secrets::command(&record.command)) {
        None => command,
        Some(word) => format!(
            "{command}; the record keeps no secrets, so first put the value of '{word}' where the \
             plan has {}",
            secret::MASK
        ),
    }
}

fn advise(run: &Run, asked: &Path, ground: &Ground) -> Result<Advice, Failure> {
    let (record, asked) = (&run.record, asked.display().to_string());
    let command = rerun::plain(&record.command);
    if let Claim::NotKnown(why) = record.claim() {
        return Err(Failure::NotValid(format!(
            "{asked}: the run is not a valid measurement ({why}), so nothing can be predicted \
             from it; measure again: {}",
            command.text()
        )));
    }
    let mut advice = tune::advise(
        &judge::signals(run),
        &RunCommands {
            run: asked,
            command,
            longer: rerun::longer(&record.command),
            confirmed: rerun::confirmed(&record.command),
            probed: rerun::probed(&record.command),
        },
    );
    let by_plan = |one: &&mut Candidate| one.by == By::Ceiling && !one.is_disruptive;
    for candidate in advice.worth.iter_mut().filter(by_plan) {
        if let Err(why) = ground.turns(candidate) {
            candidate.next = Some(why.into());
        }
    }
    Ok(advice)
}

/// The host on which a plan would turn knobs, and the state of the server there.
enum Ground {
    /// The server is on another host, and a plan turns knobs of the host it runs on.
    Far,
    /// This host as it is now, and the server's process id if that is in another network namespace:
    /// a plan does not turn the settings of that namespace.
    Here(Box<Host>, Rehearsed, Option<u32>),
}

fn ground(run: &Run, path: &Path) -> Ground {
    if run.record.target.probe.is_some() && !judge::signals(run).is_one_host {
        return Ground::Far;
    }
    let server = match server_of(&run.record, path) {
        None => Rehearsed::Running,
        Some(server) if server.contains_key("addr") => Rehearsed::Running,
        Some(server) if server.contains_key("cpus") => Rehearsed::StartedOnCpus,
        Some(_) => Rehearsed::Started,
    };
    let apart = run.record.target.server.as_ref().filter(|server| server.network.is_some());
    let apart = apart.map(|server| server.pid);
    Ground::Here(Box::new(Host::look(Root::default())), server, apart)
}

/// Whether a knob belongs to a network namespace or to a device in one.
fn is_of_network(name: &str) -> bool {
    let scope = tune::find(name).map(|knob| knob.scope);
    matches!(scope, Some(Scope::Namespace | Scope::Device))
}

impl Ground {
    /// The table `tune` of the cells that test a candidate. An error says why no plan can test it.
    fn turns(&self, candidate: &Candidate) -> Result<plan::Tune, String> {
        let name = &candidate.name;
        match self {
            Self::Far => Err(format!(
                "it belongs to the server's host, and a plan turns knobs of the host it runs on; \
                 run there: {}",
                tune::by_hand(name)
            )),
            Self::Here(_, _, Some(pid)) if is_of_network(name) => Err(format!(
                "it belongs to the server's network namespace, and a plan turns knobs of ours; \
                 while the server runs, run: nsenter --net=/proc/{pid}/ns/net {}",
                tune::by_hand(name)
            )),
            Self::Here(host, server, _) => way(host, name, *server)
                .map_err(|why| format!("no plan can test it on this host ({why})")),
        }
    }
}

/// The candidate that a plan tests, either the named one or the best that a plan can test, and the
/// change of its cells.
fn choose<'a>(
    advice: &'a Advice,
    knob: Option<&str>,
    record: &Record,
    ground: &Ground,
) -> Result<(&'a Candidate, Change), Failure> {
    let change = |one: &Candidate| match one {
        // The generator's own size is not a knob of a host.
        one if one.knob == tune::GENERATOR.id => {
            let threads = 2 * i64::from(record.trial.threads);
            let mut load = Table::new();
            load.insert("threads".to_string(), Value::Integer(threads));
            Ok(Change::Load(load))
        }
        one if one.is_disruptive => {
            Err("it can cut connections, which a plan must not do".to_string())
        }
        one if one.by != By::Ceiling => Err("ceiling cannot change it".to_string()),
        one => ground.turns(one).map(|tune| Change::Tune(tune.table())),
    };
    let Some(knob) = knob else {
        let mut tested = advice.worth.iter().filter_map(|one| Some((one, change(one).ok()?)));
        return tested.next().ok_or_else(|| {
            Failure::Usage(
                "--plan: no knob that a plan can turn here is predicted to help; name one to test \
                 it anyway, for example --knob rps"
                    .to_string(),
            )
        });
    };
    let mut all = advice.worth.iter().chain(&advice.unknown).chain(&advice.not_now);
    let is_named = |one: &&Candidate| {
        one.knob.eq_ignore_ascii_case(knob) || one.name.eq_ignore_ascii_case(knob)
    };
    let found = all.find(is_named).ok_or_else(|| "there is no such knob".to_string());
    found
        .and_then(|one| Ok((one, change(one)?)))
        .map_err(|why| Failure::Usage(format!("--knob {knob}: {why}; for example --knob rps")))
}

/// Prints how every prediction kept in a directory of runs came out.
fn calibration(command: &Advise) -> Result<Code, Failure> {
    let directory = command.runs.directory().ok_or_else(|| {
        Failure::Usage(
            "--runs: this command needs the directory that keeps runs, and there is none \
             (--runs none, or HOME is not set); for example --runs out/runs"
                .into(),
        )
    })?;
    let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
    let mut experiments: Vec<Experiment> = Vec::new();
    for entry in entries {
        let file = entry.path().join("experiment.json");
        let Ok(document) = fs::read(&file) else { continue };
        match Experiment::from_json(&document) {
            Ok(experiment) => experiments.push(experiment),
            Err(error) => {
                to_stderr(&format!("ceiling: {} is left out: {error}", file.display()));
            }
        }
    }
    let record = trials::prediction::calibration(&experiments);
    let text = if command.json {
        model::json::pretty(&record)
    } else if record.entries.is_empty() {
        format!(
            "No prediction is kept in {}: ceiling advise RUN --plan FILE writes a plan with one, \
             and\nceiling run FILE --allow-tune --trust tests it.\n",
            directory.display()
        )
    } else {
        report::text_calibration(&record, style(&command.colour))
    };
    to_stdout(&text)?;
    Ok(Code::Good)
}
