//! What servers of HTTP/2 do to a load, in words: notices about one point.

use model::run::Point;
use model::streams::StreamInfo;
use std::collections::BTreeMap;

/// Share of the connections at the server's limit, and of the requests held back, from which a
/// notice is worth its line.
const SHARE_MIN: f64 = 0.05;

/// Everything that a run says about the streams of a point.
pub(crate) fn notices(point: &Point) -> impl Iterator<Item = String> {
    let all = [few_streams, small_window, own_window, left].map(|notice| {
        let streams = point.connections.streams.as_ref()?;
        let text = notice(point, streams)?;
        Some(format!("{} connections: {text}", point.load.connections))
    });
    all.into_iter().flatten()
}

/// The server allows fewer streams at once than the load has per connection, and requests wait for
/// that.
fn few_streams(point: &Point, streams: &StreamInfo) -> Option<String> {
    let (load, requests) = (&point.load, &point.requests);
    let limit = streams.limit_min.filter(|limit| *limit < u64::from(load.depth))?;
    let few =
        format!("the server allows fewer streams at once than -p {}: {limit} on each", load.depth);
    let found = match requests.limited {
        _ if point.is_closed_loop()
            && streams.limited > SHARE_MIN * f64::from(load.connections) =>
        {
            format!("{:.1} of them had as many streams as they may, because {few}", streams.limited)
        }
        limited @ 1.. => format!("{limited} requests waited, because {few}"),
        _ => return None,
    };
    Some(format!("{found}; -c adds connections"))
}

/// Bodies wait for the server's windows.
fn small_window(point: &Point, streams: &StreamInfo) -> Option<String> {
    let in_flight = point.in_flight.mean.unwrap_or(0.0);
    (streams.held > SHARE_MIN * in_flight.max(1.0)).then(|| {
        format!(
            "{:.1} requests waited to send the rest of their body, because the windows of the \
             server were full",
            streams.held
        )
    })
}

/// Our window, which the load asked for, is shorter than responses.
fn own_window(_: &Point, streams: &StreamInfo) -> Option<String> {
    (streams.long_responses > 0).then(|| {
        format!(
            "{} responses were longer than --window: the server had to wait for ceiling to open \
             it again, a round trip at least",
            streams.long_responses
        )
    })
}

/// The server left connections, or reset streams.
fn left(point: &Point, streams: &StreamInfo) -> Option<String> {
    let codes = |counts: &BTreeMap<String, u64>| {
        let each = counts.iter().map(|(code, count)| format!("{code} {count}"));
        each.collect::<Vec<_>>().join(", ")
    };
    let (left, resets) = (codes(&streams.left), codes(&streams.resets));
    let after = match (streams.left_after_min, streams.left_after_max) {
        (Some(least), Some(most)) if least == most => format!(", each after {least} requests"),
        (Some(least), Some(most)) => format!(", after {least} to {most} requests"),
        _ => String::new(),
    };
    let waited = match point.requests.renewed {
        0 => String::new(),
        count => format!("; {count} requests waited for such a connection to be opened again"),
    };
    match (left.is_empty(), resets.is_empty()) {
        (true, true) => None,
        (false, true) => {
            Some(format!("the server left connections (GOAWAY: {left}){after}{waited}"))
        }
        (true, false) => Some(format!("the server reset streams (RST_STREAM: {resets})")),
        (false, false) => Some(format!(
            "the server left connections (GOAWAY: {left}){after}, and reset streams (RST_STREAM: \
             {resets}){waited}"
        )),
    }
}
