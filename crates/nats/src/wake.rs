//! Ends the wait of a client from another thread.

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Ends the wait of one client. May be used any number of times, before or during the wait.
#[derive(Debug, Clone)]
pub struct Waker(Arc<UnixStream>);

impl Waker {
    /// Makes the client return from its current wait, or from the next one.
    pub fn wake(&self) {
        // If the socket is full, the client has not seen earlier calls yet, and wakes anyway.
        let _ = (&*self.0).write(&[0]);
    }
}

/// The client's end.
#[derive(Debug)]
pub(crate) struct Bell(UnixStream);

impl Bell {
    /// Both ends.
    pub(crate) fn new() -> io::Result<(Self, Waker)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        Ok((Self(ours.into()), Waker(Arc::new(theirs.into()))))
    }

    /// The descriptor to poll.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Consumes the wake-ups since the last call; returns how many there were, or `None`.
    pub(crate) fn answer(&mut self) -> Option<usize> {
        let mut bytes = [0; 64];
        let mut count = 0;
        while let Ok(read @ 1..) = self.0.read(&mut bytes) {
            count += read;
        }
        (count > 0).then_some(count)
    }
}
