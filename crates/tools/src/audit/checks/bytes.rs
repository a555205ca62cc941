//! Bytes: no response is shorter than its head, bytes per second equal bytes over seconds, and no
//! link carries more than its speed.

use super::{AGAIN, Listed, compared, open, settled};
use crate::audit::bounds::Range;
use crate::audit::say::{bits, bytes, number, percent, rate, time};
use model::audit::{Counts, Finding, Foreign, Given, Outcome, RateIs};

pub(super) const LISTED: Listed = Listed {
    id: "bytes",
    asks: "Are there enough bytes for the responses, and no more than the link carries (--link)?",
    source: "RFC 9112, 4: the shortest status line and its end are 17 bytes",
    check,
};

/// `HTTP/1.1 200 ` and two line ends.
const RESPONSE_MIN: f64 = 17.0;
/// The tool reads its times at slightly different instants.
const CLOCKS: f64 = 0.02;

const LINK: &str =
    "name the slowest link on the path: --link 25G; read both hosts' interface counters";

fn check(report: &Foreign, given: &Given) -> Vec<Finding> {
    [of_responses(report), of_time(report), of_link(report, given)].into_iter().flatten().collect()
}

/// HTTP/2 compresses heads.
fn has_whole_heads(report: &Foreign) -> bool {
    !report.meaning.is_bytes_of_bodies && report.tool != "h2load" && report.tool != "text"
}

fn of_responses(report: &Foreign) -> Option<Finding> {
    let received = report.bytes.as_ref()?;
    let is_of_responses = matches!(report.meaning.counts, Counts::Responses | Counts::Good);
    let responses = report.requests.as_ref().filter(|_| is_of_responses)?;
    if !has_whole_heads(report) || responses.low < 1.0 {
        return None;
    }
    let each = received.high / responses.low;
    let words = format!(
        "{} for {} responses: {each:.0} bytes each",
        bytes(received.value),
        number(responses.value)
    );
    Some(match each < RESPONSE_MIN {
        true => {
            let short = format!("{words}, and the shortest has {RESPONSE_MIN:.0}");
            open(Outcome::Impossible, &["bytes", "requests", "rate"], short, AGAIN)
        }
        false => settled(Outcome::Holds, &["bytes", "requests"], words),
    })
}

fn of_time(report: &Foreign) -> Option<Finding> {
    let (all, per_second) = (report.bytes.as_ref()?, report.bytes_rate.as_ref()?);
    let duration = report.duration_s.as_ref()?;
    if report.meaning.rate_is != RateIs::Quotient {
        return None;
    }
    let product = (Range::read(per_second) * Range::read(duration)).wider(CLOCKS);
    let words = format!(
        "{}/s x {} = {}, and {} are reported",
        bytes(per_second.value),
        time(duration.value),
        bytes(per_second.value * duration.value),
        bytes(all.value)
    );
    Some(compared(product, Range::read(all), &["bytes_rate", "bytes"], words))
}

/// The least that was carried, bytes per second, and the text that says so.
fn carried(report: &Foreign) -> Option<(f64, String)> {
    if let Some(per_second) = &report.bytes_rate {
        return Some((per_second.low, format!("{}/s", bytes(per_second.value))));
    }
    if let (Some(all), Some(duration)) = (&report.bytes, &report.duration_s) {
        let per_second = all.low / duration.high.max(1e-9);
        return Some((per_second, format!("{} in {}", bytes(all.value), time(duration.value))));
    }
    let responses = report.rate.as_ref()?;
    let words = format!("{} x {RESPONSE_MIN:.0} bytes at least", rate(responses.value));
    has_whole_heads(report).then_some((responses.low * RESPONSE_MIN, words))
}

fn of_link(report: &Foreign, given: &Given) -> Option<Finding> {
    let link = given.link_bits_per_s?;
    let (least, words) = carried(report)?;
    let claims: &[&str] =
        if report.bytes_rate.is_some() { &["rate", "bytes_rate"] } else { &["rate"] };
    let share = least * 8.0 / link.max(1.0);
    let arithmetic = format!(
        "{words} = {} without TCP headers, {} of {}",
        bits(least * 8.0),
        percent(share),
        bits(link)
    );
    if share <= 1.0 {
        return Some(settled(Outcome::Holds, claims, arithmetic));
    }
    let is_local = report.url.as_ref().is_some_and(|url| is_loopback(url));
    if is_local {
        let local = format!("{arithmetic}; but the server was on the client's own host");
        return Some(open(Outcome::Undecided, claims, local, LINK));
    }
    Some(open(Outcome::Impossible, claims, arithmetic, LINK))
}

fn is_loopback(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, host)| host);
    ["127.", "localhost", "[::1]"].iter().any(|local| host.starts_with(local))
}
