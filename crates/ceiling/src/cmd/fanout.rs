//! `ceiling fanout URL`: subscribers of event streams, and writers whose requests make events.

use crate::exit::{Code, Failure};
use crate::options::{DriverChoice, Options, duration, positive};
use crate::{session, trial};
use clap::Args;
use model::curve::Curve;
use model::fanout::Fanout as Plan;
use model::load::{Arrival, Level, Life, MixTarget, Question, Request, Spacing, Stop, Trial};
use model::units::{Range, Step, parse_count, parse_rate};

/// Subscribers when nothing says otherwise.
const SUBSCRIBERS: Range = Range { first: 100, last: 100, step: Step::Times(2.0) };
/// What stands for a post's number in a path.
const POST: &str = "{post}";

/// Subscribers hold a stream of server-sent events each; writers send requests that make events.
/// The headline is events per second over all subscribers, with the share that was delivered and
/// how stale events were on arrival. Delivery needs a number `seq` in the JSON data of each event,
/// counted from 1 for each stream, and staleness `at_ns`, its Unix time in nanoseconds; without
/// them both are absent. Options about requests are about those of the writers.
#[derive(Debug, Args)]
#[command(mut_arg("url", |url| url.help(
    "Where: http[s]://HOST[:PORT][/PREFIX]; the paths of streams and writes come behind it")),
after_help = "\
Examples:
  ceiling fanout http://127.0.0.1:8083 -c 100 --posts 4 --writers 2
  ceiling fanout http://127.0.0.1:8083 -c 10..1k*10 --writers 1 --write-rate 200
  ceiling fanout http://127.0.0.1:8083 -c 50 --writers 0 --events /stream --posts 1
  ceiling fanout http://127.0.0.1:8083 -c 500 --likes '/posts/{post}/like' -o run.html")]
pub struct Fanout {
    #[command(flatten)]
    options: Options,

    /// Subscribers of the levels, spread over the posts [default: 100]
    #[arg(short = 'c', long, visible_alias = "connections", value_name = "RANGE",
          value_parser = crate::cmd::ramp::range)]
    subscribers: Option<Range>,

    /// Posts, numbered from 1: each has a stream, and writers take them in turn
    #[arg(long, value_name = "N", default_value = "1", value_parser = posts)]
    posts: u32,

    /// Connections that write; 0 when events come by themselves
    #[arg(long, value_name = "N", default_value = "1", value_parser = writers)]
    writers: u32,

    /// Open loop: writes per second over all writers
    #[arg(long, value_name = "X", value_parser = write_rate)]
    write_rate: Option<f64>,

    /// Path of a post's stream
    #[arg(long, value_name = "PATH", default_value = "/events/{post}", value_parser = path)]
    events: String,

    /// Path that writers send POST to
    #[arg(long, value_name = "PATH", default_value = "/like/{post}", value_parser = path)]
    likes: String,

    /// How long to measure each level
    #[arg(short = 'd', long, value_name = "T", default_value = "10s", value_parser = duration)]
    duration: u64,
}

fn posts(text: &str) -> Result<u32, String> {
    let posts = positive(text)?;
    let error = || format!("'{text}' is more posts than can be told apart, 1M; for example 100");
    if posts <= 1_000_000 { Ok(posts as u32) } else { Err(error()) }
}

fn writers(text: &str) -> Result<u32, String> {
    let error = || format!("'{text}' is not a number of writers from 0 to 1M; for example 4");
    let writers = parse_count(text).map_err(|_| error())?;
    if writers <= 1_000_000 { Ok(writers as u32) } else { Err(error()) }
}

fn write_rate(text: &str) -> Result<f64, String> {
    parse_rate(text).map_err(|error| error.to_string())
}

fn path(text: &str) -> Result<String, String> {
    let is_path = text.starts_with('/') && text.bytes().all(|byte| byte > b' ' && byte != 0x7f);
    if is_path {
        return Ok(text.to_string());
    }
    Err(format!("'{text}' is not a path that begins with /; for example /events/{POST}"))
}

pub fn run(command: Fanout) -> Result<Code, Failure> {
    check(&command)?;
    let arrival = match command.write_rate {
        Some(rate) => Arrival::Open { curve: Curve::constant(rate), arrivals: Spacing::Fixed },
        None => Arrival::Closed,
    };
    let depth = command.options.depth;
    let level = |connections: u64| Level {
        connections: connections as u32,
        spare: 0,
        depth,
        arrival: arrival.clone(),
        life: Life::default(),
    };
    let shape = trial::Shape {
        question: Question::Fanout,
        levels: command
            .subscribers
            .unwrap_or(SUBSCRIBERS)
            .levels()
            .into_iter()
            .map(level)
            .collect(),
        stop: Stop::AfterNs(command.duration),
        visits: 1,
        repeats_max: 0,
    };
    let mut trial = trial::resolve(&command.options, shape)?;
    spread(&mut trial, &command);
    session::run(&trial, &command.options)
}

/// Options that go together badly.
fn check(command: &Fanout) -> Result<(), Failure> {
    let refuse = |text: &str| Err(Failure::Usage(text.to_string()));
    let options = &command.options;
    if options.targets.is_some() || options.expand.is_some() {
        return refuse("fanout has one request for each post; --likes PATH says which, not -i");
    }
    if options.driver == DriverChoice::Null {
        return refuse("--driver null has no server that sends events; use --driver auto");
    }
    if command.write_rate.is_some() && command.writers == 0 {
        return refuse("--write-rate needs connections to write on; for example --writers 4");
    }
    for (option, path) in [("--events", &command.events), ("--likes", &command.likes)] {
        if command.posts > 1 && !path.contains(POST) {
            return Err(Failure::Usage(format!(
                "{option} {path}: {} posts need a path each; for example {option} '{path}/{POST}'",
                command.posts
            )));
        }
    }
    Ok(())
}

/// Makes one stream and one write for each post of the request that the options describe.
fn spread(trial: &mut Trial, command: &Fanout) {
    let Some(typed) = trial.requests.first().cloned() else { return };
    let prefix = typed.path.split('?').next().unwrap_or_default().trim_end_matches('/');
    let of = |path: &str, post: u32| format!("{prefix}{}", path.replace(POST, &post.to_string()));
    let method = command.options.method.clone().unwrap_or_else(|| "POST".to_string());
    let write =
        |post| Request { method: method.clone(), path: of(&command.likes, post), ..typed.clone() };
    let mut headers = typed.headers.clone();
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("accept")) {
        headers.push(("Accept".to_string(), "text/event-stream".to_string()));
    }
    let stream = |post| Request {
        method: "GET".to_string(),
        path: of(&command.events, post),
        headers: headers.clone(),
        body: Vec::new(),
        ..typed.clone()
    };
    let (posts, writers) = (1..=command.posts, command.writers);
    trial.fanout = Some(Plan { streams: posts.clone().map(stream).collect(), writers });
    trial.requests = posts.map(write).collect();
    let checks = trial.targets.first().map(|target| target.checks.clone()).unwrap_or_default();
    let name = format!("{method} {}", command.likes);
    trial.targets = vec![MixTarget { name, weight: 1, checks }];
}
