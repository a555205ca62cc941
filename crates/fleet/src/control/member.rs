//! One agent's part in a job, and its account.

use super::Event;
use super::far::Agent;
use super::merge::{LoadAccount, Presence};
use crate::SILENCE_NS;
use crate::blob::Assembly;
use crate::message::{Ended, Facts, Halt, Refusal, Report};
use crate::ticks::{SparseTick, decode};
use model::facts::ClockOffset;
use model::fleet::{AgentEnd, Share, Shares};
use model::tick::ThreadKind;
use std::collections::BTreeMap;

/// No count of one worker grows faster than this in a nanosecond: a core does not move more bytes
/// through its sockets, and spends one nanosecond of CPU time.
const GROWTH_MAX: u64 = 128;
/// The counts of all agents together stay below the largest number divided by this, because some
/// figures add several counts up.
const SUMMED_MAX: u64 = 4;

/// The answer of an agent to an offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    None,
    Accepted,
    Refused(Refusal),
}

/// The account of one agent in one job.
#[derive(Debug, Clone)]
pub struct Account {
    /// Its name.
    pub agent: String,
    /// Facts about the agent and its host.
    pub facts: Facts,
    /// Its part of the load.
    pub shares: Shares,
    /// Its clock minus ours when the job started; `None` if it did not take part.
    pub clock: Option<ClockOffset>,
    /// Its clock minus ours over the whole job, drift included.
    pub clock_after: Option<ClockOffset>,
    /// How its part ended; `None` if it is not over, or if it had no part.
    pub ended: Option<AgentEnd>,
    /// Why it did not end as ordered, for people; empty if it did.
    pub why: String,
    /// When it ended its load without an order, nanoseconds of its own clock; `None` if it did not.
    pub halted_ns: Option<u64>,
    /// Requests by the number of the load order.
    pub loads: BTreeMap<u32, LoadAccount>,
    /// Events by the same, in a fan-out.
    pub listening: BTreeMap<u32, LoadAccount>,
    /// Its own record, JSON.
    pub record: Option<Vec<u8>>,
}

impl Account {
    /// How far its clock may have been from the offset that was known when the job started, at any
    /// time of the job, nanoseconds: the error of that offset, and more if a clock drifted or was
    /// set. `None` if it did not take part.
    pub fn clock_error_ns(&self) -> Option<u64> {
        let clock = self.clock?;
        let moved = |after: ClockOffset| {
            after.offset_ns.abs_diff(clock.offset_ns).saturating_add(after.error_ns)
        };
        Some(self.clock_after.map_or(clock.error_ns, |after| moved(after).max(clock.error_ns)))
    }
}

/// One agent's part in a job.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) answer: Answer,
    /// Its clock minus ours, from the start of the job.
    pub(super) clock: Option<ClockOffset>,
    facts: Facts,
    shares: Shares,
    /// When it was offered the job, and when the last item of it arrived.
    since_ns: u64,
    pub(super) progress_ns: u64,
    /// The most that it may count, whatever the time: its part of the largest number.
    counted_max: u64,
    is_silent: bool,
    was_silent: bool,
    /// Why it sends nothing any more.
    gone: Option<String>,
    /// Why it ended its load without an order, and when by its own clock.
    halted: Option<(Halt, u64)>,
    ended: Option<Ended>,
    awaited: Option<Assembly>,
    record: Option<Vec<u8>>,
    counted: u64,
    accounts: [BTreeMap<u32, LoadAccount>; 2],
}

impl Member {
    /// An agent that is offered a share of a job now, as one of so many.
    pub(super) fn new(
        name: String,
        agent: &Agent,
        shares: Shares,
        (now_ns, members): (u64, usize),
    ) -> Self {
        Self {
            name,
            answer: Answer::None,
            clock: None,
            facts: agent.hello().facts.clone(),
            shares,
            since_ns: now_ns,
            progress_ns: now_ns,
            counted_max: u64::MAX / SUMMED_MAX / members.max(1) as u64,
            is_silent: false,
            was_silent: false,
            gone: None,
            halted: None,
            ended: None,
            awaited: None,
            record: None,
            counted: 0,
            accounts: Default::default(),
        }
    }

    /// Marks it as gone: it sends nothing any more.
    pub(super) fn leave(&mut self, why: &str) {
        self.gone = Some(why.to_string());
    }

    /// Whether it may still send something that counts.
    pub(super) fn is_expected(&self) -> bool {
        let is_reported = self.ended.is_some() && self.awaited.is_none();
        let is_out = matches!(self.answer, Answer::Refused(_));
        self.gone.is_none() && !is_reported && !is_out
    }

    /// Whether windows were ordered by its clock and it may still respond, so that its clock is
    /// measured again at the end.
    pub(super) fn is_timed(&self) -> bool {
        self.clock.is_some() && self.gone.is_none()
    }

    /// Whether it still sends requests, as far as is known.
    pub(super) fn carries_load(&self) -> bool {
        self.is_expected() && self.clock.is_some() && self.halted.is_none() && self.ended.is_none()
    }

    pub(super) fn presence(&self) -> Presence {
        match (self.is_expected() && self.ended.is_none(), self.is_silent) {
            (false, _) => Presence::Gone,
            (true, true) => Presence::Silent,
            (true, false) => Presence::There,
        }
    }

    /// Updates whether it is silent; `heard_ns` is when its latest message arrived.
    pub(super) fn listened(&mut self, now_ns: u64, heard_ns: u64) -> Option<Event> {
        let is_silent = now_ns.saturating_sub(heard_ns) > SILENCE_NS;
        let was_silent = std::mem::replace(&mut self.is_silent, is_silent);
        self.was_silent |= is_silent && self.is_expected();
        match (was_silent, is_silent) {
            _ if !self.is_expected() => None,
            (false, true) => Some(Event::CutOff),
            (true, false) => Some(Event::Back),
            _ => None,
        }
    }

    /// Handles a report.
    ///
    /// # Errors
    ///
    /// The report makes no sense.
    pub(super) fn handle_report(&mut self, report: Report) -> Result<Option<Event>, String> {
        match report {
            Report::Accepted { .. } => {
                self.answer = Answer::Accepted;
                Ok(Some(Event::Accepted))
            }
            Report::Refused(refusal) => {
                let why = refusal.why.clone();
                self.answer = Answer::Refused(refusal);
                Ok(Some(Event::Refused(why)))
            }
            Report::Halted { why, at_ns } => {
                let text = why.text();
                self.halted.get_or_insert((why, at_ns));
                Ok(Some(Event::Halted(text)))
            }
            Report::Ended { .. } if self.ended.is_some() => Err("it ended twice".to_string()),
            Report::Ended { ended, record } => {
                let assembly = record.map(Assembly::new).transpose();
                self.awaited = assembly.map_err(|error| error.to_string())?;
                self.ended = Some(ended);
                Ok(self.awaited.is_none().then_some(Event::Ended))
            }
        }
    }

    /// Handles a piece of its record.
    ///
    /// # Errors
    ///
    /// The piece does not fit.
    pub(super) fn piece(&mut self, piece: &[u8]) -> Result<Option<Event>, String> {
        let assembly = self.awaited.as_mut().ok_or("an unexpected piece")?;
        let whole = assembly.add(piece).map_err(|error| error.to_string())?;
        if whole.is_none() {
            return Ok(None);
        }
        (self.record, self.awaited) = (whole, None);
        Ok(Some(Event::Ended))
    }

    /// Decodes a tick.
    ///
    /// # Errors
    ///
    /// The tick makes no sense.
    pub(super) fn tick(&mut self, now_ns: u64, bytes: &[u8]) -> Result<SparseTick, String> {
        let tick = decode(bytes).map_err(|error| format!("its tick is malformed: {error}"))?;
        self.counted = self.counted.saturating_add(tick.largest());
        if self.ended.is_some() {
            return Err("a tick came after its end".to_string());
        }
        if self.counted > self.possible(now_ns) {
            return Err("its ticks have impossible counts".to_string());
        }
        Ok(tick)
    }

    /// The most that its workers can have counted by now.
    fn possible(&self, now_ns: u64) -> u64 {
        let listening = self.shares.listening.as_ref().map_or(0, Share::workers);
        let workers = u64::from(self.shares.asking.workers()) + u64::from(listening);
        let passed_ns = now_ns.saturating_sub(self.since_ns);
        passed_ns.saturating_mul(workers).saturating_mul(GROWTH_MAX).min(self.counted_max)
    }

    /// Keeps its account of a load.
    pub(super) fn keep(&mut self, crew: ThreadKind, account: Option<(u32, LoadAccount)>) {
        if let Some((load, account)) = account.filter(|(load, _)| *load > 0) {
            self.accounts[crew as usize].insert(load, account);
        }
    }

    fn end(&self, has_late: bool, is_whole: bool) -> (Option<AgentEnd>, String) {
        let (gone, cut_off) = (Some(AgentEnd::Lost), Some(AgentEnd::CutOff));
        match (&self.answer, &self.gone, &self.halted, &self.ended) {
            (Answer::Refused(refusal), ..) => (None, refusal.why.clone()),
            (_, Some(why), ..) if self.clock.is_none() => (None, why.clone()),
            (_, Some(why), ..) => (gone, why.clone()),
            _ if has_late => (gone, "its measurements came too late to count".to_string()),
            (_, _, None, Some(Ended::Complete)) if self.awaited.is_some() && is_whole => {
                (Some(AgentEnd::NoReport), "its report did not arrive whole".to_string())
            }
            (_, _, _, Some(_)) if self.awaited.is_some() => {
                (gone, "its report did not arrive whole".to_string())
            }
            (_, _, Some((why, _)), Some(_)) => (cut_off, why.text()),
            (_, _, _, Some(Ended::Failed(why))) => (cut_off, why.clone()),
            (_, _, _, Some(Ended::Halted)) => (cut_off, "it ended early".to_string()),
            (_, _, _, Some(Ended::Complete)) if !is_whole => {
                (gone, "its last counts did not arrive".to_string())
            }
            (_, _, _, Some(Ended::Complete)) if self.record.is_none() => {
                (Some(AgentEnd::NoReport), "it sent no report of its own".to_string())
            }
            (_, _, _, Some(Ended::Complete)) if self.was_silent => {
                (Some(AgentEnd::Late), "it was silent for a while".to_string())
            }
            (_, _, _, Some(Ended::Complete)) => (Some(AgentEnd::Complete), String::new()),
            _ if self.is_silent => (gone, "it stopped responding".to_string()),
            _ => (None, "its part is not over".to_string()),
        }
    }

    /// Its account so far, including the current load of each crew.
    pub(super) fn account(
        &self,
        agent: Option<&Agent>,
        present: [Option<(u32, LoadAccount)>; 2],
    ) -> Account {
        let mut accounts = self.accounts.clone();
        for (loads, present) in accounts.iter_mut().zip(present) {
            loads.extend(present.filter(|(load, _)| *load > 0));
        }
        let loads = || accounts.iter().flat_map(BTreeMap::values);
        let has_late = loads().any(|load| load.late_ticks > 0);
        let (ended, why) = self.end(has_late, loads().all(|load| load.is_whole));
        let [loads, listening] = accounts;
        Account {
            agent: self.name.clone(),
            facts: self.facts.clone(),
            shares: self.shares.clone(),
            clock: self.clock,
            clock_after: agent.and_then(Agent::clock).filter(|_| self.clock.is_some()),
            ended,
            why,
            halted_ns: self.halted.as_ref().map(|(_, at_ns)| *at_ns),
            loads,
            listening,
            record: self.record.clone(),
        }
    }
}
