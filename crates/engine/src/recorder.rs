//! The worker's end of the channel to the control plane: fill a tick, send it, take an empty one.
//!
//! Ticks circulate through two single-writer rings and are never allocated after the start. When
//! the control plane is late and there is no empty tick, the current one continues: it covers a
//! longer interval, and nothing is lost.
//!
//! Hot: runs for every response.

use model::sample::CAUGHT_MAX;
use model::slow::SLOW_MAX;
use model::tick::{Phase, Tick};
use rtrb::{Consumer, Producer, RingBuffer};

/// Ticks per worker: one being filled, the others in the rings.
const TICKS: usize = 4;

/// Worker's end.
pub struct Recorder {
    /// The current interval.
    pub tick: Box<Tick>,
    full: Producer<Box<Tick>>,
    empty: Consumer<Box<Tick>>,
    cpu_ns: (u64, u64),
}

/// Control plane's end.
pub struct Feed {
    full: Consumer<Box<Tick>>,
    empty: Producer<Box<Tick>>,
}

/// Both ends of one worker's channel, for a job with this many routes.
// Cold: allocates all ticks.
pub fn road(worker: u32, routes: usize) -> (Recorder, Feed) {
    let (full_in, full_out) = RingBuffer::new(TICKS);
    let (mut empty_in, empty_out) = RingBuffer::new(TICKS);
    let opened_on = || vec![0; routes.max(1)];
    let new_tick = || {
        let (caught, slowest) = (Vec::with_capacity(CAUGHT_MAX), Vec::with_capacity(SLOW_MAX));
        Box::new(Tick { worker, opened_on: opened_on(), caught, slowest, ..Tick::default() })
    };
    for _ in 1..TICKS {
        empty_in.push(new_tick()).expect("the ring holds all ticks");
    }
    let recorder = Recorder { tick: new_tick(), full: full_in, empty: empty_out, cpu_ns: (0, 0) };
    (recorder, Feed { full: full_out, empty: empty_in })
}

impl Recorder {
    /// Starts the first interval. `cpu_ns` is the worker's CPU time so far, user and kernel.
    pub fn begin(&mut self, now_ns: u64, cpu_ns: (u64, u64)) {
        self.tick.begin_ns = now_ns;
        self.cpu_ns = cpu_ns;
    }

    /// Sends the current tick to the control plane; false when there is no empty tick to continue
    /// with.
    pub fn hand_over(&mut self, now_ns: u64, cpu_ns: (u64, u64), phase: Phase, load: u32) -> bool {
        let Ok(mut next) = self.empty.pop() else { return false };
        let tick = &mut self.tick;
        (tick.end_ns, tick.phase, tick.load) = (now_ns, phase, load);
        tick.accounting.cpu_user_ns += cpu_ns.0.saturating_sub(self.cpu_ns.0);
        tick.accounting.cpu_system_ns += cpu_ns.1.saturating_sub(self.cpu_ns.1);
        self.cpu_ns = cpu_ns;
        (next.worker, next.begin_ns) = (tick.worker, now_ns);
        let full = std::mem::replace(&mut self.tick, next);
        assert!(self.full.push(full).is_ok(), "the ring holds all ticks");
        true
    }
}

impl Feed {
    /// Shows every tick that has arrived to `read`, then sends it back empty.
    pub fn drain(&mut self, mut read: impl FnMut(&Tick)) {
        while let Ok(mut tick) = self.full.pop() {
            read(&tick);
            tick.clear();
            assert!(self.empty.push(tick).is_ok(), "the ring holds all ticks");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_reader_loses_nothing() {
        let (mut recorder, mut feed) = road(0, 1);
        recorder.begin(0, (0, 0));
        for second in 1..=20u64 {
            recorder.tick.measured.sent += 1;
            recorder.hand_over(second, (0, 0), Phase::Measure, 1);
        }
        let (mut sent, mut end_ns) = (0, 0);
        let mut read = |tick: &Tick| {
            assert_eq!(tick.begin_ns, end_ns, "intervals follow each other");
            sent += tick.measured.sent;
            end_ns = tick.end_ns;
        };
        feed.drain(&mut read);
        assert!(recorder.hand_over(21, (0, 0), Phase::Measure, 1));
        feed.drain(&mut read);
        assert_eq!((sent, end_ns), (20, 21));
    }
}
