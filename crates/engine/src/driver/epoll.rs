//! Linux epoll, edge triggered, non-blocking sockets, one receive buffer per worker.
//!
//! Reads and writes happen one by one while the worker walks the events, so each receive has its
//! own stamp. See epoll(7) for the rules of edge triggering that `next` follows.
//!
//! Hot: runs for every request.

use super::backlog::{Backlog, Took};
use super::{Ahead, Buffer, Driver, End, Event, SendBytes, Sending, SlotId};
use crate::sys::{self, RawRoute};
use crate::{clock, job::Job};
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use wire::tape::Tape;

/// Events taken from the kernel at once.
const EVENTS_MAX: usize = 256;
/// Bytes received at once.
const BUFFER_BYTES: usize = 256 * 1024;

const INTEREST: u32 = (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET) as u32;
const ERROR: u32 = (libc::EPOLLERR | libc::EPOLLHUP) as u32;
const WRITABLE: u32 = libc::EPOLLOUT as u32 | ERROR;
const READABLE: u32 = (libc::EPOLLIN | libc::EPOLLRDHUP) as u32 | ERROR;
/// After these, reading must continue until the end is seen.
const ENDING: u32 = libc::EPOLLRDHUP as u32 | ERROR;

struct Connection {
    socket: Option<OwnedFd>,
    /// Counts the sockets of a slot, to recognise events of an old one.
    generation: u32,
    is_open: bool,
    /// A send reported that the other end reset it; a receive then reads an orderly end.
    was_reset: bool,
    /// Bytes not yet taken by the kernel, and where they are.
    unsent: Range<usize>,
    source: SendBytes,
    outbox: Vec<u8>,
}

/// An attempt that failed before the kernel could report it as an event.
struct Failed {
    slot: SlotId,
    generation: u32,
    errno: i32,
}

/// See the module.
pub struct Epoll {
    epoll: OwnedFd,
    routes: Vec<RawRoute>,
    tape: Arc<Tape>,
    connections: Vec<Connection>,
    failed: Vec<Failed>,
    events: Box<[libc::epoll_event; 2 * EVENTS_MAX]>,
    count: usize,
    at: usize,
    buffer: Box<[u8]>,
    /// Bytes that are still read of the event at `at`, once a receive filled the buffer.
    left: Option<usize>,
    /// Events of sockets that were not drained, each of another socket, and since when the rest may
    /// have been there; the next turn goes on with them.
    undrained: Vec<(libc::epoll_event, u64)>,
    /// Since when the rest may have been there that the last wait goes on with, or the far future.
    rest_since_ns: u64,
    /// When the last wait ended.
    woken_ns: u64,
    /// What the last wait took.
    took: Took,
    backlog: Backlog,
    coalesce_ns: u64,
    wait: Wait,
}

/// How the kernel is asked to wait for less than a millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// By `epoll_pwait2(2)`, since Linux 5.11.
    Pwait2,
    /// By `ppoll(2)` on the epoll descriptor, and an `epoll_wait(2)` that does not wait.
    Ppoll,
}

/// Waits for events, for at most `timeout_ns`; the number of events, or the errno.
fn pwait2(
    epoll: &OwnedFd,
    events: &mut [libc::epoll_event],
    timeout_ns: u64,
) -> Result<usize, i32> {
    let (timeout, no_mask) = (timespec(timeout_ns), std::ptr::null::<libc::sigset_t>());
    let (place, length) = (events.as_mut_ptr(), events.len() as libc::c_int);
    // musl has no wrapper for this call. SAFETY: the events and the timeout outlive the call,
    // `length` is their number.
    let count = unsafe {
        let epoll = epoll.as_raw_fd();
        libc::syscall(libc::SYS_epoll_pwait2, epoll, place, length, &raw const timeout, no_mask, 8)
    };
    sys::checked(count as libc::c_int).map(|count| count as usize)
}

/// Waits for events on kernels without `epoll_pwait2`.
fn ppoll(epoll: &OwnedFd, events: &mut [libc::epoll_event], timeout_ns: u64) -> Result<usize, i32> {
    if timeout_ns > 0 {
        let mut ready = libc::pollfd { fd: epoll.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let (timeout, no_mask) = (timespec(timeout_ns), std::ptr::null());
        // SAFETY: one descriptor and the timeout, which outlive the call.
        sys::checked(unsafe { libc::ppoll(&mut ready, 1, &raw const timeout, no_mask) })?;
    }
    let (place, length) = (events.as_mut_ptr(), events.len() as libc::c_int);
    // SAFETY: the events outlive the call, `length` is their number.
    let count = unsafe { libc::epoll_wait(epoll.as_raw_fd(), place, length, 0) };
    sys::checked(count).map(|count| count as usize)
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (ns / 1_000_000_000) as _,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    }
}

impl Epoll {
    /// Takes all memory for `slots` connections of a job.
    pub fn new(job: &Job, slots: u32) -> io::Result<Self> {
        // SAFETY: no pointers.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let closed = || Connection {
            socket: None,
            generation: 0,
            is_open: false,
            was_reset: false,
            unsent: 0..0,
            source: SendBytes::Tape,
            outbox: Vec::new(),
        };
        // SAFETY: the descriptor was just made and has no other owner.
        let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
        let mut events = Box::new([libc::epoll_event { events: 0, u64: 0 }; 2 * EVENTS_MAX]);
        let wait = match pwait2(&epoll, &mut events[..], 0) {
            // An old kernel, or an old profile of a container (seccomp).
            Err(libc::ENOSYS | libc::EPERM) => Wait::Ppoll,
            _ => Wait::Pwait2,
        };
        Ok(Self {
            epoll,
            routes: job.routes.iter().map(RawRoute::new).collect::<io::Result<_>>()?,
            tape: Arc::clone(&job.tape),
            connections: (0..slots).map(|_| closed()).collect(),
            failed: Vec::with_capacity(slots as usize),
            events,
            count: 0,
            at: 0,
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            left: None,
            undrained: Vec::with_capacity(slots as usize),
            rest_since_ns: u64::MAX,
            woken_ns: clock::now_ns(),
            took: Took::All,
            // The kernel has one event for each socket, and returns them in their order.
            backlog: Backlog::new(slots as usize, EVENTS_MAX),
            coalesce_ns: job.manner.coalesce_ns,
            wait,
        })
    }

    fn try_open(&mut self, slot: SlotId, route: u32) -> io::Result<()> {
        let route = &self.routes[route as usize];
        let socket = sys::stream_socket(route)?;
        let connection = &mut self.connections[slot as usize];
        let tag = u64::from(connection.generation) << 32 | u64::from(slot);
        let mut event = libc::epoll_event { events: INTEREST, u64: tag };
        // Not earlier: epoll reports a socket that is not connecting as hung up.
        sys::connect(&socket, &route.to)?;
        // SAFETY: the event outlives the call.
        let result = unsafe {
            let (epoll, fd) = (self.epoll.as_raw_fd(), socket.as_raw_fd());
            libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &mut event)
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        connection.socket = Some(socket);
        Ok(())
    }

    /// Writes the rest of a send.
    fn push(&mut self, slot: SlotId) -> Sending {
        let connection = &mut self.connections[slot as usize];
        let Some(socket) = &connection.socket else { return Sending::Done };
        let bytes = match connection.source {
            SendBytes::Tape => self.tape.bytes(),
            SendBytes::Outbox => &connection.outbox,
        };
        let bytes = &bytes[connection.unsent.start..connection.unsent.end];
        // A read will show the end; until then the send stays under way. The kernel reports a reset
        // only once, and this was it.
        match sys::send_now(socket.as_raw_fd(), bytes) {
            Ok(taken) => connection.unsent.start += taken,
            Err(errno) => connection.was_reset |= errno == libc::ECONNRESET,
        }
        if !connection.unsent.is_empty() {
            return Sending::Underway;
        }
        if connection.source == SendBytes::Outbox {
            connection.outbox.clear();
        }
        Sending::Done
    }

    /// Appends events to those already taken.
    fn poll(&mut self, timeout_ns: u64) {
        let free = &mut self.events[self.count..EVENTS_MAX];
        let found = match self.wait {
            Wait::Pwait2 => pwait2(&self.epoll, free, timeout_ns),
            Wait::Ppoll => ppoll(&self.epoll, free, timeout_ns),
        };
        // An interrupted wait counts as an empty one.
        self.count += match found {
            Ok(count) => count,
            Err(libc::EINTR) => 0,
            Err(errno) => panic!("waiting on epoll: {}", io::Error::from_raw_os_error(errno)),
        };
    }

    /// Adds the sockets that the last turn did not drain, as many as fit, one event for each.
    #[cold]
    fn go_on_with_undrained(&mut self) {
        let (polled, room) = (self.count, self.events.len());
        let (events, count) = (&mut self.events, &mut self.count);
        let rest_since_ns = &mut self.rest_since_ns;
        self.undrained.retain(|(undrained, since_ns)| {
            let tag = undrained.u64;
            let same = events[..polled].iter_mut().find(|event| event.u64 == tag);
            let fits = same.is_some() || *count < room;
            if let Some(same) = same {
                same.events |= undrained.events;
            } else if fits {
                events[*count] = *undrained;
                *count += 1;
            }
            if fits {
                *rest_since_ns = (*rest_since_ns).min(*since_ns);
            }
            !fits
        });
    }

    /// The result of a slot's connect, once its socket is writable.
    fn connected(&mut self, slot: SlotId, fd: RawFd) -> Event {
        let at_ns = clock::now_ns();
        match sys::pending_error(fd) {
            0 => {
                self.connections[slot as usize].is_open = true;
                Event::Opened { slot, at_ns }
            }
            errno => Event::OpenFailed { slot, class: sys::attempt_class(errno), at_ns },
        }
    }

    /// One receive; `None` when the socket is drained.
    fn receive(&mut self, slot: SlotId, fd: RawFd) -> Option<Event> {
        let (pointer, length) = (self.buffer.as_mut_ptr().cast(), self.buffer.len());
        // SAFETY: the buffer outlives the call, `length` is its size.
        let received = unsafe { libc::recv(fd, pointer, length, libc::MSG_DONTWAIT) };
        let at_ns = clock::now_ns();
        match received {
            1.. => {
                let buffer = Buffer { id: 0, length: received as u32 };
                Some(Event::Received { slot, at_ns, buffer })
            }
            0 => {
                let was_reset = self.connections[slot as usize].was_reset;
                let end = if was_reset { End::Reset } else { End::Closed };
                Some(Event::Ended { slot, end, at_ns })
            }
            _ => match io::Error::last_os_error().kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => None,
                _ => Some(Event::Ended { slot, end: End::Reset, at_ns }),
            },
        }
    }

    /// A receive filled the buffer. A peer that sends as fast as this worker reads would keep it
    /// here: what was there at the first full receive is read, and one buffer more, and the rest in
    /// the next turn. So no byte of the rest was there before the start of this turn.
    fn filled(&mut self, fd: RawFd) {
        match self.left {
            None => self.left = Some(sys::readable(fd)),
            Some(0) => {
                self.undrained.push((self.events[self.at], self.woken_ns));
                self.events[self.at].events = 0;
            }
            Some(left) => self.left = Some(left.saturating_sub(self.buffer.len())),
        }
    }

    /// What the event at `self.at` still has to report; `None` when it is used up.
    fn next_of_event(&mut self) -> Option<Event> {
        let event = self.events[self.at];
        let (tag, flags) = (event.u64, event.events);
        let (slot, generation) = (tag as u32, (tag >> 32) as u32);
        let connection = &self.connections[slot as usize];
        let socket = connection.socket.as_ref().filter(|_| connection.generation == generation)?;
        let fd = socket.as_raw_fd();
        if !connection.is_open {
            self.events[self.at].events &= !(WRITABLE & !ERROR);
            return (flags & WRITABLE != 0).then(|| self.connected(slot, fd));
        }
        if flags & libc::EPOLLOUT as u32 != 0 {
            self.events[self.at].events &= !(libc::EPOLLOUT as u32);
            let underway = !connection.unsent.is_empty();
            if underway && self.push(slot) == Sending::Done {
                return Some(Event::Sent { slot, at_ns: clock::now_ns() });
            }
        }
        if flags & READABLE == 0 {
            return None;
        }
        let event = self.receive(slot, fd);
        if let Some(Event::Received { buffer, .. }) = event {
            if buffer.length as usize == self.buffer.len() {
                self.filled(fd);
            } else if flags & ENDING == 0 {
                // Less than requested: the socket is drained, and more bytes make a new edge.
                self.events[self.at].events = 0;
            }
        }
        event
    }
}

impl Driver for Epoll {
    #[inline]
    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }

    fn open(&mut self, slot: SlotId, route: u32) {
        if let Err(error) = self.try_open(slot, route) {
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            let generation = self.connections[slot as usize].generation;
            self.failed.push(Failed { slot, generation, errno });
        }
    }

    #[inline]
    fn send(&mut self, slot: SlotId, span: Range<usize>, _ahead: Ahead) -> Sending {
        let connection = &mut self.connections[slot as usize];
        (connection.unsent, connection.source) = (span, SendBytes::Tape);
        self.push(slot)
    }

    #[inline]
    fn outbox(&mut self, slot: SlotId) -> &mut Vec<u8> {
        &mut self.connections[slot as usize].outbox
    }

    #[inline]
    fn send_outbox(&mut self, slot: SlotId, _ahead: Ahead) -> Sending {
        let connection = &mut self.connections[slot as usize];
        (connection.unsent, connection.source) = (0..connection.outbox.len(), SendBytes::Outbox);
        self.push(slot)
    }

    fn untaken(&self, slot: SlotId) -> usize {
        self.connections[slot as usize].unsent.len()
    }

    fn farewell(&mut self, slot: SlotId) {
        let connection = &mut self.connections[slot as usize];
        let Some(socket) = connection.socket.as_ref().filter(|_| connection.unsent.is_empty())
        else {
            return;
        };
        // It is the last send of a connection that is closed in any case.
        let _ = sys::send_now(socket.as_raw_fd(), &connection.outbox);
        connection.outbox.clear();
    }

    fn close(&mut self, slot: SlotId) {
        let connection = &mut self.connections[slot as usize];
        connection.socket = None;
        connection.generation = connection.generation.wrapping_add(1);
        (connection.is_open, connection.was_reset) = (false, false);
        connection.unsent = 0..0;
        connection.outbox.clear();
    }

    fn wait(&mut self, now_ns: u64, until_ns: u64) -> u64 {
        let has_more = !self.failed.is_empty() || !self.undrained.is_empty();
        (self.count, self.at) = (0, 0);
        self.poll(if has_more { 0 } else { until_ns.saturating_sub(now_ns) });
        let is_thin = self.count > 0 && self.count < self.connections.len().min(EVENTS_MAX) / 2;
        if self.coalesce_ns > 0 && is_thin {
            let pause_ns = self.coalesce_ns.min(until_ns.saturating_sub(clock::now_ns()));
            if pause_ns > 0 {
                clock::pause_ns(pause_ns);
                self.poll(0);
            }
        }
        self.took = if self.count == EVENTS_MAX { Took::Full } else { Took::All };
        self.rest_since_ns = u64::MAX;
        if !self.undrained.is_empty() {
            self.go_on_with_undrained();
        }
        self.woken_ns = clock::now_ns();
        self.woken_ns
    }

    #[inline]
    fn left_from_before(&mut self, since_ns: u64) -> u64 {
        self.backlog.since(since_ns, self.took).min(self.rest_since_ns)
    }

    fn next(&mut self) -> Option<Event> {
        while let Some(Failed { slot, generation, errno }) = self.failed.pop() {
            if self.connections[slot as usize].generation == generation {
                let at_ns = clock::now_ns();
                return Some(Event::OpenFailed { slot, class: sys::attempt_class(errno), at_ns });
            }
        }
        while self.at < self.count {
            if let Some(event) = self.next_of_event() {
                return Some(event);
            }
            self.at += 1;
            self.left = None;
        }
        None
    }

    #[inline]
    fn bytes(&self, buffer: Buffer) -> &[u8] {
        &self.buffer[..buffer.length as usize]
    }

    #[inline]
    fn release(&mut self, _buffer: Buffer) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::load::{Manner, Request};
    use model::route::Route;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    /// Waits until so many bytes are there to read on a slot's socket.
    fn await_bytes(driver: &Epoll, slot: usize, length: usize) {
        let fd = driver.connections[slot].socket.as_ref().unwrap().as_raw_fd();
        while sys::readable(fd) < length {
            std::thread::yield_now();
        }
    }

    /// The peer sends more whenever the driver has read all that was there, for more turns than
    /// the driver takes events at once.
    #[test]
    fn a_socket_that_is_never_drained_does_not_hold_up_the_turn_or_the_others() {
        const BYTES: usize = 32;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (method, path) = ("GET".to_string(), "/".to_string());
        let tape = Tape::new(&[Request { method, path, ..Request::default() }], 1).unwrap();
        let route = Route::to(listener.local_addr().unwrap());
        let job = Job { routes: vec![route], ..Job::for_tests(tape) };
        let mut driver = Epoll::new(&job, 2).unwrap();
        driver.buffer = vec![0; BYTES].into_boxed_slice();
        let (full, other) = ((0, BYTES as u32), (1, 1));
        let mut peers: Vec<TcpStream> = Vec::new();
        for slot in 0..2 {
            driver.open(slot, 0);
            peers.push(listener.accept().unwrap().0);
            while !driver.connections[slot as usize].is_open {
                let now_ns = driver.now_ns();
                driver.wait(now_ns, now_ns);
                while driver.next().is_some() {}
            }
        }
        peers[0].write_all(&[0; BYTES]).unwrap();
        await_bytes(&driver, 0, BYTES);
        let mut before_ns = u64::MAX;
        for turn in 0..2 * EVENTS_MAX {
            let has_other = turn % 2 == 1;
            if has_other {
                peers[1].write_all(&[0; 1]).unwrap();
                await_bytes(&driver, 1, 1);
            }
            let now_ns = driver.now_ns();
            let woken_ns = driver.wait(now_ns, now_ns);
            let since_ns = driver.left_from_before(woken_ns);
            assert_eq!(since_ns, woken_ns.min(before_ns), "the rest came in the turn before");
            before_ns = woken_ns;
            let mut received = Vec::new();
            while let Some(event) = driver.next() {
                let Event::Received { slot, buffer, .. } = event else { panic!("{event:?}") };
                if slot == 0 && !received.contains(&full) {
                    peers[0].write_all(&[0; 2 * BYTES]).unwrap();
                    await_bytes(&driver, 0, 2 * BYTES);
                }
                received.push((slot, buffer.length));
            }
            received.sort_unstable();
            let expected: &[_] = if has_other { &[full, full, other] } else { &[full, full] };
            assert_eq!(received, expected, "one buffer of what came in turn {turn}");
            assert_eq!(driver.undrained.len(), 1);
        }
    }

    /// More sockets are ready than a wait takes: the rest was there before the turn between.
    #[test]
    fn what_a_full_wait_left_is_as_old_as_that_wait() {
        const SLOTS: u32 = EVENTS_MAX as u32 + 10;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (method, path) = ("GET".to_string(), "/".to_string());
        let tape = Tape::new(&[Request { method, path, ..Request::default() }], 1).unwrap();
        let route = Route::to(listener.local_addr().unwrap());
        let job = Job { routes: vec![route], ..Job::for_tests(tape) };
        let mut driver = Epoll::new(&job, SLOTS).unwrap();
        let mut peers: Vec<TcpStream> = Vec::new();
        for slot in 0..SLOTS {
            driver.open(slot, 0);
            peers.push(listener.accept().unwrap().0);
        }
        while driver.connections.iter().any(|connection| !connection.is_open) {
            let now_ns = driver.now_ns();
            driver.wait(now_ns, now_ns);
            driver.left_from_before(0);
            while driver.next().is_some() {}
        }
        for (slot, peer) in peers.iter_mut().enumerate() {
            peer.write_all(&[0; 1]).unwrap();
            await_bytes(&driver, slot, 1);
        }
        let mut turn = |since_ns| {
            let now_ns = driver.now_ns();
            driver.wait(now_ns, now_ns);
            let since_ns = driver.left_from_before(since_ns);
            (since_ns, std::iter::from_fn(|| driver.next()).count())
        };
        assert_eq!(turn(10), (10, EVENTS_MAX));
        assert_eq!(turn(20), (10, 10), "left by the wait before");
        assert_eq!(turn(30), (30, 0));
    }

    /// A request may be due then. A pause that ignores it would last a minute.
    #[test]
    fn coalescing_ends_when_the_wait_is_to_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (method, path) = ("GET".to_string(), "/".to_string());
        let tape = Tape::new(&[Request { method, path, ..Request::default() }], 1).unwrap();
        let routes = vec![Route::to(listener.local_addr().unwrap())];
        let manner = Manner { coalesce_ns: 60_000_000_000, ..Manner::default() };
        let job = Job { routes, manner, ..Job::for_tests(tape) };
        let mut driver = Epoll::new(&job, 4).unwrap();
        driver.open(0, 0);
        let _peer = listener.accept().unwrap();
        let now_ns = driver.now_ns();
        let woken_ns = driver.wait(now_ns, now_ns + 1_000_000);
        assert_eq!(driver.count, 1, "one event of four connections is few");
        assert!(woken_ns - now_ns < 30_000_000_000);
    }

    /// Both ways to wait: events that are there, and a wait that is over without one.
    #[test]
    fn a_kernel_without_epoll_pwait2_is_asked_in_another_way() {
        type Waits = fn(&OwnedFd, &mut [libc::epoll_event], u64) -> Result<usize, i32>;
        for wait in [pwait2 as Waits, ppoll] {
            // SAFETY: the descriptor is checked, and has no other owner.
            let epoll = unsafe {
                let fd = libc::epoll_create1(libc::EPOLL_CLOEXEC);
                assert!(fd >= 0);
                OwnedFd::from_raw_fd(fd)
            };
            let (near, mut far) = UnixStream::pair().unwrap();
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 7 };
            // SAFETY: the event outlives the call.
            let added = unsafe {
                let (epoll, fd) = (epoll.as_raw_fd(), near.as_raw_fd());
                libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event)
            };
            assert_eq!(added, 0);
            let mut events = [libc::epoll_event { events: 0, u64: 0 }; 4];
            let begin_ns = clock::now_ns();
            assert_eq!(wait(&epoll, &mut events, 3_000_000), Ok(0));
            assert!(clock::now_ns() - begin_ns >= 3_000_000);
            assert_eq!(wait(&epoll, &mut events, 0), Ok(0));
            far.write_all(b"1").unwrap();
            for timeout_ns in [0, 60_000_000_000] {
                assert_eq!(wait(&epoll, &mut events, timeout_ns), Ok(1));
                assert_eq!({ events[0].u64 }, 7);
            }
        }
    }
}
