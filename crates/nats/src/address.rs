//! URLs of servers: `nats://HOST[:PORT][,HOST[:PORT]..][/NAME]`.

use std::fmt;
use std::str::FromStr;

/// The default port.
pub const PORT: u16 = 4222;
/// How many servers a URL may name.
const SERVERS_MAX: usize = 16;
/// Longest name after the slash, in bytes: that of a fleet.
const NAME_BYTES_MAX: usize = 63;

/// A text that is not a URL of servers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not nats://HOST[:PORT][,HOST..][/NAME], or the same with tls://; for example \
     nats://nats.example:4222"
)]
pub struct AddressError(String);

/// One server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Name or address, IPv6 without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// Whether bytes may be sent in plain text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secrecy {
    /// `tls://`: never.
    Always,
    /// `nats://`: only if neither the server nor the credentials ask for TLS.
    AsAsked,
}

/// The servers of one cluster, tried in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Servers {
    pub(crate) secrecy: Secrecy,
    /// At least one.
    pub all: Vec<Server>,
    /// The part after the slash.
    pub name: Option<String>,
}

impl FromStr for Servers {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let read = || {
            let (secrecy, rest) = match text.split_once("://")? {
                ("nats", rest) => (Secrecy::AsAsked, rest),
                ("tls", rest) => (Secrecy::Always, rest),
                _ => return None,
            };
            let (hosts, name) = match rest.split_once('/') {
                Some((hosts, "")) => (hosts, None),
                Some((hosts, name)) => (hosts, Some(word(name)?)),
                None => (rest, None),
            };
            let all = hosts.split(',').map(server).collect::<Option<Vec<_>>>()?;
            (all.len() <= SERVERS_MAX).then_some(Self { secrecy, all, name })
        };
        read().ok_or_else(|| AddressError(text.chars().take(200).collect()))
    }
}

impl fmt::Display for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secrecy == Secrecy::Always { "tls" } else { "nats" };
        let all: Vec<String> = self.all.iter().map(Server::to_string).collect();
        write!(f, "{scheme}://{}", all.join(","))?;
        self.name.as_ref().map_or(Ok(()), |name| write!(f, "/{name}"))
    }
}

fn word(text: &str) -> Option<String> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (text.len() <= NAME_BYTES_MAX && text.bytes().all(is_letter)).then(|| text.to_string())
}

fn server(text: &str) -> Option<Server> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, behind) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, if behind.is_empty() { None } else { Some(behind.strip_prefix(':')?) })
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    let is_host = !host.is_empty() && host.len() <= 253 && host.bytes().all(is_part);
    let port = port.map_or(Some(PORT), |port| port.parse().ok().filter(|port| *port > 0))?;
    is_host.then(|| Server { host: host.to_string(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read_and_shown() {
        let read = |text: &str| text.parse::<Servers>().map(|servers| servers.to_string());
        for (typed, meant) in [
            ("nats://a", "nats://a:4222"),
            ("nats://a/", "nats://a:4222"),
            ("tls://a:1,b/staging", "tls://a:1,b:4222/staging"),
            ("nats://[::1]:5,10.0.0.1", "nats://[::1]:5,10.0.0.1:4222"),
        ] {
            assert_eq!(read(typed).as_deref(), Ok(meant));
        }
        let named = |letters: usize| read(&format!("nats://a/{}", "n".repeat(letters)));
        assert!(named(NAME_BYTES_MAX).is_ok() && named(NAME_BYTES_MAX + 1).is_err());
        for wrong in [
            "",
            "a",
            "http://a",
            "nats://",
            "nats://a,",
            "nats://a:0",
            "nats://a:x",
            "nats://a b",
            "nats://::1",
            "nats://[a]",
            "nats://user:secret@a",
            "nats://a/b/c",
            "nats://a/b.c",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
