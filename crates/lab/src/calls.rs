//! Calls of gRPC before the load: a server is asked to describe itself.
//!
//! One blocking connection makes one call after the other, with the session that makes those of
//! the load.

use crate::preflight::{Manners, Socket, advise, flush, is_timeout};
use model::call::CallStatus;
use model::load::Request;
use model::route::Address;
use plan::Reach;
use schema::Reply;
use std::io::{Read, Write};
use std::time::{Duration, Instant};
use wire::http2::{Http2, Scheme};
use wire::response::{Expect, Outcome};
use wire::session::{RequestId, Session, Witness};
use wire::tape::Tape;
use wire::tls::{Client, Failure, TlsSession};

/// Bytes that are read at once.
const READ_BYTES: usize = 16 * 1024;
/// Most bytes of a reply.
const REPLY_MAX: usize = 64 << 20;
/// All questions together take at most this many times the time-out of one.
const TIMES_MAX: u32 = 6;

/// The schema of a server, as it describes itself.
pub fn reflect(reach: &Reach<'_>) -> Result<Vec<u8>, String> {
    let mut line = Line::open(reach)?;
    schema::reflect(&reach.symbols, &mut |path, message| line.call(path, message))
}

/// A connection that makes calls.
struct Line<'a> {
    reach: &'a Reach<'a>,
    socket: Socket,
    tls: Option<TlsSession>,
    /// Decrypted, and not taken yet.
    early: Vec<u8>,
    session: Http2,
    scheme: Scheme,
    /// When a server that says little at a time is given up.
    until: Instant,
}

/// The body of a reply.
#[derive(Default)]
struct Kept(Vec<u8>);

impl Witness for Kept {
    fn body(&mut self, piece: &[u8]) {
        self.0.extend_from_slice(piece);
    }
}

impl<'a> Line<'a> {
    /// Connects to the first address that accepts, and greets.
    fn open(reach: &'a Reach<'a>) -> Result<Self, String> {
        let timeout = Duration::from_nanos(reach.timeout_ns);
        let manners = Manners::offering((reach.tls, reach.proxy), &[Http2::ALPN]);
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
        let tls = manners.recipe.as_ref().map(|recipe| Client::new(recipe, 1).session());
        let scheme = if tls.is_some() { Scheme::Https } else { Scheme::Http };
        let (session, early) = (Http2::for_depth(1), Vec::new());
        let until = Instant::now() + timeout * TIMES_MAX;
        let mut line = Self { reach, socket, tls, early, session, scheme, until };
        line.shake(address)?;
        line.greet(address)?;
        Ok(line)
    }

    fn shake(&mut self, address: &Address) -> Result<(), String> {
        let Some(choice) = self.reach.tls else { return Ok(()) };
        while self.tls.as_ref().is_some_and(TlsSession::is_shaking) {
            self.send(&[])?;
            let heard = self.read().map_err(|why| format!("TLS with {address}: {why}"))?;
            let early = self.plain(&heard).map_err(|failure| {
                let (what, advice) = advise(failure.cause, choice);
                format!("TLS with {address} failed: {what} ({failure}); {advice}")
            })?;
            // What a server says together with the end of the handshake.
            self.early.extend(early);
        }
        let agreed = self.tls.as_ref().and_then(TlsSession::agreed).and_then(|one| one.alpn);
        match agreed.is_some_and(|alpn| alpn.as_bytes() == Http2::ALPN) {
            true => Ok(()),
            false => Err(no_grpc(address, "it does not agree on HTTP/2 by ALPN")),
        }
    }

    fn greet(&mut self, address: &Address) -> Result<(), String> {
        let mut words = Vec::new();
        self.session.begin(&mut words);
        self.send(&words)?;
        while !self.session.is_ready() {
            let heard = self.hear().map_err(|why| no_grpc(address, &why))?;
            if self.session.addressee(&mut &heard[..]).is_err() {
                let begin = String::from_utf8_lossy(&heard[..heard.len().min(16)]);
                return Err(no_grpc(address, &format!("what it sent begins with {begin:?}")));
            }
        }
        Ok(())
    }

    /// Makes one call.
    fn call(&mut self, path: &str, message: &[u8]) -> Result<Reply, String> {
        let tape = Tape::http2(&[self.request(path, message)], self.scheme);
        let tape = tape.map_err(|error| error.to_string())?;
        if self.session.capacity() == 0 {
            return Err("the server allows no call on this connection".to_string());
        }
        let (mut words, mut body) = (Vec::new(), Kept::default());
        // Each call has a tape of its own, and shares nothing with those before it.
        self.session.write(tape.bytes(), tape.first(0), &mut words);
        loop {
            self.session.owes(tape.bytes(), &mut words);
            self.send(&words)?;
            words.clear();
            let heard = self.hear()?;
            if let Some(status) = self.take(&heard, &mut body)? {
                return Ok(Reply { status, body: body.0 });
            }
        }
    }

    /// Takes what came; returns how the call ended, if it did.
    fn take(&mut self, heard: &[u8], body: &mut Kept) -> Result<Option<CallStatus>, String> {
        let (mut input, mut ended) = (heard, None);
        let broken = |fault: model::fault::Fault| format!("the server {}", fault.words());
        while let Some(RequestId::At(_)) = self.session.addressee(&mut input).map_err(broken)? {
            let came = self.session.receive(&mut input, Expect::Call, &mut (), body);
            match came.map_err(broken)? {
                None => {}
                Some(Outcome::Response(response)) => {
                    ended = CallStatus::of_number(response.status).or(Some(CallStatus::Ok));
                }
                Some(_) => return Err("the server gave the call up".to_string()),
            }
            if body.0.len() > REPLY_MAX {
                return Err(format!("the reply is larger than {} MiB", REPLY_MAX >> 20));
            }
        }
        Ok(ended)
    }

    fn request(&self, path: &str, message: &[u8]) -> Request {
        let own = [("content-type", "application/grpc"), ("te", "trailers")];
        let own = own.map(|(name, value)| (name.to_string(), value.to_string()));
        Request {
            method: "POST".to_string(),
            path: path.to_string(),
            host: self.reach.authority.to_string(),
            headers: own.into_iter().chain(self.reach.headers.iter().cloned()).collect(),
            body: message.to_vec(),
            target: 0,
            ..Request::default()
        }
    }

    fn send(&mut self, plain: &[u8]) -> Result<(), String> {
        let sent = match &mut self.tls {
            None => self.socket.write_all(plain),
            Some(session) => {
                session.send(plain);
                flush(&mut self.socket, session)
            }
        };
        sent.map_err(|error| error.to_string())
    }

    /// What comes next, without the encryption; never nothing.
    fn hear(&mut self) -> Result<Vec<u8>, String> {
        let mut plain = std::mem::take(&mut self.early);
        while plain.is_empty() {
            let heard = self.read()?;
            plain = self.plain(&heard).map_err(|failure| format!("TLS: {failure}"))?;
        }
        Ok(plain)
    }

    fn read(&mut self) -> Result<Vec<u8>, String> {
        let mut heard = [0; READ_BYTES];
        if Instant::now() > self.until {
            let limit = TIMES_MAX * Duration::from_nanos(self.reach.timeout_ns);
            return Err(format!("it has not described itself within {limit:?}"));
        }
        match self.socket.read(&mut heard) {
            Ok(0) => Err("it closed the connection".to_string()),
            Ok(length) => Ok(heard[..length].to_vec()),
            Err(error) if is_timeout(&error) => Err("it sent nothing".to_string()),
            Err(error) => Err(error.to_string()),
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

fn no_grpc(address: &Address, said: &str) -> String {
    format!("{address} does not speak HTTP/2, which gRPC needs: {said}; is it the right port?")
}
