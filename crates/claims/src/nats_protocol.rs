//! Whatever a broker sends has the same meaning in any split and never causes a panic; and what
//! passes as a name in the protocol cannot end a protocol line.

use nats::{Credentials, Message, PAYLOAD_BYTES_MAX, Parser, ProtocolError, Servers, Subject};

/// Panics if a property does not hold.
pub fn hold(bytes: &[u8]) {
    let Some((piece, stream)) = bytes.split_first() else { return };
    let piece = usize::from(*piece).max(1);
    let whole = read(stream, stream.len().max(1));
    assert_eq!(read(stream, piece), whole);
    for message in &whole.0 {
        if let Message::Payload { payload, .. } = message {
            assert!(payload.len() <= PAYLOAD_BYTES_MAX && payload.len() <= stream.len());
        }
    }
    let Ok(text) = std::str::from_utf8(stream) else { return };
    if let Ok(subject) = text.parse::<Subject>() {
        assert!(!subject.as_str().contains(|letter: char| letter <= ' '));
    }
    if let Ok(servers) = text.parse::<Servers>() {
        assert_eq!(servers.to_string().parse::<Servers>(), Ok(servers));
    }
    let _ = Credentials::parse(text);
}

/// All messages, and why there are no more if the bytes are invalid.
fn read(stream: &[u8], piece: usize) -> (Vec<Message>, Option<ProtocolError>) {
    let (mut parser, mut messages) = (Parser::default(), Vec::new());
    for piece in stream.chunks(piece) {
        parser.add(piece);
        loop {
            match parser.next_message() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => return (messages, Some(error)),
            }
        }
    }
    (messages, None)
}
