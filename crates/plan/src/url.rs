//! A URL taken apart.

use model::secret;

model::named! {
    /// The protocol that the target speaks.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Scheme {
        /// HTTP/1.1 in plain text.
        Http = "http",
        /// HTTP/1.1 inside TLS.
        Https = "https",
        /// Nothing: connections only.
        Tcp = "tcp",
    }
    /// As in a URL.
    fn name, parse;
}

/// A URL taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// The protocol.
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
        let Some(scheme) = Scheme::parse(scheme) else {
            return Err(error("is neither an http nor an https URL"));
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

    /// The same with a scheme in any case (RFC 3986, 3.1), or without one as curl takes it; shown
    /// and recorded as typed, with the scheme and without secrets.
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
    let is_host = split_port(host).is_some();
    let is_more = word.contains(['.', ':', '/']) && !word.starts_with(['.', '/']);
    word.contains("://") || is_host && (is_more || word == "localhost")
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
