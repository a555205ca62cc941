//! Streams of events: what counts as an event, however the bytes are cut.

use proptest::prelude::*;
use wire::session::StreamEvent;
use wire::sse::Sse;

/// The events of a stream that arrives in pieces of at most this many bytes.
fn events(stream: &[u8], piece_max: usize) -> Vec<StreamEvent> {
    let (mut sse, mut events) = (Sse::new(), Vec::new());
    for piece in stream.chunks(piece_max.max(1)) {
        sse.receive(piece, &mut |event| events.push(event));
    }
    events
}

fn event(seq: u64, at_ns: u64) -> StreamEvent {
    StreamEvent { seq: Some(seq), at_ns: Some(at_ns) }
}

const HUB: &str =
    "id: 7\ndata: {\"post\":\"x\",\"likes\":3,\"seq\":7,\"at_ns\":1790000000000000001}";

#[test]
fn lines_end_in_any_of_three_ways() {
    for end in ["\n", "\r\n", "\r"] {
        let stream = format!("{HUB}\n\n: ping\n\nretry: 5\nevent: like\n{HUB}\n\n");
        let stream = stream.replace('\n', end);
        let wanted = vec![event(7, 1_790_000_000_000_000_001); 2];
        for piece_max in 1..=stream.len() {
            assert_eq!(events(stream.as_bytes(), piece_max), wanted, "{end:?} {piece_max}");
        }
    }
}

#[test]
fn what_the_standard_calls_an_event_is_one() {
    let none = StreamEvent::default();
    let cases: &[(&str, &[StreamEvent])] = &[
        // The examples of the standard, section 9.2.6.
        ("data: YHOO\ndata: +2\ndata: 10\n\n", &[none]),
        (": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n", &[none, none]),
        ("data\n\ndata\ndata\n\ndata:", &[none, none]),
        ("data:test\n\ndata: test\n\n", &[none, none]),
        ("\u{feff}data: {\"seq\":1}\n\n", &[StreamEvent { seq: Some(1), at_ns: None }]),
        ("x\u{feff}data: {\"seq\":1}\n\n", &[]),
        ("id: 5\n\n\n\nevent: x\n\n", &[]),
        ("data: {\"seq\":1}\n", &[]),
        ("dat: {\"seq\":1}\n\ndatas: {\"seq\":1}\n\nDATA: 1\n\n", &[]),
        // An object over several lines.
        ("data: {\"seq\"\ndata::1\ndata:}\n\n", &[StreamEvent { seq: Some(1), at_ns: None }]),
    ];
    for (stream, wanted) in cases {
        for piece_max in 1..=stream.len() {
            assert_eq!(&events(stream.as_bytes(), piece_max), wanted, "{stream:?} {piece_max}");
        }
    }
}

#[test]
fn numbers_are_those_of_the_object_itself_and_whole() {
    let seq = |seq: u64| StreamEvent { seq: Some(seq), at_ns: None };
    let none = StreamEvent::default();
    let cases = [
        ("{\"seq\":18446744073709551615}", seq(u64::MAX)),
        ("{ \"at_ns\" : 5 , \"seq\" : 0 }", event(0, 5)),
        ("{\"seq\":1,\"seq\":2}", seq(2)),
        ("{\"a\":{\"seq\":1},\"b\":[{\"seq\":2},\"seq\"],\"c\":\"\\\"seq\\\":3\"}", none),
        ("{\"a\":\"\\\\\",\"seq\":4}", seq(4)),
        ("{\"a\":[],\"seq\":4}", seq(4)),
        ("{\"s\\u0065q\":1,\"seqs\":1,\"se\":1,\"xseq\":1}", none),
        ("{\"seq\":18446744073709551616}", none),
        ("{\"seq\":1.5}", none),
        ("{\"seq\":1e3}", none),
        ("{\"seq\":-1}", none),
        ("{\"seq\":\"1\"}", none),
        ("{\"seq\":null}", none),
        ("{\"seq\":12", none),
        ("[\"seq\",1]", none),
        ("seq", none),
        ("\"seq\":1", none),
    ];
    for (data, wanted) in cases {
        let stream = format!("data: {data}\n\n");
        assert_eq!(events(stream.as_bytes(), stream.len()), [wanted], "{data}");
    }
}

proptest! {
    /// Any bytes, cut anywhere, mean the same.
    #[test]
    fn pieces_change_nothing(
        words in prop::collection::vec(prop::sample::select(vec![
            "data", ":", " ", "\n", "\r", "\r\n", "\n\n", "{", "}", "\"seq\"", "\"at_ns\"", "12",
            "\"", "\\", ",", "[", "]", "x", "\u{feff}", "data: {\"seq\":1}\n\n",
        ]), 0..60),
        piece_max in 1usize..20,
    ) {
        let stream = words.concat().into_bytes();
        let whole = events(&stream, stream.len());
        prop_assert_eq!(&whole, &events(&stream, piece_max));
        prop_assert_eq!(&whole, &events(&stream, 1));
    }

    /// Compared with a reader that keeps everything and follows the standard word by word.
    #[test]
    fn events_are_those_of_a_plain_reader(
        lines in prop::collection::vec(prop::sample::select(vec![
            "", "", "data", "data:", "data: x", "data: {\"seq\":3}", ":c", "id: 4", "event: e", "d",
        ]), 0..40),
    ) {
        let mut wanted = 0;
        let mut has_data = false;
        for line in &lines {
            match line.split_once(':').map_or(*line, |(name, _)| name) {
                "data" => has_data = true,
                "" if line.is_empty() => wanted += usize::from(std::mem::take(&mut has_data)),
                _ => {}
            }
        }
        let stream: String = lines.iter().map(|line| format!("{line}\n")).collect();
        prop_assert_eq!(events(stream.as_bytes(), 7).len(), wanted);
    }
}
