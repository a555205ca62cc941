//! `ceiling churn URL`: connections that come and go, or are held in mass.

use crate::arrivals::Arrivals;
use crate::ask::{Ask, shown};
use crate::machine::Machine;
use crate::options::Options;
use crate::shape::Shape;
use crate::trial;
use crate::usage::Refusal;
use crate::values::{Connections, HoldTime, PerConnection, Rates, Time};
use clap::Args;
use model::curve::Curve;
use model::load::{Arrival, Hold, Level, Life, Question, Spacing, Stop, Trial};
use model::units::Levels;

/// Devices started per second when nothing says how long their ramp-up takes.
const STARTS_PER_S: u64 = 5_000;
/// Devices when nothing says otherwise.
const DEVICES: u64 = 1000;
/// How long connections of an open loop rise to their rate when they are not held, nanoseconds.
const RISE_NS: u64 = 1_000_000_000;
/// How long a connection of an open loop may take to open before it finds no device, seconds: a
/// lost SYN is sent again after one.
const OPENING_S: f64 = 1.5;

/// Clients open a connection, send their requests (an http URL: one, a tcp URL: none), hold the
/// connection, close it and start again. The headline is connections per second with the time to
/// connect; with --hold forever it is how many are held and what each costs. Starts are spread over
/// the ramp-up; the measured window is the time between ramp-up and ramp-down, and the record and
/// the page have every second from the first connection to the last.
///
/// With -c the loop is closed: a device that waits for its connection starts no other. With -R it
/// is open: connections are due on a schedule, the time to connect counts from the planned instant,
/// and connections that found no free device are reported. Several levels are visited one after
/// the other and give a ceiling in connections per second.
#[derive(Debug, Args)]
#[command(mut_args(shown), mut_arg("url", |url| url.help(
    "Where: tcp://HOST:PORT for bare connections, or http://HOST[:PORT][/PATH] with a request on \
     each; with --targets, the server of their paths")),
after_help = "\
Examples:
  ceiling churn tcp://127.0.0.1:8083 --devices 2k --hold 1s±5%
  ceiling churn http://127.0.0.1:8083/simple --devices 100 --hold 0
  ceiling churn http://127.0.0.1:8083/read -c 500 --requests-per-conn 10 --hold 0
  ceiling churn tcp://127.0.0.1:8083 -c 1k..16k*2 --hold 1s±5%
  ceiling churn tcp://127.0.0.1:8083 -R 1k,2k,5k --hold 100ms --arrivals poisson
  ceiling churn tcp://127.0.0.1:8083 --hold forever -c 15k --source auto")]
pub struct Churn {
    /// Clients of the levels: each has one connection at a time [default: 1000, or with -R as many
    /// as the rate and the hold need]
    #[arg(short = 'c', long, visible_alias = "connections", value_name = "LEVELS")]
    devices: Option<Connections>,

    /// Open loop: connections per second of the levels
    #[arg(short = 'R', long, value_name = "LEVELS")]
    rate: Option<Rates>,

    /// Gaps between due connections in open loop [default: fixed]
    #[arg(long, value_name = "SPREAD", requires = "rate")]
    arrivals: Option<Arrivals>,

    /// How long a client holds its connection: 1s, 1s±5% (or 1s+-5%), 0 or forever
    #[arg(long, value_name = "T", default_value = "1s±5%")]
    hold: HoldTime,

    /// Requests on each connection: N or N:M [default: 1 with http, 0 with tcp]
    #[arg(long, value_name = "N[:M]")]
    requests_per_conn: Option<PerConnection>,

    /// Time over which clients are started, or the rate rises [default: as long as they hold, or
    /// 5000 per second]
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
        let hold = self.hold.0;
        let requests = requests(self.requests_per_conn.as_ref(), url, hold)?;
        let levels = self.levels(hold)?;
        let levels = levels.into_iter().map(|(devices, arrival)| {
            let ramp_up_ns = self.ramp_up_ns(hold, devices, &arrival);
            let life = Life {
                requests: Some(requests),
                // Without a hold the requests alone end a connection, at once.
                hold: Some(hold),
                ramp_up_ns,
                ramp_down_ns: self.ramp_down.as_ref().map_or(ramp_up_ns, |time| time.0),
            };
            let depth = self.options.depth.0;
            Level { connections: devices as u32, spare: 0, depth, arrival, life }
        });
        let shape = Shape {
            question: Question::Churn,
            levels: levels.collect(),
            stop: Stop::AfterNs(self.duration.0),
            visits: 1,
            repeats_max: 0,
            tool: None,
        };
        trial::resolve(&self.options, shape, machine)
    }
}

impl Churn {
    /// Devices of each level, and when their connections start.
    fn levels(&self, hold: Hold) -> Result<Vec<(u64, Arrival)>, Refusal> {
        let usage = |text: &str| Err(Refusal::from(text));
        let Some(rates) = &self.rate else {
            let default = Levels::doubling(DEVICES, DEVICES);
            let devices = self.devices.as_ref().map_or(&default, |devices| &devices.0).all();
            return Ok(devices.iter().map(|devices| (*devices, Arrival::Closed)).collect());
        };
        let Hold::For { .. } = hold else {
            return usage(
                "--rate: connections that are held forever do not come at a rate; for example -R \
                 1k --hold 100ms",
            );
        };
        if self.devices.as_ref().is_some_and(|devices| devices.all().len() > 1) {
            return usage(
                "--devices: a series of rates has one number of devices, the most at a time; for \
                 example -R 1k..16k*2 -c 20k",
            );
        }
        let arrivals = self.arrivals.map_or(Spacing::Fixed, Arrivals::spacing);
        let level = |rate: &u64| {
            let rate = *rate as f64;
            let devices = self
                .devices
                .as_ref()
                .map_or_else(|| devices_needed(rate, hold), |devices| devices.highest());
            (devices, Arrival::Open { curve: Curve::constant(rate), arrivals })
        };
        Ok(rates.all().iter().map(level).collect())
    }

    fn ramp_up_ns(&self, hold: Hold, devices: u64, arrival: &Arrival) -> u64 {
        let by_itself = match hold {
            Hold::For { ns, .. } if ns > 0 => ns,
            _ if *arrival != Arrival::Closed => RISE_NS,
            Hold::For { .. } | Hold::Forever => devices * 1_000_000_000 / STARTS_PER_S,
        };
        self.ramp_up.as_ref().map_or(by_itself, |time| time.0)
    }
}

/// Requests on each connection, as given or by default for the scheme of the URL.
pub(super) fn requests(
    asked: Option<&PerConnection>,
    url: &str,
    hold: Hold,
) -> Result<(u32, u32), Refusal> {
    let is_tcp = url.to_ascii_lowercase().starts_with("tcp:");
    let requests = match asked.map(|range| range.0) {
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
    Ok(requests)
}

/// Devices that a rate needs at a time with this hold, with some for connections that are being
/// opened.
fn devices_needed(rate: f64, hold: Hold) -> u64 {
    let held_s = match hold {
        Hold::For { ns, jitter } => ns as f64 / 1e9 * (1.0 + jitter),
        Hold::Forever => 0.0,
    };
    let devices = (rate * (held_s + OPENING_S)).ceil();
    (devices as u64).clamp(1, u64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::trial_of;
    use crate::machine::Nowhere;
    use clap::Parser;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        churn: Churn,
    }

    fn levels(words: &[&str]) -> Vec<Level> {
        let url = ["ceiling", "tcp://127.0.0.1:1"];
        let asked = Words::try_parse_from([&url[..], words].concat()).unwrap().churn;
        asked.trial(&Nowhere).unwrap_or_else(|_| panic!("{words:?}")).levels
    }

    #[test]
    fn devices_are_levels_of_a_closed_loop() {
        let levels = levels(&["-c", "10,100..200", "--hold", "forever"]);
        let devices: Vec<_> = levels.iter().map(|level| level.connections).collect();
        assert_eq!(devices, [10, 100, 200]);
        assert!(levels.iter().all(|level| level.arrival == Arrival::Closed));
        // 5000 per second, unless they are held for a while.
        assert_eq!(levels[2].life.ramp_up_ns, 40_000_000);
        assert_eq!(levels[2].life.ramp_down_ns, 40_000_000);
    }

    /// They were accepted, and nothing of them was sent.
    #[test]
    fn options_about_requests_are_refused_where_there_are_none() {
        let options = [
            "-H=Accept:a/b",
            "--secret-header=x-mine",
            "-X=PUT",
            "-b=text",
            "-p=8",
            "--check-status=200",
            "--check-length=5",
            "--check-body=ok",
            "--sample-failures",
            "--keep-requests",
        ];
        for (command, words) in
            [("churn", &[][..]), ("find", &["--hold", "100ms", "--slo", "connect.p99<5ms"])]
        {
            let asked = |url: &[&str], option: Option<&str>| {
                let words = [&[command][..], url, words, option.as_slice()].concat();
                let words: Vec<String> = words.into_iter().map(String::from).collect();
                trial_of(&words, &Nowhere).map(|trial| trial.url)
            };
            let (tcp, http) = (["tcp://127.0.0.1:1"], ["http://127.0.0.1:1"]);
            let none_sent = ["http://127.0.0.1:1", "--requests-per-conn=0"];
            assert!(asked(&none_sent, None).is_ok(), "{command}");
            assert!(asked(&tcp, None).is_ok() && asked(&tcp, Some("-p=1")).is_ok(), "{command}");
            for option in options {
                let why = asked(&tcp, Some(option)).unwrap_err();
                for part in [" is about requests, which tcp://127.0.0.1:1 does", "for example http"]
                {
                    assert!(why.contains(part), "{command} {option}: {why}");
                }
                assert!(asked(&http, Some(option)).is_ok(), "{command} {option}");
                let why = asked(&none_sent, Some(option)).unwrap_err();
                let end =
                    "requests, and --requests-per-conn 0 sends none; leave one of the two out";
                assert!(why.ends_with(end), "{command} {option}: {why}");
            }
        }
    }

    #[test]
    fn a_rate_takes_as_many_devices_as_it_needs() {
        let asked = levels(&["-R", "1k,4k", "--hold", "500ms+-20%", "--arrivals", "poisson"]);
        let devices: Vec<_> = asked.iter().map(|level| level.connections).collect();
        // Held up to 0.6 s, and 1.5 s to open.
        assert_eq!(devices, [2100, 8400]);
        assert!(asked.iter().all(Level::plans_starts));
        let Arrival::Open { curve, arrivals } = &asked[1].arrival else { panic!("{asked:?}") };
        assert_eq!((curve.constant_rate(), *arrivals), (Some(4000.0), Spacing::Poisson));
        assert_eq!(asked[0].life.ramp_up_ns, 500_000_000, "as long as they hold");
        let few = levels(&["-R", "100", "-c", "7", "--hold", "1s", "--ramp-up", "15m"]);
        assert_eq!((few[0].connections, few[0].life.ramp_up_ns), (7, 900_000_000_000));
    }
}
