//! Constant responses: their bytes are in the program file.

use crate::head::Persistence;

/// The body of `/simple`, the same in every target.
pub const SIMPLE_BODY: &str = r#"{"message":"hi"}"#;
/// The body of `/healthz`, the same in every target.
pub const HEALTHZ_BODY: &str = "ok";

/// The interim response to `Expect: 100-continue`.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// What `--garbage` sends: the start of a TLS alert, then a text that no parser takes for HTTP.
pub const GARBAGE: &[u8] = b"\x15\x03\x01\x00\x02\x02\x16 this is not HTTP \xff\xfe\x00\r\n\r\n";

macro_rules! simple {
    ($connection:literal) => {
        concat!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n",
            $connection,
            "\r\n{\"message\":\"hi\"}"
        )
        .as_bytes()
    };
}

macro_rules! healthz {
    ($connection:literal) => {
        concat!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 2\r\n",
            $connection,
            "\r\nok"
        )
        .as_bytes()
    };
}

/// The whole response of `/simple`.
#[inline]
pub const fn simple(persistence: Persistence) -> &'static [u8] {
    match persistence {
        Persistence::Keep => simple!(""),
        Persistence::KeepOld => simple!("Connection: keep-alive\r\n"),
        Persistence::Close | Persistence::CloseOld => simple!("Connection: close\r\n"),
    }
}

/// The whole response of `/healthz`.
pub const fn healthz(persistence: Persistence) -> &'static [u8] {
    match persistence {
        Persistence::Keep => healthz!(""),
        Persistence::KeepOld => healthz!("Connection: keep-alive\r\n"),
        Persistence::Close | Persistence::CloseOld => healthz!("Connection: close\r\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::connection_line;

    #[test]
    fn constants_say_what_formatted_heads_say() {
        use Persistence::{Close, CloseOld, Keep, KeepOld};
        for persistence in [Keep, KeepOld, Close, CloseOld] {
            let line = connection_line(persistence);
            for (response, kind, body) in [
                (simple(persistence), "application/json", SIMPLE_BODY),
                (healthz(persistence), "text/plain; charset=utf-8", HEALTHZ_BODY),
            ] {
                let expected = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
                     {line}\r\n{body}",
                    body.len()
                );
                assert_eq!(std::str::from_utf8(response), Ok(expected.as_str()));
            }
        }
    }
}
