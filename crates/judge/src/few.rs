//! How far a rate holds that counts few responses.
//!
//! A count scatters by itself. The exact 95 % interval of a Poisson count (Garwood 1936) reaches
//! from less than half of fewer than 12 responses to nearly twice as many: below that the rate has
//! the bounds of this interval, and the headline says what happened instead.

use crate::stats::count_interval;
use model::run::Point;
use model::standing::Standing;
use model::units::show_ns;

/// The bounds of the rate of a point that counts few responses; nothing of other points.
pub fn rate(point: &Point) -> Option<Standing> {
    let arrived = point.few_responses()?;
    let duration_s = Some(point.load.duration_s).filter(|duration_s| *duration_s > 0.0)?;
    let (low, high) = count_interval(arrived);
    let responses = if arrived == 1 { "1 response is" } else { "few responses are" };
    let by = format!("{responses} no rate: {arrived} in {}", show_ns(duration_s * 1e9));
    Some(Standing::Bounded { low: low / duration_s, high: Some(high / duration_s), by })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use model::run::FEW_RESPONSES;

    #[test]
    fn few_are_those_whose_interval_goes_below_half_of_them() {
        let is_within = |count: u64| {
            let (low, high) = count_interval(count);
            low >= count as f64 / 2.0 && high <= count as f64 * 2.0
        };
        assert!(!is_within(FEW_RESPONSES - 1) && is_within(FEW_RESPONSES));
    }

    #[test]
    fn one_response_bounds_its_rate_and_many_leave_it_alone() {
        let mut fixture = Fixture::good();
        assert_eq!(rate(&fixture.point), None);
        (fixture.point.requests.arrived, fixture.point.load.duration_s) = (Some(1), 2.0);
        let Some(Standing::Bounded { low, high: Some(high), by }) = rate(&fixture.point) else {
            panic!("no bounds")
        };
        assert!((low - 0.0127).abs() < 1e-3 && (high - 2.786).abs() < 1e-2, "{low} to {high}");
        assert_eq!(by, "1 response is no rate: 1 in 2.00s");
    }
}
