//! Answers to a mix: told apart by target and held against checks.
//!
//! The way of a plain request stays as short as it is; this is the longer one beside it.
//!
//! Hot: runs for every answer to a mix.

use super::{Cause, Worker, stamp_of};
use crate::driver::{Buffer, Driver, SlotId};
use crate::ledger::Streak;
use crate::tally;
use model::tick::ErrorClass;

impl<D: Driver> Worker<D> {
    /// Takes all answers out of a buffer; says why when the connection is of no more use.
    #[inline(never)]
    pub(super) fn read_mixed_answers(
        &mut self,
        slot: SlotId,
        at_ns: u64,
        buffer: Buffer,
    ) -> Option<Cause> {
        let mut input = self.driver.bytes(buffer);
        let state = &mut self.slots[slot as usize];
        let tick = &mut *self.recorder.tick;
        let mut streak = Streak::default();
        let mut cause = None;
        while !input.is_empty() {
            let Some(run) = self.flights.oldest(slot) else {
                // Bytes that answer no request.
                cause = Some(Cause::Failure(ErrorClass::Parse));
                break;
            };
            let run = *run;
            let (position, stamp) = (run.position, stamp_of(&run));
            let shapes = &mut self.shapes[tally::place(&self.tape, position)];
            let session = (slot, &mut state.session);
            match self.checks.receive(session, &mut input, position, shapes) {
                Ok(Some(answer)) => {
                    self.flights.pop(slot, self.tape.advance(position, 1));
                    state.answers += 1;
                    let failed = self.checks.verdict(slot, position, answer);
                    state.served += match failed {
                        None => self.ledger.answer(tick, &mut streak, at_ns, stamp, answer),
                        Some(check) => self.ledger.mismatch(tick, run.epoch, answer, check),
                    };
                    if self.tally.is_kept() && self.ledger.is_window(run.epoch) {
                        self.tally.answer(&run, at_ns, answer, failed);
                    }
                    if !answer.reusable {
                        cause = Some(Cause::Order);
                        break;
                    }
                }
                Ok(None) => {}
                Err(_) => {
                    cause = Some(Cause::Failure(ErrorClass::Parse));
                    break;
                }
            }
        }
        self.ledger.settle(tick, &mut streak, at_ns);
        cause
    }
}
