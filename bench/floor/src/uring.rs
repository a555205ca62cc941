//! The floor with io_uring: one system call per turn, whatever happens in it.
//!
//! Single issuer with deferred task work, registered sockets, one multishot receive per connection
//! with shared buffers, and no completion for a successful send.

use crate::alarm;
use crate::buffers::{Buffers, GROUP};
use crate::load::{Load, Outcome, ended};
use io_uring::types::Fixed;
use io_uring::{IoUring, SubmissionQueue, Submitter, cqueue, opcode, squeue};
use std::io;
use std::os::fd::AsRawFd;

/// At least a receive and a send for each of a thousand connections; more are submitted in parts.
const SUBMISSIONS: u32 = 2048;
const COMPLETIONS: u32 = 8192;
/// Set in the user data of sends, next to the connection.
const SEND: u64 = 1 << 32;

/// Runs the load until the alarm rings.
pub fn run(load: &mut Load) -> io::Result<Outcome> {
    let mut ring: IoUring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all()
        .setup_no_sqarray()
        .setup_cqsize(COMPLETIONS)
        .build(SUBMISSIONS)?;
    let fds: Vec<_> = load.sockets.iter().map(AsRawFd::as_raw_fd).collect();
    ring.submitter().register_files(&fds)?;
    let mut buffers = Buffers::register(&ring.submitter())?;
    let mut outcome = Outcome::default();
    start(&mut ring, load, &mut outcome)?;
    while !alarm::rang() {
        outcome.turns += 1;
        wait(&ring)?;
        take(&mut ring, load, &mut buffers, &mut outcome)?;
        buffers.publish();
    }
    // The ring ends all operations before the memory they use is freed.
    drop(ring);
    Ok(outcome)
}

/// Starts a receive and fills the pipeline of every connection.
fn start(ring: &mut IoUring, load: &Load, outcome: &mut Outcome) -> io::Result<()> {
    let (submitter, mut submissions, _) = ring.split();
    for connection in 0..load.sockets.len() {
        push(&submitter, &mut submissions, &receive(connection))?;
        push(&submitter, &mut submissions, &send(load, connection, load.depth))?;
        outcome.sends += 1;
    }
    Ok(())
}

/// Processes all completions of a turn, and queues the sends they allow.
fn take(
    ring: &mut IoUring,
    load: &mut Load,
    buffers: &mut Buffers,
    outcome: &mut Outcome,
) -> io::Result<()> {
    let (submitter, mut submissions, completions) = ring.split();
    for completion in completions {
        let connection = completion.user_data() as u32 as usize;
        if completion.user_data() & SEND != 0 {
            return Err(failed_send(&completion));
        }
        let received = received(&completion)?;
        if !cqueue::more(completion.flags()) {
            push(&submitter, &mut submissions, &receive(connection))?;
        }
        let Some(id) = cqueue::buffer_select(completion.flags()) else { continue };
        let responses = load.tally.receive(connection, buffers.bytes(id, received))?;
        buffers.put_back(id);
        if responses > 0 {
            outcome.sends += 1;
            push(&submitter, &mut submissions, &send(load, connection, responses))?;
        }
    }
    Ok(())
}

fn wait(ring: &IoUring) -> io::Result<()> {
    match ring.submit_and_wait(1) {
        Ok(_) => Ok(()),
        // Interrupted by the alarm, or completions must be processed first.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY)) => Ok(()),
        Err(error) => Err(error),
    }
}

fn receive(connection: usize) -> squeue::Entry {
    opcode::RecvMulti::new(Fixed(connection as u32), GROUP).build().user_data(connection as u64)
}

#[inline]
fn send(load: &Load, connection: usize, count: usize) -> squeue::Entry {
    let bytes = load.bytes(count);
    opcode::Send::new(Fixed(connection as u32), bytes.as_ptr(), bytes.len() as u32)
        .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
        .build()
        .flags(squeue::Flags::SKIP_SUCCESS)
        .user_data(connection as u64 | SEND)
}

/// Queues a submission, and submits the queue first when it is full.
#[inline]
pub fn push(
    submitter: &Submitter<'_>,
    submissions: &mut SubmissionQueue<'_>,
    entry: &squeue::Entry,
) -> io::Result<()> {
    // SAFETY: the bytes of a send belong to the caller, who keeps them longer than the ring.
    while unsafe { submissions.push(entry) }.is_err() {
        submissions.sync();
        submitter.submit()?;
        submissions.sync();
    }
    Ok(())
}

/// Sends complete only when they fail.
fn failed_send(completion: &cqueue::Entry) -> io::Error {
    match completion.result() {
        0.. => io::Error::other("a send was cut short"),
        errno => io::Error::from_raw_os_error(-errno),
    }
}

#[inline]
fn received(completion: &cqueue::Entry) -> io::Result<usize> {
    match completion.result() {
        received @ 1.. => Ok(received as usize),
        0 => Err(ended()),
        // All buffers were full; they are free again when the receive restarts.
        errno if errno == -libc::ENOBUFS => Ok(0),
        errno => Err(io::Error::from_raw_os_error(-errno)),
    }
}
