//! How hosts, addresses and sources are written.

use crate::punycode;
use crate::url::address;
use model::route::{Net, without_repeats};
use std::net::IpAddr;

/// Most sources that a run may have.
pub const SOURCES_MAX: usize = 65_536;

/// `HOST1:PORT1:HOST2:PORT2`. An empty part matches anything, or changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectTo {
    host: Option<String>,
    port: Option<u16>,
    pub(crate) to_host: Option<String>,
    pub(crate) to_port: Option<u16>,
}

impl ConnectTo {
    /// Parses it; numeric IPv6 hosts are in brackets.
    pub fn parse(text: &str) -> Option<Self> {
        let parts = split(text)?;
        let [host, port, to_host, to_port] = &parts[..] else { return None };
        let host_of = |part: &str| (!part.is_empty()).then(|| part.to_string());
        let port_of = |part: &str| match part {
            "" => Some(None),
            part => part.parse().ok().filter(|port| *port > 0).map(Some),
        };
        Some(Self {
            host: host_of(host),
            port: port_of(port)?,
            to_host: host_of(to_host),
            to_port: port_of(to_port)?,
        })
    }

    pub(crate) fn matches(&self, host: &str, port: u16) -> bool {
        self.host.as_ref().is_none_or(|mine| mine.eq_ignore_ascii_case(host))
            && self.port.is_none_or(|mine| mine == port)
    }
}

/// `HOST:PORT:ADDR[,ADDR]`; the host `*` is any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// Nothing for any host.
    pub(crate) host: Option<String>,
    pub(crate) port: u16,
    /// IP addresses, those of IPv6 perhaps with their interface.
    pub(crate) addresses: Vec<String>,
}

impl Given {
    /// Parses it; IPv6 addresses may be in brackets.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, rest) = take_host(text)?;
        let (port, addresses) = rest.strip_prefix(':')?.split_once(':')?;
        let bare = |text: &str| {
            let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
            let text = inner.unwrap_or(text);
            if text.parse::<IpAddr>().is_ok() { Some(text.to_string()) } else { address(text) }
        };
        let addresses = addresses.split(',').map(bare).collect::<Option<Vec<_>>>()?;
        let port = port.parse().ok().filter(|port| *port > 0)?;
        let host = (!host.is_empty()).then_some(host)?;
        Some(Self { host: (host != "*").then_some(host), port, addresses })
    }
}

/// Takes a host from the front, without its brackets if it has some, as a URL has it.
fn take_host(text: &str) -> Option<(String, &str)> {
    match text.strip_prefix('[') {
        Some(inside) => {
            let (host, rest) = inside.split_once(']')?;
            Some((address(host)?, rest))
        }
        None => {
            let (host, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
            let is_plain = host.is_empty() || host == "*";
            let host = if is_plain { host.to_string() } else { punycode::ascii(host)? };
            Some((host, rest))
        }
    }
}

/// Parts between colons; brackets protect the colons of an IPv6 address.
fn split(text: &str) -> Option<Vec<String>> {
    let (mut parts, mut rest) = (Vec::new(), text);
    loop {
        let (part, behind) = take_host(rest)?;
        parts.push(part);
        match behind.strip_prefix(':') {
            Some(behind) => rest = behind,
            None if behind.is_empty() => return Some(parts),
            None => return None,
        }
    }
}

/// Sources as requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sources {
    /// As many as the connections need: of loopback, or of the interface that leads to the target.
    Auto,
    /// These.
    Listed(Vec<IpAddr>),
}

impl Sources {
    /// Parses `auto`, or addresses and nets: `10.0.0.1,10.0.0.2` or `127.0.0.0/28`.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "auto" {
            return Some(Self::Auto);
        }
        let nets = text.split(',').map(Net::parse).collect::<Option<Vec<_>>>()?;
        let hosts = nets.iter().flat_map(|net| net.hosts(SOURCES_MAX + 1)).collect();
        let hosts = without_repeats(hosts);
        (hosts.len() <= SOURCES_MAX).then_some(Self::Listed(hosts))
    }
}

macro_rules! from_str {
    ($($name:ty, $wrong:literal;)*) => {
        $(impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                Self::parse(text).ok_or_else(|| format!("'{text}' is not {}", $wrong))
            }
        })*
    };
}

from_str! {
    ConnectTo, "HOST1:PORT1:HOST2:PORT2, each part of which may be empty";
    Given, "HOST:PORT:ADDR[,ADDR]";
    Sources, "a list of at most 65536 local addresses or nets, or auto";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_ways_are_refused() {
        for wrong in
            ["", "a", "a:80", "a:80:b", "a:80:b:0", "a:80:b:x", "a:80:b:1:c", "[::1:80:b:1"]
        {
            assert_eq!(ConnectTo::parse(wrong), None, "{wrong}");
        }
        for wrong in ["", "a", "a:80", "a:80:", "a:80:b", "a:0:::1", ":80:::1", "a:80:127.0.0.1,"] {
            assert_eq!(Given::parse(wrong), None, "{wrong}");
        }
        for wrong in ["", "auto,127.0.0.1", "127.0.0.1,", "a", "10.0.0.0/8", "10.0.0.1/33"] {
            assert_eq!(Sources::parse(wrong), None, "{wrong}");
        }
    }
}
