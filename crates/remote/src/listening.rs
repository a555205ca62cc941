//! Listening sockets: connections to ours, and which process has one.

use probe::KnownProcess;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// How soon a stop is noticed, and how long to rest when no connection can be accepted.
pub(crate) const NOTICE: Duration = Duration::from_millis(100);

/// The process that a probe was started for. Its number may belong to another process later.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    pid: u32,
    /// Nothing when there was none.
    process: Option<KnownProcess>,
}

impl Named {
    /// The process with a number now.
    pub(crate) fn of(pid: u32) -> Self {
        Self { pid, process: KnownProcess::of(pid) }
    }

    /// Its number while it runs.
    pub(crate) fn pid(&self) -> Result<u32, String> {
        match &self.process {
            Some(process) if process.runs() => Ok(self.pid),
            _ => Err(format!(
                "process {}, the --server-pid of the probe, has ended; start the probe again",
                self.pid
            )),
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_process_with_the_number_of_the_named_one_is_not_it() {
        let own = std::process::id();
        assert_eq!(Named::of(own).pid(), Ok(own));
        let before = Named { pid: own, process: Some(KnownProcess::started_at(own, 1)) };
        let why = before.pid().unwrap_err();
        assert!(why.contains("--server-pid") && why.contains("has ended"), "{why}");
        assert!(Named { pid: own, process: None }.pid().is_err(), "not yet there");
    }
}
