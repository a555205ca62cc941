//! Every byte read from a socket belongs to an answer, within two per cent.
//!
//! Bytes that came while nothing was asked are counted by themselves: empty lines after a response
//! are passed over, and for anything else the connection is closed and counted as unsolicited.
//! Bytes of answers that were cut off or came too late are read and belong to none; many of them,
//! or a parser that loses its place, break this.

use super::Outcome;
use crate::case::Case;
use model::units::show_bytes;

const BOUND: &str = "at most 2 % apart";

pub fn check(case: &Case<'_>) -> Outcome {
    let point = case.point;
    let stray = point.client_loop.stray_bytes;
    let read = point.client_loop.socket_bytes.saturating_sub(stray);
    if read == 0 {
        return Outcome::unchecked(BOUND, "no bytes were read");
    }
    let in_answers = point.bytes.received + point.unmeasured.bytes_received;
    let apart = (in_answers as f64 - read as f64).abs() / read as f64;
    let (in_answers, read) = (show_bytes(in_answers as f64), show_bytes(read as f64));
    let mut why = format!("{in_answers} in answers, {read} read from sockets");
    if stray > 0 {
        why += &format!(", and {} that nothing had asked for", show_bytes(stray as f64));
    }
    Outcome {
        ok: Some(apart <= 0.02),
        measured: Some(apart * 100.0),
        bound: BOUND.to_string(),
        why,
    }
}
