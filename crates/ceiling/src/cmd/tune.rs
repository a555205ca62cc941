//! `ceiling tune ..`: plans, applies, watches and reverts changes to this host's knobs.

mod changes;
mod far;
mod journal;
mod watch;
mod wish;

use crate::exit::{Code, Failure};
use crate::screen::{detail, document, style, to_stdout};
use clap::{Args, Subcommand, ValueEnum};
use model::tuning::{Row, TuneOrder};
use plan::ProbeOptions;
use plan::values::RunChoice;
use plan::{Colour, Runs, Verbosity};
use report::Detail;
use report::sections::tuning;
use report::text::draw;
use serde_json::{Value, json};
use tune::Form;
use wish::WishOptions;

/// Commands for knobs.
#[derive(Debug, Args)]
pub struct Tune {
    #[command(subcommand)]
    command: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Shows what would be changed, and the effect that a run predicts. Changes nothing.
    Plan(PlanCommand),
    /// Makes the changes of the plan: each goes to the journal first, is written, and read back.
    Apply(changes::Apply),
    /// Lists changes that ceiling has not put back, and whether others changed them since.
    Status(changes::Status),
    /// Puts changes back, unless another program changed them since.
    Revert(changes::Revert),
    /// Confirms changes under a watchdog, so that they stay.
    Keep(changes::Keep),
    /// Writes settings in a form that an operator can install permanently.
    Export(Export),
    /// The watchdog.
    #[command(hide = true)]
    Guard(watch::Guard),
}

/// Compares every knob of the catalogue with this host and a run. Without a run there is no
/// prediction of what would help: run `ceiling load URL` first.
///
/// Exit codes: 0 good, 2 usage, 4 the run is not a valid measurement.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ceiling tune plan
  ceiling tune plan --profile latency --device eth0 --cpus 0-3/4-7
  ceiling tune plan --only rps,rfs --run 20260101T120000-0000002a")]
struct PlanCommand {
    #[command(flatten)]
    wish: WishOptions,

    /// Run to predict from: a run's id, directory or record, or none [default: the newest valid
    /// run]
    #[arg(long, value_name = "RUN|none")]
    run: Option<RunChoice>,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    probe: ProbeOptions,

    #[command(flatten)]
    verbosity: Verbosity,

    #[command(flatten)]
    colour: Colour,

    #[command(flatten)]
    runs: Runs,
}

/// Writes what the plan proposes, or what is applied now, in a form that an operator can install;
/// ceiling itself makes nothing permanent. A setting that the form cannot express becomes a
/// comment.
///
/// Exit codes: 0 good, 2 usage.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ceiling tune export --form sysctl > 90-ceiling.conf
  ceiling tune export --form shell --applied > tune.sh")]
struct Export {
    #[command(flatten)]
    wish: WishOptions,

    /// The form
    #[arg(long, value_name = "FORM", value_enum)]
    form: FormChoice,

    /// Export what is applied and not put back, instead of what the plan proposes
    #[arg(long)]
    applied: bool,

    #[command(flatten)]
    journal: JournalOption,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormChoice {
    /// A file for /etc/sysctl.d
    Sysctl,
    /// Rules for /etc/udev/rules.d
    Udev,
    /// A unit for /etc/systemd/system
    Systemd,
    /// A script with apply and revert
    Shell,
}

impl FormChoice {
    fn form(self) -> Form {
        match self {
            Self::Sysctl => Form::Sysctl,
            Self::Udev => Form::Udev,
            Self::Systemd => Form::Systemd,
            Self::Shell => Form::Shell,
        }
    }
}

pub use far::Hands;
pub use journal::JournalOption;
pub use wish::kinds;

pub fn run(command: Tune) -> Result<Code, Failure> {
    match command.command {
        What::Plan(plan) => show_plan(&plan),
        What::Apply(apply) => changes::apply(&apply),
        What::Status(status) => changes::status(&status),
        What::Revert(revert) => changes::revert(&revert),
        What::Keep(keep) => changes::keep(&keep),
        What::Export(wanted) => export(&wanted),
        What::Guard(guard) => watch::guard(&guard),
    }
}

fn show_plan(command: &PlanCommand) -> Result<Code, Failure> {
    let signals =
        wish::signals(command.run.as_ref().map(|run| run.as_path()), command.runs.directory())?;
    let order = TuneOrder::Plan { wanted: command.wish.wanted() };
    let rows: Vec<Row> = match far::order(&command.probe, order)? {
        Some(response) => far::predicted(far::all_well(response)?.rows, signals.as_ref()),
        None => {
            let (host, wish) = command.wish.resolve()?;
            let planned = tune::plan(&host, &wish, signals.as_ref());
            planned.into_iter().map(|planned| planned.row).collect()
        }
    };
    let run = signals.as_ref().map(|signals| signals.run.as_str());
    if command.json {
        return print(&json!({ "schema": "ceiling.tune/1", "run": run, "rows": rows }));
    }
    let page = tuning::plan(&rows, run, detail(&command.verbosity, Detail::Summary));
    to_stdout(&draw(&page, style(&command.colour)))?;
    Ok(Code::Good)
}

fn export(command: &Export) -> Result<Code, Failure> {
    let settings = if command.applied {
        let host = tune::Host::look(Default::default());
        tune::Durable::applied(&host, &command.journal.open()?)?
    } else {
        let (host, wish) = command.wish.resolve()?;
        tune::Durable::of_plan(&host, &tune::plan(&host, &wish, None))
    };
    document(&tune::export(&settings, command.form.form()))?;
    Ok(Code::Good)
}

/// Prints one document on stdout.
fn print(document: &Value) -> Result<Code, Failure> {
    to_stdout(&model::json::pretty(document))?;
    Ok(Code::Good)
}
