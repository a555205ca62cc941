//! Where readings go while a run goes on: to the log, and the latest of them to progress.

use model::reading::{Data, Reading};
use probe::Sampler;
use std::collections::VecDeque;
use store::{Readings, StoreError};

/// How long a reading counts as recent, nanoseconds.
const RECENT_NS: u64 = 400_000_000;

/// The probe's readings, written down as they come.
pub struct Watch<'a> {
    sampler: Option<Sampler>,
    log: &'a mut Readings,
    /// Where the readings of this level begin in the log.
    level: u64,
    /// The server's threads in the last readings.
    recent: VecDeque<Reading>,
}

impl<'a> Watch<'a> {
    /// Takes readings from the sampler to the log.
    pub fn new(sampler: Sampler, log: &'a mut Readings) -> Self {
        Self { sampler: Some(sampler), log, level: 0, recent: VecDeque::new() }
    }

    /// A level begins.
    pub fn begin_level(&mut self) {
        self.level = self.log.end();
    }

    /// Writes down what has arrived.
    pub fn take(&mut self) {
        if let Some(sampler) = &self.sampler {
            let arrived = sampler.take();
            self.keep(arrived);
        }
    }

    /// Ends the sampler and writes down what was left.
    pub fn stop(&mut self) {
        if let Some(sampler) = self.sampler.take() {
            let arrived = sampler.stop();
            self.keep(arrived);
        }
    }

    fn keep(&mut self, arrived: Vec<Reading>) {
        self.log.add(&arrived);
        let of_server = |reading: &Reading| matches!(reading.data, Data::ServerThreads(_));
        self.recent.extend(arrived.into_iter().filter(of_server));
        let latest_ns = self.recent.back().map_or(0, |reading| reading.begin_ns);
        while self.recent.front().is_some_and(|old| old.begin_ns + RECENT_NS < latest_ns) {
            self.recent.pop_front();
        }
    }

    /// The server's threads lately.
    pub fn recent(&self) -> impl Iterator<Item = Reading> {
        self.recent.iter().cloned()
    }

    /// Readings wholly inside a window of this level, monotonic nanoseconds. Those that cannot be
    /// read back are missing.
    pub fn inside(&self, window_ns: (u64, u64)) -> impl Iterator<Item = Reading> {
        let is_inside =
            move |read: &Reading| read.begin_ns >= window_ns.0 && read.end_ns <= window_ns.1;
        self.log.since(self.level).map_while(Result::ok).filter(is_inside)
    }

    /// Why readings are missing, if they are.
    pub fn failure(&self) -> Option<&StoreError> {
        self.log.failure()
    }
}
