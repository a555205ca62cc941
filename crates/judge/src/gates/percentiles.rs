//! There are enough answers for a median: ten on each side of it.
//!
//! Higher percentiles without ten values beyond them are absent from the record; they do not make
//! it invalid. In open loop a server slower than the plan leaves requests unsent until more than
//! half have only a lower bound: the bounds have a median then, and those sent had theirs.

use super::Outcome;
use crate::case::Case;
use model::run::Point;

const BOUND: &str = "a median at least";

pub fn check(case: &Case<'_>) -> Outcome {
    let latency = &case.point.latency_ns;
    let requests = &case.point.requests;
    if requests.sent == 0 {
        return Outcome::unchecked(BOUND, "no request was sent");
    }
    if (requests.failed + requests.unanswered) * 2 >= requests.sent {
        // Few answers are then no sign of a short measurement; the errors gate speaks.
        return Outcome::unchecked(BOUND, "half of the requests or more had no good answer");
    }
    let named = [
        ("p90", latency.p90),
        ("p99", latency.p99),
        ("p99.9", latency.p99_9),
        ("p99.99", latency.p99_99),
    ];
    let absent: Vec<_> =
        named.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| *name).collect();
    let is_bounded = case.is_open() && requests.unsent > 0 && is_known_from_below(case.point);
    let why = match (latency.p50, absent.as_slice()) {
        (None, _) if is_bounded => {
            "half of the planned requests or more were not sent: the median is known from below"
                .to_string()
        }
        (None, _) => "too few answers, or too many without one, for a median".to_string(),
        (_, []) => "every percentile has at least ten answers beyond it".to_string(),
        (_, absent) => format!("too few answers for {}: left out", absent.join(", ")),
    };
    let count = latency.count as f64;
    Outcome {
        ok: Some(latency.p50.is_some() || is_bounded),
        measured: Some(count),
        bound: BOUND.to_string(),
        why,
    }
}

/// Whether a lower bound in the place of what has no answer makes a median, beside that of service.
fn is_known_from_below(point: &Point) -> bool {
    let at_least = point.latency_at_least_ns.as_ref().and_then(|latency| latency.p50);
    at_least.is_some() && point.service_ns.p50.is_some()
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use model::histogram::Summary;

    fn holds(model: &str, at_least_ns: Option<u64>, service_ns: Option<u64>) -> Option<bool> {
        let mut fixture = Fixture::good();
        let point = &mut fixture.point;
        point.load.model = model.to_string();
        point.requests.unsent = point.requests.sent * 2;
        point.latency_ns.p50 = None;
        point.service_ns.p50 = service_ns;
        point.latency_at_least_ns = Some(Summary { p50: at_least_ns, ..Summary::default() });
        super::check(&fixture.case()).ok
    }

    #[test]
    fn a_server_slower_than_the_plan_is_measured() {
        assert_eq!(holds("open", Some(2_000_000_000), Some(1_000_000)), Some(true));
        assert_eq!(holds("open", None, Some(1_000_000)), Some(false));
        assert_eq!(holds("open", Some(2_000_000_000), None), Some(false), "few answers");
        assert_eq!(holds("closed", Some(2_000_000_000), Some(1_000_000)), Some(false));
    }
}
