//! Checks of whole responses: their result does not depend on how the bytes arrive, and equals that
//! of a plain check of the whole body.

use model::check::{Check, Checks, Digest};
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};
use wire::Shapes;
use wire::http1::Http1;
use wire::response::{Expect, Outcome};
use wire::rules::{BodyProgress, Examined, Fate, Rules};
use wire::session::Session;

/// The outcome of each response of `input`, given in pieces that end at `cuts`.
fn verdicts(input: &[u8], cuts: &[usize], rules: &Rules) -> Vec<Fate> {
    let (mut session, mut shapes) = (Http1::new(), Shapes::new());
    let (mut progress, mut verdicts) = (BodyProgress::default(), Vec::new());
    let mut begin = 0;
    for end in cuts.iter().copied().chain([input.len()]) {
        let end = end.clamp(begin, input.len());
        let mut piece = &input[begin..end];
        begin = end;
        while !piece.is_empty() {
            let mut examined = Examined { rules, progress: &mut progress };
            let outcome = session.receive(&mut piece, Expect::Body, &mut shapes, &mut examined);
            if let Some(Outcome::Response(response)) = outcome.unwrap() {
                verdicts.push(rules.verdict(&mut progress, response.status));
            }
        }
    }
    if let Some(response) = session.end().unwrap() {
        verdicts.push(rules.verdict(&mut progress, response.status));
    }
    verdicts
}

fn rules(status: &str, length: &str, body: &str, sha256: &str) -> Rules {
    let checks = Checks {
        status: status.parse().ok(),
        length: length.parse().ok(),
        body: body.parse().ok(),
        sha256: sha256.parse().ok(),
        ..Checks::default()
    };
    Rules::new(&checks)
}

fn fixed(status: u16, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// The body in chunks that end at `ends`.
fn chunked(body: &[u8], ends: &[usize]) -> Vec<u8> {
    let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    let mut begin = 0;
    for end in ends.iter().copied().chain([body.len()]) {
        let end = end.clamp(begin, body.len());
        if end > begin {
            bytes.extend_from_slice(format!("{:x}\r\n", end - begin).as_bytes());
            bytes.extend_from_slice(&body[begin..end]);
            bytes.extend_from_slice(b"\r\n");
        }
        begin = end;
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

#[test]
fn the_first_check_that_fails_is_told() {
    let digest = Digest(Sha256::digest("good").into()).to_string();
    let all = rules("200", "4", "oo", &digest);
    let cases = [
        (fixed(200, "good"), Fate::Good),
        (fixed(201, "good"), Fate::Mismatch(Check::Status)),
        (fixed(304, ""), Fate::Mismatch(Check::Status)),
        (fixed(200, "goo"), Fate::Mismatch(Check::Length)),
        (fixed(200, "gudd"), Fate::Mismatch(Check::Body)),
        (fixed(200, "food"), Fate::Mismatch(Check::Sha256)),
        (fixed(200, ""), Fate::Mismatch(Check::Length)),
        (fixed(404, "good"), Fate::ErrorStatus),
    ];
    for (input, verdict) in &cases {
        assert_eq!(verdicts(input, &[], &all), [*verdict], "{}", String::from_utf8_lossy(input));
    }
    // One after another on one connection: no state of one response is left for the next.
    let stream: Vec<u8> = cases.iter().flat_map(|(input, _)| input.clone()).collect();
    let expected: Vec<_> = cases.iter().map(|(_, verdict)| *verdict).collect();
    assert_eq!(verdicts(&stream, &[], &all), expected);
}

#[test]
fn an_error_status_is_good_where_a_check_calls_it_so() {
    let missing = rules("2xx,404", "4", "", "");
    let cases = [(404, "good", Fate::Good), (404, "goo", Fate::Mismatch(Check::Length))];
    for (status, body, fate) in cases.into_iter().chain([(403, "good", Fate::ErrorStatus)]) {
        assert_eq!(verdicts(&fixed(status, body), &[], &missing), [fate], "{status} {body}");
    }
}

#[test]
fn an_empty_body_has_the_hash_of_nothing() {
    let nothing = Digest(Sha256::digest("").into()).to_string();
    assert_eq!(verdicts(&fixed(200, ""), &[], &rules("", "", "", &nothing)), [Fate::Good]);
    let until_close = b"HTTP/1.1 200 OK\r\n\r\nall the rest";
    assert_eq!(verdicts(until_close, &[20, 25], &rules("", "12", "the", "")), [Fate::Good]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// Needles and bodies of two letters, so that near misses and overlaps are common.
    #[test]
    fn pieces_and_chunks_do_not_matter(
        bodies in prop::collection::vec("[ab]{0,40}", 1..4),
        needle in "[ab]{1,6}",
        chunk_ends in prop::collection::vec(0usize..40, 0..5),
        cuts in prop::collection::vec(0usize..300, 0..20),
    ) {
        let digest = Digest(Sha256::digest(&bodies[0]).into()).to_string();
        let find = rules("", "", &needle, "");
        let hash = rules("", "", "", &digest);
        let mut chunk_ends = chunk_ends;
        chunk_ends.sort_unstable();
        let mut cuts = cuts;
        cuts.sort_unstable();
        let stream = |write: &dyn Fn(&str) -> Vec<u8>| {
            bodies.iter().flat_map(|body| write(body)).collect::<Vec<u8>>()
        };
        let is_good_or = |is_good, check| if is_good { Fate::Good } else { Fate::Mismatch(check) };
        let found: Vec<_> = bodies
            .iter()
            .map(|body| is_good_or(body.contains(&needle), Check::Body))
            .collect();
        let hashed: Vec<_> = bodies
            .iter()
            .map(|body| is_good_or(*body == bodies[0], Check::Sha256))
            .collect();
        for input in [
            stream(&|body| fixed(200, body)),
            stream(&|body| chunked(body.as_bytes(), &chunk_ends)),
        ] {
            let every_byte: Vec<_> = (1..input.len()).collect();
            for cuts in [&[][..], &cuts, &every_byte] {
                prop_assert_eq!(&verdicts(&input, cuts, &find), &found);
                prop_assert_eq!(&verdicts(&input, cuts, &hash), &hashed);
            }
        }
    }
}
