//! HTTP/2 against servers that are right in unusual ways, and against those that are wrong.

use model::call::{CallStatus, Replies};
use model::load::Request;
use model::streams::StreamTally;
use proptest::prelude::*;
use wire::http2::{Asked, Ends, Form, Http2, Peer, Said, Scheme, say};
use wire::response::{Expect, Outcome, ProtocolError, Response};
use wire::session::{MessageCount, RequestId, Session, Witness};
use wire::tape::Tape;

const DEPTH: u32 = 8;

/// Keeps bodies, one after the other.
#[derive(Default)]
struct Bodies(Vec<u8>);

impl Witness for Bodies {
    fn body(&mut self, piece: &[u8]) {
        self.0.extend_from_slice(piece);
    }
}

/// A client with requests in flight, and what became of them.
struct Client {
    session: Http2,
    tape: Tape,
    sent: Vec<u8>,
    /// The stream of the request at each place.
    places: Vec<Option<u32>>,
    next: u32,
    expect: Expect,
    outcomes: Vec<(u32, Outcome)>,
    bodies: Vec<Vec<u8>>,
}

fn request(body: usize) -> Request {
    Request {
        method: if body > 0 { "POST" } else { "GET" }.to_string(),
        path: "/path".to_string(),
        host: "example.org".to_string(),
        headers: vec![("X-Any".to_string(), "value".to_string())],
        body: (0..body).map(|at| at as u8).collect(),
        ..Request::default()
    }
}

impl Client {
    /// A client that has greeted, and sends requests with a body of this length.
    fn new(body: usize) -> Self {
        let mut session = Http2::for_depth(DEPTH);
        let mut sent = Vec::new();
        session.begin(&mut sent);
        Self {
            session,
            tape: Tape::http2(&[request(body)], Scheme::Https).unwrap(),
            sent,
            places: vec![None; Http2::places(DEPTH) as usize],
            next: 1,
            expect: Expect::Body,
            outcomes: Vec::new(),
            bodies: vec![Vec::new(); Http2::places(DEPTH) as usize],
        }
    }

    fn send(&mut self) -> u32 {
        let span = self.session.span(&self.tape, 0, 1);
        let place = self.session.write(self.tape.bytes(), span, &mut self.sent);
        assert_eq!(self.places[place as usize].replace(self.next), None);
        self.next += 2;
        place
    }

    fn hear(&mut self, words: &[u8]) -> Result<(), ProtocolError> {
        let mut input = words;
        while let Some(request) = self.session.addressee(&mut input)? {
            let RequestId::At(place) = request else { panic!("{request:?}") };
            let mut body = Bodies::default();
            let outcome = self.session.receive(&mut input, self.expect, &mut (), &mut body)?;
            self.bodies[place as usize].extend(body.0);
            if let Some(outcome) = outcome {
                let stream = self.places[place as usize].take().expect("it is in flight");
                self.outcomes.push((stream, outcome));
            }
        }
        assert!(input.is_empty(), "all is consumed");
        Ok(())
    }

    /// What the server sees of all that was sent, when the connection is given up.
    fn left(&mut self) -> Vec<Asked> {
        let mut all = Vec::new();
        self.session.farewell(&mut self.sent);
        Peer::default().take(&self.sent, |asked| all.push(asked));
        all
    }

    /// What the server sees of what was sent since it was last asked.
    fn asked(&mut self, peer: &mut Peer) -> Vec<Asked> {
        self.session.owes(self.tape.bytes(), &mut self.sent);
        let mut all = Vec::new();
        peer.take(&self.sent, |asked| all.push(asked));
        self.sent.clear();
        all
    }
}

fn words(said: &[Said<'_>]) -> Vec<u8> {
    let mut words = Vec::new();
    said.iter().for_each(|said| say(said, &mut words));
    words
}

const SETTINGS: Said<'_> = Said::Settings { streams: None, window: None };

fn head(stream: u32, status: u16, ends: Ends) -> Said<'static> {
    Said::Head { stream, status: Some(status), fields: &[], ends, form: Form::Whole }
}

fn body(stream: u32, body: &[u8], ends: Ends) -> Said<'_> {
    Said::Body { stream, body, ends, padding: None }
}

/// A response, as parts that a server sends one after another.
#[derive(Debug, Clone)]
struct Planned {
    status: u16,
    forms: Vec<u8>,
    interim: bool,
    trailers: bool,
    parts: Vec<(Vec<u8>, Option<u8>)>,
}

fn planned() -> impl Strategy<Value = Planned> {
    let part = (prop::collection::vec(any::<u8>(), 0..60), prop::option::of(any::<u8>()));
    (
        prop::sample::select(vec![200u16, 404, 503, 600]),
        prop::collection::vec(any::<u8>(), 3),
        any::<bool>(),
        any::<bool>(),
        prop::collection::vec(part, 0..4),
    )
        .prop_map(|(status, forms, interim, trailers, parts)| Planned {
            status,
            forms,
            interim,
            trailers,
            parts,
        })
}

fn form(choice: u8) -> Form {
    match choice % 3 {
        0 => Form::Whole,
        1 => Form::Pieces(usize::from(choice / 3) + 1),
        _ => Form::Padded(choice),
    }
}

impl Planned {
    /// Each part as bytes.
    fn parts(&self, stream: u32) -> Vec<Vec<u8>> {
        let Self { status, forms, interim, trailers, parts } = self;
        let mut all = Vec::new();
        let fields: &[_] = &[("x-any", "thing"), ("date", "now")];
        let block = |status, ends, choice| {
            words(&[Said::Head { stream, status, fields, ends, form: form(choice) }])
        };
        if *interim {
            all.push(block(Some(103), Ends::No, forms[0]));
        }
        let ends_at_head = parts.is_empty() && !trailers;
        let ends = if ends_at_head { Ends::Yes } else { Ends::No };
        all.push(block(Some(*status), ends, forms[1]));
        for (nth, (body, padding)) in parts.iter().enumerate() {
            let is_last = nth + 1 == parts.len() && !trailers;
            let ends = if is_last { Ends::Yes } else { Ends::No };
            all.push(words(&[Said::Body { stream, body, ends, padding: *padding }]));
        }
        if *trailers {
            all.push(block(None, Ends::Yes, forms[2]));
        }
        all
    }

    fn body(&self) -> Vec<u8> {
        self.parts.iter().flat_map(|(body, _)| body.clone()).collect()
    }
}

proptest! {
    /// Responses whose frames mix come back whole, however the bytes are cut.
    #[test]
    fn frames_of_many_streams_are_told_apart(
        plans in prop::collection::vec(planned(), 1..DEPTH as usize),
        order in prop::collection::vec(any::<prop::sample::Index>(), 60),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let mut queues: Vec<_> = (0..)
            .zip(&plans)
            .map(|(nth, plan)| plan.parts(2 * nth + 1).into_iter())
            .collect();
        let mut said = words(&[SETTINGS]);
        let mut bytes = vec![0u64; plans.len()];
        for index in order.iter().cycle() {
            if queues.iter().all(|queue| queue.len() == 0) {
                break;
            }
            let nth = index.index(queues.len());
            if let Some(part) = queues[nth].next() {
                bytes[nth] += part.len() as u64;
                said.extend(part);
                say(&Said::Ping, &mut said);
            } else if let Some(queue) = queues.iter().position(|queue| queue.len() > 0) {
                let part = queues[queue].next().unwrap();
                bytes[queue] += part.len() as u64;
                said.extend(part);
            }
        }
        let mut ends: Vec<_> = cuts.iter().map(|cut| cut.index(said.len())).collect();
        ends.push(said.len());
        ends.sort_unstable();
        let every_byte: Vec<_> = (0..=said.len()).collect();
        for ends in [ends, vec![said.len()], every_byte] {
            let mut client = Client::new(0);
            let places: Vec<_> = plans.iter().map(|_| client.send()).collect();
            let mut begin = 0;
            for end in ends {
                client.hear(&said[begin..end]).unwrap();
                begin = end;
            }
            client.outcomes.sort_by_key(|(stream, _)| *stream);
            let expected: Vec<_> = plans.iter().zip(&bytes).zip(0..).map(|((plan, bytes), nth)| {
                let response = Response { status: plan.status, bytes: *bytes, reusable: true };
                (2 * nth + 1, Outcome::Response(response))
            }).collect();
            prop_assert_eq!(&client.outcomes, &expected);
            for (plan, place) in plans.iter().zip(places) {
                prop_assert_eq!(&client.bodies[place as usize], &plan.body());
            }
        }
    }
}

#[test]
fn a_request_is_what_a_server_expects() {
    let (mut client, mut peer) = (Client::new(20_000), Peer::default());
    client.hear(&words(&[Said::Settings { streams: Some(3), window: Some(1 << 20) }])).unwrap();
    assert!(client.session.is_ready());
    assert_eq!(client.session.capacity(), 3);
    client.send();
    let asked = client.asked(&mut peer);
    let Asked::Head { stream: 1, block_bytes, ends: false } = asked[3] else { panic!("{asked:?}") };
    assert!(block_bytes < 70, "{block_bytes}");
    let rest = [(16_384, false), (3_616, true)];
    let rest = rest.map(|(bytes, ends)| Asked::Body { stream: 1, bytes, messages: 0, ends });
    let more = 0x7fff_ffff - 65_535;
    let greeting = [
        Asked::Settings { window: 0x7fff_ffff },
        Asked::Window { stream: 0, more },
        Asked::Acknowledged,
    ];
    assert_eq!((&asked[..3], &asked[4..]), (&greeting[..], &rest[..]));
}

/// The window of the connection is 65,535 bytes, that of each stream 100.
#[test]
fn a_body_leaves_as_windows_open() {
    let (mut client, mut peer) = (Client::new(250), Peer::default());
    client.hear(&words(&[Said::Settings { streams: None, window: Some(100) }])).unwrap();
    client.send();
    let bodies = |asked: Vec<Asked>| {
        let body = |asked: Asked| match asked {
            Asked::Body { bytes, ends, .. } => Some((bytes, ends)),
            _ => None,
        };
        asked.into_iter().filter_map(body).collect::<Vec<_>>()
    };
    assert_eq!(bodies(client.asked(&mut peer)), [(100, false)]);
    assert_eq!(client.session.held_bytes(), 150);
    client.hear(&words(&[Said::Window { stream: 1, more: 30 }])).unwrap();
    assert_eq!(bodies(client.asked(&mut peer)), [(30, false)]);
    // Less than what was used already: it is owed first.
    client.hear(&words(&[Said::Settings { streams: None, window: Some(50) }])).unwrap();
    client.hear(&words(&[Said::Window { stream: 1, more: 60 }])).unwrap();
    assert_eq!(bodies(client.asked(&mut peer)), [(10, false)]);
    client.hear(&words(&[Said::Window { stream: 1, more: 1000 }])).unwrap();
    assert_eq!(bodies(client.asked(&mut peer)), [(110, true)]);
    // A response before the end of the request: the rest is not sent.
    client.send();
    let said = [head(3, 413, Ends::Yes), Said::Reset { stream: 3, code: 0 }];
    client.hear(&words(&said)).unwrap();
    let asked = client.asked(&mut peer);
    assert_eq!(asked.last(), Some(&Asked::Reset { stream: 3, code: 8 }), "{asked:?}");
    assert_eq!((client.session.held_bytes(), client.session.take_dropped()), (0, 200));
}

/// What one send cannot take waits for the next one, and not for the server.
#[test]
fn only_a_window_of_the_server_holds_a_body_back() {
    for (window, held) in [(1 << 20, 0), (1000, 1)] {
        let mut client = Client::new(200_000);
        let windows = [
            Said::Settings { streams: None, window: Some(window) },
            Said::Window { stream: 0, more: 1 << 20 },
        ];
        client.hear(&words(&windows)).unwrap();
        client.send();
        assert!(client.session.held_bytes() > 100_000, "{window}");
        assert_eq!(client.session.held(), held, "{window}");
    }
}

#[test]
fn requests_that_a_server_leaves_behind_are_refused() {
    let mut client = Client::new(0);
    (0..4).for_each(|_| _ = client.send());
    let goaway = |last| Said::Goaway { last, code: 0 };
    client.hear(&words(&[SETTINGS, goaway(0x7fff_ffff), head(1, 200, Ends::No)])).unwrap();
    assert!(client.session.is_leaving() && client.session.capacity() == 0);
    assert_eq!(client.outcomes, [], "a warning that it will leave");
    client.hear(&words(&[goaway(3)])).unwrap();
    let refused: Vec<_> = client.outcomes.drain(..).collect();
    assert_eq!(refused, [(5, Outcome::Refused), (7, Outcome::Refused)]);
    let reset = |stream, code| Said::Reset { stream, code };
    client.hear(&words(&[body(1, b"hi", Ends::Yes), reset(3, 7), reset(5, 8)])).unwrap();
    let last: Vec<_> = client.outcomes.iter().map(|(stream, _)| *stream).collect();
    assert_eq!((last, client.outcomes[1].1), (vec![1, 3], Outcome::Refused));
}

#[test]
fn a_stream_that_is_reset_is_given_up_and_a_cancelled_one_is_forgotten() {
    let (mut client, mut peer) = (Client::new(0), Peer::default());
    let places: Vec<_> = (0..3).map(|_| client.send()).collect();
    client.hear(&words(&[SETTINGS, Said::Reset { stream: 1, code: 2 }])).unwrap();
    assert_eq!(client.outcomes, [(1, Outcome::Abandoned)]);
    // In the middle of its frame.
    let whole = words(&[body(3, b"0123456789", Ends::No), body(3, b"more", Ends::Yes)]);
    client.hear(&words(&[head(3, 200, Ends::No)])).unwrap();
    client.hear(&whole[..12]).unwrap();
    client.session.cancel(places[1]);
    client.hear(&whole[12..]).unwrap();
    client.hear(&words(&[head(5, 200, Ends::Yes)])).unwrap();
    assert_eq!(client.outcomes.len(), 2, "{:?}", client.outcomes);
    let asked = client.asked(&mut peer);
    assert_eq!(asked.last(), Some(&Asked::Reset { stream: 3, code: 8 }), "{asked:?}");
}

#[test]
fn responses_without_a_body_end_with_their_head() {
    for (status, expect, fault) in [
        (204, Expect::Body, ProtocolError::NoContentBody),
        (304, Expect::Body, ProtocolError::NoContentBody),
        (200, Expect::HeadOnly, ProtocolError::HeadBody),
    ] {
        let fields = &[("content-length", "5")];
        let head = |stream, ends| {
            let status = Some(status);
            words(&[Said::Head { stream, status, fields, ends, form: Form::Whole }])
        };
        let mut client = Client::new(0);
        client.expect = expect;
        (0..3).for_each(|_| _ = client.send());
        client.hear(&words(&[SETTINGS])).unwrap();
        client.hear(&head(1, Ends::Yes)).unwrap();
        client.hear(&head(3, Ends::No)).unwrap();
        client.hear(&words(&[body(3, b"", Ends::Yes)])).unwrap();
        assert_eq!(client.outcomes.len(), 2, "{status}");
        client.hear(&head(5, Ends::No)).unwrap();
        assert_eq!(client.hear(&words(&[body(5, b"x", Ends::Yes)])), Err(fault), "{status}");
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

#[test]
fn what_breaks_a_rule_is_named() {
    use ProtocolError::{
        BadFrame, BadHeader, BadHeaderBlock, BadStatus, HeadTooLong, LongBody, NotHttp2,
    };
    let ok = words(&[SETTINGS]);
    let after = |more: Vec<u8>| [&ok[..], &more].concat();
    let short = &[("content-length", "5")];
    let short = Said::Head {
        stream: 1,
        status: Some(200),
        fields: short,
        ends: Ends::No,
        form: Form::Whole,
    };
    // An entry of 4,000 bytes, which is named 16,000 times.
    let bomb = [&[0x88, 0x40, 1, b'x', 0x7f, 0xa1, 0x1e][..], &[b'y'; 4_000], &[0xbe; 12_000]];
    let bad = [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), NotHttp2, 1),
        (b"\x15\x03\x01\x00\x02\x02\x16 and more".to_vec(), NotHttp2, 1),
        (frame(6, 0, 0, &[0; 8]), NotHttp2, 1),
        (after(frame(6, 0, 1, &[0; 8])), BadFrame, 1),
        (after(frame(6, 0, 0, &[0; 7])), BadFrame, 6),
        (after(frame(4, 0, 0, &[0; 5])), BadFrame, 6),
        (after(frame(4, 1, 0, &[0; 6])), BadFrame, 6),
        (after(frame(4, 0, 0, &[0, 4, 0xff, 0, 0, 0])), BadFrame, 3),
        (after(frame(4, 0, 0, &[0, 5, 0, 0, 0, 1])), BadFrame, 1),
        (after(frame(4, 0, 0, &[0, 2, 0, 0, 0, 1])), BadFrame, 1),
        (after(frame(5, 4, 1, &[0, 0, 0, 2])), BadFrame, 1),
        (after(frame(8, 0, 0, &[0; 4])), BadFrame, 1),
        (after(frame(8, 0, 0, &[0x7f, 0xff, 0xff, 0xff])), BadFrame, 3),
        (after(frame(0, 1, 1, b"body")), BadFrame, 1),
        (after(frame(0, 1, 0, b"body")), BadFrame, 1),
        (after(frame(0, 1, 99, b"body")), BadFrame, 1),
        (after(frame(1, 5, 2, b"\x88")), BadFrame, 1),
        (after(frame(9, 4, 1, b"\x88")), BadFrame, 1),
        (after([frame(1, 0, 1, b"\x88"), frame(6, 0, 0, &[0; 8])].concat()), BadFrame, 1),
        (after([frame(1, 0, 1, b"\x88"), frame(9, 4, 3, b"")].concat()), BadFrame, 1),
        (after(frame(1, 0xd, 1, b"\x09\x88")), BadFrame, 1),
        (after(frame(1, 0x25, 1, b"\x88")), BadFrame, 1),
        (after(frame(0, 0, 1, &[0; 16_385])), BadFrame, 6),
        (after(frame(1, 5, 1, b"\xbe")), BadHeaderBlock, 9),
        (after(frame(1, 5, 1, b"")), BadStatus, 1),
        (after(words(&[head(1, 101, Ends::No)])), BadStatus, 1),
        (after(words(&[head(1, 100, Ends::Yes)])), BadHeader, 1),
        (after(words(&[head(1, 200, Ends::No), head(1, 200, Ends::Yes)])), BadHeader, 1),
        (after(words(&[short, body(1, b"123456", Ends::No)])), LongBody, 1),
        (after(words(&[short, body(1, b"1234", Ends::Yes)])), LongBody, 1),
        (
            after([vec![frame(1, 0, 1, b"")], vec![frame(9, 0, 1, b""); 8_000]].concat().concat()),
            HeadTooLong,
            11,
        ),
        (after(frame(1, 5, 1, &bomb.concat())), HeadTooLong, 11),
        (after(frame(6, 0, 0, &[0; 8]).repeat(2_000)), BadFrame, 11),
        (after(frame(4, 0, 0, &[]).repeat(4_000)), BadFrame, 11),
    ];
    for (said, fault, code) in bad {
        let mut client = Client::new(0);
        (0..2).for_each(|_| _ = client.send());
        let shown = &said[..said.len().min(60)];
        assert_eq!(client.hear(&said), Err(fault), "{shown:?}");
        assert_eq!(client.left().last(), Some(&Asked::Goaway { code }), "{shown:?}");
    }
}

/// Our windows, of a usual client here: that of the connection starts with 65,535 bytes whatever we
/// say. Each is opened again when half of it is used up, and may not be overrun.
#[test]
fn windows_of_ours_are_kept_open_and_may_not_be_overrun() {
    let client = |window| {
        let mut client = Client::new(0);
        client.session = Http2::for_depth(DEPTH).with_window(Some(window));
        client.sent.clear();
        client.session.begin(&mut client.sent);
        client.hear(&words(&[SETTINGS])).unwrap();
        (0..2).for_each(|_| _ = client.send());
        client.hear(&words(&[head(1, 200, Ends::No), head(3, 200, Ends::No)])).unwrap();
        client
    };
    let part = |stream, bytes| words(&[body(stream, &vec![b'x'; bytes], Ends::No)]);
    let opened = |client: &mut Client, peer: &mut Peer| -> Vec<_> {
        let windows = client.asked(peer).into_iter().filter_map(|asked| match asked {
            Asked::Window { stream, more } => Some((stream, more)),
            Asked::Settings { window } => Some((u32::MAX, window)),
            _ => None,
        });
        windows.collect()
    };
    let (mut small, mut peer) = (client(1_000), Peer::default());
    assert_eq!(opened(&mut small, &mut peer), [(u32::MAX, 1_000)]);
    small.hear(&part(1, 499)).unwrap();
    assert_eq!(opened(&mut small, &mut peer), []);
    small.hear(&[part(1, 1), part(3, 1_000)].concat()).unwrap();
    assert_eq!(opened(&mut small, &mut peer), [(1, 500), (3, 1_000)]);
    small.hear(&words(&[body(1, &[b'x'; 501], Ends::Yes), body(3, b"", Ends::Yes)])).unwrap();
    assert_eq!(opened(&mut small, &mut peer), [], "a stream that ends needs no more");
    let mut tally = StreamTally::default();
    small.session.tell(&mut tally);
    assert_eq!(tally.long, 1, "one of 1,001 bytes, and one of 1,000");
    let (mut large, mut peer) = (client(100_000), Peer::default());
    assert_eq!(opened(&mut large, &mut peer), [(u32::MAX, 100_000), (0, 34_465)]);
    let _ = [1, 3, 1].map(|stream| large.hear(&part(stream, 16_384)).unwrap());
    assert_eq!(opened(&mut large, &mut peer), []);
    large.hear(&part(3, 16_384)).unwrap();
    assert_eq!(opened(&mut large, &mut peer), [(0, 65_536)]);
    for over in [1_001, 16_384] {
        let mut small = client(1_000);
        assert_eq!(small.hear(&part(1, over)), Err(ProtocolError::BadFrame));
        assert_eq!(small.left().last(), Some(&Asked::Goaway { code: 3 }));
    }
}

/// What concerns one stream resets that first.
#[test]
fn a_window_that_grows_too_far_ends_its_stream_and_the_connection() {
    use ProtocolError::BadFrame;
    let ok = words(&[SETTINGS]);
    let after = |more: Vec<u8>| [&ok[..], &more].concat();
    let more = [0x7f, 0xff, 0xff, 0xff];
    for (more, code) in [([0; 4], 1), (more, 3)] {
        let mut client = Client::new(0);
        client.send();
        client.hear(&after(frame(8, 0, 1, &[0, 0, 0, 1]))).unwrap();
        assert_eq!(client.hear(&frame(8, 0, 1, &more)), Err(BadFrame), "{code}");
        let said = client.left();
        let ends = [Asked::Reset { stream: 1, code }, Asked::Goaway { code }];
        assert_eq!(said[said.len() - 2..], ends, "{said:?}");
    }
    // New settings may widen the window of a stream too far.
    let mut client = Client::new(0);
    client.send();
    let widened = [
        Said::Window { stream: 1, more: 9 },
        Said::Settings { streams: None, window: Some(0x7fff_ffff) },
    ];
    assert_eq!(client.hear(&after(words(&widened))), Err(BadFrame));
    assert_eq!(client.left().last(), Some(&Asked::Goaway { code: 3 }));
    // Without a fault of the server, nothing is its fault.
    let mut client = Client::new(0);
    client.hear(&ok).unwrap();
    assert_eq!(client.left()[2..], [Asked::Acknowledged, Asked::Goaway { code: 0 }]);
}

#[test]
fn what_does_not_matter_is_passed_over() {
    let mut client = Client::new(0);
    client.send();
    let said = [
        words(&[SETTINGS, Said::Unknown { stream: 0 }, Said::Unknown { stream: 9 }]),
        frame(2, 0, 5, &[0; 5]),
        frame(4, 0, 0, &[0x77, 0x77, 0, 0, 0, 1]),
        frame(6, 1, 0, &[0; 8]),
        words(&[Said::Acknowledged, head(1, 200, Ends::Yes)]),
        // The stream is closed, and the server did not know.
        words(&[Said::Window { stream: 1, more: 5 }, Said::Reset { stream: 1, code: 0 }]),
    ];
    client.hear(&said.concat()).unwrap();
    assert_eq!(client.outcomes.len(), 1);
}

#[test]
fn a_request_that_http2_cannot_have_is_refused() {
    let with = |name: &str, value: &str| Request {
        headers: vec![(name.to_string(), value.to_string())],
        ..request(0)
    };
    for (name, value) in [("Connection", "close"), ("transfer-encoding", "chunked"), ("TE", "gzip")]
    {
        let error = Tape::http2(&[with(name, value)], Scheme::Http).unwrap_err();
        assert!(error.to_string().contains("HTTP/2 has no header"), "{error}");
    }
    for (name, value) in [("te", "trailers"), ("Host", "other.example"), ("Cookie", "a=b")] {
        Tape::http2(&[with(name, value)], Scheme::Http).unwrap();
    }
    assert!(Tape::http2(&[with("X", "a\nb")], Scheme::Http).is_err());
}

/// The first request of a connection has its header fields as text, and later ones name them. To a
/// server with a smaller table we say once, behind our acknowledgement, that we use none of it, and
/// send all of them as text; a server that does not hear it ends the connection.
#[test]
fn header_fields_that_requests_share_are_sent_once_if_the_server_keeps_them() {
    let long = Request { headers: vec![("x".to_string(), "\u{7e}".repeat(20_000))], ..request(0) };
    for (one, short) in [(request(0), 5), (long, 20_000)] {
        let mut client =
            Client { tape: Tape::http2(&[one], Scheme::Http).unwrap(), ..Client::new(0) };
        let mut next = |said: &[u8]| {
            client.hear(said).unwrap();
            client.sent.clear();
            client.send();
            client.sent.split_off(client.sent.len().min(if said.is_empty() { 0 } else { 9 }))
        };
        let first = next(&words(&[SETTINGS]));
        let later = next(&[]);
        assert!(first.len() > later.len() + 10 && (short..short * 2).contains(&(later.len() - 9)));
        assert_eq!(next(&frame(4, 0, 0, &[0, 1, 0, 0, 0x10, 0])).len(), later.len());
        for (size, told) in [([0x0f, 0xff], 1), ([0, 0], 0)] {
            let head = next(&frame(4, 0, 0, &[&[0, 1, 0, 0][..], &size].concat()));
            assert_eq!((head.len(), head[9] == 0x20), (first.len() + told, told == 1));
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            assert!(length <= 16_384, "the longest frame has room for what we say: {length}");
        }
        assert_eq!(next(&[]).len(), first.len());
    }
}

/// Its length needs three frames.
#[test]
fn a_head_longer_than_a_frame_goes_on_in_the_next() {
    let long =
        Request { headers: vec![("x-long".to_string(), "\u{7e}".repeat(40_000))], ..request(3) };
    let tape = Tape::http2(&[long], Scheme::Http).unwrap();
    let (mut session, mut sent, mut all) = (Http2::for_depth(1), Vec::new(), Vec::new());
    session.begin(&mut sent);
    session.write(tape.bytes(), tape.first(0), &mut sent);
    Peer::default().take(&sent, |asked| all.push(asked));
    let heads: Vec<_> = all.iter().filter(|asked| matches!(asked, Asked::Head { .. })).collect();
    let Asked::Head { stream: 1, block_bytes, ends: false } = heads[0] else { panic!("{all:?}") };
    assert!(*block_bytes > 40_000, "{block_bytes}");
    assert_eq!(all.last(), Some(&Asked::Body { stream: 1, bytes: 3, messages: 0, ends: true }));
}

/// The status of a call, from the response to it.
fn ended(said: &[Said<'_>]) -> CallStatus {
    let mut client = Client::new(7);
    client.expect = Expect::Call;
    client.hear(&words(&[SETTINGS])).unwrap();
    client.send();
    let whole = words(said);
    // Byte by byte it is the same.
    let mut again = Client::new(7);
    again.expect = Expect::Call;
    again.hear(&words(&[SETTINGS])).unwrap();
    again.send();
    whole.chunks(1).for_each(|byte| again.hear(byte).unwrap());
    client.hear(&whole).unwrap();
    assert_eq!(client.outcomes, again.outcomes);
    let [(1, Outcome::Response(response))] = client.outcomes[..] else {
        panic!("{:?}", client.outcomes)
    };
    CallStatus::of_number(response.status).unwrap_or_else(|| {
        assert_eq!(response.status, 200);
        CallStatus::Ok
    })
}

/// The rules of the protocol: the status is in trailers, or in a head that is the whole response;
/// without one, HTTP says what was wrong; a good one has its message.
#[test]
fn a_call_ends_with_a_status() {
    let trailers =
        |fields| Said::Head { stream: 1, status: None, fields, ends: Ends::Yes, form: Form::Whole };
    let (ok, exhausted, odd) = (
        trailers(&[("grpc-status", "0")]),
        trailers(&[("grpc-message", "full"), ("grpc-status", "8")]),
        trailers(&[("grpc-status", "x")]),
    );
    let open = head(1, 200, Ends::No);
    let short = |status, code| {
        let head = Said::Head {
            stream: 1,
            status: Some(status),
            fields: code,
            ends: Ends::Yes,
            form: Form::Whole,
        };
        ended(&[head])
    };
    let part = |bytes| body(1, bytes, Ends::No);
    assert_eq!(ended(&[open, part(MESSAGE), ok]), CallStatus::Ok);
    assert_eq!(ended(&[open, part(&MESSAGE[..3]), part(&MESSAGE[3..]), ok]), CallStatus::Ok);
    assert_eq!(ended(&[open, part(&[0; 5]), ok]), CallStatus::Ok, "an empty message");
    assert_eq!(ended(&[open, exhausted]), CallStatus::ResourceExhausted);
    assert_eq!(ended(&[open, part(MESSAGE), exhausted]), CallStatus::ResourceExhausted);
    assert_eq!(ended(&[open, part(MESSAGE), odd]), CallStatus::Unknown);
    assert_eq!(ended(&[open, part(MESSAGE), trailers(&[])]), CallStatus::Unknown);
    assert_eq!(ended(&[open, body(1, MESSAGE, Ends::Yes)]), CallStatus::Unknown, "no trailers");
    // Not one whole message.
    assert_eq!(ended(&[open, ok]), CallStatus::Internal);
    assert_eq!(ended(&[open, part(&MESSAGE[..6]), ok]), CallStatus::Internal);
    assert_eq!(ended(&[open, part(MESSAGE), part(MESSAGE), ok]), CallStatus::Internal);
    // Trailers only, and what is no response of gRPC.
    assert_eq!(short(200, &[("grpc-status", "12")]), CallStatus::Unimplemented);
    assert_eq!(short(200, &[("grpc-status", "0")]), CallStatus::Internal);
    assert_eq!(short(200, &[]), CallStatus::Unknown);
    assert_eq!(short(503, &[]), CallStatus::Unavailable);
    assert_eq!(short(404, &[]), CallStatus::Unimplemented);
    assert_eq!(short(502, &[("grpc-status", "7")]), CallStatus::PermissionDenied);
    assert_eq!(short(500, &[("grpc-status", "0")]), CallStatus::Unknown);
}

/// A client that talks: three messages of 7, 5 and 207 bytes.
fn talker() -> Client {
    let mut client = Client::new(0);
    let kind = ("Content-Type".to_string(), "application/grpc".to_string());
    let last = [&[0, 0, 0, 0, 202][..], &[b'm'; 202]].concat();
    let body = [MESSAGE, &[0; 5], &last].concat();
    let (replies, headers, method) = (Replies::Each, vec![kind], "POST".to_string());
    let call = Request { body, replies, headers, method, ..request(0) };
    client.tape = Tape::http2(&[call], Scheme::Http).unwrap();
    client.expect = client.tape.expect(0);
    assert_eq!(client.expect, Expect::Conversation);
    client
}

/// A message, with its prefix.
const MESSAGE: &[u8] = &[0, 0, 0, 0, 2, 8, 1];

const OK: Said<'_> = Said::Head {
    stream: 1,
    status: None,
    fields: &[("grpc-status", "0")],
    ends: Ends::Yes,
    form: Form::Whole,
};

/// What a talker sent besides control frames: bytes and messages of its bodies, and resets.
fn talk(client: &mut Client, peer: &mut Peer) -> Vec<(u32, u32, bool)> {
    let talk = |asked: Asked| match asked {
        Asked::Body { bytes, messages, ends, .. } => Some((bytes, messages, ends)),
        Asked::Reset { code, .. } => Some((0, code, true)),
        _ => None,
    };
    client.asked(peer).into_iter().filter_map(talk).collect()
}

/// Each message waits for the reply to the one before it, and then for the window.
#[test]
fn a_conversation_takes_turns() {
    let (mut client, mut peer) = (talker(), Peer::default());
    client.hear(&words(&[Said::Settings { streams: None, window: Some(112) }])).unwrap();
    client.send();
    assert!(client.sent.ends_with(&frame(0, 0, 1, MESSAGE)), "without a mark of ours: its flags");
    assert_eq!(talk(&mut client, &mut peer), [(7, 1, false)]);
    assert_eq!(client.session.held_bytes(), 2 * 9 + 5 + 207);
    let reply = |part| words(&[body(1, part, Ends::No)]);
    client.hear(&words(&[head(1, 200, Ends::No), body(1, &MESSAGE[..6], Ends::No)])).unwrap();
    assert_eq!(talk(&mut client, &mut peer), [], "half a reply");
    client.hear(&reply(&MESSAGE[6..])).unwrap();
    let count = |came, answered, due| MessageCount { came, answered, due };
    assert_eq!(client.session.take_messages(), count(1, 1, 1));
    assert_eq!(talk(&mut client, &mut peer), [(5, 1, false)]);
    client.hear(&reply(MESSAGE)).unwrap();
    assert_eq!(client.session.take_messages(), count(1, 1, 1));
    assert_eq!(talk(&mut client, &mut peer), [(100, 0, false)]);
    assert_eq!(client.session.held(), 1, "the window");
    client.hear(&words(&[Said::Window { stream: 1, more: 200 }])).unwrap();
    assert_eq!(talk(&mut client, &mut peer), [(107, 1, true)]);
    client.hear(&reply(MESSAGE)).unwrap();
    assert_eq!(client.session.take_messages(), count(1, 1, 0));
    assert_eq!((client.session.held_bytes(), client.session.held()), (0, 0));
    client.hear(&words(&[OK])).unwrap();
    let [(1, Outcome::Response(response))] = client.outcomes[..] else { panic!() };
    assert_eq!(response.status, 200);
    assert_eq!((talk(&mut client, &mut peer), client.session.take_dropped()), (vec![], 0));
}

/// Its stream ends with an empty DATA frame, which no window holds back.
#[test]
fn a_call_without_a_message_ends_its_stream() {
    let (mut client, mut peer) = (talker(), Peer::default());
    let headers = vec![("Content-Type".to_string(), "application/grpc".to_string())];
    let call = Request { replies: Replies::Each, headers, ..request(0) };
    client.tape = Tape::http2(&[call], Scheme::Http).unwrap();
    assert_eq!(client.tape.expect(0), Expect::Stream);
    client.hear(&words(&[Said::Settings { streams: None, window: Some(0) }])).unwrap();
    client.send();
    let asked = client.asked(&mut peer);
    assert!(matches!(asked[3], Asked::Head { stream: 1, ends: false, .. }), "{asked:?}");
    let end = Asked::Body { stream: 1, bytes: 0, messages: 0, ends: true };
    assert_eq!(asked.last(), Some(&end));
    assert_eq!((client.session.held(), client.session.held_bytes()), (0, 0));
}

/// Fewer replies than messages, or more: it has failed, and what was not sent is forgotten.
#[test]
fn replies_that_do_not_fit_end_a_conversation() {
    let twice = [MESSAGE, MESSAGE].concat();
    for (said, talked, dropped) in [
        (&[body(1, MESSAGE, Ends::No), OK][..], &[(5, 1, false), (0, 8, true)][..], 9 + 207),
        (&[OK], &[(0, 8, true)], 2 * 9 + 5 + 207),
        (&[body(1, &twice, Ends::No)], &[(0, 8, true)], 2 * 9 + 5 + 207),
        (&[body(1, &[&*twice, MESSAGE].concat(), Ends::No), OK], &[(0, 8, true)], 230),
    ] {
        let (mut client, mut peer) = (talker(), Peer::default());
        client.hear(&words(&[SETTINGS])).unwrap();
        client.send();
        assert_eq!(talk(&mut client, &mut peer), [(7, 1, false)]);
        client.hear(&words(&[head(1, 200, Ends::No)])).unwrap();
        let mut all = Vec::new();
        for one in said {
            client.hear(&words(&[*one])).unwrap();
            all.extend(talk(&mut client, &mut peer));
        }
        let [(1, Outcome::Response(response))] = client.outcomes[..] else {
            panic!("{said:?}: {:?}", client.outcomes)
        };
        assert_eq!(response.status, CallStatus::Internal.number(), "{said:?}");
        assert_eq!((&*all, client.session.take_dropped()), (talked, dropped), "{said:?}");
        assert_eq!(client.session.held_bytes(), 0, "{said:?}");
    }
    let (mut client, mut peer) = (talker(), Peer::default());
    client.hear(&words(&[SETTINGS])).unwrap();
    let place = client.send();
    client.hear(&words(&[head(1, 200, Ends::No), body(1, MESSAGE, Ends::No)])).unwrap();
    client.session.cancel(place);
    assert_eq!(talk(&mut client, &mut peer), [(7, 1, false), (0, 8, true)]);
    assert_eq!((client.session.held_bytes(), client.session.take_dropped()), (0, 230));
}

/// A call is a POST with its own headers, and without a length.
#[test]
fn a_call_has_no_length() {
    let kind = ("Content-Type".to_string(), "application/grpc".to_string());
    let call = Request { headers: vec![kind], ..request(7) };
    let with = Tape::http2(&[request(7)], Scheme::Http).unwrap();
    let without = Tape::http2(&[call], Scheme::Http).unwrap();
    let length: &[u8] = &[0x5c, 1, b'7'];
    let has = |tape: &Tape| tape.bytes().windows(3).any(|field| field == length);
    assert!(has(&with) && !has(&without));
    assert_eq!((with.expect(0), without.expect(0)), (Expect::Body, Expect::Call));
}
