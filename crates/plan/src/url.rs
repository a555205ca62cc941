//! A URL taken apart.
//!
//! In: a URL as people type it, with the liberties that curl allows: no scheme, an empty port,
//! letters outside of ASCII, an IPv6 address with its interface. Out: what is sent, in ASCII.

use crate::punycode;
use model::secret;
use std::fmt::Write;

model::named! {
    /// The protocol that the target speaks.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Scheme {
        /// HTTP/1.1 in plain text.
        Http = "http",
        /// HTTP/1.1 inside TLS.
        Https = "https",
        /// Calls of gRPC: HTTP/2 in plain text.
        Grpc = "grpc",
        /// Calls inside TLS.
        Grpcs = "grpcs",
        /// Nothing: connections only.
        Tcp = "tcp",
    }
    /// As in a URL.
    fn name, parse;
}

impl Scheme {
    /// Whether it is inside TLS.
    pub fn is_secure(self) -> bool {
        matches!(self, Self::Https | Self::Grpcs)
    }

    /// Whether requests are calls of gRPC.
    pub fn is_grpc(self) -> bool {
        matches!(self, Self::Grpc | Self::Grpcs)
    }
}

/// A URL taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// The protocol.
    pub scheme: Scheme,
    /// As typed.
    pub text: String,
    /// Host name in ASCII, or an address without brackets; an IPv6 address of one link keeps its
    /// interface, as in fe80::1%eth0.
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
        let Some(scheme) = Scheme::parse(scheme) else {
            return Err(error(&format!("is neither an http nor an https URL{}", instead(scheme))));
        };
        let rest = rest.split('#').next().unwrap_or("");
        let path_at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(path_at);
        if authority.contains('@') {
            return Err(error("has a user name in it; send it as a header instead"));
        }
        let Authority { host, port } =
            Authority::parse(authority).ok_or_else(|| error(bad_host(authority)))?;
        let shown = shown(&host, port);
        let port = match scheme {
            Scheme::Http | Scheme::Grpc => port.unwrap_or(80),
            Scheme::Https | Scheme::Grpcs => port.unwrap_or(443),
            Scheme::Tcp => port.ok_or_else(|| error("has no port, as in tcp://HOST:PORT"))?,
        };
        if scheme == Scheme::Tcp && !["", "/"].contains(&path) {
            return Err(error("has a path, and TCP has none"));
        }
        let path = match path {
            "" => "/".to_string(),
            query if query.starts_with('?') => encoded(&format!("/{query}")),
            path => encoded(path),
        };
        if path.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(error("has a space or control character; write %20 for a space"));
        }
        Ok(Self { scheme, text: text.to_string(), host, port, authority: shown, path })
    }

    /// The host without the interface of an IPv6 address, which only this host knows (RFC 6874).
    pub fn name(&self) -> &str {
        bare(&self.host)
    }

    /// Reads a URL with a scheme in any case (RFC 3986, 3.1), or without one as curl takes it;
    /// shown and recorded as typed, with the scheme and without secrets.
    pub fn typed(typed: &str) -> Result<Self, UrlError> {
        let typed = with_scheme(typed);
        let plain = match typed.split_once("://") {
            Some((scheme, rest)) => format!("{}://{rest}", scheme.to_ascii_lowercase()),
            None => typed.clone(),
        };
        let typed = secret::text(&typed);
        match Self::parse(&plain) {
            Ok(url) => Ok(Self { text: typed, ..url }),
            Err(error) => Err(UrlError { typed, ..error }),
        }
    }
}

/// What can be measured of a server that speaks another protocol.
fn instead(scheme: &str) -> &'static str {
    match scheme.to_ascii_lowercase().as_str() {
        "ws" | "wss" => {
            ": ceiling does not speak WebSocket; its connections can be measured with ceiling \
             churn tcp://HOST:PORT"
        }
        "h2" | "h2c" | "http2" => {
            ": give an http or https URL, and --http 2; for example http://HOST:PORT/ --http 2"
        }
        "h3" | "http3" | "quic" => ": ceiling speaks HTTP/1.1 and HTTP/2",
        "unix" | "http+unix" => {
            ": a socket is an option, --unix-socket PATH, and the URL has host and path"
        }
        "tls" | "ssl" => ": for TLS it begins with https",
        _ => "",
    }
}

/// A URL with the scheme that curl takes when there is none.
pub fn with_scheme(text: &str) -> String {
    match text.split_once("://") {
        None if is_url(text) => format!("http://{text}"),
        _ => text.to_string(),
    }
}

/// Whether a word is meant as a URL: it has a scheme, or it starts like a host that is not a bare
/// word.
pub fn is_url(word: &str) -> bool {
    let host = word.split(['/', '?', '#']).next().unwrap_or_default();
    let is_host = Authority::parse(host).is_some();
    let is_more = word.contains(['.', ':', '/']) && !word.starts_with(['.', '/']);
    word.contains("://") || is_host && (is_more || word == "localhost")
}

fn bad_host(authority: &str) -> &'static str {
    match authority.is_ascii() {
        true => "has a bad host or port",
        false => "has a bad host or port; write a name outside of ASCII in its xn-- form",
    }
}

/// Host and port as typed.
struct Authority {
    host: String,
    port: Option<u16>,
}

impl Authority {
    fn parse(text: &str) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (inside, rest) = rest.split_once(']')?;
                let port = if rest.is_empty() { "" } else { rest.strip_prefix(':')? };
                (address(inside)?, port)
            }
            None => {
                let (host, port) = text.split_once(':').unwrap_or((text, ""));
                (punycode::ascii(host)?, port)
            }
        };
        // RFC 3986, section 3.2.3: an empty port is the one of the scheme.
        let port = if port.is_empty() { None } else { Some(port.parse().ok()?) };
        (port != Some(0)).then_some(Self { host, port })
    }
}

/// An IPv6 address, with the interface behind it as `%eth0`, or as `%25eth0` in a URL (RFC 6874).
pub(crate) fn address(text: &str) -> Option<String> {
    let (ip, zone) = match text.split_once('%') {
        Some((ip, zone)) => (ip, Some(zone.strip_prefix("25").unwrap_or(zone))),
        None => (text, None),
    };
    let ip = ip.parse::<std::net::Ipv6Addr>().ok()?;
    let Some(zone) = zone else { return Some(ip.to_string()) };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:@".contains(&byte);
    (!zone.is_empty() && zone.bytes().all(is_name)).then(|| format!("{ip}%{zone}"))
}

/// An address without its interface.
pub(crate) fn bare(host: &str) -> &str {
    host.split('%').next().unwrap_or(host)
}

/// Host and port for the Host header.
fn shown(host: &str, port: Option<u16>) -> String {
    let host = bare(host);
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_string() };
    port.map_or_else(|| host.clone(), |port| format!("{host}:{port}"))
}

/// A path with every byte outside of ASCII as `%XX` (RFC 3986, section 2.5).
fn encoded(path: &str) -> String {
    path.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii() {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
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
            ("http://a.test:/x", "a.test", 80, "a.test", "/x"),
            ("https://[::1]:", "::1", 443, "[::1]", "/"),
            ("http://h/münchen?q=ü&r=a%20b", "h", 80, "h", "/m%C3%BCnchen?q=%C3%BC&r=a%20b"),
            ("http://h?🦀", "h", 80, "h", "/?%F0%9F%A6%80"),
            (
                "http://BÜCHER.example:8080/",
                "xn--bcher-kva.example",
                8080,
                "xn--bcher-kva.example:8080",
                "/",
            ),
            ("http://[fe80::1%25eth0]:90/", "fe80::1%eth0", 90, "[fe80::1]:90", "/"),
            ("http://[fe80::1%eth0.7]/", "fe80::1%eth0.7", 80, "[fe80::1]", "/"),
            ("http://[FE80:0::1%252]/", "fe80::1%2", 80, "[fe80::1]", "/"),
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
            ("http://a:80:90/", "host or port"),
            ("http://[::1]x/", "host or port"),
            ("http://[fe80::1%25]/", "host or port"),
            ("http://[fe80::1%25a b]/", "host or port"),
            ("http://[127.0.0.1]/", "host or port"),
            ("http://u\u{308}.test/", "xn--"),
            ("http://u@a/", "user name"),
            ("http://a/b c", "space"),
        ];
        for (text, wrong) in cases {
            let error = Url::parse(text).unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("for example"), "{text}: {error}");
        }
    }

    #[test]
    fn a_scheme_may_be_in_any_case_and_stays_as_typed() {
        let parsed = Url::typed("HTTP://Example.test/A?b=C://D").unwrap();
        assert_eq!(parsed.text, "HTTP://Example.test/A?b=C://D");
        assert_eq!((parsed.host.as_str(), parsed.path.as_str()), ("Example.test", "/A?b=C://D"));
        assert_eq!(Url::typed("HTTPS://x/").unwrap().port, 443);
        let bare = Url::typed("localhost:8080/x").unwrap();
        assert_eq!((bare.text.as_str(), bare.port), ("http://localhost:8080/x", 8080));
        assert!(Url::typed("laod").is_err(), "a word is not a host");
        let secret = Url::typed("http://h/a?token=b&c=d").unwrap();
        assert_eq!(
            (secret.text.as_str(), secret.path.as_str()),
            ("http://h/a?token=***&c=d", "/a?token=b&c=d")
        );
        let refused = Url::typed("http://me:pw@h/").err().unwrap().to_string();
        assert!(refused.contains("'http://me:***@h/' has a user name"), "{refused}");
        let refused = Url::typed("FTP://x/").err().unwrap().to_string();
        assert!(refused.contains("'FTP://x/'") && refused.contains("https"), "{refused}");
    }
}
