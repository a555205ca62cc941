//! How far the other host's clock is ahead of ours.
//!
//! Four times of a round trip are known: sent and back on our clock, received and answered on the
//! other. The probe's times lie somewhere within the trip, so the offset is known to half of its
//! length, whatever the delay of each way. The shortest trip is the most precise. Clocks also
//! drift, so one trip before, one during and one after the run are kept, and the estimate spans all
//! three. It also spans trips that contradict each other: no single offset fits both.
//!
//! Events carry the Unix time of that host. Each trip shows how far its wall clock is ahead of its
//! monotonic one; that changes only when the wall clock is set.

use model::facts::ClockOffset;

/// Trips that contradict each other by no more than this do not show a wall clock that was set:
/// both clocks are read one after the other, and run at one rate.
const SLEW_MAX_NS: u64 = 1_000_000;

/// Times of one ping and its response, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// Sent, our clock.
    pub sent_ns: u64,
    /// Received, their clock.
    pub received_ns: u64,
    /// Unix time there, between the two times of their clock.
    pub wall_ns: i64,
    /// Answered, their clock.
    pub answered_ns: u64,
    /// Back, our clock.
    pub back_ns: u64,
}

/// What the wall clock of the other host shows when its monotonic clock shows zero, Unix
/// nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallZero {
    /// The middle of what all trips allow.
    pub zero_ns: i64,
    /// It is not further off than this.
    pub error_ns: u64,
    /// Whether the wall clock was set meanwhile: trips contradict each other.
    pub was_set: bool,
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

    /// What both allow; the least is above the most if they contradict each other.
    fn common(self, other: Option<Self>) -> Self {
        let other = other.unwrap_or(self);
        Self {
            least_ns: self.least_ns.max(other.least_ns),
            most_ns: self.most_ns.min(other.most_ns),
        }
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

    /// Bounds of the wall clock at the monotonic zero.
    fn wall(&self) -> Bounds {
        let wall_ns = i128::from(self.wall_ns);
        Bounds {
            least_ns: wall_ns - i128::from(self.answered_ns),
            most_ns: wall_ns - i128::from(self.received_ns),
        }
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
    /// What all trips allow; the least is above the most once the clocks have drifted apart.
    all: Option<Bounds>,
    round_trips: u32,
    /// What all trips allow for the wall clock; the least is above the most once it was set.
    wall: Option<Bounds>,
}

impl Estimator {
    /// Adds one round trip.
    pub fn add(&mut self, part: Part, trip: &RoundTrip) {
        let Some(bounds) = trip.bounds() else { return };
        self.round_trips += 1;
        self.wall = Some(trip.wall().common(self.wall));
        self.all = Some(bounds.common(self.all));
        let best = &mut self.best[part as usize];
        if best.is_none_or(|best| bounds.width_ns() < best.width_ns()) {
            *best = Some(bounds);
        }
    }

    /// The wall clock of the other host so far; nothing before the first round trip.
    pub fn wall(&self) -> Option<WallZero> {
        let Bounds { least_ns, most_ns } = self.wall?;
        let middle_ns = least_ns + (most_ns - least_ns) / 2;
        Some(WallZero {
            zero_ns: i64::try_from(middle_ns).ok()?,
            error_ns: u64::try_from((most_ns - middle_ns).abs()).ok()?,
            was_set: least_ns > most_ns + i128::from(SLEW_MAX_NS),
        })
    }

    /// The estimate so far; nothing before the first round trip.
    pub fn offset(&self) -> Option<ClockOffset> {
        let (bounds, all) = (|| self.best.iter().flatten(), self.all?);
        let least_ns = bounds().map(|bounds| bounds.least_ns).min()?.min(all.most_ns);
        let most_ns = bounds().map(|bounds| bounds.most_ns).max()?.max(all.least_ns);
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
    const CALENDAR_NS: i64 = 1_790_000_000_000_000_000;

    fn trip(sent_ns: u64, ahead_ns: i64, there_ns: u64, held_ns: u64, back_ns: u64) -> RoundTrip {
        let received_ns = (sent_ns + there_ns).wrapping_add_signed(ahead_ns);
        let answered_ns = received_ns + held_ns;
        RoundTrip {
            sent_ns,
            received_ns,
            wall_ns: CALENDAR_NS + received_ns as i64 + (held_ns / 2) as i64,
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
    fn the_calendar_there_is_known_until_it_is_set() {
        let mut estimator = Estimator::default();
        assert_eq!(estimator.wall(), None, "unknown is not zero");
        estimator.add(Part::Before, &trip(1_000, AHEAD_NS, 900, 70, 100));
        estimator.add(Part::During, &trip(9_000, AHEAD_NS, 900, 10, 100));
        let known = WallZero { zero_ns: CALENDAR_NS, error_ns: 5, was_set: false };
        assert_eq!(estimator.wall(), Some(known), "by the trip that was held shortest");
        let late = trip(20_000, AHEAD_NS, 900, 10, 100);
        estimator.add(Part::After, &RoundTrip { wall_ns: late.wall_ns - 2_000_000, ..late });
        assert!(estimator.wall().unwrap().was_set);
    }

    #[test]
    fn a_clock_that_drifts_widens_the_error() {
        let mut estimator = Estimator::default();
        estimator.add(Part::Before, &trip(0, 1_000, 10, 5, 10));
        estimator.add(Part::After, &trip(1_000_000, 1_400, 10, 5, 10));
        let offset = estimator.offset().unwrap();
        assert_eq!((offset.offset_ns, offset.error_ns), (1_200, 210));
    }

    /// The shortest trip of a long run is early in it; longer ones later show that it is not true
    /// any more.
    #[test]
    fn drift_within_a_part_widens_the_error() {
        let mut estimator = Estimator::default();
        estimator.add(Part::During, &trip(0, 1_000, 10, 5, 10));
        estimator.add(Part::During, &trip(1_000_000, 1_400, 60, 5, 40));
        // At least 1360 by the second trip.
        let offset = estimator.offset().unwrap();
        assert_eq!((offset.offset_ns, offset.error_ns), (1_175, 185));
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
