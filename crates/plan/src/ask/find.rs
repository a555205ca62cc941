//! `ceiling find URL --slo TERMS`: the highest rate that holds an objective.

use crate::arrivals::Spread;
use crate::ask::{Ask, churn, shown};
use crate::machine::Machine;
use crate::options::Options;
use crate::shape::Shape;
use crate::trial;
use crate::usage::Refusal;
use crate::values::{Count, HoldTime, PerConnection, RateBounds, Share, Time};
use clap::Args;
use model::curve::Curve;
use model::figure::Statistic;
use model::histogram::SAMPLES_BEYOND;
use model::load::{Arrival, Hold, Level, Life, Question, Stop, Trial, Warmup};
use model::objective::Objective;
use model::search::SearchConfig;

/// Warm-up of a trial when nothing says otherwise, nanoseconds: the target is warm from the trial
/// before.
const WARMUP_NS: u64 = 300_000_000;
/// Connections when nothing says otherwise.
const CONNECTIONS: u32 = 100;
/// Connections at a time that come and go, when nothing says otherwise.
const DEVICES: u32 = 1000;
/// How sure it must be that a rate holds or misses.
const CONFIDENCE: f64 = 0.95;
/// Errors allowed when the objective does not bound them, in percent.
const ERRORS_PERCENT: f64 = 1.0;

/// What only the long help says.
const MORE: &str = "\
Terms: p50 p75 p90 p95 p99 p99_9 p99_99 mean max with < or <= and a time (from
the planned instant; service.p99 and so on from send), errors status.3xx
status.4xx status.5xx with < or <= and a share, cpu.server cpu.client (per
response) with a time, rate with > or >=. A request
without a good response counts as slower than all others; good.p99 and so on
are of good responses alone; connect.p99 and so on are times to connect.
errors<1% is added when no term bounds errors, a status or the rate.

A rate that needs more connections than -c misses for want of them: latency
counts from the planned instant, also while a request waits for a connection.
With --hold connections are due instead, as in churn -R: their time to
connect counts from the planned instant, and errors count connections that were
never open as well as requests without a good response.

Exit 0 with a result, 3 when no rate was shown to hold, 4 when no trial could
decide, or the generator was late and missed before the target did; with
--strict, also when a gate of the trial with the result failed.

";
const EXAMPLES: &str = "\
Examples:
  ceiling find http://127.0.0.1:8083/read --slo 'p99<2ms,errors<0.1%'
  ceiling find http://127.0.0.1:8083/read --slo 'p99_9<20ms' -R 1k..50k \\
    --budget 5m --arrivals poisson -c 200 -o find.html
  ceiling find tcp://127.0.0.1:8083 --hold 100ms --slo 'connect.p99<5ms'";

/// Open loop of requests, or with --hold of connections. The rate doubles until the objective is
/// missed, then the interval between a rate that holds and one that misses is halved, with trials
/// that grow longer; both ends are repeated until it is sure of them, and finally a run 5 % below
/// must hold and one 5 % above must miss.
#[derive(Debug, Args)]
#[command(mut_args(shown), after_help = EXAMPLES, after_long_help = [MORE, EXAMPLES].concat())]
pub struct Find {
    /// What must hold: 'p99<2ms,errors<0.1%'
    #[arg(long, value_name = "TERMS", conflicts_with = "expect")]
    slo: Objective,

    /// Rates to search between, requests (with --hold connections) per second; the search starts at
    /// the lowest
    #[arg(short = 'R', long, value_name = "LO..HI", default_value = "100..1M")]
    rate: RateBounds,

    /// Connections, kept open [default: 100]; with --hold the most at a time [default: 1000]
    #[arg(short = 'c', long, value_name = "N")]
    connections: Option<Count>,

    /// Search connections per second: each is held for T and closed
    #[arg(long, value_name = "T", conflicts_with = "max_connections")]
    hold: Option<HoldTime>,

    /// With --hold: requests on each connection, N or N:M [default: 1 with http, 0 with tcp]
    #[arg(long, value_name = "N[:M]", requires = "hold")]
    requests_per_conn: Option<PerConnection>,

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
        let arrivals = self.spread.spacing(self.options.flow.as_ref());
        let arrival = Arrival::Open { curve: Curve::constant(lowest), arrivals };
        let life = self.life()?;
        let by_itself = if life.hold.is_some() { DEVICES } else { CONNECTIONS };
        let connections = self.connections.as_ref().map_or(by_itself, |count| count.0 as u32);
        let spare = self.spread.spare(connections, &arrival)?;
        let depth = self.options.depth.0;
        let shape = Shape {
            question: Question::Find,
            levels: vec![Level { connections, spare, depth, arrival, life }],
            stop: Stop::AfterNs(self.trial.0),
            visits: 1,
            repeats_max: 0,
            tool: None,
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

impl Find {
    /// The life of connections that come and go when those are searched, else of those that stay.
    fn life(&self) -> Result<Life, Refusal> {
        let Some(HoldTime(hold)) = self.hold else { return Ok(Life::default()) };
        let Hold::For { ns, .. } = hold else {
            let text = "--hold: connections that are held forever do not come at a rate; for \
                        example --hold 100ms";
            return Err(text.into());
        };
        let url = self.options.url.as_ref().map_or("", |url| url.0.as_str());
        let requests = churn::requests(self.requests_per_conn.as_ref(), url, hold)?;
        // As many close as open when a trial starts.
        Ok(Life { requests: Some(requests), hold: Some(hold), ramp_up_ns: ns, ramp_down_ns: 0 })
    }
}

/// Responses that the highest percentile of an objective needs, and at least 100.
fn answers_min(objective: &Objective) -> u64 {
    let percentile = objective.highest_percentile();
    let needed =
        percentile.and_then(Statistic::quantile).map_or(0.0, |one| SAMPLES_BEYOND / (1.0 - one));
    (needed.round() as u64).max(100)
}

#[cfg(test)]
mod tests {
    use crate::load::trial_of;
    use crate::machine::Nowhere;

    /// With --hold connections are due: for each that waited, one more was opened besides.
    #[test]
    fn connections_that_are_due_have_no_spare_ones() {
        let asked = |words: &str| {
            let words = format!("find tcp://127.0.0.1:1 --slo connect.p99<5ms {words}");
            let words: Vec<String> = words.split(' ').map(str::to_string).collect();
            trial_of(&words, &Nowhere).map(|trial| trial.levels[0].connections_max())
        };
        assert_eq!(asked("--hold 100ms -c 70"), Ok(70));
        let why = asked("--hold 100ms -c 70 --max-connections 500").unwrap_err();
        assert!(why.contains("--hold") && why.contains("--max-connections"), "{why}");
    }
}
