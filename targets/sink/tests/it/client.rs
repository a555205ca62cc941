//! The simplest client that can tell a good response from a bad one.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// How long a test waits for something that should arrive at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// One connection.
pub struct Client {
    socket: TcpStream,
    input: BufReader<TcpStream>,
}

/// One response.
#[derive(Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    /// Status line and fields, without the empty line.
    pub head: String,
    pub body: Vec<u8>,
}

impl Response {
    pub fn says_close(&self) -> bool {
        self.head.contains("Connection: close")
    }
}

/// A GET request.
pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")
}

impl Client {
    pub fn connect(addr: SocketAddr) -> Self {
        let socket = TcpStream::connect_timeout(&addr, PATIENCE).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_nodelay(true).unwrap();
        let input = BufReader::new(socket.try_clone().unwrap());
        Self { socket, input }
    }

    /// This connection for another thread: one sends, the other receives.
    pub fn twin(&self) -> Self {
        let socket = self.socket.try_clone().unwrap();
        let input = BufReader::new(socket.try_clone().unwrap());
        Self { socket, input }
    }

    pub fn send(&mut self, text: &str) {
        self.socket.write_all(text.as_bytes()).unwrap();
    }

    pub fn end(&mut self) {
        self.socket.shutdown(Shutdown::Write).unwrap();
    }

    pub fn get(&mut self, path: &str) -> Response {
        self.ask(&get(path))
    }

    pub fn ask(&mut self, text: &str) -> Response {
        self.send(text);
        self.response()
    }

    /// The next response, which has a body.
    pub fn response(&mut self) -> Response {
        self.try_respond().unwrap()
    }

    /// The next response, if there is one.
    pub fn try_respond(&mut self) -> io::Result<Response> {
        let mut response = self.try_head()?;
        let length = response.head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        if let Some(length) = length {
            response.body.resize(length.parse().unwrap(), 0);
            self.input.read_exact(&mut response.body)?;
        } else if response.head.contains("Transfer-Encoding: chunked") {
            self.read_chunks(&mut response.body)?;
        } else if response.says_close() {
            self.input.read_to_end(&mut response.body)?;
        }
        Ok(response)
    }

    /// The next response, which has no body.
    pub fn head(&mut self) -> Response {
        self.try_head().unwrap()
    }

    fn try_head(&mut self) -> io::Result<Response> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.input.read_line(&mut head)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        head.truncate(head.len() - 4);
        let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        let status = status.ok_or(io::ErrorKind::InvalidData)?;
        Ok(Response { status, head, body: Vec::new() })
    }

    fn read_chunks(&mut self, body: &mut Vec<u8>) -> io::Result<()> {
        loop {
            let mut line = String::new();
            self.input.read_line(&mut line)?;
            let size = usize::from_str_radix(line.trim_end(), 16).unwrap();
            let mut chunk = vec![0; size + 2];
            self.input.read_exact(&mut chunk)?;
            assert!(chunk.ends_with(b"\r\n"));
            if size == 0 {
                return Ok(());
            }
            body.extend_from_slice(&chunk[..size]);
        }
    }

    /// Everything up to the end of the connection.
    pub fn rest(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = Vec::new();
        self.input.read_to_end(&mut rest)?;
        Ok(rest)
    }
}
