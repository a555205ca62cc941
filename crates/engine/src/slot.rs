//! One connection of a worker over its whole life: opened, used, lost, opened again.

use wire::http1::Http1;

/// First pause before an attempt is repeated, nanoseconds; doubled each time.
const BACKOFF_FIRST_NS: u64 = 10_000_000;
/// Longest pause, nanoseconds.
const BACKOFF_MAX_NS: u64 = 1_000_000_000;

/// State of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// Not wanted.
    Closed,
    /// Wanted, and in the queue to be opened.
    Queued,
    /// Being opened.
    Opening,
    /// Open.
    Open,
    /// Failed; wanted again at `retry_ns`.
    Backoff,
    /// Wanted when its alarm rings.
    Waiting,
}

/// What a slot has come to since the level was ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// No attempt has ended.
    Untried,
    /// Every attempt failed.
    Failed,
    /// It was open at least once.
    Opened,
}

/// One connection.
#[derive(Debug)]
pub struct Slot {
    /// State.
    pub link: Link,
    /// Fate in this level.
    pub fate: Fate,
    /// A send is not yet in the kernel's hands.
    pub sending: bool,
    /// Requests that may still be sent on this connection.
    pub sends_left: u32,
    /// It is closed as soon as nothing is in flight.
    pub is_ending: bool,
    /// The peer ended it.
    pub peer_ended: bool,
    /// Route of the latest attempt.
    pub route: u32,
    /// Place on the tape of the next request.
    pub position: u32,
    /// When the attempt began, nanoseconds.
    pub opening_ns: u64,
    /// When to try again, nanoseconds.
    pub retry_ns: u64,
    /// Connections in a row that failed or ended before they served anything.
    pub fruitless: u32,
    /// Responses on this connection.
    pub responses: u64,
    /// Measured requests answered in this level, with any status.
    pub served: u64,
    /// Receiving side.
    pub session: Http1,
}

impl Slot {
    /// A slot that was never open and begins at this place on the tape.
    pub fn new(position: u32) -> Self {
        Self {
            link: Link::Closed,
            fate: Fate::Untried,
            sending: false,
            sends_left: 0,
            is_ending: false,
            peer_ended: false,
            route: 0,
            position,
            opening_ns: 0,
            retry_ns: 0,
            fruitless: 0,
            responses: 0,
            served: 0,
            session: Http1::new(),
        }
    }

    /// Pause before the next attempt, nanoseconds. `random` spreads the slots over half of it.
    pub fn backoff_ns(&self, random: u64) -> u64 {
        let doublings = self.fruitless.saturating_sub(1).min(16);
        let pause_ns = (BACKOFF_FIRST_NS << doublings).min(BACKOFF_MAX_NS);
        pause_ns / 2 + random % (pause_ns / 2 + 1)
    }
}
