//! The driver of a worker in a world: bytes to and from the model server, time from its own pulse.

use super::generator::Pulse;
use super::server::{Delivery, End as Wire, Serving};
use crate::driver::{Ahead, Buffer, Driver, End, Event, Sending, SlotId};
use model::tick::ErrorClass;
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use wire::http1::Http1;
use wire::http2::{Asked, Peer, Said, respond, say};
use wire::session::{Ending, Reply};
use wire::tape::Tape;

/// Bytes after a response that answer no request.
const STRAY: &[u8] = b"\r\n";
/// The body of every response.
const BODY: &[u8] = &[b'x'; 100];

/// What a worker shares with its world.
pub(super) struct Post {
    pub serving: RefCell<Serving>,
    /// Deliveries on their way to each worker.
    pub inboxes: RefCell<Vec<Inbox>>,
    /// The pulse of each worker.
    pub pulses: RefCell<Vec<Pulse>>,
}

/// Deliveries by time, then in the order in which they were sent.
#[derive(Default)]
pub(super) struct Inbox {
    heap: BinaryHeap<Reverse<(u64, u64)>>,
    kept: Vec<(Wire, Delivery)>,
}

impl Inbox {
    pub fn push(&mut self, at_ns: u64, end: Wire, delivery: Delivery) {
        self.heap.push(Reverse((at_ns, self.kept.len() as u64)));
        self.kept.push((end, delivery));
    }

    pub fn next_ns(&self) -> u64 {
        self.heap.peek().map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns)
    }

    fn pop(&mut self, until_ns: u64) -> Option<(Wire, Delivery)> {
        if self.next_ns() > until_ns {
            return None;
        }
        let Reverse((_, index)) = self.heap.pop()?;
        Some(self.kept[index as usize])
    }
}

/// One connection of HTTP/2.
#[derive(Default)]
struct Line {
    outbox: Vec<u8>,
    peer: Peer,
    /// The request of the account on each stream, and the streams of the requests.
    entries: BTreeMap<u32, u32>,
    streams: BTreeMap<u32, u32>,
}

/// See the module.
pub(super) struct Wired {
    post: Rc<Post>,
    index: u32,
    tape: Arc<Tape>,
    generations: Vec<u32>,
    lines: Vec<Line>,
    /// When the current sleep was due to end.
    woken: Rc<Cell<Option<u64>>>,
    due: VecDeque<(Wire, Delivery)>,
    at_ns: u64,
    text: Vec<u8>,
    part: Range<usize>,
    has_strays: bool,
}

impl Wired {
    pub fn new(
        (post, index): (Rc<Post>, u32),
        tape: Arc<Tape>,
        slots: u32,
        woken: Rc<Cell<Option<u64>>>,
    ) -> Self {
        let has_strays = post.serving.borrow().plan.stray_bytes;
        Self {
            post,
            index,
            tape,
            generations: vec![0; slots as usize],
            lines: (0..slots).map(|_| Line::default()).collect(),
            woken,
            due: VecDeque::new(),
            at_ns: 0,
            text: Vec::new(),
            part: 0..0,
            has_strays,
        }
    }

    pub fn post(&self) -> Rc<Post> {
        Rc::clone(&self.post)
    }

    fn pulse<R>(&self, ask: impl FnOnce(&mut Pulse) -> R) -> R {
        ask(&mut self.post.pulses.borrow_mut()[self.index as usize])
    }

    fn wire(&self, slot: SlotId) -> Wire {
        Wire { worker: self.index, slot, generation: self.generations[slot as usize] }
    }

    /// The server receives what a session wrote. The parts of a body that come are gone from its
    /// windows, which it gives back at once.
    fn hear(&mut self, slot: SlotId, asked: Asked) {
        let (now_ns, end) = (self.now_ns(), self.wire(slot));
        let mut serving = self.post.serving.borrow_mut();
        let back_ns = now_ns + 2 * serving.plan.path_ns;
        let reply = |delivery| {
            self.post.inboxes.borrow_mut()[self.index as usize].push(back_ns, end, delivery);
        };
        let line = &mut self.lines[slot as usize];
        let whole = match asked {
            Asked::Settings { .. } => {
                reply(Delivery::Settings);
                None
            }
            Asked::Head { stream, ends, .. } => {
                let entry = serving.begin_request(now_ns, end);
                line.entries.insert(stream, entry);
                line.streams.insert(entry, stream);
                ends.then_some(entry)
            }
            Asked::Body { stream, bytes, ends, .. } => {
                reply(Delivery::Window { stream, more: bytes });
                line.entries.get(&stream).copied().filter(|_| ends)
            }
            _ => None,
        };
        whole.into_iter().for_each(|entry| serving.end_request(now_ns, end, entry));
    }

    /// Writes what the server says about streams.
    fn say(&mut self, slot: SlotId, delivery: Delivery) {
        let line = &self.lines[slot as usize];
        let said = match delivery {
            Delivery::Window { stream, more } => {
                say(&Said::Window { stream: 0, more }, &mut self.text);
                Said::Window { stream, more }
            }
            Delivery::Leave(entry) => {
                let last = line.streams.get(&entry).copied().unwrap_or(0);
                Said::Goaway { last, code: 0 }
            }
            _ => {
                let plan = self.post.serving.borrow().plan.streams.expect("it speaks HTTP/2");
                let streams = Some(plan.limit).filter(|limit| *limit > 0);
                let window = Some(plan.window);
                say(&Said::Settings { streams, window }, &mut self.text);
                Said::Acknowledged
            }
        };
        say(&said, &mut self.text);
    }

    /// Writes part `nth` of `of` parts of a response.
    fn write(&mut self, status: u16, (nth, of): (u32, u32), closes: bool) {
        self.text.clear();
        let fields = &[("Connection", "close")][..usize::from(closes)];
        let reason = if status < 400 { "OK" } else { "Not" };
        let reply = Reply { status, reason, fields, ending: Ending::Length, body: BODY };
        Http1::respond(&reply, &mut self.text);
        if self.has_strays {
            self.text.extend_from_slice(STRAY);
        }
        let (length, of) = (self.text.len(), of as usize);
        let cut = |nth: u32| length * nth as usize / of;
        self.part = cut(nth)..cut(nth + 1);
    }

    fn event(&mut self, slot: SlotId, delivery: Delivery) -> Event {
        let at_ns = self.at_ns;
        match delivery {
            Delivery::Opened => Event::Opened { slot, at_ns },
            Delivery::Refused => Event::OpenFailed { slot, class: ErrorClass::Connect, at_ns },
            Delivery::Closed => Event::Ended { slot, end: End::Closed, at_ns },
            Delivery::Reset(entry) => {
                self.take(entry);
                Event::Ended { slot, end: End::Reset, at_ns }
            }
            Delivery::Response { entry, status, nth, of, closes } => {
                if nth + 1 == of {
                    self.take(Some(entry));
                }
                match self.lines[slot as usize].streams.remove(&entry) {
                    Some(stream) => {
                        self.text.clear();
                        let (fields, ending) = (&[][..], Ending::Length);
                        let reply = Reply { status, reason: "", fields, ending, body: BODY };
                        respond(stream, &reply, &mut self.text);
                        self.part = 0..self.text.len();
                    }
                    None => self.write(status, (nth, of), closes),
                }
                self.received(slot)
            }
            Delivery::Settings | Delivery::Window { .. } | Delivery::Leave(_) => {
                self.text.clear();
                self.say(slot, delivery);
                self.part = 0..self.text.len();
                self.received(slot)
            }
        }
    }

    fn received(&self, slot: SlotId) -> Event {
        let buffer = Buffer { id: 0, length: self.part.len() as u32 };
        Event::Received { slot, at_ns: self.at_ns, buffer }
    }

    /// The worker has received the outcome of a request.
    fn take(&self, entry: Option<u32>) {
        if let Some(entry) = entry {
            let kept = &mut self.post.serving.borrow_mut().account[entry as usize];
            kept.taken_ns = self.at_ns;
        }
    }
}

impl Driver for Wired {
    fn now_ns(&self) -> u64 {
        self.pulse(|pulse| pulse.local_ns)
    }

    fn cpu_ns(&self) -> (u64, u64) {
        let cpu_ns = self.pulse(|pulse| pulse.cpu_ns);
        (cpu_ns / 4, cpu_ns - cpu_ns / 4)
    }

    fn open(&mut self, slot: SlotId, _route: u32) {
        self.pulse(Pulse::send);
        let now_ns = self.now_ns();
        self.post.serving.borrow_mut().connect(now_ns, self.wire(slot));
    }

    fn send(&mut self, slot: SlotId, span: Range<usize>, _ahead: Ahead) -> Sending {
        let (now_ns, end) = (self.now_ns(), self.wire(slot));
        for _ in 0..self.tape.count(&span) {
            self.post.serving.borrow_mut().send(now_ns, end);
        }
        self.pulse(Pulse::send);
        Sending::Done
    }

    fn outbox(&mut self, slot: SlotId) -> &mut Vec<u8> {
        &mut self.lines[slot as usize].outbox
    }

    fn send_outbox(&mut self, slot: SlotId, _ahead: Ahead) -> Sending {
        let line = &mut self.lines[slot as usize];
        let (bytes, mut peer) = (std::mem::take(&mut line.outbox), std::mem::take(&mut line.peer));
        let mut all = Vec::new();
        peer.take(&bytes, |asked| all.push(asked));
        self.lines[slot as usize].peer = peer;
        all.into_iter().for_each(|asked| self.hear(slot, asked));
        self.pulse(Pulse::send);
        Sending::Done
    }

    fn close(&mut self, slot: SlotId) {
        self.lines[slot as usize] = Line::default();
        let generation = &mut self.generations[slot as usize];
        *generation = generation.wrapping_add(1);
    }

    fn wait(&mut self, _now_ns: u64, until_ns: u64) -> u64 {
        let due_ns = self.woken.take().unwrap_or(until_ns);
        self.at_ns = self.pulse(|pulse| {
            pulse.wake(due_ns);
            pulse.turn();
            pulse.local_ns
        });
        let mut inboxes = self.post.inboxes.borrow_mut();
        let inbox = &mut inboxes[self.index as usize];
        while let Some(delivery) = inbox.pop(self.at_ns) {
            self.due.push_back(delivery);
        }
        self.at_ns
    }

    fn next(&mut self) -> Option<Event> {
        while let Some((end, delivery)) = self.due.pop_front() {
            if self.generations[end.slot as usize] == end.generation {
                self.pulse(Pulse::event);
                return Some(self.event(end.slot, delivery));
            }
        }
        None
    }

    fn bytes(&self, _buffer: Buffer) -> &[u8] {
        &self.text[self.part.clone()]
    }

    fn release(&mut self, _buffer: Buffer) {}
}
