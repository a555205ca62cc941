//! `ceiling load URL`: one load level.

use crate::exit::{Code, Failure};
use crate::options::{Options, duration, positive};
use crate::{session, trial};
use clap::Args;
use model::load::{Question, Stop};

/// Closed loop: each connection sends its next request when an answer frees a place, so latency
/// counts from the send and slow answers lower the load.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ceiling load http://127.0.0.1:8083/read
  ceiling load http://127.0.0.1:8083/simple -c 100 -p 16 -d 30 -L
  ceiling load http://127.0.0.1:8083/echo -b '{\"a\":1}' -n 100k --json")]
pub struct Load {
    #[command(flatten)]
    options: Options,

    /// Connections, kept open
    #[arg(short = 'c', long, value_name = "N", default_value = "50", value_parser = positive)]
    connections: u64,

    /// How long to measure
    #[arg(short = 'd', long, value_name = "T", default_value = "10s", value_parser = duration)]
    duration: u64,

    /// Send exactly this many requests instead
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "duration",
          value_parser = positive)]
    requests: Option<u64>,
}

pub fn run(command: Load) -> Result<Code, Failure> {
    let stop = match command.requests {
        Some(requests) => Stop::AfterRequests(requests),
        None => Stop::AfterNs(command.duration),
    };
    let shape = trial::Shape {
        question: Question::Load,
        connections: vec![command.connections as u32],
        stop,
        repeats_max: 0,
    };
    let trial = trial::resolve(&command.options, shape)?;
    session::run(&trial, &command.options)
}
