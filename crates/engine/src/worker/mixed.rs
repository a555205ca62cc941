//! What a mix adds to a response: it is told apart by target and held against checks.
//!
//! Whether a tape is a mix is known before the run. There is one loop that reads responses, made
//! twice from the same text: for plain requests everything of this is left out of it.
//!
//! Hot: runs for every response to a mix.

use crate::checks::Checks;
use crate::driver::SlotId;
use crate::flight::Run;
use crate::ledger::{Ledger, Streak};
use crate::tally::Tally;
use model::tick::Tick;
use wire::response::Response;

/// What is sent, as far as its responses are concerned.
pub(super) trait Kind {
    /// Whether responses have targets or checks.
    const IS_MIXED: bool;
}

/// One request without checks.
pub(super) struct Plain;

/// More than one target, or checks.
pub(super) struct Mixed;

impl Kind for Plain {
    const IS_MIXED: bool = false;
}

impl Kind for Mixed {
    const IS_MIXED: bool = true;
}

/// Everything in which a response to a mix is booked.
pub(super) struct Books<'a> {
    pub checks: &'a mut Checks,
    pub ledger: &'a mut Ledger,
    pub tally: &'a mut Tally,
    pub tick: &'a mut Tick,
}

impl Books<'_> {
    /// Books the response to the oldest request of a connection, which `run` held. Returns 1 when
    /// it answers a measured request, else 0.
    #[inline]
    pub fn response(
        &mut self,
        streak: &mut Streak,
        slot: SlotId,
        run: &Run,
        at_ns: u64,
        response: Response,
    ) -> u64 {
        let failed = self.checks.verdict(slot, run.position, response);
        if self.tally.is_kept() && self.ledger.is_window(run.epoch) {
            self.tally.response(run, at_ns, response, failed);
        }
        match failed {
            None => self.ledger.response(self.tick, streak, at_ns, super::stamp_of(run), response),
            Some(check) => self.ledger.mismatch(self.tick, at_ns, run.epoch, response, check),
        }
    }
}
