//! Merges the ticks of all agents into one tick for each tenth of a second, as if one worker had
//! sent everything.
//!
//! A tenth is passed on when every agent has reported it, or has had time to. Later ticks are
//! passed on alone, as an interval of length zero with the same start, so that no time counts
//! twice. A load ends once: when every agent has reported its last tick or is given up. The
//! requests that a given-up agent had in flight are then unanswered.

use crate::LATE_NS;
use crate::message::carried;
use crate::ticks::{PHASES, SparseTick, TickSum};
use engine::job::Order;
use model::tick::{Connections, Counters, Phase, Starts, TargetTally, Tick};
use std::collections::{BTreeMap, BTreeSet};

/// Length of a tenth, nanoseconds.
const TENTH_NS: u64 = 100_000_000;
/// How long a tenth waits for agents that are late with it, nanoseconds.
const GRACE_NS: u64 = 500_000_000;
/// How far the clock of an agent may be off, nanoseconds: a tick that starts before its load, or
/// later than now, is moved to that bound.
const SLACK_NS: u64 = 1_000_000_000;

/// What one agent reported about one load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoadAccount {
    /// Requests of the window.
    pub measured: Counters,
    /// All other requests.
    pub unmeasured: Counters,
    /// Connections of the window that were due, where devices start on a schedule.
    pub starts: Starts,
    /// Requests of the window that were in flight when the agent was given up; they count as
    /// unanswered.
    pub given_up: u64,
    /// Ticks that arrived after it was given up, and do not count.
    pub late_ticks: u64,
    /// Whether its last tick was counted.
    pub is_whole: bool,
}

impl LoadAccount {
    fn in_flight(counters: &Counters) -> u64 {
        let Counters { sent, completed, failed, unanswered, .. } = counters;
        sent.saturating_sub(completed + failed + unanswered)
    }

    /// Connections that were neither open nor failed at its last report.
    fn opening(starts: &Starts) -> u64 {
        let Starts { begun, established, failed, pending, .. } = starts;
        begun.saturating_sub(established + failed + pending)
    }
}

/// Whether an agent may still report about a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// It responds.
    There,
    /// It is silent, and may come back.
    Silent,
    /// It sends nothing any more.
    Gone,
}

/// One agent in one load.
#[derive(Debug, Clone, Default)]
struct Member {
    /// Start of the latest tenth that it reported.
    told_ns: u64,
    connections: Connections,
    account: LoadAccount,
    is_given_up: bool,
}

impl Member {
    fn is_over(&self) -> bool {
        self.account.is_whole || self.is_given_up
    }
}

/// A tenth that was not passed on yet: its start, and the part of the level.
type Slot = (u64, u8);

/// The ticks of a tenth.
#[derive(Debug)]
enum Waiting {
    /// Ticks are added to a sum as they arrive, because thousands of agents each send little. Only
    /// a few tenths are that recent.
    Recent(TickSum),
    /// Late ticks are kept until they are passed on, which is at once.
    Late(Vec<SparseTick>),
}

/// The ticks of one crew of all agents.
#[derive(Debug, Default)]
pub(super) struct Merger {
    load: u32,
    begin_ns: u64,
    window_ns: Option<(u64, u64)>,
    drain_ns: u64,
    /// When agents that have not reported their last tick are given up.
    give_up_ns: Option<u64>,
    members: Vec<Member>,
    waiting: BTreeMap<Slot, Waiting>,
    /// Memory of tenths that were passed on, for reuse.
    spare: Vec<TickSum>,
    handed_out: BTreeSet<Slot>,
    targets: Vec<TargetTally>,
    is_over: bool,
}

impl Merger {
    /// A merger without a load.
    pub(super) fn new() -> Self {
        Self { is_over: true, ..Self::default() }
    }

    /// Notes an order of the lab to all agents, at this instant.
    pub(super) fn ordered(&mut self, now_ns: u64, order: &Order, members: usize) {
        match order {
            Order::Connect { load, .. } => {
                (self.load, self.begin_ns, self.is_over) = (*load, now_ns, false);
                (self.window_ns, self.give_up_ns, self.drain_ns) = (None, None, 0);
                self.members = vec![Member::default(); members];
                self.waiting.clear();
                self.handed_out.clear();
                self.targets.clear();
            }
            Order::Measure { begin_ns, end_ns, drain_ns, .. } => {
                self.window_ns = Some((*begin_ns, *end_ns));
                self.drain_ns = *drain_ns;
                if *end_ns != u64::MAX {
                    self.give_up_ns = Some(end_ns.saturating_add(drain_ns + LATE_NS));
                }
            }
            Order::Stop => {
                let until_ns = now_ns.saturating_add(self.drain_ns + LATE_NS);
                self.give_up_ns = Some(self.give_up_ns.unwrap_or(u64::MAX).min(until_ns));
            }
            Order::Warm | Order::Quit => {}
        }
    }

    /// Adds a tick of an agent whose clock is ahead by `offset_ns`. A tick of another load, or of
    /// an agent that was given up, does not count.
    pub(super) fn add(&mut self, now_ns: u64, index: usize, mut tick: SparseTick, offset_ns: i64) {
        let Some(member) = self.members.get_mut(index) else { return };
        if tick.load != self.load || self.load == 0 {
            return;
        }
        if member.is_over() || self.is_over {
            member.account.late_ticks += 1;
            return;
        }
        let back = |ns: u64| carried(ns, offset_ns.saturating_neg());
        (tick.begin_ns, tick.end_ns) = (back(tick.begin_ns), back(tick.end_ns));
        tick.fate_ns = if tick.fate_ns == 0 { 0 } else { back(tick.fate_ns).min(now_ns) };
        tick.caught.iter_mut().for_each(|caught| caught.at_ns = back(caught.at_ns));
        let slot = slot_of(&mut tick, (self.begin_ns, now_ns), self.window_ns);
        member.told_ns = member.told_ns.max(slot.0);
        member.connections = tick.counts.connections;
        member.account.measured += &tick.counts.measured;
        member.account.unmeasured += &tick.counts.unmeasured;
        member.account.starts += &tick.counts.starts;
        member.account.is_whole = tick.last;
        let is_late = is_late(now_ns, slot);
        let waiting = self.waiting.entry(slot).or_insert_with(|| match is_late {
            true => Waiting::Late(Vec::new()),
            false => Waiting::Recent(self.spare.pop().unwrap_or_default()),
        });
        match waiting {
            Waiting::Recent(sum) => sum.add(&tick),
            Waiting::Late(ticks) => ticks.push(tick),
        }
    }

    /// What an agent reported about the load.
    pub(super) fn account(&self, index: usize) -> Option<(u32, LoadAccount)> {
        self.members.get(index).map(|member| (self.load, member.account))
    }

    /// Calls `read` with every tick that is due. `presence` has the state of each agent.
    pub(super) fn hand_out(
        &mut self,
        now_ns: u64,
        presence: &[Presence],
        read: &mut dyn FnMut(&Tick),
    ) {
        if self.is_over || self.load == 0 {
            return;
        }
        self.give_up(now_ns, presence);
        let is_over = self.members.iter().all(Member::is_over);
        while let Some((&slot, _)) = self.waiting.first_key_value() {
            let has_told = |member: &Member| member.is_over() || member.told_ns >= slot.0;
            if !is_over && !is_late(now_ns, slot) && !self.members.iter().all(has_told) {
                return;
            }
            self.hand_out_one(slot, read);
        }
        if is_over {
            self.hand_out_last(now_ns, read);
        }
    }

    fn give_up(&mut self, now_ns: u64, presence: &[Presence]) {
        let is_there = |index: usize| presence.get(index) == Some(&Presence::There);
        let mut members = self.members.iter().enumerate();
        let only_silent = members.all(|(index, member)| member.is_over() || !is_there(index));
        // A window with a budget has no end: while an agent that is not done responds, there is no
        // time limit.
        if self.give_up_ns.is_none() && self.window_ns.is_some() && only_silent {
            self.give_up_ns = Some(now_ns.saturating_add(self.drain_ns + LATE_NS));
        }
        let is_time = self.give_up_ns.is_some_and(|give_up_ns| now_ns >= give_up_ns);
        for (index, member) in self.members.iter_mut().enumerate() {
            let is_gone = presence.get(index) == Some(&Presence::Gone);
            if !member.is_over() && (is_time || is_gone) {
                member.is_given_up = true;
                member.account.given_up = LoadAccount::in_flight(&member.account.measured);
                member.connections.opening = 0;
                // In a window they were neither closed by us nor by the server.
                if self.window_ns.is_none() {
                    member.connections.open = 0;
                }
            }
        }
    }

    fn connections(&self) -> Connections {
        let mut sum = Connections::default();
        self.members.iter().for_each(|member| sum += &member.connections);
        sum
    }

    fn hand_out_one(&mut self, slot: Slot, read: &mut dyn FnMut(&Tick)) {
        let mut sum = match self.waiting.remove(&slot) {
            Some(Waiting::Recent(sum)) => sum,
            Some(Waiting::Late(ticks)) => {
                let mut sum = self.spare.pop().unwrap_or_default();
                ticks.iter().for_each(|tick| sum.add(tick));
                sum
            }
            None => return,
        };
        let tick = sum.tick(self.load, PHASES[usize::from(slot.1)], self.connections());
        if !self.handed_out.insert(slot) {
            tick.end_ns = tick.begin_ns;
        }
        // The lab takes the tallies of targets only with the last tick.
        let places = self.targets.len().max(tick.targets.len());
        self.targets.resize_with(places, TargetTally::default);
        self.targets.iter_mut().zip(&tick.targets).for_each(|(sum, part)| sum.merge(part));
        tick.targets.clear();
        read(tick);
        sum.clear();
        self.spare.push(sum);
    }

    /// Passes on the last tick of the load, once. It has no length, and only what closes the
    /// account.
    fn hand_out_last(&mut self, now_ns: u64, read: &mut dyn FnMut(&Tick)) {
        let (connections, load) = (self.connections(), self.load);
        let mut sum = self.spare.pop().unwrap_or_default();
        let tick = sum.tick(load, Phase::Drain, connections);
        (tick.begin_ns, tick.end_ns, tick.last) = (now_ns, now_ns, true);
        tick.targets = std::mem::take(&mut self.targets);
        for member in &mut self.members {
            let in_flight = LoadAccount::in_flight(&member.account.unmeasured);
            if member.is_given_up {
                tick.measured.unanswered += member.account.given_up;
                tick.unmeasured.unanswered += in_flight;
                member.account.measured.unanswered += member.account.given_up;
                member.account.unmeasured.unanswered += in_flight;
                let opening = LoadAccount::opening(&member.account.starts);
                tick.starts.pending += opening;
                member.account.starts.pending += opening;
            }
        }
        read(tick);
        sum.clear();
        self.spare.push(sum);
        self.is_over = true;
    }
}

/// Whether a tenth has waited for agents long enough.
fn is_late(now_ns: u64, slot: Slot) -> bool {
    now_ns >= slot.0.saturating_add(TENTH_NS + GRACE_NS)
}

/// The tenth to which a tick belongs. In the window, tenths are counted from its start. A tick with
/// an impossible start is moved to the nearest possible one.
fn slot_of(
    tick: &mut SparseTick,
    (begin_ns, now_ns): (u64, u64),
    window_ns: Option<(u64, u64)>,
) -> Slot {
    let (origin_ns, end_ns) = match (tick.phase, window_ns) {
        (Phase::Measure, Some((begin_ns, end_ns))) => (begin_ns, end_ns),
        _ => (0, u64::MAX),
    };
    let least_ns = origin_ns.max(begin_ns.saturating_sub(SLACK_NS));
    let most_ns = end_ns.min(now_ns).max(least_ns);
    let length_ns = tick.end_ns.saturating_sub(tick.begin_ns);
    tick.begin_ns = tick.begin_ns.clamp(least_ns.saturating_sub(TENTH_NS / 2), most_ns);
    tick.end_ns = tick.begin_ns.saturating_add(length_ns).min(most_ns.saturating_add(SLACK_NS));
    let since_ns = tick.begin_ns.saturating_sub(origin_ns);
    let tenth = (since_ns + TENTH_NS / 2) / TENTH_NS;
    (origin_ns + tenth * TENTH_NS, tick.phase as u8)
}
