//! `ceiling load URL`: one load level.

use crate::arrivals::{RateOptions, Spread};
use crate::ask::{Ask as Asking, shown};
use crate::machine::Machine;
use crate::options::{DriverChoice, Options};
use crate::shape::Shape;
use crate::trial;
use crate::usage::{Refusal, Usage};
use crate::values::{Capped, Count, Time, ToolName};
use clap::Args;
use model::load::{Arrival, Level, Life, Question, Stop, Trial};
use model::tool::Tool;
use tools::{Ask, Threads};

/// How long to measure when nothing says otherwise, nanoseconds.
const DURATION_NS: u64 = 10_000_000_000;
/// How long at most, where the latency asks for more, nanoseconds.
const DURATION_MAX_NS: u64 = 60_000_000_000;

/// Connections when nothing says otherwise, and users at a time where they are due at a rate.
const CONNECTIONS: u32 = 50;
const USERS_MAX: u32 = 1000;

/// What only the long help says.
const MORE: &str = "\
Expectations: p50 p75 p90 p95 p99 p99_9 p99_99 mean max with < or <= and a time,
service.p99 and so on for times from send, good.p99 and so on for good responses
alone (a request without one counts as slower than all others elsewhere), errors
status.3xx status.4xx status.5xx with < or <= and a share, cpu.server cpu.client
(per response) with a time, rate, messages and events.delivery (a share) with >
or >=; first.p99, gap.p99, message.p99 and so on for times of messages (gRPC
that streams).
Errors are requests without a good response, of all that were due. A percentile
with too few responses, or a term that cannot be known, is undecided. Exit 3
when a term is missed or undecided. Exit 4 comes first, when the rate is not
known or the generator was the wall; with --strict, when any gate failed.

";
const EXAMPLES: &str = "\
Examples:
  ceiling load http://127.0.0.1:8083/read
  ceiling load http://127.0.0.1:8083/simple -c 100 -p 16 -d 30 -L
  ceiling load http://127.0.0.1:8083/read -R 20k --arrivals poisson
  ceiling load http://127.0.0.1:8083/read --ramp 0:50k/30s -o report.html
  ceiling load http://127.0.0.1:8083/echo -b '{\"a\":1}' -n 100k --json
  ceiling load http://127.0.0.1:8083/read --expect 'p99<5ms,errors<0.1%'";

/// Closed loop: each connection sends its next request when the last response has arrived. Latency
/// counts from the send, and a slow server gets less load. With a rate (-R, --steps, --ramp,
/// --spike, --sine, --replay) open loop: requests follow a schedule that does not wait for
/// responses, latency counts from the planned time, and requests that could not be sent are
/// reported.
#[derive(Debug, Args)]
#[command(mut_args(shown), after_help = EXAMPLES, after_long_help = [MORE, EXAMPLES].concat())]
pub struct Load {
    /// Connections, kept open [default: 50]; with a rate of users, most users at a time [default:
    /// 1000]
    #[arg(short = 'c', long, value_name = "N")]
    connections: Option<Count>,

    /// How long to measure [default: 10s, or ten times the latency up to 60s, or as long as the
    /// shape of the rate]
    #[arg(short = 'd', long, value_name = "T")]
    duration: Option<Time>,

    #[command(flatten)]
    asked: RateOptions,

    #[command(flatten)]
    spread: Spread,

    /// Close a connection after this many requests and open another: N or N:M
    #[arg(long, value_name = "N[:M]")]
    requests_per_conn: Option<Capped>,

    /// Send exactly this many requests instead
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "duration")]
    requests: Option<Count>,

    /// Let another load generator make the load, under our probes: a cell of a plan asks for it
    #[arg(long, value_name = "NAME", hide = true)]
    tool: Option<ToolName>,

    #[command(flatten)]
    options: Options,
}

impl Asking for Load {
    fn options(&self) -> &Options {
        &self.options
    }

    fn trial(&self, machine: &dyn Machine) -> Result<Trial, Refusal> {
        let duration_ns = self.duration.as_ref().map_or(DURATION_NS, |time| time.0);
        let requests = self.requests.as_ref().map(|count| count.0);
        let shaped = self.asked.shape(duration_ns, requests, machine)?;
        let stop = match (&self.requests, shaped.ends_after_ns) {
            (Some(requests), None) => Stop::AfterRequests(requests.0),
            (None, None) => Stop::AfterNs(duration_ns),
            (None, Some(ns)) if self.duration.is_none() => Stop::AfterNs(ns),
            _ => {
                let option = shaped.option;
                return Err(Usage(format!(
                    "{option} has an end of its own; leave out --duration, --requests"
                ))
                .into());
            }
        };
        let is_even = shaped.curve.as_ref().is_none_or(|curve| curve.constant_rate().is_some());
        let is_auto = self.duration.is_none() && stop == Stop::AfterNs(DURATION_NS) && is_even;
        let arrival = match shaped.curve {
            Some(curve) => {
                Arrival::Open { curve, arrivals: self.spread.spacing(self.options.flow.as_ref()) }
            }
            None => Arrival::Closed,
        };
        let plans_users = arrival != Arrival::Closed && self.options.flow.is_some();
        let usual = if plans_users { USERS_MAX } else { CONNECTIONS };
        let connections = self.connections.as_ref().map_or(usual, |count| count.0 as u32);
        let depth = self.options.depth.0;
        let spare = self.spread.spare(connections, &arrival)?;
        let requests = self.requests_per_conn.as_ref().map(|range| range.0);
        let life = Life { requests, ..Life::default() };
        let shape = Shape {
            question: Question::Load,
            levels: vec![Level { connections, spare, depth, arrival, life }],
            stop,
            visits: 1,
            repeats_max: 0,
            tool: self.tool.as_ref().map(|tool| tool.0),
        };
        let mut trial = trial::resolve(&self.options, shape, machine)?;
        trial.window_max_ns = is_auto.then_some(DURATION_MAX_NS);
        match &self.tool {
            Some(tool) => Ok(by_tool(trial, tool.0, &self.options, machine)?),
            None => Ok(trial),
        }
    }
}

/// The trial, made by another tool, if that tool can make it. Threads that were not asked for are
/// as many as make exactly this load.
fn by_tool(
    trial: Trial,
    tool: Tool,
    options: &Options,
    machine: &dyn Machine,
) -> Result<Trial, Usage> {
    let peer = tools::peer(tool);
    let wrong = |why: String| Usage(format!("--tool {}: {why}", tool.name()));
    let cpus = if trial.cpus.is_empty() { machine.cpus().len() } else { trial.cpus.len() };
    without_effect(tool, options, cpus).map_or(Ok(()), |why| Err(wrong(why)))?;
    // Nothing is run here, so its files have no folder yet.
    let mut ask = Ask::of(&trial, "").map_err(wrong)?;
    if options.threads.0.is_none() && peer.threads == Threads::Asked {
        ask.threads = ask.threads_for(peer.order);
    }
    (peer.order)(&ask).map_err(wrong)?;
    let program = machine.program(tool.name());
    program.map_err(|why| wrong(format!("{why}; to get it: {}", peer.get)))?;
    let threads = match peer.threads {
        Threads::Asked => ask.threads,
        Threads::EveryCpu => cpus as u32,
    };
    Ok(Trial { tool: Some(tool), threads, window_max_ns: None, ..trial })
}

/// Why an option that was given would change nothing of what a tool with so many CPUs does.
fn without_effect(tool: Tool, options: &Options, cpus: usize) -> Option<String> {
    let name = tool.name();
    let is_other = options.threads.0.is_some_and(|threads| threads as usize != cpus);
    if is_other && tools::peer(tool).threads == Threads::EveryCpu {
        return Some(format!(
            "{name} uses every CPU that it may, {cpus} here; leave --threads out, and give it CPUs \
             with, for example, --cpus 1"
        ));
    }
    let rules = [
        (options.driver != DriverChoice::Auto, "makes its own system calls; leave --driver out"),
        (
            options.sample_failures,
            "does not keep the body of a response; leave --sample-failures out",
        ),
    ];
    let broken = rules.into_iter().find(|(is_given, _)| *is_given);
    broken.map(|(_, why)| format!("{name} {why}"))
}

#[cfg(test)]
mod tests {
    use crate::load::trial_of;
    use crate::machine::Nowhere;

    /// The threads of a trial, or why there is none. The host has one CPU.
    fn threads(words: &str) -> Result<u32, String> {
        let words = format!("load http://127.0.0.1:1/ --tool {words}");
        let words: Vec<String> = words.split(' ').map(str::to_string).collect();
        trial_of(&words, &Nowhere).map(|trial| trial.threads)
    }

    #[test]
    fn an_option_that_a_tool_would_ignore_is_refused() {
        for (words, why) in [
            ("oha -t 2", "oha uses every CPU that it may, 1 here"),
            ("k6 --threads 2", "leave --threads out"),
            ("wrk --driver epoll", "leave --driver out"),
            ("wrk --sample-failures", "leave --sample-failures out"),
            ("wrk2 -R 100 --arrivals poisson", "leave --arrivals out"),
        ] {
            let error = threads(words).unwrap_err();
            assert!(error.contains(why), "{words}: {error}");
        }
        for words in ["oha -t auto", "oha -t 1", "wrk --driver auto --keep-requests", "wrk -t 1"] {
            assert_eq!(threads(words), Ok(1), "{words}");
        }
    }

    /// Also more than we would take ourselves, and such as do not share the connections evenly.
    #[test]
    fn a_tool_gets_the_threads_that_were_typed() {
        for tool in ["wrk", "autocannon", "wrk2 -R 100"] {
            assert_eq!(threads(&format!("{tool} -c 1000 -t 120")), Ok(120));
            assert_eq!(threads(&format!("{tool} -c 10 -t 4")), Ok(4));
        }
        assert_eq!(threads("h2load -c 10 -t 4"), Ok(4), "it shares the rest out");
        let error = threads("autocannon -c 12 -t 4 -R 100").unwrap_err();
        assert!(error.contains("for example --threads 1"), "{error}");
    }
}
