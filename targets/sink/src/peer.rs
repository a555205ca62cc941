//! One accepted socket: moves bytes between the kernel and a [`Connection`].
//!
//! Registered once, edge-triggered: in the usual case a request costs one epoll_wait, one recv and
//! one send. A recv that does not fill the buffer has emptied the socket, so no extra recv is
//! needed to learn that.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::mem;
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;

use crate::connection::{Clerk, Connection, Leftover, Next, OUT_BYTES, PatternSpan};
use crate::plan::Ending;
use crate::poller::Poller;
use crate::response::{PATTERN_BYTES, pattern_piece};
use crate::stats::Record;
use crate::sys::{self, now_ns};

/// Most bytes taken by one recv.
pub const INBOX_BYTES: usize = 64 * 1024;
/// After this many recvs in a row other connections get a turn.
const RECVS_IN_A_ROW: usize = 16;
/// After this many sends in a row likewise, so that a large body does not delay small ones.
const SENDS_IN_A_ROW: usize = 16;
/// How long a closing connection waits for the client to read the last response.
const LINGER_NS: u64 = 1_000_000_000;
/// Most pieces of a generated body that are sent at once.
const PIECES: usize = 32;
/// The events watched for every connection.
pub const INTEREST: u32 = sys::READABLE | sys::ENDED | sys::EDGE;

/// What a thread works with. All its connections share its buffers, which are empty between turns.
#[derive(Debug)]
pub struct Hands {
    /// Watches the sockets.
    pub poller: Poller,
    /// Turns requests into responses.
    pub clerk: Clerk,
    inbox: Box<[u8]>,
    out: Vec<u8>,
}

impl Hands {
    /// Allocates all memory at once.
    pub fn new(poller: Poller, clerk: Clerk) -> Self {
        let inbox = vec![0; INBOX_BYTES].into();
        // A head may follow when the buffer is completely full.
        let out = Vec::with_capacity(OUT_BYTES + 1024);
        Self { poller, clerk, inbox, out }
    }
}

/// What a peer needs next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// An event of its socket.
    Wait,
    /// To be woken at this time.
    At(u64),
    /// Another turn, because there is more to read or to write.
    Again,
    /// The text of [`Peer::next_text`].
    Text,
    /// To be dropped.
    Gone,
}

/// A socket and its connection.
#[derive(Debug)]
pub struct Peer {
    socket: TcpStream,
    connection: Connection,
    token: u64,
    /// When it will be woken, `u64::MAX` for never.
    pub wake_ns: u64,
    reading: Reading,
    writing: Writing,
    flushed: Flushed,
    /// When to stop waiting for the client's FIN, `u64::MAX` while it is served.
    linger_until_ns: u64,
}

/// Whether there are bytes to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// There are none: wait for an event.
    Drained,
    /// There may be some.
    Unread,
    /// The client has sent FIN: read on until it arrives.
    Ending,
    /// It has arrived.
    Ended,
}

/// Whether there is room to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writing {
    /// There was always room.
    Free,
    /// There was none once; since then the socket is watched for it.
    Watched,
    /// There is none: wait for an event.
    Blocked,
}

/// How the last flush ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flushed {
    /// Nothing that is due was left, or there was no room.
    Whole,
    /// Other connections got their turn.
    CutShort,
}

impl Peer {
    /// A peer whose events carry `token`.
    pub fn new(socket: TcpStream, connection: Connection, token: u64) -> Self {
        Self {
            socket,
            connection,
            token,
            wake_ns: u64::MAX,
            reading: Reading::Drained,
            writing: Writing::Free,
            flushed: Flushed::Whole,
            linger_until_ns: u64::MAX,
        }
    }

    /// The socket, to watch it.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Closes the socket and returns the connection.
    pub fn end(self, record: &mut Record) -> Connection {
        let mut connection = self.connection;
        record.requests_unanswered += connection.unanswered();
        connection.clear();
        connection
    }

    /// Something has happened to the socket.
    #[inline]
    pub fn on_event(&mut self, readiness: u32, hands: &mut Hands, record: &mut Record) -> Outcome {
        if readiness & sys::DEAD != 0 {
            return Outcome::Gone;
        }
        if readiness & sys::ENDED != 0 && self.reading != Reading::Ended {
            self.reading = Reading::Ending;
        } else if readiness & sys::READABLE != 0 && self.reading == Reading::Drained {
            self.reading = Reading::Unread;
        }
        if readiness & sys::WRITABLE != 0 && self.writing == Writing::Blocked {
            self.writing = Writing::Watched;
            let outcome = self.flush(now_ns(), hands, record);
            if matches!(outcome, Outcome::Gone | Outcome::Text) {
                return outcome;
            }
        }
        self.go_on(hands, record)
    }

    /// Handles a requested wake-up, or the next turn.
    pub fn on_turn(&mut self, now_ns: u64, hands: &mut Hands, record: &mut Record) -> Outcome {
        if self.linger_until_ns <= now_ns {
            return Outcome::Gone;
        }
        let outcome = self.flush(now_ns, hands, record);
        if matches!(outcome, Outcome::Gone | Outcome::Text) {
            return outcome;
        }
        self.go_on(hands, record)
    }

    /// What [`Outcome::Text`] requests.
    pub fn next_text(&self) -> Next {
        self.connection.next()
    }

    /// Sets the text and continues.
    pub fn give_text(&mut self, text: String, hands: &mut Hands, record: &mut Record) -> Outcome {
        self.connection.give_text(text);
        self.on_turn(now_ns(), hands, record)
    }

    #[inline]
    fn go_on(&mut self, hands: &mut Hands, record: &mut Record) -> Outcome {
        if self.linger_until_ns != u64::MAX {
            return self.discard(hands);
        }
        self.read(hands, record)
    }

    #[inline]
    fn read(&mut self, hands: &mut Hands, record: &mut Record) -> Outcome {
        let mut outcome = self.outcome();
        for _ in 0..RECVS_IN_A_ROW {
            if !matches!(self.reading, Reading::Unread | Reading::Ending)
                || !self.connection.wants_input()
                || matches!(outcome, Outcome::Gone | Outcome::Text)
            {
                return outcome;
            }
            let arrival_ns = match self.socket.read(&mut hands.inbox) {
                Ok(0) => {
                    self.reading = Reading::Ended;
                    self.connection.end_of_input();
                    now_ns()
                }
                Ok(count) => {
                    let arrival_ns = now_ns();
                    if count < INBOX_BYTES && self.reading == Reading::Unread {
                        self.reading = Reading::Drained;
                    }
                    let bytes = &hands.inbox[..count];
                    self.connection.receive(bytes, arrival_ns, &mut hands.clerk, record);
                    arrival_ns
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.reading = Reading::Drained;
                    return self.outcome();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return Outcome::Gone,
            };
            outcome = self.flush(arrival_ns, hands, record);
        }
        outcome
    }

    /// Sends due responses until the kernel takes no more.
    #[inline]
    fn flush(&mut self, mut now: u64, hands: &mut Hands, record: &mut Record) -> Outcome {
        let pace = hands.clerk.service.pace;
        let mut sends = 0;
        self.flushed = Flushed::Whole;
        while self.writing != Writing::Blocked {
            hands.out.clear();
            let span = match pace {
                None => self.connection.write_due(now, &mut hands.out),
                Some(pace) => {
                    self.connection.write_piece(now, pace, &mut hands.out);
                    None
                }
            };
            if hands.out.is_empty() && span.is_none() {
                break;
            }
            if sends == SENDS_IN_A_ROW {
                self.flushed = Flushed::CutShort;
                break;
            }
            sends += 1;
            match self.send(&hands.out, span) {
                Ok(count) => {
                    now = now_ns();
                    self.connection.advance(count as u64, now, record);
                    if let Some(pace) = pace {
                        self.connection.piece_sent(now, pace);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.block(&hands.poller).is_err() {
                        return Outcome::Gone;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Outcome::Gone,
            }
        }
        self.after_flush(now)
    }

    fn send(&self, head: &[u8], span: Option<PatternSpan>) -> io::Result<usize> {
        match span {
            None => (&self.socket).write(head),
            Some(span) => self.send_span(head, span),
        }
    }

    /// Sends a head and as much of a generated body as one call accepts, without copying.
    fn send_span(&self, head: &[u8], span: PatternSpan) -> io::Result<usize> {
        let mut parts = [IoSlice::new(&[]); PIECES + 1];
        parts[0] = IoSlice::new(head);
        let mut from = span.from;
        for part in &mut parts[1..] {
            if from < span.until {
                let piece = pattern_piece(from, span.until);
                debug_assert!(piece.len() <= PATTERN_BYTES);
                from += piece.len() as u64;
                *part = IoSlice::new(piece);
            }
        }
        (&self.socket).write_vectored(&parts)
    }

    /// Waits for room. Changing the watched events reports the current state again, so room that
    /// became free meanwhile is not missed.
    fn block(&mut self, poller: &Poller) -> io::Result<()> {
        if self.writing == Writing::Free {
            poller.change(&self.socket, INTEREST | sys::WRITABLE, self.token)?;
        }
        self.writing = Writing::Blocked;
        Ok(())
    }

    #[inline]
    fn after_flush(&mut self, now: u64) -> Outcome {
        match self.connection.next() {
            Next::End(ending, leftover) => self.finish(ending, leftover, now),
            _ => self.outcome(),
        }
    }

    /// The next step, from the known state.
    #[inline]
    fn outcome(&self) -> Outcome {
        let may_read = matches!(self.reading, Reading::Unread | Reading::Ending);
        match self.connection.next() {
            _ if self.flushed == Flushed::CutShort => Outcome::Again,
            Next::Text(_) if self.writing != Writing::Blocked => Outcome::Text,
            _ if may_read && self.connection.wants_input() => Outcome::Again,
            Next::At(time_ns) if self.writing != Writing::Blocked => Outcome::At(time_ns),
            _ if self.linger_until_ns != u64::MAX => Outcome::At(self.linger_until_ns),
            _ => Outcome::Wait,
        }
    }

    /// All responses were sent: ends the connection so that the client gets the last one.
    fn finish(&mut self, ending: Ending, leftover: Leftover, now: u64) -> Outcome {
        if ending == Ending::Reset {
            // Without it the close is orderly, which is acceptable.
            let _ = sys::reset_on_close(self.socket.as_fd());
            return Outcome::Gone;
        }
        if self.linger_until_ns != u64::MAX {
            return self.outcome();
        }
        let is_safe = self.reading == Reading::Ended || leftover == Leftover::None;
        if is_safe || self.socket.shutdown(Shutdown::Write).is_err() {
            return Outcome::Gone;
        }
        self.linger_until_ns = now + LINGER_NS;
        // Bytes that have already arrived cause no new event.
        Outcome::Again
    }

    /// Reads and discards until the client's FIN.
    fn discard(&mut self, hands: &mut Hands) -> Outcome {
        for _ in 0..RECVS_IN_A_ROW {
            match self.socket.read(&mut hands.inbox) {
                Ok(0) => return Outcome::Gone,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.reading = Reading::Drained;
                    return Outcome::At(self.linger_until_ns);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Outcome::Gone,
            }
        }
        Outcome::Again
    }
}

/// Bounds the size of a connection: a hundred thousand of them take 40 MB.
const _: () = assert!(mem::size_of::<Peer>() <= 400);
