//! URLs of sources: the server, the path and the query.

use crate::draft::{Braces, Pairs, Text};
use model::flow::Escape;

/// A URL in its parts.
#[derive(Debug, PartialEq, Eq)]
pub struct Url {
    /// Scheme and authority, or the name of a variable in braces.
    pub server: String,
    /// Path, percent-encoded.
    pub path: Text,
    /// Parameters.
    pub query: Pairs,
    /// Name and password in front of the host.
    pub user: Option<(String, String)>,
}

/// Reads a URL; one without a scheme is one of HTTP.
pub fn read(text: &str, braces: Braces) -> Result<Url, String> {
    let wrong = || format!("'{text}' is no URL; for example http://127.0.0.1:8083/read");
    let text = text.trim();
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(['/', '?']) => (Some(scheme), rest),
        _ => (None, text),
    };
    let is_unknown = |part: &str| braces == Braces::Hole && part.starts_with("{{");
    // The server ends at the first / or ? that is in no hole.
    let mut is_hole = false;
    let end = rest.char_indices().find(|(at, letter)| {
        is_hole = match &rest[*at..] {
            after if after.starts_with("{{") && braces == Braces::Hole => true,
            after if after.starts_with("}}") => false,
            _ => is_hole,
        };
        !is_hole && "/?#".contains(*letter)
    });
    let (authority, target) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
    let (user, host) = match authority.rsplit_once('@') {
        None => (None, authority),
        Some((user, host)) => {
            let (user, password) = user.split_once(':').unwrap_or((user, ""));
            (Some((decoded(user), decoded(password))), host)
        }
    };
    let is_good = |letter: char| letter.is_alphanumeric() || "-_.:[]{}%$ ".contains(letter);
    let is_server = scheme.is_none() && is_unknown(host);
    let is_http = |scheme: &str| {
        ["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) || is_unknown(scheme)
    };
    let begins =
        host.starts_with(|letter: char| letter.is_alphanumeric() || "[{_".contains(letter));
    let port = host.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.ends_with(']'));
    let is_port = |port: &str| port.contains("}}") || port.bytes().all(|b| b.is_ascii_digit());
    if host.is_empty()
        || !begins
        || !port.is_none_or(is_port)
        || !host.chars().all(is_good)
        || !scheme.is_none_or(is_http)
    {
        return Err(wrong());
    }
    let server = match (is_server, scheme) {
        (true, _) => host.to_string(),
        (_, Some(scheme)) if is_unknown(scheme) => format!("{scheme}://{host}"),
        (false, scheme) => format!("{}://{host}", scheme.unwrap_or("http").to_ascii_lowercase()),
    };
    let (path, query) = target_parts(target, braces);
    Ok(Url { server, path, query, user })
}

/// Path and query, without a fragment.
pub fn target_parts(target: &str, braces: Braces) -> (Text, Pairs) {
    let target = target.split('#').next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut encoded = Text::default();
    for piece in Text::read(path, braces).0 {
        match piece {
            crate::draft::Piece::Plain(text) => encoded.push_plain(&url_encoded(&text)),
            hole @ crate::draft::Piece::Hole(_) => encoded.0.push(hole),
        }
    }
    let mut pairs = Pairs::read(query, braces);
    pairs.raw = url_encoded(&pairs.raw);
    (encoded, pairs)
}

/// The text with everything percent-encoded that no URL may have.
pub fn url_encoded(text: &str) -> String {
    let mut bytes = Vec::new();
    Escape::Url.put(text.as_bytes(), &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A part of a query or a form, encoded.
pub fn part_encoded(text: &str) -> String {
    let mut bytes = Vec::new();
    Escape::Part.put(text.as_bytes(), &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A part of a query or a form, decoded; as it is, if that is no text.
pub fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut decoded, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        match (bytes[at], byte) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                at += 2;
            }
            (b'+', _) => decoded.push(b' '),
            (byte, _) => decoded.push(byte),
        }
        at += 1;
    }
    String::from_utf8(decoded).unwrap_or_else(|_| text.to_string())
}

/// A server with one name for this host, and without the port of its scheme.
pub fn plain_server(server: &str) -> String {
    let mut plain = server.to_ascii_lowercase();
    for name in ["localhost", "0.0.0.0", "[::1]"] {
        plain = plain.replacen(&format!("://{name}"), "://127.0.0.1", 1);
    }
    let port = if plain.starts_with("https") { ":443" } else { ":80" };
    plain.strip_suffix(port).map_or(plain.clone(), str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_a_server_a_path_and_a_query() {
        let read = |text| {
            let url = read(text, Braces::Hole).unwrap();
            let path: String = url.path.0.iter().map(|piece| format!("{piece:?}")).collect();
            (url.server, path, url.query.raw)
        };
        let of = |server: &str, path: &str, query: &str| {
            (server.to_string(), path.to_string(), query.to_string())
        };
        assert_eq!(read("a.b/c"), of("http://a.b", "Plain(\"/c\")", ""));
        assert_eq!(read("HTTPS://a:1?d=é#f"), of("https://a:1", "", "d=%C3%A9"));
        let hole = "Plain(\"/x%20/\")Hole(\"id\")";
        assert_eq!(read("{{ base_url }}/x /{{id}}"), of("{{ base_url }}", hole, ""));
        assert_eq!(read("http://{{h}}:{{p}}/"), of("http://{{h}}:{{p}}", "Plain(\"/\")", ""));
        let user = super::read("http://a:b%40@c/", Braces::Plain).unwrap().user;
        assert_eq!(user, Some(("a".into(), "b@".into())));
        for text in ["", " -d", "ftp://a/", "a b\"c", "http:///x", "data:image/png;base64,"] {
            assert!(super::read(text, Braces::Plain).is_err(), "{text}");
        }
    }

    #[test]
    fn this_host_has_several_names() {
        assert_eq!(plain_server("http://localhost:80"), plain_server("http://127.0.0.1"));
        assert_ne!(plain_server("http://localhost:8083"), plain_server("http://127.0.0.1"));
        assert_ne!(plain_server("https://a"), plain_server("http://a"));
    }
}
