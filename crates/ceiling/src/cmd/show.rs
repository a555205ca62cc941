//! `ceiling show RUN`: draws a stored run again.

use crate::exit::{Code, Failure};
use crate::options::Colour;
use crate::outputs::Outputs;
use crate::session;
use clap::Args;
use report::Detail;
use std::path::PathBuf;

/// Draws what was recorded; judges nothing anew.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  ceiling show ~/.local/state/ceiling/runs/20260101T120000-0000002a -o report.html")]
pub struct Show {
    /// Directory of a run, or a record written with --json
    run: PathBuf,

    /// Write a file, format by suffix: .json .csv .hlog .html; repeatable
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
}

pub fn run(command: Show) -> Result<Code, Failure> {
    let run = store::read(&command.run).map_err(|error| Failure::Usage(error.to_string()))?;
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
