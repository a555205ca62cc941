//! Nearly all requests got a good answer, and nearly all places were still served at the end.
//!
//! Failures are often faster than answers, so a rate that includes them looks like a gain. And a
//! server that hangs keeps at most as many requests waiting as there are places, which is nothing
//! beside the millions it answered before.

use super::Outcome;
use crate::case::Case;
use model::run::{RequestInfo, TurnoverInfo};

const BOUND: &str = "at most 0.1 % of requests, and 10 % of places at the end";
/// Share of the places in flight that may be without an answer when the drain is over.
const STUCK_MAX: f64 = 0.10;

pub fn check(case: &Case<'_>) -> Outcome {
    let requests = &case.point.requests;
    if let Some(turnover) = case.point.turnover.as_ref().filter(|_| case.point.is_churn()) {
        return connections(turnover, requests);
    }
    if !case.point.asks() {
        return Outcome::unchecked(BOUND, "nobody was to send a request");
    }
    if requests.sent == 0 {
        let why = "no request was sent".to_string();
        return Outcome { ok: Some(false), measured: None, bound: BOUND.to_string(), why };
    }
    let bad = requests.failed + requests.unanswered;
    let share = bad as f64 / requests.sent as f64;
    let stuck = requests.unanswered as f64 / case.point.in_flight.limit.max(1) as f64;
    let mut why = format!(
        "{} failed and {} unanswered of {} sent",
        requests.failed, requests.unanswered, requests.sent
    );
    if stuck > STUCK_MAX {
        let limit = case.point.in_flight.limit;
        why += &format!(": of {limit} places so many were stuck at the end");
    }
    Outcome {
        ok: Some(share <= 0.001 && stuck <= STUCK_MAX),
        measured: Some(share * 100.0),
        bound: BOUND.to_string(),
        why,
    }
}

/// Devices: attempts and requests together.
fn connections(turnover: &TurnoverInfo, requests: &RequestInfo) -> Outcome {
    let bound = "at most 0.1 % of attempts and requests".to_string();
    let tried = turnover.begun + requests.sent;
    if tried == 0 {
        let why = "no connection was begun in the window".to_string();
        return Outcome { ok: None, measured: None, bound, why };
    }
    let bad = turnover.failed + requests.failed + requests.unanswered;
    let share = bad as f64 / tried as f64;
    let why = format!(
        "{} of {} attempts failed, {} of {} requests",
        turnover.failed,
        turnover.begun,
        requests.failed + requests.unanswered,
        requests.sent
    );
    Outcome { ok: Some(share <= 0.001), measured: Some(share * 100.0), bound, why }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;

    #[test]
    fn a_server_that_hangs_at_the_end_breaks_it_however_much_it_served() {
        let mut fixture = Fixture::good();
        fixture.point.requests.sent = 1_000_000;
        fixture.point.in_flight.limit = 50;
        fixture.point.requests.unanswered = 5;
        assert_eq!(super::check(&fixture.case()).ok, Some(true), "a tenth of the places");
        fixture.point.requests.unanswered = 50;
        let outcome = super::check(&fixture.case());
        assert_eq!(outcome.ok, Some(false), "all of them");
        assert!(outcome.why.contains("of 50 places"), "{}", outcome.why);
    }

    #[test]
    fn more_than_one_failure_in_a_thousand_breaks_it() {
        let mut fixture = Fixture::good();
        fixture.point.requests.sent = 10_000;
        fixture.point.requests.failed = 10;
        assert_eq!(super::check(&fixture.case()).ok, Some(true));
        fixture.point.requests.failed = 11;
        assert_eq!(super::check(&fixture.case()).ok, Some(false));
    }
}
