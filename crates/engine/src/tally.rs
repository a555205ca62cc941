//! Outcomes of the requests of each target in the measured window.
//!
//! Kept only when the tape has more than one target. A board of counters and distributions is
//! large, so it is not part of every tick: a worker fills one over the whole window and sends it
//! with the last tick of the level; the board comes back empty with that tick.
//!
//! Hot: runs for every request of a mix.

use crate::flight::Batch;
use model::load::TARGETS_REPORTED_MAX;
use model::tick::{ErrorClass, TargetTally, class_of};
use std::sync::Arc;
use wire::response::Response;
use wire::rules::Fate;
use wire::tape::Tape;

/// See the module.
#[derive(Debug)]
pub struct Tally {
    tape: Arc<Tape>,
    places: u32,
    /// The board of the current window.
    board: Vec<TargetTally>,
    /// Empty boards.
    spare: Vec<Vec<TargetTally>>,
}

/// How many targets of a tape are reported; the last one includes all targets after it.
pub fn reported(tape: &Tape) -> u32 {
    tape.targets().min(TARGETS_REPORTED_MAX)
}

/// The reported target that the request at `position` belongs to.
#[inline]
pub fn place(tape: &Tape, position: u32) -> usize {
    tape.target(position).min(TARGETS_REPORTED_MAX - 1) as usize
}

impl Tally {
    /// Takes two boards: one is filled while the control plane may still have the other.
    pub fn new(tape: &Arc<Tape>) -> Self {
        let places = reported(tape);
        let mut tally =
            Self { tape: Arc::clone(tape), places, board: Vec::new(), spare: Vec::new() };
        if tally.is_by_target() {
            tally.spare = vec![tally.empty(), tally.empty()];
        }
        tally
    }

    // Cold: at the start, and if the control plane keeps both boards over a whole level.
    fn empty(&self) -> Vec<TargetTally> {
        (0..self.places).map(|_| TargetTally::default()).collect()
    }

    /// Whether there is more than one target.
    #[inline]
    pub fn is_by_target(&self) -> bool {
        self.places > 1
    }

    /// Starts a measured window.
    pub fn begin(&mut self) {
        if self.is_by_target() && self.board.is_empty() {
            self.board = self.spare.pop().unwrap_or_else(|| self.empty());
        }
    }

    /// Ends the window: requests without a response are now unanswered. Sends the board.
    pub fn close(&mut self, road: &mut Vec<TargetTally>) {
        for TargetTally { counters, .. } in &mut self.board {
            counters.unanswered = counters.sent - counters.completed - counters.failed;
        }
        std::mem::swap(&mut self.board, road);
        self.reclaim_board();
    }

    /// Takes back the board that came with an empty tick.
    pub fn reclaim(&mut self, road: &mut Vec<TargetTally>) {
        if !road.is_empty() {
            self.spare.push(std::mem::take(road));
        }
    }

    fn reclaim_board(&mut self) {
        let board = std::mem::take(&mut self.board);
        if !board.is_empty() {
            self.spare.push(board);
        }
    }

    /// Books measured requests that were sent, with so many bytes.
    pub fn send(&mut self, position: u32, count: u32, bytes: usize) {
        let mut position = position;
        for _ in 0..count {
            let counters = &mut self.board[place(&self.tape, position)].counters;
            counters.sent += 1;
            let is_alone = count == 1;
            let own = if is_alone { bytes } else { self.tape.span(position, 1).len() };
            counters.bytes_sent += own as u64;
            position = self.tape.advance(position, 1);
        }
    }

    /// Books the response to the oldest request of a measured batch.
    pub fn response(&mut self, batch: &Batch, at_ns: u64, response: Response, fate: Fate) {
        let TargetTally { counters, latency } = &mut self.board[place(&self.tape, batch.position)];
        counters.status[class_of(response.status)] += 1;
        counters.bytes_received += response.bytes;
        match fate {
            Fate::Good => {
                counters.completed += 1;
                latency.record_n(at_ns.saturating_sub(batch.planned_ns), 1);
            }
            Fate::ErrorStatus => counters.failed += 1,
            Fate::Mismatch(check) => {
                counters.failed += 1;
                counters.mismatches.add(check, 1);
            }
        }
    }

    /// Books a measured batch of requests that failed without a response.
    pub fn fail(&mut self, batch: &Batch, class: ErrorClass) {
        let mut position = batch.position;
        for _ in 0..batch.count {
            let counters = &mut self.board[place(&self.tape, position)].counters;
            counters.failed += 1;
            counters.errors.add(class, 1);
            position = self.tape.advance(position, 1);
        }
    }
}
