//! Little's law holds: requests in flight = rate x mean latency.
//!
//! The three figures come from three separate accounts (the workers' integral, counters, the
//! histogram), so a rate that counts batches, or latencies that miss a queue, cannot satisfy the
//! law by accident. The gate allows for what the law leaves out. Requests without a response have
//! no latency but were in flight, each for at most the whole window. The rate counts responses that
//! arrived in the window; requests of the window that got their response later were in flight for
//! at most their latency. These cancel out against requests from before the window, unless the
//! window started with nothing in flight (no warm-up) or a stall lies at an edge. Source: J. D. C.
//! Little, A Proof for the Queuing Formula L = lambda W (1961).

use super::Checked;
use crate::case::Case;
use model::run::Point;

const BOUND: &str = "0.80 to 1.25";

/// Up to this share of the window, requests that cross its edges do not matter.
const SHARE_SHORT: f64 = 0.2;

pub fn check(case: &Case<'_>) -> Checked {
    let point = case.point;
    let requests = &point.requests;
    let before = &point.unmeasured;
    let lost = requests.failed + requests.unanswered + before.failed + before.unanswered;
    if requests.completed < 100 {
        return Checked::unchecked(BOUND, "fewer than 100 completed requests");
    }
    // From the send: a request that waits to be sent is not in flight.
    let (Some(mean_ns), Some(in_flight)) = (point.service_ns.mean, point.in_flight.mean) else {
        return Checked::unchecked(BOUND, "no mean latency or no count of requests in flight");
    };
    let implied = point.rate * mean_ns as f64 / 1e9;
    let arrived = requests.arrived.unwrap_or(requests.completed);
    let late = requests.completed.saturating_sub(arrived) as f64;
    let early = arrived.saturating_sub(requests.completed) as f64;
    let windows = |ns: u64| ns as f64 / 1e9 / point.load.duration_s.max(f64::MIN_POSITIVE);
    let (began, ended) = edges(point, windows(mean_ns));
    let inside = lost as f64 + late * windows(mean_ns).min(1.0) + early + ended;
    let outside = late * windows(point.service_ns.max.unwrap_or(mean_ns)) + began;
    let explained = (in_flight - implied).clamp(-outside, inside);
    let ratio = (implied + explained) / in_flight.max(f64::MIN_POSITIVE);
    let mut why = format!("rate x mean latency = {implied:.1} for {in_flight:.1} in flight");
    if explained >= 0.1 {
        why += &format!(", {explained:.1} of them without a response to a request of the window");
    } else if explained <= -0.1 {
        why += &format!(", and {:.1} after the window", -explained);
    }
    Checked {
        ok: Some((0.80..=1.25).contains(&ratio)),
        measured: Some(ratio),
        bound: BOUND.to_string(),
        why,
    }
}

/// What the law leaves out where a request takes a good part of the window, as where a queue fills
/// that does not empty: those in flight at its start were there for less than their latency, and
/// those in flight at its end are not in the rate. Such crossings do not cancel out while the queue
/// grows, although their numbers do.
fn edges(point: &Point, mean_windows: f64) -> (f64, f64) {
    if mean_windows <= SHARE_SHORT {
        return (0.0, 0.0);
    }
    // Without requests from before the window the net count of crossings says it all.
    let most = point.unmeasured.sent as f64;
    let at = |in_flight: Option<f64>| in_flight.unwrap_or(0.0).min(most) * mean_windows.min(1.0);
    (at(point.in_flight.first), at(point.in_flight.last))
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;

    #[test]
    fn a_queue_that_is_as_long_as_the_window_is_explained_by_what_crossed_its_edges() {
        // An accept queue that overflows: requests that were sent before the window are answered in
        // it, and as many of the window after it.
        let full = |in_flight: f64| {
            let mut fixture = Fixture::good();
            let point = &mut fixture.point;
            point.load.duration_s = 2.0;
            (point.requests.completed, point.requests.arrived) = (200, Some(200));
            (point.rate, point.service_ns.mean) = (100.0, Some(1_900_000_000));
            point.unmeasured.sent = 300;
            let flying = &mut point.in_flight;
            (flying.mean, flying.first, flying.last) =
                (Some(in_flight), Some(in_flight), Some(in_flight));
            holds(&fixture)
        };
        assert_eq!(full(130.0), Some(true), "190 by the law");
        assert_eq!(full(60.0), Some(false), "three times as many as could cross");
    }

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
        // Three rounds of 8 x 0.2 s = a window of 0.6 s, of which the last gets its response after
        // it.
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
    fn a_stall_at_an_edge_of_the_window_is_explained_by_what_crossed_it() {
        let stalled = |counts: (u64, u64), (mean_ms, max_ms): (u64, u64), in_flight: f64| {
            let mut fixture = Fixture::good();
            let point = &mut fixture.point;
            point.load.duration_s = 0.5;
            (point.requests.completed, point.requests.arrived) = (counts.0, Some(counts.1));
            point.rate = counts.1 as f64 / 0.5;
            point.service_ns.mean = Some(mean_ms * 1_000_000);
            point.service_ns.max = Some(max_ms * 1_000_000);
            point.in_flight.mean = Some(in_flight);
            holds(&fixture)
        };
        // Measured at 400/s and at 1600/s of 5 ms each, on a host that others used.
        assert_eq!(stalled((200, 221), (39, 200), 24.4), Some(true), "it ended in the window");
        assert_eq!(stalled((200, 200), (39, 200), 24.4), Some(false), "nothing crossed");
        assert_eq!(stalled((800, 775), (13, 110), 14.6), Some(true), "it began in the window");
        assert_eq!(stalled((800, 775), (13, 13), 14.6), Some(false), "none took that long");
        assert_eq!(stalled((200, 400), (5, 10), 2.0), Some(false), "each counted twice");
    }

    #[test]
    fn requests_without_a_response_explain_no_more_than_themselves() {
        let mut fixture = Fixture::good();
        fixture.point.in_flight.mean = Some(16.0);
        assert_eq!(holds(&fixture), Some(false), "eight too many in flight");
        fixture.point.requests.unanswered = 8;
        assert_eq!(holds(&fixture), Some(true), "they never got a response");
        fixture.point.rate *= 10.0;
        assert_eq!(holds(&fixture), Some(false), "nothing explains too high a rate");
    }
}
