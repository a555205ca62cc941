//! The lines of the protocol, parsed from bytes in pieces of any size, and written to bytes.
//!
//! For: the eight commands that the fleet uses: INFO, CONNECT, PUB, SUB, MSG, PING, PONG, -ERR.
//! In: bytes of a server. Out: messages, or why the bytes are not the protocol.
//! Never: a socket, a clock; more memory than one line, one payload and the bytes added last.

use crate::subject::Subject;
use serde::{Deserialize, Serialize};
use std::str;

/// Longest line in bytes. An INFO that names many servers is the longest.
pub const LINE_BYTES_MAX: usize = 64 << 10;
/// Longest payload in bytes, sent or received. It is the default limit of servers.
pub const PAYLOAD_BYTES_MAX: usize = 1 << 20;

/// Words of a MSG line with a reply: MSG, subject, number, reply, bytes.
const MSG_WORDS_MAX: usize = 5;

/// What a server reports about itself. Missing values are false, zero or absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Info {
    /// Its version.
    #[serde(default)]
    pub version: String,
    /// The client must sign this.
    #[serde(default)]
    pub nonce: Option<String>,
    /// Whether it requires TLS.
    #[serde(default)]
    pub tls_required: bool,
    /// Whether it supports TLS.
    #[serde(default)]
    pub tls_available: bool,
    /// Its limit for the bytes of a payload.
    #[serde(default)]
    pub max_payload: u64,
}

/// A message of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// About itself; sent first, and again when it changes.
    Info(Box<Info>),
    /// A payload that was published on a subject.
    Payload {
        /// The subject.
        subject: String,
        /// The bytes.
        payload: Vec<u8>,
    },
    /// A request for a PONG.
    Ping,
    /// The server has handled everything that we sent before our PING.
    Pong,
    /// A refusal, with the server's message.
    Error(String),
    /// `+OK`, which needs no response.
    Fine,
}

/// Why bytes are not the protocol. The connection is then useless.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A line that is too long.
    #[error("a line of more than {LINE_BYTES_MAX} bytes")]
    LongLine,
    /// A payload that is too large.
    #[error("a payload of {bytes} bytes, above the limit of {PAYLOAD_BYTES_MAX}")]
    LongPayload {
        /// The announced size.
        bytes: u64,
    },
    /// An unknown line; its start is shown.
    #[error("a line that is not NATS: '{0}'")]
    Line(String),
    /// A payload without its line end.
    #[error("a payload that does not end where it should")]
    Payload,
}

/// Collects bytes until messages are complete.
#[derive(Debug, Default)]
pub struct Parser {
    buffer: Vec<u8>,
    /// Start of the bytes that were not parsed yet.
    at: usize,
    /// The payload that follows the last line.
    awaited: Option<(String, usize)>,
}

impl Parser {
    /// Adds bytes that have arrived.
    pub fn add(&mut self, bytes: &[u8]) {
        if self.at > 0 {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Whether all added bytes have been parsed.
    pub fn is_empty(&self) -> bool {
        self.at == self.buffer.len() && self.awaited.is_none()
    }

    /// The next complete message. After an error the stream cannot be used.
    pub fn next_message(&mut self) -> Result<Option<Message>, ProtocolError> {
        if self.awaited.is_none() {
            let Some(line) = self.line()? else { return Ok(None) };
            match read(&line)? {
                Line::Whole(message) => return Ok(Some(message)),
                Line::Begin { subject, bytes } => self.awaited = Some((subject, bytes)),
            }
        }
        self.payload()
    }

    /// The next line without its end.
    fn line(&mut self) -> Result<Option<Vec<u8>>, ProtocolError> {
        let rest = &self.buffer[self.at..];
        let looked_at = &rest[..rest.len().min(LINE_BYTES_MAX)];
        let Some(end) = looked_at.iter().position(|byte| *byte == b'\n') else {
            let is_long = rest.len() > LINE_BYTES_MAX;
            return if is_long { Err(ProtocolError::LongLine) } else { Ok(None) };
        };
        let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]).to_vec();
        self.at += end + 1;
        Ok(Some(line))
    }

    /// The awaited payload, once it is complete.
    fn payload(&mut self) -> Result<Option<Message>, ProtocolError> {
        let Some((subject, bytes)) = self.awaited.take() else { return Ok(None) };
        let rest = &self.buffer[self.at..];
        let Some((payload, behind)) = rest.split_at_checked(bytes) else {
            self.awaited = Some((subject, bytes));
            return Ok(None);
        };
        let Some(end) = behind.first_chunk::<2>() else {
            self.awaited = Some((subject, bytes));
            return Ok(None);
        };
        if end != b"\r\n" {
            return Err(ProtocolError::Payload);
        }
        let payload = payload.to_vec();
        self.at += bytes + 2;
        Ok(Some(Message::Payload { subject, payload }))
    }
}

/// A parsed line.
enum Line {
    /// A complete message.
    Whole(Message),
    /// The start of a message: a payload of this many bytes follows.
    Begin { subject: String, bytes: usize },
}

fn read(line: &[u8]) -> Result<Line, ProtocolError> {
    let wrong = || {
        let shown = String::from_utf8_lossy(&line[..line.len().min(80)]);
        ProtocolError::Line(shown.escape_debug().to_string())
    };
    let text = str::from_utf8(line).map_err(|_| wrong())?;
    let (word, rest) = text.split_once([' ', '\t']).unwrap_or((text, ""));
    let whole = match word.to_ascii_uppercase().as_str() {
        "INFO" => Message::Info(serde_json::from_str(rest).map_err(|_| wrong())?),
        "MSG" => return payload_line(text, wrong),
        "PING" => Message::Ping,
        "PONG" => Message::Pong,
        "+OK" => Message::Fine,
        "-ERR" => Message::Error(rest.trim().trim_matches('\'').escape_debug().to_string()),
        _ => return Err(wrong()),
    };
    Ok(Line::Whole(whole))
}

/// `MSG subject number [reply] bytes`.
fn payload_line(text: &str, wrong: impl Fn() -> ProtocolError) -> Result<Line, ProtocolError> {
    let words: Vec<&str> = text.split_ascii_whitespace().take(MSG_WORDS_MAX + 1).collect();
    let (subject, bytes) = match words[..] {
        [_, subject, _, bytes] | [_, subject, _, _, bytes] => (subject, bytes),
        _ => return Err(wrong()),
    };
    let bytes: u64 = bytes.parse().map_err(|_| wrong())?;
    match usize::try_from(bytes) {
        Ok(bytes) if bytes <= PAYLOAD_BYTES_MAX => {
            Ok(Line::Begin { subject: subject.to_string(), bytes })
        }
        _ => Err(ProtocolError::LongPayload { bytes }),
    }
}

/// The contents of CONNECT.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Greeting<'a> {
    pub verbose: Off,
    pub pedantic: Off,
    /// Whether we receive what we publish ourselves.
    pub echo: Off,
    pub lang: &'static str,
    pub version: &'static str,
    pub protocol: u8,
    pub name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nkey: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sig: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_token: Option<&'a str>,
}

/// An option of the protocol that is always off.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Off;

impl Serialize for Off {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(false)
    }
}

/// The CONNECT line.
pub(crate) fn greet(greeting: &Greeting<'_>) -> Vec<u8> {
    // A greeting is plain values with names as keys, which always have a JSON form.
    let json = serde_json::to_string(greeting).expect("a greeting has a JSON form");
    format!("CONNECT {json}\r\n").into_bytes()
}

/// The bytes that publish a payload of at most [`PAYLOAD_BYTES_MAX`] bytes.
pub fn publish(subject: &Subject, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("PUB {subject} {}\r\n", payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(b"\r\n");
    bytes
}

/// The line that subscribes to a subject.
pub fn subscribe(subject: &Subject, number: usize) -> Vec<u8> {
    format!("SUB {subject} {number}\r\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Adds bytes in pieces and collects the complete messages.
    fn through(bytes: &[u8], piece: usize) -> Result<Vec<Message>, ProtocolError> {
        let (mut parser, mut taken) = (Parser::default(), Vec::new());
        for piece in bytes.chunks(piece) {
            parser.add(piece);
            while let Some(message) = parser.next_message()? {
                taken.push(message);
            }
        }
        Ok(taken)
    }

    fn sent(message: &Message) -> Vec<u8> {
        let line = match message {
            Message::Info(info) => {
                let nonce = info.nonce.as_ref().map(|nonce| format!("\"nonce\":\"{nonce}\","));
                format!(
                    "INFO {{{}\"tls_required\":{},\"max_payload\":{},\"unknown\":[1]}}",
                    nonce.unwrap_or_default(),
                    info.tls_required,
                    info.max_payload
                )
            }
            Message::Payload { subject, payload } => {
                let line = format!("MSG {subject} 7 reply.to {}\r\n", payload.len());
                return [line.as_bytes(), payload, b"\r\n"].concat();
            }
            Message::Ping => "PING".to_string(),
            Message::Pong => "PONG".to_string(),
            Message::Error(why) => format!("-ERR '{why}'"),
            Message::Fine => "+OK".to_string(),
        };
        format!("{line}\r\n").into_bytes()
    }

    fn message() -> impl Strategy<Value = Message> {
        let info = any::<(Option<bool>, bool, u64)>();
        let info = info.prop_map(|(nonce, tls_required, max_payload)| {
            let nonce = nonce.map(|_| "abc".to_string());
            let info = Info { nonce, tls_required, max_payload, ..Info::default() };
            Message::Info(Box::new(info))
        });
        let payload = prop::collection::vec(any::<u8>(), 0..200);
        let payload = ("[a-z]{1,9}(\\.[a-z]{1,9}){0,3}", payload)
            .prop_map(|(subject, payload)| Message::Payload { subject, payload });
        let error = "[A-Za-z]([A-Za-z ]{0,20}[a-z])?".prop_map(Message::Error);
        let bare = prop_oneof![Just(Message::Ping), Just(Message::Pong), Just(Message::Fine)];
        prop_oneof![info, payload, error, bare]
    }

    proptest! {
        #[test]
        fn messages_survive_the_way_in_any_pieces(
            messages in prop::collection::vec(message(), 1..8),
            piece in 1usize..300,
        ) {
            let bytes: Vec<u8> = messages.iter().flat_map(sent).collect();
            prop_assert_eq!(through(&bytes, piece).unwrap(), messages);
        }

        #[test]
        fn garbage_ends_in_an_error_or_in_nothing_whatever_the_pieces(
            bytes in prop::collection::vec(any::<u8>(), 0..600),
            word in prop_oneof![Just("MSG "), Just("INFO {"), Just("-ERR"), Just("")],
            piece in 1usize..50,
        ) {
            let bytes = [word.as_bytes(), &bytes].concat();
            prop_assert_eq!(through(&bytes, piece), through(&bytes, bytes.len().max(1)));
        }
    }

    #[test]
    fn a_payload_that_is_too_large_or_has_no_end_is_refused() {
        let far = format!("MSG a 1 {}\r\n", PAYLOAD_BYTES_MAX + 1);
        let bytes = PAYLOAD_BYTES_MAX as u64 + 1;
        assert_eq!(through(far.as_bytes(), 9), Err(ProtocolError::LongPayload { bytes }));
        assert_eq!(through(b"MSG a 1 2\r\nxyzz", 9), Err(ProtocolError::Payload));
        for wrong in ["MSG a 1\r\n", "MSG a 1 b c d\r\n", "MSG a 1 -1\r\n", "GET / HTTP/1.1\r\n"] {
            assert!(
                matches!(through(wrong.as_bytes(), 99), Err(ProtocolError::Line(_))),
                "{wrong}"
            );
        }
        let endless = vec![b'x'; LINE_BYTES_MAX + 1];
        assert_eq!(through(&endless, 4096), Err(ProtocolError::LongLine));
    }

    #[test]
    fn what_we_say_is_what_the_protocol_asks_for() {
        let subject: Subject = "a.b".parse().unwrap();
        assert_eq!(publish(&subject, b"\r\n"), b"PUB a.b 2\r\n\r\n\r\n");
        assert_eq!(subscribe(&subject, 3), b"SUB a.b 3\r\n");
        let greeting = Greeting { name: "a1", sig: Some("s".into()), ..Greeting::default() };
        let said = String::from_utf8(greet(&greeting)).unwrap();
        let json: serde_json::Value =
            serde_json::from_str(said.strip_prefix("CONNECT ").unwrap().trim_end()).unwrap();
        assert_eq!((&json["verbose"], &json["echo"]), (&false.into(), &false.into()));
        assert_eq!((&json["sig"], json.get("jwt")), (&"s".into(), None));
    }
}
