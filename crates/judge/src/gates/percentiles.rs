//! There are enough responses for a median: ten on each side of it.
//!
//! Higher percentiles without ten values beyond them are absent from the record, which does not
//! make it invalid. In open loop, a server that is slower than the plan leaves requests unsent,
//! until more than half of the requests have only a lower bound. The median is then one of those
//! lower bounds, and the requests that were sent have a median of their own.

use super::Checked;
use crate::case::Case;
use model::figure::Figure;
use model::histogram::SAMPLES_BEYOND;
use model::run::Point;
use model::standing::Standing;

const BOUND: &str = "at least a median";

pub fn check(case: &Case<'_>) -> Checked {
    let latency = &case.point.latency_ns;
    let requests = &case.point.requests;
    if requests.sent == 0 {
        return Checked::unchecked(BOUND, "no request was sent");
    }
    if (requests.failed + requests.unanswered) * 2 >= requests.sent {
        // Few responses are then no sign of a short measurement; the failures are reported by
        // themselves.
        return Checked::unchecked(BOUND, "half of the requests or more had no good response");
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
            "half of the planned requests or more were not sent: the median has only a lower bound"
                .to_string()
        }
        (None, _) => "too few responses, or too many without one, for a median".to_string(),
        (_, []) => "every percentile has at least ten responses beyond it".to_string(),
        (_, absent) => format!("too few responses for {}: left out", absent.join(", ")),
    };
    let count = latency.count as f64;
    Checked {
        ok: Some(latency.p50.is_some() || is_bounded),
        measured: Some(count),
        bound: BOUND.to_string(),
        why,
    }
}

/// Why a latency figure is absent, and its known bound: it needs more responses, or its rank falls
/// among the requests without a good response.
pub fn absent(point: &Point, figure: Figure) -> Option<Standing> {
    let latency = &point.latency_ns;
    if latency.of(figure).is_some() || point.requests.sent == 0 {
        return None;
    }
    let population = latency.count + latency.censored;
    let beyond = quantile_of(figure).map(|quantile| population as f64 * (1.0 - quantile));
    if beyond.is_some_and(|beyond| beyond < SAMPLES_BEYOND - 1e-6) {
        let why = format!("{} needs more than {population} requests", figure.name());
        return Some(Standing::NotKnown { why });
    }
    let by = format!(
        "{} falls among the {} of {population} requests without a good response",
        figure.name(),
        latency.censored
    );
    let low_ns = point.latency_at_least_ns.as_ref().and_then(|at_least| at_least.of(figure));
    Some(match low_ns {
        Some(low_ns) => Standing::Bounded { low: low_ns as f64, high: None, by },
        None => Standing::NotKnown { why: by },
    })
}

fn quantile_of(figure: Figure) -> Option<f64> {
    Some(match figure {
        Figure::P50 => 0.5,
        Figure::P75 => 0.75,
        Figure::P90 => 0.9,
        Figure::P95 => 0.95,
        Figure::P99 => 0.99,
        Figure::P99_9 => 0.999,
        Figure::P99_99 => 0.9999,
        _ => return None,
    })
}

/// Whether a median exists when requests without a response count with their lower bound.
fn is_known_from_below(point: &Point) -> bool {
    let at_least = point.latency_at_least_ns.as_ref().and_then(|latency| latency.p50);
    at_least.is_some() && point.service_ns.p50.is_some()
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use model::histogram::Summary;
    use model::load::LoadModel;

    fn holds(model: LoadModel, at_least_ns: Option<u64>, service_ns: Option<u64>) -> Option<bool> {
        let mut fixture = Fixture::good();
        let point = &mut fixture.point;
        point.load.model = model;
        point.requests.unsent = point.requests.sent * 2;
        point.latency_ns.p50 = None;
        point.service_ns.p50 = service_ns;
        point.latency_at_least_ns = Some(Summary { p50: at_least_ns, ..Summary::default() });
        super::check(&fixture.case()).ok
    }

    #[test]
    fn a_server_slower_than_the_plan_is_measured() {
        assert_eq!(holds(LoadModel::Open, Some(2_000_000_000), Some(1_000_000)), Some(true));
        assert_eq!(holds(LoadModel::Open, None, Some(1_000_000)), Some(false));
        assert_eq!(holds(LoadModel::Open, Some(2_000_000_000), None), Some(false), "few responses");
        assert_eq!(holds(LoadModel::Closed, Some(2_000_000_000), Some(1_000_000)), Some(false));
    }
}
