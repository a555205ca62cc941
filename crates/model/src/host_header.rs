//! The names that a request may use for a server of ours, whatever it serves.
//!
//! A page of another site can make a browser connect to an address of this machine under the site's
//! own name (DNS rebinding), and could then read what is served here. Such a request has the site's
//! name in its Host header. Addresses cannot be rebound.

use std::net::{IpAddr, SocketAddr};

/// Where the kernel has the name of this machine.
pub const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// The names of this server.
#[derive(Debug, Clone)]
pub struct Hosts {
    port: u16,
    is_loopback: bool,
    /// The name of this machine.
    name: String,
}

impl Hosts {
    /// The names of a server that listens on an address of the machine with this name.
    pub fn of(address: SocketAddr, name: &str) -> Self {
        let (port, is_loopback) = (address.port(), address.ip().is_loopback());
        Self { port, is_loopback, name: name.trim().to_string() }
    }

    /// Whether a Host header names this server.
    pub fn are(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()),
            _ => (host, Some(80)),
        };
        // Through a tunnel (ssh -L) the port may differ; only the name matters.
        let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        if port.is_none() {
            return false;
        }
        if name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        match name.parse::<IpAddr>() {
            Ok(ip) => ip.is_loopback() || !self.is_loopback,
            Err(_) => !self.is_loopback && self.is_named(name),
        }
    }

    /// Whether a name is that of this machine, alone or with a domain.
    fn is_named(&self, name: &str) -> bool {
        let first = name.split('.').next().unwrap_or_default();
        let is_own = |own: &str| !own.is_empty() && own.eq_ignore_ascii_case(first);
        name.eq_ignore_ascii_case(&self.name) && !name.is_empty() || is_own(&self.name)
    }

    /// An address that works, for an error message.
    pub fn example(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_are_refused_and_addresses_are_not() {
        let hosts = Hosts::of("127.0.0.1:8080".parse().unwrap(), "server1\n");
        for ours in ["127.0.0.1:8080", "localhost:8080", "LOCALHOST", "[::1]:9", "127.0.0.1:9999"] {
            assert!(hosts.are(ours), "{ours}");
        }
        for other in [
            "evil.test:8080",
            "evil.test",
            "",
            "127.0.0.1.evil.test",
            "10.0.0.1:8080",
            "localhost:x",
            "127.0.0.1:8080:1",
            "[::1",
            "localhost.evil.test:8080",
            "server1:8080",
        ] {
            assert!(!hosts.are(other), "{other}");
        }
        let open = Hosts::of("0.0.0.0:8080".parse().unwrap(), "server1");
        for ours in ["10.0.0.1:8080", "server1:8080", "Server1.example.org:8080", "[fe80::1]:1"] {
            assert!(open.are(ours), "{ours}");
        }
        for other in ["evil.test:8080", "server1-evil.test:8080", "server12:8080", ""] {
            assert!(!open.are(other), "{other}");
        }
        let nameless = Hosts::of("0.0.0.0:8080".parse().unwrap(), "");
        assert!(!nameless.are(":8080") && !nameless.are(".evil.test"));
        let named = Hosts::of("[::]:80".parse().unwrap(), "a.example.org");
        assert!(named.are("a.example.org") && !named.are("b.example.org"));
    }
}
