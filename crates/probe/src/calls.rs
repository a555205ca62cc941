//! Whether a TCP connection that the server opened waits for a response.
//!
//! In: `tcp_info` of one connection, and its state in the round before. Out: which end sent last.
//! Never: who the other end is.
//!
//! Times of `tcp_info` are in jiffies, and a server whose connections are all in use sends the next
//! request in the same jiffy as it got the response before. Then the counts decide. An end that
//! receives data and sends none for 40 ms sends an acknowledgement without data (`TCP_DELACK_MIN`).
//! If the server sent none on a connection, with longer than that between its requests, it was
//! never silent after a response: the last data is its request. Where the other end responds sooner
//! than that, it delays its acknowledgement as well, and the request is not acknowledged while it
//! waits.

use crate::socket::TcpInfo;
use model::units::NS_PER_MS;

/// A delayed acknowledgement of data comes after the first time at the earliest, and after the
/// second at the latest (`TCP_DELACK_MIN`, `TCP_DELACK_MAX`).
const DELAYED_ACK_NS: u64 = 40 * NS_PER_MS;
const ACKNOWLEDGED_MS: u32 = 200;

/// A connection in one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    at_ns: u64,
    data_in: u32,
    data_out: u32,
    /// Segments without data that went out.
    bare_out: u32,
    /// Whether the server sent last.
    pub waits: bool,
}

/// Which end sent last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// The end that we read.
    Us,
    Other,
    /// Both within one jiffy.
    Both,
}

impl Call {
    /// What a connection does now; `before` is the same of an earlier round.
    pub fn of(tcp: &TcpInfo, at_ns: u64, before: Option<&Self>) -> Self {
        let now = Self {
            at_ns,
            data_in: tcp.data_segments_in,
            data_out: tcp.data_segments_out,
            bare_out: tcp.segments_out.wrapping_sub(tcp.data_segments_out),
            waits: false,
        };
        let waits = match last(tcp) {
            Last::Us => true,
            Last::Other => false,
            Last::Both => before.is_some_and(|before| now.waits_since(before)),
        };
        Self { waits, ..now }
    }

    /// Whether it waits, by the counts.
    fn waits_since(&self, before: &Self) -> bool {
        let requests = u64::from(self.data_out.wrapping_sub(before.data_out));
        let is_same = requests == 0 && self.data_in == before.data_in;
        let passed_ns = self.at_ns.saturating_sub(before.at_ns);
        let is_slow = requests > 0 && passed_ns >= requests * DELAYED_ACK_NS;
        is_same && before.waits || is_slow && self.bare_out == before.bare_out
    }
}

/// Which end sent last, by times alone. What acknowledges no data comes late: an idle connection is
/// probed from time to time (`TCP_KEEPIDLE`, a second at least).
fn last(tcp: &TcpInfo) -> Last {
    let unheard = tcp.data_segments_out > 0 && tcp.data_segments_in == 0;
    let acknowledged_after_ms = tcp.last_received_ms.checked_sub(tcp.last_acknowledged_ms);
    let is_late = |after_ms: u32| (1..=ACKNOWLEDGED_MS).contains(&after_ms);
    match tcp.last_sent_ms.cmp(&tcp.last_received_ms) {
        _ if tcp.unacknowledged > 0 || tcp.unsent > 0 || unheard => Last::Us,
        std::cmp::Ordering::Less => Last::Us,
        std::cmp::Ordering::Greater => Last::Other,
        std::cmp::Ordering::Equal if acknowledged_after_ms.is_some_and(is_late) => Last::Us,
        std::cmp::Ordering::Equal => Last::Both,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(ages_ms: [u32; 3], unacknowledged: u32) -> TcpInfo {
        let [last_sent_ms, last_received_ms, last_acknowledged_ms] = ages_ms;
        TcpInfo {
            unacknowledged,
            last_sent_ms,
            last_received_ms,
            last_acknowledged_ms,
            received_bytes: 0,
            rtt_us: 100,
            cwnd: 10,
            retransmits: 0,
            busy_us: 0,
            unsent: 0,
            min_rtt_us: 0,
            rwnd_limited_us: 0,
            sndbuf_limited_us: 0,
            segments_out: 12,
            data_segments_out: 10,
            data_segments_in: 10,
        }
    }

    fn waits(tcp: &TcpInfo) -> bool {
        Call::of(tcp, 0, None).waits
    }

    #[test]
    fn who_spoke_last_waits() {
        assert!(waits(&info([5, 20, 20], 0)), "sent after the last response");
        assert!(waits(&info([50, 50, 10], 0)), "in the jiffy of it, acknowledged later");
        assert!(waits(&info([8, 8, 8], 1)), "in the jiffy of it, not acknowledged yet");
        assert!(!waits(&info([30, 10, 10], 0)), "answered");
        assert!(!waits(&info([8, 8, 8], 0)), "answered within a jiffy, as far as is known");
        let first = TcpInfo { data_segments_in: 0, ..info([8, 8, 8], 0) };
        assert!(waits(&first), "its first request, in the jiffy of connecting");
    }

    #[test]
    fn an_idle_connection_that_is_kept_alive_does_not_wait() {
        assert!(!waits(&info([5010, 5000, 10], 0)), "the peer said that it is there");
        assert!(!waits(&info([5000, 5000, 10], 0)), "answered within a jiffy");
    }

    #[test]
    fn within_a_jiffy_acknowledgements_tell_who_spoke_last() {
        let before = Call::of(&info([300, 300, 300], 0), 0, None);
        let later = |requests: u32, bare: u32, passed_ms: u64| {
            let tcp = TcpInfo {
                segments_out: 12 + requests + bare,
                data_segments_out: 10 + requests,
                data_segments_in: 10 + requests,
                ..info([8, 8, 8], 0)
            };
            Call::of(&tcp, passed_ms * NS_PER_MS, Some(&before))
        };
        assert!(later(5, 0, 500).waits, "a request every 100 ms, and never silent");
        assert!(!later(5, 5, 500).waits, "silent after each response");
        assert!(!later(50, 0, 500).waits, "every 10 ms: it may have been silent in between");
        let still = Call::of(&info([508, 508, 508], 0), NS_PER_MS, Some(&later(5, 0, 500)));
        assert!(!still.waits, "other counts than before");
        let call = later(5, 0, 500);
        let tcp = TcpInfo {
            segments_out: 17,
            data_segments_out: 15,
            data_segments_in: 15,
            ..info([508, 508, 508], 0)
        };
        assert!(Call::of(&tcp, 1000 * NS_PER_MS, Some(&call)).waits, "nothing happened since");
    }
}
