//! The shape of a ramp: does throughput still grow with the load, or is it flat?
//!
//! In closed loop the load is the number of requests in flight, N; in open loop it is the asked
//! rate. Without a wall throughput grows like the load; at a saturated station it is flat and
//! latency grows instead. The shape says that there is a wall, never on which side.

use crate::{stats, steady};
use model::run::Point;
use model::verdict::{Ceiling, CeilingKind};

/// Points within this share of the best belong to the plateau.
const PLATEAU: f64 = 0.95;
/// The plateau must span at least this ratio of loads to be one.
const SPAN_MIN: f64 = 1.5;

/// Loads of which one is so many times the other say something by themselves.
const FAR: u64 = 8;

/// What throughput does as the load grows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// Fewer than three levels.
    TooFew,
    /// It still grows at the highest load.
    Rising,
    /// It does not grow any more.
    Flat {
        /// Index of the smallest load that reaches the plateau.
        knee: usize,
        /// Indexes of all points on the plateau.
        plateau: Vec<usize>,
    },
}

/// What a point asks for: requests in flight in closed loop, requests per second in open loop.
pub fn load_of(point: &Point) -> u64 {
    match point.load.rate {
        Some(rate) => rate.round() as u64,
        None => u64::from(point.load.connections) * u64::from(point.load.depth),
    }
}

/// The same with its unit.
pub fn load_phrase(point: &Point) -> String {
    let unit = if point.load.rate.is_some() { "requests/s asked for" } else { "in flight" };
    format!("{} {unit}", load_of(point))
}

/// The shape of points in order of rising load.
pub fn shape(points: &[&Point]) -> Shape {
    let few = points.len() < 3;
    if few && !are_far_apart(points) {
        return Shape::TooFew;
    }
    let best = points.iter().map(|point| point.headline_rate()).fold(0.0, f64::max);
    let reaches = |index: &usize| points[*index].headline_rate() >= PLATEAU * best;
    let plateau: Vec<usize> = (0..points.len()).filter(reaches).collect();
    let (Some(&knee), Some(&last)) = (plateau.first(), plateau.last()) else {
        return Shape::TooFew;
    };
    let spans = load_of(points[last]) as f64 / load_of(points[knee]).max(1) as f64 >= SPAN_MIN;
    let declines = last + 1 < points.len();
    match (spans || declines, few) {
        (true, _) => Shape::Flat { knee, plateau },
        (false, false) => Shape::Rising,
        (false, true) => Shape::TooFew,
    }
}

/// Two levels tell only that nothing grew, and only with a wide gap between them.
fn are_far_apart(points: &[&Point]) -> bool {
    let [low, high] = points else { return false };
    load_of(high) >= FAR * load_of(low).max(1)
}

/// The rate of one or more points at one wall, with the interval of its mean.
pub fn ceiling(points: &[&Point], kind: CeilingKind) -> Option<Ceiling> {
    let rates: Vec<f64> = points.iter().map(|point| point.headline_rate()).collect();
    let rate = stats::mean(&rates)?;
    let batches: Vec<f64> = points
        .iter()
        .flat_map(|point| steady::independent_rates(&point.per_100ms, point.headline_rate()))
        .collect();
    let interval = stats::mean_interval(&batches);
    Some(Ceiling {
        rate,
        kind,
        low: interval.map(|(low, _)| low.min(rate)),
        high: interval.map(|(_, high)| high.max(rate)),
        knee_in_flight: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn points(levels: &[(u32, f64)]) -> Vec<Point> {
        levels.iter().map(|(connections, rate)| Fixture::point(*connections, *rate)).collect()
    }

    fn shape_of(levels: &[(u32, f64)]) -> Shape {
        let points = points(levels);
        shape(&points.iter().collect::<Vec<_>>())
    }

    #[test]
    fn growth_flatness_and_decline_are_told_apart() {
        let rising = [(50, 1000.0), (100, 2000.0), (200, 3900.0)];
        assert_eq!(shape_of(&rising), Shape::Rising);
        let flat = [(50, 1000.0), (100, 1950.0), (200, 2000.0), (400, 1980.0)];
        assert_eq!(shape_of(&flat), Shape::Flat { knee: 1, plateau: vec![1, 2, 3] });
        let declining = [(50, 1000.0), (100, 2000.0), (200, 1500.0)];
        assert_eq!(shape_of(&declining), Shape::Flat { knee: 1, plateau: vec![1] });
        assert_eq!(shape_of(&rising[..2]), Shape::TooFew);
        let far = [(100, 2000.0), (800, 1990.0)];
        assert_eq!(shape_of(&far), Shape::Flat { knee: 0, plateau: vec![0, 1] });
        assert_eq!(shape_of(&[far[0], (799, 1990.0)]), Shape::TooFew);
        assert_eq!(shape_of(&[far[0], (800, 4000.0)]), Shape::TooFew);
    }

    #[test]
    fn a_ceiling_has_the_mean_of_the_plateau_and_an_interval() {
        let points = points(&[(100, 1950.0), (200, 2000.0), (400, 1980.0)]);
        let points: Vec<_> = points.iter().collect();
        let ceiling = ceiling(&points, CeilingKind::Ceiling).unwrap();
        assert!((ceiling.rate - 1976.7).abs() < 0.1);
        assert!(ceiling.low.unwrap() < ceiling.rate && ceiling.rate < ceiling.high.unwrap());
    }
}
