//! `ceiling churn URL`: connections that come and go, or are held in mass.

use crate::ask::Ask;
use crate::machine::Machine;
use crate::options::Options;
use crate::shape::Shape;
use crate::trial;
use crate::usage::Refusal;
use crate::values::{Count, HoldTime, PerConnection, Time};
use clap::Args;
use model::load::{Arrival, Hold, Level, Life, Question, Stop, Trial};

/// Devices started per second when nothing says how long their ramp-up takes.
const STARTS_PER_S: u64 = 5_000;

/// Clients open a connection, send their requests (an http URL: one, a tcp URL: none), hold the
/// connection, close it and start again. The headline is connections per second with the time to
/// connect; with --hold forever it is how many are held and what each costs. Starts are spread over
/// the ramp-up; the measured window is the time between ramp-up and ramp-down.
#[derive(Debug, Args)]
#[command(mut_arg("url", |url| url.help(
    "Where: tcp://HOST:PORT for bare connections, or http://HOST[:PORT][/PATH] with a request on \
     each; with --targets, the server of their paths")),
after_help = "\
Examples:
  ceiling churn tcp://127.0.0.1:8083 --devices 2k --hold 1s±5%
  ceiling churn http://127.0.0.1:8083/simple --devices 100 --hold 0
  ceiling churn http://127.0.0.1:8083/read -c 500 --requests-per-conn 10 --hold 0
  ceiling churn tcp://127.0.0.1:8083 --hold forever -c 15k --source auto")]
pub struct Churn {
    /// Clients: each has one connection at a time
    #[arg(
        short = 'c',
        long,
        visible_alias = "connections",
        value_name = "N",
        default_value = "1000"
    )]
    devices: Count,

    /// How long a client holds its connection: 1s, 1s±5% (or 1s+-5%), 0 or forever
    #[arg(long, value_name = "T", default_value = "1s±5%")]
    hold: HoldTime,

    /// Requests on each connection: N or N:M [default: 1 with http, 0 with tcp]
    #[arg(long, value_name = "N[:M]")]
    requests_per_conn: Option<PerConnection>,

    /// Time over which clients are started [default: as long as they hold, or 5000 per second]
    #[arg(long, value_name = "T")]
    ramp_up: Option<Time>,

    /// Time over which clients end [default: as long as the ramp-up]
    #[arg(long, value_name = "T")]
    ramp_down: Option<Time>,

    /// How long to measure between ramp-up and ramp-down
    #[arg(short = 'd', long, value_name = "T", default_value = "10s")]
    duration: Time,

    #[command(flatten)]
    options: Options,
}

impl Ask for Churn {
    fn options(&self) -> &Options {
        &self.options
    }

    fn trial(&self, machine: &dyn Machine) -> Result<Trial, Refusal> {
        let url = self.options.url.as_ref().map_or("", |url| url.0.as_str());
        let is_tcp = url.to_ascii_lowercase().starts_with("tcp:");
        let (devices, hold) = (self.devices.0, self.hold.0);
        let requests = match self.requests_per_conn.as_ref().map(|range| range.0) {
            None if is_tcp => (0, 0),
            None => (1, 1),
            Some((_, 1..)) if is_tcp => {
                let text = "--requests-per-conn: a tcp URL has no requests; use an http URL";
                return Err(text.into());
            }
            Some(requests) => requests,
        };
        if let (Hold::For { ns: 0, .. }, (0, _)) = (hold, requests) {
            let text = "--hold: a connection without requests must be held for a while, or it is \
                        closed before the server sees it; for example --hold 100ms";
            return Err(text.into());
        }
        let ramp_up_ns = self.ramp_up.as_ref().map_or(
            match hold {
                Hold::For { ns, .. } if ns > 0 => ns,
                Hold::For { .. } | Hold::Forever => devices * 1_000_000_000 / STARTS_PER_S,
            },
            |time| time.0,
        );
        let life = Life {
            requests: Some(requests),
            // Without a hold the requests alone end a connection, at once.
            hold: Some(hold),
            ramp_up_ns,
            ramp_down_ns: self.ramp_down.as_ref().map_or(ramp_up_ns, |time| time.0),
        };
        let level = Level {
            connections: devices as u32,
            spare: 0,
            depth: self.options.depth.0,
            arrival: Arrival::Closed,
            life,
        };
        let shape = Shape {
            question: Question::Churn,
            levels: vec![level],
            stop: Stop::AfterNs(self.duration.0),
            visits: 1,
            repeats_max: 0,
        };
        trial::resolve(&self.options, shape, machine)
    }
}
