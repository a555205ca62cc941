//! Where the sessions of one worker are kept until they are resumed.
//!
//! rustls keeps eight tickets for each server, too few for a worker whose connections all reconnect
//! at once. This keeps as many as the worker has connections. A worker uses only one server name,
//! so names are ignored.

use crossbeam_queue::ArrayQueue;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::{NamedGroup, pki_types::ServerName};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

/// No group was seen yet: an unassigned number.
const NO_GROUP: u16 = 0;

/// The tickets of a worker.
#[derive(Debug)]
pub struct Tickets {
    v13: ArrayQueue<Tls13ClientSessionValue>,
    v12: ArrayQueue<Tls12ClientSessionValue>,
    group: AtomicU16,
}

impl Tickets {
    /// Room for the tickets of `connections` connections.
    pub fn new(connections: u32) -> Self {
        Self {
            v13: ArrayQueue::new(connections.max(8) as usize),
            v12: ArrayQueue::new(1),
            group: AtomicU16::new(NO_GROUP),
        }
    }
}

/// What a connection may do with the tickets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Take one, and store new ones.
    Resume,
    /// Store new ones only.
    LeaveOnly,
}

/// The tickets as one kind of connection sees them.
#[derive(Debug)]
pub struct Store {
    pub tickets: Arc<Tickets>,
    pub access: Access,
}

impl ClientSessionStore for Store {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.tickets.group.store(u16::from(group), Ordering::Relaxed);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        match self.tickets.group.load(Ordering::Relaxed) {
            NO_GROUP => None,
            group => Some(NamedGroup::from(group)),
        }
    }

    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.tickets.v12.force_push(value);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        if self.access == Access::LeaveOnly {
            return None;
        }
        let value = self.tickets.v12.pop()?;
        // A session of version 1.2 may be resumed by many connections.
        self.tickets.v12.force_push(value.clone());
        Some(value)
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.tickets.v12.pop();
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.tickets.v13.force_push(value);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        if self.access == Access::LeaveOnly { None } else { self.tickets.v13.pop() }
    }
}
