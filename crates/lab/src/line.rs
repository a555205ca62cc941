//! One blocking connection, on which requests are sent one after the other.
//!
//! For: what is asked of a server before or without a load: its schema, and one pass of a flow. The
//! sessions are those of the load.

use crate::preflight::{Manners, Socket, advise, flush, is_timeout};
use model::route::Address;
use plan::Reach;
use std::io::{self, ErrorKind, Read, Write};
use std::time::{Duration, Instant};
use wire::response::Outcome;
use wire::session::{RequestId, Session, Witness};
use wire::tape::Tape;
use wire::tls::{Client, Failure, TlsSession};

/// Bytes that are read at once.
const READ_BYTES: usize = 16 * 1024;
/// Most bytes of a response.
const RESPONSE_MAX: usize = 64 << 20;
/// Most bytes of a response that are kept as they came.
const RAW_MAX: usize = 256 << 10;

/// What moves bytes: a socket, perhaps with TLS.
pub struct Cable {
    socket: Socket,
    tls: Option<TlsSession>,
    /// Decrypted, and not taken yet.
    early: Vec<u8>,
    /// Where it leads.
    pub address: Address,
    /// When a server that says little at a time is given up, and for what.
    until: Instant,
    patience: Patience,
}

/// How long a server may take for all that it is asked, and what it has not done then.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// How long.
    pub limit: Duration,
    /// As in `it has not described itself`.
    pub failure: &'static str,
}

impl Cable {
    /// Connects to the first address that accepts, and offers these protocols.
    pub fn open(
        reach: &Reach<'_>,
        alpn: &[&'static [u8]],
        patience: Patience,
    ) -> Result<Self, String> {
        let timeout = Duration::from_nanos(reach.timeout_ns);
        let manners = Manners::offering((reach.tls, reach.proxy), alpn);
        let manners = manners.map_err(|error| error.to_string())?;
        let connect = |address| manners.connect(reach.proxy, address, timeout);
        let mut tried = reach.addresses.iter().map(|address| (address, connect(address)));
        let first = tried.next().ok_or_else(|| "it has no address".to_string())?;
        let (address, socket) = match first {
            (address, Ok(socket)) => (address, socket),
            (_, Err(error)) => tried
                .find_map(|(address, socket)| Some((address, socket.ok()?)))
                .ok_or_else(|| error.to_string())?,
        };
        let address = address.clone();
        let tls = manners.recipe.as_ref().map(|recipe| Client::new(recipe, 1).session());
        let until = Instant::now() + patience.limit;
        let mut cable = Self { socket, tls, early: Vec::new(), address, until, patience };
        cable.shake(reach)?;
        Ok(cable)
    }

    fn shake(&mut self, reach: &Reach<'_>) -> Result<(), String> {
        let Some(choice) = reach.tls else { return Ok(()) };
        while self.tls.as_ref().is_some_and(TlsSession::is_shaking) {
            self.send(&[]).map_err(|why| why.to_string())?;
            let heard = self.read().map_err(|why| format!("TLS with {}: {why}", self.address))?;
            let early = self.plain(&heard).map_err(|failure| {
                let (what, advice) = advise(failure.cause, choice);
                format!("TLS with {} failed: {what} ({failure}); {advice}", self.address)
            })?;
            // What a server says together with the end of the handshake.
            self.early.extend(early);
        }
        Ok(())
    }

    /// The protocol that both sides agreed on, if they did.
    pub fn agreed(&self) -> Option<String> {
        self.tls.as_ref().and_then(TlsSession::agreed).and_then(|one| one.alpn)
    }

    /// The time that the server has begins now.
    pub fn begin(&mut self) {
        self.until = Instant::now() + self.patience.limit;
    }

    /// Sends bytes, encrypted where that is agreed.
    pub fn send(&mut self, plain: &[u8]) -> Result<(), LineError> {
        let sent = match &mut self.tls {
            None => self.socket.write_all(plain),
            Some(session) => {
                session.send(plain);
                flush(&mut self.socket, session)
            }
        };
        sent.map_err(LineError::from)
    }

    /// What comes next, without the encryption; nothing when the peer has closed.
    pub fn hear(&mut self) -> Result<Vec<u8>, LineError> {
        let mut plain = std::mem::take(&mut self.early);
        while plain.is_empty() {
            let heard = self.read()?;
            if heard.is_empty() {
                return Ok(heard);
            }
            plain = self.plain(&heard).map_err(|failure| format!("TLS: {failure}"))?;
            let has_ended = self.tls.as_ref().is_some_and(TlsSession::peer_has_closed);
            if plain.is_empty() && has_ended {
                break;
            }
        }
        Ok(plain)
    }

    fn read(&mut self) -> Result<Vec<u8>, LineError> {
        let mut heard = [0; READ_BYTES];
        if Instant::now() > self.until {
            let Patience { limit, failure } = self.patience;
            return Err(format!("{failure} within {limit:?}").into());
        }
        match self.socket.read(&mut heard) {
            Ok(length) => Ok(heard[..length].to_vec()),
            Err(error) if is_timeout(&error) => Err("it sent nothing".to_string().into()),
            Err(error) => Err(error.into()),
        }
    }

    /// What was heard, without the encryption.
    fn plain(&mut self, heard: &[u8]) -> Result<Vec<u8>, Failure> {
        let Some(session) = &mut self.tls else { return Ok(heard.to_vec()) };
        let (mut input, mut plain, mut piece) = (heard, Vec::new(), [0; READ_BYTES]);
        loop {
            let taken = session.receive(&mut input, &mut piece)?;
            plain.extend_from_slice(&piece[..taken]);
            if taken == 0 && input.is_empty() {
                return Ok(plain);
            }
        }
    }
}

/// A connection that speaks a protocol.
pub struct Line<S: Session> {
    /// What moves its bytes.
    pub cable: Cable,
    session: S,
    memory: S::Memory,
}

/// Why an exchange has no outcome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The peer closed the connection before the end of the response.
    #[error("it closed the connection")]
    Closed,
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

impl From<io::Error> for LineError {
    fn from(error: io::Error) -> Self {
        use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
        match error.kind() {
            BrokenPipe | ConnectionAborted | ConnectionReset => Self::Closed,
            _ => Self::Other(error.to_string()),
        }
    }
}

impl From<String> for LineError {
    fn from(why: String) -> Self {
        Self::Other(why)
    }
}

/// When the parts of an exchange were.
#[derive(Debug, Clone, Copy)]
pub struct Stamps {
    /// The request was handed to the kernel.
    pub sent: Instant,
    /// The first byte of the response was read.
    pub first: Option<Instant>,
    /// The last one was.
    pub last: Instant,
}

impl<S: Session> Line<S> {
    /// Greets where the protocol does so; what the peer said instead otherwise.
    pub fn greet(cable: Cable, session: S) -> Result<Self, String> {
        let mut line = Self { cable, session, memory: S::Memory::default() };
        let mut words = Vec::new();
        line.session.begin(&mut words);
        line.cable.send(&words).map_err(|why| why.to_string())?;
        while !line.session.is_ready() {
            let heard = line.heard()?;
            if line.session.addressee(&mut &heard[..]).is_err() {
                let begin = String::from_utf8_lossy(&heard[..heard.len().min(16)]);
                return Err(format!("what it sent begins with {begin:?}"));
            }
        }
        Ok(line)
    }

    /// Requests that the peer allows at once.
    pub fn capacity(&self) -> u32 {
        self.session.capacity()
    }

    /// What comes next; never nothing.
    fn heard(&mut self) -> Result<Vec<u8>, String> {
        let heard = self.cable.hear().map_err(|why| why.to_string())?;
        match heard.is_empty() {
            true => Err("it closed the connection".to_string()),
            false => Ok(heard),
        }
    }

    /// Sends the first request of a tape, which only this exchange uses, and takes what comes until
    /// its outcome is known. `raw` gets the bytes of the response as they came.
    pub fn exchange(
        &mut self,
        tape: &Tape,
        witness: &mut impl Witness,
        raw: &mut Vec<u8>,
    ) -> Result<(Outcome, Stamps), LineError> {
        let mut words = Vec::new();
        match S::WRITES {
            true => {
                self.session.write(tape.bytes(), tape.first(0), &mut words);
            }
            false => words.extend_from_slice(&tape.bytes()[tape.span(0, 1)]),
        }
        let sent = Instant::now();
        let (mut first, mut bytes) = (None, 0);
        let broken =
            |fault: model::fault::Fault| LineError::from(format!("the server {}", fault.words()));
        loop {
            self.session.owes(tape.bytes(), &mut words);
            self.cable.send(&words)?;
            words.clear();
            let heard = self.cable.hear()?;
            let last = Instant::now();
            if heard.is_empty() {
                return match self.session.end().map_err(broken)? {
                    Some(response) => {
                        let stamps = Stamps { sent, first, last };
                        Ok((Outcome::Response(response), stamps))
                    }
                    None => Err(LineError::Closed),
                };
            }
            first.get_or_insert(last);
            let (mut input, mut outcome) = (&heard[..], None);
            while let Some(request) = self.session.addressee(&mut input).map_err(broken)? {
                if outcome.is_some() && request == RequestId::Oldest {
                    return Err("the server sent more than one response".to_string().into());
                }
                let before = input;
                let expect = tape.expect(0);
                let came = self.session.receive(&mut input, expect, &mut self.memory, witness);
                let taken = &before[..before.len() - input.len()];
                let room = RAW_MAX.saturating_sub(raw.len());
                raw.extend_from_slice(&taken[..taken.len().min(room)]);
                bytes += taken.len();
                if bytes > RESPONSE_MAX {
                    let most = RESPONSE_MAX >> 20;
                    return Err(format!("the response is larger than {most} MiB").into());
                }
                outcome = came.map_err(broken)?.or(outcome);
                if input.is_empty() && request == RequestId::Oldest {
                    break;
                }
            }
            if let Some(outcome) = outcome {
                return Ok((outcome, Stamps { sent, first, last }));
            }
        }
    }
}
