//! One agent as the controller sees it.

use super::Event;
use crate::clock::{Evidence, FarClock};
use crate::frame::{Down, DownItem, Item, Up};
use crate::key::ControllerKey;
use crate::message::{Hello, Id};
use crate::order::{Envelope, Header};
use crate::stream::{DOWN_AGAIN_NS, Inbox, Outbox};
use crate::{BEAT_NS, LEASE_NS, ORDER_VALID_NS, SILENCE_NS};
use model::facts::ClockOffset;
use remote::Part;

/// After this many round trips a clock is known well; below, the pause between them, nanoseconds.
const TRIPS: u32 = 20;
const TRIP_NS: u64 = 50_000_000;
/// Round trips at the end of a job, which show how far a clock has drifted.
const TRIPS_AFTER: u32 = 5;
/// A lease is renewed this often while its agent has not answered for [`DOUBT_NS`], nanoseconds:
/// messages may be lost in a row, and none of them is sent again.
const DOUBT_BEAT_NS: u64 = 100_000_000;
/// An agent answers each beat. If it has not for this long, a message may be lost, nanoseconds.
const DOUBT_NS: u64 = 2 * BEAT_NS;
/// Agents without a job get a ping this often, nanoseconds.
const IDLE_BEAT_NS: u64 = 1_000_000_000;
/// An agent without a job that is silent for this long gets no messages, nanoseconds.
const GONE_NS: u64 = 10_000_000_000;
/// After so many turns, two processes have one name. A late message of a process that has ended
/// makes two.
const RETURNS: u32 = 3;
/// Most messages to one agent at once.
const MESSAGES_MAX: usize = 4;

/// An agent that said hello.
#[derive(Debug)]
pub struct Agent {
    hello: Hello,
    heard_ns: u64,
    /// When it last answered a ping: what it sends by itself does not show that messages arrive.
    answered_ns: u64,
    clock: FarClock,
    part: Part,
    /// How many round trips remain in the current series.
    trips_left: u32,
    sequence: u64,
    outbox: Outbox,
    inbox: Inbox,
    beat_ns: u64,
    owes_answer: bool,
    /// The process that had the name before this one, and how often it came back.
    earlier: Option<Id>,
    returns: u32,
}

impl Agent {
    pub(super) fn new(now_ns: u64, hello: Hello) -> Self {
        let clock = FarClock::of_hello(now_ns, hello.now_ns);
        Self {
            hello,
            heard_ns: now_ns,
            answered_ns: now_ns,
            clock,
            part: Part::Before,
            trips_left: TRIPS,
            sequence: 0,
            outbox: Outbox::new(DOWN_AGAIN_NS),
            inbox: Inbox::default(),
            beat_ns: now_ns,
            owes_answer: false,
            earlier: None,
            returns: 0,
        }
    }

    /// The agent after a restart of its process: nothing is in transit any more. Also returns
    /// whether it is clear by now that it is no restart: two processes have the name.
    pub(super) fn after(before: &Self, now_ns: u64, hello: Hello) -> (Self, bool) {
        let mut agent = Self { sequence: before.sequence, ..Self::new(now_ns, hello) };
        let is_double = agent.replaced(before);
        (agent, is_double)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.hello.agent
    }

    /// Its latest hello.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// When its latest message arrived, nanoseconds.
    pub fn heard_ns(&self) -> u64 {
        self.heard_ns
    }

    /// Its clock minus ours; `None` before the first round trip.
    pub fn clock(&self) -> Option<ClockOffset> {
        self.clock.offset()
    }

    /// Whether it has been silent lately.
    pub fn is_silent(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.heard_ns) > SILENCE_NS
    }

    /// Whether its clock is known well.
    pub(super) fn has_trips(&self) -> bool {
        self.trips_left == 0 && self.clock().is_some()
    }

    pub(super) fn has_taken_all(&self) -> bool {
        self.outbox.is_empty()
    }

    /// Starts a new series of round trips before a job, because clocks drift.
    pub(super) fn begin_trips(&mut self, now_ns: u64) {
        self.clock = FarClock::anew(&self.clock);
        (self.part, self.trips_left, self.beat_ns) = (Part::Before, TRIPS, now_ns);
    }

    pub(super) fn in_job(&mut self) {
        self.part = Part::During;
    }

    /// Starts a series of round trips at the end of a job.
    pub(super) fn end_trips(&mut self, now_ns: u64) {
        (self.part, self.trips_left, self.beat_ns) = (Part::After, TRIPS_AFTER, now_ns);
    }

    pub(super) fn out_of_job(&mut self) {
        self.part = Part::Before;
    }

    /// Notes that the process before this one had another challenge, or that it speaks again.
    /// Returns whether it is clear by now that two processes have the name.
    fn replaced(&mut self, before: &Self) -> bool {
        let is_back = before.earlier == Some(self.hello.challenge);
        self.earlier = Some(before.hello.challenge);
        self.returns = if is_back { before.returns.saturating_add(1) } else { 0 };
        self.returns == RETURNS
    }

    /// Whether two processes have its name.
    pub(super) fn is_doubled(&self) -> bool {
        self.returns >= RETURNS
    }

    pub(super) fn push(&mut self, job: Id, item: &DownItem) {
        self.outbox.push(item.to_bytes(job));
    }

    pub(super) fn send_again(&mut self, now_ns: u64) {
        self.outbox.send_again();
        self.beat_ns = now_ns;
    }

    pub(super) fn handle_hello(&mut self, now_ns: u64, hello: Hello) -> Option<Event> {
        self.heard_ns = now_ns;
        let evidence = self.clock.hello(now_ns, hello.now_ns);
        self.hello = hello;
        (evidence == Evidence::Set).then_some(Event::ClockSet)
    }

    /// Handles a frame of the current process of the agent.
    pub(super) fn heard(&mut self, now_ns: u64, up: &Up) -> Option<Event> {
        self.heard_ns = now_ns;
        self.outbox.acknowledged(up.ack);
        self.owes_answer |= !up.items.is_empty();
        let pong = up.pong?;
        self.answered_ns = now_ns;
        self.trips_left = self.trips_left.saturating_sub(1);
        let evidence = self.clock.pong(now_ns, &pong, self.part);
        (evidence == Evidence::Set).then_some(Event::ClockSet)
    }

    pub(super) fn put(&mut self, item: Item) {
        self.inbox.put(item);
    }

    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        self.inbox.take()
    }

    /// Signed orders that are due now. A beat carries an acknowledgement, a ping and, for an agent
    /// with a part in the job, its lease; items are sent at once.
    pub(super) fn due(
        &mut self,
        now_ns: u64,
        (fleet, controller): (&str, Id),
        lease: Option<Id>,
        key: &ControllerKey,
    ) -> Vec<Vec<u8>> {
        let mut orders = Vec::new();
        let is_gone = lease.is_none() && now_ns.saturating_sub(self.heard_ns) > GONE_NS;
        if is_gone {
            return orders;
        }
        for _ in 0..MESSAGES_MAX {
            let is_beat = now_ns >= self.beat_ns;
            let items = self.outbox.due(now_ns);
            if items.is_empty() && !is_beat {
                break;
            }
            if is_beat {
                self.beat_ns = now_ns + self.until_next_beat_ns(now_ns, lease.is_some());
            }
            let issued_ns = self.clock.far_now_ns(now_ns);
            let down = Down {
                ack: self.inbox.taken(),
                ping: is_beat.then(|| self.clock.ping(now_ns)),
                lease_until_ns: lease.map(|_| issued_ns.saturating_add(LEASE_NS)),
                items,
            };
            self.sequence += 1;
            let header = Header {
                fleet: fleet.to_string(),
                agent: self.hello.agent.clone(),
                controller,
                challenge: self.hello.challenge,
                job: lease.unwrap_or(Id::NONE),
                sequence: self.sequence,
                issued_ns,
                expires_ns: issued_ns.saturating_add(ORDER_VALID_NS),
            };
            orders.push(Envelope { header, payload: down.to_bytes() }.seal(key));
        }
        orders
    }

    fn until_next_beat_ns(&self, now_ns: u64, has_lease: bool) -> u64 {
        // Later its lease is over, and there is nothing to hold any more.
        let silent_ns = now_ns.saturating_sub(self.answered_ns);
        let is_in_doubt = (DOUBT_NS..SILENCE_NS).contains(&silent_ns);
        match (self.trips_left, has_lease) {
            (1.., _) => TRIP_NS,
            (0, true) if is_in_doubt => DOUBT_BEAT_NS,
            (0, true) => BEAT_NS,
            (0, false) => IDLE_BEAT_NS,
        }
    }
}
