//! Any split of what a server of HTTP/2 sends means the same.

use arbitrary::{Arbitrary, Unstructured};
use model::call::Replies;
use model::load::Request;
use wire::http2::{Http2, Scheme};
use wire::response::{Expect, Outcome, ProtocolError};
use wire::session::{RequestId, Session, Witness};
use wire::tape::Tape;

/// Requests in flight when the server starts to speak.
const DEPTH: u32 = 5;

/// Keeps bodies, one after the other.
#[derive(Default)]
struct Bodies(Vec<u8>);

impl Witness for Bodies {
    fn body(&mut self, piece: &[u8]) {
        self.0.extend_from_slice(piece);
    }
}

/// What a client makes of what a server sends.
#[derive(Debug, PartialEq)]
struct Heard {
    outcomes: Vec<(RequestId, Outcome)>,
    bodies: Vec<Vec<u8>>,
    /// Messages that came at each place.
    messages: Vec<u32>,
    /// What is sent after all of it.
    owed: Vec<u8>,
    stray_bytes: u64,
}

fn hear(
    input: &[u8],
    piece_max: usize,
    expect: Expect,
    tape: &Tape,
) -> Result<Heard, ProtocolError> {
    let (mut session, mut sent) = (Http2::for_depth(DEPTH), Vec::new());
    session.begin(&mut sent);
    for _ in 0..DEPTH {
        session.write(tape.bytes(), tape.span(0, 1), &mut sent);
    }
    let mut outcomes = Vec::new();
    let mut bodies = vec![Vec::new(); Http2::places(DEPTH) as usize];
    let mut messages = vec![0; bodies.len()];
    for piece in input.chunks(piece_max) {
        let mut piece = piece;
        while let Some(request) = session.addressee(&mut piece)? {
            let RequestId::At(place) = request else { panic!("{request:?}") };
            let mut body = Bodies::default();
            let outcome = session.receive(&mut piece, expect, &mut (), &mut body)?;
            bodies[place as usize].extend(body.0);
            messages[place as usize] += session.take_messages().came;
            outcomes.extend(outcome.map(|outcome| (request, outcome)));
        }
        assert!(piece.is_empty(), "all is consumed");
    }
    sent.clear();
    session.owes(tape.bytes(), &mut sent);
    Ok(Heard { outcomes, bodies, messages, owed: sent, stray_bytes: session.take_stray() })
}

/// Panics if a property does not hold.
pub fn hold(bytes: &[u8]) {
    let input = <(u8, &[u8])>::arbitrary_take_rest(Unstructured::new(bytes));
    let Ok((choice, bytes)) = input else { return };
    if bytes.is_empty() {
        return;
    }
    let all = [Expect::Body, Expect::HeadOnly, Expect::Call, Expect::Stream, Expect::Conversation];
    let expect = all[usize::from(choice) % all.len()];
    let (body, replies) = match expect {
        Expect::Conversation => (b"\0\0\0\0\x02\x08\x01".repeat(3), Replies::Each),
        _ => (vec![b'b'; 20_000], Replies::One),
    };
    let request = Request {
        method: "POST".to_string(),
        path: "/".to_string(),
        host: "claims".to_string(),
        body,
        replies,
        ..Request::default()
    };
    let tape = Tape::http2(&[request], Scheme::Http).expect("a plain request");
    let whole = hear(bytes, bytes.len(), expect, &tape);
    let piece_max = usize::from(choice) / all.len() + 1;
    assert_eq!(whole, hear(bytes, piece_max, expect, &tape), "pieces changed it");
    assert_eq!(whole, hear(bytes, 1, expect, &tape), "single bytes changed it");
    let Ok(heard) = whole else { return };
    assert!(heard.outcomes.len() <= DEPTH as usize, "a request was answered twice");
    let responses = heard.outcomes.iter().filter_map(|(_, outcome)| outcome.response());
    let in_responses: u64 = responses.map(|response| response.bytes).sum();
    assert!(in_responses + heard.stray_bytes <= bytes.len() as u64 + 16_384, "bytes were invented");
}
