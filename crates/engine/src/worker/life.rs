//! Connections that come and go: devices that hold one for a while, and caps on its requests.
//!
//! A device is a slot that opens its connection, may send a few requests, holds it, closes it and
//! starts again. Starts are spread over the ramp-up and ends over the ramp-down, by the number of
//! the slot, so that connections open evenly and not in bursts. A connection that has used up its
//! requests is closed when the last response arrives. Connections that are kept open have no alarm
//! and cost nothing.

use super::{Cause, Stage, Worker};
use crate::driver::{Driver, SlotId};
use crate::pool::Link;
use model::load::Hold;
use model::tick::Connections;
use wire::session::Session;

/// How long after the ramp-down attempts to connect may still be under way, nanoseconds.
const OPENING_GRACE_NS: u64 = 2_000_000_000;
/// No limit for requests on a connection.
const ENDLESS: u32 = u32::MAX;

impl<D: Driver, S: Session> Worker<D, S> {
    /// Whether connections are devices.
    pub(super) fn has_devices(&self) -> bool {
        self.life.hold.is_some()
    }

    /// Whether a connection ends with its last response: always, unless it is held.
    fn ends_with_requests(&self) -> bool {
        matches!(self.life.hold, None | Some(Hold::For { ns: 0, .. }))
    }

    /// Arranges for a connection to be opened: at once, or when its turn in the ramp-up comes.
    pub(super) fn want(&mut self, slot: SlotId, now_ns: u64) {
        if self.plans_starts() {
            // The schedule opens it.
            return;
        }
        let ramp_ns = self.life.ramp_up_ns;
        if !self.has_devices() || ramp_ns == 0 {
            return self.pool.queue(slot);
        }
        self.pool.postpone(slot);
        self.alarms.set(slot, now_ns + self.turn_of(slot, ramp_ns));
    }

    /// When the turn of a slot comes, if all slots take theirs evenly over `span_ns`: slots of
    /// different workers do not coincide.
    fn turn_of(&self, slot: SlotId, span_ns: u64) -> u64 {
        let place = self.shard.number(u64::from(slot));
        let rounds = u64::from(self.pool.wanted().max(1)) * self.shard.round();
        let places = rounds / self.shard.places().len() as u64;
        (u128::from(span_ns) * u128::from(place.min(places)) / u128::from(places)) as u64
    }

    /// A connection was opened: sets how many requests it may send, and until when it is held.
    pub(super) fn begin_life(&mut self, slot: SlotId, at_ns: u64) {
        let sends_left = match self.life.requests {
            None => ENDLESS,
            Some((least, most)) => {
                let span = u64::from(most - least) + 1;
                least + (self.pool.draw() % span) as u32
            }
        };
        let state = self.pool.state(slot);
        (state.sends_left, state.is_ending, state.peer_ended) = (sends_left, false, false);
        if let Some(Hold::For { ns: ns @ 1.., jitter }) = self.life.hold {
            let draw = self.pool.draw() >> 11;
            let share = draw as f64 / (1u64 << 53) as f64;
            let held_ns = ns as f64 * (1.0 + jitter * (2.0 * share - 1.0));
            self.alarms.set(slot, at_ns + held_ns.max(0.0) as u64);
        }
        if matches!(self.stage, Stage::Drain { .. }) && self.has_devices() {
            self.end_by(slot, self.retire_ns(slot));
        }
    }

    /// Counts sent requests against the limit of a connection.
    #[inline]
    pub(super) fn spend(&mut self, slot: SlotId, count: u32) {
        let state = self.pool.state(slot);
        if state.sends_left != ENDLESS {
            state.sends_left -= count;
        }
    }

    /// Whether a connection has nothing more to do and nothing in flight.
    #[inline]
    pub(super) fn is_used_up(&self, slot: SlotId) -> bool {
        let state = self.pool.state_of(slot);
        let is_spent = state.sends_left == 0 && self.ends_with_requests();
        (is_spent || state.is_ending) && self.flights.on(slot) == 0
    }

    /// Handles alarms that are due: devices start, or have held their connection long enough.
    pub(super) fn ring(&mut self, now_ns: u64) {
        while let Some(slot) = self.alarms.pop_due(now_ns) {
            self.has_worked = true;
            match self.pool.link(slot) {
                Link::Waiting => self.pool.queue(slot),
                Link::Open if S::FILLS => {
                    self.count_in_flight(now_ns);
                    self.top_up(slot, now_ns);
                }
                Link::Open => {
                    self.pool.state(slot).is_ending = true;
                    if self.flights.on(slot) == 0 {
                        self.abandon(slot, Cause::Planned, now_ns);
                    }
                }
                _ => {}
            }
        }
    }

    /// The window is over: devices end one after another and do not start again.
    pub(super) fn begin_retirement(&mut self) {
        if !self.has_devices() {
            return;
        }
        for slot in 0..self.pool.wanted() {
            match self.pool.link(slot) {
                Link::Open => self.end_by(slot, self.retire_ns(slot)),
                Link::Waiting => {
                    self.alarms.clear(slot);
                    self.pool.forget(slot);
                }
                _ => {}
            }
        }
    }

    /// Cuts the ramp-down of a stopped level: all devices end at once. Returns how long it would
    /// have been, nanoseconds.
    pub(super) fn cut_ramp_down(&mut self) -> u64 {
        std::mem::take(&mut self.life.ramp_down_ns)
    }

    /// The latest instant at which a device ends in the ramp-down.
    fn retire_ns(&self, slot: SlotId) -> u64 {
        self.window_end_ns + self.turn_of(slot, self.life.ramp_down_ns)
    }

    fn end_by(&mut self, slot: SlotId, end_ns: u64) {
        if self.alarms.of(slot).is_none_or(|due_ns| due_ns > end_ns) {
            self.alarms.set(slot, end_ns);
        }
    }

    /// Whether a closed connection is opened again.
    pub(super) fn is_renewed(&self, slot: SlotId, now_ns: u64) -> bool {
        let is_draining =
            matches!(self.stage, Stage::Drain { .. } | Stage::Closing | Stage::Report);
        if self.has_devices() {
            return self.is_level_on && !(is_draining && now_ns >= self.retire_ns(slot));
        }
        if self.plans_users() && !is_draining {
            return self.stage != Stage::Idle && self.users.is_here(slot);
        }
        if S::FILLS && is_draining {
            return matches!(self.stage, Stage::Drain { .. }) && self.users.goes_on(slot);
        }
        // It would have nothing to send.
        !(is_draining && self.life.requests.is_some())
    }

    /// Whether devices still hold connections that the ramp-down will close, or will start new ones
    /// before its end, or attempts to connect are still under way. An attempt that hangs is not
    /// waited for as long as a request: it has none.
    pub(super) fn is_winding_down(&self, now_ns: u64) -> bool {
        let ends_ns = self.window_end_ns.saturating_add(self.life.ramp_down_ns);
        if now_ns > ends_ns.saturating_add(OPENING_GRACE_NS) {
            return false;
        }
        let Connections { open, opening, .. } = self.pool.counts();
        let has_more = || open + opening > 0 || self.pool.has_queued();
        self.life.requests.is_some() && opening > 0 || self.has_devices() && has_more()
    }
}
