//! A call of gRPC that is good has a message, and its status is in the trailers.
//!
//! Each message has five bytes before it, also an empty one. A call that failed has none, and
//! status 200 of HTTP like the others. A tool that does not read trailers calls both a success.

use super::{Listed, open};
use crate::audit::say::number;
use model::audit::{Finding, Foreign, Given, Outcome};

pub(super) const LISTED: Listed = Listed {
    id: "calls",
    asks: "Did the calls of gRPC that count as good have a message, and is their status read?",
    source: "gRPC over HTTP/2 (PROTOCOL-HTTP2.md): Length-Prefixed-Message, Trailers",
    check,
};

/// What stands before each message.
const PREFIX_BYTES: f64 = 5.0;
/// The content type of a call.
const CALL: &str = "application/grpc";
/// The tools that read the status of a call.
const READ_IT: [&str; 4] = ["ghz", "k6", "gatling", "fortio"];

const SETTLE: &str = "count the calls by their status: `ceiling load grpc://HOST:PORT/S/M`";

fn check(report: &Foreign, _: &Given) -> Vec<Finding> {
    let is_call = report.command.as_ref().is_some_and(|typed| typed.contains(CALL));
    let (true, Some(good)) = (is_call, report.good.as_ref()) else { return Vec::new() };
    if READ_IT.contains(&report.tool.as_str()) || good.value < 1.0 {
        return Vec::new();
    }
    let claims = ["good", "errors", "rate"];
    let bodies = report.body_bytes.as_ref().filter(|bytes| bytes.high < PREFIX_BYTES * good.low);
    if let Some(bytes) = bodies {
        let with_message = (bytes.high / PREFIX_BYTES).floor();
        let words = format!(
            "{} calls count as good, and all bodies have {} bytes: each message takes at least \
             {PREFIX_BYTES}, so at most {} calls were answered",
            number(good.value),
            number(bytes.high),
            number(with_message)
        );
        return vec![open(Outcome::Impossible, &claims, words, SETTLE)];
    }
    let words = format!(
        "{} does not read the status of a call, which is in its trailers: a call that failed has \
         status 200 of HTTP",
        report.tool
    );
    vec![open(Outcome::Undecided, &claims, words, SETTLE)]
}
