//! Where connections go and where they come from.
//!
//! A name has addresses, a host has sources, and each pair of them that fits is a [`Route`] with a
//! budget of local ports of its own.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// What a socket can connect to. In records it is text: `127.0.0.1:80` or `unix:/run/x.sock`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Address {
    /// TCP over IPv4 or IPv6.
    Tcp(SocketAddr),
    /// A unix socket by its path.
    Unix(PathBuf),
}

impl Address {
    /// Port, if it has one.
    pub fn port(&self) -> Option<u16> {
        self.tcp().map(|address| address.port())
    }

    /// As a TCP address, if it is one.
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }

    /// Whether bytes to it never leave this host, as far as the address tells.
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Self::Unix(_) => true,
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.to_string()
    }
}

impl FromStr for Address {
    type Err = std::net::AddrParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("unix:") {
            Some(path) => Ok(Self::Unix(PathBuf::from(path))),
            None => text.parse().map(Self::Tcp),
        }
    }
}

impl TryFrom<String> for Address {
    type Error = std::net::AddrParseError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// The two ends of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Where it goes.
    pub to: Address,
    /// Local address it is bound to; the kernel chooses when absent.
    pub from: Option<IpAddr>,
}

impl Route {
    /// A route with a source of the kernel's choice.
    pub fn to(address: impl Into<Address>) -> Self {
        Self { to: address.into(), from: None }
    }
}

/// All routes from the sources to the addresses, for connections to use in turn: each source with
/// all addresses, then the next source. Without sources the kernel chooses. An address has no route
/// when no source is of its family.
pub fn routes(addresses: &[Address], sources: &[IpAddr]) -> Vec<Route> {
    if sources.is_empty() {
        return addresses.iter().cloned().map(Route::to).collect();
    }
    let fits = |to: &Address, from: IpAddr| match to {
        Address::Tcp(to) => to.is_ipv4() == from.is_ipv4(),
        Address::Unix(_) => false,
    };
    let from_one = |&from: &IpAddr| {
        let reached = addresses.iter().filter(move |to| fits(to, from));
        reached.map(move |to| Route { to: to.clone(), from: Some(from) })
    };
    sources.iter().flat_map(from_one).collect()
}

/// How addresses were found for a name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lookup {
    /// The name is an address.
    #[default]
    Literal,
    /// The system's resolver, asked once.
    Resolver,
    /// `--resolve` gave them.
    Given,
    /// `--unix-socket` gave a path.
    UnixSocket,
}

/// What was looked up to find addresses, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolution {
    /// Host and port connected to: those of the URL, unless `--connect-to` names others.
    pub name: String,
    /// How.
    pub how: Lookup,
    /// All addresses that were found, in order; some may have been left out afterwards.
    #[serde(rename = "answers")]
    pub addresses: Vec<String>,
}

/// A prefix of addresses, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Net {
    first: IpAddr,
    prefix: u8,
}

impl Net {
    /// Parses `10.0.0.1`, `10.0.0.0/28`, `::1` or `fd00::/120`.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/').unwrap_or((text, ""));
        let first: IpAddr = address.parse().ok()?;
        let bits = if first.is_ipv4() { 32 } else { 128 };
        let prefix = match text.contains('/') {
            true => prefix.parse().ok().filter(|prefix| *prefix <= bits)?,
            false => bits,
        };
        Some(Self { first, prefix })
    }

    /// Its hosts, at most `count_max`. In an IPv4 net the all-zeros and all-ones addresses are the
    /// net's own and its broadcast address (RFC 919), and in an IPv6 net the first one is that of
    /// its routers (RFC 4291, 2.6.1); they are not hosts unless the net is a pair or one address.
    pub fn hosts(&self, count_max: usize) -> Vec<IpAddr> {
        let (bits, value) = match self.first {
            IpAddr::V4(v4) => (32, u128::from(u32::from(v4))),
            IpAddr::V6(v6) => (128, u128::from(v6)),
        };
        let host_bits = bits - u32::from(self.prefix);
        let mask = 1u128.checked_shl(host_bits).map_or(u128::MAX, |size| size - 1);
        let (mut first, mut last) = (value & !mask, value | mask);
        if host_bits > 1 {
            first += 1;
            last -= u128::from(self.first.is_ipv4());
        }
        let host = |value: u128| match self.first {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from(value as u32)),
            IpAddr::V6(_) => IpAddr::V6(value.into()),
        };
        (first..=last).take(count_max).map(host).collect()
    }
}

/// Keeps the first of equal elements.
pub fn without_repeats<T: Ord + Clone>(list: Vec<T>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    list.into_iter().filter(|one| seen.insert(one.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn addresses_are_text_in_records() {
        for text in ["127.0.0.1:80", "[::1]:8080", "unix:/run/a b.sock"] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
            let json = serde_json::to_string(&address).unwrap();
            assert_eq!(serde_json::from_str::<Address>(&json).unwrap(), address);
        }
        assert!("127.0.0.1".parse::<Address>().is_err());
    }

    #[test]
    fn each_pair_that_fits_is_a_route_and_addresses_alternate() {
        let addresses: Vec<Address> =
            ["127.0.0.1:80", "[::1]:80", "127.0.0.1:81"].map(|text| text.parse().unwrap()).into();
        let shown = |sources: &[&str]| -> Vec<String> {
            let sources: Vec<_> = sources.iter().map(|text| ip(text)).collect();
            let all = routes(&addresses, &sources);
            all.iter().map(|route| format!("{:?} {}", route.from, route.to)).collect()
        };
        assert_eq!(shown(&[]), ["None 127.0.0.1:80", "None [::1]:80", "None 127.0.0.1:81"]);
        assert_eq!(
            shown(&["127.0.0.2", "::1", "127.0.0.3"]),
            [
                "Some(127.0.0.2) 127.0.0.1:80",
                "Some(127.0.0.2) 127.0.0.1:81",
                "Some(::1) [::1]:80",
                "Some(127.0.0.3) 127.0.0.1:80",
                "Some(127.0.0.3) 127.0.0.1:81",
            ]
        );
    }

    #[test]
    fn nets_have_hosts() {
        let hosts = |text: &str| Net::parse(text).unwrap().hosts(100_000);
        assert_eq!(hosts("10.1.2.3"), [ip("10.1.2.3")]);
        let of_28 = hosts("127.0.0.5/28");
        assert_eq!((of_28.len(), of_28[0], of_28[13]), (14, ip("127.0.0.1"), ip("127.0.0.14")));
        assert_eq!(hosts("10.0.0.2/31"), [ip("10.0.0.2"), ip("10.0.0.3")]);
        assert_eq!(hosts("fd00::/126"), [ip("fd00::1"), ip("fd00::2"), ip("fd00::3")]);
        assert_eq!(Net::parse("::/0").unwrap().hosts(2), [ip("::1"), ip("::2")]);
        assert_eq!(Net::parse("0.0.0.0/0").unwrap().hosts(2), [ip("0.0.0.1"), ip("0.0.0.2")]);
        for wrong in ["", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "::/129", "localhost"] {
            assert_eq!(Net::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn repeats_are_dropped_in_order() {
        assert_eq!(without_repeats(vec![3, 1, 3, 2, 1]), [3, 1, 2]);
    }
}
