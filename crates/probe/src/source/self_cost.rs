//! What reading costs: CPU time of the probe's thread, and rounds that started late.
//!
//! The clock is CLOCK_THREAD_CPUTIME_ID, exact whatever the accounting mode. It has no line in the
//! registry, because it is read last and covers all others.
//!
//! Caveats. Kernel work that our reads cause elsewhere is not in it: flushing per-CPU statistics,
//! locks that others wait for.

use crate::clock;
use model::metric::Declaration;
use model::reading::{Data, ProbeCost};
use model::unit::Unit;

/// Counts rounds and remembers when the thread started.
#[derive(Debug)]
pub(crate) struct SelfCost {
    begin_ns: u64,
    begin_cpu_ns: u64,
    rounds: u64,
    late_rounds: u64,
}

/// Whether a round started within a period of its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timeliness {
    OnTime,
    Late,
}

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new("probe_cost", "the thread of the probe")
        .exposed_as("probe")
        .counter("cpu_ns", Unit::Ns, "CPU time that reading has cost.")
        .counter("rounds", Unit::Count, "Rounds of reading done.")
        .counter("late_rounds", Unit::Count, "Rounds that began more than a period late.")
}

impl SelfCost {
    /// Starts counting on the calling thread.
    pub fn start() -> Self {
        let (begin_ns, begin_cpu_ns) = (clock::monotonic_ns(), clock::thread_cpu_ns());
        Self { begin_ns, begin_cpu_ns, rounds: 0, late_rounds: 0 }
    }

    /// Counts a round that starts now.
    pub fn round(&mut self, timeliness: Timeliness) {
        self.rounds += 1;
        self.late_rounds += u64::from(timeliness == Timeliness::Late);
    }

    /// The cost so far.
    pub fn read(&self) -> Data {
        Data::ProbeCost(ProbeCost {
            cpu_ns: clock::thread_cpu_ns() - self.begin_cpu_ns,
            elapsed_ns: clock::monotonic_ns() - self.begin_ns,
            rounds: self.rounds,
            late_rounds: self.late_rounds,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_counted_and_cost_something() {
        let mut cost = SelfCost::start();
        cost.round(Timeliness::OnTime);
        cost.round(Timeliness::Late);
        let Data::ProbeCost(cost) = cost.read() else { panic!("no cost") };
        assert_eq!((cost.rounds, cost.late_rounds), (2, 1));
        assert!(cost.cpu_ns > 0 && cost.cpu_ns <= cost.elapsed_ns * 2);
    }
}
