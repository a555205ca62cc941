//! Fan-out: the plan of subscribers and writers, and what happened to the events.
//!
//! A server sends each event to every subscriber, and numbers them for each stream. The numbers
//! alone tell which events a subscriber was meant to receive: those above the last that it saw
//! before the window, up to the highest that any subscriber of the same stream saw in it.

use crate::histogram::Summary;
use crate::series::{Second, Spread};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

crate::tally! {
    add
    /// Events of one worker and one interval, without their number and staleness.
    pub struct EventCounts {
        /// Events with a number.
        pub numbered: u64,
        /// Events whose number was not above the previous one on their connection.
        pub repeated: u64,
        /// Events with a time of origin.
        pub stamped: u64,
        /// Those whose time of origin is after their arrival.
        pub early: u64,
        /// Accepted streams that ended.
        pub lost: u64,
        /// Subscriptions whose response had a status other than 200.
        pub refused: u64,
    }
}

/// The numbers that one subscriber saw around one measured window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Subscription {
    /// Which stream, from 0.
    pub stream: u32,
    /// Whether the stream was accepted in this level, or is kept from one before.
    pub is_accepted: bool,
    /// Highest number before the window; when there was none, derived from the first one in it.
    pub before: Option<u64>,
    /// Numbered events in the window, each higher than those before.
    pub received: u64,
    /// Highest number in the window.
    pub highest: Option<u64>,
    /// Such events in the drain after the window, up to the highest number that any subscriber of
    /// the same stream and worker saw in the window.
    pub late: u64,
    /// Those in the drain above that number.
    pub later: u64,
    /// The first number of those.
    pub later_first: u64,
}

/// What the numbers say about delivery. `meant = received + late + missing`, exactly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Events that were sent to the subscribers in the window, according to the numbers.
    pub meant: u64,
    /// Those that arrived in it.
    pub received: u64,
    /// Those that arrived after it, in the drain.
    pub late: u64,
    /// Those that did not arrive.
    pub missing: u64,
    /// Streams of which any subscriber saw an event in the window.
    pub streams: u64,
}

impl Delivery {
    /// Adds up what all subscribers saw.
    pub fn of(subscriptions: &[Subscription]) -> Self {
        let streams = streams(subscriptions);
        let heard = streams.values().filter(|(highest, _)| highest.is_some()).count() as u64;
        let mut delivery = Self { streams: heard, ..Self::default() };
        for one in subscriptions {
            let Some((Some(highest), begin)) = streams.get(&one.stream) else { continue };
            // A subscriber without an event missed at least what the others of its stream saw.
            let before = one.before.or(begin.filter(|_| one.is_accepted));
            let Some(before) = before else { continue };
            let meant = highest.saturating_sub(before);
            // Up to the highest number that a subscriber of another worker saw.
            let is_late = one.later > 0 && one.later_first <= *highest;
            let later = if is_late { one.later.min(highest - one.later_first + 1) } else { 0 };
            let late = one.late + later;
            delivery.meant += meant;
            delivery.received += one.received;
            delivery.late += late;
            delivery.missing += meant.saturating_sub(one.received + late);
        }
        delivery
    }

    /// The part that arrived, 0 to 1; nothing when no event was meant.
    pub fn share(&self) -> Option<f64> {
        (self.meant > 0).then(|| (self.received + self.late) as f64 / self.meant as f64)
    }
}

/// For each stream, the highest number in the window and the highest that any subscriber started
/// at.
fn streams(subscriptions: &[Subscription]) -> BTreeMap<u32, (Option<u64>, Option<u64>)> {
    let mut streams: BTreeMap<u32, (Option<u64>, Option<u64>)> = BTreeMap::new();
    for one in subscriptions {
        let (highest, begin) = streams.entry(one.stream).or_default();
        *highest = (*highest).max(one.highest);
        *begin = (*begin).max(one.before);
    }
    streams
}

/// Events of one point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EventInfo {
    /// Planned streams.
    pub streams: u64,
    /// Connections that wrote.
    pub writers: u64,
    /// Events that arrived in the window.
    pub received: u64,
    /// Events that arrived in the window, per second.
    pub rate: f64,
    /// What the numbers of events say; null when an event had none, or none arrived.
    pub delivery: Option<Delivery>,
    /// The share that was delivered, 0 to 1.
    pub delivery_share: Option<f64>,
    /// Why there is none.
    pub delivery_absent: Option<String>,
    /// Events whose number was not above the previous one on their connection.
    pub repeated: u64,
    /// Time from the origin of an event to its arrival; null when it is not known.
    pub staleness_ns: Option<Summary>,
    /// How far staleness may be off because of the clocks of two hosts, nanoseconds: 0 with one
    /// clock, null where not known.
    pub staleness_error_ns: Option<u64>,
    /// Why there is none.
    pub staleness_absent: Option<String>,
    /// Events that arrived before their origin, by the two clocks: they count in no percentile.
    pub early: u64,
    /// The subscribers.
    pub subscribers: Subscribers,
    /// Events that each subscriber received in the window.
    pub each: Spread,
    /// Bytes that came on the streams in the whole level.
    pub socket_bytes: u64,
    /// CPU time of the generator per event, microseconds, writers included.
    pub client_us_per_event: Option<f64>,
    /// CPU time of the server's processes per event, microseconds, writes included.
    pub server_us_per_event: Option<f64>,
    /// Largest share of the window in which one subscriber thread ran, 0 to 1.
    pub busiest_thread: Option<f64>,
    /// Mean turn of the subscribers' loops, nanoseconds: an arrival can be stamped that late.
    pub turn_mean_ns: Option<f64>,
    /// Longest turn, nanoseconds.
    pub turn_max_ns: u64,
    /// One entry per second: events, and their staleness as latency.
    pub series: Vec<Second>,
}

/// Outcomes of the subscribers' connections.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscribers {
    /// Planned.
    pub asked: u64,
    /// Opened at least once.
    pub opened: u64,
    /// Received a stream at least once: status 200.
    pub accepted: u64,
    /// Never opened.
    pub failed: u64,
    /// Responses with another status, including repeated attempts.
    pub refused: u64,
    /// Streams that ended in the window.
    pub lost: u64,
    /// Errors by class, of the whole level.
    pub errors: BTreeMap<String, u64>,
    /// Time to connect.
    pub connect_ns: Summary,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saw(stream: u32, before: u64, received: u64, highest: u64) -> Subscription {
        let (before, highest) = (Some(before), Some(highest));
        let is_accepted = true;
        Subscription { stream, is_accepted, before, received, highest, ..Subscription::default() }
    }

    fn of(subscriptions: &[Subscription]) -> (u64, u64, u64, u64) {
        let delivery = Delivery::of(subscriptions);
        let Delivery { meant, received, late, missing, .. } = delivery;
        assert_eq!(meant, received + late + missing, "{delivery:?}");
        (meant, received, late, missing)
    }

    #[test]
    fn gaps_and_what_is_missing_at_the_end_were_meant() {
        assert_eq!(of(&[saw(0, 10, 10, 20)]), (10, 10, 0, 0));
        assert_eq!(of(&[saw(0, 10, 9, 20)]), (10, 9, 0, 1), "a gap");
        assert_eq!(of(&[saw(0, 10, 10, 20), saw(0, 12, 3, 15)]), (18, 13, 0, 5), "the end");
        assert_eq!(of(&[saw(0, 10, 10, 20), saw(1, 2, 3, 5)]), (13, 13, 0, 0), "two streams");
        assert_eq!(Delivery::of(&[saw(0, 10, 10, 20), saw(1, 2, 3, 5)]).streams, 2);
        assert_eq!(Delivery::of(&[saw(0, 10, 9, 20)]).share(), Some(0.9));
    }

    #[test]
    fn what_came_in_the_drain_was_late_up_to_the_highest_of_the_window() {
        let all = saw(0, 10, 10, 20);
        let late = |late| Subscription { late, ..saw(0, 10, 5, 15) };
        assert_eq!(of(&[all, late(5)]), (20, 15, 5, 0));
        assert_eq!(of(&[all, late(2)]), (20, 15, 2, 3));
        let later = |later| Subscription { later, later_first: 16, ..saw(0, 10, 5, 15) };
        assert_eq!(of(&[all, later(5)]), (20, 15, 5, 0), "another worker saw them in the window");
        assert_eq!(of(&[all, later(9)]), (20, 15, 5, 0), "the rest is of no window");
        assert_eq!(of(&[later(9)]), (5, 5, 0, 0));
    }

    #[test]
    fn events_of_the_drain_do_not_stand_for_events_that_were_dropped() {
        // The server dropped 16 to 20 for a slow subscriber, and sent 21 to 26 in the drain.
        let slow = Subscription { late: 1, later: 6, later_first: 21, ..saw(0, 10, 4, 14) };
        assert_eq!(of(&[saw(0, 10, 10, 20), slow]), (20, 14, 1, 5));
    }

    #[test]
    fn who_heard_nothing_missed_what_others_heard() {
        let deaf = Subscription { is_accepted: true, ..Subscription::default() };
        assert_eq!(of(&[saw(0, 10, 10, 20), deaf]), (20, 10, 0, 10));
        assert_eq!(of(&[saw(0, 10, 10, 20), Subscription::default()]), (10, 10, 0, 0), "not there");
        assert_eq!(of(&[deaf]), (0, 0, 0, 0), "no source knows of any event");
        assert_eq!(Delivery::of(&[deaf]).share(), None);
        let idle = Subscription { before: Some(7), ..deaf };
        assert_eq!(of(&[idle]), (0, 0, 0, 0));
        assert_eq!(of(&[saw(0, 10, 10, 20), idle]), (23, 10, 0, 13));
    }
}
