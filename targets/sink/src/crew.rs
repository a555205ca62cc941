//! What the threads share: the records, the stop flag, and a way to pass connections on.
//!
//! Nothing here is touched per request. The inboxes are used only with one listening socket.

use std::fs::File;
use std::io::{self, Read, Write};
use std::mem;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::stats::Ledger;
use crate::sys;

/// All threads, seen from any of them.
#[derive(Debug)]
pub struct Crew {
    /// The records.
    pub ledger: Ledger,
    members: Vec<Member>,
    stop: AtomicBool,
}

#[derive(Debug)]
struct Member {
    bell: File,
    handed: Mutex<Vec<TcpStream>>,
}

impl Crew {
    /// A crew of this many threads, in a program that started at `start_ns`.
    pub fn new(threads: usize, start_ns: u64) -> io::Result<Self> {
        let member = || Ok(Member { bell: sys::event_fd()?, handed: Mutex::default() });
        let members = (0..threads).map(|_| member()).collect::<io::Result<_>>()?;
        Ok(Self { ledger: Ledger::new(threads, start_ns), members, stop: AtomicBool::new(false) })
    }

    /// How many threads there are.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// The eventfd through which other threads wake this one.
    pub fn bell(&self, thread: usize) -> &File {
        &self.members[thread].bell
    }

    /// Resets the bell.
    pub fn response_bell(&self, thread: usize) {
        // The count does not matter, and an empty bell is not an error.
        let _ = self.bell(thread).read(&mut [0; 8]);
    }

    /// Gives a connection to another thread.
    pub fn hand_over(&self, thread: usize, connection: TcpStream) {
        self.handed(thread).push(connection);
        self.ring(thread);
    }

    /// Takes the connections passed to a thread.
    pub fn take_over(&self, thread: usize) -> Vec<TcpStream> {
        mem::take(&mut self.handed(thread))
    }

    /// Tells all threads to finish.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        for thread in 0..self.members.len() {
            self.ring(thread);
        }
    }

    /// Whether it is time to finish.
    #[inline]
    pub fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    fn handed(&self, thread: usize) -> std::sync::MutexGuard<'_, Vec<TcpStream>> {
        self.members[thread].handed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self, thread: usize) {
        // Fails only if the counter overflows; the thread is woken anyway.
        let _ = self.bell(thread).write(&1_u64.to_ne_bytes());
    }
}
