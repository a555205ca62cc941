//! Little's law: requests in flight = rate x mean latency.
//!
//! The three figures come from three separate accounts (workers' integral, counters, histogram),
//! so a rate that counts batches, or latencies that miss a queue, cannot satisfy it by accident.
//! Requests without an answer have no latency, yet were in flight, each for the whole window at
//! most: as much of the difference as they can explain is theirs. The rate counts responses that
//! arrived in the window; requests of the window that were answered after it were in flight in it
//! for as long as they took at most. Where as many came from before the window they cancel out, and
//! where it began with nothing in flight (no warm-up) they are what is missing.
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
    let arrived = requests.arrived.unwrap_or(requests.completed);
    let late = requests.completed.saturating_sub(arrived) as f64;
    let late =
        late * (mean_ns as f64 / 1e9 / point.load.duration_s.max(f64::MIN_POSITIVE)).min(1.0);
    let explained = (in_flight - implied).clamp(0.0, lost as f64 + late);
    let ratio = (implied + explained) / in_flight.max(f64::MIN_POSITIVE);
    let mut why = format!("rate x mean latency = {implied:.1} for {in_flight:.1} in flight");
    if explained >= 0.1 {
        why += &format!(", {explained:.1} of them without an answer in the window");
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
    fn a_window_that_began_empty_has_its_last_responses_after_it() {
        // Three rounds of 8 x 0.2 s = a window of 0.6 s, of which the last is answered after it.
        let mut fixture = Fixture::good();
        let point = &mut fixture.point;
        point.service_ns.mean = Some(1_600_000_000);
        point.requests.completed = 1500;
        (point.requests.arrived, point.rate) = (Some(1000), 3.4);
        assert_eq!(holds(&fixture), Some(true), "{:?}", super::check(&fixture.case()));
        fixture.point.requests.arrived = Some(1500);
        assert_eq!(holds(&fixture), Some(false), "nothing came after the window");
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
