//! The HTTP/1.1 session against examples of the RFC, random splits and another parser.

use proptest::prelude::*;
use wire::Shapes;
use wire::http1::{HEAD_BYTES_MAX, Http1};
use wire::response::{Expect, Outcome, ProtocolError, Response};
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
            let outcome = session.receive(&mut piece, expect, shapes, &mut ())?;
            responses.extend(outcome.and_then(Outcome::response));
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
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: a,\r\n\tclose\r\n\r\n", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: clo se\r\n\r\n", true),
        // A transfer coding in HTTP/1.0: the framing is doubtful, so this is the last response.
        (
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n\
             0\r\n\r\n",
            false,
        ),
    ];
    for (text, reusable) in cases {
        assert_eq!(one(text).reusable, reusable, "{text:?}");
    }
}

#[test]
fn what_is_not_an_answer_is_an_error() {
    use ProtocolError::{BadChunk, BadHeader, BadLength, BadStatus, NotHttp, Truncated};
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let cases = [
        ("SSH-2.0-OpenSSH_9.2\r\n", NotHttp),
        ("HTTP/2.0 200 OK\r\n\r\n", NotHttp),
        ("http/1.1 200 OK\r\n\r\n", NotHttp),
        ("HTTP/1.1200 OK\r\n\r\n", NotHttp),
        ("HTTP/1.1 20x OK\r\n\r\n", BadStatus),
        ("\rHTTP/1.1 200 OK\r\n\r\n", NotHttp),
        ("HTTP/1.1 2000 OK\r\n\r\n", BadStatus),
        ("HTTP/1.1 099 No\r\n\r\n", BadStatus),
        ("HTTP/1.1 200 OK\r\nNo colon\r\n\r\n", BadHeader),
        ("HTTP/1.1 200 OK\r\n: b\r\n\r\n", BadHeader),
        ("HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n", BadHeader),
        ("HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n", BadHeader),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello", BadLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5 5\r\n\r\nhello", BadLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: ,\r\n\r\n", BadLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", BadLength),
        ("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", BadLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", BadLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", BadLength),
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
    for body in ["5\nhello\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "+5\r\nhello\r\n0\r\n\r\n"] {
        assert_eq!(whole(&format!("{chunked}{body}")), Err(BadChunk), "{body:?}");
    }
}

/// Each with a body of five bytes, after which nothing may be left.
#[test]
fn what_the_rfc_lets_a_client_read_is_read() {
    let length = "Content-Length: 5";
    let fixed = [
        format!("HTTP/1.1 200 OK\r\nX: a;\r\n  b=c;\r\n\td: close\r\n{length}\r\n\r\n"),
        format!("HTTP/1.1 200 OK\r\n dropped: 7\r\n{length}\r\n\r\n"),
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n 5\r\n\r\n".to_string(),
        "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n".to_string(),
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n".to_string(),
        "HTTP/1.1 200 OK\r\nContent-Length: ,05 , 5,\r\nContent-Length: 5\r\n\r\n".to_string(),
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n{length}\r\n\r\n"),
        format!("HTTP/1.1 200 OK\n{length}\nA: b\n\n"),
        format!("HTTP/1.1  200\t\r\n{length}\r\n\r\n"),
        format!("HTTP/1.1 200\r\n{length}\r\n\r\n"),
        format!("HTTP/1.9 200 OK\r\n{length}\r\n\r\n"),
        format!("\r\n\nHTTP/1.1 200 OK\r\n{length}\r\n\r\n"),
        format!("HTTP/1.1 200 \u{1b}[1mOK\r\nX: \u{1}\u{7f}\r\n{length}\r\n\r\n"),
        format!("HTTP/1.1 600 Odd\r\n{length}\r\n\r\n"),
        format!("HTTP/1.1 999 Odd\r\n{length}\r\n\r\n"),
    ];
    let chunked = [
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip,\r\n chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity, Chunked\r\n\r\n",
        // Transfer-Encoding overrides Content-Length, whatever that says.
        "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: none\r\nTransfer-Encoding: chunked\r\n\r\n",
    ];
    let bodies = ["5 \r\nhello\r\n0\r\n\r\n", "05;a=\"b\"\r\nhello\r\n0\r\nX: 1\n folded\r\n\n"];
    let fixed = fixed.iter().map(|head| format!("{head}hello"));
    let chunked = chunked.iter().flat_map(|head| bodies.map(|body| format!("{head}{body}")));
    for text in fixed.chain(chunked) {
        let twice = whole(&text.repeat(2)).unwrap_or_else(|error| panic!("{error:?}: {text:?}"));
        let expected: u16 = if text.contains(" Odd") { text[9..12].parse().unwrap() } else { 200 };
        let seen: Vec<_> = twice.iter().map(|one| (one.status, one.bytes, one.reusable)).collect();
        assert_eq!(seen, [(expected, text.len() as u64, true); 2], "{text:?}");
    }
}

/// A head that has been seen must not lend its meaning to one that only looks like it.
#[test]
fn a_shape_is_not_taken_for_a_head_that_means_something_else() {
    let chunk = "5\r\nhello\r\n0\r\n\r\n";
    let both = |length: &str| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n");
        format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunk}")
    };
    let folded = |end: &str| {
        format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: a,\r\n b:{end}\r\n\r\nhello")
    };
    let blank = |length: &str, body: &str| {
        format!("HTTP/1.1 200 OK\r\nContent-Length : {length}\r\n\r\n{body}")
    };
    for texts in [
        [both("10"), both("20"), both("30")],
        [folded("x,close"), folded("y,close"), folded("zzzzzzz")],
        [blank("5", "hello"), blank("6", "hello!"), blank("7", "hello!!")],
    ] {
        let mut shapes = Shapes::new();
        for text in &texts {
            let alone = whole(text);
            let seen = responses(text.as_bytes(), &[], Expect::Body, &mut shapes);
            assert_eq!(seen, alone, "{text:?}");
        }
    }
}

#[test]
fn what_was_not_asked_for_has_a_name() {
    use ProtocolError::{ExtraResponse, HeadBody, InterimBody, LongBody, NoContentBody};
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let named = |text: &str, expect: Expect, more: &[u8]| {
        let (mut session, mut rest) = (Http1::new(), text.as_bytes());
        let _ = session.receive(&mut rest, expect, &mut Shapes::new(), &mut ());
        session.unasked(more, expect)
    };
    let no_content = "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n";
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    let interim = "HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n";
    let cases = [
        (ok, Expect::Body, "!", Some(LongBody)),
        (ok, Expect::Body, "\r\nHTTP/1.1 200", Some(ExtraResponse)),
        (ok, Expect::Body, "HT", Some(ExtraResponse)),
        (ok, Expect::Body, "Hello", Some(LongBody)),
        (no_content, Expect::Body, "hello", Some(NoContentBody)),
        (head, Expect::HeadOnly, "hello", Some(HeadBody)),
        (interim, Expect::Body, "hello", Some(InterimBody)),
        (ok, Expect::Body, "\r\n", None),
        ("", Expect::Body, "SSH-2.0", None),
    ];
    for (text, expect, more, name) in cases {
        assert_eq!(named(text, expect, more.as_bytes()), name, "{text:?} {more:?}");
    }
}

#[test]
fn a_response_in_the_middle_says_how_much_has_come() {
    let progress = |text: &str| {
        let (mut session, mut rest) = (Http1::new(), text.as_bytes());
        let _ = session.receive(&mut rest, Expect::Body, &mut Shapes::new(), &mut ());
        let progress = session.progress();
        (progress.status, progress.came_bytes, progress.body_bytes)
    };
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n";
    assert_eq!(progress(&format!("{head}hello, world\n")), (200, 13, Some(15)));
    assert_eq!(progress("HTTP/1.1 2"), (0, 10, None));
    assert_eq!(progress(head.split_at(20).0), (200, 20, None));
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel";
    assert_eq!(progress(chunked), (200, chunked.len() as u64, None));
    for nothing in ["", "\r\n", &format!("{head}hello, world\n!!")] {
        assert_eq!(progress(nothing), (0, 0, None), "{nothing:?}");
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

/// What httparse reads, which is less than the RFC allows, is read here, with the same status. The
/// crate `claims` has a parser that allows as much as the RFC.
fn wire_oracle(input: &[u8]) -> Result<(), TestCaseError> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut headers);
    let Ok(httparse::Status::Complete(length)) = response.parse(input) else { return Ok(()) };
    let status = response.code.unwrap_or(0);
    let head = responses(&input[..length], &[], Expect::HeadOnly, &mut Shapes::new());
    match head {
        Ok(responses) => prop_assert!(responses[0].status == status),
        Err(ProtocolError::BadStatus) => prop_assert!(status < 100),
        // Of an interim response, another one is still to come.
        Err(ProtocolError::Truncated | ProtocolError::Switched) => prop_assert!(status < 200),
        Err(error) => prop_assert!(false, "{error:?}"),
    }
    Ok(())
}
