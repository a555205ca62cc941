//! Netlink: questions to the kernel whose responses come as a stream of messages with attributes.
//!
//! `include/uapi/linux/netlink.h`; numbers are in the byte order of the machine. Messages are
//! parsed here and not by a crate: the crates copy each attribute, and sock_diag alone responds
//! with fifty thousand messages in one round.

use crate::scan::ParseError;
use rustix::net::{self, AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::io;
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;

/// The header before every message.
pub const MESSAGE_HEADER_BYTES: usize = 16;
/// The header before every attribute.
pub const ATTRIBUTE_HEADER_BYTES: usize = 4;
/// Bits of an attribute's kind that describe its encoding.
const ATTRIBUTE_FLAGS: u16 = 0xc000;
/// The kernel fills chunks up to the size of the buffer offered, and not above 32 KiB.
pub const CHUNK_BYTES: usize = 32 << 10;

/// Whether a response goes on after a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// Another chunk follows.
    Follows,
    /// This was the last.
    Nothing,
    /// The kernel refused, with this errno.
    Refused(i32),
}

impl More {
    /// What follows if what was received so far is enough: nothing more, unless the kernel refused.
    pub fn or_enough(self) -> Self {
        if self == Self::Follows { Self::Nothing } else { self }
    }
}

/// Fixed-size fields at offsets; short input is an error, never a panic.
pub struct Fields<'a>(pub &'a [u8]);

impl Fields<'_> {
    /// `N` bytes at an offset.
    pub fn take<const N: usize>(&self, at: usize) -> Result<[u8; N], ParseError> {
        let bytes = self.0.get(at..at + N).and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or_else(|| ParseError::new("a longer netlink message", b"its end"))
    }

    /// 16 bits in the order of the machine.
    pub fn u16(&self, at: usize) -> Result<u16, ParseError> {
        self.take(at).map(u16::from_ne_bytes)
    }

    /// 16 bits, the highest byte first.
    pub fn u16_network(&self, at: usize) -> Result<u16, ParseError> {
        self.take(at).map(u16::from_be_bytes)
    }

    /// 32 bits in the order of the machine.
    pub fn u32(&self, at: usize) -> Result<u32, ParseError> {
        self.take(at).map(u32::from_ne_bytes)
    }

    /// 64 bits in the order of the machine.
    pub fn u64(&self, at: usize) -> Result<u64, ParseError> {
        self.take(at).map(u64::from_ne_bytes)
    }
}

/// Cuts a chunk into messages: `on` gets the kind and the body of each.
pub fn messages(
    bytes: &[u8],
    mut on: impl FnMut(u16, &[u8]) -> Result<(), ParseError>,
) -> Result<More, ParseError> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let header = Fields(rest);
        let (length, kind) = (header.u32(0)? as usize, header.u16(4)?);
        let error = || ParseError::new("a netlink message of the length it says", b"another");
        let message = rest.get(..length).filter(|_| length >= MESSAGE_HEADER_BYTES);
        let body = &message.ok_or_else(error)?[MESSAGE_HEADER_BYTES..];
        match i32::from(kind) {
            // What fails while the kernel responds is at the end of the response, and not an
            // error message of its own (`net/netlink/af_netlink.c`, `netlink_dump_done`).
            libc::NLMSG_DONE => {
                let errno = Fields(body).take(0).map_or(0, i32::from_ne_bytes);
                return Ok(if errno < 0 { More::Refused(-errno) } else { More::Nothing });
            }
            libc::NLMSG_ERROR => {
                return Ok(More::Refused(-i32::from_ne_bytes(Fields(body).take(0)?)));
            }
            _ => on(kind, body)?,
        }
        rest = &rest[aligned(length).min(rest.len())..];
    }
    Ok(More::Follows)
}

/// Cuts consecutive attributes: `on` gets the kind and the value of each.
pub fn attributes(
    bytes: &[u8],
    mut on: impl FnMut(u16, &[u8]) -> Result<(), ParseError>,
) -> Result<(), ParseError> {
    let mut rest = bytes;
    while rest.len() >= ATTRIBUTE_HEADER_BYTES {
        let (length, kind) = (usize::from(Fields(rest).u16(0)?), Fields(rest).u16(2)?);
        let error = || ParseError::new("an attribute of the length it says", b"another");
        let attribute = rest.get(..length).filter(|_| length >= ATTRIBUTE_HEADER_BYTES);
        on(kind & !ATTRIBUTE_FLAGS, &attribute.ok_or_else(error)?[ATTRIBUTE_HEADER_BYTES..])?;
        rest = &rest[aligned(length).min(rest.len())..];
    }
    Ok(())
}

fn aligned(length: usize) -> usize {
    length.saturating_add(3) & !3
}

/// The first bytes of a question that is `length` bytes long and asks for everything.
pub fn dump_header(length: usize, kind: u16) -> [u8; MESSAGE_HEADER_BYTES] {
    header(length, kind, libc::NLM_F_DUMP)
}

/// The first bytes of a request that is `length` bytes long, with `NLM_F_` flags.
pub fn header(length: usize, kind: u16, flags: i32) -> [u8; MESSAGE_HEADER_BYTES] {
    let mut header = [0; MESSAGE_HEADER_BYTES];
    let flags = (libc::NLM_F_REQUEST | flags) as u16;
    header[..4].copy_from_slice(&(length as u32).to_ne_bytes());
    header[4..6].copy_from_slice(&kind.to_ne_bytes());
    header[6..8].copy_from_slice(&flags.to_ne_bytes());
    header
}

/// Sends a question, and passes the response chunk by chunk to `on`, which returns whether it wants
/// more; the kernel never produces the rest after a no. An acknowledgement is a refusal with errno
/// 0.
pub fn dump(
    protocol: i32,
    question: &[u8],
    chunk: &mut [u8],
    mut on: impl FnMut(&[u8]) -> Result<More, ParseError>,
) -> io::Result<()> {
    let protocol = NonZeroU32::new(protocol as u32).map(Protocol::from_raw);
    let flags = SocketFlags::CLOEXEC;
    let netlink = net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
    net::send(&netlink, question, SendFlags::empty())?;
    loop {
        let length = receive(&netlink, chunk)?;
        match on(&chunk[..length]).map_err(io::Error::other)? {
            More::Follows => {}
            More::Nothing | More::Refused(0) => return Ok(()),
            More::Refused(errno) => return Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

/// Receives one chunk. The kernel produces it before `send`, or the receive before this one,
/// returns, so there is nothing to wait for, and a response that has not arrived is an error.
fn receive(netlink: &OwnedFd, chunk: &mut [u8]) -> io::Result<usize> {
    let flags = RecvFlags::DONTWAIT | RecvFlags::TRUNC;
    let (_, length) = net::recv(netlink, &mut *chunk, flags)?;
    // TRUNC makes recv return the true length, also when it did not fit.
    if length > chunk.len() { Err(io::Error::other("a response was cut")) } else { Ok(length) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_that_the_kernel_broke_off_is_not_an_empty_one() {
        let end = |errno: i32| {
            let header = header(MESSAGE_HEADER_BYTES + 4, libc::NLMSG_DONE as u16, 0);
            messages(&[&header[..], &errno.to_ne_bytes()].concat(), |_, _| Ok(()))
        };
        // As without the module tcp_diag, where inet_diag is loaded.
        assert_eq!(end(-libc::ENOENT), Ok(More::Refused(libc::ENOENT)));
        assert_eq!(end(-libc::ENOENT).unwrap().or_enough(), More::Refused(libc::ENOENT));
        assert_eq!(end(0), Ok(More::Nothing));
        let bare = header(MESSAGE_HEADER_BYTES, libc::NLMSG_DONE as u16, 0);
        assert_eq!(messages(&bare, |_, _| Ok(())), Ok(More::Nothing));
    }
}
