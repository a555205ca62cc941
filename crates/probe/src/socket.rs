//! A TCP socket as the kernel describes it, by sock_diag or in `/proc/net/tcp`.

use crate::kernel_file::{is_gone, unreadable};
use model::facts::Unreadable;
use model::root::Root;
use model::units::NS_PER_MS;
use std::fs;
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
    /// Bytes that came in, in order (`tcpi_bytes_received`).
    pub received_bytes: u64,
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

/// A socket among the descriptors of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    pub pid: u32,
    pub inode: u32,
    /// Whether it is one of the descriptors that a process starts with.
    pub is_stream: bool,
}

/// Most descriptors that are read in one search, over all processes.
const LINKS_MAX: usize = 20_000;
/// Descriptors that a process starts with.
const STREAMS: [&str; 3] = ["0", "1", "2"];

/// The sockets that processes hold, process by process. Those that have ended hold none.
pub(crate) fn held(root: &Root, pids: &[u32]) -> Result<Vec<Held>, Unreadable> {
    let mut held = Vec::new();
    let mut left = LINKS_MAX;
    for &pid in pids {
        let folder = root.process(pid, "fd");
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(why) if is_gone(&why) => continue,
            Err(why) => return Err(unreadable(&folder, why)),
        };
        for entry in entries.flatten() {
            left = left.checked_sub(1).ok_or_else(|| {
                let why = format!("more than {LINKS_MAX} descriptors: too many to search");
                unreadable(&folder, why)
            })?;
            let link = fs::read_link(entry.path()).ok();
            let Some(inode) = link.as_deref().and_then(socket_inode) else { continue };
            let is_stream = STREAMS.iter().any(|number| entry.file_name() == *number);
            held.push(Held { pid, inode, is_stream });
        }
    }
    Ok(held)
}

/// The inode of a socket, if the link of a descriptor leads to one.
pub(crate) fn socket_inode(link: &Path) -> Option<u32> {
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}
