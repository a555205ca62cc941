//! The queueing discipline at the root of a device, through rtnetlink (`linux/rtnetlink.h`).
//!
//! It works in the network namespace of the calling thread. The three messages are made by hand:
//! the crate `rtnetlink` needs an async runtime.

use crate::netlink::{self, ATTRIBUTE_HEADER_BYTES, CHUNK_BYTES, Fields, MESSAGE_HEADER_BYTES};
use crate::scan;
use std::collections::BTreeSet;
use std::io;

const NEW: u16 = 36;
const DELETE: u16 = 37;
const GET: u16 = 38;
/// Length of `struct tcmsg`.
const TCMSG_BYTES: usize = 20;
const KIND: u16 = 1;
const ROOT: u32 = u32::MAX;

/// The root of a device as the kernel describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootQdisc {
    /// Its kind, for example `fq`.
    pub kind: String,
    /// Its handle; zero is the kernel's own default.
    pub handle: u32,
}

/// What is at the root of the device with this number.
pub fn root(index: u32) -> io::Result<Option<RootQdisc>> {
    let mut found = None;
    each(index, |parent, qdisc| {
        if parent == ROOT {
            found = Some(qdisc);
        }
    })?;
    Ok(found)
}

/// Kinds below the kernel's own root: `mq` has one discipline for each queue.
pub fn of_queues(index: u32) -> io::Result<BTreeSet<String>> {
    let mut kinds = BTreeSet::new();
    each(index, |parent, qdisc| {
        if (1..1 << 16).contains(&parent) {
            kinds.insert(qdisc.kind);
        }
    })?;
    Ok(kinds)
}

/// Every discipline of a device, with its parent.
fn each(index: u32, mut on: impl FnMut(u32, RootQdisc)) -> io::Result<()> {
    send(&request(GET, libc::NLM_F_DUMP, 0, 0, None), |kind, body| {
        let fields = Fields(body);
        if kind == NEW && fields.u32(4)? == index {
            let mut root = RootQdisc { kind: String::new(), handle: fields.u32(8)? };
            let attributes = body.get(TCMSG_BYTES..).unwrap_or_default();
            netlink::attributes(attributes, |kind, value| {
                if kind == KIND {
                    root.kind = scan::text(value.strip_suffix(b"\0").unwrap_or(value));
                }
                Ok(())
            })?;
            on(fields.u32(12)?, root);
        }
        Ok(())
    })
}

/// Puts a discipline at the root, replacing one with the same handle.
pub fn put(index: u32, root: &RootQdisc) -> io::Result<()> {
    let flags = libc::NLM_F_CREATE | libc::NLM_F_REPLACE | libc::NLM_F_ACK;
    send(&request(NEW, flags, index, root.handle, Some(&root.kind)), |_, _| Ok(()))
}

/// Deletes the root with this handle: the kernel makes its default again.
pub fn delete(index: u32, handle: u32) -> io::Result<()> {
    send(&request(DELETE, libc::NLM_F_ACK, index, handle, None), |_, _| Ok(()))
}

fn send(
    request: &[u8],
    mut on: impl FnMut(u16, &[u8]) -> Result<(), scan::ParseError>,
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    netlink::dump(libc::NETLINK_ROUTE, request, &mut chunk, |bytes| {
        netlink::messages(bytes, &mut on)
    })
}

fn request(kind: u16, flags: i32, index: u32, handle: u32, of: Option<&str>) -> Vec<u8> {
    let mut body = vec![0; 4];
    for word in [index, handle, ROOT, 0] {
        body.extend(word.to_ne_bytes());
    }
    if let Some(of) = of {
        body.extend(((ATTRIBUTE_HEADER_BYTES + of.len() + 1) as u16).to_ne_bytes());
        body.extend(KIND.to_ne_bytes());
        body.extend(of.as_bytes());
        body.push(0);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    let header = netlink::header(MESSAGE_HEADER_BYTES + body.len(), kind, flags);
    [&header[..], &body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::More;

    #[test]
    fn loopback_has_the_kernels_own() {
        let root = root(1).unwrap().unwrap();
        assert_eq!((root.kind.as_str(), root.handle), ("noqueue", 0));
        assert!(of_queues(1).unwrap().is_empty());
    }

    #[test]
    fn a_cut_response_is_an_error_and_no_panic() {
        let whole = request(GET, 0, 1, 0, Some("fq"));
        for length in 1..whole.len() {
            assert!(netlink::messages(&whole[..length], |_, _| Ok(())).is_err(), "{length}");
        }
        let mut end = request(libc::NLMSG_ERROR as u16, 0, 0, 0, None);
        end[MESSAGE_HEADER_BYTES..][..4].copy_from_slice(&(-libc::ENOENT).to_ne_bytes());
        assert_eq!(netlink::messages(&end, |_, _| Ok(())), Ok(More::Refused(libc::ENOENT)));
    }
}
