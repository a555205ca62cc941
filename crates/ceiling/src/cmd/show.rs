//! `ceiling show RUN`: draws a stored run again.

use crate::exit::{Code, Failure};
use crate::options::{Colour, Runs};
use crate::outputs::Outputs;
use crate::session;
use clap::Args;
use report::{Detail, Format};
use std::path::{Component, Path, PathBuf};

/// Draws what was recorded; judges nothing anew.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  ceiling show 20260101T120000-0000002a -o report.html")]
pub struct Show {
    /// A run by id, its directory, or a record written with --json
    run: PathBuf,

    /// Write a file, by suffix .json .csv .hlog .html; repeatable
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    out: Vec<PathBuf>,

    /// Print everything the report holds
    #[arg(short = 'L', long)]
    latency: bool,

    /// Print the record instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    colour: Colour,

    #[command(flatten)]
    runs: Runs,
}

pub fn run(command: Show) -> Result<Code, Failure> {
    let path = find(&command.run, command.runs.directory())?;
    refuse_empty_log(&path, &command.out)?;
    let run = store::read(&path).map_err(|error| Failure::Usage(error.to_string()))?;
    let outputs = Outputs::open(&command.out)?;
    let detail = if command.latency { Detail::Latency } else { Detail::Summary };
    let text = if command.json {
        String::from_utf8(report::json::json(&run.record)).unwrap_or_default()
    } else {
        report::text(&run, detail, command.colour.style())
    };
    session::to_stdout(&text)?;
    outputs.write(&run)?;
    Ok(Code::Good)
}

/// Where a run is: a path as it stands, else an id below the directory of runs.
pub(super) fn find(asked: &Path, runs: Option<PathBuf>) -> Result<PathBuf, Failure> {
    if asked.exists() {
        return Ok(asked.to_path_buf());
    }
    let mut parts = asked.components();
    let is_id = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    let below = match runs.filter(|_| is_id) {
        Some(runs) if runs.join(asked).exists() => return Ok(runs.join(asked)),
        Some(runs) => format!(", and no run of this id is in {} (--runs)", runs.display()),
        None => String::new(),
    };
    Err(Failure::Usage(format!(
        "<RUN>: there is no directory or file '{}'{below}; for example ceiling show \
         20260101T120000-0000002a",
        asked.display()
    )))
}

/// A histogram file of a lone record would hold nothing and look like a run without answers.
fn refuse_empty_log(path: &Path, out: &[PathBuf]) -> Result<(), Failure> {
    let Some(log) = Outputs::first_of(out, Format::Hlog) else { return Ok(()) };
    if path.is_dir() {
        return Ok(());
    }
    let log = log.display();
    Err(Failure::Usage(format!(
        "-o {log}: {} is a lone record, which keeps no whole distributions; give the run \
         directory instead, for example ceiling show 20260101T120000-0000002a -o {log}",
        path.display()
    )))
}
