//! The load that a tool is asked to make: the part of a trial that at least one tool can make. What
//! no tool can make is refused here, in one sentence.

use crate::order::{Connections, Order};
use model::check::Checks;
use model::load::{
    Arrival, DriverKind, HttpChoice, Level, Life, Question, Retry, Spacing, Stop, Trial, Warmup,
};
use model::route::Lookup;
use std::collections::BTreeSet;

/// A load that a tool may make.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// Where, with `http://`.
    pub url: String,
    /// Method token.
    pub method: String,
    /// Headers in order, name and value.
    pub headers: Vec<(String, String)>,
    /// Body; empty for none.
    pub body: Vec<u8>,
    /// Connections.
    pub connections: u32,
    /// Requests in flight on one connection.
    pub depth: u32,
    /// Threads, for a tool that takes their number.
    pub threads: u32,
    /// Requests per second; nothing in closed loop.
    pub rate: Option<f64>,
    /// When it ends.
    pub stop: Stop,
    /// Time-out of a request, nanoseconds.
    pub timeout_ns: u64,
    /// Whether requests are HTTP/2, without TLS; otherwise they are HTTP/1.1.
    pub is_http2: bool,
    /// Whether they are calls of gRPC, whose body is one message behind its length.
    pub is_call: bool,
    /// The folder of the files that the tool reads and writes, for its words.
    pub folder: String,
}

impl Ask {
    /// What a trial asks of a tool that has its files in a folder; an error says what no tool can
    /// do.
    pub fn of(trial: &Trial, folder: &str) -> Result<Self, String> {
        if let Some((what, way_out)) = refused(trial) {
            return Err(format!("{what} is not possible with another tool; {way_out}"));
        }
        let ([level], [request]) = (&trial.levels[..], &trial.requests[..]) else {
            return Err("another tool can only make one level of one request".to_string());
        };
        let rate = match &level.arrival {
            Arrival::Closed => None,
            Arrival::Open { curve, .. } => Some(curve.constant_rate().ok_or(
                "a rate that changes is not possible with another tool; for example -R 1k",
            )?),
        };
        Ok(Self {
            url: format!("http://{}{}", request.host, request.path),
            method: request.method.clone(),
            headers: request.headers.clone(),
            body: request.body.clone(),
            connections: level.connections,
            depth: level.depth,
            threads: trial.threads,
            rate,
            stop: trial.stop,
            timeout_ns: trial.timeout_ns,
            is_http2: trial.manner.http == HttpChoice::Two,
            is_call: request.is_call(),
            folder: folder.to_string(),
        })
    }

    /// The duration in whole seconds, for a tool that takes no others.
    pub fn whole_seconds(&self, tool: &str) -> Result<u64, String> {
        match self.stop {
            Stop::AfterNs(ns) if ns >= NS_PER_S && ns.is_multiple_of(NS_PER_S) => Ok(ns / NS_PER_S),
            Stop::AfterNs(_) => {
                Err(format!("{tool} runs for whole seconds; for example --duration 10s"))
            }
            Stop::AfterRequests(_) => Err(format!(
                "{tool} stops after a time and not after a number of requests; for example \
                 --duration 10s"
            )),
        }
    }

    /// A time as `3s`, `2500ms` or `1500us`, as Go and oha read it. Nothing of it is cut: all of
    /// these tools take times down to nanoseconds.
    pub fn time(ns: u64) -> String {
        let units = [("s", NS_PER_S), ("ms", 1_000_000), ("us", 1000)];
        let whole = units.into_iter().find(|(_, unit_ns)| ns.is_multiple_of(*unit_ns));
        let (unit, unit_ns) = whole.unwrap_or(("ns", 1));
        format!("{}{unit}", ns / unit_ns)
    }

    /// The time-out, for a tool that takes it in whole seconds only.
    pub fn timeout_s(&self, tool: &str) -> Result<u64, String> {
        match self.timeout_ns.is_multiple_of(NS_PER_S) && self.timeout_ns > 0 {
            true => Ok(self.timeout_ns / NS_PER_S),
            false => {
                Err(format!("{tool} takes a time-out in whole seconds; for example --timeout 1s"))
            }
        }
    }

    /// The body as text, for a tool that takes it on its command line.
    pub fn body_text(&self, tool: &str) -> Result<String, String> {
        String::from_utf8(self.body.clone())
            .map_err(|_| format!("a body that is not text cannot be given to {tool}"))
    }

    /// The rate, if there is one, for a tool that takes only whole numbers. For some of these tools
    /// zero is no limit, so a rate must not be rounded to that.
    pub fn whole_rate(&self, tool: &str) -> Result<Option<u64>, String> {
        let Some(rate) = self.rate else { return Ok(None) };
        let whole = rate.round();
        if whole < 1.0 || (rate - whole).abs() > 1e-6 * rate {
            return Err(format!(
                "{tool} takes whole requests per second; for example -R {:.0}",
                whole.max(1.0)
            ));
        }
        Ok(Some(whole as u64))
    }

    /// Refuses several headers of one name, for a tool that sends only the last of them.
    pub fn one_of_each_header(&self, tool: &str) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        let mut names = self.headers.iter().map(|(name, _)| name);
        match names.find(|name| !seen.insert(name.to_ascii_lowercase())) {
            Some(name) => Err(format!(
                "{tool} sends only the last of several headers of one name, and {name} is there \
                 twice; give one header with both values, for example -H '{name}: a, b', or use \
                 h2load or vegeta"
            )),
            None => Ok(()),
        }
    }

    /// Refuses a rate.
    pub fn closed(&self, tool: &str, instead: &str) -> Result<(), String> {
        match self.rate {
            Some(_) => Err(format!("{tool} has no rate (-R); {instead}")),
            None => Ok(()),
        }
    }

    /// The connections that a tool opens which gives each thread the same number and opens no
    /// others: 960 of 1000 with 120 threads.
    pub fn shared_connections(&self) -> Connections {
        let (connections, threads) = (self.connections, self.threads.max(1));
        match connections.is_multiple_of(threads) {
            true => Connections::AsAsked,
            false => Connections::Fewer(connections / threads * threads),
        }
    }

    /// The most threads, up to those of this load, with which a tool makes exactly this load; one
    /// if it cannot make it at all.
    pub fn threads_for(&self, order: fn(&Self) -> Result<Order, String>) -> u32 {
        // Neither headers nor a body depend on threads, and a body may be large.
        let light = Self { headers: Vec::new(), body: Vec::new(), ..self.clone() };
        let is_made = |threads: &u32| {
            let order = order(&Self { threads: *threads, ..light.clone() });
            order.is_ok_and(|order| !matches!(order.connections, Connections::Fewer(_)))
        };
        (1..=self.threads).rev().find(is_made).unwrap_or(1)
    }

    /// Refuses calls, for a tool that makes none.
    pub fn no_calls(&self, tool: &str) -> Result<(), String> {
        match self.is_call {
            false => Ok(()),
            true => Err(format!("{tool} makes no calls of gRPC; use ghz or h2load")),
        }
    }

    /// Refuses HTTP/2, for a tool that speaks it at most over TLS.
    pub fn only_http1(&self, tool: &str) -> Result<(), String> {
        self.no_calls(tool)?;
        match self.is_http2 {
            false => Ok(()),
            true => Err(format!(
                "{tool} does not speak HTTP/2 without TLS; use h2load, oha or vegeta, or leave \
                 --http2-prior-knowledge out"
            )),
        }
    }

    /// Refuses more than one request in flight on a connection.
    pub fn one_deep(&self, tool: &str) -> Result<(), String> {
        match self.depth {
            1 => Ok(()),
            _ => Err(format!(
                "{tool} has one request in flight on each connection of HTTP/1.1; leave --depth \
                 out, or use wrk, h2load or autocannon"
            )),
        }
    }
}

const NS_PER_S: u64 = 1_000_000_000;

/// What no tool can do, and what to do instead.
fn refused(trial: &Trial) -> Option<(&'static str, &'static str)> {
    let level = trial.levels.first();
    let has_life = level.is_some_and(|level| level.life != Life::default());
    let has_spare = level.is_some_and(|level| level.spare > 0);
    let is_spread = |level: &Level| match level.arrival {
        Arrival::Open { arrivals, .. } => arrivals != Spacing::Fixed,
        Arrival::Closed => false,
    };
    let has_checks = trial.targets.iter().any(|target| target.checks != Checks::default());
    let is_led = matches!(trial.resolution.how, Lookup::Given | Lookup::UnixSocket)
        || is_led_elsewhere(trial);
    let rules = [
        (trial.question != Question::Load, "a series of loads", "use ceiling load"),
        (trial.requests.len() > 1 || trial.targets.len() > 1, "a mix", "give one URL"),
        (trial.tls.is_some(), "TLS", "give an http:// URL"),
        (trial.proxy.is_some(), "a proxy", "leave --proxy out"),
        (!trial.sources.is_empty(), "a source address", "leave --source out"),
        (
            is_led,
            "an address other than that of the URL",
            "leave --resolve, --connect-to, --unix-socket out",
        ),
        (has_life, "requests per connection", "leave --requests-per-conn out"),
        (has_spare, "spare connections", "leave --max-connections out"),
        (level.is_some_and(is_spread), "a spread of the gaps", "leave --arrivals out"),
        (has_checks, "a check of responses", "leave --check-.. out"),
        (trial.expect.is_some(), "an expectation", "leave --expect out"),
        (trial.confirm.is_some(), "an experiment", "leave --confirm out"),
        (trial.profile.is_some(), "a profile of its window", "leave --profile out"),
        (trial.evidence.is_some(), "a visit with programs in the kernel", "leave --evidence out"),
        (
            trial.manner.retry_unprocessed != Retry::Never,
            "requests that are sent again",
            "leave --retry-unprocessed out",
        ),
        (trial.manner.coalesce_ns > 0, "batches of receives", "leave --coalesce out"),
        (trial.manner.window.is_some(), "a window of its own", "leave --window out"),
        (trial.driver == DriverKind::Null, "a load without a server", "leave --driver out"),
        (
            matches!(trial.warmup, Warmup::ForNs(1..)),
            "a warm-up that does not count",
            "leave --warmup out: a tool counts from its first request",
        ),
    ];
    rules.into_iter().find(|(is, ..)| *is).map(|(_, what, way_out)| (what, way_out))
}

/// Whether `--connect-to` names another host or port than the URL.
fn is_led_elsewhere(trial: &Trial) -> bool {
    let rest = trial.url.split_once("://").map_or(trial.url.as_str(), |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let name = trial.resolution.name.as_str();
    !name.is_empty() && name != host && name != format!("{host}:80")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::order::FOLDER;
    use model::curve::Curve;
    use model::load::{Level, MixTarget, Request};
    use model::route::Resolution;

    /// 16 connections for 3 s.
    pub(crate) fn ask() -> Ask {
        Ask {
            url: "http://127.0.0.1:8083/read".into(),
            method: "GET".into(),
            headers: Vec::new(),
            body: Vec::new(),
            connections: 16,
            depth: 1,
            threads: 1,
            rate: None,
            stop: Stop::AfterNs(3 * NS_PER_S),
            timeout_ns: 10 * NS_PER_S,
            is_http2: false,
            is_call: false,
            folder: FOLDER.into(),
        }
    }

    /// A request with everything that some tool can do.
    pub(crate) fn more() -> Ask {
        Ask {
            method: "PUT".into(),
            headers: vec![("Accept".into(), "text/plain; q=\"1\"".into())],
            body: b"a\"b".to_vec(),
            ..ask()
        }
    }

    fn trial() -> Trial {
        let request = Request {
            method: "GET".into(),
            path: "/read".into(),
            host: "127.0.0.1:8083".into(),
            ..Request::default()
        };
        let level = Level {
            connections: 16,
            spare: 0,
            depth: 1,
            arrival: Arrival::Closed,
            life: Life::default(),
        };
        Trial {
            requests: vec![request],
            targets: vec![MixTarget::default()],
            levels: vec![level],
            stop: Stop::AfterNs(3 * NS_PER_S),
            ..Trial::blank()
        }
    }

    #[test]
    fn a_trial_becomes_what_a_tool_is_asked() {
        assert_eq!(Ask::of(&trial(), FOLDER), Ok(ask()));
        let mut open = trial();
        let arrivals = Spacing::Fixed;
        open.levels[0].arrival = Arrival::Open { curve: Curve::constant(500.0), arrivals };
        assert_eq!(Ask::of(&open, FOLDER).unwrap().rate, Some(500.0));
        let mut calls = trial();
        let kind = ("content-type".to_string(), "application/grpc".to_string());
        calls.requests[0].headers.push(kind);
        assert!(Ask::of(&calls, FOLDER).unwrap().is_call);
    }

    #[test]
    fn what_no_tool_can_do_is_refused_with_a_way_out() {
        let warm = Trial { warmup: Warmup::ForNs(1), ..trial() };
        let why = Ask::of(&warm, FOLDER).unwrap_err();
        assert!(why.contains("warm-up") && why.contains("leave --warmup out"), "{why}");
        let many = Trial { question: Question::Ramp, ..trial() };
        assert!(Ask::of(&many, FOLDER).unwrap_err().contains("use ceiling load"));
        let short = Ask { stop: Stop::AfterNs(1_500_000_000), ..ask() };
        assert!(short.whole_seconds("wrk").unwrap_err().contains("whole seconds"));
        assert_eq!(ask().timeout_s("wrk"), Ok(10));
        let hasty = Ask { timeout_ns: 500_000_000, ..ask() };
        assert!(hasty.timeout_s("wrk").unwrap_err().contains("--timeout 1s"));
    }

    /// A tool connects to the host of its URL, whatever `--connect-to` says.
    #[test]
    fn a_load_that_is_led_elsewhere_is_refused() {
        let led = |name: &str| {
            let resolution = Resolution { name: name.into(), ..Resolution::default() };
            let url = "http://shop.example/read".into();
            Ask::of(&Trial { url, resolution, ..trial() }, FOLDER)
        };
        assert!(led("shop.example:80").is_ok());
        for elsewhere in ["127.0.0.1:8080", "shop.example:81", "other.example:80"] {
            assert!(led(elsewhere).unwrap_err().contains("--connect-to"), "{elsewhere}");
        }
    }

    #[test]
    fn no_part_of_a_time_is_cut() {
        let times = [3_000_000_000, 2_500_000_000, 1_500_000, 1_234_567, 500];
        assert_eq!(times.map(Ask::time), ["3s", "2500ms", "1500us", "1234567ns", "500ns"]);
    }

    #[test]
    fn a_rate_is_never_rounded_to_another_load() {
        let at = |rate| Ask { rate, ..ask() }.whole_rate("oha");
        assert_eq!((at(None), at(Some(500.0))), (Ok(None), Ok(Some(500))));
        assert_eq!(at(Some(4.35 * 100.0)), Ok(Some(435)), "as -R 0.435k is read");
        for (rate, example) in [(0.4, "-R 1"), (2.5, "-R 3"), (1000.5, "-R 1001")] {
            let why = at(Some(rate)).unwrap_err();
            assert!(why.contains("whole requests") && why.ends_with(example), "{why}");
        }
    }
}
