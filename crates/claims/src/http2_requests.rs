//! What a server reads of the requests of a connection is what was asked, however large a table for
//! header fields it keeps, on one connection after another. Another decoder of HPACK reads them.

use arbitrary::{Result, Unstructured};
use hpack_patched::Decoder;
use model::load::Request;
use wire::http2::{Http2, Scheme};
use wire::session::Session;
use wire::tape::Tape;

/// Requests of a tape, and steps of a connection.
const REQUESTS_MAX: usize = 4;
const STEPS_MAX: usize = 20;
/// Bytes of the head of a frame, and its types.
const HEAD_BYTES: usize = 9;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
/// The name `authorization` of a field that goes into no table (RFC 7541 section 6.2.3).
const SECRET: [u8; 2] = [0x1f, 8];
/// A table has so much room unless its owner says less.
const TABLE_USUAL: u16 = 4096;

/// Headers, some of them secret; targets share many of them, in any order.
const HEADERS_OF_ALL: [(&str, &str); 6] = [
    ("accept", "*/*"),
    ("user-agent", "claims"),
    ("authorization", "secret"),
    ("x-trace", "on"),
    ("x-trace", "off"),
    ("accept-encoding", "gzip, deflate"),
];

fn request(draws: &mut Unstructured<'_>) -> Result<Request> {
    let mut headers = Vec::new();
    for _ in 0..draws.int_in_range(0..=5)? {
        let (name, value) = *draws.choose(&HEADERS_OF_ALL)?;
        // Some need a frame more, or fill the table; all of them fit into one send.
        let times = if draws.ratio(1, 40)? { draws.int_in_range(100..=800)? } else { 1 };
        headers.push((name.to_string(), value.repeat(times)));
    }
    Ok(Request {
        method: (*draws.choose(&["GET", "POST"])?).to_string(),
        path: (*draws.choose(&["/", "/a", "/a/longer/path"])?).to_string(),
        host: (*draws.choose(&["claims", "other"])?).to_string(),
        headers,
        body: vec![b'b'; draws.int_in_range(0..=9)?],
        ..Request::default()
    })
}

/// The fields that a server should read.
fn expected(request: &Request) -> Vec<(String, String)> {
    let Request { method, path, host, headers, body, .. } = request;
    let pseudo =
        [(":method", &**method), (":scheme", "http"), (":authority", host), (":path", path)];
    let own = headers.iter().map(|(name, value)| (&**name, &**value));
    let mut all: Vec<_> = pseudo.into_iter().chain(own).collect();
    let length = body.len().to_string();
    if method == "POST" || !body.is_empty() {
        all.push(("content-length", &length));
    }
    all.into_iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

/// The header block of what was sent, which may begin with other frames.
fn block(sent: &[u8]) -> Vec<u8> {
    let (mut block, mut at) = (Vec::new(), 0);
    while at < sent.len() {
        let length = u32::from_be_bytes([0, sent[at], sent[at + 1], sent[at + 2]]) as usize;
        assert!(length <= 16_384, "a frame of {length} bytes");
        let payload = &sent[at + HEAD_BYTES..][..length];
        if matches!(sent[at + 3], HEADERS | CONTINUATION) {
            block.extend_from_slice(payload);
        }
        at += HEAD_BYTES + length;
    }
    block
}

fn check(draws: &mut Unstructured<'_>) -> Result<()> {
    let requests: Vec<_> = (0..draws.int_in_range(1..=REQUESTS_MAX)?)
        .map(|_| request(draws))
        .collect::<Result<_>>()?;
    let tape = Tape::http2(&requests, Scheme::Http).expect("plain requests");
    let (mut session, mut sent) = (Http2::for_depth(STEPS_MAX as u32), Vec::new());
    session.begin(&mut sent);
    let mut server = Decoder::new();
    let (mut is_smaller, mut was_told) = (false, false);
    for _ in 0..STEPS_MAX {
        if draws.ratio(1, 8)? {
            session.begin(&mut sent);
            (server, is_smaller, was_told) = (Decoder::new(), false, false);
        }
        if draws.ratio(1, 4)? {
            let size = *draws.choose(&[TABLE_USUAL, TABLE_USUAL - 1, 65_535, 100, 0])?;
            is_smaller |= size < TABLE_USUAL;
            let settings = [&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 1, 0, 0][..], &size.to_be_bytes()];
            session.addressee(&mut &settings.concat()[..]).expect("settings");
        }
        let position = draws.int_in_range(0..=requests.len() as u32 - 1)?;
        sent.clear();
        let span = session.span(&tape, position, 1);
        let bytes = span.len();
        session.owes(tape.bytes(), &mut sent);
        let before = sent.len();
        session.write(tape.bytes(), span, &mut sent);
        let told = usize::from(is_smaller && !was_told);
        assert_eq!(sent.len() - before, bytes + told, "what is booked was sent");
        let block = block(&sent);
        assert_eq!(block[0] == 0x20, told == 1, "an empty table is announced, once");
        was_told |= is_smaller;
        let request = &requests[position as usize];
        let secrets = request.headers.iter().filter(|(name, _)| name == "authorization").count();
        let marked = block.windows(2).filter(|pair| **pair == SECRET).count();
        assert!(marked >= secrets, "{secrets} secrets, of which {marked} are in no table");
        let text = |bytes| String::from_utf8(bytes).expect("plain text");
        let read = server.decode(&block).expect("a header block");
        let read: Vec<_> =
            read.into_iter().map(|(name, value)| (text(name), text(value))).collect();
        assert_eq!(read, expected(request));
    }
    Ok(())
}

/// Panics if a property does not hold.
pub fn hold(bytes: &[u8]) {
    // Draws that end early end the connection.
    let _ = check(&mut Unstructured::new(bytes));
}
