//! At least 98 % of the bytes read from sockets belong to responses.
//!
//! Bytes that arrive while no request is in flight are counted separately, and so are late
//! responses to an earlier level. Empty lines after a response are skipped; after anything else the
//! worker closes the connection and counts the bytes as unsolicited. Bytes of responses that were
//! cut off, came too late or were not HTTP belong to no response. Each request that failed or got
//! no response may explain two mean responses. A larger difference breaks the gate: the parser may
//! have lost its place.

use super::Checked;
use crate::case::Case;
use model::run::Point;
use model::tick::ErrorClass;
use model::units::show_bytes;

const BOUND: &str = "at most 2 % apart, beyond what failed requests explain";
/// Mean responses that a request without a response may explain.
const EXPLAINED: f64 = 2.0;

pub fn check(case: &Case<'_>) -> Checked {
    let point = case.point;
    let stray = point.client_loop.stray_bytes;
    let read = point.client_loop.socket_bytes.saturating_sub(stray);
    if read == 0 {
        return Checked::unchecked(BOUND, "no bytes were read");
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
}
