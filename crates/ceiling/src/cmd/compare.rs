//! `ceiling compare A B`: two stored runs side by side, or two experiments by their visits.

mod experiments;

use super::runs;
use crate::exit::{Code, Failure};
use crate::outputs::Outputs;
use crate::screen::{style, to_stdout};
use clap::Args;
use model::across::Bound;
use model::run::Run;
use plan::values::{OutFile, RunPath};
use plan::{Colour, Runs};
use report::Format;

/// Shows two runs side by side, load by load: rates, latencies, CPU time per request, walls, the
/// settings that differ, and what changed in their profiles. Every ratio is B over A. Differences
/// are stated, not tested: one run of each does not show how much runs vary. Two experiments
/// (ceiling run with a design) are compared cell by cell, by their visits: ratios with intervals,
/// and what differs in hosts, versions, servers and knobs.
#[derive(Debug, Args)]
#[command(after_help = "\
Bounds: rate, p50, p99, client_us or server_us, then < or >, then a change of B
against A in percent. In each cell a bound fails when the whole 95 % interval is
beyond it, holds when the whole interval is inside, and is otherwise undecided.

Exit codes: 0 no bound fails, 3 a bound fails, or with --strict is undecided.

Examples:
  ceiling compare last~1 last
  ceiling compare before/ after/ -o difference.html
  ceiling compare base.json new.json --fail-if 'rate<-3%' --fail-if 'p99>10%'")]
pub struct Compare {
    /// The run or experiment to compare against: last~1, an id or its beginning, a directory, or a
    /// record written with --json
    a: RunPath,

    /// The run or experiment that is compared with A
    b: RunPath,

    /// Two experiments only: exit 3 when a figure of a cell changed by more than this: 'rate<-3%';
    /// repeatable
    #[arg(long, value_name = "CHANGE")]
    fail_if: Vec<Bound>,

    /// Exit 3 also when a bound of --fail-if is undecided
    #[arg(long, requires = "fail_if")]
    strict: bool,

    /// Write a file, format by suffix: .json .html; repeatable
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    out: Vec<OutFile>,

    /// Print the comparison as JSON instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    colour: Colour,

    #[command(flatten)]
    runs: Runs,
}

pub fn run(command: Compare) -> Result<Code, Failure> {
    let other = command.out.iter().find(|path| {
        !matches!(Format::of(path.as_path()), Ok(Format::Html | Format::Json) | Err(_))
    });
    if let Some(path) = other {
        return Err(Failure::Usage(format!(
            "-o {}: a comparison is written as .html or .json; for example -o difference.html",
            path.display()
        )));
    }
    if let Some(code) = experiments::run(&command)? {
        return Ok(code);
    }
    if let Some(bound) = command.fail_if.first() {
        return Err(Failure::Usage(format!(
            "--fail-if {bound}: a run is one visit, which does not show how much visits vary; \
             compare two experiments, for example of ceiling run with blocks = 6 in [design]"
        )));
    }
    let read = |asked: &RunPath| Ok(runs::read(asked, command.runs.directory())?.1);
    let (a, b): (Result<Run, Failure>, _) = (read(&command.a), read(&command.b));
    let (a, b) = (a?, b?);
    let outputs = Outputs::open(&command.out)?;
    let compared = judge::compare::compare(&a.record, &b.record);
    let json = || model::json::pretty(&compared);
    let text = if command.json {
        json()
    } else {
        report::text_compared(&compared, &a, &b, style(&command.colour))
    };
    to_stdout(&text)?;
    outputs.write_bytes(&|format| match format {
        Format::Json => json().into_bytes(),
        _ => report::html_compared(&compared, &a, &b).into_bytes(),
    })?;
    Ok(Code::Good)
}
