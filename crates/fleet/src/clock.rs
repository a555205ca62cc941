//! The controller's estimate of an agent's clock.
//!
//! A hello gives a lower bound of the agent's time; a round trip gives the time with an error of
//! half its length. The shortest round trips decide ([`remote::Estimator`]). A round trip that
//! contradicts them shows that a clock was set.

use crate::frame::Pong;
use model::facts::ClockOffset;
use remote::{Estimator, Part, RoundTrip};
use std::collections::VecDeque;

/// Most pings without a response.
const PINGS_MAX: usize = 16;
/// If round trips contradict each other by no more than this, the clocks drift, nanoseconds.
const DRIFT_MAX_NS: i128 = 10_000_000;
/// A hello that is this far behind the estimate, nanoseconds, puts the estimate in doubt: either
/// the clock was set back, or the hello was delayed that long, for example by a network outage.
const BEHIND_NS: i128 = 3_000_000_000;
/// Two clocks drift apart by at most one part in so many: a kernel slews its clock by 500 parts per
/// million at most (ntp_adjtime(3)).
const DRIFT_PARTS: i128 = 1_000;

/// The estimate of one agent's clock.
#[derive(Debug, Clone)]
pub struct FarClock {
    estimator: Estimator,
    pings: VecDeque<(u64, u64)>,
    last_id: u64,
    /// The agent's clock minus ours was at least this, nanoseconds, at this instant of ours.
    least_ns: i128,
    least_at_ns: u64,
    /// The bounds that a hello has put in doubt: the next round trip decides.
    doubted_ns: Option<(i128, i128)>,
}

/// What a message shows about a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// It agrees with the estimate.
    Fits,
    /// One of the clocks was set meanwhile; the estimate starts again.
    Set,
}

impl FarClock {
    /// An estimate from a hello alone.
    pub fn of_hello(now_ns: u64, far_ns: u64) -> Self {
        let least_ns = i128::from(far_ns) - i128::from(now_ns);
        Self {
            estimator: Estimator::default(),
            pings: VecDeque::new(),
            last_id: 0,
            least_ns,
            least_at_ns: now_ns,
            doubted_ns: None,
        }
    }

    /// Notes a lower bound. An older one holds less the drift since then.
    fn is_at_least(&mut self, now_ns: u64, least_ns: i128) {
        let passed_ns = i128::from(now_ns.saturating_sub(self.least_at_ns));
        self.least_ns = least_ns.max(self.least_ns - passed_ns / DRIFT_PARTS);
        self.least_at_ns = now_ns;
    }

    /// A new estimate of the same clock, which keeps only the safe lower bound.
    pub fn anew(known: &Self) -> Self {
        let least_ns = known.offset().map_or(known.least_ns, |clock| bounds(&clock).0);
        let least_ns = least_ns.max(known.least_ns) - DRIFT_MAX_NS;
        Self { estimator: Estimator::default(), pings: VecDeque::new(), least_ns, ..*known }
    }

    /// Takes another hello.
    pub fn hello(&mut self, now_ns: u64, far_ns: u64) -> Evidence {
        let least_ns = i128::from(far_ns) - i128::from(now_ns);
        let (low_ns, high_ns) = match self.offset() {
            Some(clock) => bounds(&clock),
            None => (self.least_ns, i128::MAX),
        };
        let is_ahead = least_ns > high_ns.saturating_add(DRIFT_MAX_NS);
        let is_behind = least_ns < low_ns - BEHIND_NS;
        if is_ahead || is_behind {
            let known_ns = self.doubted_ns.unwrap_or((low_ns.max(self.least_ns), high_ns));
            let doubted_ns = is_behind.then_some(known_ns);
            let anew = Self::of_hello(now_ns, far_ns);
            *self = Self { last_id: self.last_id, doubted_ns, ..anew };
            return if is_ahead { Evidence::Set } else { Evidence::Fits };
        }
        self.is_at_least(now_ns, least_ns);
        Evidence::Fits
    }

    /// Notes a ping that leaves now; returns its id.
    pub fn ping(&mut self, now_ns: u64) -> u64 {
        self.last_id += 1;
        self.pings.push_back((self.last_id, now_ns));
        if self.pings.len() > PINGS_MAX {
            self.pings.pop_front();
        }
        self.last_id
    }

    /// Takes the response to a ping, once for each ping.
    pub fn pong(&mut self, now_ns: u64, pong: &Pong, part: Part) -> Evidence {
        let place = self.pings.iter().position(|(id, _)| *id == pong.id);
        let Some((_, sent_ns)) = place.and_then(|place| self.pings.remove(place)) else {
            return Evidence::Fits;
        };
        let trip = RoundTrip {
            sent_ns,
            received_ns: pong.received_ns,
            wall_ns: 0,
            answered_ns: pong.answered_ns,
            back_ns: now_ns,
        };
        let low_ns = i128::from(pong.answered_ns) - i128::from(now_ns);
        let high_ns = i128::from(pong.received_ns) - i128::from(sent_ns);
        if low_ns > high_ns {
            // Impossible if the clocks only go forward.
            return Evidence::Fits;
        }
        let known = self.offset().map(|clock| bounds(&clock)).or(self.doubted_ns.take());
        let is_set = known.is_some_and(|(least_ns, most_ns)| {
            low_ns > most_ns.saturating_add(DRIFT_MAX_NS) || high_ns < least_ns - DRIFT_MAX_NS
        });
        if is_set {
            self.estimator = Estimator::default();
            (self.least_ns, self.least_at_ns) = (low_ns, now_ns);
        }
        self.is_at_least(now_ns, low_ns);
        self.estimator.add(part, &trip);
        if is_set { Evidence::Set } else { Evidence::Fits }
    }

    /// The offset with its error; `None` before the first round trip.
    pub fn offset(&self) -> Option<ClockOffset> {
        self.estimator.offset()
    }

    /// A lower bound of the agent's time now, nanoseconds.
    pub fn far_now_ns(&self, now_ns: u64) -> u64 {
        u64::try_from(i128::from(now_ns) + self.least_ns).unwrap_or(0)
    }
}

fn bounds(clock: &ClockOffset) -> (i128, i128) {
    let (middle_ns, error_ns) = (i128::from(clock.offset_ns), i128::from(clock.error_ns));
    (middle_ns - error_ns, middle_ns + error_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: u64 = 1_000_000_000;

    fn trip(clock: &mut FarClock, sent_ns: u64, ways_ns: (u64, u64), ahead_ns: u64) -> Evidence {
        let id = clock.ping(sent_ns);
        let there_ns = sent_ns + ways_ns.0 + ahead_ns;
        let pong = Pong { id, received_ns: there_ns, answered_ns: there_ns };
        clock.pong(sent_ns + ways_ns.0 + ways_ns.1, &pong, Part::Before)
    }

    #[test]
    fn a_clock_that_was_set_is_noticed_and_known_anew() {
        for set_ns in [30 * S, 50 * S] {
            let mut clock = FarClock::of_hello(S, 41 * S);
            assert_eq!(trip(&mut clock, 2 * S, (1_000, 1_000), 40 * S), Evidence::Fits);
            assert_eq!(trip(&mut clock, 3 * S, (1_000, 1_000), set_ns), Evidence::Set);
            assert_eq!(clock.offset().unwrap().offset_ns, set_ns as i64);
        }
        let mut clock = FarClock::of_hello(S, 31 * S);
        trip(&mut clock, 2 * S, (1_000, 1_000), 30 * S);
        assert_eq!(clock.hello(4 * S, 44 * S), Evidence::Set, "no message is early");
        assert_eq!((clock.offset(), clock.far_now_ns(5 * S)), (None, 45 * S));
    }

    #[test]
    fn a_late_hello_is_no_clock_that_was_set_unless_a_round_trip_says_so() {
        for (ahead_ns, evidence) in [(50 * S, Evidence::Fits), (40 * S, Evidence::Set)] {
            let mut clock = FarClock::of_hello(S, 51 * S);
            trip(&mut clock, 2 * S, (1_000, 1_000), 50 * S);
            assert_eq!(clock.hello(14 * S, 54 * S), Evidence::Fits, "delayed 10 s, or set back");
            assert_eq!(clock.far_now_ns(15 * S), 55 * S, "in doubt, the earlier time");
            assert_eq!(clock.hello(14 * S, 14 * S + ahead_ns), Evidence::Fits, "delayed as well");
            assert_eq!(trip(&mut clock, 15 * S, (1_000, 1_000), ahead_ns), evidence);
            assert_eq!(clock.offset().unwrap().offset_ns, ahead_ns as i64);
        }
    }

    /// Half a day with clocks that drift apart by 100 parts per million, either way.
    #[test]
    fn drift_is_no_clock_that_was_set_and_leases_stay_right() {
        for drift in [-1, 1] {
            let mut clock = FarClock::of_hello(0, 100 * S);
            let ahead_ns =
                |now_ns: u64| (100 * S).saturating_add_signed(drift * (now_ns / 10_000) as i64);
            for second in 1..43_200 {
                let now_ns = second * S;
                let ways_ns = (1_000 + second % 7 * 100_000, 1_000);
                let evidence = trip(&mut clock, now_ns, ways_ns, ahead_ns(now_ns));
                assert_eq!(evidence, Evidence::Fits, "second {second}");
                let back_ns = now_ns + ways_ns.0 + ways_ns.1;
                assert_eq!(clock.hello(back_ns, back_ns + ahead_ns(now_ns)), Evidence::Fits);
                let off_ns = clock.far_now_ns(back_ns).abs_diff(back_ns + ahead_ns(now_ns));
                assert!(off_ns < 2_000_000, "second {second}: off by {off_ns} ns");
            }
            let known = clock.offset().unwrap();
            let moved_ns = known.offset_ns.abs_diff(ahead_ns(43_200 * S) as i64);
            assert!(moved_ns <= known.error_ns + 1_000_000, "{known:?}");
        }
    }

    #[test]
    fn a_response_counts_once() {
        let mut clock = FarClock::of_hello(0, 0);
        let id = clock.ping(10);
        let pong = Pong { id, received_ns: 20, answered_ns: 20 };
        clock.pong(30, &pong, Part::Before);
        clock.pong(30, &pong, Part::Before);
        assert_eq!(clock.offset().unwrap().round_trips, 1);
    }

    proptest! {
        #[test]
        fn it_is_never_thought_later_there_than_it_is(
            ahead_ns in 0u64..1_000 * S, hello_way_ns in 0..S,
            ways in prop::collection::vec((0..S, 0..S), 0..20),
        ) {
            let mut clock = FarClock::of_hello(S + hello_way_ns, S + ahead_ns);
            let mut now_ns = 3 * S;
            for ways_ns in ways {
                trip(&mut clock, now_ns, ways_ns, ahead_ns);
                now_ns += 3 * S;
                prop_assert!(clock.far_now_ns(now_ns) <= now_ns + ahead_ns);
            }
        }
    }
}
