//! Linux io_uring: one ring per worker, one system call per turn.
//!
//! Sends are queued and submitted together; each connection has one multishot receive that takes
//! its memory from a ring of shared buffers, so an idle connection holds none. The ring is single
//! issuer with deferred task work: receives run when the worker asks for them, on its own CPU, not
//! in the middle of its code. Sockets live in the ring's own table and not among the descriptors of
//! the process, which saves the kernel a reference per operation, and the process a descriptor per
//! connection: the limit of open files then applies to each ring. Linux before 6.13 closes what was
//! removed from the table too late ([`Removal`]); there the descriptors are kept, to shut the
//! connections down. See io_uring_setup(2), io_uring_register_files_update(3) and
//! io_uring_prep_recv_multishot(3).
//!
//! Hot: runs for every request.

mod buffers;

use self::buffers::{BUFFER_GROUP, BUFFERS_MIN, SharedBuffers};
use super::backlog::{Backlog, Took};
use super::{Ahead, Buffer, Driver, End, Event, SendBytes, Sending, SlotId};
use crate::sys::{self, RawRoute};
use crate::{clock, job::Job};
use io_uring::types::{CancelBuilder, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use wire::tape::Tape;

/// Queued submissions at which they are submitted in the middle of a turn. This bounds how much
/// later than its stamp a send can happen.
const BATCH_MAX: usize = 64;
const SUBMISSIONS: u32 = 256;
const COMPLETIONS: u32 = 4096;
/// Completions of a turn at which no more are taken: there is room for those of its own calls.
const READY_MAX: usize = COMPLETIONS as usize / 2;
/// A call that adds fewer completions than this has run all the work that was there. Since Linux
/// 6.13 a call runs at most 20 pieces (IO_LOCAL_TW_DEFAULT_MAX), and not each completes something.
const RUN_AT_ONCE: usize = 10;
/// Sends up to this size with no unanswered request before them complete without an event, bytes.
/// The send buffer of the socket is empty then and takes them at once, and a completion would end
/// the wait for responses early: a second system call per request. 16 KiB is the smallest send
/// buffer that Linux starts with, see tcp_wmem in tcp(7).
const QUIET_BYTES_MAX: usize = 16 * 1024;
/// Waits shorter than this get their own timeout; longer ones share an armed timer, which saves the
/// kernel setting and cancelling one per wait.
const OWN_TIMEOUT_NS: u64 = 2_000_000;
/// How long operations may take to end when the driver is dropped.
const END_WITHIN: Timespec = Timespec::new().sec(2);
/// IORING_ENTER_GETEVENTS of io_uring_enter(2).
const GET_EVENTS: u32 = 1;
/// How often to look whether a removed socket is closed, and the pause after each look,
/// nanoseconds. A kernel that closes it at once has done so before the first look.
const REMOVAL_LOOKS: u32 = 100;
const REMOVAL_PAUSE_NS: u64 = 1_000_000;

/// What a completion belongs to; kept in its user data with slot and generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Connect,
    Receive,
    Send,
    Timer,
    /// Ends what was under way on a closed slot; its result is ignored.
    Close,
}

impl Operation {
    fn tag(self, slot: SlotId, generation: u32) -> u64 {
        (self as u64) << 56 | u64::from(generation & 0xff_ffff) << 32 | u64::from(slot)
    }

    fn of(tag: u64) -> Self {
        match tag >> 56 {
            0 => Self::Connect,
            1 => Self::Receive,
            2 => Self::Send,
            3 => Self::Timer,
            _ => Self::Close,
        }
    }
}

/// What the ring's table has for a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TableSlot {
    /// Nothing.
    None,
    /// A socket that is connecting.
    Connecting,
    /// A connected socket.
    Connected,
    /// A socket that is no longer used.
    Vacated,
}

/// When the kernel closes a socket that was removed from a ring's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// When the operations on it have ended.
    Closes,
    /// When all operations have ended that the ring started before, on any of its sockets: an idle
    /// connection, which always receives, keeps those open that are removed after its receive
    /// began. Linux 6.1 to 6.12.
    Waits,
}

struct Connection {
    link: TableSlot,
    /// Kept where [`Removal::Waits`], to shut the connection down.
    socket: Option<OwnedFd>,
    /// Counts the sockets of a slot (24 bits), to recognise completions of an old one.
    generation: u32,
    /// Bytes of the send under way whose completion is awaited, and where they are.
    sending: Range<usize>,
    source: SendBytes,
    outbox: Vec<u8>,
    /// The outbox was sent without a completion. It rests until all of it is answered, or a later
    /// send is complete; meanwhile the other one is used.
    is_quiet: bool,
    resting: Vec<u8>,
    /// The send under way is the last on this connection, and may end after its close.
    is_parting: bool,
    /// Such a send of the socket before may still be queued. It names the slot of the table, so it
    /// must be submitted before the table gets another socket there.
    has_parted: bool,
    /// A send reported that the other end reset it; a receive then reads an orderly end.
    was_reset: bool,
    /// Its receive ended for lack of a buffer and was not started again.
    is_starved: bool,
    /// It is in the queue of starved connections.
    is_queued: bool,
}

/// See the module.
pub struct Uring {
    // Dropping a ring cancels its operations later, in the background. So `drop` ends all of them
    // before the ring and the memory below are freed.
    ring: IoUring,
    buffers: SharedBuffers,
    routes: Vec<RawRoute>,
    tape: Arc<Tape>,
    connections: Vec<Connection>,
    /// Outboxes that the kernel may still read although their slot is closed, by the tag of the
    /// send.
    orphans: Vec<(u64, Vec<u8>)>,
    /// Completions that were taken to make room for others, oldest first.
    reaped: VecDeque<cqueue::Entry>,
    /// Completions of this turn that are still to report. Those that system calls of this turn add
    /// are of the next, whose stamp is theirs.
    ready: usize,
    /// Whether the last wait left completions that were there.
    took: Took,
    backlog: Backlog,
    /// Attempts that failed before they became an operation: slot, generation, errno.
    failed: Vec<(SlotId, u32, i32)>,
    /// Connections to receive on again, and since when their bytes may have been there; those that
    /// were closed meanwhile are skipped.
    starved: VecDeque<(SlotId, u64)>,
    /// Since when bytes may have been there that the last wait received for starved connections, or
    /// the far future.
    fed_since_ns: u64,
    /// Since when what found no buffer in this turn may have been there.
    since_ns: u64,
    /// Slots closed since the last wait, unless opened again.
    vacated: Vec<SlotId>,
    /// When the armed timer fires, or the far future.
    armed_until_ns: u64,
    timer: Box<Timespec>,
    /// Stamp of all completions of this turn.
    woken_ns: u64,
    coalesce_us: u32,
    removal: Removal,
}

impl Uring {
    /// Takes all memory for `slots` connections of a job.
    pub fn new(job: &Job, slots: u32) -> io::Result<Self> {
        let ring: IoUring = while_scarce(|| {
            IoUring::builder()
                .setup_single_issuer()
                .setup_defer_taskrun()
                .setup_taskrun_flag()
                .setup_submit_all()
                .setup_cqsize(COMPLETIONS)
                .build(SUBMISSIONS)
        })?;
        if job.manner.coalesce_ns > 0 && !ring.params().is_feature_min_timeout() {
            let why = "coalescing with io_uring needs Linux 6.12; --driver epoll does not";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let submitter = ring.submitter();
        while_scarce(|| submitter.register_files_sparse(slots.max(1)))?;
        let count = buffers::count_for(slots);
        let buffers = while_scarce(|| SharedBuffers::new(&submitter, count))?;
        let closed = || Connection {
            link: TableSlot::None,
            socket: None,
            generation: 0,
            sending: 0..0,
            source: SendBytes::Tape,
            outbox: Vec::new(),
            is_quiet: false,
            resting: Vec::new(),
            is_parting: false,
            has_parted: false,
            was_reset: false,
            is_starved: false,
            is_queued: false,
        };
        Ok(Self {
            ring,
            buffers,
            routes: job.routes.iter().map(RawRoute::new).collect::<io::Result<_>>()?,
            tape: Arc::clone(&job.tape),
            connections: (0..slots).map(|_| closed()).collect(),
            orphans: Vec::new(),
            reaped: VecDeque::with_capacity(COMPLETIONS as usize),
            ready: 0,
            took: Took::All,
            // A receive and a send of each connection.
            backlog: Backlog::new(2 * slots as usize, READY_MAX),
            failed: Vec::with_capacity(slots as usize),
            starved: VecDeque::with_capacity(slots as usize),
            fed_since_ns: u64::MAX,
            since_ns: clock::now_ns(),
            vacated: Vec::with_capacity(slots as usize),
            armed_until_ns: u64::MAX,
            timer: Box::new(Timespec::new()),
            woken_ns: clock::now_ns(),
            coalesce_us: (job.manner.coalesce_ns / 1000).min(u64::from(u32::MAX)) as u32,
            removal: removal(),
        })
    }

    fn try_open(&mut self, slot: SlotId, route: u32) -> io::Result<()> {
        let connection = &mut self.connections[slot as usize];
        if std::mem::take(&mut connection.has_parted) || connection.socket.is_some() {
            self.hand_over(0);
            self.shut_down(slot);
        }
        let route = &self.routes[route as usize];
        let socket = sys::stream_socket(route)?;
        // The table keeps its own reference; it replaces a socket that was closed before.
        self.ring.submitter().register_files_update(slot, &[socket.as_raw_fd()])?;
        let (pointer, length) = (route.to.as_ptr(), route.to.length());
        let connection = &mut self.connections[slot as usize];
        connection.socket = (self.removal == Removal::Waits).then_some(socket);
        connection.link = TableSlot::Connecting;
        let tag = Operation::Connect.tag(slot, connection.generation);
        let connect = opcode::Connect::new(Fixed(slot), pointer, length).build().user_data(tag);
        self.push(connect);
        Ok(())
    }

    /// Queues one submission.
    fn push(&mut self, entry: squeue::Entry) {
        if self.ring.submission().len() >= BATCH_MAX {
            self.hand_over(BATCH_MAX - 1);
        }
        // SAFETY: every pointer in an entry is to memory of this driver or of the tape it holds,
        // and lives until the operation ends.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.expect("the queue is longer than a batch");
    }

    /// Submits all that is queued, if it is more than `most`.
    fn hand_over(&mut self, most: usize) {
        // Interrupted or busy: the queue keeps what was not taken, and the next call submits it.
        while self.ring.submission().len() > most {
            let Err(error) = self.ring.submit() else { continue };
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // The kernel has completions that do not fit in the queue, or no memory until some
                // are taken.
                Some(libc::EBUSY | libc::EAGAIN) => self.make_room(),
                _ => panic!("io_uring does not take submissions: {error}"),
            }
        }
    }

    /// Takes all completions out of the queue, so that the kernel can write more of them.
    fn make_room(&mut self) {
        self.reaped.extend(self.ring.completion());
        // What did not fit is written when events are asked for; a failure shows again later.
        // SAFETY: no argument is passed.
        let _ = unsafe { self.ring.submitter().enter::<libc::sigset_t>(0, 0, GET_EVENTS, None) };
    }

    /// Ends everything under way, and returns when the kernel no longer uses any of our memory.
    fn end_all(&self) -> io::Result<()> {
        let all = CancelBuilder::any();
        match self.ring.submitter().register_sync_cancel(Some(END_WITHIN), all) {
            // There were none.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            ended => ended,
        }
    }

    /// Leaks the memory that the kernel may still write to or read from.
    fn leak(&mut self) {
        // Their descriptors are leaked as well.
        for slot in 0..self.connections.len() {
            self.shut_down(slot as SlotId);
        }
        self.buffers.leak();
        std::mem::forget(std::mem::take(&mut self.connections));
        std::mem::forget(std::mem::take(&mut self.orphans));
        std::mem::forget(std::mem::take(&mut self.timer));
        std::mem::forget(std::mem::take(&mut self.routes));
        std::mem::forget(Arc::clone(&self.tape));
    }

    fn receive(&mut self, slot: SlotId) {
        let tag = Operation::Receive.tag(slot, self.connections[slot as usize].generation);
        let entry = opcode::RecvMulti::new(Fixed(slot), BUFFER_GROUP).build().user_data(tag);
        self.push(entry);
    }

    /// Notes a connection whose receive found no buffer. A receive fails at once while there is
    /// none, so it is started again only when buffers are back.
    fn starve(&mut self, slot: SlotId) {
        let connection = &mut self.connections[slot as usize];
        connection.is_starved = true;
        if !std::mem::replace(&mut connection.is_queued, true) {
            self.starved.push_back((slot, self.since_ns));
        }
    }

    /// Receives again on as many connections as there are buffers, the longest starved first. All
    /// buffers are free between turns.
    fn feed(&mut self) {
        self.fed_since_ns = u64::MAX;
        for _ in 0..self.buffers.count {
            let Some((slot, since_ns)) = self.starved.pop_front() else { break };
            let connection = &mut self.connections[slot as usize];
            connection.is_queued = false;
            if std::mem::take(&mut connection.is_starved) {
                self.fed_since_ns = self.fed_since_ns.min(since_ns);
                self.receive(slot);
            }
        }
    }

    fn push_send(&mut self, slot: SlotId, flags: squeue::Flags) {
        let connection = &self.connections[slot as usize];
        let bytes = match connection.source {
            SendBytes::Tape => self.tape.bytes(),
            SendBytes::Outbox => &connection.outbox,
        };
        let bytes = &bytes[connection.sending.start..connection.sending.end];
        let tag = Operation::Send.tag(slot, connection.generation);
        // Without a completion the kernel must go on by itself. With one, each part that it takes
        // is known, so that what it never took is known too.
        let is_quiet = flags.contains(squeue::Flags::SKIP_SUCCESS);
        let more = if is_quiet { libc::MSG_WAITALL } else { 0 };
        let entry = opcode::Send::new(Fixed(slot), bytes.as_ptr(), bytes.len() as u32)
            .flags(libc::MSG_NOSIGNAL | more)
            .build()
            .flags(flags)
            .user_data(tag);
        self.push(entry);
    }

    /// Makes sure a timer fires at `until_ns` or before. The kernel gets a duration and not an
    /// instant, because it compares instants with the host's clock, which is not ours in a time
    /// namespace (time_namespaces(7)).
    fn arm(&mut self, now_ns: u64, until_ns: u64) {
        if self.armed_until_ns <= until_ns {
            return;
        }
        self.armed_until_ns = until_ns;
        *self.timer = timespec(until_ns - now_ns);
        let entry = opcode::Timeout::new(&raw const *self.timer)
            .build()
            .user_data(Operation::Timer.tag(0, 0));
        self.push(entry);
    }

    fn enter(&mut self, now_ns: u64, until_ns: u64) {
        self.feed();
        // Events that are here already are not waited for.
        let has_events = !self.failed.is_empty() || !self.reaped.is_empty();
        let may_wait = !has_events && self.starved.is_empty();
        let left_ns = if may_wait { until_ns.saturating_sub(now_ns) } else { 0 };
        let entered = if left_ns == 0 {
            self.poll()
        } else if self.coalesce_us > 0 {
            let timeout = timespec(left_ns);
            // The kernel waits for the longer of both.
            let least_us = u64::from(self.coalesce_us).min(left_ns / 1000) as u32;
            let arguments = SubmitArgs::new().timespec(&timeout).min_wait_usec(least_us);
            let want = self.connections.len().clamp(1, COMPLETIONS as usize / 2);
            self.ring.submitter().submit_with_args(want, &arguments)
        } else if left_ns < OWN_TIMEOUT_NS {
            let timeout = timespec(left_ns);
            self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&timeout))
        } else {
            self.arm(now_ns, until_ns);
            self.ring.submit_and_wait(1)
        };
        if let Err(error) = entered {
            let expected = [libc::ETIME, libc::EINTR, libc::EBUSY, libc::EAGAIN];
            let errno = error.raw_os_error().unwrap_or(0);
            assert!(expected.contains(&errno), "io_uring does not wait: {error}");
        }
    }

    /// Submits what is queued and takes the completions that are there, without waiting.
    fn poll(&mut self) -> io::Result<usize> {
        let queued = self.ring.submission().len() as u32;
        // SAFETY: no argument is passed. Deferred work only runs when events are asked for.
        unsafe { self.ring.submitter().enter::<libc::sigset_t>(queued, 0, GET_EVENTS, None) }
    }

    /// Takes the completions that the last call has left: they have been there for as long as those
    /// it has taken, and the worker stamps all of them as of this turn. Returns how many there are.
    fn take_what_is_there(&mut self) -> usize {
        let (mut there, mut added) = (0, self.ring.completion().len());
        loop {
            there += added;
            let is_more = added >= RUN_AT_ONCE && self.has_more();
            if !is_more || there >= READY_MAX {
                self.took = if is_more { Took::Full } else { Took::All };
                return there;
            }
            // A call that fails adds nothing, and the next wait fails too.
            let _ = self.poll();
            added = self.ring.completion().len() - there;
        }
    }

    /// Whether the kernel has work that completes something, or completions that found no room.
    fn has_more(&mut self) -> bool {
        let queue = self.ring.submission();
        queue.taskrun() || queue.cq_overflow()
    }

    fn connected(&mut self, slot: SlotId, result: i32) -> Event {
        // Rare, so each gets its own stamp.
        let at_ns = clock::now_ns();
        if result < 0 {
            return Event::OpenFailed { slot, class: sys::attempt_class(-result), at_ns };
        }
        self.connections[slot as usize].link = TableSlot::Connected;
        self.receive(slot);
        Event::Opened { slot, at_ns }
    }

    fn received(&mut self, slot: SlotId, result: i32, flags: u32) -> Option<Event> {
        let at_ns = self.woken_ns;
        if result > 0 {
            if !cqueue::more(flags) {
                self.receive(slot);
            }
            let id = cqueue::buffer_select(flags).expect("a receive says where its bytes are");
            let buffer = Buffer { id, length: result as u32 };
            return Some(Event::Received { slot, at_ns, buffer });
        }
        match -result {
            0 => {
                let was_reset = self.connections[slot as usize].was_reset;
                let end = if was_reset { End::Reset } else { End::Closed };
                Some(Event::Ended { slot, end, at_ns })
            }
            libc::ENOBUFS => {
                self.starve(slot);
                None
            }
            _ => Some(Event::Ended { slot, end: End::Reset, at_ns }),
        }
    }

    fn sent(&mut self, slot: SlotId, result: i32) -> Option<Event> {
        let connection = &mut self.connections[slot as usize];
        if result < 0 {
            // The receive reports that the connection ended, and the kernel reports a reset only
            // once.
            connection.was_reset |= result == -libc::ECONNRESET;
            connection.source = SendBytes::Tape;
            return None;
        }
        connection.sending.start += result as usize;
        if connection.sending.is_empty() {
            if connection.source == SendBytes::Outbox {
                connection.outbox.clear();
            }
            return Some(Event::Sent { slot, at_ns: self.woken_ns });
        }
        self.push_send(slot, squeue::Flags::empty());
        None
    }

    /// Empties the outbox of a slot that closes. It is kept while the kernel may read it.
    fn part_with_outbox(&mut self, slot: SlotId) {
        let connection = &mut self.connections[slot as usize];
        if connection.source == SendBytes::Outbox && !connection.sending.is_empty() {
            let tag = Operation::Send.tag(slot, connection.generation);
            self.orphans.push((tag, std::mem::take(&mut connection.outbox)));
        }
        connection.outbox.clear();
        connection.source = SendBytes::Tape;
        // What is still queued of it must be submitted before the outbox is used again.
        connection.has_parted |= std::mem::take(&mut connection.is_quiet);
    }

    fn event_of(&mut self, completion: &cqueue::Entry) -> Option<Event> {
        let (tag, result, flags) =
            (completion.user_data(), completion.result(), completion.flags());
        let operation = Operation::of(tag);
        match operation {
            Operation::Timer => {
                self.armed_until_ns = u64::MAX;
                return None;
            }
            Operation::Close => return None,
            Operation::Connect | Operation::Receive | Operation::Send => {}
        }
        let slot = tag as SlotId;
        let current = self.connections[slot as usize].generation & 0xff_ffff;
        if (tag >> 32) as u32 & 0xff_ffff != current {
            if let Some(id) = cqueue::buffer_select(flags) {
                self.buffers.release(id);
            }
            self.orphans.retain(|(owner, _)| *owner != tag);
            return None;
        }
        match operation {
            Operation::Connect => Some(self.connected(slot, result)),
            Operation::Receive => self.received(slot, result, flags),
            Operation::Send => self.sent(slot, result),
            Operation::Timer | Operation::Close => None,
        }
    }

    /// Cancels an operation of a slot, if it is under way.
    fn cancel(&mut self, operation: Operation, slot: SlotId) {
        let tag = operation.tag(slot, self.connections[slot as usize].generation);
        let cancel = opcode::AsyncCancel::new(tag).build();
        let own_tag = Operation::Close.tag(slot, 0);
        self.push(cancel.flags(squeue::Flags::SKIP_SUCCESS).user_data(own_tag));
    }

    /// Ends the connection of a slot that is no longer used, if its descriptor was kept. What it
    /// has to send must be submitted.
    fn shut_down(&mut self, slot: SlotId) {
        if let Some(socket) = self.connections[slot as usize].socket.take() {
            sys::shut_down(&socket);
        }
    }

    /// Ends the connections that were closed since the last wait, before the kernel closes their
    /// sockets.
    #[cold]
    fn shut_vacated(&mut self) {
        self.hand_over(0);
        for at in 0..self.vacated.len() {
            let slot = self.vacated[at];
            // A slot that was opened again has another socket.
            if self.connections[slot as usize].link == TableSlot::Vacated {
                self.shut_down(slot);
            }
        }
    }

    /// Removes unused sockets from the table; the kernel closes them.
    fn vacate(&mut self) {
        if !self.vacated.is_empty() && self.removal == Removal::Waits {
            self.shut_vacated();
        }
        while let Some(slot) = self.vacated.pop() {
            let connection = &mut self.connections[slot as usize];
            if connection.link == TableSlot::Vacated {
                connection.link = TableSlot::None;
                let close = opcode::Close::new(Fixed(slot)).build();
                let tag = Operation::Close.tag(slot, 0);
                self.push(close.flags(squeue::Flags::SKIP_SUCCESS).user_data(tag));
            }
        }
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        // Also during a panic: receives may be armed on buffers that are freed with the driver.
        if self.end_all().is_err() {
            self.leak();
        }
    }
}

impl Driver for Uring {
    #[inline]
    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }

    fn open(&mut self, slot: SlotId, route: u32) {
        if let Err(error) = self.try_open(slot, route) {
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            self.failed.push((slot, self.connections[slot as usize].generation, errno));
        }
    }

    #[inline]
    fn send(&mut self, slot: SlotId, span: Range<usize>, ahead: Ahead) -> Sending {
        let is_quiet = ahead == Ahead::Nothing && span.len() <= QUIET_BYTES_MAX;
        let connection = &mut self.connections[slot as usize];
        (connection.sending, connection.source) = (span, SendBytes::Tape);
        let flags = if is_quiet { squeue::Flags::SKIP_SUCCESS } else { squeue::Flags::empty() };
        self.push_send(slot, flags);
        if is_quiet {
            // No event follows.
            self.connections[slot as usize].sending = 0..0;
            return Sending::Done;
        }
        Sending::Underway
    }

    #[inline]
    fn outbox(&mut self, slot: SlotId) -> &mut Vec<u8> {
        let connection = &mut self.connections[slot as usize];
        if std::mem::take(&mut connection.is_quiet) {
            std::mem::swap(&mut connection.outbox, &mut connection.resting);
            connection.outbox.clear();
        }
        &mut connection.outbox
    }

    /// With a completion if anything is unanswered: the memory is used again.
    #[inline]
    fn send_outbox(&mut self, slot: SlotId, ahead: Ahead) -> Sending {
        let connection = &mut self.connections[slot as usize];
        let length = connection.outbox.len();
        (connection.sending, connection.source) = (0..length, SendBytes::Outbox);
        if ahead == Ahead::Nothing && length <= QUIET_BYTES_MAX {
            self.push_send(slot, squeue::Flags::SKIP_SUCCESS);
            let connection = &mut self.connections[slot as usize];
            (connection.sending, connection.source) = (0..0, SendBytes::Tape);
            connection.is_quiet = true;
            // Its turn comes next, and is not the time to take memory.
            connection.resting.clear();
            connection.resting.reserve(connection.outbox.capacity());
            return Sending::Done;
        }
        self.push_send(slot, squeue::Flags::empty());
        Sending::Underway
    }

    fn untaken(&self, slot: SlotId) -> usize {
        self.connections[slot as usize].sending.len()
    }

    fn farewell(&mut self, slot: SlotId) {
        let connection = &mut self.connections[slot as usize];
        let is_underway = connection.source == SendBytes::Outbox && !connection.sending.is_empty();
        if connection.link != TableSlot::Connected || is_underway || connection.outbox.is_empty() {
            return;
        }
        (connection.is_parting, connection.has_parted) = (true, true);
        self.send_outbox(slot, Ahead::Unanswered);
    }

    fn close(&mut self, slot: SlotId) {
        // Operations hold the socket. They are cancelled, and their completions are recognised as
        // old by their generation.
        match self.connections[slot as usize].link {
            TableSlot::Connecting => self.cancel(Operation::Connect, slot),
            TableSlot::Connected => {
                self.cancel(Operation::Receive, slot);
                let connection = &self.connections[slot as usize];
                let is_sending = !connection.sending.is_empty() || connection.is_quiet;
                if is_sending && !self.connections[slot as usize].is_parting {
                    self.cancel(Operation::Send, slot);
                }
            }
            TableSlot::None | TableSlot::Vacated => {}
        }
        self.part_with_outbox(slot);
        let connection = &mut self.connections[slot as usize];
        connection.generation = connection.generation.wrapping_add(1);
        connection.sending = 0..0;
        (connection.is_starved, connection.was_reset) = (false, false);
        connection.is_parting = false;
        if matches!(connection.link, TableSlot::Connecting | TableSlot::Connected) {
            connection.link = TableSlot::Vacated;
            self.vacated.push(slot);
        }
    }

    fn wait(&mut self, now_ns: u64, until_ns: u64) -> u64 {
        self.vacate();
        self.enter(now_ns, until_ns);
        self.ready = self.reaped.len() + self.take_what_is_there();
        self.woken_ns = clock::now_ns();
        self.woken_ns
    }

    #[inline]
    fn left_from_before(&mut self, since_ns: u64) -> u64 {
        // What finds no buffer now was not fed, but a full wait may have left it.
        self.since_ns = since_ns.min(self.backlog.oldest());
        // What was fed is as old as its bytes.
        self.backlog.since(since_ns.min(self.fed_since_ns), self.took)
    }

    fn next(&mut self) -> Option<Event> {
        while let Some((slot, generation, errno)) = self.failed.pop() {
            if self.connections[slot as usize].generation == generation {
                let class = sys::attempt_class(errno);
                return Some(Event::OpenFailed { slot, class, at_ns: self.woken_ns });
            }
        }
        while self.ready > 0 {
            self.ready -= 1;
            let completion = match self.reaped.pop_front() {
                Some(completion) => completion,
                None => self.ring.completion().next()?,
            };
            if let Some(event) = self.event_of(&completion) {
                return Some(event);
            }
        }
        None
    }

    #[inline]
    fn bytes(&self, buffer: Buffer) -> &[u8] {
        self.buffers.bytes(buffer)
    }

    #[inline]
    fn release(&mut self, buffer: Buffer) {
        self.buffers.release(buffer.id);
    }
}

fn timespec(ns: u64) -> Timespec {
    Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32)
}

/// Tries again for half a second where the kernel has no pages: those of files have to be written
/// first, and it does not wait for that (`io_region_allocate_pages`, io_uring/memmap.c).
// Cold: before a run.
fn while_scarce<T>(mut make: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut left = 10;
    loop {
        match make() {
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) && left > 0 => left -= 1,
            made => return made,
        }
        #[allow(clippy::disallowed_methods, reason = "before a run, no step waits")]
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Whether this kernel has all that the driver needs, or the reason why not.
// Cold: once before a run.
pub fn check() -> Result<(), String> {
    let reason = |what: &str, error: io::Error| format!("{what}: {error}");
    let make = || -> io::Result<IoUring> {
        IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_submit_all()
            .build(8)
    };
    let ring = while_scarce(make).map_err(|error| reason("io_uring_setup", error))?;
    let submitter = ring.submitter();
    submitter.register_files_sparse(1).map_err(|error| reason("registered files", error))?;
    while_scarce(|| SharedBuffers::new(&submitter, BUFFERS_MIN))
        .map(drop)
        .map_err(|error| reason("buffer rings", error))
}

/// When this kernel closes removed sockets. Tried once per process.
// Cold: before a run. It takes a tenth of a second where they wait.
pub fn removal() -> Removal {
    static REMOVAL: OnceLock<Removal> = OnceLock::new();
    // What works everywhere, if it cannot be tried.
    *REMOVAL.get_or_init(|| try_removal().unwrap_or(Removal::Waits))
}

/// Removes a socket from a ring's table while an older operation on another one is under way, and
/// sees whether the other end reads the end.
fn try_removal() -> io::Result<Removal> {
    let mut ring: IoUring =
        IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(8)?;
    let (idle, _idle_peer) = UnixStream::pair()?;
    let (removed, mut peer) = UnixStream::pair()?;
    peer.set_nonblocking(true)?;
    let submitter = ring.submitter();
    submitter.register_files_sparse(2)?;
    submitter.register_files_update(0, &[idle.as_raw_fd(), removed.as_raw_fd()])?;
    drop(removed);
    let older = opcode::PollAdd::new(Fixed(0), libc::POLLIN as u32).build();
    let close = opcode::Close::new(Fixed(1)).build();
    for entry in [older, close] {
        // SAFETY: neither has a pointer.
        let pushed = unsafe { ring.submission().push(&entry) };
        pushed.expect("the queue has room for two");
    }
    ring.submit()?;
    for _ in 0..REMOVAL_LOOKS {
        match peer.read(&mut [0]) {
            Ok(_) => return Ok(Removal::Closes),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                clock::pause_ns(REMOVAL_PAUSE_NS);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Removal::Waits)
}

#[cfg(test)]
mod tests;
