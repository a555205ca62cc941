//! `ceiling churn URL`: connections that come and go, or are held in mass.

use crate::exit::{Code, Failure};
use crate::options::{Options, duration, positive};
use crate::{session, trial};
use clap::Args;
use model::load::{Arrival, Hold, Level, Life, Question, Stop};
use model::units::{parse_count, parse_duration_ns};

/// Devices started per second when nothing says how long their ramp-up takes.
const STARTS_PER_S: u64 = 5_000;

/// Devices open a connection, send their requests (an http URL: one, a tcp URL: none), hold the
/// connection, close it and begin anew. The headline is connections per second with the time to
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
    #[command(flatten)]
    options: Options,

    /// Devices: each has one connection at a time
    #[arg(short = 'c', long, visible_alias = "connections", value_name = "N",
          default_value = "1000", value_parser = positive)]
    devices: u64,

    /// How long a device holds its connection: 1s, 1s±5% (or 1s+-5%), 0 or forever
    #[arg(long, value_name = "T", default_value = "1s±5%", value_parser = hold)]
    hold: Hold,

    /// Requests on each connection: N or N:M [default: 1 with http, 0 with tcp]
    #[arg(long, value_name = "N[:M]", value_parser = requests)]
    requests_per_conn: Option<(u32, u32)>,

    /// How long devices are started [default: as long as they hold, or 5000 per second]
    #[arg(long, value_name = "T", value_parser = duration)]
    ramp_up: Option<u64>,

    /// How long devices are ended [default: as long as the ramp-up]
    #[arg(long, value_name = "T", value_parser = duration)]
    ramp_down: Option<u64>,

    /// How long to measure between ramp-up and ramp-down
    #[arg(short = 'd', long, value_name = "T", default_value = "10s", value_parser = duration)]
    duration: u64,
}

/// A hold: `forever`, a time, or a time with a share around it.
fn hold(text: &str) -> Result<Hold, String> {
    let error = || {
        format!(
            "'{text}' is not how long to hold: forever, a time, or a time and a share around it; \
             for example 1s±5%"
        )
    };
    if text == "forever" {
        return Ok(Hold::Forever);
    }
    let (time, share) = match text.split_once('±').or_else(|| text.split_once("+-")) {
        Some((time, share)) => (time, share.strip_suffix('%').ok_or_else(error)?),
        None => (text, "0"),
    };
    let ns = parse_duration_ns(time).map_err(|_| error())?;
    let percent: f64 = share.trim().parse().map_err(|_| error())?;
    if !(0.0..=100.0).contains(&percent) {
        return Err(error());
    }
    Ok(Hold::For { ns, jitter: percent / 100.0 })
}

/// A number of requests or a range of them: `1`, `100:200`.
pub fn requests(text: &str) -> Result<(u32, u32), String> {
    let error = || format!("'{text}' is not a number of requests or two of them; for example 1:10");
    let (least, most) = text.split_once(':').unwrap_or((text, text));
    let count = |text| parse_count(text).ok().and_then(|count| u32::try_from(count).ok());
    match (count(least), count(most)) {
        (Some(least), Some(most)) if least <= most && most < u32::MAX => Ok((least, most)),
        _ => Err(error()),
    }
}

pub fn run(command: Churn) -> Result<Code, Failure> {
    let url = command.options.url.as_deref().unwrap_or_default();
    let is_tcp = url.to_ascii_lowercase().starts_with("tcp:");
    let requests = match command.requests_per_conn {
        None if is_tcp => (0, 0),
        None => (1, 1),
        Some((_, 1..)) if is_tcp => {
            let text = "--requests-per-conn: a tcp URL has no requests; use an http URL";
            return Err(Failure::Usage(text.to_string()));
        }
        Some(requests) => requests,
    };
    if let (Hold::For { ns: 0, .. }, (0, _)) = (command.hold, requests) {
        let text = "--hold: a connection without requests must be held for a while, or it is \
                    closed before the server sees it; for example --hold 100ms";
        return Err(Failure::Usage(text.to_string()));
    }
    let ramp_up_ns = command.ramp_up.unwrap_or(match command.hold {
        Hold::For { ns, .. } if ns > 0 => ns,
        Hold::For { .. } | Hold::Forever => command.devices * 1_000_000_000 / STARTS_PER_S,
    });
    let life = Life {
        requests: Some(requests),
        // Without a hold the requests alone end a connection, at once.
        hold: Some(command.hold),
        ramp_up_ns,
        ramp_down_ns: command.ramp_down.unwrap_or(ramp_up_ns),
    };
    let level = Level {
        connections: command.devices as u32,
        spare: 0,
        depth: command.options.depth,
        arrival: Arrival::Closed,
        life,
    };
    let shape = trial::Shape {
        question: Question::Churn,
        levels: vec![level],
        stop: Stop::AfterNs(command.duration),
        visits: 1,
        repeats_max: 0,
    };
    let trial = trial::resolve(&command.options, shape)?;
    session::run(&trial, &command.options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_are_read() {
        assert_eq!(hold("forever"), Ok(Hold::Forever));
        assert_eq!(hold("2s"), Ok(Hold::For { ns: 2_000_000_000, jitter: 0.0 }));
        for text in ["1s±5%", "1s+-5%"] {
            assert_eq!(hold(text), Ok(Hold::For { ns: 1_000_000_000, jitter: 0.05 }), "{text}");
        }
        for text in ["", "x", "1s±", "1s±5", "1s±500%", "±5%"] {
            let error = hold(text).unwrap_err();
            assert!(error.contains("for example"), "{text}: {error}");
        }
    }

    #[test]
    fn requests_are_a_number_or_two() {
        assert_eq!((requests("1"), requests("1:1k")), (Ok((1, 1)), Ok((1, 1000))));
        for text in ["", "-1", "5:1", "1:", "1:2:3"] {
            assert!(requests(text).is_err(), "{text}");
        }
    }
}
