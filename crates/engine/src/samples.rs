//! The first response of each kind that a user may want to read: failures and redirects.
//!
//! For: statuses and checks that failed, status 3xx, and bytes that are no response. One of each
//! kind per worker and level goes along with the current tick.
//! In: the bytes of those responses, and the first pieces of responses that arrive in pieces.
//! Out: entries of [`Tick::caught`], which has memory for them from the start.
//! Never: bytes of any other response; parsing (the control plane does that).
//!
//! A response that arrives whole is copied at once. When a response arrives in pieces, its first
//! pieces are gone by the time its status is known. So from then on responses in pieces are
//! followed, one connection at a time, until one of the missed kind is complete.
//!
//! Hot: for other responses only the test of [`Samples::is_following`] runs, when a response is in
//! pieces.

use crate::driver::SlotId;
use model::check::Check;
use model::fault::Fault;
use model::sample::{CAUGHT_BYTES_MAX, CAUGHT_MAX, Caught, Kind, LINE_BYTES_MAX};
use model::tick::Tick;
use wire::response::{Progress, Response};

/// A response: its connection, and how many responses that connection had before.
pub type Place = (SlotId, u64);

/// See the module.
#[derive(Debug)]
pub struct Samples {
    /// Kinds that were caught in this level.
    caught: Vec<Kind>,
    /// A kind was missed because its bytes were gone: responses in pieces are now followed.
    is_following: bool,
    /// The response being followed.
    followed: Option<Place>,
    /// Its bytes so far, up to the limit, and how many there were.
    pieces: Vec<u8>,
    pieces_bytes: u64,
}

impl Samples {
    /// Takes all memory it will ever need.
    pub fn new() -> Self {
        Self {
            caught: Vec::with_capacity(CAUGHT_MAX),
            is_following: false,
            followed: None,
            pieces: Vec::with_capacity(CAUGHT_BYTES_MAX),
            pieces_bytes: 0,
        }
    }

    /// Starts a level: every kind is new again.
    pub fn begin(&mut self) {
        self.caught.clear();
        self.is_following = false;
        self.forget();
    }

    /// Whether [`Samples::piece`] must see responses in pieces.
    #[inline]
    pub fn is_following(&self) -> bool {
        self.is_following
    }

    /// A read ended inside a response; `bytes` are the bytes of that response in the read.
    #[cold]
    pub fn piece(&mut self, place: Place, bytes: &[u8]) {
        if self.followed.is_some_and(|followed| followed.0 == place.0 && followed != place) {
            self.forget();
        }
        if *self.followed.get_or_insert(place) == place {
            let room = CAUGHT_BYTES_MAX - self.pieces.len();
            self.pieces.extend_from_slice(&bytes[..bytes.len().min(room)]);
            self.pieces_bytes += bytes.len() as u64;
        }
    }

    /// A connection is no longer usable.
    pub fn leave(&mut self, slot: SlotId) {
        if self.followed.is_some_and(|followed| followed.0 == slot) {
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.followed = None;
        self.pieces.clear();
        self.pieces_bytes = 0;
    }

    /// A response failed, by `check` or by its status; `bytes` are those of the last read. It is
    /// kept when it is the first of its kind and all its bytes are known.
    #[cold]
    pub fn catch(
        &mut self,
        tick: &mut Tick,
        (place, at_ns): (Place, u64),
        (response, check): (Response, Option<Check>),
        bytes: &[u8],
    ) {
        let kind = (response.status, check, None);
        if !self.is_wanted(kind) {
            return self.leave(place.0);
        }
        let mut caught = Caught::new(kind, at_ns, response.bytes);
        let mut known = bytes.len() as u64;
        if self.followed == Some(place) {
            caught.append(&self.pieces);
            known += self.pieces_bytes;
        }
        caught.append(bytes);
        let is_whole = known == response.bytes;
        self.leave(place.0);
        if !is_whole || tick.caught.len() == tick.caught.capacity() {
            self.is_following = true;
            return;
        }
        // Other kinds that were missed are followed when they are missed again.
        self.is_following = false;
        self.caught.push(kind);
        tick.caught.push(caught);
    }

    fn is_wanted(&self, kind: Kind) -> bool {
        self.caught.len() < CAUGHT_MAX && !self.caught.contains(&kind)
    }

    /// A connection is given up for `fault`. `input` is what was read, up to the byte at `at` that
    /// shows it; nothing for what did not come.
    #[cold]
    pub fn fault(
        &mut self,
        tick: &mut Tick,
        at_ns: u64,
        (fault, progress): (Fault, Progress),
        (input, at): (&[u8], usize),
    ) {
        tick.faults.add(fault, 1);
        let kind = (progress.status, None, Some(fault));
        if !self.is_wanted(kind) || tick.caught.len() == tick.caught.capacity() {
            return;
        }
        let mut caught = Caught::new(kind, at_ns, progress.came_bytes);
        caught.body_bytes = progress.body_bytes;
        let mut add = |line: &[u8]| {
            if !caught.bytes().is_empty() {
                caught.append(b"\r\n");
            }
            caught.append(&line[..line.len().min(LINE_BYTES_MAX)]);
        };
        match fault {
            Fault::BadLength => lengths(&input[..at]).for_each(add),
            // It is all of the head, and by now the bytes after it may be there.
            Fault::HeadTooLong => {}
            _ => add(line_at(input, at)),
        }
        self.caught.push(kind);
        tick.caught.push(caught);
    }
}

/// The line that contains the byte at `at`, as far as it is in `input`.
fn line_at(input: &[u8], at: usize) -> &[u8] {
    let at = at.min(input.len());
    let begin = input[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |before| before + 1);
    let end = input[at..].iter().position(|byte| matches!(byte, b'\r' | b'\n'));
    input[begin..end.map_or(input.len(), |end| at + end)].trim_ascii_end()
}

/// The lines of a head that say how long the body is.
fn lengths(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_length = |line: &&[u8]| {
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        name.trim_ascii().eq_ignore_ascii_case(b"content-length")
    };
    head.split(|byte| *byte == b'\n').filter(is_length).map(<[u8]>::trim_ascii_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\n";

    fn failed(bytes: usize) -> (Response, Option<Check>) {
        (Response { status: 503, bytes: bytes as u64, reusable: true }, None)
    }

    fn tick() -> Tick {
        Tick { caught: Vec::with_capacity(CAUGHT_MAX), ..Tick::default() }
    }

    #[test]
    fn the_first_of_each_kind_is_kept() {
        let (mut samples, mut tick) = (Samples::new(), tick());
        let whole = [HEAD, b"busy"].concat();
        samples.catch(&mut tick, ((3, 0), 10), failed(whole.len()), &whole);
        samples.catch(&mut tick, ((3, 0), 20), failed(whole.len()), &whole);
        let (response, _) = failed(whole.len());
        samples.catch(&mut tick, ((3, 0), 30), (response, Some(Check::Body)), &whole);
        let kept: Vec<_> = tick.caught.iter().map(|c| (c.at_ns, c.check, c.bytes())).collect();
        assert_eq!(kept, [(10, None, &whole[..]), (30, Some(Check::Body), &whole[..])]);
        assert!(!samples.is_following());
        tick.caught.clear();
        samples.begin();
        samples.catch(&mut tick, ((3, 0), 40), failed(whole.len()), &whole);
        assert_eq!(tick.caught.len(), 1, "a new level begins anew");
    }

    #[test]
    fn one_in_pieces_is_kept_when_the_next_comes() {
        let (mut samples, mut tick) = (Samples::new(), tick());
        let length = HEAD.len() + 4;
        samples.catch(&mut tick, ((3, 0), 10), failed(length), b"busy");
        assert!(tick.caught.is_empty() && samples.is_following());
        samples.piece((3, 0), HEAD);
        samples.piece((4, 0), b"another connection, which is not followed");
        samples.catch(&mut tick, ((4, 0), 20), failed(99), b"the end of it");
        samples.catch(&mut tick, ((3, 0), 30), failed(length), b"busy");
        let kept: Vec<_> = tick.caught.iter().map(|caught| caught.bytes()).collect();
        assert_eq!(kept, [[HEAD, b"busy"].concat()]);
        assert!(!samples.is_following(), "nothing is missed any more");
    }

    #[test]
    fn pieces_of_what_began_unseen_are_not_taken_for_a_whole() {
        let (mut samples, mut tick) = (Samples::new(), tick());
        samples.piece((3, 0), b"the middle");
        samples.catch(&mut tick, ((3, 0), 10), failed(500), b"the end");
        assert!(tick.caught.is_empty());
        samples.piece((3, 0), HEAD);
        samples.leave(3);
        samples.catch(&mut tick, ((3, 0), 20), failed(HEAD.len() + 4), b"busy");
        assert!(tick.caught.is_empty(), "what a closed connection had begun is forgotten");
    }

    #[test]
    fn kinds_and_bytes_have_a_bound() {
        let (mut samples, mut tick) = (Samples::new(), tick());
        let long = vec![b'x'; 3 * CAUGHT_BYTES_MAX];
        for status in 400..500 {
            let response = Response { status, bytes: long.len() as u64, reusable: true };
            samples.catch(&mut tick, ((3, 0), 10), (response, None), &long);
        }
        assert_eq!(tick.caught.len(), CAUGHT_MAX);
        assert!(tick.caught.iter().all(|caught| caught.bytes().len() == CAUGHT_BYTES_MAX));
        assert_eq!(tick.caught[0].total_bytes, long.len() as u64);
    }
}
