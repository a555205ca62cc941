//! Connections that start on a schedule: the devices of an open loop.
//!
//! For: what happens to a connection that was due, from its planned instant on.
//! In: devices that are due ([`super::open`] releases them), and the driver's reports of attempts.
//! Out: slots to be opened, and the account of the window: planned = begun + unsent, and begun =
//! established + failed + pending.
//! Never: requests, or how long a connection is held ([`super::life`]).
//!
//! A device is free when its connection is closed. It does not retry after a failure: the next
//! connection is due when the schedule says so.

use super::Worker;
use crate::driver::{Driver, SlotId};
use crate::job::Pace;
use crate::pool::Link;
use model::curve::{Curve, Leg};
use model::dist::Dist;
use wire::session::Session;

/// What a start belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// No start is under way.
    Nothing,
    /// The ramp-up.
    RampUp,
    /// The measured window.
    Window,
}

/// The start under way on one slot.
#[derive(Debug, Clone, Copy)]
struct Start {
    part: Part,
    planned_ns: u64,
    /// Since when it was due and a device was free.
    since_ns: u64,
    begun_ns: u64,
}

const NO_START: Start = Start { part: Part::Nothing, planned_ns: 0, since_ns: 0, begun_ns: 0 };

/// The starts under way, by slot.
#[derive(Debug)]
pub(super) struct Starts(Vec<Start>);

impl Starts {
    /// Takes memory for `slots` devices.
    pub fn new(slots: u32) -> Self {
        Self(vec![NO_START; slots as usize])
    }

    /// Whether a connection of the window is to be opened.
    pub fn is_due(&self, slot: SlotId) -> bool {
        self.0[slot as usize].part == Part::Window
    }
}

/// How a start ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartEnd {
    /// Open since this instant.
    Connected(u64),
    /// The attempt failed.
    Failed,
}

impl<D: Driver, S: Session> Worker<D, S> {
    /// Whether the schedule says when connections start, of devices or of users, and not when
    /// requests leave.
    #[inline]
    pub(super) fn plans_starts(&self) -> bool {
        (S::FILLS || self.life.hold.is_some()) && matches!(self.pace, Pace::Open { .. })
    }

    /// The rates of the ramp-up: rising to that of the window.
    pub(super) fn rising(&self, rate: f64) -> Curve {
        match self.life.ramp_up_ns {
            0 => Curve::constant(rate),
            duration_ns => Curve::of_legs(vec![Leg { duration_ns, from: 0.0, to: rate }]),
        }
    }

    /// A device is free when its connection is closed; a user who stays has asked for another one.
    pub(super) fn find_device(&mut self, slot: SlotId) {
        if slot < self.pool.wanted() && self.pool.link(slot) == Link::Closed {
            self.places.put(slot, crate::places::Room::Idle);
        }
    }

    /// Starts a due connection on this device. It is opened before the next wait.
    pub(super) fn start(&mut self, slot: SlotId, planned_ns: u64, since_ns: u64) {
        if S::FILLS {
            return self.admit(slot, (planned_ns, since_ns));
        }
        let is_measured = self.stage == super::Stage::Measure;
        let part = if is_measured { Part::Window } else { Part::RampUp };
        self.starts.0[slot as usize] = Start { part, planned_ns, since_ns, begun_ns: planned_ns };
        if is_measured {
            let starts = &mut self.recorder.tick.starts;
            starts.begun += 1;
            starts.waited += u64::from(since_ns > planned_ns);
        }
        self.pool.queue(slot);
    }

    /// The attempt starts now.
    pub(super) fn begin_start(&mut self, slot: SlotId, now_ns: u64) {
        let start = &mut self.starts.0[slot as usize];
        start.begun_ns = now_ns;
        if start.part == Part::Window {
            let tick = &mut self.recorder.tick;
            tick.histograms[Dist::SendDelay].record_n(now_ns.saturating_sub(start.planned_ns), 1);
            tick.histograms[Dist::GeneratorDelay]
                .record_n(now_ns.saturating_sub(start.since_ns), 1);
        }
    }

    /// The attempt is over.
    pub(super) fn end_start(&mut self, slot: SlotId, end: StartEnd) {
        let Start { part, planned_ns, begun_ns, .. } =
            std::mem::replace(&mut self.starts.0[slot as usize], NO_START);
        if part != Part::Window {
            return;
        }
        let tick = &mut self.recorder.tick;
        match end {
            StartEnd::Connected(at_ns) => {
                tick.starts.established += 1;
                tick.histograms[Dist::PlannedConnect].record_n(at_ns.saturating_sub(planned_ns), 1);
                tick.histograms[Dist::Service].record_n(at_ns.saturating_sub(begun_ns), 1);
            }
            StartEnd::Failed => tick.starts.failed += 1,
        }
    }

    /// Ends the level: attempts of the window that are still under way count as pending.
    pub(super) fn close_starts(&mut self) {
        for start in &mut self.starts.0 {
            let Start { part, .. } = std::mem::replace(start, NO_START);
            self.recorder.tick.starts.pending += u64::from(part == Part::Window);
        }
    }
}
