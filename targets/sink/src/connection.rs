//! One connection, sans IO: bytes and their arrival in, bytes out, and no response before it is
//! due.
//!
//! Responses wait in a queue in the order of their requests. Equal responses to requests of the
//! same recv are one entry with a count, so that a pipeline of a thousand requests costs one entry,
//! one clock read and one bucket of the record. The bytes to write follow from the front of the
//! queue and the number of its bytes that were already sent (`response.rs`).

use std::collections::VecDeque;
use std::sync::Arc;

use crate::arrivals::Arrivals;
use crate::capacity::Capacity;
use crate::fault::Fate;
use crate::head::{Head, Persistence};
use crate::plan::{Ending, Notice, Pace, Service};
use crate::random::Random;
use crate::refusal::Refusal;
use crate::request::{Event, Memo, Parser};
use crate::response::{Content, Extent, Response};
use crate::route::Route;
use crate::stats::Record;
use crate::sys::thread_cpu_ns;

/// A connection with this many entries in its queue is not read until there are fewer.
pub const QUEUE_MAX: usize = 16_384;
/// Most bytes that are copied together for one send.
pub const OUT_BYTES: usize = 256 * 1024;
/// A generated body longer than this is sent in place instead of being copied.
const DIRECT_BYTES: u64 = 16 * 1024;
/// Queue entries whose memory a closed connection keeps for the next one.
const QUEUE_KEPT: usize = 64;

/// What a thread needs to turn requests into responses.
#[derive(Debug)]
pub struct Clerk {
    /// How requests are treated.
    pub service: Service,
    /// The last head.
    pub memo: Memo,
    /// The random numbers.
    pub random: Random,
    /// The log of arrivals, if there is one.
    pub arrivals: Option<Arrivals>,
    /// How many requests are served at a time, if that is limited.
    pub capacity: Option<Arc<Capacity>>,
}

impl Clerk {
    /// When the response to a request that arrived at `arrival_ns` is due.
    #[inline]
    fn due_ns(&mut self, arrival_ns: u64) -> u64 {
        let Service { delay, start_ns, .. } = self.service;
        let random = &mut self.random;
        match &self.capacity {
            None => delay.due_ns(arrival_ns, start_ns, random),
            Some(capacity) => {
                capacity.serve(arrival_ns, |begin_ns| delay.due_ns(begin_ns, start_ns, random))
            }
        }
    }
}

/// One connection.
#[derive(Debug, Default)]
pub struct Connection {
    parser: Parser,
    queue: VecDeque<Pending>,
    /// Bytes of the front response that were sent.
    sent: u64,
    /// Requests taken.
    taken: u64,
    /// The text of [`Content::Text`] at the front.
    text: Vec<u8>,
    /// When the next piece may be written, if responses are written in pieces.
    piece_due_ns: u64,
    input: Input,
    leftover: Leftover,
}

/// Whether more requests are accepted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Input {
    #[default]
    Open,
    /// No: the connection ends after the responses in the queue.
    Closed(Ending),
}

/// Whether unread bytes have arrived or may still arrive.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Leftover {
    /// None are expected.
    #[default]
    None,
    /// Closing at once would make the kernel send a reset, which can overtake the last response.
    Likely,
}

/// Responses that are not due yet.
#[derive(Debug, Clone, Copy)]
struct Pending {
    response: Response,
    purpose: Purpose,
    arrival_ns: u64,
    due_ns: u64,
    /// Length of one response.
    bytes: u64,
    count: u32,
}

/// What a response is for, which decides where it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Request,
    Refusal,
    Interim,
    /// `/stats`: its text is made when everything before it was sent.
    Stats(Errand, Text),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Missing,
    There,
}

/// What has to be done before a response about the record can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errand {
    /// Read it.
    Read,
    /// Clear it.
    Reset,
}

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Requests.
    Input,
    /// A time.
    At(u64),
    /// The text of an errand.
    Text(Errand),
    /// Nothing: it is to be closed.
    End(Ending, Leftover),
}

/// A range of bytes of a generated body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatternSpan {
    /// The first byte.
    pub from: u64,
    /// The byte after the last.
    pub until: u64,
}

impl Connection {
    /// Resets it for the next client and keeps some of the memory.
    pub fn clear(&mut self) {
        self.parser.clear();
        self.queue.clear();
        self.queue.shrink_to(QUEUE_KEPT);
        self.text = Vec::new();
        (self.sent, self.taken, self.piece_due_ns) = (0, 0, 0);
        (self.input, self.leftover) = (Input::Open, Leftover::None);
    }

    /// Whether bytes should be read for it.
    pub fn wants_input(&self) -> bool {
        self.input == Input::Open && self.queue.len() < QUEUE_MAX
    }

    /// Requests that have arrived and have no response yet.
    pub fn unanswered(&self) -> u64 {
        let requests = self.queue.iter().filter(|pending| pending.purpose == Purpose::Request);
        requests.map(|pending| u64::from(pending.count)).sum()
    }

    /// Processes bytes that a recv delivered at `arrival_ns`.
    pub fn receive(
        &mut self,
        mut bytes: &[u8],
        arrival_ns: u64,
        clerk: &mut Clerk,
        record: &mut Record,
    ) {
        record.bytes_received += bytes.len() as u64;
        while self.input == Input::Open {
            match self.parser.receive(&mut bytes, &mut clerk.memo) {
                Ok(Some(Event::Request { head, bytes })) => {
                    self.take(head, bytes, arrival_ns, clerk, record);
                }
                Ok(Some(Event::Pause)) => self.push_other(
                    Purpose::Interim,
                    Response::whole(Content::Continue, Persistence::Keep),
                    arrival_ns,
                ),
                Ok(None) => return,
                Err(refusal) => self.refuse(refusal, arrival_ns),
            }
        }
        if !bytes.is_empty() {
            self.leftover = Leftover::Likely;
        }
    }

    /// The client has sent FIN: queued requests get their responses, then the connection ends.
    pub fn end_of_input(&mut self) {
        if self.input == Input::Open {
            self.input = Input::Closed(Ending::Orderly);
        }
    }

    #[inline]
    fn take(
        &mut self,
        head: Head,
        bytes: u64,
        arrival_ns: u64,
        clerk: &mut Clerk,
        record: &mut Record,
    ) {
        match head.route {
            Route::Stats => self.take_errand(Errand::Read, head, bytes, arrival_ns, record),
            Route::StatsReset => self.take_errand(Errand::Reset, head, bytes, arrival_ns, record),
            _ => self.take_request(head, arrival_ns, clerk),
        }
    }

    /// `/stats` is not counted in the record.
    fn take_errand(
        &mut self,
        errand: Errand,
        head: Head,
        bytes: u64,
        arrival_ns: u64,
        record: &mut Record,
    ) {
        record.bytes_received = record.bytes_received.saturating_sub(bytes);
        let response = Response {
            content: Content::Text,
            extent: head.wants.into(),
            persistence: head.persistence,
        };
        self.push_other(Purpose::Stats(errand, Text::Missing), response, arrival_ns);
        self.apply_persistence(head.persistence);
    }

    fn take_request(&mut self, head: Head, arrival_ns: u64, clerk: &mut Clerk) {
        self.taken += 1;
        if let Some(arrivals) = &mut clerk.arrivals {
            arrivals.add(arrival_ns);
        }
        burn(clerk.service.burn_ns);
        let mut response = Response {
            content: content(head.route, head.persistence),
            extent: head.wants.into(),
            persistence: head.persistence,
        };
        let mut due_ns = arrival_ns;
        if head.route != Route::Healthz {
            due_ns = clerk.due_ns(arrival_ns);
            self.spoil(&mut response, clerk.service.faults.draw(&mut clerk.random));
        }
        let service = &clerk.service;
        self.apply_persistence(head.persistence);
        if self.taken == service.close.responses {
            if service.close.notice == Notice::Said {
                response.persistence = Persistence::Close;
            }
            self.input = Input::Closed(service.close.ending);
        }
        self.push_request(response, arrival_ns, due_ns);
    }

    fn spoil(&mut self, response: &mut Response, fate: Fate) {
        match fate {
            Fate::Good => {}
            Fate::Status(status) => response.content = Content::Status(status),
            Fate::Garbage => {
                (response.content, response.extent) = (Content::Garbage, Extent::Whole)
            }
            // A response to HEAD has no body to truncate.
            Fate::Truncated if response.extent == Extent::HeadOnly => {}
            Fate::Truncated => {
                response.extent = Extent::Half;
                self.input = Input::Closed(Ending::Orderly);
            }
        }
    }

    fn apply_persistence(&mut self, persistence: Persistence) {
        if matches!(persistence, Persistence::Close | Persistence::CloseOld) {
            self.input = Input::Closed(Ending::Orderly);
        }
    }

    fn refuse(&mut self, refusal: Refusal, arrival_ns: u64) {
        let response = Response::whole(Content::Status(refusal.status()), Persistence::Close);
        self.push_other(Purpose::Refusal, response, arrival_ns);
        self.input = Input::Closed(Ending::Orderly);
        self.leftover = Leftover::Likely;
    }

    #[inline]
    fn push_request(&mut self, response: Response, arrival_ns: u64, due_ns: u64) {
        if let Some(last) = self.queue.back_mut()
            && last.response == response
            && last.arrival_ns == arrival_ns
            && last.due_ns == due_ns
            && last.purpose == Purpose::Request
            && last.count < u32::MAX
        {
            last.count += 1;
            return;
        }
        let bytes = response.len(&[]);
        let purpose = Purpose::Request;
        self.queue.push_back(Pending { response, purpose, arrival_ns, due_ns, bytes, count: 1 });
    }

    fn push_other(&mut self, purpose: Purpose, response: Response, arrival_ns: u64) {
        let bytes = response.len(&[]);
        let due_ns = arrival_ns;
        self.queue.push_back(Pending { response, purpose, arrival_ns, due_ns, bytes, count: 1 });
    }

    /// Sets the text of the front response, as [`Next::Text`] requested.
    pub fn give_text(&mut self, text: String) {
        let Some(front) = self.queue.front_mut() else { return };
        if let Purpose::Stats(_, state @ Text::Missing) = &mut front.purpose {
            *state = Text::There;
            self.text = text.into_bytes();
            front.bytes = front.response.len(&self.text);
        }
    }

    /// Writes everything that is due at `now_ns` into `out`, as far as it fits. A long generated
    /// body that follows `out` on the wire is returned instead of copied.
    pub fn write_due(&self, now_ns: u64, out: &mut Vec<u8>) -> Option<PatternSpan> {
        let mut from = self.sent;
        for pending in self.queue.iter().take_while(|pending| pending.is_ready(now_ns)) {
            for _ in 0..pending.count {
                if pending.bytes - from > DIRECT_BYTES
                    && let Some(begin) = pending.response.pattern_begin()
                {
                    pending.response.append(&self.text, from, begin.max(from), out);
                    let from = from.saturating_sub(begin);
                    return Some(PatternSpan { from, until: pending.bytes - begin });
                }
                let room = (OUT_BYTES - out.len()) as u64;
                let until = pending.bytes.min(from + room);
                pending.response.append(&self.text, from, until, out);
                if until < pending.bytes {
                    return None;
                }
                from = 0;
            }
        }
        None
    }

    /// Writes the next piece into `out` if a response and its piece are due at `now_ns`.
    pub fn write_piece(&self, now_ns: u64, pace: Pace, out: &mut Vec<u8>) {
        let Some(front) = self.queue.front() else { return };
        if front.is_ready(now_ns) && self.piece_due_ns <= now_ns {
            let until = front.bytes.min(self.sent + pace.piece_bytes);
            front.response.append(&self.text, self.sent, until, out);
        }
    }

    /// Schedules the next piece one interval after this one was due.
    pub fn piece_sent(&mut self, now_ns: u64, pace: Pace) {
        let planned_ns = self.piece_due_ns + pace.interval_ns;
        // A connection that was idle, or is late by more than an interval, does not catch up.
        self.piece_due_ns =
            if planned_ns > now_ns { planned_ns } else { now_ns + pace.interval_ns };
    }

    /// The kernel accepted `bytes` of what was written, at `now_ns`.
    pub fn advance(&mut self, mut bytes: u64, now_ns: u64, record: &mut Record) {
        record.responses_bytes += bytes;
        while let Some(front) = self.queue.front_mut() {
            let left = front.bytes - self.sent;
            if bytes < left {
                self.sent += bytes;
                return;
            }
            bytes -= left;
            self.sent = 0;
            let more = bytes.checked_div(front.bytes).unwrap_or(0).min(u64::from(front.count - 1));
            bytes -= more * front.bytes;
            let done = 1 + more as u32;
            front.count_in(done, now_ns, record);
            front.count -= done;
            if front.count == 0 {
                self.queue.pop_front();
            }
            if bytes == 0 {
                return;
            }
        }
    }

    /// What the connection needs before more can be written.
    pub fn next(&self) -> Next {
        match (self.queue.front(), self.input) {
            (Some(front), _) => match front.purpose {
                Purpose::Stats(errand, Text::Missing) => Next::Text(errand),
                _ => Next::At(front.due_ns.max(self.piece_due_ns)),
            },
            (None, Input::Open) => Next::Input,
            (None, Input::Closed(ending)) => Next::End(ending, self.leftover),
        }
    }
}

impl Pending {
    #[inline]
    fn is_ready(&self, now_ns: u64) -> bool {
        self.due_ns <= now_ns && !matches!(self.purpose, Purpose::Stats(_, Text::Missing))
    }

    #[inline]
    fn count_in(&self, done: u32, now_ns: u64, record: &mut Record) {
        match self.purpose {
            Purpose::Request => record.serve(now_ns - self.arrival_ns, done.into()),
            Purpose::Refusal => record.requests_refused += 1,
            Purpose::Interim => {}
            Purpose::Stats(..) => {
                record.responses_bytes = record.responses_bytes.saturating_sub(self.bytes);
            }
        }
    }
}

impl Response {
    fn whole(content: Content, persistence: Persistence) -> Self {
        Self { content, extent: Extent::Whole, persistence }
    }
}

fn content(route: Route, persistence: Persistence) -> Content {
    match route {
        Route::Simple | Route::Stats | Route::StatsReset => Content::Simple,
        Route::Healthz => Content::Healthz,
        Route::Bytes(size) => Content::Bytes(size),
        Route::Chunked(size) => match persistence {
            // An HTTP/1.0 client that keeps its connection needs the length.
            Persistence::KeepOld => Content::Bytes(size),
            Persistence::CloseOld => Content::UntilClose(size),
            Persistence::Keep | Persistence::Close => Content::Chunked(size),
        },
        Route::Status(status) => Content::Status(status),
    }
}

/// Spends CPU time of this thread. Not wall time: a throttled or preempted thread must still do its
/// work.
#[inline]
fn burn(cpu_ns: u64) {
    if cpu_ns == 0 {
        return;
    }
    let end_ns = thread_cpu_ns() + cpu_ns;
    while thread_cpu_ns() < end_ns {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
#[path = "connection_tests.rs"]
mod tests;
