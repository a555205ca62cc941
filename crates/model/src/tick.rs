//! What one worker reports about one interval: counters and distributions.
//!
//! The data plane fills ticks that were allocated before the run and passes them on whole; the
//! control plane merges and empties them. Nothing is ever derived here.

use crate::call::{self, CallStatus};
use crate::check::Check;
use crate::dist::ByDist;
use crate::fanout::{EventCounts, Subscription};
use crate::fault::Faults;
use crate::histogram::Histogram;
use crate::sample::Caught;
use crate::slow::Slow;
use crate::streams::StreamTally;
use crate::tls::TlsTally;
use crate::users::UserTally;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

crate::named! {
    /// Why an attempt failed. The names are those of the record.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ErrorClass {
        /// A connection attempt was refused, unreachable or too slow. Counts attempts.
        Connect = "connect",
        /// No complete response within the time-out. Counts requests.
        Timeout = "timeout",
        /// The connection was reset while a response was due. Counts requests.
        Reset = "reset",
        /// The peer closed the connection while a response was due. Counts requests.
        Closed = "closed",
        /// The response was not HTTP, truncated or oversized; [`Fault`](crate::fault::Fault) says
        /// which. Counts requests.
        Parse = "parse",
        /// Bytes that no request asked for came before the response. Counts requests.
        Unsolicited = "unsolicited",
        /// The server closed or reset the connection before any byte of the response, although it
        /// had answered others on it; or the request was pipelined behind a response that
        /// announced the end. Counts requests, which may be sent again (RFC 9112, 9.3.1).
        Unprocessed = "unprocessed",
        /// The server announced that it did not process the request: it refused the stream, or left
        /// the connection before it (HTTP/2, RFC 9113, 8.7). Counts requests.
        Refused = "refused",
        /// The server gave up the request, and the connection goes on: it reset the stream
        /// (HTTP/2). Counts requests.
        Aborted = "aborted",
        /// A TLS handshake failed. Counts attempts.
        Tls = "tls",
        /// No local port was free (EADDRNOTAVAIL). Counts attempts.
        Ports = "ports",
        /// No file descriptor was free (EMFILE, ENFILE). Counts attempts.
        Fds = "fds",
    }
    /// The name in the record and in tables.
    fn name, parse;
}

impl ErrorClass {
    /// Whether it counts requests, not attempts to connect.
    pub fn is_of_requests(self) -> bool {
        use ErrorClass::{Connect, Fds, Ports, Tls};
        !matches!(self, Connect | Tls | Ports | Fds)
    }
}

crate::named! {
    /// What a thread of the engine does. Readings know a thread by its name only.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ThreadKind {
        /// It sends requests and receives responses.
        #[default]
        Requesting = "worker",
        /// It receives events.
        Listening = "worker-sub",
    }
    /// What its threads are called, before their number.
    fn name, parse;
}

impl ThreadKind {
    /// What the thread of this name does; nothing when it is not a thread of the engine.
    pub fn of(thread: &str) -> Option<Self> {
        let (name, _) = thread.rsplit_once('-')?;
        Self::parse(name)
    }
}

crate::tally_by! {
    /// Errors by class.
    pub struct Errors of ErrorClass;
}

impl Errors {
    /// Requests that failed without a response: of all classes but those of attempts.
    pub fn requests(&self) -> u64 {
        let classes = ErrorClass::ALL.into_iter().filter(|class| class.is_of_requests());
        classes.map(|class| self.get(class)).sum()
    }

    /// Connection attempts that failed: connect, tls, ports and fds.
    pub fn attempts(&self) -> u64 {
        self.sum() - self.requests()
    }
}

crate::tally_by! {
    /// Responses that failed a check, by the first check that failed.
    pub struct Mismatches of Check;
}

/// First code of [`StatusCodes`]: interim responses (1xx) are skipped.
const FIRST_CODE: u16 = 200;
/// Codes from 200 to 999, of which those above 599 are read as server errors (RFC 9110 section 15),
/// and the numbers of statuses of calls.
const CODES: usize = (call::LAST - FIRST_CODE) as usize + 1;

/// Responses by their status: codes from 200 to 999, and those of calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusCodes([u64; CODES]);

impl Default for StatusCodes {
    fn default() -> Self {
        Self([0; CODES])
    }
}

impl StatusCodes {
    /// Adds responses with one status.
    #[inline]
    pub fn add(&mut self, status: u16, responses: u64) {
        let place = status.checked_sub(FIRST_CODE).map(usize::from);
        if let Some(count) = place.and_then(|place| self.0.get_mut(place)) {
            *count += responses;
        }
    }

    /// Adds those of another worker.
    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, part)| *sum += part);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Adds the good responses with status 200, which are all of class 2xx that were not added.
    pub fn complete(&mut self, responses_2xx: u64) {
        let others: u64 = self.0[..100].iter().sum();
        self.add(200, responses_2xx.saturating_sub(others));
    }

    /// Codes that occurred, with their counts.
    pub fn counted(&self) -> impl Iterator<Item = (u16, u64)> {
        let codes = (FIRST_CODE..).zip(self.0);
        codes.filter(|(_, count)| *count > 0)
    }
}

/// Outcomes of the requests of one target in one measured window.
#[derive(Debug, Clone, Default)]
pub struct TargetTally {
    /// Requests of the window. Failed connection attempts belong to no target.
    pub counters: Counters,
    /// Latency of the completed ones.
    pub latency: Histogram,
}

impl TargetTally {
    /// Adds those of another worker.
    pub fn merge(&mut self, other: &Self) {
        self.counters += &other.counters;
        self.latency.merge(&other.latency);
    }

    /// Empties it for its next use; keeps its memory.
    pub fn clear(&mut self) {
        self.counters = Counters::default();
        self.latency.clear();
    }
}

crate::tally! {
    add
    /// Outcomes of requests. At any instant `sent = completed + failed + in flight`, and when a
    /// window is closed the requests still in flight become `unanswered`.
    pub struct Counters {
        /// Passed to the kernel for the first time.
        pub sent: u64,
        /// Had a complete response with a good status (2xx, 3xx, or what a check calls good), and
        /// no check failed.
        pub completed: u64,
        /// Had a response with another status or a failed check, or none because of an error.
        pub failed: u64,
        /// Without a response when the drain ended.
        pub unanswered: u64,
        /// Due in the window and never sent: in open loop, or when a number of requests is to be
        /// sent and no connection can be opened any more.
        pub unsent: u64,
        /// Requests that were due while no connection had a free slot, and waited; open loop only.
        pub waited: u64,
        /// Those of them that waited for a connection whose server allows fewer requests at once
        /// than the level has per connection.
        pub limited: u64,
        /// Those that waited for a connection that had been lost and was opened again; HTTP/2 only.
        pub renewed: u64,
        /// Responses that came before the kernel had taken the whole request: the server did not
        /// read all of it before it responded. Part of `completed` and `failed`.
        pub early: u64,
        /// Good ones among them whose request never left whole, because the connection ended.
        pub cut_good: u64,
        /// Sent again after they were not processed: not counted in `sent` a second time.
        pub retried: u64,
        /// Complete responses by status class: 2xx, 3xx, 4xx, 5xx and above. Interim responses
        /// (1xx) do not count.
        pub status: [u64; 4] = each,
        /// Bytes of the requests sent.
        pub bytes_sent: u64,
        /// Those of them that the kernel never took, because the connection ended before.
        pub bytes_untaken: u64,
        /// Bytes of the complete responses, head, framing and body.
        pub bytes_received: u64,
        /// What they consist of.
        pub parts: Parts,
        /// Whole messages of replies that stream, counted as they arrive.
        pub messages: u64,
        /// Messages of conversations that were due: the first with its call, each other one with
        /// the reply to the one before it.
        pub messages_due: u64,
        /// Responses that failed a check, those with an error status left out: part of `failed`.
        pub mismatches: Mismatches,
        /// Why attempts and requests failed.
        pub errors: Errors,
    }
}

/// Index of a status in [`Counters::status`].
#[inline]
pub fn class_of(status: u16) -> usize {
    let http = if status < call::FIRST { status } else { meant_by(status) };
    (usize::from(http / 100) - 2).min(3)
}

// Cold: a call that is good has a status of HTTP.
#[inline(never)]
fn meant_by(status: u16) -> u16 {
    CallStatus::of_number(status).map_or(status, CallStatus::as_http)
}

impl Counters {
    /// Bytes of requests that the kernel took.
    pub fn bytes_taken(&self) -> u64 {
        self.bytes_sent.saturating_sub(self.bytes_untaken)
    }

    /// Complete responses with any status.
    pub fn responses(&self) -> u64 {
        self.status.iter().sum()
    }
}

crate::tally! {
    add
    /// What the bytes of complete responses consist of, besides status lines and marks.
    pub struct Parts {
        /// Bytes of bodies.
        pub body: u64,
        /// Bytes of the names and values of header fields; those of interim responses and those
        /// after a chunked body are left out.
        pub fields: u64,
        /// Those of `body` whose number no Content-Length announced.
        pub unannounced: u64,
    }
}

/// Which part of a level a request was sent in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// No load.
    #[default]
    Idle,
    /// Load that is not measured.
    Warmup,
    /// Load that is measured.
    Measure,
    /// No new requests; responses to measured ones are awaited.
    Drain,
}

crate::tally! {
    add
    /// Connections of one worker as they stand, and what happened to them since the level began.
    pub struct Connections {
        /// Open now.
        pub open: u64,
        /// Being opened now.
        pub opening: u64,
        /// Slots that reached open at least once since the level was ordered.
        pub opened: u64,
        /// Slots whose every attempt so far failed.
        pub failed: u64,
        /// Successful attempts after a slot had already been open.
        pub reopened: u64,
        /// Slots with at least one response to a measured request, with any status.
        pub served: u64,
        /// Connections closed because bytes came, other than empty lines, that no request asked
        /// for.
        pub unsolicited: u64,
    }
}

crate::tally! {
    add
    /// What happened to connections in an interval.
    pub struct Turnover {
        /// Attempts that were started.
        pub begun: u64,
        /// Attempts that succeeded.
        pub established: u64,
        /// Attempts that failed.
        pub failed: u64,
        /// Open connections that we closed first, and those whose response announced their end.
        pub closed_by_us: u64,
        /// Other open connections that the peer closed or reset first.
        pub closed_by_peer: u64,
        /// Those of them that the peer closed while a request was on its way.
        pub crossed: Crossed,
    }
}

crate::tally! {
    /// Connections that had answered, and were closed or reset before any byte of the next
    /// response: the close and a request crossed each other.
    pub struct Crossed {
        /// How many.
        pub connections: u64,
        /// Fewest and most responses on one of them; 0 without any.
        pub responses: (u64, u64),
        /// Shortest and longest time from the last byte received on one of them to the send of the
        /// request that met the close, nanoseconds; 0 without any.
        pub idle_ns: (u64, u64),
        /// Most responses on any connection that has ended, of whatever kind.
        pub responses_most: u64,
    }
}

impl Crossed {
    /// One connection.
    pub fn one(responses: u64, idle_ns: u64) -> Self {
        let (responses, idle_ns) = ((responses, responses), (idle_ns, idle_ns));
        Self { connections: 1, responses, idle_ns, responses_most: 0 }
    }
}

impl AddAssign<&Crossed> for Crossed {
    fn add_assign(&mut self, other: &Crossed) {
        self.responses_most = self.responses_most.max(other.responses_most);
        if other.connections == 0 {
            return;
        }
        if self.connections == 0 {
            (self.responses, self.idle_ns) = (other.responses, other.idle_ns);
        }
        self.connections += other.connections;
        for (mine, theirs) in
            [(&mut self.responses, other.responses), (&mut self.idle_ns, other.idle_ns)]
        {
            *mine = (mine.0.min(theirs.0), mine.1.max(theirs.1));
        }
    }
}

crate::tally! {
    add
    /// Connections of devices that were due in the measured window; open loop only. Every planned
    /// one is begun or unsent, and every begun one is established, failed or pending.
    pub struct Starts {
        /// Attempts that were started.
        pub begun: u64,
        /// Those that succeeded, also after the window.
        pub established: u64,
        /// Those that failed.
        pub failed: u64,
        /// Those that were neither open nor failed when the level ended.
        pub pending: u64,
        /// Due in the window and never started: no device was free.
        pub unsent: u64,
        /// Those that were due while no device was free, and waited.
        pub waited: u64,
    }
}

crate::tally! {
    add
    /// How the loop of one worker spent an interval.
    pub struct Loop {
        /// Turns of the loop.
        pub turns: u64,
        /// Longest time between a wait returning and the next wait, nanoseconds. Stamps taken in
        /// one turn can be wrong by this much.
        pub turn_max_ns: u64 = largest,
        /// Sum of those times, nanoseconds.
        pub turn_sum_ns: u64,
        /// Time spent polling the clock for the next planned instant, which was so near that a
        /// sleep would have ended late, nanoseconds. Open loop only; it is CPU time.
        pub spin_ns: u64,
        /// CPU time of the worker thread in user mode, nanoseconds.
        pub cpu_user_ns: u64,
        /// CPU time of the worker thread in the kernel, nanoseconds.
        pub cpu_system_ns: u64,
        /// Integral of requests in flight over time, request-nanoseconds.
        pub in_flight_ns: u128,
        /// Bytes read from sockets, whether or not they became responses.
        pub socket_bytes: u64,
        /// Those that answer no request of the level: none was in flight on their connection, or it
        /// was sent in an earlier level.
        pub stray_bytes: u64,
    }
}

/// One interval of one worker. All counts are of this interval, except [`Tick::connections`],
/// which is a state.
///
/// For a worker with subscribers, `completed` counts events in place of requests, and a connection
/// is served when its stream is accepted.
#[derive(Debug, Default)]
pub struct Tick {
    /// Which worker, from 0.
    pub worker: u32,
    /// Number of the load order this interval belongs to; 0 before the first.
    pub load: u32,
    /// Part of the level at the end of the interval.
    pub phase: Phase,
    /// Start of the interval, monotonic nanoseconds.
    pub begin_ns: u64,
    /// End of the interval, monotonic nanoseconds.
    pub end_ns: u64,
    /// Whether this is the last tick of its load order.
    pub last: bool,
    /// When the latest outcome of a measured request was known (a response with any status, a
    /// failure, or that none came), monotonic nanoseconds; 0 for none.
    pub fate_ns: u64,
    /// Requests of the measured part, credited in the interval in which things happened. Failed
    /// connection attempts count here from the order to connect on.
    pub measured: Counters,
    /// Responses to measured requests, by code, except good ones with 200: those are the rest of
    /// `measured.status`.
    pub codes: StatusCodes,
    /// Those among them whose status made them failures: 400 and more, unless a check calls it
    /// good.
    pub error_codes: StatusCodes,
    /// The first response of each kind of failure of this level, if it came in this interval; also
    /// of the warm-up.
    pub caught: Vec<Caught>,
    /// All other requests: of the warm-up, and responses later than the drain.
    pub unmeasured: Counters,
    /// The shortest time from a send of the warm-up to its good response. The first requests of a
    /// level reach a server that has nothing else to do.
    pub warmup_fastest_ns: Option<u64>,
    /// Connections as they stand.
    pub connections: Connections,
    /// What happened to connections in the interval.
    pub turnover: Turnover,
    /// Connections that were due in the window, where devices start on a schedule.
    pub starts: Starts,
    /// Connections that were given up for what came on them, by reason; of the whole level.
    pub faults: Faults,
    /// Handshakes and tunnels.
    pub tls: TlsTally,
    /// Streams of HTTP/2.
    pub streams: StreamTally,
    /// Users of a flow.
    pub users: UserTally,
    /// How the loop spent the interval.
    pub accounting: Loop,
    /// Its distributions.
    pub histograms: ByDist<Histogram>,
    /// Connections established by each route of the job.
    pub opened_on: Vec<u64>,
    /// By target, of the whole window: filled in the last tick of a load order when there is more
    /// than one target, else empty.
    pub targets: Vec<TargetTally>,
    /// The slowest requests of the whole window, in any order: filled in the last tick of a load
    /// order. When there are [`SLOW_MAX`](crate::slow::SLOW_MAX), others may have taken as long as
    /// the fastest of them. Empty in the sums of a fleet.
    pub slowest: Vec<Slow>,
    /// Events of the measured window; of a worker with subscribers.
    pub events: EventCounts,
    /// What each subscriber of the worker saw around the window: filled in the last tick of a load
    /// order, else empty.
    pub subscriptions: Vec<Subscription>,
}

impl Tick {
    /// Empties the tick for its next use; keeps its memory.
    pub fn clear(&mut self) {
        self.last = false;
        self.fate_ns = 0;
        self.measured = Counters::default();
        self.codes.clear();
        self.error_codes.clear();
        self.caught.clear();
        self.unmeasured = Counters::default();
        self.warmup_fastest_ns = None;
        self.faults = Faults::default();
        self.tls = TlsTally::default();
        self.streams = StreamTally::default();
        self.users = UserTally::default();
        self.accounting = Loop::default();
        self.turnover = Turnover::default();
        self.starts = Starts::default();
        self.histograms.iter_mut().for_each(Histogram::clear);
        self.opened_on.fill(0);
        self.targets.iter_mut().for_each(TargetTally::clear);
        self.slowest.clear();
        self.events = EventCounts::default();
        self.subscriptions.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_classes_fall_in_two_groups() {
        let mut errors = Errors::default();
        for class in ErrorClass::ALL {
            errors.add(class, 1);
        }
        assert_eq!((errors.requests(), errors.attempts()), (8, 4));
    }

    #[test]
    fn counters_add_up_field_by_field() {
        let mut sum = Counters { sent: 2, status: [1, 0, 0, 1], ..Counters::default() };
        let other = Counters { sent: 3, status: [2, 0, 0, 0], ..Counters::default() };
        sum += &other;
        assert_eq!((sum.sent, sum.status), (5, [3, 0, 0, 1]));
    }

    #[test]
    fn crossed_closes_keep_the_least_and_the_most() {
        let mut sum = Crossed { responses_most: 7, ..Crossed::default() };
        [Crossed::one(5, 900), Crossed::default(), Crossed::one(4, 1000)]
            .iter()
            .for_each(|one| sum += one);
        assert_eq!((sum.connections, sum.responses, sum.idle_ns), (2, (4, 5), (900, 1000)));
        assert_eq!(sum.responses_most, 7);
    }
}
