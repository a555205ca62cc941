//! Ends the wait of a client from another thread.

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Ends the wait of one client; once or often, before the wait or during it.
#[derive(Debug, Clone)]
pub struct Waker(Arc<UnixStream>);

impl Waker {
    /// The client returns from its wait, now or when it begins the next.
    pub fn wake(&self) {
        // When the socket is full the client has not seen earlier calls, and wakes anyway.
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

    /// To wait for.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// How often it rang since the last call, if at all.
    pub(crate) fn answer(&mut self) -> Option<usize> {
        let mut bytes = [0; 64];
        let mut count = 0;
        while let Ok(read @ 1..) = self.0.read(&mut bytes) {
            count += read;
        }
        (count > 0).then_some(count)
    }
}
