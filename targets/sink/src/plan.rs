//! What this run does: the options with every default and `auto` resolved.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::delay::Delay;
use crate::fault::Faults;

/// Everything the program needs to know.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Where to listen; port 0 is any free one.
    pub addr: SocketAddr,
    /// How many threads serve.
    pub threads: usize,
    /// The CPUs they are pinned to, in turn; empty for no pinning.
    pub cpus: Vec<usize>,
    /// How connections are accepted.
    pub accept: Accept,
    /// A limit on descriptors, or the hard limit.
    pub fds_max: Option<u64>,
    /// How to sleep until the next due time.
    pub clockwork: Clockwork,
    /// How requests are treated.
    pub service: Service,
    /// How many requests all threads together serve at a time, if that is limited.
    pub hands: Option<usize>,
    /// Where the arrivals are written, if anywhere.
    pub arrivals: Option<ArrivalPlan>,
}

/// How connections are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accept {
    /// How many listening sockets there are.
    pub listeners: Listeners,
    /// How many connections can wait in each of them.
    pub backlog: u32,
    /// How long the acceptor sleeps before each accept.
    pub delay_ns: u64,
}

/// How many listening sockets there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listeners {
    /// One for each thread; the kernel spreads connections over them.
    PerThread,
    /// One; the first thread accepts and distributes the connections in turn.
    Single,
}

/// How to sleep until the next due time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clockwork {
    /// `epoll_pwait2` where the kernel has it, otherwise a timerfd.
    Auto,
    /// `epoll_pwait2`.
    Pwait2,
    /// A timerfd.
    TimerFd,
}

/// How requests are treated. The same for all threads.
#[derive(Debug, Clone, PartialEq)]
pub struct Service {
    /// When responses are due.
    pub delay: Delay,
    /// The monotonic time from which stalls are counted.
    pub start_ns: u64,
    /// Which responses are faulty.
    pub faults: Faults,
    /// Seed of delays and faults.
    pub seed: u64,
    /// CPU time burnt for each request.
    pub burn_ns: u64,
    /// When connections end.
    pub close: CloseAfter,
    /// How fast responses are written, if not at once.
    pub pace: Option<Pace>,
}

/// When connections end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloseAfter {
    /// After this many responses.
    pub responses: u64,
    /// Whether that response has `Connection: close`.
    pub notice: Notice,
    /// How.
    pub ending: Ending,
}

/// Whether the last response says that the connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// It carries `Connection: close`.
    Said,
    /// It does not.
    Silent,
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With FIN.
    Orderly,
    /// With RST.
    Reset,
}

/// Responses are written in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Length of a piece.
    pub piece_bytes: u64,
    /// From one piece to the next.
    pub interval_ns: u64,
}

/// Where the arrivals are written, and how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrivalPlan {
    /// The file.
    pub path: PathBuf,
    /// How many arrivals memory is reserved for.
    pub capacity: usize,
}
