//! Any split of any bytes means the same, with and without learned shapes.

use arbitrary::{Arbitrary, Unstructured};
use wire::Shapes;
use wire::http1::Http1;
use wire::response::{Expect, Outcome, ProtocolError, Response};
use wire::session::{Session, Witness};

/// Keeps bodies, one after the other.
#[derive(Default)]
struct Bodies(Vec<u8>);

impl Witness for Bodies {
    fn body(&mut self, piece: &[u8]) {
        self.0.extend_from_slice(piece);
    }
}

/// The responses, and all bytes of their bodies.
fn responses(
    input: &[u8],
    piece_max: usize,
    expect: Expect,
    shapes: &mut Shapes,
) -> Result<(Vec<Response>, Vec<u8>), ProtocolError> {
    let mut session = Http1::new();
    let (mut responses, mut bodies) = (Vec::new(), Bodies::default());
    for piece in input.chunks(piece_max) {
        let mut piece = piece;
        while !piece.is_empty() {
            let outcome = session.receive(&mut piece, expect, shapes, &mut bodies)?;
            responses.extend(outcome.and_then(Outcome::response));
        }
    }
    responses.extend(session.end()?);
    Ok((responses, bodies.0))
}

/// Panics if a property does not hold.
pub fn hold(bytes: &[u8]) {
    let input = <(u8, &[u8])>::arbitrary_take_rest(Unstructured::new(bytes));
    let Ok((choice, bytes)) = input else { return };
    if bytes.is_empty() {
        return;
    }
    let expect = if choice & 1 == 0 { Expect::Body } else { Expect::HeadOnly };
    let piece_max = usize::from(choice >> 1) + 1;
    let mut shapes = Shapes::new();
    let whole = responses(bytes, bytes.len(), expect, &mut shapes);
    assert_eq!(whole, responses(bytes, bytes.len(), expect, &mut shapes), "learning changed it");
    assert_eq!(whole, responses(bytes, piece_max, expect, &mut shapes), "pieces changed it");
    assert_eq!(whole, responses(bytes, 1, expect, &mut Shapes::new()), "single bytes changed it");
    if let Ok((responses, bodies)) = whole {
        let total: u64 = responses.iter().map(|response| response.bytes).sum();
        // Empty lines at the end belong to none: the next response may never come.
        let blank = bytes.iter().rev().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let least = (bytes.len() - blank) as u64;
        let most = bytes.len() as u64;
        assert!((least..=most).contains(&total), "every byte belongs to a response");
        assert!(bodies.len() as u64 <= total, "bodies are parts of responses");
    }
}
