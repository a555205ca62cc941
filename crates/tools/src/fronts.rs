//! The tools whose command line we accept: one file each, all of the same shape, listed here.

mod h2load;
mod hey;
mod oha;
mod wrk;
mod wrk2;

use crate::command_line::CommandLine;
use crate::typed::Typed;
use model::histogram::{Histogram, Summary};
use model::load::Stop;
use model::run::{Arrived, Point, Run};
use model::tick::ErrorClass;
use model::tool::Tool;
use std::collections::BTreeMap;

/// A front end as listed.
#[derive(Debug)]
pub struct Front {
    /// The tool.
    pub tool: Tool,
    /// An example command line.
    pub example: &'static str,
    /// Its command line.
    pub line: &'static CommandLine,
    /// A header that the tool sends by itself, and its option that leaves it out.
    pub adds: Option<(&'static str, &'static str)>,
    /// What the tool makes of options that must fit each other, in our words: it may refuse them,
    /// leave one out, or round one.
    pub settle: fn(&mut Typed) -> Result<(), String>,
    /// Whether the tool accepts any certificate without being told to.
    pub trusts_any: bool,
    /// An option without which the tool's load would be one that ours cannot be, and why.
    pub needs: Option<(&'static str, &'static str)>,
    /// Whether long names begin with one dash, so that no value is attached to a short one.
    pub has_long_dash: bool,
    /// One of our runs as the tool would print it, without what the tool cannot know.
    pub layout: fn(&Shown<'_>) -> String,
}

/// What a layout draws.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its one level.
    pub point: &'a Point,
    /// What was typed.
    pub typed: &'a Typed,
}

/// Every front end.
pub const FRONTS: &[Front] = &[wrk::FRONT, wrk2::FRONT, oha::FRONT, hey::FRONT, h2load::FRONT];

/// The front end of a tool, if we have one.
pub fn front(tool: Tool) -> Option<&'static Front> {
    FRONTS.iter().find(|front| front.tool == tool)
}

impl<'a> Shown<'a> {
    /// Whether an option about the layout was typed.
    fn has(&self, name: &str) -> bool {
        self.typed.layout.contains_key(name)
    }

    /// How long the load was to last; nothing for a number of requests.
    fn asked_s(&self) -> Option<f64> {
        match self.run.record.trial.stop {
            Stop::AfterNs(ns) => Some(ns as f64 / 1e9),
            Stop::AfterRequests(_) => None,
        }
    }

    /// The whole distribution of latency, of good responses.
    fn latency(&self) -> Option<&Histogram> {
        self.run.latencies.last().filter(|whole| !whole.is_empty())
    }

    /// Its moments and its ends.
    fn times(&self) -> &'a Summary {
        let point = self.point;
        point.latency_good_ns.as_ref().unwrap_or(&point.latency_ns)
    }

    /// Why there are no times although responses came.
    fn untimed(&self) -> &'static str {
        let is_so = self.latency().is_none() && self.responses() > 0;
        if is_so { "  (no good response; others are not timed)" } else { "" }
    }

    /// Share of the values within one standard deviation of the mean, 0 to 1.
    fn within_stdev(&self) -> Option<f64> {
        let (mean, stdev) = (self.times().mean?, self.times().stdev?);
        let whole = self.latency()?;
        let below = whole.count_up_to(mean.saturating_sub(stdev).saturating_sub(1));
        let within = whole.count_up_to(mean.saturating_add(stdev)) - below;
        Some(within as f64 / whole.count() as f64)
    }

    /// A quantile of the whole distribution, nanoseconds. These tools print one however few values
    /// lie beyond it.
    fn quantile_ns(&self, share: f64) -> Option<f64> {
        self.latency()?.quantile_ns(share).map(|ns| ns as f64)
    }

    /// Responses with any status that arrived while the load lasted: what these tools count.
    fn responses(&self) -> u64 {
        let measured = || self.point.status.values().sum();
        self.point.cpu.responses.unwrap_or_else(measured)
    }

    /// Per second of the load.
    fn per_second(&self, count: u64) -> f64 {
        let duration_s = self.point.load.duration_s;
        if duration_s > 0.0 { count as f64 / duration_s } else { 0.0 }
    }

    /// Their bytes.
    fn arrived(&self) -> Arrived {
        self.point.bytes.arrived.clone().unwrap_or_default()
    }

    /// Those responses by class: 2xx, 3xx, 4xx, 5xx.
    fn classes(&self) -> [u64; 4] {
        let mut sum = [0; 4];
        for status in self.point.series.iter().filter_map(|second| second.status) {
            sum.iter_mut().zip(status).for_each(|(sum, part)| *sum += part);
        }
        sum
    }

    /// Those responses by code.
    fn codes(&self) -> BTreeMap<&'a str, u64> {
        let mut sum: BTreeMap<&str, u64> = BTreeMap::new();
        for codes in self.point.series.iter().filter_map(|second| second.status_codes.as_ref()) {
            codes.iter().for_each(|(code, count)| *sum.entry(code).or_default() += count);
        }
        sum
    }

    /// Requests without a response, or attempts to connect, that failed for any of these reasons.
    fn errors(&self, is_one: impl Fn(ErrorClass) -> bool) -> u64 {
        self.lost().into_iter().filter(|(class, _)| is_one(*class)).map(|(_, count)| count).sum()
    }

    /// What failed without a response, by class.
    fn lost(&self) -> Vec<(ErrorClass, u64)> {
        let count = |class: ErrorClass| (class, self.point.errors_of(class).unwrap_or(0));
        ErrorClass::ALL.into_iter().map(count).filter(|(_, count)| *count > 0).collect()
    }

    /// Failures as the tools that count each request count them: one that was never sent because no
    /// connection could be opened is an error, and a second attempt to connect is none.
    fn errors_of_requests(&self) -> Vec<(String, u64)> {
        let unsent = self.point.requests.unsent;
        let is_counted = |class: ErrorClass| class.is_of_requests() || unsent == 0;
        let lost = self.lost().into_iter().filter(|(class, _)| is_counted(*class));
        let mut lost: Vec<_> =
            lost.map(|(class, count)| (class.name().to_string(), count)).collect();
        if unsent > 0 {
            lost.push(("no connection could be opened".to_string(), unsent));
        }
        lost
    }

    /// Whether the host of the URL is an address, so that no name was looked up.
    fn is_address(&self) -> bool {
        let url = &self.run.record.target.url;
        let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        host.starts_with('[') || host.split(':').next().is_some_and(is_ipv4)
    }

    /// Mean, shortest and longest time to open a connection, its TLS handshake included, and how
    /// many there were. The ends are not known with TLS.
    fn dialup_ns(&self) -> ([Option<f64>; 3], u64) {
        let connections = &self.point.connections;
        let connect = &connections.connect_ns;
        let of = |ns: Option<u64>| ns.map(|ns| ns as f64);
        let Some(handshake) = &connections.handshakes.handshake_ns else {
            return ([of(connect.mean), of(connect.min), of(connect.max)], connect.count);
        };
        let mean = of(connect.mean).zip(of(handshake.mean)).map(|(one, other)| one + other);
        ([mean, None, None], connect.count)
    }
}

fn is_ipv4(host: &str) -> bool {
    host.parse::<std::net::Ipv4Addr>().is_ok()
}

/// Nothing to settle.
fn settled(_: &mut Typed) -> Result<(), String> {
    Ok(())
}

/// A figure that may be absent, drawn by `show`.
fn or_dash(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_string(), show)
}

/// One row of a histogram of ten even steps: its upper end in nanoseconds, and its values.
fn steps(shown: &Shown<'_>) -> Vec<(f64, u64)> {
    let times = shown.times();
    let (Some(whole), Some(min), Some(max)) = (shown.latency(), times.min, times.max) else {
        return Vec::new();
    };
    let width = (max.saturating_sub(min)) as f64 / 10.0;
    let mut below = 0;
    (0..=10_u32)
        .map(|step| {
            let end = min as f64 + width * f64::from(step);
            let up_to = if step == 10 { whole.count() } else { whole.count_up_to(end as u64) };
            let own = up_to - below;
            below = up_to;
            (end, own)
        })
        .collect()
}
