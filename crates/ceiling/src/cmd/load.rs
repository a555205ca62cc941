//! `ceiling load URL`: one load level.

use crate::arrivals::{Asked, Spread};
use crate::cmd::churn::requests;
use crate::exit::{Code, Failure};
use crate::options::{Options, duration, positive};
use crate::{session, trial};
use clap::Args;
use model::load::{Arrival, Level, Life, Question, Stop};

/// How long is measured when nothing says otherwise, nanoseconds.
const DURATION_NS: u64 = 10_000_000_000;
/// How long at most, where the latency asks for more, nanoseconds.
const DURATION_MAX_NS: u64 = 60_000_000_000;

/// Closed loop: each connection sends its next request when a response frees a place, so latency
/// counts from the send and slow responses lower the load. With a rate (-R, --steps, --ramp,
/// --spike,
/// --sine, --replay) open loop: requests are due on a schedule that does not wait for responses,
/// latency counts from the planned instant, and what could not be sent is told.
#[derive(Debug, Args)]
#[command(after_help = "\
Expectations: p50 p75 p90 p95 p99 p99.9 p99.99 mean max with < or <= and a time,
service.p99 and so on for times from send, good.p99 and so on for good responses
alone (a request without one counts as slower than all others elsewhere), errors
status3xx status4xx status5xx with < or <= and a share, rate with > or >=.
Errors are requests without a good response, of all that were due. A percentile
with too few responses, or a term that cannot be known, is undecided. Exit 3
when a term is missed or undecided. Exit 4 comes first, when the rate is not
known or the generator was the wall; with --strict, when any check is broken.

Examples:
  ceiling load http://127.0.0.1:8083/read
  ceiling load http://127.0.0.1:8083/simple -c 100 -p 16 -d 30 -L
  ceiling load http://127.0.0.1:8083/read -R 20k --arrivals poisson
  ceiling load http://127.0.0.1:8083/read --ramp 0:50k/30s -o report.html
  ceiling load http://127.0.0.1:8083/echo -b '{\"a\":1}' -n 100k --json
  ceiling load http://127.0.0.1:8083/read --expect 'p99<5ms,errors<0.1%'")]
pub struct Load {
    #[command(flatten)]
    options: Options,

    /// Connections, kept open
    #[arg(short = 'c', long, value_name = "N", default_value = "50", value_parser = positive)]
    connections: u64,

    /// How long to measure [default: 10s, or ten times the latency up to 60s, or as long as the
    /// shape of the rate]
    #[arg(short = 'd', long, value_name = "T", value_parser = duration)]
    duration: Option<u64>,

    #[command(flatten)]
    asked: Asked,

    #[command(flatten)]
    spread: Spread,

    /// Close a connection after this many requests and open another: N or N:M
    #[arg(long, value_name = "N[:M]", value_parser = capped)]
    requests_per_conn: Option<(u32, u32)>,

    /// Send exactly this many requests instead
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "duration",
          value_parser = positive)]
    requests: Option<u64>,
}

fn capped(text: &str) -> Result<(u32, u32), String> {
    match requests(text)? {
        (0, _) => Err(format!("'{text}' has connections without a request; for example 1 or 1:10")),
        range => Ok(range),
    }
}

pub fn run(command: Load) -> Result<Code, Failure> {
    let duration_ns = command.duration.unwrap_or(DURATION_NS);
    let shaped = command.asked.shape(duration_ns)?;
    let stop = match (command.requests, shaped.ends_after_ns) {
        (Some(requests), None) => Stop::AfterRequests(requests),
        (None, None) => Stop::AfterNs(duration_ns),
        (None, Some(ns)) if command.duration.is_none() => Stop::AfterNs(ns),
        _ => {
            let option = shaped.option;
            let text = format!("{option} has an end of its own; leave out --duration, --requests");
            return Err(Failure::Usage(text));
        }
    };
    let is_even = shaped.curve.as_ref().is_none_or(|curve| curve.constant_rate().is_some());
    let is_auto = command.duration.is_none() && stop == Stop::AfterNs(DURATION_NS) && is_even;
    let arrival = match shaped.curve {
        Some(curve) => Arrival::Open { curve, arrivals: command.spread.spacing() },
        None => Arrival::Closed,
    };
    let connections = command.connections as u32;
    let spare = command.spread.spare(connections, &arrival)?;
    let depth = command.options.depth;
    let requests = command.requests_per_conn;
    let life = Life { requests, ..Life::default() };
    let shape = trial::Shape {
        question: Question::Load,
        levels: vec![Level { connections, spare, depth, arrival, life }],
        stop,
        visits: 1,
        repeats_max: 0,
    };
    let mut trial = trial::resolve(&command.options, shape)?;
    trial.window_max_ns = is_auto.then_some(DURATION_MAX_NS);
    session::run(&trial, &command.options)
}
