//! The HTTP/1.1 session against examples of the RFC, random splits and an independent parser.

use proptest::prelude::*;
use wire::Shapes;
use wire::http1::{HEAD_BYTES_MAX, Http1};
use wire::response::{Expect, ProtocolError, Response};
use wire::session::Session;

/// All responses that the session reads from `input`, given in pieces that end at `cuts`.
fn responses(
    input: &[u8],
    cuts: &[usize],
    expect: Expect,
    shapes: &mut Shapes,
) -> Result<Vec<Response>, ProtocolError> {
    let mut session = Http1::new();
    let mut responses = Vec::new();
    let mut begin = 0;
    for end in cuts.iter().copied().chain([input.len()]) {
        let end = end.clamp(begin, input.len());
        let mut piece = &input[begin..end];
        begin = end;
        while !piece.is_empty() {
            responses.extend(session.receive(&mut piece, expect, shapes, &mut ())?);
        }
    }
    responses.extend(session.end()?);
    Ok(responses)
}

fn whole(input: &str) -> Result<Vec<Response>, ProtocolError> {
    responses(input.as_bytes(), &[], Expect::Body, &mut Shapes::new())
}

fn one(input: &str) -> Response {
    let responses = whole(input).unwrap();
    assert_eq!(responses.len(), 1, "{input:?}");
    responses[0]
}

#[test]
fn length_chunks_and_close_end_a_body() {
    let fixed = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(one(fixed), Response { status: 200, bytes: fixed.len() as u64, reusable: true });
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                   5;ext=1\r\nhello\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nX-Sum: 1\r\n\r\n";
    assert_eq!(one(chunked), Response { status: 200, bytes: chunked.len() as u64, reusable: true });
    let close = "HTTP/1.1 200 OK\r\n\r\nuntil the end";
    assert_eq!(one(close), Response { status: 200, bytes: close.len() as u64, reusable: false });
}

#[test]
fn no_body_follows_head_204_and_304() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n";
    let two = head.repeat(2);
    let seen = responses(two.as_bytes(), &[], Expect::HeadOnly, &mut Shapes::new()).unwrap();
    assert_eq!(seen.iter().map(|response| response.bytes).collect::<Vec<_>>(), [40, 40]);
    for status in ["204 No Content", "304 Not Modified"] {
        let response = one(&format!("HTTP/1.1 {status}\r\nContent-Length: 7\r\n\r\n"));
        assert!(response.reusable, "{status}");
    }
}

#[test]
fn interim_answers_are_passed_over() {
    let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
                HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(one(text), Response { status: 201, bytes: text.len() as u64, reusable: true });
    let switched = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n";
    assert_eq!(whole(switched), Err(ProtocolError::Switched));
}

#[test]
fn connections_are_reused_as_the_rfc_says() {
    let cases = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x, CLOSE\r\n\r\n", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive\r\n\r\n", true),
    ];
    for (text, reusable) in cases {
        assert_eq!(one(text).reusable, reusable, "{text:?}");
    }
}

#[test]
fn what_is_not_an_answer_is_an_error() {
    use ProtocolError::{BadChunk, BadHeader, BadLength, BadStatus, NotHttp, Truncated};
    let cases = [
        ("SSH-2.0-OpenSSH_9.2\r\n", NotHttp),
        ("HTTP/2.0 200 OK\r\n\r\n", NotHttp),
        ("HTTP/1.1 20x OK\r\n\r\n", NotHttp),
        ("\rHTTP/1.1 200 OK\r\n\r\n", NotHttp),
        ("HTTP/1.1 999 No\r\n\r\n", BadStatus),
        ("HTTP/1.1 200 OK\r\nNo colon\r\n\r\n", BadHeader),
        ("HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n", BadHeader),
        ("HTTP/1.1 200 OK\r\nA : b\r\n\r\n", BadHeader),
        ("HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n", BadHeader),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello", BadLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", BadLength),
        ("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", BadLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", BadLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", BadLength),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello",
            BadLength,
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", Truncated),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", BadChunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", BadChunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX", BadChunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11112222333344445\r\n", BadChunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", Truncated),
        ("HTTP/1.1 200", Truncated),
    ];
    for (text, error) in cases {
        assert_eq!(whole(text), Err(error), "{text:?}");
    }
}

/// An empty line is not the begin of a response, so an end behind it cuts none off. An interim
/// response announces another.
#[test]
fn an_end_behind_an_empty_line_is_in_order_and_one_behind_an_interim_response_is_not() {
    let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    for text in ["\r\n", &format!("{response}\r\n"), &format!("\r\n{response}\r\n\n")] {
        let responses = whole(text).unwrap();
        assert_eq!(responses.len(), usize::from(text.len() > 2), "{text:?}");
    }
    let interim = "HTTP/1.1 103 Early Hints\r\n\r\n";
    for text in [interim, &format!("{response}{interim}"), &format!("{interim}\r\n")] {
        assert_eq!(whole(text), Err(ProtocolError::Truncated), "{text:?}");
    }
}

#[test]
fn an_endless_head_is_refused() {
    let endless = format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "x".repeat(HEAD_BYTES_MAX as usize));
    assert_eq!(whole(&endless), Err(ProtocolError::HeadTooLong));
    let hints = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(10_000);
    assert_eq!(whole(&hints), Err(ProtocolError::HeadTooLong));
}

#[test]
fn an_endless_line_of_a_chunk_is_refused() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let long = "x".repeat(HEAD_BYTES_MAX as usize);
    for line in
        [format!("5;{long}"), "0".repeat(long.len() + 1), format!("5{}", " ".repeat(long.len()))]
    {
        let text = format!("{chunked}{line}\r\nhello\r\n0\r\n\r\n");
        assert_eq!(whole(&text), Err(ProtocolError::HeadTooLong));
    }
    // The limit applies to each line alone.
    let line = &long[..long.len() / 2];
    let chunk = format!("1;{line}\r\nx\r\n").repeat(4);
    assert!(whole(&format!("{chunked}{chunk}0\r\n\r\n")).is_ok());
}

#[test]
fn a_session_is_small() {
    assert!(size_of::<Http1>() <= 128, "{}", size_of::<Http1>());
}

/// Responses as real and hostile servers may send them.
fn answer_text() -> impl Strategy<Value = String> {
    let date = prop::sample::select(vec!["Mon, 01 Jan 2026 00:00:00 GMT", "Tue"]);
    let extra = prop::sample::select(vec![
        "",
        "Server: x\r\n",
        "X-Request-Id: 0123\r\n",
        "X-Request-Id: 4567\r\n",
        "Connection: close\r\n",
        "Connection: keep-alive\r\n",
        "Content-Length: 3\r\n",
        "A: b\n",
        "bad line\r\n",
    ]);
    let body = prop_oneof![
        (0usize..40).prop_map(|n| format!("Content-Length: {n}\r\n\r\n{}", "b".repeat(n))),
        (1usize..20).prop_map(|n| format!(
            "Transfer-Encoding: chunked\r\n\r\n{n:x}\r\n{}\r\n0\r\n\r\n",
            "c".repeat(n)
        )),
        Just("\r\n".to_string()),
    ];
    let status = prop::sample::select(vec!["200 OK", "204 No", "404 Not Found", "500", "100 C"]);
    (status, date, extra, body).prop_map(|(status, date, extra, body)| {
        format!("HTTP/1.1 {status}\r\nDate: {date}\r\n{extra}{body}")
    })
}

fn expect() -> impl Strategy<Value = Expect> {
    prop::sample::select(vec![Expect::Body, Expect::HeadOnly])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn pieces_do_not_matter(
        texts in prop::collection::vec(answer_text(), 1..6),
        cuts in prop::collection::vec(0usize..400, 0..12),
        expect in expect(),
    ) {
        let input = texts.concat().into_bytes();
        let mut cuts = cuts;
        cuts.sort_unstable();
        let every_byte: Vec<_> = (1..input.len()).collect();
        // Shapes learned from the same bytes must not change what they mean.
        let mut shapes = Shapes::new();
        let first = responses(&input, &[], expect, &mut shapes);
        let again = responses(&input, &[], expect, &mut shapes);
        prop_assert_eq!(&first, &again);
        prop_assert_eq!(&first, &responses(&input, &cuts, expect, &mut shapes));
        prop_assert_eq!(&first, &responses(&input, &every_byte, expect, &mut Shapes::new()));
        if let Ok(responses) = &first {
            let total: u64 = responses.iter().map(|response| response.bytes).sum();
            prop_assert_eq!(total, input.len() as u64, "every byte belongs to a response");
        }
    }

    #[test]
    fn heads_mean_what_httparse_says(
        text in answer_text(),
        flips in prop::collection::vec((0usize..200, any::<u8>()), 0..3),
    ) {
        let mut input = text.into_bytes();
        for (at, byte) in flips {
            let at = at % input.len();
            input[at] = byte;
        }
        wire_oracle(&input)?;
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        input in prop::collection::vec(any::<u8>(), 0..300),
        expect in expect(),
    ) {
        let _ = responses(&input, &[1, 7, 20], expect, &mut Shapes::new());
        wire_oracle(&input)?;
    }
}

/// Compares head acceptance and status with httparse.
fn wire_oracle(input: &[u8]) -> Result<(), TestCaseError> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut headers);
    let theirs = response.parse(input);
    let ours = responses(input, &[], Expect::Body, &mut Shapes::new());
    let head_errors = [ProtocolError::NotHttp, ProtocolError::BadHeader];
    match (theirs, &ours) {
        (Ok(httparse::Status::Complete(_)), Err(error)) => {
            // Beyond syntax we also check status, length and chunk rules, and later responses.
            let first_head_only = ours_head(input);
            prop_assert!(!head_errors.contains(error) || first_head_only, "{ours:?}");
        }
        (Ok(httparse::Status::Complete(_)), Ok(responses)) => {
            let status = response.code.unwrap_or(0);
            prop_assert!(status < 200 || responses[0].status == status);
        }
        (Ok(httparse::Status::Partial), _) => {
            // A length is checked with its line, even in a head without an end.
            let expected = [Err(ProtocolError::Truncated), Err(ProtocolError::BadLength)];
            prop_assert!(expected.contains(&ours) || input_is_blank(input), "{ours:?}");
        }
        (Err(_), _) => prop_assert!(ours.is_err(), "{theirs:?} {ours:?}"),
    }
    Ok(())
}

/// Whether our parser accepts the first head alone, so that an error must come after it.
fn ours_head(input: &[u8]) -> bool {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let Ok(httparse::Status::Complete(length)) = httparse::Response::new(&mut headers).parse(input)
    else {
        return false;
    };
    let head = responses(&input[..length], &[], Expect::HeadOnly, &mut Shapes::new());
    !matches!(head, Err(ProtocolError::NotHttp | ProtocolError::BadHeader))
}

fn input_is_blank(input: &[u8]) -> bool {
    input.iter().all(|byte| b"\r\n".contains(byte))
}
