//! Calls of gRPC before the load: a server is asked to describe itself.
//!
//! One blocking connection makes one call after the other, with the session that makes those of
//! the load.

use crate::line::{Cable, Line, Patience};
use model::call::CallStatus;
use model::load::Request;
use model::route::Address;
use plan::Reach;
use schema::Reply;
use std::time::Duration;
use wire::http2::{Http2, Scheme};
use wire::session::{Session, Witness};
use wire::tape::Tape;

/// All questions together take at most this many times the time-out of one.
const TIMES_MAX: u32 = 6;

/// The schema of a server, as it describes itself.
pub fn reflect(reach: &Reach<'_>) -> Result<Vec<u8>, String> {
    let mut calls = Calls::open(reach)?;
    schema::reflect(&reach.symbols, &mut |path, message| calls.call(path, message))
}

/// A connection that makes calls.
struct Calls<'a> {
    reach: &'a Reach<'a>,
    line: Line<Http2>,
    scheme: Scheme,
}

/// The body of a reply.
#[derive(Default)]
struct Kept(Vec<u8>);

impl Witness for Kept {
    fn body(&mut self, piece: &[u8]) {
        self.0.extend_from_slice(piece);
    }
}

impl<'a> Calls<'a> {
    /// Connects to the first address that accepts, and greets.
    fn open(reach: &'a Reach<'a>) -> Result<Self, String> {
        let limit = Duration::from_nanos(reach.timeout_ns) * TIMES_MAX;
        let patience = Patience { limit, failure: "it has not described itself" };
        let cable = Cable::open(reach, &[Http2::ALPN], patience)?;
        let address = cable.address.clone();
        let is_agreed = cable.agreed().is_some_and(|alpn| alpn.as_bytes() == Http2::ALPN);
        if reach.tls.is_some() && !is_agreed {
            return Err(no_grpc(&address, "it does not agree on HTTP/2 by ALPN"));
        }
        let scheme = if reach.tls.is_some() { Scheme::Https } else { Scheme::Http };
        let line = Line::greet(cable, Http2::for_depth(1));
        Ok(Self { reach, line: line.map_err(|why| no_grpc(&address, &why))?, scheme })
    }

    /// Makes one call.
    fn call(&mut self, path: &str, message: &[u8]) -> Result<Reply, String> {
        // Each call has a tape of its own, and shares nothing with those before it.
        let tape = Tape::http2(&[self.request(path, message)], self.scheme);
        let tape = tape.map_err(|error| error.to_string())?;
        if self.line.capacity() == 0 {
            return Err("the server allows no call on this connection".to_string());
        }
        let mut body = Kept::default();
        let (outcome, _) =
            self.line.exchange(&tape, &mut body, &mut Vec::new()).map_err(|why| why.to_string())?;
        let Some(response) = outcome.response() else {
            return Err("the server gave the call up".to_string());
        };
        let status = CallStatus::of_number(response.status).unwrap_or(CallStatus::Ok);
        Ok(Reply { status, body: body.0 })
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
}

fn no_grpc(address: &Address, said: &str) -> String {
    format!("{address} does not speak HTTP/2, which gRPC needs: {said}; is it the right port?")
}
