//! The connections of one worker over their whole life: wanted, opened, lost, opened again.
//!
//! For: the two loops ([`crate::worker`] and [`crate::subscriber`]), which keep only what they do
//! with an open connection, as a state `T` per slot.
//! In: how many connections a level wants, what the driver reports about attempts, and which
//! connections are no longer usable.
//! Out: orders to the driver to open and to close, the counts of connections and attempts, and when
//! the slots must be scanned again.
//! Never: bytes, requests, protocols, or the reason why a connection is given up.

use crate::driver::{Driver, SlotId};
use crate::job::{Job, first_route};
use crate::shard::Shard;
use model::dist::Dist;
use model::tick::{Connections, Tick};
use std::collections::VecDeque;

/// Connections that one worker opens at once: fewer than any sensible accept queue.
pub(crate) const OPENING_MAX: u64 = 128;
/// How often slots are scanned while some wait for their next attempt, nanoseconds.
const BACKOFF_SCAN_NS: u64 = 5_000_000;
/// After a scan there is none for so many times its length: with very many slots, scans take at
/// most a tenth of the time, unless one takes more than a ninth of a second.
const SCAN_RESTS: u64 = 9;
/// But not for longer than this, nanoseconds: a scan may have been long because its thread did not
/// run, and what takes too long must still be seen.
const SCAN_REST_MAX_NS: u64 = 1_000_000_000;
/// First pause before an attempt is repeated, nanoseconds; doubled each time.
const BACKOFF_FIRST_NS: u64 = 10_000_000;
/// Longest pause, nanoseconds.
const BACKOFF_MAX_NS: u64 = 1_000_000_000;

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// Not wanted.
    Closed,
    /// Wanted, and in the queue to be opened.
    Queued,
    /// Being opened.
    Opening,
    /// Open.
    Open,
    /// Failed; wanted again at `retry_ns`.
    Backoff,
    /// Wanted when its alarm rings.
    Waiting,
}

/// What became of a slot since the level was ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotOutcome {
    /// No attempt has ended.
    Untried,
    /// Every attempt failed.
    Failed,
    /// It was open at least once.
    Opened,
}

/// What a slot must do when a level starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duty {
    /// Nothing: it is not wanted, or already being opened.
    Nothing,
    /// Nothing: it is open, and the level uses it.
    Kept,
    /// Open a connection.
    Begin,
    /// Give up the connection.
    End,
}

/// What a scan finds at a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing to do.
    Nothing,
    /// An open connection.
    Open,
    /// An attempt to connect that took too long.
    Overdue,
}

/// One connection, with what its loop keeps for it.
#[derive(Debug)]
pub struct Slot<T> {
    link: Link,
    fate: SlotOutcome,
    /// Route of the latest attempt.
    route: u32,
    /// Connections in a row that failed, or ended before they served anything.
    fruitless: u32,
    /// When the attempt started, nanoseconds.
    opening_ns: u64,
    /// When to try again, nanoseconds.
    retry_ns: u64,
    /// What the loop keeps.
    pub state: T,
}

impl<T> Slot<T> {
    fn new(state: T) -> Self {
        let (link, fate) = (Link::Closed, SlotOutcome::Untried);
        Self { link, fate, route: 0, fruitless: 0, opening_ns: 0, retry_ns: 0, state }
    }

    /// State of the connection.
    #[inline]
    pub fn link(&self) -> Link {
        self.link
    }

    /// Pause before the next attempt, nanoseconds. `random` spreads slots over half of the pause.
    fn backoff_ns(&self, random: u64) -> u64 {
        let doublings = self.fruitless.saturating_sub(1).min(16);
        let pause_ns = (BACKOFF_FIRST_NS << doublings).min(BACKOFF_MAX_NS);
        pause_ns / 2 + random % (pause_ns / 2 + 1)
    }
}

/// See the module.
#[derive(Debug)]
pub struct Pool<T> {
    slots: Vec<Slot<T>>,
    /// The level wants the slots below this number.
    wanted: u32,
    counts: Connections,
    queue: VecDeque<SlotId>,
    in_backoff: u64,
    /// Number of routes, and the one that the next connection takes. Routes are taken in turn and
    /// not bound to slots: a closed connection may hold its port for a minute, so the next
    /// connection takes the route that was used longest ago, however few slots there are.
    routes: u32,
    next_route: u32,
    connect_timeout_ns: u64,
    scan_ns: u64,
    next_scan_ns: u64,
    /// No scan before this instant, nanoseconds.
    rest_until_ns: u64,
    /// When a scan last found no connection open, and for how long scans have found none, both in
    /// nanoseconds; nothing while one is open.
    dead_ns: Option<(u64, u64)>,
    random: u64,
}

impl<T> Pool<T> {
    /// Takes the memory of `slots` connections of a shard's worker, each with the state that
    /// `state` gives for its number. `scan_ns` is how often they are scanned while none is in
    /// backoff.
    pub fn new(
        job: &Job,
        (slots, shard): (u32, &Shard),
        scan_ns: u64,
        now_ns: u64,
        state: impl FnMut(SlotId) -> T,
    ) -> Self {
        Self {
            slots: (0..slots).map(state).map(Slot::new).collect(),
            wanted: 0,
            counts: Connections::default(),
            queue: VecDeque::with_capacity(slots as usize),
            in_backoff: 0,
            routes: job.routes.len().max(1) as u32,
            next_route: first_route(job, shard),
            connect_timeout_ns: job.connect_timeout_ns,
            scan_ns,
            next_scan_ns: now_ns,
            rest_until_ns: now_ns,
            dead_ns: None,
            random: (job.seed
                ^ (u64::from(shard.worker()) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
                | 1,
        }
    }

    /// The numbers of all slots.
    pub fn all(&self) -> std::ops::Range<SlotId> {
        0..self.slots.len() as SlotId
    }

    /// One slot.
    #[inline]
    pub fn slot(&mut self, slot: SlotId) -> &mut Slot<T> {
        &mut self.slots[slot as usize]
    }

    /// The loop's state of a slot.
    #[inline]
    pub fn state(&mut self, slot: SlotId) -> &mut T {
        &mut self.slots[slot as usize].state
    }

    /// The loop's state of a slot, read-only.
    #[inline]
    pub fn state_of(&self, slot: SlotId) -> &T {
        &self.slots[slot as usize].state
    }

    /// State of a connection.
    #[inline]
    pub fn link(&self, slot: SlotId) -> Link {
        self.slots[slot as usize].link
    }

    /// What tells the connection of a slot from any other in it: its state, and when its attempt
    /// started.
    pub fn identity(&self, slot: SlotId) -> (Link, u64) {
        let one = &self.slots[slot as usize];
        (one.link, one.opening_ns)
    }

    /// The loop's states of the slots that the level wants.
    pub fn wanted_states(&self) -> impl Iterator<Item = &T> {
        self.slots[..self.wanted as usize].iter().map(|slot| &slot.state)
    }

    /// How many slots the level wants.
    #[inline]
    pub fn wanted(&self) -> u32 {
        self.wanted
    }

    /// Connections as they are now.
    pub fn counts(&self) -> Connections {
        self.counts
    }

    /// Connections as they are now, mutable, for counts that the loop keeps itself.
    pub fn counts_mut(&mut self) -> &mut Connections {
        &mut self.counts
    }

    /// Whether slots wait to be opened.
    pub fn has_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    /// A number that looks random: enough to spread retries (xorshift64, Marsaglia 2003).
    pub fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// Starts a level that wants this many connections. [`Pool::duty`] must then be called for
    /// every slot.
    pub fn begin_level(&mut self, wanted: u32) {
        assert!(wanted as usize <= self.slots.len());
        self.wanted = wanted;
        self.dead_ns = None;
        let Connections { open, opening, .. } = self.counts;
        self.counts = Connections { open, opening, ..Connections::default() };
    }

    /// What a slot must do now that a level starts.
    pub fn duty(&mut self, slot: SlotId) -> Duty {
        let is_wanted = slot < self.wanted;
        let one = &mut self.slots[slot as usize];
        one.fate = SlotOutcome::Untried;
        match (one.link, is_wanted) {
            (Link::Closed, true) => Duty::Begin,
            (Link::Open, true) => {
                one.fate = SlotOutcome::Opened;
                self.counts.opened += 1;
                Duty::Kept
            }
            (Link::Closed, false) | (_, true) => Duty::Nothing,
            (_, false) => Duty::End,
        }
    }

    /// Wants one more connection, now.
    pub fn grow(&mut self) {
        self.queue(self.wanted);
        self.wanted += 1;
    }

    /// Queues a slot, to be opened as soon as few enough others are being opened.
    pub fn queue(&mut self, slot: SlotId) {
        self.slots[slot as usize].link = Link::Queued;
        self.queue.push_back(slot);
    }

    /// Marks a slot to be opened when its alarm rings.
    pub fn postpone(&mut self, slot: SlotId) {
        self.slots[slot as usize].link = Link::Waiting;
    }

    /// Stops wanting a slot that is not open.
    pub fn forget(&mut self, slot: SlotId) {
        self.slots[slot as usize].link = Link::Closed;
    }

    /// The next slot to be opened, if fewer than `opening_max` are being opened.
    pub fn next_queued(&mut self, opening_max: u64) -> Option<SlotId> {
        while self.counts.opening < opening_max {
            let slot = self.queue.pop_front()?;
            if self.slots[slot as usize].link == Link::Queued {
                return Some(slot);
            }
        }
        None
    }

    /// Starts to open a slot.
    pub fn open(&mut self, slot: SlotId, driver: &mut impl Driver, tick: &mut Tick, now_ns: u64) {
        let route = self.next_route;
        self.next_route = (route + 1) % self.routes;
        let one = &mut self.slots[slot as usize];
        (one.link, one.opening_ns, one.route) = (Link::Opening, now_ns, route);
        tick.turnover.begun += 1;
        self.counts.opening += 1;
        self.look_by(now_ns + self.scan_ns);
        driver.open(slot, route);
    }

    /// A slot has been open since `connected_ns`.
    pub fn opened(&mut self, slot: SlotId, connected_ns: u64, tick: &mut Tick) {
        let one = &mut self.slots[slot as usize];
        tick.histograms[Dist::Connect].record_n(connected_ns.saturating_sub(one.opening_ns), 1);
        tick.turnover.established += 1;
        tick.opened_on[one.route as usize] += 1;
        one.link = Link::Open;
        self.counts.opening -= 1;
        self.counts.open += 1;
        self.dead_ns = None;
        match std::mem::replace(&mut one.fate, SlotOutcome::Opened) {
            SlotOutcome::Opened => self.counts.reopened += 1,
            SlotOutcome::Failed => {
                self.counts.failed -= 1;
                self.counts.opened += 1;
            }
            SlotOutcome::Untried => self.counts.opened += 1,
        }
    }

    /// An attempt to open a slot failed; the caller must then close the slot.
    pub fn failed(&mut self, slot: SlotId, tick: &mut Tick) {
        tick.turnover.failed += 1;
        let one = &mut self.slots[slot as usize];
        if one.fate == SlotOutcome::Untried {
            one.fate = SlotOutcome::Failed;
            self.counts.failed += 1;
        }
    }

    /// Closes a slot in any state, and returns that state.
    pub fn close(&mut self, slot: SlotId, driver: &mut impl Driver) -> Link {
        driver.close(slot);
        let link = std::mem::replace(&mut self.slots[slot as usize].link, Link::Closed);
        match link {
            Link::Open => self.counts.open -= 1,
            Link::Opening => self.counts.opening -= 1,
            Link::Backoff => self.in_backoff -= 1,
            Link::Queued | Link::Waiting | Link::Closed => {}
        }
        link
    }

    /// A connection ended as it should, so the next failed attempt counts as the first in a row.
    pub fn was_fruitful(&mut self, slot: SlotId) {
        self.slots[slot as usize].fruitless = 0;
    }

    /// Opens a closed slot again after a pause, which grows with the number of fruitless attempts
    /// in a row; `served` is how much the last connection served.
    pub fn back_off(&mut self, slot: SlotId, served: u64, now_ns: u64) {
        let random = self.draw();
        let one = &mut self.slots[slot as usize];
        one.fruitless = if served > 0 { 1 } else { one.fruitless.saturating_add(1) };
        one.link = Link::Backoff;
        one.retry_ns = now_ns + one.backoff_ns(random);
        self.in_backoff += 1;
        self.look_by(now_ns + BACKOFF_SCAN_NS);
    }

    /// When the slots must be scanned again, nanoseconds.
    #[inline]
    pub fn next_scan_ns(&self) -> u64 {
        self.next_scan_ns
    }

    /// The slots must be scanned at `at_ns` at the latest, unless the last scan took so long that
    /// it is too soon.
    pub fn look_by(&mut self, at_ns: u64) {
        self.next_scan_ns = self.next_scan_ns.min(at_ns.max(self.rest_until_ns));
    }

    /// Looks at one slot, and queues it when its pause is over. A scan looks at every slot, then
    /// ends with [`Pool::end_scan`].
    pub fn look(&mut self, slot: SlotId, now_ns: u64) -> Found {
        let one = &self.slots[slot as usize];
        match one.link {
            Link::Open => return Found::Open,
            Link::Opening if now_ns.saturating_sub(one.opening_ns) > self.connect_timeout_ns => {
                return Found::Overdue;
            }
            Link::Backoff if one.retry_ns <= now_ns => {
                self.in_backoff -= 1;
                self.queue(slot);
            }
            _ => {}
        }
        Found::Nothing
    }

    /// Whether no connection has been open for so long that as many slots as may open at once have
    /// had a whole attempt in vain, with the longest pause before it. To be asked at every scan:
    /// what counts is the time between scans that found none open, each time up to one second,
    /// because this thread may not have run.
    pub fn is_hopeless(&mut self, now_ns: u64) -> bool {
        if self.counts.open > 0 {
            self.dead_ns = None;
            return false;
        }
        let (looked_ns, dead_ns) = self.dead_ns.unwrap_or((now_ns, 0));
        let dead_ns = dead_ns + now_ns.saturating_sub(looked_ns).min(SCAN_REST_MAX_NS);
        self.dead_ns = Some((now_ns, dead_ns));
        dead_ns > self.connect_timeout_ns + 2 * BACKOFF_MAX_NS
    }

    /// Ends a scan of all slots, which took from `begin_ns` to `end_ns`.
    pub fn end_scan(&mut self, begin_ns: u64, end_ns: u64) {
        let is_waited = self.in_backoff > 0;
        let pause_ns = if is_waited { self.scan_ns.min(BACKOFF_SCAN_NS) } else { self.scan_ns };
        let took_ns = end_ns.saturating_sub(begin_ns);
        self.rest_until_ns = end_ns + took_ns.saturating_mul(SCAN_RESTS).min(SCAN_REST_MAX_NS);
        self.next_scan_ns = self.rest_until_ns.max(begin_ns + pause_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::load::Request;
    use wire::tape::Tape;

    const MS: u64 = 1_000_000;

    fn pool() -> Pool<()> {
        let (method, path) = ("GET".to_string(), "/".to_string());
        let tape = Tape::new(&[Request { method, path, ..Request::default() }], 1).unwrap();
        Pool::new(&Job::for_tests(tape), (2, &Shard::whole()), 100 * MS, 0, |_| ())
    }

    /// It must have been seen without a connection all the time.
    #[test]
    fn a_pause_of_the_thread_or_between_levels_is_not_hopeless() {
        let mut pool = pool();
        let most_ns = pool.connect_timeout_ns + 2 * BACKOFF_MAX_NS;
        let (mut tick, far_ns) = (Tick { opened_on: vec![0], ..Tick::default() }, 100 * most_ns);
        pool.begin_level(1);
        assert!(!pool.is_hopeless(far_ns), "the first look at a level that came late");
        for waited_ns in (SCAN_REST_MAX_NS..most_ns).step_by(SCAN_REST_MAX_NS as usize) {
            assert!(!pool.is_hopeless(far_ns + waited_ns));
        }
        assert!(!pool.is_hopeless(far_ns + most_ns));
        assert!(pool.is_hopeless(far_ns + most_ns + 1));
        pool.begin_level(1);
        assert!(!pool.is_hopeless(far_ns));
        assert!(!pool.is_hopeless(2 * far_ns), "a pause between two looks");
        pool.begin_level(1);
        assert!(!pool.is_hopeless(2 * far_ns), "another level");
        pool.counts.opening = 1;
        pool.opened(0, 2 * far_ns, &mut tick);
        pool.counts.open = 0;
        assert!(!pool.is_hopeless(3 * far_ns), "one was open after the last look");
        pool.counts.open = 1;
        assert!(!pool.is_hopeless(4 * far_ns));
        pool.counts.open = 0;
        assert!(!pool.is_hopeless(5 * far_ns), "one was open at the last look");
    }

    #[test]
    fn scans_take_a_tenth_of_the_time_at_most() {
        let (ms, mut pool) = (MS, pool());
        pool.end_scan(0, ms / 2);
        assert_eq!(pool.next_scan_ns(), 100 * ms, "a short one changes nothing");
        pool.back_off(0, 0, 2 * ms);
        assert_eq!(pool.next_scan_ns(), 7 * ms, "a retry is soon");
        pool.end_scan(7 * ms, 11 * ms);
        assert_eq!(pool.next_scan_ns(), (11 + 9 * 4) * ms);
        pool.back_off(1, 0, 12 * ms);
        assert_eq!(pool.next_scan_ns(), (11 + 9 * 4) * ms, "also with one more");
        pool.end_scan(50 * ms, 3_050 * ms);
        assert_eq!(pool.next_scan_ns(), 4_050 * ms, "3 s in which the thread did not run");
    }
}
