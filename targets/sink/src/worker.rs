//! The event loop of one thread.
//!
//! A turn: wait for sockets or the next due time, serve what is ready, wake what is due. All
//! connections of a thread share its buffers; nothing is shared with other threads but the record,
//! which is taken once per turn. Close to a due time the loop polls instead of sleeping, because a
//! sleeping thread wakes late; it keeps reading meanwhile, so arrivals keep their true times.

use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::arrivals::Arrivals;
use crate::connection::{Connection, Errand, Next};
use crate::crew::Crew;
use crate::listener::{Accepted, accept};
use crate::peer::{Hands, INTEREST, Outcome, Peer};
use crate::poller::{NO_EVENT, Timeout};
use crate::stats::Record;
use crate::sys::{self, Event, now_ns};
use crate::timers::Timers;

/// How long before a due time the loop stops sleeping.
const SPIN_NS: u64 = 30_000;
/// Most events taken in one turn.
const EVENTS: usize = 512;
/// After this many events the loop checks whether something is due.
const EVENTS_IN_A_ROW: usize = 16;
/// Most connections taken in one turn.
const ACCEPTS: usize = 64;
/// Closed connections whose memory is kept for the next ones.
const SPARES: usize = 1024;

/// Token of the listening socket. Those of connections have a generation below this one.
const LISTENER: u64 = u64::MAX - 1;
/// Token of the bell.
const BELL: u64 = u64::MAX - 2;

/// One thread.
#[derive(Debug)]
pub struct Worker {
    thread: usize,
    crew: Arc<Crew>,
    hands: Hands,
    /// Where connections come from, if this thread accepts.
    door: Option<Door>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    spares: Vec<Connection>,
    timers: Timers,
    /// Connections that need another turn.
    again: Vec<u64>,
    /// Connections that read or clear the record.
    errands: Vec<u64>,
    events: Box<[Event]>,
}

/// How this thread gets its connections.
#[derive(Debug)]
pub struct Door {
    /// The listening socket.
    pub socket: OwnedFd,
    /// How long to sleep before each accept.
    pub delay_ns: u64,
    /// Which threads get them.
    pub for_whom: ForWhom,
}

/// Which threads get the connections of a listening socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForWhom {
    /// The thread that accepts them.
    Self_,
    /// All threads in turn; this one is the next.
    InTurn(usize),
}

/// A place for a connection. Its generation identifies late wake-ups of the previous one.
#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    peer: Option<Peer>,
}

impl Worker {
    /// A thread that is ready to run.
    pub fn new(
        thread: usize,
        crew: Arc<Crew>,
        hands: Hands,
        door: Option<Door>,
    ) -> io::Result<Self> {
        hands.poller.add(crew.bell(thread), sys::READABLE, BELL)?;
        if let Some(door) = &door {
            // Not edge-triggered: connections that are left are reported again.
            hands.poller.add(&door.socket, sys::READABLE, LISTENER)?;
        }
        Ok(Self {
            thread,
            crew,
            hands,
            door,
            slots: Vec::new(),
            free: Vec::new(),
            spares: Vec::new(),
            timers: Timers::with_capacity(1024),
            again: Vec::with_capacity(64),
            errands: Vec::with_capacity(16),
            events: vec![NO_EVENT; EVENTS].into(),
        })
    }

    /// Serves until the crew stops. Returns the arrivals.
    pub fn run(mut self) -> io::Result<Option<Arrivals>> {
        let crew = self.crew.clone();
        while !crew.is_stopping() {
            self.turn(&crew)?;
        }
        let mut record = crew.ledger.desk(self.thread).work();
        for peer in self.slots.iter_mut().filter_map(|slot| slot.peer.take()) {
            peer.end(&mut record);
        }
        Ok(self.hands.clerk.arrivals)
    }

    fn turn(&mut self, crew: &Crew) -> io::Result<()> {
        let timeout = self.timeout();
        let count = self.hands.poller.wait(&mut self.events, timeout)?;
        let mut record = crew.ledger.desk(self.thread).work();
        for index in 0..count {
            let Event { events, u64: token } = self.events[index];
            match token {
                LISTENER => self.on_door(&mut record),
                BELL => self.on_bell(&mut record),
                token => self.on_event(token, events, &mut record),
            }
            // Due responses must not wait for many events.
            if index % EVENTS_IN_A_ROW == EVENTS_IN_A_ROW - 1 {
                self.wake_due(&mut record);
            }
        }
        self.wake_due(&mut record);
        // Work that is added meanwhile waits for the next turn.
        let waiting = self.again.len();
        for index in 0..waiting {
            self.on_turn(self.again[index], now_ns(), &mut record);
        }
        self.again.drain(..waiting);
        drop(record);
        let waiting = self.errands.len();
        for index in 0..waiting {
            self.run_errand(self.errands[index], crew);
        }
        self.errands.drain(..waiting);
        Ok(())
    }

    /// How long until something is due.
    #[inline]
    fn timeout(&self) -> Timeout {
        if !self.again.is_empty() || !self.errands.is_empty() {
            return Timeout::Now;
        }
        let Some(due_ns) = self.timers.next_ns() else { return Timeout::Never };
        match due_ns.saturating_sub(now_ns()) {
            left_ns if left_ns <= SPIN_NS => Timeout::Now,
            left_ns => Timeout::In(left_ns - SPIN_NS),
        }
    }

    #[inline]
    fn wake_due(&mut self, record: &mut Record) {
        if self.timers.next_ns().is_none() {
            return;
        }
        let now = now_ns();
        while let Some(wake) = self.timers.pop_due(now) {
            if wake.token == LISTENER {
                self.accept_one(record);
                continue;
            }
            if let Some(peer) = peer(&mut self.slots, wake.token)
                && peer.wake_ns == wake.due_ns
            {
                peer.wake_ns = u64::MAX;
                self.on_turn(wake.token, now, record);
            }
        }
    }

    #[inline]
    fn on_event(&mut self, token: u64, readiness: u32, record: &mut Record) {
        if let Some(peer) = peer(&mut self.slots, token) {
            let outcome = peer.on_event(readiness, &mut self.hands, record);
            self.arrange(token, outcome, record);
        }
    }

    fn on_turn(&mut self, token: u64, now: u64, record: &mut Record) {
        if let Some(peer) = peer(&mut self.slots, token) {
            let outcome = peer.on_turn(now, &mut self.hands, record);
            self.arrange(token, outcome, record);
        }
    }

    /// Arranges what a peer needs next.
    #[inline]
    fn arrange(&mut self, token: u64, outcome: Outcome, record: &mut Record) {
        match outcome {
            Outcome::Wait => {}
            Outcome::Again => self.again.push(token),
            Outcome::Text => self.errands.push(token),
            Outcome::At(time_ns) => {
                if let Some(peer) = peer(&mut self.slots, token)
                    && time_ns < peer.wake_ns
                {
                    peer.wake_ns = time_ns;
                    self.timers.set(time_ns, token);
                }
            }
            Outcome::Gone => self.drop_peer(token, record),
        }
    }

    fn drop_peer(&mut self, token: u64, record: &mut Record) {
        let slot = &mut self.slots[index(token)];
        if let Some(peer) = slot.peer.take() {
            slot.generation = (slot.generation + 1) & GENERATION_MAX;
            self.free.push(index(token) as u32);
            let spare = peer.end(record);
            if self.spares.len() < SPARES {
                self.spares.push(spare);
            }
        }
    }

    /// Reads or clears the record for a connection. This thread's own record is not held meanwhile.
    fn run_errand(&mut self, token: u64, crew: &Crew) {
        let Some(asking) = peer(&mut self.slots, token) else { return };
        let text = match asking.next_text() {
            Next::Text(Errand::Read) => crew.ledger.line("stats") + "\n",
            Next::Text(Errand::Reset) => {
                let at_ns = crew.ledger.reset();
                format!("{{\"event\":\"reset\",\"target\":\"sink\",\"at_ns\":{at_ns}}}\n")
            }
            _ => return,
        };
        let mut record = crew.ledger.desk(self.thread).work();
        let outcome = asking.give_text(text, &mut self.hands, &mut record);
        self.arrange(token, outcome, &mut record);
    }

    fn on_bell(&mut self, record: &mut Record) {
        self.crew.response_bell(self.thread);
        for connection in self.crew.take_over(self.thread) {
            self.admit(connection, record);
        }
    }

    fn on_door(&mut self, record: &mut Record) {
        let Some(door) = &self.door else { return };
        if door.delay_ns > 0 {
            // Ignores the socket until the acceptor has slept. If that fails it only wakes too
            // often.
            let _ = self.hands.poller.change(&door.socket, 0, LISTENER);
            self.timers.set(now_ns() + door.delay_ns, LISTENER);
            return;
        }
        for _ in 0..ACCEPTS {
            let Some(door) = &self.door else { return };
            if !self.welcome(accept(&door.socket), record) {
                return;
            }
        }
    }

    /// The acceptor has slept.
    fn accept_one(&mut self, record: &mut Record) {
        let Some(door) = &self.door else { return };
        let accepted = accept(&door.socket);
        let _ = self.hands.poller.change(&door.socket, sys::READABLE, LISTENER);
        self.welcome(accepted, record);
    }

    /// Handles the result of an accept; returns whether there may be more.
    fn welcome(&mut self, accepted: Accepted, record: &mut Record) -> bool {
        match accepted {
            Accepted::Connection(connection) => {
                record.connections_accepted += 1;
                match self.whose() {
                    Some(other) => self.crew.hand_over(other, connection),
                    None => self.admit(connection, record),
                }
                true
            }
            Accepted::Lost => true,
            Accepted::Nothing => false,
            Accepted::Failed => {
                record.accept_errors += 1;
                false
            }
        }
    }

    /// The thread whose turn it is to get a connection, if it is another one.
    fn whose(&mut self) -> Option<usize> {
        let size = self.crew.size();
        let Some(Door { for_whom: ForWhom::InTurn(next), .. }) = &mut self.door else {
            return None;
        };
        let whose = *next;
        *next = (whose + 1) % size;
        (whose != self.thread).then_some(whose)
    }

    fn admit(&mut self, socket: TcpStream, record: &mut Record) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        let generation = self.slots[slot as usize].generation;
        let token = u64::from(generation) << 32 | u64::from(slot);
        let connection = self.spares.pop().unwrap_or_default();
        let peer = Peer::new(socket, connection, token);
        let watched = self.hands.poller.add(peer.socket(), INTEREST, token);
        self.slots[slot as usize].peer = Some(peer);
        if watched.is_err() {
            // The kernel has no memory to watch it.
            self.drop_peer(token, record);
        }
    }
}

/// Generations stay below those of the other tokens.
const GENERATION_MAX: u32 = u32::MAX >> 1;

fn index(token: u64) -> usize {
    token as u32 as usize
}

/// The peer of a token, if it still exists.
#[inline]
fn peer(slots: &mut [Slot], token: u64) -> Option<&mut Peer> {
    let slot = slots.get_mut(index(token))?;
    if u64::from(slot.generation) != token >> 32 {
        return None;
    }
    slot.peer.as_mut()
}
