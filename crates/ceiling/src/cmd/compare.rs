//! `ceiling compare A B`: two stored runs side by side, or two experiments by their visits.

mod experiments;

use super::runs;
use crate::exit::{Code, Failure};
use crate::outputs::Outputs;
use crate::screen::{style, to_stderr, to_stdout};
use clap::Args;
use model::across::{Bound, Decided, Outcome};
use model::run::Run;
use plan::values::{OutFile, RunPath};
use plan::{Colour, Options, Runs};
use report::Format;

/// Shows two runs side by side, load by load: rates, latencies, CPU time per request, walls, the
/// settings that differ, and what changed in their profiles. Every ratio is B over A. Differences
/// are stated, not tested: one run of each does not show how much runs vary. Two experiments
/// (ceiling run with a design) are compared cell by cell, by their visits: ratios with intervals,
/// and what differs in hosts, versions, servers and knobs.
#[derive(Debug, Args)]
#[command(after_help = "\
Bounds: rate, p50, p90, p95, p99, connect.p90, cpu.client, cpu.server or a figure
of a host, such as busy.server or link.sent.client, then < or >, then a change of
B against A in percent; several are joined with commas. A bound fails when the
whole 95 % interval of the change is beyond it, holds when the whole interval is
inside, and is otherwise undecided. Two experiments show by their visits how wide
that interval is. Two runs do not: it is then as wide as visits of one load
usually vary, about \u{b1}40 % for a rate, so that only large changes are decided.
That is known of rate, p50, p99, cpu.client and cpu.server; between two runs a
bound of another figure is undecided.

Exit codes: 0 no bound fails, 3 a bound fails, or is undecided: between two runs,
and with --strict between two experiments.

Examples:
  ceiling compare last~1 last
  ceiling compare before/ after/ -o difference.html
  ceiling compare base.json new.json --fail-if 'rate<-3%,p99>10%'
  ceiling load http://127.0.0.1:8083/read --baseline last --fail-if 'rate<-50%'")]
pub struct Compare {
    /// The run or experiment to compare against: last~1, an id or its beginning, a directory, or a
    /// record written with --json
    a: RunPath,

    /// The run or experiment that is compared with A
    b: RunPath,

    /// Exit 3 when a figure changed by more than this: 'rate<-3%,p99>10%'; repeatable
    #[arg(long, value_name = "CHANGES", value_delimiter = ',')]
    fail_if: Vec<Bound>,

    /// Exit 3 also when a bound between two experiments is undecided
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
    let read = |asked: &RunPath| Ok(runs::read(asked, command.runs.directory())?.1);
    let (a, b): (Result<Run, Failure>, _) = (read(&command.a), read(&command.b));
    let (a, b) = (a?, b?);
    let outputs = Outputs::open(&command.out)?;
    let compared = trials::compare::compare(&a.record, &b.record, &command.fail_if);
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
    Ok(decided(&compared.bounds))
}

/// The stored run that --baseline names.
pub fn baseline(options: &Options) -> Result<Option<Run>, Failure> {
    let read = |asked: &RunPath| Ok(runs::read(asked, options.runs.directory())?.1);
    options.against.baseline.as_ref().map(read).transpose()
}

/// Prints what changed from a baseline, where the options ask for text, and decides --fail-if.
pub fn with_baseline(of: &Run, run: &Run, options: &Options) -> Result<Vec<Decided>, Failure> {
    let compared = trials::compare::compare(&of.record, &run.record, &options.against.fail_if);
    if !options.quiet && !options.json {
        to_stdout("\n")?;
        to_stdout(&report::text_compared(&compared, of, run, style(&options.colour)))?;
    }
    Ok(compared.bounds)
}

/// Reports the bounds of a change between two runs that do not hold. One that is undecided is no
/// success: two runs show too little to be wrong about it often.
pub fn decided(bounds: &[Decided]) -> Code {
    let open = bounds.iter().filter(|one| one.outcome != Outcome::Holds);
    let lines: Vec<String> = open.map(report::bound_line).collect();
    for line in &lines {
        to_stderr(&format!("ceiling: {line}"));
    }
    if bounds.iter().any(|one| one.outcome == Outcome::Undecided) {
        to_stderr(
            "ceiling: a run is one visit, and visits of one load vary, so only a large change is \
             decided; ceiling run with blocks = 6 in [design] decides smaller ones",
        );
    }
    if lines.is_empty() { Code::Good } else { Code::Unmet }
}
