//! What responses consist of: their bodies and header fields, without the marks between them.

use model::tick::Parts;
use wire::Shapes;
use wire::http1::Http1;
use wire::response::Expect;
use wire::session::Session;

/// The parts of all responses in `input`, given in two pieces.
fn parts(input: &str, cut: usize, expect: Expect, shapes: &mut Shapes) -> Vec<Parts> {
    let (mut session, mut all) = (Http1::new(), Vec::new());
    for mut piece in [&input.as_bytes()[..cut], &input.as_bytes()[cut..]] {
        while !piece.is_empty() {
            if session.receive(&mut piece, expect, shapes, &mut ()).unwrap().is_some() {
                all.push(session.take_parts());
            }
        }
    }
    if session.end().unwrap().is_some() {
        all.push(session.take_parts());
    }
    all
}

/// Cut anywhere, and with heads that are known or not.
fn check(input: &str, expect: Expect, expected: &[Parts]) {
    let mut known = Shapes::new();
    for cut in 0..=input.len() {
        assert_eq!(parts(input, cut, expect, &mut Shapes::new()), expected, "{input:?} {cut}");
        assert_eq!(parts(input, cut, expect, &mut known), expected, "known: {input:?} {cut}");
    }
}

fn of(body: u64, fields: u64, unannounced: u64) -> Parts {
    Parts { body, fields, unannounced }
}

#[test]
fn a_body_counts_without_its_marks_and_fields_without_theirs() {
    let fixed = "HTTP/1.1 200 OK\r\nDate: Mon\r\nContent-Length:   5\r\n\r\nhello";
    let one = of(5, 7 + 15, 0);
    check(&fixed.repeat(3), Expect::Body, &[one; 3]);
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                   5;ext=1\r\nhello\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nX-Sum: 1\r\n\r\n";
    check(chunked, Expect::Body, &[of(31, 24, 31)]);
    check(
        &format!("{chunked}{fixed}{chunked}"),
        Expect::Body,
        &[of(31, 24, 31), one, of(31, 24, 31)],
    );
    let bare = "HTTP/1.1 200 OK\nTransfer-Encoding:\tchunked\n\n5\r\nhello\r\n0\r\n\n";
    check(bare, Expect::Body, &[of(5, 24, 5)]);
    check("HTTP/1.1 200 OK\r\nA: b c\r\n\r\nuntil the end", Expect::Body, &[of(13, 4, 13)]);
}

#[test]
fn a_response_without_a_body_has_none() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n";
    check(head, Expect::HeadOnly, &[of(0, 17, 0)]);
    check("HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n", Expect::Body, &[of(0, 15, 0)]);
    check("HTTP/1.1 200 OK\r\nX:\r\nContent-Length: 0\r\n\r\n", Expect::Body, &[of(0, 16, 0)]);
}

#[test]
fn the_fields_of_interim_responses_do_not_count() {
    let text = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
                HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    check(text, Expect::Body, &[of(2, 15, 0)]);
}
