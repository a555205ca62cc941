//! Little's law: requests in flight = rate x mean latency.
//!
//! The three figures come from three separate accounts (workers' integral, counters, histogram),
//! so a rate that counts batches, or latencies that miss a queue, cannot satisfy it by accident.
//! Requests without an answer have no latency, yet were in flight, each for the whole window at
//! most: as much of the difference as they can explain is theirs.
//! Source: J. D. C. Little, A Proof for the Queuing Formula L = lambda W (1961).

use super::Outcome;
use crate::case::Case;

const BOUND: &str = "0.80 to 1.25";

pub fn check(case: &Case<'_>) -> Outcome {
    let point = case.point;
    let requests = &point.requests;
    let before = &point.unmeasured;
    let lost = requests.failed + requests.unanswered + before.failed + before.unanswered;
    if requests.completed < 100 {
        return Outcome::unchecked(BOUND, "fewer than 100 completed requests");
    }
    // From the send: a request that waits to be sent is not in flight.
    let (Some(mean_ns), Some(in_flight)) = (point.service_ns.mean, point.in_flight.mean) else {
        return Outcome::unchecked(BOUND, "no mean latency or no count of requests in flight");
    };
    let implied = point.rate * mean_ns as f64 / 1e9;
    let explained = (in_flight - implied).clamp(0.0, lost as f64);
    let ratio = (implied + explained) / in_flight.max(f64::MIN_POSITIVE);
    let mut why = format!("rate x mean latency = {implied:.1} for {in_flight:.1} in flight");
    if explained >= 0.1 {
        why += &format!(", {explained:.1} of them without an answer");
    }
    Outcome {
        ok: Some((0.80..=1.25).contains(&ratio)),
        measured: Some(ratio),
        bound: BOUND.to_string(),
        why,
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;

    fn holds(fixture: &Fixture) -> Option<bool> {
        super::check(&fixture.case()).ok
    }

    #[test]
    fn a_rate_that_counts_twice_or_half_breaks_it() {
        let mut fixture = Fixture::good();
        assert_eq!(holds(&fixture), Some(true));
        fixture.point.rate *= 2.0;
        assert_eq!(holds(&fixture), Some(false));
        fixture.point.rate /= 4.0;
        assert_eq!(holds(&fixture), Some(false));
    }

    #[test]
    fn requests_without_an_answer_explain_no_more_than_themselves() {
        let mut fixture = Fixture::good();
        fixture.point.in_flight.mean = Some(16.0);
        assert_eq!(holds(&fixture), Some(false), "eight too many in flight");
        fixture.point.requests.unanswered = 8;
        assert_eq!(holds(&fixture), Some(true), "they were never answered");
        fixture.point.rate *= 10.0;
        assert_eq!(holds(&fixture), Some(false), "nothing explains too high a rate");
    }
}
