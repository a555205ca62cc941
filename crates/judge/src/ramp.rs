//! The shape of a ramp: does throughput still grow with the load, or is it flat?
//!
//! In closed loop the load is the number of requests in flight, N; in open loop it is the asked
//! rate. Without a wall throughput grows like the load; at a saturated station it is flat and
//! latency grows instead. The shape shows that there is a wall, never on which side.

use crate::{plateau, stats, steady};
use model::run::Point;
use model::verdict::{Ceiling, CeilingKind, IntervalKind};
use std::collections::BTreeMap;

/// Two loads of which one is this many times the other are informative by themselves.
const FAR: u64 = 8;

/// What throughput does as the load grows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trend {
    /// Fewer than three levels.
    TooFew,
    /// It still grows at the highest load.
    Rising,
    /// It no longer grows.
    Flat {
        /// Index of the smallest load that reaches the plateau.
        knee: usize,
        /// Indexes of all points on the plateau: every visit of its range of loads.
        plateau: Vec<usize>,
    },
}

/// Index of the last visit of each level: a repeated visit replaces the earlier one.
pub fn last_visits(points: &[Point]) -> Vec<usize> {
    let is_last = |index: &usize| {
        points.get(index + 1).is_none_or(|next| next.attempt <= points[*index].attempt)
    };
    (0..points.len()).filter(is_last).collect()
}

/// The shape of points in order of rising load. Visits of one load are one level.
pub fn shape(points: &[&Point]) -> Trend {
    let levels = levels(points);
    let few = levels.len() < 3;
    if few && !are_far_apart(&levels) {
        return Trend::TooFew;
    }
    let Some(found) = plateau::find(&levels) else { return Trend::TooFew };
    if !found.is_flat(&levels) {
        return if few { Trend::TooFew } else { Trend::Rising };
    }
    let range = levels[found.first].load..=levels[found.last].load;
    let is_on = |index: &usize| range.contains(&points[*index].load_size());
    let plateau: Vec<usize> = (0..points.len()).filter(is_on).collect();
    Trend::Flat { knee: plateau[0], plateau }
}

/// Visits by load, rising.
fn levels(points: &[&Point]) -> Vec<plateau::LoadRates> {
    let mut by_load: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for point in points {
        by_load.entry(point.load_size()).or_default().push(point.headline_rate());
    }
    by_load.into_iter().map(|(load, rates)| plateau::LoadRates { load, rates }).collect()
}

/// Two levels can only show that nothing grew, and only with a wide gap between them.
fn are_far_apart(levels: &[plateau::LoadRates]) -> bool {
    let [low, high] = levels else { return false };
    high.load >= FAR * low.load.max(1)
}

/// The rate of the visits at one wall, with its interval: over visits, or, with one visit, inside
/// its window.
pub fn ceiling(visits: &[&Point], kind: CeilingKind) -> Option<Ceiling> {
    let found = plateau::estimate(&levels(visits))?;
    let inside = |point: &Point| {
        let rate = point.headline_rate();
        let batches = steady::independent_rates_of(point);
        let (low, high) = stats::rate_interval(&batches)?;
        Some((low.min(rate).max(0.0), high.max(rate), IntervalKind::WithinRun))
    };
    let interval = match visits {
        [one] => inside(one),
        _ => found.interval,
    };
    let of_kind = interval.map_or(IntervalKind::WithinRun, |(_, _, kind)| kind);
    Some(Ceiling {
        low: interval.map(|(low, _, _)| low),
        high: interval.map(|(_, high, _)| high),
        interval: of_kind,
        visits: found.visits as u64,
        drift: found.drift,
        ..Ceiling::at(found.mean, kind)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn points(levels: &[(u32, f64)]) -> Vec<Point> {
        levels.iter().map(|(connections, rate)| Fixture::point(*connections, *rate)).collect()
    }

    fn shape_of(levels: &[(u32, f64)]) -> Trend {
        let points = points(levels);
        shape(&points.iter().collect::<Vec<_>>())
    }

    #[test]
    fn growth_flatness_and_decline_are_distinguished() {
        let rising = [(50, 1000.0), (100, 2000.0), (200, 3900.0)];
        assert_eq!(shape_of(&rising), Trend::Rising);
        let flat = [(50, 1000.0), (100, 1950.0), (200, 2000.0), (400, 1980.0)];
        assert_eq!(shape_of(&flat), Trend::Flat { knee: 1, plateau: vec![1, 2, 3] });
        let declining = [(50, 1000.0), (100, 2000.0), (200, 1500.0)];
        assert_eq!(shape_of(&declining), Trend::Flat { knee: 1, plateau: vec![1] });
        assert_eq!(shape_of(&rising[..2]), Trend::TooFew);
        let far = [(100, 2000.0), (800, 1990.0)];
        assert_eq!(shape_of(&far), Trend::Flat { knee: 0, plateau: vec![0, 1] });
        assert_eq!(shape_of(&[far[0], (799, 1990.0)]), Trend::TooFew);
        assert_eq!(shape_of(&[far[0], (800, 4000.0)]), Trend::TooFew);
    }

    #[test]
    fn the_interval_of_a_ceiling_is_what_its_visits_allow() {
        let points = points(&[(100, 1950.0), (200, 2000.0), (400, 1980.0)]);
        let points: Vec<_> = points.iter().collect();
        let of = |count: usize| {
            let found = ceiling(&points[..count], CeilingKind::Ceiling).unwrap();
            let within = (found.low.unwrap(), found.high.unwrap());
            (found.rate, within, found.interval, found.visits)
        };
        let (rate, (low, high), kind, visits) = of(3);
        assert_eq!((kind, visits), (IntervalKind::Visits95, 3));
        // t(2) = 4.303, s = 25.17, three visits: 62.5.
        assert!((rate - 1976.67).abs() < 0.01 && (high - rate - 62.52).abs() < 0.05, "{high}");
        assert!((rate - low - 62.52).abs() < 0.05, "{low}");
        assert_eq!(of(2), (1975.0, (1950.0, 2000.0), IntervalKind::MinMax, 2));
        let (rate, (low, high), kind, visits) = of(1);
        assert_eq!((rate, kind, visits), (1950.0, IntervalKind::WithinRun, 1));
        assert!(low < rate && rate < high);
        assert_eq!(ceiling(&[], CeilingKind::Ceiling), None);
    }

    #[test]
    fn every_visit_of_the_plateau_counts_whatever_it_gave() {
        let mut points =
            points(&[(50, 1000.0), (100, 2000.0), (200, 1300.0), (200, 1990.0), (400, 2010.0)]);
        points[3].attempt = 2;
        let found = shape(&points.iter().collect::<Vec<_>>());
        assert_eq!(found, Trend::Flat { knee: 1, plateau: vec![1, 2, 3, 4] });
    }
}
