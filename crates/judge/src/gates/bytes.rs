//! At least 98 % of the bytes read from sockets belong to responses, and no response is one that
//! no request asked for.
//!
//! Bytes that arrive while no request is in flight are counted separately, and so are late
//! responses to an earlier level. Empty lines after a response are skipped; after anything else
//! that no request asked for the worker closes the connection and counts it as unsolicited. With
//! one request in flight per connection, bytes that are no response (a body of 204 or HEAD, one
//! longer than announced) come after a response that was booked rightly. In a pipeline, and where
//! the bytes are a whole response, those before may have been booked with the wrong requests: the
//! gate fails. Bytes of responses that were cut off, came too late or were not HTTP belong to no
//! response. Each request that failed or got no response may explain two mean responses. A larger
//! difference breaks the gate: the parser may have lost its place.

use super::Checked;
use crate::case::Case;
use model::fault::{self, Fault};
use model::run::Point;
use model::tick::ErrorClass;
use model::units::show_bytes;

const BOUND: &str = "at most 2 % apart, beyond what failed requests explain";
const BOUND_UNASKED: &str = "no response that no request asked for; in a pipeline no such byte";
/// Mean responses that a request without a response may explain.
const EXPLAINED: f64 = 2.0;

pub fn check(case: &Case<'_>) -> Checked {
    let point = case.point;
    let stray = point.client_loop.stray_bytes;
    let read = point.client_loop.socket_bytes.saturating_sub(stray);
    if read == 0 {
        return Checked::unchecked(BOUND, "no bytes were read");
    }
    if let Some(shifted) = shifted(point) {
        return shifted;
    }
    let in_responses = point.bytes.received + point.unmeasured.bytes_received;
    let excess = (read as f64 - in_responses as f64 - explained(case.point, in_responses)).max(0.0);
    let missing = (in_responses as f64 - read as f64).max(0.0);
    let apart = excess.max(missing) / read as f64;
    let (in_responses, read) = (show_bytes(in_responses as f64), show_bytes(read as f64));
    let mut why = format!("{in_responses} in responses, {read} read from sockets");
    if stray > 0 {
        why += &format!(", and {} that answer no request of this level", show_bytes(stray as f64));
    }
    Checked::share(apart, 0.02, BOUND, why)
}

/// What the server sent that no request had asked for, where responses may therefore be booked with
/// requests that they do not answer: where several requests were in flight on a connection, or a
/// whole response came. With the connections; the fault is none where the bytes were of no kind.
fn unasked(point: &Point) -> Option<(u64, Option<Fault>)> {
    let faults = &point.connections.faults;
    let extra = faults.get(Fault::ExtraResponse.name()).copied().unwrap_or(0);
    let doubtful = if point.load.depth > 1 { point.connections.unsolicited } else { extra };
    let is_unasked = |name: &str| Fault::parse(name).is_some_and(|fault| fault.is_unasked());
    let unasked = faults.iter().filter(|(name, _)| is_unasked(name));
    let unasked = unasked.map(|(name, count)| (name.clone(), *count)).collect();
    let worst = || fault::worst(&unasked).map(|(fault, _)| fault);
    let fault = if extra > 0 { Some(Fault::ExtraResponse) } else { worst() };
    (doubtful > 0).then_some((doubtful, fault))
}

/// What mends the server, where it sent what no request had asked for.
pub(crate) fn advice(point: &Point) -> Option<&'static str> {
    Some(unasked(point)?.1?.advice())
}

fn shifted(point: &Point) -> Option<Checked> {
    let (doubtful, fault) = unasked(point)?;
    let words = fault.map_or("sent bytes that no request had asked for", Fault::words);
    let why = format!(
        "on {doubtful} connections the server {words}: responses before that may be booked with \
         requests that they do not answer"
    );
    let (ok, measured) = (Some(false), Some(doubtful as f64));
    Some(Checked { ok, measured, bound: BOUND_UNASKED.to_string(), why })
}

/// Bytes that requests without a whole response may have read.
fn explained(point: &Point, in_responses: u64) -> f64 {
    let (responses, _) = point.responses();
    let classes = ErrorClass::ALL.iter().filter(|class| class.is_of_requests());
    let failed: u64 = classes.filter_map(|class| point.errors.get(class.name())).sum();
    let before = &point.unmeasured;
    let without = failed + point.requests.unanswered + before.failed + before.unanswered;
    let mean = in_responses as f64 / (responses + before.completed).max(1) as f64;
    EXPLAINED * mean * without as f64
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;

    #[test]
    fn cut_responses_are_explained_by_the_requests_that_failed() {
        let mut fixture = Fixture::good();
        let received = fixture.point.bytes.received;
        fixture.point.client_loop.socket_bytes = received + received / 10;
        assert_eq!(super::check(&fixture.case()).ok, Some(false), "nothing failed");
        let failed = fixture.point.requests.sent / 10;
        fixture.point.errors.insert("closed".to_string(), failed);
        assert_eq!(super::check(&fixture.case()).ok, Some(true));
        fixture.point.client_loop.socket_bytes = received / 2;
        assert_eq!(super::check(&fixture.case()).ok, Some(false), "more than was read");
    }

    #[test]
    fn responses_that_no_request_asked_for_break_it_at_any_depth_and_other_bytes_in_a_pipeline() {
        for (depth, name, ok) in [
            (1, "body-of-204", Some(true)),
            (1, "beyond-length", Some(true)),
            (1, "extra-response", Some(false)),
            (8, "body-of-204", Some(false)),
            (8, "body-of-head", Some(false)),
            (8, "extra-response", Some(false)),
        ] {
            let mut fixture = Fixture::good();
            fixture.point.load.depth = depth;
            fixture.point.connections.unsolicited = 3;
            fixture.point.connections.faults.insert(name.to_string(), 3);
            let checked = super::check(&fixture.case());
            assert_eq!(checked.ok, ok, "{depth} {name}");
            let fault = model::fault::Fault::parse(name).unwrap();
            assert!(ok == Some(true) || checked.why.contains(fault.words()), "{checked:?}");
            let advice = (ok == Some(false)).then_some(fault.advice());
            assert_eq!(super::advice(&fixture.point), advice, "{depth} {name}");
        }
    }
}
