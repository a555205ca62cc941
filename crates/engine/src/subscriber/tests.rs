//! A worker that listens, in virtual time, to a server that drops connections: every delivered
//! event is booked once, and in the right place.

use super::Subscriber;
use crate::driver::{Ahead, Buffer, Driver, End, Event, Sending, SlotId};
use crate::job::{Job, Order, Pace};
use crate::pool::Link;
use crate::recorder::road;
use model::dist::Dist;
use model::fanout::{Delivery, EventCounts, Subscription};
use model::histogram::Histogram;
use model::load::{HttpVersion, Life, Request};
use model::tick::{Connections, Counters, ErrorClass};
use rtrb::RingBuffer;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use wire::http2::{Asked, Ends, Form, Http2, Peer, Said, Scheme, say};
use wire::session::Session;
use wire::sse::Events;
use wire::tape::Tape;

const MS: u64 = 1_000_000;
const STREAMS: u32 = 3;
const SLOTS: u32 = 7;
const START_NS: u64 = 1_000 * MS;
/// The window, and the drain after it.
const BEGIN_NS: u64 = START_NS + 50 * MS;
const END_NS: u64 = BEGIN_NS + 100 * MS;
const DRAIN_NS: u64 = 20 * MS;
/// No event occurs in this range: the drain ends there, a little later than ordered.
const QUIET_NS: Range<u64> = END_NS + 10 * MS..END_NS + 40 * MS;
const OVER_NS: u64 = END_NS + 60 * MS;
/// What the clock that stamps events shows at our zero.
const ZERO_NS: u64 = 1_700_000_000_000_000_000;

/// An event on its way to a subscriber.
#[derive(Debug, Clone, Copy)]
struct SentEvent {
    slot: SlotId,
    seq: u64,
    came_ns: u64,
    at_ns: u64,
}

#[derive(Debug)]
enum Happening {
    Opened,
    /// Bytes, and the event that they complete.
    Bytes(Vec<u8>, Option<SentEvent>),
    /// Bytes that end the stream; with none the connection ends.
    Reset(Vec<u8>),
}

#[derive(Debug, Clone, Default)]
struct Line {
    generation: u32,
    outbox: Vec<u8>,
    peer: Peer,
    is_listening: bool,
    /// When the last of its bytes arrive.
    free_ns: u64,
}

/// What a server does in so many of a thousand cases, until the window ends.
#[derive(Debug, Clone, Copy)]
struct Whims {
    /// Deliveries that end the connection instead.
    resets: u64,
    /// Streams that start with an earlier event, which the subscriber may have seen.
    repeats: u64,
}

/// A server of events in virtual time, with what it saw.
struct Hub {
    http: HttpVersion,
    now_ns: u64,
    random: u64,
    whims: Whims,
    lines: Vec<Line>,
    /// When events occur, and on which stream.
    planned: VecDeque<(u64, u32)>,
    /// When the events of each stream occurred; the first has number 1.
    came_ns: [Vec<u64>; STREAMS as usize],
    arranged: BTreeMap<(u64, u64), (SlotId, u32, Happening)>,
    order: u64,
    due: VecDeque<(u64, SlotId, u32, Happening)>,
    bytes: Vec<u8>,
    accepted: u64,
    sent: Vec<SentEvent>,
    /// When connections with a stream were reset.
    reset_ns: Vec<u64>,
    /// It hears no more attempts to connect.
    is_deaf: bool,
}

impl Hub {
    fn new(http: HttpVersion, seed: u64, whims: Whims) -> Self {
        let mut hub = Self {
            http,
            now_ns: START_NS,
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            whims,
            lines: vec![Line::default(); SLOTS as usize],
            planned: VecDeque::new(),
            came_ns: Default::default(),
            arranged: BTreeMap::new(),
            order: 0,
            due: VecDeque::new(),
            bytes: Vec::new(),
            accepted: 0,
            sent: Vec::new(),
            reset_ns: Vec::new(),
            is_deaf: false,
        };
        let mut at_ns = START_NS + 5 * MS;
        while at_ns < OVER_NS {
            let stream = hub.below(u64::from(STREAMS)) as u32;
            if !QUIET_NS.contains(&at_ns) {
                hub.planned.push_back((at_ns, stream));
            }
            at_ns += 1 + hub.below(MS / 2);
        }
        hub
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 16) % bound
    }

    fn arrange(&mut self, slot: SlotId, at_ns: u64, happening: Happening) {
        let line = &mut self.lines[slot as usize];
        let at_ns = at_ns.max(line.free_ns);
        line.free_ns = at_ns;
        self.order += 1;
        self.arranged.insert((at_ns, self.order), (slot, line.generation, happening));
    }

    /// An event occurs: it goes to every subscriber of its stream.
    fn come(&mut self, came_ns: u64, stream: u32) {
        self.came_ns[stream as usize].push(came_ns);
        let seq = self.came_ns[stream as usize].len() as u64;
        for slot in (stream..SLOTS).step_by(STREAMS as usize) {
            if !self.lines[slot as usize].is_listening {
                continue;
            }
            let at_ns = came_ns + self.below(2 * MS);
            if at_ns < END_NS && self.below(1000) < self.whims.resets {
                self.lines[slot as usize].is_listening = false;
                let words = self.last_words();
                self.arrange(slot, at_ns, Happening::Reset(words));
            } else {
                self.deliver(slot, at_ns, (stream, seq));
            }
        }
    }

    /// Sends an event of a stream, in one piece or in two.
    fn deliver(&mut self, slot: SlotId, at_ns: u64, (stream, seq): (u32, u64)) {
        let came_ns = self.came_ns[stream as usize][seq as usize - 1];
        let stamp_ns = ZERO_NS + came_ns;
        let text = format!("id: {seq}\ndata: {{\"seq\":{seq},\"at_ns\":{stamp_ns}}}\n\n");
        let cut = self.below(text.len() as u64) as usize;
        let (first, rest) = text.as_bytes().split_at(cut);
        if cut > 0 {
            let words = self.part(first);
            self.arrange(slot, at_ns, Happening::Bytes(words, None));
        }
        let later_ns = at_ns + self.below(MS);
        let event = SentEvent { slot, seq, came_ns, at_ns: 0 };
        let words = self.part(rest);
        self.arrange(slot, later_ns, Happening::Bytes(words, Some(event)));
    }

    /// A part of the body.
    fn part(&self, body: &[u8]) -> Vec<u8> {
        match self.http {
            HttpVersion::One => body.to_vec(),
            HttpVersion::Two => {
                words(&[Said::Body { stream: 1, body, ends: Ends::No, padding: None }, Said::Ping])
            }
        }
    }

    /// How a stream ends too early: with its connection or, in HTTP/2, in other ways.
    fn last_words(&mut self) -> Vec<u8> {
        let kind = if self.http == HttpVersion::Two { self.below(4) } else { 0 };
        match kind {
            0 => Vec::new(),
            1 => words(&[Said::Reset { stream: 1, code: 2 }]),
            2 => words(&[Said::Goaway { last: 0, code: 0 }]),
            _ => words(&[Said::Body { stream: 1, body: b"", ends: Ends::Yes, padding: None }]),
        }
    }

    /// The subscription came: its response begins.
    fn accept(&mut self, slot: SlotId) {
        let head = match self.http {
            HttpVersion::One => {
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n".to_vec()
            }
            HttpVersion::Two => {
                let (fields, form) = (&[("content-type", "text/event-stream")][..], Form::Whole);
                words(&[Said::Head { stream: 1, status: Some(200), fields, ends: Ends::No, form }])
            }
        };
        let at_ns = self.now_ns + 10_000 + self.below(MS);
        self.arrange(slot, at_ns, Happening::Bytes(head, None));
        self.lines[slot as usize].is_listening = true;
        let stream = slot % STREAMS;
        let latest = self.came_ns[stream as usize].len() as u64;
        if latest > 0 && at_ns + 2 * MS < END_NS && self.below(1000) < self.whims.repeats {
            let seq = latest.saturating_sub(self.below(40)).max(1);
            self.deliver(slot, at_ns, (stream, seq));
        }
    }
}

fn words(said: &[Said<'_>]) -> Vec<u8> {
    let mut words = Vec::new();
    said.iter().for_each(|said| say(said, &mut words));
    words
}

impl Driver for Hub {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn cpu_ns(&self) -> (u64, u64) {
        (0, 0)
    }

    fn open(&mut self, slot: SlotId, _route: u32) {
        if self.is_deaf {
            return;
        }
        let at_ns = self.now_ns + 20_000 + self.below(MS);
        self.lines[slot as usize].free_ns = 0;
        self.arrange(slot, at_ns, Happening::Opened);
    }

    fn send(&mut self, slot: SlotId, _span: Range<usize>, _ahead: Ahead) -> Sending {
        self.accept(slot);
        Sending::Done
    }

    fn outbox(&mut self, slot: SlotId) -> &mut Vec<u8> {
        &mut self.lines[slot as usize].outbox
    }

    fn send_outbox(&mut self, slot: SlotId, _ahead: Ahead) -> Sending {
        let line = &mut self.lines[slot as usize];
        let mut asked = Vec::new();
        line.peer.take(&std::mem::take(&mut line.outbox), |one| asked.push(one));
        for one in asked {
            match one {
                Asked::Settings { .. } => {
                    let greeting = words(&[Said::Settings { streams: Some(9), window: None }]);
                    let at_ns = self.now_ns + self.below(MS / 10);
                    self.arrange(slot, at_ns, Happening::Bytes(greeting, None));
                }
                Asked::Head { ends: true, .. } => self.accept(slot),
                Asked::Head { .. } => panic!("a subscription has no body"),
                _ => {}
            }
        }
        Sending::Done
    }

    fn close(&mut self, slot: SlotId) {
        let line = &mut self.lines[slot as usize];
        *line = Line { generation: line.generation + 1, free_ns: line.free_ns, ..Line::default() };
    }

    /// Sometimes it wakes late, with events from before and after the requested instant.
    fn wait(&mut self, _now_ns: u64, until_ns: u64) -> u64 {
        let next = |hub: &Self| hub.arranged.keys().next().map_or(u64::MAX, |(at_ns, _)| *at_ns);
        while let Some((came_ns, stream)) = self.planned.front().copied()
            && came_ns <= next(self).min(until_ns)
        {
            self.planned.pop_front();
            self.come(came_ns, stream);
        }
        let oversleep_ns = if self.below(4) == 0 { self.below(3 * MS) } else { 500 };
        let wake_ns = self.now_ns.max(next(self).min(until_ns)) + oversleep_ns;
        while let Some((came_ns, stream)) = self.planned.front().copied()
            && came_ns <= wake_ns
        {
            self.planned.pop_front();
            self.come(came_ns, stream);
        }
        while let Some(entry) = self.arranged.first_entry()
            && entry.key().0 <= wake_ns
        {
            let ((at_ns, _), (slot, generation, happening)) = entry.remove_entry();
            self.due.push_back((at_ns, slot, generation, happening));
        }
        self.now_ns = wake_ns;
        wake_ns
    }

    fn next(&mut self) -> Option<Event> {
        while let Some((at_ns, slot, generation, happening)) = self.due.pop_front() {
            if self.lines[slot as usize].generation != generation {
                continue;
            }
            return Some(match happening {
                Happening::Opened => {
                    self.accepted += 1;
                    Event::Opened { slot, at_ns }
                }
                Happening::Bytes(bytes, event) => {
                    self.sent.extend(event.map(|event| SentEvent { at_ns, ..event }));
                    let buffer = Buffer { id: 0, length: bytes.len() as u32 };
                    self.bytes = bytes;
                    Event::Received { slot, at_ns, buffer }
                }
                Happening::Reset(bytes) => {
                    self.reset_ns.push(at_ns);
                    let buffer = Buffer { id: 0, length: bytes.len() as u32 };
                    self.bytes = bytes;
                    match buffer.length {
                        0 => Event::Ended { slot, end: End::Reset, at_ns },
                        _ => Event::Received { slot, at_ns, buffer },
                    }
                }
            });
        }
        None
    }

    fn bytes(&self, buffer: Buffer) -> &[u8] {
        &self.bytes[..buffer.length as usize]
    }

    fn release(&mut self, _buffer: Buffer) {}
}

fn job(http: HttpVersion, seed: u64) -> Job {
    let stream = |stream: u32| Request {
        method: "GET".to_string(),
        path: format!("/events/{stream}"),
        host: "sim".to_string(),
        ..Request::default()
    };
    let streams: Vec<_> = (0..STREAMS).map(stream).collect();
    let tape = match http {
        HttpVersion::One => Tape::new(&streams, 1),
        HttpVersion::Two => Tape::http2(&streams, Scheme::Http),
    };
    Job {
        connections_max: SLOTS,
        timeout_ns: 40 * MS,
        connect_timeout_ns: 30 * MS,
        seed,
        http,
        ..Job::for_tests(tape.unwrap())
    }
}

/// Reports a connection as open long after it was asked for, and takes as long for each event as
/// their stamps are apart.
struct Late {
    now_ns: u64,
    due: VecDeque<Event>,
    sends: u32,
}

impl Driver for Late {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn cpu_ns(&self) -> (u64, u64) {
        (0, 0)
    }

    fn open(&mut self, slot: SlotId, _route: u32) {
        self.due.push_back(Event::Opened { slot, at_ns: self.now_ns + 150 * MS });
    }

    fn send(&mut self, _slot: SlotId, _span: Range<usize>, _ahead: Ahead) -> Sending {
        self.sends += 1;
        Sending::Done
    }

    fn close(&mut self, _slot: SlotId) {}

    fn wait(&mut self, _now_ns: u64, until_ns: u64) -> u64 {
        self.now_ns = self.due.front().map_or(until_ns, Event::at_ns);
        self.now_ns
    }

    fn next(&mut self) -> Option<Event> {
        let event = self.due.pop_front()?;
        self.now_ns = event.at_ns();
        Some(event)
    }

    fn bytes(&self, _buffer: Buffer) -> &[u8] {
        &[]
    }

    fn release(&mut self, _buffer: Buffer) {}
}

/// The worker has taken the event from the driver when it finds that the attempt took too long.
#[test]
fn what_happened_on_a_connection_that_was_given_up_is_not_of_the_next() {
    let job = job(HttpVersion::One, 1);
    let ((recorder, _feed), (mut orders, orders_out)) = (road(0, 1), RingBuffer::new(8));
    let late = Late { now_ns: START_NS, due: VecDeque::new(), sends: 0 };
    let mut worker = Subscriber::<_, Events>::new(&job, 1, 0, late, (recorder, orders_out), None);
    let (load, depth, pace, life) = (1, 1, Pace::Closed, Life::default());
    let (connections, connections_max) = (1, 1);
    orders.push(Order::Connect { load, connections, connections_max, depth, pace, life }).unwrap();
    assert!(worker.turn());
    let Connections { open, opening, failed, .. } = worker.pool.counts();
    assert_eq!((open, opening, failed, worker.driver().sends), (0, 0, 1, 0));
}

/// What is due in the middle of a turn is done there, but the turn goes on.
#[test]
fn a_turn_lasts_from_one_wait_to_the_next() {
    let job = job(HttpVersion::One, 1);
    let ((recorder, _feed), (_orders, orders_out)) = (road(0, 1), RingBuffer::new(8));
    let sent = |ms: u64| Event::Sent { slot: 0, at_ns: START_NS + ms * MS };
    let late = Late { now_ns: START_NS, due: [10, 13, 16].map(sent).into(), sends: 0 };
    let mut worker = Subscriber::<_, Events>::new(&job, 1, 0, late, (recorder, orders_out), None);
    assert!(worker.turn() && worker.turn());
    let accounting = worker.recorder.tick.accounting;
    let turns = (accounting.turns, accounting.turn_sum_ns, accounting.turn_max_ns);
    assert_eq!(turns, (2, 6 * MS, 6 * MS));
}

/// The result of a level, and what the server saw of it.
#[derive(Default)]
struct Account {
    measured: Counters,
    unmeasured: Counters,
    events: EventCounts,
    connections: Connections,
    staleness: Histogram,
    each: Histogram,
    subscriptions: Vec<Subscription>,
    accepted: u64,
    sent: Vec<SentEvent>,
    reset_ns: Vec<u64>,
}

/// The order to connect every subscriber for a load.
fn connect(load: u32) -> Order {
    let (depth, pace, life) = (1, Pace::Closed, Life::default());
    let (connections, connections_max) = (SLOTS, SLOTS);
    Order::Connect { load, connections, connections_max, depth, pace, life }
}

/// The order to measure in this window, nanoseconds.
fn measure(window_ns: Range<u64>, drain_ns: u64) -> Order {
    let (begin_ns, end_ns) = (window_ns.start, window_ns.end);
    Order::Measure { begin_ns, end_ns, budget: None, drain_ns, skip_until_ns: 0 }
}

fn listen(http: HttpVersion, seed: u64, whims: Whims, zero_ns: Option<i64>) -> Account {
    match http {
        HttpVersion::One => listen_by::<Events>(http, seed, whims, zero_ns),
        HttpVersion::Two => listen_by::<Events<Http2>>(http, seed, whims, zero_ns),
    }
}

fn listen_by<S: Session>(
    http: HttpVersion,
    seed: u64,
    whims: Whims,
    zero_ns: Option<i64>,
) -> Account {
    let job = job(http, seed);
    let (recorder, mut feed) = road(0, job.routes.len());
    let (mut orders, orders_out) = RingBuffer::new(8);
    let hub = Hub::new(http, seed, whims);
    let mut worker = Subscriber::<_, S>::new(&job, SLOTS, 0, hub, (recorder, orders_out), zero_ns);
    orders.push(connect(1)).unwrap();
    orders.push(measure(BEGIN_NS..END_NS, DRAIN_NS)).unwrap();
    let mut account = Account::default();
    // Longer than the events, so that the tick with the last ones is sent too.
    while worker.driver().now_ns() < OVER_NS + 250 * MS {
        assert!(worker.turn());
        feed.drain(|tick| {
            account.measured += &tick.measured;
            account.unmeasured += &tick.unmeasured;
            account.events += &tick.events;
            account.staleness.merge(&tick.histograms[Dist::Latency]);
            account.each.merge(&tick.histograms[Dist::PerConnection]);
            account.subscriptions.extend_from_slice(&tick.subscriptions);
            if tick.last {
                account.connections = tick.connections;
            }
        });
    }
    let hub = worker.driver();
    (account.accepted, account.sent) = (hub.accepted, hub.sent.clone());
    account.reset_ns = hub.reset_ns.clone();
    account
}

/// Highest number of a stream that any subscriber saw in the window.
fn highest(stream: u32, sent: &[SentEvent]) -> u64 {
    let slots = (0..SLOTS).filter(|slot| slot % STREAMS == stream);
    slots.filter_map(|slot| expected(slot, sent, 0).0.highest).max().unwrap_or(0)
}

/// What one subscriber should have seen, from what the server delivered to it, and from the highest
/// number of its stream in the window.
fn expected(slot: SlotId, sent: &[SentEvent], highest: u64) -> (Subscription, u64, u64) {
    let stream = slot % STREAMS;
    let mut seen = Subscription { stream, is_accepted: true, ..Subscription::default() };
    let (mut last, mut arrived, mut repeated) = (None, 0, 0);
    for one in sent.iter().filter(|event| event.slot == slot) {
        let is_new = last.is_none_or(|last| one.seq > last);
        match one.at_ns {
            ..BEGIN_NS => seen.before = seen.before.max(Some(one.seq)),
            BEGIN_NS..END_NS => {
                arrived += 1;
                repeated += u64::from(!is_new);
                seen.received += u64::from(is_new);
                if is_new {
                    seen.before = seen.before.or(Some(one.seq - 1));
                    seen.highest = Some(one.seq);
                }
            }
            END_NS..OVER_NS if one.at_ns < QUIET_NS.end && is_new => {
                if one.seq <= highest {
                    seen.late += 1;
                } else {
                    seen.later_first = if seen.later == 0 { one.seq } else { seen.later_first };
                    seen.later += 1;
                }
            }
            _ => {}
        }
        last = last.max(Some(one.seq));
    }
    (seen, arrived, repeated)
}

#[test]
fn every_event_is_booked_once_and_where_it_arrived() {
    let mut sums = (0, 0, 0, 0);
    for seed in 1..400 {
        let whims = Whims { resets: [0, 10, 60][seed as usize % 3], repeats: 500 };
        let http = HttpVersion::ALL[seed as usize % 2];
        let account = listen(http, seed, whims, Some(ZERO_NS as i64));
        let sent = &account.sent;
        assert!(sent.len() > 300, "seed {seed}: {} events", sent.len());
        let booked = account.measured.completed + account.unmeasured.completed;
        assert_eq!(booked, sent.len() as u64, "seed {seed}: conservation");
        let (mut arrived_all, mut repeated_all) = (0, 0);
        for slot in 0..SLOTS {
            let (seen, arrived, repeated) = expected(slot, sent, highest(slot % STREAMS, sent));
            assert_eq!(account.subscriptions[slot as usize], seen, "seed {seed}, slot {slot}");
            (arrived_all, repeated_all) = (arrived_all + arrived, repeated_all + repeated);
        }
        assert_eq!(account.measured.completed, arrived_all, "seed {seed}: the window");
        assert_eq!(account.events.numbered, arrived_all, "seed {seed}");
        assert_eq!(account.events.repeated, repeated_all, "seed {seed}");
        let of_window = |at_ns: u64| (BEGIN_NS..END_NS).contains(&at_ns);
        let stale_ns = sent.iter().filter(|one| of_window(one.at_ns));
        let stale_ns: Vec<u64> = stale_ns.map(|one| one.at_ns - one.came_ns).collect();
        let staleness = account.staleness.summary(0);
        assert_eq!(staleness.count, arrived_all, "seed {seed}");
        assert_eq!(staleness.max, stale_ns.iter().copied().max(), "seed {seed}");
        assert_eq!(staleness.min, stale_ns.iter().copied().min(), "seed {seed}");
        assert_eq!((account.events.stamped, account.events.early), (arrived_all, 0));
        assert_eq!(account.each.count(), u64::from(SLOTS), "seed {seed}");
        let late: u64 = account.subscriptions.iter().map(|one| one.late + one.later).sum();
        let resets = account.reset_ns.len() as u64;
        sums = (sums.0 + late, sums.1 + resets, sums.2 + repeated_all, sums.3 + arrived_all);
    }
    assert!(sums.0 > 0 && sums.1 > 0 && sums.2 > 0 && sums.3 > 0, "all of it happened: {sums:?}");
}

#[test]
fn streams_that_end_are_asked_for_again_and_what_was_sent_meanwhile_is_missing() {
    let mut missing_all = 0;
    for seed in 1..400 {
        let (resets, http) = ([0, 30][seed as usize % 2], HttpVersion::ALL[seed as usize / 2 % 2]);
        // A number that is not above the last counts as repeated, even if it was missing.
        let account = listen(http, seed, Whims { resets, repeats: 0 }, Some(ZERO_NS as i64));
        let Connections { opened, reopened, failed, served, open, .. } = account.connections;
        assert_eq!((opened, failed), (u64::from(SLOTS), 0), "seed {seed}");
        assert_eq!(served, u64::from(SLOTS), "seed {seed}: streams accepted at least once");
        assert_eq!(open, u64::from(SLOTS), "seed {seed}: all are back when the drain is over");
        assert_eq!(account.accepted, opened + reopened, "seed {seed}: reconnects");
        assert_eq!(reopened, account.reset_ns.len() as u64, "seed {seed}: one for each end");
        let classes =
            [ErrorClass::Reset, ErrorClass::Aborted, ErrorClass::Refused, ErrorClass::Closed];
        let of_class = classes.map(|class| account.measured.errors.get(class));
        let ends = account.reset_ns.len() as u64;
        assert_eq!(of_class.iter().sum::<u64>(), ends, "seed {seed}: errors of the level");
        assert!(http == HttpVersion::Two || of_class[0] == ends, "seed {seed}: {of_class:?}");
        let of_window = |at_ns: &&u64| (BEGIN_NS..END_NS).contains(*at_ns);
        let lost = account.reset_ns.iter().filter(of_window).count() as u64;
        assert_eq!(account.events.lost, lost, "seed {seed}: lost in the window");
        let delivery = Delivery::of(&account.subscriptions);
        let Delivery { meant, received, late, missing, .. } = delivery;
        assert_eq!(meant, received + late + missing, "seed {seed}");
        assert_eq!(missing, really_missing(&account), "seed {seed}");
        assert!(resets > 0 || missing == 0, "seed {seed}: no subscriber was away");
        missing_all += missing;
    }
    assert!(missing_all > 0);
}

#[test]
fn a_stream_that_ended_before_a_level_is_accepted_in_it_once_it_is_back() {
    for seed in 1..20 {
        let job = job(HttpVersion::One, seed);
        let (recorder, mut feed) = road(0, job.routes.len());
        let (mut orders, orders_out) = RingBuffer::new(8);
        let hub = Hub::new(HttpVersion::One, seed, Whims { resets: 60, repeats: 0 });
        let listens = (recorder, orders_out);
        let mut worker = Subscriber::<_, Events>::new(&job, SLOTS, 0, hub, listens, None);
        orders.push(connect(1)).unwrap();
        while worker.driver().reset_ns.is_empty() {
            assert!(worker.turn());
            feed.drain(|_| {});
        }
        // The next level starts while that subscriber waits to subscribe again.
        let begin_ns = worker.driver().now_ns() + 40 * MS;
        orders.push(connect(2)).unwrap();
        let (end_ns, drain_ns) = (begin_ns + 20 * MS, 10 * MS);
        orders
            .push(Order::Measure { begin_ns, end_ns, budget: None, drain_ns, skip_until_ns: 0 })
            .unwrap();
        let mut served = None;
        while served.is_none() {
            assert!(worker.turn());
            feed.drain(|tick| served = tick.last.then_some(tick.connections.served).or(served));
        }
        assert_eq!(served, Some(u64::from(SLOTS)), "seed {seed}");
    }
}

/// A subscriber had a stream in the level before, and gets none in this one.
#[test]
fn who_has_no_stream_in_a_level_misses_nothing_of_it() {
    let job = job(HttpVersion::One, 1);
    let (recorder, mut feed) = road(0, job.routes.len());
    let (mut orders, orders_out) = RingBuffer::new(8);
    let hub = Hub::new(HttpVersion::One, 1, Whims { resets: 0, repeats: 0 });
    let listens = (recorder, orders_out);
    let mut worker = Subscriber::<_, Events>::new(&job, SLOTS, 0, hub, listens, None);
    // What each subscriber saw in a level, and the connections of its first tick.
    let mut run_level = |worker: &mut Subscriber<Hub>, load| {
        let begin_ns = worker.driver().now_ns() + 20 * MS;
        orders.push(connect(load)).unwrap();
        orders.push(measure(begin_ns..begin_ns + 20 * MS, 5 * MS)).unwrap();
        let (mut first, mut seen) = (None, Vec::new());
        while seen.is_empty() {
            assert!(worker.turn());
            feed.drain(|tick| {
                if tick.load == load {
                    first = first.or(Some(tick.connections));
                }
                seen.extend_from_slice(&tick.subscriptions);
            });
        }
        (seen, first.unwrap())
    };
    let (seen, first) = run_level(&mut worker, 1);
    assert!(seen.iter().all(|one| one.is_accepted && one.received > 0), "{seen:?}");
    assert_eq!((first.opened, first.served), (0, 0));
    worker.driver.is_deaf = true;
    let now_ns = worker.driver.now_ns;
    worker.driver.arrange(0, now_ns, Happening::Reset(Vec::new()));
    while worker.pool.link(0) == Link::Open {
        assert!(worker.turn());
    }
    let (seen, first) = run_level(&mut worker, 2);
    let others = u64::from(SLOTS) - 1;
    assert_eq!((first.opened, first.served), (others, others), "kept, and of this level");
    let stream = seen[0].stream;
    assert_eq!(seen[0], Subscription { stream, ..Subscription::default() });
    assert!(seen[1..].iter().all(|one| one.is_accepted && one.received > 0), "{seen:?}");
    assert_eq!(Delivery::of(&seen).missing, 0);
}

#[test]
fn a_stop_does_not_report_a_level_again_that_is_over() {
    let job = job(HttpVersion::One, 1);
    let (recorder, mut feed) = road(0, job.routes.len());
    let (mut orders, orders_out) = RingBuffer::new(8);
    let hub = Hub::new(HttpVersion::One, 1, Whims { resets: 0, repeats: 0 });
    let listens = (recorder, orders_out);
    let mut worker = Subscriber::<_, Events>::new(&job, SLOTS, 0, hub, listens, None);
    orders.push(connect(1)).unwrap();
    orders.push(measure(BEGIN_NS..END_NS, DRAIN_NS)).unwrap();
    let (mut seen, mut is_stopped) = (0, false);
    while worker.driver().now_ns() < OVER_NS + 250 * MS {
        assert!(worker.turn());
        feed.drain(|tick| seen += tick.subscriptions.len());
        if seen > 0 && !is_stopped {
            orders.push(Order::Stop).unwrap();
            is_stopped = true;
        }
    }
    assert_eq!((seen, is_stopped), (SLOTS as usize, true));
}

/// Numbers that other subscribers of a stream saw in the window, and that did not arrive before the
/// end of the drain, counted one by one.
fn really_missing(account: &Account) -> u64 {
    let highest = |stream: u32| {
        let of_stream = account.subscriptions.iter().filter(|one| one.stream == stream);
        of_stream.filter_map(|one| one.highest).max().unwrap()
    };
    let missing = |slot: SlotId| {
        let one = account.subscriptions[slot as usize];
        let own = account.sent.iter().filter(|event| event.slot == slot);
        let arrived: Vec<u64> =
            own.filter(|event| event.at_ns < QUIET_NS.end).map(|event| event.seq).collect();
        let meant = one.before.unwrap() + 1..=highest(one.stream);
        meant.filter(|seq| !arrived.contains(seq)).count() as u64
    };
    (0..SLOTS).map(missing).sum()
}

#[test]
fn events_from_the_future_have_no_staleness_and_an_unknown_clock_tells_none() {
    let whims = Whims { resets: 0, repeats: 0 };
    let one = HttpVersion::One;
    let behind = listen(one, 7, whims, Some(ZERO_NS as i64 - 1_000 * MS as i64));
    assert!(behind.measured.completed > 0);
    assert_eq!(behind.events.early, behind.measured.completed);
    assert_eq!(behind.staleness.summary(0).count, 0);
    let unknown = listen(one, 7, whims, None);
    assert_eq!(unknown.measured.completed, behind.measured.completed, "the same seed");
    assert_eq!(unknown.events.stamped, unknown.measured.completed);
    assert_eq!((unknown.events.early, unknown.staleness.summary(0).count), (0, 0));
}
