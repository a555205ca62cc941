//! unix_diag (netlink): stream sockets of the family unix, with their other ends and queues.
//!
//! The kernel responds with a `unix_diag_msg` for each socket of a network namespace. Attributes
//! hold its name, the inode of its other end, bytes not read, and bytes that the other end has not
//! read; of a listener, the inodes of those that it has not accepted. Kernel: `net/unix/diag.c`.
//!
//! Caveats. An other end in another network namespace has an inode and no line of its own. An other
//! end that was not accepted yet has inode 0, and so has one that was closed: a runtime keeps one
//! of a pair whose other end it closed. Nothing shows when bytes were sent.

use crate::netlink::{self, Fields, MESSAGE_HEADER_BYTES, More};
use crate::scan::ParseError;
use std::io;

/// One socket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnixSocket {
    /// Inode, as in the links of `/proc/PID/fd`.
    pub inode: u32,
    /// Whether it listens.
    pub listens: bool,
    /// The path or, after `@`, the abstract name that it is bound to; that of its listener for one
    /// that was accepted.
    pub name: Option<String>,
    /// Inode of the other end; 0 when that was not accepted yet.
    pub peer: Option<u32>,
    /// Bytes sent that the other end has not read.
    pub unread_there: u32,
    /// Of a listener: inodes of the ends that wait to be accepted.
    pub pending: Vec<u32>,
}

/// What one chunk of a response held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Its sockets.
    pub sockets: Vec<UnixSocket>,
    /// Whether more follows.
    pub more: More,
}

// linux/unix_diag.h; all part of the kernel's stable interface.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const DIAG_BYTES: usize = 16;
const QUESTION_BYTES: usize = MESSAGE_HEADER_BYTES + 24;
const TCP_ESTABLISHED: u8 = 1;
const TCP_LISTEN: u8 = 10;
/// Name, other end, those that wait to be accepted, queues.
const SHOW: u32 = 0b1_1101;
const UNIX_DIAG_NAME: u16 = 0;
const UNIX_DIAG_PEER: u16 = 2;
const UNIX_DIAG_ICONS: u16 = 3;
const UNIX_DIAG_RQLEN: u16 = 4;
const UNIX_DIAG_SHUTDOWN: u16 = 6;
/// Nothing is received or sent any more (net/sock.h).
const SHUTDOWN_MASK: u8 = 3;

/// Parses one chunk as received: consecutive netlink messages.
pub fn parse(bytes: &[u8]) -> Result<Chunk, ParseError> {
    let mut sockets = Vec::new();
    let more = netlink::messages(bytes, |kind, body| {
        if kind == SOCK_DIAG_BY_FAMILY {
            sockets.extend(parse_socket(body)?);
        }
        Ok(())
    })?;
    Ok(Chunk { sockets, more })
}

/// One message; nothing for a datagram socket, which has no connection, and for one whose
/// connection is over.
fn parse_socket(body: &[u8]) -> Result<Option<UnixSocket>, ParseError> {
    let fields = Fields(body);
    let [_, kind, state, _] = fields.take::<4>(0)?;
    let inode = fields.u32(4)?;
    fields.u64(8)?;
    if ![libc::SOCK_STREAM, libc::SOCK_SEQPACKET].contains(&i32::from(kind)) {
        return Ok(None);
    }
    let mut socket = UnixSocket { inode, listens: state == TCP_LISTEN, ..UnixSocket::default() };
    let mut is_over = false;
    netlink::attributes(&body[DIAG_BYTES..], |kind, value| {
        match kind {
            UNIX_DIAG_NAME => socket.name = Some(name(value)),
            UNIX_DIAG_PEER => socket.peer = Some(Fields(value).u32(0)?),
            UNIX_DIAG_ICONS => {
                let inodes = value.chunks_exact(4).map(|inode| Fields(inode).u32(0));
                socket.pending = inodes.collect::<Result<_, _>>()?;
            }
            UNIX_DIAG_RQLEN if !socket.listens => socket.unread_there = Fields(value).u32(4)?,
            UNIX_DIAG_SHUTDOWN => is_over = value.first() == Some(&SHUTDOWN_MASK),
            _ => {}
        }
        Ok(())
    })?;
    Ok((!is_over).then_some(socket))
}

/// A path ends at its first zero byte, an abstract name starts with one.
fn name(bytes: &[u8]) -> String {
    match bytes {
        [0, rest @ ..] => format!("@{}", String::from_utf8_lossy(rest)),
        path => {
            let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
            String::from_utf8_lossy(&path[..end]).into_owned()
        }
    }
}

/// At most `count_max` stream sockets of this network namespace that are connected or listen.
pub(crate) fn streams(count_max: usize, chunk: &mut [u8]) -> io::Result<Vec<UnixSocket>> {
    let mut question = [0; QUESTION_BYTES];
    let mut put = |at: usize, value: &[u8]| question[at..at + value.len()].copy_from_slice(value);
    put(0, &netlink::dump_header(QUESTION_BYTES, SOCK_DIAG_BY_FAMILY));
    // struct unix_diag_req from here.
    put(16, &[libc::AF_UNIX as u8]);
    put(20, &(1u32 << TCP_ESTABLISHED | 1 << TCP_LISTEN).to_ne_bytes());
    put(28, &SHOW.to_ne_bytes());
    let mut sockets = Vec::new();
    netlink::dump(libc::NETLINK_SOCK_DIAG, &question, chunk, |bytes| {
        let response = parse(bytes)?;
        sockets.extend(response.sockets);
        Ok(if sockets.len() < count_max { response.more } else { response.more.or_enough() })
    })?;
    sockets.truncate(count_max);
    Ok(sockets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::CHUNK_BYTES;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::{UnixListener, UnixStream};

    fn inode(socket: &impl AsRawFd) -> u32 {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
        crate::socket::socket_inode(&link).unwrap()
    }

    #[test]
    fn a_call_has_a_queue_before_and_after_it_is_accepted() {
        let path = std::env::temp_dir().join(format!("unix-diag-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        let mut call = UnixStream::connect(&path).unwrap();
        call.write_all(b"question").unwrap();
        let all = || streams(usize::MAX, &mut vec![0; CHUNK_BYTES]).unwrap();
        let find = |inode| all().into_iter().find(|one| one.inode == inode).unwrap();
        let seen = find(inode(&call));
        assert_eq!((seen.name.as_ref(), seen.peer), (None, Some(0)), "{seen:?}");
        assert!(seen.unread_there > 0);
        let listening = find(inode(&listener));
        assert!(listening.listens && listening.pending == [inode(&call)], "{listening:?}");
        assert_eq!(listening.name.as_deref(), path.to_str());
        let (mut accepted, _) = listener.accept().unwrap();
        accepted.read_exact(&mut [0; 8]).unwrap();
        let seen = find(inode(&call));
        assert_eq!((seen.peer, seen.unread_there), (Some(inode(&accepted)), 0));
        assert_eq!(find(inode(&accepted)).name.as_deref(), path.to_str());
        std::fs::remove_file(&path).unwrap();
    }

    /// As Java keeps one: it is no call that waits to be accepted.
    #[test]
    fn a_connection_whose_other_end_was_closed_is_over() {
        let (kept, other) = UnixStream::pair().unwrap();
        let all = || streams(usize::MAX, &mut vec![0; CHUNK_BYTES]).unwrap();
        let is_there = || all().iter().any(|one| one.inode == inode(&kept));
        assert!(is_there());
        drop(other);
        assert!(!is_there());
    }

    #[test]
    fn abstract_names_have_an_at() {
        assert_eq!(name(b"\0bus"), "@bus");
        assert_eq!(name(b"/run/a.sock\0"), "/run/a.sock");
    }
}
