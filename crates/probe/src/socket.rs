//! A TCP socket as the kernel describes it, by sock_diag or in `/proc/net/tcp`.

use model::units::NS_PER_MS;
use std::net::IpAddr;
use std::path::Path;

pub(crate) const TCP_SYN_SENT: u32 = 2;
const TCP_TIME_WAIT: u32 = 6;
/// One socket as the kernel describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Socket {
    /// Kernel cookie.
    pub cookie: u64,
    /// Local address.
    pub local: IpAddr,
    /// Local port.
    pub local_port: u16,
    /// Address of the other end.
    pub remote: IpAddr,
    /// Port of the other end; 0 for a listener.
    pub remote_port: u16,
    /// State as in `include/net/tcp_states.h`.
    pub state: u8,
    /// Until the running timer fires, milliseconds; in TIME_WAIT it ends the socket.
    pub expires_ms: u32,
    /// Waiting to be accepted, or bytes not read.
    pub receive_queue: u32,
    /// Backlog, or bytes not acknowledged.
    pub send_queue: u32,
    /// User who opened it.
    pub uid: u32,
    /// Inode, as in the links of `/proc/PID/fd`.
    pub inode: u32,
    /// Of an IPv6 listener: whether it refuses IPv4. Absent when the kernel did not say.
    pub v6_only: Option<bool>,
    /// Of a connection, when asked for.
    pub tcp: Option<TcpInfo>,
}

/// The fields of `struct tcp_info` that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpInfo {
    /// Segments sent and not acknowledged.
    pub unacknowledged: u32,
    /// Since data was sent last, milliseconds in steps of a jiffy, as are the next two.
    pub last_sent_ms: u32,
    /// Since data was received last.
    pub last_received_ms: u32,
    /// Since anything was acknowledged last.
    pub last_acknowledged_ms: u32,
    /// Smoothed round trip, microseconds.
    pub rtt_us: u32,
    /// Shortest round trip of the last minutes, microseconds (`tcpi_min_rtt`).
    pub min_rtt_us: u32,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Segments retransmitted.
    pub retransmits: u32,
    /// Time with data outstanding, microseconds.
    pub busy_us: u64,
    /// Bytes written and not sent yet (`tcpi_notsent_bytes`).
    pub unsent: u32,
    /// Of it, limited by the receiver's window.
    pub rwnd_limited_us: u64,
    /// Of it, limited by the send buffer.
    pub sndbuf_limited_us: u64,
    /// Segments that went out, acknowledgements included (`tcpi_segs_out`).
    pub segments_out: u32,
    /// Of them, those with data.
    pub data_segments_out: u32,
    /// Segments with data that came in.
    pub data_segments_in: u32,
}

impl Socket {
    /// Whether the connection is still being opened.
    pub(crate) fn is_opening(&self) -> bool {
        u32::from(self.state) == TCP_SYN_SENT
    }

    /// Until a socket in TIME_WAIT is gone, nanoseconds; nothing in other states.
    pub(crate) fn time_wait_left_ns(&self) -> Option<u64> {
        let is_waiting = u32::from(self.state) == TCP_TIME_WAIT;
        is_waiting.then(|| u64::from(self.expires_ms) * NS_PER_MS)
    }
}

/// The inode of a socket, if the link of a descriptor leads to one.
pub(crate) fn socket_inode(link: &Path) -> Option<u32> {
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}
