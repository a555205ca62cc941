//! Responses: received bytes are split into responses, and each is booked with its request.
//!
//! For: everything a worker does with received bytes, until the connection can take requests again
//! or is no longer usable.
//! In: a buffer, or the end of a connection. Out: entries in the ledger, the tally of targets and
//! the tick; the cause for which a connection is given up.
//! Never: a send, or what happens to the connection.
//!
//! A mix tells responses apart by target and checks them. Whether a tape is a mix is known before
//! the run. The loop that reads responses is compiled twice from the same source: the version for
//! plain requests leaves out everything about mixes.
//!
//! Hot: runs for every response.

mod odd;

use self::odd::Early;
use super::users::Users;
use super::{Cause, Requester, Worker};
use crate::checks::Checks;
use crate::driver::{Buffer, Driver, End, SlotId};
use crate::flight::Batch;
use crate::ledger::{Ledger, Stamp, Streak};
use crate::messages::Messages;
use crate::pool::Link;
use crate::samples::{Following, Place, Samples};
use crate::shard::Shard;
use crate::slowest::Slowest;
use crate::tally::{self, Tally};
use model::slow::{Slow, SlowEnd};
use model::tick::{ErrorClass, Tick};
use wire::response::{Expect, Outcome, ProtocolError, Response};
use wire::rules::Fate;
use wire::session::{RequestId, ResponseOrder, Session};
use wire::tape::Tape;

/// The kind of requests that are sent, as far as responses depend on it.
trait SentKind {
    /// Whether responses have targets, checks or messages that are counted.
    const IS_MIXED: bool;
}

/// One request without checks, whose response is one thing.
struct Plain;

/// More than one target, checks, or replies that are streams of messages.
struct Mixed;

impl SentKind for Plain {
    const IS_MIXED: bool = false;
}

impl SentKind for Mixed {
    const IS_MIXED: bool = true;
}

impl<D: Driver, S: Session> Worker<D, S> {
    #[inline]
    pub(super) fn received(&mut self, slot: SlotId, at_ns: u64, buffer: Buffer) {
        self.recorder.tick.accounting.socket_bytes += u64::from(buffer.length);
        let cause = if self.is_plain {
            self.read_responses::<Plain>(slot, at_ns, buffer)
        } else {
            self.read_responses::<Mixed>(slot, at_ns, buffer)
        };
        self.driver.release(buffer);
        if S::WRITES && cause.is_some() {
            self.take_leave(slot);
        }
        if S::WRITES && self.pool.link(slot) == Link::Opening {
            return self.greeted(slot, cause, at_ns);
        }
        match cause {
            None if S::FILLS && !self.is_left(slot) => self.follow(slot, at_ns),
            None if S::WRITES && self.is_left(slot) => self.abandon(slot, Cause::Order, at_ns),
            None if self.is_used_up(slot) => self.abandon(slot, Cause::Planned, at_ns),
            None => self.top_up(slot, at_ns),
            Some(cause) => self.abandon(slot, cause, at_ns),
        }
    }

    /// Takes all responses out of a buffer; returns the cause when the connection is no longer
    /// usable.
    #[inline]
    fn read_responses<K: SentKind>(
        &mut self,
        slot: SlotId,
        at_ns: u64,
        buffer: Buffer,
    ) -> Option<Cause> {
        let mut input = self.driver.bytes(buffer);
        let state = self.pool.state(slot);
        // Where a session writes, requests before the one that is answered may be held back.
        let is_watched = !S::WRITES && state.sending;
        let early = is_watched.then(|| Early::begin(&self.recorder.tick, state.responses));
        state.heard_ns = at_ns;
        let mut books = Books {
            tape: &self.tape,
            memories: &mut self.memories,
            checks: &mut self.checks,
            messages: &mut self.messages,
            users: &mut self.users,
            ledger: &mut self.ledger,
            tally: &mut self.tally,
            samples: &mut self.samples,
            slowest: &mut self.slowest,
            shard: &self.shard,
            tick: &mut self.recorder.tick,
            offered: input.len(),
        };
        let mut cause = None;
        while has_more::<S>(input) && cause.is_none() {
            let request = match state.session.addressee(&mut input) {
                Ok(Some(request)) => request,
                Ok(None) => break,
                Err(error) => {
                    let before = (&state.session, Expect::Body);
                    cause = Some(books.refuse(before, error, (&[], 0), at_ns));
                    break;
                }
            };
            let Some(&(mut batch)) = self.flights.of(slot, request) else {
                // Handled after the loop, which keeps the loop short.
                break;
            };
            let landed;
            (landed, cause) =
                books.read::<K>((slot, request), state, &mut batch, &mut input, at_ns);
            self.flights.land(slot, request, landed, batch.position);
        }
        if cause.is_none() && !input.is_empty() {
            cause = books.unasked(state, input, at_ns);
        }
        if S::WRITES {
            books.tick.accounting.stray_bytes += state.session.take_stray();
            state.session.tell(&mut books.tick.streams);
        }
        if let Some(early) = early {
            self.count_early(slot, early);
        }
        cause
    }

    /// The peer or the network ended the connection.
    pub(super) fn ended(&mut self, slot: SlotId, end: End, at_ns: u64) {
        let class = match end {
            End::Closed | End::Truncated => ErrorClass::Closed,
            End::Reset => ErrorClass::Reset,
        };
        if S::WRITES && self.pool.link(slot) == Link::Opening {
            return self.open_failed(slot, ErrorClass::Connect, at_ns);
        }
        let state = self.pool.state(slot);
        state.peer_ended = true;
        let early = state.sending.then(|| Early::begin(&self.recorder.tick, state.responses));
        let Some(&batch) = self.flights.oldest(slot) else {
            return self.abandon(slot, Cause::Order, at_ns);
        };
        match state.session.end() {
            Ok(Some(response)) if end == End::Closed => {
                self.flights.land(slot, RequestId::Oldest, 1, self.tape.advance(batch.position, 1));
                state.responses += 1;
                let mut books = Books::<S> {
                    tape: &self.tape,
                    memories: &mut self.memories,
                    checks: &mut self.checks,
                    messages: &mut self.messages,
                    users: &mut self.users,
                    ledger: &mut self.ledger,
                    tally: &mut self.tally,
                    samples: &mut self.samples,
                    slowest: &mut self.slowest,
                    shard: &self.shard,
                    tick: &mut self.recorder.tick,
                    offered: 0,
                };
                let mut streak = books.ledger.streak(stamp_of(&batch));
                let place = (slot, state.responses - 1);
                let (read, pace) = ((response, &[][..]), books.pace(&batch, at_ns));
                let at = (place, RequestId::Oldest, at_ns);
                state.served += books.book::<Mixed>(&mut streak, at, (&batch, pace), read);
                books.ledger.settle(books.tick, streak, at_ns);
                books.ledger.consist(books.tick, batch.epoch, &state.session.take_parts());
                if let Some(early) = early {
                    self.count_early(slot, early);
                }
                self.abandon(slot, Cause::Order, at_ns);
            }
            Err(ProtocolError::Truncated) if end == End::Closed => {
                self.note_progress(slot, ProtocolError::Truncated, at_ns);
                self.fail_one(slot, ErrorClass::Parse, at_ns);
                self.abandon(slot, Cause::Failure(class), at_ns);
            }
            // A protocol without order says itself which requests it has not processed.
            Ok(None) if S::ORDER == ResponseOrder::OfRequests && state.responses > 0 => {
                self.abandon(slot, Cause::Crossed, at_ns)
            }
            _ => self.abandon(slot, Cause::Failure(class), at_ns),
        }
    }

    /// The oldest request of a connection failed.
    fn fail_one(&mut self, slot: SlotId, class: ErrorClass, at_ns: u64) {
        let Some(&batch) = self.flights.oldest(slot) else { return };
        self.flights.land(slot, RequestId::Oldest, 1, self.tape.advance(batch.position, 1));
        self.fail(Batch { count: 1, ..batch }, class, at_ns);
    }
}

/// Whether a session may have something to tell: bytes, or where responses come in any order also
/// what it knows without more of them.
#[inline(always)]
fn has_more<S: Session>(input: &[u8]) -> bool {
    S::ORDER == ResponseOrder::Any || !input.is_empty()
}

/// Whether requests are among the slowest so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    Usual,
    Slow,
}

/// Everything needed to read a response and to book it.
struct Books<'a, S: Session> {
    tape: &'a Tape,
    memories: &'a mut [S::Memory],
    checks: &'a mut Checks,
    messages: &'a mut Messages,
    users: &'a mut Users,
    ledger: &'a mut Ledger,
    tally: &'a mut Tally,
    samples: &'a mut Samples,
    slowest: &'a mut Slowest,
    shard: &'a Shard,
    tick: &'a mut Tick,
    /// Bytes of the read.
    offered: usize,
}

impl<S: Session> Books<'_, S> {
    /// Reads the responses to requests that were sent together, as far as they have arrived.
    /// Returns how many, and the cause when the connection is no longer usable; `batch` moves past
    /// them.
    // Measured: a call here costs an eighth of a request.
    #[inline(always)]
    fn read<K: SentKind>(
        &mut self,
        (slot, request): (SlotId, RequestId),
        state: &mut Requester<S>,
        batch: &mut Batch,
        input: &mut &[u8],
        at_ns: u64,
    ) -> (u32, Option<Cause>) {
        let mut streak = self.ledger.streak(stamp_of(batch));
        let (offered, pace) = (input.len(), self.pace(batch, at_ns));
        let (mut landed, mut cause) = (0, None);
        while landed < batch.count && has_more::<S>(input) {
            let before = *input;
            let at = (request, batch.position);
            let received = self.receive::<K>((slot, &mut state.session), input, at);
            if K::IS_MIXED && self.messages.are_counted() {
                self.count_messages((slot, request), &mut state.session, batch, at_ns);
            }
            match received {
                Ok(Some(Outcome::Response(response))) => {
                    let read = &before[..before.len() - input.len()];
                    let read = (response, read);
                    let at = ((slot, state.responses), request, at_ns);
                    state.served += self.book::<K>(&mut streak, at, (batch, pace), read);
                    state.responses += 1;
                    landed += 1;
                    if S::WRITES {
                        self.samples.done(sampled((slot, 0), request));
                        if !self.ledger.is_open(batch.epoch) {
                            self.tick.accounting.stray_bytes += response.bytes;
                        }
                    }
                    batch.position = self.tape.advance(batch.position, 1);
                    if !response.reusable {
                        cause = Some(Cause::Order);
                        break;
                    }
                }
                Ok(Some(Outcome::Refused)) => {
                    self.samples.done(sampled((slot, 0), request));
                    self.fail(batch, ErrorClass::Refused, at_ns);
                    landed += 1;
                }
                Ok(Some(Outcome::Abandoned)) => {
                    self.samples.done(sampled((slot, 0), request));
                    self.fail(batch, ErrorClass::Aborted, at_ns);
                    landed += 1;
                }
                Ok(None) => {
                    if !S::WRITES && self.samples.is_following() {
                        self.samples.piece((slot, state.responses), before);
                    }
                    break;
                }
                Err(error) => {
                    let read = (before, before.len() - input.len());
                    let last = self.before(batch.position);
                    cause = Some(self.refuse((&state.session, last), error, read, at_ns));
                    break;
                }
            }
        }
        self.ledger.settle(self.tick, streak, at_ns);
        self.ledger.consist(self.tick, batch.epoch, &state.session.take_parts());
        if S::WRITES
            && let Some(counters) = self.ledger.counters(self.tick, batch.epoch)
        {
            counters.bytes_untaken += state.session.take_dropped();
        }
        if !S::WRITES && !self.ledger.is_open(batch.epoch) {
            // An earlier level was over before this response. What is left after a failure is not
            // read.
            let left = if cause.is_none() { input.len() } else { 0 };
            self.tick.accounting.stray_bytes += (offered - left) as u64;
        }
        (landed, cause)
    }

    /// Counts the messages that a read completed, of a reply that may be a stream of them.
    #[inline(never)]
    fn count_messages(
        &mut self,
        at: (SlotId, RequestId),
        session: &mut S,
        batch: &Batch,
        at_ns: u64,
    ) {
        let count = session.take_messages();
        if count.came > 0 {
            self.messages.came((&mut *self.tick, &*self.ledger), at, batch, (count, at_ns));
        }
    }

    /// Fails a request that the server did not answer, although the connection goes on.
    #[cold]
    fn fail(&mut self, batch: &Batch, class: ErrorClass, at_ns: u64) {
        if self.tally.is_by_target() && self.ledger.is_window(batch.epoch) {
            self.tally.fail(batch, class);
        }
        self.ledger.fail(self.tick, at_ns, batch.epoch, class, u64::from(batch.count));
    }

    /// Lets a session receive the response to a request, which is the one at `position`.
    #[inline(always)]
    fn receive<K: SentKind>(
        &mut self,
        (slot, session): (SlotId, &mut S),
        input: &mut &[u8],
        (request, position): (RequestId, u32),
    ) -> Result<Option<Outcome>, ProtocolError> {
        let target = if K::IS_MIXED { tally::place(self.tape, position) } else { 0 };
        let (memory, expect) = (&mut self.memories[target], self.tape.expect(position));
        let (from, which) = ((slot, session), (request, position));
        if S::FILLS {
            return self.users.receive(from, input, expect, (memory, ()));
        }
        if S::WRITES {
            let place = sampled((slot, 0), request);
            let mut watch = Following { samples: self.samples, place };
            return match K::IS_MIXED {
                true => self.checks.receive(from, input, which, (memory, watch)),
                false => from.1.receive(input, expect, memory, &mut watch),
            };
        }
        match K::IS_MIXED {
            true => self.checks.receive(from, input, which, (memory, ())),
            false => from.1.receive(input, expect, memory, &mut ()),
        }
    }

    /// Books the response to the first request of `batch`, to which `streak` belongs, with its
    /// bytes from the last read. Returns 1 when it answers a measured request, else 0.
    #[inline]
    fn book<K: SentKind>(
        &mut self,
        streak: &mut Streak,
        (place, request, at_ns): (Place, RequestId, u64),
        (batch, pace): (&Batch, Pace),
        (response, read): (Response, &[u8]),
    ) -> u64 {
        if !K::IS_MIXED {
            return match response.status {
                200 => {
                    self.time((place, at_ns), (batch, pace));
                    self.ledger.ok(streak, response)
                }
                status => {
                    let fate = Fate::of_status(status);
                    self.other((place, request, at_ns), (batch, pace), (response, read), fate)
                }
            };
        }
        let fate = match S::FILLS {
            true => {
                let times = (batch.sent_ns, at_ns);
                self.users.verdict(place.0, times, response, self.tick)
            }
            false => self.checks.verdict((place.0, request), batch.position, response),
        };
        if self.tally.is_by_target() && self.ledger.is_window(batch.epoch) {
            self.tally.response(batch, at_ns, response, fate);
        }
        match (fate, response.status) {
            (Fate::Good, 200) => {
                self.time((place, at_ns), (batch, pace));
                self.ledger.ok(streak, response)
            }
            _ => self.other((place, request, at_ns), (batch, pace), (response, read), fate),
        }
    }

    /// How long the requests of `batch` took that have their responses now. They were due together,
    /// so one look does for all.
    #[inline]
    fn pace(&self, batch: &Batch, at_ns: u64) -> Pace {
        let took_ns = at_ns.saturating_sub(batch.planned_ns);
        let is_slow = self.slowest.is_slow(took_ns) && self.ledger.is_window(batch.epoch);
        if is_slow { Pace::Slow } else { Pace::Usual }
    }

    /// Keeps the first request of `batch`, which has a good response, if it was slow.
    #[inline]
    fn time(&mut self, (place, at_ns): (Place, u64), (batch, pace): (&Batch, Pace)) {
        if pace == Pace::Slow {
            let who = Who { place, tape: self.tape, shard: self.shard };
            self.slowest.keep(slow(who, batch, at_ns, SlowEnd::Answered));
        }
    }

    /// Books a response that is not both good and of status 200.
    #[inline(never)]
    fn other(
        &mut self,
        (place, request, at_ns): (Place, RequestId, u64),
        (batch, pace): (&Batch, Pace),
        (response, read): (Response, &[u8]),
        fate: Fate,
    ) -> u64 {
        let check = match fate {
            Fate::Good | Fate::ErrorStatus => None,
            Fate::Mismatch(check) => Some(check),
        };
        if fate != Fate::Good || response.status >= 300 {
            let at = (sampled(place, request), at_ns);
            let what = (response, check);
            // The bytes of a session that writes are frames, which are no text to show.
            match S::WRITES && !S::FILLS {
                true => self.samples.catch_text(self.tick, at, what, batch.position),
                false => self.samples.catch(self.tick, at, what, read),
            }
        }
        if fate == Fate::Good {
            self.time((place, at_ns), (batch, pace));
            return self.ledger.good(self.tick, at_ns, stamp_of(batch), response);
        }
        self.ledger.bad(self.tick, at_ns, batch.epoch, response, check)
    }
}

/// Which response it is for samples: where requests have places, that of its request.
#[inline]
fn sampled((slot, before): Place, request: RequestId) -> Place {
    match request {
        RequestId::Oldest => (slot, before),
        RequestId::At(place) => (slot, u64::from(place)),
    }
}

/// Which request it is.
pub(super) struct Who<'a> {
    pub place: Place,
    pub tape: &'a Tape,
    pub shard: &'a Shard,
}

/// The first request of a batch, by itself.
#[cold]
pub(super) fn slow(who: Who<'_>, batch: &Batch, ended_ns: u64, end: SlowEnd) -> Slow {
    let (slot, before) = who.place;
    Slow {
        planned_ns: batch.planned_ns,
        sent_ns: batch.sent_ns,
        ended_ns,
        own_ns: 0,
        connection: who.shard.number(u64::from(slot)),
        before,
        target: tally::place(who.tape, batch.position) as u32,
        end,
    }
}

#[inline]
fn stamp_of(batch: &Batch) -> Stamp {
    Stamp { planned_ns: batch.planned_ns, sent_ns: batch.sent_ns, epoch: batch.epoch }
}
