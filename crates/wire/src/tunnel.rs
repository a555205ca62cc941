//! Asking an HTTP proxy for a tunnel (CONNECT, RFC 9110 section 9.3.6), without sockets.

/// Longest response that is read, bytes.
const HEAD_MAX_BYTES: usize = 16 * 1024;

/// What a response, or the start of one, says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyResponse {
    /// Its head is not complete.
    Partial,
    /// The tunnel is open.
    Open,
    /// The proxy refuses, with this status.
    Refused(u16),
    /// It is not an HTTP response, or bytes follow where the tunnel starts.
    Malformed,
}

/// The request for a tunnel to `target`, which is `HOST:PORT`.
pub fn request(target: &str, authorization: Option<&str>) -> Vec<u8> {
    let mut head = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
    if let Some(authorization) = authorization {
        head.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// Reads all that the proxy has sent so far.
pub fn response(bytes: &[u8]) -> ProxyResponse {
    let expected = b"HTTP/1.";
    let length = bytes.len().min(expected.len());
    if bytes[..length] != expected[..length] {
        return ProxyResponse::Malformed;
    }
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let Some(end) = end else {
        return if bytes.len() < HEAD_MAX_BYTES {
            ProxyResponse::Partial
        } else {
            ProxyResponse::Malformed
        };
    };
    match status(bytes) {
        // The target of an HTTP tunnel does not speak first.
        Some(200..=299) if end + 4 == bytes.len() => ProxyResponse::Open,
        Some(status @ (100..=199 | 300..=999)) => ProxyResponse::Refused(status),
        _ => ProxyResponse::Malformed,
    }
}

/// The status code of a status line (RFC 9112 section 4).
fn status(bytes: &[u8]) -> Option<u16> {
    let line = bytes.get(..13)?;
    let (digits, behind) = (line.get(9..12)?, line[12]);
    let is_status = line[7].is_ascii_digit()
        && line[8] == b' '
        && digits.iter().all(u8::is_ascii_digit)
        && (behind == b' ' || behind == b'\r');
    is_status.then(|| digits.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_names_the_target_twice() {
        let plain = request("a.test:443", None);
        assert_eq!(plain, b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n");
        let with = String::from_utf8(request("[::1]:80", Some("Basic YTpi"))).unwrap();
        assert!(with.contains("\r\nProxy-Authorization: Basic YTpi\r\n\r\n"), "{with}");
    }

    #[test]
    fn responses_are_told_apart() {
        let cases: [(&[u8], ProxyResponse); 10] = [
            (b"", ProxyResponse::Partial),
            (b"HTTP/1.1 200 Connection established\r\nVia: x\r\n", ProxyResponse::Partial),
            (b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n", ProxyResponse::Open),
            (b"HTTP/1.0 204\r\n\r\n", ProxyResponse::Open),
            (
                b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\nbody",
                ProxyResponse::Refused(407),
            ),
            (b"HTTP/1.1 502\r\n\r\n", ProxyResponse::Refused(502)),
            (b"HTTP/1.1 200 OK\r\n\r\nearly", ProxyResponse::Malformed),
            (b"SSH-2.0-x\r\n\r\n", ProxyResponse::Malformed),
            (b"HTTP/1.1 2000 x\r\n\r\n", ProxyResponse::Malformed),
            (b"HTTP/1.1\r\n\r\n", ProxyResponse::Malformed),
        ];
        for (bytes, expected) in cases {
            assert_eq!(response(bytes), expected, "{}", String::from_utf8_lossy(bytes));
        }
        assert_eq!(
            response(&[b"HTTP/1.1 200 ".as_slice(), &[b'x'; 20_000]].concat()),
            ProxyResponse::Malformed
        );
    }

    proptest! {
        #[test]
        fn the_begin_of_a_response_is_partial(status in 100u16..1000, cut in 0usize..27) {
            let whole = format!("HTTP/1.1 {status} Reason x\r\n\r\n");
            let cut = cut.min(whole.len() - 1);
            prop_assert_eq!(response(&whole.as_bytes()[..cut]), ProxyResponse::Partial);
        }

        #[test]
        fn nothing_breaks_it(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let line = [b"HTTP/1.1 ".as_slice(), &bytes, b"\r\n\r\n"].concat();
            let _ = response(&bytes);
            let _ = response(&line);
        }
    }
}
