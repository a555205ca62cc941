//! The agent's side: announces itself, accepts a job, follows orders, delivers what its workers
//! measured, and ends its load when its lease is not renewed.
//!
//! The load of an agent ends by itself at [`Session::load_until_ns`], unless a lease that the
//! controller signed moves that instant. The caller watches the instant from a separate thread, so
//! that neither a busy line nor a bug in this module can keep load going.

mod collect;

use crate::admit::{self, Limits, Ordered};
use crate::blob::{self, Assembly};
use crate::frame::{Down, DownItem, Pong, Up, UpItem};
use crate::key::PublicKey;
use crate::message::{
    BlobHead, Command, CrewOrder, Ended, Facts, Halt, Hello, Id, Offer, Refusal, Report,
};
use crate::order::{Envelope, Guard};
use crate::stream::{Inbox, Outbox, UP_AGAIN_NS};
use crate::{CALL, HELLO_BYTES_MAX, HELLO_EVERY_NS, LEASE_NS, ORDER_VALID_NS, PROTOCOL};
use collect::Collector;
use engine::job::Order;
use model::facts::ClockOffset;
use model::tick::{ThreadKind, Tick};
use plan::Url;
use remote::printable;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

/// A controller that is silent for this long, and has no job here, is forgotten, nanoseconds.
const FORGET_NS: u64 = 60_000_000_000;
/// A call within this time after the last hello gets no response, nanoseconds.
const CALLED_NS: u64 = 200_000_000;
/// Most bytes that wait for a controller; the load ends if there are more.
const WAITING_BYTES_MAX: usize = 64 << 20;
/// Most messages to one controller at once.
const MESSAGES_MAX: usize = 8;
/// Most notices that are kept until the caller takes them.
const NOTICES_MAX: usize = 256;

/// The identity of an agent, and what its user allows.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The fleet.
    pub fleet: String,
    /// The agent's name in it.
    pub agent: String,
    /// The controller's key: orders that it did not sign are ignored.
    pub controller: PublicKey,
    /// Where load may go, and how much.
    pub limits: Limits,
    /// Facts about the agent and its host.
    pub facts: Facts,
}

/// Where a message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// [`crate::subject::call`].
    Call,
    /// [`crate::subject::down`].
    Down,
}

/// Where a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// [`crate::subject::hello`].
    Hello,
    /// [`crate::subject::up`].
    Up,
}

/// What the caller must do.
#[derive(Debug)]
pub enum Output {
    /// Send bytes.
    Send {
        /// The destination.
        to: To,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Prepare a job whose text is within the limits: resolve the host of the URL, then call
    /// [`Session::prepared`] or [`Session::refuse`].
    Prepare {
        /// The id of the job.
        job: Id,
        /// The job.
        offer: Box<Offer>,
        /// Where its load goes.
        url: Box<Url>,
    },
    /// The fleet is complete, and the job starts.
    Begin {
        /// This agent's clock minus the controller's.
        clock: ClockOffset,
    },
    /// An order for the whole fleet, of which the agent's crew takes its share; instants are those
    /// of this agent's clock.
    Order {
        /// The crew.
        crew: ThreadKind,
        /// The order.
        order: Order,
    },
    /// End the load now. Measurements are still delivered; then call [`Session::ended`].
    Halt(Halt),
    /// No more orders come: call [`Session::ended`] after the last tick.
    Finish,
    /// For the log, safe for a terminal.
    Notice(String),
}

/// One controller.
#[derive(Debug)]
struct Peer {
    inbox: Inbox,
    outbox: Outbox,
    heard_ns: u64,
    ping: Option<(u64, u64)>,
    owes_answer: bool,
    offer: Option<(Id, Assembly)>,
}

impl Peer {
    fn new() -> Self {
        Self {
            inbox: Inbox::default(),
            outbox: Outbox::new(UP_AGAIN_NS),
            heard_ns: 0,
            ping: None,
            owes_answer: false,
            offer: None,
        }
    }
}

/// The stage of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Preparing,
    Accepted,
    Running,
    Finishing,
    Halted,
}

#[derive(Debug)]
struct Job {
    id: Id,
    controller: Id,
    offer: Box<Offer>,
    url: Box<Url>,
    stage: Stage,
    /// When the agent took it.
    since_ns: u64,
    lease_until_ns: u64,
    ordered: Ordered,
    collector: Collector,
}

/// The agent's side of the line.
#[derive(Debug)]
pub struct Session {
    settings: Settings,
    challenge: Id,
    guard: Guard,
    peers: BTreeMap<Id, Peer>,
    job: Option<Job>,
    outputs: VecDeque<Output>,
    now_ns: u64,
    hello_due_ns: u64,
    hello_ns: Option<u64>,
    refusals: u64,
    /// The version of the protocol that another controller has.
    other_version: Option<u32>,
}

impl Session {
    /// An agent that starts now. The challenge must be a new random one for each start of the
    /// process.
    pub fn new(settings: Settings, challenge: Id, now_ns: u64) -> Self {
        let names = (&*settings.fleet, &*settings.agent);
        let guard = Guard::new(settings.controller, names, challenge);
        Self {
            settings,
            challenge,
            guard,
            peers: BTreeMap::new(),
            job: None,
            outputs: VecDeque::new(),
            now_ns,
            hello_due_ns: now_ns,
            hello_ns: None,
            refusals: 0,
            other_version: None,
        }
    }

    /// Handles a message that arrived. It may renew a lease that is over: an agent that could not
    /// run for a while reads what arrived meanwhile before [`Self::tick`] judges the lease.
    pub fn receive(&mut self, now_ns: u64, from: From, bytes: &[u8]) {
        self.advance(now_ns);
        match from {
            From::Call => {
                let is_soon = self.hello_ns.is_some_and(|ns| now_ns.abs_diff(ns) < CALLED_NS);
                if !is_soon {
                    self.called(bytes);
                    self.say_hello();
                }
            }
            From::Down => match self.guard.admit(now_ns, bytes) {
                Ok(envelope) => self.listen(&envelope),
                Err(error) => self.refused(&error.to_string()),
            },
        }
        self.flush();
    }

    /// Lets time advance, and ends the load if its lease is over. Call it at least every 20 ms,
    /// after the messages that have arrived.
    pub fn tick(&mut self, now_ns: u64) {
        self.advance(now_ns);
        if self.load_until_ns().is_some_and(|until_ns| now_ns > until_ns) {
            self.end_load(Halt::Lease);
        }
        if now_ns >= self.hello_due_ns {
            self.say_hello();
        }
        self.hand_over_due();
        let working = self.job.as_ref().map(|job| job.controller);
        self.peers.retain(|id, peer| {
            Some(*id) == working || now_ns.saturating_sub(peer.heard_ns) < FORGET_NS
        });
        self.flush();
    }

    /// The line was down and is up again: everything without an acknowledgement is sent again at
    /// once.
    pub fn reconnected(&mut self) {
        self.peers.values_mut().for_each(|peer| peer.outbox.send_again());
        self.hello_due_ns = self.now_ns;
        self.flush();
    }

    /// The next thing that the caller must do.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// The agent is ready for the job: its host resolved to these addresses, and connections go to
    /// them and to no others.
    ///
    /// # Errors
    ///
    /// One of the addresses is not allowed, or the job is over. The reason was reported; the caller
    /// discards what it prepared.
    pub fn prepared(&mut self, now_ns: u64, addresses: &[SocketAddr]) -> Result<(), String> {
        self.advance(now_ns);
        let job = self.job.as_mut().filter(|job| job.stage == Stage::Preparing);
        let Some(job) = job else { return Err("the job is over".to_string()) };
        let allowed = self.settings.limits.allow.check_addresses(&job.url, addresses);
        if let Err(error) = allowed {
            let why = error.to_string();
            self.refuse(now_ns, why.clone().into());
            return Err(why);
        }
        job.stage = Stage::Accepted;
        self.report(&Report::Accepted { addresses: addresses.to_vec() });
        self.flush();
        Ok(())
    }

    /// The agent cannot accept the job that it was preparing, which may have been halted meanwhile.
    pub fn refuse(&mut self, now_ns: u64, refusal: Refusal) {
        self.advance(now_ns);
        let is_open = |job: &Job| matches!(job.stage, Stage::Preparing | Stage::Halted);
        if self.job.as_ref().is_some_and(is_open) {
            self.report(&Report::Refused(refusal));
            self.job = None;
            self.flush();
        }
    }

    /// Adds a tick of a worker of the job.
    pub fn tell(&mut self, now_ns: u64, crew: ThreadKind, tick: &Tick) {
        self.advance(now_ns);
        if let Some(job) = &mut self.job {
            job.collector.add(now_ns, crew, tick);
            self.hand_over_due();
            self.flush();
        }
    }

    /// The agent's part of the job is over, and every tick was added. The record is JSON.
    pub fn ended(&mut self, now_ns: u64, ended: Ended, record: Option<&[u8]>) {
        self.advance(now_ns);
        let Some(job) = &mut self.job else { return };
        let ticks = job.collector.take_all();
        self.hand_over(ticks);
        let cut = record.and_then(|record| blob::cut(record).ok());
        let (head, pieces): (Option<BlobHead>, _) = cut.unzip();
        self.report(&Report::Ended { ended, record: head });
        pieces.into_iter().flatten().for_each(|piece| self.push(&UpItem::Piece(piece)));
        self.job = None;
        self.flush();
    }

    /// The agent's own user ends the load, for example with Ctrl-C.
    pub fn halt(&mut self, now_ns: u64, why: String) {
        self.advance(now_ns);
        self.end_load(Halt::Stopped(why));
        self.flush();
    }

    /// When the load of this agent ends unless its lease is renewed, monotonic nanoseconds; `None`
    /// if it has no load, or has ended it.
    pub fn load_until_ns(&self) -> Option<u64> {
        let job = self.job.as_ref().filter(|job| job.stage != Stage::Halted);
        job.map(|job| job.lease_until_ns)
    }

    /// The job that the agent is carrying out.
    pub fn job(&self) -> Option<Id> {
        self.job.as_ref().map(|job| job.id)
    }

    /// The number of messages and orders that were refused so far.
    pub fn refusals(&self) -> u64 {
        self.refusals
    }

    /// Ends the load if the clock went back, because leases then cannot be judged any more.
    fn advance(&mut self, now_ns: u64) {
        let before_ns = std::mem::replace(&mut self.now_ns, now_ns);
        if now_ns < before_ns {
            self.hello_due_ns = now_ns;
            self.peers.values_mut().for_each(|peer| peer.heard_ns = now_ns);
            self.end_load(Halt::Clock);
        }
    }

    fn end_load(&mut self, why: Halt) {
        let Some(job) = self.job.as_mut().filter(|job| job.stage != Stage::Halted) else { return };
        job.stage = Stage::Halted;
        let why = why.printable();
        self.report(&Report::Halted { why: why.clone(), at_ns: self.now_ns });
        self.outputs.push_back(Output::Halt(why));
    }

    /// A call may say that the controller has another version; it then offers this agent no job.
    fn called(&mut self, bytes: &[u8]) {
        let text = std::str::from_utf8(bytes).ok().and_then(|text| text.strip_prefix(CALL));
        let version = text.and_then(|text| text.parse::<u32>().ok());
        let Some(version) = version.filter(|version| *version != PROTOCOL) else { return };
        if self.other_version.replace(version) != Some(version) {
            self.outputs.push_back(Output::Notice(format!(
                "a controller has version {version} of the fleet's protocol, and this agent has \
                 version {PROTOCOL}: run the same version of ceiling on both hosts"
            )));
        }
    }

    fn say_hello(&mut self) {
        self.hello_ns = Some(self.now_ns);
        self.hello_due_ns = self.now_ns.saturating_add(HELLO_EVERY_NS);
        let mut hello = Hello {
            protocol: PROTOCOL,
            agent: self.settings.agent.clone(),
            challenge: self.challenge,
            now_ns: self.now_ns,
            job: self.job(),
            facts: self.settings.facts.clone(),
        };
        let written = |hello: &Hello| serde_json::to_vec(hello).expect("a hello has a JSON form");
        let mut bytes = written(&hello);
        if bytes.len() > HELLO_BYTES_MAX {
            let Facts { version, cpus, capacity, rate_max, boot, .. } = hello.facts;
            hello.facts = Facts { version, cpus, capacity, rate_max, boot, ..Facts::default() };
            bytes = written(&hello);
        }
        self.outputs.push_back(Output::Send { to: To::Hello, bytes });
    }

    /// Handles an order that the guard admitted.
    fn listen(&mut self, envelope: &Envelope) {
        let header = &envelope.header;
        let down = match Down::parse(&envelope.payload) {
            Ok(down) => down,
            Err(error) => return self.refused(&error.to_string()),
        };
        let peer = self.peers.entry(header.controller).or_insert_with(Peer::new);
        peer.heard_ns = self.now_ns;
        peer.owes_answer = true;
        peer.outbox.acknowledged(down.ack);
        peer.ping = down.ping.map(|id| (id, self.now_ns)).or(peer.ping);
        down.items.into_iter().for_each(|item| peer.inbox.put(item));
        if let Some(until_ns) = down.lease_until_ns {
            self.renew((header.controller, header.job), until_ns);
        }
        loop {
            let peer = self.peers.get_mut(&header.controller);
            let Some(item) = peer.and_then(|peer| peer.inbox.take()) else { return };
            match DownItem::parse(&item) {
                Ok((job, DownItem::Command(command))) => {
                    self.command((header.controller, job), command);
                }
                Ok((job, DownItem::Piece(piece))) => {
                    self.piece((header.controller, job), &piece);
                }
                Err(why) => self.refused(&why),
            }
        }
    }

    /// Renews the lease of a load. A lease applies only to the load of its own job, and not to a
    /// load that has ended.
    fn renew(&mut self, (controller, id): (Id, Id), until_ns: u64) {
        let most_ns = self.now_ns.saturating_add(LEASE_NS);
        let is_meant = |job: &&mut Job| {
            (job.controller, job.id) == (controller, id) && job.stage != Stage::Halted
        };
        match self.job.as_mut().filter(is_meant) {
            Some(job) => job.lease_until_ns = job.lease_until_ns.max(until_ns.min(most_ns)),
            None => self.refusals += 1,
        }
    }

    fn command(&mut self, (controller, id): (Id, Id), command: Command) {
        if let Command::Stop { why } = command {
            return self.end_load(Halt::Stopped(why));
        }
        if let Command::Offer { blob } = command {
            return self.announced((controller, id), blob);
        }
        let is_meant = |job: &&mut Job| (job.controller, job.id) == (controller, id);
        let Some(job) = self.job.as_mut().filter(is_meant) else {
            return self.refused("an order for a job that this agent is not carrying out");
        };
        match (command, job.stage) {
            (_, Stage::Halted) => {}
            (Command::Begin { clock }, Stage::Accepted) => {
                job.stage = Stage::Running;
                self.outputs.push_back(Output::Begin { clock });
            }
            (Command::Crew { crew, order }, Stage::Running) => self.follow(crew, order),
            (Command::Finish, Stage::Running) => {
                job.stage = Stage::Finishing;
                self.outputs.push_back(Output::Finish);
            }
            (Command::Finish, Stage::Preparing | Stage::Accepted) => {
                self.end_load(Halt::Stopped("the fleet did not start the job".to_string()));
            }
            _ => self.refused("an order at the wrong time"),
        }
    }

    fn follow(&mut self, crew: ThreadKind, order: CrewOrder) {
        let Some(job) = &mut self.job else { return };
        let is_limited = self.settings.limits.rate_max.is_some();
        let mut admitted = admit::order(&order, &job.offer, &self.settings.limits)
            .and_then(|()| job.ordered.note(crew, &order));
        if let CrewOrder::Measure { begin_ns, .. } = &order {
            job.collector.begin_window(crew, *begin_ns);
            // All that a plan has had due since then would leave at once, whatever the rate.
            if *begin_ns < job.since_ns {
                admitted = Err("a window would start before the agent took the job".to_string());
            } else if begin_ns.saturating_add(ORDER_VALID_NS) < self.now_ns && is_limited {
                admitted = Err("the order came long after the start of its window".to_string());
            }
        }
        if let Err(why) = admitted {
            self.refused(&why);
            return self.end_load(Halt::Refused(why));
        }
        let mut order = order.into_order();
        if let Order::Measure { begin_ns, skip_until_ns, .. } = &mut order
            && is_limited
            && *begin_ns < self.now_ns
        {
            // It would leave at once, above the limit.
            *skip_until_ns = self.now_ns;
            let late_ms = (self.now_ns - *begin_ns) / 1_000_000;
            self.outputs.push_back(Output::Notice(format!(
                "an order came {late_ms} ms after the start of its window: what was due by then \
                 is not sent, because of --max-rate"
            )));
        }
        self.outputs.push_back(Output::Order { crew, order });
    }

    /// A job will follow in pieces.
    fn announced(&mut self, (controller, id): (Id, Id), head: BlobHead) {
        if self.job.is_some() {
            let why = "it is carrying out another job".to_string();
            return self.push_to((controller, id), &UpItem::Report(Report::Refused(why.into())));
        }
        let assembly = Assembly::new(head);
        let Some(peer) = self.peers.get_mut(&controller) else { return };
        match assembly {
            Ok(assembly) => peer.offer = Some((id, assembly)),
            Err(error) => self.turn_down((controller, id), error.to_string()),
        }
    }

    fn piece(&mut self, (controller, id): (Id, Id), piece: &[u8]) {
        let peer = self.peers.get_mut(&controller);
        let Some((offered, assembly)) = peer.and_then(|peer| peer.offer.as_mut()) else { return };
        if *offered != id {
            return;
        }
        let whole = match assembly.add(piece) {
            Ok(None) => return,
            Ok(Some(whole)) => Ok(whole),
            Err(error) => Err(error.to_string()),
        };
        if let Some(peer) = self.peers.get_mut(&controller) {
            peer.offer = None;
        }
        let read = |whole: Vec<u8>| {
            serde_json::from_slice::<Offer>(&whole).map_err(|error| error.to_string())
        };
        let admitted = whole
            .and_then(read)
            .and_then(|offer| admit::offer(&offer, &self.settings.limits).map(|url| (offer, url)));
        match admitted {
            Ok(_) if self.job.is_some() => {
                self.turn_down((controller, id), "it is carrying out another job".to_string());
            }
            Ok((offer, url)) => self.prepare((controller, id), offer, url),
            Err(why) => self.turn_down((controller, id), why),
        }
    }

    fn prepare(&mut self, (controller, id): (Id, Id), offer: Offer, url: Url) {
        let collector = Collector::new(&offer.shares);
        let (offer, url) = (Box::new(offer), Box::new(url));
        self.outputs.push_back(Output::Prepare { job: id, offer: offer.clone(), url: url.clone() });
        self.job = Some(Job {
            id,
            controller,
            offer,
            url,
            stage: Stage::Preparing,
            since_ns: self.now_ns,
            lease_until_ns: self.now_ns.saturating_add(LEASE_NS),
            ordered: Ordered::default(),
            collector,
        });
    }

    fn turn_down(&mut self, to: (Id, Id), why: String) {
        self.refused(&why);
        self.push_to(to, &UpItem::Report(Report::Refused(why.into())));
    }

    fn refused(&mut self, why: &str) {
        self.refusals += 1;
        let is_notice = |output: &&Output| matches!(output, Output::Notice(_));
        if self.outputs.iter().filter(is_notice).count() < NOTICES_MAX {
            self.outputs.push_back(Output::Notice(format!("refused: {}", printable(why))));
        }
    }

    fn report(&mut self, report: &Report) {
        self.push(&UpItem::Report(report.clone()));
    }

    /// Queues an item for the controller of the job.
    fn push(&mut self, item: &UpItem) {
        if let Some(job) = &self.job {
            self.push_to((job.controller, job.id), item);
        }
    }

    fn push_to(&mut self, (controller, id): (Id, Id), item: &UpItem) {
        if let Some(peer) = self.peers.get_mut(&controller) {
            peer.outbox.push(item.to_bytes(id));
        }
    }

    fn hand_over_due(&mut self) {
        let now_ns = self.now_ns;
        let Some(job) = &mut self.job else { return };
        let ticks = job.collector.take_due(now_ns);
        self.hand_over(ticks);
    }

    fn hand_over(&mut self, ticks: Vec<Vec<u8>>) {
        ticks.into_iter().for_each(|tick| self.push(&UpItem::Tick(tick)));
        let controller = self.job.as_ref().map(|job| job.controller);
        let peer = controller.and_then(|controller| self.peers.get(&controller));
        if peer.is_some_and(|peer| peer.outbox.bytes() > WAITING_BYTES_MAX) {
            self.end_load(Halt::Full);
        }
    }

    fn flush(&mut self) {
        for (controller, peer) in &mut self.peers {
            for _ in 0..MESSAGES_MAX {
                let items = peer.outbox.due(self.now_ns);
                let ping = peer.ping.take();
                if items.is_empty() && ping.is_none() && !peer.owes_answer {
                    break;
                }
                peer.owes_answer = false;
                let pong = ping.map(|(id, received_ns)| Pong {
                    id,
                    received_ns,
                    answered_ns: self.now_ns,
                });
                let up = Up {
                    controller: *controller,
                    challenge: self.challenge,
                    ack: peer.inbox.taken(),
                    pong,
                    items,
                };
                self.outputs.push_back(Output::Send { to: To::Up, bytes: up.to_bytes() });
            }
        }
    }
}
