//! Waiting for sockets and for the next due time, to the nanosecond where the kernel can.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::plan::Clockwork;
use crate::sys::{self, Event, Watch};

/// How long to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// Not at all.
    Now,
    /// Until something happens.
    Never,
    /// At most this many nanoseconds.
    In(u64),
}

/// Token of the timer; its events mean only that the wait is over.
pub const TIMER: u64 = u64::MAX;

/// Watches the sockets of one thread.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    /// Used for sleeping without `epoll_pwait2`.
    timer: Option<OwnedFd>,
}

impl Poller {
    /// A poller that watches nothing yet.
    pub fn new(clockwork: Clockwork) -> io::Result<Self> {
        let mut poller = Self { epoll: sys::epoll()?, timer: None };
        let wants_timer = match clockwork {
            Clockwork::TimerFd => true,
            Clockwork::Pwait2 => false,
            Clockwork::Auto => match sys::wait_ns(poller.epoll.as_fd(), &mut [NO_EVENT], 0) {
                Err(error) if sys::is_unknown_call(&error) => true,
                result => result.map(|_| false)?,
            },
        };
        if wants_timer {
            let timer = sys::timer_fd()?;
            poller.add(&timer, sys::READABLE | sys::EDGE, TIMER)?;
            poller.timer = Some(timer);
        }
        Ok(poller)
    }

    /// Starts to watch a descriptor.
    pub fn add(&self, fd: &impl AsFd, interest: u32, token: u64) -> io::Result<()> {
        sys::watch(self.epoll.as_fd(), Watch::Add, fd.as_fd(), interest, token)
    }

    /// Changes the watched events of a descriptor. Current states are reported again.
    pub fn change(&self, fd: &impl AsFd, interest: u32, token: u64) -> io::Result<()> {
        sys::watch(self.epoll.as_fd(), Watch::Change, fd.as_fd(), interest, token)
    }

    /// Waits; returns how many events came.
    #[inline]
    pub fn wait(&self, events: &mut [Event], timeout: Timeout) -> io::Result<usize> {
        let epoll = self.epoll.as_fd();
        let result = match (timeout, &self.timer) {
            (Timeout::Now, _) => sys::wait_ms(epoll, events, 0),
            (Timeout::Never, _) => sys::wait_ms(epoll, events, -1),
            (Timeout::In(ns), None) => sys::wait_ns(epoll, events, ns),
            (Timeout::In(ns), Some(timer)) => {
                sys::set_timer(timer.as_fd(), ns)?;
                sys::wait_ms(epoll, events, -1)
            }
        };
        match result {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            result => result,
        }
    }
}

/// A place for an event.
pub const NO_EVENT: Event = Event { events: 0, u64: 0 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clockworks_wait_as_long_as_asked() {
        for clockwork in [Clockwork::Auto, Clockwork::Pwait2, Clockwork::TimerFd] {
            let poller = Poller::new(clockwork).unwrap();
            for wanted_ns in [1_000, 3_000_000] {
                let wait = |_| {
                    let begin_ns = sys::now_ns();
                    poller.wait(&mut [NO_EVENT; 4], Timeout::In(wanted_ns)).unwrap();
                    let waited_ns = sys::now_ns() - begin_ns;
                    assert!(waited_ns >= wanted_ns, "{clockwork:?} {waited_ns} of {wanted_ns}");
                    waited_ns
                };
                // Other load on the machine can make any wait longer, but not each.
                let shortest_ns = (0..20).map(wait).min().unwrap();
                assert!(shortest_ns < wanted_ns + 500_000_000, "{clockwork:?} {shortest_ns}");
            }
            assert_eq!(poller.wait(&mut [NO_EVENT; 4], Timeout::Now).unwrap(), 0);
        }
    }
}
