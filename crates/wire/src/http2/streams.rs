//! The streams of one connection that are in flight, each at a place that it keeps.
//!
//! A stream is looked up by its number once for each frame. Numbers follow each other, so a stream
//! is at the place of its number, modulo their count; one that is still taken by a stream that has
//! been in flight for much longer is passed over. There are twice as many places as streams, so
//! that happens rarely.
//!
//! Hot: runs for every frame.

use super::encode::PREFIX_BYTES;
use crate::response::Expect;
use crate::session::MessageCount;
use model::call::CallStatus;

/// What a connection keeps of one stream.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stream {
    /// Its identifier; 0 for a place that is free.
    pub id: u32,
    /// Status of the response; 0 until its head came.
    pub status: u16,
    /// How its body must be.
    pub body: Body,
    /// Bytes of all frames so far.
    pub bytes: u64,
    /// Bytes of the body so far.
    pub came: u64,
    /// Bytes of the names and values of the head.
    pub fields: u32,
    /// Bytes that used up our window for it since that was refilled.
    pub used: u32,
    /// The window of the peer for it, which may be less than nothing.
    pub window: i64,
    /// For a call: its status, once that came.
    pub call: Option<CallStatus>,
    /// All of the request was written.
    pub is_sent: bool,
    /// Messages of a conversation that were written.
    pub asked: u32,
    /// Where those lie on the tape that wait for a reply.
    pub waiting: (usize, usize),
    /// Whole messages so far, bytes of the prefix of the next one, and of it still to come.
    messages: u32,
    prefixed: u8,
    left: u32,
}

/// A prefix that is whole.
const PREFIXED: u8 = PREFIX_BYTES as u8;

impl Stream {
    /// Bytes of the request that wait for a reply.
    pub fn waiting_bytes(&self) -> u64 {
        let (begin, end) = self.waiting;
        (end - begin) as u64
    }

    /// Replies of a conversation came, of which each answers the message that was written last.
    pub fn hear(&mut self, piece: &[u8]) -> MessageCount {
        let answered = self.messages.min(self.asked);
        let came = self.measure(piece);
        let answered = self.messages.min(self.asked) - answered;
        let due = u32::from(answered > 0 && self.waiting_bytes() > 0);
        MessageCount { came, answered, due }
    }

    /// Whether a reply came that no message asked for.
    pub fn is_unasked(&self) -> bool {
        self.messages > self.asked
    }

    /// Notes which messages a piece of the body completes; returns how many.
    #[inline]
    pub fn measure(&mut self, piece: &[u8]) -> u32 {
        let (mut rest, before) = (piece, self.messages);
        while let Some((&byte, after)) = rest.split_first() {
            match rest.first_chunk::<PREFIX_BYTES>() {
                Some([_, length @ ..]) if self.prefixed == 0 => {
                    (self.prefixed, self.left) = (PREFIXED, u32::from_be_bytes(*length));
                    rest = &rest[PREFIX_BYTES..];
                }
                _ if self.prefixed < PREFIXED => {
                    let digit = if self.prefixed == 0 { 0 } else { u32::from(byte) };
                    (self.prefixed, self.left) = (self.prefixed + 1, self.left << 8 | digit);
                    rest = after;
                }
                _ => {}
            }
            if self.prefixed < PREFIXED {
                continue;
            }
            let take = rest.len().min(self.left as usize);
            (rest, self.left) = (&rest[take..], self.left - take as u32);
            if self.left == 0 {
                (self.prefixed, self.messages) = (0, self.messages + 1);
            }
        }
        self.messages - before
    }

    /// Whether a message has begun that is not whole.
    pub fn is_within(&self) -> bool {
        self.prefixed > 0
    }

    /// How the call ended of which this is the whole response. A good one has whole messages, and
    /// if it is no stream, one of them, or one for each of the request.
    #[inline]
    pub fn call_status(&self, expect: Expect) -> CallStatus {
        let is_whole = self.prefixed == 0
            && match expect {
                Expect::Stream => true,
                Expect::Conversation => self.is_sent && self.messages == self.asked,
                _ => self.messages == 1,
            };
        match self.call {
            Some(CallStatus::Ok) if self.status == 200 && is_whole => CallStatus::Ok,
            _ => self.failed_call(is_whole),
        }
    }

    // Cold: failures are few.
    #[inline(never)]
    fn failed_call(&self, is_whole: bool) -> CallStatus {
        match self.call {
            None if self.status == 200 => CallStatus::Unknown,
            None => CallStatus::of_http(self.status),
            Some(CallStatus::Ok) if self.status != 200 => CallStatus::of_http(self.status),
            Some(CallStatus::Ok) if !is_whole => CallStatus::Internal,
            Some(status) => status,
        }
    }
}

/// The body of a response, according to its head.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Body {
    /// Of any length.
    #[default]
    Any,
    /// Of this length.
    Announced(u64),
    /// None: the request was HEAD, or the status has none.
    None,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Streams {
    places: Box<[Stream]>,
}

/// Places for up to `depth` streams at once.
pub(super) fn places(depth: u32) -> u32 {
    (2 * depth).next_power_of_two()
}

impl Streams {
    /// Takes memory for up to `depth` streams.
    // Cold: once for each connection slot.
    pub fn for_depth(depth: u32) -> Self {
        let free = vec![Stream::default(); places(depth) as usize];
        Self { places: free.into_boxed_slice() }
    }

    /// For a fresh connection.
    pub fn clear(&mut self) {
        self.places.fill(Stream::default());
    }

    /// The place where a stream with this identifier belongs, if that is free.
    #[inline]
    fn home(&self, id: u32) -> usize {
        (id >> 1) as usize & (self.places.len() - 1)
    }

    /// Adds a stream with this window; there must be a free place.
    #[inline]
    pub fn add(&mut self, id: u32, window: i64) -> u32 {
        let mut place = self.home(id);
        while self.places[place].id != 0 {
            place = (place + 1) & (self.places.len() - 1);
        }
        self.places[place] = Stream { id, window, ..Stream::default() };
        place as u32
    }

    /// The place of a stream, if it is in flight.
    #[inline]
    pub fn find(&self, id: u32) -> Option<u32> {
        let home = self.home(id);
        if self.places[home].id == id {
            return Some(home as u32);
        }
        let places = (1..self.places.len()).map(|step| (home + step) & (self.places.len() - 1));
        places.into_iter().find(|place| self.places[*place].id == id).map(|place| place as u32)
    }

    /// The stream at a place.
    #[inline]
    pub fn at(&mut self, place: u32) -> &mut Stream {
        &mut self.places[place as usize]
    }

    /// Removes a stream.
    #[inline]
    pub fn remove(&mut self, place: u32) {
        self.places[place as usize].id = 0;
    }

    /// Widens the windows of all streams by so much, or makes them smaller; returns the largest.
    // Cold: the peer sent settings.
    pub fn widen(&mut self, more: i64) -> i64 {
        let streams = self.places.iter_mut().filter(|stream| stream.id != 0);
        let widened = streams.map(|stream| {
            stream.window += more;
            stream.window
        });
        widened.max().unwrap_or(0)
    }

    /// Bytes of requests that wait for replies.
    // Cold: the connection is given up.
    pub fn waiting_bytes(&self) -> u64 {
        let streams = self.places.iter().filter(|stream| stream.id != 0);
        streams.map(Stream::waiting_bytes).sum()
    }

    /// The place of any stream with a larger identifier.
    // Cold: after the announcement that a connection ends.
    pub fn above(&self, id: u32) -> Option<u32> {
        self.places.iter().position(|stream| stream.id > id).map(|place| place as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Streams behave like a plain list, and keep their places.
        #[test]
        fn every_stream_is_found_where_it_was_put(
            steps in prop::collection::vec(0usize..9, 1..200)
        ) {
            const DEPTH: usize = 5;
            let mut streams = Streams::for_depth(DEPTH as u32);
            let (mut plain, mut next) = (Vec::<(u32, u32)>::new(), 1);
            for nth in steps {
                if nth < plain.len() {
                    let (id, place) = plain.remove(nth);
                    prop_assert_eq!(streams.find(id), Some(place));
                    streams.remove(place);
                    prop_assert_eq!(streams.find(id), None);
                } else if plain.len() < DEPTH {
                    plain.push((next, streams.add(next, 0)));
                    next += 2;
                }
                for (id, place) in &plain {
                    prop_assert_eq!(streams.find(*id), Some(*place));
                }
                prop_assert_eq!(streams.above(next), None);
                let above = streams.above(0).map(|place| streams.at(place).id);
                prop_assert_eq!(above.is_some(), !plain.is_empty());
            }
        }
    }
}
