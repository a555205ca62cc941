//! The controller's side: tracks agents and their clocks, offers a job, passes on the orders of the
//! lab, and gives the lab one tick for each tenth of a second.
//!
//! It keeps an account of each agent. An agent that is silent is *cut off*: its load ends by
//! itself, and its measurements count if it comes back in time. One that does not come back is
//! *lost*: the ticks that arrived count, its requests in flight count as unanswered, and the rest
//! of its share counts as missing.

mod far;
mod member;
mod merge;

pub use far::Agent;
pub use member::Account;
pub use merge::LoadAccount;

use crate::blob;
use crate::frame::{DownItem, Up, UpItem};
use crate::key::ControllerKey;
use crate::message::{Command, CrewOrder, Hello, Id, Offer, Refusal};
use crate::subject::is_name;
use crate::{AGENTS_MAX, CALL, HELLO_BYTES_MAX, LATE_NS, PROTOCOL};
use engine::job::Order;
use member::{Answer, Member};
use merge::{Merger, Presence};
use model::maps::IntoMap;
use model::tick::{ThreadKind, Tick};
use std::collections::{BTreeMap, VecDeque};

/// How long an agent may send nothing new of its final report, nanoseconds.
const REPORT_NS: u64 = 60_000_000_000;
/// How long agents may take for it in all, nanoseconds, while data still arrives: over a slow link
/// that is minutes.
pub const REPORT_MAX_NS: u64 = 300_000_000_000;

/// Where a message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From<'a> {
    /// [`crate::subject::hello`] of this agent.
    Hello(&'a str),
    /// [`crate::subject::up`] of this agent.
    Up(&'a str),
}

/// Where a message goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum To {
    /// [`crate::subject::call`].
    Call,
    /// [`crate::subject::down`] of this agent.
    Down(String),
}

/// What the caller must do, or an event to report.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Send bytes.
    Send {
        /// The destination.
        to: To,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Something happened to an agent.
    Event {
        /// Its name.
        agent: String,
        /// The event.
        event: Event,
    },
}

/// What happens to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It responded for the first time, or was restarted.
    Appeared,
    /// It accepts the job.
    Accepted,
    /// It refuses the job, and why.
    Refused(String),
    /// It was silent for [`crate::SILENCE_NS`].
    CutOff,
    /// It responds again.
    Back,
    /// It ended its load without an order, and why.
    Halted(String),
    /// Its part is over.
    Ended,
    /// Its messages do not count any more, and why.
    Lost(String),
    /// Its clock or ours was set.
    ClockSet,
    /// Two processes have its name.
    Doubled,
}

/// Why a job cannot be offered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OfferError {
    /// Another job is running.
    #[error("another job is running")]
    Busy,
    /// There is no such agent.
    #[error("there is no agent {0}")]
    Unknown(String),
    /// It has another version of the protocol.
    #[error(
        "agent {agent} is ceiling {version} with version {protocol} of the fleet's protocol, and \
         this one has version {PROTOCOL}: run the same version of ceiling on both hosts"
    )]
    Protocol {
        /// The agent.
        agent: String,
        /// Version of its program.
        version: String,
        /// Its version of the protocol.
        protocol: u32,
    },
    /// Two processes have its name: orders would go to one, and then to the other.
    #[error(
        "two processes have the name {0} in the fleet: end one of them, or give it a --name and \
         credentials of its own"
    )]
    Doubled(String),
    /// The trial is too large to be sent.
    #[error("the requests of the trial are too large to be sent to agents")]
    Size,
}

/// How many agents have answered an offer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answers {
    /// Agents that accept the job.
    pub accepted: usize,
    /// Agents that refuse it.
    pub refused: usize,
    /// Agents that have not answered, or whose clocks are not known yet.
    pub waiting: usize,
}

/// The stage of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Offered,
    Running,
    Finishing,
}

#[derive(Debug)]
struct Job {
    id: Id,
    stage: Stage,
    members: Vec<Member>,
    /// The index of each agent among the members.
    places: BTreeMap<String, usize>,
    mergers: [Merger; 2],
    finish_ns: u64,
}

/// The controller's side of all lines.
#[derive(Debug)]
pub struct Session {
    fleet: String,
    key: ControllerKey,
    controller: Id,
    agents: BTreeMap<String, Agent>,
    job: Option<Job>,
    accounts: Vec<Account>,
    outputs: VecDeque<Output>,
}

impl Session {
    /// A controller that starts now. Its id must be a new random one for each start of the process.
    pub fn new(fleet: &str, key: ControllerKey, controller: Id) -> Self {
        Self {
            fleet: fleet.to_string(),
            key,
            controller,
            agents: BTreeMap::new(),
            job: None,
            accounts: Vec::new(),
            outputs: VecDeque::new(),
        }
    }

    /// Asks all agents to say hello.
    pub fn call(&mut self) {
        self.outputs.push_back(Output::Send { to: To::Call, bytes: call() });
    }

    /// Handles a message that arrived.
    pub fn receive(&mut self, now_ns: u64, from: From<'_>, bytes: &[u8]) {
        match from {
            From::Hello(name) => self.hello(now_ns, name, bytes),
            From::Up(name) => {
                let Ok(up) = Up::parse(bytes) else { return };
                if up.controller == self.controller {
                    self.reported(now_ns, name, up);
                }
            }
        }
        let (From::Hello(name) | From::Up(name)) = from;
        self.flush_one(now_ns, name);
    }

    /// Lets time advance. Call it at least every 20 ms.
    pub fn tick(&mut self, now_ns: u64) {
        if let Some(job) = &mut self.job {
            for member in &mut job.members {
                let heard_ns = self.agents.get(&member.name).map_or(0, Agent::heard_ns);
                let event = member.listened(now_ns, heard_ns);
                self.outputs.extend(event.map(|event| output(&member.name, event)));
            }
        }
        self.flush(now_ns);
    }

    /// The line was down and is up again: everything without an acknowledgement is sent again at
    /// once.
    pub fn reconnected(&mut self, now_ns: u64) {
        self.agents.values_mut().for_each(|agent| agent.send_again(now_ns));
        self.flush(now_ns);
    }

    /// The next thing that the caller must do.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// All agents that have ever responded, by name.
    pub fn agents(&self) -> impl Iterator<Item = &Agent> {
        self.agents.values()
    }

    /// Offers a job to these agents, each with its share. Each agent answers by itself.
    ///
    /// # Errors
    ///
    /// Another job is running, or the job cannot be offered to one of the agents.
    pub fn offer(&mut self, now_ns: u64, offers: Vec<(String, Offer)>) -> Result<Id, OfferError> {
        if self.job.is_some() {
            return Err(OfferError::Busy);
        }
        let mut cut = Vec::with_capacity(offers.len());
        for (name, offer) in &offers {
            let agent = self.agents.get(name).ok_or_else(|| OfferError::Unknown(name.clone()))?;
            let Hello { protocol, facts, .. } = agent.hello();
            if *protocol != PROTOCOL {
                let (agent, version) = (name.clone(), facts.version.clone());
                return Err(OfferError::Protocol { agent, version, protocol: *protocol });
            }
            if agent.is_doubled() {
                return Err(OfferError::Doubled(name.clone()));
            }
            let whole = serde_json::to_vec(offer).map_err(|_| OfferError::Size)?;
            cut.push(blob::cut(&whole).map_err(|_| OfferError::Size)?);
        }
        let (id, mut members) = (Id::random(), Vec::with_capacity(offers.len()));
        let when = (now_ns, offers.len());
        for ((name, offer), (head, pieces)) in offers.into_iter().zip(cut) {
            let Some(agent) = self.agents.get_mut(&name) else { continue };
            agent.begin_trips(now_ns);
            agent.push(id, &DownItem::Command(Command::Offer { blob: head }));
            pieces.into_iter().for_each(|piece| agent.push(id, &DownItem::Piece(piece)));
            members.push(Member::new(name, agent, offer.shares, when));
        }
        let name = |(index, member): (usize, &Member)| (member.name.clone(), index);
        let places = members.iter().enumerate().map(name).into_map();
        let mergers = [Merger::new(), Merger::new()];
        let stage = Stage::Offered;
        self.job = Some(Job { id, stage, members, places, mergers, finish_ns: 0 });
        self.accounts.clear();
        self.flush(now_ns);
        Ok(id)
    }

    /// The answers to the offer so far. An agent counts as waiting until its clock is known well.
    pub fn answers(&self) -> Answers {
        let mut answers = Answers::default();
        for member in self.job.iter().flat_map(|job| &job.members) {
            let knows_clock = self.agents.get(&member.name).is_some_and(Agent::has_trips);
            match &member.answer {
                Answer::Accepted if knows_clock => answers.accepted += 1,
                Answer::Refused(_) => answers.refused += 1,
                Answer::Accepted | Answer::None => answers.waiting += 1,
            }
        }
        answers
    }

    /// Agents that refuse the job, and why.
    pub fn refusals(&self) -> impl Iterator<Item = (&str, &Refusal)> {
        let members = self.job.iter().flat_map(|job| &job.members);
        members.filter_map(|member| match &member.answer {
            Answer::Refused(refusal) => Some((&*member.name, refusal)),
            Answer::Accepted | Answer::None => None,
        })
    }

    /// Starts the job with the agents that accepted it and whose clocks are known. The others take
    /// no part.
    pub fn begin(&mut self, now_ns: u64) {
        let Some(job) = self.job.as_mut().filter(|job| job.stage == Stage::Offered) else { return };
        job.stage = Stage::Running;
        for member in &mut job.members {
            let Some(agent) = self.agents.get_mut(&member.name) else { continue };
            let clock = agent.clock().filter(|_| member.answer == Answer::Accepted);
            match clock {
                Some(clock) => {
                    member.clock = Some(clock);
                    agent.push(job.id, &DownItem::Command(Command::Begin { clock }));
                    agent.in_job();
                }
                None => {
                    agent.push(job.id, &DownItem::Command(Command::Finish));
                    member.leave("it was not ready when the job started");
                }
            }
        }
        self.flush(now_ns);
    }

    /// Withdraws the offer.
    pub fn abandon(&mut self, now_ns: u64) {
        let Some(job) = self.job.take() else { return };
        for member in &job.members {
            if let Some(agent) = self.agents.get_mut(&member.name) {
                agent.push(job.id, &DownItem::Command(Command::Finish));
            }
        }
        self.flush(now_ns);
    }

    /// Passes an order of the lab to a crew of all agents that carry load. Instants are those of
    /// the controller's clock.
    pub fn order(&mut self, now_ns: u64, crew: ThreadKind, order: &Order) {
        let Some(job) = self.job.as_mut().filter(|job| job.stage == Stage::Running) else { return };
        let merger = &mut job.mergers[crew as usize];
        if let Order::Connect { .. } = order {
            job.members.iter_mut().enumerate().for_each(|(index, member)| {
                member.keep(crew, merger.account(index));
            });
        }
        merger.ordered(now_ns, order, job.members.len());
        for member in job.members.iter().filter(|member| member.carries_load()) {
            let Some(agent) = self.agents.get_mut(&member.name) else { continue };
            let offset_ns = member.clock.map_or(0, |clock| clock.offset_ns);
            let order = CrewOrder::of(order, offset_ns);
            agent.push(job.id, &DownItem::Command(Command::Crew { crew, order }));
        }
        self.flush(now_ns);
    }

    /// Calls `read` with every merged tick of a crew that is due: one for each tenth of a second,
    /// and the last one of a load once.
    pub fn ticks(&mut self, now_ns: u64, crew: ThreadKind, read: &mut dyn FnMut(&Tick)) {
        let Some(job) = &mut self.job else { return };
        let presence: Vec<Presence> = job.members.iter().map(Member::presence).collect();
        job.mergers[crew as usize].hand_out(now_ns, &presence, read);
    }

    /// No more orders come: the agents send their final reports.
    pub fn finish(&mut self, now_ns: u64) {
        let Some(job) = self.job.as_mut().filter(|job| job.stage == Stage::Running) else { return };
        (job.stage, job.finish_ns) = (Stage::Finishing, now_ns);
        for member in job.members.iter().filter(|member| member.clock.is_some()) {
            let Some(agent) = self.agents.get_mut(&member.name) else { continue };
            agent.end_trips(now_ns);
            if member.is_expected() {
                agent.push(job.id, &DownItem::Command(Command::Finish));
            }
        }
        self.flush(now_ns);
    }

    /// Whether all reports have arrived, or the missing ones will not arrive any more. The job is
    /// then over, and its accounts are final.
    pub fn is_finished(&mut self, now_ns: u64) -> bool {
        let Some(job) = self.job.as_ref().filter(|job| job.stage != Stage::Offered) else {
            return self.job.is_none();
        };
        let (finish_ns, agents) = (job.finish_ns, &self.agents);
        let is_awaited = |member: &Member| {
            let Some(agent) = agents.get(&member.name) else { return false };
            let after = |from_ns: u64, ns: u64| now_ns < from_ns.max(finish_ns).saturating_add(ns);
            let is_there = after(agent.heard_ns(), LATE_NS) && after(0, REPORT_MAX_NS);
            let reports = member.is_expected() && after(member.progress_ns, REPORT_NS);
            // One that has left answers no ping.
            let is_timing = member.is_timed() && !agent.has_trips() && !agent.is_silent(now_ns);
            is_there && (reports || is_timing && after(member.progress_ns, LATE_NS))
        };
        if job.stage != Stage::Finishing || job.members.iter().any(is_awaited) {
            return false;
        }
        self.accounts = self.accounts_now();
        for member in &job.members {
            if let Some(agent) = self.agents.get_mut(&member.name) {
                agent.out_of_job();
            }
        }
        self.job = None;
        true
    }

    /// The account of each agent of the current job, or of the last one.
    pub fn accounts(&self) -> Vec<Account> {
        if self.job.is_some() { self.accounts_now() } else { self.accounts.clone() }
    }

    fn accounts_now(&self) -> Vec<Account> {
        let Some(job) = &self.job else { return Vec::new() };
        let account = |(index, member): (usize, &Member)| {
            let present = job.mergers.each_ref().map(|merger| merger.account(index));
            member.account(self.agents.get(&member.name), present)
        };
        job.members.iter().enumerate().map(account).collect()
    }

    /// Stops the load of every known agent, whichever controller ordered it.
    pub fn stop(&mut self, now_ns: u64, why: &str) {
        for agent in self.agents.values_mut() {
            let command = Command::Stop { why: why.to_string() };
            agent.push(Id::NONE, &DownItem::Command(command));
        }
        self.flush(now_ns);
    }

    /// Agents that have not acknowledged everything that was sent to them.
    pub fn undelivered(&self) -> impl Iterator<Item = &str> {
        self.agents.values().filter(|agent| !agent.has_taken_all()).map(Agent::name)
    }

    fn hello(&mut self, now_ns: u64, name: &str, bytes: &[u8]) {
        if bytes.len() > HELLO_BYTES_MAX || !is_name(name) {
            return;
        }
        let Ok(hello) = serde_json::from_slice::<Hello>(bytes) else { return };
        if hello.agent != name {
            return;
        }
        let hello = Hello { facts: hello.facts.printable(), ..hello };
        let Some(agent) = self.agents.get_mut(name) else {
            if self.agents.len() < AGENTS_MAX {
                self.agents.insert(name.to_string(), Agent::new(now_ns, hello));
                self.outputs.push_back(output(name, Event::Appeared));
            }
            return;
        };
        if agent.hello().challenge == hello.challenge {
            let event = agent.handle_hello(now_ns, hello);
            self.outputs.extend(event.map(|event| output(name, event)));
            return;
        }
        let (new, is_double) = Agent::after(agent, now_ns, hello);
        *agent = new;
        let event = if is_double { Event::Doubled } else { Event::Appeared };
        self.outputs.push_back(output(name, event));
        self.lose(name, "it was restarted, or another process was started with its name");
    }

    /// Marks an agent as lost: its messages do not count any more. Returns whether they did. An
    /// offer to it will have no answer.
    fn lose(&mut self, name: &str, why: &str) -> bool {
        let Some(job) = &mut self.job else { return false };
        let index = job.places.get(name).copied();
        let member = index.and_then(|index| job.members.get_mut(index));
        let Some(member) = member.filter(|member| member.is_expected()) else { return false };
        if job.stage == Stage::Offered {
            member.answer = Answer::Refused(Refusal { why: why.to_string(), is_unreachable: true });
        }
        member.leave(why);
        self.outputs.push_back(output(name, Event::Lost(why.to_string())));
        true
    }

    fn reported(&mut self, now_ns: u64, name: &str, up: Up) {
        let Some(agent) = self.agents.get_mut(name) else { return };
        if up.challenge != agent.hello().challenge {
            return;
        }
        let event = agent.heard(now_ns, &up);
        self.outputs.extend(event.map(|event| output(name, event)));
        up.items.into_iter().for_each(|item| agent.put(item));
        while let Some(bytes) = self.agents.get_mut(name).and_then(Agent::take) {
            // Told once: an agent may send any number of malformed items.
            if let Err(why) = self.item(now_ns, name, &bytes)
                && self.lose(name, &why)
            {
                let command = Command::Stop { why };
                if let Some(agent) = self.agents.get_mut(name) {
                    agent.push(Id::NONE, &DownItem::Command(command));
                }
            }
        }
    }

    /// Handles an item of an agent, once and in order.
    fn item(&mut self, now_ns: u64, name: &str, bytes: &[u8]) -> Result<(), String> {
        let (id, item) = UpItem::parse(bytes)?;
        let Some(job) = self.job.as_mut().filter(|job| job.id == id) else { return Ok(()) };
        let Some(&index) = job.places.get(name) else { return Ok(()) };
        let member = &mut job.members[index];
        if !member.is_expected() {
            return Ok(());
        }
        member.progress_ns = now_ns;
        match item {
            UpItem::Report(report) => {
                let event = member.handle_report(report.printable())?;
                self.outputs.extend(event.map(|event| output(name, event)));
            }
            UpItem::Piece(piece) => {
                let event = member.piece(&piece)?;
                self.outputs.extend(event.map(|event| output(name, event)));
            }
            UpItem::Tick(bytes) => {
                let tick = member.tick(now_ns, &bytes)?;
                let offset_ns = member.clock.map_or(0, |clock| clock.offset_ns);
                job.mergers[tick.crew as usize].add(now_ns, index, tick, offset_ns);
            }
        }
        Ok(())
    }

    /// Sends everything that is due to any agent.
    fn flush(&mut self, now_ns: u64) {
        let names: Vec<String> = self.agents.keys().cloned().collect();
        names.iter().for_each(|name| self.flush_one(now_ns, name));
    }

    /// Sends everything that is due to one agent.
    fn flush_one(&mut self, now_ns: u64, name: &str) {
        let Some(agent) = self.agents.get_mut(name) else { return };
        let has_part = |job: &&Job| {
            let index = job.places.get(name);
            index.is_some_and(|index| job.members[*index].is_expected())
        };
        let lease = self.job.as_ref().filter(has_part).map(|job| job.id);
        let orders = agent.due(now_ns, (&self.fleet, self.controller), lease, &self.key);
        let send = |bytes| Output::Send { to: To::Down(name.to_string()), bytes };
        self.outputs.extend(orders.into_iter().map(send));
    }
}

/// The call to all agents, with our version of the protocol.
fn call() -> Vec<u8> {
    format!("{CALL}{PROTOCOL}").into_bytes()
}

fn output(agent: &str, event: Event) -> Output {
    Output::Event { agent: agent.to_string(), event }
}

#[cfg(test)]
mod tests;
