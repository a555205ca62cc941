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
