//! `ceiling fanout URL`: subscribers of event streams, and writers whose requests make events.

use crate::ask::{Ask, shown};
use crate::machine::Machine;
use crate::options::{DriverChoice, Options};
use crate::requests;
use crate::shape::Shape;
use crate::trial;
use crate::usage::{Refusal, Usage};
use crate::values::{Connections, Rate, StreamPath, Streams, Time, Writers};
use clap::Args;
use model::curve::Curve;
use model::load::Fanout as FanoutPlan;
use model::load::{Arrival, Level, Life, MixTarget, Question, Request, Spacing, Stop, Trial};
use model::option::{self, About};

/// Subscribers when nothing says otherwise.
const SUBSCRIBERS: &[u64] = &[100];
/// What stands for a stream's number in a path, and its old name.
const STREAM: [&str; 2] = ["{stream}", "{post}"];

/// Subscribers hold a stream of server-sent events each; writers send requests that make events.
/// The headline is events per second over all subscribers, with the share that was delivered and
/// how old events were on arrival. Delivery needs a number `seq` in the JSON data of each event,
/// counted from 1 for each stream, and staleness `at_ns`, its Unix time in nanoseconds; without
/// them both are absent. Options about requests are about those of the writers.
#[derive(Debug, Args)]
#[command(mut_args(shown), mut_arg("url", |url| url.help(
    "Where: http[s]://HOST[:PORT][/PREFIX]; the paths of streams and writes are appended to it")),
after_help = "\
Examples:
  ceiling fanout http://127.0.0.1:8083 -c 100 --streams 4 --writers 2
  ceiling fanout http://127.0.0.1:8083 -c 10..1k*10 --writers 1 --write-rate 200
  ceiling fanout http://127.0.0.1:8083 -c 50 --writers 0 --events /stream --streams 1
  ceiling fanout http://127.0.0.1:8083 -c 500 --write-path '/posts/{stream}/like' -o run.html")]
pub struct Fanout {
    /// Subscribers of the levels, spread over the streams [default: 100]
    #[arg(short = 'c', long, visible_alias = "connections", value_name = "LEVELS")]
    subscribers: Option<Connections>,

    /// Streams, numbered from 1; writers write to them in turn
    #[arg(long, value_name = "N", default_value = "1")]
    streams: Streams,

    /// Connections that write; 0 when events come by themselves
    #[arg(long, value_name = "N", default_value = "1")]
    writers: Writers,

    /// Open loop: writes per second over all writers
    #[arg(long, value_name = "X")]
    write_rate: Option<Rate>,

    /// Path of a stream
    #[arg(long, value_name = "PATH", default_value = "/events/{stream}")]
    events: StreamPath,

    /// Path that writers send POST to
    #[arg(long, value_name = "PATH", default_value = "/like/{stream}")]
    write_path: StreamPath,

    /// How long to measure each level
    #[arg(short = 'd', long, value_name = "T", default_value = "10s")]
    duration: Time,

    #[command(flatten)]
    options: Options,
}

impl Ask for Fanout {
    fn options(&self) -> &Options {
        &self.options
    }

    fn trial(&self, machine: &dyn Machine) -> Result<Trial, Refusal> {
        check(self)?;
        let arrival = match &self.write_rate {
            Some(Rate(rate)) => {
                Arrival::Open { curve: Curve::constant(*rate), arrivals: Spacing::Fixed }
            }
            None => Arrival::Closed,
        };
        let depth = self.options.depth.0;
        let level = |connections: u64| {
            let (connections, arrival, life) =
                (connections as u32, arrival.clone(), Life::default());
            Level { connections, spare: 0, depth, arrival, life }
        };
        let subscribers = self.subscribers.as_ref().map_or(SUBSCRIBERS, |levels| levels.all());
        let shape = Shape {
            question: Question::Fanout,
            levels: subscribers.iter().copied().map(level).collect(),
            stop: Stop::AfterNs(self.duration.0),
            visits: 1,
            repeats_max: 0,
            tool: None,
        };
        let mut trial = trial::resolve(&self.options, shape, machine)?;
        spread(&mut trial, self);
        Ok(trial)
    }
}

/// Refuses options that do not go together.
fn check(command: &Fanout) -> Result<(), Usage> {
    let refuse = |text: &str| Err(Usage(text.to_string()));
    let options = &command.options;
    if options.targets.is_some() || options.expand.is_some() {
        return refuse(
            "fanout sends one request for each write; --write-path PATH says which, not -i",
        );
    }
    if options.driver == DriverChoice::Null {
        return refuse("--driver null has no server that sends events; use --driver auto");
    }
    if command.write_rate.is_some() && command.writers.0 == 0 {
        return refuse("--write-rate needs connections to write on; for example --writers 4");
    }
    let is_of_all =
        |word: &&str| option::typed(word).is_some_and(|facts| facts.about == About::AllRequests);
    let of_writers = requests::given(options).find(|word| !is_of_all(word));
    if let (0, Some(option)) = (command.writers.0, of_writers) {
        return Err(Usage(format!(
            "{option} is about the requests of writers, and --writers 0 has none; leave it out, or \
             use, for example, --writers 1"
        )));
    }
    for (option, path) in [("--events", &command.events.0), ("--write-path", &command.write_path.0)]
    {
        if command.streams.0 > 1 && !STREAM.iter().any(|name| path.contains(name)) {
            return Err(Usage(format!(
                "{option} {path}: {} streams need a path each; for example {option} \
                 '{path}/{{stream}}'",
                command.streams.0
            )));
        }
    }
    Ok(())
}

/// Makes the request of each stream, and of its writes, from the request that the options describe.
fn spread(trial: &mut Trial, command: &Fanout) {
    let Some(typed) = trial.requests.first().cloned() else { return };
    let (prefix, query) = match typed.path.split_once('?') {
        Some((prefix, query)) => (prefix, Some(query)),
        None => (typed.path.as_str(), None),
    };
    let prefix = prefix.trim_end_matches('/');
    let of = |path: &str, stream: u32| {
        let number = stream.to_string();
        let whole = format!("{prefix}{path}");
        let path = STREAM.iter().fold(whole, |path, name| path.replace(name, &number));
        match query {
            Some(query) if path.contains('?') => format!("{path}&{query}"),
            Some(query) => format!("{path}?{query}"),
            None => path,
        }
    };
    let method = command.options.method.as_ref().map_or("POST", |method| method.0.as_str());
    let write = |stream| {
        let path = of(&command.write_path.0, stream);
        Request { method: method.to_string(), path, ..typed.clone() }
    };
    let mut headers = typed.headers.clone();
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("accept")) {
        headers.push(("Accept".to_string(), "text/event-stream".to_string()));
    }
    let stream = |stream| Request {
        method: "GET".to_string(),
        path: of(&command.events.0, stream),
        headers: headers.clone(),
        body: Vec::new(),
        ..typed.clone()
    };
    let streams = 1..=command.streams.0;
    let writers = command.writers.0;
    trial.fanout = Some(FanoutPlan { streams: streams.clone().map(stream).collect(), writers });
    trial.requests = streams.map(write).collect();
    let checks = trial.targets.first().map(|target| target.checks.clone()).unwrap_or_default();
    let name = format!("{method} {}", command.write_path.0);
    trial.targets = vec![MixTarget { name, weight: 1, checks }];
}

#[cfg(test)]
mod tests {
    use crate::load::trial_of;
    use crate::machine::Nowhere;

    /// They were accepted, and no response was checked.
    #[test]
    fn options_about_writers_are_refused_where_there_are_none() {
        let asked = |more: &[&str]| {
            let words = [&["fanout", "http://127.0.0.1:1"][..], more].concat();
            trial_of(&words.into_iter().map(String::from).collect::<Vec<_>>(), &Nowhere)
        };
        for option in ["--check-body=ok", "--check-status=200", "-X=PUT", "-b=text", "-p=2"] {
            assert!(asked(&[option]).is_ok(), "{option}");
            let why = asked(&["--writers=0", option]).unwrap_err();
            assert!(why.contains("--writers 0 has none"), "{option}: {why}");
        }
        for option in ["-H=A: b", "--keep-requests", "--sample-failures", "-p=1"] {
            assert!(asked(&["--writers=0", option]).is_ok(), "{option}");
        }
    }

    #[test]
    fn the_query_of_the_url_stays_in_every_path() {
        let words = "fanout http://127.0.0.1:1/hub/?token=1 --streams 2 --events /s{stream}?all=1 \
                     --write-path /w{stream} --write-rate 10";
        let words: Vec<String> = words.split_whitespace().map(String::from).collect();
        let trial = trial_of(&words, &Nowhere).unwrap();
        let streams = trial.fanout.unwrap().streams;
        let paths: Vec<&str> = streams.iter().map(|one| one.path.as_str()).collect();
        assert!(
            paths[0].starts_with("/hub/s") && paths[0].ends_with("?all=1&token=1"),
            "{paths:?}"
        );
        let writes = &trial.requests[0].path;
        assert!(writes.starts_with("/hub/w") && writes.ends_with("?token=1"), "{writes}");
    }
}
