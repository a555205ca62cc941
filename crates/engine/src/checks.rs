//! Checks the responses of one worker against the rules of the tape, if it has any.
//!
//! Without rules there is no memory per connection, and the session passes bodies to no witness.
//!
//! Hot: runs for every response.

use crate::driver::SlotId;
use std::sync::Arc;
use wire::response::{Outcome, ProtocolError, Response};
use wire::rules::{BodyProgress, Examined, Fate};
use wire::session::{RequestId, ResponseOrder, Session, Witness};
use wire::tape::Tape;

/// See the module.
#[derive(Debug)]
pub struct Checks {
    tape: Arc<Tape>,
    /// One per connection, or where responses come in any order one per place of a request; empty
    /// without rules.
    progress: Vec<BodyProgress>,
    each: u32,
}

impl Checks {
    /// Takes memory for `slots` connections with so many places each, if the tape has rules.
    pub fn new(tape: &Arc<Tape>, slots: u32, (places, order): (u32, ResponseOrder)) -> Self {
        let each = if order == ResponseOrder::Any { places } else { 1 };
        let watched = if tape.has_rules() { slots as usize * each as usize } else { 0 };
        Self { tape: Arc::clone(tape), progress: vec![BodyProgress::default(); watched], each }
    }

    /// Where the progress of the body is that answers a request.
    #[inline]
    fn place(&self, slot: SlotId, request: RequestId) -> usize {
        match request {
            RequestId::Oldest => slot as usize,
            RequestId::At(place) => slot as usize * self.each as usize + place as usize,
        }
    }

    /// Lets the session of a connection receive the response to a request, which is the one at
    /// `position`, while `watch` sees it too.
    #[inline]
    pub fn receive<S: Session>(
        &mut self,
        (slot, session): (SlotId, &mut S),
        input: &mut &[u8],
        (request, position): (RequestId, u32),
        (memory, mut watch): (&mut S::Memory, impl Witness),
    ) -> Result<Option<Outcome>, ProtocolError> {
        let expect = self.tape.expect(position);
        let place = self.place(slot, request);
        match self.progress.get_mut(place) {
            None => session.receive(input, expect, memory, &mut watch),
            Some(progress) => {
                let examined = Examined { rules: self.tape.rules(position), progress };
                session.receive(input, expect, memory, &mut (watch, examined))
            }
        }
    }

    /// Whether a complete response is good.
    #[inline]
    pub fn verdict(
        &mut self,
        (slot, request): (SlotId, RequestId),
        position: u32,
        response: Response,
    ) -> Fate {
        let place = self.place(slot, request);
        match self.progress.get_mut(place) {
            Some(progress) => self.tape.rules(position).verdict(progress, response.status),
            None => Fate::of_status(response.status),
        }
    }

    /// Forgets the body under way that answers a request.
    #[inline]
    pub fn restart(&mut self, slot: SlotId, request: RequestId) {
        let place = self.place(slot, request);
        if let Some(progress) = self.progress.get_mut(place) {
            progress.restart();
        }
    }
}
