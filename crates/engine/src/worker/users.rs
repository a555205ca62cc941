//! Users of a flow: each connection belongs to one, who takes the steps one after the other.
//!
//! For: what a user carries, which step is next, and the account of users: begun = completed +
//! failed at a step + unfinished, and due = begun + unstarted where users are due on a schedule.
//! In: connections that open and end, and responses. Out: the bytes of the next step, and when it
//! is due; what came of users who began in the measured window.
//! Never: bytes on a socket, or the account of requests ([`crate::ledger`]).
//!
//! In a closed loop a user begins when the connection is asked for. In an open loop users are due
//! on a schedule and begin then, whether a slot is free or not: who finds none waits, in order, and
//! the first step and the flow count from the planned instant. A step that follows is due when the
//! response before it was complete, and the user has thought.
//!
//! A user ends with the connection: after the last step, at a step that failed, or when it is lost.
//! Then the slot is free for the next user. Users of the window go on in the drain.
//!
//! Hot: runs for every request of a flow.

use super::{Cause, Stage, Worker};
use crate::driver::{Driver, Sending, SlotId};
use crate::job::Pace;
use crate::pool::Link;
use crate::shard::Shard;
use model::check::Check;
use model::dist::Dist;
use model::flow::Skip;
use model::random::Random;
use model::tick::Tick;
use model::users::place;
use std::sync::Arc;
use wire::fill::{Fill, VALUES_BYTES, Values};
use wire::jar::Jar;
use wire::look::head::HeadLines;
use wire::look::{Facts, Look, Miss, Sight, filler};
use wire::program::{Bench, Hop, Program, Redirect, redirects};
use wire::response::{Expect, Outcome, ProtocolError, Response};
use wire::rules::{FIRST_ERROR, Fate};
use wire::session::{Session, Witness};

/// Memory of a path and of a request at the start, bytes.
const PATH_BYTES: usize = 256;
const REQUEST_BYTES: usize = 4 * 1024;
/// What random values are drawn for.
const PURPOSE: u64 = 0x666c_6f77;

/// Where a user is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// There is none, or the last one is through: the next connection is that of another.
    Nowhere,
    /// The next step is due as soon as the connection is there.
    Ready,
    /// The next step is due then.
    Thinking(u64),
    /// Waits for the response to a step.
    Waiting,
}

/// In which part of a level a user came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Came {
    /// Before any load: the user begins with the first step.
    Early,
    WarmUp,
    Window,
}

/// One user.
#[derive(Debug)]
struct User {
    place: Place,
    came: Came,
    came_ns: u64,
    /// Whether it was counted that the user began, and whether that was in the window.
    is_counted: bool,
    is_measured: bool,
    /// The number of the user, and of the request that is next or under way, from 1, over all
    /// workers.
    number: u64,
    seq: u64,
    /// When that request is or was due.
    due_ns: u64,
    /// Since when the connection is there.
    linked_ns: u64,
    /// Since when the first connection could be asked for; `None` once it was.
    admitted_ns: Option<u64>,
    /// How much later it was asked for, and whether the user waited for a place, until the first
    /// request.
    late_ns: u64,
    has_waited: bool,
    /// A variable of the next step has no room for its value, so the step cannot be sent.
    is_full: bool,
    /// The next step, or the one under way, and which of its repetitions.
    step: u32,
    round: u32,
    /// Redirects of the step that were followed, and where the last one leads.
    hops: u32,
    location: Vec<u8>,
    becomes_get: bool,
    /// When the user began, and time to think so far, nanoseconds.
    begun_ns: u64,
    thought_ns: u64,
    values: Values,
    jar: Jar,
    random: Random,
    /// The path of the last request, for its cookies.
    path: Vec<u8>,
    /// What was seen of the response that is awaited.
    sight: Option<Sight>,
    head: HeadLines,
}

/// All users of one worker.
#[derive(Debug)]
pub(super) struct Users {
    program: Option<Arc<Program>>,
    all: Vec<User>,
    /// Memory for responses, by step.
    spare: Vec<Vec<Sight>>,
    /// Users of the window who are not through.
    active: u64,
    come: u64,
    /// Numbers that requests took.
    numbers: u64,
    seed: u64,
    shard: Shard,
    bench: Bench,
    /// The request that is sent next.
    pub request: Vec<u8>,
}

/// What a user does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Sends the request that was made.
    Send,
    /// Nothing now: waits for a response, for an instant, or for the next level.
    Wait,
    /// Is through, or the step cannot be sent.
    Leave,
}

impl Users {
    /// Takes memory for `slots` users of a flow; none without one.
    // Cold: once for each worker.
    pub fn new(program: Option<&Arc<Program>>, slots: u32, shard: &Shard, seed: u64) -> Self {
        let slots = if program.is_some() { slots } else { 0 };
        let variables = program.map_or(0, |program| program.flow().variables.len());
        let user = |_| User {
            place: Place::Nowhere,
            came: Came::Early,
            came_ns: 0,
            is_counted: false,
            is_measured: false,
            number: 0,
            seq: 0,
            due_ns: 0,
            linked_ns: 0,
            admitted_ns: None,
            late_ns: 0,
            has_waited: false,
            is_full: false,
            step: 0,
            round: 0,
            hops: 0,
            location: Vec::with_capacity(PATH_BYTES),
            becomes_get: false,
            begun_ns: 0,
            thought_ns: 0,
            values: Values::new(variables, VALUES_BYTES),
            jar: Jar::default(),
            random: Random::new(seed, PURPOSE),
            path: Vec::with_capacity(PATH_BYTES),
            sight: None,
            head: HeadLines::default(),
        };
        let steps = program.map_or(0, |program| program.steps());
        Self {
            program: program.map(|program| Arc::new(program.apart())),
            all: (0..slots).map(user).collect(),
            spare: (0..steps).map(|_| Vec::with_capacity(slots as usize)).collect(),
            active: 0,
            come: 0,
            numbers: 0,
            seed,
            shard: shard.clone(),
            bench: Bench::default(),
            request: Vec::with_capacity(REQUEST_BYTES),
        }
    }

    /// Users of the window who are not through.
    #[inline]
    pub fn active(&self) -> u64 {
        self.active
    }

    /// Whether a user has to go on, although no new one may come.
    pub fn goes_on(&self, slot: SlotId) -> bool {
        self.all.get(slot as usize).is_some_and(|user| {
            user.is_measured && matches!(user.place, Place::Ready | Place::Thinking(_))
        })
    }

    /// Forgets all users: those of an earlier level are none of one in which users are due.
    // Cold: once for each level.
    pub fn forget(&mut self) {
        for user in &mut self.all {
            user.place = Place::Nowhere;
            if let Some(sight) = user.sight.take() {
                self.spare[user.step as usize].push(sight);
            }
        }
    }

    /// Whether a slot has a user.
    pub fn is_here(&self, slot: SlotId) -> bool {
        self.all.get(slot as usize).is_some_and(|user| user.place != Place::Nowhere)
    }

    /// A user who came could ask for a connection since this instant.
    fn admit(&mut self, slot: SlotId, since_ns: u64) {
        let user = &mut self.all[slot as usize];
        (user.admitted_ns, user.late_ns) = (Some(since_ns), 0);
        user.has_waited = since_ns > user.came_ns;
    }

    /// The connection of a user is asked for now.
    pub fn ask(&mut self, slot: SlotId, now_ns: u64) {
        let Some(user) = self.all.get_mut(slot as usize) else { return };
        if let Some(since_ns) = user.admitted_ns.take() {
            user.late_ns = now_ns.saturating_sub(since_ns);
        }
    }

    /// The connection of a user is there.
    pub fn link(&mut self, slot: SlotId, at_ns: u64) {
        self.all[slot as usize].linked_ns = at_ns;
    }

    /// When the request was due that leaves now, in an open loop.
    fn leaves(&mut self, slot: SlotId, (stage, now_ns): (Stage, u64), tick: &mut Tick) -> u64 {
        let user = &mut self.all[slot as usize];
        // With a connection that was asked for in time it could have left then.
        let linked_ns = user.linked_ns.saturating_sub(std::mem::take(&mut user.late_ns));
        let late_ns = now_ns.saturating_sub(user.due_ns.max(linked_ns));
        let has_waited = std::mem::take(&mut user.has_waited);
        if stage == Stage::Measure {
            let delay_ns = now_ns.saturating_sub(user.due_ns);
            tick.histograms[Dist::SendDelay].record_n(delay_ns, 1);
            tick.histograms[Dist::GeneratorDelay].record_n(late_ns, 1);
            tick.measured.waited += u64::from(has_waited);
        }
        user.due_ns
    }

    /// The step that a user sends now, as a position on the tape.
    #[inline]
    pub fn position(&self, slot: SlotId) -> u32 {
        let user = &self.all[slot as usize];
        let hop = if user.hops > 0 { Hop::Redirect } else { Hop::Own };
        self.program.as_ref().map_or(0, |program| program.place(user.step, hop))
    }

    /// The place of that in the account.
    #[inline]
    fn counted(&self, slot: SlotId) -> usize {
        place(self.position(slot) as usize)
    }

    /// Whether the user of a connection is through.
    pub fn is_through(&self, slot: SlotId) -> bool {
        self.all[slot as usize].place == Place::Nowhere
    }

    /// When the next step is due, while a user thinks.
    pub fn due_ns(&self, slot: SlotId) -> Option<u64> {
        match self.all[slot as usize].place {
            Place::Thinking(due_ns) => Some(due_ns),
            _ => None,
        }
    }

    /// A connection is asked for: of a user who goes on, or of a new one.
    pub fn come(&mut self, slot: SlotId, stage: Stage, now_ns: u64, tick: &mut Tick) {
        let Some(user) = self.all.get_mut(slot as usize) else { return };
        if user.place != Place::Nowhere {
            return;
        }
        user.number = self.shard.number(self.come) + 1;
        self.come += 1;
        user.place = Place::Ready;
        user.came = match stage {
            Stage::Warmup => Came::WarmUp,
            Stage::Measure => Came::Window,
            _ => Came::Early,
        };
        (user.came_ns, user.is_counted, user.is_measured) = (now_ns, false, false);
        (user.step, user.round, user.thought_ns) = (0, 0, 0);
        user.values.clear();
        user.jar.clear();
        user.random = Random::new(self.seed ^ user.number, PURPOSE);
        // Others begin with the first step, perhaps in another part.
        if user.came == Came::Window {
            self.count(slot, stage, now_ns, tick);
        }
        self.arrive(slot, now_ns, tick);
    }

    /// Counts that a user began, once.
    fn count(&mut self, slot: SlotId, stage: Stage, now_ns: u64, tick: &mut Tick) {
        let user = &mut self.all[slot as usize];
        if std::mem::replace(&mut user.is_counted, true) {
            return;
        }
        (user.is_measured, user.begun_ns) = match user.came {
            Came::Early => (stage == Stage::Measure, now_ns),
            Came::WarmUp => (false, user.came_ns),
            Came::Window => (true, user.came_ns),
        };
        if user.came == Came::Early {
            // Such users thought before they began.
            user.thought_ns = 0;
        }
        if user.is_measured {
            tick.users.begun += 1;
            self.active += 1;
        }
    }

    /// Makes the request of the next step of a user, if it is due and may be sent.
    pub fn next(&mut self, slot: SlotId, stage: Stage, now_ns: u64, tick: &mut Tick) -> Next {
        let user = &mut self.all[slot as usize];
        match user.place {
            Place::Ready => {}
            Place::Thinking(due_ns) if due_ns <= now_ns => user.place = Place::Ready,
            Place::Thinking(_) | Place::Waiting | Place::Nowhere => return Next::Wait,
        }
        let may_send = match stage {
            Stage::Warmup | Stage::Measure => true,
            Stage::Drain { .. } => user.is_measured,
            _ => false,
        };
        if !may_send {
            return Next::Wait;
        }
        self.count(slot, stage, now_ns, tick);
        let counted = self.counted(slot);
        let (user, Some(program)) = (&mut self.all[slot as usize], &self.program) else {
            return Next::Wait;
        };
        let step = user.step;
        if user.is_measured {
            tick.users.reached[counted] += 1;
        }
        self.request.clear();
        let mut fill = Fill {
            values: &user.values,
            user: user.number,
            seq: user.seq,
            random: &mut user.random,
            date: program.date(),
        };
        let redirect = (user.hops > 0).then_some(Redirect {
            from: &user.path,
            location: &user.location,
            becomes_get: user.becomes_get,
        });
        let with = (&mut fill, &user.jar);
        let made = program.put((step, redirect), with, &mut self.bench, &mut self.request);
        if made.is_err() || user.is_full {
            self.fail(slot, tick);
            return Next::Leave;
        }
        let path = self.request.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        user.path.clear();
        user.path.extend_from_slice(path);
        let mut sight =
            self.spare[step as usize].pop().unwrap_or_else(|| program.look(step).sight());
        sight.restart();
        user.head.restart();
        user.location.clear();
        (user.sight, user.place) = (Some(sight), Place::Waiting);
        Next::Send
    }

    /// A user comes to a step: gives its variables their values, passes over steps that are left
    /// out, and thinks before the one that is to be sent, or is through.
    fn arrive(&mut self, slot: SlotId, now_ns: u64, tick: &mut Tick) {
        self.take_number(slot);
        let (user, Some(program)) = (&mut self.all[slot as usize], &self.program) else { return };
        (user.hops, user.becomes_get, user.is_full) = (0, false, false);
        let text = &mut self.bench.text;
        while user.step < program.steps() {
            let step = program.step(user.step);
            let (number, seq, date) = (user.number, user.seq, program.date());
            for (variable, value) in &step.sets {
                text.clear();
                let (values, random) = (&user.values, &mut user.random);
                Fill { values, user: number, seq, random, date }.put(value, text);
                user.is_full |= user.values.set(*variable, text).is_err();
            }
            let Skip::When(condition) = &step.skip else { break };
            text.clear();
            let (values, random) = (&user.values, &mut user.random);
            Fill { values, user: number, seq, random, date }.put(condition, text);
            if text != b"true" {
                break;
            }
            (user.step, user.round) = (user.step + 1, 0);
        }
        if user.step == program.steps() {
            return self.complete(slot, now_ns, tick);
        }
        let delay_ns = program.step(user.step).delay_ns;
        user.thought_ns += delay_ns;
        user.due_ns = now_ns + delay_ns;
        user.place = match delay_ns {
            0 => Place::Ready,
            _ => Place::Thinking(user.due_ns),
        };
    }

    /// The next request of a user has a number that no other has.
    fn take_number(&mut self, slot: SlotId) {
        self.all[slot as usize].seq = self.shard.number(self.numbers) + 1;
        self.numbers += 1;
    }

    /// Lets a session receive the response to the step of a user.
    #[inline]
    pub fn receive<S: Session>(
        &mut self,
        (slot, session): (SlotId, &mut S),
        input: &mut &[u8],
        expect: Expect,
        (memory, watch): (&mut S::Memory, impl Witness),
    ) -> Result<Option<Outcome>, ProtocolError> {
        let (user, Some(program)) = (&mut self.all[slot as usize], &self.program) else {
            return session.receive(input, expect, memory, &mut (watch, ()));
        };
        let Some(sight) = &mut user.sight else {
            return session.receive(input, expect, memory, &mut (watch, ()));
        };
        let look = program.look(user.step);
        let before = *input;
        let received = session.receive(input, expect, memory, &mut (watch, Seeing { look, sight }));
        let piece = &before[..before.len() - input.len()];
        let (jar, path, location) = (&mut user.jar, &user.path, &mut user.location);
        user.head.read(piece, |name, value| {
            look.field(sight, name, value);
            if name.eq_ignore_ascii_case(b"set-cookie") {
                jar.take(value, path);
            }
            if name.eq_ignore_ascii_case(b"location") {
                location.clear();
                location.extend_from_slice(value);
            }
        });
        received
    }

    /// The response to the step of a user is complete: whether it is good; the user goes on or has
    /// failed.
    pub fn verdict(
        &mut self,
        slot: SlotId,
        (sent_ns, at_ns): (u64, u64),
        response: Response,
        tick: &mut Tick,
    ) -> Fate {
        let (user, Some(program)) = (&mut self.all[slot as usize], &self.program) else {
            return Fate::of_status(response.status);
        };
        let Some(mut sight) = user.sight.take() else { return Fate::of_status(response.status) };
        let look = program.look(user.step);
        let step = look.step();
        let becomes_get = redirects(response.status, &step.method)
            .filter(|_| user.hops < step.redirects_max && !user.location.is_empty());
        if let Some(becomes_get) = becomes_get {
            user.becomes_get |= becomes_get;
            self.spare[user.step as usize].push(sight);
            self.redirect(slot, at_ns, tick);
            return Fate::Good;
        }
        let duration_ns = at_ns.saturating_sub(sent_ns);
        let facts = Facts { status: response.status, version: "1.1", duration_ns };
        let number = user.number;
        let judged = look.judge(
            &mut sight,
            &facts,
            &mut user.values,
            &mut filler(&mut user.random, program.date(), number),
        );
        self.spare[user.step as usize].push(sight);
        let fate = match judged {
            Ok(()) => Fate::Good,
            Err(Miss::Status) if response.status >= FIRST_ERROR => Fate::ErrorStatus,
            Err(Miss::Status) => Fate::Mismatch(Check::Status),
            Err(Miss::Capture(..) | Miss::NoRoom(_)) => Fate::Mismatch(Check::Capture),
            Err(Miss::Assert(_)) => Fate::Mismatch(Check::Assert),
        };
        match fate {
            Fate::Good => self.go_on(slot, at_ns, tick),
            _ => self.fail(slot, tick),
        }
        fate
    }

    /// A step is redirected: what it asks for is due at once.
    fn redirect(&mut self, slot: SlotId, at_ns: u64, tick: &mut Tick) {
        let counted = self.counted(slot);
        let user = &mut self.all[slot as usize];
        tick.users.good[counted] += u64::from(user.is_measured);
        user.hops += 1;
        (user.place, user.due_ns) = (Place::Ready, at_ns);
        self.take_number(slot);
    }

    /// A step was good: the next one is due after the time to think.
    fn go_on(&mut self, slot: SlotId, at_ns: u64, tick: &mut Tick) {
        let counted = self.counted(slot);
        let (user, Some(program)) = (&mut self.all[slot as usize], &self.program) else { return };
        tick.users.good[counted] += u64::from(user.is_measured);
        user.round += 1;
        if user.round == program.step(user.step).repeat {
            (user.step, user.round) = (user.step + 1, 0);
        }
        self.arrive(slot, at_ns, tick);
    }

    /// A user took all steps.
    fn complete(&mut self, slot: SlotId, at_ns: u64, tick: &mut Tick) {
        let user = &mut self.all[slot as usize];
        user.place = Place::Nowhere;
        if user.is_measured {
            self.active -= 1;
            tick.users.completed += 1;
            let took_ns = at_ns.saturating_sub(user.begun_ns).saturating_sub(user.thought_ns);
            tick.histograms[Dist::Flow].record_n(took_ns, 1);
        }
    }

    /// A user fails at the step that is next or under way.
    fn fail(&mut self, slot: SlotId, tick: &mut Tick) {
        let counted = self.counted(slot);
        let user = &mut self.all[slot as usize];
        user.place = Place::Nowhere;
        if let Some(sight) = user.sight.take() {
            self.spare[user.step as usize].push(sight);
        }
        if user.is_measured {
            self.active -= 1;
            tick.users.failed[counted] += 1;
        }
    }

    /// The connection of a user is gone. One who waits for no response goes on with another, if the
    /// connection was there and ended in order.
    pub fn leave(
        &mut self,
        slot: SlotId,
        (stage, ends): (Stage, Ends),
        at_ns: u64,
        tick: &mut Tick,
    ) {
        let Some(user) = self.all.get(slot as usize) else { return };
        match user.place {
            Place::Nowhere => {}
            Place::Ready | Place::Thinking(_) if ends == Ends::InOrder => {}
            waits => {
                self.count(slot, stage, at_ns, tick);
                if waits != Place::Waiting && self.all[slot as usize].is_measured {
                    // It was due, and there was no connection for it.
                    tick.users.reached[self.counted(slot)] += 1;
                }
                self.fail(slot, tick);
            }
        }
    }

    /// The level is over: users of the window who are not through are left where they are.
    // Cold: once for each level.
    pub fn close(&mut self, tick: &mut Tick) {
        for slot in 0..self.all.len() {
            let step = self.counted(slot as SlotId);
            let user = &mut self.all[slot];
            if user.place == Place::Nowhere || !user.is_measured {
                continue;
            }
            user.is_measured = false;
            if user.place != Place::Waiting {
                tick.users.reached[step] += 1;
            }
            tick.users.left[step] += 1;
            tick.users.unfinished += 1;
        }
        self.active = 0;
    }
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// Nothing was lost with it.
    InOrder,
    /// It could not be opened, or broke.
    Broken,
}

/// Shows the body of a response to what a step looks for.
struct Seeing<'a> {
    look: &'a Look,
    sight: &'a mut Sight,
}

impl Witness for Seeing<'_> {
    #[inline]
    fn body(&mut self, piece: &[u8]) {
        self.look.body(self.sight, piece);
    }
}

impl<D: Driver, S: Session> Worker<D, S> {
    /// Makes the request that a user sends next; whether there is one.
    #[inline]
    pub(super) fn prepare(&mut self, slot: SlotId, now_ns: u64) -> bool {
        match self.users.next(slot, self.stage, now_ns, &mut self.recorder.tick) {
            Next::Send => true,
            Next::Wait => false,
            Next::Leave => {
                self.abandon(slot, Cause::Planned, now_ns);
                false
            }
        }
    }

    /// Whether users are due on a schedule. Each takes a free slot, and a connection of its own.
    #[inline]
    pub(super) fn plans_users(&self) -> bool {
        S::FILLS && matches!(self.pace, Pace::Open { .. })
    }

    /// A user was due, and a slot was free since an instant.
    pub(super) fn admit(&mut self, slot: SlotId, (planned_ns, since_ns): (u64, u64)) {
        self.users.come(slot, self.stage, planned_ns, &mut self.recorder.tick);
        self.users.admit(slot, since_ns);
        match self.users.is_here(slot) {
            true => self.pool.queue(slot),
            // All steps were left out.
            false => self.find_device(slot),
        }
    }

    /// Sends the request of a user that was made.
    #[inline]
    pub(super) fn send_step(&mut self, slot: SlotId, now_ns: u64) -> Sending {
        let due_ns = match self.release {
            None => now_ns,
            Some(_) => self.users.leaves(slot, (self.stage, now_ns), &mut self.recorder.tick),
        };
        self.send(slot, 1, due_ns, now_ns)
    }

    /// A response came, or a connection is there: the user goes on, waits or is through.
    #[inline]
    pub(super) fn follow(&mut self, slot: SlotId, at_ns: u64) {
        if self.flights.on(slot) > 0 || self.pool.link(slot) != Link::Open {
            return;
        }
        if self.users.is_through(slot) {
            return self.abandon(slot, Cause::Planned, at_ns);
        }
        match self.users.due_ns(slot) {
            Some(due_ns) if due_ns > at_ns => self.alarms.set(slot, due_ns),
            _ => self.top_up(slot, at_ns),
        }
    }
}
