//! `ceiling show RUN..`: shows stored runs again.

use super::runs;
use crate::ci::Ci;
use crate::exit::{Code, Failure};
use crate::outputs::Outputs;
use crate::screen::{detail, style, to_stdout};
use clap::Args;
use model::ending::Strictness;
use plan::values::{OutFile, RunPath};
use plan::{CiOptions, Colour, Runs, Verbosity};
use report::ci::{Report, markdown};
use report::{Detail, Format};
use std::path::Path;

/// Shows what was recorded; does not judge it again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ceiling show last -o report.html
  ceiling show last --hosts
  ceiling show last~1 last -o both.html
  ceiling show 20260101T120000-0000002a
  ceiling show last --junit junit.xml")]
pub struct Show {
    /// last, last~1, an id or its beginning (ceiling runs), a directory, or a record written with
    /// --json; several are shown side by side
    #[arg(required = true)]
    run: Vec<RunPath>,

    /// Write a file, format by suffix: .json .csv .hlog .html; repeatable. Several runs: .html only
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    out: Vec<OutFile>,

    /// Print all percentiles as well
    #[arg(short = 'L', long)]
    latency: bool,

    /// Print the readings of both hosts: each CPU, threads, interrupts by queue, interfaces,
    /// counters
    #[arg(long, conflicts_with_all = ["json", "latency", "verbose"])]
    hosts: bool,

    #[command(flatten)]
    verbosity: Verbosity,

    /// Print the record instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    ci: CiOptions,

    #[command(flatten)]
    colour: Colour,

    #[command(flatten)]
    runs: Runs,
}

pub fn run(command: Show) -> Result<Code, Failure> {
    let [asked] = &command.run[..] else { return side_by_side(&command) };
    let (path, run) = runs::read(asked, command.runs.directory())?;
    refuse_empty_log(&path, &command.out)?;
    let outputs = Outputs::open(&command.out)?;
    let ci = has_reports(&command.ci).then(|| Ci::open(&command.ci)).transpose()?;
    let least = if command.latency { Detail::Latency } else { Detail::Summary };
    let detail = detail(&command.verbosity, least);
    let text = if command.json {
        model::json::pretty(&run.record)
    } else if command.hosts {
        report::text_hosts(&run, style(&command.colour))
    } else {
        report::text(&run, detail, style(&command.colour))
    };
    to_stdout(&text)?;
    outputs.write(&run)?;
    if let Some(ci) = ci {
        let report = Report::of_run(&run, Strictness::OfFigure);
        ci.write(&report, &markdown::of_run(&run, &report))?;
    }
    Ok(Code::Good)
}

fn has_reports(ci: &CiOptions) -> bool {
    ci.junit.is_some() || ci.summary.is_some()
}

/// Shows several runs side by side; refuses options that only fit one run.
fn side_by_side(command: &Show) -> Result<Code, Failure> {
    let other = command.out.iter().find(|path| Format::of(path.as_path()) != Ok(Format::Html));
    let is_of_one = command.json || command.hosts || command.latency || has_reports(&command.ci);
    if is_of_one || other.is_some() {
        let flag = match other {
            Some(path) => format!("-o {}", path.display()),
            None if command.json => "--json".to_string(),
            None if command.hosts => "--hosts".to_string(),
            None if command.latency => "-L".to_string(),
            None if command.ci.junit.is_some() => "--junit".to_string(),
            None => "--summary".to_string(),
        };
        return Err(Failure::Usage(format!(
            "{flag}: this is for one run only, and several runs are shown as text or .html; show \
             them one by one, or for example -o both.html"
        )));
    }
    let read = |asked: &RunPath| Ok(runs::read(asked, command.runs.directory())?.1);
    let runs = command.run.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
    let outputs = Outputs::open(&command.out)?;
    let detail = detail(&command.verbosity, Detail::Summary);
    to_stdout(&report::text_beside(&runs, detail, style(&command.colour)))?;
    outputs.write_bytes(&|_| report::html_beside(&runs).into_bytes())?;
    Ok(Code::Good)
}

/// Refuses a histogram file for a lone record: it would be empty, and look like a run without
/// responses.
fn refuse_empty_log(path: &Path, out: &[OutFile]) -> Result<(), Failure> {
    let Some(log) = Outputs::first_of(out, Format::Hlog) else { return Ok(()) };
    if path.is_dir() {
        return Ok(());
    }
    let log = log.display();
    Err(Failure::Usage(format!(
        "-o {log}: {} is a lone record, which keeps no whole distributions; give the run \
         directory instead, for example ceiling show last -o {log}",
        path.display()
    )))
}
