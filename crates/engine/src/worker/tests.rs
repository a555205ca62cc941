//! A protocol whose responses come in any order, several per read and between frames that no
//! request asked for: each still lands on its own request.

use super::{Stage, Window, Worker};
use crate::driver::sim::{Faults, Sim};
use crate::driver::{Ahead, Buffer, Driver, End, Event, Sending, SlotId};
use crate::job::{Job, Order, Pace};
use crate::recorder::road;
use model::curve::Curve;
use model::dist::Dist;
use model::load::{Life, Request, Spacing};
use model::tick::{ErrorClass, Phase, Tick};
use rtrb::RingBuffer;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use wire::http1::Http1;
use wire::response::{Expect, ProtocolError, Response};
use wire::session::{self, Reply, RequestId, Session, Witness};
use wire::tape::Tape;

const CAPACITY: u32 = 3;
const DEPTH: u32 = 5;
const SLOTS: u32 = 4;
const BUDGET: u64 = 500;
const BEGIN_NS: u64 = 1_000_000;
/// Not a response: a frame of the protocol itself.
const FRAME: u8 = 0;
const RESPONSE: u8 = 1;

/// A byte that says what follows; after that of a response comes the number of its request.
#[derive(Debug, Default)]
struct Framed;

impl Session for Framed {
    const ALPN: &'static [u8] = b"framed";
    const ORDER: session::ResponseOrder = session::ResponseOrder::Any;
    type Memory = ();

    fn capacity(&self) -> u32 {
        CAPACITY
    }

    fn addressee(&mut self, input: &mut &[u8]) -> Result<Option<RequestId>, ProtocolError> {
        while let Some((&FRAME, rest)) = input.split_first() {
            *input = rest;
        }
        Ok(input.get(1).map(|number| RequestId::Number(u32::from(*number))))
    }

    fn receive<W: Witness>(
        &mut self,
        input: &mut &[u8],
        _expect: Expect,
        _memory: &mut (),
        _witness: &mut W,
    ) -> Result<Option<Response>, ProtocolError> {
        *input = &input[2..];
        Ok(Some(Response { status: 200, bytes: 2, reusable: true }))
    }

    fn end(&mut self) -> Result<Option<Response>, ProtocolError> {
        Ok(None)
    }

    fn respond(request: RequestId, _reply: &Reply<'_>, output: &mut Vec<u8>) {
        let RequestId::Number(number) = request else { return };
        output.extend_from_slice(&[FRAME, RESPONSE, number as u8]);
    }
}

const REPLY: Reply<'_> =
    Reply { status: 200, reason: "", fields: &[], ending: session::Ending::Length, body: &[] };

#[derive(Default)]
struct Line {
    sent: u32,
    /// Requests without a response, by number, with the time of their send.
    waiting: Vec<(u32, u64)>,
}

/// A server that answers some of the waiting requests at each turn, in random order.
struct Shuffler {
    now_ns: u64,
    random: u64,
    tape: Arc<Tape>,
    lines: Vec<Line>,
    due: VecDeque<Event>,
    bytes: Vec<Vec<u8>>,
    /// How long each response took, nanoseconds.
    took_ns: Vec<u64>,
    most: usize,
}

impl Shuffler {
    fn below(&mut self, end: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as usize % end
    }
}

impl Driver for Shuffler {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn open(&mut self, slot: SlotId, _route: u32) {
        self.due.push_back(Event::Opened { slot, at_ns: self.now_ns });
    }

    fn send(&mut self, slot: SlotId, span: Range<usize>, _ahead: Ahead) -> Sending {
        let line = &mut self.lines[slot as usize];
        for _ in 0..self.tape.count(&span) {
            line.waiting.push((line.sent, self.now_ns));
            line.sent += 1;
        }
        self.most = self.most.max(line.waiting.len());
        Sending::Done
    }

    fn close(&mut self, _slot: SlotId) {}

    fn wait(&mut self, _now_ns: u64, _until_ns: u64) -> u64 {
        self.now_ns += 1_000;
        let at_ns = self.now_ns;
        for slot in 0..self.lines.len() {
            let mut bytes = vec![FRAME];
            let answered = self.below(self.lines[slot].waiting.len() + 1);
            for _ in 0..answered {
                let waiting = self.lines[slot].waiting.len();
                let nth = self.below(waiting);
                let (number, sent_ns) = self.lines[slot].waiting.swap_remove(nth);
                self.took_ns.push(at_ns - sent_ns);
                Framed::respond(RequestId::Number(number), &REPLY, &mut bytes);
            }
            let buffer = Buffer { id: slot as u16, length: bytes.len() as u32 };
            self.bytes[slot] = bytes;
            if answered > 0 {
                self.due.push_back(Event::Received { slot: slot as SlotId, at_ns, buffer });
            }
        }
        at_ns
    }

    fn next(&mut self) -> Option<Event> {
        self.due.pop_front()
    }

    fn bytes(&self, buffer: Buffer) -> &[u8] {
        &self.bytes[usize::from(buffer.id)]
    }

    fn release(&mut self, _buffer: Buffer) {}
}

fn job() -> Job {
    let request =
        Request { method: "GET".to_string(), path: "/".to_string(), ..Request::default() };
    Job {
        routes: vec![],
        connections_max: SLOTS,
        depth_max: DEPTH,
        timeout_ns: 1_000_000_000,
        connect_timeout_ns: 1_000_000_000,
        ..Job::for_tests(Tape::new(&[request], DEPTH).unwrap())
    }
}

fn shuffler(job: &Job) -> Shuffler {
    Shuffler {
        now_ns: 0,
        random: 7,
        tape: Arc::clone(&job.tape),
        lines: (0..SLOTS).map(|_| Line::default()).collect(),
        due: VecDeque::new(),
        bytes: vec![Vec::new(); SLOTS as usize],
        took_ns: Vec::new(),
        most: 0,
    }
}

/// The orders of a level.
fn level() -> [Order; 2] {
    let (pace, life) = (Pace::Closed, Life::default());
    let (connections, connections_max) = (SLOTS, SLOTS);
    let connect =
        Order::Connect { load: 1, connections, connections_max, depth: DEPTH, pace, life };
    let (begin_ns, end_ns, budget) = (BEGIN_NS, u64::MAX, Some(BUDGET));
    let measure =
        Order::Measure { begin_ns, end_ns, budget, drain_ns: 1_000_000_000, skip_until_ns: 0 };
    [connect, measure]
}

#[test]
fn responses_in_any_order_land_on_their_own_requests() {
    let job = job();
    let driver = shuffler(&job);
    let ((recorder, mut feed), (mut orders, orders_out)) = (road(0, 1), RingBuffer::new(8));
    let mut worker = Worker::<_, Framed>::new(&job, SLOTS, 0, driver, recorder, orders_out);
    level().into_iter().for_each(|order| orders.push(order).unwrap());
    let (mut latency, mut completed) = (model::histogram::Histogram::new(), 0);
    let mut is_over = false;
    while !is_over {
        worker.turn();
        feed.drain(|tick| {
            latency.merge(&tick.histograms[Dist::Latency]);
            completed += tick.measured.completed;
            assert_eq!((tick.measured.failed, tick.accounting.stray_bytes), (0, 0));
            is_over |= tick.last;
        });
    }
    let driver = worker.driver();
    assert_eq!((completed, driver.took_ns.len() as u64), (BUDGET, BUDGET));
    assert_eq!(driver.most, CAPACITY as usize, "the peer's limit is what is used");
    let mut truth = model::histogram::Histogram::new();
    driver.took_ns.iter().for_each(|took_ns| truth.record_n(*took_ns, 1));
    assert_eq!(latency.summary(0), truth.summary(0), "each has the latency of its own request");
}

#[test]
fn a_stop_does_not_end_a_level_again_that_is_over() {
    let job = job();
    let driver = shuffler(&job);
    let ((recorder, mut feed), (mut orders, orders_out)) = (road(0, 1), RingBuffer::new(8));
    let mut worker = Worker::<_, Framed>::new(&job, SLOTS, 0, driver, recorder, orders_out);
    level().into_iter().for_each(|order| orders.push(order).unwrap());
    let mut ends = 0;
    while ends == 0 {
        worker.turn();
        feed.drain(|tick| ends += u32::from(tick.last));
    }
    // Another worker still awaits responses, and the level is stopped.
    orders.push(Order::Stop).unwrap();
    for _ in 0..10 {
        worker.turn();
        feed.drain(|tick| ends += u32::from(tick.last));
    }
    assert_eq!(ends, 1);
}

/// Connections may end between two levels, which opens them again; others are kept.
#[test]
fn the_first_tick_of_a_level_counts_its_own_connections() {
    let job = job();
    let driver = shuffler(&job);
    let ((recorder, mut feed), (mut orders, orders_out)) = (road(0, 1), RingBuffer::new(8));
    let mut worker = Worker::<_, Framed>::new(&job, SLOTS, 0, driver, recorder, orders_out);
    level().into_iter().for_each(|order| orders.push(order).unwrap());
    let mut is_over = false;
    while !is_over {
        worker.turn();
        feed.drain(|tick| is_over |= tick.last);
    }
    let at_ns = worker.driver.now_ns;
    let resets = (0..SLOTS).map(|slot| Event::Ended { slot, end: End::Reset, at_ns });
    worker.driver.due.extend(resets);
    worker.turn();
    feed.drain(|_| {});
    assert_eq!(worker.pool.counts().open, 0);
    let all = u64::from(SLOTS);
    for (number, expected) in [(2, [(1u32, all), (2, 0)]), (3, [(2, all), (3, all)])] {
        let [mut connect, _] = level();
        if let Order::Connect { load, .. } = &mut connect {
            *load = number;
        }
        orders.push(connect).unwrap();
        worker.turn();
        let mut seen = Vec::new();
        feed.drain(|tick| seen.push((tick.load, tick.connections.opened)));
        assert_eq!(seen, expected);
    }
}

/// A number of requests to send, and no server that accepts a connection any more.
#[test]
fn a_budget_that_can_never_be_sent_ends_and_counts_as_unsent() {
    let faults = Faults { refused: 1000, ..Faults::default() };
    let job = job();
    let driver = Sim::new(&job, SLOTS, faults);
    let ((recorder, mut feed), (mut orders, orders_out)) = (road(0, 1), RingBuffer::new(8));
    let mut worker = Worker::<_, Http1>::new(&job, SLOTS, 0, driver, recorder, orders_out);
    let begin_ns = worker.driver().now_ns();
    let [connect, _] = level();
    orders.push(connect).unwrap();
    let (end_ns, budget, drain_ns) = (u64::MAX, Some(BUDGET), 1_000_000_000);
    orders.push(Order::Measure { begin_ns, end_ns, budget, drain_ns, skip_until_ns: 0 }).unwrap();
    let (mut sent, mut unsent, mut is_over) = (0, 0, false);
    while !is_over && worker.driver().now_ns() < begin_ns + 60_000_000_000 {
        worker.turn();
        feed.drain(|tick| {
            sent += tick.measured.sent;
            unsent += tick.measured.unsent;
            is_over |= tick.last;
        });
    }
    assert_eq!((is_over, sent, unsent), (true, 0, BUDGET));
    let took_ns = worker.driver().now_ns() - begin_ns;
    assert!(took_ns > job.connect_timeout_ns, "an attempt might still have succeeded: {took_ns}");
}

/// The order for a window came half a second after the window had started.
#[test]
fn what_was_due_before_a_late_order_is_unsent_and_never_leaves() {
    const MS: u64 = 1_000_000;
    for (end_ms, budget, expected) in
        [(1_000, None, (500, 500)), (300, None, (0, 300)), (u64::MAX, Some(600), (100, 500))]
    {
        let job = job();
        let driver = Sim::new(&job, SLOTS, Faults::default());
        let ((recorder, mut feed), (mut orders, orders_out)) = (road(0, 1), RingBuffer::new(8));
        let mut worker = Worker::<_, Http1>::new(&job, SLOTS, 0, driver, recorder, orders_out);
        let idle_until_ns = worker.driver().now_ns() + 500 * MS;
        while worker.driver().now_ns() < idle_until_ns {
            worker.turn();
        }
        let came_ns = worker.driver().now_ns();
        let [mut connect, _] = level();
        if let Order::Connect { pace, .. } = &mut connect {
            let curve = Arc::new(Curve::constant(1_000.0));
            *pace = Pace::Open { curve, arrivals: Spacing::Fixed, seed: 1 };
        }
        let begin_ns = came_ns - 500 * MS;
        let end_ns = begin_ns.saturating_add(end_ms.saturating_mul(MS));
        let (drain_ns, skip_until_ns) = (1_000 * MS, came_ns);
        orders.push(connect).unwrap();
        orders.push(Order::Measure { begin_ns, end_ns, budget, drain_ns, skip_until_ns }).unwrap();
        let (mut sum, mut is_over) = (Tick::default(), false);
        while !is_over && worker.driver().now_ns() < came_ns + 9_000 * MS {
            worker.turn();
            feed.drain(|tick| {
                sum.measured += &tick.measured;
                sum.histograms[Dist::SendDelay].merge(&tick.histograms[Dist::SendDelay]);
                sum.histograms[Dist::AtLeast].merge(&tick.histograms[Dist::AtLeast]);
                is_over |= tick.last;
            });
        }
        assert!(is_over);
        // The first one was due at the start of the window, and has waited until its end.
        let (count, most_ns) = (
            sum.histograms[Dist::AtLeast].count(),
            sum.histograms[Dist::AtLeast].quantile_ns(1.0).unwrap_or(0),
        );
        assert_eq!(count, sum.measured.unsent);
        let waited_ms = if end_ms == u64::MAX { 600 } else { end_ms };
        assert!(most_ns.abs_diff(waited_ms * MS) < 10 * MS, "{most_ns} ns of {waited_ms} ms");
        assert_eq!((sum.measured.sent, sum.measured.unsent), expected);
        // Connections take a while to open.
        assert!(sum.histograms[Dist::SendDelay].quantile_ns(1.0).unwrap_or(0) < 200 * MS);
    }
}

/// A window starts late, and counting what is skipped may take a while.
#[test]
fn what_became_due_while_a_late_window_was_counted_is_unsent_too() {
    const MS: u64 = 1_000_000;
    for (budget, now_ms, expected) in
        [(u64::MAX, 700, 700), (600, 700, 600), (u64::MAX, 2_000, 1_000), (u64::MAX, 400, 500)]
    {
        let job = job();
        let ((recorder, _feed), (_orders, orders_out)) = (road(0, 1), RingBuffer::new(8));
        let driver = shuffler(&job);
        let mut worker = Worker::<_, Framed>::new(&job, SLOTS, 0, driver, recorder, orders_out);
        let curve = Arc::new(Curve::constant(1_000.0));
        worker.pace = Pace::Open { curve, arrivals: Spacing::Fixed, seed: 1 };
        worker.stage = Stage::Measure;
        worker.begin_schedule(0);
        worker.driver.now_ns = now_ms * MS;
        let (end_ns, skip_until_ns) = (1_000 * MS, 500 * MS);
        worker.skip_late(Window { begin_ns: 0, end_ns, budget, drain_ns: 0, skip_until_ns });
        assert_eq!(worker.recorder.tick.measured.unsent, expected);
        assert_eq!(worker.window.map(|window| window.budget), Some(budget - expected));
    }
}

const TURN_NS: u64 = 10_000;
/// How long it takes to open a connection that fails.
const OPEN_NS: u64 = 5_000_000;

#[derive(Debug, Clone, Copy)]
enum Happened {
    Opened,
    Failed,
    Answered,
}

/// Answers every request at the next wait. Only the first connection can be opened, and each
/// attempt to open another one takes long.
struct Lone {
    now_ns: u64,
    /// Reported after the next wait.
    due: VecDeque<(SlotId, Happened)>,
    ready: VecDeque<(SlotId, Happened)>,
    sending: Sending,
}

impl Driver for Lone {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn cpu_ns(&self) -> (u64, u64) {
        (0, 0)
    }

    fn open(&mut self, slot: SlotId, _route: u32) {
        self.now_ns += if slot == 0 { 0 } else { OPEN_NS };
        let happened = if slot == 0 { Happened::Opened } else { Happened::Failed };
        self.due.push_back((slot, happened));
    }

    fn send(&mut self, slot: SlotId, _span: Range<usize>, _ahead: Ahead) -> Sending {
        self.due.push_back((slot, Happened::Answered));
        self.sending
    }

    fn close(&mut self, slot: SlotId) {
        self.due.retain(|(due, _)| *due != slot);
        self.ready.retain(|(ready, _)| *ready != slot);
    }

    fn wait(&mut self, _now_ns: u64, until_ns: u64) -> u64 {
        let wake_ns = if self.due.is_empty() { until_ns } else { 0 };
        self.now_ns = wake_ns.max(self.now_ns + TURN_NS);
        self.ready.append(&mut self.due);
        self.now_ns
    }

    fn next(&mut self) -> Option<Event> {
        let at_ns = self.now_ns;
        let (slot, happened) = self.ready.pop_front()?;
        Some(match happened {
            Happened::Opened => Event::Opened { slot, at_ns },
            Happened::Failed => Event::OpenFailed { slot, class: ErrorClass::Connect, at_ns },
            Happened::Answered => {
                Event::Received { slot, at_ns, buffer: Buffer { id: 0, length: 38 } }
            }
        })
    }

    fn bytes(&self, _buffer: Buffer) -> &[u8] {
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    }

    fn release(&mut self, _buffer: Buffer) {}
}

/// Sends `budget` requests through that driver; returns all ticks as one, or `None` when the level
/// does not end.
fn run_lone(sending: Sending, connections: u32, budget: u64) -> Option<Tick> {
    let job = job();
    let (due, ready) = (VecDeque::new(), VecDeque::new());
    let driver = Lone { now_ns: 0, due, ready, sending };
    let ((recorder, mut feed), (mut orders, orders_out)) = (road(0, 1), RingBuffer::new(8));
    let mut worker = Worker::<_, Http1>::new(&job, SLOTS, 0, driver, recorder, orders_out);
    let (pace, life, connections_max) = (Pace::Closed, Life::default(), connections);
    let connect = Order::Connect { load: 1, connections, connections_max, depth: 1, pace, life };
    let (begin_ns, end_ns, budget) = (BEGIN_NS, u64::MAX, Some(budget));
    let measure =
        Order::Measure { begin_ns, end_ns, budget, drain_ns: 1_000_000_000, skip_until_ns: 0 };
    [connect, measure].into_iter().for_each(|order| orders.push(order).unwrap());
    let (mut sum, mut is_over) = (Tick::default(), false);
    while !is_over && worker.driver().now_ns < 60_000_000_000 {
        worker.turn();
        feed.drain(|tick| {
            sum.measured += &tick.measured;
            sum.histograms[Dist::Unseen].merge(&tick.histograms[Dist::Unseen]);
            if tick.phase == Phase::Measure {
                sum.accounting += &tick.accounting;
            }
            is_over |= tick.last;
        });
    }
    is_over.then_some(sum)
}

/// What is done between two waits is a part of the turn, not of the wait.
#[test]
fn a_response_that_came_while_connections_were_opened_was_not_seen() {
    // Two seconds: an attempt that failed is repeated within one.
    const BUDGET: u64 = 200_000;
    let quiet = run_lone(Sending::Done, 1, BUDGET).unwrap();
    assert_eq!((quiet.accounting.turn_max_ns, quiet.histograms[Dist::Unseen].count()), (0, 0));
    let busy = run_lone(Sending::Done, 2, BUDGET).unwrap();
    assert_eq!((busy.measured.completed, busy.accounting.turn_max_ns), (BUDGET, OPEN_NS));
    let (count, least_ns) =
        (busy.histograms[Dist::Unseen].count(), busy.histograms[Dist::Unseen].quantile_ns(0.0));
    assert!(count > 0 && least_ns >= Some(OPEN_NS), "{count} responses, {least_ns:?}");
}

/// A server may answer a request before it has read all of it, and then read no more.
#[test]
fn a_request_that_is_answered_but_never_taken_does_not_block_its_connection_for_ever() {
    let measured = run_lone(Sending::Underway, 1, 3).map(|sum| sum.measured);
    let counts = measured.map(|of| (of.sent, of.completed, of.failed, of.unsent));
    assert_eq!(counts, Some((3, 3, 0, 0)), "each on a connection of its own");
}

#[test]
fn a_response_to_an_earlier_level_is_stray() {
    let job = job();
    let driver = shuffler(&job);
    let ((recorder, mut feed), (mut orders, orders_out)) = (road(0, 1), RingBuffer::new(8));
    let mut worker = Worker::<_, Framed>::new(&job, SLOTS, 0, driver, recorder, orders_out);
    // Runs until a level is over; returns its unanswered requests and its stray bytes.
    let mut run_level = |worker: &mut Worker<_, Framed>| {
        let (mut unanswered, mut stray, mut is_over) = (0, 0, false);
        while !is_over {
            worker.turn();
            feed.drain(|tick| {
                unanswered += tick.measured.unanswered;
                stray += tick.accounting.stray_bytes;
                is_over |= tick.last;
            });
        }
        (unanswered, stray)
    };
    let [connect, measure] = level();
    orders.push(connect.clone()).unwrap();
    let (begin_ns, end_ns) = (BEGIN_NS, BEGIN_NS + 50_000);
    orders
        .push(Order::Measure { begin_ns, end_ns, budget: None, drain_ns: 0, skip_until_ns: 0 })
        .unwrap();
    let (unanswered, stray) = run_level(&mut worker);
    assert!(unanswered > 0 && stray == 0, "{unanswered} unanswered, {stray} B stray");
    for order in [connect, measure] {
        orders.push(order).unwrap();
    }
    // A response is two bytes; the frame before it belongs to none.
    assert_eq!(run_level(&mut worker), (0, 2 * unanswered));
}
