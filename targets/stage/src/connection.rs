//! One connection: requests that were read and have no response yet.

use crate::http::{After, Framing, NoRequest, head, parse};
use crate::options::Writing;
use crate::service::{Asked, Hands, Service};
use crate::stream;
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// See the module. The socket blocks.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    writing: Writing,
    unanswered: Vec<u8>,
    answered: u64,
    number: Option<u64>,
}

impl Connection {
    /// A connection just accepted.
    pub fn new(stream: TcpStream, writing: Writing) -> Self {
        Self { stream, writing, unanswered: Vec::new(), answered: 0, number: None }
    }

    /// The socket, to watch it.
    pub fn socket(&self) -> &TcpStream {
        &self.stream
    }

    /// Reads once, which blocks until bytes arrive, and responds to every complete request. Returns
    /// whether the connection stays open.
    pub fn serve(&mut self, service: &Service, hands: &mut Hands) -> io::Result<After> {
        let mut piece = [0; 16 * 1024];
        let count = self.stream.read(&mut piece)?;
        if count == 0 {
            return Ok(After::Close);
        }
        self.unanswered.extend_from_slice(&piece[..count]);
        let mut done = 0;
        let mut after = After::KeepAlive;
        while after == After::KeepAlive {
            let request = match parse(&self.unanswered[done..]) {
                Ok(request) => request,
                Err(NoRequest::Incomplete) => break,
                Err(NoRequest::Unfit) => {
                    let refusal = head("400 Bad Request", Framing::Length, 0, After::Close);
                    self.stream.write_all(refusal.as_bytes())?;
                    return Ok(After::Close);
                }
            };
            done += request.length;
            self.answered += 1;
            if request.path.starts_with(stream::PREFIX) {
                let leave_out = service.leave_out();
                return Err(stream::serve(&mut self.stream, request.path, leave_out));
            }
            let is_last = request.is_last || self.answered >= service.requests_per_connection();
            after = if is_last { After::Close } else { After::KeepAlive };
            let connection = *self.number.get_or_insert_with(|| service.number_connection());
            let asked = Asked { path: request.path, connection };
            let (status, framing, body) = service.respond(asked, hands);
            let head = head(status, framing, body.len(), after);
            write(&mut self.stream, self.writing, head, body)?;
        }
        self.unanswered.drain(..done);
        Ok(after)
    }
}

fn write(stream: &mut TcpStream, writing: Writing, head: String, body: &[u8]) -> io::Result<()> {
    let mut first = head.into_bytes();
    match writing {
        Writing::Whole => {
            first.extend_from_slice(body);
            stream.write_all(&first)
        }
        Writing::Nagle => {
            stream.write_all(&first)?;
            // Two halves, because the head alone would be sent together with what follows a delayed
            // acknowledgement of the previous response.
            stream.write_all(body)
        }
    }
}
