//! One end of the connection: messages over TLS over a socket that never blocks for long.

use crate::frame::{FrameError, Frames, encode, parse};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::Connection;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Bytes of plain text read at once.
const PIECE_BYTES: usize = 16 << 10;

/// Why a connection carries no more messages.
#[derive(Debug, thiserror::Error)]
pub enum LineEnd {
    /// The other end closed it.
    #[error("the other end closed the connection")]
    Closed,
    /// The system ended it.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The bytes are not TLS, or not ours.
    #[error("{0}")]
    Tls(#[from] rustls::Error),
    /// The bytes are not a message.
    #[error("{0}")]
    Frame(#[from] FrameError),
}

/// A connection that carries messages.
#[derive(Debug)]
pub struct Line {
    socket: TcpStream,
    tls: Connection,
    frames: Frames,
    end: Option<LineEnd>,
    /// Bytes that the socket accepted, and that came from it.
    sent: u64,
    received: u64,
}

/// How long no bytes have moved. A message that takes long is no silence while its bytes move.
#[derive(Debug)]
pub struct Stillness {
    bytes: u64,
    since: Instant,
}

impl Stillness {
    /// Since an instant, at which this many bytes had moved.
    pub fn new(bytes: u64, since: Instant) -> Self {
        Self { bytes, since }
    }

    /// How long there has been no change of the bytes that have moved.
    pub fn lasted(&mut self, bytes: u64, now: Instant) -> Duration {
        if bytes != self.bytes {
            *self = Self::new(bytes, now);
        }
        now.saturating_duration_since(self.since)
    }
}

impl Line {
    /// Over a connected socket. The handshake happens with the first messages.
    pub fn new(
        socket: TcpStream,
        mut tls: Connection,
        message_bytes_max: usize,
    ) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        // Senders wait while `is_blocked`; the limit would cut a message in two.
        tls.set_buffer_limit(None);
        let frames = Frames::new(message_bytes_max);
        Ok(Self { socket, tls, frames, end: None, sent: 0, received: 0 })
    }

    /// Bytes that the socket has accepted so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Bytes that have come so far, also of messages that are not whole yet.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Sends a message as far as the socket accepts it at once; the rest is kept.
    pub fn send(&mut self, message: &impl Serialize) {
        // The other end is gone, and the session's memory has no limit.
        if self.end.is_some() {
            return;
        }
        // Writing to the session's own memory cannot fail.
        let _ = self.tls.writer().write_all(&encode(message));
        self.write();
    }

    /// Whether the socket has not accepted all sent bytes yet. Sending more then fills memory.
    pub fn is_blocked(&self) -> bool {
        self.tls.wants_write() && self.end.is_none()
    }

    /// Waits until the socket accepts the sent bytes, or the time is over.
    pub fn flush(&mut self, wait: Duration) -> Result<(), LineEnd> {
        if self.is_blocked() {
            self.poll(PollFlags::OUT, wait);
            self.write();
        }
        match self.end.take() {
            Some(end) => Err(end),
            None => Ok(()),
        }
    }

    /// The bytes of the next message; nothing when the time is over before it is whole.
    pub fn next_bytes(&mut self, wait: Duration) -> Result<Option<Vec<u8>>, LineEnd> {
        if let Some(bytes) = self.frames.next_bytes()? {
            return Ok(Some(bytes));
        }
        if self.end.is_none() {
            let events = if self.is_blocked() { PollFlags::OUT } else { PollFlags::empty() };
            self.poll(PollFlags::IN | events, wait);
            self.read();
            self.write();
        }
        match self.frames.next_bytes()? {
            Some(bytes) => Ok(Some(bytes)),
            // An end is reported after everything that came before it.
            None => self.end.take().map_or(Ok(None), Err),
        }
    }

    /// The next message.
    pub fn next<T: DeserializeOwned>(&mut self, wait: Duration) -> Result<Option<T>, LineEnd> {
        let bytes = self.next_bytes(wait)?;
        Ok(bytes.map(|bytes| parse(&bytes)).transpose()?)
    }

    fn poll(&self, events: PollFlags, wait: Duration) {
        let wait = Timespec {
            tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(wait.subsec_nanos()),
        };
        // A failure shows when bytes are moved.
        let _ = poll(&mut [PollFd::new(&self.socket, events)], Some(&wait));
    }

    fn read(&mut self) {
        if let Err(end) = self.try_read() {
            self.end = self.end.take().or(Some(end));
        }
    }

    fn try_read(&mut self) -> Result<(), LineEnd> {
        match self.tls.read_tls(&mut self.socket) {
            Ok(0) => return Err(LineEnd::Closed),
            Ok(count) => self.received += count as u64,
            Err(error) if is_passing(&error) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        if let Err(error) = self.tls.process_new_packets() {
            // The alert informs the other end; if it does not arrive, nothing is lost.
            let _ = self.tls.write_tls(&mut self.socket);
            return Err(error.into());
        }
        let mut piece = [0; PIECE_BYTES];
        loop {
            match self.tls.reader().read(&mut piece) {
                Ok(0) => return Err(LineEnd::Closed),
                Ok(count) => self.frames.add(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(_) => return Err(LineEnd::Closed),
            }
        }
    }

    fn write(&mut self) {
        while self.end.is_none() && self.tls.wants_write() {
            match self.tls.write_tls(&mut self.socket) {
                Ok(count @ 1..) => self.sent += count as u64,
                Ok(0) => self.end = Some(LineEnd::Closed),
                Err(error) if is_passing(&error) => return,
                Err(error) => self.end = Some(error.into()),
            }
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::{Identity, Pinned};
    use crate::message::{FromProbe, ToProbe};
    use rustix::net::sockopt;
    use rustls::pki_types::ServerName;
    use rustls::{ClientConnection, ServerConnection};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Both ends of a line, after the handshake.
    fn pair() -> (Line, Line) {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = format!("remote-line-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        let identity = Identity::read_or_make(&folder.join("probe.pem")).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let name = ServerName::IpAddress(near.peer_addr().unwrap().ip().into());
        let client = ClientConnection::new(Pinned::client(&identity.pin).0, name).unwrap();
        let server = ServerConnection::new(Arc::clone(&identity.config)).unwrap();
        let mut near = Line::new(near, client.into(), 1 << 20).unwrap();
        let mut far = Line::new(listener.accept().unwrap().0, server.into(), 1 << 20).unwrap();
        near.send(&ToProbe::Stop);
        let turn = Duration::from_millis(10);
        while far.next::<ToProbe>(turn).unwrap() != Some(ToProbe::Stop) {
            assert_eq!(near.next::<ToProbe>(turn).unwrap(), None);
        }
        (near, far)
    }

    /// A large reading over a slow link: a part of it is enough to see that the line is not dead.
    #[test]
    fn bytes_of_a_message_that_is_not_whole_yet_are_seen_to_move() {
        let (mut near, mut far) = pair();
        let turn = Duration::from_millis(10);
        let begin = Instant::now();
        let after = |seconds| begin + Duration::from_secs(seconds);
        sockopt::set_socket_send_buffer_size(&far.socket, 64 << 10).unwrap();
        sockopt::set_socket_recv_buffer_size(&near.socket, 64 << 10).unwrap();
        let reading = FromProbe::Line { text: "x".repeat(1_000_000) };
        // More than both sockets hold.
        while !far.is_blocked() {
            far.send(&reading);
        }
        (0..8).for_each(|_| far.send(&reading));
        let mut still = Stillness::new(far.sent(), begin);
        assert_eq!(still.lasted(far.sent(), after(9)), Duration::from_secs(9));
        let (mut sent, mut seconds) = (far.sent(), 9);
        let mut still_there = Stillness::new(near.received(), begin);
        for _ in 0..5 {
            while far.sent() == sent {
                let received = near.received();
                near.next_bytes(turn).unwrap();
                if near.received() != received {
                    assert_eq!(still_there.lasted(near.received(), after(99)), Duration::ZERO);
                }
                far.flush(Duration::ZERO).unwrap();
            }
            assert!(far.is_blocked(), "most of it is still on its way");
            (sent, seconds) = (far.sent(), seconds + 9);
            assert_eq!(still.lasted(sent, after(seconds)), Duration::ZERO);
        }
        assert_eq!(still.lasted(sent, after(seconds + 11)), Duration::from_secs(11), "stuck");
    }

    #[test]
    fn what_is_sent_after_the_end_is_not_kept() {
        let (_near, mut far) = pair();
        assert!(!far.tls.wants_write());
        far.end = Some(LineEnd::Closed);
        far.send(&ToProbe::Stop);
        assert!(!far.tls.wants_write() && !far.is_blocked());
        assert!(matches!(far.flush(Duration::ZERO), Err(LineEnd::Closed)));
    }
}
