//! `ceiling find URL --slo TERMS`: the highest rate that holds an objective.

use crate::arrivals::Spread;
use crate::exit::{Code, Failure};
use crate::options::{Options, duration, objective, positive};
use crate::{session, trial};
use clap::Args;
use model::curve::Curve;
use model::histogram::SAMPLES_BEYOND;
use model::load::{Arrival, Level, Life, Question, Stop, Warmup};
use model::objective::Objective;
use model::search::SearchConfig;
use model::units::parse_rate;

/// Warm-up of a trial when nothing says otherwise, nanoseconds: the target is warm from the trial
/// before.
const WARMUP_NS: u64 = 300_000_000;
/// How sure it must be that a rate holds or misses.
const CONFIDENCE: f64 = 0.95;
/// Failures allowed when the objective says nothing of them, in hundredths.
const ERRORS_PERCENT: f64 = 1.0;

/// Open loop. The rate doubles until the objective is missed, then the interval between a rate that
/// holds and one that misses is halved, with trials that grow longer; both ends are repeated until
/// it is sure of them, and at last a run 5 % below must hold and one 5 % above must miss.
#[derive(Debug, Args)]
#[command(after_help = "\
Terms: p50 p75 p90 p95 p99 p99.9 p99.99 mean max with < or <= and a time (from
the planned instant; service.p99 and so on from send), errors status3xx
status4xx status5xx with < or <= and a share, rate with > or >=. A request
without a good response counts as slower than all others; good.p99 and so on
are of good responses alone. errors<1% is added when no term bounds errors, a
status or the rate.

A rate that needs more connections than -c misses for want of them: latency
counts from the planned instant, also while a request waits for a connection.

Exit 0 with an answer, 3 when no rate was shown to hold, 4 when the generator
was late and missed before the target did.

Examples:
  ceiling find http://127.0.0.1:8083/read --slo 'p99<2ms,errors<0.1%'
  ceiling find http://127.0.0.1:8083/read --slo 'p99.9<20ms' -R 1k..50k \\
    --budget 5m --arrivals poisson -c 200 -o find.html")]
pub struct Find {
    #[command(flatten)]
    options: Options,

    /// What must hold: 'p99<2ms,errors<0.1%'
    #[arg(long, value_name = "TERMS", value_parser = objective, conflicts_with = "expect")]
    slo: Objective,

    /// Rates to search between, requests per second; the search begins at the lowest
    #[arg(short = 'R', long, value_name = "LO..HI", default_value = "100..1M",
          value_parser = rates)]
    rate: (f64, f64),

    /// Connections, kept open
    #[arg(short = 'c', long, value_name = "N", default_value = "100", value_parser = positive)]
    connections: u64,

    #[command(flatten)]
    spread: Spread,

    /// Width of the interval that is narrow enough, from 0.1% to 100%
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = precision)]
    precision: f64,

    /// Time for the whole search
    #[arg(long, value_name = "T", default_value = "2m", value_parser = duration)]
    budget: u64,

    /// Length of a whole trial; longer where a percentile needs more responses
    #[arg(long, value_name = "T", default_value = "3s", value_parser = duration)]
    trial: u64,
}

fn rates(text: &str) -> Result<(f64, f64), String> {
    let error = || format!("'{text}' is not a rising range of rates LO..HI; for example 1k..50k");
    let (low, high) = text.split_once("..").ok_or_else(error)?;
    let low = parse_rate(low).map_err(|_| error())?;
    let high = parse_rate(high).map_err(|_| error())?;
    if high > low { Ok((low, high)) } else { Err(error()) }
}

fn precision(text: &str) -> Result<f64, String> {
    let error = || format!("'{text}' is not a share from 0.1% to 100%; for example 2%");
    let number = text.strip_suffix('%').ok_or_else(error)?;
    let share: f64 = number.parse().map_err(|_| error())?;
    if (0.1..=100.0).contains(&share) { Ok(share / 100.0) } else { Err(error()) }
}

/// Responses that the highest percentile of an objective needs; some in any case.
fn answers_min(objective: &Objective) -> u64 {
    let percentile = objective.highest_percentile();
    let needed = percentile.map_or(0.0, |one| SAMPLES_BEYOND / (1.0 - one.quantile()));
    (needed.round() as u64).max(100)
}

pub fn run(command: Find) -> Result<Code, Failure> {
    let (lowest, highest) = command.rate;
    let arrivals = command.spread.spacing();
    let arrival = Arrival::Open { curve: Curve::constant(lowest), arrivals };
    let connections = command.connections as u32;
    let spare = command.spread.spare(connections, &arrival)?;
    let depth = command.options.depth;
    let shape = trial::Shape {
        question: Question::Find,
        levels: vec![Level { connections, spare, depth, arrival, life: Life::default() }],
        stop: Stop::AfterNs(command.trial),
        visits: 1,
        repeats_max: 0,
    };
    let mut trial = trial::resolve(&command.options, shape)?;
    if command.options.warmup.is_none() {
        trial.warmup = Warmup::ForNs(WARMUP_NS);
    }
    let (slo, added) = command.slo.bounding_failures(ERRORS_PERCENT);
    trial.search = Some(SearchConfig {
        lowest,
        highest,
        precision: command.precision,
        budget_ns: command.budget,
        trial_ns: command.trial,
        answers_min: answers_min(&slo),
        confidence: CONFIDENCE,
        errors_added_percent: added.map(|term| term.bound),
    });
    trial.expect = Some(slo);
    session::run(&trial, &command.options)
}
