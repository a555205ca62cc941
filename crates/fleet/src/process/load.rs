//! The load of one job: a thread that runs the lab and follows orders.
//!
//! In: an offer that the session accepted, orders. Out: ticks to the session as they come, and at
//! the end the run of this host's share.
//! Never: a connection to an address that was not checked against the allow-list.

use super::switch::Switch;
use crate::agent::Session;
use crate::allow::Allow;
use crate::message::{Ended, Offer, Refusal};
use engine::clock;
use lab::follow::{AgentReport, Followed, Means, Ordered, follow};
use lab::{Logs, ThisHost};
use model::fleet::AgentPoint;
use model::load::{ServerProcess, Trial};
use model::route::Address;
use model::run::Record;
use nats::Waker;
use plan::{Machine, Url};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use store::Readings;

/// The session, which the load's thread gives its ticks.
pub(crate) type Shared = Arc<Mutex<Session>>;

/// Locks the session, even if a thread that held the lock panicked. Two threads pass it the time,
/// so each must read the clock under the lock: to the session, time that goes back means that the
/// clock was set.
pub(crate) fn locked(session: &Mutex<Session>) -> MutexGuard<'_, Session> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The report of an agent at the end of a job, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    /// What it did in each visit, with the visit's number.
    pub points: Vec<(u32, AgentPoint)>,
    /// Its run.
    pub record: Record,
}

/// Messages of the thread.
#[derive(Debug)]
pub(crate) enum LoadMessage {
    /// Workers are ready, and these are the addresses they connect to.
    Ready(Vec<SocketAddr>),
    /// The load cannot be started.
    Refused(Refusal),
    /// The load is over, with what was measured.
    Ended(Ended, Option<Vec<u8>>),
}

/// A running load.
pub(crate) struct Load {
    orders: Sender<Ordered>,
    messages: Receiver<LoadMessage>,
    /// Set when the session has halted the load before its end.
    pub is_halted: Option<()>,
}

/// What a load needs to start.
pub(crate) struct Begin {
    pub agent: String,
    pub offer: Box<Offer>,
    pub url: Box<Url>,
    pub allow: Allow,
    pub session: Shared,
    pub waker: Waker,
    pub switch: Switch,
}

impl Load {
    /// Starts the thread, which prepares the load.
    pub(crate) fn begin(begin: Begin) -> Self {
        let (orders, ordered) = mpsc::channel();
        let (sender, messages) = mpsc::channel();
        let work = move || {
            let waker = begin.waker.clone();
            let switch = begin.switch.clone();
            let ended = carry_out(begin, &ordered, &sender);
            switch.ended();
            // The receiver may be gone.
            let _ = sender.send(ended);
            waker.wake();
        };
        // If the thread cannot be started, the closed channel is reported as a failure.
        let _ = thread::Builder::new().name("load".to_string()).spawn(work);
        Self { orders, messages, is_halted: None }
    }

    /// Passes an order to the thread. After the end of the load it has no effect.
    pub(crate) fn order(&self, ordered: Ordered) {
        let _ = self.orders.send(ordered);
    }

    /// The next message of the thread, if any.
    pub(crate) fn next_message(&self) -> Option<LoadMessage> {
        match self.messages.try_recv() {
            Ok(message) => Some(message),
            Err(mpsc::TryRecvError::Empty) => None,
            Err(mpsc::TryRecvError::Disconnected) => {
                Some(LoadMessage::Ended(Ended::Failed("its thread has ended".to_string()), None))
            }
        }
    }
}

fn carry_out(
    begin: Begin,
    orders: &Receiver<Ordered>,
    sender: &Sender<LoadMessage>,
) -> LoadMessage {
    let Begin { agent, offer, url, allow, session, waker, switch } = begin;
    let addresses = match ThisHost.resolve(&url.host, url.port) {
        Ok(addresses) => addresses,
        Err(why) => {
            let why = format!("{}: {why}", url.host);
            return LoadMessage::Refused(Refusal { why, is_unreachable: true });
        }
    };
    // No connection is made before this check. The session checks the addresses again.
    if let Err(error) = allow.check_addresses(&url, &addresses) {
        return LoadMessage::Refused(error.to_string().into());
    }
    let trial = own(&offer.trial, &addresses);
    let (near, stop) = (Readings::nameless(), switch.begun());
    let mut logs = match near {
        Ok(near) => Logs { near, far: None },
        Err(error) => return LoadMessage::Refused(error.to_string().into()),
    };
    let shares = &offer.shares;
    let mut is_ready = false;
    let mut tell = |report: AgentReport<'_>| match report {
        AgentReport::Ready => {
            is_ready = true;
            let _ = sender.send(LoadMessage::Ready(addresses.clone()));
            waker.wake();
        }
        AgentReport::Tick(crew, tick) => {
            let mut session = locked(&session);
            session.tell(clock::now_ns(), crew, tick);
        }
        AgentReport::Event(_) => {}
    };
    let command = ["ceiling".to_string(), "agent".to_string()];
    let means = Means {
        shares,
        command: &command,
        logs: &mut logs,
        stop: &stop,
        is_loading: switch.is_loading(),
    };
    match follow(&trial, orders, means, &mut tell) {
        Ok(followed) => LoadMessage::Ended(Ended::Complete, report(&agent, followed)),
        Err(error) if is_ready => LoadMessage::Ended(Ended::Failed(error.to_string()), None),
        Err(error) => {
            let is_unreachable = error.is_unreachable();
            LoadMessage::Refused(Refusal { why: error.to_string(), is_unreachable })
        }
    }
}

/// The trial of the whole load, with the settings of this host.
fn own(trial: &Trial, addresses: &[SocketAddr]) -> Trial {
    let (driver, driver_reason) = engine::choose_driver();
    Trial {
        addresses: addresses.iter().copied().map(Address::from).collect(),
        driver,
        driver_reason,
        cpus: Vec::new(),
        sources: Vec::new(),
        server: ServerProcess::ByPort,
        ..trial.clone()
    }
}

fn report(agent: &str, followed: Followed) -> Option<Vec<u8>> {
    let points = followed.points(agent);
    serde_json::to_vec(&Report { points, record: followed.run.record }).ok()
}
