//! Addresses of the interfaces of a network namespace, from `/proc/PID/net`: no privilege, and no
//! need to enter it.
//!
//! `fib_trie` prints the routing tables; a local address is a leaf of its own with the line
//! `/32 host LOCAL` (`net/ipv4/fib_trie.c`, `fib_trie_seq_show`). `if_inet6` has a line per address
//! of IPv6 (`net/ipv6/addrconf.c`, `if6_seq_show`).

use crate::scan;
use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// The addresses of a namespace by its folder `net`, those of loopback left out. A family that is
/// switched off, or a folder that cannot be read, has none.
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
    fn loopback_is_everywhere_and_left_out() {
        assert!(of_folder(Path::new("/proc/self/net")).iter().all(|ip| !ip.is_loopback()));
        assert!(of_folder(Path::new("/none")).is_empty());
    }
}
