//! How far the other host's clock is ahead of ours.
//!
//! Of a round trip four times are known: sent and back on our clock, received and answered on the
//! other. The probe's times lie somewhere within the trip, so the offset is known to half of its
//! length, whatever the delay of each way. The shortest trip is the most precise. Clocks also
//! drift, so one trip before, one during and one after the run are kept, and the estimate spans all
//! three.

use model::facts::ClockOffset;

/// Times of one ping and its response, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// Sent, our clock.
    pub sent_ns: u64,
    /// Received, their clock.
    pub received_ns: u64,
    /// Answered, their clock.
    pub answered_ns: u64,
    /// Back, our clock.
    pub back_ns: u64,
}

/// Bounds of an offset, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bounds {
    least_ns: i128,
    most_ns: i128,
}

impl Bounds {
    fn width_ns(&self) -> i128 {
        self.most_ns - self.least_ns
    }
}

impl RoundTrip {
    /// `None` for impossible times: a response before its ping.
    fn bounds(&self) -> Option<Bounds> {
        let passed = self.back_ns.checked_sub(self.sent_ns)?;
        let held = self.answered_ns.checked_sub(self.received_ns)?;
        passed.checked_sub(held)?;
        // It was received after it was sent and answered before it was back.
        Some(Bounds {
            least_ns: i128::from(self.answered_ns) - i128::from(self.back_ns),
            most_ns: i128::from(self.received_ns) - i128::from(self.sent_ns),
        })
    }
}

/// Part of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Before load.
    Before,
    /// While it runs.
    During,
    /// When it is over.
    After,
}

/// Estimates the offset from round trips.
#[derive(Debug, Clone, Default)]
pub struct Estimator {
    best: [Option<Bounds>; 3],
    round_trips: u32,
}

impl Estimator {
    /// Adds one round trip.
    pub fn add(&mut self, part: Part, trip: &RoundTrip) {
        let Some(bounds) = trip.bounds() else { return };
        self.round_trips += 1;
        let best = &mut self.best[part as usize];
        if best.is_none_or(|best| bounds.width_ns() < best.width_ns()) {
            *best = Some(bounds);
        }
    }

    /// The estimate so far; nothing before the first round trip.
    pub fn offset(&self) -> Option<ClockOffset> {
        let bounds = || self.best.iter().flatten();
        let least_ns = bounds().map(|bounds| bounds.least_ns).min()?;
        let most_ns = bounds().map(|bounds| bounds.most_ns).max()?;
        let middle_ns = least_ns + (most_ns - least_ns) / 2;
        Some(ClockOffset {
            offset_ns: i64::try_from(middle_ns).ok()?,
            error_ns: u64::try_from(most_ns - middle_ns).ok()?,
            round_trips: self.round_trips,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const AHEAD_NS: i64 = 5_000_000_000;

    fn trip(sent_ns: u64, ahead_ns: i64, there_ns: u64, held_ns: u64, back_ns: u64) -> RoundTrip {
        let received_ns = (sent_ns + there_ns).wrapping_add_signed(ahead_ns);
        let answered_ns = received_ns + held_ns;
        RoundTrip {
            sent_ns,
            received_ns,
            answered_ns,
            back_ns: sent_ns + there_ns + held_ns + back_ns,
        }
    }

    #[test]
    fn the_shortest_round_trip_decides() {
        let mut estimator = Estimator::default();
        assert_eq!(estimator.offset(), None, "unknown is not zero");
        estimator.add(Part::During, &trip(1_000, AHEAD_NS, 900, 77, 100));
        estimator.add(Part::During, &trip(9_000, AHEAD_NS, 50, 1_000, 50));
        estimator.add(Part::During, &trip(20_000, AHEAD_NS, 10, 0, 4_000));
        let expected = ClockOffset { offset_ns: AHEAD_NS, error_ns: 50, round_trips: 3 };
        assert_eq!(estimator.offset(), Some(expected));
    }

    #[test]
    fn a_clock_that_drifts_widens_the_error() {
        let mut estimator = Estimator::default();
        estimator.add(Part::Before, &trip(0, 1_000, 10, 5, 10));
        estimator.add(Part::After, &trip(1_000_000, 1_400, 10, 5, 10));
        let offset = estimator.offset().unwrap();
        assert_eq!((offset.offset_ns, offset.error_ns), (1_200, 210));
    }

    #[test]
    fn times_that_cannot_be_are_not_counted() {
        let mut estimator = Estimator::default();
        let trip = trip(1_000, 0, 10, 5, 10);
        estimator.add(Part::Before, &RoundTrip { back_ns: 999, ..trip });
        estimator.add(Part::Before, &RoundTrip { answered_ns: trip.received_ns - 1, ..trip });
        estimator.add(Part::Before, &RoundTrip { back_ns: trip.sent_ns + 4, ..trip });
        assert_eq!(estimator.offset(), None);
    }

    proptest! {
        #[test]
        fn the_truth_is_within_the_error(
            ahead_ns in -1_000_000_000_000i64..1_000_000_000_000,
            trips in prop::collection::vec((0u64..1_000_000, 0u64..1_000, 0u64..1_000_000), 1..20),
        ) {
            let mut estimator = Estimator::default();
            for (index, (there, held, back)) in trips.into_iter().enumerate() {
                let sent_ns = 2_000_000_000_000 + index as u64 * 1_000_000;
                let part = [Part::Before, Part::During, Part::After][index % 3];
                estimator.add(part, &trip(sent_ns, ahead_ns, there, held, back));
            }
            let offset = estimator.offset().unwrap();
            prop_assert!(offset.offset_ns.abs_diff(ahead_ns) <= offset.error_ns);
        }
    }
}
