//! What makes a generator in virtual time late, and what its work costs.

use super::server::Halts;
use model::random::Random;

/// The behaviour of a generator; the same for each of its workers.
#[derive(Debug, Clone, PartialEq)]
pub struct Generator {
    /// CPU time of a turn of the loop, nanoseconds.
    pub turn_ns: u64,
    /// CPU time of each event, nanoseconds.
    pub event_ns: u64,
    /// CPU time of each send, nanoseconds.
    pub send_ns: u64,
    /// A sleep that only the time ends is late by at least this, plus an exponential time of this
    /// mean, nanoseconds.
    pub late_ns: (f64, f64),
    /// Share of those sleeps that are late by a further exponential time of this mean, nanoseconds.
    pub very_late: (f64, f64),
    /// When its workers do not run, even if there is work.
    pub frozen: Halts,
    /// CPU time that each worker may use of each tenth of a second, nanoseconds.
    pub quota_ns: Option<u64>,
}

impl Default for Generator {
    /// A generator that is on time and costs little.
    fn default() -> Self {
        Self {
            turn_ns: 700,
            event_ns: 1_500,
            send_ns: 1_500,
            late_ns: (0.0, 0.0),
            very_late: (0.0, 0.0),
            frozen: Halts::default(),
            quota_ns: None,
        }
    }
}

/// Length of the periods of a quota, nanoseconds.
const PERIOD_NS: u64 = 100_000_000;

/// The time of one worker.
#[derive(Debug, Clone)]
pub(super) struct Pulse {
    plan: Generator,
    random: Random,
    /// Its current time.
    pub local_ns: u64,
    /// CPU time used.
    pub cpu_ns: u64,
    /// Time runnable without a CPU.
    pub wait_ns: u64,
    /// Time throttled, and periods in which it was.
    pub throttled: (u64, u64),
    period: (u64, u64),
    /// Until when the current sleep should last, and how late it ends if nothing else ends it.
    until_ns: u64,
    late_ns: u64,
}

impl Pulse {
    pub fn new(plan: Generator, seed: u64, index: u32, now_ns: u64) -> Self {
        let random = Random::new(seed, 100 + u64::from(index));
        Self {
            plan,
            random,
            local_ns: now_ns,
            cpu_ns: 0,
            wait_ns: 0,
            throttled: (0, 0),
            period: (0, 0),
            until_ns: 0,
            late_ns: 0,
        }
    }

    /// Works for this long.
    fn work(&mut self, cpu_ns: u64) {
        self.run_on();
        self.cpu_ns += cpu_ns;
        self.local_ns += cpu_ns;
        let Some(quota_ns) = self.plan.quota_ns else { return };
        let period = self.local_ns / PERIOD_NS;
        if self.period.0 != period {
            self.period = (period, 0);
        }
        self.period.1 += cpu_ns;
        if self.period.1 >= quota_ns {
            let until_ns = (period + 1) * PERIOD_NS;
            self.throttled.0 += until_ns - self.local_ns;
            self.throttled.1 += 1;
            self.local_ns = until_ns;
        }
    }

    /// Skips the time in which the worker does not run.
    fn run_on(&mut self) {
        if let Some(end_ns) = self.plan.frozen.end_of(self.local_ns) {
            self.wait_ns += end_ns - self.local_ns;
            self.local_ns = end_ns;
        }
    }

    pub fn turn(&mut self) {
        self.work(self.plan.turn_ns);
    }

    pub fn event(&mut self) {
        self.work(self.plan.event_ns);
    }

    pub fn send(&mut self) {
        self.work(self.plan.send_ns);
    }

    /// Sleeps until an instant; if that has passed, there is no sleep.
    pub fn sleep(&mut self, until_ns: u64) {
        self.late_ns = 0;
        if until_ns <= self.local_ns {
            return;
        }
        let Generator { late_ns: (least, mean), very_late: (share, more), .. } = self.plan;
        let mut late = least + self.draw(mean);
        if self.random.uniform() < share {
            late += self.draw(more);
        }
        (self.until_ns, self.late_ns) = (until_ns, late as u64);
    }

    /// An exponential time with this mean.
    fn draw(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.random.uniform()).ln()
    }

    /// How late a sleep ends: late only if it reaches its own end.
    fn late(&self, due_ns: u64) -> u64 {
        if due_ns >= self.until_ns { self.late_ns } else { 0 }
    }

    /// When the current sleep ends, if it should end at this instant.
    pub fn wake_ns(&self, due_ns: u64) -> u64 {
        let woken_ns = due_ns.max(self.local_ns) + self.late(due_ns);
        self.plan.frozen.end_of(woken_ns).unwrap_or(woken_ns)
    }

    /// Wakes from the sleep that should have ended at this instant.
    pub fn wake(&mut self, due_ns: u64) {
        self.local_ns = due_ns.max(self.local_ns) + self.late(due_ns);
        self.run_on();
    }
}
