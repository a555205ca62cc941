//! The paths of this server.

/// Largest body of `/bytes/N` and `/chunked/N`.
pub const BODY_BYTES_MAX: u32 = 64 << 20;

/// The resource at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// `/simple` and every path that is not named here.
    Simple,
    /// `/healthz`: sent at once and without faults, whatever the options.
    Healthz,
    /// `/bytes/N`: a body of N bytes.
    Bytes(u32),
    /// `/chunked/N`: a body of N bytes in chunks.
    Chunked(u32),
    /// `/status/CODE`: a response with this status.
    Status(u16),
    /// `GET /stats`: the record so far.
    Stats,
    /// `POST /stats/reset`: clear the record.
    StatsReset,
}

impl Route {
    /// The route of a request line. A number that cannot be served is not found: 404.
    pub fn of(method: &[u8], target: &[u8]) -> Self {
        match path(target) {
            // A 200 response would mean that a tunnel was opened.
            _ if method == b"CONNECT" => Self::Status(405),
            b"/simple" => Self::Simple,
            b"/healthz" => Self::Healthz,
            b"/stats" if matches!(method, b"GET" | b"HEAD") => Self::Stats,
            b"/stats/reset" if method == b"POST" => Self::StatsReset,
            b"/stats" | b"/stats/reset" => Self::Status(405),
            path => Self::with_number(path),
        }
    }

    fn with_number(path: &[u8]) -> Self {
        let size = |digits| number(digits).filter(|&size| size <= BODY_BYTES_MAX);
        let found = if let Some(digits) = path.strip_prefix(b"/bytes/") {
            size(digits).map(Self::Bytes)
        } else if let Some(digits) = path.strip_prefix(b"/chunked/") {
            size(digits).map(Self::Chunked)
        } else if let Some(digits) = path.strip_prefix(b"/status/") {
            // Interim responses (1xx) are not final: a client would wait for the final one.
            number(digits).filter(|code| (200..600).contains(code)).map(|c| Self::Status(c as u16))
        } else {
            Some(Self::Simple)
        };
        found.unwrap_or(Self::Status(404))
    }
}

/// The path of a request target, which may be a full URL and may have a query.
fn path(target: &[u8]) -> &[u8] {
    let end = target.iter().position(|byte| matches!(byte, b'?' | b'#')).unwrap_or(target.len());
    let target = &target[..end];
    let Some(rest) = target.strip_prefix(b"http://") else { return target };
    let slash = rest.iter().position(|&byte| byte == b'/');
    slash.map_or(b"/", |slash| &rest[slash..])
}

fn number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 9 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(target: &str) -> Route {
        Route::of(b"GET", target.as_bytes())
    }

    #[test]
    fn paths_have_their_meaning() {
        assert_eq!(get("/simple"), Route::Simple);
        assert_eq!(get("/bytes/0"), Route::Bytes(0));
        assert_eq!(get("/bytes/67108864"), Route::Bytes(BODY_BYTES_MAX));
        assert_eq!(get("/chunked/5?x=/bytes/7"), Route::Chunked(5));
        assert_eq!(get("/status/503"), Route::Status(503));
        assert_eq!(get("http://host:80/bytes/3"), Route::Bytes(3));
        assert_eq!(get("http://host"), Route::Simple);
        assert_eq!(get("/stats"), Route::Stats);
        assert_eq!(Route::of(b"POST", b"/stats/reset"), Route::StatsReset);
    }

    #[test]
    fn any_other_url_works() {
        for target in ["/", "*", "/bytes", "/simple/x", "/api/v1/products?page=1", "x"] {
            assert_eq!(get(target), Route::Simple, "{target}");
        }
    }

    #[test]
    fn unknown_requests_have_an_error_status() {
        for target in [
            "/bytes/67108865",
            "/bytes/",
            "/bytes/x",
            "/bytes/-1",
            "/status/100",
            "/status/600",
            "/chunked/9999999999",
        ] {
            assert_eq!(get(target), Route::Status(404), "{target}");
        }
        assert_eq!(get("/stats/reset"), Route::Status(405));
        assert_eq!(Route::of(b"POST", b"/stats"), Route::Status(405));
        assert_eq!(Route::of(b"CONNECT", b"host:80"), Route::Status(405));
    }
}
