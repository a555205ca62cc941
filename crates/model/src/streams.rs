//! Streams of HTTP/2: what servers allow, what they end and why, and what waits for them.

use crate::histogram::Summary;
use crate::maps::IntoMap as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::AddAssign;

crate::named! {
    /// Why a stream or a connection of HTTP/2 ends (RFC 9113 section 7), in the order of its codes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum StreamCode {
        /// Nothing is wrong.
        NoError = "NO_ERROR",
        /// A rule was broken.
        Protocol = "PROTOCOL_ERROR",
        /// A fault of the peer.
        Internal = "INTERNAL_ERROR",
        /// More bytes than a window has room for.
        FlowControl = "FLOW_CONTROL_ERROR",
        /// Settings were not acknowledged.
        SettingsTimeout = "SETTINGS_TIMEOUT",
        /// A frame came on a stream that was over.
        StreamClosed = "STREAM_CLOSED",
        /// A frame of a wrong size.
        FrameSize = "FRAME_SIZE_ERROR",
        /// The request was not processed.
        Refused = "REFUSED_STREAM",
        /// The stream is not needed any more.
        Cancel = "CANCEL",
        /// A header block that cannot be read.
        Compression = "COMPRESSION_ERROR",
        /// A tunnel was lost.
        Connect = "CONNECT_ERROR",
        /// The peer does too much: too many resets, pings or settings.
        EnhanceYourCalm = "ENHANCE_YOUR_CALM",
        /// TLS is not good enough.
        InadequateSecurity = "INADEQUATE_SECURITY",
        /// The request needs HTTP/1.1.
        Http11Required = "HTTP_1_1_REQUIRED",
        /// Another code.
        Other = "other",
    }
    /// Its name in the standard.
    fn name, parse;
}

impl StreamCode {
    /// The one with this number.
    pub fn of(number: u32) -> Self {
        Self::ALL.get(number as usize).copied().unwrap_or(Self::Other)
    }
}

crate::tally_by! {
    /// Counts by code.
    pub struct StreamCodes of StreamCode;
}

impl StreamCodes {
    /// Those that occurred, by name.
    pub fn counted(&self) -> BTreeMap<String, u64> {
        let all = StreamCode::ALL.map(|code| (code.name().to_string(), self.get(code)));
        all.into_iter().filter(|(_, count)| *count > 0).into_map()
    }
}

/// No limit of streams.
pub const NO_LIMIT: u64 = u32::MAX as u64;

crate::tally! {
    /// What one worker saw of streams in one interval.
    pub struct StreamTally {
        /// Settings that servers sent.
        pub settings: u64,
        /// Fewest and most streams that they allowed at once on a connection, [`NO_LIMIT`] for no
        /// limit; nothing without settings.
        pub limits: (u64, u64),
        /// Smallest and largest window that they gave a new stream, bytes.
        pub windows: (u64, u64),
        /// Connections that servers announced to leave (GOAWAY).
        pub left: StreamCodes,
        /// Fewest and most requests on those that they left without an error; 0 without any.
        pub left_after: (u64, u64),
        /// Requests whose stream a server reset (RST_STREAM).
        pub resets: StreamCodes,
        /// Streams that we reset, because their request took too long.
        pub cancelled: u64,
        /// Responses whose body is longer than our window for a stream.
        pub long: u64,
        /// Requests of which a part had to wait for a window of the server.
        pub held: u64,
        /// Integral of such requests over the measured time, request-nanoseconds.
        pub held_ns: u64,
        /// Integral of the connections that had as many streams as their server allowed, and fewer
        /// than the load has, over the measured time, connection-nanoseconds.
        pub limited_ns: u64,
    }
}

impl StreamTally {
    /// A server allows so many streams, and gives each this window.
    pub fn allow(&mut self, limit: u64, window: u64) {
        let (limits, windows) = ((limit, limit), (window, window));
        *self += &Self { settings: 1, limits, windows, ..Self::default() };
    }

    /// A server left a connection on which it processed so many requests.
    pub fn leave(&mut self, code: StreamCode, requests: u64) {
        let mut one = Self::default();
        one.left.add(code, 1);
        if code == StreamCode::NoError {
            one.left_after = (requests, requests);
        }
        *self += &one;
    }
}

impl AddAssign<&StreamTally> for StreamTally {
    fn add_assign(&mut self, other: &StreamTally) {
        let in_order = |tally: &Self| tally.left.get(StreamCode::NoError);
        self.limits = span((self.settings, self.limits), (other.settings, other.limits));
        self.windows = span((self.settings, self.windows), (other.settings, other.windows));
        let mine = (in_order(self), self.left_after);
        self.left_after = span(mine, (in_order(other), other.left_after));
        self.settings += other.settings;
        self.left += &other.left;
        self.resets += &other.resets;
        self.cancelled += other.cancelled;
        self.long += other.long;
        self.held += other.held;
        self.held_ns += other.held_ns;
        self.limited_ns += other.limited_ns;
    }
}

/// Fewest and most of two counts of things, each with its own fewest and most.
fn span(mine: (u64, (u64, u64)), other: (u64, (u64, u64))) -> (u64, u64) {
    match (mine, other) {
        ((_, mine), (0, _)) => mine,
        ((0, _), (_, other)) => other,
        ((_, mine), (_, other)) => (mine.0.min(other.0), mine.1.max(other.1)),
    }
}

/// Streams of a level, the warm-up included where nothing else is said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamInfo {
    /// Fewest streams at once that the server allowed on a connection; null for no limit.
    pub limit_min: Option<u64>,
    /// Most that it allowed.
    pub limit_max: Option<u64>,
    /// Smallest window for the body of a request that it gave a new stream, bytes.
    pub window_min: u64,
    /// Connections, on average over the window, that had as many streams as the server allowed and
    /// fewer than the load has.
    pub limited: f64,
    /// Requests, on average over the window, of which a part waited for a window of the server.
    pub held: f64,
    /// Requests of which a part ever did.
    pub held_requests: u64,
    /// Connections that the server left (GOAWAY), by code.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left: BTreeMap<String, u64>,
    /// Fewest requests on a connection that it left without an error; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_after_min: Option<u64>,
    /// Most requests on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_after_max: Option<u64>,
    /// Requests whose stream the server reset (RST_STREAM), by code.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resets: BTreeMap<String, u64>,
    /// Streams that we reset, because their request took too long.
    pub cancelled: u64,
    /// Responses whose body is longer than our window for a stream (`--window`).
    #[serde(default)]
    pub long_responses: u64,
    /// From the connection being established, TLS included, to the server's settings.
    pub settings_ns: Summary,
}

impl StreamInfo {
    /// What was counted; nothing where no server sent settings.
    pub fn of(tally: &StreamTally, window_ns: u64, settings_ns: Summary) -> Option<Self> {
        let mean = |sum_ns: u64| sum_ns as f64 / window_ns.max(1) as f64;
        let limit = |limit: u64| (limit != NO_LIMIT).then_some(limit);
        let is_left = tally.left.get(StreamCode::NoError) > 0;
        (tally.settings > 0).then(|| Self {
            limit_min: limit(tally.limits.0),
            limit_max: limit(tally.limits.1),
            window_min: tally.windows.0,
            limited: mean(tally.limited_ns),
            held: mean(tally.held_ns),
            held_requests: tally.held,
            left: tally.left.counted(),
            left_after_min: is_left.then_some(tally.left_after.0),
            left_after_max: is_left.then_some(tally.left_after.1),
            resets: tally.resets.counted(),
            cancelled: tally.cancelled,
            long_responses: tally.long,
            settings_ns,
        })
    }

    /// Connections that the server left, or requests that it reset, with this code.
    pub fn with(&self, code: StreamCode) -> (u64, u64) {
        let of = |counts: &BTreeMap<String, u64>| counts.get(code.name()).copied().unwrap_or(0);
        (of(&self.left), of(&self.resets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_numbers_of_the_standard() {
        let of = |number| StreamCode::of(number).name();
        assert_eq!([of(0), of(7), of(8)], ["NO_ERROR", "REFUSED_STREAM", "CANCEL"]);
        assert_eq!([of(11), of(13), of(14)], ["ENHANCE_YOUR_CALM", "HTTP_1_1_REQUIRED", "other"]);
        assert_eq!(of(u32::MAX), "other");
    }

    #[test]
    fn spans_are_of_what_was_said() {
        let mut sum = StreamTally::default();
        sum += &StreamTally { held: 1, ..StreamTally::default() };
        sum.allow(8, 65_535);
        sum.allow(NO_LIMIT, 1_000);
        sum.leave(StreamCode::EnhanceYourCalm, 3);
        sum.leave(StreamCode::NoError, 1000);
        let mut other = StreamTally::default();
        other.leave(StreamCode::NoError, 998);
        sum += &other;
        assert_eq!((sum.settings, sum.limits, sum.left_after), (2, (8, NO_LIMIT), (998, 1000)));
        let info = StreamInfo::of(&sum, 1, Summary::default()).unwrap();
        assert_eq!((info.limit_min, info.limit_max), (Some(8), None));
        assert_eq!(info.window_min, 1_000);
        assert_eq!(
            info.left,
            [("ENHANCE_YOUR_CALM", 1), ("NO_ERROR", 2)]
                .map(|(code, count)| (code.to_string(), count))
                .into()
        );
        assert_eq!(StreamInfo::of(&other, 1, Summary::default()), None, "HTTP/1.1");
    }
}
