//! Responses as text, and responses written from any byte on.

use super::*;
use proptest::prelude::*;

const TEXT: &[u8] = br#"{"event":"stats"}"#;

fn response(content: Content) -> Response {
    Response { content, extent: Extent::Whole, persistence: Persistence::Keep }
}

fn bytes(response: Response) -> Vec<u8> {
    let mut out = Vec::new();
    response.append(TEXT, 0, response.len(TEXT), &mut out);
    out
}

fn text(response: Response) -> String {
    String::from_utf8(bytes(response)).unwrap()
}

#[test]
fn every_content_has_its_head() {
    assert_eq!(
        text(response(Content::Bytes(3))),
        "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 3\r\n\r\n012"
    );
    assert_eq!(
        text(response(Content::Status(503))),
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n\
         Content-Length: 14\r\n\r\n{\"status\":503}"
    );
    assert_eq!(text(response(Content::Status(204))), "HTTP/1.1 204 No Content\r\n\r\n");
    assert!(text(response(Content::Status(205))).contains("Content-Length: 0\r\n"));
    assert!(text(response(Content::Text)).ends_with("\r\n\r\n{\"event\":\"stats\"}"));
    assert!(text(response(Content::Status(599))).starts_with("HTTP/1.1 599 Status\r\n"));
}

#[test]
fn chunks_are_of_4096_bytes_and_a_rest() {
    let body = |size| {
        let whole = text(response(Content::Chunked(size)));
        whole.split_once("\r\n\r\n").unwrap().1.to_owned()
    };
    assert_eq!(body(0), "0\r\n\r\n");
    assert_eq!(body(5), "5\r\n01234\r\n0\r\n\r\n");
    let long = body(4096 + 10);
    assert!(long.starts_with("1000\r\n0123456789AB"));
    assert!(long.ends_with("\r\nA\r\n0123456789\r\n0\r\n\r\n"));
    assert_eq!(body(8192).len(), 2 * 4104 + 5);
}

#[test]
fn heads_alone_announce_the_body() {
    let head = Response { extent: Extent::HeadOnly, ..response(Content::Bytes(1000)) };
    assert!(text(head).ends_with("Content-Length: 1000\r\n\r\n"));
    let head = Response { extent: Extent::HeadOnly, ..response(Content::Simple) };
    assert!(text(head).ends_with("Content-Length: 16\r\n\r\n"));
}

#[test]
fn a_half_response_ends_in_the_middle_of_its_body() {
    let half = Response { extent: Extent::Half, ..response(Content::Simple) };
    assert!(text(half).ends_with("\r\n\r\n{\"messag"));
    let half = Response { extent: Extent::Half, ..response(Content::Bytes(1000)) };
    assert_eq!(bytes(half).len(), bytes(response(Content::Bytes(1000))).len() - 500);
    let half = Response { extent: Extent::Half, ..response(Content::Status(204)) };
    assert!("HTTP/1.1 204 No Content\r\n\r\n".starts_with(&text(half)));
}

#[test]
fn no_head_is_longer_than_its_place() {
    for status in 200..600 {
        for persistence in [Persistence::Keep, Persistence::KeepOld, Persistence::Close] {
            for content in
                [Content::Status(status), Content::Bytes(u32::MAX), Content::Chunked(u32::MAX)]
            {
                assert!(Response { persistence, ..response(content) }.len(TEXT) > 0);
            }
        }
    }
}

#[test]
fn a_rest_of_almost_a_chunk_may_be_cut_anywhere() {
    for size in 4_085..4_100 {
        let response = response(Content::Chunked(size));
        let whole = bytes(response);
        for cut in 0..=whole.len() as u64 {
            let mut pieces = Vec::new();
            response.append(TEXT, 0, cut, &mut pieces);
            response.append(TEXT, cut, whole.len() as u64, &mut pieces);
            assert_eq!(pieces, whole, "{size} bytes cut at {cut}");
        }
    }
}

fn contents() -> impl Strategy<Value = Content> {
    prop_oneof![
        Just(Content::Simple),
        Just(Content::Healthz),
        Just(Content::Text),
        Just(Content::Continue),
        Just(Content::Garbage),
        (0_u32..20_000).prop_map(Content::Bytes),
        (0_u32..20_000).prop_map(Content::Chunked),
        (4_090_u32..4_100).prop_map(Content::Chunked),
        (0_u32..20_000).prop_map(Content::UntilClose),
        (200_u16..600).prop_map(Content::Status),
    ]
}

proptest! {
    #[test]
    fn pieces_are_the_whole(
        content in contents(),
        extent in prop::sample::select(vec![Extent::Whole, Extent::HeadOnly, Extent::Half]),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let response = Response { extent, ..response(content) };
        let whole = bytes(response);
        prop_assert_eq!(whole.len() as u64, response.len(TEXT));
        let mut ends: Vec<u64> =
            cuts.iter().map(|cut| cut.index(whole.len() + 1) as u64).collect();
        ends.push(whole.len() as u64);
        ends.sort_unstable();
        let (mut pieces, mut from) = (Vec::new(), 0);
        for until in ends {
            response.append(TEXT, from, until, &mut pieces);
            from = until;
        }
        prop_assert_eq!(pieces, whole);
    }

    #[test]
    fn pattern_bodies_repeat_the_pattern(size in 0_u32..100_000) {
        let response = response(Content::Bytes(size));
        let begin = response.pattern_begin().unwrap() as usize;
        let whole = bytes(response);
        prop_assert_eq!(whole.len() - begin, size as usize);
        prop_assert!(whole[begin..].iter().enumerate().all(|(n, &byte)| byte == PATTERN[n % 64]));
    }
}
