//! The window is long compared with the latency, so its edges do not matter.
//!
//! Responses arrive in rounds of one latency, and the window cuts the first and the last round. The
//! rate can be off by one round, which is the latency's share of the window. Above a tenth, the
//! text suggests a long enough window; above a fifth, the gate fails.

use super::Checked;
use crate::case::Case;
use model::figure::Figure;
use model::load::Stop;
use model::standing::Standing;
use model::units::show_ns;

const BOUND: &str = "mean latency at most 20 % of the window";

/// Up to this share of the window, the latency needs no remark.
const SHARE_GOOD: f64 = 0.10;

pub fn check(case: &Case<'_>) -> Checked {
    let point = case.point;
    // From the send: a request that is not sent in the window has no edge to cross.
    let Some(mean_ns) = point.service_ns.mean else {
        return Checked::unchecked(BOUND, "no latency");
    };
    let window_ns = point.load.duration_s * 1e9;
    let share = mean_ns as f64 / window_ns.max(1.0);
    let (mean, window) = (show_ns(mean_ns as f64), show_ns(window_ns));
    let mut why = format!("mean latency {mean} in a window of {window}");
    let longest_ns = mean_ns.max(point.service_ns.p50.unwrap_or(0)) as f64;
    let is_timed = matches!(case.trial.stop, Stop::AfterNs(_));
    if is_timed && longest_ns > SHARE_GOOD * window_ns {
        let seconds = (longest_ns / SHARE_GOOD / 1e9).ceil();
        why += &format!("; ten times the latency would do: -d {seconds}");
    }
    Checked::share(share, 0.20, BOUND, why)
}

/// Chance decides whether requests in flight at the edges are counted: at most all of them.
pub fn leaves(case: &Case<'_>, _: Figure) -> Option<Standing> {
    let point = case.point;
    let in_flight = point.in_flight.mean.unwrap_or(point.in_flight.limit as f64);
    let edge = in_flight / point.load.duration_s.max(f64::MIN_POSITIVE);
    let by = format!(
        "{in_flight:.0} requests were in flight at each end of a window of {}",
        show_ns(point.load.duration_s * 1e9)
    );
    let rate = point.headline_rate();
    let low = (rate - edge).max(0.0);
    Some(Standing::Bounded { low, high: Some(rate + edge), by })
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use model::fanout::EventInfo;
    use model::figure::Figure;
    use model::standing::Standing;
    use model::subject::Subject;

    #[test]
    fn the_bounds_of_a_rate_of_events_are_of_events() {
        let mut fixture = Fixture::good();
        let bounds = |fixture: &Fixture| match super::leaves(&fixture.case(), Figure::Rate) {
            Some(Standing::Bounded { low, high: Some(high), .. }) => (low, high),
            other => panic!("{other:?}"),
        };
        // Eight requests in flight at each end of 5 s.
        assert_eq!(bounds(&fixture), (998.4, 1001.6));
        fixture.point.subject = Subject::Events(EventInfo { rate: 5000.0, ..EventInfo::default() });
        assert_eq!(bounds(&fixture), (4998.4, 5001.6));
    }

    #[test]
    fn a_latency_over_a_tenth_of_the_window_says_which_would_do() {
        // A window of 5 s.
        let check = |mean_ms: u64, p50_ms: u64| {
            let mut fixture = Fixture::good();
            fixture.point.service_ns.mean = Some(mean_ms * 1_000_000);
            fixture.point.service_ns.p50 = Some(p50_ms * 1_000_000);
            let outcome = super::check(&fixture.case());
            (outcome.ok, outcome.why.split("-d ").nth(1).map(str::to_string))
        };
        assert_eq!(check(490, 490), (Some(true), None));
        assert_eq!(check(510, 510), (Some(true), Some("6".to_string())));
        assert_eq!(check(490, 800), (Some(true), Some("8".to_string())), "by its median");
        assert_eq!(check(1200, 1200), (Some(false), Some("12".to_string())));
    }
}
