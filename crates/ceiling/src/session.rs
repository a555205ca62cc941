//! One run from its command line to its outputs: shared by all commands with load.

use crate::ci::Ci;
use crate::cmd::{compare, runs};
use crate::exit::{self, Code, Failure};
use crate::onlookers::Onlookers;
use crate::outputs::Outputs;
use crate::screen::{Screen, detail, style, to_stderr, to_stdout};
use crate::signals::stop_flag;
use lab::setting::Setting;
use lab::{Logs, Reporting, ThisHost};
use model::across::Decided;
use model::ending::{Ending, Strictness};
use model::event::Event;
use model::load::{ServerProcess, Trial};
use model::root::Root;
use model::run::Run;
use model::secret::{self, Secrets};
use plan::{Ask, Options, rerun};
use report::Detail;
use report::ci::{Report, markdown};
use std::path::Path;
use store::{Readings, StoreError, Writer};

/// Which layout the text of a run has.
#[derive(Clone, Copy)]
pub enum Drawn<'a> {
    /// Our own.
    AsOurs,
    /// The text that this function makes, regardless of the options.
    By(&'a dyn Fn(&Run) -> String),
}

/// Runs a trial and writes every output that the options ask for. `words` is the command line.
pub fn run(asked: &dyn Ask, words: &[String]) -> Result<Code, Failure> {
    run_drawn(asked, words, Drawn::AsOurs)
}

/// Runs a trial, writes every output that the options ask for, and prints the text in a layout.
pub fn run_drawn(asked: &dyn Ask, words: &[String], drawn: Drawn<'_>) -> Result<Code, Failure> {
    let options = asked.options();
    let ci = Ci::open(&options.ci)?;
    match measured(asked, words, drawn) {
        Ok(Measured { run, bounds, code }) => {
            let mut report = Report::of_run(&run, strictness(options));
            report.add_bounds(&bounds);
            if let Err(failure) = &code {
                let secrets = Secrets::of_command(words);
                report.add_failure(&secret::without(&failure.to_string(), &secrets));
            }
            ci.write(&report, &markdown::of_run(&run, &report))?;
            code
        }
        Err(failure) => {
            let word = words.get(1).map_or("load", String::as_str);
            let url = options.url.as_ref().map_or("", |url| url.0.as_str());
            let title = secret::text(format!("ceiling {word} {url}").trim_end());
            let why = secret::without(&failure.to_string(), &Secrets::of_command(words));
            ci.write_failure(&title, &why);
            Err(failure)
        }
    }
}

fn strictness(options: &Options) -> Strictness {
    if options.strict { Strictness::EveryGate } else { Strictness::OfFigure }
}

/// A run with how its command ends.
struct Measured {
    run: Run,
    /// Those of --fail-if.
    bounds: Vec<Decided>,
    code: Result<Code, Failure>,
}

/// An error if there is no run.
fn measured(asked: &dyn Ask, words: &[String], drawn: Drawn<'_>) -> Result<Measured, Failure> {
    let (options, mut trial) = (asked.options(), asked.trial(&ThisHost)?);
    // Read before the run is kept, which is the last one then.
    let baseline = compare::baseline(options)?;
    let controller = crate::fleet::of_options(options, &trial)?;
    let lead = controller.as_ref().map(|fleet| fleet.lead(&mut trial)).transpose()?;
    let trial = &trial;
    if let Some(warning) = plan::unexpanded(options, &trial.requests) {
        to_stderr(&format!("ceiling: {warning}"));
    }
    let command = Secrets::command(words);
    let stop = stop_flag()?;
    let mut onlookers = Onlookers::of_a_run(options, trial)?;
    let outputs = Outputs::open(&options.out)?;
    let (mut writer, mut logs) = keep(options, trial)?;
    // This run would measure the changes that a killed run has left.
    for text in tune::put_back_abandoned(&Root::default(), &tune::journal_folder()) {
        to_stderr(&format!("ceiling: {text}"));
    }
    let mut screen = Screen::new(options, trial);
    let mut store_failure = None;
    let verdicts = onlookers.verdicts();
    let mut notify = |event: Event| {
        let written = match (&event, &mut writer) {
            (Event::Point(point), Some(writer)) => writer.add_point(point),
            (Event::Profile { path, bytes }, Some(writer)) => writer.add_profile(path, bytes),
            _ => Ok(()),
        };
        store_failure = store_failure.take().or(written.err());
        onlookers.tell(event, &mut screen);
    };
    let report = Reporting { notify: &mut notify, verdicts };
    let made = match &lead {
        None => lab::run(trial, &command, &mut logs, &stop, report),
        Some(lead) => lab::run_in(Setting::Fleet(lead), trial, &command, &mut logs, &stop, report),
    };
    screen.clear();
    onlookers.stop_drawing(&mut screen);
    for notice in controller.iter().flat_map(crate::fleet::Chosen::notices) {
        to_stderr(&format!("ceiling: {notice}"));
    }
    let mut run = match made {
        Ok(run) => run,
        Err(error) => {
            if let Some(writer) = writer {
                writer.discard_if_empty();
            }
            onlookers.end(Err(&secret::without(&error.to_string(), &Secrets::of_command(words))));
            return Err(error.into());
        }
    };
    if options.keep_requests {
        lab::keep_requests(&mut run.record.trial, trial);
    }
    name(&mut run, writer.as_ref());
    rerun::complete(&mut run.record);
    // The record alone needs no readings.
    if !options.json || !options.out.is_empty() || onlookers.are_any() {
        let far = logs.far.as_ref();
        (run.readings, run.server_readings) = store::readings_of(&run.record, &logs.near, far)?;
    }
    let code = delivered((&run, drawn), options, outputs, writer, store_failure);
    onlookers.end(Ok(&run));
    let (bounds, code) = match (baseline, code) {
        (Some(baseline), Ok(code)) => {
            let bounds = compare::with_baseline(&baseline, &run, options)?;
            // Codes 130, 5 and 4 take precedence.
            let of_bounds = compare::decided(&bounds);
            (bounds, Ok(if code == Code::Good { of_bounds } else { code }))
        }
        (_, code) => (Vec::new(), code),
    };
    Ok(Measured { run, bounds, code })
}

/// Prints and writes a run. After a failure the remaining outputs are still written; the first
/// failure is returned at the end.
fn delivered(
    (run, drawn): (&Run, Drawn<'_>),
    options: &Options,
    outputs: Outputs,
    writer: Option<Writer>,
    store_failure: Option<StoreError>,
) -> Result<Code, Failure> {
    // The record comes before all drawings, so that no drawing can lose it.
    let stored = writer.map(|writer| writer.finish(run)).transpose();
    let printed = match drawn {
        Drawn::AsOurs => print(run, options),
        Drawn::By(draw) => to_stdout(&draw(run)),
    };
    let written = outputs.write(run);
    if let (Ok(Some(path)), false) = (&stored, options.quiet || options.json) {
        let shown = path.parent().unwrap_or(path).display();
        to_stderr(&format!("ceiling: run kept in {shown}"));
    }
    let removed = if let Ok(Some(_)) = &stored { runs::cap(options) } else { None };
    if let (Some(removed), false) = (removed, options.quiet) {
        to_stderr(&format!("ceiling: {removed}"));
    }
    printed?;
    written?;
    stored?;
    if let Some(error) = store_failure {
        return Err(error.into());
    }
    let ending = run.record.ending(strictness(options));
    let is_expected = !run.record.expectations.is_empty();
    let why = match ending {
        Ending::Unmet if is_expected => Some(exit::unmet(&run.record)),
        Ending::NothingGood => Some(exit::nothing_good(&run.record)),
        _ => None,
    };
    if let Some(why) = why {
        to_stderr(&format!("ceiling: {why}"));
    }
    Ok(ending.into())
}

/// Gives a run the id by which it can be shown; runs started in the same second get different ids.
fn name(run: &mut Run, writer: Option<&Writer>) {
    if let Some(name) = writer.and_then(|writer| writer.directory().file_name()) {
        run.record.id = name.to_string_lossy().into_owned();
    }
}

/// Prints a run as the options say.
pub fn print(run: &Run, options: &Options) -> Result<(), Failure> {
    let text = if options.json {
        model::json::pretty(&run.record)
    } else if options.quiet {
        return Ok(());
    } else {
        let least = if options.latency { Detail::Latency } else { Detail::Summary };
        report::text(run, detail(&options.verbosity, least), style(&options.colour))
    };
    to_stdout(&text)
}

/// Makes the directory of a run. One that was named and cannot be made fails before any load;
/// without the default one the run is measured and not kept.
fn keep(options: &Options, trial: &Trial) -> Result<(Option<Writer>, Logs), Failure> {
    let directory = options.runs.directory();
    let lost = match directory.as_ref().map(|directory| (directory, keep_in(directory, trial))) {
        Some((_, Ok((writer, logs)))) => return Ok((Some(writer), logs)),
        Some((directory, Err(why))) if options.runs.is_default() => {
            Some(format!("{}: {why}", directory.display()))
        }
        Some((directory, Err(why))) => {
            return Err(Failure::Usage(format!(
                "--runs {}: cannot keep runs there: {why}; give a directory that can be written, \
                 or none; for example --runs none",
                directory.display()
            )));
        }
        None => options.runs.is_default().then(|| "HOME is not set".to_string()),
    };
    if let Some(why) = lost {
        to_stderr(&format!("ceiling: the run is not kept: {why}; --runs DIR keeps it elsewhere"));
    }
    let far = has_probe(trial).then(Readings::nameless).transpose()?;
    Ok((None, Logs { near: Readings::nameless()?, far }))
}

/// Makes a directory for a run in this one. An error says why not.
fn keep_in(directory: &Path, trial: &Trial) -> Result<(Writer, Logs), String> {
    let made = Writer::create(directory, &run_name(trial)).and_then(|writer| {
        let far = has_probe(trial).then(|| writer.server_readings()).transpose()?;
        let logs = Logs { near: writer.readings()?, far };
        Ok((writer, logs))
    });
    made.map_err(|error| match error {
        _ if directory.exists() && !directory.is_dir() => "it is not a directory".to_string(),
        StoreError::Io { error, .. } => error.to_string(),
        error => error.to_string(),
    })
}

/// Whether a probe reads the server's host.
fn has_probe(trial: &Trial) -> bool {
    matches!(trial.server, ServerProcess::Probe(_))
}

fn run_name(trial: &Trial) -> String {
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S");
    format!("{now}-{:08x}", trial.seed as u32)
}
