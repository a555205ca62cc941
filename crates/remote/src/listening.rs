//! Listening sockets: connections to ours, and which process has one.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// How soon a stop is noticed, and how long to rest when no connection can be accepted.
pub(crate) const NOTICE: Duration = Duration::from_millis(100);

/// The process that listens on a port, at the address that the client knows if this host has it.
pub(crate) fn find(ip: Option<IpAddr>, port: u16) -> Result<u32, String> {
    let any = IpAddr::from(Ipv4Addr::UNSPECIFIED);
    match ip.map(|ip| probe::find_server(SocketAddr::new(ip, port))) {
        Some(Ok(pid)) => Ok(pid),
        _ => probe::find_server(SocketAddr::new(any, port)).map_err(|error| error.to_string()),
    }
}

/// A connection that arrives within the time. Without free descriptors it cannot be accepted and
/// stays pending, so a failure is reported after a rest.
pub(crate) fn accept(
    listener: &TcpListener,
    wait: Duration,
) -> io::Result<Option<(TcpStream, SocketAddr)>> {
    let taken = wait_readable(listener, wait)
        .and_then(|knocks| if knocks { listener.accept().map(Some) } else { Ok(None) });
    match taken {
        Err(why) if is_passing(&why) => Ok(None),
        Err(why) => {
            thread::sleep(NOTICE);
            Err(why)
        }
        taken => taken,
    }
}

/// Whether only this connection failed, and the next may succeed.
fn is_passing(why: &io::Error) -> bool {
    use ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(why.kind(), ConnectionAborted | Interrupted | WouldBlock)
}

/// Whether a client connects within the time.
fn wait_readable(listener: &TcpListener, wait: Duration) -> io::Result<bool> {
    let wait =
        Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: i64::from(wait.subsec_nanos()) };
    let ready = poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&wait));
    ready.map(|count| count > 0).map_err(io::Error::from)
}
