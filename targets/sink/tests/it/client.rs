//! The simplest client that can tell a good answer from a bad one.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// How long a test waits for what should come at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// One connection.
pub struct Client {
    socket: TcpStream,
    input: BufReader<TcpStream>,
}

/// One answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// Status line and fields, without the empty line.
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
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

    /// The same connection, for another thread: one sends, the other receives.
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

    pub fn get(&mut self, path: &str) -> Answer {
        self.ask(&get(path))
    }

    pub fn ask(&mut self, text: &str) -> Answer {
        self.send(text);
        self.answer()
    }

    /// The next answer, which has a body.
    pub fn answer(&mut self) -> Answer {
        self.try_answer().unwrap()
    }

    /// The same, if it is one.
    pub fn try_answer(&mut self) -> io::Result<Answer> {
        let mut answer = self.try_head()?;
        let length = answer.head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        if let Some(length) = length {
            answer.body.resize(length.parse().unwrap(), 0);
            self.input.read_exact(&mut answer.body)?;
        } else if answer.head.contains("Transfer-Encoding: chunked") {
            self.read_chunks(&mut answer.body)?;
        } else if answer.says_close() {
            self.input.read_to_end(&mut answer.body)?;
        }
        Ok(answer)
    }

    /// The next answer, which has no body.
    pub fn head(&mut self) -> Answer {
        self.try_head().unwrap()
    }

    fn try_head(&mut self) -> io::Result<Answer> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.input.read_line(&mut head)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        head.truncate(head.len() - 4);
        let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        let status = status.ok_or(io::ErrorKind::InvalidData)?;
        Ok(Answer { status, head, body: Vec::new() })
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
