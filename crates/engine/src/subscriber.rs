//! A worker whose connections listen: each sends one request, and its response never ends.
//!
//! For: holding subscriptions, and subscribing again when a stream ended.
//! In: orders of the control plane, events of the driver. Out: ticks, and with the last tick of a
//! level what each subscription received.
//! Never: a deadline for a response, or how often a connection is retried ([`crate::pool`]).
//!
//! The loop is that of [`crate::worker`] without requests: it sends only the subscription, waits
//! only for the next event, and has no deadlines after the connect. Events are counted where they
//! arrive; what they say about delivery is kept as a few numbers per connection and sent with the
//! last tick of a level.
//!
//! A session that writes sends its subscription when the peer has greeted ([`writes`]). Each
//! subscriber has a connection of its own, over HTTP/2 too.
//!
//! When a stream ends, the worker subscribes again after a pause. The numbers of the stream
//! continue where they were, so events that were sent meanwhile count as missing.
//!
//! Hot: runs for every event.

mod books;
mod writes;

use self::books::Books;
use self::writes::Greeting;
use crate::driver::{Ahead, Buffer, Driver, Event, SlotId};
use crate::job::{Job, Order};
use crate::pool::{Duty, Found, Link, OPENING_MAX, Pool};
use crate::recorder::Recorder;
use crate::shard::Shard;
use crate::worker::TICK_NS;
use model::dist::Dist;
use model::fanout::Subscription;
use model::tick::{ErrorClass, Phase};
use rtrb::Consumer;
use std::sync::Arc;
use wire::response::Outcome;
use wire::session::Session;
use wire::sse::Events;
use wire::tape::Tape;

/// Longest wait, so that orders are seen, nanoseconds.
const WAIT_MAX_NS: u64 = 2_000_000;

/// The state of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Before a window, or after the level.
    Rest,
    Measure {
        end_ns: u64,
        drain_ns: u64,
    },
    Drain {
        until_ns: u64,
    },
    /// Over, but the last tick is not yet sent.
    Report,
}

/// What a subscriber keeps for each connection.
#[derive(Debug)]
struct Stream<S> {
    session: S,
    /// The current response is a stream of events.
    is_stream: bool,
    /// A stream was counted as accepted in this level.
    is_counted: bool,
    /// Highest number seen since the stream was first accepted in this level, or in the level from
    /// which it is kept.
    last: Option<u64>,
    seen: Subscription,
    /// Where the session writes: how far its subscription is.
    greeting: Greeting,
}

/// See the module. It moves bytes with driver `D` and speaks `S`.
pub struct Subscriber<D, S: Session = Events> {
    driver: D,
    tape: Arc<Tape>,
    memory: S::Memory,
    pool: Pool<Stream<S>>,
    recorder: Recorder,
    orders: Consumer<Order>,
    /// Highest number of each stream in the window, known from its end on.
    highest: Vec<u64>,
    /// What the clock that stamps events shows when ours shows zero; `None` if that is not known.
    stamps_ns: Option<i64>,

    load: u32,
    stage: Stage,
    /// Start of a window that was ordered and has not started.
    window: Option<(u64, Stage)>,
    /// Whether a level was ordered and is not over.
    is_level_on: bool,
    is_warm: bool,
    turn_begin_ns: u64,
    /// The time of this turn is counted until here.
    counted_until_ns: u64,
    /// What was due before the next wait took time.
    has_worked: bool,
    next_tick_ns: u64,
    quit: bool,
}

impl<D: Driver, S: Session> Subscriber<D, S> {
    /// Takes all memory a worker with `slots` connections will need. `stamps_ns` is what the clock
    /// that stamps events shows when ours shows zero.
    pub fn new(
        job: &Job,
        slots: u32,
        index: u32,
        driver: D,
        (recorder, orders): (Recorder, Consumer<Order>),
        stamps_ns: Option<i64>,
    ) -> Self {
        let now_ns = driver.now_ns();
        let shard = Shard::of(&job.share, index);
        // Streams are assigned in turn over all workers.
        let stream =
            |slot: SlotId| (shard.number(u64::from(slot)) % u64::from(job.tape.period())) as u32;
        let fresh = |slot| Stream {
            session: S::for_depth(1).with_window(job.manner.window),
            is_stream: false,
            is_counted: false,
            last: None,
            seen: Subscription { stream: stream(slot), ..Subscription::default() },
            greeting: Greeting::default(),
        };
        Self {
            driver,
            tape: Arc::clone(&job.tape),
            memory: S::Memory::default(),
            pool: Pool::new(job, (slots, &shard), TICK_NS, now_ns, fresh),
            recorder,
            orders,
            highest: vec![0; job.tape.period() as usize],
            stamps_ns,
            load: 0,
            stage: Stage::Rest,
            window: None,
            is_level_on: false,
            is_warm: false,
            turn_begin_ns: now_ns,
            counted_until_ns: now_ns,
            has_worked: false,
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
        self.recorder.begin(self.driver.now_ns(), self.driver.cpu_ns());
        while self.turn() {}
    }

    /// One turn of the loop; false when it was the last.
    pub fn turn(&mut self) -> bool {
        let now_ns = self.driver.now_ns();
        self.recorder.tick.accounting.turns += 1;
        let mut until_ns = self.attend(now_ns);
        let now_ns = self.count_work(now_ns);
        if self.quit {
            // Submits what the closes queued.
            self.driver.wait(now_ns, now_ns);
            return false;
        }
        let before_ns = self.turn_begin_ns;
        self.turn_begin_ns = self.driver.wait(now_ns, until_ns);
        self.counted_until_ns = self.turn_begin_ns;
        let since_ns = self.driver.left_from_before(before_ns);
        if since_ns < before_ns {
            self.note_longest(self.turn_begin_ns - since_ns);
        }
        while let Some(event) = self.driver.next() {
            // Events count by when they arrive, so what is due within a turn is done there.
            let (at_ns, slot, mut is_current) = (event.at_ns(), event.slot(), true);
            if at_ns >= until_ns && !self.quit {
                let before = self.pool.identity(slot);
                until_ns = self.attend(at_ns);
                is_current = self.pool.identity(slot) == before;
            }
            if self.quit {
                break;
            }
            if is_current {
                self.handle(event);
            } else if let Event::Received { buffer, .. } = event {
                // The connection was given up just now. Another one may be under way in its slot.
                self.driver.release(buffer);
            }
        }
        true
    }

    /// What was due may have taken long, and nothing that arrives was seen meanwhile: it belongs to
    /// the turn that started before it. Returns when it was done.
    fn count_work(&mut self, now_ns: u64) -> u64 {
        if !std::mem::take(&mut self.has_worked) {
            return now_ns;
        }
        let done_ns = self.driver.now_ns();
        self.recorder.tick.accounting.turn_sum_ns += done_ns.saturating_sub(now_ns);
        self.note_longest(done_ns.saturating_sub(self.turn_begin_ns));
        done_ns
    }

    /// An arrival can be stamped this late.
    fn note_longest(&mut self, turn_ns: u64) {
        let accounting = &mut self.recorder.tick.accounting;
        accounting.turn_max_ns = accounting.turn_max_ns.max(turn_ns);
    }

    /// Takes orders and does what is due, between two turns or in the middle of one; returns when
    /// something is due next.
    fn attend(&mut self, now_ns: u64) -> u64 {
        let more_ns = now_ns.saturating_sub(self.counted_until_ns);
        self.counted_until_ns += more_ns;
        self.recorder.tick.accounting.turn_sum_ns += more_ns;
        self.note_longest(now_ns.saturating_sub(self.turn_begin_ns));
        self.take_orders(now_ns);
        self.do_what_is_due(now_ns)
    }

    fn take_orders(&mut self, now_ns: u64) {
        while let Ok(order) = self.orders.pop() {
            match order {
                Order::Connect { load, connections, .. } => {
                    // What was until now is not of this level.
                    self.hand_over(now_ns);
                    self.load = load;
                    self.begin_level(connections, now_ns);
                }
                Order::Warm => self.is_warm = true,
                Order::Measure { begin_ns, end_ns, drain_ns, .. } => {
                    self.window = Some((begin_ns, Stage::Measure { end_ns, drain_ns }));
                }
                Order::Stop => self.stop(now_ns),
                Order::Quit => {
                    self.pool.all().for_each(|slot| self.driver.close(slot));
                    self.quit = true;
                }
            }
        }
    }

    /// Changes stages, sends ticks, opens connections and scans; returns when one of these is due
    /// next.
    fn do_what_is_due(&mut self, now_ns: u64) -> u64 {
        self.change_stage(now_ns);
        if now_ns >= self.next_tick_ns {
            self.hand_over(now_ns);
            self.next_tick_ns += TICK_NS * ((now_ns - self.next_tick_ns) / TICK_NS + 1);
        }
        if now_ns >= self.pool.next_scan_ns() {
            self.scan(now_ns);
        }
        while let Some(slot) = self.pool.next_queued(OPENING_MAX) {
            self.has_worked = true;
            let now_ns = self.driver.now_ns();
            self.pool.open(slot, &mut self.driver, &mut self.recorder.tick, now_ns);
        }
        let stage_ends_ns = match (self.stage, self.window) {
            (Stage::Measure { end_ns, .. }, _) => end_ns,
            (Stage::Drain { until_ns }, _) => until_ns,
            (_, Some((begin_ns, _))) => begin_ns,
            (_, None) => u64::MAX,
        };
        let due_ns = self.next_tick_ns.min(self.pool.next_scan_ns()).min(stage_ends_ns);
        due_ns.min(now_ns + WAIT_MAX_NS)
    }

    fn change_stage(&mut self, now_ns: u64) {
        match (self.stage, self.window) {
            (Stage::Rest, Some((begin_ns, measure))) if now_ns >= begin_ns => {
                self.hand_over(now_ns);
                self.window = None;
                self.begin_window(measure);
                // Ticks of all workers end at the same instants of the window.
                self.next_tick_ns = begin_ns + TICK_NS;
            }
            (Stage::Measure { end_ns, drain_ns }, _) if now_ns >= end_ns => {
                self.begin_drain(now_ns, drain_ns);
            }
            (Stage::Drain { until_ns }, _) if now_ns >= until_ns => self.finish(now_ns),
            (Stage::Report, _) => self.report(now_ns),
            _ => {}
        }
    }

    fn begin_level(&mut self, connections: u32, now_ns: u64) {
        self.pool.begin_level(connections);
        (self.is_level_on, self.is_warm) = (true, false);
        for slot in self.pool.all() {
            let duty = self.pool.duty(slot);
            let stream = self.pool.state(slot);
            stream.is_counted = duty == Duty::Kept && stream.is_stream;
            if !stream.is_counted {
                // Until it has a stream in this level, it misses nothing of it.
                (stream.last, stream.seen.is_accepted) = (None, false);
            }
            match duty {
                Duty::Begin => self.pool.queue(slot),
                Duty::Kept => {
                    let is_counted = stream.is_counted;
                    self.pool.counts_mut().served += u64::from(is_counted);
                }
                Duty::End => {
                    self.pool.close(slot, &mut self.driver);
                }
                Duty::Nothing => {}
            }
        }
        // So that it is known at once which connections are kept.
        self.hand_over(now_ns);
    }

    fn begin_window(&mut self, measure: Stage) {
        for slot in self.pool.all() {
            let stream = self.pool.state(slot);
            let seen = &mut stream.seen;
            let (stream_number, is_accepted) = (seen.stream, seen.is_accepted);
            let before = stream.last;
            *seen = Subscription { stream: stream_number, is_accepted, before, ..<_>::default() };
        }
        self.stage = measure;
    }

    fn begin_drain(&mut self, now_ns: u64, drain_ns: u64) {
        self.hand_over(now_ns);
        self.highest.fill(0);
        for slot in self.pool.all() {
            let seen = &self.pool.state(slot).seen;
            let highest = &mut self.highest[seen.stream as usize];
            *highest = seen.highest.unwrap_or(0).max(*highest);
        }
        self.stage = Stage::Drain { until_ns: now_ns + drain_ns };
    }

    fn stop(&mut self, now_ns: u64) {
        match self.stage {
            Stage::Measure { drain_ns, .. } => {
                self.begin_drain(now_ns, drain_ns);
            }
            Stage::Rest if self.is_level_on => {
                self.window = None;
                self.finish(now_ns);
            }
            // After the level, requests of the writers may still be in flight.
            Stage::Rest | Stage::Drain { .. } | Stage::Report => {}
        }
    }

    // Cold: once per level, when its window and its drain are over.
    fn finish(&mut self, now_ns: u64) {
        let tick = &mut self.recorder.tick;
        for stream in self.pool.wanted_states() {
            tick.histograms[Dist::PerConnection].record_n(stream.seen.received, 1);
            tick.subscriptions.push(stream.seen);
        }
        tick.last = true;
        self.is_level_on = false;
        self.stage = Stage::Report;
        self.report(now_ns);
    }

    fn report(&mut self, now_ns: u64) {
        if self.hand_over(now_ns) {
            self.stage = Stage::Rest;
        }
    }

    fn hand_over(&mut self, now_ns: u64) -> bool {
        self.has_worked = true;
        let phase = match self.stage {
            Stage::Rest if self.is_warm => Phase::Warmup,
            Stage::Rest => Phase::Idle,
            Stage::Measure { .. } => Phase::Measure,
            Stage::Drain { .. } | Stage::Report => Phase::Drain,
        };
        self.recorder.tick.connections = self.pool.counts();
        self.driver.tally(&mut self.recorder.tick);
        self.recorder.hand_over(now_ns, self.driver.cpu_ns(), phase, self.load)
    }

    #[inline]
    fn handle(&mut self, event: Event) {
        match event {
            Event::Received { slot, at_ns, buffer } => self.received(slot, at_ns, buffer),
            Event::Sent { slot, .. } if S::WRITES => self.sent(slot),
            Event::Sent { .. } => {}
            Event::Opened { slot, at_ns } if S::WRITES => self.greet(slot, at_ns),
            Event::Opened { slot, at_ns } => self.opened(slot, at_ns),
            Event::OpenFailed { slot, class, at_ns } => {
                self.open_failed(slot, class, at_ns);
            }
            Event::Ended { slot, end, at_ns } => {
                let class = match end {
                    crate::driver::End::Reset => ErrorClass::Reset,
                    _ => ErrorClass::Closed,
                };
                self.give_up(slot, class, at_ns);
            }
        }
    }

    #[inline]
    fn received(&mut self, slot: SlotId, at_ns: u64, buffer: Buffer) {
        let link = self.pool.link(slot);
        if link != Link::Open && !(S::WRITES && link == Link::Opening) {
            // The connection was given up after the bytes arrived.
            return self.driver.release(buffer);
        }
        let tick = &mut *self.recorder.tick;
        tick.accounting.socket_bytes += u64::from(buffer.length);
        let mut input = self.driver.bytes(buffer);
        let Stream { session, is_stream, is_counted, last, seen, .. } = self.pool.state(slot);
        let expect = self.tape.expect(seen.stream);
        let arrival_ns = self.stamps_ns.map(|zero_ns| at_ns.saturating_add_signed(zero_ns));
        let (stage, highest) = (self.stage, self.highest[seen.stream as usize]);
        let mut books =
            Books { tick, is_stream: &mut *is_stream, last, seen, stage, highest, arrival_ns };
        let memory = &mut self.memory;
        let received = match S::WRITES {
            true => writes::hear(session, &mut input, expect, (memory, &mut books)),
            false => session.receive(&mut input, expect, memory, &mut books),
        };
        if *is_stream && !std::mem::replace(is_counted, true) {
            seen.is_accepted = true;
            self.pool.counts_mut().served += 1;
        }
        let class = match received {
            Ok(None) => None,
            Ok(Some(Outcome::Response(_))) => Some(ErrorClass::Closed),
            Ok(Some(Outcome::Refused)) => Some(ErrorClass::Refused),
            Ok(Some(Outcome::Abandoned)) => Some(ErrorClass::Aborted),
            Err(_) => Some(ErrorClass::Parse),
        };
        self.driver.release(buffer);
        if S::WRITES {
            self.go_on(slot, class, at_ns);
        }
        if let Some(class) = class {
            self.give_up(slot, class, at_ns);
        }
    }

    // Cold: once for each connection.
    fn opened(&mut self, slot: SlotId, at_ns: u64) {
        let connected_ns = self.driver.connected_ns(slot, at_ns);
        self.pool.opened(slot, connected_ns, &mut self.recorder.tick);
        let stream = self.pool.state(slot);
        stream.session.begin(&mut Vec::new());
        stream.is_stream = false;
        let span = self.tape.span(stream.seen.stream, 1);
        self.driver.send(slot, span, Ahead::Nothing);
    }

    fn open_failed(&mut self, slot: SlotId, class: ErrorClass, at_ns: u64) {
        self.pool.failed(slot, &mut self.recorder.tick);
        self.lose(slot, class, at_ns);
    }

    /// A connection is no longer usable. Before the peer has greeted, that is a failed attempt.
    fn give_up(&mut self, slot: SlotId, class: ErrorClass, now_ns: u64) {
        match self.pool.link(slot) {
            Link::Opening => self.open_failed(slot, ErrorClass::Connect, now_ns),
            _ => self.lose(slot, class, now_ns),
        }
    }

    /// A connection is no longer usable; it is retried after a pause.
    fn lose(&mut self, slot: SlotId, class: ErrorClass, now_ns: u64) {
        let tick = &mut self.recorder.tick;
        tick.measured.errors.add(class, 1);
        let was_stream = std::mem::take(&mut self.pool.state(slot).is_stream);
        let is_measured = matches!(self.stage, Stage::Measure { .. });
        tick.events.lost += u64::from(was_stream && is_measured);
        self.pool.close(slot, &mut self.driver);
        if slot < self.pool.wanted() {
            self.pool.back_off(slot, u64::from(was_stream), now_ns);
        }
    }

    /// Looks for attempts that took too long, and for retries that are due.
    fn scan(&mut self, now_ns: u64) {
        self.has_worked = true;
        let begin_ns = self.driver.now_ns();
        for slot in self.pool.all() {
            if self.pool.look(slot, now_ns) == Found::Overdue {
                self.open_failed(slot, ErrorClass::Connect, now_ns);
            }
        }
        self.pool.end_scan(begin_ns, self.driver.now_ns());
    }
}

#[cfg(test)]
mod tests;
