//! Whether a target keeps up with an open loop, or its unanswered requests grow without end.
//!
//! Above capacity the surplus does not vanish: it is in flight, or it is due and not sent. So a
//! target that keeps up gives as many responses in the window as requests were planned for it, and
//! as many requests are in flight at the end of the window as at its start, except for what chance
//! allows:
//!
//! - The edges. Only on average do as many requests cross the end of the window as its start. If N
//!   are in flight at once by chance (Poisson), the difference of two such numbers has a standard
//!   deviation of sqrt(2 N); three of them are allowed. N is that of the first fifth: otherwise the
//!   backlog would excuse itself.
//! - A share. Responses to up to 1 % of the planned requests may be missing: this is the width of
//!   the claim.
//! - A long window detects less than 1 %. At exactly its capacity the backlog of a target is a
//!   random walk with one step per planned request and one per response: after n of each it is
//!   within 3 sqrt(2 n). Beyond that the target is above its capacity, however small the share.

use crate::case::Case;

/// Share of the planned requests that must get a response.
pub(crate) const SHARE_MIN: f64 = 0.99;
/// Standard deviations that are attributed to chance.
const DEVIATIONS: f64 = 3.0;

/// Whether every planned request got a good response. None in closed loop.
pub(crate) fn keeps_up(case: &Case<'_>) -> Option<bool> {
    reaches(case, case.point.rate)
}

/// Whether every planned request got a response, good or not. None in closed loop.
pub(crate) fn answers_all(case: &Case<'_>) -> Option<bool> {
    reaches(case, case.point.answered_rate().max(case.point.rate))
}

fn reaches(case: &Case<'_>, rate: f64) -> Option<bool> {
    let point = case.point;
    let offered = point.offered_rate.filter(|_| !point.is_of_devices())?;
    let planned = offered * point.load.duration_s;
    let first = point.in_flight.first.unwrap_or(0.0);
    let edges = DEVIATIONS * (2.0 * first).sqrt();
    let missing = planned - rate * point.load.duration_s;
    let share = (1.0 - SHARE_MIN) * planned;
    let walk = DEVIATIONS * (2.0 * planned).sqrt();
    let is_answered = missing <= edges.max(share + 1e-6);
    Some(is_answered && backlog(case) <= edges.max(share.min(walk)))
}

/// How many more requests were without a response at the end of the window: those in flight in its
/// last fifth minus its first fifth, and those that were due and never sent.
fn backlog(case: &Case<'_>) -> f64 {
    let in_flight = &case.point.in_flight;
    let unsent = case.point.requests.unsent as f64;
    // A rate that changes by itself changes how many requests are in flight.
    let is_even = case.point.load.curve.is_none();
    let grown = in_flight.first.zip(in_flight.last).filter(|_| is_even);
    unsent + grown.map_or(0.0, |(first, last)| (last - first).max(0.0))
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use model::load::LoadModel;

    /// `rate` of `offered`, for this long, with this many in flight at each end and this many
    /// unsent.
    fn keeps_up(
        (rate, offered): (f64, f64),
        duration_s: f64,
        (first, last): (f64, f64),
        unsent: u64,
    ) -> Option<bool> {
        let mut fixture = Fixture::good();
        let point = &mut fixture.point;
        point.load.model = LoadModel::Open;
        (point.rate, point.offered_rate) = (rate, Some(offered));
        point.load.duration_s = duration_s;
        (point.in_flight.first, point.in_flight.last) = (Some(first), Some(last));
        point.requests.unsent = unsent;
        super::keeps_up(&fixture.case())
    }

    #[test]
    fn a_closed_loop_has_nothing_to_keep_up_with() {
        assert_eq!(super::keeps_up(&Fixture::good().case()), None);
    }

    #[test]
    fn a_target_above_its_capacity_does_not_keep_up() {
        // 480/s planned, 400/s served over 800 connections, for 4 s.
        assert_eq!(keeps_up((400.0, 480.0), 4.0, (40.0, 296.0), 0), Some(false));
        // Over 50 connections the surplus waits to be sent.
        assert_eq!(keeps_up((400.0, 480.0), 4.0, (50.0, 50.0), 270), Some(false));
        // 10/s planned, 8/s served, for 10 s.
        assert_eq!(keeps_up((8.0, 10.0), 10.0, (3.0, 19.0), 0), Some(false));
        // Half a per cent above, for so long that chance does not explain it.
        assert_eq!(keeps_up((99_500.0, 100_000.0), 10.0, (600.0, 4600.0), 900), Some(false));
    }

    #[test]
    fn one_below_its_capacity_keeps_up_whatever_crosses_the_edges() {
        assert_eq!(keeps_up((479.0, 480.0), 4.0, (20.0, 24.0), 0), Some(true));
        assert_eq!(keeps_up((480.0, 480.0), 4.0, (20.0, 15.0), 0), Some(true));
        // 20/s of 0.3 s each: six in flight, and two more at the end are 1 % of 200.
        assert_eq!(keeps_up((19.7, 20.0), 10.0, (6.0, 9.0), 0), Some(true));
        // A long window: its edges do not matter, but a random walk does.
        assert_eq!(keeps_up((99_800.0, 100_000.0), 10.0, (600.0, 2600.0), 0), Some(true));
    }

    #[test]
    fn failures_are_missing_too() {
        assert_eq!(keeps_up((970.0, 1000.0), 10.0, (10.0, 10.0), 0), Some(false));
    }
}
