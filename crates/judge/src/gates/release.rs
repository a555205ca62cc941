//! In open loop, requests are sent when they are due.
//!
//! Latency counts from the planned instant, so a late generator adds its own delay to the server's
//! latency. A punctual generator would have measured a latency between two figures: the latency
//! from the planned instant, and a lower bound without the generator delay (see `model::punctual`).
//! A percentile whose two figures agree within 5 % or 50 us is sound; for any other percentile the
//! report prints both. One late request in a thousand therefore does not move the median. A request
//! that waited for a free slot is not late: the server caused that wait.

use super::Checked;
use crate::case::Case;
use model::figure::Figure;
use model::histogram::Summary;
use model::punctual::is_moved;
use model::run::{Point, StartInfo};
use model::standing::Standing;
use model::units::show_ns;

const BOUND: &str = "each percentile within 5 % or 50 us of what a punctual client would have seen";
/// A figure that the generator delay moved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Moved {
    /// Which one.
    pub figure: Figure,
    /// The least that a punctual generator would have seen, nanoseconds.
    pub low_ns: u64,
    /// The latency from the plan, nanoseconds.
    pub known_ns: u64,
}

impl Moved {
    pub fn share(&self) -> f64 {
        (self.known_ns - self.low_ns) as f64 / self.known_ns.max(1) as f64
    }
}

pub fn check(case: &Case<'_>) -> Checked {
    let point = case.point;
    if let Some(starts) = point.starts() {
        return of_connections(starts);
    }
    if !case.is_open() {
        return Checked::unchecked(BOUND, "closed loop: nothing is planned");
    }
    if point.latency_ns.count == 0 {
        return Checked::unchecked(BOUND, "no request had a good response");
    }
    if point.stopped.is_some() {
        return Checked::unchecked(BOUND, "the target stopped responding");
    }
    let worst = moved(point).max_by(|left, right| left.share().total_cmp(&right.share()));
    let late =
        point.generator_delay_ns.as_ref().and_then(highest).map_or_else(String::new, |late| {
            format!("; it sent requests up to {} late at {}", show_ns(late.1 as f64), late.0)
        });
    let (ok, measured, why) = match worst {
        None => (true, 0.0, format!("the generator is on time for every percentile{late}")),
        Some(worst) => {
            let (low, high) = (show_ns(worst.low_ns as f64), show_ns(worst.known_ns as f64));
            let name = worst.figure.name();
            let why =
                format!("the generator is late (C4): {name} is between {low} and {high}{late}");
            (false, worst.share() * 100.0, why)
        }
    };
    Checked { ok: Some(ok), measured: Some(measured), bound: BOUND.to_string(), why }
}

/// Devices on a schedule: connections are opened when they are due. A late generator moves the time
/// to connect, not the latency of requests.
fn of_connections(starts: &StartInfo) -> Checked {
    let worst = Figure::LATENCIES.into_iter().filter_map(|figure| {
        let known_ns = starts.connect_ns.of(figure)?;
        let low_ns = starts.connect_punctual_ns.of(figure)?.min(known_ns);
        is_moved(low_ns, known_ns).then_some(Moved { figure, low_ns, known_ns })
    });
    let worst = worst.max_by(|left, right| left.share().total_cmp(&right.share()));
    let Some(worst) = worst else {
        let why = "connections are opened on time for every percentile".to_string();
        return Checked { ok: Some(true), measured: Some(0.0), bound: BOUND.to_string(), why };
    };
    let (low, high) = (show_ns(worst.low_ns as f64), show_ns(worst.known_ns as f64));
    let why = format!(
        "the generator opens connections late (C4): {} to connect is between {low} and {high}",
        worst.figure.name()
    );
    let measured = Some(worst.share() * 100.0);
    Checked { ok: Some(false), measured, bound: BOUND.to_string(), why }
}

/// Both figures, if they do not agree.
pub fn leaves(case: &Case<'_>, figure: Figure) -> Option<Standing> {
    let Some(moved) = moved(case.point).find(|moved| moved.figure == figure) else {
        return Some(Standing::Sound);
    };
    let by = "the generator sent requests late (C4)".to_string();
    let (low, high) = (moved.low_ns as f64, Some(moved.known_ns as f64));
    Some(Standing::Bounded { low, high, by })
}

/// Every latency figure that the generator delay moved.
pub(crate) fn moved(point: &Point) -> impl Iterator<Item = Moved> {
    Figure::LATENCIES.into_iter().filter_map(|figure| {
        let known_ns = point.latency_ns.of(figure)?;
        let low_ns = low_ns(point, figure, known_ns);
        is_moved(low_ns, known_ns).then_some(Moved { figure, low_ns, known_ns })
    })
}

/// The least that a punctual generator would have seen. In records from before this was calculated,
/// it follows from the service time and the latest request.
fn low_ns(point: &Point, figure: Figure, known_ns: u64) -> u64 {
    let by_rank_ns = point.latency_punctual_ns.as_ref().and_then(|low| low.of(figure));
    let low_ns = by_rank_ns.unwrap_or_else(|| {
        let latest_ns = point.generator_delay_ns.as_ref().and_then(|late| late.max);
        let less_latest_ns = latest_ns.map_or(0, |late_ns| known_ns.saturating_sub(late_ns));
        point.service_ns.of(figure).unwrap_or(0).max(less_latest_ns)
    });
    low_ns.min(known_ns)
}

/// The first requested figure that the generator delay moved: one of the objective, else the median
/// or p99.
pub(crate) fn moved_asked(case: &Case<'_>) -> Option<Moved> {
    let terms = case.trial.expect.as_ref().map(|expect| expect.terms()).unwrap_or_default();
    let named: Vec<Figure> =
        terms.iter().map(|term| term.figure).filter(|one| one.is_latency()).collect();
    let asked = if named.is_empty() { vec![Figure::P50, Figure::P99] } else { named };
    let moved: Vec<Moved> = moved(case.point).collect();
    asked.iter().find_map(|figure| moved.iter().find(|moved| moved.figure == *figure).copied())
}

/// The highest known percentile of the generator delay, up to p99.9; with very few requests, the
/// maximum.
fn highest(late: &Summary) -> Option<(&'static str, u64)> {
    let known = [
        ("p99.9", late.p99_9),
        ("p99", late.p99),
        ("p95", late.p95),
        ("p90", late.p90),
        ("p50", late.p50),
        ("the latest", late.max),
    ];
    known.into_iter().find_map(|(name, late_ns)| Some((name, late_ns?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use model::load::LoadModel;

    /// An open loop whose latency is known from the plan and from below.
    fn open(known: Summary, low: Summary) -> Fixture {
        let mut fixture = Fixture::good();
        fixture.point.load.model = LoadModel::Open;
        (fixture.point.latency_ns, fixture.point.latency_punctual_ns) = (known, Some(low));
        fixture
    }

    fn summary(p50_ns: u64, p99_ns: u64) -> Summary {
        let count = Fixture::good().point.requests.completed;
        Summary { count, p50: Some(p50_ns), p99: Some(p99_ns), ..Summary::default() }
    }

    #[test]
    fn percentiles_are_struck_one_by_one() {
        let mut fixture = open(summary(1_000_000, 3_000_000), summary(990_000, 2_000_000));
        assert_eq!(check(&fixture.case()).ok, Some(false));
        fixture.check_gates();
        assert!(fixture.point.standing.of(Figure::P50).is_sound(), "1 % off");
        let Standing::Bounded { low, high, .. } = fixture.point.standing.of(Figure::P99).clone()
        else {
            panic!("p99 is a third off");
        };
        assert_eq!((low, high), (2_000_000.0, Some(3_000_000.0)));
        assert_eq!(fixture.point.standing.of(Figure::Rate), &Standing::Sound, "a count");
    }

    #[test]
    fn a_small_time_or_a_small_share_does_not_matter() {
        let near = open(summary(267_000, 500_000), summary(220_000, 455_000));
        assert_eq!(check(&near.case()).ok, Some(true), "under 50 us");
        let far = open(summary(267_000, 500_000), summary(216_000, 500_000));
        assert_eq!(check(&far.case()).ok, Some(false), "51 us of 267");
        let slow = open(summary(10_000_000, 10_000_000), summary(9_600_000, 9_600_000));
        assert_eq!(check(&slow.case()).ok, Some(true), "4 %");
    }

    #[test]
    fn a_record_without_the_bound_is_judged_by_service_and_the_latest() {
        let mut fixture = open(summary(1_000_000, 3_000_000), Summary::default());
        fixture.point.latency_punctual_ns = None;
        fixture.point.service_ns = summary(400_000, 2_990_000);
        fixture.point.generator_delay_ns =
            Some(Summary { max: Some(20_000), ..Summary::default() });
        assert_eq!(check(&fixture.case()).ok, Some(true), "none was later than 20 us");
        fixture.point.generator_delay_ns =
            Some(Summary { max: Some(900_000), ..Summary::default() });
        assert_eq!(check(&fixture.case()).ok, Some(false));
    }

    #[test]
    fn a_closed_loop_has_no_plan_to_be_late_for() {
        assert_eq!(check(&Fixture::good().case()).ok, None);
    }
}
