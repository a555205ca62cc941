//! One connection to one server, from the first byte to its end.
//!
//! The server sends INFO first, in plain text. Then follow the TLS handshake if either side asks
//! for it, our CONNECT with the signed nonce, our subscriptions, and a PING; the PONG says that the
//! server accepted all of it.

use crate::address::{Secrecy, Server};
use crate::credentials::Credentials;
use crate::protocol::{Greeting, Info, Message, Parser, ProtocolError, greet, publish, subscribe};
use crate::subject::Subject;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Limit from the connection to the first PONG.
const GREETED_WITHIN: Duration = Duration::from_secs(5);
/// How often a PING is sent.
const PING_EVERY: Duration = Duration::from_secs(1);
/// A server that sends nothing for this long after a PING is lost.
const SILENCE_MAX: Duration = Duration::from_secs(3);
/// Most bytes that wait for the socket. A server that reads so slowly counts as lost.
const UNWRITTEN_MAX: usize = 16 << 20;
/// Bytes of one read.
const PIECE_BYTES: usize = 64 << 10;
/// Most reads before their messages are returned, so that a flood does not fill memory.
const PIECES_MAX: usize = 16;

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// An error of the system.
    #[error("{0}")]
    Io(String),
    /// The server closed the connection.
    #[error("the server closed the connection")]
    Closed,
    /// The server does not respond.
    #[error("the server does not respond")]
    Silent,
    /// The server does not read what we send.
    #[error("the server does not read what is sent")]
    Blocked,
    /// TLS failed, for example because of the certificate.
    #[error("TLS: {0}")]
    Tls(String),
    /// The server offers plain text only, and the user wants TLS.
    #[error(
        "the server has no TLS, and the credentials or tls:// require it; see tls {{}} in the \
         server's configuration"
    )]
    Plain,
    /// There is no connection, so nothing can be published.
    #[error("there is no connection to a server")]
    NotUp,
    /// The bytes are not the NATS protocol.
    #[error("{0}")]
    Protocol(#[from] ProtocolError),
    /// The server refuses this user.
    #[error("the server refuses these credentials: {0}")]
    Denied(String),
    /// The server ended the connection, with its reason.
    #[error("the server ended the connection: {0}")]
    Ended(String),
}

/// The settings of a connection.
#[derive(Debug)]
pub(crate) struct Terms<'a> {
    pub credentials: &'a Credentials,
    pub secrecy: Secrecy,
    /// Name of the client in the server's list of connections.
    pub name: &'a str,
    pub subjects: &'a [Subject],
    /// The TLS settings.
    pub config: &'a Arc<ClientConfig>,
}

/// What arrived on a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The server accepted our greeting and subscriptions.
    Up,
    /// A payload.
    Payload { subject: String, payload: Vec<u8> },
    /// The server does not allow something that we asked for; the connection stays.
    Refused(String),
}

/// The stage of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Waiting for the server's INFO.
    Info,
    /// The greeting was sent; waiting for the first PONG.
    Greeted,
    /// Ready.
    Up,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Link {
    pub server: Server,
    socket: TcpStream,
    tls: Option<Box<ClientConnection>>,
    parser: Parser,
    /// Plain bytes that wait for the socket, if there is no TLS.
    unwritten: VecDeque<u8>,
    /// Bytes that wait for the socket, with TLS or without.
    waiting_bytes: usize,
    stage: Stage,
    begin: Instant,
    heard: Instant,
    /// When the PING was sent that has had no PONG yet.
    asked: Option<Instant>,
    news: VecDeque<News>,
}

impl Link {
    /// A link over a connected socket.
    pub(crate) fn new(server: Server, socket: TcpStream, now: Instant) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        Ok(Self {
            server,
            socket,
            tls: None,
            parser: Parser::default(),
            unwritten: VecDeque::new(),
            waiting_bytes: 0,
            stage: Stage::Info,
            begin: now,
            heard: now,
            asked: None,
            news: VecDeque::new(),
        })
    }

    /// The descriptor to poll.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Whether bytes wait for the socket.
    pub(crate) fn is_blocked(&self) -> bool {
        !self.unwritten.is_empty() || self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// When it needs its next turn, even if nothing arrives.
    pub(crate) fn next_at(&self) -> Instant {
        match (self.stage, self.asked) {
            (Stage::Info | Stage::Greeted, _) => self.begin + GREETED_WITHIN,
            (Stage::Up, Some(asked)) => asked + SILENCE_MAX,
            (Stage::Up, None) => self.heard + PING_EVERY,
        }
    }

    /// The next of what arrived, in order.
    pub(crate) fn next_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// Publishes a payload.
    pub(crate) fn publish(&mut self, subject: &Subject, payload: &[u8]) -> Result<(), Failure> {
        if self.stage != Stage::Up {
            return Err(Failure::NotUp);
        }
        self.send(&publish(subject, payload))?;
        self.write()
    }

    /// Reads and writes as much as possible without waiting, and checks the timeouts.
    pub(crate) fn turn(&mut self, now: Instant, terms: &Terms<'_>) -> Result<(), Failure> {
        let end = self.read(now, terms);
        while let Some(message) = self.parser.next_message()? {
            self.take(message, terms)?;
        }
        end?;
        self.look_at_time(now)?;
        self.write()
    }

    fn look_at_time(&mut self, now: Instant) -> Result<(), Failure> {
        if now < self.next_at() {
            return Ok(());
        }
        match (self.stage, self.asked) {
            (Stage::Info | Stage::Greeted, _) | (Stage::Up, Some(_)) => Err(Failure::Silent),
            (Stage::Up, None) => {
                self.asked = Some(now);
                self.send(b"PING\r\n")
            }
        }
    }

    fn take(&mut self, message: Message, terms: &Terms<'_>) -> Result<(), Failure> {
        match message {
            Message::Info(info) if self.stage == Stage::Info => self.begin_with(&info, terms)?,
            Message::Ping => self.send(b"PONG\r\n")?,
            Message::Pong if self.stage == Stage::Greeted => {
                self.stage = Stage::Up;
                self.news.push_back(News::Up);
            }
            Message::Payload { subject, payload } if self.stage == Stage::Up => {
                self.news.push_back(News::Payload { subject, payload });
            }
            Message::Error(why) => return self.refused(why),
            Message::Info(_) | Message::Pong | Message::Payload { .. } | Message::Fine => {}
        }
        Ok(())
    }

    fn refused(&mut self, why: String) -> Result<(), Failure> {
        match Refusal::of(&why) {
            Refusal::Permission => {
                self.news.push_back(News::Refused(why));
                Ok(())
            }
            Refusal::User => Err(Failure::Denied(why)),
            Refusal::Connection => Err(Failure::Ended(why)),
        }
    }

    fn begin_with(&mut self, info: &Info, terms: &Terms<'_>) -> Result<(), Failure> {
        let Terms { credentials, secrecy, name, subjects, config } = *terms;
        let wants = secrecy == Secrecy::Always || !credentials.authorities.is_empty();
        if wants && !info.tls_required && !info.tls_available {
            return Err(Failure::Plain);
        }
        if wants || info.tls_required {
            // Plain-text bytes must not be taken as part of the TLS stream.
            if !self.parser.is_empty() {
                return Err(Failure::Tls("bytes in plain text before the handshake".to_string()));
            }
            let host = ServerName::try_from(self.server.host.clone());
            let host = host.map_err(|error| Failure::Tls(error.to_string()))?;
            let tls = ClientConnection::new(Arc::clone(config), host);
            let mut tls = tls.map_err(|error| Failure::Tls(error.to_string()))?;
            tls.set_buffer_limit(None);
            self.tls = Some(Box::new(tls));
        }
        let signed = match (&credentials.seed, &info.nonce) {
            (Some(seed), Some(nonce)) => Some(URL_SAFE_NO_PAD.encode(seed.sign(nonce.as_bytes()))),
            // A server without users sends no nonce and accepts everyone.
            _ => None,
        };
        let nkey = credentials.seed.as_ref().filter(|_| signed.is_some());
        let greeting = Greeting {
            lang: "rust",
            version: env!("CARGO_PKG_VERSION"),
            protocol: 1,
            name,
            nkey: nkey.filter(|_| credentials.jwt.is_none()).map(|seed| seed.user()),
            jwt: credentials.jwt.as_deref(),
            sig: signed,
            auth_token: credentials.token.as_deref(),
            ..Greeting::default()
        };
        self.stage = Stage::Greeted;
        let mut bytes = greet(&greeting);
        for (index, subject) in subjects.iter().enumerate() {
            bytes.extend(subscribe(subject, index + 1));
        }
        bytes.extend_from_slice(b"PING\r\n");
        self.send(&bytes)
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let before = if self.is_blocked() { self.waiting_bytes } else { 0 };
        self.waiting_bytes = before + bytes.len();
        if self.waiting_bytes > UNWRITTEN_MAX {
            return Err(Failure::Blocked);
        }
        match &mut self.tls {
            // Writing to the session's own memory cannot fail.
            Some(tls) => drop(tls.writer().write_all(bytes)),
            None => self.unwritten.extend(bytes),
        }
        Ok(())
    }

    fn read(&mut self, now: Instant, terms: &Terms<'_>) -> Result<(), Failure> {
        let mut piece = vec![0; PIECE_BYTES];
        for _ in 0..PIECES_MAX {
            let read = match &mut self.tls {
                Some(tls) => tls.read_tls(&mut self.socket),
                None => self.socket.read(&mut piece),
            };
            let count = match read {
                Ok(0) => return Err(Failure::Closed),
                Ok(count) => count,
                Err(error) if is_passing(&error) => return Ok(()),
                Err(error) => return Err(Failure::Io(error.to_string())),
            };
            (self.heard, self.asked) = (now, None);
            match &mut self.tls {
                None => {
                    self.parser.add(&piece[..count]);
                    // The bytes after INFO may be TLS, so no more is read than the parser takes.
                    while let Some(message) = self.parser.next_message()? {
                        self.take(message, terms)?;
                    }
                }
                Some(_) => self.decrypt(&mut piece)?,
            }
        }
        Ok(())
    }

    fn decrypt(&mut self, piece: &mut [u8]) -> Result<(), Failure> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        if let Err(error) = tls.process_new_packets() {
            // Sends the TLS alert to the server; if it does not arrive, nothing is lost.
            let _ = tls.write_tls(&mut self.socket);
            return Err(Failure::Tls(error.to_string()));
        }
        loop {
            match tls.reader().read(piece) {
                Ok(0) => return Err(Failure::Closed),
                Ok(count) => self.parser.add(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(_) => return Err(Failure::Closed),
            }
        }
    }

    fn write(&mut self) -> Result<(), Failure> {
        loop {
            let written = match &mut self.tls {
                Some(tls) if tls.wants_write() => tls.write_tls(&mut self.socket),
                None if !self.unwritten.is_empty() => {
                    let written = self.socket.write(self.unwritten.as_slices().0);
                    self.unwritten.drain(..*written.as_ref().unwrap_or(&0));
                    written
                }
                _ => return Ok(()),
            };
            match written {
                // Encrypted bytes are a few more.
                Ok(count @ 1..) => self.waiting_bytes = self.waiting_bytes.saturating_sub(count),
                Ok(0) => return Err(Failure::Closed),
                Err(error) if is_passing(&error) => return Ok(()),
                Err(error) => return Err(Failure::Io(error.to_string())),
            }
        }
    }
}

/// What an error of the server refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    /// A subject; the connection stays.
    Permission,
    /// This user.
    User,
    /// This connection; another attempt may work.
    Connection,
}

impl Refusal {
    fn of(why: &str) -> Self {
        let is = |words: &str| why.to_ascii_lowercase().contains(words);
        if is("permissions violation") {
            Self::Permission
        } else if is("authentication timeout") {
            // We were slow, or the server was: it has not looked at the credentials.
            Self::Connection
        } else if is("authorization") || is("authentication") {
            Self::User
        } else {
            Self::Connection
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Servers;
    use std::net::TcpListener;

    #[test]
    fn a_server_that_reads_slowly_is_no_server_that_does_not_read() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let server = "nats://127.0.0.1:1".parse::<Servers>().unwrap().all.remove(0);
        let mut link = Link::new(server, socket, Instant::now()).unwrap();
        link.stage = Stage::Up;
        let (subject, mut piece) = ("a".parse().unwrap(), vec![0; 256 << 10]);
        // Twice the limit in all, and all the time bytes wait, but never as many as the limit.
        for _ in 0..2 * UNWRITTEN_MAX / piece.len() {
            while link.unwritten.len() < UNWRITTEN_MAX / 4 {
                link.publish(&subject, &piece.clone()).unwrap();
            }
            peer.read_exact(&mut piece).unwrap();
            link.write().unwrap();
        }
        let unread = std::iter::repeat_with(|| link.publish(&subject, &piece));
        let refused = unread.take(2 * UNWRITTEN_MAX / piece.len()).find_map(Result::err);
        assert_eq!(refused, Some(Failure::Blocked));
    }

    #[test]
    fn only_a_server_that_looked_at_the_credentials_denies_them() {
        for (why, refusal) in [
            ("Permissions Violation for Publish to \"a\"", Refusal::Permission),
            ("Authorization Violation", Refusal::User),
            ("User Authentication Expired", Refusal::User),
            ("Authentication Timeout", Refusal::Connection),
            ("Stale Connection", Refusal::Connection),
        ] {
            assert_eq!(Refusal::of(why), refusal, "{why}");
        }
    }
}
