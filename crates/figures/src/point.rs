//! The figures of a point, and how far each is known.

use crate::Value;
use crate::book::entry;
use model::figure::Figure;
use model::run::Point;
use model::standing::Standing;
use model::subject::Account;

/// A figure of a point by what it is about; nothing where it was not measured.
pub fn value_of(point: &Point, figure: Figure) -> Option<Value> {
    value_in(point.main(), figure)
}

/// A figure of one of the things that a point counts. A latency among requests without a good
/// response is known from below, where it is known how long they waited.
pub fn value_in(of: Account<'_>, figure: Figure) -> Option<Value> {
    let measured = (entry(figure)?.read)(of, figure);
    let known = measured.filter(|value| value.is_finite()).map(Value::Known);
    let standing = of.standing(figure);
    match (Value::left_by(&standing), standing) {
        (Some(left), Standing::Bounded { .. }) if known.is_some() || figure.is_latency() => {
            Some(left)
        }
        (Some(left), _) if known.is_some() => Some(left),
        _ => known.or_else(|| from_below(of, figure)),
    }
}

fn from_below(of: Account<'_>, figure: Figure) -> Option<Value> {
    let times = of.times_at_least().filter(|_| figure.is_latency())?;
    let low = times.of(figure)? as f64;
    Some(Value::Between { low, high: None, why: String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::measured;
    use model::fanout::EventInfo;
    use model::figure::StatusClass;
    use model::histogram::Summary;
    use model::run::TurnoverInfo;
    use model::subject::Subject;

    /// A point of requests that were all answered, at 100/s.
    fn point() -> Point {
        let text = include_str!("../../judge/tests/kept/full-event-loop.json");
        let mut kept: serde_json::Value = serde_json::from_str(text).unwrap();
        let point = kept["record"]["points"][0].take();
        let latency_ns = Summary { count: 100, p50: Some(2_000_000), ..Summary::default() };
        let standing = model::standing::Standings::default();
        Point { rate: 100.0, latency_ns, standing, ..serde_json::from_value(point).unwrap() }
    }

    #[test]
    fn a_figure_is_of_what_the_point_counts() {
        let mut point = point();
        let read = |point: &Point| [Figure::Rate, Figure::P50].map(|of| measured(point, of));
        assert_eq!(read(&point), [Some(100.0), Some(2e6)]);
        point.connections.connect_ns.p50 = Some(7_000);
        let connect_ns = Summary { p50: Some(5_000), ..Summary::default() };
        let turnover = TurnoverInfo { rate: 3.0, connect_ns, ..TurnoverInfo::default() };
        point.subject = Subject::Connections(turnover.clone());
        assert_eq!(read(&point), [Some(3.0), Some(5e3)]);
        point.subject = Subject::Held(turnover);
        assert_eq!(read(&point)[1], Some(7e3), "they were opened before the window");
        let events = EventInfo { rate: 9.0, ..EventInfo::default() };
        point.subject = Subject::Events(events);
        assert_eq!(read(&point), [Some(9.0), None], "no staleness is known");
        let writers = value_in(point.as_requests(), Figure::P50);
        assert_eq!(writers, Some(Value::Known(2e6)));
    }

    #[test]
    fn shares_are_of_the_requests_that_were_due() {
        let mut point = point();
        (point.requests.sent, point.requests.unsent) = (80, 20);
        (point.requests.failed, point.requests.unanswered) = (8, 2);
        point.status.insert("5xx".to_string(), 8);
        assert_eq!(measured(&point, Figure::Errors), Some(30.0));
        let class = Figure::Status(StatusClass::ServerError);
        assert_eq!(measured(&point, class), Some(8.0));
    }

    #[test]
    fn a_latency_among_failures_is_known_from_below_and_a_struck_one_as_gates_left_it() {
        let mut point = point();
        let low = |ns| Value::Between { low: ns, high: None, why: String::new() };
        point.latency_at_least_ns = Some(Summary { p99: Some(8_000_000), ..Summary::default() });
        assert_eq!(value_of(&point, Figure::P99), Some(low(8e6)));
        assert_eq!(value_of(&point, Figure::P90), None);
        let by = "the generator was late".to_string();
        let bounded = Standing::Bounded { low: 1e6, high: Some(2e6), by: by.clone() };
        point.standing.add(Figure::P50, bounded);
        let left = Value::Between { low: 1e6, high: Some(2e6), why: by };
        assert_eq!(value_of(&point, Figure::P50), Some(left));
    }
}
