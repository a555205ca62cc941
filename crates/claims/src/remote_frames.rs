//! Whatever arrives at either end of the line to a probe, in any split, never causes a panic, and
//! an accepted message means the same when it is sent again.

use remote::{FROM_PROBE_BYTES_MAX, Frames, FromProbe, TO_PROBE_BYTES_MAX, ToProbe, hello_version};

/// Panics if a property does not hold.
pub fn hold(bytes: &[u8]) {
    let Some((piece, stream)) = bytes.split_first() else { return };
    let piece = usize::from(*piece).max(1);
    let mut to_probe = Frames::new(TO_PROBE_BYTES_MAX);
    let mut from_probe = Frames::new(FROM_PROBE_BYTES_MAX);
    'pieces: for piece in stream.chunks(piece) {
        to_probe.add(piece);
        loop {
            match to_probe.next_bytes() {
                Ok(Some(message)) => {
                    assert!(message.len() <= TO_PROBE_BYTES_MAX);
                    let _ = hello_version(&message);
                }
                Ok(None) => break,
                Err(_) => break 'pieces,
            }
        }
    }
    for piece in stream.chunks(piece) {
        from_probe.add(piece);
        while let Ok(Some(_)) = from_probe.next_message::<FromProbe>() {}
    }
    if let Ok(message) = serde_json::from_slice::<ToProbe>(stream) {
        let again = serde_json::to_vec(&message).expect("a message has a JSON form");
        assert_eq!(serde_json::from_slice::<ToProbe>(&again).expect("our own JSON"), message);
    }
}
