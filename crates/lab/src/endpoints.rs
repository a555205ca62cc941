//! Ways to the target as a person gives them: other hosts, other addresses, sources.
//!
//! `--connect-to` and `--resolve` mean what they mean to curl: the first changes which host and
//! port are connected to, the second what addresses a host and port have, and neither changes the
//! request.

use crate::ports::{Ports, SOURCES_MAX};
use model::load::Level;
use model::route::{Address, Lookup, Net, Resolution, Route, routes, without_repeats};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::PathBuf;

/// `HOST1:PORT1:HOST2:PORT2`. A part that is empty matches anything, or changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectTo {
    host: Option<String>,
    port: Option<u16>,
    to_host: Option<String>,
    to_port: Option<u16>,
}

impl ConnectTo {
    /// Parses it; numeric IPv6 hosts stand in brackets.
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

    fn matches(&self, host: &str, port: u16) -> bool {
        self.host.as_ref().is_none_or(|mine| mine.eq_ignore_ascii_case(host))
            && self.port.is_none_or(|mine| mine == port)
    }
}

/// `HOST:PORT:ADDR[,ADDR]`; the host `*` is any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// Nothing for any host.
    host: Option<String>,
    port: u16,
    addresses: Vec<IpAddr>,
}

impl Given {
    /// Parses it; IPv6 addresses may stand in brackets.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, rest) = take_host(text)?;
        let (port, addresses) = rest.strip_prefix(':')?.split_once(':')?;
        let bare = |text: &str| {
            let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
            inner.unwrap_or(text).parse::<IpAddr>().ok()
        };
        let addresses = addresses.split(',').map(bare).collect::<Option<Vec<_>>>()?;
        let port = port.parse().ok().filter(|port| *port > 0)?;
        let host = (!host.is_empty()).then_some(host)?;
        Some(Self { host: (host != "*").then_some(host), port, addresses })
    }
}

/// Takes a host from the front, out of its brackets if it has some.
fn take_host(text: &str) -> Option<(String, &str)> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(inside) => inside.split_once(']')?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    Some((host.to_string(), rest))
}

/// Parts between colons, of which brackets protect those of an IPv6 address.
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

/// Sources as asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sources {
    /// As many loopback addresses as the connections need.
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

/// Everything a person said about the way to the target.
#[derive(Debug, Clone, Default)]
pub struct Ways {
    /// In the order given; the first that matches counts.
    pub connect_to: Vec<ConnectTo>,
    /// In the order given; of two for the same host the later counts, and one for any host last.
    pub given: Vec<Given>,
    /// Instead of all that.
    pub unix_socket: Option<PathBuf>,
    /// Local addresses, if the kernel shall not choose.
    pub sources: Option<Sources>,
}

/// Why there is no way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WayError {
    /// A name without an address.
    #[error("cannot find host '{host}': {why}")]
    Unknown {
        /// The name.
        host: String,
        /// The resolver's reason.
        why: String,
    },
    /// A source that this host does not have.
    #[error(
        "--source {source_ip}: it cannot be bound here ({why}); give addresses of this host{hint}"
    )]
    NotOurs {
        /// The address.
        source_ip: IpAddr,
        /// The system's reason.
        why: String,
        /// What else may help.
        hint: String,
    },
    /// A source from which the kernel has no way to a target.
    #[error(
        "--source {source_ip}: there is no way from it to {to} ({why}); give an address of the \
         interface that leads there, or none"
    )]
    NoWay {
        /// The address.
        source_ip: IpAddr,
        /// The target.
        to: SocketAddr,
        /// The system's reason.
        why: String,
    },
    /// No source is of the family of any target.
    #[error(
        "--source: none of them is of the address family of {to}; for example --source {example}"
    )]
    OtherFamily {
        /// Targets.
        to: String,
        /// A source that could be.
        example: &'static str,
    },
    /// Automatic sources for a target elsewhere.
    #[error(
        "--source auto: {to} is not on loopback, where every address of 127.0.0.0/8 is ours; list \
         addresses of this host, for example --source 10.0.0.1,10.0.0.2"
    )]
    NotLoopback {
        /// The target.
        to: String,
    },
}

impl Ways {
    /// The addresses to connect to for a host and port of a URL. The resolver is asked once.
    pub fn find(&self, host: &str, port: u16) -> Result<(Resolution, Vec<Address>), WayError> {
        if let Some(path) = &self.unix_socket {
            let address = Address::Unix(path.clone());
            let (name, addresses) = (path.display().to_string(), vec![address.to_string()]);
            return Ok((Resolution { name, how: Lookup::UnixSocket, addresses }, vec![address]));
        }
        let (host, port) = self.connected_to(host, port);
        let (how, found) = match self.given_for(&host, port) {
            Some(addresses) => (Lookup::Given, addresses),
            None => resolve(&host, port)?,
        };
        let found: Vec<_> = without_repeats(found).into_iter().map(Address::Tcp).collect();
        let name =
            if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let addresses = found.iter().map(ToString::to_string).collect();
        Ok((Resolution { name, how, addresses }, found))
    }

    fn connected_to(&self, host: &str, port: u16) -> (String, u16) {
        let Some(found) = self.connect_to.iter().find(|to| to.matches(host, port)) else {
            return (host.to_string(), port);
        };
        let to_host = found.to_host.clone().unwrap_or_else(|| host.to_string());
        (to_host, found.to_port.unwrap_or(port))
    }

    fn given_for(&self, host: &str, port: u16) -> Option<Vec<SocketAddr>> {
        let of_port = || self.given.iter().rev().filter(|given| given.port == port);
        let is_it = |given: &&Given| {
            given.host.as_ref().is_some_and(|mine| mine.eq_ignore_ascii_case(host))
        };
        let found =
            of_port().find(is_it).or_else(|| of_port().find(|given| given.host.is_none()))?;
        Some(found.addresses.iter().map(|ip| SocketAddr::new(*ip, port)).collect())
    }

    /// The sources for the ports that levels need at once to these addresses, each of which can be
    /// bound and has a way to every address of its family. None when the kernel shall choose.
    pub fn find_sources(
        &self,
        levels: &[Level],
        addresses: &[Address],
    ) -> Result<Vec<IpAddr>, WayError> {
        let sources = match &self.sources {
            None => return Ok(Vec::new()),
            Some(Sources::Listed(sources)) => sources.clone(),
            Some(Sources::Auto) => auto(levels, addresses)?,
        };
        let all = routes(addresses, &sources);
        let shown = || addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        if all.is_empty() && !addresses.is_empty() {
            let is_v4 = addresses.iter().any(|to| to.tcp().is_some_and(|to| to.is_ipv4()));
            let example = if is_v4 { "127.0.0.1" } else { "::1" };
            return Err(WayError::OtherFamily { to: shown(), example });
        }
        sources.iter().try_for_each(|source| check_ours(*source))?;
        all.iter().try_for_each(check_way)?;
        Ok(sources)
    }
}

fn auto(levels: &[Level], addresses: &[Address]) -> Result<Vec<IpAddr>, WayError> {
    if let Some(to) = addresses.iter().find(|to| !to.is_loopback()) {
        return Err(WayError::NotLoopback { to: to.to_string() });
    }
    // A host that does not tell its ports has no budget to spread.
    let sources = Ports::look(addresses)
        .and_then(|host| host.loopback_sources(host.needed(levels, addresses), addresses));
    Ok(sources.unwrap_or_default())
}

fn resolve(host: &str, port: u16) -> Result<(Lookup, Vec<SocketAddr>), WayError> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok((Lookup::Literal, vec![SocketAddr::new(ip, port)]));
    }
    let unknown = |why: String| WayError::Unknown { host: host.to_string(), why };
    let found = (host, port).to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
    let found: Vec<_> = found.collect();
    if found.is_empty() {
        return Err(unknown("the name has no address".to_string()));
    }
    Ok((Lookup::Resolver, found))
}

/// A datagram socket tells whether an address may be bound, and takes no TCP port.
fn check_ours(source_ip: IpAddr) -> Result<(), WayError> {
    UdpSocket::bind((source_ip, 0)).map(drop).map_err(|error| {
        let hint = match source_ip {
            IpAddr::V4(_) => ", of which 127.0.0.0/8 are always some",
            IpAddr::V6(_) => "; 'ip -6 addr add' gives it more",
        };
        WayError::NotOurs { source_ip, why: error.to_string(), hint: hint.to_string() }
    })
}

/// Connecting a datagram socket asks the kernel's routes and sends nothing.
fn check_way(route: &Route) -> Result<(), WayError> {
    let (Some(source_ip), Some(to)) = (route.from, route.to.tcp()) else { return Ok(()) };
    let connected = UdpSocket::bind((source_ip, 0)).and_then(|socket| socket.connect(to));
    connected.map_err(|error| WayError::NoWay { source_ip, to, why: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::load::{Arrival, Life};

    fn kept(connections: u32) -> Level {
        let (arrival, life) = (Arrival::Closed, Life::default());
        Level { connections, spare: 0, depth: 1, arrival, life }
    }

    fn ways(connect_to: &[&str], given: &[&str]) -> Ways {
        Ways {
            connect_to: connect_to.iter().map(|text| ConnectTo::parse(text).unwrap()).collect(),
            given: given.iter().map(|text| Given::parse(text).unwrap()).collect(),
            ..Ways::default()
        }
    }

    fn found(ways: &Ways, host: &str, port: u16) -> String {
        let (resolution, addresses) = ways.find(host, port).unwrap();
        let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, resolution.addresses);
        format!("{} {:?} {}", resolution.name, resolution.how, addresses.join(" "))
    }

    #[test]
    fn another_host_is_connected_to_as_curl_does() {
        let cases = [
            ("a.test:80:127.0.0.1:8083", "127.0.0.1:8083"),
            ("A.TEST:80:127.0.0.1:8083", "127.0.0.1:8083"),
            ("a.test::127.0.0.1:", "127.0.0.1:80"),
            ("::127.0.0.1:8083", "127.0.0.1:8083"),
            (":80:[::1]:8083", "[::1]:8083"),
            ("a.test:80:[::1]:", "[::1]:80"),
        ];
        for (text, address) in cases {
            let expected = format!("{address} Literal {address}");
            assert_eq!(found(&ways(&[text], &[]), "a.test", 80), expected, "{text}");
        }
        let first = ways(&["b.test:80:127.0.0.9:1", "::127.0.0.1:2", "::127.0.0.1:3"], &[]);
        assert_eq!(found(&first, "a.test", 80), "127.0.0.1:2 Literal 127.0.0.1:2");
        let untouched = ways(&["127.0.0.1:81:127.0.0.9:1"], &[]);
        assert_eq!(found(&untouched, "127.0.0.1", 80), "127.0.0.1:80 Literal 127.0.0.1:80");
        let from_v6 = ways(&["[::1]:80:127.0.0.1:81"], &[]);
        assert_eq!(found(&from_v6, "::1", 80), "127.0.0.1:81 Literal 127.0.0.1:81");
        let same = ways(&["a.test:80::8083"], &["a.test:8083:127.0.0.7"]);
        assert_eq!(found(&same, "a.test", 80), "a.test:8083 Given 127.0.0.7:8083");
    }

    #[test]
    fn addresses_are_given_to_a_host_and_port() {
        let given = ways(
            &[],
            &["*:80:127.0.0.9", "a.test:80:127.0.0.1", "a.test:80:127.0.0.2,[::1],::2,127.0.0.2"],
        );
        let expected = "a.test:80 Given 127.0.0.2:80 [::1]:80 [::2]:80";
        assert_eq!(found(&given, "A.test", 80), expected.replace("a.test", "A.test"));
        assert_eq!(found(&given, "b.test", 80), "b.test:80 Given 127.0.0.9:80");
        assert_eq!(found(&given, "127.0.0.1", 81), "127.0.0.1:81 Literal 127.0.0.1:81");
        let error = given.find("nowhere.invalid", 81).unwrap_err().to_string();
        assert!(error.contains("cannot find host 'nowhere.invalid'"), "{error}");
    }

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

    fn sources(text: &str, addresses: &[&str]) -> Result<Vec<IpAddr>, String> {
        let addresses: Vec<Address> = addresses.iter().map(|text| text.parse().unwrap()).collect();
        let ways = Ways { sources: Sources::parse(text), ..Ways::default() };
        ways.find_sources(&[kept(10)], &addresses).map_err(|error| error.to_string())
    }

    #[test]
    fn sources_must_be_ours_and_lead_to_the_target() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(
            sources("127.0.0.0/30", &["127.0.0.1:1"]),
            Ok(vec![ip("127.0.0.1"), ip("127.0.0.2")])
        );
        assert_eq!(sources("auto", &["127.0.0.1:1"]).unwrap().len(), 1);
        let cases = [
            ("192.0.2.1", "127.0.0.1:1", "addresses of this host"),
            ("127.0.0.1", "192.0.2.1:1", "no way from it to 192.0.2.1:1"),
            ("127.0.0.1", "[::1]:1", "for example --source ::1"),
            ("auto", "192.0.2.1:1", "not on loopback"),
        ];
        for (source, target, word) in cases {
            let error = sources(source, &[target]).unwrap_err();
            assert!(error.contains(word) && error.contains("--source"), "{source}: {error}");
        }
    }
}
