//! The floor with epoll: one wait, then one receive and one send per ready connection.

use crate::alarm;
use crate::load::{Load, Outcome, ended};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

const EVENTS_MAX: usize = 1024;
const BUFFER_BYTES: usize = 64 * 1024;

/// Runs the load until the alarm rings.
pub fn run(load: &mut Load) -> io::Result<Outcome> {
    let epoll = register(load)?;
    let mut outcome = Outcome::default();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS_MAX];
    for socket in &load.sockets {
        outcome.sends += 1;
        send(socket.as_raw_fd(), load.bytes(load.depth))?;
    }
    while !alarm::rang() {
        outcome.turns += 1;
        let count = wait(epoll.as_raw_fd(), &mut events)?;
        for event in &events[..count] {
            let connection = event.u64 as usize;
            let fd = load.sockets[connection].as_raw_fd();
            let responses = drain(load, connection, fd, &mut buffer)?;
            if responses > 0 {
                outcome.sends += 1;
                send(fd, load.bytes(responses))?;
            }
        }
    }
    Ok(outcome)
}

fn register(load: &Load) -> io::Result<OwnedFd> {
    // SAFETY: the descriptor is new and has no other owner; the event outlives its call.
    unsafe {
        let epoll = libc::epoll_create1(libc::EPOLL_CLOEXEC);
        if epoll < 0 {
            return Err(io::Error::last_os_error());
        }
        let epoll = OwnedFd::from_raw_fd(epoll);
        for (connection, socket) in load.sockets.iter().enumerate() {
            let interest = (libc::EPOLLIN | libc::EPOLLET) as u32;
            let mut event = libc::epoll_event { events: interest, u64: connection as u64 };
            let (set, fd) = (epoll.as_raw_fd(), socket.as_raw_fd());
            if libc::epoll_ctl(set, libc::EPOLL_CTL_ADD, fd, &mut event) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(epoll)
    }
}

fn wait(epoll: RawFd, events: &mut [libc::epoll_event]) -> io::Result<usize> {
    // SAFETY: the kernel writes at most as many events as there are.
    let count = unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), EVENTS_MAX as i32, -1) };
    match (count, io::Error::last_os_error().kind()) {
        (0.., _) => Ok(count as usize),
        (_, io::ErrorKind::Interrupted) => Ok(0),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Receives until the socket is empty, that is, until a receive does not fill the buffer.
#[inline]
fn drain(load: &mut Load, connection: usize, fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    let mut responses = 0;
    loop {
        let (start, flags) = (buffer.as_mut_ptr().cast(), libc::MSG_DONTWAIT);
        // SAFETY: the kernel writes at most the length of the buffer.
        let received = unsafe { libc::recv(fd, start, buffer.len(), flags) };
        match received {
            1.. => responses += load.tally.receive(connection, &buffer[..received as usize])?,
            0 => return Err(ended()),
            _ => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::WouldBlock => return Ok(responses),
                error => return Err(error),
            },
        }
        if (received as usize) < buffer.len() {
            return Ok(responses);
        }
    }
}

#[inline]
fn send(fd: RawFd, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the kernel reads the length of the slice.
    let sent = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
    match sent {
        sent if sent == bytes.len() as isize => Ok(()),
        0.. => Err(io::Error::other("a send was cut short")),
        _ => Err(io::Error::last_os_error()),
    }
}
