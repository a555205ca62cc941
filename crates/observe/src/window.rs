//! The readings of a point, on each host in the times of its own clock.

use crate::Observed;
use model::reading::Reading;
use model::run::{Point, Record, Run};

/// The raw readings of a run, each in time order by the clock of its own host.
#[derive(Debug, Clone, Copy, Default)]
pub struct Raw<'a> {
    /// Of the generator's host.
    pub near: &'a [Reading],
    /// Of the server's host, when a probe there was read.
    pub far: &'a [Reading],
}

impl<'a> From<&'a Run> for Raw<'a> {
    fn from(run: &'a Run) -> Self {
        Self { near: &run.readings, far: &run.server_readings }
    }
}

impl<'a> Raw<'a> {
    /// Readings of the generator's host that lie wholly inside the window of a point.
    pub fn near_in(self, point: &Point) -> impl Iterator<Item = &'a Reading> + use<'a> {
        inside(self.near, point.window_ns)
    }

    /// The same of the server's host: inside the window whatever the true offset of its clock
    /// within the error. None without a probe there.
    pub fn far_in(
        self,
        record: &Record,
        point: &Point,
    ) -> Option<impl Iterator<Item = &'a Reading> + use<'a>> {
        let probe = record.target.probe.as_ref()?;
        Some(inside(self.far, probe.clock.carry(point.window_ns)))
    }

    /// What was observed in the window of a point, on both hosts.
    pub fn observed(self, record: &Record, point: &Point) -> Observed {
        let mut observed = Observed::of(self.near_in(point).cloned(), record.host.clock_tick_ns);
        let far = record.target.probe.as_ref().zip(self.far_in(record, point));
        observed.far = far.map(|(probe, readings)| {
            Box::new(Observed::of(readings.cloned(), probe.host.clock_tick_ns))
        });
        observed
    }
}

fn inside(readings: &[Reading], window_ns: (u64, u64)) -> impl Iterator<Item = &Reading> {
    let is_inside =
        move |read: &&Reading| read.begin_ns >= window_ns.0 && read.end_ns <= window_ns.1;
    readings.iter().filter(is_inside)
}
