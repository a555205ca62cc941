//! HTTP/1.1 with one request at a time, whose bytes are made when it is sent.
//!
//! For: users of a flow. A connection belongs to one user, and the next request depends on the
//! response before it, so nothing is pipelined and nothing lies on a tape.
//! In and out: as [`Http1`], with the request that is written.
//!
//! Hot: runs for every request of a flow.

use crate::http1::Http1;
use crate::response::{Expect, Outcome, Progress, ProtocolError, Response};
use crate::session::{RequestId, ResponseOrder, Session, Witness};
use model::tick::Parts;
use std::ops::Range;

/// The only place of a request.
const PLACE: RequestId = RequestId::At(0);

/// See the module.
#[derive(Debug)]
pub struct Solo {
    http: Http1,
    /// A request was given up, and its response may still come: the connection is of no more use.
    is_leaving: bool,
}

impl Session for Solo {
    const ALPN: &'static [u8] = Http1::ALPN;
    // There is one, so any order is that of the requests.
    const ORDER: ResponseOrder = ResponseOrder::Any;
    const WRITES: bool = true;
    const FILLS: bool = true;
    type Memory = <Http1 as Session>::Memory;

    fn for_depth(_depth: u32) -> Self {
        Self { http: Http1::for_depth(1), is_leaving: false }
    }

    fn begin(&mut self, output: &mut Vec<u8>) {
        self.http.begin(output);
        self.is_leaving = false;
    }

    #[inline]
    fn capacity(&self) -> u32 {
        u32::from(!self.is_leaving)
    }

    #[inline]
    fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    #[inline]
    fn write(&mut self, bytes: &[u8], span: Range<usize>, output: &mut Vec<u8>) -> u32 {
        output.extend_from_slice(&bytes[span]);
        0
    }

    fn cancel(&mut self, _place: u32) {
        self.is_leaving = true;
    }

    #[inline]
    fn addressee(&mut self, input: &mut &[u8]) -> Result<Option<RequestId>, ProtocolError> {
        let request = self.http.addressee(input)?;
        Ok(request.filter(|_| !input.is_empty()).map(|_| PLACE))
    }

    #[inline]
    fn receive<W: Witness>(
        &mut self,
        input: &mut &[u8],
        expect: Expect,
        memory: &mut Self::Memory,
        witness: &mut W,
    ) -> Result<Option<Outcome>, ProtocolError> {
        self.http.receive(input, expect, memory, witness)
    }

    fn end(&mut self) -> Result<Option<Response>, ProtocolError> {
        self.http.end()
    }

    fn progress(&self) -> Progress {
        self.http.progress()
    }

    fn unasked(&self, bytes: &[u8], before: Expect) -> Option<ProtocolError> {
        self.http.unasked(bytes, before)
    }

    #[inline]
    fn take_parts(&mut self) -> Parts {
        self.http.take_parts()
    }
}
