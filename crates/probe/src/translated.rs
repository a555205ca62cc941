//! Where the kernel sends connections whose address is translated on this host: the published port
//! of a container, the address of a Kubernetes service, a redirected port.
//!
//! Any program may have set the rules (docker, podman, kube-proxy, nftables), so they are not read.
//! The probe makes one connection, looks up where it went in the table of tracked connections
//! (`include/uapi/linux/netfilter/nfnetlink_conntrack.h`), and closes it. Without that table no
//! address is translated, and no connection is made.
//!
//! In: an address. Out: the translated one. Never: a change of the table or of a rule.

use crate::scan::ParseError;
use ::host::netlink::{self, Fields, MESSAGE_HEADER_BYTES, More};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

/// Exists when connections are tracked.
const TRACKED: &str = "/proc/sys/net/netfilter/nf_conntrack_count";
/// A server on this host accepts at once; another host may have been meant.
const CONNECT_WITHIN: Duration = Duration::from_millis(300);

/// `NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET`.
const GET_CONNECTION: u16 = 0x0101;
/// `struct nfgenmsg`.
const FAMILY_HEADER_BYTES: usize = 4;
const NESTED: u16 = 0x8000;
const TUPLE_ORIGINAL: u16 = 1;
const TUPLE_REPLY: u16 = 2;
const TUPLE_IP: u16 = 1;
const TUPLE_PROTOCOL: u16 = 2;
const IP_V4_SOURCE: u16 = 1;
const IP_V4_DESTINATION: u16 = 2;
const IP_V6_SOURCE: u16 = 3;
const IP_V6_DESTINATION: u16 = 4;
const PROTOCOL_NUMBER: u16 = 1;
const PROTOCOL_SOURCE_PORT: u16 = 2;
const PROTOCOL_DESTINATION_PORT: u16 = 3;

/// Where connections to `address` go; nothing when that is the address itself, or is not known.
pub(crate) fn target(address: SocketAddr) -> Option<SocketAddr> {
    if !Path::new(TRACKED).exists() {
        return None;
    }
    let stream = TcpStream::connect_timeout(&address, CONNECT_WITHIN).ok()?;
    let (from, to) = (canonical(stream.local_addr().ok()?), canonical(stream.peer_addr().ok()?));
    let replies_from = ask(from, to).ok().flatten()?;
    (replies_from != to).then_some(replies_from)
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// The address that replies to a connection, as the kernel tracks it.
fn ask(from: SocketAddr, to: SocketAddr) -> io::Result<Option<SocketAddr>> {
    let mut found = None;
    let mut chunk = vec![0; netlink::CHUNK_BYTES];
    netlink::dump(libc::NETLINK_NETFILTER, &question(from, to), &mut chunk, |bytes| {
        let more = netlink::messages(bytes, |_, body| {
            found = parse(body)?;
            Ok(())
        });
        more.map(More::or_enough)
    })?;
    Ok(found)
}

fn question(from: SocketAddr, to: SocketAddr) -> Vec<u8> {
    let ip = match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            [attribute(IP_V4_SOURCE, &from.octets()), attribute(IP_V4_DESTINATION, &to.octets())]
        }
        (from, to) => {
            let octets = |ip: IpAddr| match ip {
                IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
                IpAddr::V6(ip) => ip.octets(),
            };
            [attribute(IP_V6_SOURCE, &octets(from)), attribute(IP_V6_DESTINATION, &octets(to))]
        }
    };
    let protocol = [
        attribute(PROTOCOL_NUMBER, &[libc::IPPROTO_TCP as u8]),
        attribute(PROTOCOL_SOURCE_PORT, &from.port().to_be_bytes()),
        attribute(PROTOCOL_DESTINATION_PORT, &to.port().to_be_bytes()),
    ];
    let tuple = [
        attribute(TUPLE_IP | NESTED, &ip.concat()),
        attribute(TUPLE_PROTOCOL | NESTED, &protocol.concat()),
    ];
    let family = if to.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let mut body = vec![family as u8, 0, 0, 0];
    body.extend(attribute(TUPLE_ORIGINAL | NESTED, &tuple.concat()));
    let length = MESSAGE_HEADER_BYTES + body.len();
    [&netlink::header(length, GET_CONNECTION, 0)[..], &body].concat()
}

/// An attribute, with the zeros that fill its last word.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = (netlink::ATTRIBUTE_HEADER_BYTES + value.len()) as u16;
    let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// Where the replies of a tracked connection come from.
pub(crate) fn parse(body: &[u8]) -> Result<Option<SocketAddr>, ParseError> {
    let attributes = body
        .get(FAMILY_HEADER_BYTES..)
        .ok_or_else(|| ParseError::new("a tracked connection", b"its end"))?;
    let (mut ip, mut port) = (None, None);
    nested(attributes, TUPLE_REPLY, |tuple| {
        nested(tuple, TUPLE_IP, |addresses| {
            nested(addresses, IP_V4_SOURCE, |value| {
                ip = Some(IpAddr::from(Ipv4Addr::from(Fields(value).take::<4>(0)?)));
                Ok(())
            })?;
            nested(addresses, IP_V6_SOURCE, |value| {
                ip = Some(IpAddr::from(Ipv6Addr::from(Fields(value).take::<16>(0)?)));
                Ok(())
            })
        })?;
        nested(tuple, TUPLE_PROTOCOL, |protocol| {
            nested(protocol, PROTOCOL_SOURCE_PORT, |value| {
                port = Some(Fields(value).u16_network(0)?);
                Ok(())
            })
        })
    })?;
    Ok(ip.zip(port).map(|(ip, port)| canonical(SocketAddr::new(ip, port))))
}

/// Passes the values of the attributes of one kind to `on`.
fn nested(
    bytes: &[u8],
    wanted: u16,
    mut on: impl FnMut(&[u8]) -> Result<(), ParseError>,
) -> Result<(), ParseError> {
    netlink::attributes(bytes, |kind, value| if kind == wanted { on(value) } else { Ok(()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel responds: the tuples of both directions, laid out as in a question.
    fn response(original: [&str; 2], reply: [&str; 2]) -> Vec<u8> {
        let tuple = |[from, to]: [&str; 2], kind: u16| {
            let question = question(from.parse().unwrap(), to.parse().unwrap());
            let mut tuple = question[MESSAGE_HEADER_BYTES + FAMILY_HEADER_BYTES..].to_vec();
            tuple[2..4].copy_from_slice(&(kind | NESTED).to_ne_bytes());
            tuple
        };
        [&[0; 4][..], &tuple(original, TUPLE_ORIGINAL), &tuple(reply, TUPLE_REPLY)].concat()
    }

    #[test]
    fn replies_come_from_the_translated_address() {
        for (original, reply, expected) in [
            (
                ["127.0.0.1:4000", "127.0.0.1:8091"],
                ["10.88.0.5:80", "10.88.0.1:4000"],
                "10.88.0.5:80",
            ),
            (["[::1]:4000", "[::1]:8091"], ["[fd00::5]:80", "[fd00::1]:4000"], "[fd00::5]:80"),
        ] {
            let parsed = parse(&response(original, reply)).unwrap();
            assert_eq!(parsed, Some(expected.parse().unwrap()));
        }
    }

    #[test]
    fn half_a_response_has_no_address() {
        let whole = response(["127.0.0.1:1", "127.0.0.1:2"], ["10.0.0.1:3", "127.0.0.1:1"]);
        let original = (whole.len() - 4) / 2 + 4;
        assert_eq!(parse(&whole[..original]), Ok(None), "one direction");
        assert!(parse(&whole[..whole.len() - 4]).is_err() && parse(&[0; 3]).is_err());
    }
}
