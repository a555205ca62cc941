//! The figures of a visit: those figures of a run that are compared with other visits, in an
//! experiment and in a journal.

use crate::book::measured;
use model::analysis::LevelSeen;
use model::claim::Claim;
use model::figure::Figure;
use model::maps::IntoMap;
use model::run::{Point, Record};
use model::standing::Standing;
use model::tool::ToolRun;
use model::verdict::CeilingKind;
use model::visit::{best_point, rate_asked};
use std::collections::BTreeMap;

/// The figures of a visit that can be compared with those of other visits. What is not valid or is
/// not known is left out; a percentile that falls among the requests without a good response is
/// known from below, and has the least that it can be ([`bounds`]). All are above zero, except a
/// rate of zero that was measured ([`is_nothing`]) and figures that count what may not happen.
pub fn figures(of: &Record) -> BTreeMap<Figure, f64> {
    if let Some(tool) = &of.tool {
        let value = |figure| {
            let value = tool.figure(figure)?;
            (is_valid(value, figure) || is_nothing_of_tool(tool, figure)).then_some((figure, value))
        };
        return Figure::of_visits().filter_map(value).into_map();
    }
    best_point(of).map(|(_, point)| of_point(point, Figure::of_visits())).unwrap_or_default()
}

/// The levels of a visit, by their figures; empty for one level, for a search, whose trials are
/// chosen by what it finds, and for another tool. Of a load that was measured twice, the last.
pub fn levels(of: &Record) -> Vec<LevelSeen> {
    let seen = |point: &Point| LevelSeen {
        load: point.level_size(),
        figures: of_point(point, Figure::OF_LEVELS.into_iter()),
        bounds: bounds_of(point, Figure::OF_LEVELS.into_iter()),
    };
    if of.tool.is_some() || of.search.is_some() {
        return Vec::new();
    }
    let by_load: BTreeMap<u64, LevelSeen> =
        of.points.iter().map(|point| (point.level_size(), seen(point))).collect();
    if by_load.len() < 2 { Vec::new() } else { by_load.into_values().collect() }
}

/// The figures of a point, as those of a visit, of which more than bounds is known.
pub fn known_of(point: &Point) -> BTreeMap<Figure, f64> {
    let bounds = bounds_of(point, Figure::of_visits());
    let mut known = of_point(point, Figure::of_visits());
    known.retain(|figure, _| !bounds.contains_key(figure));
    known
}

/// These figures of a point, as far as they are valid and known.
fn of_point(point: &Point, figures: impl Iterator<Item = Figure>) -> BTreeMap<Figure, f64> {
    let known = |figure| measured(point, figure).filter(|_| !is_unknown(point, figure));
    let value = |figure: Figure| {
        let value = least_of(point, figure).or_else(|| known(figure))?;
        (is_valid(value, figure) || is_nothing(point, figure)).then_some((figure, value))
    };
    figures.filter_map(value).into_map()
}

fn is_valid(value: f64, figure: Figure) -> bool {
    value.is_finite() && (value > 0.0 || figure.has_zero() && value == 0.0)
}

/// Whether a figure is a rate of zero that was measured: requests, connections of devices or
/// streams were asked for, and nothing good came of them. Not measured is another thing: a window
/// that never opened has no rate. A fan-out whose streams are all there, without a writer of ours
/// and without a missing event, may have had nothing to send.
pub fn is_nothing(point: &Point, figure: Figure) -> bool {
    figure == Figure::Rate && point.is_asked() && rate_asked(point) == Some(0.0)
}

/// Whether another tool's rate is zero because nothing good came, by its own counts.
pub fn is_nothing_of_tool(tool: &ToolRun, figure: Figure) -> bool {
    let is_asked = tool.failures().is_some_and(|(ended, _)| ended > 0);
    figure == Figure::Rate && is_asked && tool.figure(figure) == Some(0.0)
}

fn is_unknown(point: &Point, figure: Figure) -> bool {
    point.main().standing(figure).is_not_known()
}

/// Lowest and highest value of those figures of which only bounds are known. A figure that is known
/// from below has no highest.
pub fn bounds(of: &Record) -> BTreeMap<Figure, (f64, Option<f64>)> {
    if of.tool.is_some() {
        return BTreeMap::new();
    }
    best_point(of).map(|(_, point)| bounds_of(point, Figure::of_visits())).unwrap_or_default()
}

fn bounds_of(
    point: &Point,
    figures: impl Iterator<Item = Figure>,
) -> BTreeMap<Figure, (f64, Option<f64>)> {
    let bound = |figure: Figure| match (least_of(point, figure), point.main().standing(figure)) {
        (Some(least), _) => Some((figure, (least, None))),
        (None, Standing::Bounded { low, high, .. }) => Some((figure, (low, high))),
        (None, _) => None,
    };
    figures.filter_map(bound).into_map()
}

/// Whether the rate of a visit is only a lower bound of what the server can do: the generator was
/// the wall, or a search ended without a rate that misses. As the rate of the generator it is
/// known.
pub fn is_at_least(of: &Record) -> bool {
    let answer = of.search.as_ref().and_then(|search| search.answer.as_ref());
    let is_open =
        answer.is_some_and(|answer| answer.rate.is_some() && answer.kind == CeilingKind::AtLeast);
    is_open || of.claim() == Claim::OfGenerator
}

/// The least that a percentile of the main times can be, where it falls among the requests without
/// a good response, which rank as slower than all others: the largest time that the record has
/// below it, 0 without any. Nothing where it does not, or where gates struck all times.
pub fn least_of(point: &Point, figure: Figure) -> Option<f64> {
    let statistic = figure.statistic().filter(|_| figure.is_latency())?;
    let times = point.main_times().filter(|times| times.at(statistic).is_none())?;
    let quantile = statistic.quantile()?;
    let mean = point.main().standing(Figure::MEAN);
    if !times.is_beyond(quantile) || times.count > 0 && mean.is_not_known() {
        return None;
    }
    let lower = Figure::LATENCIES.into_iter().filter(|one| *one <= figure);
    let low = |one| match point.main().standing(one) {
        Standing::Bounded { low, .. } => Some(low),
        Standing::Sound => times.of(one).map(|ns| ns as f64),
        Standing::NotKnown { .. } => None,
    };
    Some(lower.filter_map(low).fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::verdict::Named;
    use model::wall::{Side, WallId};
    use serde_json::Value;

    const KEPT: &str = include_str!("../../judge/tests/kept/full-event-loop.json");

    /// A run with this rate.
    fn record(rate: f64) -> Record {
        let kept: Value = serde_json::from_str(KEPT).unwrap();
        let mut record: Record = serde_json::from_value(kept["record"].clone()).unwrap();
        record.points[0].rate = rate;
        record.verdict.ceiling = None;
        record
    }

    #[test]
    fn a_rate_that_something_else_limited_is_at_least_that() {
        let mut of = record(100.0);
        assert!(!is_at_least(&of), "{:?}", of.verdict.wall);
        of.verdict.side = Side::Client;
        for (wall, expected) in [(WallId::C1, true), (WallId::C4, false), (WallId::C5, true)] {
            of.verdict.wall = Named::Wall(wall);
            assert_eq!(is_at_least(&of), expected, "{wall:?}");
        }
        let answer = |rate: Option<f64>, kind: &str| -> Record {
            let search = serde_json::json!({
                "config": {
                    "lowest": 10.0, "highest": 100.0, "precision": 0.1, "budget_ns": 1,
                    "trial_ns": 1, "answers_min": 1, "confidence": 0.95,
                },
                "trials": [],
                "answer": {
                    "rate": rate, "kind": kind, "misses_at": null, "width": null,
                    "ended": "highest-holds", "confidence": "probable", "below": null,
                    "above": null, "notes": [],
                },
            });
            Record { search: Some(serde_json::from_value(search).unwrap()), ..record(100.0) }
        };
        assert!(is_at_least(&answer(Some(100.0), "at-least")));
        assert!(!is_at_least(&answer(Some(100.0), "ceiling")));
        assert!(!is_at_least(&answer(None, "at-least")), "there is no rate");
    }

    #[test]
    fn levels_have_the_figures_of_their_points() {
        let mut of = record(100.0);
        assert_eq!(levels(&of), [], "one level has nothing to be compared beside the visit");
        let mut second = of.points[0].clone();
        (second.load.connections, second.rate) = (2 * second.load.connections, 150.0);
        of.points.iter_mut().for_each(|point| point.load.depth = 4);
        second.load.depth = 4;
        let first = u64::from(of.points[0].load.connections);
        assert_eq!(of.points[0].asked_size(), 4 * first);
        of.points.push(second.clone());
        let seen = |of: &Record| {
            let rate = |level: &LevelSeen| (level.load, level.figures.get(&Figure::Rate).copied());
            levels(of).iter().map(rate).collect::<Vec<_>>()
        };
        assert_eq!(seen(&of), [(first, Some(100.0)), (2 * first, Some(150.0))]);
        assert!(levels(&of)[0].figures.contains_key(&Figure::P95));
        let why = "two accounts disagree".to_string();
        of.points[1].standing.add(Figure::Rate, Standing::NotKnown { why });
        assert_eq!(seen(&of)[1], (2 * first, None), "absent, not zero");
        second.rate = 140.0;
        of.points.push(second);
        assert_eq!(seen(&of)[1], (2 * first, Some(140.0)), "measured again");
    }

    #[test]
    fn a_rate_of_zero_is_measured_and_not_absent() {
        let rate = |of: &Record| figures(of).get(&Figure::Rate).copied();
        assert_eq!(rate(&record(100.0)), Some(100.0));
        assert_eq!(rate(&record(0.0)), Some(0.0));
        let mut of = record(0.0);
        (of.points[0].requests.sent, of.points[0].requests.unsent) = (0, 0);
        assert_eq!(rate(&of), None, "nothing was asked for");
        of.points[0].connections.failed = 1;
        assert_eq!(rate(&of), Some(0.0), "it could not be asked for");
        let mut of = record(0.0);
        of.points[0].window_ns = (5, 5);
        assert_eq!(rate(&of), None, "the window never opened");
        let why = "two accounts disagree".to_string();
        of = record(0.0);
        of.points[0].standing.add(Figure::Rate, Standing::NotKnown { why });
        assert_eq!(rate(&of), None, "it is not known");
    }
}
