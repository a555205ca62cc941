//! The figures of a point.

use crate::Value;
use model::figure::{Figure, Statistic, Times};
use model::run::{Point, TurnoverInfo};
use model::visit::rate_asked;

/// The main rate, the delivery or a latency of a point; nothing where it was not measured, and for
/// other figures. A latency among requests without a good
/// response is known from below, where it is known how long they waited.
pub fn value_of(point: &Point, figure: Figure) -> Option<Value> {
    let standing = point.standing.of(figure);
    let measured = match figure {
        Figure::Rate => rate_asked(point),
        Figure::Delivery => point.events().and_then(|events| events.delivery_share),
        Figure::Time(Times::Latency, statistic) => return latency(point, statistic),
        _ => None,
    };
    measured.map(|measured| Value::of(measured, standing))
}

fn latency(point: &Point, statistic: Statistic) -> Option<Value> {
    let left = Value::left_by(point.standing.of(Figure::Time(Times::Latency, statistic)));
    let known = point.latency_ns.at(statistic).map(|ns| Value::Known(ns as f64));
    let from_below = || {
        let low = point.latency_at_least_ns.as_ref()?.at(statistic)? as f64;
        Some(Value::Between { low, high: None, why: String::new() })
    };
    match left {
        Some(between @ Value::Between { .. }) => Some(between),
        Some(unknown) if known.is_some() => Some(unknown),
        _ => known.or_else(from_below),
    }
}

/// A time to connect of devices, from the planned instant where there is one.
pub fn connect_time(turnover: &TurnoverInfo, figure: Figure) -> Option<Value> {
    let left = turnover.starts.as_ref().and_then(|starts| Value::left_by(&starts.standing(figure)));
    let known = turnover.connect_times().of(figure);
    left.or(known.map(|ns| Value::Known(ns as f64)))
}
