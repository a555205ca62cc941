//! `ceiling ramp URL`: a series of load levels on warm connections.

use crate::exit::{Code, Failure};
use crate::options::{Options, duration};
use crate::{session, trial};
use clap::Args;
use model::load::{Question, Stop};
use model::units::Range;

/// Visits each number of connections in turn, keeps those that are open, repeats a level whose
/// throughput is not steady, and gives the ceiling as a rate with an interval, or "at least" when
/// no wall was reached.
#[derive(Debug, Args)]
#[command(after_help = "\
Ranges: 50..5k doubles, 100..10k*1.5 multiplies, 500..4k+500 adds; first and
last are visited.

Examples:
  ceiling ramp http://127.0.0.1:8083/read
  ceiling ramp http://127.0.0.1:8083/simple -c 10..2k*2 --cpus 1 -o ramp.html")]
pub struct Ramp {
    #[command(flatten)]
    options: Options,

    /// Connections of the levels
    #[arg(short = 'c', long, value_name = "RANGE", default_value = "1..1k*2", value_parser = range)]
    connections: Range,

    /// How long to measure each level
    #[arg(short = 'd', long, value_name = "T", default_value = "3s", value_parser = duration)]
    duration: u64,

    /// How often a level that is not steady is repeated
    #[arg(long, value_name = "N", default_value = "2", value_parser = repeats)]
    repeats: u32,
}

fn range(text: &str) -> Result<Range, String> {
    let range = Range::parse(text).map_err(|error| error.to_string())?;
    if range.last <= u64::from(u32::MAX) {
        Ok(range)
    } else {
        Err(format!("'{text}' is beyond what one host can open; for example 50..5k"))
    }
}

fn repeats(text: &str) -> Result<u32, String> {
    let error = || format!("'{text}' is not a number from 0 to 20; for example 2");
    text.parse().ok().filter(|repeats| *repeats <= 20).ok_or_else(error)
}

pub fn run(command: Ramp) -> Result<Code, Failure> {
    let levels = command.connections.levels();
    let shape = trial::Shape {
        question: Question::Ramp,
        connections: levels.iter().map(|connections| *connections as u32).collect(),
        stop: Stop::AfterNs(command.duration),
        repeats_max: command.repeats,
    };
    let trial = trial::resolve(&command.options, shape)?;
    session::run(&trial, &command.options)
}
