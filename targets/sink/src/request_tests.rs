//! Requests by example, by random splits, and by random bytes.

use super::*;
use crate::head::{Persistence, Wants};
use crate::route::Route;
use proptest::prelude::*;

/// The parser's results for `input` in pieces that end at `cuts`.
fn events(input: &[u8], cuts: &[usize]) -> (Vec<Event>, Option<Refusal>) {
    let (mut parser, mut memo) = (Parser::default(), Memo::default());
    let (mut events, mut begin) = (Vec::new(), 0);
    for end in cuts.iter().copied().chain([input.len()]) {
        let end = end.clamp(begin, input.len());
        let mut piece = &input[begin..end];
        begin = end;
        loop {
            match parser.receive(&mut piece, &mut memo) {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(refusal) => return (events, Some(refusal)),
            }
        }
        assert!(piece.is_empty(), "a starved parser has taken everything");
    }
    (events, None)
}

fn routes(input: &str) -> Vec<(Route, u64)> {
    let (events, refusal) = events(input.as_bytes(), &[]);
    assert_eq!(refusal, None, "{input:?}");
    events
        .iter()
        .filter_map(|event| match event {
            Event::Request { head, bytes } => Some((head.route, *bytes)),
            Event::Pause => None,
        })
        .collect()
}

fn refusal(input: &str) -> Option<Refusal> {
    events(input.as_bytes(), &[]).1
}

const GET: &str = "GET /simple HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn requests_follow_each_other() {
    let other = "GET /bytes/7 HTTP/1.1\r\nHost: a\r\n\r\n";
    let input = format!("{GET}{GET}{other}{other}{GET}");
    let lengths = [GET.len() as u64, other.len() as u64];
    assert_eq!(
        routes(&input),
        [
            (Route::Simple, lengths[0]),
            (Route::Simple, lengths[0]),
            (Route::Bytes(7), lengths[1]),
            (Route::Bytes(7), lengths[1]),
            (Route::Simple, lengths[0]),
        ]
    );
}

#[test]
fn bodies_are_passed_over() {
    let fixed = "POST /simple HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nGET /";
    let chunked = "POST /simple HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
         3\r\nabc\r\n0\r\n\r\n";
    let input = format!("{fixed}{chunked}{fixed}{GET}");
    let seen: Vec<u64> = routes(&input).iter().map(|&(_, bytes)| bytes).collect();
    assert_eq!(seen, [fixed.len(), chunked.len(), fixed.len(), GET.len()].map(|len| len as u64));
}

#[test]
fn a_pause_comes_before_the_body() {
    let head = "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    let (seen, _) = events(head.as_bytes(), &[]);
    assert_eq!(seen, [Event::Pause]);
    let (seen, _) = events(format!("{head}ab").as_bytes(), &[]);
    assert_eq!(seen.len(), 2);
    let empty = "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(events(empty.as_bytes(), &[]).0.len(), 1, "nothing to wait for");
}

#[test]
fn empty_lines_between_requests_are_passed_over() {
    let seen = routes(&format!("\r\n\r\n{GET}\r\n{GET}"));
    assert_eq!(
        seen,
        [(Route::Simple, GET.len() as u64 + 4), (Route::Simple, GET.len() as u64 + 2)]
    );
}

#[test]
fn heads_say_who_wants_what() {
    let (seen, _) = events(b"HEAD /simple HTTP/1.0\r\n\r\n", &[]);
    let [Event::Request { head, .. }] = seen[..] else { panic!("{seen:?}") };
    assert_eq!((head.wants, head.persistence), (Wants::HeadOnly, Persistence::CloseOld));
}

#[test]
fn garbage_is_refused_as_soon_as_it_is_seen() {
    for garbage in
        ["A\r\n", "\x16\x03\x01\x02", " ", "\r\r", "\n", "GET\r\n\r\n", "GET / HTTP/1.1\n\n"]
    {
        assert_eq!(refusal(garbage), Some(Refusal::Malformed), "{garbage:?}");
    }
    assert_eq!(refusal(&"x".repeat(100)), Some(Refusal::Malformed), "no method is that long");
    assert_eq!(refusal("GET / HT"), None, "this may become a request");
}

#[test]
fn memory_is_bounded() {
    let endless = format!("GET /{}", "x".repeat(HEAD_BYTES_MAX));
    assert_eq!(refusal(&endless), Some(Refusal::HeadTooLong));
    let frame = "GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n";
    let head = |bytes: usize| {
        let padding = "x".repeat(bytes - frame.len());
        format!("GET / HTTP/1.1\r\nHost: a\r\nX: {padding}\r\n\r\n")
    };
    assert_eq!(refusal(&head(HEAD_BYTES_MAX)), None);
    assert_eq!(refusal(&head(HEAD_BYTES_MAX + 1)), Some(Refusal::HeadTooLong));
    let large = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1073741825\r\n\r\n";
    assert_eq!(refusal(large), Some(Refusal::BodyTooLong));
}

#[test]
fn a_long_split_head_gives_its_memory_back() {
    let (mut parser, mut memo) = (Parser::default(), Memo::default());
    let head = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(30_000));
    let (mut first, mut second) = head.as_bytes().split_at(20_000);
    assert_eq!(parser.receive(&mut first, &mut memo), Ok(None));
    assert!(parser.receive(&mut second, &mut memo).unwrap().is_some());
    assert!(parser.held.capacity() <= HELD_BYTES_KEPT);
}

fn requests() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => Just(GET.to_owned()),
        1 => Just("GET /bytes/7?q HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n".to_owned()),
        1 => Just("HEAD / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".to_owned()),
        1 => (0_usize..50).prop_map(|size| format!(
            "POST /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\
             Content-Length: {size}\r\n\r\n{}",
            "b".repeat(size)
        )),
        1 => (1_usize..50).prop_map(|size| format!(
            "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
             {size:x};e=\"1\"\r\n{}\r\n0\r\nT: 1\r\n\r\n",
            "\r".repeat(size)
        )),
        1 => Just("\r\n".to_owned()),
        1 => (HEAD_BYTES_MAX - 60..HEAD_BYTES_MAX + 10).prop_map(|size| format!(
            "GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(size)
        )),
        1 => "[ -~\r\n]{0,20}",
    ];
    prop::collection::vec(part, 1..8).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_split_gives_the_same_requests(
        input in requests(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
        cuts.sort_unstable();
        let whole = events(input.as_bytes(), &[]);
        prop_assert_eq!(&events(input.as_bytes(), &cuts), &whole);
    }

    #[test]
    fn single_bytes_give_the_same_requests(input in requests()) {
        let cuts: Vec<usize> = (0..input.len()).collect();
        prop_assert_eq!(events(input.as_bytes(), &cuts), events(input.as_bytes(), &[]));
    }

    #[test]
    fn nothing_makes_it_panic(input: Vec<u8>, cut in 0_usize..100) {
        prop_assert_eq!(events(&input, &[cut]), events(&input, &[]));
    }
}
