//! One worker: its connections, its part of the load, its loop.
//!
//! For: sending what is due, and handling what happens on open connections.
//! In: orders of the control plane, events of the driver. Out: requests for the driver, and ticks.
//! Never: how bytes move ([`crate::driver`]), what they mean ([`wire::session`]), or how often a
//! connection is retried ([`crate::pool`]).
//!
//! A turn: take orders, do what is due by the clock, let the driver submit and wait, then handle
//! each event. [`Stage`] says whether requests may leave, and the ledger which account they and
//! their responses belong to. In closed loop a response frees a slot for the next request; in open
//! loop the clock decides ([`open`]).
//!
//! Hot: runs for every request.

mod level;
mod life;
mod open;
mod responses;
mod retry;
mod starts;
mod users;
mod writes;

use self::level::{Stage, Window};
use self::open::{Margin, Release};
use self::starts::{StartEnd, Starts};
use self::users::{Ends, Users};
use self::writes::Writes;
use crate::alarms::Alarms;
use crate::checks::Checks;
use crate::driver::{Ahead, Driver, Event, Sending, SlotId};
use crate::flight::{Batch, Flights};
use crate::job::{Job, Order, Pace};
use crate::ledger::{Epoch, Ledger};
use crate::messages::Messages;
use crate::places::Places;
use crate::pool::{Found, Link, OPENING_MAX, Pool};
use crate::recorder::Recorder;
use crate::samples::Samples;
use crate::shard::Shard;
use crate::slowest::Slowest;
use crate::start;
use crate::tally::{self, Tally};
use model::dist::Dist;
use model::load::{Life, Retry};
use model::tick::ErrorClass;
use rtrb::Consumer;
use std::sync::Arc;
use wire::http1::Http1;
use wire::session::{RequestId, ResponseOrder, Session};
use wire::tape::Tape;

/// Length of a tick, nanoseconds.
pub const TICK_NS: u64 = 100_000_000;
/// Longest wait under load, so that orders are seen, nanoseconds.
const WAIT_MAX_NS: u64 = 20_000_000;
/// How long to wait for responses after a window that was stopped, nanoseconds: a user who stops it
/// does not want to wait for the timeout.
const STOPPED_DRAIN_NS: u64 = 2_000_000_000;
/// Longest wait without load, nanoseconds.
const IDLE_WAIT_MAX_NS: u64 = 2_000_000;

/// Why a connection is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// In order: the response said so, or the peer closed while nothing was due.
    Order,
    /// Its time or its requests are used up.
    Planned,
    /// The peer ended a connection on which it had answered, before any byte of the next response.
    Crossed,
    /// The peer sent bytes that no request asked for.
    Unsolicited,
    /// The requests in flight are lost, and this is the class of their failure.
    Failure(ErrorClass),
}

/// What a worker keeps for each connection.
#[derive(Debug)]
struct Requester<S> {
    /// The kernel has not taken the whole send yet.
    sending: bool,
    /// The part that this send belongs to.
    sent_in: Epoch,
    /// Responses to requests of this send that the kernel had not taken whole, and good ones among
    /// them.
    early: (u32, u32),
    /// It is closed as soon as nothing is in flight.
    is_ending: bool,
    /// The peer closed the connection.
    peer_ended: bool,
    /// Requests that may still be sent on this connection.
    sends_left: u32,
    /// Tape position of the next request.
    position: u32,
    /// Responses on this connection.
    responses: u64,
    /// When bytes last came, nanoseconds.
    heard_ns: u64,
    /// Measured requests answered in this level, with any status.
    served: u64,
    /// When a scan first saw it send a request that has its response already, and `responses` then.
    blocked: Option<(u64, u64)>,
    /// The protocol on it.
    session: S,
}

impl<S: Session> Requester<S> {
    /// For a slot that was never open; its requests start at this tape position.
    fn new(position: u32, depth: u32, window: Option<u32>) -> Self {
        Self {
            sending: false,
            sent_in: 0,
            early: (0, 0),
            is_ending: false,
            peer_ended: false,
            sends_left: 0,
            position,
            responses: 0,
            heard_ns: 0,
            served: 0,
            blocked: None,
            session: S::for_depth(depth).with_window(window),
        }
    }
}

/// See the module. It moves bytes with driver `D` and speaks `S`.
pub struct Worker<D, S: Session = Http1> {
    driver: D,
    tape: Arc<Tape>,
    memories: Vec<S::Memory>,
    checks: Checks,
    messages: Messages,
    /// What sessions write.
    writes: Writes,
    /// Users of a flow.
    users: Users,
    tally: Tally,
    samples: Samples,
    slowest: Slowest,
    /// One target and nothing to check: the fast path for responses.
    is_plain: bool,
    pool: Pool<Requester<S>>,
    flights: Flights,
    recorder: Recorder,
    orders: Consumer<Order>,
    timeout_ns: u64,
    retry: Retry,
    shard: Shard,

    load: u32,
    /// Whether a level was ordered and is not over.
    is_level_on: bool,
    wanted_max: u32,
    depth: u32,
    pace: Pace,
    life: Life,
    alarms: Alarms,
    /// The current schedule; `None` in closed loop.
    release: Option<Release>,
    places: Places,
    /// Starts of devices on the schedule.
    starts: Starts,
    margin: Margin,
    stage: Stage,
    window: Option<Window>,
    /// When the last measured window stopped sending.
    window_end_ns: u64,
    /// How many of the requests that were due by then it was still to send, at most.
    unsent_max: u64,
    /// Sends under way of which a request has its response already.
    early_sends: u32,
    /// The start of the last window, for requests whose connections are not held open.
    silent_since_ns: Option<u64>,
    /// The window has a budget, so it lasts until the last response.
    ends_with_responses: bool,
    ledger: Ledger,

    turn_begin_ns: u64,
    /// What was due before the next wait took time.
    has_worked: bool,
    /// Measured requests of this tick that were sent before the current turn.
    sent_before_turn: u64,
    /// The events of this turn may have waited, unseen, since this instant.
    unseen_since_ns: u64,
    /// Requests in flight were added up to this instant.
    counted_until_ns: u64,
    next_tick_ns: u64,
    quit: bool,
}

impl<D: Driver, S: Session> Worker<D, S> {
    /// Takes all memory a worker with `slots` connections will need.
    pub fn new(
        job: &Job,
        slots: u32,
        index: u32,
        driver: D,
        recorder: Recorder,
        orders: Consumer<Order>,
    ) -> Self {
        let now_ns = driver.now_ns();
        let shard = Shard::of(&job.share, index);
        let places = S::places(job.depth_max);
        Self {
            driver,
            tape: Arc::clone(&job.tape),
            memories: (0..tally::reported(&job.tape)).map(|_| S::Memory::default()).collect(),
            checks: Checks::new(&job.tape, slots, (places, S::ORDER)),
            messages: Messages::new(&job.tape, slots, places),
            writes: Writes::new(if S::WRITES { slots } else { 0 }),
            users: Users::new(job.program.as_ref(), slots, &shard, job.seed),
            tally: Tally::new(&job.tape),
            samples: Samples::new(),
            slowest: Slowest::new(),
            is_plain: tally::reported(&job.tape) == 1
                && !(S::FILLS || job.tape.has_rules() || job.tape.has_streams()),
            pool: Pool::new(job, (slots, &shard), scan_ns(job), now_ns, |slot| {
                let number = shard.number(u64::from(slot)) as u32;
                Requester::new(start::position(job, number), job.depth_max, job.manner.window)
            }),
            flights: Flights::new(slots, places, S::ORDER),
            recorder,
            orders,
            timeout_ns: job.timeout_ns,
            retry: job.manner.retry_unprocessed,
            shard,
            load: 0,
            is_level_on: false,
            wanted_max: 0,
            depth: 1,
            pace: Pace::Closed,
            life: Life::default(),
            alarms: Alarms::new(slots),
            release: None,
            places: Places::new(slots),
            starts: Starts::new(slots),
            margin: Margin::new(),
            stage: Stage::Idle,
            window: None,
            window_end_ns: 0,
            unsent_max: 0,
            early_sends: 0,
            silent_since_ns: None,
            ends_with_responses: false,
            ledger: Ledger::default(),
            turn_begin_ns: now_ns,
            has_worked: false,
            sent_before_turn: 0,
            unseen_since_ns: now_ns,
            counted_until_ns: now_ns,
            next_tick_ns: now_ns + TICK_NS,
            quit: false,
        }
    }

    /// The driver, so that a caller can ask it what it saw.
    pub fn driver(&self) -> &D {
        &self.driver
    }

    /// Runs until ordered to quit.
    pub fn run(&mut self) {
        self.begin();
        while self.turn() {}
    }

    /// Starts the first interval.
    pub(crate) fn begin(&mut self) {
        self.recorder.begin(self.driver.now_ns(), self.driver.cpu_ns());
    }

    /// One turn of the loop; false when it was the last.
    #[inline]
    pub fn turn(&mut self) -> bool {
        let Some((now_ns, until_ns)) = self.begin_turn() else { return false };
        self.end_turn(now_ns, until_ns);
        true
    }

    /// The part of a turn before the wait: returns when that starts and until when to wait, or
    /// `None` when it was the last turn.
    #[inline]
    pub(crate) fn begin_turn(&mut self) -> Option<(u64, u64)> {
        let now_ns = self.driver.now_ns();
        let turn_ns = now_ns - self.turn_begin_ns;
        let tick = &mut *self.recorder.tick;
        tick.accounting.turns += 1;
        tick.accounting.turn_sum_ns += turn_ns;
        tick.accounting.turn_max_ns = tick.accounting.turn_max_ns.max(turn_ns);
        let sent = match self.release {
            None => tick.measured.sent.saturating_sub(self.sent_before_turn),
            Some(_) => 0,
        };
        self.take_orders(now_ns);
        let (now_ns, until_ns) = self.do_what_is_due(now_ns);
        if now_ns - self.turn_begin_ns > turn_ns {
            self.count_work(now_ns, turn_ns);
        }
        if now_ns - self.turn_begin_ns > open::STALL_NS {
            self.slowest.pause(self.turn_begin_ns, now_ns);
            if sent > 0 {
                self.sent_late(now_ns, sent);
            }
        }
        if self.quit {
            // Submits what the closes queued.
            self.driver.wait(now_ns, now_ns);
            return None;
        }
        Some((now_ns, until_ns))
    }

    /// The rest of a turn: the wait, and the events that happened meanwhile.
    #[inline]
    pub(crate) fn end_turn(&mut self, now_ns: u64, until_ns: u64) {
        let woken_ns = self.driver.wait(now_ns, until_ns);
        let since_ns = open::unseen_since(self.turn_begin_ns, (now_ns, until_ns), woken_ns);
        self.unseen_since_ns = self.driver.left_from_before(since_ns);
        self.turn_begin_ns = woken_ns;
        if woken_ns.saturating_sub(self.unseen_since_ns) > open::STALL_NS {
            self.slowest.pause(self.unseen_since_ns, woken_ns);
        }
        self.sent_before_turn = self.recorder.tick.measured.sent;
        let Some(first) = self.driver.next() else {
            return self.account_for_wait(now_ns, until_ns, self.turn_begin_ns);
        };
        let before = self.recorder.tick.histograms[Dist::Latency].count();
        let mut last_ns = first.at_ns();
        self.handle(first);
        while let Some(event) = self.driver.next() {
            last_ns = event.at_ns();
            self.handle(event);
        }
        let stalled_ns =
            open::stalled(self.unseen_since_ns, (now_ns, until_ns), (woken_ns, last_ns));
        if stalled_ns > 0 {
            let tick = &mut self.recorder.tick;
            let responses = tick.histograms[Dist::Latency].count() - before;
            tick.histograms[Dist::Unseen].record_n(stalled_ns, responses);
        }
    }

    /// What was due before the wait took until now. Nothing that arrives was seen meanwhile, so it
    /// belongs to the turn, of which `counted_ns` are counted.
    fn count_work(&mut self, now_ns: u64, counted_ns: u64) {
        let turn_ns = now_ns - self.turn_begin_ns;
        let accounting = &mut self.recorder.tick.accounting;
        accounting.turn_sum_ns += turn_ns - counted_ns;
        accounting.turn_max_ns = accounting.turn_max_ns.max(turn_ns);
    }

    /// The last turn was so long that it counts as a stall: in closed loop, requests sent in it
    /// carry the stamp of its start, and may have left as late as its end.
    #[cold]
    fn sent_late(&mut self, now_ns: u64, sent: u64) {
        self.recorder.tick.histograms[Dist::GeneratorDelay]
            .record_n(now_ns - self.turn_begin_ns, sent);
    }

    fn take_orders(&mut self, now_ns: u64) {
        while let Ok(order) = self.orders.pop() {
            match order {
                Order::Connect { load, connections, connections_max, depth, pace, life } => {
                    // What was until now is not of this level.
                    self.hand_over(now_ns);
                    (self.load, self.depth, self.pace) = (load, depth, pace);
                    self.life = life;
                    self.wanted_max = connections_max.max(connections);
                    self.begin_level(connections, now_ns);
                }
                Order::Warm => self.begin_warmup(now_ns),
                Order::Measure { begin_ns, end_ns, budget, drain_ns, skip_until_ns } => {
                    self.ends_with_responses = budget.is_some();
                    let budget = budget.unwrap_or(u64::MAX);
                    self.window =
                        Some(Window { begin_ns, end_ns, budget, drain_ns, skip_until_ns });
                }
                Order::Stop => self.stop(now_ns),
                Order::Quit => {
                    self.pool.all().for_each(|slot| self.driver.close(slot));
                    self.quit = true;
                }
            }
        }
    }

    /// Changes stages, sends ticks and scans; returns when that was done, and when one of these is
    /// due next.
    fn do_what_is_due(&mut self, now_ns: u64) -> (u64, u64) {
        // Requests that are due before the stage ends belong to it.
        let released_ns = self.release_due(now_ns);
        self.change_stage(now_ns);
        if now_ns >= self.next_tick_ns {
            self.hand_over(now_ns);
            self.next_tick_ns += TICK_NS * ((now_ns - self.next_tick_ns) / TICK_NS + 1);
        }
        if now_ns >= self.pool.next_scan_ns() {
            self.scan(now_ns);
        }
        self.ring(now_ns);
        // Devices may connect all at once, and users who are due: that is what is measured.
        let opening_max =
            if self.plans_starts() || self.has_devices() { u64::MAX } else { OPENING_MAX };
        while let Some(slot) = self.pool.next_queued(opening_max) {
            // Many may be opened in one turn, and each takes a while.
            self.open(slot, self.driver.now_ns());
        }
        let is_idle = self.stage == Stage::Idle;
        let wait_max_ns = if is_idle { IDLE_WAIT_MAX_NS } else { WAIT_MAX_NS };
        let stage_ends_ns = match (self.stage, self.window) {
            (Stage::Drain { until_ns }, _) => until_ns,
            (Stage::Closing, _) => now_ns,
            (Stage::Measure, Some(window)) => window.end_ns,
            (_, Some(window)) => window.begin_ns,
            (_, None) => u64::MAX,
        };
        let due_ns = self.next_tick_ns.min(self.pool.next_scan_ns()).min(stage_ends_ns);
        let due_ns = due_ns.min(self.alarms.next_ns());
        let until_ns = self.sleep_until(now_ns, due_ns.min(now_ns + wait_max_ns));
        // The clock is read again only after what may have taken long: not after each request.
        let done_ns = match std::mem::take(&mut self.has_worked) {
            true => self.driver.now_ns(),
            false => released_ns,
        };
        (done_ns, until_ns)
    }

    /// Adds up requests in flight until now, for Little's law.
    #[inline]
    fn count_in_flight(&mut self, now_ns: u64) {
        let passed_ns = now_ns.saturating_sub(self.counted_until_ns);
        let until_answered = self.ends_with_responses && matches!(self.stage, Stage::Drain { .. });
        if self.stage == Stage::Measure || until_answered {
            let in_flight_ns = u128::from(self.ledger.in_flight()) * u128::from(passed_ns);
            self.recorder.tick.accounting.in_flight_ns += in_flight_ns;
            if S::WRITES {
                self.writes.count(passed_ns, &mut self.recorder.tick.streams);
            }
        }
        self.counted_until_ns += passed_ns;
    }

    #[inline]
    fn handle(&mut self, event: Event) {
        match event {
            Event::Received { slot, at_ns, buffer } => {
                self.count_in_flight(at_ns);
                self.received(slot, at_ns, buffer);
            }
            Event::Sent { slot, at_ns } => {
                self.count_in_flight(at_ns);
                self.pool.state(slot).sending = false;
                self.rest_is_sent(slot);
                self.top_up(slot, at_ns);
            }
            Event::Opened { slot, at_ns } => {
                self.count_in_flight(at_ns);
                match S::WRITES && !S::FILLS {
                    true => self.greet(slot, at_ns),
                    false => self.opened(slot, at_ns),
                }
            }
            Event::OpenFailed { slot, class, at_ns } => self.open_failed(slot, class, at_ns),
            Event::Ended { slot, end, at_ns } => {
                self.count_in_flight(at_ns);
                self.ended(slot, end, at_ns);
            }
        }
    }

    /// A connection may have got room: uses it at once, or when a request is due.
    #[inline]
    fn top_up(&mut self, slot: SlotId, now_ns: u64) {
        if S::FILLS {
            self.send_batch(slot, now_ns);
        } else if self.release.is_some() && !self.has_devices() {
            self.offer(slot, now_ns);
        } else {
            // Once, unless requests are so large that one batch does not fill the room.
            while self.send_batch(slot, now_ns) == Some(Sending::Done) {}
        }
        if S::WRITES {
            self.flush(slot);
        }
    }

    /// Sends one batch; `None` when there is no room, no budget or no need.
    #[inline]
    fn send_batch(&mut self, slot: SlotId, now_ns: u64) -> Option<Sending> {
        let is_wanted = slot < self.pool.wanted();
        let one = self.pool.slot(slot);
        let state = &one.state;
        if one.link() != Link::Open || state.sending || !is_wanted || state.is_ending {
            return None;
        }
        if S::FILLS {
            let is_free = self.flights.on(slot) == 0 && !state.session.is_leaving();
            let is_made = is_free && self.prepare(slot, now_ns);
            return is_made.then(|| self.send_step(slot, now_ns));
        }
        let may_hold = self.depth.min(state.session.capacity());
        let room = may_hold.saturating_sub(self.flights.on(slot)).min(state.sends_left);
        let budget = match (self.stage, &mut self.window) {
            (Stage::Warmup, _) => u64::MAX,
            (Stage::Measure, Some(window)) => window.budget,
            _ => 0,
        };
        // Where responses come in any order, each request is its own batch.
        let batch_max = match S::ORDER {
            ResponseOrder::OfRequests => self.tape.batch_max(),
            ResponseOrder::Any => 1,
        };
        let count = u64::from(room.min(batch_max)).min(budget);
        if count == 0 {
            return None;
        }
        Some(self.send(slot, count as u32, now_ns, now_ns))
    }

    /// Sends requests on a connection that has room for them.
    #[inline]
    fn send(&mut self, slot: SlotId, count: u32, planned_ns: u64, sent_ns: u64) -> Sending {
        let state = self.pool.state(slot);
        let span = match S::FILLS {
            true => 0..self.users.request.len(),
            false => state.session.span(&self.tape, state.position, count),
        };
        if S::FILLS {
            state.position = self.users.position(slot);
        }
        let (tick, bytes) = (&mut *self.recorder.tick, span.len() as u64);
        let epoch = match (self.stage, &mut self.window) {
            (Stage::Measure, Some(window)) => {
                window.budget -= u64::from(count);
                if self.tally.is_by_target() {
                    self.tally.send(state.position, count, span.len());
                }
                self.ledger.send_measured(tick, u64::from(count), bytes)
            }
            _ => self.ledger.send_warmup(tick, u64::from(count), bytes),
        };
        let position = state.position;
        state.position = self.tape.advance(position, count);
        self.spend(slot, count);
        let batch = Batch { sent_ns, planned_ns, position, count, epoch };
        if S::WRITES {
            return self.write(slot, span, batch);
        }
        let ahead = match self.flights.on(slot) {
            0 => Ahead::Nothing,
            _ => Ahead::Unanswered,
        };
        self.flights.push(slot, batch);
        let sending = self.driver.send(slot, span, ahead);
        if sending == Sending::Underway {
            let state = self.pool.state(slot);
            (state.sending, state.sent_in, state.early) = (true, epoch, (0, 0));
        }
        sending
    }

    fn open(&mut self, slot: SlotId, now_ns: u64) {
        self.has_worked = true;
        if self.is_renewed(slot, now_ns) || self.starts.is_due(slot) {
            self.begin_start(slot, now_ns);
            if S::FILLS {
                self.users.come(slot, self.stage, now_ns, &mut self.recorder.tick);
                self.users.ask(slot, now_ns);
            }
            self.pool.open(slot, &mut self.driver, &mut self.recorder.tick, now_ns);
        } else {
            self.pool.forget(slot);
        }
    }

    // Cold: once for each connection.
    fn opened(&mut self, slot: SlotId, at_ns: u64) {
        let greets = S::WRITES && !S::FILLS;
        let connected_ns = match greets {
            true => self.writes.connected_ns(slot),
            false => self.driver.connected_ns(slot, at_ns),
        };
        let before = self.pool.counts().reopened;
        self.pool.opened(slot, connected_ns, &mut self.recorder.tick);
        if greets {
            let took_ns = self.writes.opened(slot, at_ns);
            self.recorder.tick.histograms[Dist::Settings].record_n(took_ns, 1);
            if self.pool.counts().reopened > before {
                self.writes.replaces(slot);
            }
        }
        self.end_start(slot, StartEnd::Connected(connected_ns));
        let state = self.pool.state(slot);
        (state.responses, state.blocked) = (0, None);
        if !greets {
            state.session.begin(&mut Vec::new());
            state.sending = false;
            self.checks.restart(slot, RequestId::Oldest);
        }
        self.begin_life(slot, at_ns);
        if S::FILLS {
            self.writes.renew(slot);
            self.users.link(slot, at_ns);
            return self.follow(slot, at_ns);
        }
        self.send_again(slot);
        self.top_up(slot, at_ns);
    }

    fn open_failed(&mut self, slot: SlotId, class: ErrorClass, at_ns: u64) {
        let tick = &mut self.recorder.tick;
        tick.measured.errors.add(class, 1);
        self.pool.failed(slot, tick);
        self.end_start(slot, StartEnd::Failed);
        self.abandon(slot, Cause::Failure(class), at_ns);
    }

    /// Books requests that failed without a response.
    fn fail(&mut self, batch: Batch, class: ErrorClass, at_ns: u64) {
        if self.tally.is_by_target() && self.ledger.is_window(batch.epoch) {
            self.tally.fail(&batch, class);
        }
        let (tick, count) = (&mut *self.recorder.tick, u64::from(batch.count));
        self.ledger.fail(tick, at_ns, batch.epoch, class, count);
    }

    /// Closes a connection, fails what was in flight on it, and arranges for its successor.
    fn abandon(&mut self, slot: SlotId, cause: Cause, now_ns: u64) {
        self.leave_unsent(slot);
        if cause == Cause::Unsolicited {
            self.pool.counts_mut().unsolicited += 1;
        }
        self.places.remove(slot);
        self.samples.leave(slot);
        if S::WRITES {
            self.writes.leave(slot);
        }
        if self.flights.on(slot) > 0 {
            self.lose(slot, cause, now_ns);
        }
        if S::FILLS {
            let is_in_order = matches!(cause, Cause::Order | Cause::Planned);
            let ends = if is_in_order { Ends::InOrder } else { Ends::Broken };
            self.users.leave(slot, (self.stage, ends), now_ns, &mut self.recorder.tick);
        }
        self.alarms.clear(slot);
        let was_open = self.pool.close(slot, &mut self.driver) == Link::Open;
        let Requester { peer_ended, responses, .. } = *self.pool.state(slot);
        let served = if was_open { responses } else { 0 };
        if was_open {
            let turnover = &mut self.recorder.tick.turnover;
            turnover.crossed.responses_most = turnover.crossed.responses_most.max(responses);
            turnover.closed_by_us += u64::from(!peer_ended);
            turnover.closed_by_peer += u64::from(peer_ended);
        }
        if slot >= self.pool.wanted() {
            return;
        }
        if self.plans_starts() {
            // A user goes on with another connection; else the slot is free.
            return match self.plans_users() && self.is_renewed(slot, now_ns) {
                true => self.pool.queue(slot),
                false => self.offer(slot, now_ns),
            };
        }
        let is_in_order = matches!(cause, Cause::Order | Cause::Crossed);
        if cause == Cause::Planned || served > 0 && is_in_order {
            self.pool.was_fruitful(slot);
            if self.is_renewed(slot, now_ns) {
                self.pool.queue(slot);
            }
            return;
        }
        self.pool.back_off(slot, served, now_ns);
    }

    /// Since when an open connection waits for the server: for its oldest response, or if none is
    /// due, for the server to take the rest of a request that it has answered. Until then it can
    /// send nothing.
    fn waits_since(&mut self, slot: SlotId, now_ns: u64) -> u64 {
        if let Some(batch) = self.flights.oldest(slot) {
            return batch.sent_ns;
        }
        let state = self.pool.state(slot);
        if !state.sending {
            return now_ns;
        }
        match state.blocked {
            Some((since_ns, responses)) if responses == state.responses => since_ns,
            _ => {
                state.blocked = Some((now_ns, state.responses));
                now_ns
            }
        }
    }

    /// Looks for requests and attempts that took too long, and for retries that are due.
    fn scan(&mut self, now_ns: u64) {
        self.has_worked = true;
        let begin_ns = self.driver.now_ns();
        for slot in self.pool.all() {
            match self.pool.look(slot, now_ns) {
                Found::Nothing => {}
                Found::Overdue => self.open_failed(slot, ErrorClass::Connect, now_ns),
                Found::Open if S::WRITES && self.flights.on(slot) > 0 => {
                    self.cancel_overdue(slot, now_ns);
                }
                Found::Open => {
                    let since_ns = self.waits_since(slot, now_ns);
                    if now_ns.saturating_sub(since_ns) > self.timeout_ns {
                        self.note_stalled(slot, now_ns);
                        self.abandon(slot, Cause::Failure(ErrorClass::Timeout), now_ns);
                    }
                }
            }
        }
        self.pool.end_scan(begin_ns, self.driver.now_ns());
        self.end_if_stuck(now_ns);
    }
}

/// How often to look for requests and attempts that took too long, nanoseconds.
fn scan_ns(job: &Job) -> u64 {
    let shortest_ns = job.timeout_ns.min(job.connect_timeout_ns);
    (shortest_ns / 20).clamp(1_000_000, TICK_NS)
}

#[cfg(test)]
mod tests;
