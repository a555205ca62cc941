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
//! The bytes of HTTP/2 are no text, but its status comes with the first of them. So a response is
//! followed when its header block says that it fails, one at a time, and kept as the text that
//! HTTP/1.1 would have ([`Following`]), with the trailers in the head. One that fails a check is
//! followed from its start once such a kind was missed.
//!
//! The status of a call comes with the last bytes of the response. Of the first call of a kind they
//! are kept alone, unless it was followed: a call that fails has a message in them, and seldom a
//! reply.
//!
//! Hot: for other responses only the test of [`Samples::is_following`] runs, when a response is in
//! pieces, or for each piece of one of HTTP/2.

use crate::driver::SlotId;
use model::call::CallStatus;
use model::check::Check;
use model::fault::Fault;
use model::sample::{CAUGHT_BYTES_MAX, CAUGHT_MAX, Caught, Kind, LINE_BYTES_MAX};
use model::tick::Tick;
use wire::response::{Progress, Response};
use wire::session::Witness;

/// The empty line after a head.
const END: &[u8] = b"\r\n";

/// A response: its connection, and how many responses that connection had before; in HTTP/2 the
/// place of its request instead.
pub type Place = (SlotId, u64);

/// Bytes that a followed body leaves for trailers.
const TRAILERS_BYTES: usize = 1024;

/// See the module.
#[derive(Debug)]
pub struct Samples {
    /// Kinds that were caught in this level.
    caught: Vec<Kind>,
    /// A kind was missed because its bytes were gone: responses in pieces are now followed.
    is_following: bool,
    /// The response being followed.
    followed: Option<Place>,
    /// What came of it says that it fails.
    has_failed: bool,
    /// Its bytes so far, up to the limit, and how many there were.
    pieces: Vec<u8>,
    pieces_bytes: u64,
    /// Where in the text the body begins, once it has.
    body: Option<usize>,
}

/// Sees a response of HTTP/2 as it arrives, and keeps its text if it is followed.
pub struct Following<'a> {
    /// Where it is kept.
    pub samples: &'a mut Samples,
    /// Which response it is.
    pub place: Place,
}

impl Witness for Following<'_> {
    #[inline]
    fn block(&mut self, status: u16, block: &[u8]) {
        if status >= 300 || self.samples.is_following || self.samples.followed == Some(self.place) {
            self.samples.spell(self.place, status, block);
        }
    }

    #[inline]
    fn body(&mut self, piece: &[u8]) {
        if self.samples.followed == Some(self.place) {
            self.samples.text(piece);
        }
    }
}

impl Samples {
    /// Takes all memory it will ever need.
    pub fn new() -> Self {
        Self {
            caught: Vec::with_capacity(CAUGHT_MAX),
            is_following: false,
            followed: None,
            has_failed: false,
            pieces: Vec::with_capacity(CAUGHT_BYTES_MAX),
            pieces_bytes: 0,
            body: None,
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
        (self.has_failed, self.body) = (false, None);
    }

    /// A header block of a response came; `status` is what it says of the status.
    #[cold]
    fn spell(&mut self, place: Place, status: u16, block: &[u8]) {
        let has_failed = status >= 300 && self.is_sought(status);
        // Neither an interim response nor trailers that say nothing of it begin a response.
        let may_begin = match self.followed {
            Some(followed) if followed == place => !(100..200).contains(&status),
            // What is followed in case that it fails gives way.
            Some(_) => has_failed && !self.has_failed,
            None => has_failed || status >= 200 && self.is_following,
        };
        if !may_begin {
            return;
        }
        if self.followed != Some(place) {
            self.forget();
        }
        (self.followed, self.has_failed) = (Some(place), self.has_failed || has_failed);
        let (before, pieces) = (self.pieces.len(), &mut self.pieces);
        let mut put = |byte| {
            if pieces.len() < CAUGHT_BYTES_MAX {
                pieces.push(byte);
            }
        };
        let hidden = wire::http2::spell(block, &mut put);
        if hidden > 0 {
            let line: &[u8] = b"(fields that came earlier on the connection are not shown)\r\n";
            line.iter().for_each(|byte| put(*byte));
        }
        if let Some(body) = &mut self.body {
            // Trailers go to the end of the head, before its empty line.
            self.pieces[*body - END.len()..].rotate_left(before - (*body - END.len()));
            *body += self.pieces.len() - before;
        }
    }

    /// A piece of the body of the followed response came.
    #[cold]
    fn text(&mut self, piece: &[u8]) {
        self.end_head();
        let room = (CAUGHT_BYTES_MAX - TRAILERS_BYTES).saturating_sub(self.pieces.len());
        self.pieces.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    /// The followed response has no more than its body.
    fn end_head(&mut self) {
        if self.body.is_none() {
            self.pieces.truncate(CAUGHT_BYTES_MAX - END.len());
            self.pieces.extend_from_slice(END);
            self.body = Some(self.pieces.len());
        }
    }

    /// A response is over, or given up.
    #[inline]
    pub fn done(&mut self, place: Place) {
        if self.followed == Some(place) {
            self.forget();
        }
    }

    /// A response of HTTP/2 is not both good and of status 200. It is kept when it is the first of
    /// its kind and was followed.
    #[cold]
    pub fn catch_text(
        &mut self,
        tick: &mut Tick,
        (place, at_ns): (Place, u64),
        (response, check): (Response, Option<Check>),
        asked: u32,
    ) {
        let kind = (response.status, check, None);
        if !self.is_wanted(kind) || tick.caught.len() == tick.caught.capacity() {
            return self.done(place);
        }
        if self.followed != Some(place) {
            // What no block tells is followed from its start when it occurs again: a failed check,
            // or a call without its message.
            let is_call = CallStatus::of_number(response.status).is_some();
            self.is_following |= check.is_some() || is_call;
            return;
        }
        self.is_following = false;
        self.end_head();
        let mut caught = Caught::new(kind, at_ns, response.bytes);
        caught.asked = Some(asked);
        caught.append(&self.pieces);
        self.forget();
        self.caught.push(kind);
        tick.caught.push(caught);
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

    /// Whether the text of a response that fails is wanted, by what a block says of its status.
    fn is_sought(&self, status: u16) -> bool {
        // It is that of HTTP also for a call, if no other came.
        let of_call = CallStatus::of_http(status).number();
        [status, of_call].into_iter().all(|status| self.is_wanted((status, None, None)))
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
    use wire::http2::{Ends, Form, Said, say};

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

    fn see(samples: &mut Samples, place: Place, status: u16, fields: &[(&str, &str)]) {
        let mut frame = Vec::new();
        let (ends, form) = (Ends::No, Form::Whole);
        say(&Said::Head { stream: 1, status: Some(status), fields, ends, form }, &mut frame);
        Following { samples, place }.block(status, &frame[9..]);
    }

    fn hear(samples: &mut Samples, place: Place, piece: &[u8]) {
        Following { samples, place }.body(piece);
    }

    #[test]
    fn a_response_of_http2_is_kept_as_text_when_its_status_says_that_it_fails() {
        let (mut samples, mut tick) = (Samples::new(), tick());
        see(&mut samples, (3, 0), 503, &[("retry-after", "5")]);
        see(&mut samples, (3, 1), 500, &[]);
        hear(&mut samples, (3, 1), b"of another one");
        hear(&mut samples, (3, 0), b"bu");
        hear(&mut samples, (3, 0), b"sy");
        samples.catch_text(&mut tick, ((3, 1), 10), (response(500), None), 7);
        samples.catch_text(&mut tick, ((3, 0), 20), (response(503), None), 7);
        // The next of the kind that was missed, and a second one of the other.
        see(&mut samples, (4, 0), 503, &[]);
        samples.done((4, 0));
        see(&mut samples, (4, 1), 500, &[]);
        samples.catch_text(&mut tick, ((4, 1), 30), (response(500), None), 7);
        let kept: Vec<_> = tick.caught.iter().map(|caught| caught.bytes()).collect();
        let text: &[u8] = b"HTTP/2 503\r\nretry-after: 5\r\n\r\nbusy";
        assert_eq!(kept, [text, b"HTTP/2 500\r\n\r\n"]);
        assert_eq!(tick.caught[0].total_bytes, 77);
    }

    #[test]
    fn a_response_of_http2_that_fails_a_check_is_kept_when_the_next_comes() {
        let (mut samples, mut tick) = (Samples::new(), tick());
        let failed = (response(200), Some(Check::Body));
        see(&mut samples, (3, 0), 200, &[]);
        samples.catch_text(&mut tick, ((3, 0), 10), failed, 7);
        assert!(tick.caught.is_empty());
        see(&mut samples, (3, 1), 200, &[("x-a", "b")]);
        hear(&mut samples, (3, 1), b"wrong");
        samples.catch_text(&mut tick, ((3, 1), 20), failed, 7);
        assert_eq!(tick.caught[0].bytes(), b"HTTP/2 200\r\nx-a: b\r\n\r\nwrong");
        see(&mut samples, (3, 0), 200, &[]);
        assert_eq!(samples.followed, None, "nothing is missed any more");
    }

    fn end(samples: &mut Samples, place: Place, fields: &[(&str, &str)], status: u16) {
        let mut frame = Vec::new();
        let (ends, form) = (Ends::Yes, Form::Whole);
        say(&Said::Head { stream: 1, status: None, fields, ends, form }, &mut frame);
        Following { samples, place }.block(status, &frame[9..]);
    }

    #[test]
    fn of_the_first_call_that_fails_the_trailers_are_kept_and_of_one_that_is_followed_all() {
        let (mut samples, mut tick) = (Samples::new(), tick());
        let full = CallStatus::ResourceExhausted.number();
        let trailers = [("grpc-status", "8"), ("grpc-message", "full")];
        see(&mut samples, (3, 0), 200, &[("x-a", "b")]);
        hear(&mut samples, (3, 0), b"a reply");
        end(&mut samples, (3, 0), &trailers, full);
        samples.catch_text(&mut tick, ((3, 0), 10), (response(full), None), 7);
        // Trailers of a call without its message do not tell, so the next one is followed.
        let lacks = (response(CallStatus::Internal.number()), None);
        samples.catch_text(&mut tick, ((3, 1), 20), lacks, 7);
        see(&mut samples, (3, 0), 200, &[("x-a", "b")]);
        hear(&mut samples, (3, 0), &[b'x'; 2 * CAUGHT_BYTES_MAX]);
        end(&mut samples, (3, 0), &[("grpc-status", "0"), ("x-sum", "1")], 0);
        samples.catch_text(&mut tick, ((3, 0), 30), lacks, 9);
        let kept: Vec<_> = tick.caught.iter().map(Caught::parts).collect();
        assert_eq!(kept[0], (&b"grpc-status: 8\r\ngrpc-message: full"[..], Some(&b""[..])));
        let head: &[u8] = b"HTTP/2 200\r\nx-a: b\r\ngrpc-status: 0\r\nx-sum: 1";
        assert_eq!(kept[1].0, head);
        let body = kept[1].1.unwrap();
        assert!(body.len() > 2000 && body.iter().all(|byte| *byte == b'x'), "{}", body.len());
        assert_eq!(tick.caught.iter().map(|one| one.asked).collect::<Vec<_>>(), [Some(7), Some(9)]);
    }

    #[test]
    fn what_is_followed_in_case_that_it_fails_gives_way_to_what_fails() {
        let (mut samples, mut tick) = (Samples::new(), tick());
        samples.catch_text(&mut tick, ((3, 0), 10), (response(200), Some(Check::Body)), 7);
        see(&mut samples, (3, 0), 200, &[]);
        see(&mut samples, (3, 1), 503, &[]);
        see(&mut samples, (3, 2), 500, &[]);
        samples.catch_text(&mut tick, ((3, 1), 20), (response(503), None), 7);
        let kept: Vec<_> = tick.caught.iter().map(|caught| caught.bytes()).collect();
        assert_eq!(kept, [b"HTTP/2 503\r\n\r\n"]);
    }

    fn response(status: u16) -> Response {
        Response { status, bytes: 77, reusable: true }
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
