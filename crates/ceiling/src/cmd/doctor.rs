//! `ceiling doctor`: is this host fit to measure on?

use crate::exit::{Code, Failure};
use crate::screen::{style, to_stdout};
use crate::signals::stop_flag;
use clap::Args;
use plan::Colour;
use plan::values::Time;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Observes this host for 3 s while no load runs, and reports what would disturb a measurement:
/// CPUs, their frequency governor, quotas, steal, other processes, how late threads run, the clock
/// source, limits on files and ports, and what the kernel offers each driver. Says what each costs
/// and how to fix it; changes nothing.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 fit, 4 not fit, 130 interrupted.

Examples:
  ceiling doctor
  ceiling doctor --duration 30s --json")]
pub struct Doctor {
    /// How long to observe
    #[arg(short = 'd', long, value_name = "T", default_value = "3s")]
    duration: Time,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    colour: Colour,
}

pub fn run(command: &Doctor) -> Result<Code, Failure> {
    let stop = stop_flag()?;
    let observed = lab::checkup::observe(Duration::from_nanos(command.duration.0), &stop);
    if stop.load(Ordering::Relaxed) {
        return Ok(Code::Interrupted);
    }
    let checkup = judge::checkup(&observed);
    let text = match command.json {
        true => model::json::pretty(&checkup),
        false => report::text_checkup(&checkup, style(&command.colour)),
    };
    to_stdout(&text)?;
    Ok(if checkup.fit { Code::Good } else { Code::NotValid })
}
