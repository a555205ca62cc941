//! Addresses of interfaces: of any network namespace from `/proc/PID/net`, without a privilege and
//! without entering it; and of this one by interface, through rtnetlink.
//!
//! `fib_trie` prints the routing tables; a local address is a leaf of its own with the line
//! `/32 host LOCAL` (`net/ipv4/fib_trie.c`, `fib_trie_seq_show`). `if_inet6` has a line per address
//! of IPv6 (`net/ipv6/addrconf.c`, `if6_seq_show`).

use crate::netlink::{self, CHUNK_BYTES, Fields, MESSAGE_HEADER_BYTES};
use crate::scan::{self, ParseError};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// `RTM_NEWADDR` and `RTM_GETADDR` (`linux/rtnetlink.h`).
const NEW: u16 = 20;
const GET: u16 = 22;
/// Length of `struct ifaddrmsg` (`linux/if_addr.h`).
const IFADDRMSG_BYTES: usize = 8;
/// Attributes: the address, which on a point-to-point link is the other end's, and our own.
const ADDRESS: u16 = 1;
const LOCAL: u16 = 2;
/// Flags of an IPv6 address that another host has, or may have.
const NOT_OURS: u8 = 0x08 | 0x40;

/// An address of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    ip: IpAddr,
    interface: u32,
    scope: u8,
}

/// All addresses of the interface that has this one, with the same scope, in the kernel's order, in
/// the network namespace of the calling thread.
pub fn beside(ip: IpAddr) -> io::Result<Vec<IpAddr>> {
    let mut held = Vec::new();
    let header = netlink::dump_header(MESSAGE_HEADER_BYTES + IFADDRMSG_BYTES, GET);
    let question = [&header[..], &[0; IFADDRMSG_BYTES]].concat();
    netlink::dump(libc::NETLINK_ROUTE, &question, &mut vec![0; CHUNK_BYTES], |bytes| {
        netlink::messages(bytes, |kind, body| {
            if kind == NEW {
                held.extend(parse_held(body)?);
            }
            Ok(())
        })
    })?;
    let Some(own) = held.iter().find(|one| one.ip == ip) else { return Ok(Vec::new()) };
    let is_beside = |one: &&Held| one.interface == own.interface && one.scope == own.scope;
    Ok(held.iter().filter(is_beside).map(|one| one.ip).collect())
}

fn parse_held(body: &[u8]) -> Result<Option<Held>, ParseError> {
    let fields = Fields(body);
    let ([_, _, flags, scope], interface) = (fields.take::<4>(0)?, fields.u32(4)?);
    let (mut address, mut local) = (None, None);
    netlink::attributes(&body[IFADDRMSG_BYTES..], |kind, value| {
        match kind {
            ADDRESS => address = ip_of(value),
            LOCAL => local = ip_of(value),
            _ => {}
        }
        Ok(())
    })?;
    let ip = local.or(address).filter(|_| flags & NOT_OURS == 0);
    Ok(ip.map(|ip| Held { ip, interface, scope }))
}

fn ip_of(value: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(value).ok().map(IpAddr::from);
    v4.or_else(|| <[u8; 16]>::try_from(value).ok().map(IpAddr::from))
}

/// The addresses of a namespace by its folder `net`, without loopback. A family that is switched
/// off, or a folder that cannot be read, has none.
pub fn of_folder(net: &Path) -> BTreeSet<IpAddr> {
    let read = |name: &str| fs::read(net.join(name)).unwrap_or_default();
    let v4 = parse_v4(&read("fib_trie")).into_iter().map(IpAddr::V4);
    let v6 = parse_v6(&read("if_inet6")).into_iter().map(IpAddr::V6);
    v4.chain(v6).filter(|ip| !ip.is_loopback()).collect()
}

/// The local addresses in `fib_trie`.
pub fn parse_v4(bytes: &[u8]) -> BTreeSet<Ipv4Addr> {
    let mut leaf: Option<Ipv4Addr> = None;
    let mut found = BTreeSet::new();
    for line in scan::lines(bytes).map(<[u8]>::trim_ascii) {
        if let Some(address) = line.strip_prefix(b"|-- ") {
            leaf = scan::text(address).parse().ok();
        } else if line.starts_with(b"/32 host LOCAL") {
            found.extend(leaf);
        }
    }
    found
}

/// The addresses in `if_inet6`.
pub fn parse_v6(bytes: &[u8]) -> BTreeSet<Ipv6Addr> {
    let address = |line| {
        let word = scan::words(line).next().filter(|word| word.len() == 32)?;
        Some(Ipv6Addr::from(u128::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?))
    };
    scan::lines(bytes).filter_map(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIE: &str = "Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 172.17.0.0/16 2 0 2
        |-- 172.17.0.0
           /16 link UNICAST
Local:
     |-- 127.0.0.1
        /32 host LOCAL
        |-- 172.17.0.2
           /32 host LOCAL
        |-- 172.17.255.255
           /32 link BROADCAST
";

    #[test]
    fn local_addresses_are_leaves_of_their_own() {
        let found: Vec<String> =
            parse_v4(TRIE.as_bytes()).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["127.0.0.1", "172.17.0.2"]);
        assert!(parse_v4(b"").is_empty() && parse_v4(b"/32 host LOCAL\n|-- x\n").is_empty());
    }

    #[test]
    fn addresses_of_ipv6_are_one_word() {
        let text = b"00000000000000000000000000000001 01 80 10 80       lo\n\
                     fd000000000000000000000000000002 02 40 00 80     eth0\nx\n";
        let found: Vec<String> = parse_v6(text).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["::1", "fd00::2"]);
    }

    #[test]
    fn addresses_of_an_interface_are_beside_each_other() {
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        assert!(beside(loopback).unwrap().contains(&loopback));
        assert_eq!(beside("192.0.2.77".parse().unwrap()).unwrap(), [] as [IpAddr; 0]);
        for ip in of_folder(Path::new("/proc/thread-self/net")) {
            let found = beside(ip).unwrap();
            assert!(found.is_empty() || found.contains(&ip) && !found.contains(&loopback), "{ip}");
        }
    }

    #[test]
    fn our_own_end_of_a_link_is_the_address() {
        let attribute = |kind: u16, value: &[u8]| {
            let length = (value.len() + 4) as u16;
            [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat()
        };
        let head = |flags: u8| [&[2, 24, flags, 0][..], &7u32.to_ne_bytes()].concat();
        let both = [attribute(ADDRESS, &[10, 0, 0, 9]), attribute(LOCAL, &[10, 0, 0, 1])].concat();
        let held = parse_held(&[head(0x80), both.clone()].concat()).unwrap().unwrap();
        assert_eq!((held.ip, held.interface), ("10.0.0.1".parse().unwrap(), 7));
        let v6 = attribute(ADDRESS, &Ipv6Addr::LOCALHOST.octets());
        assert!(parse_held(&[head(0), v6.clone()].concat()).unwrap().unwrap().ip.is_ipv6());
        assert_eq!(parse_held(&[head(0x40), v6].concat()), Ok(None), "it may be another host's");
        assert_eq!(parse_held(&[head(0), attribute(LOCAL, &[1, 2])].concat()), Ok(None));
        for length in 0..IFADDRMSG_BYTES {
            assert!(parse_held(&head(0)[..length]).is_err());
        }
        assert!(parse_held(&[head(0), both[..14].to_vec()].concat()).is_err());
    }

    #[test]
    fn loopback_is_everywhere_and_left_out() {
        assert!(of_folder(Path::new("/proc/self/net")).iter().all(|ip| !ip.is_loopback()));
        assert!(of_folder(Path::new("/none")).is_empty());
    }
}
