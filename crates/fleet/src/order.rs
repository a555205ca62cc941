//! Orders in transit: signed by the controller, for one process of one agent, valid once and for a
//! short time.
//!
//! The times of an order are in the agent's clock. The controller estimates that clock from the
//! agent's hello and from round trips, so no wall clock has to be right, and an order that a broker
//! holds back expires by itself. An order names the controller's process and the agent's process:
//! an order that was signed for another start of either is refused, even by an agent that remembers
//! nothing.

use crate::MESSAGE_BYTES_MAX;
use crate::bytes::{Malformed, Reader, Writer};
use crate::key::{ControllerKey, PublicKey, SIGNATURE_BYTES};
use crate::message::Id;
use crate::subject::NAME_MAX;
use crate::{LEASE_NS, ORDER_VALID_NS};
use std::collections::BTreeMap;

/// Domain separation: a signature is valid for orders only.
const DOMAIN: &[u8] = b"ceiling fleet order 1\0";
/// How far in the future an order may be, nanoseconds, because estimates of clocks have errors.
const EARLY_NS: u64 = LEASE_NS;
/// Most controllers that an agent remembers at once. Each is remembered until its orders have
/// expired, and a script may start one every second.
const CONTROLLERS_MAX: usize = 256;

/// The recipient of an order, and its validity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The fleet.
    pub fleet: String,
    /// The agent.
    pub agent: String,
    /// The nonce of the controller's process.
    pub controller: Id,
    /// The challenge of the agent's process, from its hello.
    pub challenge: Id,
    /// The job; [`Id::NONE`] outside any job.
    pub job: Id,
    /// Starts at 1, and grows with each order.
    pub sequence: u64,
    /// When it was signed, agent's clock.
    pub issued_ns: u64,
    /// When it expires, agent's clock; at most [`ORDER_VALID_NS`] later.
    pub expires_ns: u64,
}

/// An order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Recipient and validity.
    pub header: Header,
    /// A [`frame::Down`](crate::frame::Down).
    pub payload: Vec<u8>,
}

/// Why an agent refuses an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// It is longer than any valid order.
    #[error("it is too large")]
    Size,
    /// The pinned key did not sign it.
    #[error("it is not signed by the controller's key")]
    Signature,
    /// It is signed, but malformed.
    #[error("it is malformed: {0}")]
    Malformed(#[from] Malformed),
    /// It is for another fleet.
    #[error("it is for another fleet")]
    Fleet,
    /// It is for another agent.
    #[error("it is for another agent")]
    Agent,
    /// It is for an earlier process of this agent.
    #[error("it was signed before this agent was started")]
    Life,
    /// It is too old.
    #[error("it has expired")]
    Expired,
    /// Its time is in the future.
    #[error("it is ahead of the clock")]
    Early,
    /// It has arrived before.
    #[error("it was received before")]
    Replayed,
    /// Too many controllers send orders at once.
    #[error("too many controllers")]
    Crowded,
}

impl Envelope {
    /// Signs the order; returns the bytes to send.
    pub fn seal(&self, key: &ControllerKey) -> Vec<u8> {
        let Header { fleet, agent, controller, challenge, job, .. } = &self.header;
        let mut writer = Writer::default();
        writer.raw(DOMAIN);
        writer.bytes(fleet.as_bytes());
        writer.bytes(agent.as_bytes());
        [controller, challenge, job].into_iter().for_each(|id| writer.raw(&id.0));
        writer.number(self.header.sequence);
        writer.number(self.header.issued_ns);
        writer.number(self.header.expires_ns);
        writer.bytes(&self.payload);
        let mut message = writer.into_bytes();
        let signature = key.sign(&message);
        message.drain(..DOMAIN.len());
        message.extend_from_slice(&signature);
        message
    }

    /// Parses an order and checks its signature, but not its recipient.
    ///
    /// # Errors
    ///
    /// It is not signed by the key, or is malformed.
    pub fn open(bytes: &[u8], key: &PublicKey) -> Result<Self, OrderError> {
        if bytes.len() > MESSAGE_BYTES_MAX {
            return Err(OrderError::Size);
        }
        let unsigned = bytes.len().checked_sub(SIGNATURE_BYTES).ok_or(OrderError::Signature)?;
        let (message, signature) = bytes.split_at(unsigned);
        if !key.verifies(&[DOMAIN, message].concat(), signature) {
            return Err(OrderError::Signature);
        }
        let mut reader = Reader::new(message);
        let header = Header {
            fleet: reader.text(NAME_MAX, "the fleet")?.to_string(),
            agent: reader.text(NAME_MAX, "the agent")?.to_string(),
            controller: Id(reader.array()?),
            challenge: Id(reader.array()?),
            job: Id(reader.array()?),
            sequence: reader.number()?,
            issued_ns: reader.number()?,
            expires_ns: reader.number()?,
        };
        let payload = reader.bytes(MESSAGE_BYTES_MAX, "the payload")?.to_vec();
        reader.end()?;
        Ok(Self { header, payload })
    }
}

/// Which of the latest sequence numbers have arrived.
#[derive(Debug, Clone, Copy, Default)]
struct Window {
    highest: u64,
    /// The 64 numbers up to the highest; the lowest bit is the highest number.
    seen: u64,
}

impl Window {
    /// Marks a number as seen; returns whether it was new.
    fn admit(&mut self, sequence: u64) -> bool {
        if sequence > self.highest {
            let step = u32::try_from(sequence - self.highest).unwrap_or(u32::MAX);
            self.seen = self.seen.checked_shl(step).unwrap_or(0) | 1;
            self.highest = sequence;
            return true;
        }
        let bit = 1u64.checked_shl(u32::try_from(self.highest - sequence).unwrap_or(u32::MAX));
        let is_new = sequence > 0 && bit.is_some_and(|bit| self.seen & bit == 0);
        self.seen |= bit.unwrap_or(0);
        is_new
    }
}

/// What a guard remembers of a controller.
#[derive(Debug, Default)]
struct Known {
    window: Window,
    /// When the last of its orders expires.
    until_ns: u64,
}

/// Admits the orders that the controller signed for an agent, each once.
#[derive(Debug)]
pub struct Guard {
    key: PublicKey,
    fleet: String,
    agent: String,
    challenge: Id,
    controllers: BTreeMap<Id, Known>,
}

impl Guard {
    /// The guard of an agent for one process.
    pub fn new(key: PublicKey, (fleet, agent): (&str, &str), challenge: Id) -> Self {
        let (fleet, agent) = (fleet.to_string(), agent.to_string());
        Self { key, fleet, agent, challenge, controllers: BTreeMap::new() }
    }

    /// The order in these bytes, which arrived at this instant of the agent's clock.
    ///
    /// # Errors
    ///
    /// Why the order is refused.
    pub fn admit(&mut self, now_ns: u64, bytes: &[u8]) -> Result<Envelope, OrderError> {
        let envelope = Envelope::open(bytes, &self.key)?;
        let header = &envelope.header;
        let refused = if header.fleet != self.fleet {
            Some(OrderError::Fleet)
        } else if header.agent != self.agent {
            Some(OrderError::Agent)
        } else if header.challenge != self.challenge {
            Some(OrderError::Life)
        } else if header.issued_ns > now_ns.saturating_add(EARLY_NS) {
            Some(OrderError::Early)
        } else if now_ns > header.expires_ns.min(header.issued_ns.saturating_add(ORDER_VALID_NS)) {
            Some(OrderError::Expired)
        } else {
            None
        };
        if let Some(refused) = refused {
            return Err(refused);
        }
        self.make_room(now_ns, header.controller)?;
        let known = self.controllers.entry(header.controller).or_default();
        known.until_ns = known.until_ns.max(header.expires_ns);
        if known.window.admit(header.sequence) { Ok(envelope) } else { Err(OrderError::Replayed) }
    }

    /// Makes room for a new controller: forgets those whose orders have all expired.
    fn make_room(&mut self, now_ns: u64, controller: Id) -> Result<(), OrderError> {
        let is_known = self.controllers.contains_key(&controller);
        if is_known || self.controllers.len() < CONTROLLERS_MAX {
            return Ok(());
        }
        let margin_ns = ORDER_VALID_NS + EARLY_NS;
        self.controllers.retain(|_, known| known.until_ns.saturating_add(margin_ns) > now_ns);
        if self.controllers.len() < CONTROLLERS_MAX { Ok(()) } else { Err(OrderError::Crowded) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_window_lets_each_number_through_once(
            numbers in prop::collection::vec(1u64..200, 0..300),
        ) {
            let (mut window, mut seen) = (Window::default(), BTreeSet::new());
            for number in numbers {
                let is_recent = number + 64 > window.highest;
                let is_new = seen.insert(number);
                prop_assert_eq!(window.admit(number), is_new && is_recent);
            }
        }
    }
}
