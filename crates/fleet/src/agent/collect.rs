//! The ticks of an agent's workers, summed for each tenth of a second.

use crate::ticks::{SparseTick, TickSum, parts};
use model::fleet::{Share, Shares};
use model::tick::{Connections, Phase, ThreadKind, Tick};
use std::collections::BTreeSet;

/// Length of a tenth, nanoseconds.
const TENTH_NS: u64 = 100_000_000;
/// How long a sum waits for the ticks of other workers after the first tick, nanoseconds. A later
/// tick is sent alone.
const PATIENCE_NS: u64 = 40_000_000;

/// A sum of ticks of one crew.
#[derive(Debug)]
struct Group {
    key: (u32, Phase, u64),
    sum: TickSum,
    workers: BTreeSet<u32>,
    since_ns: u64,
}

/// One crew of the agent.
#[derive(Debug)]
struct Crew {
    kind: ThreadKind,
    workers: u32,
    load: u32,
    window_begin_ns: u64,
    connections: Vec<Connections>,
    /// How many workers have delivered their last tick of the load.
    last: u32,
    /// Whether the last tick of the load was passed on. Later ticks of idle workers belong to no
    /// load.
    is_told: bool,
    groups: Vec<Group>,
    /// Memory of finished groups, for reuse.
    spare: Vec<TickSum>,
}

/// All crews of the agent.
#[derive(Debug)]
pub(super) struct Collector {
    crews: [Crew; 2],
}

impl Collector {
    /// An empty collector for the workers of these shares.
    pub(super) fn new(shares: &Shares) -> Self {
        let crew = |kind, workers| Crew {
            kind,
            workers,
            load: 0,
            window_begin_ns: 0,
            connections: vec![Connections::default(); workers as usize],
            last: 0,
            is_told: true,
            groups: Vec::new(),
            spare: Vec::new(),
        };
        let listening = shares.listening.as_ref().map_or(0, Share::workers);
        let requesting = crew(ThreadKind::Requesting, shares.asking.workers());
        Self { crews: [requesting, crew(ThreadKind::Listening, listening)] }
    }

    /// A window starts at this instant: tenths are counted from there.
    pub(super) fn begin_window(&mut self, crew: ThreadKind, begin_ns: u64) {
        self.crews[crew as usize].window_begin_ns = begin_ns;
    }

    /// Adds a tick of a worker.
    pub(super) fn add(&mut self, now_ns: u64, crew: ThreadKind, tick: &Tick) {
        self.crews[crew as usize].add(now_ns, tick);
    }

    /// Takes the sums that are complete or have waited long enough, as items.
    pub(super) fn take_due(&mut self, now_ns: u64) -> Vec<Vec<u8>> {
        self.take(|crew, group| {
            let is_complete = group.workers.len() >= crew.workers as usize;
            let has_waited = now_ns.abs_diff(group.since_ns) > PATIENCE_NS;
            is_complete || has_waited || crew.is_over()
        })
    }

    /// Takes all sums.
    pub(super) fn take_all(&mut self) -> Vec<Vec<u8>> {
        self.take(|_, _| true)
    }

    fn take(&mut self, is_due: impl Fn(&Crew, &Group) -> bool) -> Vec<Vec<u8>> {
        let mut ticks = Vec::new();
        for crew in &mut self.crews {
            while let Some(place) = crew.groups.iter().position(|group| is_due(crew, group)) {
                let group = crew.groups.remove(place);
                ticks.extend(crew.close(group));
            }
        }
        ticks
    }
}

impl Crew {
    fn add(&mut self, now_ns: u64, tick: &Tick) {
        if tick.load < self.load {
            // A worker hands it over when it gets the order for the next load, which others may
            // have got before.
            return;
        }
        if tick.load > self.load {
            (self.load, self.last, self.is_told) = (tick.load, 0, false);
            self.connections.fill(Connections::default());
        }
        if self.is_told {
            return;
        }
        let worker = tick.worker as usize;
        if worker >= self.connections.len() {
            self.connections.resize(worker + 1, Connections::default());
        }
        self.connections[worker] = tick.connections;
        self.last += u32::from(tick.last);
        let origin_ns = if tick.phase == Phase::Measure { self.window_begin_ns } else { 0 };
        let since_ns = tick.begin_ns.saturating_sub(origin_ns);
        // A tick starts when its worker wakes, a little after the start of the tenth.
        let key = (tick.load, tick.phase, (since_ns + TENTH_NS / 2) / TENTH_NS);
        let place = self.groups.iter().position(|group| group.key == key);
        let place = place.unwrap_or_else(|| {
            let sum = self.spare.pop().unwrap_or_default();
            self.groups.push(Group { key, sum, workers: BTreeSet::new(), since_ns: now_ns });
            self.groups.len() - 1
        });
        let group = &mut self.groups[place];
        group.sum.add(&SparseTick::of(self.kind, tick));
        group.workers.insert(tick.worker);
    }

    fn is_over(&self) -> bool {
        self.last >= self.workers.max(1)
    }

    fn close(&mut self, mut group: Group) -> Vec<Vec<u8>> {
        let mut connections = Connections::default();
        self.connections.iter().for_each(|one| connections += one);
        let (load, phase, _) = group.key;
        let tick = group.sum.tick(load, phase, connections);
        tick.last = load == self.load && self.is_over() && self.groups.is_empty();
        self.is_told |= tick.last;
        let ticks = parts(SparseTick::of(self.kind, tick));
        group.sum.clear();
        self.spare.push(group.sum);
        ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_worker_did_before_a_load_does_not_interrupt_that_of_the_others() {
        let shares = Shares { asking: Share::alone(2), listening: None };
        let mut collector = Collector::new(&shares);
        for (worker, load, opened) in [(0, 1, 7), (0, 2, 3), (1, 1, 7), (1, 2, 4)] {
            let connections = Connections { opened, ..Connections::default() };
            let tick = Tick { worker, load, connections, ..Tick::default() };
            collector.add(0, ThreadKind::Requesting, &tick);
        }
        let [requesting, _] = &collector.crews;
        let opened: Vec<u64> = requesting.connections.iter().map(|one| one.opened).collect();
        assert_eq!((requesting.load, opened), (2, vec![3, 4]));
    }
}
