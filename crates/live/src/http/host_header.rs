//! The names that a request may use for this server.
//!
//! A page of another site can make a browser connect to an address of this machine under the site's
//! own name (DNS rebinding), and could then read what is served here. Such a request has the site's
//! name in its Host header. Addresses cannot be rebound.

use std::net::{IpAddr, SocketAddr};

/// The names of this server.
#[derive(Debug, Clone)]
pub struct Hosts {
    port: u16,
    is_loopback: bool,
}

impl Hosts {
    /// The names of a server that listens on an address.
    pub fn of(address: SocketAddr) -> Self {
        Self { port: address.port(), is_loopback: address.ip().is_loopback() }
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
            Err(_) => false,
        }
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
        let hosts = Hosts::of("127.0.0.1:8080".parse().unwrap());
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
        ] {
            assert!(!hosts.are(other), "{other}");
        }
        let open = Hosts::of("0.0.0.0:8080".parse().unwrap());
        assert!(open.are("10.0.0.1:8080") && !open.are("evil.test:8080"));
    }
}
