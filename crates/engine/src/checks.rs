//! Checks the responses of one worker against the rules of the tape, if it has any.
//!
//! Without rules there is no memory per connection, and the session passes bodies to no witness.
//!
//! Hot: runs for every response.

use crate::driver::SlotId;
use std::sync::Arc;
use wire::response::{ProtocolError, Response};
use wire::rules::{BodyProgress, Examined, Fate};
use wire::session::Session;
use wire::tape::Tape;

/// See the module.
#[derive(Debug)]
pub struct Checks {
    tape: Arc<Tape>,
    /// One per connection; empty without rules.
    progress: Vec<BodyProgress>,
}

impl Checks {
    /// Takes memory for `slots` connections, if the tape has rules.
    pub fn new(tape: &Arc<Tape>, slots: u32) -> Self {
        let watched = if tape.has_rules() { slots as usize } else { 0 };
        Self { tape: Arc::clone(tape), progress: vec![BodyProgress::default(); watched] }
    }

    /// Lets the session of a connection receive the response to the request at `position`.
    #[inline]
    pub fn receive<S: Session>(
        &mut self,
        (slot, session): (SlotId, &mut S),
        input: &mut &[u8],
        position: u32,
        memory: &mut S::Memory,
    ) -> Result<Option<Response>, ProtocolError> {
        let expect = self.tape.expect(position);
        match self.progress.get_mut(slot as usize) {
            None => session.receive(input, expect, memory, &mut ()),
            Some(progress) => {
                let mut examined = Examined { rules: self.tape.rules(position), progress };
                session.receive(input, expect, memory, &mut examined)
            }
        }
    }

    /// Whether a complete response is good.
    #[inline]
    pub fn verdict(&mut self, slot: SlotId, position: u32, response: Response) -> Fate {
        match self.progress.get_mut(slot as usize) {
            Some(progress) => self.tape.rules(position).verdict(progress, response.status),
            None => Fate::of_status(response.status),
        }
    }

    /// Forgets the body under way on a connection.
    pub fn restart(&mut self, slot: SlotId) {
        if let Some(progress) = self.progress.get_mut(slot as usize) {
            progress.restart();
        }
    }
}
