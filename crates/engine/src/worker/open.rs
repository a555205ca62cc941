//! Open loop: requests leave when they are due, whatever happened to earlier ones. With devices,
//! connections are due instead ([`super::starts`]).
//!
//! A request that is due takes the connection that has been free longest. When none has room the
//! request waits, in order, and its latency counts from its planned instant; waiting requests take
//! no memory, because the schedule can be walked again. The worker sleeps until shortly before the
//! next request is due and polls the clock from then on. It learns how long before from how late
//! its sleeps end.
//!
//! Hot: runs for every request of an open loop.

use super::level::{Counting, Window};
use super::writes::Lack;
use super::{Stage, Worker};
use crate::driver::{Driver, SlotId};
use crate::job::Pace;
use crate::places::Room;
use crate::pool::Link;
use crate::schedule::Schedule;
use model::curve::Curve;
use model::dist::Dist;
use model::load::Spacing;
use std::sync::Arc;
use wire::session::Session;

/// Shortest, initial and longest time before a due instant at which sleeping ends, nanoseconds.
const MARGIN_NS: (u64, u64, u64) = (5_000, 60_000, 200_000);
/// How much the margin grows after a sleep that ended too late, nanoseconds.
const MARGIN_UP_NS: u64 = 10_000;
/// How much it shrinks after a sleep in time: one late sleep in a hundred keeps it where it is.
const MARGIN_DOWN_NS: u64 = 100;

/// Longest sleep while requests wait for a connection, nanoseconds: a stall of this thread shows as
/// a sleep that ended too late, and only by the part that exceeds the sleep.
const QUEUE_SLEEP_NS: u64 = 1_000_000;

/// Unsent requests counted in one turn, at most.
const UNSENT_PER_TURN: u32 = 500_000;

/// The schedule of a part of the load, and this worker's position in it.
#[derive(Debug)]
pub(super) struct Release {
    schedule: Schedule,
    begin_ns: u64,
    /// When the next request is due, monotonic; the far future when there is none.
    pub due_ns: u64,
    /// Walks ahead of the waiting requests, to open a connection for each.
    ahead: Schedule,
    ahead_due_ns: u64,
    /// Since when a connection has had room without a break, or may have had it unseen.
    room_since_ns: u64,
    /// Requests that were skipped. They are booked as unsent; how long they have waited is known
    /// at the end of the window.
    skipped: Option<Skipped>,
}

/// Requests at the start of a schedule that are never sent.
#[derive(Debug)]
struct Skipped {
    schedule: Schedule,
    due_ns: u64,
    left: u64,
}

/// The earliest instant at which a response that is seen in a turn may have arrived, if the wait
/// before has left none ([`Driver::left_from_before`]). The turn before started at `turn_begin_ns`
/// and ended in a wait from `begin_ns` that was to end at `until_ns` at the latest and ended at
/// `woken_ns`.
///
/// A wait that was shorter than the turn before it may not have slept at all: the response was
/// already there, and may have arrived as early as the start of that turn, because nothing is read
/// between two waits. A longer wait slept until the response arrived, so it arrived when the wait
/// ended. But if the wait ended later than requested, this thread did not run in between, and the
/// response may have arrived at any time after the requested end. What remains unseen is a stall
/// inside a sleep, of at most [`QUEUE_SLEEP_NS`].
pub(super) fn unseen_since(
    turn_begin_ns: u64,
    (begin_ns, until_ns): (u64, u64),
    woken_ns: u64,
) -> u64 {
    let (worked_ns, waited_ns) =
        (begin_ns.saturating_sub(turn_begin_ns), woken_ns.saturating_sub(begin_ns));
    if waited_ns < worked_ns { turn_begin_ns } else { woken_ns.min(until_ns.max(begin_ns)) }
}

/// A sleep that ends later than this was late for what arrived meanwhile, nanoseconds.
const LATE_NS: u64 = 50_000;
/// A worker that is later than this was stalled, nanoseconds.
pub(super) const STALL_NS: u64 = 1_000_000;

/// How long the responses of a turn may have waited because the worker was stalled; zero when it
/// ran on time. The arguments are the result of [`unseen_since`], its other arguments, and the
/// stamp of the last event, which is later than the end of the wait where a driver receives one by
/// one.
///
/// A sleep that ended late contained a stall that started at an unknown instant: a response may
/// have arrived as early as the start of the sleep.
#[inline]
pub(super) fn stalled(
    unseen_since_ns: u64,
    (begin_ns, until_ns): (u64, u64),
    (woken_ns, last_ns): (u64, u64),
) -> u64 {
    let late_ns = woken_ns.saturating_sub(until_ns.max(begin_ns));
    let in_turn_ns = last_ns.saturating_sub(woken_ns);
    let unseen_ns = last_ns.saturating_sub(unseen_since_ns);
    if late_ns > STALL_NS {
        return unseen_ns.max(woken_ns - begin_ns + in_turn_ns);
    }
    if late_ns > LATE_NS && unseen_ns <= STALL_NS {
        return late_ns + in_turn_ns;
    }
    if unseen_ns > STALL_NS { unseen_ns } else { 0 }
}

/// How long before a due instant a sleep must end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Margin(u64);

impl Margin {
    pub fn new() -> Self {
        Self(MARGIN_NS.1)
    }

    /// A sleep that should have ended at `until_ns` ended at `woken_ns`.
    fn learn(&mut self, until_ns: u64, woken_ns: u64) {
        let was_late = woken_ns.saturating_sub(until_ns) > self.0;
        let next_ns = if was_late { self.0 + MARGIN_UP_NS } else { self.0 - MARGIN_DOWN_NS };
        self.0 = next_ns.clamp(MARGIN_NS.0, MARGIN_NS.2);
    }
}

impl Release {
    fn new(mut schedule: Schedule, begin_ns: u64) -> Self {
        let mut ahead = schedule.clone();
        let due = |next: Option<u64>| next.map_or(u64::MAX, |ns| begin_ns.saturating_add(ns));
        let (due_ns, ahead_due_ns) = (due(schedule.next_ns()), due(ahead.next_ns()));
        let (room_since_ns, skipped) = (begin_ns, None);
        Self { schedule, begin_ns, due_ns, ahead, ahead_due_ns, room_since_ns, skipped }
    }

    #[inline]
    fn advance(&mut self) {
        self.due_ns =
            self.schedule.next_ns().map_or(u64::MAX, |ns| self.begin_ns.saturating_add(ns));
    }

    /// Passes over what is due before an instant, at most so much of it; returns how much it was.
    fn skip(&mut self, until_ns: u64, most: u64) -> u64 {
        let mut count = 0;
        while self.due_ns < until_ns && count < most {
            self.advance();
            count += 1;
        }
        count
    }

    /// When the next of the skipped requests was due, each once.
    fn next_skipped(&mut self) -> Option<u64> {
        let skipped = self.skipped.as_mut()?;
        skipped.left = skipped.left.checked_sub(1)?;
        let next_ns = skipped.schedule.next_ns();
        let next_ns = next_ns.map_or(u64::MAX, |ns| self.begin_ns.saturating_add(ns));
        Some(std::mem::replace(&mut skipped.due_ns, next_ns))
    }
}

impl<D: Driver, S: Session> Worker<D, S> {
    // Cold: once per part of a level.
    /// Starts a schedule; in a warm-up with the rate at which the window will start.
    pub(super) fn begin_schedule(&mut self, begin_ns: u64) {
        let Pace::Open { curve, arrivals, seed } = &self.pace else { return };
        let schedule = match self.stage {
            Stage::Warmup => {
                let first = curve.first_rate();
                let first = match self.plans_starts() {
                    true => self.rising(first),
                    false => Curve::constant(first),
                };
                let first = Arc::new(first);
                self.schedule_of(&first, *arrivals, !*seed)
            }
            _ => self.schedule_of(curve, *arrivals, *seed),
        };
        self.release = Some(Release::new(schedule, begin_ns));
        // Connections that have room already had it when the schedule started.
        (0..self.pool.wanted()).for_each(|slot| self.find_room(slot));
    }

    /// Adds a connection to the free ones, if it has room.
    #[inline]
    fn find_room(&mut self, slot: SlotId) {
        if self.plans_starts() {
            return self.find_device(slot);
        }
        let state = self.pool.state_of(slot);
        let in_flight = self.flights.on(slot);
        let may_send = state.sends_left > 0 && !state.is_ending && !state.sending;
        let may_hold = self.depth.min(state.session.capacity());
        let has_room = in_flight < may_hold && may_send && slot < self.pool.wanted();
        if self.pool.link(slot) == Link::Open && has_room {
            self.places.put(slot, if in_flight == 0 { Room::Idle } else { Room::Behind });
        } else if S::WRITES {
            // The peer may allow fewer requests than it did.
            self.places.remove(slot);
        }
    }

    // Cold: once for each level.
    fn schedule_of(&self, curve: &Arc<Curve>, arrivals: Spacing, seed: u64) -> Schedule {
        Schedule::new(curve, arrivals, seed, self.shard.clone())
    }

    /// A connection may have got room: sends due requests on it.
    #[inline]
    pub(super) fn offer(&mut self, slot: SlotId, at_ns: u64) {
        let had_room = !self.places.is_empty();
        self.find_room(slot);
        let Some(release) = &mut self.release else { return };
        if !had_room {
            release.room_since_ns = at_ns.min(self.unseen_since_ns);
        }
        if release.due_ns <= at_ns {
            self.release_due(at_ns);
        }
    }

    /// Sends every due request, as long as connections have room; returns when the last one was
    /// sent, or `now_ns`.
    #[inline]
    pub(super) fn release_due(&mut self, now_ns: u64) -> u64 {
        let (end_ns, mut budget) = match (self.stage, self.window) {
            (Stage::Warmup, _) => (u64::MAX, u64::MAX),
            (Stage::Measure, Some(window)) => (window.end_ns, window.budget),
            _ => return now_ns,
        };
        let mut now_ns = now_ns;
        while budget > 0 {
            let Some(release) = &mut self.release else { break };
            let due_ns = release.due_ns;
            if due_ns > now_ns || due_ns >= end_ns {
                break;
            }
            let Some(slot) = self.places.take() else {
                self.open_for_waiting(now_ns, end_ns);
                break;
            };
            now_ns = self.driver.now_ns();
            let due_since_ns = due_ns.max(release.room_since_ns);
            release.advance();
            let was_last = self.places.is_empty();
            budget -= 1;
            match self.plans_starts() {
                true => self.start(slot, due_ns, due_since_ns),
                false => self.send_due(slot, (due_ns, due_since_ns), now_ns),
            }
            if was_last && let Some(release) = &mut self.release {
                release.room_since_ns = now_ns;
            }
        }
        if S::WRITES {
            self.flush_all();
        }
        now_ns
    }

    /// Sends one due request, which has had a connection since `due_since_ns`.
    #[inline]
    fn send_due(&mut self, slot: SlotId, (due_ns, due_since_ns): (u64, u64), now_ns: u64) {
        if self.stage == Stage::Measure {
            let tick = &mut self.recorder.tick;
            tick.histograms[Dist::SendDelay].record_n(now_ns.saturating_sub(due_ns), 1);
            tick.histograms[Dist::GeneratorDelay].record_n(now_ns.saturating_sub(due_since_ns), 1);
            let has_waited = due_since_ns > due_ns;
            tick.measured.waited += u64::from(has_waited);
            if S::WRITES && has_waited {
                match self.lack(slot, due_ns) {
                    Lack::Slots => {}
                    Lack::Streams => self.recorder.tick.measured.limited += 1,
                    Lack::Connections => self.recorder.tick.measured.renewed += 1,
                }
            }
        }
        self.count_in_flight(now_ns);
        self.send(slot, 1, due_ns, now_ns);
        self.find_room(slot);
    }

    // Cold: waiting requests are the exception, and cloning a schedule counts a reference.
    /// Opens one more connection for each waiting request, as far as that is allowed.
    fn open_for_waiting(&mut self, now_ns: u64, end_ns: u64) {
        if self.pool.wanted() >= self.wanted_max {
            return;
        }
        let Some(release) = &mut self.release else { return };
        if release.ahead_due_ns < release.due_ns {
            // Requests that have left meanwhile need none.
            release.ahead = release.schedule.clone();
            release.ahead_due_ns = release.due_ns;
        }
        let mut opened = 0;
        while release.ahead_due_ns <= now_ns
            && release.ahead_due_ns < end_ns
            && self.pool.wanted() + opened < self.wanted_max
        {
            opened += 1;
            let next_ns = release.ahead.next_ns();
            release.ahead_due_ns =
                next_ns.map_or(u64::MAX, |ns| release.begin_ns.saturating_add(ns));
        }
        for _ in 0..opened {
            self.pool.grow();
        }
    }

    /// Until when the worker may sleep: until shortly before the next request is due that a
    /// connection could take, or that would open one.
    #[inline]
    pub(super) fn sleep_until(&self, now_ns: u64, until_ns: u64) -> u64 {
        let Some(release) = &self.release else { return until_ns };
        if !matches!(self.stage, Stage::Warmup | Stage::Measure) {
            return until_ns;
        }
        if !self.places.is_empty() {
            return until_ns.min(release.due_ns.saturating_sub(self.margin.0));
        }
        let may_open = self.pool.wanted() < self.wanted_max;
        let opens_ns = release.ahead_due_ns.max(release.due_ns);
        let until_ns = if may_open { until_ns.min(opens_ns) } else { until_ns };
        // While a request waits, sleeps are short.
        until_ns.min(release.due_ns.max(now_ns).saturating_add(QUEUE_SLEEP_NS))
    }

    /// Accounts for a wait without events: it was a spin, or a sleep whose end can be judged.
    #[inline]
    pub(super) fn account_for_wait(&mut self, now_ns: u64, until_ns: u64, woken_ns: u64) {
        if self.release.is_none() {
            return;
        }
        if until_ns <= now_ns {
            self.recorder.tick.accounting.spin_ns += woken_ns - now_ns;
        } else if woken_ns >= until_ns {
            self.margin.learn(until_ns, woken_ns);
        }
    }

    /// Books requests that were due in the window and never sent, a part of them per call: there
    /// may be hundreds of millions. `end_ns` is the end of the window. What is due beyond a budget
    /// was never to be sent.
    pub(super) fn count_unsent(&mut self, end_ns: u64) -> Counting {
        let (are_starts, are_users) = (self.has_devices(), self.plans_users());
        let Some(release) = &mut self.release else { return Counting::Done };
        let tick = &mut self.recorder.tick;
        for _ in 0..UNSENT_PER_TURN {
            if let Some(due_ns) = release.next_skipped() {
                tick.histograms[Dist::AtLeast].record_n(end_ns.saturating_sub(due_ns), 1);
                continue;
            }
            if release.due_ns >= end_ns || self.unsent_max == 0 {
                return Counting::Done;
            }
            self.unsent_max -= 1;
            if are_starts {
                tick.starts.unsent += 1;
            } else {
                // Of a user who never began, the first request.
                tick.measured.unsent += 1;
                tick.users.unstarted += u64::from(are_users);
                tick.histograms[Dist::AtLeast].record_n(end_ns - release.due_ns, 1);
            }
            release.advance();
        }
        Counting::GoesOn
    }

    // Cold: once for each window.
    /// Books requests that were due before the order for the window came as unsent, and takes them
    /// off its budget. What becomes due while they are counted is among them, because there may be
    /// many: it would leave at once.
    pub(super) fn skip_late(&mut self, window: Window) {
        let until_ns = window.skip_until_ns.min(window.end_ns);
        if until_ns <= window.begin_ns {
            return;
        }
        let are_starts = self.has_devices();
        let Some(release) = &mut self.release else { return };
        let (schedule, due_ns) = (release.schedule.clone(), release.due_ns);
        let mut left = release.skip(until_ns, window.budget);
        let now_ns = self.driver.now_ns().min(window.end_ns);
        left += release.skip(now_ns, window.budget - left);
        self.window = Some(Window { budget: window.budget - left, ..window });
        let tick = &mut self.recorder.tick;
        if are_starts {
            tick.starts.unsent += left;
        } else {
            tick.measured.unsent += left;
            release.skipped = Some(Skipped { schedule, due_ns, left });
        }
    }

    /// Ends the schedule.
    pub(super) fn end_schedule(&mut self) {
        self.release = None;
        self.places.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_may_have_been_there_since_the_thread_last_looked() {
        // Start of the turn before; start, requested end and actual end of the wait.
        let since = |turn, begin, until, woken| unseen_since(turn, (begin, until), woken);
        assert_eq!(since(0, 10, 1000, 300), 300, "a sleep that something ended");
        assert_eq!(since(0, 10_000, 20_000, 10_005), 0, "a long turn, and no sleep after it");
        assert_eq!(since(0, 10, 1000, 9000), 1000, "a sleep that ended too late");
        assert_eq!(since(8, 10, 5, 12), 10, "an instant that had passed before the wait");
    }

    #[test]
    fn a_stall_is_a_sleep_or_a_turn_that_was_a_millisecond_too_long() {
        let ms = 1_000_000;
        let stall = |turn, begin, until, woken| {
            stalled(unseen_since(turn, (begin, until), woken), (begin, until), (woken, woken))
        };
        assert_eq!(stall(0, 10, 20 * ms, 15 * ms), 0, "a response ended the sleep");
        assert_eq!(stall(0, 10, 20 * ms, 20 * ms + ms / 30), 0, "as late as sleeps are");
        assert_eq!(stall(0, 10, 20 * ms, 20 * ms + ms / 2), ms / 2, "late, and not frozen");
        assert_eq!(stall(0, 10, 20 * ms, 90 * ms), 90 * ms - 10, "frozen at an unknown instant");
        assert_eq!(stall(0, 50 * ms, 70 * ms, 50 * ms + 5), 50 * ms + 5, "frozen in a turn");
        let last = |until, woken, last| stalled(woken, (10, until), (woken, last));
        assert_eq!(last(20 * ms, 15 * ms, 15 * ms + ms / 2), 0, "many events");
        assert_eq!(last(20 * ms, 15 * ms, 35 * ms), 20 * ms, "frozen between two receives");
        assert_eq!(last(20 * ms, 90 * ms, 95 * ms), 95 * ms - 10, "and before them");
        let left = |since| stalled(since, (10 * ms, 20 * ms), (90 * ms, 90 * ms));
        assert_eq!(left(5 * ms), 85 * ms, "frozen, with responses that the wait before left");
    }

    #[test]
    fn the_margin_settles_where_one_sleep_in_a_hundred_is_late() {
        let mut margin = Margin::new();
        // Sleeps end 0 to 99 us late, all equally often.
        for round in 0..100_000u64 {
            margin.learn(1_000_000, 1_000_000 + round * 37 % 100 * 1_000);
        }
        assert!((95_000..=115_000).contains(&margin.0), "{}", margin.0);
    }
}
