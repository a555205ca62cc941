//! Requests in flight = rate x mean latency, and no more than connections x depth.
//!
//! While a connection has at most `depth` requests in flight, the latencies of all requests fit
//! into connections x depth x time. The law does not apply to latencies from a planned instant,
//! which include a wait that takes no connection. In the other direction, connections of a closed
//! loop that are not waiting for a response are waiting for the generator, or for a request that no
//! figure includes.

use super::{Listed, open, percentiles, settled};
use crate::audit::bounds::{Range, mean_at_least, range_of, rank_slack};
use crate::audit::say::{number, percent, rate, time};
use model::audit::{Counts, Finding, Foreign, Given, Latencies, Loop, Outcome, Since};

pub(super) const LISTED: Listed = Listed {
    id: "littles_law",
    asks: "Is rate x mean latency at most connections x depth, and near it in a closed loop?",
    source: "J. D. C. Little, A Proof for the Queuing Formula L = lambda W (1961)",
    check,
};

/// The clocks of a generator may differ by this share.
const CLOCKS: f64 = 0.02;
/// Below this share of the connections' time, the rest needs an explanation.
const SHARE_MIN: f64 = 0.5;

const PIPELINE: &str = "run it with a known depth, and state it: --depth 1";
const COMMAND: &str = "state the command line (--command): latency counts from the send, or from \
                       a planned instant, which includes a wait outside connections";
const AGAIN: &str =
    "run `ceiling load -c CONNECTIONS`: its gate littles_law compares three accounts";

fn check(report: &Foreign, _: &Given) -> Vec<Finding> {
    let of = |latency: &Latencies| of_one(report, latency);
    let is_asked = |one: &&Latencies| !matches!(one.since, Since::Plan | Since::Other);
    report.latencies.iter().filter(is_asked).flat_map(of).collect()
}

/// What the law is applied to: a mean, and the names of the claims it comes from.
struct Mean {
    seconds: Range,
    words: String,
    claims: Vec<String>,
}

fn of_one(report: &Foreign, latency: &Latencies) -> Vec<Finding> {
    let (Some(answered), Some(connections)) = (answered(report, latency), &report.connections)
    else {
        return Vec::new();
    };
    let connections = Range::read(connections);
    let depth = report.depth.as_ref().map(Range::read);
    let Some(room) = room(report, latency, connections * depth.unwrap_or(Range::of(1.0))) else {
        return Vec::new();
    };
    let means = means(report, latency);
    let is_too_many = |mean: &&Mean| (answered * mean.seconds).low > room;
    let excess: Vec<Finding> = means
        .iter()
        .filter(is_too_many)
        .map(|mean| excess(report, latency, (answered, mean), room))
        .collect();
    if !excess.is_empty() {
        return excess;
    }
    match means.into_iter().find(|mean| mean.seconds.high.is_finite()) {
        Some(mean) => vec![fits(report, (answered, &mean), connections)],
        None => bounded(latency, answered, room),
    }
}

/// Percentiles without a mean: each of them fits by itself.
fn bounded(latency: &Latencies, answered: Range, room: f64) -> Vec<Finding> {
    let names = percentiles(latency, 0.0);
    let claims: Vec<&str> = names.iter().map(String::as_str).chain(["rate"]).collect();
    let Some(least) = mean_at_least(latency, None).filter(|least| *least > 0.0) else {
        return Vec::new();
    };
    let product = answered.low * least;
    if product > room {
        let words = format!(
            "{} x {} by all percentiles = {}: at least one of them is impossible",
            rate(answered.low),
            time(least),
            number(product)
        );
        return vec![open(Outcome::Undecided, &claims, words, AGAIN)];
    }
    let words = format!(
        "{} x at least {} = {} in flight; {} fit",
        rate(answered.low),
        time(least),
        number(product),
        number(room)
    );
    vec![settled(Outcome::Holds, &claims, words)]
}

/// The reported mean, and the least mean that the percentiles allow.
fn means(report: &Foreign, latency: &Latencies) -> Vec<Mean> {
    let name = latency.claim("mean");
    let is_defect = report.meaning.defects.iter().any(|defect| defect.claims.contains(&name));
    let of_report = latency.mean.as_ref().filter(|_| !is_defect).map(|mean| Mean {
        seconds: Range::read(mean),
        words: format!("mean {}", time(mean.value)),
        claims: vec![name],
    });
    let values = report.requests.as_ref().map(|requests| requests.low);
    // One percentile bounds the mean by itself: that many values lie above it.
    let slack = rank_slack(latency, values);
    let each = latency.percentiles.iter().map(|one| {
        let least = range_of(latency, &one.value).low * (1.0 - one.share - slack).max(0.0);
        Mean {
            seconds: Range { low: least, high: f64::INFINITY },
            words: format!("mean of at least {} by {}", time(least), one.name()),
            claims: vec![latency.claim(&one.name())],
        }
    });
    of_report.into_iter().chain(each).collect()
}

/// How many requests per second have a latency in this distribution.
fn answered(report: &Foreign, latency: &Latencies) -> Option<Range> {
    let duration = report.duration_s.as_ref().map(Range::read);
    if let (Some(samples), Some(duration)) = (&latency.samples, duration) {
        return Some(Range::read(samples) / duration);
    }
    let rate = Range::read(report.rate.as_ref()?);
    if report.meaning.counts != Counts::Requests {
        return Some(rate);
    }
    let requests = Range::read(report.requests.as_ref()?);
    let lost: f64 = report.errors.iter().map(|class| class.count.high).sum();
    let share = ((requests.low - lost) / requests.low.max(1.0)).clamp(0.0, 1.0);
    Some(Range { low: rate.low * share, high: rate.high })
}

/// The most that can be in flight by the reported figures, plus what the edges of the window allow.
fn room(report: &Foreign, latency: &Latencies, places: Range) -> Option<f64> {
    let longest = latency.max.as_ref().map(|max| max.high);
    let edge_s = report.meaning.edge_s.or(longest)?;
    // A text gives no duration; no load is shorter than a second.
    let duration_s =
        report.duration_s.as_ref().or(report.asked_s.as_ref()).map_or(1.0, |one| one.low);
    Some(places.high * (1.0 + edge_s / duration_s.max(0.1)) * (1.0 + CLOCKS))
}

fn excess(report: &Foreign, latency: &Latencies, by: (Range, &Mean), room: f64) -> Finding {
    let (answered, mean) = by;
    let product = (answered * mean.seconds).low;
    let words = format!("{} x {} = {}", rate(answered.low), mean.words, number(product));
    let mut claims: Vec<&str> = mean.claims.iter().map(String::as_str).collect();
    let connections = report.connections.as_ref().map_or(0.0, |one| one.value);
    if latency.since == Since::Unknown {
        let words = format!("{words} in flight on {} connections", number(connections));
        return open(Outcome::Undecided, &claims, words, COMMAND);
    }
    let Some(depth) = &report.depth else {
        let each = product / connections.max(1.0);
        claims.push("rate");
        let open_words = format!(
            "{words} in flight on {} connections: {each:.1} each, and the depth is not known",
            number(connections)
        );
        return open(Outcome::Undecided, &claims, open_words, PIPELINE);
    };
    let places = connections * depth.value;
    let arithmetic = format!("{words} in flight, but at most {} fit", number(places));
    let highest = room / answered.low;
    if latency.since == Since::SendWithAdded {
        let added = format!("{arithmetic}: the tool added times that it never measured");
        let finding = open(Outcome::Impossible, &claims, added, AGAIN);
        let is_mean = mean.seconds.high.is_finite();
        return Finding { bound: is_mean.then_some((None, Some(highest))), ..finding };
    }
    claims.push("rate");
    let both = format!("{arithmetic}: these cannot both be");
    open(Outcome::Impossible, &claims, both, AGAIN)
}

fn fits(report: &Foreign, by: (Range, &Mean), connections: Range) -> Finding {
    let (answered, mean) = by;
    let in_flight = answered * mean.seconds;
    let claims: Vec<&str> = mean.claims.iter().map(String::as_str).chain(["rate"]).collect();
    let depth = report.depth.as_ref().map_or(1.0, |depth| depth.low.max(1.0));
    let places = connections.low * depth;
    let words = format!(
        "{} x {} = {} in flight, for {} connections",
        rate((answered.low + answered.high) / 2.0),
        mean.words,
        number((in_flight.low + in_flight.high) / 2.0),
        number(connections.high)
    );
    let is_short = in_flight.high < SHARE_MIN * places && !super::held_back::explains(report);
    if report.meaning.load == Loop::Closed && is_short {
        let share = percent(in_flight.high / places.max(1.0));
        let arithmetic = format!(
            "{words}: at most {share} of their time; the rest is the generator's own, or that of \
             requests that no figure shows"
        );
        return open(Outcome::Undecided, &claims, arithmetic, AGAIN);
    }
    settled(Outcome::Holds, &claims, words)
}
