//! The agents of a fleet all measure the same window.
//!
//! Each agent starts and ends its window by its own clock, at instants converted with a clock
//! offset that is known within a bound. A window that is off by that bound has other edges, so the
//! rate can be off by what two edges hold.

use super::Checked;
use crate::case::Case;
use model::figure::Figure;
use model::standing::Standing;
use model::units::{NS_PER_MS, show_ns};

const BOUND: &str = "clocks known within 5 ms";
/// A twentieth of a tick, nanoseconds: a response booked in a tenth of a second then belongs to
/// that tenth.
const ERROR_MAX_NS: u64 = 5 * NS_PER_MS;

pub fn check(case: &Case<'_>) -> Checked {
    let worst = case.point.agents.iter().max_by_key(|agent| agent.clock_error_ns);
    let Some(worst) = worst else { return Checked::unchecked(BOUND, "no agents") };
    let error_ns = worst.clock_error_ns;
    let error = show_ns(error_ns as f64);
    let why = format!("all agents started within {error} of each other; {} worst", worst.agent);
    Checked {
        ok: Some(error_ns <= ERROR_MAX_NS),
        measured: Some(error_ns as f64 / NS_PER_MS as f64),
        bound: BOUND.to_string(),
        why,
    }
}

/// The rate without and with both edges.
pub fn leaves(case: &Case<'_>, _: Figure) -> Option<Standing> {
    let point = case.point;
    let errors = point.agents.iter().map(|agent| agent.clock_error_ns);
    let edges_s = 2.0 * errors.max()? as f64 / 1e9;
    let share = edges_s / point.load.duration_s.max(f64::MIN_POSITIVE);
    let by = format!("the windows of agents may lie {} apart", show_ns(edges_s / 2.0 * 1e9));
    let rate = point.headline_rate();
    let low = (rate * (1.0 - share)).max(0.0);
    Some(Standing::Bounded { low, high: Some(rate * (1.0 + share)), by })
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use model::fanout::EventInfo;
    use model::figure::Figure;
    use model::fleet::AgentPoint;
    use model::standing::Standing;
    use model::subject::Subject;

    #[test]
    fn a_clock_that_is_known_badly_moves_the_edges_of_the_window() {
        let mut fixture = Fixture::good();
        let agent = |agent: &str, clock_error_ns| AgentPoint {
            agent: agent.to_string(),
            clock_error_ns,
            ..AgentPoint::default()
        };
        fixture.point.agents = vec![agent("a1", 100_000), agent("a2", 5_000_000)];
        assert_eq!(super::check(&fixture.case()).ok, Some(true));
        fixture.point.agents[1].clock_error_ns = 25_000_000;
        let found = super::check(&fixture.case());
        assert_eq!((found.ok, found.measured), (Some(false), Some(25.0)));
        assert!(found.why.contains("a2"), "{}", found.why);
        // 25 ms at both edges of 5 s.
        let left = super::leaves(&fixture.case(), Figure::Rate);
        let Some(Standing::Bounded { low, high: Some(high), .. }) = left else {
            panic!("{left:?}")
        };
        assert!((low - 990.0).abs() < 1e-6 && (high - 1010.0).abs() < 1e-6, "{low} {high}");
        fixture.point.subject = Subject::Events(EventInfo { rate: 5000.0, ..EventInfo::default() });
        let left = super::leaves(&fixture.case(), Figure::Rate);
        let Some(Standing::Bounded { low, .. }) = left else { panic!("{left:?}") };
        assert!((low - 4950.0).abs() < 1e-6, "the rate of a fan-out is of events: {low}");
    }
}
