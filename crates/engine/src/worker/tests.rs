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
use wire::http2::{Asked, Http2, Peer, Said, Scheme, respond, say};
use wire::session::{self, Reply};
use wire::tape::Tape;

const CAPACITY: u32 = 3;
const DEPTH: u32 = 5;
const SLOTS: u32 = 4;
const BUDGET: u64 = 500;
const BEGIN_NS: u64 = 1_000_000;
const REPLY: Reply<'_> =
    Reply { status: 200, reason: "", fields: &[], ending: session::Ending::Length, body: b"hi" };

#[derive(Default)]
struct Line {
    peer: Peer,
    outbox: Vec<u8>,
    is_new: bool,
    /// Requests without a response, by stream, with the time of their send.
    waiting: Vec<(u32, u64)>,
}

/// A server that answers some of the waiting requests at each turn, in random order.
struct Shuffler {
    now_ns: u64,
    random: u64,
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
        self.lines[slot as usize] = Line { is_new: true, ..Line::default() };
        self.due.push_back(Event::Opened { slot, at_ns: self.now_ns });
    }

    fn send(&mut self, _slot: SlotId, _span: Range<usize>, _ahead: Ahead) -> Sending {
        panic!("the session writes what is sent");
    }

    fn outbox(&mut self, slot: SlotId) -> &mut Vec<u8> {
        &mut self.lines[slot as usize].outbox
    }

    fn send_outbox(&mut self, slot: SlotId, _ahead: Ahead) -> Sending {
        let Line { peer, outbox, waiting, .. } = &mut self.lines[slot as usize];
        peer.take(outbox, |asked| {
            if let Asked::Head { stream, .. } = asked {
                waiting.push((stream, self.now_ns));
            }
        });
        outbox.clear();
        self.most = self.most.max(waiting.len());
        Sending::Done
    }

    fn close(&mut self, _slot: SlotId) {}

    fn wait(&mut self, _now_ns: u64, _until_ns: u64) -> u64 {
        self.now_ns += 1_000;
        let at_ns = self.now_ns;
        for slot in 0..self.lines.len() {
            let mut bytes = Vec::new();
            if std::mem::take(&mut self.lines[slot].is_new) {
                say(&Said::Settings { streams: Some(CAPACITY), window: None }, &mut bytes);
            }
            let answered = self.below(self.lines[slot].waiting.len() + 1);
            for _ in 0..answered {
                let waiting = self.lines[slot].waiting.len();
                let nth = self.below(waiting);
                let (stream, sent_ns) = self.lines[slot].waiting.swap_remove(nth);
                self.took_ns.push(at_ns - sent_ns);
                say(&Said::Ping, &mut bytes);
                respond(stream, &REPLY, &mut bytes);
            }
            let buffer = Buffer { id: slot as u16, length: bytes.len() as u32 };
            self.bytes[slot] = bytes;
            if buffer.length > 0 {
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
    job_of(Tape::new(&[request()], DEPTH).unwrap())
}

fn job_of_streams() -> Job {
    job_of(Tape::http2(&[request()], Scheme::Http).unwrap())
}

fn request() -> Request {
    Request { method: "GET".to_string(), path: "/".to_string(), ..Request::default() }
}

fn job_of(tape: Tape) -> Job {
    Job {
        routes: vec![],
        connections_max: SLOTS,
        depth_max: DEPTH,
        timeout_ns: 1_000_000_000,
        connect_timeout_ns: 1_000_000_000,
        ..Job::for_tests(tape)
    }
}

fn shuffler() -> Shuffler {
    Shuffler {
        now_ns: 0,
        random: 7,
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
    let job = job_of_streams();
    let driver = shuffler();
    let ((recorder, mut feed), (mut orders, orders_out)) = (road(0, 1), RingBuffer::new(8));
    let mut worker = Worker::<_, Http2>::new(&job, SLOTS, 0, driver, recorder, orders_out);
    level().into_iter().for_each(|order| orders.push(order).unwrap());
    let (mut latency, mut completed) = (model::histogram::Histogram::new(), 0);
    let mut is_over = false;
    while !is_over {
        worker.turn();
        feed.drain(|tick| {
            latency.merge(&tick.histograms[Dist::Latency]);
            completed += tick.measured.completed;
            assert_eq!(tick.measured.failed, 0);
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
    let job = job_of_streams();
    let driver = shuffler();
    let ((recorder, mut feed), (mut orders, orders_out)) = (road(0, 1), RingBuffer::new(8));
    let mut worker = Worker::<_, Http2>::new(&job, SLOTS, 0, driver, recorder, orders_out);
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
    let job = job_of_streams();
    let driver = shuffler();
    let ((recorder, mut feed), (mut orders, orders_out)) = (road(0, 1), RingBuffer::new(8));
    let mut worker = Worker::<_, Http2>::new(&job, SLOTS, 0, driver, recorder, orders_out);
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
        let job = job_of_streams();
        let ((recorder, _feed), (_orders, orders_out)) = (road(0, 1), RingBuffer::new(8));
        let driver = shuffler();
        let mut worker = Worker::<_, Http2>::new(&job, SLOTS, 0, driver, recorder, orders_out);
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
    let job = job_of_streams();
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
    let job = job_of_streams();
    let driver = shuffler();
    let ((recorder, mut feed), (mut orders, orders_out)) = (road(0, 1), RingBuffer::new(8));
    let mut worker = Worker::<_, Http2>::new(&job, SLOTS, 0, driver, recorder, orders_out);
    // Of a frame that belongs to no request, and of a response.
    let (mut ping, mut settings, mut response) = (Vec::new(), Vec::new(), Vec::new());
    say(&Said::Ping, &mut ping);
    say(&Said::Settings { streams: Some(CAPACITY), window: None }, &mut settings);
    respond(1, &REPLY, &mut response);
    let [ping, settings, response] = [ping, settings, response].map(|bytes| bytes.len() as u64);
    // Runs until a level is over; returns its unanswered and completed requests, and its stray
    // bytes.
    let mut run_level = |worker: &mut Worker<_, Http2>| {
        let (mut unanswered, mut completed, mut stray, mut is_over) = (0, 0, 0, false);
        while !is_over {
            worker.turn();
            feed.drain(|tick| {
                completed += tick.measured.completed;
                unanswered += tick.measured.unanswered;
                stray += tick.accounting.stray_bytes;
                is_over |= tick.last;
            });
        }
        (unanswered, completed, stray)
    };
    let [connect, measure] = level();
    orders.push(connect.clone()).unwrap();
    let (begin_ns, end_ns) = (BEGIN_NS, BEGIN_NS + 50_000);
    orders
        .push(Order::Measure { begin_ns, end_ns, budget: None, drain_ns: 0, skip_until_ns: 0 })
        .unwrap();
    let (unanswered, completed, stray) = run_level(&mut worker);
    assert!(unanswered > 0);
    assert_eq!(stray, u64::from(SLOTS) * settings + completed * ping, "no response is stray");
    for order in [connect, measure] {
        orders.push(order).unwrap();
    }
    let expected = BUDGET * ping + unanswered * (response + ping);
    assert_eq!(run_level(&mut worker), (0, BUDGET, expected));
}
