//! The queueing discipline at the root of a device, through rtnetlink (`linux/rtnetlink.h`).
//!
//! Its value is `default` while it is the one the kernel made (its handle is zero), and else its
//! kind. Ours has a handle of its own, so that only ours is ever deleted: then the kernel makes
//! its default again. What somebody else put there is named with its handle and left alone.
//! Of the network namespace of the calling thread. A host made up of files has `/qdisc/DEVICE`.

#![allow(unsafe_code, reason = "messages to the kernel's routing")]

use super::{PlaceError, Seen, link};
use crate::host::Host;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// What the value is while the kernel's own is there.
pub const DEFAULT: &str = "default";

const NEW: u16 = 36;
const DELETE: u16 = 37;
const GET: u16 = 38;
const HEADER_BYTES: usize = 16;
/// Header and `struct tcmsg`.
const HEAD_BYTES: usize = HEADER_BYTES + 20;
const ATTRIBUTE_BYTES: usize = 4;
const KIND: u16 = 1;
const ROOT: u32 = u32::MAX;
/// Handle of those we make; unlikely to be another's, and numbers from 8000: are the kernel's.
const OURS: u32 = 0x7ce1_0000;

/// The root of a device as the kernel describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Root {
    kind: String,
    handle: u32,
}

impl Root {
    fn seen(&self) -> Seen {
        let raw = format!("{} {:x}:", self.kind, self.handle >> 16);
        let value = match self.handle {
            0 => DEFAULT.to_string(),
            OURS => self.kind.clone(),
            _ => raw.clone(),
        };
        Seen { raw, value }
    }
}

pub(super) fn show(device: &str) -> String {
    format!("{device} root qdisc")
}

pub(super) fn read(host: &Host, device: &str) -> Result<Option<Seen>, PlaceError> {
    if host.is_made_up() {
        let text = host.text(&format!("/qdisc/{device}"));
        return Ok(text.map(|raw| made_up_root(&raw).seen()));
    }
    match root_of(host, device) {
        Ok(root) => Ok(root.map(|root| root.seen())),
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
        Err(error) => Err(PlaceError::Io { place: show(device), error }),
    }
}

pub(super) fn write(host: &Host, device: &str, value: &str) -> Result<(), PlaceError> {
    let io = |error: io::Error| PlaceError::Io { place: show(device), error };
    if host.is_made_up() {
        let raw = if value == DEFAULT { "pfifo_fast 0:".into() } else { format!("{value} 7ce1:") };
        return fs::write(host.root.path(format!("/qdisc/{device}")), raw).map_err(io);
    }
    let root = root_of(host, device).map_err(io)?;
    let foreign = root.as_ref().filter(|root| root.handle != 0 && root.handle != OURS);
    if let Some(foreign) = foreign {
        let why = format!("{} is somebody else's", foreign.seen().raw);
        return Err(PlaceError::Value { place: show(device), why });
    }
    let index = index_of(host, device).map_err(io)?;
    if root.is_some_and(|root| root.handle == OURS) {
        ask(&request(DELETE, 0, index, OURS, None), &mut |_, _| {}).map_err(io)?;
    }
    if value == DEFAULT {
        return Ok(());
    }
    let flags = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
    ask(&request(NEW, flags, index, OURS, Some(value)), &mut |_, _| {}).map_err(io)
}

/// `pfifo_fast 0:`, as [`Root::seen`] writes it.
fn made_up_root(raw: &str) -> Root {
    let (kind, handle) = raw.trim().split_once(' ').unwrap_or((raw.trim(), "0:"));
    let major = u32::from_str_radix(handle.trim_end_matches(':'), 16).unwrap_or(0);
    Root { kind: kind.to_string(), handle: major << 16 }
}

/// Whether the kernel has a discipline, built in or as a module, as its lists of modules say. One
/// that is not found might still be there; asking for it is the only other way to know.
pub fn has_kind(host: &Host, kind: &str) -> bool {
    let default = host.text("/proc/sys/net/core/default_qdisc");
    if default.is_some_and(|default| default.trim() == kind) {
        return true;
    }
    let Some(release) = host.text("/proc/sys/kernel/osrelease") else { return false };
    let name = format!("/sch_{kind}.ko");
    ["modules.builtin", "modules.dep"].iter().any(|list| {
        let list = host.text(&format!("/lib/modules/{}/{list}", release.trim()));
        list.is_some_and(|list| list.contains(&name))
    })
}

fn index_of(host: &Host, device: &str) -> io::Result<u32> {
    link::index(host, device).ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))
}

fn root_of(host: &Host, device: &str) -> io::Result<Option<Root>> {
    let index = index_of(host, device)?;
    let mut found = None;
    ask(&request(GET, libc::NLM_F_DUMP, 0, 0, None), &mut |kind, body| {
        let word = |at: usize| body.get(at..at + 4).map(|word| word.try_into().unwrap_or([0; 4]));
        let word = |at| word(at).map_or(0, u32::from_ne_bytes);
        if kind == NEW && word(4) == index && word(12) == ROOT {
            let attributes = body.get(HEAD_BYTES - HEADER_BYTES..).unwrap_or_default();
            found = Some(Root { kind: kind_of(attributes), handle: word(8) });
        }
    })?;
    Ok(found)
}

/// The first attribute is the kind.
fn kind_of(attributes: &[u8]) -> String {
    let length = attributes.get(..2).map_or(0, |two| u16::from_ne_bytes([two[0], two[1]]));
    let text = attributes.get(ATTRIBUTE_BYTES..usize::from(length)).unwrap_or_default();
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

fn request(kind: u16, flags: i32, index: u32, handle: u32, of: Option<&str>) -> Vec<u8> {
    let answer = if kind == GET { 0 } else { libc::NLM_F_ACK };
    let flags = (libc::NLM_F_REQUEST | flags | answer) as u16;
    let mut bytes = Vec::with_capacity(64);
    bytes.extend([0; 4]);
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend([0; 8 + 4]);
    for word in [index, handle, ROOT, 0] {
        bytes.extend(word.to_ne_bytes());
    }
    if let Some(of) = of {
        bytes.extend(((ATTRIBUTE_BYTES + of.len() + 1) as u16).to_ne_bytes());
        bytes.extend(KIND.to_ne_bytes());
        bytes.extend(of.as_bytes());
        bytes.push(0);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    let length = bytes.len() as u32;
    bytes[..4].copy_from_slice(&length.to_ne_bytes());
    bytes
}

/// Sends a request and gives each message of the answer, kind and body, to `on`.
fn ask(request: &[u8], on: &mut dyn FnMut(u16, &[u8])) -> io::Result<()> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: socket takes no pointers.
    let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just opened and nobody else has it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let fd = socket.as_raw_fd();
    // SAFETY: pointer and length are those of the request, which outlives the call.
    if unsafe { libc::send(fd, request.as_ptr().cast(), request.len(), 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut chunk = vec![0_u8; 32 << 10];
    loop {
        // SAFETY: pointer and length are those of the chunk, which is writable and outlives the
        // call. The kernel answers before `send` or the receive before this one returns.
        let length =
            unsafe { libc::recv(fd, chunk.as_mut_ptr().cast(), chunk.len(), libc::MSG_DONTWAIT) };
        let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
        if let Some(end) = messages(&chunk[..length], on) {
            return match end {
                0 => Ok(()),
                errno => Err(io::Error::from_raw_os_error(errno)),
            };
        }
    }
}

/// Cuts a chunk into messages. The errno with which the answer ends, zero when all is well; nothing
/// when more follows.
fn messages(chunk: &[u8], on: &mut dyn FnMut(u16, &[u8])) -> Option<i32> {
    let mut rest = chunk;
    while let Some(header) = rest.get(..HEADER_BYTES) {
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let kind = u16::from_ne_bytes([header[4], header[5]]);
        let Some(body) = rest.get(HEADER_BYTES..length) else { return Some(libc::EBADMSG) };
        match i32::from(kind) {
            libc::NLMSG_DONE => return Some(0),
            libc::NLMSG_ERROR => {
                let errno = body.get(..4).and_then(|errno| errno.try_into().ok());
                return Some(-i32::from_ne_bytes(errno.unwrap_or([0xff; 4])));
            }
            _ => on(kind, body),
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_kernels_own_is_the_default_and_only_ours_has_a_plain_name() {
        let value = |kind: &str, handle| Root { kind: kind.into(), handle }.seen().value;
        assert_eq!(value("pfifo_fast", 0), "default");
        assert_eq!(value("fq", OURS), "fq");
        assert_eq!(value("fq", 0x8001_0000), "fq 8001:");
        for raw in ["pfifo_fast 0:", "fq 7ce1:", "fq 8001:"] {
            assert_eq!(made_up_root(raw).seen().raw, raw);
        }
    }

    #[test]
    fn loopback_has_the_kernels_own() {
        let seen = read(&Host::look(model::root::Root::default()), "lo").unwrap().unwrap();
        assert_eq!(seen.raw, "noqueue 0:");
        assert_eq!(seen.value, DEFAULT);
    }

    #[test]
    fn a_cut_answer_is_an_error_and_no_panic() {
        let whole = request(GET, 0, 1, 0, Some("fq"));
        for length in 1..whole.len() {
            messages(&whole[..length], &mut |_, body| drop(kind_of(body)));
        }
        assert_eq!(messages(&whole[..20], &mut |_, _| {}), Some(libc::EBADMSG));
        let mut end = request(libc::NLMSG_ERROR as u16, 0, 0, 0, None);
        end[HEADER_BYTES..HEADER_BYTES + 4].copy_from_slice(&(-libc::ENOENT).to_ne_bytes());
        assert_eq!(messages(&end, &mut |_, _| {}), Some(libc::ENOENT));
    }
}
