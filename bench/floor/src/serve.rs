//! The server side of the floor: a responder that costs as little as a server can.
//!
//! A client reaches its best only when the server is not the wall. This server counts the empty
//! lines that end requests and sends as many fixed responses, with one system call per turn.
//! Requests have no body, and the rest of them is not read.

use crate::buffers::{Buffers, GROUP};
use crate::uring::push;
use io_uring::types::Fd;
use io_uring::{IoUring, cqueue, opcode, squeue};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

const SUBMISSIONS: u32 = 2048;
const COMPLETIONS: u32 = 8192;
/// Most responses in one send: more requests in one receive get their responses in parts.
const RESPONSES_MAX: usize = 1024;
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\
    Content-Length: 16\r\n\r\n{\"status\":\"ok!\"}";
/// Set in the user data of accepts and sends, next to the descriptor.
const ACCEPT: u64 = 1 << 32;
const SEND: u64 = 1 << 33;

/// One connection, at the index of its descriptor.
#[derive(Default)]
struct Peer {
    socket: Option<OwnedFd>,
    /// Bytes of an empty line at the end of the last receive.
    ending: usize,
}

/// Serves until it is killed.
pub fn run(address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    let process = std::process::id();
    println!(r#"{{"event":"listening","target":"floor","addr":"{address}","pid":{process}}}"#);
    let mut ring: IoUring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all()
        .setup_no_sqarray()
        .setup_cqsize(COMPLETIONS)
        .build(SUBMISSIONS)?;
    let mut buffers = Buffers::register(&ring.submitter())?;
    let responses = RESPONSE.repeat(RESPONSES_MAX);
    let mut peers: Vec<Peer> = Vec::new();
    let (submitter, mut submissions, _) = ring.split();
    push(&submitter, &mut submissions, &accept(listener.as_raw_fd()))?;
    drop(submissions);
    loop {
        match ring.submit_and_wait(1) {
            Err(error) if !matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY)) => {
                return Err(error);
            }
            _ => {}
        }
        let (submitter, mut submissions, completions) = ring.split();
        for completion in completions {
            let (tag, result) = (completion.user_data(), completion.result());
            if tag & SEND != 0 {
                // The peer has gone; its receive reports it.
                continue;
            }
            if tag & ACCEPT != 0 {
                let fd = accepted(result, &mut peers)?;
                push(&submitter, &mut submissions, &receive(fd))?;
                continue;
            }
            let fd = tag as RawFd;
            let peer = &mut peers[fd as usize];
            if result <= 0 && result != -libc::ENOBUFS {
                *peer = Peer::default();
                continue;
            }
            if !cqueue::more(completion.flags()) {
                push(&submitter, &mut submissions, &receive(fd))?;
            }
            let Some(id) = cqueue::buffer_select(completion.flags()) else { continue };
            let mut due = requests(buffers.bytes(id, result as usize), &mut peer.ending);
            buffers.put_back(id);
            while due > 0 {
                let count = due.min(RESPONSES_MAX);
                push(
                    &submitter,
                    &mut submissions,
                    &send(fd, &responses[..count * RESPONSE.len()]),
                )?;
                due -= count;
            }
        }
        drop(submissions);
        buffers.publish();
    }
}

/// How many requests end in these bytes. `ending` keeps a partial empty line from one receive to
/// the next.
#[inline]
fn requests(bytes: &[u8], ending: &mut usize) -> usize {
    let mut count = 0;
    for byte in bytes {
        *ending = match (*byte, *ending) {
            (b'\r', 0 | 2) => *ending + 1,
            (b'\r', _) => 1,
            (b'\n', 1) => 2,
            (b'\n', 3) => {
                count += 1;
                0
            }
            _ => 0,
        };
    }
    count
}

fn accepted(result: i32, peers: &mut Vec<Peer>) -> io::Result<RawFd> {
    if result < 0 {
        return Err(io::Error::from_raw_os_error(-result));
    }
    // SAFETY: the kernel has just given us this descriptor.
    let socket = unsafe { OwnedFd::from_raw_fd(result) };
    let on: libc::c_int = 1;
    // SAFETY: the value outlives the call, and its size is given.
    unsafe {
        let (value, size) = ((&raw const on).cast(), size_of::<libc::c_int>() as libc::socklen_t);
        libc::setsockopt(result, libc::IPPROTO_TCP, libc::TCP_NODELAY, value, size);
    }
    let index = result as usize;
    if peers.len() <= index {
        peers.resize_with(index + 1, Peer::default);
    }
    peers[index] = Peer { socket: Some(socket), ending: 0 };
    Ok(peers[index].socket.as_ref().map_or(result, AsRawFd::as_raw_fd))
}

fn accept(listener: RawFd) -> squeue::Entry {
    opcode::AcceptMulti::new(Fd(listener)).build().user_data(ACCEPT)
}

fn receive(fd: RawFd) -> squeue::Entry {
    opcode::RecvMulti::new(Fd(fd), GROUP).build().user_data(fd as u64)
}

#[inline]
fn send(fd: RawFd, bytes: &[u8]) -> squeue::Entry {
    opcode::Send::new(Fd(fd), bytes.as_ptr(), bytes.len() as u32)
        .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
        .build()
        .flags(squeue::Flags::SKIP_SUCCESS)
        .user_data(fd as u64 | SEND)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    #[test]
    fn requests_are_counted_wherever_they_are_cut() {
        let text = b"GET / HTTP/1.1\r\nA: b\r\n\r\nGET / HTTP/1.1\r\r\n\r\nGET";
        for cut in 0..=text.len() {
            let mut ending = 0;
            let count = requests(&text[..cut], &mut ending) + requests(&text[cut..], &mut ending);
            assert_eq!(count, 2, "cut at {cut}");
        }
    }

    #[test]
    fn every_request_is_responseed() {
        let address = {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            free.local_addr().unwrap()
        };
        std::thread::spawn(move || run(address));
        let mut stream = loop {
            match TcpStream::connect(address) {
                Ok(stream) => break stream,
                Err(_) => std::thread::sleep(std::time::Duration::from_millis(10)),
            }
        };
        stream.write_all(b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r").unwrap();
        // The response to the first shows that everything before the last byte was received
        // separately.
        let mut response = vec![0; RESPONSE.len()];
        stream.read_exact(&mut response).unwrap();
        assert_eq!(response, RESPONSE);
        stream.write_all(b"\n").unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
        stream.read_exact(&mut response).unwrap();
        assert_eq!(response, RESPONSE);
    }
}
