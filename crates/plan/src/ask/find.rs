//! `ceiling find URL --slo TERMS`: the highest rate that holds an objective.

use crate::arrivals::Spread;
use crate::ask::Ask;
use crate::machine::Machine;
use crate::options::Options;
use crate::shape::Shape;
use crate::trial;
use crate::usage::Refusal;
use crate::values::{Count, RateBounds, Share, Time};
use clap::Args;
use model::curve::Curve;
use model::histogram::SAMPLES_BEYOND;
use model::load::{Arrival, Level, Life, Question, Stop, Trial, Warmup};
use model::objective::Objective;
use model::search::SearchConfig;

/// Warm-up of a trial when nothing says otherwise, nanoseconds: the target is warm from the trial
/// before.
const WARMUP_NS: u64 = 300_000_000;
/// How sure it must be that a rate holds or misses.
const CONFIDENCE: f64 = 0.95;
/// Usages allowed when the objective says nothing of them, in hundredths.
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
    /// What must hold: 'p99<2ms,errors<0.1%'
    #[arg(long, value_name = "TERMS", conflicts_with = "expect")]
    slo: Objective,

    /// Rates to search between, requests per second; the search begins at the lowest
    #[arg(short = 'R', long, value_name = "LO..HI", default_value = "100..1M")]
    rate: RateBounds,

    /// Connections, kept open
    #[arg(short = 'c', long, value_name = "N", default_value = "100")]
    connections: Count,

    #[command(flatten)]
    spread: Spread,

    /// Width of the interval that is narrow enough, from 0.1% to 100%
    #[arg(long, value_name = "SHARE", default_value = "2%")]
    precision: Share,

    /// Time for the whole search
    #[arg(long, value_name = "T", default_value = "2m")]
    budget: Time,

    /// Length of a whole trial; longer where a percentile needs more responses
    #[arg(long, value_name = "T", default_value = "3s")]
    trial: Time,

    #[command(flatten)]
    options: Options,
}

impl Ask for Find {
    fn options(&self) -> &Options {
        &self.options
    }

    fn trial(&self, machine: &dyn Machine) -> Result<Trial, Refusal> {
        let (lowest, highest) = self.rate.0;
        let arrivals = self.spread.spacing();
        let arrival = Arrival::Open { curve: Curve::constant(lowest), arrivals };
        let connections = self.connections.0 as u32;
        let spare = self.spread.spare(connections, &arrival)?;
        let depth = self.options.depth.0;
        let shape = Shape {
            question: Question::Find,
            levels: vec![Level { connections, spare, depth, arrival, life: Life::default() }],
            stop: Stop::AfterNs(self.trial.0),
            visits: 1,
            repeats_max: 0,
        };
        let mut trial = trial::resolve(&self.options, shape, machine)?;
        if self.options.warmup.is_none() {
            trial.warmup = Warmup::ForNs(WARMUP_NS);
        }
        let (slo, added) = self.slo.clone().bounding_failures(ERRORS_PERCENT);
        trial.search = Some(SearchConfig {
            lowest,
            highest,
            precision: self.precision.0,
            budget_ns: self.budget.0,
            trial_ns: self.trial.0,
            answers_min: answers_min(&slo),
            confidence: CONFIDENCE,
            errors_added_percent: added.map(|term| term.bound),
        });
        trial.expect = Some(slo);
        Ok(trial)
    }
}

/// Responses that the highest percentile of an objective needs; some in any case.
fn answers_min(objective: &Objective) -> u64 {
    let percentile = objective.highest_percentile();
    let needed = percentile.map_or(0.0, |one| SAMPLES_BEYOND / (1.0 - one.quantile()));
    (needed.round() as u64).max(100)
}
