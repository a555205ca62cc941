//! Connections of devices, second by second over a whole visit: ramp-up, window and ramp-down. The
//! figures of a point are of its window alone; this shows how it got there.

use model::dist::Dist;
use model::histogram::Histogram;
use model::series::Opening;
use model::tick::Tick;
use std::collections::VecDeque;

const SECOND_NS: u64 = 1_000_000_000;
/// Seconds that ticks may still belong to; workers are never a second apart.
const OPEN_SECONDS: usize = 3;

/// The seconds of one visit so far.
#[derive(Debug, Clone)]
pub struct Openings {
    begin_ns: u64,
    over: Vec<Opening>,
    open: VecDeque<SecondSum>,
}

#[derive(Debug, Clone, Default)]
struct SecondSum {
    established: u64,
    failed: u64,
    held: u64,
    connect: Histogram,
}

impl SecondSum {
    fn finish(self, t_s: f64) -> Opening {
        let connect = self.connect.summary(0);
        Opening {
            t_s,
            established: self.established,
            failed: self.failed,
            open: self.held,
            connect_p50_ns: connect.p50,
            connect_p90_ns: connect.p90,
            accept_queue: None,
        }
    }
}

impl Openings {
    /// For a visit that starts now, monotonic nanoseconds.
    pub fn new(begin_ns: u64) -> Self {
        Self { begin_ns, over: Vec::new(), open: VecDeque::new() }
    }

    /// Adds a tick of the visit; `open` is how many connections were open at its end.
    pub fn add(&mut self, tick: &Tick, open: u64) {
        // A tick is a tenth long, and is booked where it ends.
        let since_ns = tick.end_ns.saturating_sub(self.begin_ns + 1);
        // One that comes later than workers are allowed to is booked in the oldest open second.
        let second = ((since_ns / SECOND_NS) as usize).max(self.over.len());
        while self.over.len() + self.open.len() <= second {
            if self.open.len() == OPEN_SECONDS {
                self.close();
            }
            self.open.push_back(SecondSum::default());
        }
        let sum = &mut self.open[second - self.over.len()];
        sum.established += tick.turnover.established;
        sum.failed += tick.turnover.failed;
        sum.held = open;
        sum.connect.merge(&tick.histograms[Dist::Connect]);
    }

    fn close(&mut self) {
        if let Some(sum) = self.open.pop_front() {
            self.over.push(sum.finish((self.over.len() + 1) as f64));
        }
    }

    /// Every second, with the most connections that waited to be accepted in it: `queues` are
    /// instants of this host's monotonic clock and how many waited at each.
    pub fn finish(mut self, queues: impl Iterator<Item = (u64, u64)>) -> Vec<Opening> {
        while !self.open.is_empty() {
            self.close();
        }
        for (at_ns, queued) in queues {
            let Some(since_ns) = at_ns.checked_sub(self.begin_ns) else { continue };
            if let Some(second) = self.over.get_mut((since_ns / SECOND_NS) as usize) {
                second.accept_queue = second.accept_queue.max(Some(queued));
            }
        }
        self.over
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::tick::Phase;

    const TENTH_NS: u64 = 100_000_000;

    fn tick(tenth: u64, phase: Phase) -> Tick {
        let (begin_ns, end_ns) = (5 * SECOND_NS + tenth * TENTH_NS, 0);
        let mut tick = Tick { phase, begin_ns, end_ns, ..Tick::default() };
        tick.end_ns = begin_ns + TENTH_NS;
        tick.turnover.established = 10 * (tenth / 10 + 1);
        tick.histograms[Dist::Connect]
            .record_n(1_000_000 * (tenth / 10 + 1), tick.turnover.established);
        tick
    }

    #[test]
    fn every_second_of_a_visit_counts_in_whichever_part() {
        let mut openings = Openings::new(5 * SECOND_NS);
        for tenth in 0..100 {
            let phase = [Phase::Warmup, Phase::Measure, Phase::Drain][tenth as usize / 40];
            openings.add(&tick(tenth, phase), tenth);
        }
        assert!(openings.open.len() <= OPEN_SECONDS, "few distributions");
        let queues = [(4 * SECOND_NS, 99), (7 * SECOND_NS, 3), (7 * SECOND_NS + 5, 2)];
        let seconds = openings.finish(queues.into_iter());
        assert_eq!(seconds.len(), 10);
        for (at, second) in seconds.iter().enumerate() {
            assert_eq!((second.t_s, second.failed), (at as f64 + 1.0, 0));
            assert_eq!(second.established, 100 * (at as u64 + 1), "second {at}");
            assert_eq!(second.open, at as u64 * 10 + 9, "second {at}");
            let median_ns = second.connect_p50_ns.unwrap();
            assert!(median_ns.abs_diff(1_000_000 * (at as u64 + 1)) < 20_000, "second {at}");
        }
        let queued: Vec<_> = seconds.iter().map(|second| second.accept_queue).collect();
        assert_eq!(queued[1..4], [None, Some(3), None]);
    }
}
