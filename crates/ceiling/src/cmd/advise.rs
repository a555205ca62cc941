//! `ceiling advise RUN`: what to try next, and `--calibration`: how often such advice was right.

mod rerun;

use super::show;
use crate::cli::Cli;
use crate::exit::{Code, Failure};
use crate::options::{Colour, Runs};
use crate::session;
use clap::parser::ValueSource;
use clap::{Args, CommandFactory};
use lab::experiment::{Rehearsed, way};
use model::advice::{Advice, By, Candidate};
use model::claim::Claim;
use model::experiment::{Experiment, Fate, Foretold};
use model::root::Root;
use model::run::{Record, Run};
use model::secret::{self, Secrets};
use model::tuning::Basis;
use plan::{Change, Duel};
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};
use tune::{Asked, Host};

/// Ranks every knob by what a run says of it: which is predicted to move the rate and by how much,
/// which was measured too little for, and which cannot matter now. Changes nothing.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 advice was given, 4 the run is not a valid measurement.

Examples:
  ceiling advise 20260101T120000-0000002a
  ceiling advise 20260101T120000-0000002a --plan rps.toml
  ceiling advise --calibration")]
pub struct Advise {
    /// A run by id, its directory, or a record written with --json
    #[arg(required_unless_present = "calibration")]
    run: Option<PathBuf>,

    /// Write the plan that would test the best candidate
    #[arg(long, value_name = "FILE", conflicts_with = "calibration")]
    plan: Option<PathBuf>,

    /// With --plan: this knob in the place of the best one, by id or name
    #[arg(long, value_name = "KNOB", requires = "plan")]
    knob: Option<String>,

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
    let path = show::find(asked, command.runs.directory())?;
    let run = store::read(&path).map_err(|error| Failure::Usage(error.to_string()))?;
    let ground = ground(&run, &path);
    let advice = advise(&run, asked, &ground)?;
    if let Some(file) = &command.plan {
        let (best, change) = choose(&advice, command.knob.as_deref(), &run.record, &ground)?;
        fs::write(file, written(&run, &path, best, change)?)
            .map_err(|error| Failure::File(format!("{}: {error}", file.display())))?;
        eprintln!("ceiling: try it: {}", to_try(file, &run.record));
    }
    let text = if command.json {
        String::from_utf8(report::json::json(&advice)).unwrap_or_default()
    } else {
        report::text_advice(&advice, command.colour.style())
    };
    session::to_stdout(&text)?;
    Ok(Code::Good)
}

/// The command that tries a plan, and what has to be put into it first.
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
            "{asked}: the run is not a valid measurement ({why}), and nothing can be predicted \
             from it; measure again: {command}"
        )));
    }
    let mut advice = tune::advise(
        &judge::signals(run),
        Asked {
            run: &asked,
            command: &command,
            longer: &rerun::longer(&record.command),
            confirmed: &rerun::confirmed(&record.command),
            probed: &rerun::probed(&record.command),
        },
    );
    let by_plan = |one: &&mut Candidate| one.by == By::Ceiling && !one.is_disruptive;
    for candidate in advice.worth.iter_mut().filter(by_plan) {
        if let Err(why) = ground.turns(candidate) {
            candidate.next = why;
        }
    }
    Ok(advice)
}

/// Where a plan would turn knobs, and beside what.
enum Ground {
    /// The server is on another host, and a plan turns knobs of the host it runs on.
    Far,
    /// This host as it is now.
    Here(Box<Host>, Rehearsed),
}

fn ground(run: &Run, path: &Path) -> Ground {
    if run.record.target.probe.is_some() && !judge::signals(run).is_one_host {
        return Ground::Far;
    }
    let server = match of_experiment(&run.record, path) {
        None => Rehearsed::Running,
        Some(server) if server.contains_key("addr") => Rehearsed::Running,
        Some(server) if server.contains_key("cpus") => Rehearsed::StartedOnCpus,
        Some(_) => Rehearsed::Started,
    };
    Ground::Here(Box::new(Host::look(Root::default())), server)
}

impl Ground {
    /// The table `tune` of the cells that test a candidate; an error says why there is none.
    fn turns(&self, candidate: &Candidate) -> Result<plan::Tune, String> {
        let name = &candidate.name;
        match self {
            Self::Far => Err(format!(
                "it is of the server's host, and a plan turns knobs of the host it runs on; \
                 there: ceiling tune plan --only {name}"
            )),
            Self::Here(host, server) => way(host, name, *server)
                .map_err(|why| format!("no plan tests it on this host ({why})")),
        }
    }
}

/// The generator's own size, which no knob of a host is.
const GENERATOR: &str = "T61";

/// The candidate of a plan, the named one or the best that a plan can test, and how it is changed.
fn choose<'a>(
    advice: &'a Advice,
    knob: Option<&str>,
    record: &Record,
    ground: &Ground,
) -> Result<(&'a Candidate, Change), Failure> {
    let change = |one: &Candidate| match one {
        one if one.knob == GENERATOR => {
            let threads = 2 * i64::from(record.trial.threads);
            Ok(Change::Load(Table::from_iter([("threads".to_string(), Value::Integer(threads))])))
        }
        one if one.is_disruptive => {
            Err("it can cut connections, which a plan must not".to_string())
        }
        one if one.by != By::Ceiling => Err("it is not ceiling's to turn".to_string()),
        one => ground.turns(one).map(|tune| Change::Tune(table(&tune))),
    };
    let Some(knob) = knob else {
        let mut tested = advice.worth.iter().filter_map(|one| Some((one, change(one).ok()?)));
        return tested.next().ok_or_else(|| {
            Failure::Usage(
                "--plan: no knob that a plan can turn here is predicted to help; name one to test \
                 it all the same, for example --knob rps"
                    .to_string(),
            )
        });
    };
    let mut all = advice.worth.iter().chain(&advice.unknown).chain(&advice.not_now);
    let is_named = |one: &&Candidate| {
        one.knob.eq_ignore_ascii_case(knob) || one.name.eq_ignore_ascii_case(knob)
    };
    let found = all.find(is_named).ok_or_else(|| "it is no knob".to_string());
    found
        .and_then(|one| Ok((one, change(one)?)))
        .map_err(|why| Failure::Usage(format!("--knob {knob}: {why}; for example --knob rps")))
}

/// Knobs as a plan has them.
fn table(tune: &plan::Tune) -> Table {
    let only = tune.only.iter().cloned().map(Value::String).collect();
    let mut table = Table::from_iter([("only".to_string(), Value::Array(only))]);
    for (key, text) in [("profile", &tune.profile), ("cpus", &tune.cpus)] {
        if !text.is_empty() {
            table.insert(key.to_string(), Value::String(text.clone()));
        }
    }
    for (word, value) in &tune.values {
        let value = Value::String(value.clone());
        let values = table.entry("values").or_insert_with(|| Value::Table(Table::new()));
        let Some(values) = values.as_table_mut() else { continue };
        match word.split_once('/') {
            None => drop(values.insert(word.clone(), value)),
            Some((knob, file)) => {
                let of_knob = values.entry(knob).or_insert_with(|| Value::Table(Table::new()));
                of_knob.as_table_mut().map(|of_knob| of_knob.insert(file.to_string(), value));
            }
        }
    }
    table
}

/// The plan that tests a candidate against the run it was found in.
fn written(run: &Run, path: &Path, best: &Candidate, change: Change) -> Result<String, Failure> {
    let record = &run.record;
    let mut load = load_of(record)?;
    let server = server_of(record, path, &mut load);
    let prediction = &best.prediction;
    let predicted = Foretold {
        knob: best.knob.clone(),
        baseline: String::new(),
        change: String::new(),
        low: prediction.low.unwrap_or(-1.0),
        high: prediction.high,
        why: match prediction.basis {
            Basis::Unknown => format!("nothing is predicted: {}", prediction.arithmetic),
            Basis::NoEffect | Basis::Bounded => prediction.arithmetic.clone(),
        },
        run: record.id.clone(),
    };
    let question = format!("Does {} do what is predicted of it?", best.title());
    Ok(Duel { question, server, load, change, predicted }.text(&best.name))
}

/// The options of a run as keys of a plan.
fn load_of(record: &Record) -> Result<Table, Failure> {
    let unreadable = |why: String| {
        Failure::Usage(format!("--plan: the command of run {} is not read: {why}", record.id))
    };
    let matches = Cli::command()
        .try_get_matches_from(Secrets::command(&record.command))
        .map_err(|error| unreadable(crate::cli::one_line(&error)))?;
    let Some((name, matches)) = matches.subcommand() else {
        return Err(unreadable("it has no sub-command".to_string()));
    };
    let mut load = Table::from_iter([("command".to_string(), Value::String(name.to_string()))]);
    let command = Cli::command();
    let Some(command) = command.find_subcommand(name) else { return Ok(load) };
    let ours = ["server-pid", "runs", "json", "out", "quiet", "color"];
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        let is_given = matches.value_source(id) == Some(ValueSource::CommandLine);
        let Some(long) = argument.get_long().filter(|_| is_given) else { continue };
        if ours.contains(&long) {
            continue;
        }
        let value = if argument.get_action().takes_values() {
            let words = matches.get_raw(id).into_iter().flatten();
            let mut words: Vec<_> =
                words.map(|word| Value::String(word.to_string_lossy().into_owned())).collect();
            if words.len() == 1 { words.remove(0) } else { Value::Array(words) }
        } else {
            Value::Boolean(true)
        };
        load.insert(long.to_string(), value);
    }
    Ok(load)
}

/// Where the server is: as the plan of the experiment has it that the run is of, else where it was.
fn server_of(record: &Record, path: &Path, load: &mut Table) -> Table {
    let (scheme, rest) = record.trial.url.split_once("://").unwrap_or(("http", ""));
    let (address, path_of_url) = rest.split_once('/').unwrap_or((rest, ""));
    let url = format!("{scheme}://{{addr}}/{path_of_url}");
    load.insert("url".to_string(), Value::String(url));
    of_experiment(record, path).unwrap_or_else(|| {
        Table::from_iter([("addr".to_string(), Value::String(address.to_string()))])
    })
}

/// The server's table of the plan beside an experiment, when every cell has the same.
fn of_experiment(record: &Record, path: &Path) -> Option<Table> {
    let folder = fs::canonicalize(path).ok()?.parent()?.parent()?.to_path_buf();
    let document = fs::read(folder.join("experiment.json")).ok()?;
    let experiment: Experiment = serde_json::from_slice(&document).ok()?;
    let mine = |cell: &&model::experiment::CellResult| match &cell.fate {
        Fate::Measured { run } => *run == record.id,
        Fate::Failed { .. } | Fate::NotReached => false,
    };
    let cell = experiment.cells.iter().find(mine)?;
    let plan: Table = fs::read_to_string(folder.join("plan.toml")).ok()?.parse().ok()?;
    let mut server = plan.get("server").and_then(Value::as_table).cloned().unwrap_or_default();
    let cells = plan.get("cell").and_then(Value::as_array).into_iter().flatten();
    let is_this = |one: &&Value| {
        let name = one.get("name").and_then(Value::as_str).unwrap_or_default();
        cell.name == name || cell.name.starts_with(&format!("{name}, "))
    };
    if let Some(own) = { cells }.find(is_this).and_then(|one| one.get("server")?.as_table()) {
        server.extend(own.clone());
    }
    let is_varied = plan.get("vary").and_then(Value::as_array).into_iter().flatten().any(|vary| {
        vary.get("key").and_then(Value::as_str).is_some_and(|key| key.starts_with("server."))
    });
    (!is_varied && !server.is_empty()).then_some(server)
}

/// Every prediction kept below a directory of runs.
fn calibration(command: &Advise) -> Result<Code, Failure> {
    let directory = command.runs.directory().ok_or_else(|| {
        Failure::Usage("--runs none: nothing is kept there; for example --runs out/runs".into())
    })?;
    let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
    let mut experiments: Vec<Experiment> = Vec::new();
    for entry in entries {
        let file = entry.path().join("experiment.json");
        let Ok(document) = fs::read(&file) else { continue };
        match serde_json::from_slice(&document) {
            Ok(experiment) => experiments.push(experiment),
            Err(error) => eprintln!("ceiling: {} is left out: {error}", file.display()),
        }
    }
    let record = judge::prediction::calibration(&experiments);
    let text = if command.json {
        String::from_utf8(report::json::json(&record)).unwrap_or_default()
    } else if record.entries.is_empty() {
        format!(
            "No prediction is kept in {}: ceiling advise RUN --plan FILE writes a plan with one, \
             and\nceiling run FILE --allow-tune --trust puts it to the test.\n",
            directory.display()
        )
    } else {
        report::text_calibration(&record, command.colour.style())
    };
    session::to_stdout(&text)?;
    Ok(Code::Good)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Plan, Targets};
    use std::collections::BTreeMap;

    /// A plan turns what it was written for, and nothing else.
    #[test]
    fn knobs_are_read_from_a_plan_as_they_were_written_into_it() {
        let values = [("dev-weight/dev_weight", "128"), ("rps", "0-1")];
        let values = values.map(|(word, value)| (word.to_string(), value.to_string()));
        let all = [
            plan::Tune { only: vec!["rps".into()], profile: "seeds".into(), ..Default::default() },
            plan::Tune { only: vec!["T12".into()], cpus: "0/1-3".into(), ..Default::default() },
            plan::Tune { values: BTreeMap::from(values), ..Default::default() },
        ];
        for tune in all {
            let duel = Duel {
                question: "?".to_string(),
                server: Table::from_iter([("addr".to_string(), "127.0.0.1:1".into())]),
                load: Table::from_iter([("command".to_string(), "load".into())]),
                change: Change::Tune(table(&tune)),
                predicted: Foretold {
                    knob: "T5".to_string(),
                    baseline: String::new(),
                    change: String::new(),
                    low: 0.0,
                    high: None,
                    why: String::new(),
                    run: String::new(),
                },
            };
            let text = duel.text("changed");
            let plan = Plan::parse(&text, &Targets::parse("").unwrap()).unwrap();
            let changed = plan.cells.iter().filter(|cell| cell.name.starts_with("changed"));
            let read: Vec<_> = changed.map(|cell| cell.tune.clone()).collect();
            assert_eq!(read, vec![Some(tune.clone()); 4], "{text}");
        }
    }
}
