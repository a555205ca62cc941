//! The stages of a level: idle, warm-up, measured window, drain, report.
//!
//! For: the order in which a level goes through its stages, and what each change books.
//! In: orders of the control plane, and the clock. Out: the stage that says whether requests leave,
//! accounts opened and closed, and ticks sent.
//! Never: bytes, or the life of a single connection.

use super::responses::{Who, slow};
use super::{Cause, STOPPED_DRAIN_NS, TICK_NS, Worker};
use crate::driver::Driver;
use crate::job::Pace;
use crate::ledger::Timing;
use crate::pool::{Duty, Link};
use model::dist::Dist;
use model::slow::SlowEnd;
use model::tick::{ErrorClass, Phase};
use wire::session::Session;

/// The stage of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Idle,
    Warmup,
    Measure,
    Drain {
        until_ns: u64,
    },
    /// Over, but unsent requests are not yet counted.
    Closing,
    /// Over, but the last tick is not yet sent.
    Report,
}

/// A measured window as ordered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub begin_ns: u64,
    pub end_ns: u64,
    /// Requests that may still be sent.
    pub budget: u64,
    pub drain_ns: u64,
    /// What was due before is not sent.
    pub skip_until_ns: u64,
}

/// Whether all unsent requests are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counting {
    Done,
    GoesOn,
}

impl<D: Driver, S: Session> Worker<D, S> {
    pub(super) fn change_stage(&mut self, now_ns: u64) {
        self.has_worked |= self.stage == Stage::Closing;
        match (self.stage, self.window) {
            (Stage::Idle | Stage::Warmup, Some(window)) if now_ns >= window.begin_ns => {
                self.begin_window(window, now_ns);
            }
            (Stage::Measure, Some(window)) if now_ns >= window.end_ns || window.budget == 0 => {
                self.begin_drain(window, now_ns);
            }
            (Stage::Drain { until_ns }, _)
                if now_ns >= until_ns
                    || self.ledger.window_in_flight() == 0
                        && !(S::FILLS && self.users.active() > 0)
                        && self.early_sends == 0
                        && !self.is_winding_down(now_ns)
                        && !self.waits_in_silence() =>
            {
                self.stage = Stage::Closing;
                self.change_stage(now_ns);
            }
            (Stage::Closing, _) if self.count_unsent(self.window_end_ns) == Counting::Done => {
                self.finish(now_ns);
            }
            (Stage::Report, _) => self.report(now_ns),
            _ => {}
        }
    }

    pub(super) fn begin_level(&mut self, connections: u32, now_ns: u64) {
        assert!(self.wanted_max <= self.pool.all().end);
        self.pool.begin_level(connections);
        self.is_level_on = true;
        self.samples.begin();
        self.ledger.set_timing(match self.pace {
            Pace::Closed => Timing::FromSend,
            // With devices, it is the connections that are planned.
            Pace::Open { .. } if self.has_devices() => Timing::FromSend,
            Pace::Open { .. } => Timing::FromPlan,
        });
        if self.plans_users() {
            self.users.forget();
        }
        for slot in self.pool.all() {
            self.pool.state(slot).served = 0;
            if self.plans_users() && self.pool.link(slot) == Link::Open {
                self.abandon(slot, Cause::Planned, now_ns);
            }
            match self.pool.duty(slot) {
                Duty::Begin => self.want(slot, now_ns),
                Duty::End => self.abandon(slot, Cause::Failure(ErrorClass::Closed), now_ns),
                Duty::Kept | Duty::Nothing => {}
            }
        }
        // So that it is known at once which connections are kept.
        self.hand_over(now_ns);
    }

    pub(super) fn begin_warmup(&mut self, now_ns: u64) {
        self.ledger.open_warmup();
        self.stage = Stage::Warmup;
        self.begin_schedule(now_ns);
        self.start_all(now_ns);
    }

    fn begin_window(&mut self, window: Window, now_ns: u64) {
        self.count_in_flight(now_ns);
        self.hand_over(now_ns);
        if S::FILLS {
            self.ledger.open_rest();
        }
        self.ledger.open_window();
        self.tally.begin();
        self.slowest.begin();
        let was_idle = self.stage == Stage::Idle;
        self.stage = Stage::Measure;
        self.begin_schedule(window.begin_ns);
        self.skip_late(window);
        // Ticks of all workers end at the same instants of the window.
        self.next_tick_ns = window.begin_ns + TICK_NS;
        if was_idle {
            self.start_all(now_ns);
        }
    }

    /// Fills every open connection. The loop is long, so each send gets its own stamp.
    fn start_all(&mut self, now_ns: u64) {
        self.has_worked = true;
        self.pool.look_by(now_ns);
        for slot in 0..self.pool.wanted() {
            let now_ns = self.driver.now_ns();
            self.count_in_flight(now_ns);
            self.top_up(slot, now_ns);
        }
    }

    fn begin_drain(&mut self, window: Window, now_ns: u64) {
        self.count_in_flight(now_ns);
        self.hand_over(now_ns);
        self.window = None;
        self.silent_since_ns = (!self.has_devices()).then_some(window.begin_ns);
        self.window_end_ns = window.end_ns.min(now_ns);
        self.unsent_max = window.budget;
        self.stage = Stage::Drain { until_ns: now_ns + window.drain_ns };
        self.begin_retirement();
        self.change_stage(now_ns);
    }

    /// Nothing came in the window, and requests from before it still wait: they had all places, so
    /// none of the window shows whether the server is slow or has stopped. Only their fate does.
    fn waits_in_silence(&self) -> bool {
        self.ledger.in_flight() > 0
            && self.silent_since_ns.is_some_and(|since_ns| {
                self.pool.wanted_states().all(|state| state.heard_ns < since_ns)
            })
    }

    /// Ends a window whose budget can never be sent, because nothing accepts a connection any more.
    /// What is left of the budget counts as unsent.
    pub(super) fn end_if_stuck(&mut self, now_ns: u64) {
        let is_hopeless = self.pool.is_hopeless(now_ns);
        // Devices may have no connection for a while.
        let is_counting = self.ends_with_responses && !self.has_devices();
        if let (true, true, Stage::Measure, Some(mut window)) =
            (is_hopeless, is_counting, self.stage, self.window)
        {
            let (tick, rest) = (&mut self.recorder.tick, std::mem::take(&mut window.budget));
            tick.measured.unsent += rest;
            if self.release.is_some() {
                // Some of them were not due yet.
                tick.histograms[Dist::AtLeast].record_n(0, rest);
            }
            self.begin_drain(window, now_ns);
        }
    }

    pub(super) fn stop(&mut self, now_ns: u64) {
        match (self.stage, self.window) {
            (Stage::Measure, Some(mut window)) => {
                let drain_ns = window.drain_ns.saturating_sub(self.cut_ramp_down());
                window.drain_ns = drain_ns.min(STOPPED_DRAIN_NS);
                self.begin_drain(window, now_ns);
            }
            // Cuts the ramp-down short; requests that devices have in flight may still be answered.
            (Stage::Drain { .. }, _) if self.life.ramp_down_ns > 0 => {
                self.cut_ramp_down();
                self.stage = Stage::Drain { until_ns: now_ns + STOPPED_DRAIN_NS };
                self.begin_retirement();
            }
            (Stage::Drain { .. }, _) => {
                self.stage = Stage::Drain { until_ns: now_ns };
                self.change_stage(now_ns);
            }
            // A worker whose level is over has reported that, while others still await responses.
            (Stage::Warmup | Stage::Idle, _) if self.is_level_on => {
                self.window = None;
                self.finish(now_ns);
            }
            _ => {}
        }
    }

    /// Closes the accounts of a level: requests without a response are now unanswered, and later
    /// responses are not booked.
    fn finish(&mut self, now_ns: u64) {
        self.end_schedule();
        self.close_starts();
        if S::FILLS {
            self.users.close(&mut self.recorder.tick);
        }
        for slot in self.pool.all() {
            // What a lost connection did not take was counted then.
            if self.pool.link(slot) == Link::Open {
                self.count_untaken(slot);
            }
            let tick = &mut self.recorder.tick;
            let batches =
                self.flights.batches(slot).filter(|batch| self.ledger.is_window(batch.epoch));
            for batch in batches {
                let waited_ns = now_ns.saturating_sub(batch.planned_ns);
                tick.histograms[Dist::AtLeast].record_n(waited_ns, u64::from(batch.count));
                let place = (slot, self.pool.state_of(slot).responses);
                let who = Who { place, tape: &self.tape, shard: &self.shard };
                self.slowest.keep_all(slow(who, batch, now_ns, SlowEnd::Unanswered), batch.count);
            }
        }
        let tick = &mut self.recorder.tick;
        self.slowest.hand_over(&mut tick.slowest);
        self.ledger.close(tick, now_ns);
        self.forget_lost();
        let tick = &mut self.recorder.tick;
        for state in self.pool.wanted_states() {
            let most = &mut tick.turnover.crossed.responses_most;
            *most = state.responses.max(*most);
        }
        self.tally.close(&mut tick.targets);
        for state in self.pool.wanted_states() {
            tick.histograms[Dist::PerConnection].record_n(state.served, 1);
        }
        tick.last = true;
        self.is_level_on = false;
        self.stage = Stage::Report;
        self.report(now_ns);
    }

    fn report(&mut self, now_ns: u64) {
        if self.hand_over(now_ns) {
            self.stage = Stage::Idle;
        }
    }

    pub(super) fn hand_over(&mut self, now_ns: u64) -> bool {
        self.has_worked = true;
        let phase = match self.stage {
            Stage::Idle => Phase::Idle,
            Stage::Warmup => Phase::Warmup,
            Stage::Measure => Phase::Measure,
            Stage::Drain { .. } | Stage::Closing | Stage::Report => Phase::Drain,
        };
        self.count_in_flight(now_ns);
        self.recorder.tick.connections = self.pool.counts();
        self.driver.tally(&mut self.recorder.tick);
        let is_over = self.recorder.hand_over(now_ns, self.driver.cpu_ns(), phase, self.load);
        if is_over {
            self.tally.reclaim(&mut self.recorder.tick.targets);
        }
        is_over
    }
}
