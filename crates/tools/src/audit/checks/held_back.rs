//! Over HTTP/2 a tool may have submitted more requests than are in flight.
//!
//! h2load submits the next request as soon as a response has ended, holds it back inside itself
//! while the server takes no further stream, and counts its latency from when it leaves. A client
//! whose connection has ended submits nothing more, and the rate is over the whole time all the
//! same.

use super::{Listed, open, percentiles};
use crate::audit::bounds::Range;
use crate::audit::say::{number, rate, time};
use model::audit::{Finding, Foreign, Given, Outcome};

pub(super) const LISTED: Listed = Listed {
    id: "held_back",
    asks: "Are all requests that the tool has submitted in flight, until the end?",
    source: "RFC 9113, 5.1.2 (stream limits) and 6.8 (GOAWAY); nghttp2 `src/h2load.cc`",
    check,
};

/// A smaller share of the submitted requests is that of the edges.
const SHARE_MIN: f64 = 0.1;

const WAITS: &str = "count from when a request is due: `ceiling load -p STREAMS` says how long \
                     requests waited for a stream";
const ENDED: &str = "`ceiling load` opens connections again, and counts those that ended";

/// Whether this is why fewer requests are in flight than connections and depth allow.
pub(super) fn explains(report: &Foreign) -> bool {
    !check(report, &Given::default()).is_empty()
}

fn check(report: &Foreign, _: &Given) -> Vec<Finding> {
    let (Some(held), Some(at_end)) = (report.meaning.held_back, report.meaning.at_end) else {
        return Vec::new();
    };
    let latency = report.latencies.iter().find(|one| one.name.is_empty());
    let (Some(per_second), Some(latency)) = (&report.rate, latency) else { return Vec::new() };
    let Some(mean) = &latency.mean else { return Vec::new() };
    let (per_second, mean) = (Range::read(per_second), Range::read(mean));
    let in_flight = per_second * mean;
    let sum = format!(
        "{} x {} = {} in flight",
        rate(per_second.high),
        time(mean.high),
        number(in_flight.high)
    );
    if held >= SHARE_MIN * (held + in_flight.high) {
        // What is submitted stays the same: a response lets the next one in.
        let submitted = in_flight + Range::of(held);
        let least = submitted.low / per_second.high;
        let most = submitted.high / per_second.low.max(f64::MIN_POSITIVE);
        let words = format!(
            "{sum}, and {} more were held back when the time was over, for want of a stream: from \
             when they were submitted, the mean is {}",
            number(held),
            time((least + most) / 2.0)
        );
        let of_mean = open(Outcome::Impossible, &[&latency.claim("mean")], words.clone(), WAITS);
        let of_mean = Finding { bound: Some((Some(least), Some(most))), ..of_mean };
        let ranks = percentiles(latency, 0.0);
        let of_ranks = (!ranks.is_empty()).then(|| open(Outcome::Undecided, &ranks, words, WAITS));
        return [Some(of_mean), of_ranks].into_iter().flatten().collect();
    }
    let clients = report.connections.as_ref().map_or(0.0, |clients| clients.low);
    if at_end == 0.0 && in_flight.high < clients {
        let words = format!(
            "{sum} for {} clients, and none in flight at the end: their connections had ended \
             before, and h2load opens no others, but the rate is over the whole time",
            number(clients)
        );
        let finding = open(Outcome::Impossible, &["rate"], words, ENDED);
        return vec![Finding { bound: Some((Some(per_second.low), None)), ..finding }];
    }
    Vec::new()
}
