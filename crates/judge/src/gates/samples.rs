//! There is one latency per completed request and one entry of the series per second, and the rate,
//! the series and the tenths of a second count the same responses. If they do, seconds missing at
//! the end are seconds without a response.
//!
//! A starved recorder turns many seconds into one sample and divides by the wrong time. That is how
//! millions of requests per second are reported that never happened.

use super::Checked;
use crate::case::Case;
use model::run::Point;

const BOUND: &str = "no latency, second or response missing or extra";

pub fn check(case: &Case<'_>) -> Checked {
    let point = case.point;
    let (recorded, completed) = (point.latency_ns.count, point.requests.completed);
    let seconds = point.load.duration_s.ceil();
    let missing = seconds - point.series.len() as f64;
    let in_series: u64 = point.series.iter().map(|second| second.completed).sum();
    let uncounted = uncounted(point, in_series);
    let is_counted = uncounted == 0 && point.requests.arrived.is_some();
    let is_whole = missing >= -1.0 && (missing <= 1.0 || is_counted);
    let ok = recorded == completed && uncounted == 0 && is_whole;
    let mut why = format!(
        "{recorded} latencies for {completed} completed, {} series entries for {:.1} s",
        point.series.len(),
        point.load.duration_s
    );
    if uncounted > 0 {
        why += &format!(", {uncounted} responses in only one of rate and series");
    }
    Checked {
        ok: Some(ok),
        measured: Some((recorded.abs_diff(completed) + uncounted) as f64),
        bound: BOUND.to_string(),
        why,
    }
}

/// How many responses the series, the tenths of a second and the rate miss of those that arrived in
/// the window.
fn uncounted(point: &Point, in_series: u64) -> u64 {
    let Some(arrived) = point.requests.arrived else {
        // A record from before they were counted: its rate includes responses after the window.
        return in_series.saturating_sub(point.requests.completed);
    };
    let in_rate = (point.rate * point.load.duration_s).round() as u64;
    // For devices and subscribers the tenths hold connections and events.
    let in_tenths = if point.is_of_requests() { point.per_100ms.iter().sum() } else { arrived };
    [in_series, in_rate, in_tenths].into_iter().map(|sum| sum.abs_diff(arrived)).sum()
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use model::run::Point;

    fn holds(change: impl Fn(&mut Point)) -> Option<bool> {
        let mut fixture = Fixture::good();
        let point = &mut fixture.point;
        let arrived: u64 = point.per_100ms.iter().sum();
        let per_second = point.per_100ms.chunks(10).map(|tenths| tenths.iter().sum());
        point.series.iter_mut().zip(per_second).for_each(|(one, sum)| one.completed = sum);
        point.requests.arrived = Some(arrived);
        point.rate = arrived as f64 / point.load.duration_s;
        change(point);
        super::check(&fixture.case()).ok
    }

    #[test]
    fn rate_series_and_tenths_hold_the_same_responses() {
        assert_eq!(holds(|_| {}), Some(true));
        assert_eq!(holds(|point| point.rate += 0.4), Some(false), "two responses more in 5 s");
        assert_eq!(holds(|point| point.series[2].completed -= 1), Some(false));
        assert_eq!(holds(|point| point.per_100ms[7] += 1), Some(false));
        assert_eq!(holds(|point| point.requests.arrived = Some(1)), Some(false));
        assert_eq!(holds(|point| point.latency_ns.count -= 1), Some(false));
    }

    #[test]
    fn seconds_without_a_response_at_the_end_are_no_fault() {
        let end_early = |point: &mut Point| {
            let late: u64 = point.series.drain(2..).map(|second| second.completed).sum();
            point.per_100ms.truncate(20);
            let arrived = point.requests.arrived.unwrap_or(0) - late;
            point.requests.arrived = Some(arrived);
            point.rate = arrived as f64 / point.load.duration_s;
        };
        assert_eq!(holds(end_early), Some(true), "all accounts agree");
        let lost = |point: &mut Point| point.series.truncate(2);
        assert_eq!(holds(lost), Some(false), "the rate holds what the series does not");
        let too_long = |point: &mut Point| {
            (0..3).for_each(|_| point.series.push(Default::default()));
        };
        assert_eq!(holds(too_long), Some(false), "seconds that the window does not have");
    }

    #[test]
    fn an_older_record_is_judged_by_what_it_holds() {
        let mut fixture = Fixture::good();
        assert_eq!(super::check(&fixture.case()).ok, Some(true));
        fixture.point.series[0].completed += 10_000;
        assert_eq!(super::check(&fixture.case()).ok, Some(false));
    }
}
