//! Where an agent may send load, whichever controller orders it.
//!
//! A pattern names a scheme, hosts and a port: `https://*.staging.example:443`. A URL must match a
//! pattern, and every address that its host resolves to is checked too: an address of the agent's
//! own host, of its link, or of no host at all passes only if a pattern names that very address. An
//! agent connects to the addresses that passed and does not resolve again, so a name that changes
//! its address has no effect.

use plan::{Scheme, Url};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// Why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{typed}' {wrong}; for example https://*.staging.example:443")]
pub struct PatternError {
    /// The text.
    pub typed: String,
    /// What is wrong with it.
    pub wrong: &'static str,
}

/// Hosts of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Hosts {
    /// One address.
    Address(IpAddr),
    /// One name.
    Name(String),
    /// Names with this ending: a dot and a domain.
    Below(String),
    /// All hosts.
    Any,
}

/// One entry of the allow-list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    typed: String,
    scheme: Scheme,
    hosts: Hosts,
    /// The port; any if absent.
    port: Option<u16>,
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(typed: &str) -> Result<Self, PatternError> {
        let error = |wrong| PatternError { typed: typed.to_string(), wrong };
        let (scheme, rest) = typed.split_once("://").ok_or_else(|| error("has no scheme"))?;
        let (scheme, usual_port) = match scheme {
            "http" => (Scheme::Http, Some(80)),
            "https" => (Scheme::Https, Some(443)),
            "grpc" => (Scheme::Grpc, Some(80)),
            "grpcs" => (Scheme::Grpcs, Some(443)),
            "tcp" => (Scheme::Tcp, None),
            _ => return Err(error("has another scheme than http, https, grpc, grpcs or tcp")),
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = split_port(authority).ok_or_else(|| error("has a bad host or port"))?;
        let port = match port {
            Some("*") => None,
            Some(port) => match port.parse().ok().filter(|port| *port != 0) {
                Some(port) => Some(port),
                None => return Err(error("has a bad port")),
            },
            None if usual_port.is_none() => return Err(error("has no port")),
            None => usual_port,
        };
        let hosts = Hosts::parse(host).ok_or_else(|| error("has a bad host"))?;
        Ok(Self { typed: typed.to_string(), scheme, hosts, port })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.typed)
    }
}

/// Splits an authority into the host, without brackets, and the port.
fn split_port(authority: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        host.parse::<Ipv6Addr>().ok()?;
        return match rest {
            "" => Some((host, None)),
            rest => rest.strip_prefix(':').map(|port| (host, Some(port))),
        };
    }
    match authority.split_once(':') {
        Some((host, port)) => Some((host, Some(port))),
        None => Some((authority, None)),
    }
}

impl Hosts {
    fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::Any);
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Some(Self::Address(address));
        }
        let name = canonical(text);
        let (is_below, labels) = match name.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, &*name),
        };
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_label = |label: &str| !label.is_empty() && label.bytes().all(is_part);
        if !labels.split('.').all(is_label) || looks_like_an_address(labels) {
            return None;
        }
        Some(if is_below { Self::Below(format!(".{labels}")) } else { Self::Name(name) })
    }

    fn matches(&self, host: &str) -> bool {
        let name = canonical(host);
        match self {
            Self::Any => true,
            Self::Address(address) => host.parse() == Ok(*address),
            Self::Name(mine) => *mine == name,
            Self::Below(end) => name.strip_suffix(&**end).is_some_and(|rest| !rest.is_empty()),
        }
    }
}

/// A name in the form for comparison: lower case, without the dot of the root.
fn canonical(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// Whether a resolver may read a name as an address: `127.1`, `0x7f000001`, `2130706433`.
fn looks_like_an_address(name: &str) -> bool {
    let last = name.strip_suffix('.').unwrap_or(name).rsplit('.').next().unwrap_or_default();
    let hexadecimal = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

/// Why load is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAllowed {
    /// No pattern matches.
    #[error("{0} matches no --allow of this agent")]
    Url(String),
    /// An address in a form that resolvers interpret differently.
    #[error("{0} is an address in an unusual form")]
    Form(String),
    /// The name has no address.
    #[error("{0} has no address")]
    Nowhere(String),
    /// The address must be allowed literally.
    #[error(
        "{host} is at {address}, {what}; such an address must be allowed literally, for example \
         --allow http://127.0.0.1:8080"
    )]
    Address {
        /// The host of the URL.
        host: String,
        /// The address.
        address: IpAddr,
        /// Why it is special.
        what: &'static str,
    },
    /// The address has another port than the URL.
    #[error("{0} has another port than the URL")]
    Port(SocketAddr),
}

/// The allow-list of an agent. An empty one allows nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allow {
    patterns: Vec<Pattern>,
}

impl Allow {
    /// An allow-list of these patterns.
    pub fn new(patterns: Vec<Pattern>) -> Self {
        Self { patterns }
    }

    /// The patterns as they were typed.
    pub fn typed(&self) -> Vec<String> {
        self.patterns.iter().map(Pattern::to_string).collect()
    }

    /// Checks whether load may go to a scheme, host and port, before the host is resolved.
    ///
    /// # Errors
    ///
    /// It may not.
    pub fn check(&self, (scheme, host, port): (Scheme, &str, u16)) -> Result<(), NotAllowed> {
        let is_address = host.parse::<IpAddr>().is_ok();
        if !is_address && (looks_like_an_address(host) || host.contains(':')) {
            return Err(NotAllowed::Form(host.to_string()));
        }
        if self.matching((scheme, host, port)).next().is_some() {
            return Ok(());
        }
        Err(NotAllowed::Url(format!("{}://{host}:{port}", scheme.name())))
    }

    /// Checks whether load may go to the URL, before its host is resolved.
    ///
    /// # Errors
    ///
    /// It may not.
    pub fn check_url(&self, url: &Url) -> Result<(), NotAllowed> {
        self.check((url.scheme, &url.host, url.port))
    }

    /// Checks whether load to the URL may go to all of these addresses, to which its host resolved.
    ///
    /// # Errors
    ///
    /// The URL is not allowed, there is no address, or one of them is not allowed.
    pub fn check_addresses(&self, url: &Url, to: &[SocketAddr]) -> Result<(), NotAllowed> {
        self.check_url(url)?;
        if to.is_empty() {
            return Err(NotAllowed::Nowhere(url.host.clone()));
        }
        for one in to {
            if one.port() != url.port {
                return Err(NotAllowed::Port(*one));
            }
            let Some(what) = peculiar(one.ip()) else { continue };
            let address = one.ip();
            let is_literal = |pattern: &Pattern| {
                let same = |mine: &IpAddr| mine.to_canonical() == address.to_canonical();
                let has_address = matches!(&pattern.hosts, Hosts::Address(mine) if same(mine));
                has_address && pattern.fits(url.scheme, url.port)
            };
            if !self.patterns.iter().any(is_literal) {
                return Err(NotAllowed::Address { host: url.host.clone(), address, what });
            }
        }
        Ok(())
    }

    fn matching<'a>(
        &'a self,
        (scheme, host, port): (Scheme, &'a str, u16),
    ) -> impl Iterator<Item = &'a Pattern> {
        let fits = move |pattern: &&Pattern| pattern.fits(scheme, port);
        self.patterns.iter().filter(fits).filter(move |pattern| pattern.hosts.matches(host))
    }
}

impl Pattern {
    fn fits(&self, scheme: Scheme, port: u16) -> bool {
        self.scheme == scheme && self.port.is_none_or(|mine| mine == port)
    }
}

/// Why an address is special, so that it must be allowed literally; `None` for an ordinary address.
/// An IPv4 address embedded in an IPv6 address is judged as the IPv4 address.
pub fn peculiar(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(v4) => peculiar_v4(v4),
        IpAddr::V6(v6) => embedded(v6).into_iter().find_map(peculiar_v4).or(peculiar_v6(v6)),
    }
}

/// The IPv4 addresses that may be embedded in an IPv6 address: mapped or compatible (RFC 4291,
/// 2.5.5), translated (RFC 6052), or 6to4 (RFC 3056). A network may use its own part of the prefix
/// for local translation (RFC 8215), so each place that RFC 6052 has for the address counts there.
fn embedded(v6: Ipv6Addr) -> Vec<Ipv4Addr> {
    let octets = v6.octets();
    let of = |places: [usize; 4]| Ipv4Addr::from(places.map(|place| octets[place]));
    const LAST: [usize; 4] = [12, 13, 14, 15];
    match v6.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Vec::new(),
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => vec![of(LAST)],
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => vec![of(LAST)],
        [0x64, 0xff9b, 1, ..] => {
            let all = [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], LAST].map(of);
            // The places without an address have zeros.
            all.into_iter().filter(|v4| v4.octets()[0] != 0).collect()
        }
        [0x2002, ..] => vec![of([2, 3, 4, 5])],
        _ => Vec::new(),
    }
}

/// Why a metadata service is special.
const METADATA: &str = "where a cloud serves its metadata";

fn peculiar_v4(v4: Ipv4Addr) -> Option<&'static str> {
    match v4.octets() {
        [127, ..] => Some("which is this host itself"),
        [0, ..] => Some("which is not an address of a host"),
        [169, 254, ..] => Some("a link-local address, where clouds serve their metadata"),
        // Alibaba, Oracle with all of the block for protocols, and the host of a machine at Azure.
        [100, 100, 100, 200] | [192, 0, 0, _] | [168, 63, 129, 16] => Some(METADATA),
        [224..=239, ..] => Some("a multicast address"),
        [240..=255, ..] => Some("which is not an address of a host"),
        _ => None,
    }
}

fn peculiar_v6(v6: Ipv6Addr) -> Option<&'static str> {
    match v6.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("which is this host itself"),
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("which is not an address of a host"),
        [0xfe80..=0xfebf, ..] => Some("a link-local address"),
        // Amazon, Oracle, Scaleway and Google: each within a prefix of its own.
        [0xfd00, 0xec2 | 0xc1 | 0x42, ..] | [0xfd20, 0xce, ..] => Some(METADATA),
        [0xff00..=0xffff, ..] => Some("a multicast address"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
