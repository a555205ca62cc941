//! `ceiling ramp URL`: a series of load levels on warm connections.

use crate::arrivals::Spread;
use crate::ask::{Ask, shown};
use crate::machine::Machine;
use crate::options::Options;
use crate::shape::Shape;
use crate::trial;
use crate::usage::{Refusal, Usage};
use crate::values::{Connections, Rates, Repeats, Time, Visits};
use clap::Args;
use model::curve::Curve;
use model::load::{Arrival, Level, Life, Question, Stop, Trial};
use model::units::Levels;

/// The first and the last level when nothing says otherwise.
const CONNECTIONS: (u64, u64) = (1, 1000);
/// How long to measure each level when nothing says otherwise, nanoseconds.
const DURATION_NS: u64 = 3_000_000_000;
/// How long at most, where the latency asks for more, nanoseconds.
const DURATION_MAX_NS: u64 = 30_000_000_000;
/// Connections of an open loop when nothing says otherwise.
const OPEN_CONNECTIONS: u32 = 50;

/// What only the long help says.
const MORE: &str = "\
Levels: 50..5k doubles, 100..10k*1.5 multiplies, 500..4k+500 adds; first and
last are visited. Or a list that rises: 100,500,1k,2k or 100,500,1k..8k.

Expectations: p50 p75 p90 p95 p99 p99_9 p99_99 mean max with < or <= and a time,
service.p99 and so on for times from send, good.p99 and so on for good responses
alone (a request without one counts as slower than all others elsewhere), errors
status.3xx status.4xx status.5xx with < or <= and a share, cpu.server cpu.client
(per response) with a time, rate, messages and events.delivery (a share) with >
or >=; first.p99, gap.p99, message.p99 and so on for times of messages (gRPC
that streams).
All must hold at every level, but the rate must be reached at one. Exit
3 when a term is missed or undecided; a measurement that is not valid exits with
4 first.

";
const EXAMPLES: &str = "\
Examples:
  ceiling ramp http://127.0.0.1:8083/read
  ceiling ramp http://127.0.0.1:8083/simple -c 10..2k*2 --cpus 1 -o ramp.html
  ceiling ramp http://127.0.0.1:8083/read -R 1k..128k*2 -c 100
  ceiling ramp http://127.0.0.1:8083/read -c 100,500,1k,2k,5k,10k
  ceiling ramp http://127.0.0.1:8083/read -c 64..256 --visits 3
  ceiling ramp http://127.0.0.1:8083/read -c 1..64 --expect 'p99<5ms,rate>=20k'";

/// Visits each number of connections in turn, or with -R each rate of an open loop; keeps
/// connections that are open, repeats a level whose throughput is not steady, and gives the ceiling
/// as a rate with an interval, or "at least" when no wall was reached.
#[derive(Debug, Args)]
#[command(mut_args(shown), after_help = EXAMPLES, after_long_help = [MORE, EXAMPLES].concat())]
pub struct Ramp {
    /// Connections of the levels [default: 1..1k*2, or 50 with -R]
    #[arg(short = 'c', long, value_name = "LEVELS")]
    connections: Option<Connections>,

    /// Open loop: visit these rates instead, requests per second
    #[arg(short = 'R', long, value_name = "LEVELS")]
    rate: Option<Rates>,

    #[command(flatten)]
    spread: Spread,

    /// How long to measure each level [default: 3s, or ten times its latency up to 30s]
    #[arg(short = 'd', long, value_name = "T")]
    duration: Option<Time>,

    /// Visits of each level; three or more on the plateau give its rate an interval at 95 %
    #[arg(long, value_name = "N", default_value = "1")]
    visits: Visits,

    /// How often a level that is not steady is repeated
    #[arg(long, value_name = "N", default_value = "2")]
    repeats: Repeats,

    #[command(flatten)]
    options: Options,
}

impl Ask for Ramp {
    fn options(&self) -> &Options {
        &self.options
    }

    fn trial(&self, machine: &dyn Machine) -> Result<Trial, Refusal> {
        let depth = self.options.depth.0;
        let level = |connections: u32, arrival: Arrival| {
            let spare = self.spread.spare(connections, &arrival)?;
            let life = Life::default();
            Ok(Level { connections, spare, depth, arrival, life })
        };
        let arrivals = self.spread.spacing(self.options.flow.as_ref());
        let open = |rate: u64| Arrival::Open { curve: Curve::constant(rate as f64), arrivals };
        let default = Levels::doubling(CONNECTIONS.0, CONNECTIONS.1);
        let levels: Result<Vec<Level>, Usage> = match (&self.connections, &self.rate) {
            (connections, None) => {
                let connections = connections.as_ref().map_or(&default, |levels| &levels.0).all();
                connections.iter().map(|count| level(*count as u32, Arrival::Closed)).collect()
            }
            (None, Some(rates)) => {
                rates.all().iter().map(|rate| level(OPEN_CONNECTIONS, open(*rate))).collect()
            }
            (Some(connections), Some(rates)) if connections.all().len() == 1 => {
                let connections = connections.highest() as u32;
                rates.all().iter().map(|rate| level(connections, open(*rate))).collect()
            }
            (Some(_), Some(_)) => {
                let text = "--connections: a ramp of rates has one number of connections; for \
                            example -R 1k..64k*2 -c 100";
                return Err(text.into());
            }
        };
        let shape = Shape {
            question: Question::Ramp,
            levels: levels?,
            stop: Stop::AfterNs(self.duration.as_ref().map_or(DURATION_NS, |time| time.0)),
            visits: self.visits.0,
            repeats_max: self.repeats.0,
            tool: None,
        };
        let mut trial = trial::resolve(&self.options, shape, machine)?;
        trial.window_max_ns = self.duration.is_none().then_some(DURATION_MAX_NS);
        Ok(trial)
    }
}
