//! The target: a URL taken apart, its addresses, and whether anybody responses there.

use model::route::Address;
use std::io;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// What is spoken with the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP/1.1 in plain text.
    Http,
    /// HTTP/1.1 inside TLS.
    Https,
    /// Nothing: connections only.
    Tcp,
}

/// A URL taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// What is spoken.
    pub scheme: Scheme,
    /// As typed.
    pub text: String,
    /// Host name or address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Value for the Host header.
    pub authority: String,
    /// Path and query.
    pub path: String,
}

/// Why a URL was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{typed}' {wrong}; for example http://127.0.0.1:8083/read")]
pub struct UrlError {
    /// What was typed.
    pub typed: String,
    /// What is wrong with it.
    pub wrong: String,
}

impl Url {
    /// Takes a URL apart.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let error = |wrong: &str| UrlError { typed: text.to_string(), wrong: wrong.to_string() };
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(error("has no scheme"));
        };
        let scheme = match scheme {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            "tcp" => Scheme::Tcp,
            _ => return Err(error("is neither an http nor an https URL")),
        };
        let rest = rest.split('#').next().unwrap_or("");
        let path_at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(path_at);
        if authority.contains('@') {
            return Err(error("has a user name in it; send it as a header instead"));
        }
        let (host, port) = split_port(authority).ok_or_else(|| error("has a bad host or port"))?;
        let port = match scheme {
            Scheme::Http => port.unwrap_or(80),
            Scheme::Https => port.unwrap_or(443),
            Scheme::Tcp => port.ok_or_else(|| error("has no port, as in tcp://HOST:PORT"))?,
        };
        if scheme == Scheme::Tcp && !["", "/"].contains(&path) {
            return Err(error("has a path, and TCP has none"));
        }
        let path = match path {
            "" => "/".to_string(),
            query if query.starts_with('?') => format!("/{query}"),
            path => path.to_string(),
        };
        if path.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(error("has a space or control character; write %20 for a space"));
        }
        let (text, authority) = (text.to_string(), authority.to_string());
        Ok(Self { scheme, text, host, port, authority, path })
    }
}

fn split_port(authority: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    if host.is_empty() || !host.bytes().all(is_name) {
        return None;
    }
    let port = port.map(str::parse).transpose().ok().filter(|port| *port != Some(0))?;
    Some((host.to_string(), port))
}

/// Nobody answers.
#[derive(Debug, thiserror::Error)]
#[error("{address}: {error}")]
pub struct Unreachable {
    /// The address tried last.
    pub address: Address,
    /// The system's reason.
    pub error: io::Error,
}

/// The addresses that accept a connection, and those that do not with the reason. An error when
/// none does.
pub fn reach(
    addresses: &[Address],
    timeout: Duration,
) -> Result<(Vec<Address>, Vec<Unreachable>), Unreachable> {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for address in addresses {
        let address = address.clone();
        let connected = match &address {
            Address::Tcp(tcp) => TcpStream::connect_timeout(tcp, timeout).map(drop),
            Address::Unix(path) => UnixStream::connect(path).map(drop),
        };
        match connected {
            Ok(()) => good.push(address),
            Err(error) => bad.push(Unreachable { address, error }),
        }
    }
    match bad.pop() {
        Some(last) if good.is_empty() => Err(last),
        last => {
            bad.extend(last);
            Ok((good, bad))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let cases = [
            ("http://127.0.0.1:8083/read", "127.0.0.1", 8083, "127.0.0.1:8083", "/read"),
            ("http://example.test", "example.test", 80, "example.test", "/"),
            ("http://[::1]:90?x=1#y", "::1", 90, "[::1]:90", "/?x=1"),
            ("http://[::1]", "::1", 80, "[::1]", "/"),
            ("tcp://[::1]:90", "::1", 90, "[::1]:90", "/"),
            ("tcp://localhost:8083/", "localhost", 8083, "localhost:8083", "/"),
            ("https://a.test/x", "a.test", 443, "a.test", "/x"),
            ("https://a.test:8443", "a.test", 8443, "a.test:8443", "/"),
        ];
        for (text, host, port, authority, path) in cases {
            let url = Url::parse(text).unwrap();
            assert_eq!((url.host.as_str(), url.port), (host, port), "{text}");
            assert_eq!((url.authority.as_str(), url.path.as_str()), (authority, path), "{text}");
        }
    }

    #[test]
    fn bad_urls_are_told_apart() {
        let cases = [
            ("localhost:8083", "scheme"),
            ("ftp://x", "neither an http"),
            ("tcp://localhost", "no port"),
            ("tcp://localhost:80/x", "path"),
            ("http://", "host or port"),
            ("http://:80", "host or port"),
            ("http://a:99999/", "host or port"),
            ("http://a:0/", "host or port"),
            ("http://[::1", "host or port"),
            ("http://a b/", "host or port"),
            ("http://u@a/", "user name"),
            ("http://a/b c", "space"),
        ];
        for (text, wrong) in cases {
            let error = Url::parse(text).unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("for example"), "{text}: {error}");
        }
    }

    #[test]
    fn addresses_that_refuse_are_left_out() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let open = Address::Tcp(listener.local_addr().unwrap());
        let closed: Address = "127.0.0.1:1".parse().unwrap();
        let (good, bad) = reach(&[closed.clone(), open.clone()], Duration::from_secs(1)).unwrap();
        assert_eq!((good, bad.len()), (vec![open], 1));
        let error = reach(&[closed], Duration::from_secs(1)).unwrap_err();
        assert_eq!(error.error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
