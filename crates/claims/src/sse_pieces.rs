//! Any split of any stream of events means the same, and numbers are those that serde reads.

use arbitrary::{Arbitrary, Unstructured};
use serde_json::Value;
use wire::session::StreamEvent;
use wire::sse::Sse;

fn events(stream: &[u8], piece_max: usize) -> Vec<StreamEvent> {
    let (mut sse, mut events) = (Sse::new(), Vec::new());
    for piece in stream.chunks(piece_max) {
        sse.receive(piece, &mut |event| events.push(event));
    }
    events
}

/// A member of an object, as far as serde and the session must agree: a whole number.
fn member(object: &Value, name: &str) -> Option<u64> {
    object.get(name).and_then(Value::as_u64)
}

/// A name of the object itself that is written with an escape, or twice, is read in another way on
/// purpose; so is a number such as 1.0 or -0.
fn is_plain(data: &[u8]) -> bool {
    let count = |name: &[u8]| data.windows(name.len()).filter(|part| *part == name).count();
    !data.contains(&b'\\') && !data.contains(&b'-') && count(b"seq") <= 1 && count(b"at_ns") <= 1
}

/// Ends with a panic where one of them does not hold.
pub fn hold(bytes: &[u8]) {
    let input = <(u8, &[u8])>::arbitrary_take_rest(Unstructured::new(bytes));
    let Ok(input) = input else { return };
    let (choice, bytes) = input;
    if bytes.is_empty() {
        return;
    }
    let whole = events(bytes, bytes.len());
    assert_eq!(whole, events(bytes, usize::from(choice) + 1), "pieces changed it");
    assert_eq!(whole, events(bytes, 1), "single bytes changed it");

    // These bytes as the data of one event.
    if bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r')) || !is_plain(bytes) {
        return;
    }
    if let Ok(object @ Value::Object(_)) = serde_json::from_slice::<Value>(bytes) {
        let stream = [b"data: ", bytes, b"\n\n"].concat();
        let (seq, at_ns) = (member(&object, "seq"), member(&object, "at_ns"));
        assert_eq!(
            events(&stream, stream.len()),
            [StreamEvent { seq, at_ns }],
            "not what serde reads"
        );
    }
}
